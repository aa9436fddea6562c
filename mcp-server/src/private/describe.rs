//! How the macros' types are described.

use std::fmt::Display;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Name;
use crate::schema::{CHECK, COERCE, register, tighten};

/// One of a few names: as an argument has it, as serde would write it, and what it is.
type NameForm = (&'static str, &'static str, Option<&'static str>);

/// The schema of one of a few names; described one by one if one of them is.
#[must_use]
pub fn names_schema(generator: &SchemaGenerator, names: &[NameForm], description: Option<&'static str>) -> Schema {
    let written = generator.contract().is_serialize();
    let names = names.iter().map(|(read, write, text)| (if written { write } else { read }, text));
    let mut schema = Map::new();
    if let Some(text) = description {
        schema.insert("description".into(), text.into());
    }
    schema.insert("type".into(), "string".into());
    if names.clone().any(|(_, text)| text.is_some()) {
        let forms = names.map(|(name, text)| match text {
            Some(text) => json!({"const": name, "description": text}),
            None => json!({"const": name}),
        });
        schema.insert("oneOf".into(), forms.collect());
    } else {
        schema.insert("enum".into(), names.map(|(name, _)| Value::from(*name)).collect());
    }
    schema.into()
}

/// A schema's identity: two types of one name in different modules are two.
#[must_use]
pub fn id(module: &str, title: &str, name: Name) -> Name {
    if title == name { format!("{module}::{title}").into() } else { format!("{module}::{title}::{name}").into() }
}

/// The name of a generic type's schema.
#[must_use]
pub fn named(title: &str, parameters: &[Name]) -> String {
    format!("{title}_of_{}", parameters.join("_and_"))
}

/// The schema of an object, being written.
///
/// A type of arguments may be a result as well. Then it is described as `serde::Serialize` writes it: all members, by their own
/// names, with none of the rules that arguments keep.
#[derive(Debug)]
pub struct Object<'a> {
    generator: &'a mut SchemaGenerator,
    /// Whether it is a result.
    written: bool,
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// What members of other names must be.
    others: Option<Value>,
    /// What else the type says that takes them.
    rest: Map<String, Value>,
    description: Option<&'static str>,
}

impl<'a> Object<'a> {
    /// One without members.
    pub fn new(generator: &'a mut SchemaGenerator, open: bool) -> Self {
        let written = generator.contract().is_serialize();
        let others = (!open && !written).then_some(Value::Bool(false));
        Self {
            generator,
            written,
            properties: Map::new(),
            required: Vec::new(),
            others,
            rest: Map::new(),
            description: None,
        }
    }

    /// `field` is its name in Rust.
    pub(super) fn property<T: JsonSchema>(
        &mut self,
        name: &'static str,
        field: &'static str,
        is_required: bool,
    ) -> Property<'_> {
        let written = self.written;
        let name = if written { field } else { name };
        let mut schema = self.generator.subschema_for::<T>();
        schema.ensure_object();
        if is_required || written {
            self.required.push(name.into());
        }
        let rules = self.properties.entry(name).or_insert_with(|| schema.into());
        Property { name, rules, required: &mut self.required, written }
    }

    /// Members of other names are what the type that takes them says: the values of a map, or the fields of a struct. In a result,
    /// that is a member itself.
    pub(super) fn others<T: JsonSchema>(&mut self, field: &'static str) {
        if self.written {
            self.property::<T>(field, field, true);
            return;
        }
        let mut schema = self.generator.subschema_for::<T>();
        self.others = Some(schema.remove("additionalProperties").unwrap_or(Value::Bool(true)));
        for key in ["title", "description", "type", "default"] {
            schema.remove(key);
        }
        if let Some(Value::Object(properties)) = schema.remove("properties") {
            for (name, rules) in properties {
                self.properties.entry(name).or_insert(rules);
            }
        }
        if let Some(Value::Array(names)) = schema.remove("required") {
            self.required.extend(names.into_iter().filter(|name| !self.required.contains(name)).collect::<Vec<_>>());
        }
        self.rest = schema.as_object().cloned().unwrap_or_default();
    }

    /// What it is.
    pub const fn describe(&mut self, text: &'static str) {
        self.description = Some(text);
    }

    /// The schema.
    #[must_use]
    pub fn finish(self) -> Schema {
        let mut schema = Map::new();
        if let Some(text) = self.description {
            schema.insert("description".into(), text.into());
        }
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), self.properties.into());
        if !self.required.is_empty() {
            schema.insert("required".into(), self.required.into());
        }
        if let Some(others) = self.others {
            schema.insert("additionalProperties".into(), others);
        }
        schema.extend(self.rest);
        schema.into()
    }
}

