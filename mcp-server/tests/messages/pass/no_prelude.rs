//! What the macros write needs nothing of the prelude.
#![no_implicit_prelude]
#![allow(dead_code)]

use ::mcp_server::{
    Args, Arguments, CallError, Server, State, Value, app, prompt, resource, resource_template, tool, tools,
};
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

/// Holds something.
#[resource("a://b", mime = "text/plain", audience = ["user"], priority = 1, size = 3, csp(connect = ["https://a.example"]))]
fn held(State(limit): State<u8>) -> ::core::option::Option<String> {
    let _ = limit;
    ::core::option::Option::None
}

#[resource_template("a://{b}/{c}{?d}", meta = Value::Null)]
async fn made(
    #[arg(complete = ["a"])] b: u8,
    #[arg(complete = LIST)] c: String,
    #[arg(default = 1, complete = proposed)] d: u8,
) -> ::core::result::Result<String, CallError> {
    let _ = (b, d);
    ::core::result::Result::Ok(c)
}

const LIST: [&str; 1] = ["a"];

fn proposed(typed: String) -> ::std::vec::Vec<String> {
    let _ = typed;
    ::std::vec::Vec::new()
}

#[resource_template("b://{x}/{kind}")]
fn made_whole(Args(point): Args<Point>) -> String {
    let _ = point;
    String::new()
}

#[prompt(blocking, open)]
fn said(#[arg(one_of = ["a", "b"], default = "a", title = "Text")] text: String, kind: ::core::option::Option<Kind>) -> String {
    let _ = kind;
    text
}

#[prompt]
fn said_whole(Args(pair): Args<Pair>) -> String {
    let _ = pair.b;
    pair.a
}

#[derive(Arguments)]
struct Pair {
    a: String,
    b: ::core::option::Option<u8>,
}

/// Shows.
#[app(view = "a.html", visibility = ["model"], permissions(camera), domain = "a.example", prefers_border)]
fn shown(a: u8) -> u8 {
    a
}

struct Desk;

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    async fn add(&self, a: u8) -> u8 {
        a
    }

    #[resource("c://d")]
    fn held(&self) -> String {
        String::new()
    }

    #[resource_template("c://{e}")]
    async fn made(&self, #[arg(complete = Self::proposed)] e: String) -> String {
        e
    }

    #[prompt]
    async fn said(&self, f: u8) -> String {
        let _ = f;
        String::new()
    }

    fn proposed(typed: String) -> ::std::vec::Vec<String> {
        let _ = typed;
        ::std::vec::Vec::new()
    }

    /// Adds, too.
    #[tool]
    fn add_shared(self: ::std::sync::Arc<Self>, a: u8) -> u8 {
        a
    }
}

fn main() {
    let server = Server::new("a", "1").tool(search).tool(go).tools(Desk).resource(held).resource_template(made);
    let _ = server.resource_template(made_whole).prompt(said).prompt(said_whole).app(shown);
}
