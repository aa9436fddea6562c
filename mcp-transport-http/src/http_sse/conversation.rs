//! One client and its machine, behind a lock.
//!
//! The lock is held for one input and its outputs, never while a call runs, a waker is woken, or anything is awaited.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use mcp_core::drive::{Uplink, Waiters};
use mcp_core::{
    Call, CallId, Caller, Claim, Close, Fault, Gate, Input, Machine, Note, Output, Pipe, Pull, SessionId, StreamId,
    Ticket, Time, wire,
};

use crate::head::RequestHead;
use crate::listens::Seat;
use crate::run::Waiting;
use crate::shared::Shared;
use crate::source::{CHUNK, log};
use crate::sync::lock;

/// One conversation. It ends with its stream.
pub(crate) struct Conversation {
    id: SessionId,
    /// Who opened it.
    owner: Caller,
    shared: Weak<Shared>,
    state: Mutex<State>,
}

struct State {
    machine: Pipe,
    /// Calls that the driver has not begun.
    queued: VecDeque<Queued>,
    /// Every call that is waited for, begun or not.
    wanted: Vec<CallId>,
    /// The driver may run a call that nobody waits for any more.
    abandoned: bool,
    /// Until when a stream may stay unused; `None` once it was used.
    opening: Option<Time>,
    /// When the driver looks next by itself.
    armed: Time,
    driver: Option<Waker>,
    reader: Option<Waker>,
    waiting: Waiting,
    /// Calls that wait until the client has read more.
    waiters: Waiters,
    /// Once it listens: its machine bounds its own subscriptions, and this those of all (SUB-14).
    seat: Option<Seat>,
    closed: bool,
}

/// A call to begin.
pub(super) struct Queued {
    pub(super) ticket: Ticket,
    pub(super) call: Box<Call>,
    /// Of the request that started it.
    pub(super) context: Option<Arc<RequestHead>>,
}

/// What the driver has to do.
#[derive(Default)]
pub(super) struct Work {
    pub(super) calls: VecDeque<Queued>,
    /// The calls that are still waited for, if some no longer are.
    pub(super) wanted: Option<Vec<CallId>>,
    /// When to look again.
    pub(super) until: Option<Time>,
    pub(super) closed: bool,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Yes,
    /// Its client does not read what it is sent.
    Full,
    /// It wants to listen, and too many do.
    Refused(Fault),
    Ended,
}

impl Conversation {
    pub(super) fn new(id: SessionId, owner: Caller, shared: &Arc<Shared>) -> Arc<Self> {
        let now = shared.now();
        let state = State {
            machine: Pipe::new(shared.machine_id(), Arc::clone(shared.endpoint()), now),
            queued: VecDeque::new(),
            wanted: Vec::new(),
            abandoned: false,
            opening: Some(now.after(shared.endpoint().timing().opening)),
            armed: Time::MAX,
            driver: None,
            reader: None,
            waiting: Waiting::new(&shared.seats),
            waiters: Waiters::new(),
            seat: None,
            closed: false,
        };
        Arc::new(Self { id, owner, shared: Arc::downgrade(shared), state: Mutex::new(state) })
    }

    pub(super) fn belongs_to(&self, caller: &Caller) -> bool {
        self.owner.principal == caller.principal
    }

    /// Hands on what the client has sent, if there is room for what comes of it.
    pub(super) fn take(&self, shared: &Arc<Shared>, input: Input<'_>, context: &Arc<RequestHead>) -> Taken {
        let now = shared.now();
        let claim = match &input {
            Input::Message { message, .. } => {
                Claim::of_byte_stream(message, self.owner.principal.as_ref(), shared.endpoint().limits())
            }
            _ => None,
        };
        let woken = {
            let mut state = lock(&self.state);
            if state.closed {
                return Taken::Ended;
            }
            if state.is_full() {
                return Taken::Full;
            }
            if let Some(claim) = claim.filter(|_| state.seat.is_none()) {
                match Seat::reserve(shared, claim) {
                    Ok(seat) => state.seat = Some(seat),
                    Err(fault) => return Taken::Refused(fault),
                }
            }
            state.opening = None;
            state.handle(now, input, Some(context))
        };
        self.wake(shared, woken);
        Taken::Yes
    }

    /// Hands an input to the machine. The context is for the calls that come of it.
    pub(super) fn handle(&self, shared: &Shared, input: Input<'_>, context: Option<&Arc<RequestHead>>) {
        let now = shared.now();
        let woken = lock(&self.state).handle(now, input, context);
        self.wake(shared, woken);
    }

    /// The same for those who do not know the service.
    pub(super) fn tell(&self, input: Input<'_>) {
        if let Some(shared) = self.shared.upgrade() {
            self.handle(&shared, input, None);
        }
    }

    /// What a resource holds has changed: if somebody here follows it, they are told, unless they may not see it any more.
    pub(super) fn updated(&self, uri: &str) {
        let Some(shared) = self.shared.upgrade() else { return };
        // The handler is asked without the lock.
        let subscriber = lock(&self.state).machine.subscriber(uri).cloned();
        let Some(caller) = subscriber else { return };
        let view = shared.handler.view(&caller);
        self.handle(&shared, Input::Updated { uri, view: &view }, None);
    }

    /// A deadline has come.
    pub(super) fn tick(&self, shared: &Shared) {
        let now = shared.now();
        let woken = {
            let mut state = lock(&self.state);
            let unused = state.opening.is_some_and(|until| until <= now);
            if unused {
                tracing::debug!("a stream was opened and never used: it ends");
            }
            state.handle(now, if unused { Input::Close(Close::Peer) } else { Input::Tick }, None)
        };
        self.wake(shared, woken);
    }

