//! A connection that is closed so that the peer still gets its last answer.
//!
//! An upload that is too long is refused before it has come in whole, and its connection is closed, since nobody will
//! read the rest. But a system that closes a socket with unread bytes resets the connection, which takes the refusal
//! from the peer as well. So the writing side is closed first, and what still comes is thrown away for a moment (RFC
//! 9112 section 9.6).

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How long the peer may go on after its answer was sent: 2 s, in which it notices on any usable network.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes thrown away at a time: 8 KiB, which lie on the stack.
const WASTE: usize = 8 << 10;
/// How often, before other tasks get a turn: 32 times.
const TURNS: usize = 32;

/// A TCP connection that lingers.
#[derive(Debug)]
pub(crate) struct Lingering {
    io: TokioIo<TcpStream>,
    /// The server goes down: there is no time for it.
    closing: Arc<AtomicBool>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Open,
    /// The writing side is closed.
    HalfOpen(Pin<Box<Sleep>>),
    Closed,
}

impl Lingering {
    pub(crate) fn new(stream: TcpStream, closing: Arc<AtomicBool>) -> Self {
        Self { io: TokioIo::new(stream), closing, phase: Phase::Open }
    }

    /// Reads and forgets, until the peer has closed its side or the time is over.
    fn poll_waste(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Phase::HalfOpen(until) = &mut self.phase else { return Poll::Ready(()) };
        if until.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut waste = [0; WASTE];
        for _ in 0..TURNS {
            let mut buf = ReadBuf::new(&mut waste);
            let read = ready!(Pin::new(self.io.inner_mut()).poll_read(cx, &mut buf));
            if read.is_err() || buf.filled().is_empty() {
                return Poll::Ready(());
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Read for Lingering {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Lingering {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.phase, Phase::Open) {
            ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
            self.phase = Phase::HalfOpen(Box::pin(tokio::time::sleep(LINGER)));
        }
        if !self.closing.load(Ordering::SeqCst) {
            ready!(self.poll_waste(cx));
        }
        self.phase = Phase::Closed;
        Poll::Ready(Ok(()))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}
