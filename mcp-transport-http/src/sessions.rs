//! All sessions: the live found by id, the sleeping kept, all capped, and looked at when their deadlines come.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;
use std::time::Duration;

use mcp_core::policy::{Limits, Policy};
use mcp_core::{Caller, Fault, Generations, Session, SessionId, StreamId, Time};

use crate::bell::Bell;
use crate::session::{Absent, Cell, For, Hands, Woken};
use crate::shared::Shared;
use crate::sync::lock;

mod watch;

pub(crate) use watch::{Kept, News, Refusal};
use watch::{Look, Watch};

/// How many ways the table is split: 64, so that two requests seldom meet on a lock that they hold for nanoseconds.
const SHARDS: usize = 64;
/// The longest sleep of the watch: 60 s, so that it finds out about a suspended machine in good time.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);
/// Sessions that the watch looks at before other tasks get a turn: 128, a millisecond or two if all of them wake.
const TURN: usize = 128;
/// Sessions that are asked whether they can sleep where a seat is wanted: 16, as all of them may be busy.
const ASKED: usize = 16;
/// Cells that a shard keeps room for: 16, so that a thousand sessions come and go without a word to the allocator.
const ROOM: usize = 16;

/// The table of sessions. A session has a cell in it while it lives, and while anybody reads a stream of it.
#[derive(Debug)]
pub(crate) struct Sessions {
    shards: [Mutex<HashMap<SessionId, Arc<Cell>>>; SHARDS],
    watch: Mutex<Watch>,
    /// Rings when the watch should look at the roster again.
    alarm: Arc<Bell>,
    /// Live sessions from which on none is opened: below it, a refusal has other reasons.
    full: usize,
    /// Whether sessions sleep at all.
    sleeps: bool,
}

