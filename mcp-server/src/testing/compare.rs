//! JSON held against JSON: by value, and saying where they differ.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// The most differences that are told of.
const TOLD: usize = 10;

/// Characters of a value in a difference.
const WIDTH: usize = 200;

/// What is written in place of what is not compared.
const IGNORED: &str = "(ignored)";

/// A place in a JSON value (RFC 6901), in which `*` stands for every member or item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer(Vec<Box<str>>);

impl Pointer {
    pub(super) fn parse(text: &str) -> Option<Self> {
        // In a line of a file it must stay what it is.
        if text.trim() != text || text.chars().any(char::is_control) {
            return None;
        }
        let segments = text.strip_prefix('/')?.split('/');
        Some(Self(segments.map(|segment| segment.replace("~1", "/").replace("~0", "~").into()).collect()))
    }

    fn matches(&self, path: &[String]) -> bool {
        self.0.len() == path.len() && self.0.iter().zip(path).all(|(own, found)| **own == *"*" || **own == **found)
    }

    /// Hides what is there.
    fn mask(segments: &[Box<str>], value: &mut Value) -> bool {
        let Some((first, rest)) = segments.split_first() else {
            *value = IGNORED.into();
            return true;
        };
        let mut hidden = false;
        match value {
            Value::Object(members) => {
                for (_, member) in members.iter_mut().filter(|(key, _)| **first == *"*" || **key == **first) {
                    hidden |= Self::mask(rest, member);
                }
            }
            Value::Array(items) => {
                for (_, item) in
                    items.iter_mut().enumerate().filter(|(n, _)| **first == *"*" || n.to_string() == **first)
                {
                    hidden |= Self::mask(rest, item);
                }
            }
            _ => {}
        }
        hidden
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| write!(f, "/{}", escaped(segment)))
    }
}

fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// The same JSON text with everything hidden that is not compared; `None` if there is nothing of that in it.
pub(super) fn masked(text: &str, ignored: &[Pointer]) -> Option<String> {
    if ignored.is_empty() {
        return None;
    }
    let mut value = serde_json::from_str(text).ok()?;
    // Each, also if one before it has hidden something.
    let hidden = ignored.iter().fold(false, |hidden, pointer| Pointer::mask(&pointer.0, &mut value) | hidden);
    hidden.then(|| value.to_string())
}

/// Where two values differ, a line each; at most ten. Numbers are compared by what they are worth: `5` is `5.0`.
pub(super) fn differences(expected: &Value, got: &Value, ignored: &[Pointer]) -> Vec<String> {
    let mut found = Found { ignored, path: Vec::new(), told: Vec::new(), more: 0 };
    found.compare(Some(expected), Some(got));
    if found.more > 0 {
        found.told.push(format!("and {} more", found.more));
    }
    found.told
}

struct Found<'a> {
    ignored: &'a [Pointer],
    path: Vec<String>,
    told: Vec<String>,
    more: usize,
}

impl Found<'_> {
    fn compare(&mut self, expected: Option<&Value>, got: Option<&Value>) {
        match (expected, got) {
            (Some(Value::Object(expected)), Some(Value::Object(got))) => {
                // In one order, also where serde_json keeps another (its feature `preserve_order`).
                let keys: BTreeSet<&String> = expected.keys().chain(got.keys()).collect();
                for key in keys {
                    self.within(key.clone(), expected.get(key), got.get(key));
                }
            }
            (Some(Value::Array(expected)), Some(Value::Array(got))) => {
                for index in 0..expected.len().max(got.len()) {
                    self.within(index.to_string(), expected.get(index), got.get(index));
                }
            }
            (Some(Value::Number(expected)), Some(Value::Number(got))) if same_number(expected, got) => {}
            (expected, got) if expected == got => {}
            (Some(_), Some(_)) if self.is_ignored() => {}
            (expected, got) => self.tell(expected, got),
        }
    }

    fn within(&mut self, segment: String, expected: Option<&Value>, got: Option<&Value>) {
        self.path.push(segment);
        if expected.is_none() || got.is_none() || !self.is_ignored() {
            self.compare(expected, got);
        }
        self.path.pop();
    }

    fn is_ignored(&self) -> bool {
        self.ignored.iter().any(|pointer| pointer.matches(&self.path))
    }

    fn tell(&mut self, expected: Option<&Value>, got: Option<&Value>) {
        if self.told.len() == TOLD {
            self.more += 1;
            return;
        }
        let place: String = self.path.iter().map(|segment| format!("/{}", escaped(segment))).collect();
        let place = if place.is_empty() { "the whole" } else { &place };
        let shown = |value: Option<&Value>| match value {
            Some(value) => clipped(&value.to_string(), WIDTH).into_owned(),
            None => "nothing".to_owned(),
        };
        self.told.push(format!("{place}: expected {}, got {}", shown(expected), shown(got)));
    }
}

