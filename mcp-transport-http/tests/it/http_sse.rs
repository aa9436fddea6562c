//! The HTTP+SSE transport of 2024-11-05: what its clients see, in memory and over a socket.

use http::Request;
use mcp_core::Caller;
use mcp_core::wire::sse::{Event, Frame, Parser};
use mcp_transport_http::{Body, McpService};
use serde_json::{Value, json};

use crate::support::*;

/// The longest event that a test reads.
const EVENT: usize = 32 << 20;

pub(crate) fn old_service() -> McpService {
    build(McpService::builder(Tools::new()).http_sse())
}

pub(crate) fn get() -> http::request::Builder {
    Request::get("/sse").header("host", "localhost:8000").header("accept", "text/event-stream")
}

pub(crate) fn post_to(uri: &str) -> http::request::Builder {
    Request::post(uri).header("host", "localhost:8000").header("content-type", "application/json")
}

/// The parser's view of one stream: strict about types and ids.
pub(crate) struct Stream {
    body: Body,
    parser: Parser,
    rest: Vec<u8>,
    pub(crate) comments: usize,
}

impl Stream {
    /// Opens a stream; returns the URI of its first event as well.
    pub(crate) async fn open(service: &McpService) -> (Self, String) {
        let response = service.handle(with_body(get(), "")).await;
        assert_eq!(response.status(), 200);
        Self::of(response).await
    }

    pub(crate) async fn of(response: http::Response<Body>) -> (Self, String) {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache, no-transform");
        let mut stream = Self { body: response.into_body(), parser: Parser::new(EVENT), rest: Vec::new(), comments: 0 };
        let first = stream.event().await.expect("an event");
        assert_eq!((first.kind.as_str(), first.id), ("endpoint", None));
        (stream, first.data)
    }

    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            let mut chunk = self.rest.as_slice();
            let found = self.parser.next(&mut chunk);
            self.rest = chunk.to_vec();
            match found {
                Some(Frame::Event(event)) => return Some(event),
                Some(Frame::Comment(_)) => self.comments += 1,
                Some(other) => panic!("{other:?}"),
                None => self.rest = frame(&mut self.body).await?.into_bytes(),
            }
        }
    }

    /// The next message; `None` at the end.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        let event = self.event().await?;
        assert_eq!((event.kind.as_str(), &event.id), ("message", &None));
        Some(serde_json::from_str(&event.data).unwrap())
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.message().await.expect("a message")
    }
}

/// Sends a message, which must be taken without a word in the body.
pub(crate) async fn tell(service: &McpService, uri: &str, message: &Value) {
    let got = send(service, with_body(post_to(uri), message.to_string())).await;
    assert_eq!((got.status, got.body.as_str(), got.header("content-type")), (202, "", None), "{got:?}");
}

pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Makes the handshake.
pub(crate) async fn greet(service: &McpService, stream: &mut Stream, uri: &str, version: &str) -> Value {
    tell(service, uri, &initialize(version)).await;
    let answer = stream.next().await;
    assert_eq!(answer["result"]["protocolVersion"], version);
    tell(service, uri, &initialized()).await;
    answer
}

#[tokio::test]
async fn a_get_is_told_first_where_to_post_http_60() {
    let (_stream, uri) = Stream::open(&old_service()).await;
    let id = uri.strip_prefix("/messages?sessionId=").expect("a relative URI with an id");
    assert_eq!(id.len(), 22, "128 bits in base64url: {id}");
    assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
}

#[tokio::test]
async fn a_post_is_202_and_empty_and_its_answer_comes_as_an_event_http_61() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    let answer = greet(&service, &mut stream, &uri, "2024-11-05").await;
    assert_eq!(answer["id"], 0);
    tell(&service, &uri, &call(7, "echo", json!({"text": "hi"}))).await;
    let answer = stream.next().await;
    assert_eq!((answer["id"].as_u64(), result_text(&answer)), (Some(7), "echo \"hi\"".into()));
}

#[tokio::test]
async fn refusals_come_as_events_too_http_61() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    for (body, code) in [
        ("{", -32700),
        (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#, -32601),
        ("[]", -32600),
    ] {
        let got = send(&service, with_body(post_to(&uri), body)).await;
        assert_eq!((got.status, got.body.as_str()), (202, ""), "{body}");
        assert_eq!(stream.next().await["error"]["code"], code, "{body}");
    }
}

#[tokio::test]
async fn a_question_is_asked_on_the_stream_and_answered_by_a_post_http_60() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2025-06-18").await;
    tell(&service, &uri, &call(1, "ask", json!({}))).await;
    let question = stream.next().await;
    assert_eq!(question["method"], "elicitation/create");
    let result = json!({"action": "accept", "content": {"ok": true}});
    tell(&service, &uri, &json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    let answer = stream.next().await;
    assert_eq!(answer["id"], 1);
    assert!(result_text(&answer).contains("accept"), "{answer}");
}

