//! Sensitive tools: who may call them is decided for each call, and the person at the client may be asked, in both eras.

use std::sync::Mutex;

use mcp_server::{Authorization, Caller, Ctx, Server, State, tool};
use serde::Deserialize;

struct Accounts(Mutex<i64>);

#[derive(Deserialize)]
struct Payment {
    amount: i64,
}

/// Pay somebody
// Not destructive, but nothing that may happen unattended.
#[tool(sensitive)]
fn pay(State(accounts): State<Accounts>, to: String, #[arg(min = 1)] amount: i64) -> String {
    let mut balance = accounts.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    *balance -= amount;
    format!("Paid {amount} to {to}; {balance} are left.")
}

/// Runs before each call of a sensitive tool, once its arguments were found right.
fn authorize(ctx: Ctx, caller: Caller) -> Result<Authorization, &'static str> {
    let payment: Payment = serde_json::from_slice(ctx.arguments()).map_err(|_| "the arguments cannot be read")?;
    Ok(match payment.amount {
        ..=10 => Authorization::Allow,
        11..=1000 => Authorization::ask(format!("Pay {}?", payment.amount)),
        _ if caller.scopes.has("payments:large") => Authorization::ask(format!("Really pay {}?", payment.amount)),
        _ => Authorization::deny("more than 1000 needs the scope payments:large"),
    })
}

fn server() -> Server {
    Server::new("bank", "1.0.0").state(Accounts(Mutex::new(5000))).authorize(authorize).tool(pay)
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/approval.rs"]
mod tests;
