//! HTTP+SSE against clients that mean harm, or are slow.

use std::time::Duration;

use http::request::Parts;
use mcp_core::policy::Policy;
use mcp_core::{Caller, Span};
use mcp_transport_http::{McpService, Rejection};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http_sse::*;
use crate::support::*;

fn with_policy(set: impl FnOnce(&mut Policy)) -> McpService {
    let mut policy = Policy::default();
    set(&mut policy);
    build(McpService::builder(Tools::with_policy(policy)).http_sse())
}

#[tokio::test]
async fn hosts_and_origins_are_checked_on_both_halves_http_2_http_61() {
    let service = old_service();
    let (_stream, uri) = Stream::open(&service).await;
    for header in [("origin", "http://evil.example"), ("origin", "null")] {
        assert_eq!(send(&service, with_body(get().header(header.0, header.1), "")).await.status, 403);
        let post = post_to(&uri).header(header.0, header.1);
        assert_eq!(send(&service, with_body(post, initialize("2024-11-05").to_string())).await.status, 403);
    }
    for (method, path) in [("GET", "/sse"), ("POST", uri.as_str())] {
        let request = http::Request::builder().method(method).uri(path).header("host", "evil.example");
        assert_eq!(
            send(&service, with_body(request.header("content-type", "application/json"), "{}")).await.status,
            403
        );
    }
    let local = get().header("origin", "http://localhost:3000");
    assert_eq!(service.handle(with_body(local, "")).await.status(), 200);
}

#[tokio::test]
async fn for_another_principal_a_conversation_does_not_exist_http_21() {
    let service = build(McpService::builder(Tools::new()).http_sse().authenticate(|head: &Parts| by_header(head)));
    let (_stream, uri) = Stream::of(service.handle(with_body(get().header("x-user", "ann"), "")).await).await;
    for (user, status) in [(Some("bob"), 404), (None, 404), (Some("ann"), 202)] {
        let post = user.iter().fold(post_to(&uri), |post, user| post.header("x-user", *user));
        assert_eq!(send(&service, with_body(post, ping(1).to_string())).await.status, status, "{user:?}");
    }
}

