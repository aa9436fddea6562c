//! How values, places and faults are told to a model.

use std::fmt::Write as _;

use mcp_core::fault::reflect;
use serde_json::Value;
use serde_path_to_error::Segment;

/// Characters of one explanation.
const LONG: usize = 500;
/// Characters of a path.
const PATH: usize = 1000;
/// Names listed of what would have been right.
const NAMES: usize = 50;

/// What a value is: `an array`.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Goes on to a member of what is at `path`: to `a.b`, or to `a["b.c"]` where a name would be taken for more or less than one.
pub(crate) fn push_step(path: &mut String, name: &str) {
    let name = reflect(name);
    let is_plain = !name.is_empty() && name.trim() == name && !name.contains(['.', '[', ']', '"', '`']);
    // Writing to a String cannot fail.
    let _ = match &**path {
        _ if !is_plain => write!(path, "[{}]", Value::from(name).to_string().replace('`', "\\u0060")),
        "" => write!(path, "{name}"),
        _ => write!(path, ".{name}"),
    };
}

/// The same to an item.
pub(super) fn push_index(path: &mut String, index: usize) {
    let _ = write!(path, "[{index}]");
}

/// The place of what could not be read, as far as it is known.
pub(crate) fn place(path: &serde_path_to_error::Path) -> String {
    let mut told = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => push_index(&mut told, *index),
            Segment::Map { key: name } | Segment::Enum { variant: name } => push_step(&mut told, name),
            Segment::Unknown => {}
        }
    }
    end_of(told)
}

/// A path as an answer may have it: of a very long one, the end is of more use.
pub(super) fn end_of(path: String) -> String {
    match path.char_indices().nth_back(PATH) {
        Some((start, _)) => format!("..{}", &path[start..]),
        None => path,
    }
}

/// A text with something of the peer's in it, as an answer may say it: longer than a quotation, and bounded all the same.
pub(crate) fn clean(text: &str) -> String {
    let text: Vec<char> = text.chars().take(LONG).collect();
    text.chunks(100).map(|part| reflect(&part.iter().collect::<String>())).collect()
}

/// What an error of `serde_json` says, without the place: it counts columns of a text that the model has never seen.
pub(crate) fn without_place(error: &str) -> String {
    clean(error.rsplit_once(" at line ").map_or(error, |(said, _)| said))
}

/// `expected one of "a", "b", got "c"`.
pub(crate) fn expected(allowed: &[Value], value: &Value) -> String {
    let names: Vec<String> = allowed.iter().take(NAMES).map(ToString::to_string).collect();
    let one_of = if allowed.len() == 1 { "" } else { "one of " };
    let more = if allowed.len() > NAMES { ", .." } else { "" };
    format!("expected {one_of}{}{more}, got {}", names.join(", "), quote(value))
}

/// A value of the peer's, as an answer may quote it.
pub(crate) fn quote(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind(value).into(),
        scalar => reflect(&scalar.to_string()),
    }
}

/// The one of `names` that was probably meant: at most a third of its letters are wrong.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let written: Vec<char> = name.chars().take(2 * LETTERS).collect();
    names
        .into_iter()
        .filter(|known| known.len() <= LETTERS)
        // As many letters are put in or left out as one has more than the other.
        .filter(|known| {
            let letters = known.chars().count();
            written.len().abs_diff(letters) <= letters / 3
        })
        .map(|known| (distance(&written, known), known))
        .filter(|(distance, known)| *distance <= known.chars().count() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// Letters up to which names are compared: who mistypes a longer one finds it by himself.
const LETTERS: usize = 64;

/// Letters that must be put in, left out, exchanged or swapped with their neighbour; case counts for nothing.
fn distance(written: &[char], known: &str) -> usize {
    let known: Vec<char> = known.chars().collect();
    let same = |left: char, right: char| left.eq_ignore_ascii_case(&right);
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=known.len()).collect();
    for (row, &letter) in written.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, &other) in known.iter().enumerate() {
            let exchanged = last[column] + usize::from(!same(letter, other));
            let mut least = exchanged.min(last[column + 1] + 1).min(next[column] + 1);
            if row > 0 && column > 0 && same(letter, known[column - 1]) && same(written[row - 1], other) {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[known.len()]
}

#[cfg(test)]
mod tests {
    use super::{end_of, nearest, push_step};

    #[test]
    fn a_path_leads_to_one_place_and_has_an_end() {
        for (path, name, wanted) in [
            ("", "a", "a"),
            ("a[0]", "b c", "a[0].b c"),
            ("", "", r#"[""]"#),
            ("a", "b.c", r#"a["b.c"]"#),
            ("a", "[0]", r#"a["[0]"]"#),
            ("a", "`\"", r#"a["\u0060\""]"#),
            ("a", "\u{202e}\n", "a.\u{fffd}\u{fffd}"),
        ] {
            let mut at = path.to_owned();
            push_step(&mut at, name);
            assert_eq!(at, wanted, "{path} {name}");
        }
        let long = end_of(format!("first.{}.last", "é".repeat(2000)));
        assert!(long.chars().count() < 1010 && long.ends_with(".last"), "{long}");
    }

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let names = ["minLength", "maxLength", "minimum", "type"];
        for (written, meant) in
            [("minLenght", "minLength"), ("max_length", "maxLength"), ("MINIMUM", "minimum"), ("tpye", "type")]
        {
            assert_eq!(nearest(written, names), Some(meant), "{written}");
        }
        for written in ["", "pattern", "x", &"minLength".repeat(1000)] {
            assert_eq!(nearest(written, names), None, "{written}");
        }
        assert_eq!(nearest("x", ["n", "id"]), None, "nothing is near a short name");
        assert_eq!(nearest("ID", ["n", "id"]), Some("id"));
    }
}
