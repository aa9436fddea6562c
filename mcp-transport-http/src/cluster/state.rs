//! What the lock of a durable session guards: its machine, and what may not leave yet.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use mcp_core::drive::Waiters;
use mcp_core::policy::Timing;
use mcp_core::{
    Asleep, Call, CallId, Endpoint, EventId, Generations, Input, Machine as _, MachineId, Output, Pull, Session, Span,
    StreamId, Ticket, Time,
};

use super::batch::{Batch, Step, Store};
use super::slot::{End, From, Piece, Slot, Tail};
use crate::head::RequestHead;
use crate::source::log;
use crate::spawned::Stop;

mod sleep;

/// A durable session.
#[derive(Debug)]
pub(super) struct State {
    machine: Machinery,
    pub(super) life: Life,
    pub(super) slots: Vec<Slot>,
    next_reader: u64,
    pub(super) running: Vec<Flight>,
    /// Calls that wait until the client has read more.
    waiters: Waiters,
    /// Runs that wait for the next commit.
    held: Vec<Held>,
    /// Runs that wait for the commit that is under way.
    starting: Vec<Held>,
    /// Streams that are to be pulled.
    ready: Vec<StreamId>,
    /// The open streams whose events carry ids, and those whose end is being stored.
    tails: Vec<(StreamId, Tail)>,
    pub(super) committing: bool,
    stored: Stored,
    /// The state of the lists that the machine was told of last.
    listed: Generations,
    /// The last time that the client or a call did something.
    active: Time,
    /// Messages from the client.
    heard: u32,
    /// Nothing leaves once this has come, until the lease is renewed.
    pub(super) lease_until: Time,
    /// Since when the store has failed.
    pub(super) failing: Option<Time>,
    /// When the session will be looked at.
    pub(super) armed: Time,
}

#[derive(Debug)]
enum Machinery {
    Awake(Box<Session>),
    /// Its readers stay, or it waits for something.
    Asleep(Box<Asleep>),
    Gone,
}

impl Machinery {
    const fn awake(&self) -> Option<&Session> {
        match self {
            Self::Awake(machine) => Some(machine),
            Self::Asleep(_) | Self::Gone => None,
        }
    }
}

/// Whether the session is still this node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Live,
    /// It is being let go, or ended: nothing more is taken in.
    Leaving,
    /// It has ended, or is the store's again: what was released may still leave.
    Left,
    /// It is another node's: nothing may leave.
    Fenced,
}

/// What is known of the session's record.
#[derive(Debug)]
struct Stored {
    /// The last version that was written, or tried.
    version: u64,
    /// The last version that the store has confirmed.
    confirmed: u64,
    exists: bool,
    digest: Option<u64>,
    at: Time,
    /// It is kept for the short time only that a session has to begin in.
    opening: bool,
}

/// A call that runs.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) call: CallId,
    /// Once it was spawned, how to stop it.
    pub(super) stop: Option<Arc<Stop>>,
}

/// A run that waits, and the request that it comes of.
pub(super) type Held = (Ticket, Box<Call>, Option<Arc<RequestHead>>);

/// When something happens, and under what.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<'a> {
    pub(super) now: Time,
    pub(super) endpoint: &'a Arc<Endpoint>,
    pub(super) listed: Generations,
    /// For a machine that wakes.
    pub(super) machine: MachineId,
    /// How long a lease is good that is asked for now.
    pub(super) lease: Span,
}

impl At<'_> {
    fn timing(&self) -> &Timing {
        self.endpoint.timing()
    }
}

/// What is to be done once the lock is free.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// The stream that answers the input, and its reader.
    pub(super) expected: Option<(StreamId, u64)>,
    pub(super) calls: Vec<Held>,
    pub(super) wakers: Vec<Waker>,
    pub(super) stops: Vec<Arc<Stop>>,
    pub(super) batch: Option<Batch>,
    /// It is this node's no more.
    pub(super) left: bool,
}

