//! Request ids and progress tokens, kept exactly as they were sent.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::{decode, write};

/// A request id or progress token: a string or an integer, written back with the token that was read (BASE-2).
///
/// `1` and `"1"` differ; strings are compared by what they stand for, so `"\u0061"` equals `"a"`. Ids of different peers may
/// be equal (BASE-4).
#[derive(Clone)]
pub struct Id(Token);

#[derive(Clone)]
enum Token {
    /// An integer whose JSON text is what [`write::integer`] makes of it.
    Int(i64),
    /// The text of any other integer: beyond 64 bits, or `-0`. Never rounded.
    Big(Box<str>),
    /// A whole string token with quotes and escapes, known to decode.
    Text(Box<str>),
}

/// What an id is compared by.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Value<'a> {
    Int(i64),
    Big(&'a str),
    Text(Cow<'a, str>),
}

impl Id {
    /// The id whose JSON token is `raw`, of at most `max` bytes.
    ///
    /// `None` for anything else: `null`, a boolean, a fraction or exponent, an object, an array, half a surrogate pair, or a
    /// token that is too long.
    #[must_use]
    pub fn parse(raw: &str, max: usize) -> Option<Self> {
        if raw.len() > max {
            return None;
        }
        if raw.starts_with('"') {
            return is_string(raw).then(|| Self(Token::Text(raw.into())));
        }
        let digits = raw.strip_prefix('-').unwrap_or(raw);
        let canonical = match digits.as_bytes() {
            [] => return None,
            [b'0'] => digits.len() == raw.len(),
            [b'0', ..] => return None,
            digits if digits.iter().all(u8::is_ascii_digit) => true,
            _ => return None,
        };
        match raw.parse() {
            Ok(number) if canonical => Some(Self(Token::Int(number))),
            _ => Some(Self(Token::Big(raw.into()))),
        }
    }

    /// An integer id.
    #[must_use]
    pub fn from_u64(number: u64) -> Self {
        match i64::try_from(number) {
            Ok(number) => Self(Token::Int(number)),
            Err(_) => Self(Token::Big(alloc::format!("{number}").into())),
        }
    }

    /// A string id of that text.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut token = Vec::with_capacity(text.len() + 2);
        write::string(&mut token, text);
        Self(Token::Text(String::from_utf8_lossy(&token).into()))
    }

    /// Appends the JSON token, exactly as it was sent.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Token::Int(number) => write::integer(out, *number),
            Token::Big(token) | Token::Text(token) => out.extend_from_slice(token.as_bytes()),
        }
    }

    /// The integer, if it is one of 64 bits: how a sender that counts its ids finds its own again.
    #[must_use]
    pub const fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Token::Int(number) => Some(number),
            _ => None,
        }
    }

    fn value(&self) -> Value<'_> {
        match &self.0 {
            Token::Int(number) => Value::Int(*number),
            Token::Big(token) => Value::Big(token),
            Token::Text(token) => Value::Text(decode(token).unwrap_or(Cow::Borrowed(token))),
        }
    }
}

/// Whether `raw` is one whole JSON string that decodes.
fn is_string(raw: &str) -> bool {
    let plain = |inner: &str| inner.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).is_some_and(plain)
        || serde_json::from_str::<String>(raw).is_ok_and(|_| raw.ends_with('"'))
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value().hash(state);
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An order for tables: integers before strings, otherwise of no meaning.
impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value().cmp(&other.value())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Token::Int(number) => write!(f, "Id({number})"),
            Token::Big(token) | Token::Text(token) => write!(f, "Id({token})"),
        }
    }
}
