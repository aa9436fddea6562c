//! Holding on to the sessions of this node, all in a few calls, and to what was handed on.

use std::sync::{Arc, Weak};

use super::cell::Cell;
use super::frame::Frame;
use super::{Node, first};
use crate::shared::Shared;
use crate::store::SessionKey;

/// Leases that are renewed in one call: 512.
const BATCH: usize = 512;

/// The task that renews, each third of a lease.
pub(super) async fn renew(node: Arc<Node>, weak: Weak<Shared>) {
    let every = node.cluster.lease / 3;
    let mut heard = 0;
    loop {
        let sleep = {
            let Some(shared) = weak.upgrade().filter(|_| !node.is_stopped()) else { return };
            shared.runtime.sleep(every)
        };
        let ended = std::future::poll_fn(|cx| node.end.poll_ring(&mut heard, cx));
        first(sleep, ended).await;
        let Some(shared) = weak.upgrade() else { return };
        // Each by itself: what waits for the store must not keep the next round, nor the others, from their leases.
        for some in node.table.all().chunks(BATCH) {
            let (node, weak, some) = (Arc::clone(&node), Weak::clone(&weak), some.to_vec());
            shared.runtime.spawn(Box::pin(async move { node.renew(&weak, &some).await }));
        }
    }
}

/// The task that finds out, as often, whether other nodes still are there. Not the one that renews: a relay that hangs must cost no
/// lease.
pub(super) async fn probe(node: Arc<Node>, weak: Weak<Shared>) {
    let every = node.cluster.lease / 3;
    let mut heard = 0;
    loop {
        let sleep = {
            let Some(shared) = weak.upgrade().filter(|_| !node.is_stopped()) else { return };
            shared.runtime.sleep(every)
        };
        let ended = std::future::poll_fn(|cx| node.end.poll_ring(&mut heard, cx));
        first(sleep, ended).await;
        node.probe(&weak).await;
    }
}

impl Node {
    async fn renew(&self, weak: &Weak<Shared>, cells: &[Arc<Cell>]) {
        // Not of those whose record is being made: making it gives the lease.
        let cells: Vec<&Arc<Cell>> = cells.iter().filter(|cell| cell.lock().is_held()).collect();
        let keys: Vec<SessionKey> = cells.iter().map(|cell| cell.key().clone()).collect();
        let Some(now) = weak.upgrade().map(|shared| shared.now()) else { return };
        if keys.is_empty() {
            return;
        }
        let renewed = self.in_time(weak, self.store().renew(self.id, &keys, self.cluster.lease)).await;
        let Some(shared) = weak.upgrade() else { return };
        match renewed {
            Ok(renewed) => {
                if renewed.len() != cells.len() {
                    tracing::error!("the store has renewed another number of leases than it was asked to");
                    return;
                }
                let until = self.lease_from(now);
                for (cell, renewed) in cells.into_iter().zip(renewed) {
                    if renewed {
                        cell.renewed(until);
                    } else if cell.lock().is_held() {
                        cell.fenced(&shared);
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, "leases could not be renewed: sessions wait here until they are, or are known to be lost");
            }
        }
    }

    /// Whether the other nodes still answer what they were asked.
    async fn probe(&self, weak: &Weak<Shared>) {
        for (to, conversations) in self.conversations.all_asked() {
            let probe = Frame::Probe { conversations: conversations.clone() };
            let sent = self.in_time(weak, self.relay().send(to, probe.encode(self.id))).await;
            if matches!(sent, Ok(false)) {
                self.conversations.lost(to, &conversations);
            }
        }
    }
}
