//! The calls of a machine that wait for an answer: slots, tickets, deadlines.
//!
//! A request keeps its slot over all its runs (ARCHITECTURE, rule 9): its id, progress token, last progress, deadline and
//! stream stay, while each run gets a call id and a ticket of its own, so that an old ticket opens nothing.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::caching::Caching;
use crate::catalog::View;
use crate::machine::{Call, CallId, Kind, Level, MachineId, StreamId, Ticket};
use crate::modern::Step;
use crate::peer::{Caller, Era, Peer};
use crate::question::{Response, Resume};
use crate::time::Time;
use crate::unjudged::Then;
use crate::wire::Id;

mod snapshot;

pub(crate) use snapshot::{load_id, save_id};

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The run that is under way, or the last one.
    pub(crate) call: CallId,
    /// The first run: it names the request over all of them.
    pub(crate) origin: CallId,
    /// The request's id, as sent.
    pub(crate) id: Id,
    pub(crate) stream: StreamId,
    pub(crate) peer: Arc<Peer>,
    pub(crate) caller: Caller,
    pub(crate) kind: Kind,
    pub(crate) meta: Bytes,
    /// The token that progress is sent under, if the peer wants any (PROG-1).
    pub(crate) token: Option<Id>,
    /// The last progress that was sent: it must grow (PROG-2).
    pub(crate) progress: f64,
    /// The least level of logs that the request wants. `None`: none on modern (LOG-3), the session's on legacy.
    pub(crate) level: Option<Level>,
    /// When it is answered for.
    pub(crate) deadline: Option<Time>,
    /// How often it has asked the client.
    pub(crate) rounds: u32,
    /// How long its answer may be kept, and by whom, if it does not say that itself.
    pub(crate) hint: Caching,
    /// Whether its sender was shown what was chosen for it, so that no cache may share the answer (CACHE-4). Legacy ones are
    /// told nothing of caches.
    pub(crate) chosen: bool,
    /// What its init said, or a run of it since, where there is no session that keeps that.
    pub(crate) assigns: Option<Bytes>,
    /// Whether what it said last was to be sent: one that says what nobody wants waits for nobody.
    pub(crate) queued: bool,
    /// What it waits for.
    pub(crate) phase: Phase,
}

/// What a request waits for.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Its handler.
    Running,
    /// The server's word that the client is let in; then this is done.
    Initializing(Box<Then>),
    /// Its client: a legacy request with open questions.
    Asking(Asking),
}

/// The open questions of a legacy request.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    /// The handler's state.
    pub(crate) state: Bytes,
    /// The request id of each open question, and the handler's key for it.
    pub(crate) open: Vec<(u64, Box<str>)>,
    /// What came back.
    pub(crate) replies: Vec<(Box<str>, Response)>,
}

/// What is admitted to run: a [`Slot`] to be.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    pub(crate) id: Id,
    pub(crate) peer: Arc<Peer>,
    pub(crate) kind: Kind,
    pub(crate) meta: Bytes,
    pub(crate) token: Option<Id>,
    pub(crate) level: Option<Level>,
    pub(crate) resume: Option<Box<Resume>>,
    /// How often the request asked before it came here: a modern retry brings that along in its sealed state (MRTR-12).
    pub(crate) rounds: u32,
    /// As [`Slot::hint`].
    pub(crate) hint: Caching,
    /// As [`Slot::chosen`].
    pub(crate) chosen: bool,
    /// As [`Slot::assigns`].
    pub(crate) assigns: Option<Bytes>,
}

/// The name of no call: ids count from 1.
const UNNAMED: CallId = CallId(0);

impl Slot {
    /// The slot of an admitted request, and what its first run is handed.
    pub(crate) fn new(
        admission: Admission,
        caller: &Caller,
        stream: StreamId,
        deadline: Option<Time>,
    ) -> (Self, Option<Box<Resume>>) {
        let slot = Self {
            call: UNNAMED,
            origin: UNNAMED,
            id: admission.id,
            stream,
            peer: admission.peer,
            caller: caller.clone(),
            kind: admission.kind,
            meta: admission.meta,
            token: admission.token,
            progress: f64::NEG_INFINITY,
            level: admission.level,
            deadline,
            rounds: admission.rounds,
            hint: admission.hint,
            chosen: admission.chosen,
            assigns: admission.assigns,
            queued: false,
            phase: Phase::Running,
        };
        (slot, admission.resume)
    }

