//! A store that passes the points where its process can be made to die.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cluster::point::{Op, Point};
use mcp_core::{EventId, Snapshot, StreamId};
use mcp_server::http::store::{Acquired, EventLog, NodeId, Replay, SessionKey, SessionStore, Storing};

use crate::armed::pass;

pub struct Faulty<S>(pub Arc<S>);

fn at<'a, T: 'a>(op: Op, storing: Storing<'a, T>) -> Storing<'a, T> {
    Box::pin(async move {
        pass(Point::Before(op));
        let stored = storing.await;
        if stored.is_ok() {
            pass(Point::After(op));
        }
        stored
    })
}

impl<S> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faulty")
    }
}

impl<S: SessionStore> SessionStore for Faulty<S> {
    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        lease: Duration,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, u64> {
        at(Op::Create, self.0.create(key, node, lease, snapshot, keep))
    }

    fn acquire<'a>(&'a self, key: &'a SessionKey, node: NodeId, lease: Duration) -> Storing<'a, Acquired> {
        at(Op::Acquire, self.0.acquire(key, node, lease))
    }

    fn save<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, ()> {
        at(Op::Save, self.0.save(key, node, version, snapshot, keep))
    }

    fn renew<'a>(&'a self, node: NodeId, keys: &'a [SessionKey], lease: Duration) -> Storing<'a, Vec<bool>> {
        at(Op::Renew, self.0.renew(node, keys, lease))
    }

    fn release<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
    ) -> Storing<'a, ()> {
        at(Op::Release, self.0.release(key, node, version, snapshot, keep))
    }

    fn remove<'a>(&'a self, key: &'a SessionKey, node: NodeId) -> Storing<'a, ()> {
        at(Op::Remove, self.0.remove(key, node))
    }
}

impl<S: EventLog> EventLog for Faulty<S> {
    fn append<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        events: Vec<(EventId, Bytes)>,
        ended: Vec<StreamId>,
    ) -> Storing<'a, ()> {
        at(Op::Append, self.0.append(key, node, version, events, ended))
    }

    fn after<'a>(&'a self, key: &'a SessionKey, event: EventId, bytes: usize) -> Storing<'a, Option<Replay>> {
        at(Op::Replay, self.0.after(key, event, bytes))
    }

    fn truncate<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        last: Vec<EventId>,
        next: StreamId,
    ) -> Storing<'a, ()> {
        at(Op::Truncate, self.0.truncate(key, node, version, last, next))
    }

    fn forget<'a>(&'a self, key: &'a SessionKey) -> Storing<'a, ()> {
        at(Op::Forget, self.0.forget(key))
    }
}