#[tokio::test]
async fn those_who_listen_over_it_are_bounded_together_sub_14_bound() {
    let service = with_policy(|policy| policy.limits.listens_total = 1);
    let listen = |id: u64| {
        let mut body = modern_body("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
        body["id"] = id.into();
        body.to_string()
    };
    let acknowledged = "notifications/subscriptions/acknowledged";
    let (mut one, first) = Stream::open(&service).await;
    for id in [1, 2] {
        assert_eq!(send(&service, with_body(post_to(&first), listen(id))).await.status, 202);
        assert_eq!(one.next().await["method"], acknowledged, "its own machine counts these");
    }
    let (mut two, second) = Stream::open(&service).await;
    assert_eq!(send(&service, with_body(post_to(&second), listen(1))).await.status, 503);
    assert_eq!(service.listeners(), 1);
    drop(one);
    assert_eq!(service.listeners(), 0);
    assert_eq!(send(&service, with_body(post_to(&second), listen(1))).await.status, 202);
    assert_eq!(two.next().await["method"], acknowledged);
}

#[tokio::test]
async fn whoever_is_sent_away_opens_nothing() {
    let refuse = |_: &Parts| {
        let mut response = http::Response::new(mcp_transport_http::Body::empty());
        *response.status_mut() = http::StatusCode::UNAUTHORIZED;
        Err::<Caller, _>(Rejection::response(response))
    };
    let service = build(McpService::builder(Tools::new()).http_sse().authenticate(refuse));
    assert_eq!(send(&service, with_body(get(), "")).await.status, 401);
    assert_eq!(send(&service, with_body(post_to("/messages?sessionId=x"), "{}")).await.status, 401);
    assert_eq!(service.sessions(), 0);
}

#[tokio::test]
async fn an_unknown_id_is_404_however_it_looks_http_22() {
    let service = old_service();
    let (_stream, uri) = Stream::open(&service).await;
    let id = uri.rsplit_once('=').unwrap().1;
    let huge = format!("/messages?sessionId={}", "A".repeat(60_000));
    let longer = format!("{uri}A");
    let (other, streamable) = (format!("/messages?session={id}"), open(&service).await);
    let streamable = format!("/messages?sessionId={streamable}");
    let guess = format!("/messages?sessionId={}", "A".repeat(22));
    for uri in [
        "/messages",
        "/messages?",
        "/messages?sessionId",
        "/messages?sessionId=",
        &huge,
        &longer,
        &other,
        &guess,
        &streamable,
    ] {
        let got = send(&service, with_body(post_to(uri), ping(1).to_string())).await;
        assert_eq!(got.status, 404, "{}", &uri[..uri.len().min(80)]);
        assert!(got.body.contains("endpoint"), "it says what to do: {}", got.body);
    }
    // Nor is it an id of the other transport.
    assert_eq!(send(&service, legacy(Some(id), &ping(1))).await.status, 404);
}

#[tokio::test]
async fn other_methods_are_405_and_say_which_are_not() {
    let service = old_service();
    let (_stream, uri) = Stream::open(&service).await;
    for (method, uri, allow) in [
        ("POST", "/sse", "GET, OPTIONS"),
        ("DELETE", "/sse", "GET, OPTIONS"),
        ("HEAD", "/sse", "GET, OPTIONS"),
        ("GET", uri.as_str(), "POST, OPTIONS"),
        ("DELETE", uri.as_str(), "POST, OPTIONS"),
    ] {
        let request = http::Request::builder().method(method).uri(uri).header("host", "localhost");
        let got = send(&service, with_body(request.header("content-type", "application/json"), "{}")).await;
        assert_eq!((got.status, got.header("allow")), (405, Some(allow)), "{method} {uri}");
    }
}

#[tokio::test]
async fn bodies_are_bounded_in_type_and_size_http_6_base_26() {
    let service = with_policy(|policy| policy.limits.body = 1_000);
    let (_stream, uri) = Stream::open(&service).await;
    let plain = http::Request::post(&uri).header("host", "localhost").header("content-type", "text/plain");
    assert_eq!(send(&service, with_body(plain, ping(1).to_string())).await.status, 415);
    assert_eq!(send(&service, with_body(post_to(&uri), vec![b' '; 1_001])).await.status, 413);
}

#[tokio::test]
async fn streams_are_bounded_in_number_and_a_closed_one_makes_room() {
    let service = with_policy(|policy| policy.limits.sessions = 2);
    let (one, _) = Stream::open(&service).await;
    let (_two, uri) = Stream::open(&service).await;
    let got = send(&service, with_body(get(), "")).await;
    assert_eq!((got.status, got.header("retry-after")), (503, Some("1")));
    tell(&service, &uri, &ping(1)).await;
    drop(one);
    let (_three, _) = Stream::open(&service).await;
}

#[tokio::test]
async fn a_flood_of_posts_to_a_stream_that_nobody_reads_is_refused_and_goes_on_once_it_is_read() {
    let service = with_policy(|policy| policy.limits.unsent = 10_000);
    let (mut stream, uri) = Stream::open(&service).await;
    let mut taken = 0;
    for id in 0..5_000 {
        let got = send(&service, with_body(post_to(&uri), ping(id).to_string())).await;
        match got.status {
            202 => taken += 1,
            status => assert_eq!((status, got.header("retry-after")), (503, Some("1"))),
        }
    }
    assert!((100..1_000).contains(&taken), "{taken}");
    for id in 0..taken {
        assert_eq!(stream.next().await["id"], id);
    }
    tell(&service, &uri, &ping(9_999)).await;
    assert_eq!(stream.next().await["id"], 9_999);
}

#[tokio::test]
async fn what_all_unread_streams_hold_together_is_bounded() {
    let service = with_policy(|policy| policy.limits.unread = 100_000);
    let mut streams = Vec::new();
    for _ in 0..20 {
        let (mut stream, uri) = Stream::open(&service).await;
        greet(&service, &mut stream, &uri, "2024-11-05").await;
        streams.push((stream, uri));
    }
    let (mut taken, mut refused) = (0, 0);
    for id in 1..50 {
        for (_, uri) in &streams {
            let unknown = json!({"jsonrpc": "2.0", "id": id, "method": "x".repeat(100)});
            match send(&service, with_body(post_to(uri), unknown.to_string())).await.status {
                202 => taken += 1,
                status => refused += i32::from(status == 503),
            }
        }
    }
    assert_eq!(taken + refused, 49 * 20);
    assert!(refused > 0 && taken < 700, "{taken} taken");
    // Those who read are served.
    let (mut reads, uri) = streams.pop().unwrap();
    let (mut others, to_others) = Stream::open(&service).await;
    tell(&service, &to_others, &ping(1)).await;
    assert_eq!(others.next().await["id"], 1);
    // And what leaves with its reader counts no more.
    drop(streams);
    while reads.next().await["id"] != json!(1) {}
    tell(&service, &uri, &ping(77)).await;
    while reads.next().await["id"] != json!(77) {}
}

#[tokio::test]
async fn calls_that_are_sent_and_cancelled_at_once_leave_nothing_behind() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools).http_sse());
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    for id in 1..1_000 {
        tell(&service, &uri, &call(id, "hang", json!({}))).await;
        let params = json!({"requestId": id});
        tell(&service, &uri, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }
    tell(&service, &uri, &ping(5_000)).await;
    assert_eq!(stream.next().await["id"], 5_000);
    let (started, finished, dropped) = log.counts();
    assert_eq!((finished, started), (0, dropped));
}

