//! How values, places and faults are told to a model.

use mcp_core::fault::reflect;
use serde_json::Value;

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

/// Goes on to a member of what is at `path`.
pub(crate) fn push_step(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&reflect(name));
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
pub(super) fn expected(allowed: &[Value], value: &Value) -> String {
    let names: Vec<String> = allowed.iter().take(NAMES).map(ToString::to_string).collect();
    let one_of = if allowed.len() == 1 { "" } else { "one of " };
    let more = if allowed.len() > NAMES { ", .." } else { "" };
    format!("expected {one_of}{}{more}, got {}", names.join(", "), quote(value))
}

/// A value of the peer's, as an answer may quote it.
pub(super) fn quote(value: &Value) -> String {
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
        .filter(|known| known.len() <= LETTERS && written.len().abs_diff(known.len()) <= LETTERS / 3)
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
    use super::nearest;

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
