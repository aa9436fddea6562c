//! Word of a call's end, for work that outlives its future: tasks that a tool spawned, threads that it blocks.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use mcp_core::drive::Link;

use crate::ask::Memory;
use crate::ctx::Ctx;

/// Ready when the call has ended: answered, cancelled, or given up because its client or the server is gone.
///
/// An asynchronous tool needs none of this for itself, as it is dropped where it waits. It is for what would live on: a
/// task that the tool spawned, a thread that it blocks, a request elsewhere that wants to be called off.
///
/// ```
/// use mcp_server::{Cancelled, Tool};
///
/// async fn watch(cancelled: Cancelled) -> &'static str {
///     tokio::spawn(async move {
///         tokio::select! {
///             () = cancelled => {}
///             () = tokio::time::sleep(std::time::Duration::from_secs(3600)) => {}
///         }
///     });
///     "watching"
/// }
///
/// let tool = Tool::new("watch").description("Watches while it is asked.").run(watch);
/// ```
pub struct Cancelled {
    link: Link,
    signal: Arc<Signal>,
    place: Option<usize>,
}

impl Cancelled {
    pub(crate) const fn new(link: Link, signal: Arc<Signal>) -> Self {
        Self { link, signal, place: None }
    }

    /// Whether nobody waits for the answer any more. For code that blocks: ask now and then, and return.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.link.is_abandoned() || self.signal.has_fired()
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.signal.poll(&mut this.place, cx)
    }
}

impl Clone for Cancelled {
    fn clone(&self) -> Self {
        Self { link: self.link.clone(), signal: Arc::clone(&self.signal), place: None }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.signal.leave(place);
        }
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled").field("is_cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// One call's end, told once to all who wait for it.
///
/// Wakers are woken and dropped without the lock. One may own its task, and so run anything: with the task may go another that
/// waits here.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    told: Mutex<Told>,
    /// What the run knows of earlier ones, once it has looked. It is here as all clones of a call's [`Ctx`](crate::Ctx) share it.
    memory: Mutex<Option<Box<Memory>>>,
}

#[derive(Debug)]
enum Told {
    /// Each waiting future has a place of its own, so that one polled again and again takes one only.
    NotYet(Vec<Option<Waker>>),
    Yes,
}

impl Default for Told {
    fn default() -> Self {
        Self::NotYet(Vec::new())
    }
}

impl Signal {
    pub(crate) fn fire(&self) {
        let before = std::mem::replace(&mut *self.lock(), Told::Yes);
        if let Told::NotYet(waiting) = before {
            waiting.into_iter().flatten().for_each(Waker::wake);
        }
    }

    pub(crate) fn memory(&self) -> std::sync::MutexGuard<'_, Option<Box<Memory>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_fired(&self) -> bool {
        matches!(*self.lock(), Told::Yes)
    }

    fn poll(&self, place: &mut Option<usize>, cx: &Context<'_>) -> Poll<()> {
        let mut told = self.lock();
        let Told::NotYet(waiting) = &mut *told else { return Poll::Ready(()) };
        let index = *place.get_or_insert_with(|| {
            waiting.iter().position(Option::is_none).unwrap_or_else(|| {
                waiting.push(None);
                waiting.len() - 1
            })
        });
        let slot = &mut waiting[index];
        let same = slot.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        let before = if same { None } else { slot.replace(cx.waker().clone()) };
        drop(told);
        drop(before);
        Poll::Pending
    }

    fn leave(&self, place: usize) {
        let before = match &mut *self.lock() {
            Told::NotYet(waiting) => waiting[place].take(),
            Told::Yes => None,
        };
        drop(before);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Told> {
        // Nothing in here panics between two writes.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fires when dropped: a call's end, however it came.
#[derive(Debug)]
pub(crate) struct AtEnd(Option<Arc<Signal>>);

impl AtEnd {
    /// Of the code of a call: of one that is wrapped, what is around it ends later.
    pub(crate) fn of_code(ctx: &Ctx) -> Self {
        Self(if ctx.is_wrapped() { None } else { ctx.signal().cloned() })
    }

    /// Of all of a call.
    pub(crate) fn of_call(ctx: &Ctx) -> Self {
        Self(ctx.signal().cloned())
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(signal) = &self.0 {
            signal.fire();
        }
    }
}
