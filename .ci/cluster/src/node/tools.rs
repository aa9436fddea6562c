//! What the nodes serve. Each answer carries the mark of the session that asked, so that one that went astray is known.

use std::time::Duration;

use mcp_server::ask::{Field, elicit};
use mcp_server::{CallError, Ctx, Server, State, resource_template, tool};

use crate::side::Side;

fn mark(ctx: &Ctx) -> String {
    ctx.caller().principal.as_ref().map(|principal| principal.as_str().to_owned()).unwrap_or_default()
}

/// Answers at once.
#[tool]
async fn quick(ctx: Ctx, side: State<Side>, name: String) -> String {
    side.ran(&name).await;
    format!("{} {name} done", mark(&ctx))
}

/// Says how far it is, in progress and in logs, and then answers.
#[tool(logs)]
async fn count(ctx: Ctx, side: State<Side>, name: String, steps: u32, pause: u64) -> String {
    side.ran(&name).await;
    let mark = mark(&ctx);
    for step in 1..=steps {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        ctx.progress().say(step, steps, format!("{mark} {name} {step}"));
        ctx.log().debug(format!("{mark} {name} {step}"));
    }
    format!("{mark} {name} done")
}

/// Never ends by itself.
#[tool(logs)]
async fn hang(ctx: Ctx, side: State<Side>, name: String) -> String {
    let _hanging = side.hang(&name);
    side.ran(&name).await;
    ctx.log().debug(format!("{} {name} 1", mark(&ctx)));
    std::future::pending().await
}

/// Asks twice, and answers with what it was told.
#[tool]
async fn ask(ctx: Ctx, side: State<Side>, name: String) -> Result<String, CallError> {
    side.ran(&format!("{name}:entries")).await;
    let mark = mark(&ctx);
    let mut words = Vec::new();
    for step in 0..2 {
        ctx.once(&format!("step {step}"), side.ran(&format!("{name}:step {step}"))).await?;
        let question = elicit(format!("{mark} {name} {step}")).field("word", Field::text().required());
        let answer = ctx.ask(&format!("word {step}"), question)?.required()?;
        words.push(answer.text("word").unwrap_or_default().to_owned());
    }
    ctx.once("end", side.ran(&format!("{name}:step 2"))).await?;
    Ok(format!("{mark} {name} done {}", words.join(" ")))
}

/// Says that a note has changed.
#[tool]
async fn touch(ctx: Ctx, side: State<Side>, name: String, of: String) -> Result<String, CallError> {
    side.ran(&name).await;
    let app = ctx.app().ok_or_else(|| CallError::new("The server ends."))?;
    app.resource_updated(&format!("note://{of}/1"));
    Ok(format!("{} {name} done", mark(&ctx)))
}

/// A note of one session.
#[resource_template("note://{of}/{number}", mime = "text/plain")]
fn note(of: String, number: u32) -> String {
    format!("{of} {number}")
}

pub fn server(side: Side) -> Server {
    Server::new("cluster", "1.0.0")
        .state(side)
        .logging()
        .tool(quick)
        .tool(count)
        .tool(hang)
        .tool(ask)
        .tool(touch)
        .resource_template(note)
}
