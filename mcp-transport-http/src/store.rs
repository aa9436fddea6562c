//! Where sessions outlive their process: what several nodes need of a store, with one in memory and one in Redis.
//!
//! A *node* is one running server process. It owns a session while it holds the session's *lease*, and only the owner drives it;
//! what it needs to go on elsewhere is stored before a client learns of it.
//!
//! ```text
//!             SessionStore                     EventLog                       Relay
//!   create    who owns the session,  append    what was sent on      send     from node to node:
//!   acquire   until when,            after     its streams, for      broadcast  requests for a session that
//!   save      and its last Snapshot  truncate  who comes back        receive    another node owns
//! ```
//!
//! * [`Memory`] is all three in one process: for tests, and as the model of what the others must do.
//! * `Redis` is all three on one Redis primary (feature `redis`).
//! * Yours may be on anything that can change a few values of one session atomically. The functions of `contract` (feature
//!   `contract`) check whether it keeps every promise that is written here.
//!
//! # What an implementation must keep
//!
//! **Two nodes never both win.** Each session has one *version*, a number that only grows: [`SessionStore::acquire`] raises it,
//! and so does each [`SessionStore::save`]. What changes a session or its events is *fenced*: it names the node and the
//! version, and does nothing but answer [`StoreError::Fenced`] unless that node holds the session and nothing later was
//! stored. Check and change are one atomic step. A lease whose time is over is no reason to refuse its holder: only that another
//! node has acquired the session is.
//!
//! **Anything can be done again.** A call that answers an error but `Fenced`, runs into a time limit, or whose future is
//! dropped may have been carried out, may be carried out later, or never. Its caller does it again with the same arguments, and
//! that must end in the same state as doing it once: each method says how. A call that is carried out late, after
//! others took its place, is fenced.
//!
//! **Session and principal.** A session is found under both parts of its [`SessionKey`]. With another principal it does not
//! exist: not one answer differs from that for an id that never was.
//!
//! **Expiry is the store's.** A session that nobody holds is gone, with its events, once the `keep` of its last
//! change is over; one that is held also while its lease is good. No node has to run for that.
//!
//! **Time is the store's.** Leases and expiry go by one clock, the store's; nodes' clocks are never compared.
//!
//! **Secrets.** Session ids and snapshots are as good as the client's credentials, and principals may be names of people. Who can
//! read the store can take over every session in it: keep it as closed as that, and put none of them into errors or logs.
//!
//! **Size.** Values of 8 MiB and more must fit (a snapshot with its questions, one event, one frame). A store that has no room
//! says [`StoreError::Full`] and drops nothing that it has confirmed, but for the oldest events of a log.
//!
//! Futures must not need a certain runtime unless their type says so, and must be safe to drop at any point.

#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod error;
mod key;
mod memory;
#[cfg(feature = "redis")]
mod redis;

pub use error::StoreError;
pub use key::{NodeId, SessionKey};
pub use memory::Memory;
#[cfg(feature = "redis")]
pub use redis::Redis;

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use mcp_core::{EventId, Snapshot, StreamId};

/// What a store answers, some time.
pub type Storing<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What came of [`SessionStore::acquire`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// There is no such session, or it is another principal's.
    Missing,
    /// Another node holds it.
    Held {
        /// Which one.
        node: NodeId,
        /// How long its lease is good if it is not renewed. At least a millisecond.
        left: Duration,
    },
    /// It is this node's now.
    Ours {
        /// Its version, which nothing else was ever stored or fenced with.
        version: u64,
        /// What was saved last.
        snapshot: Snapshot,
        /// Whether it was [released](SessionStore::release) and nothing has happened since. If not, its node has died, or may
        /// have: more may have been done than the snapshot tells, and events may be in the log that it knows nothing of.
        clean: bool,
    },
}

/// Sessions: who holds each, and its last snapshot.
///
/// See the [module](self) for what all implementations keep. Where a method says *holds*, it means: the node was the last to
/// create or acquire the session, and has not released it since.
pub trait SessionStore: Send + Sync + Debug + 'static {
    /// Stores a session that has just been opened and that `node` holds for the time of `lease`. Answers its version, 1.
    ///
    /// Again by the same node, while nothing later was stored: the same answer, and the snapshot replaced.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] if there is such a session that another node made, that was saved since, or that is another
    /// principal's.
    fn create<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        lease: Duration,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, u64>;

    /// Takes a session that nobody holds, or whose lease is over, for the time of `lease`, and raises its version. Of any
    /// number of nodes that try at the same time one gets it, and the others are told which.
    ///
    /// Again by the node that holds it: `Ours` again, with a version raised once more, and `clean` as the first time if
    /// nothing was stored since. (So a node whose first answer was lost gets what it missed. What it sent before is fenced by the
    /// new version.)
    fn acquire<'a>(&'a self, key: &'a SessionKey, node: NodeId, lease: Duration) -> Storing<'a, Acquired>;

    /// Stores the state that the session has come to, under the version that it is to get: one more than the last.
    ///
    /// Again with the same version: replaced, and `Ok` again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] if the node does not hold it, a later version was stored, or it is gone. Then nothing that
    /// depends on this state may leave the node.
    fn save<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Snapshot,
        keep: Duration,
    ) -> Storing<'a, ()>;

    /// Holds the sessions for the time of `lease` from now. For each in turn: whether the node still holds it. It never
    /// shortens what is left, and never takes a session that it does not hold.
    fn renew<'a>(&'a self, node: NodeId, keys: &'a [SessionKey], lease: Duration) -> Storing<'a, Vec<bool>>;

    /// Lets go of a session, and saves it first if there is a snapshot, under `version` as [`SessionStore::save`] does; without
    /// one, `version` is that of the last save. Whoever acquires it next finds it clean.
    ///
    /// Again, also after another node has acquired it: `Fenced`, as after any other loss. Its caller takes that for done.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] as for [`SessionStore::save`].
    fn release<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        snapshot: Option<Snapshot>,
        keep: Duration,
    ) -> Storing<'a, ()>;

    /// Ends a session that the node holds; it and its lease are gone at once. Its events go with [`EventLog::forget`].
    ///
    /// Again, or if it has expired: `Ok`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] if another node holds it, or none.
    fn remove<'a>(&'a self, key: &'a SessionKey, node: NodeId) -> Storing<'a, ()>;
}

