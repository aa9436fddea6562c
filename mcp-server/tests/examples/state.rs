use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn methods_and_functions_share_what_they_were_given() -> Result<()> {
    let app = server().build()?;
    let mut client = Client::new(&app);
    client.call("add_note", json!({"text": "milk"})).await.assert_text("1");
    client.call("add_note", json!({"text": "eggs"})).await.assert_text("2");
    client.call("read_note", json!({"number": 2})).await.assert_text("eggs");
    client.call("read_note", json!({"number": 3})).await.assert_error_contains("There is no note 3.");
    client.call("add_note", json!({"text": ""})).await.assert_error_contains("`text`");
    Client::new(&app).call("count", json!({})).await.assert_text("2");
    assert_eq!(app.tool_names(), ["count", "add_note", "read_note"], "`lock` is only a method");
    Ok(())
}
