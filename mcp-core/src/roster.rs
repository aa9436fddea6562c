//! Many sessions: which live and which sleep, their caps and deadlines. The live machines themselves are kept by the adapter.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::fault::Fault;
use crate::keep_alives::KeepAlives;
use crate::listeners::full;
use crate::machine::StreamId;
use crate::peer::{Caller, Principal};
use crate::policy::{Limits, Policy};
use crate::snapshot::{self, Asleep, Snapshot};
use crate::time::Time;
use crate::timers::Timer;

mod followers;
mod id;
mod pace;
mod pool;
mod rows;
mod shares;
mod sleepers;
mod wheel;

pub use id::SessionId;
pub(crate) use id::id_hash;

use followers::{Followed, Followers};
use pace::Pace;
use shares::{Shares, Who};
use sleepers::{ASIDE, EXPIRES, LONGEST, OPENING, Record, Sleepers};

/// Which sessions live and which sleep, and when each must be looked at again.
///
/// A session that is busy costs nothing here: its entry is only moved to an earlier time, never to a later one. When an
/// entry falls due, the driver asks the session for its true deadline and [arms](Roster::arm) it anew.
///
/// Sleepers are kept here, a million of them in 256 bytes each. Whatever happens to one takes the same time however many sleep
/// beside it. They wake when their client [comes back](Roster::contact), when something of theirs [falls due](Due::Wake), and
/// when there is news that an open stream of theirs should carry.
///
/// There are at most [`Limits::sessions`] live and [`Limits::sessions_asleep`] sleeping ones. Nobody is ever evicted for
/// another: it is the new that are refused, and before the last tenth of the seats is taken, which is for those who wake.
#[derive(Debug)]
pub struct Roster {
    caps: Caps,
    shares: Shares,
    live: HashMap<SessionId, Live, id_hash::State>,
    due: BTreeSet<(Time, SessionId)>,
    /// How many have sent nothing after their handshake, the sleeping among them.
    opening: usize,
    sleepers: Sleepers,
    /// What those sleepers have beside their snapshot that have anything.
    asides: BTreeMap<SessionId, Aside>,
    followers: Followers,
    pace: Pace,
    /// What all sleepers take, as [`Limits::sessions_asleep_bytes`] counts it.
    bytes: usize,
}

