//! A live legacy session: its machine behind a lock, and those who wait for its streams.
//!
//! The lock is held for one input and its outputs, never while a call runs, a waker is woken, or anything is awaited.
//! Every holder leaves the machine without outputs, so that the first output of an input says which stream answers it.
//!
//! Where a log is kept, each event is in it before it is sent. What comes on a stream whose reader may come back is pulled into
//! the log at once, and a reader that has come back gets what the log has, and then what is pulled.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};

use mcp_core::drive::{Link, Uplink};
use mcp_core::{
    CallId, Caller, Close, EventId, Input, Machine, Note, Outcome, Output, Pull, Reply, Session, SessionId, StreamId,
    Ticket, Time,
};

use crate::head::RequestHead;
use crate::log::Log;
use crate::run::{self, Started};
use crate::shared::Shared;
use crate::source::{CHUNK, Calls, log};
use crate::spawned::{Spawned, Stop};
use crate::sync::lock;

mod reader;

pub(crate) use reader::Reader;

/// One session.
pub(crate) struct Cell {
    id: SessionId,
    shared: Weak<Shared>,
    state: Mutex<State>,
}

struct State {
    machine: Session,
    /// The streams that somebody reads, or will read.
    readers: Vec<Slot>,
    /// The next name of a reader.
    next_reader: u64,
    running: Vec<Flight>,
    /// When the roster will have this session looked at.
    armed: Time,
    closed: bool,
}

struct Slot {
    stream: StreamId,
    /// Who reads it: a stream that is resumed has one reader after another.
    reader: u64,
    opened: Option<Reply>,
    /// What the reader has, for as long as the log may have more.
    replaying: Option<EventId>,
    waker: Option<Waker>,
}

/// Where a session's events go, and when.
#[derive(Clone, Copy)]
struct Keeper<'a> {
    log: Option<&'a Log>,
    session: SessionId,
    now: Time,
}

/// A call that runs.
struct Flight {
    call: CallId,
    /// Once it was spawned, how to stop it.
    stop: Option<Arc<Stop>>,
}

/// What the outputs of one input ask for, once the lock is free again.
#[derive(Default)]
struct Due {
    /// The stream that answers the input, and its reader.
    expected: Option<(StreamId, u64)>,
    /// The log cannot resume that stream.
    refused: bool,
    calls: Calls,
    wakers: Vec<Waker>,
    stops: Vec<Arc<Stop>>,
    closed: bool,
}

impl Cell {
    pub(crate) fn new(id: SessionId, machine: Session, shared: &Arc<Shared>) -> Arc<Self> {
        let state = State {
            machine,
            readers: Vec::new(),
            next_reader: 0,
            running: Vec::new(),
            armed: Time::MAX,
            closed: false,
        };
        Arc::new(Self { id, shared: Arc::downgrade(shared), state: Mutex::new(state) })
    }

    /// Hands a message, or a GET, to the machine. The reader is of the stream that answers it; the context is for the
    /// calls that the message starts.
    pub(crate) fn ask(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        input: Input<'_>,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) -> Reader {
        let due = self.handle(shared, input);
        // The core promises `Expect`; a stream that is not there ends at once.
        let (stream, reader) = due.expected.unwrap_or((StreamId::ONLY, u64::MAX));
        let reader = Reader::new(self, shared, stream, reader, due.refused);
        self.perform(shared, due, context, cx);
        reader
    }

    /// Ends the session, if it belongs to the caller. Returns whether it does (HTTP-21).
    pub(crate) fn delete(self: &Arc<Self>, shared: &Shared, caller: &Caller) -> bool {
        let belongs = self.lock().machine.belongs_to(caller);
        if belongs {
            self.tell(shared, Input::Close(Close::Peer));
        }
        belongs
    }

    /// Hands an input to the machine that nobody waits for an answer to.
    pub(crate) fn tell(self: &Arc<Self>, shared: &Shared, input: Input<'_>) {
        let due = self.handle(shared, input);
        self.perform_elsewhere(shared, due);
    }

    /// What a resource holds has changed: if the session follows it, its client is told, unless it may not see it any more.
    pub(crate) fn updated(self: &Arc<Self>, shared: &Shared, uri: &str) {
        // The handler is asked without the lock.
        let subscriber = self.lock().machine.subscriber(uri).cloned();
        let Some(caller) = subscriber else { return };
        let view = shared.handler.view(&caller);
        self.tell(shared, Input::Updated { uri, view: &view });
    }

