//! What every store must keep, as functions that anyone can run on theirs.
//!
//! Each function is one promise of the [module](super), and panics if it is broken. They make sessions and nodes of their
//! own, so they can run side by side, on a store that holds others. [`sessions()`], [`events()`] and [`frames()`] run all of one trait.
//!
//! ```
//! use std::future::ready;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use std::time::{Duration, Instant};
//! use mcp_core::policy::Policy;
//! use mcp_transport_http::store::contract::{self, Handles, Subject};
//! use mcp_transport_http::store::Memory;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! static PASSED: AtomicU64 = AtomicU64::new(0);
//! let start = Instant::now();
//! let store = Memory::with_clock(&Policy::default(), move || {
//!     start + Duration::from_millis(PASSED.load(Ordering::SeqCst))
//! });
//! let handles = Handles { store: &store, log: &store, relay: &store };
//! contract::sessions(&Subject {
//!     one: handles,
//!     two: handles,
//!     // On a real clock: |span| Box::pin(tokio::time::sleep(span))
//!     pass: &|span| {
//!         PASSED.fetch_add(span.as_millis() as u64, Ordering::SeqCst);
//!         Box::pin(ready(()))
//!     },
//!     policy: &Policy::default(),
//!     liveness: Duration::from_secs(5),
//! })
//! .await;
//! # }
//! ```

pub mod events;
pub mod frames;
pub mod sessions;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::{SessionId, Snapshot};

use super::{EventLog, NodeId, Relay, SessionKey, SessionStore};
use crate::runtime::Task;

/// One node's handles of the store.
#[derive(Clone, Copy, Debug)]
pub struct Handles<'a> {
    /// Its sessions.
    pub store: &'a dyn SessionStore,
    /// Their events.
    pub log: &'a dyn EventLog,
    /// The frames from node to node.
    pub relay: &'a dyn Relay,
}

/// A store that is to keep its promises.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Handles of the store.
    pub one: Handles<'a>,
    /// Other handles of the same store, over connections of their own if it has such: what one does, the other sees.
    pub two: Handles<'a>,
    /// Lets the store's clock go on by that time: sleeps, or moves a simulated clock.
    pub pass: &'a (dyn Fn(Duration) -> Task + Sync),
    /// The bounds that its log was made with: [`Limits::log_of_session`](mcp_core::policy::Limits::log_of_session), of which
    /// more is appended, and [`Timing::resume`](mcp_core::policy::Timing::resume), which is waited for.
    pub policy: &'a Policy,
    /// How long a node is alive that does not receive. It is waited for.
    pub liveness: Duration,
}

impl fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("one", &self.one).field("two", &self.two).finish_non_exhaustive()
    }
}

/// All promises of a [`SessionStore`].
pub async fn sessions(subject: &Subject<'_>) {
    use sessions as of;
    of::is_there_as_it_was_stored(subject).await;
    of::is_created_once(subject).await;
    of::is_got_by_one_of_many(subject).await;
    of::is_held_until_its_lease_is_over(subject).await;
    of::is_fenced_once_another_node_has_it(subject).await;
    of::never_goes_back(subject).await;
    of::is_clean_until_something_is_stored(subject).await;
    of::is_nothing_to_another_principal(subject).await;
    of::is_let_go_once(subject).await;
    of::is_gone_once_removed(subject).await;
    of::expires_by_itself(subject).await;
    of::is_renewed(subject).await;
    of::may_be_large(subject).await;
    of::is_one_of_many(subject).await;
    of::survives_a_caller_that_gives_up(subject).await;
}

/// All promises of an [`EventLog`].
pub async fn events(subject: &Subject<'_>) {
    use events as of;
    of::come_in_order_and_as_they_were(subject).await;
    of::come_in_pieces(subject).await;
    of::are_kept_once(subject).await;
    of::end_with_their_stream(subject).await;
    of::are_fenced(subject).await;
    of::are_nothing_to_another_principal(subject).await;
    of::are_cut_back(subject).await;
    of::are_bounded_and_have_no_gap(subject).await;
    of::go_when_their_time_is_over(subject).await;
    of::go_with_their_session(subject).await;
}

/// All promises of a [`Relay`].
pub async fn frames(subject: &Subject<'_>) {
    use frames as of;
    of::reach_nobody_who_is_not_alive(subject).await;
    of::come_once_and_in_order(subject).await;
    of::wait_for_who_is_alive(subject).await;
    of::survive_a_receiver_that_gives_up(subject).await;
    of::reach_all_others(subject).await;
    of::are_bounded(subject).await;
    of::may_be_large(subject).await;
    of::reach_who_waits_for_long(subject).await;
}

/// A time in which nothing is over.
const LONG: Duration = Duration::from_secs(600);
/// A time that is over soon.
const SHORT: Duration = Duration::from_millis(1);
/// A time after which what is over soon is over.
const LATER: Duration = Duration::from_millis(100);

fn random() -> [u8; 16] {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system has random bytes");
    random
}

fn node() -> NodeId {
    NodeId::new(random())
}

fn key(principal: Option<&str>) -> SessionKey {
    SessionKey { session: SessionId::new(random()), principal: principal.map(Into::into) }
}

fn snapshot(text: &'static str) -> Snapshot {
    Snapshot::from_bytes(Bytes::from_static(text.as_bytes()))
}

/// What all of them give, polled side by side.
async fn all<'a, T>(futures: impl IntoIterator<Item = impl Future<Output = T> + 'a>) -> Vec<T> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        let mut waits = false;
        for (future, done) in &mut running {
            if done.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *done = Some(value),
                    Poll::Pending => waits = true,
                }
            }
        }
        if waits { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}

/// What both give, polled side by side.
async fn both<T, U>(one: impl Future<Output = T>, two: impl Future<Output = U>) -> (T, U) {
    let (mut one, mut two) = (pin!(one), pin!(two));
    let (mut of_one, mut of_two) = (None, None);
    poll_fn(|context| {
        poll_into(&mut of_one, one.as_mut(), context);
        poll_into(&mut of_two, two.as_mut(), context);
        match (of_one.take(), of_two.take()) {
            (Some(one), Some(two)) => Poll::Ready((one, two)),
            (one, two) => {
                (of_one, of_two) = (one, two);
                Poll::Pending
            }
        }
    })
    .await
}

fn poll_into<F: Future>(done: &mut Option<F::Output>, future: Pin<&mut F>, context: &mut std::task::Context<'_>) {
    if done.is_none()
        && let Poll::Ready(value) = future.poll(context)
    {
        *done = Some(value);
    }
}

/// Lets others that are polled side by side go on.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Polls a future so often at most, and gives up on it.
async fn give_up<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests;
