//! A peer that listens on a byte stream, and a legacy one that subscribed to a resource.
#![allow(missing_docs)]

mod support;

use std::sync::{Arc, Mutex, Weak};

use mcp_core::answer::Implementation;
use mcp_core::catalog::{Catalog, Handle, Item, Resource, View};
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::{Call, Caller, Change, Endpoint, Outcome};
use mcp_transport_stdio::{Connection, Control, Ended};
use serde_json::{Value, json};
use support::{Channel, INITIALIZE, INITIALIZED, Task, TestClock, cancel, messages};

/// A server of two documents, one of which can be hidden.
struct Docs {
    endpoint: Arc<Endpoint>,
    catalog: Arc<Catalog>,
    hidden: Mutex<bool>,
    watchers: Mutex<Watchers>,
}

impl Docs {
    fn new() -> Arc<Self> {
        let resources = ["doc://a", "doc://b"].map(|uri| Resource::new(uri, uri, Handle(1)));
        let catalog = resources.into_iter().fold(Catalog::builder(), mcp_core::catalog::Builder::resource);
        let endpoint = Endpoint::builder(Implementation::new("docs", "1.0.0")).tools(true).resources(true, true);
        Arc::new(Self {
            endpoint: endpoint.build().unwrap(),
            catalog: catalog.build().unwrap(),
            hidden: Mutex::new(false),
            watchers: Mutex::default(),
        })
    }

    fn tell(&self, tell: impl Fn(&dyn Watcher)) {
        let watchers = self.watchers.lock().unwrap().alive();
        watchers.iter().for_each(|watcher| tell(&**watcher));
    }

    fn change(&self) {
        self.tell(|watcher| watcher.changed(&self.catalog, Change::Tools));
    }

    fn update(&self, uri: &str) {
        self.tell(|watcher| watcher.updated(uri));
    }
}

impl Handler for Docs {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        let hidden = *self.hidden.lock().unwrap();
        View::only(Arc::clone(&self.catalog), |item: Item<'_>| !(hidden && item.key() == "doc://b"))
    }

    fn call(&self, _: Call, _: Link) -> Running {
        Running::Later(Box::pin(std::future::pending::<Outcome>()))
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        self.watchers.lock().unwrap().add(watcher);
    }
}

fn connect(docs: &Arc<Docs>) -> (Task<impl Future<Output = std::io::Result<Ended>>>, Control, Channel, Channel) {
    let (to, from) = (Channel::new(), Channel::new());
    let connection = Connection::new(Arc::clone(docs), TestClock::default());
    let control = connection.control();
    (Task::new(connection.run(to.clone(), from.clone())), control, to, from)
}

fn listen(id: u64, notifications: &Value) -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"notifications": notifications, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params}).to_string() + "\n"
}

fn tagged(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": id});
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

fn updated(id: u64, uri: &str) -> Value {
    tagged(id, "notifications/resources/updated", json!({"uri": uri}))
}

fn all() -> Value {
    json!({"toolsListChanged": true, "resourceSubscriptions": ["doc://a", "doc://b"]})
}

const TOOLS: &str = "notifications/tools/list_changed";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

#[test]
fn a_listener_is_told_from_other_threads_until_it_cancels_sub_2_sub_10_canc_2() {
    let docs = Docs::new();
    let (mut task, _, to, from) = connect(&docs);
    to.put(listen(1, &all()));
    task.waits();
    assert_eq!(messages(&from.take()), [tagged(1, ACKNOWLEDGED, json!({"notifications": all()}))]);
    let other = Arc::clone(&docs);
    std::thread::spawn(move || (0..1000).for_each(|_| other.update("doc://a"))).join().unwrap();
    task.waits();
    assert_eq!(messages(&from.take()), [updated(1, "doc://a")], "sub_13: nobody read meanwhile");
    docs.change();
    task.waits();
    assert_eq!(messages(&from.take()), [tagged(1, TOOLS, json!({}))]);
    to.put(cancel(1) + "\n");
    task.waits();
    docs.change();
    docs.update("doc://a");
    task.waits();
    assert_eq!(messages(&from.take()), Vec::<Value>::new());
}

#[test]
fn what_was_hidden_meanwhile_is_told_no_more_sub_9() {
    let docs = Docs::new();
    let (mut task, control, to, from) = connect(&docs);
    to.put(listen(1, &all()));
    task.waits();
    from.take();
    docs.update("doc://b");
    *docs.hidden.lock().unwrap() = true;
    task.waits();
    assert_eq!(messages(&from.take()), Vec::<Value>::new(), "what counts is the moment of telling");
    control.updated("doc://b");
    control.updated("doc://a");
    control.updated("doc://none");
    task.waits();
    assert_eq!(messages(&from.take()), [updated(1, "doc://a")]);
}

#[test]
fn a_legacy_peer_beside_it_is_told_what_it_subscribed_to_res_7_shim_6() {
    let docs = Docs::new();
    let (mut task, _, to, from) = connect(&docs);
    let subscribe = r#"{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"doc://b"}}"#;
    to.put(format!("{INITIALIZE}\n{INITIALIZED}\n{subscribe}\n{}", listen(1, &all())));
    task.waits();
    assert_eq!(messages(&from.take()).len(), 3);
    docs.update("doc://a");
    docs.update("doc://b");
    docs.change();
    task.waits();
    let mut told = messages(&from.take());
    told.sort_by_key(Value::to_string);
    let untagged = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let mut right = [
        updated(1, "doc://a"),
        updated(1, "doc://b"),
        tagged(1, TOOLS, json!({})),
        untagged("notifications/resources/updated", json!({"uri": "doc://b"})),
        untagged(TOOLS, json!({})),
    ];
    right.sort_by_key(Value::to_string);
    assert_eq!(told, right);
}

#[test]
fn the_end_of_input_and_a_shutdown_end_it_with_its_result_sub_11_sub_12_stdio_4() {
    for shutdown in [false, true] {
        let docs = Docs::new();
        let (mut task, control, to, from) = connect(&docs);
        to.put(listen(1, &all()));
        task.waits();
        from.take();
        docs.change();
        if shutdown {
            control.shutdown()
        } else {
            to.end()
        }
        let ended = if shutdown { Ended::Shutdown } else { Ended::EndOfInput };
        assert_eq!(task.finish().unwrap(), ended);
        let last = messages(&from.take());
        assert_eq!((last.len(), &last[0]), (2, &tagged(1, TOOLS, json!({}))));
        assert_eq!((&last[1]["id"], &last[1]["result"]["resultType"]), (&json!(1), &json!("complete")));
        assert!(from.has_ended());
    }
}
