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
    }
}

mod with {
    use mcp_server::{tool, tools};

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
