//! What all definitions of a manifest have, unless they say otherwise.

use std::mem::take;

use serde_json::{Map, Value, json};

use crate::check::{kind, nearest};
use crate::defaults::merge;

const KNOWN: [&str; 8] = ["inputSchema", "input_schema", "tags", "_meta", "annotations", "cache", "scope", "sensitive"];
const SKIP: &str = "skipDefaultParams";

/// What each definition starts from.
#[derive(Default)]
pub(super) struct Defaults {
    members: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Defaults {
    pub(super) fn read(given: Option<Value>, faults: &mut Vec<String>) -> Self {
        let mut members = match given {
            None => return Self::default(),
            Some(Value::Object(members)) => members,
            Some(other) => {
                faults.push(format!("its `defaults` must be an object, not {}", kind(&other)));
                return Self::default();
            }
        };
        for name in members.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
            let name = mcp_core::fault::reflect(name);
            let meant = nearest(&name, KNOWN)
                .map_or_else(|| format!("it knows {}", KNOWN.join(", ")), |meant| format!("did you mean `{meant}`?"));
            faults.push(format!("its `defaults` have a member `{name}`, which nobody reads: {meant}"));
        }
        for name in ["tags", "_meta", "annotations", "cache"] {
            if let Some(other) = members.get(name).filter(|value| !value.is_object()) {
                faults.push(format!("`defaults.{name}` must be an object, not {}", kind(other)));
                members.shift_remove(name);
            }
        }
        let schema = members.shift_remove("inputSchema").or_else(|| members.shift_remove("input_schema"));
        let mut defaults = Self { members, ..Self::default() };
        match schema {
            None => {}
            Some(Value::Object(schema)) => defaults.params(schema, faults),
            Some(other) => faults.push(format!("`defaults.inputSchema` must be an object, not {}", kind(&other))),
        }
        defaults
    }

    fn params(&mut self, schema: Map<String, Value>, faults: &mut Vec<String>) {
        for (name, value) in schema {
            match (name.as_str(), value) {
                ("type", Value::String(object)) if object == "object" => {}
                ("properties", Value::Object(properties)) => self.properties = properties,
                ("required", Value::Array(required)) => self.required = required,
                (name, _) => {
                    let name = mcp_core::fault::reflect(name);
                    faults.push(format!(
                        "`defaults.inputSchema` has `type`, an object's, `properties` and `required`, and no such `{name}`"
                    ));
                }
            }
        }
    }

    /// What the definition says wins, but for obligations, which add up.
    pub(super) fn fill(&self, index: usize, definition: &mut Value, faults: &mut Vec<String>) {
        let Value::Object(definition) = definition else { return };
        let skipped = self.skipped(index, definition, faults);
        for name in ["tags", "_meta", "annotations", "cache"] {
            let Some(Value::Object(more)) = self.members.get(name) else { continue };
            if let Value::Object(own) = definition.entry(name).or_insert_with(|| json!({})) {
                merge(own, more);
            }
        }
        let sensitive = |members: &Map<String, Value>| {
            members.get("sensitive") == Some(&Value::Bool(true))
                || ["sensitive", "destructiveHint"].iter().any(|hint| {
                    members.get("annotations").and_then(|hints| hints.get(*hint)) == Some(&Value::Bool(true))
                })
        };
        match self.members.get("sensitive") {
            _ if sensitive(&self.members) => drop(definition.insert("sensitive".into(), true.into())),
            // What is no boolean is told of each.
            Some(other) if !other.is_boolean() => drop(definition.entry("sensitive").or_insert_with(|| other.clone())),
            _ => {}
        }
        if let Some(scope) = self.members.get("scope") {
            let own = definition.entry("scope").or_insert_with(|| json!([]));
            *own = [scope, own].into_iter().flat_map(scopes).collect();
        }
        let schema = if definition.contains_key("inputSchema") { "inputSchema" } else { "input_schema" };
        if let Some(Value::Object(schema)) = definition.get_mut(schema) {
            self.fill_schema(schema, &skipped);
        }
    }

    fn skipped(&self, index: usize, definition: &mut Map<String, Value>, faults: &mut Vec<String>) -> Vec<String> {
        let names = match definition.shift_remove(SKIP) {
            None => return Vec::new(),
            Some(Value::Array(names)) => names,
            Some(other) => {
                faults.push(format!("`{SKIP}` of tools[{index}] must be a list of names, not {}", kind(&other)));
                return Vec::new();
            }
        };
        let names: Vec<String> = names.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect();
        for name in names.iter().filter(|name| !self.properties.contains_key(*name)) {
            let name = mcp_core::fault::reflect(name);
            let meant = match nearest(&name, self.properties.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "take it out".into(),
            };
            faults.push(format!("tools[{index}] skips the default param `{name}`, and there is none: {meant}"));
        }
        names
    }

    /// Default params come first; one that the tool has itself is the tool's.
    fn fill_schema(&self, schema: &mut Map<String, Value>, skipped: &[String]) {
        let own = match schema.get("properties") {
            None => Map::new(),
            Some(Value::Object(own)) => own.clone(),
            Some(_) => return,
        };
        let kept = |name: &str| !own.contains_key(name) && !skipped.iter().any(|skipped| skipped == name);
        let more = self.properties.iter().filter(|(name, _)| kept(name));
        let mut properties: Map<String, Value> = more.map(|(name, value)| (name.clone(), value.clone())).collect();
        if properties.is_empty() {
            return;
        }
        let mut required: Vec<Value> =
            self.required.iter().filter(|name| name.as_str().is_some_and(kept)).cloned().collect();
        properties.extend(own);
        schema.insert("properties".into(), properties.into());
        match schema.get_mut("required") {
            Some(Value::Array(own)) => {
                required.append(&mut take(own));
                *own = required;
            }
            None if !required.is_empty() => drop(schema.insert("required".into(), required.into())),
            _ => {}
        }
    }
}

/// One by one; what is no text stays, and is told of the definition.
fn scopes(scope: &Value) -> Vec<Value> {
    match scope {
        Value::Array(scopes) => scopes.clone(),
        other => vec![other.clone()],
    }
}
