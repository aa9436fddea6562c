//! `#[prompt]`, and what it does not take.
#![allow(unused_variables)]

use mcp_server::{Args, Ctx, prompt};

/// Says something.
#[prompt(mime = "a", arguments = 1, complete = ["a"], names = "b", read_only)]
fn unknown() -> String {
    String::new()
}

/// Says something.
#[prompt]
fn lists(words: Vec<String>, few: Option<Vec<u8>>, pair: [u8; 2]) -> String {
    String::new()
}

/// Says something.
#[prompt]
fn options(
    #[arg(header = "Name", complete = [1, "a"], max = 3)] name: String,
    #[arg(coerce, min_items = 1, completion = "a")] number: u8,
    #[arg(complete)] ctx: Ctx,
) -> String {
    String::new()
}

/// Says something.
#[prompt(open)]
fn all(Args(all): Args<Vec<u8>>, name: String) -> String {
    String::new()
}

/// Says something.
#[prompt(blocking)]
async fn both(text: &str) -> String {
    String::new()
}

/// Says something.
#[prompt]
fn method(&self) -> String {
    String::new()
}

/// Says something.
#[prompt]
const NO_FUNCTION: u8 = 1;

fn main() {}
