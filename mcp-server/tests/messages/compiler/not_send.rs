//! Futures that cannot be sent to another thread.
#![allow(unused_variables)]

use std::rc::Rc;
use std::sync::Mutex;

use mcp_server::{tool, tools};

async fn wait() {}

/// Does something.
#[tool]
async fn counts(name: String) -> String {
    let count = Rc::new(name.len());
    wait().await;
    count.to_string()
}

struct Desk(Mutex<u8>);

#[tools]
impl Desk {
    /// Does something.
    #[tool]
    async fn locks(&self) -> u8 {
        let guard = self.0.lock().unwrap();
        wait().await;
        *guard
    }
}

struct Local(Rc<u8>);

#[tools]
impl Local {
    /// Does something.
    #[tool]
    fn shares(&self) -> u8 {
        *self.0
    }
}

fn main() {}
