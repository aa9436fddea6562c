use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn definitions_are_enforced_and_a_tool_is_learnt_while_serving() -> Result<()> {
    let app = app()?;
    let mut client = Client::new(&app);
    client.call("area", json!({"width": 2, "height": 3.5})).await.assert_text("7");
    client.call("area", json!({"width": -1})).await.assert_error_contains("`height`: is required");
    client.call("shout", json!({"text": "ho"})).await.assert_text("HO");
    learn(&app)?;
    client.call("laugh", json!({})).await.assert_text("haha");
    client.call("laugh", json!({"times": 11})).await.assert_error_contains("`times`");
    Ok(())
}
