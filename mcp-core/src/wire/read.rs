//! Reading one message: a scan for UTF-8, one borrowed pass over envelope, `params` and `_meta`, and a scan for depth where
//! there may be any.
//!
//! `serde_json` alone lets bad UTF-8 and any depth through in values that it skips (it does so without recursion), and duplicate
//! keys everywhere. The scans refuse the first two; the visitors refuse the third, and go on after a defect, so that its answer
//! can carry the id (BASE-6).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use bytes::{Buf as _, Bytes};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::message::{Batch, Method, Span, Spans};
use super::{BOM, Id, Message, Shape, Unread, decode};
use crate::fault::{Code, Fault, reflect};
use crate::policy::Limits;

mod fields;
mod keys;

use fields::{Fields, Level};
use keys::{Known, Top};

/// Reads one message.
///
/// A byte order mark in front is dropped. `limits` bounds depth, members, ids and batches; the length of the body is for the
/// transport to bound while it arrives ([`Unread::too_long`]). Time and memory are linear in the body, and memory beside it is
/// nearly none: a string id, members that are not those of a call, and a stack of one byte per level of the deepest value.
///
/// # Errors
///
/// [`Unread`], if it is no message (BASE-1, BASE-2, BASE-10, BASE-26):
///
/// | Defect | Code | `id` |
/// |---|---|---|
/// | not UTF-8, not JSON, half a surrogate pair in a key | -32700 | no |
/// | half a surrogate pair in the method | -32700 | if read |
/// | too deep, too many members or messages, duplicate key, no object, wrong `jsonrpc`, `id` or `method` | -32600 | if read |
/// | `params` or `_meta` not an object, duplicate key or too many in it | -32602, status 400 | if read |
pub fn read(body: Bytes, limits: &Limits) -> Result<Message, Unread> {
    if u32::try_from(body.len()).is_err() {
        return Err(Unread::too_long(u32::MAX as usize));
    }
    let skipped = if body.starts_with(BOM) { BOM.len() } else { 0 };
    // Not `slice`: that would move every body into shared memory.
    let mut body = body;
    body.advance(skipped);
    let text = core::str::from_utf8(&body).map_err(|error| not_json("not UTF-8 at", skipped + error.valid_up_to()))?;
    // `serde_json` counts some defects from the byte in front of them.
    let fail =
        |error: serde_json::Error| not_json(&format!("{} near", expectation(&error)), skipped + position(text, &error));
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let start = after_space(text, 0);
    match text.as_bytes().get(start) {
        Some(b'{') => {
            let mut reader = Reader::new(text, start + 1, limits);
            let done = deserializer.deserialize_map(Fields::<Top>::of(&mut reader)).and_then(|()| deserializer.end());
            done.map_err(fail)?;
            let (shape, id, method) = reader.judge()?;
            let spans = reader.spans;
            Ok(Message { shape, id, method, spans, batch: None, body })
        }
        Some(b'[') => {
            let mut members = Members { text, limit: limits.batch, spans: Vec::new(), count: 0 };
            let done = deserializer.deserialize_seq(&mut members).and_then(|()| deserializer.end());
            done.map_err(fail)?;
            let batch = members.judge(limits)?;
            Ok(Message {
                shape: Shape::Batch,
                id: None,
                method: Method::None,
                spans: Spans::NONE,
                batch: Some(Box::new(batch)),
                body,
            })
        }
        _ => {
            let done = IgnoredAny::deserialize(&mut deserializer).and_then(|_| deserializer.end());
            done.map_err(fail)?;
            Err(Unread::new(None, Fault::invalid_request("A message is a JSON object")))
        }
    }
}

fn not_json(what: &str, at: usize) -> Unread {
    Unread::new(None, Fault::parse(format!("{what} byte {at}")))
}

/// What `serde_json` missed, without its line and column: a message is one line on most transports.
fn expectation(error: &serde_json::Error) -> String {
    let text = error.to_string();
    reflect(text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what))
}

