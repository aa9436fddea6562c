//! A catalogue that is swapped while it is served (TOOL-16): the handler tells, the connection has subscribed.
#![allow(missing_docs)]

mod support;

use std::sync::{Arc, Mutex, Weak};

use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::{Call, Caller, Change, Endpoint, Kind, Outcome};
use mcp_transport_stdio::Connection;
use support::{Channel, INITIALIZE, INITIALIZED, Task, TestClock, call, messages, modern, ping};

/// Its tools add tools.
struct Growing {
    me: Weak<Self>,
    endpoint: Arc<Endpoint>,
    view: Mutex<View>,
    watchers: Mutex<Watchers>,
}

/// Swaps as part of the call, at its second poll, on another thread, and many times.
const TOOLS: [&str; 4] = ["inline", "later", "thread", "burst"];
const NOTICE: &str = "notifications/tools/list_changed";

fn catalog(tools: usize) -> Arc<Catalog> {
    let name = |at: usize| TOOLS.get(at).map_or_else(|| format!("new{at}"), |name| (*name).to_owned());
    let tools = (0..tools).map(|at| Tool::new(&name(at), Handle(at as u64), r#"{"type":"object"}"#));
    tools.fold(Catalog::builder(), mcp_core::catalog::Builder::tool).build().unwrap()
}

impl Growing {
    fn new() -> Arc<Self> {
        let endpoint = Endpoint::builder(Implementation::new("growing", "1.0.0")).tools(true).build().unwrap();
        let (view, watchers) = (Mutex::new(View::all(catalog(4))), Mutex::default());
        Arc::new_cyclic(|me| Self { me: Weak::clone(me), endpoint, view, watchers })
    }

    fn grow(&self) {
        let catalog = {
            let mut view = self.view.lock().unwrap();
            let catalog = catalog(view.catalog().tools().count() + 1);
            *view = View::all(Arc::clone(&catalog));
            catalog
        };
        let watchers = self.watchers.lock().unwrap().alive();
        watchers.iter().for_each(|watcher| watcher.changed(&catalog, Change::Tools));
    }
}

impl Handler for Growing {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.view.lock().unwrap().clone()
    }

    fn call(&self, call: Call, _: Link) -> Running {
        let Kind::Tool { tool, .. } = call.kind else { panic!("{call:?}") };
        let growing = self.me.upgrade().unwrap();
        let done = || Outcome::Complete(Answer::Tool(ToolAnswer::text("grown")));
        match tool.0 {
            0 => growing.grow(),
            1 => {
                return Running::Later(Box::pin(async move {
                    tokio::task::yield_now().await;
                    growing.grow();
                    done()
                }));
            }
            2 => std::thread::spawn(move || growing.grow()).join().unwrap(),
            _ => (0..20).for_each(|_| growing.grow()),
        }
        Running::Done(done())
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        self.watchers.lock().unwrap().add(watcher);
    }
}

/// A connection under way, and its two ends.
fn connect(growing: &Arc<Growing>) -> (Task<impl Future>, Channel, Channel) {
    let (to, from) = (Channel::new(), Channel::new());
    let task = Task::new(Connection::new(Arc::clone(growing), TestClock::default()).run(to.clone(), from.clone()));
    (task, to, from)
}

/// The methods of notifications, and the ids of answers.
fn seen(from: &Channel) -> Vec<String> {
    let name = |message: &serde_json::Value| match message["method"].as_str() {
        Some(method) => method.to_owned(),
        None => message["id"].to_string(),
    };
    messages(&from.take()).iter().map(name).collect()
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;

#[test]
fn a_call_that_swaps_the_catalogue_is_heard_of_once_tool_16() {
    for tool in TOOLS {
        let growing = Growing::new();
        let (mut task, to, from) = connect(&growing);
        let (mut other, others_to, others_from) = connect(&growing);
        for (task, to, from) in [(&mut task, &to, &from), (&mut other, &others_to, &others_from)] {
            to.put(format!("{INITIALIZE}\n{INITIALIZED}\n"));
            task.waits();
            assert_eq!(seen(from), ["0"]);
        }
        to.put(call(1, tool, 0) + "\n");
        task.waits();
        assert_eq!(seen(&from), [NOTICE, "1"], "{tool}");
        to.put(format!("{LIST}\n"));
        task.waits();
        let list = String::from_utf8(from.take()).unwrap();
        assert!(list.contains("new4") && !list.contains(NOTICE), "{tool}: {list}");
        other.waits();
        assert_eq!(seen(&others_from), [NOTICE], "{tool}: every connection is told");
    }
}

#[test]
fn another_thread_that_swaps_it_wakes_the_connection_tool_16() {
    let growing = Growing::new();
    let (mut task, to, from) = connect(&growing);
    to.put(format!("{INITIALIZE}\n{INITIALIZED}\n"));
    task.waits();
    assert_eq!(seen(&from), ["0"]);
    for _ in 0..3 {
        let swaps = Arc::clone(&growing);
        std::thread::spawn(move || (0..10).for_each(|_| swaps.grow())).join().unwrap();
        task.waits();
        assert_eq!(seen(&from), [NOTICE]);
    }
}

#[test]
fn a_handshake_that_is_under_way_is_told_after_it_life_5() {
    let growing = Growing::new();
    let (mut task, to, from) = connect(&growing);
    growing.grow();
    to.put(format!("{INITIALIZE}\n"));
    task.waits();
    growing.grow();
    to.put(ping(1) + "\n");
    task.waits();
    assert_eq!(seen(&from), ["0", "1"]);
    to.put(format!("{INITIALIZED}\n"));
    task.waits();
    assert_eq!(seen(&from), [NOTICE]);
}

#[test]
fn a_peer_that_made_no_handshake_is_told_nothing_tool_16() {
    let growing = Growing::new();
    let (mut task, to, from) = connect(&growing);
    to.put(modern(1, "burst", 0) + "\n");
    task.waits();
    growing.grow();
    to.put(modern(2, "inline", 0) + "\n");
    task.waits();
    assert_eq!(seen(&from), ["1", "2"]);
}

#[test]
fn a_connection_that_has_ended_is_watched_for_no_more() {
    let growing = Growing::new();
    drop(Connection::new(Arc::clone(&growing), TestClock::default()));
    assert!(growing.watchers.lock().unwrap().alive().is_empty(), "one that never runs is not told of anything");
    let (task, ..) = connect(&growing);
    assert_eq!(growing.watchers.lock().unwrap().alive().len(), 1);
    drop(task);
    assert!(growing.watchers.lock().unwrap().alive().is_empty());
    assert_eq!(Arc::strong_count(&growing), 1);
    growing.grow();
}
