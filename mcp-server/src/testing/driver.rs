//! The server's end of a conversation in memory: the machine, its clock, and the calls that run.
//!
//! ```text
//!   send ──► Pipe ──► Handler::call ──► parked, polled by whoever waits for the client
//!   jump ──►  │ ▲                          │
//!   hear ◄────┘ └────── Done, Note ────────┘
//! ```
//!
//! What the machine says is taken from it at once, so a client hears every word: a slow reader's progress would be merged.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{self, Poll, Wake, Waker};

use mcp_core::catalog::Catalog;
use mcp_core::drive::{Handler, Link, Running, Uplink, Waiters, Watcher};
use mcp_core::wire::lines::{Line, Splitter};
use mcp_core::wire::{self, Unread};
use mcp_core::{
    Call, CallId, Caller, Change, Close, Input, Kind, Machine, MachineId, Note, Outcome, Output, Pipe, Pull, Span,
    StreamId, Ticket, Time,
};

use super::transcript::{Record, Step};

/// When each conversation begins: 2026-01-01T00:00:00Z. Always the same, so that a conversation can be had again.
pub(super) const START: Time = Time(1_767_225_600_000);

/// The most messages of the server's that wait to be looked at. A tool that says more at one go says it for ever.
const UNHEARD: usize = 100_000;

/// Messages that nobody has looked at from which calls wait that wait for their client.
const UNREAD: usize = 1000;

/// Rounds without news after which calls have gone as far as they go. A task that was woken runs within one or two of them.
const QUIET: u32 = 4;

/// Rounds after which calls that never rest are let be.
const RESTLESS: u32 = 1000;

/// What a transport knows of a request, of a type of its own.
pub(super) type Context = Arc<dyn Any + Send + Sync>;

/// The most things that fall due in one jump. The rest is jumped over: pings of centuries are nobody's test.
const DUE: u32 = 100_000;

/// How often in a row a test may be answered without a wait while other calls wait for their turn. One that asks again and
/// again how far another call is would ask for ever.
const HASTY: u32 = 1000;

/// A server that is spoken to in memory.
pub(super) struct Driver {
    pub(super) handler: Arc<dyn Handler>,
    pub(super) caller: Caller,
    context: Option<Context>,
    shared: Arc<Shared>,
    uplink: Arc<dyn Uplink>,
    splitter: Splitter,
    parked: Vec<Parked>,
    /// How often in a row something was there already, while calls were parked.
    hasty: u32,
    /// Given to every call, so that it can be told whether any of them still holds on to it.
    waker: Waker,
}

/// A call that was not ready at its first poll.
struct Parked {
    ticket: Ticket,
    name: Box<str>,
    deadline: Option<Time>,
    work: Pin<Box<dyn Future<Output = Outcome> + Send>>,
}

/// What a call's own end speaks to, from any thread. Never locked while foreign code runs.
struct Shared {
    handler: Arc<dyn Handler>,
    caller: Caller,
    state: Mutex<State>,
    alarm: Arc<Alarm>,
}

struct State {
    pipe: Pipe,
    now: Time,
    /// Calls that were handed out and whose end was not handed in.
    running: Vec<CallId>,
    /// Calls that wait until the client has looked at more.
    waiters: Waiters,
    closed: bool,
    /// What the server said and nobody has looked at.
    unheard: VecDeque<String>,
    flooded: bool,
    record: Record,
}

impl Driver {
    pub(super) fn new(handler: Arc<dyn Handler>, caller: Caller) -> Self {
        let endpoint = Arc::clone(handler.endpoint());
        let splitter = Splitter::new(endpoint.limits().line);
        let state = State {
            pipe: Pipe::new(MachineId(1), endpoint, START),
            now: START,
            running: Vec::new(),
            waiters: Waiters::new(),
            closed: false,
            unheard: VecDeque::new(),
            flooded: false,
            record: Record::default(),
        };
        let alarm = Arc::new(Alarm::default());
        let waker = Waker::from(Arc::clone(&alarm));
        let (own, by) = (Arc::clone(&handler), caller.clone());
        let shared = Arc::new(Shared { handler: own, caller: by, state: Mutex::new(state), alarm });
        let watcher = Arc::downgrade(&shared);
        handler.subscribe(watcher);
        let uplink = Arc::clone(&shared) as Arc<dyn Uplink>;
        Self { handler, caller, context: None, shared, uplink, splitter, parked: Vec::new(), hasty: 0, waker }
    }

