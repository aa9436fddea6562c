//! A type that no tool can return, and one that has no schema.
#![allow(unused_variables)]

use mcp_server::{Json, tool};

struct Report;

/// Does something.
#[tool]
fn plain() -> Report {
    Report
}

/// Does something.
#[tool]
async fn without_schema() -> Json<Report> {
    Json(Report)
}

/// Does something.
#[tool]
fn error() -> Result<String, std::io::Error> {
    Ok(String::new())
}

/// Does something.
#[tool(output = Report)]
fn output() -> mcp_server::ToolAnswer {
    mcp_server::ToolAnswer::text("")
}

fn main() {}