/// The schema of one member, to which rules are added.
#[derive(Debug)]
pub struct Property<'a> {
    name: &'static str,
    rules: &'a mut Value,
    required: &'a mut Vec<Value>,
    /// Whether it is of a result.
    written: bool,
}

impl Property<'_> {
    /// What it is.
    pub fn describe(self, text: &'static str) -> Self {
        self.set("description", text)
    }

    /// Its name for people.
    pub fn title(self, text: &'static str) -> Self {
        self.set("title", text)
    }

    /// The least or the greatest number.
    pub fn bound(self, keyword: &'static str, number: impl Number) -> Self {
        self.set_each(keyword, number)
    }

    /// Characters of a text, items of a list, members of a map: what its type is, its schema knows.
    pub fn min_length(self, length: usize) -> Self {
        let keyword = self.by_kind("minLength", "minItems", "minProperties");
        self.set(keyword, length)
    }

    /// The same, at most.
    pub fn max_length(self, length: usize) -> Self {
        let keyword = self.by_kind("maxLength", "maxItems", "maxProperties");
        self.set(keyword, length)
    }

    /// Items of a list.
    pub fn min_items(self, length: usize) -> Self {
        self.set("minItems", length)
    }

    /// The same, at most.
    pub fn max_items(self, length: usize) -> Self {
        self.set("maxItems", length)
    }

    /// No item of a list twice.
    pub fn unique(self) -> Self {
        self.set("uniqueItems", true)
    }

    /// A regular expression.
    pub fn pattern(self, pattern: &'static str) -> Self {
        self.set_each("pattern", pattern)
    }

    /// The values that are allowed.
    pub fn one_of(self, values: Vec<Value>) -> Self {
        self.set_each("enum", values)
    }

    /// What it is if it is not sent, where that can be said in JSON.
    pub fn default(self, value: Option<Value>) -> Self {
        if self.written {
            return self;
        }
        self.required.retain(|name| name != self.name);
        match value {
            Some(value) => self.set("default", value),
            None => self,
        }
    }

    /// The header in which clients mirror it (HDR-9).
    pub fn header(self, name: &'static str) -> Self {
        self.set("x-mcp-header", name)
    }

    /// Whether a text is read as what it spells.
    pub fn coerce(self, coerce: bool) -> Self {
        self.set(COERCE, coerce)
    }

    /// A rule that no schema can tell.
    pub fn check<T: DeserializeOwned + 'static, V: Verdict + 'static>(
        self,
        name: &'static str,
        check: fn(&T) -> V,
    ) -> Self {
        self.register(move |value: &T| check(value).told(name))
    }

    /// The same by one that is made, as of `validators::range(1..=10)`.
    pub fn check_by<T: DeserializeOwned + 'static, V: Verdict + 'static>(
        self,
        check: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.register(move |value: &T| check(value).told(""))
    }

    fn register<T: DeserializeOwned + 'static>(
        self,
        check: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let check = move |value: &Value| match T::deserialize(value) {
            Ok(value) => check(&value),
            // What is wrong with its type is told by its schema.
            Err(_) => Ok(()),
        };
        match register(std::sync::Arc::new(check)) {
            Some(index) => self.set(CHECK, index),
            None => self,
        }
    }

    fn by_kind(&self, text: &'static str, list: &'static str, map: &'static str) -> &'static str {
        match (self.is("array"), self.is("object")) {
            (true, _) => list,
            (_, true) => map,
            _ => text,
        }
    }

    fn is(&self, kind: &str) -> bool {
        match &self.rules["type"] {
            Value::String(only) => only == kind,
            Value::Array(kinds) => kinds.iter().any(|one| one == kind),
            _ => false,
        }
    }

    /// In a list, for its items.
    fn set_each(self, keyword: &'static str, value: impl Into<Value>) -> Self {
        if self.is("array")
            && !self.written
            && let Some(items) = self.rules.get_mut("items").and_then(Value::as_object_mut)
        {
            put(items, keyword, value.into());
            return self;
        }
        self.set(keyword, value)
    }

    fn set(self, keyword: &'static str, value: impl Into<Value>) -> Self {
        if self.written && keyword != "description" {
            return self;
        }
        if let Some(rules) = self.rules.as_object_mut() {
            put(rules, keyword, value.into());
        }
        self
    }
}

