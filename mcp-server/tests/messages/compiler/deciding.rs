//! What cannot run around calls, or decide about them.

use mcp_server::middleware::{CallResult, Next};
use mcp_server::{Authorization, Ctx, Server, Shown, Tool, Viewer};

/// The rest of the call is missing.
async fn no_next(ctx: Ctx) -> CallResult {
    Err(mcp_server::CallError::new(ctx.name()))
}

/// It is not asynchronous, and so it cannot wait.
fn not_async(_: Ctx, _: Next) -> u32 {
    7
}

/// It decides nothing.
fn says_nothing(_: Ctx) {}

fn shows(_: &Shown<'_>) -> bool {
    true
}

fn main() {
    let _ = Server::new("x", "1").wrap(no_next);
    let _ = Server::new("x", "1").wrap(not_async);
    let _ = Server::new("x", "1").authorize(says_nothing);
    let _ = Server::new("x", "1").authorize(Authorization::Allow);
    let _ = Server::new("x", "1").visible(shows);
    let _ = Tool::new("x").visible(|entry: &Shown<'_>, viewer: &Viewer| entry.tag("admin"));
}
