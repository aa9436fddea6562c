//! Named deadlines: when a machine wants its next tick, and why.

use alloc::vec::Vec;

use crate::machine::{CallId, StreamId};
use crate::snapshot::{Reader, Writer};
use crate::time::Time;

/// Why a machine wants a tick. Said with the time by [`Machine::deadline`](crate::Machine::deadline), for logs and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Timer {
    /// A waiting answer or an open stream needs a comment (HTTP-45).
    KeepAlive(StreamId),
    /// A call has run for as long as it may.
    Call(CallId),
    /// A question to the client was not answered in time (BASE-25).
    Question(CallId),
    /// The calls of a stream go on without a reader, and have for as long as they may (HTTP-28).
    Orphan(StreamId),
    /// A new session sent nothing after its handshake.
    Opening,
    /// The session has been quiet: it may sleep.
    Hibernate,
    /// The session has been idle for too long.
    Idle,
    /// The client should be asked whether it is still there, or did not say so (LIFE-10).
    Ping,
}

/// The deadlines that are set, at most one per [`Timer`]. A scan over a handful of entries beats any heap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(Vec<(Time, Timer)>);

impl Timers {
    /// Sets or moves a deadline; `None` stops it.
    pub(crate) fn set(&mut self, timer: Timer, at: impl Into<Option<Time>>) {
        let known = self.0.iter().position(|(_, name)| *name == timer);
        match (known, at.into()) {
            (Some(index), Some(at)) => self.0[index].0 = at,
            (Some(index), None) => drop(self.0.swap_remove(index)),
            (None, Some(at)) => self.0.push((at, timer)),
            (None, None) => {}
        }
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.set(timer, None);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// When a deadline is, if it is set.
    pub(crate) fn at(&self, timer: Timer) -> Option<Time> {
        self.0.iter().find(|(_, name)| *name == timer).map(|(at, _)| *at)
    }

    /// The soonest deadline; of two at once the lesser [`Timer`], so that replay is exact.
    pub(crate) fn next(&self) -> Option<(Time, Timer)> {
        self.0.iter().copied().min()
    }

    /// Takes one deadline that has passed, soonest first.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<Timer> {
        let (at, timer) = self.next()?;
        if at > now {
            return None;
        }
        self.stop(timer);
        Some(timer)
    }

    /// Those that are wanted, in the order of their names, so that equal tables are written equally.
    pub(crate) fn save(&self, is_wanted: impl Fn(Timer) -> bool, out: &mut Writer) {
        let mut timers: Vec<_> = self.0.iter().copied().filter(|(_, timer)| is_wanted(*timer)).collect();
        timers.sort_unstable_by_key(|(_, timer)| *timer);
        out.length(timers.len());
        for (at, timer) in timers {
            timer.save(out);
            out.time(at);
        }
    }

    pub(crate) fn load(from: &mut Reader<'_>) -> Option<Self> {
        let timers = from.list(2, |from| {
            let timer = Timer::load(from)?;
            Some((from.time()?, timer))
        })?;
        let each_once = timers.windows(2).all(|pair| pair[0].1 < pair[1].1);
        each_once.then_some(Self(timers))
    }
}

impl Timer {
    fn save(self, out: &mut Writer) {
        let (tag, name) = match self {
            Self::KeepAlive(stream) => (0, Some(stream.0)),
            Self::Call(call) => (1, Some(call.0)),
            Self::Question(call) => (2, Some(call.0)),
            Self::Opening => (3, None),
            Self::Hibernate => (4, None),
            Self::Idle => (5, None),
            Self::Ping => (6, None),
            Self::Orphan(stream) => (7, Some(stream.0)),
        };
        out.byte(tag);
        if let Some(name) = name {
            out.number(name);
        }
    }

    fn load(from: &mut Reader<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::KeepAlive(StreamId(from.number()?)),
            1 => Self::Call(CallId(from.number()?)),
            2 => Self::Question(CallId(from.number()?)),
            3 => Self::Opening,
            4 => Self::Hibernate,
            5 => Self::Idle,
            6 => Self::Ping,
            7 => Self::Orphan(StreamId(from.number()?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fall_due_in_order_of_time_and_say_why() {
        let mut timers = Timers::default();
        timers.set(Timer::Idle, Time(30));
        timers.set(Timer::Hibernate, Time(20));
        timers.set(Timer::Call(CallId(1)), Time(20));
        timers.set(Timer::Idle, Time(10));
        assert_eq!(timers.next(), Some((Time(10), Timer::Idle)));
        timers.stop(Timer::Idle);
        assert_eq!(timers.pop_due(Time(19)), None);
        assert_eq!(timers.pop_due(Time(20)), Some(Timer::Call(CallId(1))));
        assert_eq!(timers.pop_due(Time(20)), Some(Timer::Hibernate));
        assert_eq!(timers.pop_due(Time(99)), None);
    }
}
