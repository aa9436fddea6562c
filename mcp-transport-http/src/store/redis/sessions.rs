//! Sessions in Redis.

use std::time::Duration;

use bytes::Bytes;
use mcp_core::Snapshot;
use redis::{ErrorKind, FromRedisValue, RedisResult, Value, cmd, pipe};

use super::Redis;
use super::call::{damaged, millis};
use super::scripts::{ACQUIRE, CREATE, REMOVE, RENEW, SAVE, whose};
use crate::store::{Acquired, NodeId, SessionKey, SessionStore, StoreError, Storing};

/// Leases renewed with one round trip.
const BATCH: usize = 256;

impl SessionStore for Redis {
    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        lease: Duration,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, u64> {
        Box::pin(async move {
            let mut call = self.on_session(&CREATE, key);
            call.arg(node.to_string()).arg(millis(lease)).arg(millis(keep)).arg(snapshot.as_bytes());
            done(self.run(&call).await?).map(|()| 1)
        })
    }

    fn acquire<'a>(&'a self, key: &'a SessionKey, node: NodeId, lease: Duration) -> Storing<'a, Acquired> {
        Box::pin(async move {
            let mut call = self.on_session(&ACQUIRE, key);
            call.arg(node.to_string()).arg(millis(lease));
            acquired(self.run(&call).await?).ok_or_else(|| damaged("a session"))
        })
    }

    fn save<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, ()> {
        Box::pin(self.store(key, node, version, Some(snapshot), keep, false))
    }

    fn renew<'a>(&'a self, node: NodeId, keys: &'a [SessionKey], lease: Duration) -> Storing<'a, Vec<bool>> {
        Box::pin(async move {
            let mut renewed = Vec::with_capacity(keys.len());
            for keys in keys.chunks(BATCH) {
                renewed.extend(self.renew_batch(node, keys, lease).await?);
            }
            Ok(renewed)
        })
    }

    fn release<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
    ) -> Storing<'a, ()> {
        Box::pin(self.store(key, node, version, snapshot, keep, true))
    }

    fn remove<'a>(&'a self, key: &'a SessionKey, node: NodeId) -> Storing<'a, ()> {
        Box::pin(async move {
            let mut call = self.on_session(&REMOVE, key);
            call.arg(node.to_string());
            done(self.run(&call).await?)
        })
    }
}

impl Redis {
    async fn store(
        &self,
        key: &SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
        let_go: bool,
    ) -> Result<(), StoreError> {
        let mut call = self.on_session(&SAVE, key);
        call.arg(node.to_string()).arg(version).arg(millis(keep)).arg(u8::from(let_go));
        if let Some(snapshot) = &snapshot {
            call.arg(snapshot.as_bytes());
        }
        done(self.run(&call).await?)
    }

    async fn renew_batch(&self, node: NodeId, keys: &[SessionKey], lease: Duration) -> Result<Vec<bool>, StoreError> {
        let mut batch = pipe();
        for key in keys {
            let names = self.session_keys(key);
            let mut call = cmd("EVALSHA");
            call.arg(RENEW.get_hash()).arg(names.len()).arg(&names[..]).arg(whose(key.principal.as_ref()));
            call.arg(node.to_string()).arg(millis(lease));
            batch.add_command(call);
        }
        self.on_link(async |mut connection| {
            let renewed: RedisResult<Vec<bool>> = batch.query_async(&mut connection).await;
            match renewed {
                Err(error) if error.kind() == ErrorKind::Server(redis::ServerErrorKind::NoScript) => {
                    RENEW.load_async(&mut connection).await?;
                    batch.query_async(&mut connection).await
                }
                renewed => renewed,
            }
        })
        .await
    }
}

/// What a script that changes a session answers: 0 if it was fenced.
pub(super) fn done(answer: i64) -> Result<(), StoreError> {
    if answer == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}

fn acquired(answer: Vec<Value>) -> Option<Acquired> {
    match <[Value; 3]>::try_from(answer) {
        Ok([version, dirty, snapshot]) => Some(Acquired::Ours {
            version: u64::from_redis_value(version).ok()?,
            snapshot: Snapshot::from_bytes(Bytes::from_redis_value(snapshot).ok()?),
            clean: !bool::from_redis_value(dirty).ok()?,
        }),
        Err(answer) => match <[Value; 2]>::try_from(answer) {
            Ok([node, left]) => Some(Acquired::Held {
                node: NodeId::parse(&String::from_redis_value(node).ok()?)?,
                left: Duration::from_millis(u64::from_redis_value(left).ok()?),
            }),
            Err(answer) => answer.is_empty().then_some(Acquired::Missing),
        },
    }
}