impl State {
    pub(super) fn new(machine: Session, listed: Generations, lease_until: Time, now: Time) -> Self {
        Self {
            machine: Machinery::Awake(Box::new(machine)),
            life: Life::Live,
            slots: Vec::new(),
            next_reader: 0,
            running: Vec::new(),
            waiters: Waiters::new(),
            held: Vec::new(),
            starting: Vec::new(),
            ready: Vec::new(),
            tails: Vec::new(),
            committing: false,
            stored: Stored { version: 0, confirmed: 0, exists: false, digest: None, at: now, opening: true },
            listed,
            active: now,
            heard: 0,
            lease_until,
            failing: None,
            armed: Time::MAX,
        }
    }

    /// A session that the store had, in this version.
    pub(super) fn taken_over(mut self, version: u64, clean: bool) -> Self {
        let Machinery::Awake(machine) = &self.machine else { return self };
        let tail = |event: &EventId| (event.stream, Tail { stored: event.number, said: event.number, ended: false });
        self.tails = machine.last_events().iter().map(tail).collect();
        let digest = machine.checkpoint(self.listed).map(|checkpoint| checkpoint.digest).filter(|_| clean);
        self.stored = Stored { version, confirmed: version, exists: true, digest, at: self.stored.at, opening: false };
        // Its client is known to be there: it has asked.
        self.heard = 2;
        self
    }

    /// Hands an input to the machine, which is awake from then on.
    pub(super) fn handle(&mut self, at: At<'_>, input: Input<'_>, context: Option<&Arc<RequestHead>>) -> Due {
        let mut due = Due::default();
        let by_client = matches!(input, Input::Message { .. } | Input::Attach { .. });
        if by_client || matches!(input, Input::Done { .. }) {
            self.active = at.now;
        }
        self.heard = self.heard.saturating_add(u32::from(by_client));
        if let Input::Done { ticket, .. } = &input {
            self.land(ticket.call());
        }
        if let Input::Changed { catalog, .. } = &input {
            self.listed = catalog.generations();
        }
        let Some(machine) = self.awake(at) else {
            self.drop_all(Life::Fenced, &mut due);
            return due;
        };
        machine.handle(at.now, input);
        self.obey(context, &mut due);
        self.move_on(at, &mut due);
        due
    }

    /// The machine, woken if it sleeps. `None` if it cannot be, which is this library's own mistake.
    fn awake(&mut self, at: At<'_>) -> Option<&mut Session> {
        if let Machinery::Asleep(_) = &self.machine
            && let Machinery::Asleep(asleep) = std::mem::replace(&mut self.machine, Machinery::Gone)
        {
            let Asleep { snapshot, keep_alives, .. } = *asleep;
            let endpoint = Arc::clone(at.endpoint);
            match Session::wake(at.machine, &snapshot, keep_alives, endpoint, at.listed, at.now) {
                Ok(machine) => {
                    self.machine = Machinery::Awake(Box::new(machine));
                    self.listed = at.listed;
                }
                Err(error) => tracing::error!(%error, "a session does not wake"),
            }
        }
        match &mut self.machine {
            Machinery::Awake(machine) => Some(machine),
            Machinery::Asleep(_) | Machinery::Gone => None,
        }
    }

    pub(super) const fn machine(&self) -> Option<&Session> {
        self.machine.awake()
    }

    /// A deadline has come: of a sleeper it may be a silence only.
    pub(super) fn tick(&mut self, at: At<'_>) -> Due {
        let Machinery::Asleep(asleep) = &mut self.machine else { return self.handle(at, Input::Tick, None) };
        if asleep.wake_at.is_some_and(|(time, _)| time <= at.now) {
            return self.handle(at, Input::Tick, None);
        }
        let mut due = Due::default();
        while let Some(stream) = asleep.keep_alives.due(at.now) {
            if let Some(slot) = self.slots.iter_mut().find(|slot| slot.stream == stream) {
                slot.push(Piece { number: None, bytes: Bytes::from_static(COMMENT) });
                due.wakers.extend(slot.release());
            }
        }
        due
    }

