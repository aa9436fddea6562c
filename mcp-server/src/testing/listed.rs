//! Tools, resources, templates and prompts as they are listed.

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
        Self {
            name: text(&json, "name").unwrap_or_default(),
            title: text(&json, "title"),
            description: text(&json, "description"),
            input_schema: json["inputSchema"].clone(),
            output_schema: json.get("outputSchema").cloned(),
            annotations: json["annotations"].clone(),
            json,
        }
    }
}

/// A resource as the client sees it in the list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListedResource {
    /// Its URI.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people. Not before 2025-06-18.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime: Option<String>,
    /// All of it, as listed.
    pub json: Value,
}

/// A template of resources as the client sees it in the list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListedTemplate {
    /// The template.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people. Not before 2025-06-18.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// The media type of all its instances.
    pub mime: Option<String>,
    /// All of it, as listed.
    pub json: Value,
}

/// A prompt as the client sees it in the list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListedPrompt {
    /// Its name.
    pub name: String,
    /// Its name for people. Not before 2025-06-18.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The names of its arguments, in order.
    pub arguments: Vec<String>,
    /// The names of those without which it is not run.
    pub required: Vec<String>,
    /// All of it, as listed.
    pub json: Value,
}

fn text(json: &Value, key: &str) -> Option<String> {
    json[key].as_str().map(ToOwned::to_owned)
}

impl ListedResource {
    pub(super) fn read(json: Value) -> Self {
        Self {
            uri: text(&json, "uri").unwrap_or_default(),
            name: text(&json, "name").unwrap_or_default(),
            title: text(&json, "title"),
            description: text(&json, "description"),
            mime: text(&json, "mimeType"),
            json,
        }
    }
}

impl ListedTemplate {
    pub(super) fn read(json: Value) -> Self {
        Self {
            uri: text(&json, "uriTemplate").unwrap_or_default(),
            name: text(&json, "name").unwrap_or_default(),
            title: text(&json, "title"),
            description: text(&json, "description"),
            mime: text(&json, "mimeType"),
            json,
        }
    }
}

impl ListedPrompt {
    pub(super) fn read(json: Value) -> Self {
        let arguments = || json["arguments"].as_array().into_iter().flatten();
        Self {
            name: text(&json, "name").unwrap_or_default(),
            title: text(&json, "title"),
            description: text(&json, "description"),
            arguments: arguments().filter_map(|argument| text(argument, "name")).collect(),
            required: arguments()
                .filter(|argument| argument["required"] == true)
                .filter_map(|argument| text(argument, "name"))
                .collect(),
            json,
        }
    }
}