/// The offset in `text` of the byte that an error is about.
fn position(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.len();
    }
    let line = match error.line() {
        0 | 1 => 0,
        line => memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map_or(0, |newline| newline + 1),
    };
    (line + error.column().saturating_sub(1)).min(text.len())
}

/// Whether some value of `text`, which is JSON, is nested deeper than `limit`.
fn is_too_deep(text: &str, limit: usize) -> bool {
    let bytes = text.as_bytes();
    // A level takes two brackets. Most messages are too short to be too deep, or have fewer brackets than the limit, and
    // counting those is many times faster than telling strings from structure.
    if bytes.len() / 2 <= limit || brackets(bytes) <= limit {
        return false;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' if depth == limit => return true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = after_string(bytes, at),
            _ => {}
        }
    }
    false
}

/// How many opening brackets there are, also in strings.
fn brackets(bytes: &[u8]) -> usize {
    // Short blocks, so that a byte holds the sum of one, and the compiler adds up many bytes at once.
    let block = |block: &[u8]| block.iter().map(|byte| u8::from(byte | 0x20 == b'{')).sum::<u8>();
    bytes.chunks(128).map(|bytes| usize::from(block(bytes))).sum()
}

/// The offset after the closing quote of the string whose content starts at `at`.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at
}

fn after_space(text: &str, mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = text.as_bytes().get(at) {
        at += 1;
    }
    at
}

/// What was seen so far.
struct Reader<'de> {
    text: &'de str,
    limits: &'de Limits,
    /// Where the member read last ends; after the bracket, where none was read yet.
    end: usize,
    top: Level<'de>,
    params: Level<'de>,
    meta: Level<'de>,
    jsonrpc: &'de str,
    id: &'de str,
    method: &'de str,
    method_span: Span,
    spans: Spans,
    /// Which of `params` and `_meta` is something else than an object.
    not_object: Option<&'static str>,
}

impl<'de> Reader<'de> {
    fn new(text: &'de str, end: usize, limits: &'de Limits) -> Self {
        Self {
            text,
            limits,
            end,
            top: Level::default(),
            params: Level::default(),
            meta: Level::default(),
            jsonrpc: "",
            id: "",
            method: "",
            method_span: Span::NONE,
            spans: Spans::NONE,
            not_object: None,
        }
    }

    /// Skips a value, and says what and where it was.
    fn leaf<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(&'de str, Span), A::Error> {
        let raw = map.next_value::<&RawValue>()?.get();
        Ok((raw, self.span(raw)))
    }

    fn span(&mut self, raw: &str) -> Span {
        let start = raw.as_ptr().addr() - self.text.as_ptr().addr();
        self.end = start + raw.len();
        span(start, self.end)
    }

    /// Where the value starts whose member is next after [`Reader::end`]. Its key may be escaped, and so lie elsewhere.
    fn value_start(&self) -> usize {
        let bytes = self.text.as_bytes();
        let after = |at: usize, wanted: u8| {
            let rest = bytes.get(at..).unwrap_or_default();
            rest.iter().position(|byte| *byte == wanted).map_or(bytes.len(), |skip| at + skip + 1)
        };
        let colon = after(after_string(bytes, after(self.end, b'"')), b':');
        after_space(self.text, colon)
    }

    fn saw(&self, key: Top) -> bool {
        self.top.seen & key.bit() != 0
    }

