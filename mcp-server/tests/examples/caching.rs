use mcp_server::testing::Client;
use mcp_server::{Revision, json};

use super::*;

#[tokio::test]
async fn answers_say_how_long_they_are_good_and_for_whom_cache_1_cache_4() -> Result<()> {
    let app = server().build()?;
    let mut client =
        Client::builder(&app).revision(Revision::V2026_07_28).principal("ann").scopes("orders:read").connect();
    let reads = [
        ("shop://catalog", 60_000, "public"),
        ("shop://hours", 3_600_000, "public"),
        ("shop://stock", 0, "private"),
        ("shop://prices/tea", 1_000, "public"),
        // What needs a scope is private, whatever the server says.
        ("shop://orders/7", 10_000, "private"),
    ];
    for (uri, ttl, scope) in reads {
        let answer = client.read(uri).await;
        answer.assert_at("/result/ttlMs", ttl).assert_at("/result/cacheScope", scope);
    }
    let lists = [
        ("tools/list", 10_000, "public"),
        ("resources/list", 60_000, "public"),
        ("resources/templates/list", 1_000, "private"),
    ];
    for (method, ttl, scope) in lists {
        let answer = client.request(method, json!({})).await;
        answer.assert_at("/result/ttlMs", ttl).assert_at("/result/cacheScope", scope);
    }
    Ok(())
}
