//! The smallest server: one tool, over HTTP. Run it, and connect a client to `http://127.0.0.1:8000/mcp`.

use mcp_server::{Server, tool};

/// Say hello.
#[tool]
async fn hello(#[arg(desc = "Person's name")] name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    Server::new("my-app", "1.0.0").tool(hello).serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/hello.rs"]
mod tests;
