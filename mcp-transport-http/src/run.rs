//! Running the server's own code.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_core::drive::{Handler, Link, Running};
use mcp_core::{Call, Fault, Outcome};

/// A call under way.
pub(crate) type Run = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What came of the beginning of a call.
pub(crate) enum Started {
    Done(Outcome),
    Pending(Run),
}

/// Begins a call, and polls it once where this task stands.
pub(crate) fn start(handler: &dyn Handler, call: Call, link: Link, cx: &mut Context<'_>) -> Started {
    let started = guarded(|| match handler.call(call, link) {
        Running::Done(outcome) => Started::Done(outcome),
        Running::Later(mut run) => match run.as_mut().poll(cx) {
            Poll::Ready(outcome) => Started::Done(outcome),
            Poll::Pending => Started::Pending(run),
        },
    });
    started.unwrap_or_else(Started::Done)
}

/// Goes on with a call.
pub(crate) fn poll(run: &mut Run, cx: &mut Context<'_>) -> Poll<Outcome> {
    guarded(|| run.as_mut().poll(cx)).unwrap_or_else(Poll::Ready)
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
