//! What all clones of one service share.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use mcp_core::drive::{Handler, Watcher};
use mcp_core::{Catalog, Change, Endpoint, Input, Listeners, MachineId, Time};

use crate::bell::Bell;
use crate::builder::Config;
use crate::clock::Clock;
use crate::cluster::Node;
use crate::listens::Listens;
use crate::log::Log;
use crate::parked::ParkingLot;
use crate::run::Seats;
use crate::runtime::Runtime;
use crate::sessions::{News, Sessions};

pub(crate) struct Shared {
    pub(crate) handler: Box<dyn Handler>,
    pub(crate) runtime: Box<dyn Runtime>,
    pub(crate) config: Config,
    pub(crate) sessions: Sessions,
    /// What was sent to them, if they are resumable.
    pub(crate) log: Option<Log>,
    /// Where sessions are durable: this process as one of several nodes.
    pub(crate) node: Option<Arc<Node>>,
    pub(crate) listens: Listens,
    pub(crate) parked: ParkingLot,
    pub(crate) seats: Arc<Seats>,
    clock: Clock,
    machines: AtomicU64,
    /// Legacy calls that run as tasks.
    spawned: AtomicUsize,
    closing: AtomicBool,
    /// Rings, while the server goes down, when work has ended.
    calm: Bell,
}

impl Shared {
    pub(crate) fn new(
        handler: Box<dyn Handler>,
        runtime: Box<dyn Runtime>,
        config: Config,
        node: Option<Arc<Node>>,
    ) -> Arc<Self> {
        let shared = Arc::new(Self {
            sessions: Sessions::new(handler.endpoint().policy()),
            log: config.resumable.then(|| Log::new(handler.endpoint().policy())),
            listens: Listens::new(Listeners::new(handler.endpoint().limits())),
            seats: Seats::new(handler.endpoint().limits()),
            clock: Clock::new(&*runtime),
            node,
            handler,
            runtime,
            config,
            parked: ParkingLot::default(),
            machines: AtomicU64::new(1),
            spawned: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            calm: Bell::default(),
        });
        let watcher: Weak<Self> = Arc::downgrade(&shared);
        shared.handler.subscribe(watcher);
        shared
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        self.handler.endpoint()
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now(&*self.runtime)
    }

    pub(crate) fn re_anchor(&self) {
        self.clock.re_anchor(&*self.runtime);
    }

    /// What a resource holds has changed, says the handler or another node.
    pub(crate) fn heard_of_update(&self, uri: &str) {
        self.listens.updated(uri);
        self.sessions.tell(self, News::Updated(uri), |cell| cell.updated(self, uri));
        self.node.iter().for_each(|node| node.updated(self, uri));
    }

    /// A name that no other machine of this service has.
    pub(crate) fn machine_id(&self) -> MachineId {
        MachineId(self.machines.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// From now on nothing new is taken in.
    pub(crate) fn begin_closing(&self) {
        self.closing.store(true, Ordering::SeqCst);
    }

    /// A legacy call goes on as a task.
    pub(crate) fn begin(&self) {
        self.spawned.fetch_add(1, Ordering::SeqCst);
    }

    /// Such a call has ended.
    pub(crate) fn end(&self) {
        self.spawned.fetch_sub(1, Ordering::SeqCst);
        self.rest();
    }

    /// A request without a session has ended that had to wait.
    pub(crate) fn unpark(&self, id: MachineId) {
        self.parked.remove(id);
        self.rest();
    }

    /// Ready if no call is waited for. Told of while the server goes down only.
    pub(crate) fn poll_calm(&self, heard: &mut u64, cx: &Context<'_>) -> Poll<()> {
        loop {
            if self.spawned.load(Ordering::SeqCst) == 0 && self.parked.is_empty() {
                return Poll::Ready(());
            }
            std::task::ready!(self.calm.poll_ring(heard, cx));
        }
    }

    fn rest(&self) {
        if self.closing.load(Ordering::SeqCst) {
            self.calm.ring();
        }
    }
}

impl Watcher for Shared {
    // No lock is held where the handler's code runs, so none of those taken here can be held by whoever calls this.
    fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        self.listens.changed(catalog, what);
        self.sessions.tell(self, News::Changed(catalog.generations()), |cell| {
            cell.tell(self, Input::Changed { catalog: Arc::clone(catalog), what });
        });
        self.node.iter().for_each(|node| node.changed(self, catalog, what));
    }

    fn updated(&self, uri: &str) {
        self.heard_of_update(uri);
        self.node.iter().for_each(|node| node.tell_of_update(uri));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.sessions.ring();
        self.node.iter().for_each(|node| node.stop());
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("config", &self.config)
            .field("runtime", &self.runtime)
            .field("sessions", &self.sessions.len())
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}
