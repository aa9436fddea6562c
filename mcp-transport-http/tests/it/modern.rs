//! Requests of 2026-07-28 through the service.

use std::time::Duration;

use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn an_immediate_answer_is_one_json_body_of_known_length_http_7() {
    let response = service().handle(modern_call("echo", json!({"text": "hi"}))).await;
    let hint = http_body::Body::size_hint(response.body());
    assert_eq!(hint.exact(), hint.upper());
    let got = read(response).await;
    assert_eq!((got.status, got.header("content-type")), (200, Some("application/json")));
    assert_eq!(got.text(), "echo \"hi\"");
    assert_eq!(got.json()["result"]["resultType"], "complete");
    assert_eq!(got.header("mcp-session-id"), None);
}

#[tokio::test]
async fn a_call_that_waits_without_a_word_is_plain_json_too() {
    let got = send(&service(), modern_call("slow", json!({"text": 1}))).await;
    assert_eq!((got.header("content-type"), got.text().as_str()), (Some("application/json"), "slow 1"));
}

#[tokio::test]
async fn progress_makes_it_an_event_stream_that_ends_after_the_answer_http_10_http_44_prog_1() {
    let got = send(&service(), modern_call_with_progress("steps", json!({"ms": 1}))).await;
    assert_eq!((got.status, got.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(got.header("x-accel-buffering"), Some("no"));
    assert_eq!(got.header("cache-control"), Some("no-cache, no-transform"));
    let events = got.modern_events();
    let progress: Vec<_> =
        events.iter().filter(|e| e["method"] == "notifications/progress").map(|e| &e["params"]["progress"]).collect();
    assert_eq!(progress, [1, 2, 3]);
    assert_eq!(events.iter().filter(|e| e["method"] == "notifications/message").count(), 3);
    assert_eq!(result_text(events.last().unwrap()), "stepped");
}

#[tokio::test]
async fn the_first_event_is_sent_while_the_call_runs() {
    let service = service();
    let response = service.handle(modern_call_with_progress("steps", json!({"ms": 60_000}))).await;
    let mut body = response.into_body();
    assert!(frame(&mut body).await.unwrap().contains("step 1"));
}

#[tokio::test]
async fn words_of_another_thread_reach_the_stream() {
    let got = send(&service(), modern_call_with_progress("thread", json!({"ms": 20}))).await;
    let events = got.modern_events();
    assert_eq!(events[0]["params"]["progress"], 1);
    assert_eq!(result_text(&events[1]), "from a thread");
}

#[tokio::test]
async fn a_client_that_takes_json_only_gets_json_without_progress() {
    let mut request = modern_call_with_progress("steps", json!({"ms": 1}));
    request.headers_mut().insert("accept", "application/json".parse().unwrap());
    let got = send(&service(), request).await;
    assert_eq!((got.header("content-type"), got.text().as_str()), (Some("application/json"), "stepped"));
}

#[tokio::test]
async fn dropping_the_future_cancels_the_call_http_46_a37() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(mcp_transport_http::McpService::builder(tools));
    let call = tokio::spawn(service.handle(modern_call("hang", json!({}))));
    log.reaches((1, 0, 0)).await;
    call.abort();
    log.reaches((1, 0, 1)).await;
}

#[tokio::test]
async fn dropping_the_body_cancels_the_call_http_46() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(mcp_transport_http::McpService::builder(tools));
    let response = service.handle(modern_call_with_progress("steps", json!({"ms": 60_000}))).await;
    assert_eq!(response.status(), 200);
    assert_eq!(log.counts(), (1, 0, 0));
    drop(response);
    assert_eq!(log.counts(), (1, 0, 1));
}

#[tokio::test]
async fn a_session_header_is_ignored_and_never_answered_http_47() {
    let mut request = modern_call("echo", json!({"text": 1}));
    request.headers_mut().insert("mcp-session-id", "gone".parse().unwrap());
    request.headers_mut().insert("last-event-id", "7".parse().unwrap());
    let got = send(&service(), request).await;
    assert_eq!((got.status, got.header("mcp-session-id")), (200, None));
}

#[tokio::test]
async fn get_and_delete_with_a_modern_header_get_405_http_48() {
    let service = service();
    let session = open(&service).await;
    for method in ["GET", "DELETE"] {
        let mut request = bare(method, &session);
        request.headers_mut().insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
        let got = send(&service, request).await;
        assert_eq!((got.status, got.header("allow")), (405, Some("POST")), "{method}");
    }
}

