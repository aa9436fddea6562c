use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn the_tool_links_to_its_page_and_says_in_words_what_it_shows_app_2_app_3_app_5() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    assert_eq!(client.tool("dice").await.json["_meta"]["ui"], json!({"resourceUri": "ui://dice/dice.html"}));
    let only_for_the_page = json!({"resourceUri": "ui://dice/dice.html", "visibility": ["app"]});
    assert_eq!(client.tool("roll_one").await.json["_meta"]["ui"], only_for_the_page);
    let page = client.read("ui://dice/dice.html").await;
    page.assert_at("/result/contents/0/mimeType", "text/html;profile=mcp-app")
        .assert_text(include_str!("../../examples/dice.html"));
    client.call("dice", ()).await.assert_text("[1, 2]").assert_structured(json!({"eyes": [1, 2]}));
    client.call("roll_one", ()).await.assert_text("[3]");
    client.call("dice", json!({"count": 7})).await.assert_error_contains("count");
    Ok(())
}
