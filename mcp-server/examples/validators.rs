//! Checks of arguments, in words that a model can act upon: off the shelf, combined, and of your own.

use mcp_server::validators::{any, list_of, one_of, range, regex};
use mcp_server::{Param, Server, Tool, Value, tool, validators};

/// A check of your own, which may ask others first: the error follows the argument's name.
fn not_a_sunday(day: &str) -> Result<(), String> {
    validators::iso_date(day)?;
    if day == "2026-03-01" { Err(format!("must not be a Sunday, and {day} is one")) } else { Ok(()) }
}

/// Books a table.
#[tool]
fn book(
    #[arg(desc = "Whom to write to", validate = validators::email)] contact: String,
    #[arg(desc = "Guests", validate = range(1..=12))] guests: u8,
    #[arg(desc = "YYYY-MM-DD", validate = not_a_sunday)] day: String,
    #[arg(desc = "Menus", validate = list_of(one_of(["meat", "fish", "plants"])))] menus: Option<Vec<String>>,
) -> String {
    format!("{contact}: {guests} on {day}, {} menus.", menus.map_or(0, |menus| menus.len()))
}

fn server() -> Server {
    // The same for arguments that are described at run time.
    let call = Tool::new("call_back")
        .description("Asks to be called back.")
        .param(
            Param::string("where")
                .description("An email address, or a number with its country: +32..")
                .validate(any((validators::email, regex(r"^\+[0-9]{6,15}$"))))
                .required(),
        )
        .run(|args: Value| format!("We call {}.", args["where"]));
    Server::new("tables", "1.0.0").tool(book).tool(call)
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/validators.rs"]
mod tests;
