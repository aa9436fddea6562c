//! Rules of arguments that cannot be kept, or make no sense.
#![allow(unused_variables)]

use mcp_server::tool;

/// Does something.
#[tool]
fn unknown(
    #[arg(mini = 1)] a: u8,
    #[arg(minimum = 1)] b: u8,
    #[arg(maxLength = 1)] c: String,
    #[arg(required)] d: String,
    #[arg(rest)] e: String,
    #[arg(open)] f: String,
    #[arg(enum = ["a"])] g: String,
    #[arg = "text"] h: String,
    #[arg(desc = "a", description = "b")] i: String,
) {
}

/// Does something.
#[tool]
fn bounds(
    #[arg(min = 2, max = 1)] a: u8,
    #[arg(min_length = 2, max_length = 1)] b: String,
    #[arg(min_items = 2, max_items = 1)] c: Vec<u8>,
    #[arg(min = -1.5, max = -2)] d: f64,
) {
}

/// Does something.
#[tool]
fn values(
    #[arg(one_of = [])] a: u8,
    #[arg(one_of = ["a", 2])] b: String,
    #[arg(one_of = [1, 1])] c: u8,
    #[arg(one_of = "a")] d: String,
    #[arg(one_of = ["a"])] e: Vec<u8>,
) {
}

/// Does something.
#[tool]
fn defaults(
    #[arg(default = 3, one_of = [1, 2])] a: u8,
    #[arg(default = 0, min = 1)] b: u8,
    #[arg(default = "abc", max_length = 2)] c: String,
    #[arg(default = "text")] d: u8,
    #[arg(default = 1)] e: Option<u8>,
    #[arg(default)] f: Option<String>,
    #[arg(default = 1.5)] g: u8,
) {
}

/// Does something.
#[tool]
fn kinds(
    #[arg(min = "a")] a: u8,
    #[arg(min_length = -1)] b: String,
    #[arg(max_items = 1.5)] c: Vec<u8>,
    #[arg(pattern = 5)] d: String,
    #[arg(unique = "yes")] e: Vec<u8>,
    #[arg(coerce = 1)] f: u8,
    #[arg(header = HEADER)] g: String,
    #[arg(name = 1)] h: String,
    #[arg(validate = |value| true)] i: u8,
    #[arg(desc = 1)] j: u8,
    #[arg(name = "")] k: u8,
) {
}

/// Does something.
#[tool]
fn types(
    #[arg(min = 1)] a: String,
    #[arg(max = 1)] b: bool,
    #[arg(min_length = 1)] c: u8,
    #[arg(pattern = "a")] d: f64,
    #[arg(max_items = 1)] e: String,
    #[arg(unique)] f: u8,
    #[arg(min = 1)] g: Option<Vec<String>>,
) {
}

/// Does something.
#[tool]
fn headers(
    #[arg(header = "My Region")] a: String,
    #[arg(header = "")] b: String,
    #[arg(header = "Level")] c: f32,
    #[arg(header = "Rate")] d: Option<f64>,
    #[arg(header = "List")] e: Vec<u8>,
    #[arg(header = "Same")] f: u8,
    #[arg(header = "sAME")] g: u8,
) {
}

/// Does something.
#[tool]
fn names(#[arg(name = "same")] a: String, #[arg(name = "same")] b: String) {}

/// Does something.
#[tool]
fn ranges(
    #[arg(min = -5, max = 300)] a: u8,
    #[arg(min = -129)] b: Option<i8>,
    #[arg(max = 65_536)] c: Vec<u16>,
    #[arg(min = 0, max = 255)] d: u8,
) {
}

fn main() {}
