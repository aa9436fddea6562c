//! Where `#[tool]` and `#[tools]` do not belong.
#![allow(unused_variables)]

use mcp_server::{tool, tools};

#[tool]
struct Desk;

impl Desk {
    /// Does something.
    #[tool]
    fn method(&self) {}
}

#[tools]
fn function() {}

fn main() {}
