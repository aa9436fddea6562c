//! Middleware: a value that holds while a call runs, errors that are put into words at one place, and calls that are counted.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_server::middleware::{CallResult, Next, map_errors};
use mcp_server::{CallError, Caller, Ctx, Server, State, tool};

tokio::task_local! {
    static TENANT: String;
}

struct Failures(AtomicU32);

/// Reads an item
#[tool]
async fn item(id: u32) -> Result<String, CallError> {
    if id > 9 {
        // Of a database, say: nothing for a model to read.
        return Err(io::Error::new(io::ErrorKind::NotFound, "no rows in `items`").into());
    }
    Ok(format!("Item {id} of {}.", TENANT.get()))
}

async fn with_tenant(caller: Caller, next: Next) -> CallResult {
    let tenant = caller.principal.ok_or_else(|| CallError::new("Sign in first."))?;
    TENANT.scope(tenant.as_str().to_owned(), next.run()).await
}

async fn count(ctx: Ctx, failures: State<Failures>, next: Next) -> CallResult {
    let result = next.run().await;
    if result.as_ref().is_err_and(CallError::is_failure) {
        let count = failures.0.0.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::warn!(tool = ctx.name(), arguments = ctx.arguments().len(), count, "a call failed");
    }
    result
}

fn server() -> Server {
    let words = |error: CallError| match error.downcast_ref::<io::Error>() {
        Some(known) if known.kind() == io::ErrorKind::NotFound => CallError::new("There is no such item."),
        _ => error,
    };
    Server::new("items", "1.0.0")
        .state(Failures(AtomicU32::new(0)))
        .wrap(map_errors(words))
        .wrap(count)
        .wrap(with_tenant)
        .tool(item)
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/middleware.rs"]
mod tests;
