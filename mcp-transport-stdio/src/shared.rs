//! The machine behind a lock, so that a call on any thread can speak to it while the driver sleeps.
//!
//! The lock is never held while foreign code runs: not while a handler is called, polled or dropped, not while a waker wakes.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use mcp_core::catalog::Catalog;
use mcp_core::drive::{Uplink, Waiters, Watcher};
use mcp_core::{CallId, Change, Input, Machine, Note, Pipe, Pull, StreamId};

use crate::clock::Clock;

/// From outside into a running [`Connection`](crate::Connection). Cheap to clone; does nothing once the connection has ended.
#[derive(Clone, Debug)]
pub struct Control(Weak<dyn Hub>);

impl Control {
    /// Ends the connection soon: running calls are cancelled, what is ready is sent, and the connection's future returns
    /// [`Ended::Shutdown`](crate::Ended::Shutdown).
    pub fn shutdown(&self) {
        if let Some(hub) = self.0.upgrade() {
            hub.shutdown();
        }
    }

    /// The catalogue was swapped: a client that wants to know will be told (TOOL-16). Needed for a handler that does not
    /// [take in](mcp_core::drive::Handler::subscribe) who watches it: a connection subscribes to its handler when it runs.
    pub fn changed(&self, catalog: Arc<Catalog>, what: Change) {
        if let Some(hub) = self.0.upgrade() {
            hub.changed(&catalog, what);
        }
    }

    /// What the resource of that URI holds has changed: a client that follows it, and may still see it, will be told (RES-7,
    /// SUB-9). Needed as [`changed`](Control::changed) is.
    pub fn updated(&self, uri: &str) {
        if let Some(hub) = self.0.upgrade() {
            hub.updated(uri);
        }
    }
}

/// What is shared by the driver, its calls, and its [`Control`]s.
pub(crate) struct Shared<C> {
    clock: C,
    state: Mutex<State>,
}

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) pipe: Pipe,
    /// Calls that were handed out and whose end was not handed in; few, as the machine limits them.
    pub(crate) running: Vec<CallId>,
    /// [`Control::shutdown`] was called.
    pub(crate) shutdown: bool,
    /// Resources that have changed and that the client follows; the driver asks what it may see, and then says so.
    updated: BTreeSet<Box<str>>,
    /// Calls that wait until the client has read more.
    waiters: Waiters,
    attention: Attention,
}

/// Whether the driver knows all that others did. Told in its own poll it will look again anyway, so it is woken only while it
/// sleeps.
#[derive(Debug)]
enum Attention {
    /// The driver runs, and nothing has happened since it last looked.
    Here,
    /// The driver runs, and must look again before it sleeps.
    Called,
    /// The driver sleeps.
    Away(Waker),
}

trait Hub: Uplink + Watcher {
    fn shutdown(&self);
}

impl<C: Clock> Shared<C> {
    pub(crate) fn new(pipe: impl FnOnce(mcp_core::Time) -> Pipe, clock: C) -> Arc<Self> {
        let pipe = pipe(clock.now());
        let state = State {
            pipe,
            running: Vec::new(),
            shutdown: false,
            updated: BTreeSet::new(),
            waiters: Waiters::new(),
            attention: Attention::Here,
        };
        Arc::new(Self { clock, state: Mutex::new(state) })
    }

    pub(crate) fn control(self: &Arc<Self>) -> Control {
        let weak = Arc::downgrade(self);
        Control(weak)
    }

    pub(crate) const fn clock(&self) -> &C {
        &self.clock
    }

    /// The machine. Nothing panics while it is locked, short of a bug in the core, after which it goes on as it is.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Shared::lock`], for the driver that will now look at all there is.
    pub(crate) fn attend(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.attention = Attention::Here;
        state
    }

    /// Lets the driver sleep, unless something has happened since it last [attended](Shared::attend).
    #[must_use]
    pub(crate) fn leave(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let mut state = self.lock();
        if matches!(state.attention, Attention::Called) {
            return false;
        }
        state.attention = Attention::Away(waker);
        true
    }

    /// Changes something, and sees to it that the driver takes notice.
    fn call(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let before = std::mem::replace(&mut state.attention, Attention::Called);
        drop(state);
        if let Attention::Away(waker) = before {
            waker.wake();
        }
    }
}

impl State {
    /// A resource that has changed, and that the client was not told of.
    pub(crate) fn take_updated(&mut self) -> Option<Box<str>> {
        self.updated.pop_first()
    }

    /// Pulls what waits, and says whom that made room for.
    pub(crate) fn pull(&mut self, buffer: &mut Vec<u8>, limit: usize) -> (Pull, Vec<Waker>) {
        (self.pipe.pull(StreamId::ONLY, buffer, limit), self.roomy())
    }

    /// Those who need not wait any more, to be woken without the lock.
    pub(crate) fn roomy(&mut self) -> Vec<Waker> {
        let Self { pipe, running, waiters, .. } = self;
        waiters.roomy(|call| !running.contains(&call) || pipe.has_room(call))
    }

    /// Whether the call still runs; it does no longer when this is asked again.
    pub(crate) fn settle(&mut self, call: CallId) {
        // The call that ended is mostly the last that began.
        if let Some(at) = self.running.iter().rposition(|running| *running == call) {
            self.running.swap_remove(at);
        }
    }
}

impl<C: Clock> Uplink for Shared<C> {
    fn note(&self, call: CallId, note: Note) {
        let now = self.clock.now();
        self.call(|state| {
            if state.running.contains(&call) {
                state.pipe.handle(now, Input::Note { call, note });
            }
        });
    }

    fn is_abandoned(&self, call: CallId) -> bool {
        !self.lock().running.contains(&call)
    }

    fn poll_room(&self, call: CallId, cx: &mut Context<'_>) -> Poll<()> {
        let State { pipe, running, waiters, .. } = &mut *self.lock();
        waiters.poll_room(call, !running.contains(&call) || pipe.has_room(call), cx)
    }
}

impl<C: Clock> Hub for Shared<C> {
    fn shutdown(&self) {
        self.call(|state| state.shutdown = true);
    }
}

impl<C: Clock> Watcher for Shared<C> {
    fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        let (now, catalog) = (self.clock.now(), Arc::clone(catalog));
        self.call(|state| state.pipe.handle(now, Input::Changed { catalog, what }));
    }

    fn updated(&self, uri: &str) {
        // Only what is followed is kept, so the machine's limits bound it.
        if self.lock().pipe.subscriber(uri).is_some() {
            self.call(|state| {
                state.updated.insert(uri.into());
            });
        }
    }
}

impl<C> fmt::Debug for Shared<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
