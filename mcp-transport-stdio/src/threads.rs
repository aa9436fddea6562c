//! Blocking streams as asynchronous ones, by a thread each: standard input and output where nothing better is known.
//!
//! The threads are detached: one that hangs in a read of a terminal does not hold up the end of the process, as a runtime's
//! blocking pool would.

use std::fmt;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use futures_io::{AsyncRead, AsyncWrite};

/// Bytes that travel at once.
const CHUNK: usize = 64 << 10;

/// Standard input, read by a thread of its own. It reads one chunk ahead.
///
/// # Errors
///
/// If the thread cannot be started.
pub fn stdin() -> io::Result<ThreadReader> {
    ThreadReader::new("mcp-stdin", io::stdin())
}

/// Standard output, written by a thread of its own.
///
/// # Errors
///
/// If the thread cannot be started.
pub fn stdout() -> io::Result<ThreadWriter> {
    ThreadWriter::new("mcp-stdout", io::stdout())
}

/// A blocking reader on a thread of its own. Dropping it stops the thread after the read that it is in.
pub struct ThreadReader(Arc<Slot>);

/// A blocking writer on a thread of its own. Dropping it stops the thread after the write that it is in, so flush it before.
pub struct ThreadWriter(Arc<Slot>);

impl ThreadReader {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn new(name: &str, reader: impl Read + Send + 'static) -> io::Result<Self> {
        let slot = Arc::new(Slot::default());
        let theirs = Arc::clone(&slot);
        thread::Builder::new().name(name.into()).spawn(move || theirs.fill(reader))?;
        Ok(Self(slot))
    }
}

impl ThreadWriter {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn new(name: &str, writer: impl Write + Send + 'static) -> io::Result<Self> {
        let slot = Arc::new(Slot::default());
        let theirs = Arc::clone(&slot);
        thread::Builder::new().name(name.into()).spawn(move || theirs.drain(writer))?;
        Ok(Self(slot))
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut room = self.0.lock();
        if room.is_empty() {
            return match &mut room.end {
                End::Not => room.wait(cx),
                End::Done => Poll::Ready(Ok(0)),
                End::Failed(error) => {
                    let error = error.take();
                    room.end = End::Done;
                    Poll::Ready(error.map_or(Ok(0), Err))
                }
            };
        }
        let n = buf.len().min(room.bytes.len() - room.start);
        buf[..n].copy_from_slice(&room.bytes[room.start..room.start + n]);
        room.start += n;
        if room.is_empty() {
            self.0.turn.notify_one();
        }
        Poll::Ready(Ok(n))
    }
}

impl AsyncWrite for ThreadWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut room = self.0.lock();
        if let Some(error) = room.failure() {
            return Poll::Ready(Err(error));
        }
        let n = buf.len().min(CHUNK.saturating_sub(room.bytes.len()));
        if n == 0 && !buf.is_empty() {
            return room.wait(cx);
        }
        room.bytes.extend_from_slice(&buf[..n]);
        self.0.turn.notify_one();
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut room = self.0.lock();
        if let Some(error) = room.failure() {
            return Poll::Ready(Err(error));
        }
        if room.is_empty() && !room.busy { Poll::Ready(Ok(())) } else { room.wait(cx) }
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl Drop for ThreadReader {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Drop for ThreadWriter {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// What a thread and its other half share. The bytes are swapped, never allocated anew.
#[derive(Debug, Default)]
struct Slot {
    room: Mutex<Room>,
    /// Wakes the thread.
    turn: Condvar,
}

#[derive(Debug, Default)]
struct Room {
    bytes: Vec<u8>,
    start: usize,
    /// The writing thread has taken bytes and not written them yet.
    busy: bool,
    end: End,
    /// The other half was dropped.
    left: bool,
    waker: Option<Waker>,
}

/// Whether the thread has come to an end.
#[derive(Debug, Default)]
enum End {
    #[default]
    Not,
    Done,
    /// The error is told once.
    Failed(Option<io::Error>),
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until `ready`, or `None` if the other half was dropped.
    fn wait_until(&self, ready: impl Fn(&Room) -> bool) -> Option<MutexGuard<'_, Room>> {
        let room = self.lock();
        let room = self.turn.wait_while(room, |room| !room.left && !ready(room));
        let room = room.unwrap_or_else(PoisonError::into_inner);
        (!room.left).then_some(room)
    }

    fn leave(&self) {
        self.lock().left = true;
        self.turn.notify_one();
    }

    fn change(&self, change: impl FnOnce(&mut Room)) {
        let mut room = self.lock();
        change(&mut room);
        let waker = room.waker.take();
        drop(room);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The reading thread.
    fn fill(&self, mut reader: impl Read) {
        let mut chunk = vec![0; CHUNK];
        loop {
            let end = match reader.read(&mut chunk) {
                Ok(0) => End::Done,
                Ok(n) => {
                    // The bytes read while the last ones waited are handed over once those are gone.
                    let Some(room) = self.wait_until(Room::is_empty) else { return };
                    drop(room);
                    self.change(|room| {
                        room.start = 0;
                        room.bytes.clear();
                        room.bytes.extend_from_slice(&chunk[..n]);
                    });
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => End::Failed(Some(error)),
            };
            return self.change(|room| room.end = end);
        }
    }

    /// The writing thread.
    fn drain(&self, mut writer: impl Write) {
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            let Some(mut room) = self.wait_until(|room| !room.is_empty()) else { return };
            std::mem::swap(&mut chunk, &mut room.bytes);
            room.busy = true;
            drop(room);
            let written = writer.write_all(&chunk).and_then(|()| writer.flush());
            let failed = written.is_err();
            self.change(|room| {
                room.busy = false;
                if let Err(error) = written {
                    room.end = End::Failed(Some(error));
                }
            });
            if failed {
                return;
            }
        }
    }
}

impl Room {
    fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    fn wait<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn failure(&mut self) -> Option<io::Error> {
        match &mut self.end {
            End::Failed(error) => Some(error.take().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())),
            End::Not | End::Done => None,
        }
    }
}

impl fmt::Debug for ThreadReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadReader").finish_non_exhaustive()
    }
}

impl fmt::Debug for ThreadWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadWriter").finish_non_exhaustive()
    }
}
