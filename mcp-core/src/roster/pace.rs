//! How fast sleepers are woken that have not asked for it.

use alloc::collections::BTreeSet;

use super::SessionId;
use crate::time::{Span, Time};

/// Sleepers that are woken in a row. 256: at 20 µs each, no longer than 5 ms.
const BATCH: usize = 256;
/// From one batch to the next. 100 ms: 2,560 a second, so that all of ten thousand listeners know within four seconds, and what
/// they ask for thereupon, a list each, is a fiftieth of what one core answers.
const PAUSE: Span = Span::millis(100);

/// Those who wait to be woken, first come, first served; and the room in the batch of the hour.
#[derive(Debug, Default)]
pub(super) struct Pace {
    begun: Time,
    left: usize,
    queue: BTreeSet<(u64, SessionId)>,
    next: u64,
}

impl Pace {
    /// Queues one, and says its place.
    pub(super) fn enqueue(&mut self, session: SessionId) -> u64 {
        let place = self.next;
        self.next += 1;
        self.queue.insert((place, session));
        place
    }

    pub(super) fn leave(&mut self, place: u64, session: SessionId) {
        self.queue.remove(&(place, session));
    }

    pub(super) fn pop(&mut self) -> Option<SessionId> {
        self.queue.pop_first().map(|(_, session)| session)
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Begins a new batch if it is time.
    pub(super) fn advance(&mut self, now: Time) {
        if now >= self.begun.after(PAUSE) || self.begun == Time(0) {
            (self.begun, self.left) = (now, BATCH);
        }
    }

    /// Takes a place in the batch.
    pub(super) fn take(&mut self) -> bool {
        let room = self.left > 0;
        self.left = self.left.saturating_sub(1);
        room
    }

    /// When somebody may be woken who waits.
    pub(super) fn deadline(&self, seats: bool) -> Time {
        if self.left > 0 && seats { self.begun } else { self.begun.after(PAUSE) }
    }
}