    /// When it must be looked at.
    pub(super) fn deadline(&self) -> Option<Time> {
        match &self.machine {
            Machinery::Awake(machine) => machine.deadline().map(|(at, _)| at),
            Machinery::Asleep(asleep) => {
                asleep.wake_at.map(|(at, _)| at).into_iter().chain(asleep.keep_alives.deadline()).min()
            }
            Machinery::Gone => None,
        }
    }

    fn obey(&mut self, context: Option<&Arc<RequestHead>>, due: &mut Due) {
        while let Some(output) = self.poll_output() {
            match output {
                Output::Expect(stream) => {
                    let reader = self.expect(stream, due);
                    due.expected.get_or_insert((stream, reader));
                }
                Output::Resume(after) => {
                    if let Some(slot) = self.slot(after.stream) {
                        slot.source = From::Log { last: after.number };
                    }
                }
                Output::Open { stream, reply } => {
                    if let Some(slot) = self.slot(stream) {
                        slot.opened(reply);
                    }
                }
                Output::Ready(stream) => {
                    if !self.ready.contains(&stream) {
                        self.ready.push(stream);
                    }
                }
                Output::Call(ticket, call) => {
                    self.running.push(Flight { call: call.id, stop: None });
                    let held = if call.resume.is_some() { &mut self.held } else { &mut due.calls };
                    held.push((ticket, call, context.cloned()));
                }
                Output::Abandon(call) => {
                    due.stops.extend(self.land(call).and_then(|flight| flight.stop));
                    // It was to wait for its commit, and now for nothing.
                    self.held.retain(|(ticket, ..)| ticket.call() != call);
                    self.starting.retain(|(ticket, ..)| ticket.call() != call);
                }
                Output::Event(event) => log(&event),
                Output::Closed => self.life = Life::Leaving,
                // No session asks for room to listen; whether it may sleep is asked when all is stored.
                Output::Listen(_) | Output::Hibernate => {}
            }
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        match &mut self.machine {
            Machinery::Awake(machine) => machine.poll_output(),
            Machinery::Asleep(_) | Machinery::Gone => None,
        }
    }

    /// Somebody will read that stream, from now on in place of whoever has.
    fn expect(&mut self, stream: StreamId, due: &mut Due) -> u64 {
        let reader = self.next_reader;
        self.next_reader += 1;
        if let Some(mut before) = self.forget(stream) {
            due.wakers.extend(before.take_waker());
        }
        self.slots.push(Slot::new(stream, reader));
        reader
    }

    /// Pulls everything, and lets it leave or has it stored; unless something is being stored.
    pub(super) fn move_on(&mut self, at: At<'_>, due: &mut Due) {
        if self.committing || matches!(self.life, Life::Left | Life::Fenced) {
            return;
        }
        let (events, ended) = self.pull_all();
        self.slots.iter_mut().for_each(Slot::stage);
        due.batch = match self.life {
            Life::Live => self.due(at, events, ended),
            _ => self.stored.exists.then_some(Batch::Remove),
        };
        self.committing = due.batch.is_some();
        if self.committing {
            self.starting = std::mem::take(&mut self.held);
            return;
        }
        due.wakers.extend(self.slots.iter_mut().filter_map(Slot::release));
        due.calls.append(&mut self.held);
        if self.life == Life::Leaving {
            // Nothing of it was ever stored.
            self.leave(due);
        } else {
            due.batch = self.sleep(at);
            self.committing = due.batch.is_some();
        }
    }

    fn pull_all(&mut self) -> (Vec<(EventId, Bytes)>, Vec<StreamId>) {
        let (mut events, mut ended) = (Vec::new(), Vec::new());
        let Machinery::Awake(machine) = &mut self.machine else { return (events, ended) };
        for stream in std::mem::take(&mut self.ready) {
            let mut slot = self.slots.iter_mut().find(|slot| slot.stream == stream);
            loop {
                let mut buf = Vec::new();
                let pulled = machine.pull(stream, &mut buf, 0);
                if !buf.is_empty() {
                    let event = EventId::of_event(&buf);
                    let bytes = Bytes::from(buf);
                    if let Some(event) = event {
                        note_said(&mut self.tails, event);
                        events.push((event, bytes.clone()));
                    }
                    if let Some(slot) = &mut slot {
                        slot.push(Piece { number: event.map(|event| event.number), bytes });
                    }
                }
                match pulled {
                    Pull::More => {}
                    Pull::Wait => break,
                    Pull::Pause => {
                        slot.iter_mut().for_each(|slot| slot.ended(End::Pause));
                        break;
                    }
                    Pull::End => {
                        slot.iter_mut().for_each(|slot| slot.ended(End::Stream));
                        let tail = self.tails.iter_mut().find(|(open, tail)| *open == stream && !tail.ended);
                        if let Some((_, tail)) = tail {
                            // Until that is stored nobody may be told of it.
                            tail.ended = true;
                            ended.push(stream);
                        }
                        break;
                    }
                }
            }
        }
        (events, ended)
    }

    /// What has to be stored before anything more may leave, if there is anything.
    fn due(&mut self, at: At<'_>, events: Vec<(EventId, Bytes)>, ended: Vec<StreamId>) -> Option<Batch> {
        let checkpoint = self.machine()?.checkpoint(self.listed)?;
        let idle = at.timing().idle;
        // Two messages, and it has begun.
        let opening = self.heard < 2;
        let stored = &self.stored;
        let stale = self.active > stored.at && at.now.since(stored.at).0 > idle.0 / 4;
        let same = stored.exists && stored.digest == Some(checkpoint.digest) && stored.opening == opening;
        if same && !stale && events.is_empty() && ended.is_empty() {
            return None;
        }
        let keep = if opening { at.timing().opening } else { idle };
        let creates = !stored.exists;
        if creates {
            self.lease_until = at.now.after(at.lease);
        }
        self.stored.version += 1;
        Some(Batch::Store(Box::new(Store {
            step: if creates { Step::Create } else { Step::Append },
            version: self.stored.version,
            snapshot: checkpoint.snapshot,
            digest: checkpoint.digest,
            keep: keep.into(),
            opening,
            events,
            ended,
        })))
    }

    /// Something was stored: what waited for it may leave.
    pub(super) fn committed(&mut self, at: At<'_>, batch: &Batch) -> Due {
        let mut due = Due::default();
        if self.life == Life::Fenced {
            return due;
        }
        self.committing = false;
        self.failing = None;
        if let Batch::Store(store) = batch {
            let Store { version, digest, opening, .. } = **store;
            self.stored =
                Stored { version, confirmed: version, exists: true, digest: Some(digest), at: at.now, opening };
            self.tails.retain(|(_, tail)| !tail.ended);
            self.tails.iter_mut().for_each(|(_, tail)| tail.stored = tail.said);
        }
        due.wakers.extend(self.slots.iter_mut().filter_map(Slot::release));
        due.calls.append(&mut self.starting);
        match batch {
            Batch::Store(_) => self.move_on(at, &mut due),
            Batch::Release { .. } | Batch::Remove => self.leave(&mut due),
        }
        due
    }

    /// The store has failed, and will be tried again. A session that was to be let go lives on: nobody knows whether it is still
    /// this node's, and the next commit will tell.
    pub(super) fn failed(&mut self, at: At<'_>, batch: &Batch, patience: Duration) -> Due {
        let since = *self.failing.get_or_insert(at.now);
        let mut due = Due::default();
        if Duration::from(at.now.since(since)) >= patience {
            due.wakers.extend(self.slots.iter_mut().filter(|slot| slot.is_held_back()).filter_map(Slot::refuse));
        }
        if !matches!(batch, Batch::Release { .. }) {
            return due;
        }
        self.life = Life::Live;
        self.committing = false;
        self.stored.digest = None;
        if self.awake(at).is_none() {
            self.drop_all(Life::Fenced, &mut due);
            return due;
        }
        self.obey(None, &mut due);
        self.move_on(at, &mut due);
        due
    }

    /// It is another node's.
    pub(super) fn fenced(&mut self) -> Due {
        let mut due = Due::default();
        self.drop_all(Life::Fenced, &mut due);
        due
    }

    fn leave(&mut self, due: &mut Due) {
        let mut slots = std::mem::take(&mut self.slots);
        self.drop_all(Life::Left, due);
        // They have all that they will get here.
        due.wakers.extend(slots.iter_mut().filter_map(Slot::finish));
        self.slots = slots;
    }

    fn drop_all(&mut self, life: Life, due: &mut Due) {
        self.life = life;
        self.committing = false;
        self.machine = Machinery::Gone;
        self.held.clear();
        self.starting.clear();
        self.ready.clear();
        self.tails.clear();
        due.calls.clear();
        due.stops.extend(self.running.drain(..).filter_map(|flight| flight.stop));
        due.wakers.extend(self.slots.drain(..).filter_map(|mut slot| slot.take_waker()));
        due.left = true;
    }

    pub(super) fn tail(&self, stream: StreamId) -> Option<Tail> {
        tail(&self.tails, stream)
    }

    pub(super) fn slot(&mut self, stream: StreamId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.stream == stream)
    }

