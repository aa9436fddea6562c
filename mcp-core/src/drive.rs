//! What an adapter and a framework agree on: who runs an [`Output::Call`](crate::Output::Call), how a running call
//! speaks, and who hears that the catalogue was swapped. No machine uses this; a driver with ways of its own needs none
//! of it.

use alloc::boxed::Box;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use crate::catalog::{Catalog, View};
use crate::endpoint::Endpoint;
use crate::machine::{Call, CallId, Change, Note, Outcome};
use crate::peer::Caller;

/// The server's own code, as an adapter sees it.
pub trait Handler: Send + Sync + 'static {
    /// What the server says of itself.
    fn endpoint(&self) -> &Arc<Endpoint>;

    /// The catalogue as this caller may see it. Asked before each message, so it should be a clone of something cached.
    fn view(&self, caller: &Caller) -> View;

    /// Runs one call. Must not block for long, and must not panic: what it runs may, and becomes an
    /// [`Outcome::Fail`] here.
    fn call(&self, call: Call, link: Link) -> Running;

    /// Takes in an adapter that wants to hear when the catalogue is swapped: each adapter calls this once, when it begins
    /// to serve. [`Watchers`] is made to keep them in. Does nothing by default, which is right for a catalogue that never
    /// changes.
    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        let _ = watcher;
    }
}

impl<H: Handler + ?Sized> Handler for Arc<H> {
    fn endpoint(&self) -> &Arc<Endpoint> {
        (**self).endpoint()
    }

    fn view(&self, caller: &Caller) -> View {
        (**self).view(caller)
    }

    fn call(&self, call: Call, link: Link) -> Running {
        (**self).call(call, link)
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        (**self).subscribe(watcher);
    }
}

/// Who wants to hear that the catalogue was swapped: an adapter, which hands [`Input::Changed`](crate::Input::Changed) to
/// each of its machines (TOOL-16).
pub trait Watcher: Send + Sync {
    /// The catalogue was swapped: [`Handler::view`] gives the new one from now on.
    ///
    /// May be called from any thread, also by code that a call runs. It runs none of the handler's code and waits for no
    /// peer; it does wake tasks, so it is to be called without a lock of the handler's own. Takes time in proportion to the
    /// conversations that are open; several changes are best told as one.
    fn changed(&self, catalog: &Arc<Catalog>, what: Change);

    /// What the resource of that URI holds has changed: whoever follows it, and may still see it, is told (RES-7, SUB-9).
    ///
    /// As of [`changed`](Watcher::changed), except that [`Handler::view`] is asked for each of those who follow it.
    fn updated(&self, uri: &str) {
        let _ = uri;
    }
}

/// The [`Watcher`]s of a handler, for it to keep behind a lock of its own. Those that have gone are dropped as others come, so
/// that a server of many short connections does not grow.
///
/// ```
/// use std::sync::{Arc, Mutex, PoisonError};
///
/// use mcp_core::drive::Watchers;
/// use mcp_core::{Catalog, Change};
///
/// fn tell(watchers: &Mutex<Watchers>, catalog: &Arc<Catalog>) {
///     // The lock is free again when they are told.
///     let alive = watchers.lock().unwrap_or_else(PoisonError::into_inner).alive();
///     alive.iter().for_each(|watcher| watcher.changed(catalog, Change::Tools));
/// }
/// ```
#[derive(Default)]
pub struct Watchers(Vec<Weak<dyn Watcher>>);

impl Watchers {
    /// Nobody watches.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes one more in.
    pub fn add(&mut self, watcher: Weak<dyn Watcher>) {
        // Only when there is no room left: each is looked at a bounded number of times on average.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|watcher| watcher.strong_count() > 0);
            self.0.reserve(self.0.len() + 1);
        }
        self.0.push(watcher);
    }

    /// Those that still watch, to be told once no lock is held.
    #[must_use]
    pub fn alive(&self) -> Vec<Arc<dyn Watcher>> {
        self.0.iter().filter_map(Weak::upgrade).collect()
    }
}

impl fmt::Debug for Watchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watchers").field(&self.0.len()).finish()
    }
}

