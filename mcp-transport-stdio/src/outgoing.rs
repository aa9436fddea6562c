//! The way out: pulls what is ready into one buffer, writes it in as few writes as the peer takes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_io::AsyncWrite;
use mcp_core::Pull;

/// A writer, and the bytes that it has not taken yet.
#[derive(Debug)]
pub(crate) struct Outgoing<W> {
    writer: W,
    buffer: Vec<u8>,
    sent: usize,
    chunk: usize,
    /// Bytes were written since the last flush.
    dirty: bool,
}

/// How far writing got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// All there was.
    All,
    /// One chunk, and there is more.
    Chunk,
    /// The peer takes no more for now. `moved`: it took some.
    Blocked { moved: bool },
    /// The peer takes nothing any more.
    Gone,
}

impl<W: AsyncWrite + Unpin> Outgoing<W> {
    pub(crate) const fn new(writer: W, chunk: usize) -> Self {
        Self { writer, buffer: Vec::new(), sent: 0, chunk, dirty: false }
    }

    /// Writes the next chunk that `pull` gives. It is pulled only once the last one was taken, so that a peer that does not read
    /// costs one chunk here, and the machine can still drop and merge what waits in it.
    pub(crate) fn poll_send(
        &mut self,
        pull: impl FnOnce(&mut Vec<u8>, usize) -> Pull,
        cx: &mut Context<'_>,
    ) -> io::Result<Sent> {
        let mut more = true;
        if self.buffer.is_empty() {
            more = pull(&mut self.buffer, self.chunk) == Pull::More;
        }
        let mut moved = false;
        while !self.buffer.is_empty() {
            match Pin::new(&mut self.writer).poll_write(cx, &self.buffer[self.sent..]) {
                Poll::Pending => return Ok(Sent::Blocked { moved }),
                Poll::Ready(Ok(0)) => return Ok(Sent::Gone),
                Poll::Ready(Ok(n)) => {
                    moved = true;
                    self.advance(n);
                }
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return gone(error).map(|()| Sent::Gone),
            }
        }
        if more { Ok(Sent::Chunk) } else { self.poll_flush(moved, cx) }
    }

    /// Whether the peer has all that was pulled.
    pub(crate) const fn is_idle(&self) -> bool {
        self.buffer.is_empty() && !self.dirty
    }

    /// Ends the way out, after all was sent. What the writer has to say of that is of no use to anybody.
    pub(crate) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.writer).poll_close(cx).map(drop)
    }

    fn poll_flush(&mut self, moved: bool, cx: &mut Context<'_>) -> io::Result<Sent> {
        if !self.dirty {
            return Ok(Sent::All);
        }
        match Pin::new(&mut self.writer).poll_flush(cx) {
            Poll::Pending => Ok(Sent::Blocked { moved }),
            Poll::Ready(Ok(())) => {
                self.dirty = false;
                Ok(Sent::All)
            }
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {
                cx.waker().wake_by_ref();
                Ok(Sent::Blocked { moved })
            }
            Poll::Ready(Err(error)) => gone(error).map(|()| Sent::Gone),
        }
    }

    fn advance(&mut self, n: usize) {
        self.dirty = true;
        self.sent += n;
        if self.sent < self.buffer.len() {
            return;
        }
        self.sent = 0;
        self.buffer.clear();
        // One large answer does not keep its room for ever.
        if self.buffer.capacity() > self.chunk * 2 {
            self.buffer = Vec::new();
        }
    }
}

/// Whether the error means that the peer has gone: an end, and no failure.
pub(crate) fn gone(error: io::Error) -> io::Result<()> {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof, WriteZero};
    match error.kind() {
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof | WriteZero => Ok(()),
        _ => Err(error),
    }
}