/// What comes after an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The events that follow, in order and without a gap, each framed as it was appended.
    pub events: Vec<(EventId, Bytes)>,
    /// Whether the stream has ended with the last of these.
    pub ended: bool,
}

/// The events that sessions have sent on their streams, kept until nobody can ask for them any more (HTTP-29).
///
/// The rules are those of [`mcp_core::EventLog`]: numbers of a stream start at 1 and have no gap; of the first event only the number
/// is kept; bytes are bounded for each session by [`Limits::log_of_session`](mcp_core::policy::Limits::log_of_session), the
/// oldest of the session going first, and then nothing before the one that has gone can be resumed after; a
/// stream that has ended is dropped after [`Timing::resume`](mcp_core::policy::Timing::resume).
///
/// It is fenced by who holds the session in the [`SessionStore`], so one type is usually both; or both are on one database.
pub trait EventLog: Send + Sync + Debug + 'static {
    /// Keeps events of the streams of one session, in order, and notes which streams have ended after them. All or nothing.
    /// `version` is that which the state that sent them has or will get.
    ///
    /// Again: an event that is there already is left as it is, and a stream that has ended stays so.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] if the node does not hold the session, a later version was stored, or it is gone.
    fn append<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        events: Vec<(EventId, Bytes)>,
        ended: Vec<StreamId>,
    ) -> Storing<'a, ()>;

    /// What was sent on the event's stream after it: at least one event if there is one, and no more once `bytes` are
    /// reached. `None` if the stream cannot be resumed after that event: it was never sent, what came after it is gone, or its
    /// stream has ended with it. Nothing but no events: nothing came after it so far.
    ///
    /// Any node may ask, whoever holds the session.
    fn after<'a>(&'a self, key: &'a SessionKey, event: EventId, bytes: usize) -> Storing<'a, Option<Replay>>;

    /// Makes the log agree with a session that was taken over from a node that died between appending and saving. `last` are
    /// the streams that are open, each with its last event (number 0 before the first); what came after these was never sent and is
    /// dropped, and if such a stream was noted as ended, it has not. `next` is the next stream that the session will open: what
    /// is there of it and of all later ones is dropped, too. All other streams have ended before, and stay.
    ///
    /// Again: the same, as long as nothing was appended since.
    ///
    /// # Errors
    ///
    /// [`StoreError::Fenced`] as for [`EventLog::append`].
    fn truncate<'a>(
        &'a self,
        key: &'a SessionKey,
        node: NodeId,
        version: u64,
        last: Vec<EventId>,
        next: StreamId,
    ) -> Storing<'a, ()>;

    /// Forgets a session that has ended. Again, or if there is nothing: `Ok`.
    fn forget<'a>(&'a self, key: &'a SessionKey) -> Storing<'a, ()>;
}

/// Frames from node to node. What they say is the service's; a relay only carries them.
///
/// A node is alive from its first [`Relay::receive`] for as long as it goes on to receive, and for a while after (the store's
/// setting, usually a few seconds), or until it [leaves](Relay::leave). To a node that is alive each frame comes once, and
/// those of one sender in the order in which it sent them, one after the other. Frames to a node that has died are lost.
///
/// A frame whose sending had an unknown outcome may come or not, late or in time; sent again, it may come twice.
pub trait Relay: Send + Sync + Debug + 'static {
    /// Puts a frame into the inbox of a node. False: no such node is alive.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if its inbox is: it does not receive fast enough.
    fn send(&self, to: NodeId, frame: Bytes) -> Storing<'_, bool>;

    /// Puts a frame into the inbox of every node that is alive, but that of `from`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] if the inbox of one of them is; the others have got it.
    fn broadcast(&self, from: NodeId, frame: Bytes) -> Storing<'_, ()>;

    /// Waits for frames to a node and takes those that are there, at least one and a few MiB at most. Also says that the node is
    /// alive, from its first poll and again while it waits. Only one may wait for a node at a time.
    ///
    /// A future that is dropped has taken nothing. After an error nothing is lost either: call it again.
    fn receive(&self, node: NodeId) -> Storing<'_, Vec<Bytes>>;

    /// The node is gone: nobody can send to it any more, and its inbox is dropped. Its `receive` must be dropped before, as it
    /// would say again that the node is alive. Again: `Ok`.
    fn leave(&self, node: NodeId) -> Storing<'_, ()>;
}
