//! Sessions of the four handshake revisions through the service.

use std::time::Duration;

use mcp_core::Caller;
use mcp_core::policy::Policy;
use mcp_transport_http::McpService;
use serde_json::json;

use crate::support::*;

#[tokio::test]
async fn a_handshake_opens_a_session_with_an_id_of_visible_characters_http_20() {
    let service = service();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let got = send(&service, legacy(None, &initialize(version))).await;
        assert_eq!(got.status, 200);
        assert_eq!(got.json()["result"]["protocolVersion"], version);
        let session = got.session();
        assert!(session.len() >= 22 && session.bytes().all(|b| (0x21..=0x7E).contains(&b)), "{session}");
    }
    assert_eq!(service.sessions(), 4);
}

#[tokio::test]
async fn a_refused_handshake_leaves_no_session() {
    let service = service();
    let mut body = initialize("2025-11-25");
    body["params"].as_object_mut().unwrap().remove("clientInfo");
    let got = send(&service, legacy(None, &body)).await;
    assert_eq!((got.error_code(), got.header("mcp-session-id")), (-32602, None));
    assert_eq!(service.sessions(), 0);
}

#[tokio::test]
async fn an_unknown_session_gets_404_on_post_get_and_delete_http_22_case_69() {
    let service = service();
    let session = open(&service).await;
    for id in ["gone", &"A".repeat(22), &"x".repeat(10_000), "ééé"] {
        let mut requests = [legacy(Some("x"), &ping(1)), bare("GET", "x"), bare("DELETE", "x")];
        for request in &mut requests {
            let value = http::HeaderValue::from_bytes(id.as_bytes()).unwrap();
            request.headers_mut().insert("mcp-session-id", value);
        }
        for request in requests {
            let method = request.method().clone();
            let got = send(&service, request).await;
            assert_eq!((got.status, got.header("content-type")), (404, Some("application/json")), "{method} {id:.30}");
        }
    }
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.status, 200);
}

#[tokio::test]
async fn a_missing_session_header_gets_400_http_22_case_71() {
    let service = service();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut request = legacy(None, &list);
    request.headers_mut().insert("mcp-protocol-version", "2025-11-25".parse().unwrap());
    assert_eq!(send(&service, request).await.status, 400);
    for method in ["GET", "DELETE"] {
        let mut request = bare(method, "x");
        request.headers_mut().remove("mcp-session-id");
        assert_eq!(send(&service, request).await.status, 400, "{method}");
    }
}

#[tokio::test]
async fn two_different_session_headers_are_refused() {
    let service = service();
    let session = open(&service).await;
    let mut request = legacy(Some(&session), &ping(1));
    request.headers_mut().append("mcp-session-id", "other".parse().unwrap());
    assert_eq!(send(&service, request).await.status, 400);
}

#[tokio::test]
async fn an_event_that_cannot_be_resumed_gets_a_definite_400_http_29_case_75() {
    let service = service();
    let session = open(&service).await;
    for event in ["999999", "garbage", ""] {
        let mut request = bare("GET", &session);
        request.headers_mut().insert("last-event-id", event.parse().unwrap());
        let got = send(&service, request).await;
        assert_eq!((got.status, got.error_code()), (400, -32600), "{event}");
    }
}

#[tokio::test]
async fn a_notification_gets_202_without_body_or_type_http_8_case_82() {
    let service = service();
    let session = open(&service).await;
    let other = json!({"jsonrpc": "2.0", "method": "notifications/foo"});
    for body in [initialized(), other] {
        let got = send(&service, legacy(Some(&session), &body)).await;
        assert_eq!((got.status, got.body.as_str(), got.header("content-type")), (202, "", None));
    }
}

#[tokio::test]
async fn a_notification_without_a_session_is_refused_and_harmless_case_83() {
    let service = service();
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    assert_eq!(send(&service, legacy(None, &changed)).await.status, 400);
    let sessionless = build(McpService::builder(Tools::with(|endpoint| endpoint.sessions(false))));
    assert_eq!(send(&sessionless, legacy(None, &changed)).await.status, 202);
}

