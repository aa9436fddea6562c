//! What a tool's schemas must be before they are shown to anybody. Their text is emitted as it was given (TOOL-14).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::Defect;
use crate::fault::reflect;

/// An argument that clients repeat in the header `Mcp-Param-<header>` (HDR-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The header's name after `Mcp-Param-`.
    pub header: Box<str>,
    /// Where the argument is: names of members, from the root of `arguments`.
    pub path: Box<[Box<str>]>,
    /// Its type.
    pub kind: MirrorKind,
}

/// The type of an argument that is repeated in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MirrorKind {
    /// Compared byte for byte.
    String,
    /// Compared as a number, up to 2^53-1 either way.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// Checks an input schema and returns the arguments that it wants repeated in headers.
pub(super) fn check_input(entry: &str, text: &str, defects: &mut Vec<Defect>) -> Box<[Mirror]> {
    let Some(root) = parse(entry, "input schema", text, defects) else { return Box::default() };
    if root.get("type").and_then(Value::as_str) != Some("object") {
        let message = alloc::format!(
            "the input schema's root must say `\"type\":\"object\"`, not {}: arguments are an object; a tool without \
             any takes {{\"type\":\"object\",\"properties\":{{}},\"additionalProperties\":false}}",
            root_type(&root)
        );
        defects.push(Defect::new(entry, "TOOL-4", message));
    }
    let mut walk = Walk::new(entry, "input schema", text, &root, defects);
    walk.schema(&root, "", Some(&[]));
    walk.mirrors.into()
}

/// Checks an output schema and returns whether its root is an object's.
pub(super) fn check_output(entry: &str, text: &str, any: bool, defects: &mut Vec<Defect>) -> bool {
    let Some(root) = parse(entry, "output schema", text, defects) else { return false };
    let object = root.get("type").and_then(Value::as_str) == Some("object");
    if !object && !any {
        let message = alloc::format!(
            "the output schema's root must say `\"type\":\"object\"`, not {}: wrap the value, as in \
             {{\"type\":\"object\",\"properties\":{{\"items\":<schema>}}}}, or allow any output, which only clients of \
             2026-07-28 will see",
            root_type(&root)
        );
        defects.push(Defect::new(entry, "SCHEMA-6", message));
    }
    Walk::new(entry, "output schema", text, &root, defects).schema(&root, "", None);
    object
}

fn parse(entry: &str, which: &'static str, text: &str, defects: &mut Vec<Defect>) -> Option<Value> {
    let rule = if which == "input schema" { "TOOL-4" } else { "TOOL-13" };
    let message = match serde_json::from_str(text) {
        Ok(root @ Value::Object(_)) => return Some(root),
        Ok(_) => alloc::format!("the {which} must be a JSON object"),
        Err(error) => alloc::format!("the {which} is not JSON: {error}"),
    };
    defects.push(Defect::new(entry, rule, message));
    None
}

fn root_type(root: &Value) -> String {
    match root.get("type") {
        Some(other) => alloc::format!("`{}`", reflect(&alloc::format!("{other}"))),
        None => "nothing".into(),
    }
}

/// One pass over a schema, whose depth the parser has bounded.
struct Walk<'w> {
    entry: &'w str,
    which: &'static str,
    root: &'w Value,
    /// Whether `#/…` is always a place in the root. Not so within an embedded resource with an `$id` of its own.
    one_resource: bool,
    mirrors: Vec<Mirror>,
    defects: &'w mut Vec<Defect>,
}

impl<'w> Walk<'w> {
    fn new(entry: &'w str, which: &'static str, text: &str, root: &'w Value, defects: &'w mut Vec<Defect>) -> Self {
        let ids = text.matches("\"$id\"").count();
        let one_resource = ids == usize::from(root.get("$id").is_some());
        Self { entry, which, root, one_resource, mirrors: Vec::new(), defects }
    }

