//! Most arguments fit: one pass over their text tells so, and keeps nothing.
//!
//! Where the pass is not sure it gives up, and the value is read and looked at in full. So it may know less than the full
//! look, and never lets pass what that would refuse.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::node::{Kinds, Node, Null, Object, Others, Rule, Tree};
use super::number::Num;
use super::unique::RESERVED;

/// Bytes of a text up to which a pattern is looked for in it.
const SEARCHED: usize = 1 << 16;

/// Whether the text is known to fit as it is.
pub(super) fn fits(tree: &Tree, sent: &[u8]) -> bool {
    // Looked at once: read as bytes, each text would be.
    let Ok(sent) = std::str::from_utf8(sent) else { return false };
    let mut reader = serde_json::Deserializer::from_str(sent);
    Look { tree, node: tree.get(tree.root) }.deserialize(&mut reader).is_ok() && reader.end().is_ok()
}

/// One value against one node.
struct Look<'t> {
    tree: &'t Tree,
    node: &'t Node,
}

/// What the pass says when it gives up.
fn unsure<T, E: serde::de::Error>() -> Result<T, E> {
    Err(E::custom("unsure"))
}

fn sure<E: serde::de::Error>(fits: bool) -> Result<(), E> {
    if fits { Ok(()) } else { unsure() }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.node {
            Node::Any => deserializer.deserialize_any(Anything),
            Node::Rule(rule) if rule.plain => deserializer.deserialize_any(By { tree: self.tree, rule }),
            _ => unsure(),
        }
    }
}

struct By<'t> {
    tree: &'t Tree,
    rule: &'t Rule,
}

impl By<'_> {
    fn allows(&self, is: impl Fn(&Value) -> bool) -> bool {
        self.rule.allowed.iter().all(|allowed| allowed.iter().any(&is))
    }

    fn number<E: serde::de::Error>(&self, kind: Kinds, number: Num, is: impl Fn(&Value) -> bool) -> Result<(), E> {
        let rules = &self.rule.number;
        let fits = self.rule.kinds.meets(kind)
            && rules.limits.iter().all(|limit| limit.holds(number))
            && rules.multiple_of.as_ref().is_none_or(|(of, _)| number.is_multiple_of(*of));
        sure(fits && self.allows(is))
    }
}

impl<'de> Visitor<'de> for By<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that fits")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        sure(self.rule.kinds.meets(Kinds::NULL) && self.allows(Value::is_null))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        sure(self.rule.kinds.meets(Kinds::BOOLEAN) && self.allows(|allowed| allowed.as_bool() == Some(value)))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.number(Kinds::INTEGER, Num::Integer(value.into()), |allowed| allowed.as_u64() == Some(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.number(Kinds::INTEGER, Num::Integer(value.into()), |allowed| allowed.as_i64() == Some(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        // Where an integer is asked for, a float may have to be written as one.
        self.number(Kinds::FRACTION, Num::Float(value), |allowed| allowed.is_f64() && allowed.as_f64() == Some(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        // What may take long is done once, and by the one who can tell what is wrong.
        let is_short = value.len() <= SEARCHED || self.rule.text.pattern.is_none();
        let fits = is_short && self.rule.kinds.meets(Kinds::STRING) && self.rule.text.fits(value);
        sure(fits && self.allows(|allowed| allowed.as_str() == Some(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        if !self.rule.kinds.meets(Kinds::ARRAY) || !self.rule.allowed.is_empty() {
            return unsure();
        }
        let array = self.rule.array.as_deref();
        let mut count = 0;
        loop {
            let node = array.and_then(|array| array.first.get(count).copied().or(array.items));
            let read = match node {
                Some(id) => items.next_element_seed(Look { tree: self.tree, node: self.tree.get(id) })?,
                None => items.next_element_seed(Anything)?,
            };
            if read.is_none() {
                break;
            }
            count += 1;
        }
        sure(array.is_none_or(|array| array.size.fits(count)))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        if !self.rule.kinds.meets(Kinds::OBJECT) || !self.rule.allowed.is_empty() {
            return unsure();
        }
        match &self.rule.object {
            Some(object) => self.object(object, members),
            None => Anything.visit_map(members),
        }
    }
}

impl By<'_> {
    fn object<'de, A: MapAccess<'de>>(&self, object: &Object, mut members: A) -> Result<(), A::Error> {
        let mut names = Names::default();
        // A bit for each property: a plain object has at most 64.
        let mut seen = 0_u64;
        let mut next = 0;
        let mut count = 0;
        while let Some(name) = members.next_key_seed(NameOf { object, next })? {
            count += 1;
            match name {
                Name::Declared(place) => {
                    let bit = 1 << place;
                    // Which of two members of one name is taken is not for two readers to tell.
                    if seen & bit != 0 {
                        return unsure();
                    }
                    seen |= bit;
                    next = place + 1;
                    let property = &object.properties[place];
                    let node = self.tree.get(property.node);
                    if property.required || property.null == Null::Absent {
                        members.next_value_seed(Look { tree: self.tree, node })?;
                    } else {
                        members.next_value_seed(OrNull(Look { tree: self.tree, node }))?;
                    }
                }
                Name::Other(hash) => {
                    if !names.is_new(hash) {
                        return unsure();
                    }
                    match object.others {
                        Others::Open => members.next_value_seed(Anything)?,
                        Others::Closed => return unsure(),
                        Others::Each(id) => {
                            members.next_value_seed(Look { tree: self.tree, node: self.tree.get(id) })?
                        }
                    }
                }
            }
        }
        let required =
            |(place, property): (usize, &super::node::Property)| !property.required || seen & (1 << place) != 0;
        sure(object.properties.iter().enumerate().all(required) && object.size.fits(count))
    }
}

/// Null, or what else fits.
struct OrNull<'t>(Look<'t>);

impl<'de> DeserializeSeed<'de> for OrNull<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for OrNull<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null or a value that fits")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.deserialize(deserializer)
    }
}

