//! The sessions of this node, and those that are just being fetched: one fetch at a time for each.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_core::{Fault, Principal, Session, SnapshotError};

use super::cell::{Beginning, Cell};
use super::{Backoff, Node, unavailable};
use crate::bell::Bell;
use crate::shared::Shared;
use crate::store::{Acquired, NodeId, SessionKey, StoreError};
use crate::sync::lock;

/// Sessions of which it is known how far they had come when they were here last: 256.
const KNOWN: usize = 256;
/// Sessions that are fetched at once: 1,024. Most of them are not there, where somebody tries ids; so they take no seats of those
/// that are.
const FETCHES: usize = 1024;

/// Where a session is.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Here(Arc<Cell>),
    /// At another node, for so long at least.
    There(NodeId, Duration),
    Missing,
    /// It is not known, or there is no room.
    Refused(Fault),
}

/// The sessions of this node.
#[derive(Debug)]
pub(super) struct Table {
    entries: Mutex<Entries>,
    most: usize,
    each: usize,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<SessionKey, Entry>,
    /// How many of these are being fetched.
    fetching: usize,
    /// How many each principal has here: only of those who have any.
    by_principal: HashMap<Principal, usize>,
    /// The versions of some that were here, oldest first: no later one can be lower.
    known: VecDeque<(SessionKey, u64)>,
}

#[derive(Clone, Debug)]
enum Entry {
    Fetching(Arc<Fetch>),
    Here(Arc<Cell>),
}

/// A session that is being fetched from the store.
#[derive(Debug, Default)]
struct Fetch {
    found: Mutex<Option<Found>>,
    done: Bell,
}

impl Table {
    pub(super) fn new(most: usize, each: usize) -> Self {
        Self { entries: Mutex::default(), most, each }
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.entries).here()
    }

    /// A session that is here.
    pub(super) fn here(&self, key: &SessionKey) -> Option<Arc<Cell>> {
        match lock(&self.entries).by_key.get(key) {
            Some(Entry::Here(cell)) => Some(Arc::clone(cell)),
            Some(Entry::Fetching(_)) | None => None,
        }
    }

    /// All sessions that are here.
    pub(super) fn all(&self) -> Vec<Arc<Cell>> {
        let entries = lock(&self.entries);
        let cells = entries.by_key.values().filter_map(|entry| match entry {
            Entry::Here(cell) => Some(Arc::clone(cell)),
            Entry::Fetching(_) => None,
        });
        cells.collect()
    }

    /// Takes in a session that was just opened.
    ///
    /// # Errors
    ///
    /// At a cap.
    pub(super) fn open(&self, cell: &Arc<Cell>) -> Result<(), Fault> {
        lock(&self.entries).insert(cell.key(), Entry::Here(Arc::clone(cell)), self.most, self.each)
    }

    /// Lets a session go; not another one that has taken its place.
    pub(super) fn remove(&self, cell: &Arc<Cell>) {
        let version = cell.lock().confirmed();
        let mut entries = lock(&self.entries);
        let is_it = |entry: &Entry| matches!(entry, Entry::Here(here) if Arc::ptr_eq(here, cell));
        if entries.by_key.get(cell.key()).is_some_and(is_it) {
            entries.remove(cell.key());
        }
        if entries.known.len() >= KNOWN {
            entries.known.pop_front();
        }
        entries.known.push_back((cell.key().clone(), version));
    }

    /// Whether the store has said of that session before that it had come further.
    fn runs_back(&self, key: &SessionKey, version: u64) -> bool {
        lock(&self.entries).known.iter().any(|(known, last)| known == key && version <= *last)
    }

    /// What is there of a session; whoever finds nothing is to fetch it.
    fn look(&self, key: &SessionKey) -> Result<(Entry, bool), Fault> {
        let mut entries = lock(&self.entries);
        if let Some(entry) = entries.by_key.get(key) {
            return Ok((entry.clone(), false));
        }
        if entries.fetching >= FETCHES {
            let fault = Fault::internal("Too many sessions are being looked for: try again later");
            return Err(fault.with_status(503));
        }
        let entry = Entry::Fetching(Arc::default());
        // Of a session that may not exist: the principal's share is asked for when it does.
        entries.insert(key, entry.clone(), self.most, usize::MAX)?;
        Ok((entry, true))
    }

    fn fetched(&self, key: &SessionKey, fetch: &Fetch, found: Found) {
        {
            let mut entries = lock(&self.entries);
            match &found {
                Found::Here(cell) => {
                    entries.fetching -= 1;
                    entries.by_key.insert(key.clone(), Entry::Here(Arc::clone(cell)));
                }
                Found::There(..) | Found::Missing | Found::Refused(_) => entries.remove(key),
            }
        }
        *lock(&fetch.found) = Some(found);
        fetch.done.ring();
    }
}

