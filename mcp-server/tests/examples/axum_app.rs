use axum::body::{Body, to_bytes};
use axum::http::Request;
use mcp_server::json;
use tower_service::Service as _;

use super::*;

async fn answer(router: &mut Router, request: Request<Body>) -> Result<String, Box<dyn std::error::Error>> {
    let response = router.call(request).await?;
    Ok(String::from_utf8(to_bytes(response.into_body(), 1 << 16).await?.into())?)
}

#[tokio::test]
async fn the_tool_and_the_route_share_one_state() -> Result<(), Box<dyn std::error::Error>> {
    let mut router = router()?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "visit", "_meta": meta}});
    for count in 1..=2 {
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("user-agent", "a test")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "visit")
            .body(Body::from(call.to_string()))?;
        let said = answer(&mut router, request).await?;
        assert!(said.contains(&format!("visit {count}, by a test")), "{said}");
    }
    let page = answer(&mut router, Request::get("/").body(Body::empty())?).await?;
    assert_eq!(page, "2 visits so far\n");
    Ok(())
}