/// A value of which nothing is asked, but that no object in it names a member twice.
struct Anything;

impl<'de> DeserializeSeed<'de> for Anything {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! anything {
    ($($method:ident($kind:ty);)*) => {$(
        fn $method<E>(self, _: $kind) -> Result<(), E> {
            Ok(())
        }
    )*};
}

impl<'de> Visitor<'de> for Anything {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    anything! {
        visit_bool(bool);
        visit_i64(i64);
        visit_u64(u64);
        visit_f64(f64);
        visit_str(&str);
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = Names::default();
        while let Some(hash) = members.next_key_seed(Hash)? {
            if !names.is_new(hash) {
                return unsure();
            }
            members.next_value_seed(Self)?;
        }
        Ok(())
    }
}

/// The hashes of the names of one object, as many as fit without allocation.
#[derive(Default)]
struct Names {
    hashes: [u64; 16],
    count: usize,
}

impl Names {
    /// False if it was there, or may have been.
    fn is_new(&mut self, hash: u64) -> bool {
        if self.count == self.hashes.len() || self.hashes[..self.count].contains(&hash) {
            return false;
        }
        self.hashes[self.count] = hash;
        self.count += 1;
        true
    }
}

/// A member's name.
enum Name {
    Declared(usize),
    /// By its hash: two that are equal have the same.
    Other(u64),
}

struct NameOf<'t> {
    object: &'t Object,
    /// The property that is likely to be next: most clients keep the order of the schema.
    next: usize,
}

impl<'de> DeserializeSeed<'de> for NameOf<'_> {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NameOf<'_> {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Name, E> {
        let likely =
            self.object.properties.get(self.next).filter(|property| *property.name == *name).map(|_| self.next);
        let place = likely.or_else(|| self.object.place(name));
        match place {
            Some(place) => Ok(Name::Declared(place)),
            None => hash(name).map(Name::Other),
        }
    }
}

struct Hash;

impl<'de> DeserializeSeed<'de> for Hash {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Hash {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<u64, E> {
        hash(name)
    }
}

/// FNV-1a. Who makes two names collide has them looked at in full, no more.
fn hash<E: serde::de::Error>(name: &str) -> Result<u64, E> {
    if name == RESERVED {
        return unsure();
    }
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Ok(name.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}
