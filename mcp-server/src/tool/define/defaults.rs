//! What a manifest says of all of its definitions.

use serde_json::{Map, Value, json};

use super::{Reader, Tool, kind, nearest, present};
use crate::defaults::Defaults;
use crate::tool::schemas::Given;
use crate::validate::Validator;

const MEMBERS: [&str; 8] =
    ["inputSchema", "input_schema", "tags", "_meta", "annotations", "cache", "scope", "sensitive"];

impl Defaults {
    /// From data, as a definition says the same. What is wrong with it is told of it, once.
    pub(crate) fn from_members(members: Map<String, Value>) -> Self {
        let mut reader = Reader::new(members, Tool::new(""), "its `defaults`");
        let schema = reader.schema("inputSchema", "input_schema", "TOOL-4");
        reader.annotations();
        let meta = reader.object("_meta", "BASE-21");
        reader.tool.meta = (!meta.is_empty()).then(|| meta.into());
        reader.scope();
        reader.cache();
        reader.sensitivity();
        reader.tool.tags = reader.object("tags", "TOOL-3");
        for (name, _) in std::mem::take(&mut reader.members) {
            reader.unknown("its `defaults` have", &name, &MEMBERS);
        }
        let Tool { annotations, tags, meta, guards, sensitive, wrong, .. } = reader.tool;
        let sensitive = sensitive == Some(true);
        let mut defaults = Self { annotations, tags, meta, guards, sensitive, wrong, ..Self::new() };
        match schema {
            Some(Given::Value(Value::Object(schema))) => defaults.add_schema(schema),
            Some(Given::Value(other)) => {
                defaults.misfit(format!("the `inputSchema` of its `defaults` must be an object, not {}", kind(&other)));
            }
            Some(Given::Text(_)) | None => {}
        }
        defaults
    }

    fn add_schema(&mut self, schema: Map<String, Value>) {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, value) in present(schema) {
            match (name.as_str(), value) {
                ("type", Value::String(object)) if object == "object" => {}
                ("properties", Value::Object(members)) => properties = members,
                ("required", Value::Array(names)) if names.iter().all(Value::is_string) => required = names,
                (name, _) => {
                    self.unfit |= name == "properties";
                    let name = mcp_core::fault::reflect(name);
                    self.wrong_schema(format!(
                        "the `inputSchema` of its `defaults` has `type`, an object's, `properties` and `required`, and no \
                         such `{name}`"
                    ));
                }
            }
        }
        for name in required.iter().filter_map(Value::as_str).filter(|name| !properties.contains_key(*name)) {
            let name = mcp_core::fault::reflect(name);
            let meant = match nearest(&name, properties.keys().map(String::as_str)) {
                Some(meant) => format!("did you mean `{}`?", mcp_core::fault::reflect(meant)),
                None => "add it, or take it out".into(),
            };
            self.wrong_schema(format!(
                "the `inputSchema` of its `defaults` requires `{name}`, which is none of its properties: {meant}"
            ));
        }
        let schema = json!({"type": "object", "properties": properties, "required": required});
        match Validator::compile(&schema) {
            Ok(_) => self.add(&schema, Vec::new(), None),
            Err(found) => {
                found.into_iter().for_each(|why| self.misfit(format!("the `inputSchema` of its `defaults` {why}")))
            }
        }
    }

    fn misfit(&mut self, what: String) {
        self.unfit = true;
        self.wrong_schema(what);
    }

    fn wrong_schema(&mut self, what: String) {
        self.wrong.push(("TOOL-4", what.into()));
    }
}
