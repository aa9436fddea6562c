//! Time as a number that the driver hands over.
//!
//! The core has no clock. A driver anchors Unix time once and then advances it by a monotonic clock, so that a number
//! can be put into a snapshot, compared on another machine, and started from zero in a test.

use core::fmt;

/// A point in time: Unix milliseconds.
///
/// Arithmetic saturates; a machine clamps a time that runs back to the latest one that it has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The latest representable time: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// This time plus a span, saturating at [`Time::MAX`].
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// How long ago `earlier` was; zero if it lies in the future.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A span of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Span {
    /// `n` milliseconds.
    #[must_use]
    pub const fn millis(n: u64) -> Self {
        Self(n)
    }

    /// `n` seconds, saturating.
    #[must_use]
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1000))
    }

    /// Whole seconds, rounded up, one at least: what `Retry-After` says of it. Saturates.
    #[must_use]
    pub const fn retry_after(self) -> u32 {
        match self.0.div_ceil(1000) {
            0 => 1,
            secs if secs > u32::MAX as u64 => u32::MAX,
            secs => secs as u32,
        }
    }
}

impl From<Span> for core::time::Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(Time(5).after(Span::secs(1)), Time(1005));
        assert_eq!(Time::MAX.after(Span(1)), Time::MAX);
        assert_eq!(Time(3).since(Time(5)), Span(0));
        assert_eq!(Span::secs(u64::MAX), Span(u64::MAX));
    }

    #[test]
    fn who_is_to_wait_waits_for_whole_seconds_and_one_at_least_sec_2() {
        for (ms, secs) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (59_999, 60), (u64::MAX, u32::MAX)] {
            assert_eq!(Span(ms).retry_after(), secs, "{ms}");
        }
    }
}
