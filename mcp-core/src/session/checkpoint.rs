//! A session that outlives its node: what another needs to go on with it.

use alloc::sync::Arc;

use super::Session;
use crate::catalog::Generations;
use crate::endpoint::Endpoint;
use crate::machine::MachineId;
use crate::snapshot::{Checkpoint, Snapshot, SnapshotError};
use crate::time::Time;

impl Session {
    /// What another node needs to go on with the session if this one dies, also while calls run: what its client can have been
    /// told of. `listed` is as with [`Session::sleep`]. `None` for a session that is opening, has closed or is
    /// [sessionless](Session::sessionless).
    ///
    /// Take it after every output was taken and every stream pulled: what waits to be sent is not in it.
    #[must_use]
    pub fn checkpoint(&self, listed: Generations) -> Option<Checkpoint> {
        let _ = listed;
        None
    }

    /// Goes on with a session whose node has died or let it go, from a [checkpoint](Session::checkpoint) or a
    /// [sleeper's](Session::sleep) snapshot. Its readers are gone. Calls that ran are answered once, as
    /// [interrupted](crate::Fault::interrupted), on their streams, and are never run again; open questions stay open.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a snapshot, or of one that nobody here can continue.
    pub fn take_over(
        machine: MachineId,
        snapshot: &Snapshot,
        endpoint: Arc<Endpoint>,
        listed: Generations,
        now: Time,
    ) -> Result<Self, SnapshotError> {
        Self::wake(machine, snapshot, crate::KeepAlives::default(), endpoint, listed, now)
    }
}
