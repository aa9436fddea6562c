//! What an init cannot take or return.
#![allow(unused_variables)]

use mcp_server::{Assigns, CallError, Server};

struct Bare;

fn server() -> Server {
    Server::new("x", "1")
}

fn main() {
    // Not within `Result` or `Assigns`.
    server().init(|| 5);
    // Kept, and not to be written.
    server().init(|| Ok::<_, CallError>(Bare));
    // An argument, as of a tool.
    server().init(|name: String| Assigns(name));
    // An error that says not who may know.
    server().init(async || Err::<(), _>(std::io::Error::other("x")));
}