/// A call under way.
pub enum Running {
    /// It has ended already.
    Done(Outcome),
    /// It goes on. The adapter polls it once where it stands, and parks it if it is not ready. Dropping it cancels it.
    Later(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(outcome) => f.debug_tuple("Done").field(outcome).finish(),
            Self::Later(_) => f.write_str("Later(..)"),
        }
    }
}

/// How a running call speaks to its machine.
pub trait Uplink: Send + Sync + fmt::Debug {
    /// Hands [`Input::Note`](crate::Input::Note) to the machine. Never blocks on a peer: the machine bounds its queue.
    fn note(&self, call: CallId, note: Note);

    /// Whether [`Output::Abandon`](crate::Output::Abandon) was said of the call. For code that cannot be dropped.
    fn is_abandoned(&self, call: CallId) -> bool;

    /// Ready once the call has [room](crate::Machine::has_room) to say more, or need not wait for it. [`Waiters`] is made to
    /// keep those in who wait. Ready at once by default, which leaves it to the machine to merge and drop.
    fn poll_room(&self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        let _ = (call, cx);
        Poll::Ready(())
    }
}

/// Who waits for room to speak, for an adapter to keep beside its machine, behind the same lock.
///
/// The adapter [takes out](Waiters::roomy) who has room after each input and each pull, and wakes them once the lock is free
/// again: a waker may run anything. No wake-up is lost then, and nothing is kept of who waits no more.
#[derive(Debug, Default)]
pub struct Waiters(Vec<(CallId, Waker)>);

impl Waiters {
    /// The most that wait at once, of one machine: 256. More of them are not held back.
    pub const MOST: usize = 256;

    /// Nobody waits.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Ready if the call has room; if not, its task is among those that [`roomy`](Waiters::roomy) gives once it has.
    pub fn poll_room(&mut self, call: CallId, has_room: bool, cx: &Context<'_>) -> Poll<()> {
        if has_room {
            return Poll::Ready(());
        }
        // A task that looks again and again is there once.
        if !self.0.iter().any(|(waits, waker)| *waits == call && waker.will_wake(cx.waker())) {
            if self.0.len() >= Self::MOST {
                return Poll::Ready(());
            }
            self.0.push((call, cx.waker().clone()));
        }
        Poll::Pending
    }

    /// Takes out those whose calls have room now, to be woken once no lock is held.
    #[must_use = "who is not woken waits for ever"]
    pub fn roomy(&mut self, has_room: impl Fn(CallId) -> bool) -> Vec<Waker> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let (roomy, waits) = core::mem::take(&mut self.0).into_iter().partition(|(call, _)| has_room(*call));
        self.0 = waits;
        let roomy: Vec<(CallId, Waker)> = roomy;
        roomy.into_iter().map(|(_, waker)| waker).collect()
    }
}

/// A running call's own end of an [`Uplink`], and what its transport knows of the request.
///
/// ```
/// use mcp_core::drive::Link;
///
/// /// What some transport says of a request: a type of its own, which the code of a call asks for by name.
/// #[derive(Debug)]
/// struct Socket {
///     peer: std::net::SocketAddr,
/// }
///
/// fn is_local(link: &Link) -> bool {
///     // Over another transport there is no such thing.
///     link.context::<Socket>().is_none_or(|socket| socket.peer.ip().is_loopback())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Link {
    call: CallId,
    up: Arc<dyn Uplink>,
    context: Option<Arc<dyn Any + Send + Sync>>,
}

impl Link {
    /// The link of one call.
    #[must_use]
    pub fn new(call: CallId, up: Arc<dyn Uplink>) -> Self {
        Self { call, up, context: None }
    }

    /// With what the transport knows of the request that started this run.
    #[must_use]
    pub fn with_context(mut self, context: Arc<dyn Any + Send + Sync>) -> Self {
        self.context = Some(context);
        self
    }

    /// What the transport knows of the request that started this run: its adapter says of which type that is. `None` if it
    /// is of another, or there is nothing.
    #[must_use]
    pub fn context<T: Any>(&self) -> Option<&T> {
        self.context.as_deref()?.downcast_ref()
    }

