use turbomcp::prelude::*;

#[derive(Clone)]
struct Hello;

#[server(name = "my-app", version = "1.0.0")]
impl Hello {
    #[tool("Say hello")]
    async fn hello(&self, #[description("Person's name")] name: String) -> String {
        format!("Hello, {name}!")
    }
}

#[tokio::main]
async fn main() -> McpResult<()> {
    Hello.run_http("127.0.0.1:8000").await
}
