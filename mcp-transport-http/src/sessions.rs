//! All live sessions: found by id, capped, and looked at when their deadlines come.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;
use std::time::Duration;

use mcp_core::policy::Policy;
use mcp_core::{Caller, Due, Fault, Roster, SessionId, Time};

use crate::bell::Bell;
use crate::session::Cell;
use crate::shared::Shared;
use crate::sync::lock;

/// How many ways the table is split: 64, so that two requests seldom meet on a lock that they hold for nanoseconds.
const SHARDS: usize = 64;
/// The longest sleep of the watch: 60 s, so that it finds out about a suspended machine in good time.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The table of sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    shards: [Mutex<HashMap<SessionId, Arc<Cell>>>; SHARDS],
    watch: Mutex<Watch>,
    /// Rings when the watch should look at the roster again.
    alarm: Arc<Bell>,
}

#[derive(Debug)]
struct Watch {
    roster: Roster,
    /// Whether the task that keeps the deadlines runs: it does as long as there are sessions.
    running: bool,
}

impl Sessions {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            watch: Mutex::new(Watch { roster: Roster::new(policy), running: false }),
            alarm: Arc::default(),
        }
    }

    /// Reserves room for one more session.
    ///
    /// # Errors
    ///
    /// At the cap.
    pub(crate) fn admit(&self, id: SessionId, from: &Caller, shared: &Arc<Shared>) -> Result<(), Fault> {
        let starts = {
            let mut watch = lock(&self.watch);
            watch.roster.admit(id, from.principal.as_ref())?;
            watch.roster.established(id);
            !std::mem::replace(&mut watch.running, true)
        };
        if starts {
            shared.runtime.spawn(Box::pin(keep_watch(Arc::downgrade(shared), Arc::clone(&self.alarm))));
        }
        Ok(())
    }

    pub(crate) fn insert(&self, id: SessionId, cell: Arc<Cell>) {
        lock(self.shard(id)).insert(id, cell);
    }

    pub(crate) fn find(&self, id: SessionId) -> Option<Arc<Cell>> {
        lock(self.shard(id)).get(&id).cloned()
    }

    pub(crate) fn remove(&self, id: SessionId) {
        // Dropped after the lock is free.
        let _cell = lock(self.shard(id)).remove(&id);
        lock(&self.watch).roster.remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.watch).roster.len()
    }

    /// Has the session looked at no later than `at`.
    pub(crate) fn arm(&self, id: SessionId, at: Time) {
        if lock(&self.watch).roster.arm(id, at) {
            self.alarm.ring();
        }
    }

    /// Does something with each session.
    pub(crate) fn for_each(&self, mut act: impl FnMut(&Arc<Cell>)) {
        for shard in &self.shards {
            let cells: Vec<Arc<Cell>> = lock(shard).values().cloned().collect();
            cells.iter().for_each(&mut act);
        }
    }

    /// Ends the watch when the service goes.
    pub(crate) fn ring(&self) {
        self.alarm.ring();
    }

    /// Looks at every session whose time has come. Returns how long to sleep; `None` if no session is left, and the
    /// watch ends.
    fn look(&self, shared: &Arc<Shared>) -> Option<Duration> {
        shared.re_anchor();
        let now = shared.now();
        shared.log.iter().for_each(|log| log.expire(now));
        loop {
            let due = lock(&self.watch).roster.poll_due(now);
            let Some(due) = due else { break };
            // Nobody sleeps yet.
            let Due::Tick(id) = due else { continue };
            if let Some(cell) = self.find(id) {
                cell.tick(shared);
            }
        }
        let mut watch = lock(&self.watch);
        if watch.roster.is_empty() {
            watch.running = false;
            return None;
        }
        let until = watch.roster.deadline().map_or(LONGEST_SLEEP, |at| at.since(shared.now()).into());
        Some(until.min(LONGEST_SLEEP))
    }

    fn shard(&self, id: SessionId) -> &Mutex<HashMap<SessionId, Arc<Cell>>> {
        &self.shards[usize::from(id.bytes()[0]) % SHARDS]
    }
}

/// The one task that keeps the deadlines of all sessions.
async fn keep_watch(shared: Weak<Shared>, alarm: Arc<Bell>) {
    let mut heard = 0;
    loop {
        let mut sleep = {
            let Some(shared) = shared.upgrade() else { return };
            let Some(span) = shared.sessions.look(&shared) else { return };
            shared.runtime.sleep(span)
        };
        let mut sleep = pin!(&mut sleep);
        std::future::poll_fn(|cx| match alarm.poll_ring(&mut heard, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => sleep.as_mut().poll(cx),
        })
        .await;
    }
}
