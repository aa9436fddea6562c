//! `#[resource]`, and what it does not take.
#![allow(unused_variables)]

use mcp_server::{Ctx, resource};

#[resource]
fn no_uri() -> String {
    String::new()
}

#[resource(mime = "text/plain", "notes://all")]
fn uri_is_not_first() -> String {
    String::new()
}

#[resource("notes://all", uri = "notes://all")]
fn two_uris() -> String {
    String::new()
}

#[resource("notes")]
fn no_scheme() -> String {
    String::new()
}

#[resource("users://{id}")]
fn template(id: u64) -> String {
    String::new()
}

#[resource("notes://all", mime_type = "text/plain", annotations(priority = 1), mimes = "a", vis = "pub")]
fn unknown() -> String {
    String::new()
}

#[resource(
    "notes://all",
    mime = 1,
    size = -1,
    audience = ["user", "asistant"],
    priority = "high",
    csp = "x",
    permissions(camera, microfone),
    name = ""
)]
fn wrong_values() -> String {
    String::new()
}

#[resource("ui://a/b", csp(connects = ["a"], frame = "b", frame = [], other(1)))]
fn wrong_origins() -> String {
    String::new()
}

#[resource("notes://all")]
fn takes(name: String, ctx: Ctx, (a, b): (u8, u8), #[arg(desc = "no")] caller: mcp_server::Caller) -> String {
    String::new()
}

#[resource("notes://all")]
fn generic<T>(text: &str) -> impl ToString {
    String::new()
}

#[resource("notes://all")]
fn borrows() -> &str {
    ""
}

#[resource("notes://all")]
fn method(&self) -> String {
    String::new()
}

#[resource("notes://all")]
struct NoFunction;

fn main() {}