    pub(super) fn slot_of(&mut self, stream: StreamId, reader: u64) -> Option<&mut Slot> {
        self.slot(stream).filter(|slot| slot.reader == reader)
    }

    pub(super) fn forget(&mut self, stream: StreamId) -> Option<Slot> {
        let index = self.slots.iter().position(|slot| slot.stream == stream)?;
        Some(self.slots.swap_remove(index))
    }

    fn land(&mut self, call: CallId) -> Option<Flight> {
        let index = self.running.iter().position(|flight| flight.call == call)?;
        Some(self.running.swap_remove(index))
    }

    /// Whether a call may say more; also if nobody would hear it.
    pub(super) fn poll_room(&mut self, call: CallId, cx: &Context<'_>) -> Poll<()> {
        let Self { machine, slots, tails, waiters, .. } = self;
        waiters.poll_room(call, has_room(machine, slots, tails, call), cx)
    }

    /// What is due after an input or a commit, with the calls that need not wait any more: taken under the same lock.
    pub(super) fn with_roomy(&mut self, mut due: Due) -> Due {
        due.wakers.extend(self.roomy());
        due
    }

    /// The calls that need not wait any more, to be woken without the lock: to be asked also when a reader has taken something.
    pub(super) fn roomy(&mut self) -> Vec<Waker> {
        let Self { machine, slots, tails, waiters, .. } = self;
        waiters.roomy(|call| has_room(machine, slots, tails, call))
    }

