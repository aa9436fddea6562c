//! A store that fails as it is told to, for one node.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcp_core::{EventId, Snapshot, StreamId};
use mcp_transport_http::store::{
    Acquired, EventLog, Memory, NodeId, Relay, Replay, SessionKey, SessionStore, StoreError, Storing,
};
use tokio::sync::Notify;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Create,
    Acquire,
    Save,
    Renew,
    Release,
    Remove,
    Append,
    After,
    Truncate,
    Forget,
    Send,
    Broadcast,
    Receive,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Fine,
    /// It is not done, and said not to be.
    Down,
    Full,
    /// It is done, and said not to be.
    Unknown,
    /// It is done late.
    Slow(Duration),
    /// The node dies before it.
    Dies,
    /// The node dies right after it.
    DoneAndDies,
}

type Decide = dyn FnMut(Op) -> Fate + Send;

/// The store as one node sees it.
#[derive(Clone)]
pub(crate) struct Faulty {
    memory: Memory,
    state: Arc<Mutex<State>>,
    cutting: Arc<Notify>,
    healing: Arc<Notify>,
}

struct State {
    decide: Box<Decide>,
    /// What was done, newest last.
    seen: VecDeque<Op>,
    /// The node is cut off from everything.
    cut: bool,
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Faulty")
    }
}

impl Faulty {
    pub(crate) fn new(memory: &Memory) -> Self {
        let state = State { decide: Box::new(|_| Fate::Fine), seen: VecDeque::new(), cut: false };
        let (cutting, healing) = (Arc::default(), Arc::default());
        Self { memory: memory.clone(), state: Arc::new(Mutex::new(state)), cutting, healing }
    }

    /// From now on that decides.
    pub(crate) fn decide(&self, decide: impl FnMut(Op) -> Fate + Send + 'static) {
        self.state.lock().unwrap().decide = Box::new(decide);
    }

    /// The node is dead for all others: nothing that it does is done any more.
    pub(crate) fn cut(&self) {
        self.state.lock().unwrap().cut = true;
        self.cutting.notify_waiters();
    }

    pub(crate) fn heal(&self) {
        let mut state = self.state.lock().unwrap();
        state.cut = false;
        state.decide = Box::new(|_| Fate::Fine);
        drop(state);
        self.healing.notify_waiters();
    }

    /// Cuts the node off once it has come so far with that operation: before it, or right after it was done.
    pub(crate) fn die_at(&self, at: Op, done: bool) {
        self.decide(move |op| match op {
            op if op == at && done => Fate::DoneAndDies,
            op if op == at => Fate::Dies,
            _ => Fate::Fine,
        });
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.state.lock().unwrap().cut
    }

    /// How often that was done.
    pub(crate) fn count(&self, op: Op) -> usize {
        self.state.lock().unwrap().seen.iter().filter(|seen| **seen == op).count()
    }

    fn fate(&self, op: Op) -> Fate {
        let mut state = self.state.lock().unwrap();
        state.seen.push_back(op);
        (state.decide)(op)
    }

    fn run<'a, T: Send + 'a>(&'a self, op: Op, call: Storing<'a, T>) -> Storing<'a, T> {
        Box::pin(async move {
            let cut = self.cutting.notified();
            if self.is_cut() {
                // Also said to be down, once it is told to be there again.
                self.healing.notified().await;
                return Err(StoreError::Down("the node was cut off".into()));
            }
            let done = async {
                match self.fate(op) {
                    Fate::Fine => call.await,
                    Fate::Down => Err(StoreError::Down("as the test wants".into())),
                    Fate::Full => Err(StoreError::Full("as the test wants".into())),
                    Fate::Unknown => {
                        drop(call.await);
                        Err(StoreError::Down("done, as the test wants".into()))
                    }
                    Fate::Slow(span) => {
                        tokio::time::sleep(span).await;
                        call.await
                    }
                    Fate::Dies => {
                        self.cut();
                        std::future::pending().await
                    }
                    Fate::DoneAndDies => {
                        drop(call.await);
                        self.cut();
                        std::future::pending().await
                    }
                }
            };
            let done = tokio::select! {
                biased;
                () = cut => None,
                done = done => Some(done),
            };
            match done {
                Some(done) => done,
                None => {
                    self.healing.notified().await;
                    Err(StoreError::Down("the node was cut off".into()))
                }
            }
        })
    }
}

impl SessionStore for Faulty {
    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        lease: Duration,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, u64> {
        self.run(Op::Create, self.memory.create(key, node, lease, snapshot, keep))
    }

    fn acquire<'a>(&'a self, key: &'a SessionKey, node: NodeId, lease: Duration) -> Storing<'a, Acquired> {
        self.run(Op::Acquire, self.memory.acquire(key, node, lease))
    }

    fn save<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, ()> {
        self.run(Op::Save, self.memory.save(key, node, version, snapshot, keep))
    }

    fn renew<'a>(&'a self, node: NodeId, keys: &'a [SessionKey], lease: Duration) -> Storing<'a, Vec<bool>> {
        self.run(Op::Renew, self.memory.renew(node, keys, lease))
    }

    fn release<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
    ) -> Storing<'a, ()> {
        self.run(Op::Release, self.memory.release(key, node, version, snapshot, keep))
    }

    fn remove<'a>(&'a self, key: &'a SessionKey, node: NodeId) -> Storing<'a, ()> {
        self.run(Op::Remove, self.memory.remove(key, node))
    }
}

impl EventLog for Faulty {
    fn append<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        events: Vec<(EventId, Bytes)>,
        ended: Vec<StreamId>,
    ) -> Storing<'a, ()> {
        self.run(Op::Append, self.memory.append(key, node, version, events, ended))
    }

    fn after<'a>(&'a self, key: &'a SessionKey, event: EventId, bytes: usize) -> Storing<'a, Option<Replay>> {
        self.run(Op::After, self.memory.after(key, event, bytes))
    }

    fn truncate<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        last: Vec<EventId>,
        next: StreamId,
    ) -> Storing<'a, ()> {
        self.run(Op::Truncate, self.memory.truncate(key, node, version, last, next))
    }

    fn forget<'a>(&'a self, key: &'a SessionKey) -> Storing<'a, ()> {
        self.run(Op::Forget, self.memory.forget(key))
    }
}

impl Relay for Faulty {
    fn send(&self, to: NodeId, frame: Bytes) -> Storing<'_, bool> {
        self.run(Op::Send, self.memory.send(to, frame))
    }

    fn broadcast(&self, from: NodeId, frame: Bytes) -> Storing<'_, ()> {
        self.run(Op::Broadcast, self.memory.broadcast(from, frame))
    }

    fn receive(&self, node: NodeId) -> Storing<'_, Vec<Bytes>> {
        self.run(Op::Receive, self.memory.receive(node))
    }

    fn leave(&self, node: NodeId) -> Storing<'_, ()> {
        self.memory.leave(node)
    }
}
