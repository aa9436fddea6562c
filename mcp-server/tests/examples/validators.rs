use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn a_call_is_told_all_that_does_not_fit() -> mcp_server::Result<()> {
    let mut client = Client::new(&server().build()?);
    let right = json!({"contact": "ada@example.com", "guests": 2, "day": "2028-02-29", "menus": ["fish", "plants"]});
    client.call("book", right).await.assert_text("ada@example.com: 2 on 2028-02-29, 2 menus.");
    let wrong = client
        .call("book", json!({"contact": "ada", "guests": 13, "day": "2026-03-01", "menus": ["fish", "soup"]}))
        .await;
    wrong
        .assert_error_contains("`contact`: must be an email address")
        .assert_error_contains("`guests`: must be at most 12, is 13")
        .assert_error_contains("`day`: must not be a Sunday")
        .assert_error_contains("`menus`: [1] expected one of \"meat\", \"fish\", \"plants\", got \"soup\"");
    client
        .call("book", json!({"contact": "a@b", "guests": 1, "day": "2026-02-29"}))
        .await
        .assert_error_contains("`day`");
    client.call("call_back", json!({"where": "+3212345678"})).await.assert_text("We call \"+3212345678\".");
    client.call("call_back", json!({"where": "12"})).await.assert_error_contains("email address, or must match");
    Ok(())
}
