//! Frames from node to node in Redis.

use bytes::Bytes;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue, Value, cmd};

use super::Redis;
use super::call::{damaged, millis, within};
use super::scripts::{BROADCAST, LEAVE, RECEIVE, SEND};
use crate::store::{NodeId, Relay, StoreError, Storing};
use crate::sync::lock;

/// Frames in one inbox, and bytes of them.
const FRAMES: usize = 4096;
const BYTES: usize = 64 << 20;
/// Bytes after which no more frames are taken at once.
const TAKE: usize = 4 << 20;

/// How far a node has read its inbox. What it has got is dropped there with its next receive only.
#[derive(Default)]
pub(super) struct Reader {
    /// A connection that waits for this node alone. None while somebody waits, and after that was given up.
    connection: Option<MultiplexedConnection>,
    last: Option<Seen>,
}

/// A frame: its name, and how many bytes had been sent with it.
#[derive(Clone)]
struct Seen {
    id: Box<str>,
    total: u64,
}

impl Relay for Redis {
    fn send(&self, to: NodeId, frame: Bytes) -> Storing<'_, bool> {
        Box::pin(async move {
            let mut call = self.on_nodes(&SEND);
            call.arg(to.to_string()).arg(&frame[..]).arg(FRAMES).arg(BYTES);
            match self.run(&call).await? {
                0 => Ok(false),
                answer => put(answer).map(|()| true),
            }
        })
    }

    fn broadcast(&self, from: NodeId, frame: Bytes) -> Storing<'_, ()> {
        Box::pin(async move {
            let mut call = self.on_nodes(&BROADCAST);
            call.arg(from.to_string()).arg(&frame[..]).arg(FRAMES).arg(BYTES);
            put(self.run(&call).await?)
        })
    }

    fn receive(&self, node: NodeId) -> Storing<'_, Vec<Bytes>> {
        Box::pin(async move {
            loop {
                let taken = self.take(node).await?;
                if !taken.is_empty() {
                    return Ok(taken);
                }
            }
        })
    }

    fn leave(&self, node: NodeId) -> Storing<'_, ()> {
        Box::pin(async move {
            let mut call = self.on_nodes(&LEAVE);
            call.arg(node.to_string());
            self.run::<i64>(&call).await?;
            lock(&self.readers).remove(&node);
            Ok(())
        })
    }
}

impl Redis {
    /// Says that the node is alive, and takes what is there; if that is nothing, waits for a frame for a part of its life.
    async fn take(&self, node: NodeId) -> Result<Vec<Bytes>, StoreError> {
        let (connection, last) = {
            let mut readers = lock(&self.readers);
            let reader = readers.entry(node).or_default();
            (reader.connection.take(), reader.last.clone())
        };
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let there = self.there(&mut connection, node, last.clone()).await?;
        let there = match there {
            (frames, last) if frames.is_empty() => self.wait(&mut connection, node, last).await?,
            there => there,
        };
        let (frames, last) = there;
        // Only now nothing can come between these frames and their receiver. An error has dropped the connection.
        lock(&self.readers).insert(node, Reader { connection: Some(connection), last });
        Ok(frames)
    }

    async fn connect(&self) -> Result<MultiplexedConnection, StoreError> {
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(self.timeout)).set_response_timeout(None);
        within(self.timeout, self.client.get_multiplexed_async_connection_with_config(&config)).await
    }

    async fn there(
        &self,
        connection: &mut MultiplexedConnection,
        node: NodeId,
        last: Option<Seen>,
    ) -> Result<(Vec<Bytes>, Option<Seen>), StoreError> {
        let (id, total) = last.as_ref().map_or(("0-0", 0), |last| (&*last.id, last.total));
        let mut call = self.on_nodes(&RECEIVE);
        call.arg(node.to_string()).arg(millis(self.liveness)).arg(id).arg(total).arg(TAKE);
        let answer: Vec<Value> = within(self.timeout, call.invoke_async(connection)).await?;
        frames(answer, last).ok_or_else(|| damaged("an inbox"))
    }

    async fn wait(
        &self,
        connection: &mut MultiplexedConnection,
        node: NodeId,
        last: Option<Seen>,
    ) -> Result<(Vec<Bytes>, Option<Seen>), StoreError> {
        let span = self.liveness / 3;
        let mut call = cmd("XREAD");
        call.arg("COUNT").arg(1).arg("BLOCK").arg(millis(span)).arg("STREAMS");
        call.arg(format!("{}:{node}", self.nodes_key())).arg(last.as_ref().map_or("0-0", |last| &last.id));
        let answer: Option<Vec<(String, Entries)>> = self.run_on(connection, &call, span).await?;
        let Some((_, entries)) = answer.and_then(|streams| streams.into_iter().next()) else {
            return Ok((Vec::new(), last));
        };
        let (frames, last) = entries.into_iter().fold((Vec::new(), last), |(mut frames, _), (id, entry)| {
            let (_, frame, _, total) = entry;
            frames.push(frame);
            (frames, Some(Seen { id: id.into(), total }))
        });
        Ok((frames, last))
    }
}

/// Frames as `XREAD` tells them.
type Entries = Vec<(String, (String, Bytes, String, u64))>;

fn put(answer: i64) -> Result<(), StoreError> {
    if answer < 0 {
        return Err(StoreError::Full("the inbox of a node, which does not receive fast enough".into()));
    }
    Ok(())
}

/// What the script says: whether the inbox is a new one, and name, bytes and frame of each.
fn frames(answer: Vec<Value>, last: Option<Seen>) -> Option<(Vec<Bytes>, Option<Seen>)> {
    let mut answer = answer.into_iter();
    let mut last = if bool::from_redis_value(answer.next()?).ok()? { None } else { last };
    let mut frames = Vec::with_capacity(answer.len() / 3);
    while let (Some(id), Some(total), Some(frame)) = (answer.next(), answer.next(), answer.next()) {
        let id = String::from_redis_value(id).ok()?.into();
        last = Some(Seen { id, total: u64::from_redis_value(total).ok()? });
        frames.push(Bytes::from_redis_value(frame).ok()?);
    }
    Some((frames, last))
}
