//! What a cell guards: where the machine of a session is, who reads its streams, and what runs for it.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_core::drive::Waiters;
use mcp_core::{
    CallId, EventId, Form, Generations, Input, Machine, Output, Pull, Reply, Session, SessionId, Sleeper, StreamId,
    Ticket, Time,
};

use super::Due;
use crate::log::Log;
use crate::source::{CHUNK, log};
use crate::spawned::Stop;

/// The lock of a [`Cell`](super::Cell) is around this.
pub(crate) struct State {
    pub(super) life: Life,
    pub(super) readers: Readers,
    /// Calls that wait until the client has read more.
    waiters: Waiters,
}

/// Where the machine is.
pub(crate) enum Life {
    Awake(Box<Awake>),
    /// Out of the roster: whoever takes the lock wakes it.
    Waking(Box<Woken>),
    /// In the roster: only its readers are here.
    Asleep,
    /// Gone: the session has ended, or sleeps without readers. Whoever looks for it looks into the table again.
    Left,
}

/// What a session wakes from.
pub(crate) struct Woken {
    pub(crate) sleeper: Sleeper,
    /// What is listed as it wakes.
    pub(crate) listed: Generations,
}

/// A machine at work. Nothing of it is left while its session sleeps.
pub(crate) struct Awake {
    pub(super) machine: Session,
    pub(super) running: Vec<Flight>,
    /// When the roster will have this session looked at.
    pub(super) armed: Time,
    /// The resources whose updates it slept through and has not been told of. It stays awake as long as there is a list,
    /// which is empty while somebody sees to it.
    pub(super) missed: Option<Vec<Box<str>>>,
    /// Whether the roster knows that its client has come back after the handshake.
    pub(super) established: bool,
    pub(super) closed: bool,
}

/// A call that runs.
pub(crate) struct Flight {
    pub(super) call: CallId,
    /// Once it was spawned, how to stop it.
    pub(super) stop: Option<Arc<Stop>>,
}

/// The streams that somebody reads, or will read.
pub(crate) struct Readers {
    pub(super) slots: Vec<Slot>,
    /// The next name of a reader.
    next: u32,
}

/// A stream that has a reader. Kept small: there is one for each open connection, also of a session that sleeps.
pub(crate) struct Slot {
    pub(super) stream: StreamId,
    /// Who reads it: a stream that is resumed has one reader after another.
    pub(super) reader: u32,
    pub(super) head: Head,
    /// What its head says besides, for as long as the reader was not told: of most nothing.
    pub(super) refusal: Option<Box<Reply>>,
    /// The number of the event that the reader has, for as long as the log may have more.
    pub(super) replaying: Option<NonZeroU64>,
    pub(super) waker: Option<Waker>,
}

/// How far the reader of a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The stream has not opened.
    Awaited,
    /// It has, and the reader was not told so yet.
    Opened(Opened),
    /// The reader reads.
    Read,
    /// It does, and a silence is to be broken for it while the session sleeps (HTTP-45).
    Silence,
}

/// The head of a stream of a session, in four bytes. What few have is in [`Slot::refusal`]; only the router answers with 405 and
/// `Allow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    status: u16,
    form: Form,
    names_session: bool,
}

/// Where a session's events go, and when.
#[derive(Clone, Copy)]
pub(crate) struct Keeper<'a> {
    pub(super) log: Option<&'a Log>,
    pub(super) session: SessionId,
    pub(super) now: Time,
}

/// The machine and its readers, in the hand of who holds the lock.
pub(crate) struct Hands<'a> {
    pub(super) awake: &'a mut Awake,
    pub(super) readers: &'a mut Readers,
    waiters: &'a mut Waiters,
}

impl From<&Reply> for Opened {
    fn from(Reply { status, form, session, allow, challenge: _, retry_after: _ }: &Reply) -> Self {
        debug_assert!(allow.is_none(), "a stream of a session was opened with `Allow`");
        Self { status: *status, form: *form, names_session: session.is_some() }
    }
}

impl Slot {
    fn open(&mut self, reply: Reply) {
        self.head = Head::Opened((&reply).into());
        let says_more = reply.challenge.is_some() || reply.retry_after.is_some();
        self.refusal = says_more.then(|| Box::new(reply));
    }
}

impl Opened {
    pub(super) fn reply(self, session: SessionId) -> Reply {
        let session = self.names_session.then_some(session);
        Reply { session, ..Reply::new(self.status, self.form) }
    }
}

