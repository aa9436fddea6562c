//! The demo's own tools.

use std::time::Duration;

use mcp_server::{Json, Progress, Server, tool};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use tokio::time::Instant;

/// Milliseconds that `sleep` sleeps at most: ten minutes, longer than any client waits.
const LONGEST: u64 = 600_000;
/// Milliseconds between two reports of `sleep`, at most.
const REPORT: u64 = 100;

/// The server with the tools.
pub(crate) fn register(server: Server) -> Server {
    server.tool(echo).tool(add).tool(sleep).tool(panic)
}

/// Says the message again.
#[tool(title = "Echo", read_only)]
fn echo(#[arg(desc = "What to say")] message: String) -> String {
    message
}

/// Adds two numbers.
#[tool(title = "Add", read_only)]
fn add(
    #[arg(desc = "The first number")] a: f64,
    #[arg(desc = "The second number")] b: f64,
) -> Result<Json<Sum>, &'static str> {
    let sum = a + b;
    // JSON has no number for infinity.
    if sum.is_finite() { Ok(Json(Sum { sum })) } else { Err("The sum is too large for a number.") }
}

/// Sleeps, reports how far it is, and says how long it took. Can be cancelled.
#[tool(title = "Sleep", read_only)]
async fn sleep(
    #[arg(desc = "How long, in milliseconds: at most ten minutes", max = LONGEST)] ms: u64,
    progress: Progress,
) -> String {
    let start = Instant::now();
    let step = (ms / 10).clamp(1, REPORT);
    for done in (0..ms).step_by(usize::try_from(step).unwrap_or(usize::MAX)).skip(1).chain([ms]) {
        tokio::time::sleep_until(start + Duration::from_millis(done)).await;
        progress.send(done, ms);
    }
    format!("Slept for {} ms.", start.elapsed().as_millis())
}

/// Panics, to show that nobody else is harmed and that no internals are told.
#[tool(title = "Panic", read_only)]
fn panic() -> String {
    panic!("asked to")
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// Both numbers together
    #[serde(serialize_with = "short")]
    sum: f64,
}

/// `5` and not `5.0`, wherever a double holds whole numbers exactly.
fn short<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "whole and in range")]
        return serializer.serialize_i64(*number as i64);
    }
    serializer.serialize_f64(*number)
}