    /// Whether the store knows it as this node's.
    pub(super) fn is_held(&self) -> bool {
        self.stored.exists && self.life == Life::Live
    }

    /// The last version that the store has confirmed.
    pub(super) const fn confirmed(&self) -> u64 {
        self.stored.confirmed
    }

    /// Whether what was released may leave.
    pub(super) fn may_speak(&self, now: Time) -> bool {
        match self.life {
            Life::Live | Life::Leaving => now < self.lease_until,
            Life::Left => true,
            Life::Fenced => false,
        }
    }
}

fn note_said(tails: &mut Vec<(StreamId, Tail)>, event: EventId) {
    match tails.iter_mut().find(|(stream, _)| *stream == event.stream) {
        Some((_, tail)) => tail.said = event.number,
        None => tails.push((event.stream, Tail { stored: 0, said: event.number, ended: false })),
    }
}

/// Whether a call may say more. What was said waits within the machine while something is stored, and then for its reader.
fn has_room(machine: &Machinery, slots: &[Slot], tails: &[(StreamId, Tail)], call: CallId) -> bool {
    let Some(machine) = machine.awake() else { return true };
    let Some(stream) = machine.stream_of(call) else { return true };
    let read = slots.iter().find(|slot| slot.stream == stream);
    machine.has_room(call) && read.is_none_or(|slot| slot.has_room(tail(tails, stream)))
}

fn tail(tails: &[(StreamId, Tail)], stream: StreamId) -> Option<Tail> {
    tails.iter().find(|(open, _)| *open == stream).map(|(_, tail)| *tail)
}

/// What breaks a silence (HTTP-45).
const COMMENT: &[u8] = b": \n\n";
