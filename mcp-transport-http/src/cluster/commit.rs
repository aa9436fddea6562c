//! Carrying out what a session has to have stored: one commit after the other, each until it is confirmed.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::batch::{Batch, Step, Store};
use super::cell::Cell;
use super::state::Life;
use super::{Backoff, Node};
use crate::shared::Shared;
use crate::store::{SessionKey, StoreError};
use crate::sync::lock;

/// The task that begins with what is to be stored.
pub(super) async fn keep_begun(node: Arc<Node>, weak: Weak<Shared>) {
    let mut heard = 0;
    while !node.is_stopped() {
        let due = std::mem::take(&mut *lock(&node.due));
        if due.is_empty() {
            poll_fn(|cx| node.store_bell.poll_ring(&mut heard, cx)).await;
            continue;
        }
        let Some(shared) = weak.upgrade() else { return };
        for (cell, batch) in due {
            shared.runtime.spawn(Box::pin(run(cell, Weak::clone(&weak), batch)));
        }
    }
}

impl Node {
    /// Has something stored. At most one for each session.
    pub(super) fn to_store(&self, cell: Arc<Cell>, batch: Batch) {
        lock(&self.due).push((cell, batch));
        self.store_bell.ring();
    }
}

/// The task that stores a batch, and then what has come meanwhile.
pub(super) async fn run(cell: Arc<Cell>, weak: Weak<Shared>, mut batch: Batch) {
    let node = Arc::clone(cell.node());
    let mut backoff = Backoff::new();
    loop {
        let stored = carry_out(&node, &weak, cell.key(), &mut batch).await;
        let Some(shared) = weak.upgrade() else { return };
        if cell.lock().life == Life::Fenced {
            return;
        }
        let due = match stored {
            Ok(()) => {
                backoff = Backoff::new();
                let at = cell.at(&shared);
                cell.change(|state| state.committed(at, &batch))
            }
            Err(StoreError::Fenced) if matches!(batch, Batch::Release { .. } | Batch::Remove) => {
                // It was done before, or somebody else goes on: it is not here any more in either case.
                let at = cell.at(&shared);
                cell.change(|state| state.committed(at, &batch))
            }
            Err(StoreError::Fenced) => return cell.fenced(&shared),
            Err(error) => {
                tracing::warn!(%error, session = ?cell.key().session, "a session could not be stored, and will be tried again");
                let at = cell.at(&shared);
                cell.change(|state| state.failed(at, &batch, node.cluster.patience))
            }
        };
        let again = matches!(&batch, Batch::Store(_) | Batch::Remove) && cell.lock().failing.is_some();
        let mut due = due;
        let next = due.batch.take();
        cell.bell.ring();
        cell.perform_elsewhere(&shared, due);
        match next {
            Some(next) => batch = next,
            None if again => {}
            None => return,
        }
        if cell.lock().failing.is_some() {
            backoff.wait(&*shared.runtime).await;
        }
    }
}

async fn carry_out(node: &Node, weak: &Weak<Shared>, key: &SessionKey, batch: &mut Batch) -> Result<(), StoreError> {
    match batch {
        Batch::Store(store) => keep(node, weak, key, store).await,
        Batch::Release { version, snapshot, keep } => {
            let release = node.store().release(key, node.id, *version, snapshot.clone(), *keep);
            node.in_time(weak, release).await
        }
        Batch::Remove => {
            node.in_time(weak, node.store().remove(key, node.id)).await?;
            // What is left of its events expires, if it cannot be forgotten now.
            if let Err(error) = node.in_time(weak, node.log().forget(key)).await {
                tracing::debug!(%error, "the events of a session that has ended could not be forgotten");
            }
            Ok(())
        }
    }
}

/// Events first: with a state that knows of an event there is that event. A new session is created before it has any. What was
/// confirmed is not done again.
async fn keep(node: &Node, weak: &Weak<Shared>, key: &SessionKey, store: &mut Store) -> Result<(), StoreError> {
    let Store { step, version, snapshot, keep, events, ended, .. } = store;
    let lease: Duration = node.cluster.lease;
    if *step == Step::Create {
        let made = node.in_time(weak, node.store().create(key, node.id, lease, snapshot.clone(), *keep)).await?;
        if made != *version {
            tracing::error!(made, "the store has made a session in a version that a new one cannot have");
            return Err(StoreError::Fenced);
        }
        *step = Step::AppendAlone;
    }
    if matches!(step, Step::Append | Step::AppendAlone) {
        if !events.is_empty() || !ended.is_empty() {
            node.in_time(weak, node.log().append(key, node.id, *version, events.clone(), ended.clone())).await?;
        }
        *step = if *step == Step::Append { Step::Save } else { Step::Done };
    }
    if *step == Step::Save {
        node.in_time(weak, node.store().save(key, node.id, *version, snapshot.clone(), *keep)).await?;
        *step = Step::Done;
    }
    Ok(())
}
