//! A durable session that this node owns: its state behind a lock, and those who wait for its streams.
//!
//! The lock is held for one input and its outputs, never while a call runs, a waker is woken, or anything is awaited. What has
//! to be stored first is carried out by [`commit`](super::commit).

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};

use mcp_core::drive::{Link, Uplink};
use mcp_core::{CallId, Fault, Input, Machine as _, Note, Outcome, Session, StreamId, Ticket, Time};

use super::batch::Batch;
use super::reader::Local;
use super::state::{At, Due, Flight, Held, Life, State};
use super::{Node, unavailable};
use crate::bell::Bell;
use crate::head::RequestHead;
use crate::run::{self, Started};
use crate::shared::Shared;
use crate::spawned::{Home, Spawned, Stop};
use crate::store::SessionKey;
use crate::sync::lock;

/// Readers of one session, those that wait for the store among them: 512. Each is a request.
const READERS: usize = 512;

/// One session.
pub(super) struct Cell {
    key: SessionKey,
    node: Arc<Node>,
    shared: Weak<Shared>,
    me: Weak<Self>,
    state: Mutex<State>,
    /// Rings when something was stored, renewed or let go, and when a call or a reader has ended.
    pub(super) bell: Bell,
}

/// What the store said of a session that is taken over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    pub(super) version: u64,
    pub(super) lease_until: Time,
    /// Nothing can have happened since it was stored.
    pub(super) clean: bool,
}

impl Cell {
    pub(super) fn opened(node: &Arc<Node>, shared: &Arc<Shared>, key: SessionKey, machine: Session) -> Arc<Self> {
        let now = shared.now();
        // Nobody else knows of it before it is stored.
        let state = State::new(machine, node.listed(shared), Time::MAX, now);
        Self::new(node, shared, key, state)
    }

    pub(super) fn taken_over(
        node: &Arc<Node>,
        shared: &Arc<Shared>,
        key: SessionKey,
        machine: Session,
        beginning: Beginning,
    ) -> Arc<Self> {
        let Beginning { version, lease_until, clean } = beginning;
        let state = State::new(machine, node.listed(shared), lease_until, shared.now()).taken_over(version, clean);
        Self::new(node, shared, key, state)
    }

    fn new(node: &Arc<Node>, shared: &Arc<Shared>, key: SessionKey, state: State) -> Arc<Self> {
        let (node, shared) = (Arc::clone(node), Arc::downgrade(shared));
        let (state, bell) = (Mutex::new(state), Bell::default());
        Arc::new_cyclic(|me| Self { key, node, shared, me: Weak::clone(me), state, bell })
    }

