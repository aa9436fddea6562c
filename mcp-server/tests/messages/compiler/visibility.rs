//! A tool that is more visible than what it takes.
#![allow(unused_variables)]

mod tools {
    use mcp_server::{Arguments, tool};

    #[derive(Arguments)]
    struct Job {
        name: String,
    }

    /// Does something.
    #[tool]
    pub fn work(job: Job) -> String {
        job.name
    }
}

fn main() {}
