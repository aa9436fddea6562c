//! Legacy sessions that outlive their process and are served by several nodes.
//!
//! A session of a cluster is *durable*: its state is in a [store](crate::store), and one node owns it, by a lease, and drives it.
//! Any node takes its client's requests: it answers them, takes the session over if nobody holds it, or hands them on to
//! the owner and carries back what comes.
//!
//! ```text
//!   client ─► node A ── acquire ──► ours ────► Cell: Session machine ─► collect ─► append, save ─► bytes leave
//!                          │                     ▲                                    │
//!                          └─► held by B ─ Ask ──┼──────────► B's Cell                └ fenced: not a byte more
//!                                                └ take_over of what the store knows
//! ```
//!
//! # Invariants
//!
//! 1. **Write ahead.** What an input brought about leaves the node after [`EventLog::append`] and then [`SessionStore::save`] have
//!    confirmed it: an `initialize` result, a 202, a result, an event. What changes nothing that is stored leaves at once,
//!    unless something before it is still being stored: a client sees no effect whose cause may yet be lost.
//! 2. **One commit at a time**, of a state and its events together. What comes meanwhile is coalesced in the machine, which bounds
//!    it: nothing is pulled while a commit is under way, and a checkpoint is taken only of a machine that has nothing unpulled.
//! 3. **A version names one content.** Each commit has a number of its own and is retried as it is, so that one which arrives late
//!    is the same again, or fenced.
//! 4. **No call runs twice.** A run that a stored question leads to starts after the commit that says it runs. A call that a stored
//!    state knows as running is answered as interrupted by whoever takes over. What was sent to an owner that died is never sent
//!    again, if it was a request.
//! 5. **Two nodes never both speak.** Nothing leaves a node whose lease is over by its own clock, which runs from before the
//!    renewal was sent; nothing is stored by a node that the store knows as succeeded. A node that learns so drops the session,
//!    its calls and its readers without another byte.
//! 6. **No lock is held over IO.** Store calls are made by tasks that hold no lock, with a limit of time each.
//! 7. **Bounds.** Of a session whose store is slow: what its machine bounds. Of its readers: 256 KiB each, and then they read on from
//!    the log. Of requests that are handed on: a window of 256 KiB each, and so many at a time. A session whose store has failed
//!    for `patience` refuses requests with 503; it stays, and commits when the store is back. Other sessions notice nothing.
//! 8. **A session is its principal's.** Every look-up is by id and principal. What the store gives is checked: a snapshot of
//!    another session or principal is refused, for that session alone.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;
use std::time::Duration;

use mcp_core::policy::Limits;
use mcp_core::{Caller, Catalog, Change, Fault, Generations, Time};

use crate::bell::Bell;
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::store::{EventLog, NodeId, Relay, SessionStore, StoreError};
use crate::sync::lock;

mod ask;
mod batch;
mod cell;
mod commit;
mod conversations;
mod deadlines;
mod frame;
mod leases;
mod reader;
mod serve;
mod shutdown;
mod slot;
mod state;
mod table;

use batch::Batch;
use cell::Cell;
use conversations::Conversations;
use deadlines::Deadlines;
use frame::Frame;
use table::Table;

/// How long a lease is good that is not renewed: 10 s. A third of it passes between two renewals, so that two may fail; sessions
/// of a node that was killed go on elsewhere after that.
const LEASE: Duration = Duration::from_secs(10);
/// How long a request waits for a store that does not answer: 5 s, half of what the most impatient clients wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where sessions are kept that outlive their process and are served by several nodes: for [`Builder::cluster`](crate::Builder::cluster).
///
/// All nodes of one service are given the same store. [`store::Memory`](crate::store::Memory) is all three for the nodes of one process, as in tests.
///
/// ```
/// use std::sync::Arc;
/// use mcp_core::policy::Policy;
/// use mcp_transport_http::{Cluster, store::Memory};
///
/// let memory = Arc::new(Memory::new(&Policy::default()));
/// let cluster = Cluster::from(memory);
/// # let _ = cluster;
/// ```
#[derive(Clone)]
pub struct Cluster {
    store: Arc<dyn SessionStore>,
    log: Arc<dyn EventLog>,
    relay: Arc<dyn Relay>,
    lease: Duration,
    patience: Duration,
}

