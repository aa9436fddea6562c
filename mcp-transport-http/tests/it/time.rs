//! Deadlines, in simulated time.

use std::time::Duration;

use mcp_core::Span;
use mcp_core::policy::Policy;
use mcp_transport_http::McpService;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_silent_modern_call_gets_a_comment_each_15_s_http_45() {
    let start = Instant::now();
    let response = service().handle(modern_call("slow", json!({"ms": 61_000}))).await;
    assert_eq!(start.elapsed().as_secs(), 15, "the deadline makes it an event stream");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let got = read(response).await;
    assert_eq!(got.body.lines().filter(|line| line.starts_with(':')).count(), 4);
    assert_eq!(got.modern_events().len(), 1);
    assert_eq!(start.elapsed().as_secs(), 61);
}

#[tokio::test(start_paused = true)]
async fn a_silent_legacy_call_gets_a_comment_each_15_s_http_45() {
    let service = service();
    let session = open(&service).await;
    let start = Instant::now();
    let response = service.handle(legacy_call(&session, 1, "slow", json!({"ms": 61_000}))).await;
    assert_eq!((start.elapsed().as_secs(), response.status().as_u16()), (15, 200));
    let got = read(response).await;
    assert!(got.body.starts_with("id: "), "the first silence is broken by what primes the reader: {}", got.body);
    assert_eq!(got.body.lines().filter(|line| line.starts_with(':')).count(), 3);
    assert_eq!(result_text(&got.events()[0]), "slow null");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_listener_gets_a_comment_each_15_s_and_no_event_http_45() {
    let service = service();
    let session = open(&service).await;
    let mut body = service.handle(bare("GET", &session)).await.into_body();
    let (start, mut comments) = (Instant::now(), 0);
    assert!(is_priming(&frame(&mut body).await.unwrap()));
    while start.elapsed() < Duration::from_secs(60) {
        assert!(is_comment(&frame(&mut body).await.unwrap()));
        comments += 1;
    }
    assert_eq!(comments, 4, "one for each 15 s");
}

#[tokio::test(start_paused = true)]
async fn words_put_the_keep_alive_off() {
    let response = service().handle(modern_call_with_progress("steps", json!({"ms": 10_000}))).await;
    let got = read(response).await;
    assert_eq!(got.body.lines().filter(|line| line.starts_with(':')).count(), 0, "{}", got.body);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends_with_its_streams_http_24() {
    let mut policy = Policy::default();
    policy.timing.idle = Span::secs(600);
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let session = open(&service).await;
    let mut body = service.handle(bare("GET", &session)).await.into_body();
    sleep(Duration::from_secs(500)).await;
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.status, 200);
    let start = Instant::now();
    while frame(&mut body).await.is_some() {}
    assert_eq!(start.elapsed().as_secs(), 600, "counted from the last activity");
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.status, 404);
    assert_eq!(service.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_sends_nothing_after_its_handshake_ends_soon() {
    let service = service();
    send(&service, legacy(None, &initialize("2025-11-25"))).await;
    assert_eq!(service.sessions(), 1);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(service.sessions(), 0);
    open(&service).await;
    assert_eq!(service.sessions(), 1, "the watch starts anew after it had nothing to watch");
    sleep(Duration::from_secs(3 * 3600)).await;
    assert_eq!(service.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_runs_the_call_again_base_25() {
    let mut policy = Policy::default();
    policy.timing.question = Span::secs(40);
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let session = open(&service).await;
    let start = Instant::now();
    let got = read(service.handle(legacy_call(&session, 1, "ask", json!({}))).await).await;
    assert_eq!(start.elapsed().as_secs(), 40);
    let answer = got.events().into_iter().find(|event| event["result"].is_object()).unwrap();
    assert!(result_text(&answer).contains("TimedOut"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_answered_for_and_dropped() {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(5));
    let tools = Tools::with_policy(policy);
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let got = send(&service, modern_call("hang", json!({}))).await;
    assert_eq!(got.error_code(), -32603);
    assert_eq!(log.counts(), (1, 0, 1));
    let session = open(&service).await;
    let start = Instant::now();
    let got = send(&service, legacy_call(&session, 1, "hang", json!({}))).await;
    assert_eq!((got.error_code(), start.elapsed().as_secs()), (-32603, 5));
    log.reaches((2, 0, 2)).await;
}
