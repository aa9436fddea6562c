//! Modules: tools that share parameters, tags and hints, and a rule about who sees which of them.

use mcp_server::{Arguments, Common, Module, Result, Server, Shown, Viewer, tool, tools};

/// What every tool of the pages takes.
#[derive(Arguments)]
struct Account {
    /// Account ID (use list_accounts to find)
    account_id: String,
}

struct Pages;

#[tools(params = Account, tags(area = "pages"), read_only)]
impl Pages {
    /// Get a page
    #[tool]
    fn get_page(&self, Common(account): Common<Account>, #[arg(desc = "Page ID")] id: u32) -> String {
        format!("Page {id} of {}.", account.account_id)
    }

    /// List accounts you can access
    #[tool(skip_default_params(account_id))]
    fn list_accounts(&self) -> &'static str {
        "acme, globex"
    }
}

/// Delete a template
#[tool(destructive, title = "Delete template")]
fn delete_template(#[arg(desc = "Template ID")] id: u32) -> String {
    format!("Template {id} is deleted.")
}

/// Asked on every list and every use. For who does not see it, a tool is not there.
fn visible(entry: &Shown<'_>, viewer: &Viewer) -> bool {
    entry.tag("admin") != true || viewer.has_scope("admin")
}

fn server() -> Server {
    // A rule with a slip in it shows too much; the scope still lets nobody else in.
    let admin = Module::new("admin").tag("admin", true).scope("admin").read_only(false).tool(delete_template);
    // Admins need not be asked for each of their calls.
    Server::new("myapp", "1.0.0").tools(Pages).module(admin).visible(visible).allow_unguarded(["delete_template"])
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/modules.rs"]
mod tests;
