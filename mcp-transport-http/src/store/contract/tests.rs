//! Our own stores keep the contract.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcp_core::Span;
use mcp_core::policy::Policy;

use super::{Handles, Subject, events, frames, sessions};
use crate::store::Memory;

/// One test for each promise, of a store in memory on a simulated clock, and of Redis where there is one.
macro_rules! promises {
    ($($kind:ident { $($promise:ident => $test:ident,)+ })+) => {
        mod memory {
            $($(#[tokio::test] async fn $test() { super::memory(async |subject| super::$kind::$promise(subject).await).await })+)+
        }

        #[cfg(feature = "redis")]
        mod redis {
            $($(
                #[tokio::test]
                #[ignore = "needs a Redis server, whose address is in MCP_REDIS"]
                async fn $test() { super::redis(async |subject| super::$kind::$promise(subject).await).await }
            )+)+
        }
    };
}

promises! {
    sessions {
        is_there_as_it_was_stored => a_session_is_there_as_it_was_stored,
        is_created_once => a_session_is_created_once,
        is_got_by_one_of_many => a_session_is_got_by_one_of_many,
        is_held_until_its_lease_is_over => a_session_is_held_until_its_lease_is_over,
        is_fenced_once_another_node_has_it => a_session_is_fenced_once_another_node_has_it,
        never_goes_back => a_session_never_goes_back,
        is_clean_until_something_is_stored => a_session_is_clean_until_something_is_stored,
        is_nothing_to_another_principal => a_session_is_nothing_to_another_principal,
        is_let_go_once => a_session_is_let_go_once,
        is_gone_once_removed => a_session_is_gone_once_removed,
        expires_by_itself => a_session_expires_by_itself,
        is_renewed => a_session_is_renewed,
        may_be_large => a_session_may_be_large,
        is_one_of_many => a_session_is_one_of_many,
        survives_a_caller_that_gives_up => a_session_survives_a_caller_that_gives_up,
    }
    events {
        come_in_order_and_as_they_were => events_come_in_order_and_as_they_were_http_29,
        come_in_pieces => events_come_in_pieces,
        are_kept_once => events_are_kept_once,
        end_with_their_stream => events_end_with_their_stream,
        are_fenced => events_are_fenced,
        are_nothing_to_another_principal => events_are_nothing_to_another_principal,
        are_cut_back => events_are_cut_back,
        are_bounded_and_have_no_gap => events_are_bounded_and_have_no_gap_http_29,
        go_when_their_time_is_over => events_go_when_their_time_is_over,
        go_with_their_session => events_go_with_their_session,
    }
    frames {
        reach_nobody_who_is_not_alive => frames_reach_nobody_who_is_not_alive,
        come_once_and_in_order => frames_come_once_and_in_order,
        wait_for_who_is_alive => frames_wait_for_who_is_alive,
        survive_a_receiver_that_gives_up => frames_survive_a_receiver_that_gives_up,
        reach_all_others => frames_reach_all_others,
        are_bounded => frames_are_bounded,
        may_be_large => frames_may_be_large,
        reach_who_waits_for_long => frames_reach_who_waits_for_long,
    }
}

/// Small enough that a test reaches and awaits them.
fn policy(resume: Span) -> Policy {
    let mut policy = Policy::default();
    (policy.limits.log_of_session, policy.timing.resume) = (1 << 20, resume);
    policy
}

async fn memory(promise: impl AsyncFnOnce(&Subject<'_>)) {
    let passed = Arc::new(AtomicU64::new(0));
    let policy = policy(Span::secs(300));
    let (start, clock) = (Instant::now(), passed.clone());
    let store = Memory::with_clock(&policy, move || start + Duration::from_millis(clock.load(Ordering::SeqCst)));
    let handles = Handles { store: &store, log: &store, relay: &store };
    let pass = |span: Duration| -> crate::Task {
        passed.fetch_add(u64::try_from(span.as_millis()).unwrap(), Ordering::SeqCst);
        Box::pin(ready(()))
    };
    let liveness = Duration::from_secs(5);
    promise(&Subject { one: handles, two: handles, pass: &pass, policy: &policy, liveness }).await;
}

#[cfg(feature = "redis")]
async fn redis(promise: impl AsyncFnOnce(&Subject<'_>)) {
    let url = std::env::var("MCP_REDIS").expect("MCP_REDIS is the address of a Redis server");
    let policy = policy(Span::secs(3));
    let liveness = Duration::from_secs(3);
    // A name of its own, as what one test says to all nodes reaches those of the others.
    let prefix = crate::store::NodeId::random().unwrap().to_string();
    let timeout = Duration::from_secs(20);
    let store = || {
        let store = crate::store::Redis::new(&url).unwrap();
        store.prefix(&prefix).policy(&policy).liveness(liveness).timeout(timeout)
    };
    let (one, two) = (store(), store());
    let [one, two] = [&one, &two].map(|store| Handles { store, log: store, relay: store });
    let pass = |span: Duration| -> crate::Task { Box::pin(tokio::time::sleep(span)) };
    promise(&Subject { one, two, pass: &pass, policy: &policy, liveness }).await;
}
