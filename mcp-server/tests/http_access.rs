//! Who is served over HTTP, and how often.

#![cfg(feature = "http")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use mcp_server::ask::elicit;
use mcp_server::http::{Authenticating, McpService, Parts, Rejection, bearer};
use mcp_server::{CallError, Caller, Ctx, RateLimit, Scopes, Server, Tool};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

fn server() -> Server {
    let who = Tool::new("who").description("A tool of a test.").run(|caller: Caller| {
        let scopes: Vec<&str> = caller.scopes.iter().collect();
        let principal = caller.principal.as_ref().map_or("nobody", |principal| principal.as_str());
        format!("{principal} {}", scopes.join(" "))
    });
    let ask = Tool::new("ask").description("A tool of a test.").run(|ctx: Ctx| async move {
        ctx.ask("sure", elicit("Sure?"))?.required()?;
        Ok::<_, CallError>("sure")
    });
    Server::new("test", "1").tool(who).tool(ask)
}

fn service(server: Server) -> McpService {
    server.build().expect("it can be built").http_service().expect("and served")
}

fn by_token(head: &Parts) -> Result<Caller, Rejection> {
    match bearer(head)?.ok_or_else(|| Rejection::unauthorized().scope("notes:read"))? {
        "secret" => Ok(Caller::new("sub:ada", Scopes::parse("notes:read notes:write"))),
        _ => Err(Rejection::invalid_token("it has expired")),
    }
}

/// A call as a client of 2026-07-28 makes it.
fn call(tool: &str, more: Value) -> Value {
    let mut params = json!({"name": tool, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }});
    for (name, value) in more.as_object().into_iter().flatten() {
        params[name] = value.clone();
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn request(body: &Value, token: Option<&str>) -> Request<Body> {
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", body["params"]["name"].as_str().unwrap_or_default());
    let request =
        token.into_iter().fold(request, |request, token| request.header("authorization", format!("Bearer {token}")));
    request.body(Body::from(body.to_string())).expect("a request")
}

/// Status, headers and body of an answer.
async fn answer(service: &McpService, request: Request<Body>) -> (u16, HeaderMap, Value) {
    let (head, body) = service.handle(request).await.into_parts();
    let body = to_bytes(Body::new(body), 1 << 16).await.expect("a body");
    (head.status.as_u16(), head.headers, serde_json::from_slice(&body).unwrap_or_default())
}

/// A clock that is moved by hand.
fn hand_clock() -> (Arc<AtomicU64>, impl Fn() -> Duration + Send + Sync + 'static) {
    let seconds = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&seconds);
    (seconds, move || Duration::from_secs(read.load(Ordering::SeqCst)))
}

#[tokio::test]
async fn tools_know_who_asks_and_others_are_challenged_auth_4_auth_5_auth_11() {
    const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    let later = |head: &Parts| {
        let found = by_token(head);
        Authenticating::later(async {
            tokio::task::yield_now().await;
            found
        })
    };
    for server in [server().authenticate(by_token), server().authenticate(later)] {
        let service = service(server.resource_metadata(METADATA));
        let (status, _, body) = answer(&service, request(&call("who", json!({})), Some("secret"))).await;
        assert_eq!((status, &body["result"]["content"][0]["text"]), (200, &json!("sub:ada notes:read notes:write")));
        let (status, headers, body) = answer(&service, request(&call("who", json!({})), None)).await;
        let challenge = format!("Bearer scope=\"notes:read\", resource_metadata=\"{METADATA}\"");
        assert_eq!((status, headers["www-authenticate"].to_str().expect("ASCII")), (401, &*challenge));
        assert_eq!((&body["error"]["code"], body.get("id")), (&json!(401), None));
        let (status, headers, _) = answer(&service, request(&call("who", json!({})), Some("old"))).await;
        assert_eq!(status, 401);
        assert!(headers["www-authenticate"].to_str().expect("ASCII").starts_with("Bearer error=\"invalid_token\""));
        let mut in_uri = request(&call("who", json!({})), None);
        *in_uri.uri_mut() = "/mcp?access_token=secret".parse().expect("a URI");
        assert_eq!(answer(&service, in_uri).await.0, 401);
    }
}

