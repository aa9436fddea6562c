//! The server as a service within another one.

#![cfg(feature = "http")]

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use mcp_server::http::McpService;
use mcp_server::{Server, Tool};
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
