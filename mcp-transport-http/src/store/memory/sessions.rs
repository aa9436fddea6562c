//! Who holds which session, its last snapshot, and its events.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::{EventId, Principal, SessionId, Snapshot, StreamId, Time};

use crate::store::{Acquired, NodeId, Replay, SessionKey, StoreError};

/// Sessions, and bytes of snapshots. As many as a roster has by default.
const SESSIONS: usize = 1_000_000;
const BYTES: usize = 512 << 20;
/// The longest that anything is kept. A hundred years: what a clock can be moved by without an overflow.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// All sessions and all events.
#[derive(Debug)]
pub(super) struct Sessions {
    table: HashMap<SessionId, Record>,
    /// When each is gone, unless that is put off.
    expiry: BTreeSet<(Instant, SessionId)>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
    log: mcp_core::EventLog,
    start: Instant,
}

#[derive(Debug)]
struct Record {
    principal: Option<Principal>,
    /// Who holds it, and until when nobody else may.
    holder: Option<(NodeId, Instant)>,
    version: u64,
    snapshot: Snapshot,
    clean: bool,
    expires: Instant,
}

impl Sessions {
    pub(super) fn new(policy: &Policy, start: Instant) -> Self {
        Self {
            table: HashMap::new(),
            expiry: BTreeSet::new(),
            bytes: 0,
            most: SESSIONS,
            most_bytes: BYTES,
            log: mcp_core::EventLog::new(policy),
            start,
        }
    }

    pub(super) const fn room(&mut self, sessions: usize, bytes: usize) {
        (self.most, self.most_bytes) = (sessions, bytes);
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Drops what is gone by now.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((at, session)) = self.expiry.first().copied()
            && at <= now
        {
            self.drop_session(session);
        }
        self.log.expire(self.time(now));
    }

    pub(super) fn create(
        &mut self,
        key: &SessionKey,
        holder: (NodeId, Instant),
        snapshot: Snapshot,
        expires: Instant,
    ) -> Result<u64, StoreError> {
        if self.table.contains_key(&key.session) {
            self.held(key, holder.0, 1)?;
        } else if self.table.len() >= self.most {
            return Err(StoreError::Full("as many sessions as it takes".into()));
        }
        self.make_room(key.session, &snapshot)?;
        self.drop_session(key.session);
        let expires = expires.max(holder.1);
        let principal = key.principal.clone();
        self.bytes += snapshot.as_bytes().len();
        self.expiry.insert((expires, key.session));
        let record = Record { principal, holder: Some(holder), version: 1, snapshot, clean: false, expires };
        self.table.insert(key.session, record);
        Ok(1)
    }

    pub(super) fn acquire(&mut self, key: &SessionKey, node: NodeId, until: Instant, now: Instant) -> Acquired {
        let Some(record) = self.find(key) else { return Acquired::Missing };
        match record.holder {
            Some((holder, lease)) if holder != node && lease > now => {
                return Acquired::Held { node: holder, left: lease - now };
            }
            // Its node has died.
            Some((holder, _)) if holder != node => record.clean = false,
            Some(_) | None => {}
        }
        record.holder = Some((node, until));
        record.version += 1;
        let acquired =
            Acquired::Ours { version: record.version, snapshot: record.snapshot.clone(), clean: record.clean };
        self.put_off(key.session, until);
        acquired
    }

    /// Stores a state. Nobody holds the session any more if it is let go.
    pub(super) fn save(
        &mut self,
        key: &SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Instant,
        let_go: bool,
    ) -> Result<(), StoreError> {
        self.held(key, node, version)?;
        if let Some(snapshot) = &snapshot {
            self.make_room(key.session, snapshot)?;
        }
        let record = self.held(key, node, version)?;
        record.version = version;
        record.clean = let_go;
        if let_go {
            record.holder = None;
        }
        let lease = record.holder.map_or(keep, |(_, lease)| lease);
        if let Some(snapshot) = snapshot {
            let before = std::mem::replace(&mut record.snapshot, snapshot).as_bytes().len();
            let after = record.snapshot.as_bytes().len();
            self.bytes = self.bytes - before + after;
        }
        self.expire_at(key.session, keep.max(lease));
        Ok(())
    }

