//! A function without `#[tool]`, a value without `#[tools]`, a value with many tools as one.
#![allow(unused_variables)]

use mcp_server::{Server, tools};

/// Does something.
fn plain() {}

struct Desk;

struct Other;

#[tools]
impl Other {
    /// Does something.
    #[tool]
    fn work(&self) {}
}

fn main() {
    let _ = Server::new("a", "1").tool(plain).tools(Desk).tool(Other);
}