    /// The roster says that a deadline has come.
    pub(crate) fn tick(self: &Arc<Self>, shared: &Shared) {
        self.lock().armed = Time::MAX;
        self.tell(shared, Input::Tick);
    }

    /// A call has ended. If it is run again, that is by the same request.
    pub(crate) fn done(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        ticket: Ticket,
        outcome: Outcome,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) {
        let due = self.finish(shared, ticket, outcome);
        self.perform(shared, due, context, cx);
    }

    /// A call has ended without an outcome: the runtime has dropped its task.
    pub(crate) fn lost(self: &Arc<Self>, shared: &Shared, ticket: Ticket) {
        let due = self.finish(shared, ticket, run::lost());
        self.perform_elsewhere(shared, due);
    }

    fn finish(&self, shared: &Shared, ticket: Ticket, outcome: Outcome) -> Due {
        let keeper = self.keeper(shared);
        let mut state = self.lock();
        state.land(ticket.call());
        state.machine.handle(keeper.now, Input::Done { ticket, outcome });
        state.drain(keeper)
    }

    fn handle(&self, shared: &Shared, input: Input<'_>) -> Due {
        let keeper = self.keeper(shared);
        let mut state = self.lock();
        state.machine.handle(keeper.now, input);
        state.drain(keeper)
    }

