//! The requests without a session that wait for something: known so that a shutdown can end them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use mcp_core::MachineId;

use crate::sync::lock;

/// A machine that waits.
pub(crate) trait Parked: Send + Sync {
    /// The server goes down.
    fn close(&self);
}

/// How many ways the table is split: 16, so that two requests seldom meet on a lock that they hold for nanoseconds.
const SHARDS: usize = 16;

/// All machines that wait.
#[derive(Default)]
pub(crate) struct ParkingLot {
    shards: [Mutex<HashMap<MachineId, Weak<dyn Parked>>>; SHARDS],
}

impl ParkingLot {
    pub(crate) fn insert(&self, id: MachineId, machine: &Arc<dyn Parked>) {
        lock(self.shard(id)).insert(id, Arc::downgrade(machine));
    }

    pub(crate) fn remove(&self, id: MachineId) {
        lock(self.shard(id)).remove(&id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| lock(shard).is_empty())
    }

    /// Tells all of them that the server goes down.
    pub(crate) fn close(&self) {
        for shard in &self.shards {
            let machines: Vec<_> = lock(shard).values().filter_map(Weak::upgrade).collect();
            machines.iter().for_each(|machine| machine.close());
        }
    }

    fn shard(&self, id: MachineId) -> &Mutex<HashMap<MachineId, Weak<dyn Parked>>> {
        &self.shards[id.0 as usize % SHARDS]
    }
}
