//! Running the server's own code.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_core::drive::{Handler, Link, Running};
use mcp_core::{Call, Fault, Outcome};

/// A call under way, and its seat.
pub(crate) struct Run {
    call: Pin<Box<dyn Future<Output = Outcome> + Send>>,
    _seat: Seat,
}

/// Room for the calls of all sessions and requests together ([`Limits::running`](mcp_core::policy::Limits)): what each
/// client may have is bounded by its machine, but clients are many.
pub(crate) struct Seats {
    taken: AtomicUsize,
    most: usize,
}

impl Seats {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most })
    }

    fn is_full(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most
    }

    fn take(self: &Arc<Self>) -> Seat {
        self.taken.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(self))
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
