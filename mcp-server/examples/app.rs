//! MCP Apps: a tool with a page that shows its results, and a button on the page that calls another tool.

use std::sync::atomic::{AtomicU32, Ordering};

use mcp_server::{Json, Result, Server, State, Structured, app, tool};
use serde::Serialize;

#[derive(Default)]
struct Rolls(AtomicU32);

#[derive(Serialize, schemars::JsonSchema)]
struct Dice {
    /// What each shows
    eyes: Vec<u32>,
}

impl Rolls {
    /// No random numbers: the next ones.
    fn roll(&self, count: u8) -> Structured<Dice> {
        let first = self.0.fetch_add(u32::from(count), Ordering::Relaxed);
        let eyes: Vec<u32> = (0..u32::from(count)).map(|n| (first + n) % 6 + 1).collect();
        // The page draws the structured result; the model, and clients without pages, read the text.
        let text = format!("{eyes:?}");
        Json(Dice { eyes }).with_text(text)
    }
}

/// Rolls dice and shows them.
#[app(view = "examples/dice.html", embed, prefers_border)]
fn dice(State(rolls): State<Rolls>, #[arg(min = 1, max = 6, default = 2)] count: u8) -> Structured<Dice> {
    rolls.roll(count)
}

/// Rolls one of the dice on the page again: for its button alone, no model sees it.
#[tool(ui = "ui://dice/dice.html", visibility = ["app"])]
fn roll_one(State(rolls): State<Rolls>) -> Structured<Dice> {
    rolls.roll(1)
}

fn server() -> Server {
    Server::new("dice", "1.0.0").state(Rolls::default()).app(dice).tool(roll_one)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/app.rs"]
mod tests;