    /// Begins a run under a new name.
    pub(crate) fn run(
        &mut self,
        call: CallId,
        carries_notes: bool,
        resume: Option<Box<Resume>>,
        assigns: Bytes,
    ) -> Box<Call> {
        self.call = call;
        if self.origin == UNNAMED {
            self.origin = call;
        }
        Box::new(Call {
            id: call,
            kind: self.kind.clone(),
            peer: Arc::clone(&self.peer),
            caller: self.caller.clone(),
            meta: self.meta.clone(),
            progress: self.token.is_some() && carries_notes,
            resume,
            deadline: self.deadline,
            assigns,
            byte_stream: false,
        })
    }

    pub(crate) fn era(&self) -> Era {
        self.peer.revision.era()
    }

    /// Whether some code of the server's runs for it.
    pub(crate) const fn runs(&self) -> bool {
        match self.phase {
            Phase::Running | Phase::Initializing(_) => true,
            Phase::Asking(_) => false,
        }
    }

    /// What may be seen by who sent it, if it is judged once they are let in.
    pub(crate) fn unjudged(&mut self) -> Option<&mut View> {
        match &mut self.phase {
            Phase::Initializing(then) => match &mut **then {
                Then::Judge(unjudged) => Some(&mut unjudged.view),
                Then::Do(_) => None,
            },
            Phase::Running | Phase::Asking(_) => None,
        }
    }

    /// Whether it is the `initialize` of a conversation.
    pub(crate) fn opens(&self) -> bool {
        matches!(&self.phase, Phase::Initializing(then) if matches!(**then, Then::Do(Ok(Step::Open(_)))))
    }
}

/// The slots of a session or pipe, and the counter of its call ids.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    machine: MachineId,
    slots: Vec<Option<Slot>>,
    live: usize,
    next: u64,
}

impl Calls {
    pub(crate) const fn new(machine: MachineId) -> Self {
        Self { machine, slots: Vec::new(), live: 0, next: 1 }
    }

    /// Takes a slot in; it has no run yet.
    pub(crate) fn insert(&mut self, slot: Slot) -> u32 {
        self.live += 1;
        let free = if self.live <= self.slots.len() { self.slots.iter().position(Option::is_none) } else { None };
        let index = free.unwrap_or(self.slots.len());
        match free {
            Some(index) => self.slots[index] = Some(slot),
            None => {
                if self.slots.is_empty() {
                    // One call after the other is the usual course.
                    self.slots.reserve_exact(1);
                }
                self.slots.push(Some(slot));
            }
        }
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Mints the name and the ticket of a run.
    pub(crate) fn ticket(&mut self, slot: u32) -> Ticket {
        let call = CallId(self.next);
        self.next += 1;
        Ticket { machine: self.machine, call, slot }
    }

    /// The slot whose running call the ticket names, and where it is. `None` if it came too late.
    pub(crate) fn redeem(&self, ticket: &Ticket) -> Option<u32> {
        let slot = self.get(ticket.slot)?;
        (ticket.machine == self.machine && slot.call == ticket.call && slot.runs()).then_some(ticket.slot)
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Slot> {
        self.slots.get(index as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// Empties a slot.
    pub(crate) fn take(&mut self, index: u32) -> Option<Slot> {
        let slot = self.slots.get_mut(index as usize)?.take()?;
        self.live -= 1;
        if self.live == 0 {
            // An idle session keeps no room for the calls that it once had: one slot would be a quarter of all that it takes.
            self.slots = Vec::new();
        }
        Some(slot)
    }

    /// Where the first slot is that fits.
    pub(crate) fn find(&self, fits: impl Fn(&Slot) -> bool) -> Option<u32> {
        let index = self.slots.iter().position(|slot| slot.as_ref().is_some_and(&fits))?;
        u32::try_from(index).ok()
    }

    /// Where the slot of a running call is, unless it is an init, which has nothing to say on the way.
    pub(crate) fn running(&self, call: CallId) -> Option<u32> {
        self.find(|slot| slot.call == call && matches!(slot.phase, Phase::Running))
    }

    /// How many calls run that speak on that stream.
    pub(crate) fn speakers(&self, stream: StreamId) -> usize {
        self.iter().filter(|slot| slot.stream == stream && slot.runs()).count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    pub(crate) const fn len(&self) -> usize {
        self.live
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Whether a handler runs: open questions alone do not count.
    pub(crate) fn any_running(&self) -> bool {
        self.iter().any(Slot::runs)
    }
}