#[derive(Debug)]
struct Caps {
    live: usize,
    /// The live seats that those may take who are not waited for.
    unasked: usize,
    opening: usize,
    asleep: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Live {
    armed: Time,
    who: Option<Who>,
    opening: bool,
}

/// What a sleeper has that most have not.
#[derive(Debug)]
struct Aside {
    keep_alives: KeepAlives,
    /// When it wakes or ends, keep-alives aside.
    at: Time,
    followed: Followed,
    /// Streams whose readers have gone.
    detached: Vec<StreamId>,
    /// Its place among those who wait to be woken.
    queued: Option<u64>,
    cost: usize,
}

/// What has become of a session that the driver has not before it.
#[derive(Debug)]
pub enum Contact {
    /// It lives: somebody else is waking it at this moment, or has just done so.
    Live,
    /// It slept, and is to be [woken](crate::Session::wake). It counts as live from now on; if it does not wake,
    /// [remove](Roster::remove) it.
    Wake(Sleeper),
    /// It sleeps on, as there is no seat: a fault with status 503. The [quietest](Roster::quietest) might give one up.
    Full(Fault),
    /// There is none, or none of this caller's, which is the same to it (HTTP-21).
    Unknown,
}

/// A session that is to be woken.
#[derive(Debug)]
pub struct Sleeper {
    /// The session.
    pub snapshot: Snapshot,
    /// Its open streams.
    pub keep_alives: KeepAlives,
    /// Resources that it follows and that changed meanwhile: hand in [`Input::Updated`](crate::Input::Updated) for each.
    pub updated: Vec<Box<str>>,
    /// Streams whose readers have gone meanwhile: hand in [`Input::Detach`](crate::Input::Detach) for each, first of all.
    pub detached: Vec<StreamId>,
}

/// A session whose time has come.
#[derive(Debug)]
pub enum Due {
    /// A live one: tick it, then [arm](Roster::arm) it anew or [remove](Roster::remove) it.
    Tick(SessionId),
    /// A sleeper: wake it and tick it. It counts as live from now on.
    Wake(SessionId, Sleeper),
    /// A sleeper was idle for too long. It is gone: end its readers, and forget what was logged of it.
    Expired(SessionId),
    /// An open stream of a sleeper needs a comment (HTTP-45). It sleeps on.
    KeepAlive(SessionId, StreamId),
}

/// Live sessions that there is always room for: 1,000, so that fewer come and go without a word to the allocator.
const ROOM: usize = 1000;
/// What a place in the tables costs, in round numbers: a record of 48 bytes, and its shares of three tables.
const PLACE: usize = 96;
/// What one costs that has open streams.
const STREAMS: usize = 256;
/// What each resource that is followed costs beside its URI, which may be kept twice.
const FOLLOWED: usize = 64;

impl Roster {
    /// A roster within the [limits](Policy::limits) of a policy. What sleeps for longer than [`Timing::idle`] before it has to be
    /// looked at is looked at in between.
    ///
    /// [`Timing::idle`]: crate::policy::Timing::idle
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let Limits { sessions, sessions_opening, sessions_asleep, sessions_asleep_bytes, sessions_each, .. } =
            policy.limits;
        // Where nobody sleeps, nobody wakes.
        let sleeps = policy.timing.hibernate_after.is_some() && sessions_asleep > 0;
        let unasked = if sleeps { sessions - sessions / 10 } else { sessions };
        let caps = Caps {
            live: sessions,
            unasked,
            opening: sessions_opening,
            asleep: sessions_asleep,
            bytes: sessions_asleep_bytes,
        };
        Self {
            caps,
            shares: Shares::new(sessions_each),
            live: HashMap::with_hasher(id_hash::State),
            due: BTreeSet::new(),
            opening: 0,
            sleepers: Sleepers::new(policy.timing.idle),
            asides: BTreeMap::new(),
            followers: Followers::default(),
            pace: Pace::default(),
            bytes: 0,
        }
    }

    /// Takes a new session in, and who opens it. Those without a principal share what all have together. It is opening until it
    /// is [established](Roster::established).
    ///
    /// # Errors
    ///
    /// At a cap: a fault with status 503 that says which. Those that live or sleep are never evicted for it.
    pub fn admit(&mut self, session: SessionId, principal: Option<&Principal>) -> Result<(), Fault> {
        if self.live.len() >= self.caps.unasked {
            return Err(full("Too many sessions: end one with DELETE, or try again later"));
        }
        if self.opening >= self.caps.opening {
            return Err(full("Too many sessions are being opened: try again later"));
        }
        if self.asleep() > 0 && (self.asleep() >= self.caps.asleep || self.bytes >= self.caps.bytes) {
            return Err(full("Too many sessions are kept: end one with DELETE, or try again later"));
        }
        if self.contains(session) {
            return Err(full("No session can be opened now: try again"));
        }
        let who = principal.map(|principal| self.shares.who(principal, session));
        if who.is_some_and(|who| !self.shares.has_room(who)) {
            return Err(full("You have too many sessions: end one of them with DELETE"));
        }
        self.opening += 1;
        self.seat(session, who, true);
        Ok(())
    }

    /// Takes in a session that was opened elsewhere, and lives here from now on. It is not new to its client, so it may have any
    /// seat.
    ///
    /// # Errors
    ///
    /// If no seat is left: a fault with status 503.
    pub fn adopt(&mut self, session: SessionId, principal: Option<&Principal>) -> Result<(), Fault> {
        if self.contains(session) {
            return Ok(());
        }
        if self.live.len() >= self.caps.live {
            return Err(no_seat());
        }
        let who = principal.map(|principal| self.shares.who(principal, session));
        self.seat(session, who, false);
        Ok(())
    }

    fn seat(&mut self, session: SessionId, who: Option<Who>, opening: bool) {
        who.into_iter().for_each(|who| self.shares.add(who));
        self.live.insert(session, Live { armed: Time::MAX, who, opening });
    }

