//! How a session falls asleep, and wakes.
//!
//! Both happen under the lock of its cell, so whoever has that sees a session that is awake, or one that is in the roster, and
//! never one that is in both or in neither. A cell that is left without machine and readers goes out of the table under
//! the same lock, and says so to those who had found it before: they look again. A cell for a session that has none is made
//! under the lock of its shard alone; so a session that many call at once wakes once.

use std::sync::{Arc, MutexGuard};
use std::task::Waker;

use mcp_core::{Caller, Close, Input, Machine, Session, Sleeper, StreamId};

use super::Cell;
use super::state::{Awake, Hands, Head, Life, State, Woken};
use crate::sessions::{Kept, Refusal};
use crate::shared::Shared;

/// What a session is wanted for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum For<'a> {
    /// It wakes, if it is this caller's.
    Caller(&'a Caller),
    /// Something of it is due, for which the roster has let it go.
    Deadline,
    /// Something that all hear who are awake. The others find out when they wake.
    News,
}

/// Why a session is not awake in its cell.
#[derive(Debug)]
pub(crate) enum Absent {
    /// The cell is not the session's any more.
    Left,
    Refused(Refusal),
}

impl Awake {
    /// Whether it may sleep and nobody has asked for anything since.
    fn is_drowsy(&self) -> bool {
        self.machine.is_drowsy() && self.can_sleep()
    }

    fn can_sleep(&self) -> bool {
        !self.closed && self.missed.is_none() && self.machine.can_sleep()
    }

    fn misses_something(&self) -> bool {
        self.missed.as_ref().is_some_and(|missed| !missed.is_empty())
    }
}

