//! Who is let in: a tenant from a header, what is kept of its session, and a tool that changes that.

use mcp_server::http::HeaderMap;
use mcp_server::{Assigns, CallError, Ctx, Result, Server, State, tool};
use serde::{Deserialize, Serialize};

struct Tenants(Vec<&'static str>);

/// What is kept of a session. It sleeps with the session, and wakes with it.
#[derive(Serialize, Deserialize)]
struct Visit {
    tenant: String,
    language: String,
}

/// Runs once for a session, and before each request where there are none (2026-07-28).
async fn init(State(tenants): State<Tenants>, headers: HeaderMap) -> Result<Visit, CallError> {
    let named = headers.get("x-tenant").and_then(|value| value.to_str().ok());
    let tenant = named.ok_or_else(|| CallError::new("say who you are in the header x-tenant"))?;
    if !tenants.0.contains(&tenant) {
        return Err(CallError::new("there is no such tenant"));
    }
    Ok(Visit { tenant: tenant.into(), language: "en".into() })
}

/// Say hello.
#[tool(read_only)]
fn hello(Assigns(visit): Assigns<Visit>) -> String {
    match &*visit.language {
        "fr" => format!("Bonjour, {} !", visit.tenant),
        _ => format!("Hello, {}!", visit.tenant),
    }
}

/// Choose a language.
#[tool]
fn speak(ctx: Ctx, visit: Assigns<Visit>, #[arg(desc = "`en` or `fr`")] language: String) -> Result<(), CallError> {
    // Later calls of the session have it.
    ctx.assign(&Visit { language, ..visit.0 })
}

fn server() -> Server {
    Server::new("tenants", "1.0.0").state(Tenants(vec!["acme", "globex"])).init(init).tool(hello).tool(speak)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/tenants.rs"]
mod tests;
