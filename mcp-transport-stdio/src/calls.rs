//! Calls that were not ready at their first poll, each until it is.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use mcp_core::{CallId, Outcome, Ticket};

/// A call under way.
pub(crate) type Work = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Parked calls. Each wakes its driver for itself, so one that waits costs nothing while others run.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    parked: FuturesUnordered<Parked>,
}

impl Calls {
    pub(crate) fn park(&mut self, ticket: Ticket, work: Work) {
        self.parked.push(Parked::Runs { ticket, work, waker: None });
    }

    /// Drops a call at once (CANC-2).
    pub(crate) fn abandon(&mut self, call: CallId) {
        if let Some(parked) = self.parked.iter_mut().find(|parked| parked.call() == Some(call)) {
            // The set lets go of a future only when it polls it, and it polls what was woken. One that was never polled needs
            // no waking.
            if let Parked::Runs { waker: Some(waker), .. } = std::mem::replace(parked, Parked::Gone) {
                waker.wake();
            }
        }
    }

    /// The next call that has ended; pending if none has, which is also so if there are none.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<(Ticket, Outcome)> {
        loop {
            match self.parked.poll_next_unpin(cx) {
                Poll::Ready(Some(Some(done))) => return Poll::Ready(done),
                Poll::Ready(Some(None)) => {}
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

enum Parked {
    Runs { ticket: Ticket, work: Work, waker: Option<Waker> },
    Gone,
}

impl Parked {
    fn call(&self) -> Option<CallId> {
        match self {
            Self::Runs { ticket, .. } => Some(ticket.call()),
            Self::Gone => None,
        }
    }
}

impl Future for Parked {
    type Output = Option<(Ticket, Outcome)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self::Runs { work, waker, .. } = &mut *self else { return Poll::Ready(None) };
        let Poll::Ready(outcome) = work.as_mut().poll(cx) else {
            if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                *waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        };
        match std::mem::replace(&mut *self, Self::Gone) {
            Self::Runs { ticket, .. } => Poll::Ready(Some((ticket, outcome))),
            Self::Gone => Poll::Ready(None),
        }
    }
}
