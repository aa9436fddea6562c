//! Descriptions and rules that are no texts, numbers or functions of the right kind.
#![allow(unused_variables)]

use mcp_server::tool;

const NUMBER: u8 = 5;
const TEXT: &str = "5";

fn check(_: &u8) -> u8 {
    0
}

/// Does something.
#[tool(title = NUMBER)]
fn title() {}

#[tool(description = format!("a"))]
fn description() {}

/// Does something.
#[tool]
fn arguments(
    #[arg(desc = NUMBER)] a: u8,
    #[arg(min = TEXT)] b: u8,
    #[arg(max_length = TEXT)] c: String,
    #[arg(default = NUMBER)] d: bool,
    #[arg(validate = check)] e: u8,
    #[arg(validate = check)] f: String,
) {
}

/// Does something.
#[tool(icon = 5)]
fn icon() {}

fn main() {}
