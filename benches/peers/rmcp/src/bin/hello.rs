use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use rmcp::{ServerHandler, schemars, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct HelloParams {
    /// Person's name
    name: String,
}

#[derive(Clone)]
struct Hello;

#[tool_router]
impl Hello {
    #[tool(description = "Say hello")]
    fn hello(&self, Parameters(HelloParams { name }): Parameters<HelloParams>) -> String {
        format!("Hello, {name}!")
    }
}

#[tool_handler(name = "my-app", version = "1.0.0")]
impl ServerHandler for Hello {}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let service = StreamableHttpService::new(
        || Ok(Hello),
        LocalSessionManager::default().into(),
        StreamableHttpServerConfig::default(),
    );
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, router).await
}
