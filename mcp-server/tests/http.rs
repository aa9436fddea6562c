//! The server as a service within another one.

#![cfg(feature = "http")]

use std::time::Duration;

use axum::Router;
#[cfg(feature = "http-sse")]
use axum::body::HttpBody;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use mcp_server::http::McpService;
use mcp_server::{Cancelled, Server, Tool};
use serde_json::{Value, json};
use tower_service::Service as _;

fn server() -> Server {
    Server::new("test", "1").tool(Tool::new("hello").description("A tool of a test.").run(|| "Hello!"))
}

fn service(server: Server) -> McpService {
    server.build().expect("it can be built").http_service().expect("and served")
}

/// A call of `hello`, as a client of 2026-07-28 makes it.
fn call(path: &str) -> Request<Body> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "hello",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let request = Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "hello");
    request.body(Body::from(body.to_string())).expect("a request")
}

/// The status, and the text that `hello` said.
async fn said(router: &mut Router, path: &str) -> (StatusCode, Option<String>) {
    let Ok(response) = router.call(call(path)).await;
    let (head, body) = response.into_parts();
    let body = to_bytes(body, 1 << 16).await.expect("a body");
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    (head.status, body["result"]["content"][0]["text"].as_str().map(Into::into))
}

#[tokio::test]
async fn axum_routes_to_it_and_a_stripped_path_needs_the_root_http_1() {
    let hello = (StatusCode::OK, Some("Hello!".to_owned()));
    let mut routed = Router::new().route_service("/mcp", service(server()));
    assert_eq!(said(&mut routed, "/mcp").await, hello);
    assert_eq!(said(&mut routed, "/other").await.0, StatusCode::NOT_FOUND);
    let mut nested = Router::new().nest_service("/mcp", service(server().http_path("/")));
    assert_eq!(said(&mut nested, "/mcp").await, hello);
    assert_eq!(said(&mut nested, "/mcp/").await, hello);
    let mut stripped = Router::new().nest_service("/mcp", service(server()));
    assert_eq!(said(&mut stripped, "/mcp").await.0, StatusCode::NOT_FOUND, "the path is not what it looks for");
    let mut elsewhere = Router::new().route_service("/tools", service(server().http_path("/tools")));
    assert_eq!(said(&mut elsewhere, "/tools").await, hello);
}

#[tokio::test]
async fn it_answers_a_request_by_itself_and_no_more_once_it_is_shut_down() {
    let service = service(server());
    let response = service.handle(call("/mcp")).await;
    assert_eq!(response.status(), StatusCode::OK);
    let (head, body) = call("/mcp").into_parts();
    let body = to_bytes(body, 1 << 16).await.expect("a body");
    let response = service.handle_bytes(Request::from_parts(head, body)).await;
    let body = to_bytes(Body::new(response.into_body()), 1 << 16).await.expect("a body");
    assert!(String::from_utf8_lossy(&body).contains("Hello!"), "{body:?}");
    service.shutdown(Duration::ZERO).await;
    assert_eq!(service.handle(call("/mcp")).await.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn what_is_deprecated_is_off_unless_it_is_asked_for_dep_1() {
    let service = service(server());
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    }});
    let request = Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let response = service.handle(request.body(Body::from(initialize.to_string())).expect("a request")).await;
    let body = to_bytes(Body::new(response.into_body()), 1 << 16).await.expect("a body");
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answer["result"]["capabilities"].get("logging"), None, "{answer}");
    for (method, path) in [("GET", "/sse"), ("POST", "/messages"), ("POST", "/sse")] {
        let request = Request::builder().method(method).uri(path).header("host", "localhost").body(Body::empty());
        assert_eq!(service.handle(request.expect("a request")).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[cfg(feature = "http-sse")]
#[tokio::test]
async fn http_sse_is_served_beside_it_within_axum_http_60_http_61() {
    let service = service(server().http_sse());
    let mut router = Router::new()
        .route_service("/mcp", service.clone())
        .route_service("/sse", service.clone())
        .route_service("/messages", service);
    let get = Request::get("/sse").header("host", "localhost").body(Body::empty()).expect("a request");
    let Ok(response) = router.call(get).await;
    let mut stream = response.into_body();
    let mut next = async || {
        let frame = std::future::poll_fn(|cx| HttpBody::poll_frame(std::pin::Pin::new(&mut stream), cx)).await;
        let frame = frame.expect("an event").expect("no error").into_data().expect("no trailers");
        String::from_utf8(frame.to_vec()).expect("UTF-8")
    };
    let first = next().await;
    let uri = first.strip_prefix("event: endpoint\ndata: ").expect("where to POST").trim_end();
    let (head, body) = call("/mcp").into_parts();
    let post = Request::post(uri).header("host", "localhost").header("content-type", "application/json");
    let Ok(response) = router.call(post.body(body).expect("a request")).await;
    assert_eq!((response.status(), head.method.as_str()), (StatusCode::ACCEPTED, "POST"));
    assert!(to_bytes(response.into_body(), 10).await.expect("a body").is_empty());
    let message = next().await;
    assert!(message.starts_with("event: message\ndata: {") && message.contains("Hello!"), "{message}");
}

/// What ends a call of [`ending`].
#[derive(Clone, Copy, Debug)]
enum End {
    /// The client of 2026-07-28 closes its connection.
    Closed,
    /// A notification of a client with a session.
    Cancelled,
    /// The session ends.
    Deleted,
    /// The server ends.
    ShutDown,
}

#[tokio::test]
async fn the_code_of_a_call_hears_of_its_end_whatever_ends_it_shim_9_http_46() {
    for end in [End::Closed, End::Cancelled, End::Deleted, End::ShutDown] {
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let ending = Tool::new("hello").description("A tool of a test.").run(move |cancelled: Cancelled| {
            let tell = tell.clone();
            async move {
                let _ = tell.send(cancelled.clone());
                std::future::pending::<()>().await;
            }
        });
        let service = service(Server::new("test", "1").tool(ending));
        let post = |session: Option<&str>, message: Value| {
            let mut request =
                Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
            request = request.header("accept", "application/json, text/event-stream");
            if let Some(session) = session {
                request = request.header("mcp-session-id", session);
            }
            request.body(Body::from(message.to_string())).expect("a request")
        };
        let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
        let opened = service.handle(post(None, open)).await;
        let session = opened.headers()["mcp-session-id"].to_str().expect("visible characters").to_owned();
        let legacy = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hello"}});
        let request = match end {
            End::Closed => call("/mcp"),
            End::Cancelled | End::Deleted | End::ShutDown => post(Some(&session), legacy),
        };
        let running = tokio::spawn(service.handle(request));
        let cancelled = told.recv().await.expect("the code runs");
        assert!(!cancelled.is_cancelled(), "{end:?}");
        match end {
            End::Closed => running.abort(),
            End::Cancelled => {
                let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
                assert_eq!(service.handle(post(Some(&session), cancel)).await.status(), StatusCode::ACCEPTED);
            }
            End::Deleted => {
                let delete = Request::delete("/mcp").header("host", "localhost").header("mcp-session-id", &session);
                let deleted = service.handle(delete.body(Body::empty()).expect("a request")).await;
                assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
            }
            End::ShutDown => service.shutdown(Duration::ZERO).await,
        }
        cancelled.await;
    }
}
