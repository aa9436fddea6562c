//! Prompts: arguments that are read and checked by their types, messages with content of several kinds, completion.

use mcp_server::{Arguments, Completing, Content, PromptMessage, Result, Server, prompt};

/// Reviews code.
#[prompt]
fn review(
    #[arg(desc = "The code")] code: String,
    #[arg(desc = "How strict", min = 1, max = 5, default = 3)] strictness: u8,
    #[arg(desc = "What to look at")] focus: Option<Focus>,
) -> [PromptMessage; 2] {
    let focus = focus.map_or_else(String::new, |focus| format!(" Look at {focus:?}."));
    [
        PromptMessage::system(format!("You review code, at strictness {strictness} of 5.{focus}")),
        PromptMessage::user(Content::resource_text("code://snippet", "text/plain", code)),
    ]
}

// The words of an enum are proposed by themselves.
#[derive(Arguments, Debug)]
enum Focus {
    Bugs,
    Style,
}

/// Plans a trip.
#[prompt]
fn trip(
    #[arg(desc = "Where to", complete = ["France", "Norway"])] country: String,
    #[arg(desc = "Which city", complete = cities)] city: Option<String>,
) -> String {
    let city = city.map(|city| format!("{city}, ")).unwrap_or_default();
    format!("Plan a trip to {city}{country}.")
}

/// What was typed, and the argument that was given before.
fn cities(typed: Completing) -> Vec<&'static str> {
    let cities: &[&str] = match typed.get("country") {
        Some("France") => &["Lyon", "Paris"],
        Some("Norway") => &["Bergen", "Oslo"],
        _ => &[],
    };
    cities.iter().copied().filter(|city| city.starts_with(&typed.value)).collect()
}

fn server() -> Server {
    Server::new("prompts", "1.0.0").prompt(review).prompt(trip)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/prompts.rs"]
mod tests;