    /// Takes a live one out. The table of those who live is no larger than they need once most of them sleep.
    fn unseat(&mut self, session: SessionId) -> Option<Live> {
        let live = self.live.remove(&session);
        if self.live.capacity() > ROOM && self.live.len() * 8 < self.live.capacity() {
            self.live.shrink_to((self.live.len() * 2).max(ROOM));
        }
        live
    }

    /// Its client has sent something after the handshake: it is there, and has the id. Saying so again changes nothing.
    pub fn established(&mut self, session: SessionId) {
        if let Some(live) = self.live.get_mut(&session)
            && core::mem::take(&mut live.opening)
        {
            self.opening -= 1;
        }
    }

    /// The caller has sent something to a session that the driver has not before it.
    pub fn contact(&mut self, session: SessionId, caller: &Caller) -> Contact {
        let Some(row) = self.sleepers.find(session) else {
            return if self.live.contains_key(&session) { Contact::Live } else { Contact::Unknown };
        };
        if !snapshot::belongs_to(self.sleepers.snapshot(row), caller) {
            return Contact::Unknown;
        }
        if self.live.len() >= self.caps.live {
            return Contact::Full(no_seat());
        }
        let sleeper = self.wake(row);
        self.established(session);
        Contact::Wake(sleeper)
    }

    /// Whether there is room for another sleeper, of a usual size at least. Cheaper than to try.
    #[must_use]
    pub fn has_room_to_sleep(&self) -> bool {
        self.takes(PLACE)
    }

    fn takes(&self, cost: usize) -> bool {
        self.asleep() < self.caps.asleep && self.bytes.saturating_add(cost) <= self.caps.bytes
    }

    /// A live session has gone to sleep, and its seat is free.
    ///
    /// What it was told of before it went to sleep, it must have been told of here too: if the catalogue has been swapped in
    /// between, [rouse](Roster::rouse) it.
    ///
    /// # Errors
    ///
    /// What was handed in, if there is no room for it or the session is none that lives here: wake it again.
    pub fn sleep(&mut self, session: SessionId, asleep: Asleep, now: Time) -> Result<(), Box<Asleep>> {
        let followed: usize = asleep.follows.iter().map(|uri| 2 * uri.len() + FOLLOWED).sum();
        let listens = !asleep.keep_alives.is_empty();
        let aside = followed + if listens { STREAMS } else { 0 };
        let length = asleep.snapshot.as_bytes().len();
        if length > LONGEST || !self.takes(PLACE + length + aside) || !self.live.contains_key(&session) {
            return Err(Box::new(asleep));
        }
        let Some(Live { armed, who, opening }) = self.unseat(session) else { return Ok(()) };
        self.due.remove(&(armed, session));
        let Asleep { snapshot, wake_at, keep_alives, follows } = asleep;
        let ends = matches!(wake_at, Some((_, Timer::Idle | Timer::Opening)));
        let at = wake_at.map_or(Time::MAX, |(at, _)| at);
        let mark = |is: bool, mark| if is { mark } else { 0 };
        let marks = mark(ends, EXPIRES) | mark(opening, OPENING) | mark(aside > 0, ASIDE);
        let look = keep_alives.deadline().map_or(at, |due| due.min(at));
        if aside > 0 {
            let followed = self.followers.follow(session, listens, &follows);
            let aside = Aside { keep_alives, at, followed, detached: Vec::new(), queued: None, cost: aside };
            self.asides.insert(session, aside);
        }
        self.bytes += PLACE + length + aside;
        self.sleepers.advance(now);
        self.sleepers.insert(session, who, look, marks, snapshot.as_bytes());
        Ok(())
    }

    /// Has the session looked at no later than `at`, if it lives. Unknown sessions and later times change nothing.
    ///
    /// Returns whether this is now the earliest of all, so that a sleeping driver should wake.
    pub fn arm(&mut self, session: SessionId, at: Time) -> bool {
        let Some(Live { armed, .. }) = self.live.get_mut(&session) else { return false };
        if at >= *armed {
            return false;
        }
        self.due.remove(&(*armed, session));
        *armed = at;
        self.due.insert((at, session));
        self.deadline() == Some(at)
    }

