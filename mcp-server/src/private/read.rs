//! How the macros' types are read.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

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
    pub fn next_index(&mut self) -> Result<Option<usize>, A::Error> {
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

    /// The value of the member that has come, if it has not come before.
    pub(super) fn value<T: Deserialize<'de>>(&mut self, again: bool) -> Result<T, A::Error> {
        match self.names.get(self.at) {
            Some(name) if again => Err(A::Error::duplicate_field(name)),
            _ => self.map.next_value(),
        }
    }

    /// The members that were kept.
    pub(super) fn rest(&mut self) -> Value {
        self.rest.take().unwrap_or_default().into()
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

/// What a type makes of a member that was not sent.
pub(super) fn missing<'de, T: Deserialize<'de>, E: Error>(name: &'static str) -> Result<T, E> {
    T::deserialize(Missing { name, error: PhantomData })
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
