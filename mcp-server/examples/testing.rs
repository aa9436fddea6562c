//! Testing a server: a client in memory, a clock that jumps, and a conversation that is kept. `cargo test --example testing`.

use mcp_server::{App, Policy, Result, Server, Span, tool};

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Wait for a visitor, who may never come.
#[tool]
async fn wait() {
    std::future::pending().await
}

fn app() -> Result<App> {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(3600));
    Ok(Server::new("my-app", "1.0.0").policy(policy).tool(add).tool(wait).build()?)
}

#[tokio::main]
async fn main() -> Result<()> {
    app()?.serve_stdio().await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcp_server::json;
    use mcp_server::testing::Client;

    use super::*;

    #[tokio::test]
    async fn it_adds_and_says_everything_that_is_wrong() -> Result<()> {
        let mut client = Client::new(&app()?);
        client.call("add", json!({"a": 1, "b": 2})).await.assert_text("3");
        client.call("add", json!({"a": "1"})).await.assert_error_contains("`b`: is required");
        // The whole conversation, in a file that later runs are held against; `MCP_BLESS=1` writes it.
        client.transcript().assert_file("tests/conversations/adding.txt");
        Ok(())
    }

    #[tokio::test]
    async fn a_call_that_never_ends_is_given_up_in_no_time() -> Result<()> {
        let mut client = Client::new(&app()?);
        let call = client.start("wait", json!({}));
        client.advance(Duration::from_secs(3600)).await;
        client.finish(call).await.assert_fault(-32603);
        Ok(())
    }
}