    /// A subschema. `path` says how it is reached from the root if only by `properties` steps.
    fn schema(&mut self, schema: &Value, at: &str, path: Option<&[Box<str>]>) {
        let Value::Object(members) = schema else { return };
        for (keyword, value) in members {
            let at = alloc::format!("{at}/{keyword}");
            match keyword.as_str() {
                // Data, not schemas: a member of theirs that looks like a keyword is none.
                "const" | "enum" | "default" | "examples" | "dependentRequired" | "$vocabulary" => {}
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(value, &at),
                "x-mcp-header" => self.mirror(members, value, &at, path),
                "properties" => self.named(value, &at, path),
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => {
                    self.named(value, &at, None);
                }
                _ => self.other(value, &at),
            }
        }
    }

    /// An object whose members are subschemas under names of their own.
    fn named(&mut self, schemas: &Value, at: &str, path: Option<&[Box<str>]>) {
        let Value::Object(schemas) = schemas else {
            // Clients that see `"properties":[]` drop the tool.
            if path.is_some() {
                self.defect("TOOL-4", alloc::format!("`{at}` of the {} must be an object", self.which));
            }
            return;
        };
        for (name, schema) in schemas {
            let path = path.map(|path| [path, &[name.as_str().into()]].concat());
            let at = alloc::format!("{at}/{name}");
            match schema {
                Value::Array(_) => self.other(schema, &at),
                _ => self.schema(schema, &at, path.as_deref()),
            }
        }
    }

    /// A keyword that holds a subschema, several, none, or is unknown: a client may follow what looks like a reference.
    fn other(&mut self, value: &Value, at: &str) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.other(item, at)),
            _ => self.schema(value, at, None),
        }
    }

    fn reference(&mut self, value: &Value, at: &str) {
        let target = value.as_str().unwrap_or_default();
        if !target.starts_with('#') {
            let message = alloc::format!(
                "`{at}` of the {} refers to `{}`, outside the schema: nothing is fetched and embedded `$id` resources \
                 are not followed, so put the schema under `$defs` and refer to `#/$defs/<name>`",
                self.which,
                reflect(target)
            );
            return self.defect("SCHEMA-3", message);
        }
        let pointer = &target[1..];
        let is_pointer = pointer.is_empty() || pointer.starts_with('/');
        if self.one_resource && is_pointer && !pointer.contains('%') && self.root.pointer(pointer).is_none() {
            let message = alloc::format!(
                "`{at}` of the {} refers to `{}`, which is not in the schema: define it, or correct the reference",
                self.which,
                reflect(target)
            );
            self.defect("SCHEMA-4", message);
        }
    }

    fn mirror(&mut self, members: &Map<String, Value>, value: &Value, at: &str, path: Option<&[Box<str>]>) {
        if self.which == "output schema" {
            return;
        }
        let path = path.filter(|path| !path.is_empty());
        let header = value.as_str().filter(|header| !header.is_empty() && header.bytes().all(is_token));
        let kind = match members.get("type").and_then(Value::as_str) {
            Some("string") => Some(MirrorKind::String),
            Some("integer") => Some(MirrorKind::Integer),
            Some("boolean") => Some(MirrorKind::Boolean),
            _ => None,
        };
        let taken =
            |header: &&str| self.mirrors.iter().any(|mirror: &Mirror| mirror.header.eq_ignore_ascii_case(header));
        let why = match (path, header, kind) {
            (None, ..) => {
                "only a property that is reached from the root by `properties` alone can be repeated in a header"
            }
            (_, None, _) => "the header's name must be a token: letters, digits and !#$%&'*+-.^_`|~",
            (.., None) => "the property's type must be exactly \"string\", \"integer\" or \"boolean\"",
            (_, Some(header), _) if taken(&header) => "two properties name this header; case makes no difference",
            (Some(path), Some(header), Some(kind)) => {
                self.mirrors.push(Mirror { header: header.into(), path: path.into(), kind });
                return;
            }
        };
        self.defect("HDR-9", alloc::format!("`{at}` of the input schema: {why}"));
    }

    fn defect(&mut self, rule: &'static str, message: String) {
        self.defects.push(Defect::new(self.entry, rule, message));
    }
}

/// A character of an RFC 9110 token.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
