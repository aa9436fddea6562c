//! Values of Rust from named texts: the variables of a template, the arguments of a prompt.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use mcp_core::Kind;
use mcp_core::fault::{Fault, reflect};
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use crate::arguments::Given;
use crate::call_error::CallError;
use crate::check;
use crate::code::Work;
use crate::ctx::Ctx;

/// What a template's code may take of its variables, and a prompt's of its arguments: always texts on the wire, and read into
/// what the code wants.
///
/// | the code's last parameter | reads |
/// |---|---|
/// | a type that derives `serde::Deserialize`, or a map | each by its name |
/// | a tuple | each by its place: in the order of the template, or as the prompt declares them |
/// | a text, number, `bool` or enum | the only one that there is |
///
/// A number, `bool` or `char` is what its text spells; an enum, the variant of that name; `Option` is for what may be missing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from texts",
    label = "cannot take the variables of a template or the arguments of a prompt",
    note = "derive `serde::Deserialize` for it; for a single one, take `String` or a number",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread"
)]
pub trait FromTexts: Sized + Send + 'static {
    #[doc(hidden)]
    fn from_texts(texts: &[Text<'_>]) -> Result<Self, Refused>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + Send + 'static> FromTexts for T {
    fn from_texts(texts: &[Text<'_>]) -> Result<Self, Refused> {
        T::deserialize(All(texts))
    }
}

impl<T: FromTexts> FromTexts for crate::arguments::Args<T> {
    fn from_texts(texts: &[Text<'_>]) -> Result<Self, Refused> {
        T::from_texts(texts).map(Self)
    }
}

/// One named text.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    pub name: &'a str,
    /// `None` if it may be missing, and is.
    pub value: Option<&'a str>,
    /// Whether it has a place: an argument that the prompt does not declare has none.
    pub declared: bool,
}

/// Why texts are no such value.
#[doc(hidden)]
#[derive(Debug)]
pub struct Refused {
    /// Of which text; `None` if that is not known.
    pub name: Option<Box<str>>,
    /// A clause that follows the name.
    pub why: Box<str>,
    /// What was looked for, if it is not there.
    pub lacks: Option<Needed>,
}

/// What is read by code that cannot do without.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needed {
    /// The text of that name.
    Named(Box<str>),
    /// So many, by their places.
    Places(usize),
    /// One, and no other beside it.
    One,
}

impl Refused {
    fn lacking(needed: Needed, why: &str) -> Self {
        let name = if let Needed::Named(name) = &needed { Some(name.clone()) } else { None };
        Self { name, why: why.into(), lacks: Some(needed) }
    }

    /// Of a sequence that ended too early.
    fn of_places(mut self, places: usize) -> Self {
        if self.name.is_none() {
            self.lacks = Some(Needed::Places(places));
        }
        self
    }

    fn of(mut self, name: &str) -> Self {
        self.name.get_or_insert_with(|| name.into());
        self
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "`{}` {}", reflect(name), self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // A type of the user's may say what it was given, and that came from a peer.
        Self { name: None, why: check::clean(&message.to_string()).into(), lacks: None }
    }

    fn missing_field(field: &'static str) -> Self {
        absent(field)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let why = format!("is unknown, known are {}", expected.join(", "));
        Self { name: Some(field.into()), why: why.into(), lacks: None }
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(format_args!("must be one of {}", expected.join(", ")))
    }
}

/// All of them.
struct All<'t, 'a>(&'t [Text<'a>]);

impl<'a> All<'_, 'a> {
    fn only(&self) -> Result<Text<'a>, Refused> {
        let mut declared = self.0.iter().filter(|text| text.declared);
        match (declared.next(), declared.count()) {
            (Some(text), 0) => Ok(*text),
            (first, more) => {
                let there = usize::from(first.is_some()) + more;
                Err(Refused::lacking(Needed::One, &format!("one text is read, and there are {there}")))
            }
        }
    }

    fn one(&self) -> Result<One<'a>, Refused> {
        let text = self.only()?;
        text.value.map(|value| One { name: text.name, value }).ok_or_else(|| absent(text.name))
    }
}

fn absent(name: &str) -> Refused {
    Refused::lacking(Needed::Named(name.into()), "is missing")
}

/// Reads a single value from the only text.
macro_rules! single {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            self.one()?.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for All<'_, 'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_map(Each { texts: self.0.iter(), at: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_map(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(Each { texts: self.0.iter(), at: None })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, places: usize, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_seq(visitor).map_err(|refused| refused.of_places(places))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        places: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_tuple(places, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.only()?.value {
            Some(_) => visitor.visit_some(self),
            None => visitor.visit_none(),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.one()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    single! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_identifier
    }
}

/// One after the other.
struct Each<'t, 'a> {
    texts: std::slice::Iter<'t, Text<'a>>,
    at: Option<One<'a>>,
}

impl<'de> MapAccess<'de> for Each<'_, 'de> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Refused> {
        let mut there = self.texts.by_ref().filter_map(|text| Some(One { name: text.name, value: text.value? }));
        let Some(one) = there.next() else { return Ok(None) };
        self.at = Some(one);
        seed.deserialize(BorrowedStrDeserializer::new(one.name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refused> {
        match self.at.take() {
            Some(one) => seed.deserialize(one).map_err(|refused| refused.of(one.name)),
            None => Err(de::Error::custom("there is no such text")),
        }
    }
}

impl<'de> SeqAccess<'de> for Each<'_, 'de> {
    type Error = Refused;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Refused> {
        let Some(text) = self.texts.find(|text| text.declared) else { return Ok(None) };
        let only = [*text];
        seed.deserialize(All(&only)).map(Some).map_err(|refused| refused.of(text.name))
    }
}

/// One of them that is there.
#[derive(Clone, Copy)]
struct One<'a> {
    name: &'a str,
    value: &'a str,
}

impl One<'_> {
    fn must<T>(self, what: &str) -> Result<T, Refused> {
        let error: Refused = de::Error::custom(format_args!("must be {what}"));
        Err(error.of(self.name))
    }
}

macro_rules! spelled {
    ($($method:ident $visit:ident $what:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            match self.value.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => self.must($what),
            }
        }
    )*};
}

macro_rules! refused {
    ($($method:ident($($other:ty),*) $what:literal)*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $other,)* _: V) -> Result<V::Value, Refused> {
            self.must(concat!("a single value, and the code reads ", $what))
        }
    )*};
}

