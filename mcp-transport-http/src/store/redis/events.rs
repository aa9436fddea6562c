//! Events in Redis.

use bytes::Bytes;
use mcp_core::{EventId, StreamId};
use redis::{FromRedisValue, Value};

use super::Redis;
use super::call::{damaged, millis};
use super::scripts::{AFTER, APPEND, FORGET, TRUNCATE};
use super::sessions::done;
use crate::store::{EventLog, NodeId, Replay, SessionKey, StoreError, Storing};

impl EventLog for Redis {
    fn append<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        events: Vec<(EventId, Bytes)>,
        ended: Vec<StreamId>,
    ) -> Storing<'a, ()> {
        Box::pin(async move {
            if let Some((event, _)) = events.iter().find(|(event, framed)| EventId::of_event(framed) != Some(*event)) {
                return Err(StoreError::Damaged(format!("what is to be appended as {event} is not framed so").into()));
            }
            let mut call = self.on_session(&APPEND, key);
            call.arg(node.to_string()).arg(version).arg(self.room).arg(millis(self.resume)).arg(events.len());
            for (event, framed) in &events {
                call.arg(event.stream.0).arg(event.number).arg(&framed[..]);
            }
            for stream in &ended {
                call.arg(stream.0);
            }
            done(self.run(&call).await?)
        })
    }

    fn after<'a>(&'a self, key: &'a SessionKey, event: EventId, bytes: usize) -> Storing<'a, Option<Replay>> {
        Box::pin(async move {
            let mut call = self.on_session(&AFTER, key);
            call.arg(event.stream.0).arg(event.number).arg(bytes).arg(millis(self.resume));
            let answer: Option<Vec<Value>> = self.run(&call).await?;
            answer.map(|answer| replay(answer, event).ok_or_else(|| damaged("a log"))).transpose()
        })
    }

    fn truncate<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        last: Vec<EventId>,
        next: StreamId,
    ) -> Storing<'a, ()> {
        Box::pin(async move {
            let mut call = self.on_session(&TRUNCATE, key);
            call.arg(node.to_string()).arg(version).arg(next.0);
            for last in &last {
                call.arg(last.stream.0).arg(last.number);
            }
            done(self.run(&call).await?)
        })
    }

    fn forget<'a>(&'a self, key: &'a SessionKey) -> Storing<'a, ()> {
        Box::pin(async move { self.run::<i64>(&self.on_session(&FORGET, key)).await.map(drop) })
    }
}

/// What the script says, with each event under the name that it has itself.
fn replay(answer: Vec<Value>, after: EventId) -> Option<Replay> {
    let mut answer = answer.into_iter();
    let ended = bool::from_redis_value(answer.next()?).ok()?;
    let mut replay = Replay { events: Vec::with_capacity(answer.len()), ended };
    let mut last = after;
    for framed in answer {
        let framed = Bytes::from_redis_value(framed).ok()?;
        let next = EventId { number: last.number.checked_add(1)?, ..last };
        last = EventId::of_event(&framed).filter(|event| *event == next)?;
        replay.events.push((last, framed));
    }
    Some(replay)
}
