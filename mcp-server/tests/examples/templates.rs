use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn variables_are_read_proposed_and_guarded() -> Result<()> {
    let app = server().build()?;
    let mut client = Client::builder(&app).principal("bob").connect();
    client.read("repo://ada/engine/issues").await.assert_text("Issues of ada/engine, Open.");
    client.read("repo://ada/engine/issues?state=closed").await.assert_text("Issues of ada/engine, Closed.");
    client.read("repo://ada/engine/issues?state=lost").await.assert_fault(-32002);
    client.read("repo://ada/compiler/issues").await.assert_fault(-32002);
    let template = "repo://{owner}/{name}/issues{?state}";
    let ada = json!({"owner": "ada"});
    client.complete_template(template, "name", "").context(ada).await.assert_values(["engine", "notes"]);
    client.complete_template(template, "state", "c").await.assert_values(["closed"]);
    // One template's scope is for all that it serves, but for what another resource answers to.
    client.read("file://ada/src/main.rs").await.assert_fault(403);
    client.read("file://ada/README").await.assert_text("Read me.");
    let mut reader = Client::builder(&app).principal("ann").scopes("files:read").connect();
    reader.read("file://ada/src/main.rs").await.assert_text("src/main.rs of ada");
    Ok(())
}