impl<'de> Deserializer<'de> for One<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_borrowed_str(self.value)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value {
            value if value.eq_ignore_ascii_case("true") => visitor.visit_bool(true),
            value if value.eq_ignore_ascii_case("false") => visitor.visit_bool(false),
            _ => self.must("true or false"),
        }
    }

    spelled! {
        deserialize_i8 visit_i8 "an integer from -128 to 127"
        deserialize_i16 visit_i16 "an integer from -32768 to 32767"
        deserialize_i32 visit_i32 "an integer of at most 32 bits"
        deserialize_i64 visit_i64 "an integer of at most 64 bits"
        deserialize_i128 visit_i128 "an integer of at most 128 bits"
        deserialize_u8 visit_u8 "an integer from 0 to 255"
        deserialize_u16 visit_u16 "an integer from 0 to 65535"
        deserialize_u32 visit_u32 "an integer, not negative, of at most 32 bits"
        deserialize_u64 visit_u64 "an integer, not negative, of at most 64 bits"
        deserialize_u128 visit_u128 "an integer, not negative, of at most 128 bits"
        deserialize_char visit_char "a single character"
    }

    // JSON has no word for the others, and no client means them. One may be finite in 64 bits and not in 32.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.parse::<f32>().ok().filter(|value| value.is_finite()) {
            Some(value) => visitor.visit_f32(value),
            None => self.must("a number of at most 32 bits"),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.value.parse::<f64>().ok().filter(|value| value.is_finite()) {
            Some(value) => visitor.visit_f64(value),
            None => self.must("a number"),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_any(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_any(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_borrowed_bytes(self.value.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_enum(Variant(self.value)).map_err(|refused| refused.of(self.name))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    refused! {
        deserialize_unit() "nothing"
        deserialize_unit_struct(&'static str) "nothing"
        deserialize_seq() "a list"
        deserialize_tuple(usize) "several"
        deserialize_tuple_struct(&'static str, usize) "several"
        deserialize_map() "an object"
        deserialize_struct(&'static str, &'static [&'static str]) "an object"
    }
}

/// The name of an enum's variant.
struct Variant<'a>(&'a str);

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Refused;
    type Variant = <StrDeserializer<'de, Refused> as EnumAccess<'de>>::Variant;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Refused> {
        IntoDeserializer::<Refused>::into_deserializer(self.0).variant_seed(seed)
    }
}

/// What a template's code takes of its variables. Those that it does not take name nothing, so there is no such resource
/// (RES-5).
pub(crate) fn variables<T: FromTexts>(ctx: &Ctx) -> Result<T, CallError> {
    let (names, sent): (&[_], &[_]) = match (&ctx.entry().work, ctx.kind()) {
        (Work::Resource { variables: names, .. }, Kind::Resource { variables: sent, .. }) => (names, sent),
        _ => (&[], &[]),
    };
    // One of a query may be missing, and keeps its place.
    let value = |name: &str| sent.iter().find(|(own, _)| **own == *name).map(|(_, value)| &**value);
    let texts: Vec<Text<'_>> = names.iter().map(|name| Text { name, value: value(name), declared: true }).collect();
    T::from_texts(&texts).map_err(|refused| {
        tracing::debug!(template = ctx.name(), %refused, "a URI has variables that the template's code does not take");
        CallError::not_found()
    })
}

/// What a prompt's code takes of its arguments (PROMPT-3).
pub(crate) fn arguments<T: FromTexts>(ctx: &Ctx, given: &Given) -> Result<T, CallError> {
    let sent: BTreeMap<Cow<'_, str>, Option<Cow<'_, str>>> = match given {
        // What the rules took `4.0` for is what is read.
        Given::Changed(Value::Object(members)) => {
            members.iter().map(|(name, value)| (Cow::Borrowed(&**name), spelled(value))).collect()
        }
        _ => serde_json::from_slice(ctx.arguments())?,
    };
    let declared: &[Box<str>] = match &ctx.entry().work {
        Work::Prompt { arguments, .. } => arguments,
        _ => &[],
    };
    let value = |name: &str| sent.get(name).and_then(Option::as_deref);
    let mut texts: Vec<Text<'_>> =
        declared.iter().map(|name| Text { name, value: value(name), declared: true }).collect();
    let others = sent.iter().filter(|(name, _)| !declared.iter().any(|own| **own == ***name));
    texts.extend(others.map(|(name, value)| Text { name, value: value.as_deref(), declared: false }));
    T::from_texts(&texts).map_err(|refused| {
        CallError::fault(Fault::invalid_params(format!("Invalid arguments of the prompt {}: {refused}", ctx.name())))
    })
}

/// A value as the text that spells it.
fn spelled(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// What `T` cannot do without, if nothing is given: the first that is met.
pub(crate) fn first_needed<T: FromTexts>() -> Option<Needed> {
    T::from_texts(&[]).err()?.lacks
}

#[cfg(test)]
mod tests;
