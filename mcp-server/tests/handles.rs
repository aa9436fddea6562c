//! State that outlives a call is named by a handle, and the handle is for whom it was made.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_server::schemars::{self, JsonSchema};
use mcp_server::testing::{Client, block_on};
use mcp_server::{App, CallError, Caller, Ctx, Extract, Policy, Server, State, Tool};
use serde::Deserialize;
use serde_json::json;

/// What is in a basket, and whose it is.
type Basket = (Option<String>, Vec<String>);

/// Baskets by handle, and how many bits were drawn for handles.
#[derive(Default)]
struct Baskets(Mutex<HashMap<String, Basket>>, AtomicU64);

#[derive(Deserialize, JsonSchema)]
struct Add {
    basket: String,
    item: String,
}

fn owner(caller: &Caller) -> Option<String> {
    caller.principal.as_ref().map(|principal| principal.as_str().to_owned())
}

fn open(State(baskets): State<Baskets>, caller: Caller) -> String {
    // A server of the world outside would draw it: 128 random bits.
    let handle = format!("basket-{:032x}", baskets.1.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed));
    baskets.0.lock().unwrap().insert(handle.clone(), (owner(&caller), Vec::new()));
    handle
}

fn add(State(baskets): State<Baskets>, caller: Caller, Add { basket, item }: Add) -> Result<String, &'static str> {
    match baskets.0.lock().unwrap().get_mut(&basket) {
        Some((whose, items)) if *whose == owner(&caller) => {
            items.push(item);
            Ok(items.join(", "))
        }
        _ => Err("There is no such basket: open one, and use it within the hour."),
    }
}

fn app() -> App {
    let tool = |name: &str| Tool::new(name).description("A tool of a test.");
    let server = Server::new("test", "1").state(Baskets::default());
    server.tool(tool("open").run(open)).tool(tool("add").run(add)).build().expect("it builds")
}

fn client(app: &App, who: &str) -> Client {
    Client::builder(app).modern().principal(who).connect()
}

#[test]
fn a_handle_is_good_on_any_connection_of_its_owner_base_19() {
    let app = app();
    block_on(async {
        let [mut first, mut second] = ["ann", "ann"].map(|who| client(&app, who));
        let [one, two] = [first.call("open", ()).await.text(), first.call("open", ()).await.text()];
        // Two conversations, interleaved over two connections.
        second.call("add", json!({"basket": one, "item": "tea"})).await.assert_text("tea");
        first.call("add", json!({"basket": two, "item": "salt"})).await.assert_text("salt");
        first.call("add", json!({"basket": one, "item": "milk"})).await.assert_text("tea, milk");
        first.close().await;
        second.call("add", json!({"basket": two, "item": "oil"})).await.assert_text("salt, oil");
    });
}

#[test]
fn a_handle_of_somebody_else_and_one_of_nobody_are_the_same_tool_30() {
    let app = app();
    block_on(async {
        let mut ann = client(&app, "ann");
        let basket = ann.call("open", ()).await.text();
        ann.call("add", json!({"basket": basket, "item": "tea"})).await.assert_ok();
        let mut bob = client(&app, "bob");
        let foreign = bob.call("add", json!({"basket": basket, "item": "x"})).await;
        let unknown = bob.call("add", json!({"basket": "basket-0", "item": "x"})).await;
        assert_eq!(foreign.assert_error().text(), unknown.assert_error().text());
        ann.call("add", json!({"basket": basket, "item": "milk"})).await.assert_text("tea, milk");
    });
}

#[test]
fn a_tool_sees_only_arguments_that_fit_and_calls_are_limited_tool_17() {
    let mut policy = Policy::default();
    policy.limits.calls = 2;
    let tool = |name: &str| Tool::new(name).description("A tool of a test.");
    let never = tool("never").run(|Add { .. }: Add| -> &str { unreachable!("the arguments do not fit") });
    let server = Server::new("test", "1").policy(policy).tool(never);
    let server = server.tool(tool("waits").run(std::future::pending::<()>));
    block_on(async {
        let mut client = Client::new(server);
        for arguments in [json!({}), json!({"basket": 1, "item": "x"}), json!({"basket": "b", "item": null})] {
            client.call("never", arguments).await.assert_error();
        }
        let waiting = [client.start("waits", ()), client.start("waits", ())];
        client.call("waits", ()).await.assert_fault(-32603);
        for call in waiting {
            client.cancel(call);
        }
        client.call("never", json!({})).await.assert_error();
    });
}

/// How often each principal has called.
#[derive(Default)]
struct Spent(Mutex<HashMap<Option<String>, u32>>);

/// A call that its caller may still make.
struct Within;

impl Extract for Within {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        let State(spent) = State::<Spent>::extract(ctx)?;
        let mut spent = spent.0.lock().unwrap();
        let calls = spent.entry(owner(ctx.caller())).or_default();
        *calls += 1;
        if *calls > 2 { Err(CallError::new("Too many calls: try again in a minute.")) } else { Ok(Self) }
    }
}

#[test]
fn a_rule_of_ones_own_limits_the_calls_of_each_caller_and_the_code_is_not_entered_tool_17_sec_2() {
    let entered = std::sync::Arc::new(AtomicU64::new(0));
    let count = std::sync::Arc::clone(&entered);
    let limited = Tool::new("limited").description("A tool of a test.").run(move |_: Within| {
        count.fetch_add(1, Ordering::Relaxed);
        "done"
    });
    let app = Server::new("test", "1").state(Spent::default()).tool(limited).build().expect("it builds");
    block_on(async {
        let [mut ann, mut also_ann, mut bob] = ["ann", "ann", "bob"].map(|who| client(&app, who));
        ann.call("limited", ()).await.assert_text("done");
        also_ann.call("limited", ()).await.assert_text("done");
        ann.call("limited", ()).await.assert_error_text("Too many calls: try again in a minute.");
        also_ann.call("limited", ()).await.assert_error_text("Too many calls: try again in a minute.");
        bob.call("limited", ()).await.assert_text("done");
    });
    assert_eq!(entered.load(Ordering::Relaxed), 3);
}
