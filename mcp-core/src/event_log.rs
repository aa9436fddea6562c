//! What was sent on the streams of legacy sessions, so that a client that lost its connection can go on after any event (HTTP-29).
//!
//! The log lives beside the machines, not in them: a session that sleeps stays small, whatever it has said. Its driver
//! [appends](EventLog::append) what it pulls before it sends it, so that nothing is lost between the two. On
//! [`Output::Resume`](crate::Output::Resume) it sends what [comes after](EventLog::after) that event, and then what it pulls.
//!
//! ```text
//!   Session::pull ──► append ──► the reader, if there is one        3-1  3-2  3-3  3-4
//!                        │                                                ▲    └────┴── after(3-2)
//!                        └── kept until its stream has ended              last that the reader got
//!                            and Timing::resume has passed
//! ```
//!
//! It is bounded in bytes for each session and in all; the oldest events go first. Then no event before the one that is gone
//! can be resumed after: there is never a gap. A finished stream is dropped after a while, all of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Bound;

use bytes::Bytes;
use hashbrown::HashMap;

use crate::machine::{EventId, StreamId};
use crate::policy::{Limits, Policy};
use crate::roster::{SessionId, id_hash};
use crate::time::{Span, Time};

/// What an event costs beside its own bytes: its entries here, and its allocation. It bounds the number of small events.
const OVERHEAD: usize = 256;

/// The events of many sessions, in memory.
///
/// ```
/// use mcp_core::policy::Policy;
/// use mcp_core::{EventId, EventLog, SessionId, StreamId, Time};
///
/// let (session, stream) = (SessionId::new([7; 16]), StreamId(3));
/// let mut log = EventLog::new(&Policy::default());
/// for event in ["id: 3-1\ndata: {}\n\n", "id: 3-2\ndata: {}\n\n"] {
///     log.append(session, event.as_bytes());
/// }
/// log.end(session, stream, Time(1_000));
/// let first = EventId { stream, number: 1 };
/// assert!(log.can_resume(session, first));
/// let (second, framed) = log.after(session, first).unwrap();
/// assert_eq!((second.number, &framed[..8]), (2, &b"id: 3-2\n"[..]));
/// // The stream has ended with it, so nothing can come after it.
/// assert!(!log.can_resume(session, second));
/// ```
#[derive(Debug)]
pub struct EventLog {
    /// Flat tables: most sessions have one stream with nothing to replay, which must cost little.
    streams: BTreeMap<(SessionId, StreamId), Track>,
    events: BTreeMap<(SessionId, EventId), Logged>,
    /// Every event, oldest first.
    order: BTreeMap<u64, (SessionId, EventId)>,
    /// Every event of each session, oldest first.
    order_of_session: BTreeMap<(SessionId, u64), EventId>,
    /// The streams that have ended, and when.
    ended: BTreeSet<(Time, SessionId, StreamId)>,
    /// The bytes of each session that has events.
    sessions: HashMap<SessionId, usize, id_hash::State>,
    /// The next place in the order.
    next: u64,
    bytes: usize,
    most: usize,
    most_of_session: usize,
    keep: Span,
}

/// What is known of one stream. Its events after `before` and up to `last` are here.
#[derive(Clone, Copy, Debug, Default)]
struct Track {
    before: u64,
    last: u64,
    ended: Option<Time>,
}

#[derive(Debug)]
struct Logged {
    place: u64,
    framed: Bytes,
}

impl Logged {
    fn cost(&self) -> usize {
        self.framed.len() + OVERHEAD
    }
}