impl Cell {
    /// Does something with the session while it is awake, and then has it sleep if it may. What cannot be done is given back.
    pub(crate) fn visit<T, F>(&self, shared: &Shared, wanted: For<'_>, act: F) -> Result<T, (Absent, F)>
    where
        F: FnOnce(&mut Hands<'_>) -> T,
    {
        let (mut state, wakers) = match self.enter(shared, wanted) {
            Ok(entered) => entered,
            Err(absent) => return Err((absent, act)),
        };
        let Some(mut hands) = state.hands() else { return Err((Absent::Left, act)) };
        let done = act(&mut hands);
        self.settle(&mut state, shared);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Ok(done)
    }

    /// Takes the session in hand, awake, and says whom to wake once its lock is free.
    fn enter(&self, shared: &Shared, wanted: For<'_>) -> Result<(MutexGuard<'_, State>, Vec<Waker>), Absent> {
        loop {
            let mut state = self.lock();
            let roused = match &mut state.life {
                Life::Awake(awake) if awake.misses_something() => {
                    drop(state);
                    self.catch_up(shared);
                    continue;
                }
                Life::Awake(_) => return Ok((state, Vec::new())),
                Life::Left => return Err(Absent::Left),
                life @ Life::Waking(_) => match std::mem::replace(life, Life::Left) {
                    Life::Waking(woken) => Ok(*woken),
                    Life::Awake(_) | Life::Asleep | Life::Left => return Err(Absent::Left),
                },
                Life::Asleep => shared.sessions.rouse(self.id, wanted),
            };
            let woken = match roused {
                Ok(woken) => woken,
                Err(refusal) => return Err(Absent::Refused(refusal)),
            };
            match self.wake(&mut state, shared, woken) {
                Ok(wakers) if !state.awake().is_some_and(Awake::misses_something) => {
                    return Ok((state, wakers));
                }
                // What it has missed is seen to in the next round.
                Ok(wakers) => {
                    drop(state);
                    wakers.into_iter().for_each(Waker::wake);
                }
                Err(wakers) => {
                    drop(state);
                    wakers.into_iter().for_each(Waker::wake);
                    shared.sessions.remove(self.id);
                    return Err(Absent::Left);
                }
            }
        }
    }

    /// Wakes the session. Returns whom to wake with it, or, if it cannot go on, whom to tell that it has ended.
    fn wake(&self, state: &mut State, shared: &Shared, woken: Woken) -> Result<Vec<Waker>, Vec<Waker>> {
        let Woken { sleeper: Sleeper { snapshot, keep_alives, updated, detached }, listed } = woken;
        let keeper = self.keeper(shared);
        let (name, endpoint) = (shared.machine_id(), Arc::clone(shared.endpoint()));
        let machine = match Session::wake(name, &snapshot, keep_alives, endpoint, listed, keeper.now) {
            Ok(machine) => machine,
            Err(error) => {
                tracing::error!(session = ?self.id, %error, "a session did not wake");
                return Err(state.end());
            }
        };
        tracing::debug!(session = ?self.id, "a session woke");
        let mut awake = Awake::new(machine);
        awake.missed = (!updated.is_empty()).then_some(updated);
        for stream in detached {
            awake.machine.handle(keeper.now, Input::Detach { stream });
        }
        state.life = Life::Awake(Box::new(awake));
        let due = state.hands().map(|mut hands| hands.drain(keeper)).unwrap_or_default();
        debug_assert!(due.calls.is_empty() && !due.closed, "a session woke by itself to do something");
        Ok(due.wakers)
    }

    /// Tells the client of the updates that its session has slept through: those that it may still see. The handler is asked
    /// without the lock.
    fn catch_up(&self, shared: &Shared) {
        let (missed, caller) = {
            let mut state = self.lock();
            let Some(awake) = state.awake_mut() else { return };
            // An empty list stays, which keeps it awake meanwhile.
            let missed = awake.missed.as_mut().map(std::mem::take).unwrap_or_default();
            let caller = missed.iter().find_map(|uri| awake.machine.subscriber(uri)).cloned();
            (missed, caller)
        };
        let view = caller.map(|caller| shared.handler.view(&caller));
        let due = {
            let keeper = self.keeper(shared);
            let mut state = self.lock();
            let Some(mut hands) = state.hands() else { return };
            hands.awake.missed = None;
            for (uri, view) in missed.iter().zip(view.iter().cycle()) {
                hands.awake.machine.handle(keeper.now, Input::Updated { uri, view });
            }
            hands.drain(keeper)
        };
        self.announce(shared, due);
        self.arm(shared);
    }

    /// Has the session sleep if it is drowsy: to be called once its outputs were taken, or something of a stream.
    pub(crate) fn settle(&self, state: &mut State, shared: &Shared) {
        if state.awake().is_some_and(Awake::is_drowsy) {
            self.fall_asleep(state, shared);
        }
    }

    /// The same for those who have not its lock: nothing holds it back any more.
    pub(crate) fn rest(&self, shared: &Shared) {
        self.settle(&mut self.lock(), shared);
    }

    /// Has the session sleep now, also if it was said just before that it is not drowsy. Returns whether it does.
    pub(crate) fn sleep(&self, shared: &Shared) -> bool {
        let mut state = self.lock();
        state.awake().is_some_and(Awake::can_sleep) && self.fall_asleep(&mut state, shared)
    }

    fn fall_asleep(&self, state: &mut State, shared: &Shared) -> bool {
        let Life::Awake(awake) = std::mem::replace(&mut state.life, Life::Asleep) else { return false };
        let Awake { machine, running: _, armed, missed: _, established, closed: _ } = *awake;
        match shared.sessions.put_to_sleep(self.id, machine, shared.now()) {
            Ok(()) => {
                tracing::debug!(session = ?self.id, readers = state.readers.slots.len(), "a session went to sleep");
                self.leave_if_unread(state, shared);
                true
            }
            Err(Kept::Awake(machine)) => {
                state.life = Life::Awake(Box::new(Awake { armed, established, ..Awake::new(*machine) }));
                false
            }
            // It wakes from a sleep of no time, so there is nobody to wake with it.
            Err(Kept::Asleep(woken)) => {
                let _none = self.wake(state, shared, *woken);
                false
            }
        }
    }

    /// Goes out of the table, if only a sleeping session is left of it.
    fn leave_if_unread(&self, state: &mut State, shared: &Shared) {
        if matches!(state.life, Life::Asleep) && state.readers.slots.is_empty() {
            state.life = Life::Left;
            shared.sessions.leave(self.id);
        }
    }

    /// The reader of a stream has gone whose session sleeps.
    pub(super) fn detach_asleep(&self, state: &mut State, shared: &Shared, stream: StreamId) {
        if matches!(state.life, Life::Asleep) {
            shared.sessions.detached(self.id, stream);
            self.leave_if_unread(state, shared);
        }
    }

    /// A silence on a stream is to be broken, and the session sleeps on. What was promised is kept also if it has woken since.
    pub(crate) fn comment(&self, stream: StreamId) {
        let waker = {
            let mut state = self.lock();
            let Some(slot) = state.readers.slot(stream) else { return };
            if slot.head == Head::Read {
                slot.head = Head::Silence;
            }
            slot.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// The session has ended in its sleep: so do its streams.
    pub(crate) fn expire(&self, shared: &Shared) {
        let wakers = {
            let mut state = self.lock();
            if !matches!(state.life, Life::Asleep) {
                return;
            }
            shared.sessions.leave(self.id);
            state.end()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The server goes down, and the session was taken out of the roster: who reads is told by a session that is awake.
    pub(crate) fn close_asleep(self: &Arc<Self>, shared: &Shared, woken: Woken) {
        let slept = {
            let mut state = self.lock();
            let slept = matches!(state.life, Life::Asleep);
            if slept {
                state.life = Life::Waking(Box::new(woken));
            }
            slept
        };
        if slept {
            self.tell(shared, Input::Close(Close::Shutdown));
        }
    }
}
