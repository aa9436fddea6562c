use mcp_server::{Server, tool};

/// Say hello.
#[tool]
async fn hello(#[arg(desc = "Person's name")] name: String) -> String {
    format!("Hello, {name}!")
}

async fn serve() -> mcp_server::Result<()> {
    Server::new("my-app", "1.0.0").tool(hello).serve_http("127.0.0.1:8000").await
}

fn main() {
    drop(serve());
}
