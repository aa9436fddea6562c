//! Attributes of methods need no import, and one is not told to be unused.
#![deny(warnings)]

mod without {
    use mcp_server::tools;

    pub struct Desk;

    #[tools]
    impl Desk {
        /// Adds.
        #[tool]
        fn add(&self, a: u8, b: u8) -> u8 {
            a + b
        }

        #[prompt]
        fn say(&self) -> String {
            String::new()
        }
    }
}

mod with {
    use mcp_server::{app, prompt, resource, resource_template, tool, tools};

    pub struct Desk;

    #[tools]
    impl Desk {
        /// Adds.
        #[tool]
        fn add(&self, a: u8, b: u8) -> u8 {
            a + b
        }
    }

    pub struct Other;

    #[tools]
    impl Other {
        #[resource("a://b")]
        fn hold(&self) -> String {
            String::new()
        }

        #[resource_template("a://b/{c}")]
        fn make(&self, c: String) -> String {
            c
        }

        #[prompt]
        fn say(&self) -> String {
            String::new()
        }

        /// Shows.
        #[app(view = "a.html")]
        fn show(&self) {}

        /// Adds.
        #[tool]
        fn add(&self, a: u8, b: u8) -> u8 {
            a + b
        }
    }
}

mod all {
    use mcp_server::*;

    pub struct Desk;

    #[tools]
    impl Desk {
        /// Adds.
        #[tool]
        async fn add(&self, a: u8, b: u8) -> u8 {
            a + b
        }
    }

    /// Adds.
    #[tool]
    pub fn add(a: u8) -> u8 {
        a
    }
}

fn within() -> impl mcp_server::IntoTools {
    use mcp_server::{tool, tools};

    struct Desk;

    #[tools]
    impl Desk {
        /// Adds.
        #[tool]
        fn add(&self, a: u8, b: u8) -> u8 {
            a + b
        }
    }
    Desk
}

fn main() {
    drop(within());
    let server = mcp_server::Server::new("a", "1").tools(without::Desk).tools(with::Desk);
    drop(server.tools(with::Other).tools(all::Desk).tool(all::add));
}
