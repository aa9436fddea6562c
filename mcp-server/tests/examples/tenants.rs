use mcp_server::json;
use mcp_server::testing::{Builder, Client};

use super::*;

fn client(tenant: &str) -> Result<Builder> {
    Ok(Client::builder(&server().build()?).header("x-tenant", tenant))
}

#[tokio::test]
async fn a_session_keeps_its_tenant_and_what_it_chose() -> Result<()> {
    let mut client = client("acme")?.connect();
    client.call("hello", ()).await.assert_text("Hello, acme!");
    client.call("speak", json!({"language": "fr"})).await.assert_ok();
    client.call("hello", ()).await.assert_text("Bonjour, acme !");
    Ok(())
}

#[tokio::test]
async fn without_sessions_each_request_is_of_its_tenant_and_nothing_is_kept() -> Result<()> {
    let mut client = client("globex")?.modern().connect();
    client.call("speak", json!({"language": "fr"})).await.assert_ok();
    client.call("hello", ()).await.assert_text("Hello, globex!");
    Ok(())
}

#[tokio::test]
async fn who_is_no_tenant_is_told_so_and_gets_nothing() -> Result<()> {
    let refusal = client("initech")?.try_connect().await.expect_err("it is refused");
    refusal.assert_fault(-32603).assert_fault_contains("Initialization failed: there is no such tenant");
    let mut modern = client("initech")?.modern().connect();
    modern.request("tools/list", ()).await.assert_fault_contains("there is no such tenant");
    let refusal = Client::builder(server()).try_connect().await.expect_err("it is refused");
    refusal.assert_fault_contains("in the header x-tenant");
    Ok(())
}
