use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn a_model_sees_three_tools_and_finds_and_calls_the_others() -> Result<()> {
    let mut client = Client::builder(&server().build()?).principal("ada").scopes("invoices:delete").connect();
    let listed: Vec<String> = client.list_tools().await.into_iter().map(|tool| tool.name).collect();
    assert_eq!(listed, ["discover_tools", "call_tool", "search"]);
    let found = client.call("discover_tools", json!({"query": "write an invoice"})).await;
    let found = found.structured_json();
    assert_eq!(found["tools"][0]["name"], "create_invoice");
    assert_eq!(found["tools"][0]["inputSchema"]["required"], json!(["customer", "amount"]));
    let call = json!({"name": "create_invoice", "arguments": {"customer": "Bo", "amount": 7}});
    client.call("call_tool", call).await.assert_text("Bo owes 7");
    let call = json!({"name": "create_invoice", "arguments": {"customer": "Bo", "amount": 0}});
    client.call("call_tool", call).await.assert_error_contains("`amount`");
    client.call("call_tool", json!({"name": "delete_invoice", "arguments": {"number": 3}})).await.assert_ok();
    client.call("call_tool", json!({"name": "report_2026"})).await.assert_text("2026 was a good year");
    Ok(())
}
