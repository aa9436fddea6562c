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

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use hashbrown::HashMap;

use crate::machine::{EventId, StreamId};
use crate::policy::{Limits, Policy};
use crate::roster::{SessionId, id_hash};
use crate::time::{Span, Time};

/// What an event costs beside its own bytes: its entries here, and its allocation. It bounds the number of small events.
const OVERHEAD: usize = 128;

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
    sessions: HashMap<SessionId, Tracks, id_hash::State>,
    /// Every event, oldest first.
    order: BTreeMap<u64, (SessionId, StreamId)>,
    /// The streams that have ended, and when.
    ended: BTreeSet<(Time, SessionId, StreamId)>,
    /// The next place in the order.
    next: u64,
    bytes: usize,
    most: usize,
    most_per_session: usize,
    keep: Span,
}

/// The streams of one session.
#[derive(Debug, Default)]
struct Tracks {
    streams: BTreeMap<StreamId, Track>,
    bytes: usize,
}

/// One stream.
#[derive(Debug, Default)]
struct Track {
    /// Those that are still there: the last of the stream, without a gap.
    events: VecDeque<Logged>,
    /// The number of the last event that was appended.
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
            sessions: HashMap::with_hasher(id_hash::State),
            order: BTreeMap::new(),
            ended: BTreeSet::new(),
            next: 0,
            bytes: 0,
            most: log,
            most_per_session: log_of_session,
            keep: policy.timing.resume,
        }
    }

    /// Keeps a copy of one event, as it was pulled with a limit of 0. Returns its id; `None` if it has none and is not kept, as a
    /// comment.
    pub fn append(&mut self, session: SessionId, framed: &[u8]) -> Option<EventId> {
        let id = EventId::of_event(framed)?;
        let tracks = self.sessions.entry(session).or_default();
        let track = tracks.streams.entry(id.stream).or_default();
        if track.ended.is_some() || id.number <= track.last {
            // Not as a machine numbers its events: nothing that is there may come to mean something else.
            return Some(id);
        }
        if id.number != track.last + 1 {
            // Something was sent that is not here. What came before it cannot be resumed from.
            tracks.bytes -= forget_events(track, &mut self.order, &mut self.bytes);
        }
        let logged = Logged { place: self.next, framed: Bytes::copy_from_slice(framed) };
        self.next += 1;
        self.order.insert(logged.place, (session, id.stream));
        tracks.bytes += logged.cost();
        self.bytes += logged.cost();
        track.last = id.number;
        track.events.push_back(logged);
        self.make_room(session);
        Some(id)
    }

    /// The stream has ended: what it sent is kept for [`Timing::resume`](crate::policy::Timing::resume) more.
    pub fn end(&mut self, session: SessionId, stream: StreamId, now: Time) {
        let Some(tracks) = self.sessions.get_mut(&session) else { return };
        match tracks.streams.get_mut(&stream) {
            Some(track) if track.events.is_empty() => self.drop_stream(session, stream),
            Some(track) if track.ended.is_none() => {
                track.ended = Some(now);
                self.ended.insert((now, session, stream));
            }
            Some(_) | None => {}
        }
    }

    /// Whether everything that its stream sent after that event is here, or the stream goes on. False for an event that was
    /// never sent, whose successor is gone, or that its stream has ended with.
    #[must_use]
    pub fn can_resume(&self, session: SessionId, event: EventId) -> bool {
        let Some(track) = self.track(session, event.stream) else { return false };
        let last = if track.ended.is_some() { track.last.saturating_sub(1) } else { track.last };
        event.number > 0 && event.number >= track.before_first() && event.number <= last
    }

    /// The next event of the same stream, framed. `None` if that was the last so far, or what came after it is gone.
    #[must_use]
    pub fn after(&self, session: SessionId, event: EventId) -> Option<(EventId, Bytes)> {
        let track = self.track(session, event.stream)?;
        let index = event.number.checked_sub(track.before_first())?;
        let logged = track.events.get(usize::try_from(index).ok()?)?;
        Some((EventId { stream: event.stream, number: event.number + 1 }, logged.framed.clone()))
    }

    /// Forgets a session that has ended.
    pub fn forget(&mut self, session: SessionId) {
        let Some(tracks) = self.sessions.remove(&session) else { return };
        for (stream, mut track) in tracks.streams {
            forget_events(&mut track, &mut self.order, &mut self.bytes);
            if let Some(at) = track.ended {
                self.ended.remove(&(at, session, stream));
            }
        }
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

    /// Bytes that it holds, its own part included.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    fn track(&self, session: SessionId, stream: StreamId) -> Option<&Track> {
        self.sessions.get(&session)?.streams.get(&stream)
    }

    /// Drops the oldest events, first of the session that has just got one, then of all.
    fn make_room(&mut self, session: SessionId) {
        while self.sessions.get(&session).is_some_and(|tracks| tracks.bytes > self.most_per_session) {
            let Some(tracks) = self.sessions.get(&session) else { return };
            let fronts = tracks.streams.iter().filter_map(|(id, track)| Some((track.events.front()?.place, *id)));
            let Some((_, stream)) = fronts.min() else { return };
            self.drop_event(session, stream);
        }
        while self.bytes > self.most {
            let Some((_, (session, stream))) = self.order.first_key_value() else { return };
            self.drop_event(*session, *stream);
        }
    }

    /// Drops the oldest event of a stream, and with its last event a stream that has ended.
    fn drop_event(&mut self, session: SessionId, stream: StreamId) {
        let Some(tracks) = self.sessions.get_mut(&session) else { return };
        let Some(track) = tracks.streams.get_mut(&stream) else { return };
        let Some(event) = track.events.pop_front() else { return };
        self.order.remove(&event.place);
        tracks.bytes -= event.cost();
        self.bytes -= event.cost();
        if track.events.is_empty() && track.ended.is_some() {
            self.drop_stream(session, stream);
        }
    }

    fn drop_stream(&mut self, session: SessionId, stream: StreamId) {
        let Some(tracks) = self.sessions.get_mut(&session) else { return };
        let Some(mut track) = tracks.streams.remove(&stream) else { return };
        tracks.bytes -= forget_events(&mut track, &mut self.order, &mut self.bytes);
        if let Some(at) = track.ended {
            self.ended.remove(&(at, session, stream));
        }
        if tracks.streams.is_empty() {
            self.sessions.remove(&session);
        }
    }
}

impl Track {
    /// The number of the event before the first that is there: the earliest that can be resumed after.
    fn before_first(&self) -> u64 {
        self.last - self.events.len() as u64
    }
}

/// Takes the events of a stream out. Returns what they cost.
fn forget_events(track: &mut Track, order: &mut BTreeMap<u64, (SessionId, StreamId)>, bytes: &mut usize) -> usize {
    let mut cost = 0;
    for event in track.events.drain(..) {
        order.remove(&event.place);
        cost += event.cost();
    }
    *bytes -= cost;
    cost
}