#[tokio::test]
async fn a_bad_version_header_gets_400_and_another_supported_one_is_served_http_31_case_86_case_88() {
    let service = service();
    let session = send(&service, legacy(None, &initialize("2025-06-18"))).await.session();
    let ask = |version: &str| {
        let mut request = legacy(Some(&session), &ping(1));
        request.headers_mut().insert("mcp-protocol-version", version.parse().unwrap());
        request
    };
    for bad in ["1900-01-01", "bogus", ""] {
        assert_eq!(send(&service, ask(bad)).await.status, 400, "{bad}");
    }
    for good in ["2025-06-18", "2025-11-25", "2025-03-26"] {
        assert_eq!(send(&service, ask(good)).await.status, 200, "{good}");
    }
}

#[tokio::test]
async fn an_unknown_method_gets_200_http_11() {
    let service = service();
    let session = open(&service).await;
    let got = send(&service, legacy(Some(&session), &json!({"jsonrpc": "2.0", "id": 1, "method": "foo/bar"}))).await;
    assert_eq!((got.status, got.error_code()), (200, -32601));
}

#[tokio::test]
async fn no_modern_member_reaches_a_legacy_peer_case_101() {
    let service = service();
    let session = open(&service).await;
    for request in [
        legacy_call(&session, 1, "echo", json!({"text": 1})),
        legacy(Some(&session), &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})),
    ] {
        let got = send(&service, request).await;
        for member in ["resultType", "ttlMs", "cacheScope"] {
            assert!(!got.body.contains(member), "{member}: {}", got.body);
        }
    }
}

#[tokio::test]
async fn three_parallel_requests_with_one_id_each_get_their_own_answer_http_33_case_32() {
    let service = service();
    let session = open(&service).await;
    let ask = |ms: u64| {
        let (service, request) = (service.clone(), legacy_call(&session, 1, "slow", json!({"ms": ms, "text": ms})));
        tokio::spawn(async move { send(&service, request).await.text() })
    };
    let calls = [ask(90), ask(10), ask(50)];
    for (call, ms) in calls.into_iter().zip([90, 10, 50]) {
        assert_eq!(call.await.unwrap(), format!("slow {ms}"));
    }
}

#[tokio::test]
async fn an_open_get_blocks_no_post_case_98() {
    let service = service();
    let session = open(&service).await;
    let response = service.handle(bare("GET", &session)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut listening = response.into_body();
    assert!(is_priming(&frame(&mut listening).await.unwrap()), "bytes at once open proxies");
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.json()["result"], json!({}));
}

#[tokio::test]
async fn a_changed_list_is_told_on_one_stream_http_26() {
    let service = service();
    let session = open(&service).await;
    let mut streams = [
        service.handle(bare("GET", &session)).await.into_body(),
        service.handle(bare("GET", &session)).await.into_body(),
    ];
    let catalog = mcp_core::Catalog::builder().build().unwrap();
    service.changed(&catalog, mcp_core::Change::Tools);
    let mut told = 0;
    for stream in &mut streams {
        while let Ok(Some(bytes)) = tokio::time::timeout(Duration::from_millis(50), frame(stream)).await {
            told += bytes.matches("notifications/tools/list_changed").count();
        }
    }
    assert_eq!(told, 1);
}

#[tokio::test]
async fn a_call_outlives_its_reader_http_28() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let session = open(&service).await;
    let call = tokio::spawn(service.handle(legacy_call(&session, 1, "slow", json!({"ms": 50}))));
    log.reaches((1, 0, 0)).await;
    call.abort();
    log.reaches((1, 1, 0)).await;
    let response = service.handle(legacy_call(&session, 1, "steps", json!({"ms": 10}))).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    drop(response);
    log.reaches((2, 2, 0)).await;
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_its_stream_ends_without_an_answer_canc_2() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let session = open(&service).await;
    let call = tokio::spawn({
        let (service, request) = (service.clone(), legacy_call(&session, 7, "hang", json!({})));
        async move { send(&service, request).await }
    });
    log.reaches((1, 0, 0)).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(send(&service, legacy(Some(&session), &cancel)).await.status, 202);
    log.reaches((1, 0, 1)).await;
    let got = call.await.unwrap();
    assert!(!got.body.contains("result") && !got.body.contains("error"), "{got:?}");
}