    /// The same, to keep. It lives as long as it is kept.
    #[must_use]
    pub fn shared_context<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        Arc::clone(self.context.as_ref()?).downcast().ok()
    }

    /// Says something on the way. Dropped if nobody waits any more.
    pub fn note(&self, note: Note) {
        self.up.note(self.call, note);
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.up.is_abandoned(self.call)
    }

    /// Ready once there is room to say more, or waiting for it would be for nothing.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.up.poll_room(self.call, cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Deaf;

    impl Watcher for Deaf {
        fn changed(&self, _: &Arc<Catalog>, _: Change) {}
    }

    #[test]
    fn watchers_that_have_gone_leave_no_trace() {
        let mut watchers = Watchers::new();
        let kept: Arc<dyn Watcher> = Arc::new(Deaf);
        watchers.add(Arc::downgrade(&kept));
        for _ in 0..10_000 {
            let gone: Arc<dyn Watcher> = Arc::new(Deaf);
            watchers.add(Arc::downgrade(&gone));
        }
        assert!(watchers.0.capacity() <= 16, "{}", watchers.0.capacity());
        assert_eq!(watchers.alive().len(), 1);
        drop(kept);
        assert!(watchers.alive().is_empty());
    }

    #[derive(Debug)]
    struct Mute;

    impl Uplink for Mute {
        fn note(&self, _: CallId, _: Note) {}

        fn is_abandoned(&self, _: CallId) -> bool {
            false
        }
    }

    #[test]
    fn a_context_is_found_by_its_type_alone() {
        let link = Link::new(CallId(1), Arc::new(Mute));
        assert_eq!((link.context::<u8>(), link.shared_context::<u8>()), (None, None));
        let link = link.with_context(Arc::new(7_u8)).clone();
        assert_eq!((link.context::<u8>(), link.context::<i8>()), (Some(&7), None));
        assert_eq!((link.shared_context::<u8>().as_deref(), link.shared_context::<i8>()), (Some(&7), None));
    }

    struct Never;

    impl alloc::task::Wake for Never {
        fn wake(self: Arc<Self>) {}
    }

    fn task() -> Waker {
        Waker::from(Arc::new(Never))
    }

    #[test]
    fn who_waits_is_there_once_and_goes_once_there_is_room() {
        let (mut waiters, one, other) = (Waiters::new(), task(), task());
        let mut wait = |call, waker| waiters.poll_room(CallId(call), false, &Context::from_waker(waker));
        for _ in 0..1000 {
            assert!(wait(1, &one).is_pending() && wait(1, &other).is_pending() && wait(2, &one).is_pending());
        }
        assert!(waiters.poll_room(CallId(1), true, &Context::from_waker(&one)).is_ready());
        assert_eq!(waiters.0.len(), 3);
        assert!(waiters.roomy(|_| false).is_empty());
        let roomy = waiters.roomy(|call| call == CallId(1));
        assert!(roomy[0].will_wake(&one) && roomy[1].will_wake(&other) && roomy.len() == 2);
        assert_eq!(waiters.roomy(|_| true).len(), 1);
        assert_eq!(waiters.0.capacity(), 0, "nothing is kept of them");
    }

    #[test]
    fn more_than_may_wait_are_not_held_back() {
        let mut waiters = Waiters::new();
        let tasks: Vec<Waker> = (0..=Waiters::MOST).map(|_| task()).collect();
        let held =
            tasks.iter().filter(|task| waiters.poll_room(CallId(1), false, &Context::from_waker(task)).is_pending());
        assert_eq!(held.count(), Waiters::MOST);
        assert_eq!(waiters.roomy(|_| true).len(), Waiters::MOST);
    }

    #[test]
    fn an_uplink_that_knows_no_room_holds_nobody_back() {
        let link = Link::new(CallId(1), Arc::new(Mute));
        assert!(link.poll_room(&mut Context::from_waker(&task())).is_ready());
    }

    #[test]
    fn watchers_that_live_are_all_kept() {
        let mut watchers = Watchers::new();
        let all: Vec<Arc<dyn Watcher>> = (0..100).map(|_| Arc::new(Deaf) as Arc<dyn Watcher>).collect();
        all.iter().for_each(|watcher| watchers.add(Arc::downgrade(watcher)));
        assert_eq!(watchers.alive().len(), 100);
    }
}
