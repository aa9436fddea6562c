use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn pages_share_their_account_and_templates_are_for_admins() -> Result<()> {
    let app = server().build()?;
    let mut bob = Client::builder(&app).principal("bob").connect();
    let tools = bob.list_tools().await;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["get_page", "list_accounts"]);
    assert_eq!(tools[0].input_schema["required"], json!(["account_id", "id"]));
    assert_eq!(tools[0].annotations, json!({"readOnlyHint": true}));
    bob.call("get_page", json!({"account_id": "acme", "id": 7})).await.assert_text("Page 7 of acme.");
    bob.call("get_page", json!({"id": 7})).await.assert_error_contains("`account_id`");
    bob.call("list_accounts", json!({})).await.assert_text("acme, globex");
    let hidden = bob.call("delete_template", json!({"id": 1})).await;
    hidden.assert_fault(-32602).assert_fault_contains("Unknown tool: delete_template");
    let mut ann = Client::builder(&app).principal("ann").scopes("admin").connect();
    ann.call("delete_template", json!({"id": 1})).await.assert_text("Template 1 is deleted.");
    Ok(())
}
