//! A type that is no extractor.
#![allow(unused_variables)]

use mcp_server::{State, tool, tools};

struct User;
struct NotShared(std::cell::Cell<u8>);

/// Does something.
#[tool]
fn work(#[extract] user: User, state: State<NotShared>) {}

struct Desk;

#[tools]
impl Desk {
    /// Does something.
    #[tool]
    async fn work(&self, #[extract] user: User) {}
}

fn main() {}