    /// A session whose time has come. Ask until there is none.
    pub fn poll_due(&mut self, now: Time) -> Option<Due> {
        self.live_due(now).or_else(|| self.sleeper_due(now)).or_else(|| self.next_roused(now))
    }

    fn live_due(&mut self, now: Time) -> Option<Due> {
        let (_, session) = *self.due.first().filter(|(at, _)| *at <= now)?;
        self.due.pop_first();
        if let Some(live) = self.live.get_mut(&session) {
            live.armed = Time::MAX;
        }
        Some(Due::Tick(session))
    }

    fn sleeper_due(&mut self, now: Time) -> Option<Due> {
        while let Some(row) = self.sleepers.due(now) {
            let record = *self.sleepers.get(row);
            let session = record.id;
            let comment = self.asides.get(&session).and_then(|aside| aside.keep_alives.deadline());
            let at = self.asides.get(&session).map_or(record.at, |aside| aside.at);
            if comment.is_some_and(|comment| comment <= at) {
                if let Some(stream) = self.comment(session, row, now) {
                    return Some(Due::KeepAlive(session, stream));
                }
            } else if record.is(EXPIRES) {
                self.take(row);
                return Some(Due::Expired(session));
            } else if self.live.len() < self.caps.live {
                return Some(Due::Wake(session, self.wake(row)));
            } else {
                // Its turn comes as soon as there is a seat.
                self.queue(row).at = Time::MAX;
                self.sleepers.rearm(row, comment.unwrap_or(Time::MAX));
            }
        }
        None
    }

    /// A stream of the sleeper that needs a comment now. Its next deadline is set.
    fn comment(&mut self, session: SessionId, row: u32, now: Time) -> Option<StreamId> {
        let aside = self.asides.get_mut(&session)?;
        let stream = aside.keep_alives.due(now);
        let next = aside.keep_alives.deadline().map_or(aside.at, |comment| comment.min(aside.at));
        let is_read = stream.filter(|stream| !aside.detached.contains(stream));
        self.sleepers.rearm(row, next);
        is_read
    }

    /// The next of those who should know something, if its batch has come and there is a seat for it.
    fn next_roused(&mut self, now: Time) -> Option<Due> {
        if !self.has_roused() {
            return None;
        }
        self.pace.advance(now);
        while self.live.len() < self.caps.unasked && self.has_roused() && self.pace.take() {
            let queued = self.pace.pop();
            let Some(session) = queued.or_else(|| self.followers.visit()) else { continue };
            let Some(aside) = self.asides.get(&session) else { continue };
            if (queued.is_some() || self.followers.has_news(&aside.followed))
                && let Some(row) = self.sleepers.find(session)
            {
                return Some(Due::Wake(session, self.wake(row)));
            }
        }
        None
    }

    fn has_roused(&self) -> bool {
        self.pace.is_waited_for() || self.followers.is_sweeping()
    }

