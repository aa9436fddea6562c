//! What a session has to have stored before anything more of it may leave.

use std::time::Duration;

use bytes::Bytes;
use mcp_core::{EventId, Snapshot, StreamId};

/// What is to be stored before anything more may leave. It is done again as it is until it is confirmed.
#[derive(Debug)]
pub(super) enum Batch {
    Store(Box<Store>),
    /// The session sleeps, and nobody here needs it.
    Release {
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
    },
    /// It has ended.
    Remove,
}

#[derive(Debug)]
pub(super) struct Store {
    pub(super) step: Step,
    pub(super) version: u64,
    pub(super) snapshot: Snapshot,
    pub(super) digest: u64,
    pub(super) keep: Duration,
    pub(super) opening: bool,
    pub(super) events: Vec<(EventId, Bytes)>,
    pub(super) ended: Vec<StreamId>,
}

/// How far a [`Store`] has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The session is made, with its state.
    Create,
    /// Its first events follow.
    AppendAlone,
    /// Events come before their state.
    Append,
    Save,
    Done,
}
