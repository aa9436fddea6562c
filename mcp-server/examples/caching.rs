//! Cache hints: for how long clients of 2026-07-28 may keep what they were told, and who else may have it.

use std::time::Duration;

use mcp_server::{CacheHint, Contents, Resource, ResourceAnswer, Result, Server, Tool, resource, resource_template};

/// What is for sale
#[resource("shop://catalog", mime = "application/json", cache(ttl_ms = 60_000, public))]
fn catalog() -> &'static str {
    r#"["tea","cups"]"#
}

/// The price of an article. It changes often.
#[resource_template("shop://prices/{article}", cache(ttl_ms = 1_000))]
fn price(article: String) -> Option<String> {
    (article == "tea").then(|| "3.50".into())
}

/// What is in stock. While it is counted, nobody may keep what they were told.
#[resource("shop://stock", cache(ttl_ms = 60_000, public))]
fn stock() -> ResourceAnswer {
    let mut answer = ResourceAnswer::new(vec![Contents::text("is being counted")]);
    answer.caching = CacheHint::new().ttl(Duration::ZERO).private().into();
    answer
}

/// An order, which is nobody else's business.
#[resource_template("shop://orders/{id}", scope = "orders:read")]
fn order(id: u32) -> String {
    format!("Order {id}")
}

fn server() -> Server {
    let hours = Resource::new("shop://hours").text("9 to 5").cache(CacheHint::new().ttl(Duration::from_secs(3600)));
    Server::new("shop", "1.0.0")
        // For whatever says nothing itself. A list may be kept for as long as each of its entries.
        .cache(CacheHint::new().ttl(Duration::from_secs(10)).public())
        .tool(Tool::new("buy").description("Buys tea.").run(|| "bought"))
        .resource(catalog)
        .resource(hours)
        .resource(stock)
        .resource_template(price)
        .resource_template(order)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/caching.rs"]
mod tests;
