use bytes::Bytes;
use http::{Request, StatusCode};
use mcp_server::json;

use super::*;

async fn call(token: Option<&str>, tool: &str, arguments: mcp_server::Value) -> (StatusCode, Option<String>) {
    let service = server().build().expect("it builds").http_service().expect("it serves");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let mut request = Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = service.handle_bytes(request.body(Bytes::from(body)).expect("it is a request")).await;
    let challenge = response.headers().get("www-authenticate").map(|value| value.to_str().expect("a text").to_owned());
    (response.status(), challenge)
}

#[tokio::test]
async fn scopes_are_checked_before_anything_runs_and_a_challenge_names_what_is_missing_auth_6() {
    let (id, name) = (json!({"id": 7}), json!({"name": "Ada"}));
    assert_eq!(call(Some("ann-secret"), "delete_user", id.clone()).await, (StatusCode::OK, None));
    assert_eq!(call(Some("bob-secret"), "find_user", name.clone()).await, (StatusCode::OK, None));
    for token in [Some("bob-secret"), None] {
        let (status, challenge) = call(token, "delete_user", id.clone()).await;
        let challenge = challenge.expect("a challenge");
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert!(challenge.contains(r#"error="insufficient_scope""#), "{challenge}");
        assert!(challenge.contains(r#"scope="users:read users:write""#), "{challenge}");
    }
    let (status, challenge) = call(Some("guessed"), "find_user", name).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(challenge.is_some_and(|challenge| challenge.contains(r#"error="invalid_token""#)));
}