    pub(super) const fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(super) const fn node(&self) -> &Arc<Node> {
        &self.node
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Hands a message, or a GET, to the machine. The reader is of the stream that answers it; the context is for the calls that
    /// the message starts. `None`: the session is not here any more, or may not be.
    pub(super) fn ask(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        input: Input<'_>,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) -> Option<Local> {
        let owed = match &input {
            Input::Message { message, .. } => message.id().cloned(),
            _ => None,
        };
        let due = self.handle(shared, input, context).ok()?;
        // The core promises `Expect`; a stream that is not there ends at once.
        let (stream, reader) = due.expected.unwrap_or((StreamId::ONLY, u64::MAX));
        let local = Local::new(self, shared, stream, reader, owed);
        self.perform(shared, due, cx);
        Some(local)
    }

    /// Hands an input to the machine that nobody waits for an answer to. Returns whether it was taken.
    pub(super) fn tell(self: &Arc<Self>, shared: &Shared, input: Input<'_>) -> bool {
        let handled = self.handle(shared, input, None);
        handled.map(|due| self.perform_elsewhere(shared, due)).is_ok()
    }

    /// Carries out what a session begins with that was taken over: what became of its calls is told.
    pub(super) fn begin(self: &Arc<Self>, shared: &Shared) {
        self.act(shared, |state, at| state.tick(at));
    }

    /// The roster says that a deadline has come.
    pub(super) fn tick(self: &Arc<Self>, shared: &Shared) {
        self.lock().armed = Time::MAX;
        self.act(shared, |state, at| state.tick(at));
    }

    /// What a resource holds has changed: if the session follows it, its client is told, unless it may not see it any more.
    pub(super) fn updated(self: &Arc<Self>, shared: &Shared, uri: &str) {
        if self.lock().follows_asleep(uri) {
            self.act(shared, State::rouse);
        }
        let subscriber = self.lock().machine().and_then(|machine| machine.subscriber(uri)).cloned();
        let Some(caller) = subscriber else { return };
        // The handler is asked without the lock.
        let view = shared.handler.view(&caller);
        self.tell(shared, Input::Updated { uri, view: &view });
    }

    /// The catalogue was swapped.
    pub(super) fn changed(self: &Arc<Self>, shared: &Shared, catalog: &Arc<mcp_core::Catalog>, what: mcp_core::Change) {
        let woken = {
            let at = self.at(shared);
            let mut state = self.lock();
            let heard = if state.life == Life::Live { state.hear_of_change(at) } else { None };
            heard.map(|due| state.with_roomy(due))
        };
        match woken {
            Some(due) => self.perform_elsewhere(shared, due),
            None => {
                self.tell(shared, Input::Changed { catalog: Arc::clone(catalog), what });
            }
        }
    }

    /// The reader of a stream has gone.
    pub(super) fn detach(self: &Arc<Self>, shared: &Shared, stream: StreamId, reader: u64) {
        let forgotten = {
            let mut state = self.lock();
            if state.slot_of(stream, reader).is_none() {
                return;
            }
            state.forget(stream)
        };
        // Of a stream that has ended the machine knows nothing more; but if nobody else reads, the session may sleep now.
        match forgotten {
            Some(slot) if slot.has_ended() => self.act(shared, |state, at| state.settle(at)),
            _ => {
                self.tell(shared, Input::Detach { stream });
            }
        }
        self.bell.ring();
    }

    /// Its lease is good until then.
    pub(super) fn renewed(&self, until: Time) {
        let wakers: Vec<Waker> = {
            let mut state = self.lock();
            state.lease_until = state.lease_until.max(until);
            state.slots.iter_mut().filter_map(super::slot::Slot::take_waker).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
        self.bell.ring();
    }

    /// It is another node's, or nobody's.
    pub(super) fn fenced(self: &Arc<Self>, shared: &Shared) {
        let due = {
            let mut state = self.lock();
            if state.life == Life::Left {
                return;
            }
            let due = state.fenced();
            state.with_roomy(due)
        };
        tracing::warn!(session = ?self.key.session, "a session is not this node's any more: it is dropped here");
        self.perform_elsewhere(shared, due);
    }

    /// Whether a request may be handed to it now. Waits for a lease that is about to be renewed.
    ///
    /// # Errors
    ///
    /// The outer one where the session is not here any more, the inner one where it takes none now.
    pub(super) async fn admit(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<Result<(), Fault>, Gone> {
        let patience = self.node.cluster.patience;
        let mut limit = None;
        let mut heard = 0;
        loop {
            let now = shared.now();
            {
                let state = self.lock();
                if state.life != Life::Live {
                    return Err(Gone);
                }
                let fails = state.failing.is_some_and(|since| now.since(since).0 >= super::span(patience).0);
                if fails || state.slots.len() >= READERS {
                    return Ok(Err(unavailable()));
                }
                if now < state.lease_until {
                    return Ok(Ok(()));
                }
            }
            let limit = limit.get_or_insert_with(|| shared.runtime.sleep(patience));
            let over = poll_fn(|cx| match self.bell.poll_ring(&mut heard, cx) {
                Poll::Ready(()) => Poll::Ready(false),
                Poll::Pending => limit.as_mut().poll(cx).map(|()| true),
            });
            if over.await {
                return Ok(Err(unavailable()));
            }
        }
    }

    /// Waits until it has left, and its place is free.
    pub(super) async fn gone(&self) {
        let mut heard = 0;
        let is_there = || self.node.table.here(&self.key).is_some_and(|cell| std::ptr::eq(&*cell, self));
        while !matches!(self.lock().life, Life::Left | Life::Fenced) || is_there() {
            poll_fn(|cx| self.bell.poll_ring(&mut heard, cx)).await;
        }
    }

    fn handle(&self, shared: &Shared, input: Input<'_>, context: Option<&Arc<RequestHead>>) -> Result<Due, Gone> {
        let at = self.at(shared);
        let mut state = self.lock();
        let by_client = matches!(input, Input::Message { .. } | Input::Attach { .. });
        if state.life != Life::Live || (by_client && at.now >= state.lease_until) {
            return Err(Gone);
        }
        let due = state.handle(at, input, context);
        Ok(state.with_roomy(due))
    }

    /// Does something with a session that is still here.
    pub(super) fn act(self: &Arc<Self>, shared: &Shared, act: impl FnOnce(&mut State, At<'_>) -> Due) {
        let at = self.at(shared);
        let due = {
            let mut state = self.lock();
            if state.life != Life::Live {
                return;
            }
            let due = act(&mut state, at);
            state.with_roomy(due)
        };
        self.perform_elsewhere(shared, due);
    }

    /// The same, whatever has become of it.
    pub(super) fn change(&self, change: impl FnOnce(&mut State) -> Due) -> Due {
        let mut state = self.lock();
        let due = change(&mut state);
        state.with_roomy(due)
    }

    pub(super) fn at<'a>(&self, shared: &'a Shared) -> At<'a> {
        At {
            now: shared.now(),
            endpoint: shared.endpoint(),
            listed: self.node.listed(shared),
            machine: shared.machine_id(),
            lease: super::span(self.node.cluster.lease),
        }
    }

    /// Does what is due, with calls polled first where this task stands.
    ///
    /// What is due comes of one input alone, and so do its calls, and what comes of their ends.
    fn perform(self: &Arc<Self>, shared: &Arc<Shared>, due: Due, cx: &mut Context<'_>) {
        let mut calls: std::collections::VecDeque<Held> = self.announce(due).into();
        while let Some((ticket, call, context)) = calls.pop_front() {
            if let Some(due) = self.start(shared, ticket, *call, context.as_ref(), cx) {
                calls.extend(self.announce(due));
            }
        }
        self.arm();
    }

    /// Does what is due where no call may be run.
    pub(super) fn perform_elsewhere(self: &Arc<Self>, shared: &Shared, due: Due) {
        let calls = self.announce(due);
        self.arm();
        if calls.is_empty() {
            return;
        }
        let (cell, weak) = (Arc::clone(self), Weak::clone(&self.shared));
        let mut due = Some(Due { calls, ..Due::default() });
        shared.runtime.spawn(Box::pin(poll_fn(move |cx| {
            if let (Some(shared), Some(due)) = (weak.upgrade(), due.take()) {
                cell.perform(&shared, due, cx);
            }
            Poll::Ready(())
        })));
    }

    /// Wakes and stops whom it concerns, and has stored what is to be stored.
    fn announce(self: &Arc<Self>, due: Due) -> Vec<Held> {
        due.wakers.into_iter().for_each(Waker::wake);
        due.stops.iter().for_each(|stop| stop.stop());
        if let Some(batch) = due.batch {
            self.store(batch);
        }
        if due.left {
            let armed = std::mem::replace(&mut self.lock().armed, Time::MAX);
            self.node.deadlines.disarm(&self.key, armed);
            self.node.table.remove(self);
            self.bell.ring();
        }
        due.calls
    }

    /// Has something stored. Also said by threads that are none of the runtime's, so a task of the node's begins with it.
    fn store(self: &Arc<Self>, batch: Batch) {
        self.node.to_store(Arc::clone(self), batch);
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
        if self.is_abandoned(id) {
            return None;
        }
        let mut link = Link::new(id, Arc::clone(self) as Arc<dyn Uplink>);
        if let Some(context) = context {
            link = link.with_context(Arc::<RequestHead>::clone(context));
        }
        let run = match run::start(&*shared.handler, &shared.seats, call, link, cx) {
            Started::Done(outcome) => return self.handle(shared, Input::Done { ticket, outcome }, context).ok(),
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

    /// Has the session looked at by its deadline. A busy session moves it to later times only, which costs nothing here.
    fn arm(&self) {
        let (before, at) = {
            let mut state = self.lock();
            match state.deadline() {
                Some(at) if at < state.armed && state.life == Life::Live => {
                    (std::mem::replace(&mut state.armed, at), at)
                }
                _ => return,
            }
        };
        self.node.deadlines.arm(&self.key, before, at);
    }

    /// Lets the session go, since the node goes down, unless its calls have not ended yet or something is being stored. Returns
    /// whether it has gone.
    pub(super) fn let_go(self: &Arc<Self>, shared: &Shared) -> bool {
        let at = self.at(shared);
        let due = self.change(|state| state.let_go(at));
        self.perform_elsewhere(shared, due);
        matches!(self.lock().life, Life::Left | Life::Fenced)
    }

    /// Has the calls that run answered as interrupted: the node goes down.
    pub(super) fn interrupt(&self) {
        let stops: Vec<Arc<Stop>> = self.lock().running.iter().filter_map(|Flight { stop, .. }| stop.clone()).collect();
        stops.iter().for_each(|stop| stop.interrupt());
    }
}

/// The session is not here any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gone;

impl Home for Cell {
    fn done(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        ticket: Ticket,
        outcome: Outcome,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) {
        if let Ok(due) = self.handle(shared, Input::Done { ticket, outcome }, context) {
            self.perform(shared, due, cx);
        }
        self.bell.ring();
    }

    fn lost(self: &Arc<Self>, shared: &Shared, ticket: Ticket) {
        self.tell(shared, Input::Done { ticket, outcome: run::lost() });
        self.bell.ring();
    }
}

impl Uplink for Cell {
    fn note(&self, call: CallId, note: Note) {
        let (Some(shared), Some(cell)) = (self.shared.upgrade(), self.me.upgrade()) else { return };
        cell.tell(&shared, Input::Note { call, note });
    }

    fn is_abandoned(&self, call: CallId) -> bool {
        !self.lock().running.iter().any(|flight| flight.call == call)
    }

    fn poll_room(&self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        self.lock().poll_room(call, cx)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("key", &self.key).finish_non_exhaustive()
    }
}
