//! A type that cannot be an argument.
#![allow(unused_variables)]

use mcp_server::{Arguments, Server, tool};

struct Job;

/// Does something.
#[tool]
async fn work(job: Job, more: Vec<Job>, #[arg(default = Job)] other: Job) -> String {
    String::new()
}

#[derive(Arguments)]
struct Plan {
    job: Option<Job>,
}

fn main() {
    let _ = Server::new("a", "1").tool(work);
}
