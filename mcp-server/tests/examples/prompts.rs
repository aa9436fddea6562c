use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn a_review_is_written_from_arguments_that_are_checked() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    let answer = client.get_prompt("review", json!({"code": "x = 1", "strictness": "5", "focus": "Bugs"})).await;
    answer.assert_at("/result/messages/0/content/text", "You review code, at strictness 5 of 5. Look at Bugs.");
    answer.assert_at("/result/messages/1/content/resource/text", "x = 1");
    let answer = client.get_prompt("review", json!({"code": "x = 1", "strictness": "9"})).await;
    answer.assert_fault(-32602).assert_fault_contains("`strictness`");
    client.complete_prompt("review", "focus", "b").await.assert_values(["Bugs"]);
    Ok(())
}

#[tokio::test]
async fn a_city_is_proposed_by_its_country() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    let norway = json!({"country": "Norway"});
    client.complete_prompt("trip", "city", "O").context(norway.clone()).await.assert_values(["Oslo"]);
    let france = json!({"country": "France"});
    client.complete_prompt("trip", "city", "O").context(france).await.assert_values(json!([]));
    client.get_prompt("trip", norway).await.assert_text("Plan a trip to Norway.");
    client.get_prompt("trip", json!({"city": "Oslo"})).await.assert_fault_contains("country");
    Ok(())
}
