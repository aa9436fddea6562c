//! `#[derive(Arguments)]`.
#![allow(unused_variables)]

use std::collections::HashMap;

use mcp_server::{Args, Arguments, Server, tool};

#[derive(Arguments)]
struct Tuple(String, u8);

#[derive(Arguments)]
enum Shapes {
    Empty,
    Circle { radius: f64 },
    Square(f64),
}

#[derive(Arguments)]
enum Never {}

#[derive(Arguments)]
union Both {
    a: u8,
    b: u8,
}

#[derive(Arguments)]
struct Borrowed<'a> {
    name: &'a str,
}

#[derive(Arguments)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct OfSerde {
    #[serde(default)]
    a: u8,
    #[serde(rename = "c")]
    b: u8,
    #[serde(flatten)]
    c: HashMap<String, u8>,
    #[serde(skip_deserializing)]
    d: u8,
    #[schemars(range(min = 1))]
    e: u8,
}

#[derive(Arguments)]
#[arg(opne, rename_all = "kebab", min = 1)]
struct Unknown {
    #[arg(open)]
    a: u8,
    #[arg(flatten)]
    b: u8,
    #[arg(rest, default)]
    c: HashMap<String, u8>,
    #[arg(rest)]
    d: HashMap<String, u8>,
    #[arg(min = 2, max = 1)]
    e: u8,
    #[arg(name = "a")]
    f: u8,
}

#[derive(Arguments)]
#[arg(rename_all = "lowercase", open)]
enum Names {
    One,
    #[arg(name = "one")]
    Other,
    #[arg(rename = "two")]
    Two,
    #[serde(rename = "three")]
    Three,
}

// Nothing more is told of what was told of.
/// Does something.
#[tool]
fn uses(a: Tuple, b: Shapes, c: Never, d: OfSerde, e: Names) {}

/// Does something.
#[tool]
fn uses_all(Args(a): Args<Unknown>) {}

fn main() {
    let _ = Server::new("a", "1").tool(uses).tool(uses_all);
}
