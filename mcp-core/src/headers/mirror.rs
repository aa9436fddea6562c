//! Arguments that are repeated in headers: found in the body, and compared.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::catalog::{Mirror, MirrorKind};
use crate::encode::json::Key;
use crate::fault::Fault;
use crate::wire;

/// The raw value of each mirrored argument, in the order of `mirrors`; `None` if it is absent or null.
///
/// # Errors
///
/// -32602, status 400: a member twice in an object on the way (two readers might take different ones), or no JSON
/// object.
pub(super) fn values<'a>(mirrors: &[Mirror], arguments: &'a str) -> Result<Vec<Option<&'a str>>, Fault> {
    let mut values = alloc::vec![None; mirrors.len()];
    let all: Vec<usize> = (0..mirrors.len()).collect();
    let mut search = Search { mirrors, values: &mut values, twice: false };
    let read = search.object(arguments, &all, 0);
    if search.twice {
        let message = "Invalid params: `arguments` has a member twice in an object that is repeated in headers";
        return Err(Fault::invalid_params(message).with_status(400));
    }
    read.map_err(|_| {
        Fault::invalid_params("Invalid params: `arguments` cannot be read as a JSON object").with_status(400)
    })?;
    Ok(values)
}

struct Search<'s, 'a> {
    mirrors: &'s [Mirror],
    values: &'s mut [Option<&'a str>],
    twice: bool,
}

impl<'a> Search<'_, 'a> {
    /// Looks through one object, reached by the first `depth` steps of the paths of those mirrors. Recurses as deep as
    /// a
    /// registered path is long.
    fn object(&mut self, text: &'a str, mirrors: &[usize], depth: usize) -> Result<(), serde_json::Error> {
        let mut members = serde_json::Deserializer::from_str(text);
        members.deserialize_map(Object { search: self, mirrors, depth })?;
        members.end()
    }

    /// Whether the path of that mirror goes on with that name.
    fn steps(&self, index: usize, depth: usize, name: &str) -> bool {
        self.mirrors[index].path.get(depth).is_some_and(|step| **step == *name)
    }

    fn member(&mut self, name: &str, value: &'a str, mirrors: &[usize], depth: usize) -> Result<(), serde_json::Error> {
        let here: Vec<usize> = mirrors.iter().copied().filter(|&index| self.steps(index, depth, name)).collect();
        let (ends, goes_on): (Vec<usize>, Vec<usize>) =
            here.into_iter().partition(|&index| self.mirrors[index].path.len() == depth + 1);
        for index in ends {
            self.values[index] = (value != "null").then_some(value);
        }
        // What should be an object and is not has no members: the arguments are absent, and validation says why.
        if !goes_on.is_empty() && value.starts_with('{') { self.object(value, &goes_on, depth + 1) } else { Ok(()) }
    }
}

struct Object<'o, 's, 'a> {
    search: &'o mut Search<'s, 'a>,
    mirrors: &'o [usize],
    depth: usize,
}

impl<'a> Visitor<'a> for Object<'_, '_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { search, mirrors, depth } = self;
        let mut names: Vec<Cow<'a, str>> = Vec::new();
        while let Some(Key(name)) = map.next_key::<Key<'a>>()? {
            if mirrors.iter().any(|&index| search.steps(index, depth, &name)) {
                let value = map.next_value::<&'a RawValue>()?.get();
                search.member(&name, value, mirrors, depth).map_err(serde::de::Error::custom)?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            names.push(name);
        }
        // Sorted and not hashed: a peer that chooses names cannot make this slow.
        names.sort_unstable();
        search.twice |= names.windows(2).any(|pair| pair[0] == pair[1]);
        Ok(())
    }
}

/// What comparing a header with an argument finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Equal,
    Different,
    TooLarge,
}

/// Compares a header's text with the raw JSON of an argument.
///
/// An argument of a type that the tool did not ask for is compared as text, and reported by who validates it (HDR-10).
pub(super) fn compare(kind: MirrorKind, header: &str, body: &str) -> Verdict {
    if body.starts_with('"') {
        return verdict(wire::decode(body).is_some_and(|text| text == header));
    }
    match (kind, integer(header), integer(body)) {
        (MirrorKind::Integer, _, Number::TooLarge) => Verdict::TooLarge,
        (MirrorKind::Integer, Number::Integer(sent), Number::Integer(said)) => verdict(sent == said),
        _ => verdict(header == body),
    }
}

fn verdict(equal: bool) -> Verdict {
    if equal { Verdict::Equal } else { Verdict::Different }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Integer(i64),
    /// An integer beyond 2^53-1, where readers of doubles lose digits.
    TooLarge,
    /// A fraction, or no number at all.
    Other,
}

/// Reads a JSON number as the integer that it is: `42`, `42.0`, `4.2e1` (A15). Exact, and linear in its length.
fn integer(text: &str) -> Number {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent),
        None => (rest, "0"),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Number::Other,
        None => (mantissa, ""),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    if whole.is_empty() || leading_zero || !digits(whole) || !digits(fraction) {
        return Number::Other;
    }
    let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if unsigned.is_empty() || !digits(unsigned) {
        return Number::Other;
    }
    // An exponent of more digits than this moves the point off any text that fits into memory.
    let size = unsigned.trim_start_matches('0');
    let size = if size.len() > 12 { 1_000_000_000_000 } else { size.parse::<i64>().unwrap_or(0) };
    let exponent = if exponent.starts_with('-') { -size } else { size };

    let all = [whole, fraction].concat();
    let significant = all.trim_start_matches('0');
    let kept = significant.trim_end_matches('0');
    if kept.is_empty() {
        return Number::Integer(0);
    }
    // The power of ten that stands behind the digits that are kept.
    let power = exponent - length(fraction) + length(significant) - length(kept);
    if power < 0 {
        return Number::Other;
    }
    if length(kept) + power > MAX_DIGITS {
        return Number::TooLarge;
    }
    // At most 16 digits: this fits.
    let value = kept.bytes().fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    let value = (0..power).fold(value, |value, _| value * 10);
    if value > MAX_SAFE {
        return Number::TooLarge;
    }
    Number::Integer(if negative { -value } else { value })
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// The largest integer that a header may carry: 2^53-1 (HDR-9).
const MAX_SAFE: i64 = (1 << 53) - 1;

/// How many digits that has.
const MAX_DIGITS: i64 = 16;
