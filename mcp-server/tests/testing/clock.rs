//! The protocol's clock.

use std::time::Duration;

use mcp_server::testing::{Client, block_on};
use mcp_server::{Ctx, Policy, Revision, Span};
use serde_json::json;

use super::{server, tool};

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

#[test]
fn a_call_is_given_up_at_its_time_limit_and_not_before() {
    for revision in Revision::ALL {
        block_on(async {
            let limited = policy(|policy| policy.timing.call = Some(Span::secs(3600)));
            let mut client = Client::builder(server().policy(limited)).revision(revision).connect();
            let call = client.start("stuck", ());
            client.advance(Duration::from_millis(3_599_999)).await;
            assert!(!client.is_answered(&call), "{revision}");
            client.advance(Duration::from_millis(1)).await;
            client.finish(call).await.assert_fault(-32603).assert_fault_contains("longer than");
            assert_eq!(client.elapsed(), Duration::from_secs(3600));
        });
    }
}

#[test]
fn one_jump_goes_through_everything_that_falls_due_in_order() {
    block_on(async {
        let limited = policy(|policy| policy.timing.call = Some(Span::secs(60)));
        let mut client = Client::new(server().policy(limited));
        let first = client.start("stuck", ());
        client.advance(Duration::from_secs(30)).await;
        let second = client.start("stuck", ());
        client.advance(Duration::from_secs(24 * 3600)).await;
        for call in [first, second] {
            client.finish(call).await.assert_fault(-32603);
        }
        let said = client.transcript().to_string();
        let jump = said.find("@ 86400000").expect("the jump");
        assert!(
            said[jump..].find("\"id\":2,").expect("the first") < said[jump..].find("\"id\":3,").expect("the second")
        );
    });
}

#[test]
fn pings_are_answered_however_long_the_jump_and_silence_is_taken_for_leaving_life_10() {
    let pinging = || policy(|policy| policy.timing.ping = Some(Span::secs(10)));
    block_on(async {
        let mut client = Client::new(server().policy(pinging()));
        client.advance(Duration::from_secs(3600)).await;
        assert!(!client.is_closed());
        let pings = client.transcript().to_string().matches("\"method\":\"ping\"").count();
        assert_eq!(pings, 360);

        let mut silent = Client::builder(server().policy(pinging()))
            .on_request(|_, _| mcp_server::testing::Reply::Silence)
            .connect();
        silent.advance(Duration::from_secs(19)).await;
        assert!(!silent.is_closed());
        silent.advance(Duration::from_secs(1)).await;
        assert!(silent.is_closed());
    });
}

#[test]
fn a_jump_of_any_length_ends() {
    block_on(async {
        let mut client = Client::new(server().policy(policy(|policy| policy.timing.call = Some(Span(0)))));
        let call = client.start("stuck", ());
        client.advance(Duration::ZERO).await;
        client.finish(call).await.assert_fault(-32603);
        client.advance(Duration::MAX).await;
        client.advance(Duration::MAX).await;
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();

        let pings = policy(|policy| policy.timing.ping = Some(Span::millis(1)));
        let mut client = Client::new(server().policy(pings));
        client.advance(Duration::from_secs(u64::MAX / 2000)).await;
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
    });
}

#[test]
fn every_conversation_begins_at_the_same_time() {
    let limited = policy(|policy| policy.timing.call = Some(Span::secs(1)));
    let deadline = tool("deadline").run(|ctx: Ctx| ctx.deadline().map(|time| time.0));
    let app = server().policy(limited).tool(deadline).build().unwrap();
    for _ in 0..2 {
        // 2026-01-01T00:00:01Z
        block_on(Client::new(&app).call("deadline", ())).assert_text("1767225601000");
    }
}
