//! Items that are the same, and members that are named twice or as none may be.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher as _, Hash as _, Hasher, RandomState};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::node::same;
use super::number::Num;
use super::words::{end_of, push_index, push_step};
use super::{LETTERS, LISTED, Violation};

/// Two equal items. They are told apart by a hash whose key no peer knows, so that none can make this slow.
pub(super) fn repeated(items: &[Value]) -> Option<(usize, usize)> {
    let key = RandomState::new();
    let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let mut hasher = key.build_hasher();
        hash(item, &mut hasher, &key);
        let alike = seen.entry(hasher.finish()).or_default();
        if let Some(first) = alike.iter().find(|first| same(&items[**first], item)) {
            return Some((*first, index));
        }
        alike.push(index);
    }
    None
}

/// What it costs to look at all of a value, in steps.
pub(super) fn weight(value: &Value) -> usize {
    1 + match value {
        Value::String(text) => text.len() / LETTERS,
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.iter().map(|(name, value)| name.len() / LETTERS + weight(value)).sum(),
        _ => 0,
    }
}

/// Equal for values that are the same.
fn hash(value: &Value, hasher: &mut impl Hasher, key: &RandomState) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(flag) => (1_u8, flag).hash(hasher),
        Value::Number(number) => match Num::of(number) {
            Num::Integer(integer) => (2_u8, integer).hash(hasher),
            // A float without a fraction may be an integer in another spelling.
            Num::Float(float) if float.fract() == 0.0 && float.abs() < 1e30 => (2_u8, float as i128).hash(hasher),
            Num::Float(float) => (3_u8, float.to_bits()).hash(hasher),
        },
        Value::String(text) => (4_u8, text).hash(hasher),
        Value::Array(items) => {
            (5_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash(item, hasher, key));
        }
        Value::Object(members) => {
            // In any order, so each member has a hash of its own, and they are added up.
            let sum = members.iter().fold(0_u64, |sum, (name, value)| {
                let mut hasher = key.build_hasher();
                name.hash(&mut hasher);
                hash(value, &mut hasher, key);
                sum.wrapping_add(hasher.finish())
            });
            (6_u8, sum).hash(hasher);
        }
    }
}

/// A name that no member may have: whoever reads an object with it into a `Value` gets what is written in that member's text,
/// to any depth, and not what was checked.
pub(super) const RESERVED: &str = "$serde_json::private::RawValue";

/// A text as a value, or why it cannot be one: it is not JSON, or has members that are named twice or as none may be. Two
/// readers might take different ones, so none may be taken.
pub(crate) fn read(sent: &[u8]) -> Result<Value, Unread> {
    let mut names = Names::default();
    let mut reader = serde_json::Deserializer::from_slice(sent);
    // What is not JSON is told by the reader below.
    let counted = Count(&mut names).deserialize(&mut reader).is_ok();
    if names.reserved {
        return Err(Unread::Members(misnamed(sent)));
    }
    let value = serde_json::from_slice(sent).map_err(Unread::Json)?;
    // If it has as many members as the text, none was named twice.
    let found = if counted && names.count == members(&value) { Vec::new() } else { misnamed(sent) };
    if found.is_empty() { Ok(value) } else { Err(Unread::Members(found)) }
}

/// Why a text is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    Json(serde_json::Error),
    Members(Vec<Violation>),
}

/// The members for which [`read`] refuses a text that is JSON.
pub(crate) fn twice(sent: &[u8]) -> Vec<Violation> {
    match read(sent) {
        Err(Unread::Members(found)) => found,
        _ => Vec::new(),
    }
}

fn misnamed(sent: &[u8]) -> Vec<Violation> {
    let mut search = Search { path: String::new(), found: Vec::new() };
    let mut reader = serde_json::Deserializer::from_slice(sent);
    // It ends early only where the text is no JSON, and something was found before.
    let _ = Twice(&mut search).deserialize(&mut reader);
    search.found
}

fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

macro_rules! scalars {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method<E>(self, _: $kind) -> Result<(), E> {
            Ok(())
        }
    )*};
}

macro_rules! walker {
    ($walker:ident) => {
        impl<'de> DeserializeSeed<'de> for $walker<'_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.deserialize_any(self)
            }
        }
    };
}

macro_rules! ignores_scalars {
    () => {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("JSON")
        }

        fn visit_unit<E>(self) -> Result<(), E> {
            Ok(())
        }

        scalars! {
            visit_bool(bool);
            visit_i64(i64);
            visit_u64(u64);
            visit_f64(f64);
            visit_str(&str);
        }
    };
}

/// What is to be known of the names of all members.
#[derive(Default)]
struct Names {
    count: usize,
    reserved: bool,
}

/// Counts the members of all objects.
struct Count<'c>(&'c mut Names);

walker!(Count);

impl<'de> Visitor<'de> for Count<'_> {
    ignores_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Count(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(reserved) = members.next_key_seed(IsReserved)? {
            self.0.count += 1;
            self.0.reserved |= reserved;
            members.next_value_seed(Count(self.0))?;
        }
        Ok(())
    }
}

/// Whether a name is [`RESERVED`].
struct IsReserved;

impl<'de> DeserializeSeed<'de> for IsReserved {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsReserved {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == RESERVED)
    }
}

struct Search {
    path: String,
    found: Vec<Violation>,
}

impl Search {
    fn at<T>(&mut self, step: impl FnOnce(&mut String), then: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        step(&mut self.path);
        let result = then(self);
        self.path.truncate(length);
        result
    }

    fn say(&mut self, fault: &str) {
        if self.found.len() < LISTED {
            self.found.push(Violation { path: end_of(self.path.clone()), fault: fault.into() });
        }
    }
}

/// Finds the members that are there twice, or should not be.
struct Twice<'s>(&'s mut Search);

walker!(Twice);

impl<'de> Visitor<'de> for Twice<'_> {
    ignores_scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for index in 0.. {
            if self.0.at(|path| push_index(path, index), |search| items.next_element_seed(Twice(search)))?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            let again = seen.contains(&name);
            let told = |search: &mut Search| {
                if name == RESERVED {
                    search.say("is not a name that an argument can have");
                }
                if again {
                    search.say("is given twice");
                }
                members.next_value_seed(Twice(search))
            };
            self.0.at(|path| push_step(path, &name), told)?;
            seen.insert(name);
        }
        Ok(())
    }
}
