//! A legacy session that lives, or has readers: its machine, and those who wait for its streams, behind a lock.
//!
//! The lock is held for one input and its outputs, never while a call runs, the handler is asked, a waker is woken, or anything
//! is awaited. Every holder leaves the machine without outputs, so that the first output of an input says which stream answers
//! it. It is the first of three: within it the lock of a shard of the table may be taken, or that of the watch, and the latter
//! within the former. That of the log may be taken within any, and none within it.
//!
//! Where a log is kept, each event is in it before it is sent. What comes on a stream whose reader may come back is pulled into
//! the log at once, and a reader that has come back gets what the log has, and then what is pulled.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};

use mcp_core::drive::{Link, Uplink};
use mcp_core::{CallId, Caller, Close, Input, Machine, Note, Outcome, Session, SessionId, StreamId, Ticket};

use crate::head::RequestHead;
use crate::run::{self, Started};
use crate::sessions::Refusal;
use crate::shared::Shared;
use crate::source::Calls;
use crate::spawned::{Spawned, Stop};
use crate::sync::lock;

mod reader;
mod sleep;
mod state;

pub(crate) use reader::Reader;
pub(crate) use sleep::{Absent, For};
use state::{Awake, Keeper, Life, State};
pub(crate) use state::{Hands, Woken};

/// One session.
pub(crate) struct Cell {
    id: SessionId,
    shared: Weak<Shared>,
    state: Mutex<State>,
}

/// What the outputs of one input ask for, once the lock is free again.
#[derive(Default)]
struct Due {
    /// The stream that answers the input, and its reader.
    expected: Option<(StreamId, u32)>,
    /// The log cannot resume that stream.
    refused: bool,
    calls: Calls,
    wakers: Vec<Waker>,
    stops: Vec<Arc<Stop>>,
    closed: bool,
}

impl Cell {
    /// A new session.
    pub(crate) fn new(id: SessionId, machine: Session, shared: &Arc<Shared>) -> Arc<Self> {
        Self::with(id, Life::Awake(Box::new(Awake::new(machine))), shared)
    }

    /// One that whoever enters it wakes.
    pub(crate) fn waking(id: SessionId, woken: Woken, shared: &Arc<Shared>) -> Arc<Self> {
        Self::with(id, Life::Waking(Box::new(woken)), shared)
    }

