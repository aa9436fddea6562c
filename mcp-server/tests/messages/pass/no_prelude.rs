//! What the macros write needs nothing of the prelude.
#![no_implicit_prelude]
#![allow(dead_code)]

use ::mcp_server::{Args, Arguments, Server, State, CallError, tool, tools};
use ::std::string::String;

/// Searches.
#[tool(title = "Search", read_only, tags(admin, team = "storage"), icon = "https://example.com/a.png")]
async fn search(
    State(limit): State<u8>,
    #[arg(one_of = ["a", "b"], default = "a", validate = is_short)] text: String,
    #[arg(min = 1, max = 3, default = 2)] count: u8,
    ratio: ::core::option::Option<f64>,
) -> ::core::result::Result<String, CallError> {
    let _ = (limit, count, ratio);
    ::core::result::Result::Ok(text)
}

fn is_short(text: &str) -> bool {
    text.len() < 9
}

#[derive(Arguments)]
struct Point {
    #[arg(default = 3)]
    x: u8,
    #[arg(default = Kind::Plain)]
    kind: Kind,
    #[arg(rest)]
    rest: ::std::collections::BTreeMap<String, u8>,
}

#[derive(Arguments)]
enum Kind {
    /// As it is
    Plain,
    Other,
}

/// Moves.
#[tool(blocking)]
fn go(Args(point): Args<Point>) -> u8 {
    point.x
}

struct Desk;

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    async fn add(&self, a: u8) -> u8 {
        a
    }

    /// Adds, too.
    #[tool]
    fn add_shared(self: ::std::sync::Arc<Self>, a: u8) -> u8 {
        a
    }
}

fn main() {
    let _ = Server::new("a", "1").tool(search).tool(go).tools(Desk);
}
