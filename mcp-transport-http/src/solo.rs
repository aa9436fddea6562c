//! A machine of one request: a modern exchange, or a legacy request without a session.
//!
//! It is driven by whoever polls the response, its calls included: nothing is spawned, and dropping the response
//! (before its head as well as in its middle) drops the calls, which cancels them (HTTP-46). A call that is answered at
//! once meets no timer and registers nowhere.

use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mcp_core::drive::{Link, Uplink, Waiters};
use mcp_core::{
    CallId, Catalog, Change, Close, Input, Machine, MachineId, Note, Outcome, Output, Pull, Reply, StreamId, Ticket,
    Time,
};

use crate::head::RequestHead;
use crate::listens::{Listener, Seat};
use crate::parked::Parked;
use crate::run::{self, Run, Seats, Started};
use crate::runtime::Task;
use crate::shared::Shared;
use crate::source::{CHUNK, Calls, Source, UNOPENED, log};
use crate::sync::lock;

/// The machine and its calls, as the response's future and then its body hold them.
pub(crate) struct Solo<M: Machine + Send + 'static> {
    cell: Arc<Cell<M>>,
    stream: StreamId,
    running: Vec<(Ticket, Run)>,
    /// The sleep until the machine's deadline, or until an earlier one that it had.
    timer: Option<(Time, Task)>,
    opened: Option<Reply>,
    phase: Phase,
    /// Of the one request, which starts all that runs here.
    context: Arc<RequestHead>,
    /// Bytes that were pulled too early, for [`Source::whole`].
    kept: Vec<u8>,
    /// Of one that listens.
    seat: Option<Seat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing had to be waited for so far.
    Quick,
    /// It waits, and [`Shared::parked`] knows of it.
    Parked,
    /// Its stream has ended.
    Ended,
}

/// What the running calls, and a shutdown, share with the driver.
struct Cell<M> {
    shared: Arc<Shared>,
    id: MachineId,
    state: Mutex<State<M>>,
}

struct State<M> {
    machine: M,
    /// Of the driver, while it waits.
    waker: Option<Waker>,
    abandoned: Vec<CallId>,
    /// Calls that wait until the client has read more.
    waiters: Waiters,
    closed: bool,
    /// The driver has gone: every call is abandoned.
    gone: bool,
}

