//! A tool as it is listed.

use serde_json::Value;

/// A tool as the client sees it in the list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListedTool {
    /// Its name.
    pub name: String,
    /// Its name for people. Not before 2025-06-18.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Value,
    /// The schema of its structured result. Not before 2025-06-18.
    pub output_schema: Option<Value>,
    /// Hints about what it does: an object, or null.
    pub annotations: Value,
    /// All of it, as listed.
    pub json: Value,
}

impl ListedTool {
    pub(super) fn read(json: Value) -> Self {
        let text = |key: &str| json[key].as_str().map(ToOwned::to_owned);
        Self {
            name: text("name").unwrap_or_default(),
            title: text("title"),
            description: text("description"),
            input_schema: json["inputSchema"].clone(),
            output_schema: json.get("outputSchema").cloned(),
            annotations: json["annotations"].clone(),
            json,
        }
    }
}