#[tokio::test]
async fn delete_ends_calls_and_streams_and_the_id_is_gone_then_http_23() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let session = open(&service).await;
    let mut listening = service.handle(bare("GET", &session)).await.into_body();
    assert!(frame(&mut listening).await.is_some());
    let call = tokio::spawn({
        let (service, request) = (service.clone(), legacy_call(&session, 1, "hang", json!({})));
        async move { send(&service, request).await }
    });
    log.reaches((1, 0, 0)).await;
    assert_eq!(send(&service, bare("DELETE", &session)).await.status, 204);
    log.reaches((1, 0, 1)).await;
    assert_eq!(frame(&mut listening).await, None);
    let got = call.await.unwrap();
    assert!(!got.body.contains("\"result\""), "{got:?}");
    assert_eq!(service.sessions(), 0);
    for request in [legacy(Some(&session), &ping(1)), bare("GET", &session), bare("DELETE", &session)] {
        assert_eq!(send(&service, request).await.status, 404);
    }
}

#[tokio::test]
async fn at_the_cap_a_new_session_gets_503_and_those_that_live_go_on() {
    let mut policy = Policy::default();
    policy.limits.sessions = 1;
    policy.timing.hibernate_after = None;
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let session = open(&service).await;
    let got = send(&service, legacy(None, &initialize("2025-11-25"))).await;
    assert_eq!((got.status, got.error_code(), got.header("retry-after")), (503, -32603, Some("1")));
    assert_eq!(got.json()["id"], 0);
    assert_eq!(send(&service, legacy(Some(&session), &ping(1))).await.status, 200);
    assert_eq!(send(&service, bare("DELETE", &session)).await.status, 204);
    open(&service).await;
}

#[tokio::test]
async fn one_principal_opens_so_many_sessions_and_holds_nobody_else_back() {
    let mut policy = Policy::default();
    policy.limits.sessions_each = 1;
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let opened_by = |name: &str| {
        let mut request = legacy(None, &initialize("2025-11-25"));
        request.extensions_mut().insert(Caller { principal: Some(name.into()), ..Caller::anonymous() });
        request
    };
    assert_eq!(send(&service, opened_by("ann")).await.status, 200);
    let got = send(&service, opened_by("ann")).await;
    assert_eq!((got.status, got.error_code(), got.header("retry-after")), (503, -32603, Some("1")));
    assert_eq!(send(&service, opened_by("bob")).await.status, 200);
    open(&service).await;
}

#[tokio::test]
async fn calls_of_all_clients_together_are_limited_and_pings_are_still_answered() {
    let mut policy = Policy::default();
    policy.limits.running = 1;
    let tools = Tools::with_policy(policy);
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let (one, other) = (open(&service).await, open(&service).await);
    let waiting = tokio::spawn({
        let service = service.clone();
        async move { send(&service, legacy_call(&one, 1, "hang", json!({}))).await }
    });
    log.reaches((1, 0, 0)).await;
    for request in [legacy_call(&other, 1, "echo", json!({})), modern_call("echo", json!({}))] {
        let got = send(&service, request).await;
        assert_eq!((got.status, got.error_code(), got.header("retry-after")), (503, -32603, Some("1")));
    }
    assert_eq!(send(&service, legacy(Some(&other), &ping(2))).await.status, 200, "pings are always answered");
    service.shutdown(Duration::from_millis(1)).await;
    assert_eq!(waiting.await.unwrap().error_code(), -32603);
}

#[tokio::test]
async fn answers_that_nobody_reads_are_limited_in_bytes_and_room_is_made_when_they_are_read() {
    let mut policy = Policy::default();
    policy.limits.unread = 1 << 20;
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let big = || modern_call("big", json!({"size": 1 << 20}));
    let unread = service.handle(big()).await;
    let got = send(&service, modern_call("echo", json!({}))).await;
    assert_eq!((got.status, got.error_code(), got.header("retry-after")), (503, -32603, Some("1")));
    drop(unread);
    for _ in 0..3 {
        assert!(send(&service, big()).await.body.len() > 1 << 20, "what is read is not counted for ever");
    }
    assert_eq!(send(&service, modern_call("echo", json!({}))).await.status, 200);
}

