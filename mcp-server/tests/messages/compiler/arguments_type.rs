//! A type that cannot be all arguments.
#![allow(unused_variables)]

use mcp_server::{Args, tool};

struct Job;

/// Does something.
#[tool]
async fn work(Args(job): Args<Job>) -> String {
    String::new()
}

fn main() {}
