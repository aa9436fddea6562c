//! URIs as the bytes that they stand for, where `a` and `%61` are one, and `/` and `%2F` are two.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A byte; with [`ENCODED`] set, it was percent-encoded, and means another thing than it would as it stands.
pub(super) type Unit = u16;

const ENCODED: Unit = 0x100;

/// Reads a URI's units; `None` stands for an escape that is none, and ends nothing: stop there.
pub(super) struct Units<'a>(pub(super) &'a [u8]);

impl Iterator for Units<'_> {
    type Item = Option<Unit>;

    fn next(&mut self) -> Option<Option<Unit>> {
        let (&first, rest) = self.0.split_first()?;
        if first != b'%' {
            self.0 = rest;
            return Some(Some(Unit::from(first)));
        }
        let [high, low, rest @ ..] = rest else {
            self.0 = &[];
            return Some(None);
        };
        self.0 = rest;
        let (Some(high), Some(low)) = (hex(*high), hex(*low)) else { return Some(None) };
        let byte = high << 4 | low;
        let kept = is_reserved(byte) || matches!(byte, b'%' | b'{' | b'}') || byte.is_ascii_control();
        Some(Some(Unit::from(byte) | if kept { ENCODED } else { 0 }))
    }
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// RFC 3986, 2.2.
pub(super) const fn is_reserved(byte: u8) -> bool {
    matches!(
        byte,
        b':' | b'/'
            | b'?'
            | b'#'
            | b'['
            | b']'
            | b'@'
            | b'!'
            | b'$'
            | b'&'
            | b'\''
            | b'('
            | b')'
            | b'*'
            | b'+'
            | b','
            | b';'
            | b'='
    )
}

/// RFC 3986, 2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Writes a literal's unit.
pub(super) fn write(unit: Unit, out: &mut String) {
    let [_, byte] = unit.to_be_bytes();
    write_byte(byte, unit & ENCODED == 0 && (is_reserved(byte) || is_unreserved(byte)), out);
}

fn write_byte(byte: u8, raw: bool, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    if raw {
        out.push(char::from(byte));
    } else {
        out.push('%');
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// What a variable's value is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Values {
    /// A bit for each ASCII byte that ends it, unless encoded.
    ends: u128,
    /// Whether reserved characters are written as they are: `{+v}` and `{#v}`.
    reserved: bool,
}

impl Values {
    /// `{v}`: one segment.
    pub(super) const SEGMENT: Self = Self { ends: Self::NONE.ends, reserved: false }.ending_at(b"/?#");
    /// `{+v}`.
    pub(super) const ANY: Self = Self { ends: Self::NONE.ends, reserved: true };
    /// What no URI has: controls, and the braces of a template that nobody has filled in.
    const NONE: Self = Self { ends: 0xFFFF_FFFF, reserved: false }.ending_at(b"{}\x7F");

    pub(super) const fn ending_at(mut self, bytes: &[u8]) -> Self {
        let mut index = 0;
        while index < bytes.len() {
            self.ends |= 1 << bytes[index];
            index += 1;
        }
        self
    }

    pub(super) const fn holds(self, unit: Unit) -> bool {
        unit >= 128 || self.ends >> unit & 1 == 0
    }

    /// Writes a value; what would end it is encoded.
    pub(super) fn write(self, value: &str, out: &mut String) {
        for byte in value.bytes() {
            let raw = is_unreserved(byte) || self.reserved && is_reserved(byte) && self.holds(Unit::from(byte));
            write_byte(byte, raw, out);
        }
    }
}

/// The value that these units stand for; `None` if it is not one that a handler should see.
pub(super) fn decode(units: &[Unit]) -> Option<Box<str>> {
    let bytes: Vec<u8> = units.iter().map(|unit| unit.to_be_bytes()[1]).collect();
    let value = String::from_utf8(bytes).ok()?;
    let climbs = value.split(['/', '\\']).any(|segment| segment == "..");
    (!climbs && !value.contains('\0')).then(|| value.into_boxed_str())
}
