//! A legacy call that goes on as a task of its own, also after its request's connection has gone (HTTP-28).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_core::{Outcome, Ticket};

use crate::cluster::interrupted;
use crate::head::RequestHead;
use crate::run::{self, Run};
use crate::session::Cell;
use crate::shared::Shared;
use crate::sync::lock;

/// Where the ends of spawned calls are told: the driver of their session.
pub(crate) trait Home: Send + Sync + 'static {
    /// A call has ended. If it is run again, that is by the same request.
    fn done(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        ticket: Ticket,
        outcome: Outcome,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    );

    /// A call has ended without an outcome: the runtime has dropped its task.
    fn lost(self: &Arc<Self>, shared: &Shared, ticket: Ticket);
}

impl Home for Cell {
    fn done(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        ticket: Ticket,
        outcome: Outcome,
        context: Option<&Arc<RequestHead>>,
        cx: &mut Context<'_>,
    ) {
        Self::done(self, shared, ticket, outcome, context, cx);
    }

    fn lost(self: &Arc<Self>, shared: &Shared, ticket: Ticket) {
        Self::lost(self, shared, ticket);
    }
}

/// Ends a [`Spawned`] call from elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    asked: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

/// The values of [`Stop::asked`]: go on; drop the call, nobody waits for it; drop it, and answer that it was interrupted.
const GO_ON: u8 = 0;
const STOPPED: u8 = 1;
const INTERRUPTED: u8 = 2;

impl Stop {
    /// Has the task drop its call at once.
    pub(crate) fn stop(&self) {
        self.ask(STOPPED);
    }

    /// Has the task drop its call at once, and answer for it that it was interrupted.
    pub(crate) fn interrupt(&self) {
        self.ask(INTERRUPTED);
    }

    fn ask(&self, what: u8) {
        // What was asked first stays.
        let _ = self.asked.compare_exchange(GO_ON, what, Ordering::AcqRel, Ordering::Acquire);
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_stopped(&self) -> bool {
        self.asked.load(Ordering::Acquire) == STOPPED
    }

    /// What was asked.
    fn poll_asked(&self, cx: &Context<'_>) -> u8 {
        let mut waker = lock(&self.waker);
        match &mut *waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        // Looked at last: whoever stops it before the waker was there is seen here.
        self.asked.load(Ordering::Acquire)
    }
}

/// The task.
pub(crate) struct Spawned<H: Home> {
    shared: Arc<Shared>,
    cell: Arc<H>,
    /// `None` once the call has ended.
    call: Option<(Ticket, Run)>,
    /// Of the request that started it.
    context: Option<Arc<RequestHead>>,
    stop: Arc<Stop>,
}

impl<H: Home> Spawned<H> {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        cell: Arc<H>,
        ticket: Ticket,
        run: Run,
        context: Option<Arc<RequestHead>>,
        stop: Arc<Stop>,
    ) -> Self {
        shared.begin();
        Self { shared: Arc::clone(shared), cell, call: Some((ticket, run)), context, stop }
    }
}

impl<H: Home> Future for Spawned<H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let asked = this.stop.poll_asked(cx);
        if asked == STOPPED {
            this.call = None;
        }
        let Some((_, run)) = &mut this.call else { return Poll::Ready(()) };
        let outcome = match asked {
            INTERRUPTED => Outcome::Fail(interrupted()),
            _ => std::task::ready!(run::poll(run, cx)),
        };
        if let Some((ticket, run)) = this.call.take() {
            drop(run);
            this.cell.done(&this.shared, ticket, outcome, this.context.as_ref(), cx);
        }
        Poll::Ready(())
    }
}

impl<H: Home> Drop for Spawned<H> {
    fn drop(&mut self) {
        self.shared.end();
        // The runtime dropped the task: somebody may still wait for it.
        if let Some((ticket, run)) = self.call.take()
            && !self.stop.is_stopped()
        {
            drop(run);
            self.cell.lost(&self.shared, ticket);
        }
    }
}
