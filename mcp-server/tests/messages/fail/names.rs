//! Names of tools (TOOL-5).
#![allow(unused_variables)]

use mcp_server::tool;

/// Does something.
#[tool(name = "say hello")]
fn space() {}

/// Does something.
#[tool(name = "")]
fn empty() {}

/// Does something.
#[tool]
fn größe() {}

/// Does something.
#[tool(name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
fn long() {}

fn main() {}
