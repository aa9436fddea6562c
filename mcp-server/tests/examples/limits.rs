use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn a_service_that_fails_is_let_alone_for_a_while() -> mcp_server::Result<()> {
    let mut client = Client::new(server(Quotes { delay: Duration::ZERO, fails: true }).build()?);
    for _ in 0..5 {
        client.call("quote", json!({})).await.assert_error_text("The tool failed with an internal error.");
    }
    client.call("quote", json!({})).await.assert_error_contains("circuit open");
    Ok(())
}

#[tokio::test]
async fn calls_a_minute_are_limited() -> mcp_server::Result<()> {
    let mut client = Client::new(server(Quotes { delay: Duration::ZERO, fails: false }).build()?);
    for _ in 0..100 {
        client.call("quote", json!({})).await.assert_text("42");
    }
    client.call("quote", json!({})).await.assert_fault(-32603);
    Ok(())
}
