//! The demo's own tools.

use std::time::Duration;

use mcp_server::{Ctx, Json, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use tokio::time::Instant;

/// Milliseconds that `sleep` sleeps at most: ten minutes, longer than any client waits.
const LONGEST: u64 = 600_000;
/// Milliseconds between two reports of `sleep`, at most.
const REPORT: u64 = 100;

/// The server with the tools.
pub(crate) fn register(server: Server) -> Server {
    server
        .tool(
            Tool::new("echo")
                .title("Echo")
                .description("Says the message again.")
                .read_only(true)
                .run(|args: Echo| args.message),
        )
        .tool(Tool::new("add").title("Add").description("Adds two numbers.").read_only(true).run(add))
        .tool(
            Tool::new("sleep")
                .title("Sleep")
                .description("Sleeps, reports how far it is, and says how long it took. Can be cancelled.")
                .read_only(true)
                .run(sleep),
        )
        .tool(
            Tool::new("panic")
                .title("Panic")
                .description("Panics, to show that nobody else is harmed and that no internals are told.")
                .read_only(true)
                .run(|| -> String { panic!("asked to") }),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number
    a: f64,
    /// The second number
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    /// Both numbers together
    #[serde(serialize_with = "short")]
    sum: f64,
}

fn add(args: Add) -> Result<Json<Sum>, &'static str> {
    let sum = args.a + args.b;
    // JSON has no number for infinity.
    if sum.is_finite() { Ok(Json(Sum { sum })) } else { Err("The sum is too large for a number.") }
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

#[derive(Deserialize, JsonSchema)]
struct Sleep {
    /// How long, in milliseconds: at most ten minutes
    #[schemars(range(max = LONGEST))]
    ms: u64,
}

async fn sleep(ctx: Ctx, args: Sleep) -> Result<String, String> {
    let ms = args.ms;
    if ms > LONGEST {
        return Err(format!("Cannot sleep for {ms} ms: at most {LONGEST} ms."));
    }
    let start = Instant::now();
    let step = (ms / 10).clamp(1, REPORT);
    for done in (0..ms).step_by(usize::try_from(step).unwrap_or(usize::MAX)).skip(1).chain([ms]) {
        tokio::time::sleep_until(start + Duration::from_millis(done)).await;
        ctx.progress().send(done, ms);
    }
    Ok(format!("Slept for {} ms.", start.elapsed().as_millis()))
}
