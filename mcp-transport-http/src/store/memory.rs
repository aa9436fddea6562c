//! A store in memory, shared by the nodes of one process.

mod inbox;
mod sessions;

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::{EventId, Snapshot, StreamId};

use self::inbox::Inboxes;
use self::sessions::{Sessions, from_now};
use super::{Acquired, EventLog, NodeId, Relay, Replay, SessionKey, SessionStore, StoreError, Storing};
use crate::sync::lock;

/// A [`SessionStore`], an [`EventLog`] and a [`Relay`] in memory. Clones are the same store: give one to each node.
///
/// For tests of several nodes in one process, and the model that other implementations are compared with. It outlives the nodes,
/// but not the process. Each operation is done when its future is polled first, under a lock that is held for no
/// longer; only [`Relay::receive`] ever waits.
///
/// It is bounded: 1,000,000 sessions, 512 MiB of snapshots, the events by
/// [`Limits::log`](mcp_core::policy::Limits::log), and 4,096 frames or 64 MiB in the inbox of each node (one frame always fits).
///
/// ```
/// # use std::future::Future;
/// # use std::task::{Context, Poll, Waker};
/// # fn block_on<T>(future: impl Future<Output = T>) -> T {
/// #     match std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
/// #         Poll::Ready(done) => done,
/// #         Poll::Pending => panic!("it waits"),
/// #     }
/// # }
/// use std::time::Duration;
/// use mcp_core::{SessionId, Snapshot, policy::Policy};
/// use mcp_transport_http::store::{Acquired, Memory, NodeId, SessionKey, SessionStore, StoreError};
///
/// let store = Memory::new(&Policy::default());
/// let (one, other) = (NodeId::new([1; 16]), NodeId::new([2; 16]));
/// let key = SessionKey { session: SessionId::new([7; 16]), principal: None };
/// let (lease, keep) = (Duration::from_secs(10), Duration::from_secs(7200));
/// let snapshot = Snapshot::from_bytes("as it was".into());
///
/// # block_on(async {
/// assert_eq!(store.create(&key, one, lease, snapshot.clone(), keep).await, Ok(1));
/// assert!(matches!(store.acquire(&key, other, lease).await, Ok(Acquired::Held { node, .. }) if node == one));
/// assert_eq!(store.release(&key, one, 1, None, keep).await, Ok(()));
/// let acquired = store.acquire(&key, other, lease).await;
/// assert_eq!(acquired, Ok(Acquired::Ours { version: 2, snapshot: snapshot.clone(), clean: true }));
/// assert_eq!(store.save(&key, one, 3, snapshot, keep).await, Err(StoreError::Fenced));
/// # });
/// ```
#[derive(Clone)]
pub struct Memory(Arc<Shared>);

struct Shared {
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    sessions: Mutex<Sessions>,
    inboxes: Mutex<Inboxes>,
}

impl Memory {
    /// An empty store with the bounds of that policy, on the system's clock.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self::with_clock(policy, Instant::now)
    }

    /// The same on another clock, as in tests with simulated time: `move || runtime.now()`.
    #[must_use]
    pub fn with_clock(policy: &Policy, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        let start = clock();
        Self(Arc::new(Shared {
            clock: Box::new(clock),
            sessions: Mutex::new(Sessions::new(policy, start)),
            inboxes: Mutex::default(),
        }))
    }

    /// With room for at most so many sessions, and so many bytes of snapshots.
    #[must_use]
    pub fn room(self, sessions: usize, bytes: usize) -> Self {
        lock(&self.0.sessions).room(sessions, bytes);
        self
    }

    /// Sessions in it that have not expired.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sessions(|sessions, _| sessions.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn sessions<T>(&self, act: impl FnOnce(&mut Sessions, Instant) -> T) -> T {
        let now = (self.0.clock)();
        let mut sessions = lock(&self.0.sessions);
        sessions.expire(now);
        act(&mut sessions, now)
    }

    fn on_sessions<'a, T: Send + 'a>(
        &'a self,
        act: impl FnOnce(&mut Sessions, Instant) -> Result<T, StoreError> + Send + 'a,
    ) -> Storing<'a, T> {
        Box::pin(async move { self.sessions(act) })
    }

    fn on_inboxes<'a, T: Send + 'a>(
        &'a self,
        act: impl FnOnce(&mut Inboxes, Instant) -> Result<T, StoreError> + Send + 'a,
    ) -> Storing<'a, T> {
        Box::pin(async move {
            let now = (self.0.clock)();
            let mut inboxes = lock(&self.0.inboxes);
            let done = act(&mut inboxes, now);
            let woken = inboxes.woken();
            drop(inboxes);
            woken.into_iter().for_each(Waker::wake);
            done
        })
    }
}

