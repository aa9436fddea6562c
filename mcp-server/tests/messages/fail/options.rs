//! Options of `#[tool(..)]`.
#![allow(unused_variables)]

use mcp_server::tool;

/// Does something.
#[tool(descripton = "a", readOnly, destuctive, colour = "red")]
fn unknown() {}

/// Does something.
#[tool(annotations(read_only_hint = true), input_schema = {}, vis = "pub")]
fn of_others() {}

/// Does something.
#[tool(title = "a", read_only, title = "b", read_only = false, icon = "a", icon = "b")]
fn twice() {}

/// Does something.
#[tool(
    name = tool_name(),
    title = 5,
    read_only = "yes",
    idempotent(true),
    destructive = maybe(),
    icon,
    meta,
    tags = "admin",
    output,
    needs,
    logs = 1
)]
fn wrong_values() {}

/// Does something.
#[tool(tags(admin, admin = 1, "no word"))]
fn tags() {}

/// Does something.
#[tool(title = "a" read_only)]
fn no_comma() {}

/// Does something.
#[tool(title =, read_only = )]
fn no_value() {}

/// Does something.
#[tool("name", read_only)]
fn no_name() {}

fn main() {}
