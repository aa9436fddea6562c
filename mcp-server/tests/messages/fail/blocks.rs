//! `#[tools]` on `impl` blocks.
#![allow(unused_variables)]

use std::sync::Arc;

use mcp_server::{Server, tool, tools};

struct Desk;

#[tools]
impl Desk {
    /// Adds.
    #[tool]
    fn add(&self) {}

    /// Adds, too.
    #[tool(name = "add")]
    fn add_more(&self) {}

    /// Changes.
    #[tool]
    fn change(&mut self) {}

    /// Ends.
    #[tool]
    async fn end(self) {}

    /// Boxes.
    #[tool]
    fn boxed(self: Box<Self>) {}

    /// Is fine.
    #[tool]
    async fn shared(self: Arc<Self>, name: &str, value: Option<&Self>) -> &'static str {
        ""
    }

    /// Borrows.
    #[tool]
    fn borrows(&self) -> &str {
        ""
    }

    /// Stands twice.
    #[tool]
    #[tool(read_only)]
    fn twice(&self) {}
}

struct Empty;

#[tools]
impl Empty {
    fn method(&self) {}
}

struct Configured;

#[tools(prefix = "a")]
impl Configured {
    /// Adds.
    #[tool]
    fn add(&self) {}
}

struct Borrowed<'a>(&'a str);

#[tools]
impl<'a> Borrowed<'a> {
    /// Adds.
    #[tool]
    fn add(&self) {}
}

struct Default1;

#[tools]
impl Default for Default1 {
    /// Makes one.
    #[tool]
    fn default() -> Self {
        Self
    }
}

struct Kinds;

#[tools]
impl Kinds {
    /// Adds.
    #[tool]
    #[prompt]
    fn two_things(&self) {}

    /// Says something.
    #[prompt]
    fn said(&self) -> String {
        String::new()
    }

    /// Says something.
    #[prompt(name = "said")]
    fn said_again(&self) -> String {
        String::new()
    }

    #[resource("a://a")]
    fn one(&self) -> String {
        String::new()
    }

    #[resource("a://a")]
    fn other(&self) -> String {
        String::new()
    }

    /// Draws.
    #[app(view = "a.html")]
    fn draw(&self) {}

    /// Draws.
    #[tool(name = "draw")]
    fn draw_again(&self) {}

    #[resource_template("a://{b}")]
    fn template(&self, c: u8) -> String {
        String::new()
    }
}

fn main() {
    let _ = Server::new("a", "1").tools(Desk).tools(Empty).tools(Configured);
}