impl State {
    pub(super) const fn new(life: Life) -> Self {
        Self { life, readers: Readers { slots: Vec::new(), next: 0 }, waiters: Waiters::new() }
    }

    /// The machine, if it is awake.
    pub(crate) fn hands(&mut self) -> Option<Hands<'_>> {
        let Self { life, readers, waiters } = self;
        match life {
            Life::Awake(awake) => Some(Hands { awake, readers, waiters }),
            Life::Waking(_) | Life::Asleep | Life::Left => None,
        }
    }

    pub(super) const fn awake(&self) -> Option<&Awake> {
        match &self.life {
            Life::Awake(awake) => Some(awake),
            Life::Waking(_) | Life::Asleep | Life::Left => None,
        }
    }

    pub(super) fn awake_mut(&mut self) -> Option<&mut Awake> {
        match &mut self.life {
            Life::Awake(awake) => Some(awake),
            Life::Waking(_) | Life::Asleep | Life::Left => None,
        }
    }

    /// Whether the call may say more; also if nobody would hear it.
    pub(super) fn poll_room(&mut self, call: CallId, cx: &Context<'_>) -> Poll<()> {
        let has_room = self.life.has_room(call);
        self.waiters.poll_room(call, has_room, cx)
    }

    /// The calls that need not wait any more, to be woken without the lock: to be asked after each pull. An input tells by itself.
    pub(super) fn roomy(&mut self) -> Vec<Waker> {
        self.waiters.roomy(|call| self.life.has_room(call))
    }

    /// Adds what a stream has to `buf`. One that sleeps has nothing.
    pub(super) fn pull(&mut self, keeper: Keeper<'_>, stream: StreamId, buf: &mut Vec<u8>) -> Pull {
        match self.hands() {
            Some(mut hands) => hands.pull(keeper, stream, buf),
            None => Pull::Wait,
        }
    }

    /// Everybody stops reading: there will be nothing more. Returns whom to wake for it.
    pub(super) fn end(&mut self) -> Vec<Waker> {
        self.life = Life::Left;
        let readers = std::mem::take(&mut self.readers.slots).into_iter().filter_map(|slot| slot.waker);
        readers.chain(self.waiters.roomy(|_| true)).collect()
    }
}

impl Life {
    fn has_room(&self, call: CallId) -> bool {
        match self {
            Self::Awake(awake) => awake.machine.has_room(call),
            // No call runs in one that sleeps.
            Self::Waking(_) | Self::Asleep | Self::Left => true,
        }
    }
}

impl Awake {
    pub(super) const fn new(machine: Session) -> Self {
        Self { machine, running: Vec::new(), armed: Time::MAX, missed: None, established: false, closed: false }
    }

    pub(super) fn land(&mut self, call: CallId) -> Option<Flight> {
        take(&mut self.running, |flight| flight.call == call)
    }

    fn pull_logged(&mut self, id: SessionId, log: &Log, stream: StreamId, buf: &mut Vec<u8>, limit: usize) -> Pull {
        loop {
            let at = buf.len();
            let pulled = self.machine.pull(stream, buf, 0);
            // The log has forgotten a session that has ended.
            if !self.closed {
                log.append(id, &buf[at..]);
            }
            if pulled != Pull::More || buf.len() >= limit {
                return pulled;
            }
        }
    }
}

impl Readers {
    /// Somebody will read that stream, from now on in place of whoever has.
    fn expect(&mut self, stream: StreamId, due: &mut Due) -> u32 {
        let reader = self.next;
        // One that was not told for four billion others that its place was taken is no longer there to be mistaken.
        self.next = self.next.wrapping_add(1);
        if let Some(before) = self.forget(stream) {
            due.wakers.extend(before.waker);
        }
        push(
            &mut self.slots,
            Slot { stream, reader, head: Head::Awaited, refusal: None, replaying: None, waker: None },
        );
        reader
    }

    pub(super) fn slot(&mut self, stream: StreamId) -> Option<&mut Slot> {
        self.slots.iter_mut().find(|slot| slot.stream == stream)
    }

    pub(super) fn slot_of(&mut self, stream: StreamId, reader: u32) -> Option<&mut Slot> {
        self.slot(stream).filter(|slot| slot.reader == reader)
    }

    pub(super) fn forget(&mut self, stream: StreamId) -> Option<Slot> {
        take(&mut self.slots, |slot| slot.stream == stream)
    }
}

