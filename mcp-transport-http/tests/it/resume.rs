//! Streams that are read on after their connection broke, through the service and over sockets.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use mcp_core::Span;
use mcp_core::policy::Policy;
use mcp_transport_http::McpService;
use serde_json::json;

use crate::support::*;

/// A GET that reads on after an event.
fn resume(session: &str, after: &str) -> Request<Full<bytes::Bytes>> {
    let mut request = bare("GET", session);
    request.headers_mut().insert("last-event-id", after.parse().unwrap());
    request
}

/// The ids of the events in a text.
fn ids(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

/// What a stream says up to that.
async fn until(body: &mut mcp_transport_http::Body, what: &str) -> String {
    let mut text = String::new();
    while !text.contains(what) {
        text.push_str(&frame(body).await.unwrap_or_else(|| panic!("the stream ends before {what:?}: {text}")));
    }
    text
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_broke_is_read_on_after_any_event_http_28_http_29_case_76() {
    let service = service();
    let session = open(&service).await;
    let uncut = send(&service, legacy_call(&session, 1, "steps", json!({"ms": 10}))).await.body;
    let count = ids(&uncut).len();
    assert_eq!(count, 8, "a priming event, three steps, three logs, an answer: {uncut}");
    for cut in 1..count {
        let mut body = service.handle(legacy_call(&session, 1, "steps", json!({"ms": 10}))).await.into_body();
        let mut text = String::new();
        while ids(&text).len() < cut {
            text.push_str(&frame(&mut body).await.unwrap());
        }
        drop(body);
        let after = ids(&text)[cut - 1].to_owned();
        let stream = after.split('-').next().unwrap().to_owned();
        let got = send(&service, resume(&session, &after)).await;
        assert_eq!((got.status, got.header("content-type")), (200, Some("text/event-stream")));
        // The same but for the name of the stream.
        let own = uncut.split_inclusive("\n\n").skip(cut).collect::<String>();
        let named = |text: &str| text.replace(&format!("id: {}-", ids(text)[0].split('-').next().unwrap()), "id: x-");
        assert_eq!(named(&got.body), named(&own), "after event {cut}");
        assert!(ids(&got.body).iter().all(|id| id.split('-').next() == Some(&stream)));
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_waits_for_its_client_until_it_expires_http_29_case_76() {
    let service = service();
    let session = open(&service).await;
    let mut body = service.handle(legacy_call(&session, 1, "slow", json!({"ms": 20_000}))).await.into_body();
    let after = ids(&frame(&mut body).await.unwrap())[0].to_owned();
    drop(body);
    tokio::time::sleep(Duration::from_secs(30)).await;
    for _ in 0..2 {
        assert_eq!(result_text(&send(&service, resume(&session, &after)).await.events()[0]), "slow null");
    }
    tokio::time::sleep(Duration::from_secs(400)).await;
    let got = send(&service, resume(&session, &after)).await;
    assert_eq!((got.status, got.error_code()), (400, -32600));
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.status, 200, "the session lives");
}

#[tokio::test]
async fn another_sessions_events_and_another_principals_are_not_there_http_21_http_29() {
    use mcp_core::{Caller, Scopes};
    let builder = McpService::builder(Tools::new()).authenticate(|parts: &http::request::Parts| {
        let who = parts.headers.get("x-user").map_or("ann", |value| value.to_str().unwrap());
        Caller::new(who, Scopes::default())
    });
    let service = build(builder);
    let (mine, other) = (open(&service).await, open(&service).await);
    let text = send(&service, legacy_call(&mine, 1, "steps", json!({"ms": 0}))).await.body;
    let got = send(&service, resume(&other, ids(&text)[0])).await;
    assert_eq!((got.status, got.error_code()), (400, -32600), "an id of another session means nothing here");
    let mut request = resume(&mine, ids(&text)[0]);
    request.headers_mut().insert("x-user", "eve".parse().unwrap());
    let got = send(&service, request).await;
    assert_eq!(got.status, 404);
    assert!(!got.body.contains("step"), "{got:?}");
    assert_eq!(send(&service, resume(&mine, ids(&text)[0])).await.events().len(), 7);
}

#[tokio::test]
async fn each_of_two_streams_gets_its_own_rest_http_29() {
    let service = service();
    let session = open(&service).await;
    let calls = [1, 2].map(|id| service.handle(legacy_call(&session, id, "steps", json!({"ms": 20}))));
    let [first, second] = calls;
    let (first, second) = tokio::join!(first, second);
    let (mut first, second) = (first.into_body(), second.into_body());
    let text = until(&mut first, "step 1").await;
    drop(first);
    let got = send(&service, resume(&session, ids(&text)[0])).await;
    let tokens: Vec<_> = got.events().into_iter().map(|event| event["params"]["progressToken"].clone()).collect();
    assert!(tokens.iter().all(|token| token.is_null() || *token == 1), "{}", got.body);
    assert_eq!(got.events().last().unwrap()["id"], 1);
    drop(second);
}

#[tokio::test]
async fn who_comes_back_takes_over_from_the_reader_before_http_29() {
    let service = service();
    let session = open(&service).await;
    let mut before = service.handle(legacy_call(&session, 1, "ask", json!({}))).await.into_body();
    let text = until(&mut before, "elicitation").await;
    let mut now = service.handle(resume(&session, ids(&text)[0])).await.into_body();
    assert_eq!(frame(&mut before).await, None, "the one before ends");
    drop(before);
    let question = events(&until(&mut now, "elicitation").await).remove(0);
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}});
    assert_eq!(send(&service, legacy(Some(&session), &answer)).await.status, 202);
    assert!(until(&mut now, "result").await.contains("accept"));
    assert_eq!(frame(&mut now).await, None);
}

