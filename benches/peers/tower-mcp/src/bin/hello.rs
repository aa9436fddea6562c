use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::{CallToolResult, HttpTransport, McpRouter, tool_fn};

#[derive(Deserialize, JsonSchema)]
struct HelloInput {
    /// Person's name
    name: String,
}

#[tool_fn(description = "Say hello")]
async fn hello(input: HelloInput) -> tower_mcp::Result<CallToolResult> {
    Ok(CallToolResult::text(format!("Hello, {}!", input.name)))
}

#[tokio::main]
async fn main() -> tower_mcp::Result<()> {
    let router = McpRouter::new()
        .server_info("my-app", "1.0.0")
        .tool(hello_tool());
    HttpTransport::new(router).serve("127.0.0.1:8000").await
}
