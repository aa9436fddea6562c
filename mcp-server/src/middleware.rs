//! What runs around calls: code that sees who asks, what was sent and what comes back, and may change all but the first.

mod circuit_breaker;
#[cfg(feature = "tokio")]
mod concurrency_limit;
mod erased;
mod form;
#[cfg(feature = "tokio")]
mod time_limit;

use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

pub use mcp_core::answer::Answer;

pub use self::circuit_breaker::CircuitBreaker;
#[cfg(feature = "tokio")]
pub use self::concurrency_limit::ConcurrencyLimit;
pub(crate) use self::erased::{Around, Left, Wraps};
pub use self::form::IntoMiddleware;
#[cfg(feature = "tokio")]
pub use self::time_limit::TimeLimit;
use crate::call_error::CallError;
use crate::code::contain;
use crate::ctx::Ctx;
use crate::extract::Needs;
pub use crate::rate_limit::{RateKeyInput, RateLimit};

/// What came of a call, before it is put into words: an answer, or why there is none.
///
/// A tool whose arguments its schema does not allow has answered, with [`is_error`](crate::ToolAnswer::is_error).
pub type CallResult = Result<Answer, CallError>;

/// Code that runs around calls, of a whole server ([`Server::wrap`](crate::Server::wrap)) or of one entry
/// ([`Tool::wrap`](crate::Tool::wrap)). Mostly a function will do: see [`IntoMiddleware`]. This is for what has settings, or state.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use mcp_server::middleware::{CallResult, Middleware, Next};
/// use mcp_server::{Ctx, Server};
///
/// #[derive(Default)]
/// struct Failures(AtomicU64);
///
/// impl Middleware for Failures {
///     async fn call(&self, _: Ctx, next: Next) -> CallResult {
///         let result = next.run().await;
///         if result.as_ref().is_err_and(|error| error.is_failure()) {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///         result
///     }
/// }
///
/// Server::new("my-app", "1.0.0").wrap(Failures::default()).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
pub trait Middleware: Send + Sync + 'static {
    /// Runs around one call: [`Next::run`] goes on with it, and is left out to answer in its place.
    ///
    /// Code that [asks](crate::ask) its client is run once more for each answer, and so is this. Its question comes as an error that
    /// [says so](CallError::is_question), which must be handed on as it is.
    fn call(&self, ctx: Ctx, next: Next) -> impl Future<Output = CallResult> + Send;

    /// Says what it cannot do without, as an [extractor](crate::Extract) does. Asked when the server is built.
    fn needs(&self, needs: &mut Needs) {
        let _ = needs;
    }
}

/// The rest of a call: what else runs around it, the check of its arguments, and its code.
#[must_use = "the call does not go on before `run`"]
pub struct Next(pub(crate) Around);

impl Next {
    /// Goes on, and gives what comes of it. A panic further in is an error here, as its caller would have it.
    ///
    /// The future runs all of the code that does not block, so that what holds while it is polled holds there: the task-locals of tokio,
    /// the spans of `tracing`. [Blocking](crate::Tool::run_blocking) code is on a thread of its own, and has neither.
    pub async fn run(self) -> CallResult {
        let entry = Arc::clone(&self.0.entry);
        let mut running = contain(|| self.0.run()).map_err(|panic| entry.broken(panic))?;
        let result = poll_fn(|cx| match contain(|| running.as_mut().poll(cx)) {
            Ok(polled) => polled,
            Err(panic) => Poll::Ready(Err(entry.broken(panic))),
        })
        .await;
        contain(|| drop(running)).map_err(|panic| entry.broken(panic))?;
        result
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Next").field(&self.0).finish()
    }
}

/// What [`map_errors`] makes.
#[derive(Clone, Copy, Debug)]
pub struct MapErrors<F>(F);

/// Makes other errors of those that calls end with, such as a text that a model may read of one that is hidden.
///
/// It is shown no questions, which are no errors yet.
///
/// ```
/// use mcp_server::middleware::map_errors;
/// use mcp_server::{CallError, Server};
///
/// let server = Server::new("my-app", "1.0.0").wrap(map_errors(|error| match error.downcast_ref::<std::io::Error>() {
///     Some(error) if error.kind() == std::io::ErrorKind::NotFound => CallError::new("There is no such file."),
///     _ => error,
/// }));
/// ```
pub const fn map_errors<F>(map: F) -> MapErrors<F>
where
    F: Fn(CallError) -> CallError + Send + Sync + 'static,
{
    MapErrors(map)
}

impl<F> Middleware for MapErrors<F>
where
    F: Fn(CallError) -> CallError + Send + Sync + 'static,
{
    async fn call(&self, _: Ctx, next: Next) -> CallResult {
        next.run().await.map_err(|error| if error.is_question() { error } else { (self.0)(error) })
    }
}
