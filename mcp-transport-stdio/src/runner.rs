//! Does what the machine asks for: runs its calls, drops them, passes its events on.

use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker};

use mcp_core::drive::{Handler, Link, Running, Uplink};
use mcp_core::{Call, CallId, Event, Gate, Input, Machine, Outcome, Output, Ticket, Time};

use crate::calls::Calls;
use crate::clock::Clock;
use crate::shared::{Shared, State};

/// What listens to a connection's events.
pub(crate) type Listener = Box<dyn FnMut(Event) + Send>;

/// The server's own code and what it has under way.
pub(crate) struct Runner<H> {
    pub(crate) handler: Arc<H>,
    pub(crate) listener: Option<Listener>,
    calls: Calls,
    uplink: Arc<dyn Uplink>,
    /// When the clock was last looked at: when the driver woke, and after foreign code, which alone takes long.
    pub(crate) now: Time,
    /// There may be bytes to pull.
    pub(crate) ready: bool,
    /// The machine has ended.
    pub(crate) closed: bool,
}

/// What needs foreign code, and so the lock to be released.
enum Work {
    Run(Ticket, Box<Call>),
    Drop(CallId),
    Tell(Event),
}

impl<H: Handler> Runner<H> {
    pub(crate) fn new(handler: Arc<H>, listener: Option<Listener>, uplink: Arc<dyn Uplink>) -> Self {
        Self { handler, listener, calls: Calls::default(), uplink, now: Time::default(), ready: false, closed: false }
    }

    /// Hands one input to the machine, and does what comes of it.
    pub(crate) fn handle<C: Clock>(&mut self, shared: &Shared<C>, input: Input<'_>, cx: &mut Context<'_>) -> Gate {
        let mut state = shared.lock();
        state.pipe.handle(self.now, input);
        self.settle(shared, state, cx)
    }

    /// Does what the machine asks for, until it asks for nothing.
    pub(crate) fn settle<'a, C: Clock>(
        &mut self,
        shared: &'a Shared<C>,
        mut state: MutexGuard<'a, State>,
        cx: &mut Context<'_>,
    ) -> Gate {
        loop {
            let Some(work) = self.next_work(&mut state) else {
                let (gate, roomy) = (state.pipe.gate(), state.roomy());
                drop(state);
                roomy.into_iter().for_each(Waker::wake);
                return gate;
            };
            drop(state);
            let ended = match work {
                Work::Run(ticket, call) => self.run(ticket, *call, cx),
                Work::Drop(call) => {
                    self.calls.abandon(call);
                    None
                }
                Work::Tell(event) => {
                    if let Some(listener) = &mut self.listener {
                        listener(event);
                    }
                    None
                }
            };
            self.now = shared.clock().now();
            state = shared.lock();
            if let Some((ticket, outcome)) = ended {
                state.settle(ticket.call());
                state.pipe.handle(self.now, Input::Done { ticket, outcome });
            }
        }
    }

    /// Polls the parked calls that were woken.
    pub(crate) fn poll_calls<C: Clock>(&mut self, shared: &Shared<C>, cx: &mut Context<'_>) {
        while let Poll::Ready((ticket, outcome)) = self.calls.poll_next(cx) {
            self.now = shared.clock().now();
            let mut state = shared.lock();
            state.settle(ticket.call());
            state.pipe.handle(self.now, Input::Done { ticket, outcome });
            self.settle(shared, state, cx);
        }
    }

    fn next_work(&mut self, state: &mut State) -> Option<Work> {
        loop {
            match state.pipe.poll_output()? {
                Output::Call(ticket, call) => {
                    state.running.push(call.id);
                    return Some(Work::Run(ticket, call));
                }
                Output::Abandon(call) => {
                    state.settle(call);
                    return Some(Work::Drop(call));
                }
                Output::Event(event) => {
                    if self.listener.is_some() {
                        return Some(Work::Tell(event));
                    }
                }
                Output::Ready(_) => self.ready = true,
                Output::Closed => self.closed = true,
                // A byte stream has no heads, and no session to put away; how many may listen on it is the machine's affair.
                Output::Expect(_) | Output::Resume(_) | Output::Open { .. } | Output::Listen(_) | Output::Hibernate => {
                }
            }
        }
    }

    /// Begins a call. Most end at once, and cost no task, no channel and no parking.
    fn run(&mut self, ticket: Ticket, call: Call, cx: &mut Context<'_>) -> Option<(Ticket, Outcome)> {
        let link = Link::new(call.id, Arc::clone(&self.uplink));
        match self.handler.call(call, link) {
            Running::Done(outcome) => Some((ticket, outcome)),
            Running::Later(mut work) => match work.as_mut().poll(cx) {
                Poll::Ready(outcome) => Some((ticket, outcome)),
                Poll::Pending => {
                    self.calls.park(ticket, work);
                    None
                }
            },
        }
    }
}

impl<H> fmt::Debug for Runner<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("calls", &self.calls).field("closed", &self.closed).finish_non_exhaustive()
    }
}
