use mcp_server::middleware::{CallResult, Next};
use mcp_server::{Authorization, Ctx, Server, State};

/// No extractor.
struct Own;

/// It takes the rest of the call first.
async fn first(next: Next, _: Ctx) -> CallResult {
    next.run().await
}

/// It is not asynchronous.
fn plain(_: Next) -> &'static str {
    "hello"
}

fn main() {
    let _ = Server::new("x", "1").wrap(first);
    let _ = Server::new("x", "1").wrap(plain);
    let _ = Server::new("x", "1").wrap(|_: Ctx| async { "hello" });
    let _ = Server::new("x", "1").authorize(|_: Own| Authorization::Allow);
    let _ = Server::new("x", "1").authorize(|_: State<Own>| true);
    let _ = Server::new("x", "1").authorize(Authorization::Allow);
}
