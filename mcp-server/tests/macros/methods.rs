//! `#[tools]` on `impl` blocks.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use mcp_server::{Args, Arguments, Ctx, Json, Server, State, ToolSet as _, tool, tools};
use serde_json::json;

use crate::common::{Client, text};

#[derive(Default)]
struct Desk {
    total: AtomicU32,
    notes: Mutex<Vec<String>>,
}

#[derive(Arguments)]
struct Note {
    text: String,
}

#[tools]
impl Desk {
    const DESCRIPTION: &'static str = "By a constant of its own.";
    const MOST: u32 = 10;

    fn new() -> Self {
        Self::default()
    }

    /// Adds to the total.
    #[tool]
    fn add(
        &self,
        /// What to add
        #[arg(max = Self::MOST)]
        amount: u32,
    ) -> u32 {
        self.total.fetch_add(amount, Relaxed) + amount
    }

    /// Adds, and waits.
    #[tool]
    async fn add_later(&self, ctx: Ctx, amount: u32) -> String {
        tokio::task::yield_now().await;
        format!("{}: {}", ctx.tool(), self.add(amount))
    }

    #[tool(name = "note", description = Self::DESCRIPTION, blocking)]
    fn take_note(self: Arc<Self>, Args(note): Args<Note>) -> usize {
        let mut notes = self.notes.lock().unwrap();
        notes.push(note.text);
        notes.len()
    }

    /// Reads a note, from a task of its own.
    #[tool]
    async fn read_note(self: Arc<Self>, index: usize) -> Option<String> {
        let task = tokio::spawn(async move { self.notes.lock().unwrap().get(index).cloned() });
        task.await.unwrap()
    }

    /// Counts who shares the desk.
    #[tool]
    fn shared(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    /// The same, and waits.
    #[tool]
    async fn shared_later(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    /// Needs no desk.
    #[tool]
    fn version(State(version): State<String>) -> String {
        version.to_string()
    }

    /// Needs no desk, and waits.
    #[tool]
    async fn version_later(State(version): State<String>) -> String {
        version.to_string()
    }

    /// A snapshot.
    #[tool]
    fn snapshot(&self) -> Json<Snapshot> {
        Json(Snapshot { total: self.total.load(Relaxed) })
    }

    /// Is not there.
    #[cfg(any())]
    #[tool]
    fn add(&self, missing: MissingType) {}

    /// Is there.
    #[tool(name = "there")]
    #[cfg(not(any()))]
    async fn conditional(&self, one: u8, ctx: Ctx) -> String {
        format!("{} {one}", ctx.tool())
    }

    /// No tool.
    fn helper(&self) -> usize {
        self.notes.lock().unwrap().len()
    }
}

#[derive(serde::Serialize, mcp_server::schemars::JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct Snapshot {
    total: u32,
}

fn server() -> Server {
    Server::new("test", "1").state("1.2".to_owned())
}

#[tokio::test]
async fn methods_are_tools_and_stay_methods() {
    let desk = Arc::new(Desk::new());
    let mut client = Client::of(server().tools(Arc::clone(&desk)));
    assert_eq!(text(&client.call("add", json!({"amount": 2})).await), "2");
    assert_eq!(text(&client.call("add_later", json!({"amount": 3})).await), "add_later: 5");
    assert_eq!(text(&client.call("note", json!({"text": "a"})).await), "1");
    assert_eq!(text(&client.call("read_note", json!({"index": 0})).await), "a");
    assert_eq!(text(&client.call("shared", json!({})).await), "true");
    assert_eq!(text(&client.call("shared_later", json!({})).await), "true");
    assert_eq!(text(&client.call("version", json!({})).await), "1.2");
    assert_eq!(text(&client.call("version_later", json!({})).await), "1.2");
    assert_eq!(text(&client.call("there", json!({"one": 1})).await), "there 1");
    assert_eq!(client.call("snapshot", json!({})).await["result"]["structuredContent"], json!({"total": 5}));
    assert_eq!((desk.add(1), desk.helper()), (6, 1));
    assert_eq!(Arc::clone(&desk).read_note(0).await.as_deref(), Some("a"));
}

#[tokio::test]
async fn methods_are_described_like_functions() {
    let mut client = Client::of(server().tools(Desk::new()));
    let add = client.listed("add").await;
    assert_eq!(add["description"], "Adds to the total.");
    assert_eq!(add["inputSchema"]["properties"]["amount"]["description"], "What to add");
    assert_eq!(add["inputSchema"]["properties"]["amount"]["maximum"], 10);
    assert_eq!(client.listed("note").await["description"], "By a constant of its own.");
    assert_eq!(client.listed("snapshot").await["outputSchema"]["type"], "object");
}

#[test]
fn tools_stand_in_the_order_of_the_block() {
    let tools = Desk::entries(Arc::new(Desk::new())).tools;
    let names: Vec<String> = tools.iter().map(|tool| format!("{tool:?}")).collect();
    let wanted = [
        "add",
        "add_later",
        "note",
        "read_note",
        "shared",
        "shared_later",
        "version",
        "version_later",
        "snapshot",
        "there",
    ];
    assert_eq!(names, wanted.map(|name| format!(r#"Tool {{ name: "{name}", has_code: true, .. }}"#)));
}

/// What a store can do.
trait Store: Send + Sync + 'static {
    type Key: Display + Send + 'static;

    fn key(&self, name: String) -> Self::Key;
}

struct Upper;

impl Store for Upper {
    type Key = String;

    fn key(&self, name: String) -> String {
        name.to_uppercase()
    }
}

struct Service<S> {
    store: S,
}

#[tools]
impl<S: Store> Service<S> {
    /// Looks up.
    #[tool]
    fn look_up(&self, name: String) -> String {
        self.store.key(name).to_string()
    }

    /// Looks up, and waits.
    #[tool]
    async fn look_up_later(&self, ctx: Ctx, name: String, other: Option<State<S>>) -> String {
        let key = self.store.key(name);
        tokio::task::yield_now().await;
        format!("{}: {key} {}", ctx.tool(), other.is_some())
    }
}

#[tokio::test]
async fn a_block_may_be_generic_over_what_the_value_holds() {
    let mut client = Client::of(server().tools(Service { store: Upper }));
    assert_eq!(text(&client.call("look_up", json!({"name": "a"})).await), "A");
    assert_eq!(text(&client.call("look_up_later", json!({"name": "a"})).await), "look_up_later: A false");
}

struct Pair<T>(T, T);

#[tools]
impl Pair<u8> {
    /// Itself, as its own type.
    #[tool]
    async fn both(&self, other: Option<Json2>) -> String {
        let Self(a, b) = self;
        format!("{a} {b} {}", other.is_some())
    }
}

type Json2 = Vec<u8>;

#[tools]
impl Pair<u16> {
    /// The greater.
    #[tool]
    fn greater(&self) -> u16 {
        self.0.max(self.1)
    }
}

#[tokio::test]
async fn a_block_may_be_for_one_of_many_types_and_others_for_the_others() {
    let mut client = Client::of(server().tools(Pair(1_u8, 2)).tools(Pair(1_u16, 2)));
    assert_eq!(text(&client.call("both", json!({})).await), "1 2 false");
    assert_eq!(text(&client.call("greater", json!({})).await), "2");
}
