//! How often one may ask: decided by the host's own code.

use std::time::Duration;

use http::request::Parts;
use mcp_core::{Caller, Span};

/// Says whether a request may go on, once it is known who sends it: [`Builder::limit`](crate::Builder::limit).
///
/// It is asked for every request that was authenticated, whatever its method, before anything of its body is read. Closures are
/// limiters. One that panics is answered with 500.
///
/// Who asks is best told apart by the principal; anonymous ones by [`PeerAddr`](crate::PeerAddr). What fails to authenticate
/// does not come here: guessing tokens is for the [`Authenticator`](crate::Authenticator) to slow down.
pub trait Limiter: Send + Sync + 'static {
    /// Counts a request.
    ///
    /// # Errors
    ///
    /// How long to wait before the next one: the client is told so, with 429 and `Retry-After` (SEC-2).
    fn check(&self, head: &Parts, caller: &Caller) -> Result<(), Duration>;
}

impl<F> Limiter for F
where
    F: Fn(&Parts, &Caller) -> Result<(), Duration> + Send + Sync + 'static,
{
    fn check(&self, head: &Parts, caller: &Caller) -> Result<(), Duration> {
        self(head, caller)
    }
}

/// A time to wait in whole milliseconds, rounded up: nobody is told to come back too early.
pub(crate) fn wait(span: Duration) -> Span {
    Span::millis(u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}
