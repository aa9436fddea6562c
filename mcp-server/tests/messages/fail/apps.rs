//! `#[app]`, and a page that is missing.
#![allow(unused_variables)]

use mcp_server::{app, tool};

/// Draws a chart.
#[app]
fn no_view() -> String {
    String::new()
}

#[app(view = "chart.html")]
fn no_description() -> String {
    String::new()
}

/// Draws a chart.
#[app(view = "ui/", visibility = ["modl", "app"], permissions(camera = 1, mic), csp(connnect = ["a"]))]
fn wrong_values() -> String {
    String::new()
}

/// Draws a chart.
#[app(view = chart(), embed = "yes", ui = "ui://a/b", html = "<html>", visibility = [])]
fn wrong_options() -> String {
    String::new()
}

/// Draws a chart.
#[tool(visibility = ["app"], view = "chart.html")]
fn no_page() -> String {
    String::new()
}

/// Draws a chart.
#[app(view = "chart.html")]
fn borrows(name: &str) -> String {
    String::new()
}

fn main() {}
