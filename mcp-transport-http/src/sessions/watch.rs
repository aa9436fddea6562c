//! The roster of a service, and what has to be decided together with it, behind one lock.
//!
//! A request of a live session never takes this lock. It is taken to open, establish, wake, put to sleep and end a session, to
//! have one looked at earlier than before, and by the one task that keeps the deadlines.

use mcp_core::policy::Policy;
use mcp_core::{Caller, Contact, Due, Fault, Generations, Roster, Session, SessionId, Sleeper, StreamId, Time};

use crate::session::Woken;

/// Why a session cannot be had.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is none of that id, or none of this caller's, which is the same to it (HTTP-21).
    Unknown,
    /// It sleeps, and there is no seat for it to wake into.
    Full(Fault),
}

/// What the task that keeps the deadlines looks at.
pub(super) enum Look {
    /// At a session that lives, or has to wake for it.
    Tick(SessionId),
    /// At the readers of one that has ended in its sleep.
    Expired(SessionId),
    /// At one reader of one that sleeps on.
    KeepAlive(SessionId, StreamId),
}

#[derive(Debug)]
pub(super) struct Watch {
    pub(super) roster: Roster,
    /// Whether the task that keeps the deadlines runs: it does as long as there are sessions.
    pub(super) running: bool,
    /// What is listed, as far as anybody was told: sleepers compare it with what was listed as they fell asleep.
    listed: Option<Generations>,
    /// Out of the roster, since something of theirs is due, and not in their cells yet.
    waking: Vec<(SessionId, Sleeper)>,
    /// How many are telling all sessions something. Until each has heard of it, none falls asleep: so each is told once, by
    /// the roster if it slept before that, and by its cell if not.
    telling: usize,
    /// Whether one was held back from sleeping by that.
    held_back: bool,
    /// The server goes down.
    closed: bool,
}

impl Watch {
    pub(super) fn new(policy: &Policy) -> Self {
        Self {
            roster: Roster::new(policy),
            running: false,
            listed: None,
            waking: Vec::new(),
            telling: 0,
            held_back: false,
            closed: false,
        }
    }

    /// Takes a new session in. Returns whether the task that keeps the deadlines is to be started.
    pub(super) fn admit(&mut self, id: SessionId, from: &Caller, listed: Generations) -> Result<bool, Fault> {
        if self.closed {
            return Err(Fault::shutting_down().with_status(503));
        }
        self.roster.admit(id, from.principal.as_ref())?;
        self.listed.get_or_insert(listed);
        Ok(!std::mem::replace(&mut self.running, true))
    }

    /// Takes a sleeper out, for a caller or, without one, since something of it is due. It counts as live from now on.
    pub(super) fn rouse(&mut self, id: SessionId, from: Option<&Caller>) -> Result<Woken, Refusal> {
        if self.closed {
            return Err(Refusal::Full(Fault::shutting_down().with_status(503)));
        }
        let listed = self.listed.unwrap_or_default();
        if let Some(index) = self.waking.iter().position(|(waking, _)| *waking == id) {
            if from.is_some_and(|from| !self.waking[index].1.snapshot.belongs_to(from)) {
                return Err(Refusal::Unknown);
            }
            let (_, sleeper) = self.waking.swap_remove(index);
            return Ok(Woken { sleeper, listed });
        }
        match from.map(|from| self.roster.contact(id, from)) {
            Some(Contact::Wake(sleeper)) => Ok(Woken { sleeper, listed }),
            Some(Contact::Full(fault)) => Err(Refusal::Full(fault)),
            // One that lives is found in the table, or has not been told its client.
            Some(Contact::Live | Contact::Unknown) | None => Err(Refusal::Unknown),
        }
    }

    /// Puts a session to sleep, if it may now. Returns whether the watch should look again before it wanted to.
    pub(super) fn put_to_sleep(&mut self, id: SessionId, machine: Session, now: Time) -> Result<bool, Kept> {
        if self.telling > 0 || self.closed || !self.roster.has_room_to_sleep() {
            self.held_back |= self.telling > 0;
            return Err(Kept::Awake(Box::new(machine)));
        }
        let listed = self.listed.unwrap_or_default();
        let asleep = machine.sleep(listed).map_err(Kept::Awake)?;
        let before = self.roster.deadline();
        match self.roster.sleep(id, asleep, now) {
            Ok(()) => Ok(self.is_earlier_than(before)),
            Err(asleep) => {
                let asleep = *asleep;
                let sleeper = Sleeper {
                    snapshot: asleep.snapshot,
                    keep_alives: asleep.keep_alives,
                    updated: Vec::new(),
                    detached: Vec::new(),
                };
                Err(Kept::Asleep(Box::new(Woken { sleeper, listed })))
            }
        }
    }

    /// The reader of a sleeper's stream has gone. Returns whether to look again earlier.
    pub(super) fn detach(&mut self, id: SessionId, stream: StreamId) -> bool {
        if let Some((_, sleeper)) = self.waking.iter_mut().find(|(waking, _)| *waking == id) {
            sleeper.detached.push(stream);
            return false;
        }
        let before = self.roster.deadline();
        self.roster.detach(id, stream);
        self.is_earlier_than(before)
    }

    /// Begins to tell all sessions something, those first that sleep. Returns whether to look again earlier.
    pub(super) fn begin_telling(&mut self, news: News<'_>) -> bool {
        self.telling += 1;
        let before = self.roster.deadline();
        match news {
            News::Changed(listed) => {
                self.listed = Some(listed);
                self.roster.changed();
            }
            News::Updated(uri) => {
                self.roster.updated(uri);
                // These the roster no longer has. One that does not follow it takes no notice.
                self.waking.iter_mut().for_each(|(_, sleeper)| sleeper.updated.push(uri.into()));
            }
        }
        self.is_earlier_than(before)
    }

    /// Returns whether sessions were held back that may sleep now.
    pub(super) fn end_telling(&mut self) -> bool {
        self.telling -= 1;
        self.telling == 0 && std::mem::take(&mut self.held_back)
    }

    /// What is due.
    pub(super) fn poll_due(&mut self, now: Time) -> Option<Look> {
        Some(match self.roster.poll_due(now)? {
            Due::Tick(id) => Look::Tick(id),
            Due::Wake(id, sleeper) => {
                self.waking.push((id, sleeper));
                Look::Tick(id)
            }
            Due::Expired(id) => Look::Expired(id),
            Due::KeepAlive(id, stream) => Look::KeepAlive(id, stream),
        })
    }

    /// Nobody is taken in any more, or wakes.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Takes any sleeper out for good.
    pub(super) fn pop_sleeper(&mut self) -> Option<(SessionId, Woken)> {
        let listed = self.listed.unwrap_or_default();
        let (id, sleeper) = self.waking.pop().or_else(|| self.roster.pop_sleeper())?;
        self.roster.remove(id);
        Some((id, Woken { sleeper, listed }))
    }

    fn is_earlier_than(&self, before: Option<Time>) -> bool {
        self.roster.deadline().unwrap_or(Time::MAX) < before.unwrap_or(Time::MAX)
    }
}

/// One that was not put to sleep after all.
pub(crate) enum Kept {
    Awake(Box<Session>),
    /// It was asleep already, and there is no room for it.
    Asleep(Box<Woken>),
}

/// What all sessions are to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News<'a> {
    /// That is listed now.
    Changed(Generations),
    /// The resource of that URI has changed.
    Updated(&'a str),
}