    /// When to ask what is due; early is no harm. Look again after whatever was handed in.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let live = self.due.first().map(|(at, _)| *at);
        let roused = self.has_roused().then(|| self.pace.deadline(self.live.len() < self.caps.unasked));
        live.into_iter().chain(self.sleepers.deadline()).chain(roused).min()
    }

    /// The catalogue has changed. Sleepers with an open stream are [woken](Due::Wake) bit by bit, so that they can tell; the
    /// others find out when they wake. The live ones are the driver's to tell.
    pub fn changed(&mut self) {
        self.followers.changed();
    }

    /// What a resource holds has changed. Sleepers that follow it are woken bit by bit if they have an open stream, and
    /// [told](Sleeper::updated) when they wake if not. The live ones are the driver's to tell.
    pub fn updated(&mut self, uri: &str) {
        self.followers.updated(uri);
    }

    /// The reader of a stream has gone. Says whether its session sleeps: then it needs no comments any more, and the session is
    /// [told](Sleeper::detached) when it wakes, which it does within some seconds. If not, hand it to the session itself.
    pub fn detach(&mut self, session: SessionId, stream: StreamId) -> bool {
        let Some(row) = self.sleepers.find(session) else { return false };
        if let Some(aside) = self.asides.get_mut(&session)
            && aside.keep_alives.contains(stream)
            && !aside.detached.contains(&stream)
        {
            aside.detached.push(stream);
            self.queue(row);
        }
        true
    }

    /// Has a sleeper [woken](Due::Wake) soon. Sessions that do not sleep are left alone.
    pub fn rouse(&mut self, session: SessionId) {
        if let Some(row) = self.sleepers.find(session) {
            self.queue(row);
        }
    }

    fn queue(&mut self, row: u32) -> &mut Aside {
        let Record { id, at, .. } = *self.sleepers.get(row);
        self.sleepers.mark(row, ASIDE);
        let followers = &mut self.followers;
        let aside = self.asides.entry(id).or_insert_with(|| Aside {
            keep_alives: KeepAlives::default(),
            at,
            followed: followers.follow(id, false, &[]),
            detached: Vec::new(),
            queued: None,
            cost: 0,
        });
        if aside.queued.is_none() {
            aside.queued = Some(self.pace.enqueue(id));
        }
        aside
    }

    /// Lets a session go, live or asleep.
    pub fn remove(&mut self, session: SessionId) {
        if let Some(row) = self.sleepers.find(session) {
            self.take(row);
        } else if let Some(Live { armed, who, opening }) = self.unseat(session) {
            self.due.remove(&(armed, session));
            self.opening -= usize::from(opening);
            who.into_iter().for_each(|who| self.shares.take_off(who));
        }
    }

    /// Lets some sleeper go, for a driver that takes all of them elsewhere before it stops.
    pub fn pop_sleeper(&mut self) -> Option<(SessionId, Sleeper)> {
        let row = u32::try_from(self.sleepers.len().checked_sub(1)?).ok()?;
        let session = self.sleepers.get(row).id;
        Some((session, self.take(row)))
    }

    /// Takes a sleeper out that lives on.
    fn wake(&mut self, row: u32) -> Sleeper {
        let (record, sleeper) = self.pick(row);
        self.live.insert(record.id, Live { armed: Time::MAX, who: record.who, opening: record.is(OPENING) });
        sleeper
    }

    /// Takes a sleeper out for good.
    fn take(&mut self, row: u32) -> Sleeper {
        let (record, sleeper) = self.pick(row);
        self.opening -= usize::from(record.is(OPENING));
        record.who.into_iter().for_each(|who| self.shares.take_off(who));
        sleeper
    }

    fn pick(&mut self, row: u32) -> (Record, Sleeper) {
        let (record, bytes) = self.sleepers.remove(row);
        self.bytes -= PLACE + bytes.len();
        let snapshot = Snapshot::from_bytes(bytes);
        let aside = if record.is(ASIDE) { self.asides.remove(&record.id) } else { None };
        let Some(Aside { keep_alives, followed, detached, queued, cost, at: _ }) = aside else {
            let keep_alives = KeepAlives::default();
            return (record, Sleeper { snapshot, keep_alives, updated: Vec::new(), detached: Vec::new() });
        };
        self.bytes -= cost;
        let updated = self.followers.unfollow(record.id, &followed).collect();
        queued.into_iter().for_each(|place| self.pace.leave(place, record.id));
        (record, Sleeper { snapshot, keep_alives, updated, detached })
    }

    /// Live sessions, in the order in which they should be put to sleep where there is no room: the one first that was left
    /// alone the longest. Those that are opening are not among them.
    pub fn quietest(&self) -> impl Iterator<Item = SessionId> {
        let established = |session: &SessionId| self.live.get(session).is_some_and(|live| !live.opening);
        self.due.iter().map(|(_, session)| *session).filter(established)
    }

    fn contains(&self, session: SessionId) -> bool {
        self.live.contains_key(&session) || self.sleepers.find(session).is_some()
    }

    /// How many sessions live.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// How many sleep.
    #[must_use]
    pub const fn asleep(&self) -> usize {
        self.sleepers.len()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live() + self.asleep()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the sleepers take, as [`Limits::sessions_asleep_bytes`] counts it.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

fn no_seat() -> Fault {
    full("Too many sessions are active: try again later, yours is kept")
}