    pub(super) fn renew(&mut self, key: &SessionKey, node: NodeId, until: Instant) -> bool {
        let Some((holder, lease)) = self.find(key).and_then(|record| record.holder.as_mut()) else { return false };
        if *holder != node {
            return false;
        }
        *lease = until.max(*lease);
        self.put_off(key.session, until);
        true
    }

    pub(super) fn remove(&mut self, key: &SessionKey, node: NodeId) -> Result<(), StoreError> {
        if self.find(key).is_some() {
            self.held(key, node, u64::MAX)?;
            self.drop_session(key.session);
        }
        Ok(())
    }

    pub(super) fn append(
        &mut self,
        key: &SessionKey,
        node: NodeId,
        version: u64,
        events: &[(EventId, Bytes)],
        ended: &[StreamId],
        now: Instant,
    ) -> Result<(), StoreError> {
        self.held(key, node, version)?.clean = false;
        if let Some((event, _)) = events.iter().find(|(event, framed)| EventId::of_event(framed) != Some(*event)) {
            return Err(StoreError::Damaged(format!("what is to be appended as {event} is not framed so").into()));
        }
        for (_, framed) in events {
            self.log.append(key.session, framed);
        }
        let now = self.time(now);
        ended.iter().for_each(|stream| self.log.end(key.session, *stream, now));
        Ok(())
    }

    pub(super) fn after(&mut self, key: &SessionKey, mut event: EventId, bytes: usize) -> Option<Replay> {
        self.find(key)?;
        if !self.log.can_resume(key.session, event) {
            return None;
        }
        let mut replay = Replay::default();
        let mut taken = 0;
        while (replay.events.is_empty() || taken < bytes)
            && let Some((next, framed)) = self.log.after(key.session, event)
        {
            taken += framed.len();
            event = next;
            replay.events.push((next, framed));
        }
        replay.ended = self.log.ended_with(key.session, event);
        Some(replay)
    }

    pub(super) fn truncate(
        &mut self,
        key: &SessionKey,
        node: NodeId,
        version: u64,
        last: &[EventId],
        next: StreamId,
    ) -> Result<(), StoreError> {
        self.held(key, node, version)?;
        self.log.truncate(key.session, last, next);
        Ok(())
    }

    pub(super) fn forget(&mut self, key: &SessionKey) {
        if self.find(key).is_some() {
            self.log.forget(key.session);
        }
    }

    /// One of that principal.
    fn find(&mut self, key: &SessionKey) -> Option<&mut Record> {
        self.table.get_mut(&key.session).filter(|record| record.principal == key.principal)
    }

    /// One that the node holds, with nothing stored that is later than this version.
    fn held(&mut self, key: &SessionKey, node: NodeId, version: u64) -> Result<&mut Record, StoreError> {
        let record = self.find(key).ok_or(StoreError::Fenced)?;
        let holds = record.holder.is_some_and(|(holder, _)| holder == node);
        if holds && record.version <= version { Ok(record) } else { Err(StoreError::Fenced) }
    }

    fn make_room(&self, session: SessionId, snapshot: &Snapshot) -> Result<(), StoreError> {
        let before = self.table.get(&session).map_or(0, |record| record.snapshot.as_bytes().len());
        let after = snapshot.as_bytes().len();
        if after > before && self.bytes - before + after > self.most_bytes {
            return Err(StoreError::Full("as many bytes of snapshots as it takes".into()));
        }
        Ok(())
    }

    fn put_off(&mut self, session: SessionId, until: Instant) {
        if self.table.get(&session).is_some_and(|record| record.expires < until) {
            self.expire_at(session, until);
        }
    }

    fn expire_at(&mut self, session: SessionId, at: Instant) {
        if let Some(record) = self.table.get_mut(&session) {
            self.expiry.remove(&(record.expires, session));
            record.expires = at;
            self.expiry.insert((at, session));
        }
    }

    fn drop_session(&mut self, session: SessionId) {
        if let Some(record) = self.table.remove(&session) {
            self.expiry.remove(&(record.expires, session));
            self.bytes -= record.snapshot.as_bytes().len();
            self.log.forget(session);
        }
    }

    fn time(&self, now: Instant) -> Time {
        let passed = now.saturating_duration_since(self.start).as_millis();
        Time(u64::try_from(passed).unwrap_or(u64::MAX))
    }
}

/// That time from now.
pub(super) fn from_now(now: Instant, span: Duration) -> Instant {
    now + span.min(LONGEST)
}
