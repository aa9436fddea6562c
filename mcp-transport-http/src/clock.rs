//! Unix time, anchored once and then advanced by the runtime's monotonic clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_core::Time;

use crate::runtime::Runtime;

/// A wall clock that is ahead by this much means that the machine was suspended, or its clock was set: 2 s, more than
/// any slewing of a clock does between two looks at it.
const LEAP: u64 = 2_000;

/// The clock of one service.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Unix milliseconds at `start`; moved forward by [`Clock::re_anchor`], never back.
    anchor: AtomicU64,
}

impl Clock {
    pub(crate) fn new(runtime: &dyn Runtime) -> Self {
        Self { start: runtime.now(), anchor: AtomicU64::new(unix_millis()) }
    }

    pub(crate) fn now(&self, runtime: &dyn Runtime) -> Time {
        let elapsed = runtime.now().saturating_duration_since(self.start);
        Time(self.anchor.load(Ordering::Relaxed).saturating_add(millis(elapsed)))
    }

    /// Moves forward after a suspend, during which monotonic clocks may stand still.
    pub(crate) fn re_anchor(&self, runtime: &dyn Runtime) {
        self.re_anchor_to(unix_millis(), self.now(runtime));
    }

    fn re_anchor_to(&self, wall: u64, now: Time) {
        let ahead = wall.saturating_sub(now.0);
        if ahead > LEAP {
            self.anchor.fetch_add(ahead, Ordering::Relaxed);
        }
    }
}

fn unix_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Task;

    #[derive(Debug)]
    struct Still;

    impl Runtime for Still {
        fn spawn(&self, _: Task) {}
        fn sleep(&self, _: Duration) -> Task {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn the_clock_leaps_forward_after_a_suspend_and_never_back() {
        let clock = Clock::new(&Still);
        let before = clock.now(&Still);
        clock.re_anchor_to(before.0 + 1_000, before);
        assert!(clock.now(&Still).since(before).0 < 1_000, "slewing is not a suspend");
        clock.re_anchor_to(before.0 + 3_600_000, before);
        assert!(clock.now(&Still).since(before).0 >= 3_600_000);
        clock.re_anchor_to(0, clock.now(&Still));
        assert!(clock.now(&Still).since(before).0 >= 3_600_000);
    }
}
