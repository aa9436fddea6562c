//! A long job: it tells how far it is, logs to the client, and ends where it stands when it is cancelled.

use std::time::Duration;

use mcp_server::{Cancelled, Log, Progress, Result, Server, tool};

/// Count up, one step a second.
#[tool]
async fn count(#[arg(desc = "How far", min = 1, max = 3600)] steps: u32, progress: Progress, log: Log) -> String {
    log.info("counting");
    for step in 1..=steps {
        // Cancelling the request drops the tool here.
        tokio::time::sleep(Duration::from_secs(1)).await;
        progress.say(step, steps, format!("{step} of {steps}"));
    }
    format!("counted to {steps}")
}

/// Find the smallest divisor of a number.
///
/// It computes without a pause, so it has a thread of its own, and asks now and then whether anybody still waits.
#[tool(blocking)]
fn divisor(#[arg(min = 2)] number: u64, progress: Progress, cancelled: Cancelled) -> Result<u64, String> {
    for candidate in 2..=number.isqrt() {
        if number.is_multiple_of(candidate) {
            return Ok(candidate);
        }
        if candidate.is_multiple_of(1_000_000) {
            if cancelled.is_cancelled() {
                return Err("cancelled".into());
            }
            progress.send(candidate, number.isqrt());
        }
    }
    Ok(number)
}

fn server() -> Server {
    Server::new("jobs", "1.0.0").tool(count).tool(divisor)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/long_job.rs"]
mod tests;
