//! The task that runs the calls of one conversation and keeps its deadlines.
//!
//! It is a task of its own so that calls go on while their client reads slowly. It ends with the conversation, and the calls
//! with it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mcp_core::drive::{Link, Uplink};
use mcp_core::{Close, Input, Outcome, Ticket, Time};

use super::conversation::{Conversation, Queued};
use crate::head::RequestHead;
use crate::run::{self, Run, Started};
use crate::runtime::Task;
use crate::shared::Shared;

/// Rounds in one poll before other tasks of the same thread get their turn.
const ROUNDS: usize = 16;

pub(super) struct Driver {
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
    running: Vec<Running>,
    /// The sleep until the next deadline, or until an earlier one that there was.
    timer: Option<(Time, Task)>,
    ended: bool,
}

/// A call under way.
struct Running {
    ticket: Ticket,
    run: Run,
    context: Option<Arc<RequestHead>>,
    awaited: Awaited,
}

/// Has a shutdown wait for a call.
struct Awaited(Arc<Shared>);

impl Awaited {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.begin();
        Self(Arc::clone(shared))
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Driver {
    pub(super) fn new(shared: &Arc<Shared>, conversation: &Arc<Conversation>) -> Self {
        Self {
            shared: Arc::clone(shared),
            conversation: Arc::clone(conversation),
            running: Vec::new(),
            timer: None,
            ended: false,
        }
    }

    /// Goes on with what runs. Returns whether any of it has ended.
    fn poll_running(&mut self, cx: &mut Context<'_>) -> bool {
        let (mut index, mut ended) = (0, false);
        while let Some(running) = self.running.get_mut(index) {
            match run::poll(&mut running.run, cx) {
                Poll::Pending => index += 1,
                Poll::Ready(outcome) => {
                    ended = true;
                    let Running { ticket, run, context, awaited } = self.running.swap_remove(index);
                    drop(run);
                    self.done(ticket, outcome, context.as_ref());
                    // A shutdown has waited for the answer, too.
                    drop(awaited);
                }
            }
        }
        ended
    }

    fn start(&mut self, queued: Queued, cx: &mut Context<'_>) {
        let Queued { ticket, call, context } = queued;
        let mut link = Link::new(call.id, Arc::clone(&self.conversation) as Arc<dyn Uplink>);
        if let Some(context) = &context {
            link = link.with_context(Arc::<RequestHead>::clone(context));
        }
        match run::start(&*self.shared.handler, &self.shared.seats, *call, link, cx) {
            Started::Done(outcome) => self.done(ticket, outcome, context.as_ref()),
            Started::Pending(run) => {
                self.running.push(Running { ticket, run, context, awaited: Awaited::new(&self.shared) });
            }
        }
    }

    /// A call has ended. If it is run again, that is by the same request.
    fn done(&self, ticket: Ticket, outcome: Outcome, context: Option<&Arc<RequestHead>>) {
        self.conversation.handle(&self.shared, Input::Done { ticket, outcome }, context);
    }

    /// Waits for the next deadline. Returns whether it has come.
    fn poll_timer(&mut self, until: Option<Time>, cx: &mut Context<'_>) -> bool {
        let Some(at) = until else { return false };
        let now = self.shared.now();
        // A sleep that ends too early costs a look at the clock; a new one for each deadline that moves would cost more.
        let timer = match &mut self.timer {
            Some((until, timer)) if *until <= at => timer,
            timer => &mut timer.insert((at, self.shared.runtime.sleep(at.since(now).into()))).1,
        };
        if now < at && timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.timer = None;
        self.conversation.tick(&self.shared);
        true
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        for _ in 0..ROUNDS {
            let work = this.conversation.poll_work(cx);
            if work.closed {
                this.ended = true;
                this.running.clear();
                return Poll::Ready(());
            }
            if let Some(wanted) = work.wanted {
                this.running.retain(|running| wanted.contains(&running.ticket.call()));
            }
            let mut moved = this.poll_running(cx);
            for queued in work.calls {
                moved = true;
                this.start(queued, cx);
            }
            moved |= this.poll_timer(work.until, cx);
            if !moved {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The runtime dropped the task: nothing would be answered any more.
        if !self.ended {
            self.conversation.handle(&self.shared, Input::Close(Close::Peer), None);
        }
    }
}