impl Hands<'_> {
    pub(super) fn handle(&mut self, keeper: Keeper<'_>, input: Input<'_>) -> Due {
        self.awake.machine.handle(keeper.now, input);
        self.drain(keeper)
    }

    pub(super) fn finish(&mut self, keeper: Keeper<'_>, ticket: Ticket, outcome: mcp_core::Outcome) -> Due {
        self.awake.land(ticket.call());
        self.handle(keeper, Input::Done { ticket, outcome })
    }

    pub(super) fn drain(&mut self, keeper: Keeper<'_>) -> Due {
        let mut due = Due::default();
        self.obey(keeper, &mut due);
        if let Some((stream, _)) = due.expected.filter(|_| due.refused) {
            self.readers.forget(stream);
            self.awake.machine.handle(keeper.now, Input::Detach { stream });
            self.obey(keeper, &mut due);
        }
        // A call that was answered or given up may have tasks that wait to speak for it; and a stream that is let go is read no more.
        due.wakers.extend(self.waiters.roomy(|call| self.awake.machine.has_room(call)));
        due
    }

    fn obey(&mut self, keeper: Keeper<'_>, due: &mut Due) {
        while let Some(output) = self.awake.machine.poll_output() {
            match output {
                Output::Expect(stream) => {
                    let reader = self.readers.expect(stream, due);
                    due.expected.get_or_insert((stream, reader));
                }
                Output::Resume(after) => {
                    due.refused = !keeper.log.is_some_and(|log| log.can_resume(keeper.session, after));
                    if let Some(slot) = self.readers.slot(after.stream) {
                        slot.replaying = NonZeroU64::new(after.number);
                    }
                }
                Output::Open { stream, reply } => {
                    if let Some(slot) = self.readers.slot(stream) {
                        slot.open(reply);
                        due.wakers.extend(slot.waker.take());
                    }
                }
                Output::Ready(stream) => match self.readers.slot(stream) {
                    Some(slot) => due.wakers.extend(slot.waker.take()),
                    None => self.keep(keeper, stream),
                },
                Output::Call(ticket, call) => {
                    push(&mut self.awake.running, Flight { call: call.id, stop: None });
                    due.calls.push(ticket, call);
                }
                Output::Abandon(call) => {
                    due.stops.extend(self.awake.land(call).and_then(|flight| flight.stop));
                }
                Output::Event(event) => log(&event),
                Output::Closed => {
                    self.awake.closed = true;
                    due.closed = true;
                    due.wakers.extend(self.readers.slots.iter_mut().filter_map(|slot| slot.waker.take()));
                }
                // Whoever has the lock looks for itself whether the session may sleep; and no session asks for room to listen.
                Output::Hibernate | Output::Listen(_) => {}
            }
        }
    }

    /// Nobody reads that stream now: what it has goes into the log.
    fn keep(&mut self, keeper: Keeper<'_>, stream: StreamId) {
        let mut buf = Vec::new();
        while keeper.log.is_some() && self.pull(keeper, stream, &mut buf) == Pull::More {
            buf.clear();
        }
    }

    fn pull(&mut self, keeper: Keeper<'_>, stream: StreamId, buf: &mut Vec<u8>) -> Pull {
        // `More` means that the limit was reached: it moves on with what is there already.
        let limit = buf.len() + CHUNK;
        let pulled = match keeper.log {
            Some(log) => self.awake.pull_logged(keeper.session, log, stream, buf, limit),
            None => self.awake.machine.pull(stream, buf, limit),
        };
        let pulled = if pulled == Pull::Wait && self.awake.closed { Pull::End } else { pulled };
        if pulled == Pull::End {
            self.readers.forget(stream);
            keeper.log.iter().for_each(|log| log.end(keeper.session, stream, keeper.now));
        }
        pulled
    }
}

impl Slot {
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }

    /// The event that the reader has, for as long as the log may have more.
    pub(super) fn replays_after(&self) -> Option<EventId> {
        Some(EventId { stream: self.stream, number: self.replaying?.get() })
    }
}

/// One reader and one call at a time are the usual numbers, and there may be many sessions: room is made for one.
fn push<T>(all: &mut Vec<T>, one: T) {
    if all.capacity() == 0 {
        all.reserve_exact(1);
    }
    all.push(one);
}

/// Takes one out. An idle session keeps no room for the many that it once had.
fn take<T>(all: &mut Vec<T>, is_it: impl Fn(&T) -> bool) -> Option<T> {
    let index = all.iter().position(is_it)?;
    let one = all.swap_remove(index);
    if all.is_empty() && all.capacity() > 1 {
        *all = Vec::new();
    }
    Some(one)
}
