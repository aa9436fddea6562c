//! JSON text that somebody else wrote, taken into what is sent; and objects written member by member.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::wire::write;

/// Whether the bytes are exactly one JSON text in UTF-8. Linear, and without recursion whatever the depth.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    core::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// JSON text without the whitespace between its tokens. `json` must be valid.
pub(crate) fn compact(json: &str) -> String {
    let mut quoted = false;
    let mut escaped = false;
    json.chars()
        .filter(|&c| {
            let keep = quoted || !matches!(c, ' ' | '\t' | '\n' | '\r');
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = quoted,
                '"' => quoted = !quoted,
                _ => {}
            }
            keep
        })
        .collect()
}

/// The members of the text of a JSON object, in order; `None` if it is anything else.
pub(crate) fn members(json: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    serde_json::from_str::<Members<'_>>(json).ok().map(|members| members.0)
}

/// The items of the text of a JSON array, in order; `None` if it is anything else.
pub(crate) fn items(json: &str) -> Option<Vec<&str>> {
    serde_json::from_str::<Vec<&RawValue>>(json).ok().map(|items| items.into_iter().map(RawValue::get).collect())
}

/// Whether the text is that of a JSON object. `json` must be valid.
pub(crate) fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{')
}

/// Writes one JSON object, commas in the right places. Names are the protocol's own: they need no escapes.
#[derive(Debug)]
pub(crate) struct Object<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Object<'o> {
    pub(crate) fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// The place for the value of one more member.
    pub(crate) fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !core::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// The place for one or more whole members.
    pub(crate) fn place(&mut self) -> &mut Vec<u8> {
        if !core::mem::replace(&mut self.empty, false) {
            self.out.push(b',');
        }
        self.out
    }

    pub(crate) fn string(&mut self, name: &str, text: &str) {
        write::string(self.key(name), text);
    }

    pub(crate) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.string(name, text);
        }
    }

    /// A member whose value is JSON text.
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        write::raw(self.key(name), json.as_bytes());
    }

    pub(crate) fn boolean(&mut self, name: &str, value: bool) {
        self.key(name).extend_from_slice(if value { b"true" } else { b"false" });
    }

    pub(crate) fn close(self) {
        self.out.push(b'}');
    }
}

/// A member's name, borrowed from the text if it has no escapes.
#[derive(Debug)]
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.into())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a str)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(name), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((name, value.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_text_keeps_what_is_quoted_and_nothing_between() {
        let cases = [
            ("{ \"a b\" : [ 1 ,\n\t2 ] }", r#"{"a b":[1,2]}"#),
            (r#"{"q": "a \" b \\", "r": " "}"#, r#"{"q":"a \" b \\","r":" "}"#),
            ("\"é  \\\\\"  ", "\"é  \\\\\""),
            (" null ", "null"),
        ];
        for (json, right) in cases {
            assert_eq!(compact(json), right);
        }
    }

    #[test]
    fn json_is_one_value_in_utf_8_of_any_depth() {
        for good in ["{}", " [1] ", "null", "\"\\ud800\""] {
            assert!(is_json(good.as_bytes()), "{good}");
        }
        for bad in [&b""[..], b"{", b"NaN", b"1 2", b"\"\xFF\"", b"\"\n\"", b"{\"a\":}"] {
            assert!(!is_json(bad));
        }
        let deep = ["[".repeat(200_000), "]".repeat(200_000)].concat();
        assert!(is_json(deep.as_bytes()));
    }

    #[test]
    fn members_keep_their_order_and_text() {
        let members = members(r#"{"b":1,"a\u0062":{"x" : 2}}"#).unwrap();
        assert_eq!(members.len(), 2);
        assert_eq!((&*members[0].0, members[0].1), ("b", "1"));
        assert_eq!((&*members[1].0, members[1].1), ("ab", r#"{"x" : 2}"#));
        assert!(super::members("[]").is_none());
        assert!(super::members("{").is_none());
        assert!(super::members("null").is_none());
    }
}
