//! What the code that the macros write stands on. It follows them from version to version and is no part of the API.
//!
//! As much as can be is here and not in what is written out, so that an author's crate compiles fast.

use std::fmt::{self, Display};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
pub use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, Visitor};
pub use serde::de::{Deserialize, Deserializer, MapAccess};
pub use serde_json::Value;
use serde_json::{Map, json};

use crate::schema;

/// A schema's name.
pub type Name = std::borrow::Cow<'static, str>;

/// A type that can be an argument, or a field of one.
///
/// The macros ask for it and for nothing else, so that a type which lacks something is told of once, where it stands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "cannot be read from JSON, or has no JSON Schema",
    note = "for a type of your own, derive `mcp_server::Arguments`, or `serde::Deserialize` and `schemars::JsonSchema`",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread",
    note = "what comes from the server and not from the caller is taken as `State<T>`, or has `#[extract]` before it",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`"
)]
pub trait Argument: Sized {
    /// Reads it, if it has not been read.
    fn once<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error>;

    /// The same where `null` stands for the default.
    fn or_null<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error>;

    /// What was read, or what the type makes of nothing: an `Option` is `None`.
    fn or_missing<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E>;

    /// Reads all members that have no field.
    fn rest<'de, A: MapAccess<'de>>(members: &mut Members<A>) -> Result<Self, A::Error>;

    /// Adds it to the schema of an object.
    fn property<'a>(object: &'a mut Object<'_>, name: &'static str) -> Property<'a>;

    /// Lets members that have no field into the schema of an object.
    fn others(object: &mut Object<'_>);

    /// What its schema is called.
    fn name() -> Name;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Argument for T {
    fn once<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error> {
        members.first(slot.is_some())?;
        *slot = Some(members.map.next_value()?);
        Ok(())
    }

    fn or_null<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error> {
        members.first(slot.is_some())?;
        *slot = members.map.next_value()?;
        Ok(())
    }

    fn or_missing<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E> {
        match slot {
            Some(value) => Ok(value),
            None => Self::deserialize(Missing { name, error: PhantomData }),
        }
    }

    fn rest<'de, A: MapAccess<'de>>(members: &mut Members<A>) -> Result<Self, A::Error> {
        let rest = members.rest.take().unwrap_or_default();
        Self::deserialize(Value::Object(rest)).map_err(A::Error::custom)
    }

    fn property<'a>(object: &'a mut Object<'_>, name: &'static str) -> Property<'a> {
        let mut schema = object.generator.subschema_for::<Self>();
        schema.ensure_object();
        if Self::deserialize(Missing::<serde::de::value::Error> { name, error: PhantomData }).is_err() {
            object.required.push(name.into());
        }
        let rules = object.properties.entry(name).or_insert_with(|| schema.into());
        Property { name, rules, required: &mut object.required }
    }

    fn others(object: &mut Object<'_>) {
        let mut schema = object.generator.subschema_for::<Self>();
        object.others = Some(schema.remove("additionalProperties").unwrap_or(Value::Bool(true)));
    }

    fn name() -> Name {
        Self::schema_name()
    }
}

/// A type that is read from an object, member by member.
pub trait Record: Sized {
    /// What its members are called.
    const NAMES: &'static [&'static str];

    /// Reads all members.
    fn read<'de, A: MapAccess<'de>>(members: &mut Members<A>) -> Result<Self, A::Error>;
}

/// Reads an object.
pub fn read_record<'de, D: Deserializer<'de>, R: Record>(deserializer: D) -> Result<R, D::Error> {
    deserializer.deserialize_map(Reader(PhantomData))
}

struct Reader<R>(PhantomData<R>);

impl<'de, R: Record> Visitor<'de> for Reader<R> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<R, A::Error> {
        R::read(&mut Members { map, names: R::NAMES, at: 0, rest: None })
    }
}

/// The members of an object that is being read.
#[derive(Debug)]
pub struct Members<A> {
    map: A,
    names: &'static [&'static str],
    at: usize,
    /// Those of other names, where they are wanted.
    rest: Option<Map<String, Value>>,
}

impl<'de, A: MapAccess<'de>> Members<A> {
    /// Keeps members that have no field.
    pub fn collect(&mut self) {
        self.rest = Some(Map::new());
    }

    /// Which member comes next, by its place among the names. Others are passed over: where they are forbidden, they were
    /// refused before.
    pub fn next(&mut self) -> Result<Option<usize>, A::Error> {
        loop {
            let Some(key) = self.map.next_key_seed(Key { names: self.names, keep: self.rest.is_some() })? else {
                return Ok(None);
            };
            match (key, &mut self.rest) {
                (Found::Known(index), _) => {
                    self.at = index;
                    return Ok(Some(index));
                }
                (Found::Other(name), Some(rest)) => {
                    let value = self.map.next_value()?;
                    rest.insert(name, value);
                }
                (Found::Other(_), None) => {
                    self.map.next_value::<IgnoredAny>()?;
                }
            }
        }
    }

    fn first(&self, again: bool) -> Result<(), A::Error> {
        match self.names.get(self.at) {
            Some(name) if again => Err(A::Error::duplicate_field(name)),
            _ => Ok(()),
        }
    }
}

struct Key {
    names: &'static [&'static str],
    keep: bool,
}

enum Found {
    Known(usize),
    Other(String),
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Found, E> {
        let known = self.names.iter().position(|known| *known == name);
        Ok(known.map_or_else(|| Found::Other(if self.keep { name.into() } else { String::new() }), Found::Known))
    }
}

/// What stands for a member that was not sent: an `Option` reads it as `None`, all others refuse it.
struct Missing<E> {
    name: &'static str,
    error: PhantomData<E>,
}

impl<'de, E: Error> Deserializer<'de> for Missing<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.name))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads one of a few names, by its place among them.
pub fn read_name<'de, D: Deserializer<'de>>(
    deserializer: D,
    names: &'static [&'static str],
) -> Result<usize, D::Error> {
    deserializer.deserialize_str(OneName(names))
}

struct OneName(&'static [&'static str]);

impl Visitor<'_> for OneName {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        self.0.iter().position(|known| *known == name).ok_or_else(|| E::unknown_variant(name, self.0))
    }
}

/// The schema of one of a few names; described one by one if one of them is.
#[must_use]
pub fn names_schema(names: &[(&'static str, Option<&'static str>)], description: Option<&'static str>) -> Schema {
    let mut schema = Map::new();
    if let Some(text) = description {
        schema.insert("description".into(), text.into());
    }
    schema.insert("type".into(), "string".into());
    if names.iter().any(|(_, text)| text.is_some()) {
        let forms = names.iter().map(|(name, text)| match text {
            Some(text) => json!({"const": name, "description": text}),
            None => json!({"const": name}),
        });
        schema.insert("oneOf".into(), forms.collect());
    } else {
        schema.insert("enum".into(), names.iter().map(|(name, _)| Value::from(*name)).collect());
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
#[derive(Debug)]
pub struct Object<'a> {
    generator: &'a mut SchemaGenerator,
    properties: Map<String, Value>,
    required: Vec<Value>,
    /// What members of other names must be.
    others: Option<Value>,
    description: Option<&'static str>,
}

impl<'a> Object<'a> {
    /// One without members.
    pub fn new(generator: &'a mut SchemaGenerator, open: bool) -> Self {
        let others = (!open).then_some(Value::Bool(false));
        Self { generator, properties: Map::new(), required: Vec::new(), others, description: None }
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
        schema.into()
    }
}

/// The schema of one member, to which rules are added.
#[derive(Debug)]
pub struct Property<'a> {
    name: &'static str,
    rules: &'a mut Value,
    required: &'a mut Vec<Value>,
}

/// Which of two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Least,
    Most,
}

pub use Bound::{Least, Most};

impl Property<'_> {
    /// What it is.
    pub fn describe(self, text: &'static str) -> Self {
        self.set("description", text)
    }

    /// The least or the greatest number.
    pub fn bound(self, keyword: &'static str, number: Value) -> Self {
        self.set_each(keyword, number)
    }

    /// Characters of a text, items of a list, members of a map: what its type is, its schema knows.
    pub fn length(self, bound: Bound, length: usize) -> Self {
        let keyword = match (bound, self.is("array"), self.is("object")) {
            (Bound::Least, true, _) => "minItems",
            (Bound::Most, true, _) => "maxItems",
            (Bound::Least, _, true) => "minProperties",
            (Bound::Most, _, true) => "maxProperties",
            (Bound::Least, ..) => "minLength",
            (Bound::Most, ..) => "maxLength",
        };
        self.set(keyword, length)
    }

    /// Items of a list.
    pub fn items(self, bound: Bound, length: usize) -> Self {
        let keyword = match bound {
            Bound::Least => "minItems",
            Bound::Most => "maxItems",
        };
        self.set(keyword, length)
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
        self.set(schema::COERCE, coerce)
    }

    /// A rule that no schema can tell.
    pub fn check<T: DeserializeOwned + 'static, V: Verdict + 'static>(self, name: &'static str, check: fn(&T) -> V) -> Self {
        let check = move |value: &Value| match T::deserialize(value) {
            Ok(value) => check(&value).told(name),
            // What is wrong with its type is told by its schema.
            Err(_) => Ok(()),
        };
        match schema::register(std::sync::Arc::new(check)) {
            Some(index) => self.set(schema::CHECK, index),
            None => self,
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
            && let Some(items) = self.rules.get_mut("items").and_then(Value::as_object_mut)
        {
            items.insert(keyword.into(), value.into());
            return self;
        }
        self.set(keyword, value)
    }

    fn set(self, keyword: &'static str, value: impl Into<Value>) -> Self {
        if let Some(rules) = self.rules.as_object_mut() {
            rules.insert(keyword.into(), value.into());
        }
        self
    }
}

/// What a check of an argument may return.
#[diagnostic::on_unimplemented(
    message = "a check of an argument cannot return `{Self}`",
    label = "returns neither `bool` nor `Result<(), E>`",
    note = "it takes the value by reference and returns whether it is right, or `Err` with what is wrong: a text or whatever implements `Display`"
)]
pub trait Verdict {
    /// What is wrong, in words that follow the argument's name.
    fn told(self, name: &'static str) -> Result<(), String>;
}

impl Verdict for bool {
    fn told(self, name: &'static str) -> Result<(), String> {
        if self { Ok(()) } else { Err(format!("fails the check `{name}`")) }
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

/// Asks whether a value can be written as JSON: [`Written`] answers for those that can, [`Unwritten`] for the others, which
/// the compiler finds only one reference further.
#[derive(Debug)]
pub struct Probe<'a, T>(pub &'a T);

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

impl<T: Serialize> Written for Probe<'_, T> {
    fn json(&self) -> Option<Value> {
        serde_json::to_value(self.0).ok()
    }
}

impl<T> Unwritten for &Probe<'_, T> {}

/// The future with another output.
pub const fn map<F, T, M>(future: F, map: M) -> Mapped<F, M>
where
    F: Future,
    M: Fn(F::Output) -> T,
{
    Mapped { future, map }
}

pin_project! {
    /// See [`map`].
    #[derive(Debug)]
    pub struct Mapped<F, M> {
        #[pin]
        future: F,
        map: M,
    }
}

impl<F: Future, T, M: Fn(F::Output) -> T> Future for Mapped<F, M> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        this.future.poll(cx).map(this.map)
    }
}

/// A text that is known while compiling.
#[must_use]
pub const fn text(text: &'static str) -> &'static str {
    text
}

/// The schema of a result that a tool's type does not tell.
#[must_use]
pub fn output<T: JsonSchema>() -> Option<Value> {
    schema::output::<T>()
}

pub use crate::arguments::Given;
pub use serde_json::Error as Fault;