impl<M: Machine + Send + 'static> Solo<M> {
    /// Hands the machine its one input.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        id: MachineId,
        now: Time,
        mut machine: M,
        input: Input<'_>,
        context: Arc<RequestHead>,
    ) -> Self {
        machine.handle(now, input);
        let (abandoned, waiters) = (Vec::new(), Waiters::new());
        let state = State { machine, waker: None, abandoned, waiters, closed: false, gone: false };
        Self {
            cell: Arc::new(Cell { shared: Arc::clone(shared), id, state: Mutex::new(state) }),
            stream: StreamId::ONLY,
            running: Vec::new(),
            timer: None,
            opened: None,
            phase: Phase::Quick,
            context,
            kept: Vec::new(),
            seat: None,
        }
    }

    /// Takes the machine's outputs and does what they say. If there are none, has the machine wake this task at the
    /// next, and returns false.
    fn step(&mut self, cx: &mut Context<'_>) -> bool {
        let mut calls = Calls::default();
        let mut stopped = Vec::new();
        let mut state = lock(&self.cell.state);
        let mut moved = false;
        while let Some(output) = state.machine.poll_output() {
            moved = true;
            match output {
                Output::Call(ticket, call) => calls.push(ticket, call),
                Output::Abandon(call) => {
                    state.abandoned.push(call);
                    let running = self.running.iter().position(|(ticket, _)| ticket.call() == call);
                    stopped.extend(running.map(|index| self.running.swap_remove(index)));
                }
                Output::Expect(stream) => self.stream = stream,
                Output::Open { stream, reply } if stream == self.stream => self.opened = Some(reply),
                Output::Closed => state.closed = true,
                Output::Event(event) => log(&event),
                Output::Listen(claim) => {
                    let listener: Weak<dyn Listener> = Arc::<Cell<M>>::downgrade(&self.cell);
                    let seat = Seat::take(&self.cell.shared, self.cell.id, claim, listener);
                    let seat = seat.map(|seat| self.seat = Some(seat));
                    state.machine.handle(self.cell.shared.now(), Input::Listen(seat));
                }
                // Whoever steps pulls and looks at the deadline afterwards; there is no other stream, and nothing to
                // wake.
                Output::Resume(_) | Output::Open { .. } | Output::Ready(_) | Output::Hibernate => {}
            }
        }
        if !moved {
            match &mut state.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                None => state.waker = Some(cx.waker().clone()),
            }
        }
        drop(state);
        // A future that is dropped may say a last word, which takes the lock.
        drop(stopped);
        while let Some((ticket, call)) = calls.pop() {
            let context: Arc<RequestHead> = Arc::clone(&self.context);
            let link = Link::new(call.id, Arc::clone(&self.cell) as Arc<dyn Uplink>).with_context(context);
            match run::start(&*self.cell.shared.handler, &self.cell.shared.seats, *call, link, cx) {
                Started::Done(outcome) => self.done(ticket, outcome),
                Started::Pending(run) => self.running.push((ticket, run)),
            }
        }
        moved
    }

    fn poll_running(&mut self, cx: &mut Context<'_>) {
        if !self.running.is_empty() {
            // What was given up since is dropped, and not gone on with.
            self.step(cx);
        }
        let mut index = 0;
        while let Some((_, run)) = self.running.get_mut(index) {
            match run::poll(run, cx) {
                Poll::Pending => index += 1,
                Poll::Ready(outcome) => {
                    let (ticket, run) = self.running.swap_remove(index);
                    drop(run);
                    self.done(ticket, outcome);
                }
            }
        }
    }

    fn done(&self, ticket: Ticket, outcome: Outcome) {
        self.tell(Input::Done { ticket, outcome });
    }

    /// Hands an input to the machine; its outputs are taken in the next [`step`](Solo::step).
    fn tell(&self, input: Input<'_>) {
        let now = self.cell.shared.now();
        self.cell.with(|state| state.machine.handle(now, input));
    }

    /// Has a shutdown know of it.
    fn park(&mut self) {
        // One that listens is waited for by nobody who goes down: it is ended at once.
        if self.phase == Phase::Quick && self.seat.is_none() {
            self.phase = Phase::Parked;
            let cell: Arc<dyn Parked> = Arc::<Cell<M>>::clone(&self.cell);
            self.cell.shared.parked.insert(self.cell.id, &cell);
        }
    }

    /// Waits for the machine's deadline. Returns whether it has come.
    fn wait(&mut self, cx: &mut Context<'_>) -> bool {
        self.park();
        let shared = &self.cell.shared;
        let Some((at, _)) = lock(&self.cell.state).machine.deadline() else { return false };
        let now = shared.now();
        // A sleep that ends too early costs a look at the clock; a new one for each word of a call would cost more.
        let timer = match &mut self.timer {
            Some((until, timer)) if *until <= at => timer,
            timer => &mut timer.insert((at, shared.runtime.sleep(at.since(now).into()))).1,
        };
        if now < at && timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.timer = None;
        self.tell(Input::Tick);
        true
    }

    fn pull(&self, buf: &mut Vec<u8>) -> Pull {
        // `More` means that the limit was reached: it moves on with what is there already.
        let limit = buf.len() + CHUNK;
        self.cell.with(|state| match state.machine.pull(self.stream, buf, limit) {
            Pull::Wait if state.closed => Pull::End,
            pulled => pulled,
        })
    }

    fn end(&self) -> Phase {
        if self.phase == Phase::Parked {
            self.cell.shared.unpark(self.cell.id);
        }
        Phase::Ended
    }
}

