//! When each session of this node must be looked at.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;
use std::time::Duration;

use mcp_core::Time;

use super::{Node, first};
use crate::bell::Bell;
use crate::shared::Shared;
use crate::store::SessionKey;
use crate::sync::lock;

/// The longest sleep of the watch: 60 s, so that it finds out about a suspended machine in good time.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The table of deadlines. Of each session the earliest alone counts; one that falls due too early does no harm.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    due: Mutex<BTreeSet<(Time, SessionKey)>>,
    alarm: Bell,
}

impl Deadlines {
    /// Has the session looked at by `at`, instead of `before`.
    pub(super) fn arm(&self, key: &SessionKey, before: Time, at: Time) {
        let earliest = {
            let mut due = lock(&self.due);
            let earliest = due.first().map_or(Time::MAX, |(at, _)| *at);
            due.remove(&(before, key.clone()));
            due.insert((at, key.clone()));
            at < earliest
        };
        if earliest {
            self.alarm.ring();
        }
    }

    pub(super) fn disarm(&self, key: &SessionKey, at: Time) {
        lock(&self.due).remove(&(at, key.clone()));
    }

    pub(super) fn ring(&self) {
        self.alarm.ring();
    }

    fn pop(&self, now: Time) -> Option<SessionKey> {
        let mut due = lock(&self.due);
        if due.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        due.pop_first().map(|(_, key)| key)
    }

    fn next(&self) -> Option<Time> {
        lock(&self.due).first().map(|(at, _)| *at)
    }
}

/// The task that keeps them.
pub(super) async fn watch(node: Arc<Node>, weak: Weak<Shared>) {
    let mut heard = 0;
    loop {
        let sleep = {
            let Some(shared) = weak.upgrade().filter(|_| !node.is_stopped()) else { return };
            shared.re_anchor();
            let now = shared.now();
            while let Some(key) = node.deadlines.pop(now) {
                if let Some(cell) = node.table.here(&key) {
                    cell.tick(&shared);
                }
            }
            let until = node.deadlines.next().map_or(LONGEST_SLEEP, |at| at.since(shared.now()).into());
            shared.runtime.sleep(until.min(LONGEST_SLEEP))
        };
        let alarm = poll_fn(|cx| match node.deadlines.alarm.poll_ring(&mut heard, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        });
        first(alarm, sleep).await;
    }
}
