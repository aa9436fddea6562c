//! What time it is, and how to wait: the two things that neither the core nor this crate can know by itself.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_core::{Span, Time};

/// A runtime's clock and its way to sleep.
///
/// [`SystemClock`] makes one of a runtime's sleep function; a test can write one that jumps.
pub trait Clock: Send + Sync + 'static {
    /// Ends when the time has come. Dropping it gives up waiting.
    type Sleep: Future<Output = ()> + Send;

    /// Unix milliseconds that never run back.
    fn now(&self) -> Time;

    /// Waits that long.
    fn sleep(&self, span: Span) -> Self::Sleep;
}

/// The system's clock: Unix time, read once, then advanced by the monotonic clock; sleeping is left to a runtime.
///
/// ```
/// # async fn sleep(_: std::time::Duration) {}
/// let clock = mcp_transport_stdio::SystemClock::new(sleep); // for instance `|span| async_io::Timer::after(span)`
/// ```
pub struct SystemClock<F> {
    start: Instant,
    /// Unix milliseconds at `start`.
    unix: AtomicU64,
    /// Milliseconds after `start` when the system's time was last looked at.
    checked: AtomicU64,
    sleep: F,
}

impl<F> SystemClock<F> {
    /// The clock of this moment, with a way to sleep.
    #[must_use]
    pub fn new(sleep: F) -> Self {
        Self { start: Instant::now(), unix: AtomicU64::new(unix_millis()), checked: AtomicU64::new(0), sleep }
    }

    /// A monotonic clock may stand still while the machine is suspended, and would leave deadlines hours late. So now and
    /// then the clock is set forward, and never back.
    fn reanchor(&self, elapsed: u64) -> u64 {
        self.checked.store(elapsed, Relaxed);
        let unix = self.unix.load(Relaxed);
        let wall = unix_millis().saturating_sub(elapsed);
        if wall <= unix.saturating_add(SLACK) {
            return unix;
        }
        self.unix.fetch_max(wall, Relaxed).max(wall)
    }
}

impl<F, S> Clock for SystemClock<F>
where
    F: Fn(Duration) -> S + Send + Sync + 'static,
    S: Future<Output = ()> + Send,
{
    type Sleep = S;

    fn now(&self) -> Time {
        let elapsed = millis(self.start.elapsed());
        let fresh = elapsed.saturating_sub(self.checked.load(Relaxed)) < CHECK_EVERY;
        let unix = if fresh { self.unix.load(Relaxed) } else { self.reanchor(elapsed) };
        Time(unix.saturating_add(elapsed))
    }

    fn sleep(&self, span: Span) -> S {
        (self.sleep)(span.into())
    }
}

impl<F> fmt::Debug for SystemClock<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemClock").field("start", &self.start).field("unix", &self.unix).finish_non_exhaustive()
    }
}

/// Milliseconds of running time between two looks at the system's time: often enough after a suspend, too seldom to cost.
const CHECK_EVERY: u64 = 1000;
/// Milliseconds by which the system's time may be ahead before it counts as a suspend and not as slewing.
const SLACK: u64 = 1000;

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_starts_at_unix_time_and_runs() {
        let clock = SystemClock::new(|_| std::future::ready(()));
        let first = clock.now();
        assert!(first.0.abs_diff(unix_millis()) < 1000);
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now() >= Time(first.0 + 5));
    }

    #[test]
    fn the_clock_is_set_forward_after_a_suspend_and_never_back() {
        let clock = SystemClock::new(|_| std::future::ready(()));
        let first = clock.now();
        clock.unix.fetch_sub(60_000, Relaxed);
        clock.reanchor(0);
        assert!(clock.now() >= first, "a minute was slept through");
        clock.unix.fetch_add(60_000, Relaxed);
        clock.reanchor(0);
        assert!(clock.now() >= Time(first.0 + 60_000), "the system's time was set back");
    }
}