impl Entries {
    fn here(&self) -> usize {
        self.by_key.len() - self.fetching
    }

    fn insert(&mut self, key: &SessionKey, entry: Entry, most: usize, each: usize) -> Result<(), Fault> {
        let full = |message| Err(Fault::internal(message).with_status(503));
        if self.here() >= most {
            return full("Too many sessions at this server: try again later");
        }
        if let Some(principal) = &key.principal {
            match self.by_principal.entry(principal.clone()) {
                Slot::Occupied(own) if *own.get() >= each => {
                    return full("You have too many sessions: end one of them with DELETE");
                }
                Slot::Occupied(mut own) => *own.get_mut() += 1,
                Slot::Vacant(own) => {
                    own.insert(1);
                }
            }
        }
        self.fetching += usize::from(matches!(entry, Entry::Fetching(_)));
        self.by_key.insert(key.clone(), entry);
        Ok(())
    }

    fn remove(&mut self, key: &SessionKey) {
        let Some(entry) = self.by_key.remove(key) else { return };
        self.fetching -= usize::from(matches!(entry, Entry::Fetching(_)));
        if let Some(principal) = &key.principal
            && let Slot::Occupied(mut own) = self.by_principal.entry(principal.clone())
        {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
    }
}

impl Node {
    /// Finds a session, and fetches it if nobody holds it. One fetch serves all who ask meanwhile, and is not given up when they
    /// are.
    pub(super) async fn find(self: &Arc<Self>, shared: &Arc<Shared>, key: &SessionKey) -> Found {
        let (entry, mine) = match self.table.look(key) {
            Ok(looked) => looked,
            Err(full) => return Found::Refused(full),
        };
        let fetch = match entry {
            Entry::Here(cell) => return Found::Here(cell),
            Entry::Fetching(fetch) => fetch,
        };
        if mine {
            let (node, weak, key, fetch) = (Arc::clone(self), Arc::downgrade(shared), key.clone(), Arc::clone(&fetch));
            shared.runtime.spawn(Box::pin(async move {
                let found = node.fetch(&weak, &key).await;
                if let (Found::Here(cell), Some(shared)) = (&found, weak.upgrade()) {
                    // What became of its calls is told, and its deadlines are kept, whoever asks.
                    cell.begin(&shared);
                }
                node.table.fetched(&key, &fetch, found);
            }));
        }
        let mut heard = 0;
        loop {
            let found = lock(&fetch.found).clone();
            if let Some(found) = found {
                return found;
            }
            poll_fn(|cx| fetch.done.poll_ring(&mut heard, cx)).await;
        }
    }

