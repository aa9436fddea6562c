//! A long job: it tells how far it is, logs to the client as fast as that reads, and ends where it stands when it is cancelled.

use std::time::Duration;

use mcp_server::{Cancelled, Log, Progress, Result, Server, tool};
use tokio::time::sleep;

/// Count up, one step a second.
#[tool]
async fn count(#[arg(desc = "How far", min = 1, max = 3600)] steps: u32, progress: Progress, log: Log) -> String {
    for step in 1..=steps {
        // Cancelling the request drops the tool here.
        sleep(Duration::from_secs(1)).await;
        // Not awaited, a slow client gets the latest only; awaited, it gets all, and the tool is no faster than that.
        progress.say(step, steps, format!("{step} of {steps}"));
        log.info(format!("step {step}")).await;
    }
    format!("counted to {steps}")
}

/// Find the smallest divisor of a number.
/// It has a thread of its own, and asks now and then whether anybody still waits.
#[tool(blocking)]
fn divisor(#[arg(min = 2)] number: u64, cancelled: Cancelled) -> Result<u64, String> {
    for candidate in 2..=number.isqrt() {
        if number.is_multiple_of(candidate) {
            return Ok(candidate);
        }
        if candidate.is_multiple_of(1_000_000) && cancelled.is_cancelled() {
            return Err("cancelled".into());
        }
    }
    Ok(number)
}

/// Watch in the background until the call has ended: a task of its own hears of that, however it comes.
#[tool]
async fn watch(cancelled: Cancelled) -> &'static str {
    let watching = tokio::spawn(async move {
        tokio::select! {
            () = cancelled => "called off",
            () = sleep(Duration::from_secs(3600)) => "nothing happened",
        }
    });
    watching.await.unwrap_or("lost")
}

fn server() -> Server {
    Server::new("jobs", "1.0.0").tool(count).tool(divisor).tool(watch)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/long_job.rs"]
mod tests;