#[tokio::test]
async fn calls_over_the_limit_are_answered_as_busy() {
    let service = with_policy(|policy| policy.limits.calls = 2);
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    for id in 1..=3 {
        tell(&service, &uri, &call(id, "hang", json!({}))).await;
    }
    let refused = stream.next().await;
    assert_eq!(
        (&refused["id"], refused["error"]["message"].as_str().map(|text| text.contains("Too many"))),
        (&json!(3), Some(true))
    );
}

#[tokio::test]
async fn a_call_that_panics_is_answered_and_takes_nothing_with_it() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    for tool in ["panic", "panic_at_once"] {
        tell(&service, &uri, &call(1, tool, json!({}))).await;
        assert_eq!(stream.next().await["error"]["code"], -32603, "{tool}");
    }
    tell(&service, &uri, &call(2, "thread", json!({"ms": 1}))).await;
    while stream.next().await["id"] != json!(2) {}
}

#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    for id in 1..=3 {
        tell(&service, &uri, &call(id, "big", json!({"size": 1_000_000}))).await;
    }
    for _ in 1..=3 {
        assert_eq!(result_text(&stream.next().await).len(), 1_000_000);
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_gets_a_comment_each_15_s_and_no_event_http_45() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    tell(&service, &uri, &call(1, "slow", json!({"ms": 61_000}))).await;
    let start = Instant::now();
    assert_eq!(result_text(&stream.next().await), "slow null");
    assert_eq!((start.elapsed().as_secs(), stream.comments), (61, 4));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nobody_posts_to_ends_after_30_s() {
    let service = old_service();
    let start = Instant::now();
    let (mut stream, _) = Stream::open(&service).await;
    assert_eq!(stream.message().await, None::<Value>);
    assert_eq!((start.elapsed().as_secs(), service.sessions()), (30, 0));
}

#[tokio::test(start_paused = true)]
async fn deadlines_of_calls_and_questions_are_kept() {
    let service = with_policy(|policy| {
        policy.timing.call = Some(Span::secs(100));
        policy.timing.question = Span::secs(20);
    });
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2025-11-25").await;
    let start = Instant::now();
    tell(&service, &uri, &call(1, "hang", json!({}))).await;
    tell(&service, &uri, &call(2, "ask", json!({}))).await;
    assert_eq!(stream.next().await["method"], "elicitation/create");
    assert_eq!(stream.next().await["method"], "notifications/cancelled");
    assert!(result_text(&stream.next().await).contains("TimedOut"));
    assert_eq!(start.elapsed().as_secs(), 20);
    let late = stream.next().await;
    assert_eq!(
        (&late["id"], late["error"]["code"].as_i64(), start.elapsed().as_secs()),
        (&json!(1), Some(-32603), 100)
    );
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_while_their_client_does_not_read() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools).http_sse());
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    tell(&service, &uri, &call(1, "steps", json!({"ms": 100}))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(log.counts(), (1, 1, 0));
    // What was not read was merged: the last progress is enough.
    let mut progress = Vec::new();
    loop {
        let message = stream.next().await;
        match message["method"].as_str() {
            Some("notifications/progress") => progress.extend(message["params"]["progress"].as_f64()),
            Some(_) => {}
            None => break assert_eq!(result_text(&message), "stepped"),
        }
    }
    assert_eq!(progress, [3.0]);
}

#[tokio::test]
async fn a_client_that_never_reads_its_stream_is_cut_off_and_its_conversation_ends() {
    let service = old_service();
    let served = Served::with(service.clone(), |server| server.write_time(Duration::from_millis(50))).await;
    let mut down = served.client().await;
    down.send(with_body(get(), "")).await;
    let uri = read_uri(&mut down).await;
    for message in [initialize("2024-11-05"), initialized()] {
        tell(&service, &uri, &message).await;
    }
    let mut id = 0;
    // Far more than the system's buffers hold, and each of them may be refused.
    while service.sessions() > 0 && id < 10_000 {
        id += 1;
        send(&service, with_body(post_to(&uri), call(id, "big", json!({"size": 1_000_000})).to_string())).await;
        tokio::task::yield_now().await;
    }
    ends(&service).await;
    served.stop().await;
}