#[tokio::test]
async fn incomplete_meta_gets_400_and_a_missing_client_info_is_fine_case_103() {
    let service = service();
    let mut body = modern_body("tools/list", json!({}));
    body["params"]["_meta"].as_object_mut().unwrap().remove(CAPABILITIES);
    let ask = |body: &serde_json::Value| {
        let head = post().header("mcp-protocol-version", "2026-07-28").header("mcp-method", "tools/list");
        with_body(head, body.to_string())
    };
    let got = send(&service, ask(&body)).await;
    assert_eq!((got.status, got.error_code()), (400, -32602));
    let mut body = modern_body("tools/list", json!({}));
    body["params"]["_meta"].as_object_mut().unwrap().remove(VERSION);
    let got = send(&service, ask(&body)).await;
    assert_eq!((got.status, got.error_code()), (400, -32602));
    assert_eq!(send(&service, modern("tools/list", json!({}))).await.status, 200);
}

#[tokio::test]
async fn an_unsupported_version_gets_400_with_what_is_supported_case_104_ver_2() {
    let mut body = modern_body("tools/list", json!({}));
    body["params"]["_meta"][VERSION] = "1900-01-01".into();
    let head = post().header("mcp-protocol-version", "1900-01-01").header("mcp-method", "tools/list");
    let got = send(&service(), with_body(head, body.to_string())).await;
    assert_eq!((got.status, got.error_code()), (400, -32022));
    let data = &got.json()["error"]["data"];
    assert_eq!(data["requested"], "1900-01-01");
    assert!(data["supported"].as_array().unwrap().contains(&"2026-07-28".into()), "{data}");
}

#[tokio::test]
async fn duplicate_or_invalid_headers_get_400_and_integers_compare_as_numbers_case_108_hdr_7_hdr_10() {
    let service = service();
    let call = |set: &[(&'static str, &[u8])]| {
        let mut request = modern_call("mirrored", json!({"region": "eu", "count": 42}));
        for (name, value) in set {
            request.headers_mut().append(*name, http::HeaderValue::from_bytes(value).unwrap());
        }
        request
    };
    let good: [(&str, &[u8]); 2] = [("mcp-param-region", b"eu"), ("mcp-param-count", b"42.0")];
    assert_eq!(send(&service, call(&good)).await.status, 200);
    for bad in [
        vec![("mcp-param-region", &b"eu"[..]), ("mcp-param-region", b"us"), ("mcp-param-count", b"42")],
        vec![("mcp-param-region", b"e\x80u"), ("mcp-param-count", b"42")],
        vec![("mcp-param-region", b"eu"), ("mcp-param-count", b"43")],
        vec![("mcp-param-region", b"eu")],
        vec![("mcp-method", b"tools/list"), ("mcp-param-region", b"eu"), ("mcp-param-count", b"42")],
    ] {
        let got = send(&service, call(&bad)).await;
        assert_eq!((got.status, got.error_code()), (400, -32020), "{bad:?}");
    }
}

#[tokio::test]
async fn an_unknown_method_gets_404_with_an_error_body_case_110_http_41() {
    let service = service();
    for method in ["foo/bar", "initialize", "ping", "logging/setLevel"] {
        let got = send(&service, modern(method, json!({}))).await;
        assert_eq!((got.status, got.error_code()), (404, -32601), "{method}");
    }
}

#[tokio::test]
async fn many_calls_at_once_each_get_their_own_answer_base_4() {
    let service = service();
    let calls: Vec<_> = (0..50)
        .map(|n| {
            let service = service.clone();
            tokio::spawn(async move {
                let got = send(&service, modern_call("slow", json!({"text": n, "ms": 50 - n}))).await;
                assert_eq!(got.text(), format!("slow {n}"));
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn shutdown_waits_for_calls_in_its_grace_time_and_cancels_what_is_left() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(mcp_transport_http::McpService::builder(tools));
    let quick = tokio::spawn({
        let service = service.clone();
        async move { send(&service, modern_call("slow", json!({"ms": 100}))).await }
    });
    let stuck = tokio::spawn({
        let service = service.clone();
        async move { send(&service, modern_call("hang", json!({}))).await }
    });
    log.reaches((2, 0, 0)).await;
    service.shutdown(Duration::from_millis(400)).await;
    assert_eq!(quick.await.unwrap().text(), "slow null");
    assert_eq!(stuck.await.unwrap().error_code(), -32603);
    assert_eq!(log.counts(), (2, 1, 1));
    let got = send(&service, modern_call("echo", json!({}))).await;
    assert_eq!((got.status, got.header("retry-after")), (503, Some("1")));
}