    /// What there is to do. If that is nothing, has the machine wake the driver when there is.
    pub(super) fn poll_work(&self, cx: &Context<'_>) -> Work {
        let mut state = lock(&self.state);
        let calls = std::mem::take(&mut state.queued);
        let wanted = std::mem::take(&mut state.abandoned).then(|| state.wanted.clone());
        let deadline = state.machine.deadline().map(|(at, _)| at);
        let until = deadline.into_iter().chain(state.opening).min();
        state.armed = until.unwrap_or(Time::MAX);
        keep(&mut state.driver, cx);
        Work { calls, wanted, until, closed: state.closed }
    }

    /// Appends what waits as events, up to about a [`CHUNK`]. If that is nothing, has the machine wake the reader when there
    /// is.
    pub(super) fn poll_pull(&self, out: &mut Vec<u8>, cx: &Context<'_>) -> Pull {
        let mut state = lock(&self.state);
        let mut line = Vec::new();
        let pulled = loop {
            line.clear();
            // With a limit of 0 it is one message at a time.
            let pulled = state.machine.pull(StreamId::ONLY, &mut line, 0);
            message_event(out, &line);
            if pulled != Pull::More || out.len() >= CHUNK {
                break pulled;
            }
        };
        let unsent = state.machine.unsent();
        state.waiting.set(unsent);
        if out.is_empty() && pulled == Pull::Wait && !state.closed {
            keep(&mut state.reader, cx);
        }
        let pulled = if state.closed && pulled == Pull::Wait { Pull::End } else { pulled };
        let roomy = state.roomy();
        drop(state);
        roomy.into_iter().for_each(Waker::wake);
        pulled
    }

    /// The reader has gone, and with it the client. What it was not sent is let go: a link may outlive the conversation.
    pub(super) fn leave(&self, shared: &Shared) {
        self.handle(shared, Input::Close(Close::Peer), None);
        let mut state = lock(&self.state);
        let mut line = Vec::new();
        while state.machine.pull(StreamId::ONLY, &mut line, 0) == Pull::More {
            line.clear();
        }
        state.waiting.set(0);
    }

    fn wake(&self, shared: &Shared, woken: Woken) {
        [woken.reader, woken.driver].into_iter().flatten().chain(woken.roomy).for_each(Waker::wake);
        drop(woken.seat);
        if woken.closed
            && let Some(http_sse) = &shared.config.http_sse
        {
            http_sse.remove(self.id);
        }
    }
}

/// Who is to be woken once the lock is free.
#[derive(Default)]
struct Woken {
    reader: Option<Waker>,
    driver: Option<Waker>,
    roomy: Vec<Waker>,
    /// Given back with the others.
    seat: Option<Seat>,
    closed: bool,
}

impl State {
    /// Whether its client has to read before it may send more: it has left enough unread, or anything while all clients
    /// together have left too much.
    fn is_full(&self) -> bool {
        self.machine.gate() == Gate::Full || (self.machine.unsent() > 0 && self.waiting.is_congested())
    }

    fn handle(&mut self, now: Time, input: Input<'_>, context: Option<&Arc<RequestHead>>) -> Woken {
        if let Input::Done { ticket, .. } = &input {
            let ended = ticket.call();
            self.wanted.retain(|call| *call != ended);
        }
        self.machine.handle(now, input);
        let (mut woken, mut reads, mut works) = (Woken::default(), false, false);
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Call(ticket, call) => {
                    self.wanted.push(call.id);
                    self.queued.push_back(Queued { ticket, call, context: context.cloned() });
                    works = true;
                }
                Output::Abandon(call) => {
                    self.wanted.retain(|wanted| *wanted != call);
                    // One that was not begun needs no driver to be forgotten: those may be many.
                    let before = self.queued.len();
                    self.queued.retain(|queued| queued.ticket.call() != call);
                    self.abandoned |= before == self.queued.len();
                    works = true;
                }
                Output::Ready(_) => reads = true,
                Output::Closed => {
                    self.closed = true;
                    woken.closed = true;
                    woken.seat = self.seat.take();
                    reads = true;
                    works = true;
                }
                Output::Event(event) => log(&event),
                // A byte stream has no heads, nothing to resume, and no session to put away; it counts its own listeners.
                Output::Expect(_) | Output::Open { .. } | Output::Resume(_) | Output::Listen(_) | Output::Hibernate => {
                }
            }
        }
        self.waiting.set(self.machine.unsent());
        works |= self.machine.deadline().is_some_and(|(at, _)| at < self.armed);
        woken.reader = self.reader.take_if(|_| reads);
        woken.driver = self.driver.take_if(|_| works);
        woken.roomy = self.roomy();
        woken
    }

    /// Whether a call may say more; also if it is waited for no more.
    fn poll_room(&mut self, call: CallId, cx: &Context<'_>) -> Poll<()> {
        let has_room = self.machine.has_room(call);
        self.waiters.poll_room(call, has_room, cx)
    }

    /// The calls that need not wait any more, to be woken without the lock.
    fn roomy(&mut self) -> Vec<Waker> {
        self.waiters.roomy(|call| self.machine.has_room(call))
    }
}

impl Uplink for Conversation {
    fn note(&self, call: CallId, note: Note) {
        self.tell(Input::Note { call, note });
    }

    fn is_abandoned(&self, call: CallId) -> bool {
        !lock(&self.state).wanted.contains(&call)
    }

    fn poll_room(&self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        lock(&self.state).poll_room(call, cx)
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("id", &self.id).finish_non_exhaustive()
    }
}

fn keep(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}

/// HTTP-60: each message is an event of that name.
fn message_event(out: &mut Vec<u8>, line: &[u8]) {
    if let Some(json) = line.strip_suffix(b"\n") {
        out.extend_from_slice(b"event: message\n");
        wire::sse::event(out, None, json);
    }
}
