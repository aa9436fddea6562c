//! A prompt's arguments, as a type has them.

use mcp_core::fault::reflect;
use serde_json::Value;

use super::PromptArg;

/// The arguments that a schema describes, in its order, each with the words that it may be; or what is wrong with it.
pub(super) fn arguments(schema: &Value) -> Result<Vec<(PromptArg, Vec<String>)>, Vec<String>> {
    let Some(properties) = schema["properties"].as_object() else {
        return if schema["type"] == "object" { Ok(Vec::new()) } else { Err(vec![NO_STRUCT.into()]) };
    };
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|own| own == name));
    let (mut arguments, mut faults) = (Vec::new(), Vec::new());
    for (name, property) in properties {
        let whole = resolved(schema, property);
        if matches!(whole["type"].as_str(), Some("array" | "object")) {
            let name = reflect(name);
            faults.push(format!(
                "the argument `{name}` would be a list or an object, and arguments of prompts are texts: use a text, number, \
                 `bool` or enum"
            ));
        }
        let mut argument = PromptArg::new(name);
        if let Some(title) = property["title"].as_str() {
            argument = argument.title(title);
        }
        if let Some(description) = property["description"].as_str() {
            argument = argument.description(description);
        }
        arguments.push((if required(name) { argument.required() } else { argument }, words(whole)));
    }
    if faults.is_empty() { Ok(arguments) } else { Err(faults) }
}

/// What a property may be, if it is one of a few words.
fn words(property: &Value) -> Vec<String> {
    let listed = property["enum"].as_array().into_iter().flatten();
    // An enum whose variants have a description each.
    let described = property["oneOf"].as_array().into_iter().flatten().map(|variant| &variant["const"]);
    listed.chain(described).filter_map(|word| word.as_str().map(ToOwned::to_owned)).collect()
}

/// The definition that a property refers to, or itself.
fn resolved<'a>(schema: &'a Value, property: &'a Value) -> &'a Value {
    let reference = property["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| schema.pointer(pointer)).unwrap_or(property)
}

const NO_STRUCT: &str = "its arguments' type is no struct: give `.arguments` one with named fields";