/// Shows how many sessions it has: all else is secret.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("sessions", &self.len()).finish_non_exhaustive()
    }
}

impl SessionStore for Memory {
    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        lease: Duration,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, u64> {
        self.on_sessions(move |sessions, now| {
            sessions.create(key, (node, from_now(now, lease)), snapshot, from_now(now, keep))
        })
    }

    fn acquire<'a>(&'a self, key: &'a SessionKey, node: NodeId, lease: Duration) -> Storing<'a, Acquired> {
        self.on_sessions(move |sessions, now| Ok(sessions.acquire(key, node, from_now(now, lease), now)))
    }

    fn save<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, ()> {
        self.on_sessions(move |sessions, now| {
            sessions.save(key, node, version, Some(snapshot), from_now(now, keep), false)
        })
    }

    fn renew<'a>(&'a self, node: NodeId, keys: &'a [SessionKey], lease: Duration) -> Storing<'a, Vec<bool>> {
        self.on_sessions(move |sessions, now| {
            let until = from_now(now, lease);
            Ok(keys.iter().map(|key| sessions.renew(key, node, until)).collect())
        })
    }

    fn release<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
    ) -> Storing<'a, ()> {
        self.on_sessions(move |sessions, now| sessions.save(key, node, version, snapshot, from_now(now, keep), true))
    }

    fn remove<'a>(&'a self, key: &'a SessionKey, node: NodeId) -> Storing<'a, ()> {
        self.on_sessions(move |sessions, _| sessions.remove(key, node))
    }
}

impl EventLog for Memory {
    fn append<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        events: Vec<(EventId, Bytes)>,
        ended: Vec<StreamId>,
    ) -> Storing<'a, ()> {
        self.on_sessions(move |sessions, now| sessions.append(key, node, version, &events, &ended, now))
    }

    fn after<'a>(&'a self, key: &'a SessionKey, event: EventId, bytes: usize) -> Storing<'a, Option<Replay>> {
        self.on_sessions(move |sessions, _| Ok(sessions.after(key, event, bytes)))
    }

    fn truncate<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        last: Vec<EventId>,
        next: StreamId,
    ) -> Storing<'a, ()> {
        self.on_sessions(move |sessions, _| sessions.truncate(key, node, version, &last, next))
    }

    fn forget<'a>(&'a self, key: &'a SessionKey) -> Storing<'a, ()> {
        self.on_sessions(move |sessions, _| {
            sessions.forget(key);
            Ok(())
        })
    }
}

impl Relay for Memory {
    fn send(&self, to: NodeId, frame: Bytes) -> Storing<'_, bool> {
        self.on_inboxes(move |inboxes, now| inboxes.send(to, frame, now))
    }

    fn broadcast(&self, from: NodeId, frame: Bytes) -> Storing<'_, ()> {
        self.on_inboxes(move |inboxes, now| inboxes.broadcast(from, &frame, now))
    }

    fn receive(&self, node: NodeId) -> Storing<'_, Vec<Bytes>> {
        Box::pin(async move {
            let waiting = Waiting::new(self, node);
            poll_fn(|context| {
                let taken = lock(&waiting.store.0.inboxes).take(node, context.waker());
                if taken.is_empty() { Poll::Pending } else { Poll::Ready(Ok(taken)) }
            })
            .await
        })
    }

    fn leave(&self, node: NodeId) -> Storing<'_, ()> {
        self.on_inboxes(move |inboxes, _| {
            inboxes.remove(node);
            Ok(())
        })
    }
}

/// Somebody who waits for frames, which keeps the node alive.
struct Waiting<'a> {
    store: &'a Memory,
    node: NodeId,
}

impl<'a> Waiting<'a> {
    fn new(store: &'a Memory, node: NodeId) -> Self {
        lock(&store.0.inboxes).enter(node, (store.0.clock)());
        Self { store, node }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.store.0.inboxes).leave(self.node, (self.store.0.clock)());
    }
}
