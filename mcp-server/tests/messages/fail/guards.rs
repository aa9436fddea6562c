//! Options that guard entries, and those of `#[tools(..)]`.
#![allow(unused_variables)]

use mcp_server::{Arguments, prompt, resource, tool, tools};

/// Does something.
#[tool(scopes = "a", middleware = limit, senstive, task_suport = "none", skip_default_param(a))]
fn unknown() {}

/// Does something.
#[tool(scope = "", cache, wrap, visible, sensitive = "yes", unlisted(true), skip_default_params = "a")]
fn wrong_values() {}

/// Does something.
#[tool(scope = 5, cache(), task_support = "optional", skip_default_params())]
fn empty() {}

/// Does something.
#[tool(cache(ttl_ms = -1, public, private), task_support = "suported", skip_default_params(a, b, "a"))]
fn contradictions() {}

/// Does something.
#[tool(cache(ttl = 5, publik, public = false), task_support = "always", skip_default_params(1))]
fn within() {}

/// Does something.
#[tool(scope = "a", cache(ttl_ms = 5, public))]
fn public_and_scoped() {}

#[resource("a://b", scope = " ", sensitive, cache(public, public))]
fn of_resources() -> String {
    String::new()
}

/// Asks.
#[prompt(cache(public), scope = "a", unlisted)]
fn of_prompts() -> String {
    String::new()
}

struct Notes;

#[derive(Arguments)]
struct Account {
    id: String,
}

#[tools(parms = Account, name = "notes", scope = "", cache(public), destructive = 1, annotations(read_only))]
impl Notes {
    /// Does something.
    #[tool]
    fn one(&self) {}
}

struct Pages;

#[tools(params = Account, cache(public))]
impl Pages {
    /// Does something.
    #[tool(scope = "a")]
    fn one(&self) {}

    /// Does something.
    #[tool(scope = "a", cache(private))]
    fn two(&self) {}
}

struct Posts;

#[tools(params, scope = "a")]
impl Posts {
    /// Does something.
    #[tool(cache(public))]
    fn one(&self) {}
}

fn main() {}