    /// The session as the store has it, if it is this node's now.
    async fn fetch(self: &Arc<Self>, weak: &Weak<Shared>, key: &SessionKey) -> Found {
        let mut backoff = Backoff::new();
        let Some(begun) = weak.upgrade().map(|shared| shared.now()) else { return Found::Refused(unavailable()) };
        loop {
            let Some(shared) = weak.upgrade() else { return Found::Refused(unavailable()) };
            let now = shared.now();
            if now.since(begun) > super::span(self.cluster.patience) {
                return Found::Refused(unavailable());
            }
            drop(shared);
            let lease_until = self.lease_from(now);
            let acquired = self.in_time(weak, self.store().acquire(key, self.id, self.cluster.lease)).await;
            match acquired {
                Ok(Acquired::Missing) => return Found::Missing,
                Ok(Acquired::Held { node, left }) if node != self.id => return Found::There(node, left),
                // The store lies: this node would have got it.
                Ok(Acquired::Held { .. }) => {
                    tracing::error!("the store says that this node holds what it does not have")
                }
                Ok(Acquired::Ours { version, snapshot, clean }) => {
                    let beginning = Beginning { version, lease_until, clean };
                    return self.take_over(weak, key, &snapshot, beginning).await;
                }
                Err(StoreError::Damaged(why)) => {
                    tracing::error!(%why, session = ?key.session, "a session cannot be read");
                    return Found::Missing;
                }
                Err(error) => tracing::warn!(%error, session = ?key.session, "a session could not be fetched"),
            }
            let Some(shared) = weak.upgrade() else { return Found::Refused(unavailable()) };
            backoff.wait(&*shared.runtime).await;
        }
    }

    /// Goes on with a session whose node has let it go, or has died.
    async fn take_over(
        self: &Arc<Self>,
        weak: &Weak<Shared>,
        key: &SessionKey,
        snapshot: &mcp_core::Snapshot,
        beginning: Beginning,
    ) -> Found {
        let Some(shared) = weak.upgrade() else { return Found::Refused(unavailable()) };
        if self.table.runs_back(key, beginning.version) {
            tracing::error!(session = ?key.session, "the store has given an old state of a session: it is not served");
            return Found::Missing;
        }
        let listed = self.listed(&shared);
        let machine =
            Session::take_over(shared.machine_id(), snapshot, Arc::clone(shared.endpoint()), listed, shared.now());
        drop(shared);
        let machine = match machine {
            Ok(machine) => machine,
            // Another node can, which has a newer release, or serves more.
            Err(error @ (SnapshotError::Version(_) | SnapshotError::Unserved(_))) => {
                tracing::error!(%error, session = ?key.session, "a session cannot be gone on with here");
                let keep = self.keep(weak);
                let release = self.store().release(key, self.id, beginning.version, None, keep);
                let _ = self.in_time(weak, release).await;
                return Found::Refused(unavailable());
            }
            Err(error) => {
                tracing::error!(%error, session = ?key.session, "a session cannot be gone on with");
                return Found::Missing;
            }
        };
        let caller = mcp_core::Caller { principal: key.principal.clone(), ..mcp_core::Caller::default() };
        if snapshot.session() != Some(key.session) || !snapshot.belongs_to(&caller) {
            tracing::error!(session = ?key.session, "the store has given the state of another session: it is not served");
            return Found::Missing;
        }
        if !beginning.clean
            && let Some(refused) = self.truncate(weak, key, &machine, beginning.version).await
        {
            return refused;
        }
        let Some(shared) = weak.upgrade() else { return Found::Refused(unavailable()) };
        Found::Here(Cell::taken_over(self, &shared, key.clone(), machine, beginning))
    }

    /// How long a record is kept at most.
    fn keep(&self, weak: &Weak<Shared>) -> Duration {
        weak.upgrade().map_or(Duration::ZERO, |shared| shared.endpoint().timing().idle.into())
    }

    /// Drops from the log what the dead node has appended and never sent.
    async fn truncate(&self, weak: &Weak<Shared>, key: &SessionKey, machine: &Session, version: u64) -> Option<Found> {
        let mut backoff = Backoff::new();
        let mut tries = 0;
        loop {
            let call = self.log().truncate(key, self.id, version, machine.last_events(), machine.next_stream());
            match self.in_time(weak, call).await {
                Ok(()) => return None,
                Err(StoreError::Fenced) => return Some(Found::Refused(unavailable())),
                Err(error) => {
                    tracing::warn!(%error, session = ?key.session, "the log of a session could not be cut back")
                }
            }
            tries += 1;
            if tries > 4 {
                return Some(Found::Refused(unavailable()));
            }
            let Some(shared) = weak.upgrade() else { return Some(Found::Refused(unavailable())) };
            backoff.wait(&*shared.runtime).await;
        }
    }
}
