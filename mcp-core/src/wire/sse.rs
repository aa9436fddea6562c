//! Server-sent events: one message an event, one data line (HTTP-9); and a parser of any such stream.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use super::{BOM, write};

/// Appends an event that carries `data`, JSON without line breaks; an event without `id` cannot be resumed from.
///
/// Data that has line breaks all the same is sent as several data lines, which a reader joins with `\n`.
pub fn event(out: &mut Vec<u8>, id: Option<&str>, data: &[u8]) {
    debug_assert!(memchr::memchr2(b'\n', b'\r', data).is_none(), "a message is one line");
    if let Some(id) = id {
        event_id(out, id);
    }
    lines(out, b"data: ", data);
    out.push(b'\n');
}

/// Appends a comment: it keeps a silent stream open, and readers ignore it (HTTP-45).
pub fn comment(out: &mut Vec<u8>, text: &str) {
    lines(out, b": ", text.as_bytes());
    out.push(b'\n');
}

/// Appends the time that a reader is to wait before it connects again.
pub fn retry(out: &mut Vec<u8>, millis: u64) {
    retry_line(out, millis);
    out.push(b'\n');
}

/// Appends an event without data, which gives a reader an id to resume from before there is anything to say, and the time to
/// wait before it does.
pub fn priming(out: &mut Vec<u8>, id: &str, millis: u64) {
    event_id(out, id);
    retry_line(out, millis);
    out.extend_from_slice(b"data: \n\n");
}

fn retry_line(out: &mut Vec<u8>, millis: u64) {
    out.extend_from_slice(b"retry: ");
    write::integer(out, i64::try_from(millis).unwrap_or(i64::MAX));
    out.push(b'\n');
}

fn event_id(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(b"id: ");
    // A line break would end the field, and readers ignore an id with a NUL.
    out.extend(id.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r' | 0)));
    out.push(b'\n');
}

fn lines(out: &mut Vec<u8>, field: &[u8], mut text: &[u8]) {
    out.reserve(field.len() + text.len() + 2);
    loop {
        let end = memchr::memchr2(b'\n', b'\r', text);
        out.extend_from_slice(field);
        out.extend_from_slice(&text[..end.unwrap_or(text.len())]);
        out.push(b'\n');
        let Some(end) = end else { return };
        let width = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
        text = &text[end + width..];
    }
}

/// Reads an event stream as the WHATWG HTML standard says (section 9.2.6), however it was cut into chunks.
///
/// The data of one event and its lines are bounded by a limit. An event that the stream ends within is never seen, as the
/// standard demands. Unlike a browser it shows comments and `retry` too.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    state: State,
    /// The line so far, without its end.
    line: Vec<u8>,
    /// `None` until there is a data line: an event without one is not dispatched.
    data: Option<Vec<u8>>,
    kind: Vec<u8>,
    id: Option<String>,
    last_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was read yet: a byte order mark may come.
    Start,
    Within,
    /// The last byte was CR: a LF belongs to it.
    AfterCr,
    /// An event is too long; it ends with a line that is `blank`.
    Skipping {
        blank: bool,
        after_cr: bool,
    },
}

/// What a stream has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event with data, which may be empty.
    Event(Event),
    /// A comment line.
    Comment(String),
    /// How many milliseconds to wait before connecting again.
    Retry(u64),
    /// An event, or a line of it, is longer than the limit, and is lost. Said once per event, as soon as it is certain.
    TooLong,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id that it carries itself; see [`Parser::last_event_id`] for what to resume from.
    pub id: Option<String>,
    /// Its type: `message` where none is given.
    pub kind: String,
    /// Its data lines, joined with `\n`. Bytes that are not UTF-8 became U+FFFD, as the standard demands.
    pub data: String,
}

impl Parser {
    /// For events of at most `limit` bytes.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            state: State::Start,
            line: Vec::new(),
            data: None,
            kind: Vec::new(),
            id: None,
            last_id: String::new(),
        }
    }

    /// The next frame, taken off the front of `chunk`. `None` once the chunk is used up.
    pub fn next(&mut self, chunk: &mut &[u8]) -> Option<Frame> {
        while !chunk.is_empty() {
            self.join_line_end(chunk);
            let end = memchr::memchr2(b'\n', b'\r', chunk);
            let (piece, ended_by) = match end {
                Some(end) => (&chunk[..end], Some(chunk[end])),
                None => (*chunk, None),
            };
            *chunk = &chunk[end.map_or(chunk.len(), |end| end + 1)..];
            if let Some(frame) = self.piece(piece, ended_by) {
                return Some(frame);
            }
        }
        None
    }

    /// The id of the last event that had one: what `Last-Event-ID` is to say. Empty if none had.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// Drops the LF of a CR LF whose CR ended the line before.
    fn join_line_end(&mut self, chunk: &mut &[u8]) {
        let after_cr = match &mut self.state {
            State::AfterCr => {
                self.state = State::Within;
                true
            }
            State::Skipping { after_cr, .. } => mem::replace(after_cr, false),
            State::Start | State::Within => false,
        };
        if after_cr {
            *chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
    }

    /// Takes a piece of a line, and the byte that ends the line if it ends here.
    fn piece(&mut self, piece: &[u8], ended_by: Option<u8>) -> Option<Frame> {
        let ended_by_cr = ended_by == Some(b'\r');
        if let State::Skipping { blank, .. } = self.state {
            let blank = blank && piece.is_empty();
            self.state = match (ended_by, blank) {
                (None, blank) => State::Skipping { blank, after_cr: false },
                (Some(_), false) => State::Skipping { blank: true, after_cr: ended_by_cr },
                (Some(_), true) if ended_by_cr => State::AfterCr,
                (Some(_), true) => State::Within,
            };
            return None;
        }
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len) + self.kind.len();
        if held + piece.len() > self.limit {
            self.clear();
            self.line = Vec::new();
            self.state = State::Skipping { blank: ended_by.is_some(), after_cr: ended_by_cr };
            return Some(Frame::TooLong);
        }
        self.line.extend_from_slice(piece);
        ended_by?;
        let mut line = mem::take(&mut self.line);
        let text = match self.state {
            State::Start => line.strip_prefix(BOM).unwrap_or(&line),
            _ => &line,
        };
        self.state = if ended_by_cr { State::AfterCr } else { State::Within };
        let frame = self.complete(text);
        line.clear();
        self.line = line;
        frame
    }

    fn complete(&mut self, line: &[u8]) -> Option<Frame> {
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => return Some(Frame::Comment(lossy(value))),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.kind = value.to_vec(),
            b"id" if !value.contains(&0) => self.id = Some(lossy(value)),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                return lossy(value).parse().ok().map(Frame::Retry);
            }
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Frame> {
        if let Some(id) = &self.id {
            self.last_id.clone_from(id);
        }
        let (id, kind, data) = (self.id.take(), mem::take(&mut self.kind), self.data.take());
        let kind = if kind.is_empty() { "message".to_string() } else { lossy(&kind) };
        data.map(|data| Frame::Event(Event { id, kind, data: lossy(&data) }))
    }

    fn clear(&mut self) {
        self.data = None;
        self.kind = Vec::new();
        self.id = None;
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