#[tokio::test]
async fn a_listening_stream_goes_on_where_it_broke_http_25_http_26() {
    let service = service();
    let session = open(&service).await;
    let catalog = mcp_core::Catalog::builder().build().unwrap();
    let mut body = service.handle(bare("GET", &session)).await.into_body();
    let text = frame(&mut body).await.unwrap();
    service.changed(&catalog, mcp_core::Change::Tools);
    drop(body);
    let mut body = service.handle(resume(&session, ids(&text)[0])).await.into_body();
    let text = until(&mut body, "list_changed").await;
    service.changed(&catalog, mcp_core::Change::Tools);
    let next = until(&mut body, "list_changed").await;
    assert!(!ids(&text).is_empty() && ids(&text) != ids(&next), "{text} {next}");
    assert_eq!(events(&text).len() + events(&next).len(), 2);
}

#[tokio::test]
async fn without_resumption_no_event_has_an_id_and_none_is_resumed_after_http_29() {
    let service = build(McpService::builder(Tools::new()).resumable(false));
    let session = open(&service).await;
    let got = send(&service, legacy_call(&session, 1, "steps", json!({"ms": 0}))).await;
    assert_eq!(got.modern_events().len(), 7);
    assert_eq!(send(&service, resume(&session, "1-1")).await.status, 400);
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_in_the_log_http_23() {
    let service = service();
    let session = open(&service).await;
    let text = send(&service, legacy_call(&session, 1, "steps", json!({"ms": 0}))).await.body;
    assert!(!format!("{service:?}").contains("bytes: 0"), "{service:?}");
    assert_eq!(send(&service, bare("DELETE", &session)).await.status, 204);
    assert!(format!("{service:?}").contains("bytes: 0"), "{service:?}");
    assert_eq!(send(&service, resume(&session, ids(&text)[0])).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_a_long_replay_whole_http_29() {
    let service = service();
    let session = open(&service).await;
    let request = || legacy_call(&session, 1, "big_steps", json!({}));
    let uncut = send(&service, request()).await.body;
    let mut body = service.handle(request()).await.into_body();
    let first = frame(&mut body).await.unwrap();
    let after = ids(&first)[0].to_owned();
    drop(body);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut body = service.handle(resume(&session, &after)).await.into_body();
    let mut text = String::new();
    while let Some(bytes) = frame(&mut body).await {
        assert!(bytes.len() < 64 << 10, "it comes in pieces: {}", bytes.len());
        text.push_str(&bytes);
    }
    assert!(text.len() > 100 << 10);
    assert_eq!(events(&text), events(&uncut));
}

#[tokio::test]
async fn over_a_socket_the_server_ends_the_response_and_the_client_polls_for_the_rest_http_30() {
    let mut policy = Policy::default();
    policy.timing.retry = Span::millis(10);
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let served = Served::new(service).await;
    let mut client = served.client().await;
    let hello = client.ask(legacy(None, &initialize("2025-11-25"))).await;
    let session = hello.session();
    assert_eq!(client.ask(legacy(Some(&session), &initialized())).await.status, 202);

    let got = client.ask(legacy_call(&session, 1, "hang_up", json!({"ms": 30}))).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.body, format!("id: {}\nretry: 10\ndata: \n\nretry: 10\n\n", ids(&got.body)[0]));
    let rest = client.ask(resume(&session, ids(&got.body)[0])).await;
    assert_eq!(result_text(rest.events().last().unwrap()), "hung up", "on the same connection: {}", rest.body);
    served.stop().await;
}

#[tokio::test]
async fn over_a_socket_a_broken_connection_is_made_good_by_another_http_28_http_29_case_98() {
    let tools = Tools::new();
    let log = tools.log();
    let served = Served::new(build(McpService::builder(tools))).await;
    let mut other = served.client().await;
    let session = other.ask(legacy(None, &initialize("2025-11-25"))).await.session();
    assert_eq!(other.ask(legacy(Some(&session), &initialized())).await.status, 202);
    let mut listening = served.client().await;
    listening.send(bare("GET", &session)).await;
    assert_eq!(listening.head().await.status, 200);
    assert!(is_priming(&listening.chunk().await.unwrap()));

    let mut client = served.client().await;
    client.send(legacy_call(&session, 1, "steps", json!({"ms": 30}))).await;
    assert_eq!(client.head().await.status, 200);
    let text = client.chunk().await.unwrap();
    drop(client);
    assert_eq!(other.ask(legacy(Some(&session), &ping(2))).await.status, 200, "an open GET blocks no POST");
    log.reaches((1, 1, 0)).await;
    let got = other.ask(resume(&session, ids(&text)[0])).await;
    assert_eq!(result_text(got.events().last().unwrap()), "stepped");
    assert_eq!(got.events().len(), 7, "{}", got.body);
    served.stop().await;
}