#[tokio::test]
async fn a_server_without_an_authenticator_serves_everybody_auth_1() {
    let service = service(server());
    for token in [None, Some("secret")] {
        let (status, _, body) = answer(&service, request(&call("who", json!({})), token)).await;
        assert_eq!((status, &body["result"]["content"][0]["text"]), (200, &json!("nobody ")));
    }
    let document = Request::get("/.well-known/oauth-protected-resource/mcp").header("host", "localhost");
    assert_eq!(answer(&service, document.body(Body::empty()).expect("a request")).await.0, 404);
}

#[test]
fn mistakes_are_told_when_the_server_is_built() {
    let built = server()
        .authenticate(by_token)
        .authenticate(by_token)
        .resource_metadata("/.well-known/oauth-protected-resource")
        .rate_limit(RateLimit::new(0, Duration::from_secs(60)))
        .rate_limit(RateLimit::new(1, Duration::from_secs(60)).burst(0))
        .build();
    let error = built.expect_err("four mistakes").to_string();
    for part in [
        "the URL of the resource metadata must be an absolute",
        "give a number of requests and a span",
        "let one request through at once at least",
        "authenticate(..) was given more than once",
    ] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[tokio::test]
async fn who_asks_too_often_gets_429_until_it_may_again_sec_2() {
    let (seconds, clock) = hand_clock();
    let daily = RateLimit::new(8, Duration::from_secs(86_400));
    let service = service(
        server()
            .authenticate(by_token)
            .rate_limit(RateLimit::new(3, Duration::from_secs(60)).clock(clock))
            .rate_limit(daily),
    );
    let who = || request(&call("who", json!({})), Some("secret"));
    let unknown = || request(&call("who", json!({})), None);
    for _ in 0..3 {
        assert_eq!(answer(&service, who()).await.0, 200);
    }
    let (status, headers, body) = answer(&service, who()).await;
    assert_eq!((status, headers["retry-after"].to_str().expect("ASCII")), (429, "20"));
    let error =
        json!({"code": -32603, "message": "Too many requests: try again in 20 s", "data": {"retryAfterMs": 20_000}});
    assert_eq!(body, json!({"jsonrpc": "2.0", "error": error}));
    assert_eq!(answer(&service, unknown()).await.0, 401);
    let get = Request::get("/mcp").header("host", "localhost").header("authorization", "Bearer secret");
    assert_eq!(answer(&service, get.body(Body::empty()).expect("a request")).await.0, 429, "of whatever kind");
    for _ in 0..5 {
        seconds.fetch_add(60, Ordering::SeqCst);
        assert_eq!(answer(&service, who()).await.0, 200, "the service lives");
    }
    seconds.fetch_add(60, Ordering::SeqCst);
    let (status, headers, _) = answer(&service, who()).await;
    let wait: u64 = headers["retry-after"].to_str().expect("ASCII").parse().expect("a number");
    assert!(status == 429 && wait > 3_600, "the other limit holds, too: {wait}");
}

#[tokio::test]
async fn a_narrow_token_gets_403_with_the_scopes_and_a_broader_one_is_served_auth_6_auth_7() {
    const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    let by_scope = |head: &Parts| {
        let scopes = bearer(head)?.ok_or_else(Rejection::unauthorized)?;
        Ok(Caller::new("sub:ada", Scopes::parse(scopes)))
    };
    let purge = Tool::new("purge").description("A tool of a test.").scope("files:read files:write").run(|| "purged");
    let server = server().authenticate(by_scope).resource_metadata(METADATA).tool(purge);
    let service = service(server.scope_implies("admin", "files:write").scope_implies("files:write", "files:read"));
    let (status, headers, body) = answer(&service, request(&call("purge", json!({})), Some("files"))).await;
    let challenge = format!(
        "Bearer error=\"insufficient_scope\", scope=\"files:read files:write\", resource_metadata=\"{METADATA}\", \
         error_description=\"Insufficient scope. Required: files:read files:write\""
    );
    assert_eq!((status, headers["www-authenticate"].to_str().expect("ASCII")), (403, &*challenge));
    assert_eq!(body["error"]["data"], json!({"requiredScopes": ["files:read", "files:write"]}));
    let (status, _, body) = answer(&service, request(&call("purge", json!({})), Some("admin"))).await;
    assert_eq!((status, &body["result"]["content"][0]["text"]), (200, &json!("purged")));
    assert_eq!(answer(&service, request(&call("purge", json!({})), None)).await.0, 401);
}

#[tokio::test]
async fn a_call_of_a_limited_tool_that_is_one_too_many_is_429_tool_17() {
    let (_, clock) = hand_clock();
    let limited = Tool::new("limited").description("A tool of a test.");
    let limited = limited.wrap(RateLimit::new(1, Duration::from_secs(60)).clock(clock)).run(|| "limited");
    let service = service(server().authenticate(by_token).tool(limited));
    let call = || request(&call("limited", json!({})), Some("secret"));
    assert_eq!(answer(&service, call()).await.0, 200);
    let (status, headers, body) = answer(&service, call()).await;
    assert_eq!((status, &body["id"], &body["error"]["code"]), (429, &json!(1), &json!(-32603)));
    assert_eq!(headers["retry-after"].to_str().expect("ASCII"), "60");
    assert_eq!(body["error"]["data"], json!({"retryAfterMs": 60_000}));
}

#[tokio::test]
async fn an_answer_to_a_question_is_a_request_of_its_own_mrtr_14() {
    let (seconds, clock) = hand_clock();
    let service = service(server().rate_limit(RateLimit::new(1, Duration::from_secs(60)).clock(clock)));
    let (status, _, asked) = answer(&service, request(&call("ask", json!({})), None)).await;
    assert_eq!((status, &asked["result"]["resultType"]), (200, &json!("input_required")), "{asked}");
    let state = &asked["result"]["requestState"];
    let retry = call("ask", json!({"requestState": state, "inputResponses": {"sure": {"action": "accept"}}}));
    assert_eq!(answer(&service, request(&retry, None)).await.0, 429);
    seconds.fetch_add(60, Ordering::SeqCst);
    let (status, _, body) = answer(&service, request(&retry, None)).await;
    assert_eq!(
        (status, &body["result"]["content"][0]["text"]),
        (200, &json!("sure")),
        "what was refused is not used up"
    );
}

/// The status of a call over a connection of its own, from that address.
async fn status_from(server: SocketAddr, address: &str) -> u16 {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(format!("{address}:0").parse().expect("an address")).expect("an address of this machine");
    let mut stream = socket.connect(server).await.expect("it listens");
    let body = call("who", json!({})).to_string();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n\
                accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
                mcp-name: who\r\n";
    let text = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn strangers_are_told_apart_by_the_address_of_their_connection_sec_2() {
    let (_, clock) = hand_clock();
    let app =
        server().rate_limit(RateLimit::new(1, Duration::from_secs(60)).clock(clock)).build().expect("it can be built");
    let server = app.bind_http("127.0.0.1:0").await.expect("a free port");
    let address = server.local_addr().expect("its address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve_until(async { drop(stopped.await) }));
    assert_eq!(status_from(address, "127.0.0.1").await, 200);
    assert_eq!(status_from(address, "127.0.0.1").await, 429, "another connection of the same");
    assert_eq!(status_from(address, "127.0.0.2").await, 200);
    drop(stop);
    serving.await.expect("no panic").expect("no error");
}
