//! A tool without a description.

use mcp_server::{Server, tool, tools};

#[tool]
async fn hello(name: String) -> String {
    name
}

#[tool(description = "  ")]
fn blank() {}

///
#[tool(title = "Title")]
fn empty() {}

struct Desk;

#[tools]
impl Desk {
    #[tool]
    fn method(&self) {}
}

// Nothing more is told of tools that were told of.
async fn uses() {
    let _ = Server::new("a", "1").tool(hello).tool(blank).tool(empty).tools(Desk);
    let _: String = hello("a".into()).await;
    let () = blank();
}

fn main() {
    drop(uses());
}