    fn keeper<'a>(&self, shared: &'a Shared) -> Keeper<'a> {
        Keeper { log: shared.log.as_ref(), session: self.id, now: shared.now() }
    }

    /// Does what is due, with calls polled first where this task stands.
    ///
    /// What is due comes of one input alone, and so do its calls, and what comes of their ends: the context is of them all.
    fn perform(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        due: Due,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) {
        let mut calls = self.announce(shared, due);
        while let Some((ticket, call)) = calls.pop() {
            let due = self.start(shared, ticket, *call, context, cx);
            let mut more = due.map(|due| self.announce(shared, due)).unwrap_or_default();
            while let Some((ticket, call)) = more.pop() {
                calls.push(ticket, call);
            }
        }
        self.arm(shared);
    }

    /// Does what is due where no call may be run.
    fn perform_elsewhere(self: &Arc<Self>, shared: &Shared, due: Due) {
        let calls = self.announce(shared, due);
        self.arm(shared);
        if calls.is_empty() {
            return;
        }
        let (cell, weak) = (Arc::clone(self), Weak::clone(&self.shared));
        let mut due = Some(Due { calls, ..Due::default() });
        shared.runtime.spawn(Box::pin(std::future::poll_fn(move |cx| {
            if let (Some(shared), Some(due)) = (weak.upgrade(), due.take()) {
                // A timer has started these calls, not a request.
                cell.perform(&shared, due, None, cx);
            }
            Poll::Ready(())
        })));
    }

    /// Wakes and stops whom it concerns.
    fn announce(&self, shared: &Shared, due: Due) -> Calls {
        due.wakers.into_iter().for_each(Waker::wake);
        due.stops.iter().for_each(|stop| stop.stop());
        if due.closed {
            shared.sessions.remove(self.id);
            shared.log.iter().for_each(|log| log.forget(self.id));
        }
        due.calls
    }

    /// Runs a call. If it is not done when it was polled once, it goes on as a task: it outlives its request (HTTP-28).
    fn start(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        ticket: Ticket,
        call: mcp_core::Call,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) -> Option<Due> {
        let id = call.id;
        let mut link = Link::new(id, Arc::clone(self) as Arc<dyn Uplink>);
        if let Some(context) = context {
            link = link.with_context(Arc::<RequestHead>::clone(context));
        }
        let run = match run::start(&*shared.handler, &shared.seats, call, link, cx) {
            Started::Done(outcome) => return Some(self.finish(shared, ticket, outcome)),
            Started::Pending(run) => run,
        };
        let stop = Arc::new(Stop::default());
        let wanted = match self.lock().running.iter_mut().find(|running| running.call == id) {
            Some(running) => {
                running.stop = Some(Arc::clone(&stop));
                true
            }
            // It was abandoned meanwhile.
            None => false,
        };
        if wanted {
            let task = Spawned::new(shared, Arc::clone(self), ticket, run, context.cloned(), stop);
            shared.runtime.spawn(Box::pin(task));
        }
        None
    }

    /// Has the roster look at the session by its deadline. A busy session moves it to later times only, which costs
    /// nothing here.
    fn arm(&self, shared: &Shared) {
        let at = {
            let mut state = self.lock();
            match state.machine.deadline() {
                Some((at, _)) if at < state.armed && !state.closed => state.armed = at,
                _ => return,
            }
            state.armed
        };
        shared.sessions.arm(self.id, at);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn drain(&mut self, keeper: Keeper<'_>) -> Due {
        let mut due = Due::default();
        self.obey(keeper, &mut due);
        if let Some((stream, _)) = due.expected.filter(|_| due.refused) {
            self.forget(stream);
            self.machine.handle(keeper.now, Input::Detach { stream });
            self.obey(keeper, &mut due);
        }
        due
    }

    fn obey(&mut self, keeper: Keeper<'_>, due: &mut Due) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Expect(stream) => {
                    let reader = self.expect(stream, due);
                    due.expected.get_or_insert((stream, reader));
                }
                Output::Resume(after) => {
                    due.refused = !keeper.log.is_some_and(|log| log.can_resume(keeper.session, after));
                    if let Some(slot) = self.slot(after.stream) {
                        slot.replaying = Some(after);
                    }
                }
                Output::Open { stream, reply } => {
                    if let Some(slot) = self.slot(stream) {
                        slot.opened = Some(reply);
                        due.wakers.extend(slot.waker.take());
                    }
                }
                Output::Ready(stream) => match self.slot(stream) {
                    Some(slot) => due.wakers.extend(slot.waker.take()),
                    None => self.keep(keeper, stream),
                },
                Output::Call(ticket, call) => {
                    push(&mut self.running, Flight { call: call.id, stop: None });
                    due.calls.push(ticket, call);
                }
                Output::Abandon(call) => {
                    due.stops.extend(self.land(call).and_then(|flight| flight.stop));
                }
                Output::Event(event) => log(&event),
                Output::Closed => {
                    self.closed = true;
                    due.closed = true;
                    due.wakers.extend(self.readers.iter_mut().filter_map(|slot| slot.waker.take()));
                }
                // No session asks for room to listen.
                Output::Listen(_) | Output::Hibernate => {}
            }
        }
    }

    /// Somebody will read that stream, from now on in place of whoever has.
    fn expect(&mut self, stream: StreamId, due: &mut Due) -> u64 {
        let reader = self.next_reader;
        self.next_reader += 1;
        if let Some(before) = take(&mut self.readers, |slot| slot.stream == stream) {
            due.wakers.extend(before.waker);
        }
        push(&mut self.readers, Slot { stream, reader, opened: None, replaying: None, waker: None });
        reader
    }

    /// Nobody reads that stream now: what it has goes into the log.
    fn keep(&mut self, keeper: Keeper<'_>, stream: StreamId) {
        let mut buf = Vec::new();
        while keeper.log.is_some() && self.pull(keeper, stream, &mut buf) == Pull::More {
            buf.clear();
        }
    }

    fn slot(&mut self, stream: StreamId) -> Option<&mut Slot> {
        self.readers.iter_mut().find(|slot| slot.stream == stream)
    }

    fn slot_of(&mut self, stream: StreamId, reader: u64) -> Option<&mut Slot> {
        self.slot(stream).filter(|slot| slot.reader == reader)
    }

    fn pull(&mut self, keeper: Keeper<'_>, stream: StreamId, buf: &mut Vec<u8>) -> Pull {
        // `More` means that the limit was reached: it moves on with what is there already.
        let limit = buf.len() + CHUNK;
        let pulled = match keeper.log {
            Some(log) => self.pull_logged(keeper.session, log, stream, buf, limit),
            None => self.machine.pull(stream, buf, limit),
        };
        let pulled = if pulled == Pull::Wait && self.closed { Pull::End } else { pulled };
        if pulled == Pull::End {
            self.forget(stream);
            keeper.log.iter().for_each(|log| log.end(keeper.session, stream, keeper.now));
        }
        pulled
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

    fn forget(&mut self, stream: StreamId) {
        take(&mut self.readers, |slot| slot.stream == stream);
    }

    fn land(&mut self, call: CallId) -> Option<Flight> {
        take(&mut self.running, |flight| flight.call == call)
    }
}

impl Slot {
    fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
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

impl Uplink for Cell {
    fn note(&self, call: CallId, note: Note) {
        let Some(shared) = self.shared.upgrade() else { return };
        let due = self.handle(&shared, Input::Note { call, note });
        // A note makes no call; its streams are the ones to wake.
        let calls = self.announce(&shared, due);
        debug_assert!(calls.is_empty(), "a note has made a call");
    }

    fn is_abandoned(&self, call: CallId) -> bool {
        !self.lock().running.iter().any(|flight| flight.call == call)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("id", &self.id).finish_non_exhaustive()
    }
}
