//! State: in a value whose methods are tools, and shared with tools that are functions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_server::{Result, Server, State, tool, tools};

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

#[tools]
impl Notes {
    /// Add a note.
    #[tool]
    fn add_note(&self, #[arg(desc = "What to note", min_length = 1)] text: String, calls: State<Calls>) -> usize {
        calls.0.0.fetch_add(1, Ordering::Relaxed);
        let mut notes = self.lock();
        notes.push(text);
        notes.len()
    }

    /// Read a note.
    #[tool(read_only)]
    fn read_note(&self, #[arg(desc = "Its number", min = 1)] number: usize) -> Result<String, String> {
        self.lock().get(number - 1).cloned().ok_or_else(|| format!("There is no note {number}."))
    }

    // A method without `#[tool]` is only a method.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

struct Calls(AtomicU64);

/// Count the calls so far.
#[tool]
fn count(State(calls): State<Calls>) -> u64 {
    calls.0.load(Ordering::Relaxed)
}

fn server() -> Server {
    Server::new("notes", "1.0.0").state(Calls(AtomicU64::new(0))).tools(Notes::default()).tool(count)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/state.rs"]
mod tests;
