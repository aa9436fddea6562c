//! What was sent on the streams of sessions, so that clients can go on where their connection broke (HTTP-29).
//!
//! One log for all sessions behind one lock, which is held to copy one event and never while a session is taken in hand by
//! whoever holds it: a session's own lock is always the outer one.

use std::fmt;
use std::sync::Mutex;

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::{EventId, EventLog, SessionId, StreamId, Time};

use crate::sync::lock;

/// The log of one service.
pub(crate) struct Log(Mutex<EventLog>);

impl Log {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self(Mutex::new(EventLog::new(policy)))
    }

    /// Keeps what was pulled, if it is an event with an id.
    pub(crate) fn append(&self, session: SessionId, framed: &[u8]) {
        if EventId::of_event(framed).is_some() {
            lock(&self.0).append(session, framed);
        }
    }

    pub(crate) fn end(&self, session: SessionId, stream: StreamId, now: Time) {
        lock(&self.0).end(session, stream, now);
    }

    pub(crate) fn can_resume(&self, session: SessionId, event: EventId) -> bool {
        lock(&self.0).can_resume(session, event)
    }

    pub(crate) fn after(&self, session: SessionId, event: EventId) -> Option<(EventId, Bytes)> {
        lock(&self.0).after(session, event)
    }

    pub(crate) fn forget(&self, session: SessionId) {
        lock(&self.0).forget(session);
    }

    pub(crate) fn expire(&self, now: Time) {
        lock(&self.0).expire(now);
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.0).bytes()
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}