impl<M: Machine + Send + 'static> Source for Solo<M> {
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        self.poll_running(cx);
        loop {
            let moved = self.step(cx);
            if let Some(reply) = self.opened.take() {
                if !self.running.is_empty() {
                    // Its reader may be one that never comes.
                    self.park();
                }
                return Poll::Ready(reply);
            }
            if !moved && lock(&self.cell.state).closed {
                return Poll::Ready(UNOPENED);
            }
            if !moved && !self.wait(cx) {
                return Poll::Pending;
            }
        }
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.cell.shared.seats
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut buf = std::mem::take(&mut self.kept);
        if self.phase == Phase::Ended {
            return Poll::Ready(None);
        }
        self.poll_running(cx);
        loop {
            let moved = self.step(cx);
            let pulled = self.pull(&mut buf);
            if pulled == Pull::End {
                self.phase = self.end();
            }
            if !buf.is_empty() {
                return Poll::Ready(Some(self.cell.shared.seats.hand_out(buf)));
            }
            if pulled == Pull::End {
                return Poll::Ready(None);
            }
            if !moved && !self.wait(cx) {
                return Poll::Pending;
            }
        }
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        let mut buf = std::mem::take(&mut self.kept);
        loop {
            match self.pull(&mut buf) {
                Pull::More => {}
                // Its only stream is never paused: nobody could come back to it.
                Pull::Wait | Pull::Pause => {
                    self.kept = buf;
                    return None;
                }
                Pull::End => {
                    self.phase = self.end();
                    return Some(buf);
                }
            }
        }
    }
}

impl<M: Machine + Send + 'static> Drop for Solo<M> {
    fn drop(&mut self) {
        if self.phase == Phase::Ended {
            return;
        }
        self.end();
        let now = self.cell.shared.now();
        self.cell.with(|state| {
            state.gone = true;
            state.machine.handle(now, Input::Detach { stream: self.stream });
            while let Some(output) = state.machine.poll_output() {
                if let Output::Event(event) = output {
                    log(&event);
                }
            }
        });
    }
}

impl<M: Machine + Send + 'static> Cell<M> {
    fn handle(&self, input: Input<'_>) {
        let waker = self.with(|state| {
            state.machine.handle(self.shared.now(), input);
            state.waker.take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Changes something, and wakes the calls that there is room for then.
    fn with<T>(&self, change: impl FnOnce(&mut State<M>) -> T) -> T {
        let (changed, roomy) = {
            let mut state = lock(&self.state);
            let changed = change(&mut state);
            let State { machine, waiters, gone, .. } = &mut *state;
            (changed, waiters.roomy(|call| *gone || machine.has_room(call)))
        };
        roomy.into_iter().for_each(Waker::wake);
        changed
    }
}

impl<M: Machine + Send + 'static> Uplink for Cell<M> {
    fn note(&self, call: CallId, note: Note) {
        self.handle(Input::Note { call, note });
    }

    fn is_abandoned(&self, call: CallId) -> bool {
        let state = lock(&self.state);
        state.gone || state.abandoned.contains(&call)
    }

    fn poll_room(&self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        let State { machine, waiters, gone, .. } = &mut *lock(&self.state);
        waiters.poll_room(call, *gone || machine.has_room(call), cx)
    }
}

impl<M: Machine + Send + 'static> Parked for Cell<M> {
    fn close(&self) {
        self.handle(Input::Close(Close::Shutdown));
    }
}

impl<M: Machine + Send + 'static> Listener for Cell<M> {
    fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        self.handle(Input::Changed { catalog: Arc::clone(catalog), what });
    }

    fn updated(&self, uri: &str) {
        // The handler is asked without the lock.
        let subscriber = lock(&self.state).machine.subscriber(uri).cloned();
        let Some(caller) = subscriber else { return };
        let view = self.shared.handler.view(&caller);
        self.handle(Input::Updated { uri, view: &view });
    }

    fn close(&self) {
        self.handle(Input::Close(Close::Shutdown));
    }
}

impl<M> fmt::Debug for Cell<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("id", &self.id).finish_non_exhaustive()
    }
}
