//! What schemars says, in the form that clients take.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value, json};

use super::{CHECK, COERCE, NULLABLE};

/// Rewrites what schemars says into what clients take: no `null` for what may be left out, and bounds in place of
/// formats that no client knows, and `{}` for `true`, which is legal and yet too much for some.
pub(super) struct Plain {
    /// Whether it asks for data. One that promises data keeps `null`: what may be left out may also be written as that, for
    /// example the fields of a flattened `Option` (TOOL-11).
    pub(super) asks: bool,
}

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
        bound_items(members);
        if !self.asks {
            return;
        }
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
    let mut nullable = false;
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        nullable |= kinds.iter().any(|kind| kind == "null");
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
        nullable |= forms.contains(&json!({"type": "null"}));
        forms.retain(|form| *form != json!({"type": "null"}));
        if let [Value::Object(form)] = forms.as_slice() {
            let form = form.clone();
            property.shift_remove(key);
            // What stands beside it, such as the field's description, wins over what the type says.
            for (name, value) in form {
                property.entry(name).or_insert(value);
            }
        }
    }
    if property.get("default").is_some_and(Value::is_null) {
        property.shift_remove("default");
    }
    if nullable {
        property.insert(NULLABLE.into(), true.into());
    }
}

/// The length of an array is its number of items: who writes `max_length` for one means that.
pub(crate) fn bound_items(schema: &mut Map<String, Value>) {
    let is_array = match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind == "array" || kind == "null"),
        _ => false,
    };
    for (length, items) in [("minLength", "minItems"), ("maxLength", "maxItems")] {
        if let Some(bound) = is_array.then(|| schema.shift_remove(length)).flatten() {
            schema.entry(items).or_insert(bound);
        }
    }
}

/// Takes away what is for the checker alone.
pub(super) struct Unmarked;

impl Transform for Unmarked {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(members) = schema.as_object_mut() {
            for marker in [CHECK, COERCE, NULLABLE] {
                members.shift_remove(marker);
            }
        }
    }
}

/// `"format": "uint32"` and its like are names of schemars' own: a client may refuse a format that it does not know, and
/// none enforces it. The bounds that it stands for are said in plain words.
fn bound_number(schema: &mut Map<String, Value>) {
    let Some(Value::String(format)) = schema.get("format") else { return };
    let (least, most): (Option<i64>, Option<i64>) = match format.as_str() {
        "int8" => (Some(i8::MIN.into()), Some(i8::MAX.into())),
        "int16" => (Some(i16::MIN.into()), Some(i16::MAX.into())),
        "int32" => (Some(i32::MIN.into()), Some(i32::MAX.into())),
        "uint8" => (Some(0), Some(u8::MAX.into())),
        "uint16" => (Some(0), Some(u16::MAX.into())),
        "uint32" => (Some(0), Some(u32::MAX.into())),
        "uint64" | "uint128" | "uint" => (Some(0), None),
        "int64" | "int128" | "int" | "float" | "double" => (None, None),
        _ => return,
    };
    schema.shift_remove("format");
    for (key, bound) in [("minimum", least), ("maximum", most)] {
        if let Some(bound) = bound {
            tighten(schema, key, bound.into());
        }
    }
}

/// Adds a bound, unless there is one that is as tight: what a type cannot be, no other rule lets in.
pub(crate) fn tighten(schema: &mut Map<String, Value>, key: &str, bound: Value) {
    let is_tight = |known: &Value| match (known.as_f64(), bound.as_f64()) {
        (Some(known), Some(bound)) => {
            if key.starts_with("min") {
                known >= bound
            } else {
                known <= bound
            }
        }
        _ => true,
    };
    if !schema.get(key).is_some_and(is_tight) {
        schema.insert(key.to_owned(), bound);
    }
}