    fn with(id: SessionId, life: Life, shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { id, shared: Arc::downgrade(shared), state: Mutex::new(State::new(life)) })
    }

    /// Hands the first message to a new session. The reader is of the stream that answers it.
    pub(crate) fn open(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        input: Input<'_>,
        context: &Arc<RequestHead>,
        cx: &mut Context<'_>,
    ) -> Reader {
        let due = self.handle(shared, input);
        self.answer(shared, due, Some(context), cx)
    }

    /// Hands a message, or a GET, to the machine of a session, and takes it out of `input` for it. The reader is of the stream
    /// that answers it; the context is for the calls that the message starts.
    pub(crate) fn ask(
        shared: &Arc<Shared>,
        id: SessionId,
        from: &Caller,
        input: &mut Option<Input<'_>>,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) -> Result<Reader, Refusal> {
        let keeper = Keeper { log: shared.log.as_ref(), session: id, now: shared.now() };
        let (cell, due) = shared.sessions.with(shared, id, For::Caller(from), |hands| {
            if !hands.awake.established && hands.awake.machine.belongs_to(from) {
                hands.awake.established = true;
                shared.sessions.established(id);
            }
            input.take().map(|input| hands.handle(keeper, input)).unwrap_or_default()
        })?;
        Ok(cell.answer(shared, due, context, cx))
    }

    /// Ends the session of that id, if it belongs to the caller (HTTP-21).
    pub(crate) fn delete(shared: &Arc<Shared>, id: SessionId, caller: &Caller) -> Result<(), Refusal> {
        let keeper = Keeper { log: shared.log.as_ref(), session: id, now: shared.now() };
        let ended = shared.sessions.with(shared, id, For::Caller(caller), |hands| {
            let belongs = hands.awake.machine.belongs_to(caller);
            belongs.then(|| hands.handle(keeper, Input::Close(Close::Peer)))
        });
        match ended {
            Ok((cell, Some(due))) => {
                cell.perform_elsewhere(shared, due);
                Ok(())
            }
            Ok((_, None)) => Err(Refusal::Unknown),
            // It is the caller's, and needs no seat to end.
            Err(Refusal::Full(_)) => {
                shared.sessions.end_asleep(shared, id);
                Ok(())
            }
            Err(unknown) => Err(unknown),
        }
    }

    fn answer(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        due: Due,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) -> Reader {
        // The core promises `Expect`; a stream that is not there ends at once.
        let (stream, reader) = due.expected.unwrap_or((StreamId::ONLY, u32::MAX));
        let reader = Reader::new(self, shared, stream, reader, due.refused);
        self.perform(shared, due, context, cx);
        reader
    }

    /// Hands an input to the machine that nobody waits for an answer to. One that sleeps does not wake for it.
    pub(crate) fn tell(self: &Arc<Self>, shared: &Shared, input: Input<'_>) {
        let keeper = self.keeper(shared);
        if let Ok(due) = self.visit(shared, For::News, |hands| hands.handle(keeper, input)) {
            self.perform_elsewhere(shared, due);
        }
    }

    /// What a resource holds has changed: if the session follows it, its client is told, unless it may not see it any more.
    pub(crate) fn updated(self: &Arc<Self>, shared: &Shared, uri: &str) {
        // The handler is asked without the lock.
        let subscriber = self.visit(shared, For::News, |hands| hands.awake.machine.subscriber(uri).cloned());
        let Ok(Some(caller)) = subscriber else { return };
        let view = shared.handler.view(&caller);
        self.tell(shared, Input::Updated { uri, view: &view });
    }

    /// The roster says that a deadline of a session has come.
    pub(crate) fn tick(shared: &Arc<Shared>, id: SessionId) {
        let keeper = Keeper { log: shared.log.as_ref(), session: id, now: shared.now() };
        let ticked = shared.sessions.with(shared, id, For::Deadline, |hands| {
            hands.awake.armed = mcp_core::Time::MAX;
            hands.handle(keeper, Input::Tick)
        });
        if let Ok((cell, due)) = ticked {
            cell.perform_elsewhere(shared, due);
        }
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
        // No call is waited for in a session that sleeps: this one was given up before.
        let due = state.hands().map(|mut hands| hands.finish(keeper, ticket, outcome)).unwrap_or_default();
        self.settle(&mut state, shared);
        due
    }

    fn handle(&self, shared: &Shared, input: Input<'_>) -> Due {
        let keeper = self.keeper(shared);
        let mut state = self.lock();
        let due = state.hands().map(|mut hands| hands.handle(keeper, input)).unwrap_or_default();
        self.settle(&mut state, shared);
        due
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
        let mut state = self.lock();
        let flight = state.awake_mut().and_then(|awake| awake.running.iter_mut().find(|flight| flight.call == id));
        let wanted = match flight {
            Some(running) => {
                running.stop = Some(Arc::clone(&stop));
                true
            }
            // It was abandoned meanwhile.
            None => false,
        };
        drop(state);
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
            // The roster keeps the deadlines of those who sleep.
            let Some(awake) = state.awake_mut() else { return };
            match awake.machine.deadline() {
                Some((at, _)) if at < awake.armed && !awake.closed => awake.armed = at,
                _ => return,
            }
            awake.armed
        };
        shared.sessions.arm(self.id, at);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
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
        !self.lock().awake().is_some_and(|awake| awake.running.iter().any(|flight| flight.call == call))
    }

    fn poll_room(&self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        self.lock().poll_room(call, cx)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("id", &self.id).finish_non_exhaustive()
    }
}
