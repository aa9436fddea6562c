use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn the_tenant_holds_below_and_errors_are_put_into_words_above() -> mcp_server::Result<()> {
    let app = server().build()?;
    let mut client = Client::builder(&app).principal("acme").connect();
    client.call("item", json!({"id": 7})).await.assert_text("Item 7 of acme.");
    client.call("item", json!({"id": 70})).await.assert_error_text("There is no such item.");
    Client::new(&app).call("item", json!({"id": 7})).await.assert_error_text("Sign in first.");
    Ok(())
}