#[tokio::test]
async fn a_question_is_asked_on_the_stream_of_its_call_and_answered_by_a_post_http_27() {
    let service = service();
    let session = open(&service).await;
    let mut body = service.handle(legacy_call(&session, 1, "ask", json!({}))).await.into_body();
    let question = frame(&mut body).await.unwrap();
    let question = &events(&question)[0];
    assert_eq!(question["method"], "elicitation/create");
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}});
    let got = send(&service, legacy(Some(&session), &answer)).await;
    assert_eq!((got.status, got.body.as_str()), (202, ""));
    let mut rest = String::new();
    while let Some(bytes) = frame(&mut body).await {
        rest.push_str(&bytes);
    }
    assert!(result_text(&events(&rest)[0]).contains("accept"), "{rest}");
}

#[tokio::test]
async fn a_call_that_panics_is_answered_and_takes_nothing_else_down() {
    let service = service();
    let session = open(&service).await;
    for tool in ["panic", "panic_at_once"] {
        let got = send(&service, legacy_call(&session, 1, tool, json!({}))).await;
        assert_eq!((got.error_code(), got.json()["id"].as_u64()), (-32603, Some(1)), "{tool}");
        assert!(!got.body.contains("test wants"), "{got:?}");
        let got = send(&service, modern_call(tool, json!({}))).await;
        assert_eq!((got.status, got.error_code()), (200, -32603), "{tool}");
    }
    assert_eq!(send(&service, legacy_call(&session, 2, "echo", json!({"text": 1}))).await.text(), "echo 1");
}

#[tokio::test]
async fn words_of_another_thread_reach_the_calls_stream() {
    let service = service();
    let session = open(&service).await;
    let got = send(&service, legacy_call(&session, 1, "thread", json!({"ms": 20}))).await;
    assert_eq!(got.events()[0]["params"]["progress"], 1);
    assert_eq!(result_text(&got.events()[1]), "from a thread");
}

#[tokio::test]
async fn without_sessions_each_post_stands_alone_and_is_cancelled_with_its_reader() {
    let tools = Tools::with(|endpoint| endpoint.sessions(false));
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let got = send(&service, legacy(None, &initialize("2025-06-18"))).await;
    assert_eq!((got.status, got.header("mcp-session-id")), (200, None));
    let ask = |tool: &str| {
        let params = json!({"name": tool, "arguments": {"text": 1}, "_meta": {"progressToken": 1}});
        legacy(None, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    };
    assert_eq!(send(&service, ask("echo")).await.text(), "echo 1");
    let events = send(&service, ask("steps")).await.events();
    assert_eq!(result_text(events.last().unwrap()), "stepped");
    let got = send(&service, ask("ask")).await;
    assert!(got.body.contains("Unsupported"), "nobody can be asked (case 97): {got:?}");
    let hanging = tokio::spawn(service.handle(ask("hang")));
    log.reaches((5, 1, 0)).await;
    hanging.abort();
    log.reaches((5, 1, 1)).await;
    assert_eq!(service.sessions(), 0);
}

#[tokio::test]
async fn a_batch_of_2025_03_26_is_answered_as_one_array_batch_2() {
    let service = service();
    let session = send(&service, legacy(None, &initialize("2025-03-26"))).await.session();
    let call = |id: u64, tool: &str| {
        let params = json!({"name": tool, "arguments": {"text": id, "ms": 20}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let mut request = legacy(Some(&session), &json!([call(1, "slow"), call(2, "echo"), initialized(), ping(3)]));
    request.headers_mut().remove("mcp-protocol-version");
    let got = send(&service, request).await;
    let mut ids: Vec<u64> =
        got.json().as_array().unwrap().iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
}

#[tokio::test]
async fn shutdown_ends_sessions_their_calls_and_their_streams_case_96() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let session = open(&service).await;
    let mut listening = service.handle(bare("GET", &session)).await.into_body();
    assert!(frame(&mut listening).await.is_some());
    let call = tokio::spawn({
        let (service, request) = (service.clone(), legacy_call(&session, 1, "hang", json!({})));
        async move { send(&service, request).await }
    });
    log.reaches((1, 0, 0)).await;
    service.shutdown(Duration::from_millis(50)).await;
    assert_eq!(frame(&mut listening).await, None);
    assert_eq!(call.await.unwrap().error_code(), -32603);
    log.reaches((1, 0, 1)).await;
    assert_eq!(service.sessions(), 0);
}