impl EventLog {
    /// An empty log with the bounds [`Limits::log`], [`Limits::log_of_session`] and
    /// [`Timing::resume`](crate::policy::Timing::resume).
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let Limits { log, log_of_session, .. } = policy.limits;
        Self {
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            order: BTreeMap::new(),
            order_of_session: BTreeMap::new(),
            ended: BTreeSet::new(),
            sessions: HashMap::with_hasher(id_hash::State),
            next: 0,
            bytes: 0,
            most: log,
            most_of_session: log_of_session,
            keep: policy.timing.resume,
        }
    }

    /// Keeps a copy of one event, as it was pulled with a limit of 0. Returns its id; `None` if it has none and is not kept, as a
    /// comment. Of the first event of a stream only the number is kept, since nobody can come back after an earlier one.
    pub fn append(&mut self, session: SessionId, framed: &[u8]) -> Option<EventId> {
        let id = EventId::of_event(framed)?;
        let track = self.streams.entry((session, id.stream)).or_default();
        if track.ended.is_some() || id.number <= track.last {
            // Not as a machine numbers its events: nothing that is there may come to mean something else.
            return Some(id);
        }
        let follows = id.number == track.last + 1;
        track.last = id.number;
        if id.number == 1 {
            track.before = 1;
            return Some(id);
        }
        if !follows {
            // Something was sent that is not here: nothing before it can be resumed after.
            track.before = id.number - 1;
            self.drop_events(session, id.stream);
        }
        let logged = Logged { place: self.next, framed: Bytes::copy_from_slice(framed) };
        self.next += 1;
        self.bytes += logged.cost();
        *self.sessions.entry(session).or_default() += logged.cost();
        self.order.insert(logged.place, (session, id));
        self.order_of_session.insert((session, logged.place), id);
        self.events.insert((session, id), logged);
        self.make_room(session);
        Some(id)
    }

    /// The stream has ended: what it sent is kept for [`Timing::resume`](crate::policy::Timing::resume) more.
    pub fn end(&mut self, session: SessionId, stream: StreamId, now: Time) {
        match self.streams.get_mut(&(session, stream)) {
            Some(track) if track.before == track.last => {
                self.streams.remove(&(session, stream));
            }
            Some(track) if track.ended.is_none() => {
                track.ended = Some(now);
                self.ended.insert((now, session, stream));
            }
            Some(_) | None => {}
        }
    }

    /// Whether everything that its stream sent after that event is here, and the stream goes on or has sent something after it.
    /// False for an event that was never sent, whose successor is gone, or that its stream has ended with.
    #[must_use]
    pub fn can_resume(&self, session: SessionId, event: EventId) -> bool {
        self.streams.get(&(session, event.stream)).is_some_and(|track| {
            let within = track.before..=track.last;
            event.number > 0 && within.contains(&event.number) && (track.ended.is_none() || event.number < track.last)
        })
    }

    /// The next event of the same stream, framed. `None` if that was the last so far, or what came after it is gone.
    #[must_use]
    pub fn after(&self, session: SessionId, event: EventId) -> Option<(EventId, Bytes)> {
        let next = EventId { stream: event.stream, number: event.number.checked_add(1)? };
        self.events.get(&(session, next)).map(|logged| (next, logged.framed.clone()))
    }

    /// Whether the stream has ended with that event, which it really has sent and which is not too long ago.
    #[must_use]
    pub fn ended_with(&self, session: SessionId, event: EventId) -> bool {
        let track = self.streams.get(&(session, event.stream));
        track.is_some_and(|track| track.ended.is_some() && track.last == event.number)
    }

    /// Makes the log agree with a session that another driver goes on with, from a state that may be older than the log. `last`
    /// are its open streams, each with its last event (number 0 before the first): what is here after it was never sent and
    /// is dropped, and a stream that ended since has not. `next` is the stream that the session opens next: it and later ones
    /// are dropped. Other streams stay.
    pub fn truncate(&mut self, session: SessionId, last: &[EventId], next: StreamId) {
        self.drop_streams_from(session, next);
        last.iter().for_each(|last| self.go_on_after(session, *last));
    }

    /// Forgets a session that has ended.
    pub fn forget(&mut self, session: SessionId) {
        self.drop_streams_from(session, StreamId(0));
    }

    /// Drops the streams that ended too long ago.
    pub fn expire(&mut self, now: Time) {
        while let Some((at, session, stream)) = self.ended.first().copied()
            && at.after(self.keep) <= now
        {
            self.drop_stream(session, stream);
        }
    }

    /// When [`EventLog::expire`] will have something to do. Being late does no harm.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.ended.first().map(|(at, ..)| at.after(self.keep))
    }

    /// Bytes of the events that it holds, with what each of them costs beside.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Drops the oldest events, first of the session that has just got one, then of all.
    fn make_room(&mut self, session: SessionId) {
        while self.sessions.get(&session).is_some_and(|bytes| *bytes > self.most_of_session) {
            let oldest = self.order_of_session.range((session, 0)..=(session, u64::MAX)).next();
            let Some(id) = oldest.map(|(_, id)| *id) else { return };
            self.drop_oldest(session, id);
        }
        while self.bytes > self.most {
            let Some((session, id)) = self.order.first_key_value().map(|(_, event)| *event) else { return };
            self.drop_oldest(session, id);
        }
    }

    /// Drops the oldest event of its stream, and with its last event a stream that has ended.
    fn drop_oldest(&mut self, session: SessionId, id: EventId) {
        self.drop_event(session, id);
        let key = (session, id.stream);
        let Some(track) = self.streams.get_mut(&key) else { return };
        track.before = id.number;
        if let Some(at) = track.ended.filter(|_| track.before == track.last) {
            self.streams.remove(&key);
            self.ended.remove(&(at, session, id.stream));
        }
    }

    fn go_on_after(&mut self, session: SessionId, last: EventId) {
        if last.number == 0 {
            return self.drop_stream(session, last.stream);
        }
        let track = self.streams.entry((session, last.stream)).or_default();
        if let Some(at) = track.ended.take() {
            self.ended.remove(&(at, session, last.stream));
        }
        // Events that are missing were dropped, here or with all of their stream: nobody can resume before them.
        let missing = track.last < last.number;
        track.before = if missing { last.number } else { track.before.min(last.number) };
        track.last = last.number;
        let kept = if missing { 0 } else { last.number };
        self.drop_events_after(session, EventId { number: kept, ..last });
    }

    fn drop_streams_from(&mut self, session: SessionId, first: StreamId) {
        let all = (session, first)..=(session, StreamId(u64::MAX));
        let streams: Vec<StreamId> = self.streams.range(all).map(|((_, stream), _)| *stream).collect();
        streams.into_iter().for_each(|stream| self.drop_stream(session, stream));
    }

    fn drop_stream(&mut self, session: SessionId, stream: StreamId) {
        self.drop_events(session, stream);
        if let Some(at) = self.streams.remove(&(session, stream)).and_then(|track| track.ended) {
            self.ended.remove(&(at, session, stream));
        }
    }

    fn drop_events(&mut self, session: SessionId, stream: StreamId) {
        // An event has a number from 1.
        self.drop_events_after(session, EventId { stream, number: 0 });
    }

    fn drop_events_after(&mut self, session: SessionId, event: EventId) {
        let last = EventId { number: u64::MAX, ..event };
        let events = self.events.range((Bound::Excluded((session, event)), Bound::Included((session, last))));
        let events: Vec<EventId> = events.map(|((_, id), _)| *id).collect();
        events.into_iter().for_each(|id| self.drop_event(session, id));
    }

    fn drop_event(&mut self, session: SessionId, id: EventId) {
        let Some(event) = self.events.remove(&(session, id)) else { return };
        self.order.remove(&event.place);
        self.order_of_session.remove(&(session, event.place));
        self.bytes -= event.cost();
        if let Some(bytes) = self.sessions.get_mut(&session) {
            *bytes -= event.cost();
            if *bytes == 0 {
                self.sessions.remove(&session);
            }
        }
    }
}
