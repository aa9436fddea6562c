//! `#[resource_template]`: its variables are its parameters.
#![allow(unused_variables)]

use mcp_server::{Args, Ctx, resource_template};

#[resource_template]
fn no_template() -> String {
    String::new()
}

#[resource_template("users://{id}/profile")]
fn other_name(user: u64) -> String {
    String::new()
}

#[resource_template("users://{id}/{+path}{?limit,user.name}")]
fn missing(ctx: Ctx, path: String, lmit: Option<u8>) -> String {
    String::new()
}

#[resource_template("users://all")]
fn no_variables() -> String {
    String::new()
}

#[resource_template("users://{id")]
fn not_closed(id: u64) -> String {
    String::new()
}

#[resource_template(uri = "users://{id}", size = 3, complete = ["a"])]
fn options(id: u64) -> String {
    String::new()
}

#[resource_template("users://{id}/{name}")]
fn options_of_variables(
    #[arg(desc = "The id", min = 1, optional)] id: u64,
    #[arg(complete = ["a", 2], one_of = ["a"], default = 1)] name: String,
) -> String {
    String::new()
}

#[resource_template("users://{id}/{name}")]
fn twice(id: u64, #[arg(name = "id")] name: String) -> String {
    String::new()
}

#[resource_template("users://{id}/{name}")]
fn struct_and_names(Args(all): Args<(u64, String)>, id: u64) -> String {
    String::new()
}

#[resource_template("users://{id}")]
fn takes_apart((a, b): (u64, u64), id: &str) -> String {
    String::new()
}

fn main() {}
