//! A connection that ends neither too early nor never.
//!
//! **When the peer has said its last.** One that has sent a whole request may close at once and not wait for the answer:
//! a client that exits says DELETE or `notifications/cancelled` like that. hyper reads to the end before it looks at
//! the request, and an end ends the connection, so that such a request would or would not be handled as its packets
//! come in. So the end of what is read is told one poll late: the request has been polled once by then, which hands it
//! to its machine, answers what is answered at once, and starts legacy calls as tasks (HTTP-28). A modern call that
//! still runs is dropped with the connection a moment later, as it must be (HTTP-46).
//!
//! **When the server has said its last.** An upload that is too long is refused before it has come in whole, and its
//! connection is closed, since nobody will read the rest. But a system that closes a socket with unread bytes resets
//! the connection, which takes the refusal from the peer as well. So the writing side is closed first, and what still
//! comes is thrown away for a moment (RFC 9112 section 9.6).
//!
//! **When the peer does not listen.** One that asks and never reads would have its answers kept for ever. So a write of
//! which the peer takes no byte for too long fails.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// How long the peer may go on after its answer was sent: 2 s, in which it notices on any usable network.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes thrown away at a time: 8 KiB, which lie on the stack.
const WASTE: usize = 8 << 10;
/// How often, before other tasks get a turn: 32 times.
const TURNS: usize = 32;

/// A TCP connection that lingers.
#[derive(Debug)]
pub(crate) struct Lingering {
    stream: TcpStream,
    /// The last read gave bytes, which nobody may have looked at yet.
    fresh: bool,
    /// How long a write may wait for the peer to take a byte.
    write_time: Duration,
    /// Runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
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
    pub(crate) const fn new(stream: TcpStream, write_time: Duration, closing: Arc<AtomicBool>) -> Self {
        Self { stream, fresh: false, write_time, stalled: None, closing, phase: Phase::Open }
    }

    /// Fails a write that waits for too long. The next byte that is taken starts the time anew.
    fn timed(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let write_time = self.write_time;
        let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(write_time)));
        ready!(timer.as_mut().poll(cx));
        tracing::debug!(?write_time, "a peer has not read its answer: its connection is cut");
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
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
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf));
            if read.is_err() || buf.filled().is_empty() {
                return Poll::Ready(());
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for Lingering {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let came = buf.filled().len() > before;
        let was_fresh = std::mem::replace(&mut self.fresh, came);
        if was_fresh && !came && read.is_ready() {
            // A reset is an end too, as of a client that exits with an answer unread. The socket says it but once, and
            // from then on that nothing more comes, which ends the connection as well.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        read
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.timed(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.phase, Phase::Open) {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.phase = Phase::HalfOpen(Box::pin(sleep(LINGER)));
        }
        if !self.closing.load(Ordering::SeqCst) {
            ready!(self.poll_waste(cx));
        }
        self.phase = Phase::Closed;
        Poll::Ready(Ok(()))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.timed(cx, written)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::{Instant, pause, resume, timeout};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    async fn pair() -> (Lingering, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Lingering::new(listener.accept().await.unwrap().0, LIMIT, Arc::default()), peer)
    }

    /// Writes on and on, for so long or until that fails. Counts what is taken, and notes when.
    async fn write(io: &mut Lingering, span: Duration, count: &mut usize, last: &mut Instant) -> Option<io::Error> {
        let writing = async {
            loop {
                match io.write(&[0; WASTE]).await {
                    Ok(taken) => *count += taken,
                    Err(error) => return error,
                }
                *last = Instant::now();
            }
        };
        timeout(span, writing).await.ok()
    }

    #[tokio::test]
    async fn each_byte_that_the_peer_takes_gives_it_the_whole_time_again() {
        let (mut io, mut peer) = pair().await;
        let (mut count, mut last) = (0, Instant::now());
        // Simulated time passes once both ends have nothing left to do, and never while the system carries bytes.
        pause();
        assert!(write(&mut io, LIMIT * 2 / 3, &mut count, &mut last).await.is_none());
        resume();
        peer.read_exact(&mut vec![0; count]).await.unwrap();
        io.write_all(&[0]).await.unwrap();
        pause();
        assert!(write(&mut io, LIMIT * 2 / 3, &mut count, &mut last).await.is_none());
        let error = write(&mut io, LIMIT, &mut count, &mut last).await.expect("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(last.elapsed().as_secs(), LIMIT.as_secs());
    }
}
