//! The way in: reads large chunks and cuts them into lines.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::AsyncRead;
use mcp_core::wire::lines::{Line, Splitter};

use crate::outgoing::gone;

/// A reader, and the bytes of it that were not looked at yet.
pub(crate) struct Incoming<R> {
    reader: R,
    splitter: Splitter,
    /// One chunk, or two and a byte while it holds what was read [ahead](Incoming::poll_ahead).
    buffer: Vec<u8>,
    chunk: usize,
    /// Where in `buffer` the bytes that were not looked at are.
    start: usize,
    end: usize,
}

/// What reading brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Bytes.
    Some,
    /// The end: nothing will follow.
    End,
    /// The end, and the peer will not take anything either.
    Gone,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    pub(crate) fn new(reader: R, limit: usize, chunk: usize) -> Self {
        Self { reader, splitter: Splitter::new(limit), buffer: vec![0; chunk], chunk, start: 0, end: 0 }
    }

    /// The next whole line of what was read.
    pub(crate) fn next_line(&mut self) -> Option<Line> {
        let mut rest = &self.buffer[self.start..self.end];
        let line = self.splitter.next(&mut rest);
        self.start = self.end - rest.len();
        line
    }

    /// The last line, if its end is missing (STDIO-9).
    pub(crate) fn last_line(&mut self) -> Option<Line> {
        self.splitter.finish()
    }

    /// Whether all that was read was looked at.
    pub(crate) const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Reads on, over what was looked at. Only to be called when [empty](Incoming::is_empty).
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Read>> {
        if self.buffer.len() > self.chunk {
            self.buffer = vec![0; self.chunk];
        }
        (self.start, self.end) = (0, 0);
        self.poll_fill(cx)
    }

    /// Reads on behind what was not looked at, which is kept, to learn whether the input has ended. Pending for ever once two
    /// chunks and a byte are held: an end is seen that comes at most one chunk after what was read before.
    pub(crate) fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Read>> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        self.buffer.resize(self.chunk * 2 + 1, 0);
        if self.end == self.buffer.len() { Poll::Pending } else { self.poll_fill(cx) }
    }

    /// Reads into the room after `end`, of which there must be some: a read into none looks like the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Read>> {
        loop {
            let room = &mut self.buffer[self.end..];
            let Poll::Ready(read) = Pin::new(&mut self.reader).poll_read(cx, room) else { return Poll::Pending };
            return Poll::Ready(match read {
                Ok(0) => Ok(Read::End),
                Ok(n) => {
                    self.end += n.min(room.len());
                    Ok(Read::Some)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => gone(error).map(|()| Read::Gone),
            });
        }
    }
}

impl<R> fmt::Debug for Incoming<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("unread", &(self.end - self.start)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Reads one chunk of ten lines, then ahead until that brings nothing more. Returns what came last, and counts the lines.
    fn read_ahead(lines: usize) -> (Poll<Read>, usize) {
        let input = "1\n".repeat(lines);
        let mut incoming = Incoming::new(input.as_bytes(), 100, 20);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(incoming.poll_read(&mut cx), Poll::Ready(Ok(Read::Some))));
        let last = loop {
            let read = incoming.poll_ahead(&mut cx).map(Result::unwrap);
            if read != Poll::Ready(Read::Some) {
                break read;
            }
        };
        let mut seen = 0;
        loop {
            while incoming.next_line().is_some() {
                seen += 1;
            }
            assert!(incoming.is_empty());
            if !matches!(incoming.poll_read(&mut cx), Poll::Ready(Ok(Read::Some))) {
                assert_eq!(incoming.buffer.len(), 20, "what was read ahead keeps no room");
                return (last, seen);
            }
        }
    }

    #[test]
    fn an_end_a_whole_chunk_behind_a_whole_chunk_is_found_and_no_further_stdio_4() {
        assert_eq!(read_ahead(10), (Poll::Ready(Read::End), 10));
        assert_eq!(read_ahead(20), (Poll::Ready(Read::End), 20));
        assert_eq!(read_ahead(21), (Poll::Pending, 21));
        assert_eq!(read_ahead(100), (Poll::Pending, 100));
    }
}
