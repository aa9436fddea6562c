//! The silences of a sleeping session's streams, broken without waking it.

use alloc::vec::Vec;

use crate::machine::StreamId;
use crate::policy::Clock;
use crate::time::{Span, Time};

/// The open event streams of a session that sleeps, and when each needs a comment (HTTP-45), to the millisecond as if it were
/// awake. Empty for most: such a session has no reader.
///
/// Where something else of the session falls due at an earlier time than a comment, that goes first: the session wakes, takes
/// these back, and sees to it. Of two at the same time the comment goes first.
#[derive(Clone, Debug, Default)]
pub struct KeepAlives {
    every: Span,
    clock: Clock,
    /// In the order of their ids. [`Time::MAX`] for one that wants no comments.
    streams: Vec<(Time, StreamId)>,
}

impl KeepAlives {
    pub(crate) fn new(every: Span, now: Time, streams: Vec<(Time, StreamId)>) -> Self {
        Self { every, clock: Clock::new(now), streams }
    }

    /// Whether nobody reads: what changes can wait until the session wakes by itself.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Whether somebody reads that stream.
    #[must_use]
    pub fn contains(&self, stream: StreamId) -> bool {
        self.streams.iter().any(|(_, id)| *id == stream)
    }

    /// The streams that somebody reads.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.streams.iter().map(|(_, id)| *id)
    }

    /// When the next comment is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.streams.iter().map(|(at, _)| *at).min().filter(|at| *at < Time::MAX)
    }

    /// A stream whose silence has lasted long enough: send it [`COMMENT`](Self::COMMENT). Its next one is due a whole
    /// [`Timing::keep_alive`](crate::policy::Timing::keep_alive) from now.
    pub fn due(&mut self, now: Time) -> Option<StreamId> {
        let now = self.clock.advance(now);
        let next = self.streams.iter_mut().min().filter(|(at, _)| *at <= now && *at < Time::MAX)?;
        next.0 = now.after(self.every);
        Some(next.1)
    }

    /// What breaks a silence, as bytes of an event stream.
    pub const COMMENT: &'static [u8] = b": \n\n";

    /// The latest time that it was told.
    pub(crate) const fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn into_streams(self) -> Vec<(Time, StreamId)> {
        self.streams
    }
}
