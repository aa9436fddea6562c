//! Schemas derived from types, in the form in which they are published (TOOL-4).

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Where shared definitions stand: the only references left in a derived schema point there.
const DEFS: &str = "$defs";

/// The schema of a tool's arguments, as data of that type is read.
pub(crate) fn input<T: JsonSchema>() -> Value {
    rooted(generate::<T>(Contract::Deserialize))
}

/// The schema of a tool's result, as data of that type is written; `None` if the type can be anything, for then there
/// is nothing to say.
pub(crate) fn output<T: JsonSchema>() -> Option<Value> {
    let schema = generate::<T>(Contract::Serialize);
    let says_nothing = schema.keys().all(|key| matches!(key.as_str(), "description" | "title"));
    (!says_nothing).then(|| rooted(schema))
}

/// The schema of a tool without arguments.
pub(crate) fn nothing() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": false})
}

/// Whether a schema lets nothing in but an empty object.
pub(crate) fn is_nothing(schema: &Value) -> bool {
    *schema == nothing()
}

/// What is wrong with the root of a schema that must describe an object (TOOL-4, TOOL-13).
pub(crate) fn root_fault(schema: &Value) -> Option<String> {
    match schema {
        Value::Object(members) => match members.get("type") {
            Some(Value::String(kind)) if kind == "object" => None,
            Some(kind) => Some(format!("its root has `\"type\": {kind}`")),
            None => Some("its root has no `type`".into()),
        },
        _ => Some("it is not a JSON object".into()),
    }
}

fn generate<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    // `$schema` is left out: without it a schema is 2020-12 for every client that follows the protocol, and each tool
    // in the list costs a model tokens.
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        settings.contract = contract;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // The name of a Rust type is no title: schemars puts it there if the author gave none.
    if schema.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
        schema.remove("title");
    }
    Plain.transform(&mut schema);
    let members = schema.as_object().cloned().unwrap_or_default();
    without_root_references(members, &T::schema_name())
}

/// Arguments are always an object (TOOL-4): says so where the type leaves it open, and closes an object that has
/// no members. A root of another type stays as it is, and is found when the server is built.
fn rooted(mut schema: Map<String, Value>) -> Value {
    let silent = |key: &str| matches!(key, "description" | "title");
    let bare = schema.keys().all(|key| key == "type" || silent(key));
    if bare && schema.get("type").is_some_and(|kind| kind == "object") {
        // All that schemars says of a struct without fields.
        schema.insert("properties".into(), json!({}));
        schema.insert("additionalProperties".into(), false.into());
    }
    let of_objects = |key: &str| match schema.get(key) {
        Some(Value::Array(forms)) => forms.iter().all(|form| form["type"] == "object"),
        _ => true,
    };
    if !schema.contains_key("type") && of_objects("oneOf") && of_objects("anyOf") {
        schema.insert("type".into(), "object".into());
    }
    schema.into()
}

/// A recursive root refers to itself as `#`, which breaks where a client moves the schema into another: such a root
/// becomes a definition, too.
fn without_root_references(mut schema: Map<String, Value>, name: &str) -> Map<String, Value> {
    let mut name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    while schema.get(DEFS).is_some_and(|definitions| definitions.get(&name).is_some()) {
        name.push('_');
    }
    let mut found = false;
    let target = format!("#/{DEFS}/{name}");
    schema.values_mut().for_each(|value| redirect(value, &target, &mut found));
    if !found {
        return schema;
    }
    let mut itself = schema.clone();
    itself.remove(DEFS);
    let definitions = schema.entry(DEFS).or_insert_with(|| json!({}));
    if let Value::Object(definitions) = definitions {
        definitions.insert(name, itself.into());
    }
    schema
}

fn redirect(value: &mut Value, target: &str, found: &mut bool) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if key == "$ref" && *member == "#" {
                    *member = target.into();
                    *found = true;
                } else {
                    redirect(member, target, found);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, target, found)),
        _ => {}
    }
}

/// Rewrites what schemars says into what clients take: no `null` for what may be left out, and bounds in place of
/// formats that no client knows, and `{}` for `true`, which is legal and yet too much for some.
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        if schema.as_bool() == Some(true) {
            *schema = Schema::default();
        }
        transform_subschemas(self, schema);
        let Some(members) = schema.as_object_mut() else { return };
        if let Some(others) = members.get_mut("additionalProperties").filter(|others| **others == json!({})) {
            *others = true.into();
        }
        bound_number(members);
        let required: Vec<String> = match members.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(Into::into).collect(),
            _ => Vec::new(),
        };
        let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
        for (_, property) in properties.iter_mut().filter(|(name, _)| !required.contains(name)) {
            if let Value::Object(property) = property {
                not_null(property);
            }
        }
    }
}

/// `Option<T>` as plain `T`: an explicit null is still read, it is only not asked for.
fn not_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            property.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(forms)) = property.get_mut(key) else { continue };
        forms.retain(|form| *form != json!({"type": "null"}));
        if let [Value::Object(form)] = forms.as_slice() {
            let form = form.clone();
            property.remove(key);
            // What stands beside it, such as the field's description, wins over what the type says.
            for (name, value) in form {
                property.entry(name).or_insert(value);
            }
        }
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.remove("default");
    }
}

/// `"format": "uint32"` and its like are names of schemars' own: a client may refuse a format that it does not know, and
/// none enforces it. The bounds that it stands for are said in plain words.
fn bound_number(schema: &mut Map<String, Value>) {
    let Some(Value::String(format)) = schema.get("format") else { return };
    let (least, most): (Option<i64>, Option<i64>) = match format.as_str() {
        "int32" => (Some(i32::MIN.into()), Some(i32::MAX.into())),
        "uint32" => (Some(0), Some(u32::MAX.into())),
        "int8" | "int16" | "int64" | "int128" | "int" | "uint8" | "uint16" | "uint64" | "uint128" | "uint"
        | "float" | "double" => (None, None),
        _ => return,
    };
    schema.remove("format");
    for (key, bound) in [("minimum", least), ("maximum", most)] {
        if let Some(bound) = bound {
            schema.entry(key).or_insert_with(|| bound.into());
        }
    }
}
