//! Who asks is found out by the HTTP transport. A byte stream has no tokens and no 401.

#![cfg(all(feature = "http", feature = "stdio"))]

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use mcp_server::http::{Parts, Rejection};
use mcp_server::{Caller, Server, Tool};
use mcp_transport_stdio::Connection;
use serde_json::{Value, json};

fn server() -> Server {
    let who = |caller: Caller| caller.principal.map_or("nobody".to_owned(), |principal| principal.as_str().to_owned());
    Server::new("test", "1").tool(Tool::new("who").description("A tool of a test.").run(who))
}

fn call() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "authorization": "Bearer stolen",
    }}})
}

#[tokio::test]
async fn an_app_whose_http_side_wants_tokens_wants_none_on_a_byte_stream_stdio_8() {
    let refuse = |_: &Parts| -> Result<Caller, _> { Err(Rejection::unauthorized()) };
    let app = server().authenticate(refuse).build().expect("it can be built");
    let service = app.http_service().expect("and served");
    let request = Request::post("/mcp").header("host", "localhost").header("content-type", "application/json");
    let response = service.handle(request.body(Body::from(call().to_string())).expect("a request")).await;
    assert_eq!(response.status(), 401);

    let mut output = Vec::new();
    let input = format!("{}\n", call());
    let connection = Connection::tokio(Arc::new(app));
    connection.run_tokio(input.as_bytes(), &mut output).await.expect("it is served to its end");
    let answer: Value = serde_json::from_slice(&output).expect("JSON");
    assert_eq!(answer["result"]["content"][0]["text"], "nobody", "nor is anything in a message taken for one");
}
