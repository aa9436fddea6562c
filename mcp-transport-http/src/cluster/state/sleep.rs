//! A durable session that sleeps: here, where somebody reads or it waits for something, or in the store.

use mcp_core::{Asleep, Close, Input, Span, Timer};

use super::{At, Due, Life, Machinery, State};
use crate::cluster::batch::Batch;

impl State {
    /// Wakes it, if it sleeps and that makes a difference: a client that listens is told what has changed.
    pub(in crate::cluster) fn hear_of_change(&mut self, at: At<'_>) -> Option<Due> {
        if !matches!(self.machine, Machinery::Asleep(_)) {
            return None;
        }
        let mut due = Due::default();
        if !self.slots.is_empty() && self.awake(at).is_some() {
            self.obey(None, &mut due);
            self.move_on(at, &mut due);
        }
        Some(due)
    }

    /// Wakes it for an input that is about to come.
    pub(in crate::cluster) fn rouse(&mut self, at: At<'_>) -> Due {
        let mut due = Due::default();
        if self.awake(at).is_none() {
            self.drop_all(Life::Fenced, &mut due);
        }
        self.obey(None, &mut due);
        due
    }

    /// Whether it follows that resource in its sleep.
    pub(in crate::cluster) fn follows_asleep(&self, uri: &str) -> bool {
        matches!(&self.machine, Machinery::Asleep(asleep) if asleep.follows.iter().any(|followed| **followed == *uri))
    }

    /// Lets it sleep, if nothing keeps it awake any more.
    pub(in crate::cluster) fn settle(&mut self, at: At<'_>) -> Due {
        let mut due = Due::default();
        if matches!(&self.machine, Machinery::Asleep(_)) && self.slots.is_empty() && self.awake(at).is_some() {
            self.obey(None, &mut due);
        }
        self.move_on(at, &mut due);
        due
    }

    /// Puts a quiet session to sleep: it is the store's if nobody here needs it.
    pub(in crate::cluster) fn sleep(&mut self, at: At<'_>) -> Option<Batch> {
        let quiet = self.running.is_empty() && self.stored.exists && self.heard >= 2;
        if !quiet || !self.machine().is_some_and(|machine| machine.is_drowsy() && machine.can_sleep()) {
            return None;
        }
        let Machinery::Awake(machine) = std::mem::replace(&mut self.machine, Machinery::Gone) else { return None };
        let asleep = match machine.sleep(self.listed) {
            Ok(asleep) => asleep,
            Err(machine) => {
                self.machine = Machinery::Awake(machine);
                return None;
            }
        };
        // Nobody would wake it in the store: what it waits for, and what it wants to hear of, keep it here.
        let waits = matches!(asleep.wake_at, Some((_, timer)) if timer != Timer::Idle);
        if waits || !self.slots.is_empty() || !asleep.follows.is_empty() {
            self.machine = Machinery::Asleep(Box::new(asleep));
            return None;
        }
        Some(self.releases(at, asleep))
    }

    fn releases(&mut self, at: At<'_>, asleep: Asleep) -> Batch {
        let keep = match asleep.wake_at {
            Some((time, Timer::Idle)) => time.since(at.now),
            Some((time, _)) => Span(time.since(at.now).0.saturating_add(at.timing().idle.0)),
            None => at.timing().idle,
        };
        self.stored.version += 1;
        self.life = Life::Leaving;
        let snapshot = Some(asleep.snapshot.clone());
        // In case that the store does not take it.
        self.machine = Machinery::Asleep(Box::new(asleep));
        Batch::Release { version: self.stored.version, snapshot, keep: keep.into() }
    }

    /// Lets go of a session whose calls have ended, whoever reads: the node goes down.
    pub(in crate::cluster) fn let_go(&mut self, at: At<'_>) -> Due {
        let mut due = Due::default();
        let busy = self.committing || !self.running.is_empty() || !self.ready.is_empty();
        if self.life != Life::Live || busy {
            return due;
        }
        if !self.stored.exists {
            return self.handle(at, Input::Close(Close::Shutdown), None);
        }
        let asleep = match std::mem::replace(&mut self.machine, Machinery::Gone) {
            Machinery::Asleep(asleep) => Some(*asleep),
            Machinery::Awake(machine) => match machine.sleep(self.listed) {
                Ok(asleep) => Some(asleep),
                Err(machine) => {
                    self.machine = Machinery::Awake(machine);
                    None
                }
            },
            Machinery::Gone => None,
        };
        self.committing = true;
        due.batch = Some(match asleep {
            Some(asleep) => self.releases(at, asleep),
            // What was stored last is all that there is of it.
            None => {
                self.life = Life::Leaving;
                Batch::Release { version: self.stored.version, snapshot: None, keep: at.timing().idle.into() }
            }
        });
        due
    }
}
