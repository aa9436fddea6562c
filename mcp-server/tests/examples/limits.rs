use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_server::json;
use mcp_server::testing::Client;

use super::*;

/// Three a minute, by a clock that is moved by hand.
fn three_a_minute() -> (RateLimit, Arc<AtomicU64>) {
    let seconds = Arc::new(AtomicU64::new(0));
    let now = Arc::clone(&seconds);
    let limit = RateLimit::new(3, Duration::from_secs(60));
    (limit.clock(move || Duration::from_secs(now.load(Ordering::Relaxed))), seconds)
}

#[tokio::test]
async fn a_service_that_fails_is_let_alone_for_a_while() -> mcp_server::Result<()> {
    let rate = RateLimit::new(100, Duration::from_secs(60));
    let mut client = Client::new(server(Quotes { delay: Duration::ZERO, fails: true }, rate).build()?);
    for _ in 0..5 {
        client.call("quote", json!({})).await.assert_error_text("The tool failed with an internal error.");
    }
    client.call("quote", json!({})).await.assert_error_contains("circuit open");
    Ok(())
}

#[tokio::test]
async fn calls_a_minute_are_limited() -> mcp_server::Result<()> {
    let (rate, seconds) = three_a_minute();
    let mut client = Client::new(server(Quotes { delay: Duration::ZERO, fails: false }, rate).build()?);
    for _ in 0..3 {
        client.call("quote", json!({})).await.assert_text("42");
    }
    client.call("quote", json!({})).await.assert_fault(-32603);
    seconds.store(20, Ordering::Relaxed);
    client.call("quote", json!({})).await.assert_text("42");
    client.call("quote", json!({})).await.assert_fault(-32603);
    Ok(())
}
