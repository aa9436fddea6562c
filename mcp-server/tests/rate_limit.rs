//! How often tools may be called, over any transport.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_server::ask::elicit;
use mcp_server::testing::Client;
use mcp_server::{Ability, CallError, Ctx, Param, Prompt, RateLimit, Revision, Server, Tool, Value, json};

/// A limit of so many a minute, and the seconds of its clock.
fn limit(amount: u32) -> (RateLimit, Arc<AtomicU64>) {
    let seconds = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&seconds);
    let clock = move || Duration::from_secs(read.load(Ordering::SeqCst));
    (RateLimit::new(amount, Duration::from_secs(60)).clock(clock), seconds)
}

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::MODERN];

#[tokio::test]
async fn a_tool_is_called_with_valid_arguments_and_only_so_often_tool_17_sec_2() {
    for revision in REVISIONS {
        let (limit, seconds) = limit(2);
        let double = Tool::new("double").description("D.").param(Param::integer("n").min(0)).wrap(limit);
        let double = double.run(|args: Value| (args["n"].as_u64().expect("what the schema allows") * 2).to_string());
        let free = Tool::new("free").description("F.").run(|| "free");
        let app = Server::new("x", "1").tool(double).tool(free).build().expect("it builds");
        let mut ada = Client::builder(&app).revision(revision).principal("sub:ada").connect();
        ada.call("double", json!({"n": 2})).await.assert_text("4");
        ada.call("double", json!({"n": -1})).await.assert_error();
        let refused = ada.call("double", json!({"n": 3})).await;
        refused.assert_fault(-32603);
        refused.assert_fault_contains("Too many requests: try again in 30 s");
        ada.call("free", json!({})).await.assert_text("free");
        let mut bob = Client::builder(&app).revision(revision).principal("sub:bob").connect();
        bob.call("double", json!({"n": 4})).await.assert_text("8");
        seconds.fetch_add(30, Ordering::SeqCst);
        ada.call("double", json!({"n": 5})).await.assert_text("10");
        ada.call("double", json!({"n": 6})).await.assert_fault(-32603);
    }
}

#[tokio::test]
async fn a_server_is_limited_as_a_whole_whatever_is_called() {
    let (limit, _) = limit(2);
    let tool = Tool::new("t").description("T.").run(|| "t");
    let server = Server::new("x", "1").wrap(limit).tool(tool).prompt(Prompt::new("p").description("P.").run(|| "p"));
    let mut client = Client::new(server.build().expect("it builds"));
    client.call("t", json!({})).await.assert_text("t");
    client.get_prompt("p", json!({})).await.assert_text("p");
    client.get_prompt("p", json!({})).await.assert_fault(-32603);
    client.call("t", json!({})).await.assert_fault(-32603);
}

#[tokio::test]
async fn an_answer_counts_where_it_is_a_request_of_its_own_mrtr_14() {
    for revision in REVISIONS {
        let (limit, _) = limit(1);
        let sure = Tool::new("sure").description("S.").wrap(limit).run(|ctx: Ctx| async move {
            ctx.ask("sure", elicit("Sure?"))?.required()?;
            Ok::<_, CallError>("sure")
        });
        let app = Server::new("x", "1").tool(sure).build().expect("it builds");
        let client = Client::builder(&app).revision(revision).can(Ability::ElicitationForm);
        let mut client = client.on_request(|_, _| json!({"action": "accept"})).connect();
        let answer = client.call("sure", json!({})).await;
        match revision {
            Revision::MODERN => answer.assert_fault(-32603),
            _ => answer.assert_text("sure"),
        };
        client.call("sure", json!({})).await.assert_fault(-32603);
    }
}

#[test]
fn a_limit_that_cannot_be_is_found_when_the_server_is_built() {
    let wrong = RateLimit::new(1, Duration::from_secs(1)).burst(0);
    let tool = Tool::new("t").description("T.").wrap(wrong.clone()).run(|| "t");
    for server in [Server::new("x", "1").wrap(wrong), Server::new("x", "1").tool(tool)] {
        let error = server.build().expect_err("a mistake").to_string();
        assert!(error.contains("let one request through at once at least, as in `.burst(1)`"), "{error}");
    }
}
