//! What keeps calls away from code that fails again and again.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{CallResult, Middleware, Next};
use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::{Needs, Wanted};

type Clock = dyn Fn() -> Duration + Send + Sync;

type Counts = dyn Fn(&CallError) -> bool + Send + Sync;

/// Refuses the calls of an entry that has failed too often in a row, so that what it stands on can recover. After a while one call is
/// let through: if that succeeds, all are.
///
/// ```
/// use std::time::Duration;
/// use mcp_server::Server;
/// use mcp_server::middleware::CircuitBreaker;
///
/// let server = Server::new("my-app", "1.0.0")
///     .wrap(CircuitBreaker::new().threshold(3).recovery(Duration::from_secs(60)));
/// ```
///
/// Each entry is counted by itself, also where one breaker is around a whole server; clones of a breaker count together, and each of
/// the methods below makes it one of its own.
///
/// A failure is one of the server's: an error that is hidden, a panic, a time limit, the error -32603
/// ([`CallError::is_failure`]). What a model is told and that something was not found are none, as somebody got an answer. A
/// [question](crate::ask) says nothing yet; nor do arguments that the schema refuses and callers whom an
/// [authorizer](crate::Server::authorize) denies, since the code was not entered; nor does a call that its client, or the server's
/// own [`Timing`](crate::Timing), has ended. Code that hangs needs a time limit within.
#[derive(Clone)]
pub struct CircuitBreaker {
    threshold: u32,
    recovery: Duration,
    counts: Option<Arc<Counts>>,
    clock: Arc<Clock>,
    /// Of those entries alone that have failed since they last succeeded.
    circuits: Arc<Mutex<HashMap<Key, Circuit>>>,
}

/// A kind, and a name, URI or template.
type Key = (&'static str, Box<str>);

/// How it stands with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circuit {
    /// It failed so often in a row.
    Closed { failures: u32 },
    /// No call is let through before that time.
    Open { until: Duration },
    /// One call was let through, and has not ended.
    Probed,
}

impl CircuitBreaker {
    /// One that opens after 5 failures in a row, for 30 s.
    #[must_use]
    pub fn new() -> Self {
        let start = Instant::now();
        Self {
            threshold: 5,
            recovery: Duration::from_secs(30),
            counts: None,
            clock: Arc::new(move || start.elapsed()),
            circuits: Arc::default(),
        }
    }

    /// After how many failures in a row calls are refused. None is a mistake that is told when the server is built.
    #[must_use]
    pub fn threshold(mut self, failures: u32) -> Self {
        self.threshold = failures;
        self.anew()
    }

    /// After how long one call is let through again.
    #[must_use]
    pub fn recovery(mut self, span: Duration) -> Self {
        self.recovery = span;
        self.anew()
    }

    /// Which errors are failures, in place of those for which [`CallError::is_failure`] is true. It is shown no questions.
    ///
    /// ```
    /// use mcp_server::CallError;
    /// use mcp_server::middleware::CircuitBreaker;
    ///
    /// // One that says by itself who is not to blame.
    /// let breaker = CircuitBreaker::new().counts(|error| error.is_failure() && !error.is::<std::num::ParseIntError>());
    /// ```
    #[must_use]
    pub fn counts(mut self, counts: impl Fn(&CallError) -> bool + Send + Sync + 'static) -> Self {
        self.counts = Some(Arc::new(counts));
        self.anew()
    }

    /// Another clock than the computer's monotonic one, for tests: the time since any moment that stays the same.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self.anew()
    }

    fn anew(mut self) -> Self {
        self.circuits = Arc::default();
        self
    }

    fn circuits(&self) -> MutexGuard<'_, HashMap<Key, Circuit>> {
        // Nothing in here panics between two writes.
        self.circuits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call is let through, and if so whether it is the one that is to find out.
    fn enter(&self, key: &Key) -> Option<bool> {
        let now = (self.clock)();
        let mut circuits = self.circuits();
        match circuits.get(key).copied() {
            None | Some(Circuit::Closed { .. }) => Some(false),
            Some(Circuit::Open { until }) if until <= now => {
                circuits.insert(key.clone(), Circuit::Probed);
                Some(true)
            }
            Some(Circuit::Open { .. } | Circuit::Probed) => None,
        }
    }

    /// What a call came to: whether it failed; `None` if that is not known.
    fn leave(&self, key: &Key, probe: bool, failed: Option<bool>) {
        let now = (self.clock)();
        let open = Circuit::Open { until: now.saturating_add(self.recovery) };
        let mut circuits = self.circuits();
        match (circuits.get(key).copied(), failed) {
            // A call that began before it opened says nothing about now.
            (Some(Circuit::Open { .. }), _) => {}
            (Some(Circuit::Probed), _) if !probe => {}
            // The next one is to find out.
            (Some(Circuit::Probed), None) => drop(circuits.insert(key.clone(), Circuit::Open { until: now })),
            (Some(Circuit::Probed), Some(true)) => drop(circuits.insert(key.clone(), open)),
            (_, Some(false)) => drop(circuits.remove(key)),
            (_, None) => {}
            (before, Some(true)) => {
                let failures = match before {
                    Some(Circuit::Closed { failures }) => failures.saturating_add(1),
                    _ => 1,
                };
                let circuit = if failures >= self.threshold { open } else { Circuit::Closed { failures } };
                circuits.insert(key.clone(), circuit);
                drop(circuits);
                if circuit == open {
                    tracing::warn!(entry = &*key.1, failures, "it failed too often, and is not called for a while");
                }
            }
        }
    }

    fn is_failure(&self, error: &CallError) -> bool {
        self.counts.as_ref().map_or_else(|| error.is_failure(), |counts| counts(error))
    }
}

impl Default for CircuitBreaker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("threshold", &self.threshold)
            .field("recovery", &self.recovery)
            .finish_non_exhaustive()
    }
}

/// A call that was let through. Dropped without an end, nothing is known of it: nobody is left waiting for what it would tell.
struct Entered<'a> {
    breaker: &'a CircuitBreaker,
    key: Key,
    probe: bool,
    failed: Option<bool>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.breaker.leave(&self.key, self.probe, self.failed);
    }
}

impl Middleware for CircuitBreaker {
    async fn call(&self, ctx: Ctx, next: Next) -> CallResult {
        let noun = ctx.noun();
        let key = (noun, Box::from(ctx.name()));
        let Some(probe) = self.enter(&key) else {
            return Err(CallError::new(format_args!(
                "{}{} temporarily unavailable (circuit open after repeated failures)",
                noun[..1].to_uppercase(),
                &noun[1..]
            )));
        };
        let mut entered = Entered { breaker: self, key, probe, failed: None };
        let result = next.run().await;
        let failed = match &result {
            Ok(_) => Some(false),
            Err(error) if error.is_question() => None,
            Err(error) => Some(self.is_failure(error)),
        };
        // What its code stands on was not tried.
        let untried = ctx.left().is_some_and(|left| left.is_unentered());
        entered.failed = failed.filter(|failed| *failed || !untried);
        result
    }

    fn needs(&self, needs: &mut Needs) {
        if self.threshold == 0 {
            needs.states.push(Wanted::Settings(
                "a breaker that opens before anything has failed lets nothing run: give it a threshold of one at least",
            ));
        }
    }
}