    fn judge(&self) -> Result<(Shape, Option<Id>, Method), Unread> {
        let twice = self.top.twice & Top::Id.bit() != 0;
        let id = if twice { None } else { Id::parse(self.id, self.limits.id) };
        let answers = self.saw(Top::Result) || self.saw(Top::Error);
        let silent = if self.saw(Top::Method) {
            // A method that is not a string makes no notification: JSON-RPC 2.0 section 7 answers it.
            self.method.starts_with('"') && !self.saw(Top::Id)
        } else {
            answers
        };
        let fault = match self.fault(id.is_some(), answers) {
            Some(fault) => fault,
            None if answers => {
                return Ok((Shape::Response, id, Method::None));
            }
            None => match self.method() {
                Some(method) => {
                    let shape = if id.is_some() { Shape::Request } else { Shape::Notification };
                    return Ok((shape, id, method));
                }
                None => Fault::parse("`method` has half a surrogate pair"),
            },
        };
        Err(Unread { id, fault, silent })
    }

    /// The first defect, envelope before `params`.
    fn fault(&self, has_id: bool, answers: bool) -> Option<Fault> {
        if is_too_deep(self.text, self.limits.depth) {
            return Some(too_deep(self.limits));
        }
        if let Some(defect) = &self.top.defect {
            return Some(defect.fault(Code::INVALID_REQUEST, "the message", self.limits.members));
        }
        if self.jsonrpc != "\"2.0\"" && decode(self.jsonrpc).is_none_or(|version| version != "2.0") {
            return Some(Fault::invalid_request("`jsonrpc` must be \"2.0\""));
        }
        let method = self.saw(Top::Method);
        if self.saw(Top::Result) && self.saw(Top::Error) {
            return Some(Fault::invalid_request("A response has either `result` or `error`"));
        }
        match (method, answers) {
            (true, true) => return Some(Fault::invalid_request("A message with `method` has no `result` or `error`")),
            (false, true) => return None,
            (false, false) => return Some(Fault::invalid_request("A message needs `method`, `result` or `error`")),
            (true, false) => {}
        }
        if !self.method.starts_with('"') {
            return Some(Fault::invalid_request("`method` must be a string"));
        }
        if self.saw(Top::Id) && !has_id {
            let limit = self.limits.id;
            return Some(Fault::invalid_request(format!(
                "`id` must be a string or an integer of at most {limit} bytes"
            )));
        }
        if let Some(name) = self.not_object {
            return Some(Fault::invalid_params(format!("`{name}` must be an object")).with_status(400));
        }
        let params = self.params.defect.as_ref().map(|defect| (defect, "`params`"));
        let (defect, place) = params.or(self.meta.defect.as_ref().map(|defect| (defect, "`_meta`")))?;
        Some(defect.fault(Code::INVALID_PARAMS, place, self.limits.members))
    }

    fn method(&self) -> Option<Method> {
        Some(match decode(self.method)? {
            Cow::Borrowed(_) => {
                Method::Plain(Span { start: self.method_span.start + 1, end: self.method_span.end - 1 })
            }
            Cow::Owned(text) => Method::Decoded(text.into()),
        })
    }
}

/// Splits an array, whose members are read later, one by one.
struct Members<'de> {
    text: &'de str,
    limit: usize,
    spans: Vec<Span>,
    count: usize,
}

impl Members<'_> {
    fn judge(self, limits: &Limits) -> Result<Batch, Unread> {
        let fault = if is_too_deep(self.text, limits.depth) {
            too_deep(limits)
        } else if self.count > self.limit {
            Fault::invalid_request(format!("A batch holds at most {} messages", self.limit))
        } else {
            return Ok(Batch { members: self.spans, limits: limits.clone() });
        };
        Err(Unread::new(None, fault))
    }
}

impl<'de> Visitor<'de> for &mut Members<'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(raw) = seq.next_element::<&RawValue>()? {
            self.count += 1;
            if self.count <= self.limit {
                let start = raw.get().as_ptr().addr() - self.text.as_ptr().addr();
                self.spans.push(span(start, start + raw.get().len()));
            }
        }
        Ok(())
    }
}

fn too_deep(limits: &Limits) -> Fault {
    Fault::invalid_request(format!("Values nest at most {} deep", limits.depth))
}

/// Offsets fit: [`read`] refuses bodies that are longer.
const fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}
