//! A legacy call that goes on as a task of its own, also after its request's connection has gone (HTTP-28).

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mcp_core::Ticket;

use crate::head::RequestHead;
use crate::run::{self, Run};
use crate::session::Cell;
use crate::shared::Shared;
use crate::sync::lock;

/// Ends a [`Spawned`] call from elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Stop {
    /// Has the task drop its call at once.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn poll_stopped(&self, cx: &Context<'_>) -> bool {
        let mut waker = lock(&self.waker);
        match &mut *waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        // Looked at last: whoever stops it before the waker was there is seen here.
        self.is_stopped()
    }
}

/// The task.
pub(crate) struct Spawned {
    shared: Arc<Shared>,
    cell: Arc<Cell>,
    /// `None` once the call has ended.
    call: Option<(Ticket, Run)>,
    /// Of the request that started it.
    context: Option<Arc<RequestHead>>,
    stop: Arc<Stop>,
}

impl Spawned {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        cell: Arc<Cell>,
        ticket: Ticket,
        run: Run,
        context: Option<Arc<RequestHead>>,
        stop: Arc<Stop>,
    ) -> Self {
        shared.begin();
        Self { shared: Arc::clone(shared), cell, call: Some((ticket, run)), context, stop }
    }
}

impl Future for Spawned {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.stop.poll_stopped(cx) {
            this.call = None;
            return Poll::Ready(());
        }
        let Some((_, run)) = &mut this.call else { return Poll::Ready(()) };
        let outcome = std::task::ready!(run::poll(run, cx));
        if let Some((ticket, run)) = this.call.take() {
            drop(run);
            this.cell.done(&this.shared, ticket, outcome, this.context.as_ref(), cx);
        }
        Poll::Ready(())
    }
}

impl Drop for Spawned {
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