#[tokio::test]
async fn progress_and_logs_come_on_the_stream_from_the_level_that_was_set() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    for (level, logs) in [("error", 3), ("emergency", 0)] {
        let params = json!({"level": level});
        tell(&service, &uri, &json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": params})).await;
        assert_eq!(stream.next().await["result"], json!({}));
        tell(&service, &uri, &call(2, "steps", json!({"ms": 1}))).await;
        let (mut progress, mut heard) = (0, 0);
        loop {
            let message = stream.next().await;
            match message["method"].as_str() {
                Some("notifications/progress") => progress += 1,
                Some("notifications/message") => heard += 1,
                _ => break assert_eq!(result_text(&message), "stepped"),
            }
        }
        assert!(progress >= 1, "{level}");
        assert_eq!(heard, logs, "{level}");
    }
}

#[tokio::test]
async fn two_gets_are_two_conversations_that_hear_nothing_of_each_other() {
    let service = old_service();
    let (mut one, to_one) = Stream::open(&service).await;
    let (mut two, to_two) = Stream::open(&service).await;
    assert_ne!(to_one, to_two);
    assert_eq!(service.sessions(), 2);
    greet(&service, &mut one, &to_one, "2024-11-05").await;
    greet(&service, &mut two, &to_two, "2025-11-25").await;
    tell(&service, &to_one, &call(5, "echo", json!({"text": 1}))).await;
    tell(&service, &to_two, &call(5, "echo", json!({"text": 2}))).await;
    assert_eq!(result_text(&one.next().await), "echo 1");
    assert_eq!(result_text(&two.next().await), "echo 2");
}

#[tokio::test]
async fn whoever_closes_the_stream_ends_the_conversation_and_its_calls() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools).http_sse());
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    tell(&service, &uri, &call(1, "hang", json!({}))).await;
    log.reaches((1, 0, 0)).await;
    drop(stream);
    log.reaches((1, 0, 1)).await;
    assert_eq!(service.sessions(), 0);
    assert_eq!(send(&service, with_body(post_to(&uri), ping(2).to_string())).await.status, 404);
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered_canc_2() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools).http_sse());
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2024-11-05").await;
    tell(&service, &uri, &call(1, "hang", json!({}))).await;
    log.reaches((1, 0, 0)).await;
    let params = json!({"requestId": 1});
    tell(&service, &uri, &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    log.reaches((1, 0, 1)).await;
    tell(&service, &uri, &ping(2)).await;
    assert_eq!(stream.next().await["id"], 2);
}

#[tokio::test]
async fn a_message_of_the_modern_era_is_judged_as_on_any_byte_stream() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    tell(&service, &uri, &modern_body("tools/list", json!({}))).await;
    assert_eq!(stream.next().await["result"]["resultType"], "complete");
}

#[tokio::test]
async fn without_the_option_there_are_no_such_routes_dep_1() {
    let service = service();
    assert_eq!(send(&service, with_body(get(), "")).await.status, 404);
    assert_eq!(send(&service, with_body(post_to("/messages"), "{}")).await.status, 404);
}

#[tokio::test]
async fn streamable_http_serves_the_revision_of_2024_http_62() {
    for service in [service(), old_service()] {
        let got = send(&service, legacy(None, &initialize("2024-11-05"))).await;
        assert_eq!((got.status, &got.json()["result"]["protocolVersion"]), (200, &json!("2024-11-05")));
    }
}

#[tokio::test]
async fn paths_can_be_chosen_and_must_differ() {
    let service = build(McpService::builder(Tools::new()).http_sse_at("/old/stream/", "/old/in"));
    let response = service.handle(with_body(Request::get("/old/stream").header("host", "localhost"), "")).await;
    let (_stream, uri) = Stream::of(response).await;
    assert!(uri.starts_with("/old/in?sessionId="), "{uri}");
    for (stream, messages) in [
        ("/sse", "/sse"),
        ("/mcp", "/messages"),
        ("/sse", "/mcp/"),
        ("sse", "/m"),
        ("/sse", "//evil/m"),
        ("/sse", "/m\n"),
        ("/sse", "/m?a"),
    ] {
        let built =
            McpService::builder(Tools::new()).http_sse_at(stream, messages).build(mcp_transport_http::TokioRuntime);
        assert!(built.is_err(), "{stream} {messages}");
    }
}

#[tokio::test]
async fn a_conversation_over_a_socket_ends_with_its_connection_http_60_http_61() {
    let service = old_service();
    let served = Served::new(service.clone()).await;
    let (mut down, mut up) = (served.client().await, served.client().await);
    down.send(with_body(get(), "")).await;
    let uri = read_uri(&mut down).await;
    let got = up.ask(with_body(post_to(&uri), initialize("2024-11-05").to_string())).await;
    assert_eq!((got.status, got.header("content-length")), (202, Some("0")));
    let message = down.chunk().await.unwrap();
    let data = message.strip_prefix("event: message\ndata: ").and_then(|rest| rest.strip_suffix("\n\n")).unwrap();
    let message: Value = serde_json::from_str(data).unwrap();
    assert_eq!(message["result"]["protocolVersion"], "2024-11-05");
    drop(down);
    ends(&service).await;
    assert_eq!(up.ask(with_body(post_to(&uri), ping(2).to_string())).await.status, 404);
    served.stop().await;
}

