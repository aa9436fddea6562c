//! Messages on a byte stream: one a line (STDIO-1).

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use bytes::Bytes;

use super::{BOM, write};

/// The largest buffer that is kept from line to line. 64 KiB: what a pipe holds, and so the usual largest chunk.
const KEPT: usize = 64 << 10;

/// What a line may have around its text that does not count against the limit until it is stripped: byte order mark and CR.
const SLACK: usize = BOM.len() + 1;

/// Splits a byte stream into lines, however it was cut into chunks.
///
/// Each byte is looked at once. A line that lies within a chunk is copied once, at its exact size. Held memory is bounded by the
/// limit and four bytes.
///
/// ```
/// use mcp_core::wire::lines::{Line, Splitter};
///
/// let mut splitter = Splitter::new(1024);
/// let mut chunk: &[u8] = b"{\"a\":1}\r\n\n{\"b\"";
/// assert_eq!(splitter.next(&mut chunk), Some(Line::Text("{\"a\":1}".into())));
/// assert_eq!(splitter.next(&mut chunk), None);
/// let mut chunk: &[u8] = b":2}";
/// assert_eq!(splitter.next(&mut chunk), None);
/// assert_eq!(splitter.finish(), Some(Line::Text("{\"b\":2}".into())));
/// ```
#[derive(Debug)]
pub struct Splitter {
    limit: usize,
    state: State,
    /// Nothing but a byte order mark may have been seen.
    at_start: bool,
}

#[derive(Debug)]
enum State {
    /// The line so far.
    Within(Vec<u8>),
    /// The line was found too long; the rest of it is dropped.
    Skipping,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Its bytes, without the line break and without blanks at the end; never empty.
    Text(Bytes),
    /// It is longer than the limit, and its bytes are lost (STDIO-9). Said once per line, as soon as it is certain.
    TooLong,
}

impl Splitter {
    /// For lines of at most `limit` bytes, line break and byte order mark not counted.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { limit, state: State::Within(Vec::new()), at_start: true }
    }

    /// The next line, taken off the front of `chunk`. `None` once the chunk is used up; blank lines are skipped.
    pub fn next(&mut self, chunk: &mut &[u8]) -> Option<Line> {
        while let Some(newline) = memchr::memchr(b'\n', chunk) {
            let end = &chunk[..newline];
            *chunk = &chunk[newline + 1..];
            if let Some(line) = self.complete(end) {
                return Some(line);
            }
        }
        let rest = mem::take(chunk);
        let State::Within(held) = &mut self.state else { return None };
        if held.len() + rest.len() > self.limit.saturating_add(SLACK) {
            self.state = State::Skipping;
            return Some(Line::TooLong);
        }
        held.extend_from_slice(rest);
        None
    }

    /// The last line, where the stream ended without a line break. The splitter then is as good as new, except that a byte
    /// order mark is no longer expected.
    pub fn finish(&mut self) -> Option<Line> {
        self.complete(b"")
    }

    /// How many bytes of an unfinished line are held.
    #[must_use]
    pub const fn held(&self) -> usize {
        match &self.state {
            State::Within(held) => held.len(),
            State::Skipping => 0,
        }
    }

    /// Ends the line with its last piece.
    fn complete(&mut self, end: &[u8]) -> Option<Line> {
        let at_start = mem::replace(&mut self.at_start, false);
        let State::Within(held) = &mut self.state else {
            self.state = State::Within(Vec::new());
            return None;
        };
        if held.is_empty() {
            return match find(end, at_start, self.limit)? {
                Ok(text) => Some(Line::Text(Bytes::copy_from_slice(&end[text]))),
                Err(too_long) => Some(too_long),
            };
        }
        if held.len() + end.len() > self.limit.saturating_add(SLACK) {
            *held = Vec::new();
            return Some(Line::TooLong);
        }
        held.extend_from_slice(end);
        let found = match find(held, at_start, self.limit) {
            Some(Ok(text)) if held.len() > KEPT => {
                // Shrinking in place is cheaper than a second copy of megabytes.
                let mut whole = mem::take(held);
                whole.truncate(text.end);
                whole.drain(..text.start);
                return Some(Line::Text(whole.into_boxed_slice().into()));
            }
            Some(Ok(text)) => Some(Line::Text(Bytes::copy_from_slice(&held[text]))),
            Some(Err(too_long)) => Some(too_long),
            None => None,
        };
        held.clear();
        held.shrink_to(KEPT);
        found
    }
}

/// Appends a message and its line break. Line breaks within the message, which JSON has as white space only, become spaces.
pub fn write(out: &mut Vec<u8>, body: &[u8]) {
    write::raw(out, body);
    out.push(b'\n');
}

/// Where the text of a line lies in `bytes`; `None` if it is blank.
fn find(bytes: &[u8], at_start: bool, limit: usize) -> Option<Result<Range<usize>, Line>> {
    let start = if at_start && bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let text = &bytes[start..];
    if text.strip_suffix(b"\r").unwrap_or(text).len() > limit {
        return Some(Err(Line::TooLong));
    }
    let last = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))?;
    Some(Ok(start..start + last + 1))
}
