//! Asking the client: a form, and an effect that happens once however often the code runs.

use std::sync::Mutex;

use mcp_server::ask::{Asked, elicit_as};
use mcp_server::{Arguments, CallError, Ctx, Result, Server, State, tool};

#[derive(Default)]
struct Tables(Mutex<Vec<String>>);

#[derive(Arguments)]
struct Wishes {
    /// How many people?
    #[arg(min = 1, max = 12)]
    people: u32,
    /// Anything to know?
    note: Option<String>,
}

/// Reserve a table.
#[tool]
async fn reserve(ctx: Ctx, tables: State<Tables>, #[arg(desc = "When")] when: String) -> Result<String, CallError> {
    // All of this runs again when an answer is there; what is within `once` does not.
    let table: usize = ctx.once("table", async { tables.hold(&when) }).await?;

    let wishes = match ctx.ask("wishes", elicit_as::<Wishes>(format!("Table {table}, {when}: what may it be?")))? {
        Asked::Accepted(wishes) => wishes,
        Asked::Declined | Asked::Cancelled => return Ok("Nothing was reserved.".into()),
        other => other.required()?,
    };

    // After the last question: it happens once, and on 2026-07-28 also if a client sends the same answers twice.
    ctx.one_time().await?;
    let note = wishes.note.map(|note| format!(" ({note})")).unwrap_or_default();
    Ok(format!("Table {table} is yours, for {} people{note}.", wishes.people))
}

impl Tables {
    fn hold(&self, when: &str) -> usize {
        let mut tables = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tables.push(when.to_owned());
        tables.len()
    }
}

fn server() -> Server {
    Server::new("restaurant", "1.0.0").state(Tables::default()).tool(reserve)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/asking.rs"]
mod tests;
