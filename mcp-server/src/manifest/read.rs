//! What is in a manifest, whatever it is written in.

use serde_json::Value;

use crate::check::{self, kind, nearest};
use crate::defaults::Defaults;

/// Definitions, not looked into yet, and what is wrong around them.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) definitions: Vec<Value>,
    /// What all of them have.
    pub(super) defaults: Defaults,
    pub(super) faults: Vec<String>,
}

/// # Errors
///
/// The text is no JSON, with line and column.
pub(super) fn json(text: &str) -> Result<Read, String> {
    let value = serde_json::from_str::<Value>(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let mut read = definitions(value);
    read.faults.extend(check::twice(text.as_bytes()).into_iter().map(|twice| format!("it has `{}` twice", twice.path)));
    Ok(read)
}

pub(super) fn definitions(value: Value) -> Read {
    let mut read = Read { definitions: Vec::new(), defaults: Defaults::new(), faults: Vec::new() };
    let mut members = match value {
        Value::Array(definitions) => return Read { definitions, ..read },
        Value::Object(members) => members,
        other => {
            let what =
                format!("a manifest is an object with a list `tools`, or the list alone, and not {}", kind(&other));
            return Read { faults: vec![what], ..read };
        }
    };
    // As in a definition, null says as much as nothing.
    members.retain(|_, value| !value.is_null());
    if !members.contains_key("tools") && members.contains_key("name") {
        // One alone.
        return Read { definitions: vec![members.into()], ..read };
    }
    match members.shift_remove("tools") {
        Some(Value::Array(definitions)) => read.definitions = definitions,
        Some(other) => read.faults.push(format!("its `tools` must be a list, not {}", kind(&other))),
        None => read.faults.push("it has no list `tools`".into()),
    }
    match members.shift_remove("defaults") {
        Some(Value::Object(defaults)) => read.defaults = Defaults::from_members(defaults),
        Some(other) => {
            read.faults.push(format!("its `defaults` must be an object, not {}", kind(&other)));
            read.defaults.unfit = true;
        }
        None => {}
    }
    for name in members.keys() {
        let name = mcp_core::fault::reflect(name);
        let meant = match nearest(&name, ["tools", "defaults"]) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "it knows `tools` and `defaults`".into(),
        };
        read.faults.push(format!("it has a member `{name}`, which nobody reads: {meant}"));
    }
    read
}
