//! Going down: every session is let go, so that other nodes can go on with it at once.

use std::sync::Arc;

use super::Node;
use super::cell::Cell;
use crate::shared::Shared;

impl Node {
    /// Ends what runs, lets all sessions go, and leaves. Takes as long as the store, and no longer than twice the patience; what is
    /// not let go then is taken over by others when its lease is over. The calls had their time before.
    pub(crate) async fn shut_down(self: &Arc<Self>, shared: &Arc<Shared>) {
        let cells = self.table.all();
        self.conversations.close();
        let all = async {
            for cell in &cells {
                cell.interrupt();
                shared.runtime.spawn(Box::pin(let_go(Arc::clone(cell), Arc::downgrade(shared))));
            }
            for cell in &cells {
                cell.gone().await;
            }
            // Their last words go to other nodes' clients.
            while !self.conversations.serves_none() {
                shared.runtime.sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        super::first(all, shared.runtime.sleep(self.cluster.patience * 2)).await;
        if let Err(error) = self.in_time(&Arc::downgrade(shared), self.relay().leave(self.id)).await {
            tracing::debug!(%error, "the other nodes could not be told that this one has gone");
        }
        self.stop();
    }
}

async fn let_go(cell: Arc<Cell>, weak: std::sync::Weak<Shared>) {
    let mut heard = 0;
    loop {
        let Some(shared) = weak.upgrade() else { return };
        // A call that a stored question led to may have begun meanwhile.
        cell.interrupt();
        if cell.let_go(&shared) {
            return;
        }
        // If the store does not take it now, it lives on, and is let go again.
        drop(shared);
        std::future::poll_fn(|cx| cell.bell.poll_ring(&mut heard, cx)).await;
    }
}
