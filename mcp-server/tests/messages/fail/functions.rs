//! What a tool's function cannot be, and what it cannot take.
#![allow(unused_variables)]

use mcp_server::{Args, Ctx, tool};

/// Does something.
#[tool]
fn generic<T>(value: T) -> String {
    String::new()
}

/// Does something.
#[tool]
fn bounded() -> String
where
    String: Clone,
{
    String::new()
}

/// Does something.
#[tool]
fn with_impl(value: impl ToString) -> String {
    value.to_string()
}

/// Does something.
#[tool]
async fn borrows(name: &str, path: &std::path::Path, list: &[u8], other: &u8, kept: Option<&'static str>) {}

/// Does something.
#[tool]
fn takes_apart((a, b): (u8, u8), _: String, ref c: u8) {}

/// Does something.
#[tool]
unsafe fn no_safety() {}

/// Does something.
#[tool]
extern "C" fn no_rust() {}

/// Does something.
#[tool]
const fn no_code() {}

/// Does something.
#[tool(blocking)]
async fn both() {}

/// Does something.
#[tool]
fn two_structs(Args(a): Args<Vec<u8>>, b: Args<Vec<u8>>) {}

/// Does something.
#[tool]
fn struct_and_names(Args(a): Args<Vec<u8>>, name: String, #[arg(min = 1)] number: u8) {}

/// Does something.
#[tool]
fn options_of_others(
    #[arg(desc = "no argument")] ctx: Ctx,
    #[arg(desc = "not here")] all: Args<Vec<u8>>,
    #[extract(optional)] caller: mcp_server::Caller,
    #[cfg(unix)] unix: u8,
) {
}

/// Does something.
#[tool]
fn returns_impl() -> impl std::fmt::Display {
    1
}

/// Does something.
#[tool]
fn returns_borrowed(name: String) -> &str {
    ""
}

fn main() {}