/// A bound is added to those of the type, any other rule stands in place of its own.
fn put(rules: &mut Map<String, Value>, keyword: &str, value: Value) {
    if value.is_number() && (keyword.starts_with("min") || keyword.starts_with("max")) {
        tighten(rules, keyword, value);
    } else {
        rules.insert(keyword.into(), value);
    }
}

/// What can bound a number.
#[diagnostic::on_unimplemented(message = "`{Self}` is no number, and cannot be `min` or `max`", label = "not a number")]
pub trait Number: Into<Value> {}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Number for $number {})*
    };
}

numbers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);

/// What a check of an argument may return.
#[diagnostic::on_unimplemented(
    message = "a check of an argument cannot return `{Self}`",
    label = "returns neither `bool` nor `Result<(), E>`",
    note = "it takes the value by reference and returns whether it is right, or `Err` with what is wrong: a text or whatever implements `Display`"
)]
pub trait Verdict {
    /// What is wrong, in words that follow the argument's name; `name` is that of the check, if it has one.
    fn told(self, name: &'static str) -> Result<(), String>;
}

impl Verdict for bool {
    fn told(self, name: &'static str) -> Result<(), String> {
        match (self, name) {
            (true, _) => Ok(()),
            (false, "") => Err("fails its check".into()),
            (false, name) => Err(format!("fails the check `{name}`")),
        }
    }
}

impl<E: Display> Verdict for Result<(), E> {
    fn told(self, _: &'static str) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// A value as JSON.
pub fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// A list of values as JSON.
pub fn values(list: &impl Serialize) -> Vec<Value> {
    match json(list) {
        Value::Array(values) => values,
        value => vec![value],
    }
}

/// Asks how a value is said in JSON: [`Spelling`] answers for one of a few names, [`Written`] for what serde can write, and
/// [`Unwritten`] for all others. The compiler looks at one reference first, then at two, then at none.
#[derive(Debug)]
pub struct Probe<'a, T>(pub &'a T);

/// One of a few names, which may be others than serde would write.
pub trait Spelled {
    /// As an argument has it.
    fn spelled(&self) -> &'static str;
}

/// See [`Probe`].
pub trait Spelling {
    /// The name.
    fn json(&self) -> Option<Value>;
}

/// See [`Probe`].
pub trait Written {
    /// The value.
    fn json(&self) -> Option<Value>;
}

/// See [`Probe`].
pub trait Unwritten {
    /// No value.
    fn json(&self) -> Option<Value> {
        None
    }
}

impl<T: Spelled> Spelling for &Probe<'_, T> {
    fn json(&self) -> Option<Value> {
        Some(self.0.spelled().into())
    }
}

impl<T: Serialize> Written for &&Probe<'_, T> {
    fn json(&self) -> Option<Value> {
        serde_json::to_value(self.0).ok()
    }
}

impl<T> Unwritten for Probe<'_, T> {}
