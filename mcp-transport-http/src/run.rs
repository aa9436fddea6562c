//! Running the server's own code.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::policy::Limits;
use mcp_core::{Call, Fault, Outcome};

/// A call under way, and its seat.
pub(crate) struct Run {
    call: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    _seat: Seat,
}

/// Room for the calls of all sessions and requests together ([`Limits::running`](mcp_core::policy::Limits)): what each
/// client may have is bounded by its machine, but clients are many.
///
/// And for their answers, as long as their readers have not taken them ([`Limits::unread`](mcp_core::policy::Limits)).
pub(crate) struct Seats {
    taken: AtomicUsize,
    most: usize,
    /// Bytes of large answers that are on their way.
    unread: AtomicUsize,
    most_unread: usize,
}

impl Seats {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        let (most, most_unread) = (limits.running, limits.unread);
        Arc::new(Self { taken: AtomicUsize::new(0), most, unread: AtomicUsize::new(0), most_unread })
    }

    fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most || self.unread.load(Ordering::Relaxed) >= self.most_unread
    }

    /// Hands bytes to a connection. Large ones are counted until it has written them, or has gone.
    pub(crate) fn hand_out(self: &Arc<Self>, bytes: Vec<u8>) -> Bytes {
        if bytes.len() < LARGE {
            return bytes.into();
        }
        self.unread.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Unread { bytes, seats: Arc::clone(self) })
    }

    fn take(self: &Arc<Self>) -> Seat {
        self.taken.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(self))
    }
}

/// Bytes from which an answer is counted. 64 KiB: smaller ones fit into the buffers of a connection, whose number is limited.
const LARGE: usize = 64 << 10;

struct Unread {
    bytes: Vec<u8>,
    seats: Arc<Seats>,
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.seats.unread.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// Bytes that wait within a machine for a reader, counted with those on their way.
#[cfg(feature = "sse")]
pub(crate) struct Waiting {
    bytes: usize,
    seats: Arc<Seats>,
}

#[cfg(feature = "sse")]
impl Waiting {
    pub(crate) fn new(seats: &Arc<Seats>) -> Self {
        Self { bytes: 0, seats: Arc::clone(seats) }
    }

    /// That many wait now.
    pub(crate) fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        if bytes >= before {
            self.seats.unread.fetch_add(bytes - before, Ordering::Relaxed);
        } else {
            self.seats.unread.fetch_sub(before - bytes, Ordering::Relaxed);
        }
    }

    /// Whether all readers together have left too much.
    pub(crate) fn is_congested(&self) -> bool {
        self.seats.unread.load(Ordering::Relaxed) >= self.seats.most_unread
    }
}

#[cfg(feature = "sse")]
impl Drop for Waiting {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// One call's room, given back when it is dropped.
struct Seat(Arc<Seats>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What came of the beginning of a call.
pub(crate) enum Started {
    Done(Outcome),
    Pending(Run),
}

/// Begins a call, and polls it once where this task stands. One that is done then takes no seat; where there is none, none
/// begins.
pub(crate) fn start(
    handler: &dyn Handler,
    seats: &Arc<Seats>,
    call: Call,
    link: Link,
    cx: &mut Context<'_>,
) -> Started {
    if seats.is_full() {
        return Started::Done(Outcome::Fail(Fault::busy()));
    }
    let started = guarded(|| match handler.call(call, link) {
        Running::Done(outcome) => Started::Done(outcome),
        Running::Later(mut run) => match run.as_mut().poll(cx) {
            Poll::Ready(outcome) => Started::Done(outcome),
            Poll::Pending => Started::Pending(Run { call: run, _seat: seats.take() }),
        },
    });
    started.unwrap_or_else(Started::Done)
}

/// Goes on with a call.
pub(crate) fn poll(run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    guarded(|| run.call.as_mut().poll(cx)).unwrap_or_else(Poll::Ready)
}

/// What a call ends with that ended by itself: its code panicked, or the runtime dropped its task.
pub(crate) fn lost() -> Outcome {
    Outcome::Fail(Fault::internal("The call was lost in the server"))
}

/// A handler should not panic, but if it does, the caller hears of it and nobody else does. Neither sees the panic's
/// text. What the code left behind is dropped unseen, so nothing broken is used again.
fn guarded<T>(code: impl FnOnce() -> T) -> Result<T, Outcome> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|_| {
        tracing::error!("the code of a call panicked");
        lost()
    })
}
