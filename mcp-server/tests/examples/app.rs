use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

#[tokio::test]
async fn the_tool_links_to_its_page_and_says_in_words_what_it_shows_app_2_app_3_app_5() -> Result<()> {
    let mut client = Client::new(&server().build()?);
    let uri = "ui://dice/dice.html";
    let link = json!({"ui": {"resourceUri": uri}, "ui/resourceUri": uri});
    assert_eq!(client.tool("dice").await.json["_meta"], link);
    let for_the_page_alone = json!({"ui": {"resourceUri": uri, "visibility": ["app"]}, "ui/resourceUri": uri});
    assert_eq!(client.tool("roll_one").await.json["_meta"], for_the_page_alone);
    let page = client.read(uri).await;
    page.assert_at("/result/contents/0/mimeType", "text/html;profile=mcp-app")
        .assert_text(include_str!("../../examples/dice.html"));
    client.call("dice", ()).await.assert_text("[1, 2]").assert_structured(json!({"eyes": [1, 2]}));
    client.call("roll_one", ()).await.assert_text("[3]");
    client.call("dice", json!({"count": 7})).await.assert_error_contains("count");
    Ok(())
}
