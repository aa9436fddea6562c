//! One object read member by member: duplicates found, known values noted, all others skipped.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::keys::Known;
use super::{Reader, after_space, span};
use crate::fault::{Code, Fault, reflect};
use crate::wire::message::Span;

/// How many unknown keys are compared one by one, before a tree is worth its allocations.
const FEW: usize = 16;

/// The keys of one object.
#[derive(Default)]
pub(super) struct Level<'de> {
    /// Known keys, by [`Known::bit`]: there, and there more than once.
    pub(super) seen: u32,
    pub(super) twice: u32,
    count: usize,
    /// Unknown keys, for finding duplicates only. Ordinary messages have none.
    others: Option<Box<Names<'de>>>,
    pub(super) defect: Option<Defect>,
}

#[derive(Default)]
struct Names<'de> {
    few: Vec<Cow<'de, str>>,
    many: BTreeSet<Cow<'de, str>>,
}

pub(super) enum Defect {
    Duplicate(Box<str>),
    TooMany,
}

impl<'de> Level<'de> {
    /// Takes note of a key. `Some` if its value is to be read: a known key that comes for the first time.
    fn enter<K: Known>(&mut self, key: Key<'de, K>, limit: usize) -> Option<K> {
        self.count += 1;
        if self.count > limit {
            self.defect.get_or_insert(Defect::TooMany);
        }
        match key {
            Key::Known(known) if self.seen & known.bit() == 0 => {
                self.seen |= known.bit();
                Some(known)
            }
            Key::Known(known) => {
                self.twice |= known.bit();
                self.defect.get_or_insert_with(|| Defect::Duplicate(known.name().into()));
                None
            }
            Key::Other(name) => {
                // Over the limit nothing is kept: memory stays bounded, and the defect is there already.
                if self.count <= limit
                    && let Err(name) = self.others.get_or_insert_default().insert(name)
                {
                    self.defect.get_or_insert_with(|| Defect::Duplicate(reflect(&name).into()));
                }
                None
            }
        }
    }
}

impl<'de> Names<'de> {
    /// Keeps a name; hands it back if it is there already.
    fn insert(&mut self, name: Cow<'de, str>) -> Result<(), Cow<'de, str>> {
        if self.few.contains(&name) || self.many.contains(&name) {
            return Err(name);
        }
        if self.few.len() < FEW {
            self.few.push(name);
        } else {
            self.many.insert(name);
        }
        Ok(())
    }
}

impl Defect {
    pub(super) fn fault(&self, code: Code, place: &str, limit: usize) -> Fault {
        let text = match self {
            Self::Duplicate(name) => format!("Member `{name}` is twice in {place}"),
            Self::TooMany => format!("There are more than {limit} members in {place}"),
        };
        Fault::new(code, text).with_status(400)
    }
}

/// A key, compared decoded: `"\u0069d"` is `id`.
enum Key<'de, K> {
    Known(K),
    Other(Cow<'de, str>),
}

struct KeySeed<K>(PhantomData<K>);

impl<'de, K: Known> DeserializeSeed<'de> for KeySeed<K> {
    type Value = Key<'de, K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, K: Known> Visitor<'de> for KeySeed<K> {
    type Value = Key<'de, K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(K::of(key).map_or(Key::Other(Cow::Borrowed(key)), Key::Known))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(K::of(key).map_or_else(|| Key::Other(Cow::Owned(key.into())), Key::Known))
    }
}

/// Reads the members of an object whose keys are `K`.
pub(super) struct Fields<'r, 'de, K> {
    reader: &'r mut Reader<'de>,
    keys: PhantomData<K>,
}

impl<'r, 'de, K> Fields<'r, 'de, K> {
    pub(super) const fn of(reader: &'r mut Reader<'de>) -> Self {
        Self { reader, keys: PhantomData }
    }
}

impl<'de, K: Known> Visitor<'de> for Fields<'_, 'de, K> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let reader = self.reader;
        let limit = reader.limits.members;
        while let Some(key) = map.next_key_seed(KeySeed::<K>(PhantomData))? {
            match K::level(reader).enter(key, limit) {
                Some(known) => known.value(reader, &mut map)?,
                None => {
                    reader.leaf(&mut map)?;
                }
            }
        }
        Ok(())
    }
}

/// Reads `params` or `_meta`, whose keys are `K`: an object, or `null`, which counts as absent.
pub(super) struct Nested<'r, 'de, K>(pub(super) Fields<'r, 'de, K>);

impl<'de, K: Known> DeserializeSeed<'de> for Nested<'_, 'de, K> {
    type Value = Span;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Span, D::Error> {
        let Self(Fields { reader, .. }) = self;
        let start = reader.value_start();
        if reader.text.as_bytes().get(start) != Some(&b'{') {
            let raw = <&RawValue>::deserialize(deserializer)?.get();
            reader.span(raw);
            if raw != "null" {
                reader.not_object.get_or_insert(K::OBJECT);
            }
            return Ok(Span::NONE);
        }
        reader.end = start + 1;
        deserializer.deserialize_map(Fields::<K>::of(reader))?;
        reader.end = after_space(reader.text, reader.end) + 1;
        Ok(span(start, reader.end))
    }
}