fn same_number(a: &serde_json::Number, b: &serde_json::Number) -> bool {
    let integer = |n: &serde_json::Number| n.as_i128();
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64() == b.as_f64(),
    }
}

/// No more than so many characters of a text.
pub(super) fn clipped(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(expected: &Value, got: &Value, ignored: &[&str]) -> Vec<String> {
        let ignored: Vec<Pointer> = ignored.iter().map(|text| Pointer::parse(text).expect("a pointer")).collect();
        differences(expected, got, &ignored)
    }

    #[test]
    fn values_are_compared_and_not_their_spelling() {
        let (a, b) = (r#"{"a":1,"b":[1.50,null]}"#, r#"{ "b" : [1.5, null], "a" : 1.0 }"#);
        assert!(told(&serde_json::from_str(a).unwrap(), &serde_json::from_str(b).unwrap(), &[]).is_empty());
        let large: Value = serde_json::from_str("9007199254740993").unwrap();
        assert_eq!(told(&large, &json!(9_007_199_254_740_992_u64), &[]).len(), 1, "integers are not rounded");
    }

    #[test]
    fn each_difference_is_named_by_its_place() {
        let expected = json!({"a": {"b/c": 1}, "list": [1, 2], "gone": null});
        let got = json!({"a": {"b/c": "1"}, "list": [1, 2, 3], "new": true});
        assert_eq!(
            told(&expected, &got, &[]),
            [
                "/a/b~1c: expected 1, got \"1\"",
                "/gone: expected null, got nothing",
                "/list/2: expected nothing, got 3",
                "/new: expected nothing, got true",
            ]
        );
        assert_eq!(told(&json!(1), &json!(2), &[]), ["the whole: expected 1, got 2"]);
        let many = told(&json!(vec![0; 30]), &json!(vec![1; 30]), &[]);
        assert_eq!((many.len(), many[10].as_str()), (11, "and 20 more"));
    }

    #[test]
    fn what_is_ignored_must_be_there_still() {
        let expected = json!({"rows": [{"id": 1, "n": 1}, {"id": 2, "n": 2}]});
        let got = json!({"rows": [{"id": [7], "n": 1}, {"id": {"x": 8}, "n": 2}]});
        assert!(told(&expected, &got, &["/rows/*/id"]).is_empty());
        assert_eq!(told(&expected, &got, &["/rows/0/id"]).len(), 1);
        let without = json!({"rows": [{"id": 1, "n": 1}, {"n": 2}]});
        assert_eq!(told(&expected, &without, &["/rows/*/id"]), ["/rows/1/id: expected 2, got nothing"]);
    }

    #[test]
    fn what_is_ignored_is_hidden_and_nothing_else_is() {
        let ignored = [Pointer::parse("/a/*/t").unwrap(), Pointer::parse("/b/1").unwrap()];
        assert_eq!(masked(r#"{ "c": 1.50 }"#, &ignored), None);
        let hidden = masked(r#"{"a":{"x":{"t":1,"u":2}},"b":[1,2]}"#, &ignored).unwrap();
        let hidden: Value = serde_json::from_str(&hidden).unwrap();
        assert_eq!(hidden, json!({"a": {"x": {"t": "(ignored)", "u": 2}}, "b": [1, "(ignored)"]}));
    }

    #[test]
    fn pointers_are_written_as_they_were_read() {
        for text in ["/", "/a/b", "/a~1b/~0", "/a/*", "/a//b"] {
            assert_eq!(Pointer::parse(text).map(|pointer| pointer.to_string()).as_deref(), Some(text));
        }
        for text in ["", "a", "result/x", "/a\n", "/a "] {
            assert_eq!(Pointer::parse(text), None, "{text:?}");
        }
    }
}