#[tokio::test]
async fn a_shutdown_waits_for_calls_and_then_ends_the_streams() {
    let service = old_service();
    let served = Served::with(service.clone(), |server| server.grace(std::time::Duration::from_millis(200))).await;
    let mut down = served.client().await;
    down.send(with_body(get(), "")).await;
    let uri = read_uri(&mut down).await;
    for message in
        [initialize("2024-11-05"), initialized(), call(1, "slow", json!({"ms": 20})), call(2, "hang", json!({}))]
    {
        tell(&service, &uri, &message).await;
    }
    let mut all = down.chunk().await.unwrap();
    let stopped = tokio::spawn(served.stop());
    while let Some(chunk) = down.chunk().await {
        all.push_str(&chunk);
    }
    stopped.await.unwrap();
    let messages: Vec<Value> = all
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert!(messages.iter().any(|message| message["id"] == 1 && message["result"].is_object()), "{all}");
    assert!(messages.iter().any(|message| message["id"] == 2 && message["error"].is_object()), "{all}");
    assert_eq!(service.sessions(), 0);
}

/// The head of a stream over a socket, and its first event.
pub(crate) async fn read_uri(down: &mut Client) -> String {
    assert_eq!(down.head().await.status, 200);
    let first = down.chunk().await.unwrap();
    let uri = first.strip_prefix("event: endpoint\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
    uri.unwrap_or_else(|| panic!("not an endpoint: {first}")).to_owned()
}

/// Waits for the last conversation to end.
pub(crate) async fn ends(service: &McpService) {
    for _ in 0..2_000 {
        if service.sessions() == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("{} conversations live on", service.sessions());
}

/// Who asks, by a header of the tests.
pub(crate) fn by_header(head: &http::request::Parts) -> Caller {
    let name = head.headers.get("x-user").and_then(|value| value.to_str().ok());
    name.map_or_else(Caller::anonymous, |name| Caller::new(name, mcp_core::Scopes::default()))
}

#[tokio::test]
async fn a_batch_of_2025_03_26_is_answered_by_an_event_for_each_request() {
    let service = old_service();
    let (mut stream, uri) = Stream::open(&service).await;
    greet(&service, &mut stream, &uri, "2025-03-26").await;
    tell(&service, &uri, &json!([ping(1), initialized(), ping(2)])).await;
    assert_eq!([stream.next().await["id"].clone(), stream.next().await["id"].clone()], [1, 2]);
}

#[tokio::test]
async fn pages_of_allowed_origins_can_read_it_where_cors_is_on_http_13() {
    let service = build(McpService::builder(Tools::new()).http_sse().cors());
    let origin = "http://localhost:3000";
    let response = service.handle(with_body(get().header("origin", origin), "")).await;
    assert_eq!(response.headers()["access-control-allow-origin"], origin);
    let (_stream, uri) = Stream::of(response).await;
    let preflight = Request::options(&uri).header("host", "localhost").header("origin", origin);
    let got = send(&service, with_body(preflight, "")).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (204, Some(origin)));
    let got = send(&service, with_body(post_to(&uri).header("origin", origin), ping(1).to_string())).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (202, Some(origin)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_conversations_at_once_lose_no_answer() {
    const CALLS: u64 = 100;
    let service = old_service();
    let talks = (0..8).map(|_| {
        let service = service.clone();
        tokio::spawn(async move {
            let (mut stream, uri) = Stream::open(&service).await;
            greet(&service, &mut stream, &uri, "2025-11-25").await;
            let to = (service.clone(), uri.clone());
            let posts = tokio::spawn(async move {
                for id in 1..=CALLS {
                    let (tool, arguments) =
                        [("echo", json!({"text": id})), ("slow", json!({"ms": id % 3, "text": id}))][id as usize % 2]
                            .clone();
                    tell(&to.0, &to.1, &call(id, tool, arguments)).await;
                }
            });
            let mut answered: Vec<u64> = Vec::new();
            while answered.len() < CALLS as usize {
                let message = stream.next().await;
                let id = message["id"].as_u64().expect("an answer");
                let text = result_text(&message);
                assert!(text.ends_with(&format!(" {id}")), "{text}");
                answered.push(id);
            }
            posts.await.unwrap();
            answered.sort_unstable();
            assert_eq!(answered, (1..=CALLS).collect::<Vec<u64>>());
        })
    });
    for talk in talks.collect::<Vec<_>>() {
        talk.await.unwrap();
    }
    ends(&service).await;
}