    /// Shows that to all calls, as what the transport knows of their requests.
    pub(super) fn with_context(mut self, context: Option<Context>) -> Self {
        self.context = context;
        self
    }

    /// Sends bytes and a line break.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.shared.lock().record.push(Step::Client(bytes.into()));
        let endpoint = Arc::clone(self.handler.endpoint());
        let limits = endpoint.limits();
        for mut chunk in [bytes, b"\n"] {
            while let Some(line) = self.splitter.next(&mut chunk) {
                let read = match line {
                    Line::Text(body) => wire::read(body, limits),
                    Line::TooLong => Err(Unread::too_long(limits.line)),
                };
                let view = self.handler.view(&self.caller);
                self.handle(match read {
                    Ok(message) => Input::Message { message, head: None, from: &self.caller, view: &view },
                    Err(unread) => Input::Unread(unread),
                });
                self.obey();
            }
        }
    }

    /// Ends the client's input.
    pub(super) fn end(&mut self) {
        self.shared.lock().record.push(Step::End);
        self.handle(Input::Close(Close::EndOfInput));
        self.obey();
    }

    /// Writes a remark into the record.
    pub(super) fn remark(&self, text: &str) {
        text.lines().for_each(|line| self.shared.lock().record.push(Step::Comment(line.trim().into())));
    }

    /// The oldest thing that the server said and nobody has looked at.
    pub(super) fn hear(&mut self) -> Option<String> {
        let (heard, roomy) = {
            let mut state = self.shared.lock();
            assert!(!state.flooded, "the server said more than {UNHEARD} things at one go");
            (state.unheard.pop_front(), state.roomy())
        };
        roomy.into_iter().for_each(Waker::wake);
        heard
    }

    pub(super) fn now(&self) -> Time {
        self.shared.lock().now
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.lock().closed
    }

    /// When the machine next wants to be told the time.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.shared.lock().pipe.deadline().map(|(at, _)| at)
    }

    pub(super) fn with_record<T>(&self, look: impl FnOnce(&Record) -> T) -> T {
        look(&self.shared.lock().record)
    }

    /// The names of the calls that wait for something, each with the time at which it will be given up.
    pub(super) fn parked(&self) -> impl Iterator<Item = (&str, Option<Time>)> {
        self.parked.iter().map(|parked| (&*parked.name, parked.deadline))
    }

    /// Waits until `look` finds something. `None` if it never can: nothing that runs can be woken any more.
    ///
    /// What is here already is not waited for, and nothing goes on meanwhile: so a conversation that is had again goes on where
    /// the recorded one did, which is where it waited.
    pub(super) async fn until<T>(&mut self, mut look: impl FnMut(&mut Self) -> Option<T>) -> Option<T> {
        let mut found = None;
        poll_fn(|cx| {
            found = found.take().or_else(|| look(self));
            if found.is_some() && !self.owes_a_turn() {
                return Poll::Ready(found.take());
            }
            self.round(cx);
            if found.is_some() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match look(self) {
                Some(found) => Poll::Ready(Some(found)),
                None if self.is_stuck() => Poll::Ready(None),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Moves the clock, and does on the way whatever falls due, when it does.
    pub(super) async fn advance(&mut self, span: Span, mut each: impl FnMut(&mut Self)) {
        self.shared.lock().record.push(Step::Clock(span.0));
        let target = self.now().after(span);
        for _ in 0..DUE {
            let Some(at) = self.deadline().filter(|at| *at <= target) else { break };
            self.jump(at);
            self.go_on(&mut each).await;
            // A deadline that a tick does not move must not hold up the clock.
            if self.deadline() == Some(at) {
                break;
            }
        }
        self.jump(target);
        self.go_on(&mut each).await;
    }

    /// Lets the calls go as far as they go without waiting. `each` looks at what was said after each round.
    async fn go_on(&mut self, mut each: impl FnMut(&mut Self)) {
        let (mut quiet, mut rounds) = (0, 0);
        poll_fn(|cx| {
            quiet = if self.shared.alarm.was_woken() { 0 } else { quiet + 1 };
            rounds += 1;
            self.round(cx);
            each(self);
            if self.is_stuck() || quiet > QUIET || rounds > RESTLESS {
                return Poll::Ready(());
            }
            // The executor gets its turn: what a call waits for may be another task's to do.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Whether a test that never has to wait has kept from others, often enough, what goes on only while it waits.
    fn owes_a_turn(&mut self) -> bool {
        self.hasty = if self.parked.is_empty() { 0 } else { self.hasty + 1 };
        self.hasty > HASTY
    }

    fn jump(&mut self, to: Time) {
        {
            let mut state = self.shared.lock();
            state.now = state.now.max(to);
        }
        self.handle(Input::Tick);
        self.obey();
    }

    /// Polls what is parked. The machine is told of each call that ends.
    fn round(&mut self, cx: &mut task::Context<'_>) {
        self.hasty = 0;
        self.shared.alarm.watch(cx.waker());
        // By name: one call's end may end others, and begin some.
        let calls: Vec<CallId> = self.parked.iter().map(|parked| parked.ticket.call()).collect();
        for call in calls {
            let Some(at) = self.parked.iter().position(|parked| parked.ticket.call() == call) else { continue };
            let mut cx = task::Context::from_waker(&self.waker);
            if let Poll::Ready(outcome) = self.parked[at].work.as_mut().poll(&mut cx) {
                let Parked { ticket, .. } = self.parked.remove(at);
                self.done(ticket, outcome);
                self.obey();
            }
        }
        self.obey();
    }

    /// Whether nothing can happen any more unless the client does something: no call was woken, and none has left its waker
    /// anywhere.
    fn is_stuck(&self) -> bool {
        let alarm = &self.shared.alarm;
        // The driver's own two: in `shared` and in `waker`.
        let held = Arc::strong_count(alarm) > 2;
        // A waker that is used up sets the flag before it is let go of.
        fence(Ordering::Acquire);
        !held && !alarm.is_woken() && self.shared.lock().unheard.is_empty()
    }

    fn handle(&self, input: Input<'_>) {
        let mut state = self.shared.lock();
        let now = state.now;
        state.pipe.handle(now, input);
    }

    /// Does what the machine asks for, until it asks for nothing.
    fn obey(&mut self) {
        loop {
            let output = self.shared.lock().next();
            match output {
                None => return,
                Some(Output::Call(ticket, call)) => self.run(ticket, *call),
                Some(Output::Abandon(call)) => {
                    self.parked.retain(|parked| parked.ticket.call() != call);
                    let roomy = self.shared.lock().roomy();
                    roomy.into_iter().for_each(Waker::wake);
                }
                // A byte stream has no heads, and no session to put away.
                Some(_) => {}
            }
        }
    }

    fn run(&mut self, ticket: Ticket, call: Call) {
        let deadline = call.deadline;
        let name = match &call.kind {
            Kind::Tool { name, .. } => Box::from(&**name),
            Kind::Extension { method, .. } => method.clone(),
            Kind::Init => "init".into(),
            _ => Box::default(),
        };
        let mut link = Link::new(call.id, Arc::clone(&self.uplink));
        if let Some(context) = &self.context {
            link = link.with_context(Arc::clone(context));
        }
        match self.handler.call(call, link) {
            Running::Done(outcome) => self.done(ticket, outcome),
            Running::Later(mut work) => match work.as_mut().poll(&mut task::Context::from_waker(&self.waker)) {
                Poll::Ready(outcome) => self.done(ticket, outcome),
                Poll::Pending => self.parked.push(Parked { ticket, name, deadline, work }),
            },
        }
    }

    fn done(&self, ticket: Ticket, outcome: Outcome) {
        let roomy = {
            let mut state = self.shared.lock();
            state.running.retain(|running| *running != ticket.call());
            let now = state.now;
            state.pipe.handle(now, Input::Done { ticket, outcome });
            state.roomy()
        };
        roomy.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // What cannot be dropped with the calls' futures learns that nobody waits any more.
        let roomy = {
            let mut state = self.shared.lock();
            state.running.clear();
            state.roomy()
        };
        roomy.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parked: Vec<&str> = self.parked().map(|(name, _)| name).collect();
        f.debug_struct("Driver").field("now", &self.now()).field("parked", &parked).finish_non_exhaustive()
    }
}

impl State {
    /// The next thing that the driver must do, having done what needs no foreign code.
    fn next(&mut self) -> Option<Output> {
        let output = self.pipe.poll_output();
        match &output {
            Some(Output::Call(_, call)) => self.running.push(call.id),
            Some(Output::Abandon(call)) => self.running.retain(|running| running != call),
            Some(Output::Closed) => self.closed = true,
            _ => {}
        }
        self.pull();
        output
    }

    /// The calls that need not wait any more, to be woken without the lock.
    fn roomy(&mut self) -> Vec<Waker> {
        let Self { unheard, running, waiters, .. } = self;
        waiters.roomy(|call| unheard.len() < UNREAD || !running.contains(&call))
    }

    /// Takes what the machine has to say.
    fn pull(&mut self) {
        let mut bytes = Vec::new();
        while self.pipe.pull(StreamId::ONLY, &mut bytes, usize::MAX) == Pull::More {}
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let text = String::from_utf8_lossy(line).into_owned();
            self.record.push(Step::Server(text.clone()));
            if self.unheard.len() < UNHEARD {
                self.unheard.push_back(text);
            } else {
                self.flooded = true;
            }
        }
    }
}

impl Shared {
    /// Nothing panics while it is locked, short of a bug in the core, after which it goes on as it is.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Uplink for Shared {
    fn note(&self, call: CallId, note: Note) {
        {
            let mut state = self.lock();
            if state.running.contains(&call) {
                let now = state.now;
                state.pipe.handle(now, Input::Note { call, note });
                state.pull();
            }
        }
        self.alarm.sound();
    }

    fn is_abandoned(&self, call: CallId) -> bool {
        !self.lock().running.contains(&call)
    }

    fn poll_room(&self, call: CallId, cx: &mut task::Context<'_>) -> Poll<()> {
        let State { unheard, running, waiters, .. } = &mut *self.lock();
        waiters.poll_room(call, unheard.len() < UNREAD || !running.contains(&call), cx)
    }
}

impl Watcher for Shared {
    fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        {
            let mut state = self.lock();
            let now = state.now;
            state.pipe.handle(now, Input::Changed { catalog: Arc::clone(catalog), what });
            state.pull();
        }
        self.alarm.sound();
    }

    fn updated(&self, uri: &str) {
        // The handler is asked without the lock.
        let view = self.handler.view(&self.caller);
        {
            let mut state = self.lock();
            let now = state.now;
            state.pipe.handle(now, Input::Updated { uri, view: &view });
            state.pull();
        }
        self.alarm.sound();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// Wakes whoever waits for the client, and remembers that it did.
#[derive(Default)]
struct Alarm {
    woken: AtomicBool,
    waits: Mutex<Option<Waker>>,
}

impl Alarm {
    fn watch(&self, waker: &Waker) {
        let before = self.waits().replace(waker.clone());
        drop(before);
        self.woken.store(false, Ordering::Relaxed);
    }

    fn sound(&self) {
        self.woken.store(true, Ordering::Relaxed);
        let waits = self.waits().take();
        if let Some(waker) = waits {
            waker.wake();
        }
    }

    fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Relaxed)
    }

    fn was_woken(&self) -> bool {
        self.woken.swap(false, Ordering::Relaxed)
    }

    fn waits(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.sound();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.sound();
    }
}
