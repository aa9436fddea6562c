use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn the_file_is_published_and_enforced_and_the_code_runs() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    client.call("area", json!({"width": 2, "height": 3.5})).await.assert_text("7");
    client.call("area", json!({"width": -1})).await.assert_error_contains("`height`: is required");
    client.call("shout", json!({"text": "ho", "times": 2})).await.assert_text("HO HO (\"voice\")");
    client.call("shout", json!({"text": "ho"})).await.assert_text("HO (\"voice\")");
    Ok(())
}

#[test]
fn code_that_is_left_over_is_told() {
    let manifest = Manifest::toml(include_str!("../../examples/manifest.toml")).run("shuot", shout);
    let error = Server::new("x", "1").tools(manifest).build().expect_err("two have no code").to_string();
    assert!(error.contains("no such tool is defined: did you mean `shout`?"), "{error}");
    assert!(error.contains("tools[0]: it has no code: bind some with `.run(\"area\", ..)`"), "{error}");
}
