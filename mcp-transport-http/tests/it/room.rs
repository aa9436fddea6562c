//! Calls that wait until their client has read what they said, in simulated time: nothing else moves while a test sleeps.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use mcp_transport_http::{Body, McpService};
use serde_json::{Value, json};

use crate::support::*;

/// Messages of 1 KiB each.
pub(crate) const MANY: usize = 10_000;

pub(crate) fn flood(count: usize, waits: bool) -> Value {
    json!({"count": count, "waits": waits})
}

/// Whatever can go on does.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// The names of the log messages, which are their numbers.
pub(crate) fn loggers(messages: &[Value]) -> Vec<usize> {
    let logs = messages.iter().filter(|message| message["method"] == "notifications/message");
    logs.map(|log| log["params"]["logger"].as_str().unwrap().parse().unwrap()).collect()
}

pub(crate) fn server() -> (McpService, Arc<Log>) {
    let tools = Tools::new();
    let log = tools.log();
    (build(McpService::builder(tools)), log)
}

/// A request whose answer nobody has read yet, of each kind: modern, and of a session.
async fn asked(count: usize, waits: bool) -> Vec<(McpService, Arc<Log>, Response<Body>)> {
    let mut all = Vec::new();
    for modern in [true, false] {
        let (service, log) = server();
        let request: Request<Full<bytes::Bytes>> = match modern {
            true => modern_call_with_progress("flood", flood(count, waits)),
            false => legacy_call(&open(&service).await, 1, "flood", flood(count, waits)),
        };
        let response = service.handle(request).await;
        settle().await;
        all.push((service, log, response));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn what_is_waited_for_is_all_sent_in_order_and_little_of_it_waits() {
    for (_service, log, response) in asked(MANY, true).await {
        assert!((50..=150).contains(&log.said()), "64 KiB wait, and as much is on its way: {}", log.said());
        let got = read(response).await;
        let messages = events(&got.body);
        assert!(loggers(&messages).into_iter().eq(0..MANY), "all, in order");
        assert_eq!(result_text(messages.last().unwrap()), "flooded");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_waited_for_costs_no_time_and_the_newest_of_it_is_kept() {
    for (_service, log, response) in asked(MANY, false).await {
        assert_eq!((log.said(), log.counts()), (MANY, (1, 1, 0)));
        let messages = events(&read(response).await.body);
        assert!(loggers(&messages).into_iter().eq(MANY - 256..MANY), "the newest, in order");
        assert_eq!(result_text(messages.last().unwrap()), "flooded");
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_reader_that_leaves_ends_the_call_that_waits_for_it_http_46() {
    let (_service, log, response) = asked(MANY, true).await.remove(0);
    drop(response);
    settle().await;
    assert_eq!(log.counts(), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_legacy_call_goes_on_without_the_reader_that_it_has_waited_for_http_28() {
    for resumable in [false, true] {
        let tools = Tools::new();
        let log = tools.log();
        let service = build(McpService::builder(tools).resumable(resumable));
        let session = open(&service).await;
        let mut body = service.handle(legacy_call(&session, 1, "flood", flood(MANY, true))).await.into_body();
        assert!(frame(&mut body).await.is_some());
        settle().await;
        assert!(log.said() < 200, "{}", log.said());
        drop(body);
        settle().await;
        assert_eq!((log.said(), log.counts()), (MANY, (1, 1, 0)), "{resumable}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_can_cancel_what_it_does_not_read_canc_2() {
    let (service, log) = server();
    let session = open(&service).await;
    let _unread = service.handle(legacy_call(&session, 1, "flood", flood(MANY, true))).await;
    settle().await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(send(&service, legacy(Some(&session), &cancel)).await.status, 202);
    settle().await;
    assert_eq!(log.counts(), (1, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_back_no_call_but_its_own() {
    let (service, log) = server();
    let session = open(&service).await;
    let slow = service.handle(legacy_call(&session, 1, "flood", flood(MANY, true))).await;
    settle().await;
    // Of the same session, of none, and of another kind.
    let messages = send(&service, legacy_call(&session, 2, "flood", flood(500, true))).await.events();
    assert_eq!(loggers(&messages).len(), 500);
    let messages = send(&service, modern_call_with_progress("flood", flood(500, true))).await.modern_events();
    assert_eq!(loggers(&messages).len(), 500);
    assert_eq!(log.counts(), (3, 2, 0));
    assert_eq!(loggers(&read(slow).await.events()).len(), MANY);
}

#[tokio::test(start_paused = true)]
async fn who_takes_json_alone_is_waited_for_by_nobody() {
    let (service, log) = server();
    let mut request = modern_call_with_progress("flood", flood(MANY, true));
    request.headers_mut().insert("accept", "application/json".parse().unwrap());
    let got = send(&service, request).await;
    assert_eq!((got.text(), log.said()), ("flooded".to_owned(), MANY));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_what_waits_for_its_reader() {
    for (service, log, unread) in asked(MANY, true).await {
        let stopping = tokio::spawn(async move { service.shutdown(Duration::from_secs(5)).await });
        tokio::time::sleep(Duration::from_secs(6)).await;
        let messages = read(unread).await;
        stopping.await.unwrap();
        assert_eq!(log.counts(), (1, 0, 1), "it was not waited for any longer");
        assert!(messages.body.contains("shutting down"), "and was answered");
    }
}

#[cfg(feature = "sse")]
#[tokio::test(start_paused = true)]
async fn over_http_sse_what_is_waited_for_is_all_sent_and_little_of_it_waits() {
    use crate::http_sse::{Stream, call, greet, tell};

    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools).http_sse());
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    tell(&service, &uri, &call(1, "flood", flood(MANY, true))).await;
    settle().await;
    assert!((50..=100).contains(&log.said()), "{}", log.said());
    for n in 0..MANY {
        assert_eq!(stream.next().await["params"]["logger"], n.to_string());
    }
    assert_eq!(result_text(&stream.next().await), "flooded");
    tell(&service, &uri, &call(2, "flood", flood(MANY, true))).await;
    settle().await;
    drop(stream);
    settle().await;
    assert_eq!(log.counts(), (2, 1, 1), "the conversation ends with its stream");
}
