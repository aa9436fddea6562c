//! Many tools, of which a model is shown three: one that is pinned, one that finds the others, and one that calls them.

use mcp_server::{Focus, IntoTool, Result, Server, Tool, tool};

/// Search everything.
#[tool(read_only)]
fn search(query: String) -> String {
    format!("nothing about {query}")
}

/// Write an invoice for a customer.
#[tool]
fn create_invoice(
    #[arg(desc = "Who pays")] customer: String,
    #[arg(desc = "In cents", min = 1)] amount: u32,
) -> String {
    format!("{customer} owes {amount}")
}

/// Delete an invoice.
#[tool(destructive)]
fn delete_invoice(number: u32) -> String {
    format!("invoice {number} is gone")
}

/// A few hundred more, from a table or another system.
fn reports() -> impl Iterator<Item = Tool> {
    (1900..2200).map(|year| {
        Tool::new(format!("report_{year}"))
            .description(format!("The yearly report of {year}."))
            .run(move || format!("{year} was a good year"))
    })
}

fn server() -> Server {
    let server = Server::new("office", "1.0.0").focus(Focus::new(["search"]));
    // Whoever has the scope may call it, and nobody is asked again.
    let server = server.allow_unguarded(["delete_invoice"]);
    let server = server.tool(search).tool(create_invoice).tool(delete_invoice.into_tool().scope("invoices:delete"));
    reports().fold(server, Server::tool)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/focus.rs"]
mod tests;
