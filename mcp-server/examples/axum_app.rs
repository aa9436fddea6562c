//! MCP within an axum application: its own routes, and state that both share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::State as AxumState;
use axum::routing::get;
use mcp_server::http::HeaderMap;
use mcp_server::{BuildError, Server, State, tool};

#[derive(Default)]
struct Visits(AtomicU64);

/// Count a visit, and tell who came.
#[tool]
fn visit(State(visits): State<Visits>, headers: HeaderMap) -> String {
    let count = visits.0.fetch_add(1, Ordering::Relaxed) + 1;
    let agent = headers.get("user-agent").and_then(|agent| agent.to_str().ok()).unwrap_or("somebody");
    format!("visit {count}, by {agent}")
}

/// The application's own page.
async fn index(AxumState(visits): AxumState<Arc<Visits>>) -> String {
    format!("{} visits so far\n", visits.0.load(Ordering::Relaxed))
}

fn router() -> Result<Router, BuildError> {
    let visits = Arc::new(Visits::default());
    let mcp = Server::new("visits", "1.0.0").shared_state(Arc::clone(&visits)).tool(visit).build()?;
    Ok(Router::new().route("/", get(index)).with_state(visits).route_service("/mcp", mcp.http_service()?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    Ok(axum::serve(listener, router()?).await?)
}

#[cfg(test)]
#[path = "../tests/examples/axum_app.rs"]
mod tests;