impl Cluster {
    /// A cluster that keeps its sessions and their events there, and whose nodes talk so.
    #[must_use]
    pub fn new(store: Arc<dyn SessionStore>, log: Arc<dyn EventLog>, relay: Arc<dyn Relay>) -> Self {
        Self { store, log, relay, lease: LEASE, patience: PATIENCE }
    }

    /// How long a node owns a session after it was last heard of, 10 s by default; renewed each third of it. Sessions of a node that
    /// was killed wait for as long. All nodes should have the same.
    ///
    /// At least 30 ms.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(30));
        self
    }

    /// How long a request waits for the store when that is slow or down, before it is refused with 503; 5 s by default. One call
    /// of the store may take as long before it is made again.
    ///
    /// At least 1 ms.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience.max(Duration::from_millis(1));
        self
    }
}

/// Whatever is all three at once.
impl<S: SessionStore + EventLog + Relay> From<Arc<S>> for Cluster {
    fn from(store: Arc<S>) -> Self {
        Self::new(Arc::<S>::clone(&store), Arc::<S>::clone(&store), store)
    }
}

#[cfg(feature = "redis")]
impl From<crate::store::Redis> for Cluster {
    fn from(store: crate::store::Redis) -> Self {
        Arc::new(store).into()
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("store", &self.store)
            .field("lease", &self.lease)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// This process as one of the nodes: what its background tasks hold, also when the service has gone.
pub(crate) struct Node {
    id: NodeId,
    cluster: Cluster,
    table: Table,
    deadlines: Deadlines,
    conversations: Conversations,
    /// What is to be said to other nodes, in order: short words only.
    outbox: Mutex<VecDeque<(Option<NodeId>, Frame)>>,
    /// Rings when there is something in it.
    post: Bell,
    /// The state of the lists, as it was last told.
    listed: Mutex<Option<Generations>>,
    started: AtomicBool,
    stopped: AtomicBool,
    /// What is to be stored, of sessions for which nothing is being stored.
    due: Mutex<Vec<(Arc<Cell>, Batch)>>,
    /// Rings when there is some.
    store_bell: Bell,
    /// Rings when the node stops.
    end: Bell,
}

/// Words that wait to be sent to other nodes. 16,384: of the conversations that there may be at most, each has at most two.
const OUTBOX: usize = 16 << 10;

impl Node {
    /// # Errors
    ///
    /// If the system has no random bytes.
    pub(crate) fn new(cluster: Cluster, limits: &Limits) -> Result<Arc<Self>, getrandom::Error> {
        Ok(Arc::new(Self {
            id: NodeId::random()?,
            cluster,
            table: Table::new(limits.sessions, limits.sessions_each),
            deadlines: Deadlines::default(),
            conversations: Conversations::default(),
            outbox: Mutex::default(),
            post: Bell::default(),
            listed: Mutex::default(),
            started: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            due: Mutex::default(),
            store_bell: Bell::default(),
            end: Bell::default(),
        }))
    }

    /// Begins to be a node, if it has not: the tasks that hear from the others, renew leases and keep deadlines.
    pub(crate) fn start(self: &Arc<Self>, shared: &Arc<Shared>) {
        if self.started.load(Ordering::Relaxed) || self.started.swap(true, Ordering::SeqCst) {
            return;
        }
        let weak = Arc::downgrade(shared);
        let spawn = |task: Pin<Box<dyn Future<Output = ()> + Send>>| shared.runtime.spawn(task);
        spawn(Box::pin(commit::keep_begun(Arc::clone(self), Weak::clone(&weak))));
        spawn(Box::pin(serve::receive(Arc::clone(self), Weak::clone(&weak))));
        spawn(Box::pin(serve::send(Arc::clone(self), Weak::clone(&weak))));
        spawn(Box::pin(leases::renew(Arc::clone(self), Weak::clone(&weak))));
        spawn(Box::pin(leases::probe(Arc::clone(self), Weak::clone(&weak))));
        spawn(Box::pin(deadlines::watch(Arc::clone(self), weak)));
    }

    /// Ends its tasks: the service has gone.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.end.ring();
        self.deadlines.ring();
        self.post.ring();
        self.store_bell.ring();
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Sessions that are here.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Has something said to another node, or to all of them. If too much waits, it is dropped: whoever misses it finds out by
    /// asking.
    fn say(&self, to: Option<NodeId>, frame: Frame) {
        {
            let mut outbox = lock(&self.outbox);
            if outbox.len() >= OUTBOX {
                tracing::warn!("a word to another node was dropped: the relay does not keep up");
                return;
            }
            outbox.push_back((to, frame));
        }
        self.post.ring();
    }

    /// The catalogue was swapped.
    pub(crate) fn changed(&self, shared: &Shared, catalog: &Arc<Catalog>, what: Change) {
        *lock(&self.listed) = Some(catalog.generations());
        self.table.all().iter().for_each(|cell| cell.changed(shared, catalog, what));
    }

    /// What a resource holds has changed.
    pub(crate) fn updated(&self, shared: &Shared, uri: &str) {
        self.table.all().iter().for_each(|cell| cell.updated(shared, uri));
    }

    /// The state of the lists now.
    fn listed(&self, shared: &Shared) -> Generations {
        if let Some(listed) = *lock(&self.listed) {
            return listed;
        }
        // The handler is asked without the lock.
        let listed = shared.handler.view(&Caller::anonymous()).catalog().generations();
        *lock(&self.listed).get_or_insert(listed)
    }

    fn store(&self) -> &dyn SessionStore {
        &*self.cluster.store
    }

    fn log(&self) -> &dyn EventLog {
        &*self.cluster.log
    }

    fn relay(&self) -> &dyn Relay {
        &*self.cluster.relay
    }

    /// A lease that is asked for now is good until then, whenever the store gets to know.
    fn lease_from(&self, now: Time) -> Time {
        now.after(span(self.cluster.lease))
    }

    /// What the store answers, if it does in time.
    async fn in_time<T>(
        &self,
        shared: &Weak<Shared>,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(mut limit) = shared.upgrade().map(|shared| shared.runtime.sleep(self.cluster.patience)) else {
            return Err(StoreError::Down("the service has gone".into()));
        };
        let mut call = std::pin::pin!(call);
        std::future::poll_fn(|cx| match call.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => {
                limit.as_mut().poll(cx).map(|()| Err(StoreError::Down("it does not answer in time".into())))
            }
        })
        .await
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("id", &self.id)
            .field("cluster", &self.cluster)
            .field("sessions", &self.table.len())
            .finish_non_exhaustive()
    }
}

/// What a call is answered with whose node has died, or was stopped, before it ended.
pub(crate) fn interrupted() -> Fault {
    Fault::interrupted()
}

/// There is no store to say what is asked for.
fn unavailable() -> Fault {
    Fault::internal("The session's store cannot be reached now: try again later").with_status(503)
}

fn span(duration: Duration) -> mcp_core::Span {
    mcp_core::Span(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Waits a little longer from time to time: 20 ms, and twice as much up to 1 s.
struct Backoff(Duration);

impl Backoff {
    const fn new() -> Self {
        Self(Duration::from_millis(20))
    }

    async fn wait(&mut self, runtime: &dyn Runtime) {
        runtime.sleep(self.0).await;
        self.0 = (self.0 * 2).min(Duration::from_secs(1));
    }
}

/// The first of the two that ends; the other is dropped.
async fn first(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    std::future::poll_fn(|cx| match one.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => other.as_mut().poll(cx),
    })
    .await;
}
