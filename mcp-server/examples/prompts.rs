//! Prompts: arguments by a type and by hand, messages with content of several kinds, completion.

use mcp_server::{Arguments, Completing, Content, Prompt, PromptMessage, Result, Server};

#[derive(Arguments)]
struct Review {
    /// The code
    code: String,
    #[arg(desc = "How strict", min = 1, max = 5, default = 3)]
    strictness: u8,
    /// What to look at
    focus: Option<Focus>,
}

// The words of an enum are proposed by themselves.
#[derive(Arguments, Debug)]
enum Focus {
    Bugs,
    Style,
}

fn review(args: Review) -> [PromptMessage; 2] {
    let focus = args.focus.map_or_else(String::new, |focus| format!(" Look at {focus:?}."));
    [
        PromptMessage::system(format!("You review code, at strictness {} of 5.{focus}", args.strictness)),
        PromptMessage::user(Content::resource_text("code://snippet", "text/plain", args.code)),
    ]
}

// What was typed, and the argument that was given before.
fn cities(typed: Completing) -> Vec<&'static str> {
    let cities = match typed.get("country") {
        Some("France") => ["Lyon", "Paris"],
        _ => ["Bergen", "Oslo"],
    };
    cities.into_iter().filter(|city| city.starts_with(&typed.value)).collect()
}

fn server() -> Server {
    let review = Prompt::new("review").description("Reviews code.").arguments::<Review>().run(review);
    let trip = Prompt::new("trip")
        .description("Plans a trip.")
        .required("country", "Where to")
        .argument("city", "Which city")
        .complete_from("country", ["France", "Norway"])
        .complete("city", cities)
        .run(|(country, city): (String, Option<String>)| {
            let city = city.map(|city| format!("{city}, ")).unwrap_or_default();
            format!("Plan a trip to {city}{country}.")
        });
    Server::new("prompts", "1.0.0").prompt(review).prompt(trip)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/prompts.rs"]
mod tests;