impl Sessions {
    pub(crate) fn new(policy: &Policy) -> Self {
        let Limits { sessions, .. } = policy.limits;
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            watch: Mutex::new(Watch::new(policy)),
            alarm: Arc::default(),
            full: sessions - sessions / 10,
            sleeps: policy.timing.hibernate_after.is_some(),
        }
    }

    /// A new session, if there is room for one more. It takes itself out again if its handshake is refused.
    ///
    /// # Errors
    ///
    /// At a cap.
    pub(crate) fn open(
        &self,
        shared: &Arc<Shared>,
        id: SessionId,
        from: &Caller,
        listed: Generations,
    ) -> Result<Arc<Cell>, Fault> {
        match self.try_open(shared, id, from, listed) {
            Err(_) if self.is_full() && self.make_room(shared) => self.try_open(shared, id, from, listed),
            opened => opened,
        }
    }

    fn try_open(
        &self,
        shared: &Arc<Shared>,
        id: SessionId,
        from: &Caller,
        listed: Generations,
    ) -> Result<Arc<Cell>, Fault> {
        let machine = Session::new(shared.machine_id(), Arc::clone(shared.endpoint()), id, shared.now());
        let machine = if shared.log.is_some() { machine.resumable() } else { machine };
        let cell = Cell::new(id, machine, shared);
        let starts = {
            // Whoever closes all cells after it has closed the watch finds this one.
            let mut cells = lock(self.shard(id));
            let starts = lock(&self.watch).admit(id, from, listed)?;
            cells.insert(id, Arc::clone(&cell));
            starts
        };
        if starts {
            shared.runtime.spawn(Box::pin(keep_watch(Arc::downgrade(shared), Arc::clone(&self.alarm))));
        }
        Ok(cell)
    }

    /// Does something with a session while it is awake, and then has it sleep if it may.
    ///
    /// # Errors
    ///
    /// If there is none, none of that caller's, or no seat to wake into.
    pub(crate) fn with<T>(
        &self,
        shared: &Arc<Shared>,
        id: SessionId,
        wanted: For<'_>,
        mut act: impl FnOnce(&mut Hands<'_>) -> T,
    ) -> Result<(Arc<Cell>, T), Refusal> {
        let mut made_room = false;
        loop {
            let refusal = match self.reach(shared, id, wanted) {
                Ok(cell) => match cell.visit(shared, wanted, act) {
                    Ok(done) => return Ok((cell, done)),
                    Err((absent, again)) => {
                        act = again;
                        match absent {
                            // It fell asleep, or ended, just now: the table knows.
                            Absent::Left => continue,
                            Absent::Refused(refusal) => refusal,
                        }
                    }
                },
                Err(refusal) => refusal,
            };
            if made_room || !matches!(refusal, Refusal::Full(_)) || !self.make_room(shared) {
                return Err(refusal);
            }
            made_room = true;
        }
    }

    /// The cell of a session. For one that sleeps and has none, one is made in which it wakes.
    fn reach(&self, shared: &Arc<Shared>, id: SessionId, wanted: For<'_>) -> Result<Arc<Cell>, Refusal> {
        let mut cells = lock(self.shard(id));
        if let Some(cell) = cells.get(&id) {
            return Ok(Arc::clone(cell));
        }
        let cell = Cell::waking(id, self.rouse(id, wanted)?, shared);
        cells.insert(id, Arc::clone(&cell));
        Ok(cell)
    }

    /// Takes a sleeper out of the roster.
    pub(crate) fn rouse(&self, id: SessionId, wanted: For<'_>) -> Result<Woken, Refusal> {
        match wanted {
            For::Caller(caller) => lock(&self.watch).rouse(id, Some(caller)),
            For::Deadline => lock(&self.watch).rouse(id, None),
            For::News => Err(Refusal::Unknown),
        }
    }

    pub(crate) fn put_to_sleep(&self, id: SessionId, machine: Session, now: Time) -> Result<(), Kept> {
        let sooner = lock(&self.watch).put_to_sleep(id, machine, now)?;
        self.ring_if(sooner);
        Ok(())
    }

    /// Whether new sessions are refused for want of seats.
    fn is_full(&self) -> bool {
        lock(&self.watch).roster.live() >= self.full
    }

    /// Has the session sleep that was quiet for the longest time, so that another can live.
    fn make_room(&self, shared: &Shared) -> bool {
        if !self.sleeps {
            return false;
        }
        let quietest: Vec<SessionId> = lock(&self.watch).roster.quietest().take(ASKED).collect();
        quietest.into_iter().filter_map(|id| self.find(id)).any(|cell| cell.sleep(shared))
    }

    fn find(&self, id: SessionId) -> Option<Arc<Cell>> {
        lock(self.shard(id)).get(&id).cloned()
    }

    /// The client of a session has come back after the handshake.
    pub(crate) fn established(&self, id: SessionId) {
        lock(&self.watch).roster.established(id);
    }

    /// The reader of a stream has gone whose session sleeps.
    pub(crate) fn detached(&self, id: SessionId, stream: StreamId) {
        let sooner = lock(&self.watch).detach(id, stream);
        self.ring_if(sooner);
    }

    /// A session has ended.
    pub(crate) fn remove(&self, id: SessionId) {
        self.leave(id);
        lock(&self.watch).roster.remove(id);
    }

    /// A session has no cell any more.
    pub(crate) fn leave(&self, id: SessionId) {
        let _dropped_without_the_lock = {
            let mut cells = lock(self.shard(id));
            let cell = cells.remove(&id);
            if cells.capacity() > ROOM && cells.len() * 4 < cells.capacity() {
                let room = ROOM.max(cells.len() * 2);
                cells.shrink_to(room);
            }
            cell
        };
    }

    /// Ends a session that sleeps, and its readers with it.
    pub(crate) fn end_asleep(&self, shared: &Shared, id: SessionId) {
        lock(&self.watch).roster.remove(id);
        self.ended_asleep(shared, id);
    }

    fn ended_asleep(&self, shared: &Shared, id: SessionId) {
        self.find(id).iter().for_each(|cell| cell.expire(shared));
        shared.log.iter().for_each(|log| log.forget(id));
    }

    /// How many sessions there are.
    pub(crate) fn len(&self) -> usize {
        lock(&self.watch).roster.len()
    }

    /// How many of them sleep.
    pub(crate) fn asleep(&self) -> usize {
        lock(&self.watch).roster.asleep()
    }

    /// Has the session looked at no later than `at`.
    pub(crate) fn arm(&self, id: SessionId, at: Time) {
        let sooner = lock(&self.watch).roster.arm(id, at);
        self.ring_if(sooner);
    }

    /// Tells every session something: those that sleep by the roster, and the others by `tell`.
    pub(crate) fn tell(&self, shared: &Shared, news: News<'_>, tell: impl FnMut(&Arc<Cell>)) {
        let sooner = lock(&self.watch).begin_telling(news);
        // Ends also if the handler panics as it is asked for a view.
        let telling = Telling { sessions: self, shared };
        self.ring_if(sooner);
        self.for_each(tell);
        drop(telling);
    }

    /// Ends every session. None is opened or woken from now on.
    pub(crate) fn close(&self, shared: &Shared, mut close: impl FnMut(&Arc<Cell>)) {
        lock(&self.watch).close();
        self.for_each(&mut close);
        loop {
            let Some((id, woken)) = lock(&self.watch).pop_sleeper() else { break };
            if let Some(cell) = self.find(id) {
                cell.close_asleep(shared, woken);
            }
        }
    }

    /// Does something with each session that has a cell.
    fn for_each(&self, mut act: impl FnMut(&Arc<Cell>)) {
        for shard in &self.shards {
            let cells: Vec<Arc<Cell>> = lock(shard).values().cloned().collect();
            cells.iter().for_each(&mut act);
        }
    }

    /// Ends the watch when the service goes.
    pub(crate) fn ring(&self) {
        self.alarm.ring();
    }

    fn ring_if(&self, sooner: bool) {
        if sooner {
            self.alarm.ring();
        }
    }

    /// Looks at the sessions whose time has come. Returns how long to sleep; `None` if no session is left, and the watch ends.
    fn look(&self, shared: &Arc<Shared>) -> Option<Duration> {
        shared.re_anchor();
        let now = shared.now();
        shared.log.iter().for_each(|log| log.expire(now));
        for _ in 0..TURN {
            let look = lock(&self.watch).poll_due(now);
            match look {
                Some(Look::Tick(id)) => Cell::tick(shared, id),
                Some(Look::KeepAlive(id, stream)) => self.find(id).iter().for_each(|cell| cell.comment(stream)),
                Some(Look::Expired(id)) => {
                    tracing::debug!(session = ?id, "a session was idle for too long and has ended");
                    self.ended_asleep(shared, id);
                }
                None => return self.next_look(shared.now()),
            }
        }
        Some(Duration::ZERO)
    }

    fn next_look(&self, now: Time) -> Option<Duration> {
        let mut watch = lock(&self.watch);
        if watch.roster.is_empty() {
            watch.running = false;
            return None;
        }
        let until = watch.roster.deadline().map_or(LONGEST_SLEEP, |at| at.since(now).into());
        Some(until.min(LONGEST_SLEEP))
    }

    fn shard(&self, id: SessionId) -> &Mutex<HashMap<SessionId, Arc<Cell>>> {
        &self.shards[usize::from(id.bytes()[0]) % SHARDS]
    }
}

/// All sessions are being told something.
struct Telling<'a> {
    sessions: &'a Sessions,
    shared: &'a Shared,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if lock(&self.sessions.watch).end_telling() {
            self.sessions.for_each(|cell| cell.rest(self.shared));
        }
    }
}

/// The one task that keeps the deadlines of all sessions.
async fn keep_watch(shared: Weak<Shared>, alarm: Arc<Bell>) {
    let mut heard = 0;
    loop {
        let (mut sleep, again) = {
            let Some(shared) = shared.upgrade() else { return };
            let Some(span) = shared.sessions.look(&shared) else { return };
            (shared.runtime.sleep(span), span.is_zero())
        };
        if again {
            yield_now().await;
            continue;
        }
        let mut sleep = pin!(&mut sleep);
        std::future::poll_fn(|cx| match alarm.poll_ring(&mut heard, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => sleep.as_mut().poll(cx),
        })
        .await;
    }
}

/// Gives other tasks a turn.
async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
