//! Writing JSON-RPC: primitives that append to a buffer.
//!
//! Whatever is written is one line: a raw newline never gets out (STDIO-1, HTTP-9).

use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Id;
use crate::fault::Fault;

/// Appends a JSON string. Escapes what JSON must have escaped, and nothing else.
pub fn string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, tail) = rest.split_at(plain(rest));
        out.extend_from_slice(plain);
        let Some((&byte, tail)) = tail.split_first() else { break };
        escape(out, byte);
        rest = tail;
    }
    out.push(b'"');
}

/// Appends JSON text, with its line breaks replaced by spaces. Outside of strings JSON has line breaks only as white space.
pub fn raw(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    let mut at = start;
    while let Some(skip) = out.get(at..).and_then(|rest| memchr::memchr2(b'\n', b'\r', rest)) {
        at += skip;
        out[at] = b' ';
    }
}

/// Appends an integer.
pub fn integer(out: &mut Vec<u8>, number: i64) {
    // 19 digits and a sign.
    let mut text = [0_u8; 20];
    let mut at = text.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        at -= 1;
        text[at] = b'-';
    }
    out.extend_from_slice(&text[at..]);
}

/// Appends a number: the shortest text that reads back as the same one, without `.0`; `null` if it is not finite.
pub fn number(out: &mut Vec<u8>, number: f64) {
    /// Up to here every integer is exact: 2^53.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = number as i64;
    if number.abs() <= EXACT && whole as f64 == number {
        return integer(out, whole);
    }
    match serde_json::to_string(&number) {
        Ok(text) => out.extend_from_slice(text.as_bytes()),
        Err(_) => out.extend_from_slice(b"null"),
    }
}

/// Appends bytes as a JSON string of standard base64 with padding.
pub fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, b'=');
    let written = STANDARD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start), "the space is exactly what base64 takes");
    out.push(b'"');
}

/// Appends an error response; `id` is left out where it could not be read (BASE-6).
pub fn error(out: &mut Vec<u8>, id: Option<&Id>, fault: &Fault) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        out.extend_from_slice(b"\"id\":");
        id.write(out);
        out.push(b',');
    }
    out.extend_from_slice(b"\"error\":{\"code\":");
    integer(out, fault.code().get());
    out.extend_from_slice(b",\"message\":");
    string(out, fault.message());
    if let Some(data) = fault.data() {
        out.extend_from_slice(b",\"data\":");
        raw(out, data.as_bytes());
    }
    out.extend_from_slice(b"}}");
}

/// Appends a response up to its `result`. What follows is a JSON object and a `}`.
pub fn result_open(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(out);
    out.extend_from_slice(b",\"result\":");
}

/// Appends a notification up to its `params`. What follows is a JSON object and a `}`.
pub fn notification_open(out: &mut Vec<u8>, method: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":");
    string(out, method);
    out.extend_from_slice(b",\"params\":");
}

/// Appends a request up to its `params`. What follows is a JSON object and a `}`.
pub fn request_open(out: &mut Vec<u8>, id: &Id, method: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(out);
    out.extend_from_slice(b",\"method\":");
    string(out, method);
    out.extend_from_slice(b",\"params\":");
}

/// How many bytes from the start need no escape.
fn plain(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let whole = words.iter().take_while(|word| is_plain(u64::from_le_bytes(**word))).count() * 8;
    let special = |byte: &u8| *byte < b' ' || *byte == b'"' || *byte == b'\\';
    bytes[whole..].iter().position(special).map_or(bytes.len(), |at| whole + at)
}

/// Whether none of eight bytes is a quote, a backslash or a control character: the classic tests for "some byte is zero" and
/// "some byte is less than n". Borrows can only set a byte's high bit above one that is special itself, so the answer is exact.
const fn is_plain(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let zero = (quote.wrapping_sub(ONES) & !quote) | (slash.wrapping_sub(ONES) & !slash);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero | control) & HIGH == 0
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0C => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 0xF)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
