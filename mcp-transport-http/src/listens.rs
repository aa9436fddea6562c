//! Those who listen (`subscriptions/listen`): told of changes, counted, and ended with the server.
//!
//! The lock is touched when a listener comes or goes, and for a moment when something changes; no other request meets it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use mcp_core::{Catalog, Change, Claim, Fault, Listeners, MachineId};

use crate::shared::Shared;
use crate::sync::lock;

/// A machine that listens.
pub(crate) trait Listener: Send + Sync {
    /// The catalogue was swapped.
    fn changed(&self, catalog: &Arc<Catalog>, what: Change);

    /// What a resource holds has changed.
    fn updated(&self, uri: &str);

    /// The server goes down.
    fn close(&self);
}

/// All that listen at one service.
#[derive(Debug)]
pub(crate) struct Listens(Mutex<Table>);

struct Table {
    count: Listeners,
    open: HashMap<MachineId, Weak<dyn Listener>>,
    /// Nobody is taken in any more.
    closing: bool,
}

/// The room of one listener, given back when it is dropped.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    id: MachineId,
    claim: Claim,
}

impl Listens {
    pub(crate) fn new(count: Listeners) -> Self {
        Self(Mutex::new(Table { count, open: HashMap::new(), closing: false }))
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).count.len()
    }

    /// Tells each of a swapped catalogue.
    pub(crate) fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        self.for_each(|listener| listener.changed(catalog, what));
    }

    /// Tells those who follow a resource of its new contents.
    pub(crate) fn updated(&self, uri: &str) {
        self.for_each(|listener| listener.updated(uri));
    }

    /// Ends all of them, and takes in no more.
    pub(crate) fn close(&self) {
        lock(&self.0).closing = true;
        self.for_each(|listener| listener.close());
    }

    /// Nothing is done to a listener under the lock: it may go as it is told, and takes the lock then.
    fn for_each(&self, mut act: impl FnMut(&dyn Listener)) {
        let alive: Vec<_> = lock(&self.0).open.values().filter_map(Weak::upgrade).collect();
        alive.iter().for_each(|listener| act(&**listener));
    }
}

impl Table {
    fn admit(&mut self, claim: &Claim) -> Result<(), Fault> {
        if self.closing {
            return Err(Fault::shutting_down().with_status(503));
        }
        self.count.admit(claim)
    }
}

impl Seat {
    /// Takes a listener in, if there is room: from now on it is told.
    ///
    /// # Errors
    ///
    /// At the limits, and while the server goes down.
    pub(crate) fn take(
        shared: &Arc<Shared>,
        id: MachineId,
        claim: Claim,
        listener: Weak<dyn Listener>,
    ) -> Result<Self, Fault> {
        let mut table = lock(&shared.listens.0);
        table.admit(&claim)?;
        table.open.insert(id, listener);
        Ok(Self { shared: Arc::clone(shared), id, claim })
    }

    /// Takes the room of one that is told by other means, if there is any.
    ///
    /// # Errors
    ///
    /// As [`Seat::take`].
    #[cfg(feature = "sse")]
    pub(crate) fn reserve(shared: &Arc<Shared>, claim: Claim) -> Result<Self, Fault> {
        lock(&shared.listens.0).admit(&claim)?;
        Ok(Self { shared: Arc::clone(shared), id: shared.machine_id(), claim })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut table = lock(&self.shared.listens.0);
        table.count.release(&self.claim);
        table.open.remove(&self.id);
        if table.open.is_empty() && table.open.capacity() > ROOM {
            // A service that nobody listens to keeps no room for the crowd that once did.
            table.open = HashMap::new();
        }
    }
}

/// Listeners that room is kept for.
const ROOM: usize = 64;

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("count", &self.count).field("closing", &self.closing).finish_non_exhaustive()
    }
}
