//! Tools that come and go while the server serves.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Client, text};
use mcp_server::{App, CallError, Ctx, Prompt, Resource, ResourceTemplate, Server, Tool, Value, json, testing};

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

fn app() -> App {
    Server::new("test", "1").tool(tool("first").run(|| "first")).build().expect("it builds")
}

#[tokio::test]
async fn a_tool_that_was_added_is_listed_and_called_and_one_that_was_removed_is_unknown_tool_16() {
    let app = app();
    let mut client = Client::to(app.clone());
    app.add_tool(tool("second").run(|| "second")).expect("it can be added");
    assert_eq!(app.tool_names(), ["first", "second"]);
    assert_eq!(text(&client.call("second", json!({})).await), "second");
    assert!(app.remove_tool("first"));
    assert!(!app.remove_tool("first"), "it is gone");
    let gone = client.call("first", json!({})).await;
    assert_eq!(gone["error"]["message"], "Unknown tool: first");
    assert_eq!(app.tool_names(), ["second"]);
}

#[test]
fn what_is_wrong_with_a_change_is_told_at_once_and_changes_nothing() {
    let app = app();
    let error = app
        .edit(|tools| {
            tools.remove("first");
            tools.add(tool("no_code"));
            tools.add(Tool::new("silent").run(|| ()));
        })
        .expect_err("two mistakes");
    let rules: Vec<_> = error.defects().iter().map(|defect| (&*defect.entry, defect.rule)).collect();
    assert_eq!(rules, [("no_code", "TOOL-6"), ("silent", "TOOL-3")]);
    assert_eq!(app.tool_names(), ["first"], "also what was right about it was not done");
    // One place is named once, two are both named.
    let elsewhere = Tool::new("first").description("A tool of a test.");
    for (again, places) in [(tool("first"), 1), (elsewhere, 2)] {
        let text = app.add_tool(again.run(|| ())).expect_err("there is one").to_string();
        assert_eq!(text.matches("mcp-server/tests/changing.rs:").count(), places, "{text}");
    }
}

#[test]
#[should_panic(expected = "use the `Edit` that `App::edit` gives")]
fn a_change_within_a_change_is_told_and_does_not_wait_for_itself() {
    let app = app();
    let _ = app.edit(|_| drop(app.add_tool(tool("second").run(|| "second"))));
}

/// What a tool's code owns.
struct Owned<F: FnMut()>(F);

impl<F: FnMut()> Owned<F> {
    const fn is_there(&self) -> bool {
        true
    }
}

impl<F: FnMut()> Drop for Owned<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn what_a_tool_that_was_removed_owned_may_change_tools_as_it_goes() {
    let app = app();
    let same = app.clone();
    let owned = Owned(move || assert!(same.remove_tool("first")));
    app.add_tool(tool("second").run(move || owned.is_there())).expect("it can be added");
    assert!(app.remove_tool("second"));
    assert_eq!(app.tool_names(), Vec::<String>::new());
}

#[test]
fn clients_are_told_of_a_change_also_if_what_goes_with_it_panics_tool_16() {
    let app = app();
    let owned = Owned(|| panic!("it goes"));
    app.add_tool(tool("second").run(move || owned.is_there())).expect("it can be added");
    let mut client = testing::Client::new(&app);
    assert!(app.remove_tool("second"), "the panic stays within");
    testing::block_on(client.settle());
    assert!(client.transcript().to_string().contains("notifications/tools/list_changed"));
}

#[tokio::test]
async fn an_edit_may_replace_a_tool_by_another_of_its_name() {
    let app = app();
    let mut client = Client::to(app.clone());
    app.edit(|tools| {
        assert!(tools.remove("first"));
        tools.add(tool("first").run(|| "another"));
    })
    .expect("a replacement");
    assert_eq!(text(&client.call("first", json!({})).await), "another");
}

#[tokio::test]
async fn a_call_that_runs_goes_on_though_its_tool_is_removed_and_its_slot_taken() {
    let app = app();
    let gate = Arc::new(tokio::sync::Notify::new());
    let entered = Arc::new(tokio::sync::Notify::new());
    let (gates, enters) = (Arc::clone(&gate), Arc::clone(&entered));
    app.add_tool(tool("slow").run(move || {
        let (gate, entered) = (Arc::clone(&gates), Arc::clone(&enters));
        async move {
            entered.notify_one();
            gate.notified().await;
            "slow"
        }
    }))
    .expect("it can be added");
    let mut client = Client::to(app.clone());
    let slow = client.request("tools/call", json!({"name": "slow", "arguments": {}})).await;
    entered.notified().await;
    assert!(app.remove_tool("slow"));
    app.add_tool(tool("quick").run(|| "quick")).expect("it takes the place");
    assert_eq!(text(&client.call("quick", json!({})).await), "quick");
    gate.notify_one();
    let answer = client.next().await;
    assert_eq!((&answer["id"], text(&answer)), (&json!(slow), "slow"));
}

#[tokio::test]
async fn a_tool_may_add_tools_and_a_legacy_client_is_told_once_tool_16() {
    let app = app();
    let inner = app.clone();
    app.add_tool(tool("learn").run(move |_: Ctx, args: Names| {
        let learnt = inner.edit(|tools| args.names.iter().for_each(|name| tools.add(tool(name).run(|| "learnt"))));
        learnt.map_err(|error| error.to_string())
    }))
    .expect("it can be added");
    let mut client = Client::to(app);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }}))
        .await;
    let promised = client.next().await;
    assert_eq!(promised["result"]["capabilities"]["tools"], json!({"listChanged": true}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let call = |id: u32, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    client.send(&call(1, "learn", json!({"names": ["a", "b", "c"]}))).await;
    client.send(&call(2, "c", json!({}))).await;
    let said = [client.next().await, client.next().await, client.next().await];
    let told = said.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count();
    assert_eq!(told, 1, "{said:?}");
    let learnt = said.iter().find(|message| message["id"] == 2).expect("the second call is answered");
    assert_eq!(text(learnt), "learnt");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Names {
    names: Vec<String>,
}

fn prompt(name: &str) -> Prompt {
    Prompt::new(name).run(|| "x")
}

#[test]
fn one_edit_changes_all_kinds_and_tells_of_each_list_once_res_8_prompt_5() {
    testing::block_on(async {
        let app = Server::new("test", "1").offers_resources().offers_prompts().build().expect("it builds");
        let mut client = testing::Client::new(&app);
        app.edit(|edit| {
            edit.add_resource(Resource::new("a://1").text("1"));
            edit.add_resource(Resource::new("a://2").text("2"));
            edit.add_resource_template(ResourceTemplate::new("b://{v}").run(|v: String| v));
            edit.add_prompt(prompt("first"));
        })
        .expect("all of it can be added");
        let lists: Vec<String> = client.take_notices().iter().map(|notice| format!("{notice:?}")).collect();
        assert_eq!(lists, ["ResourcesChanged", "PromptsChanged"]);
        assert_eq!(app.resource_uris(), ["a://1", "a://2"]);
        assert_eq!((app.resource_templates(), app.prompt_names()), (vec!["b://{v}".into()], vec!["first".into()]));
        client.read("a://2").await.assert_text("2");
        client.read("b://x").await.assert_text("x");
        client.get_prompt("first", ()).await.assert_text("x");
        assert!(app.remove_resource("a://2") && !app.remove_resource("a://2"));
        assert!(app.remove_resource_template("b://{v}") && !app.remove_resource_template("b://{v}"));
        assert!(client.resources_changed() && !client.prompts_changed() && !client.tools_changed());
        assert!(app.remove_prompt("first") && !app.remove_prompt("first"));
        assert!(client.prompts_changed() && !client.resources_changed());
        client.read("a://2").await.assert_fault(-32002);
        client.read("b://x").await.assert_fault(-32002);
        client.get_prompt("first", ()).await.assert_fault(-32602);
        let listed: Vec<String> = client.list_resources().await.into_iter().map(|resource| resource.uri).collect();
        assert_eq!(listed, ["a://1"]);
        assert_eq!((client.list_resource_templates().await.len(), client.list_prompts().await.len()), (0, 0));
    });
}

#[test]
fn what_a_server_does_not_offer_cannot_be_added_to_it_and_the_error_says_why_life_12() {
    let app = app();
    let completed = || prompt("first").argument("a", "").complete_from("a", ["x"]);
    for (error, rule, remedy) in [
        (app.add_resource(Resource::new("a://1").text("1")), "RES-1", ".offers_resources()"),
        (app.add_resource_template(ResourceTemplate::new("a://{v}").run(|| "x")), "RES-1", ".offers_resources()"),
        (app.add_prompt(prompt("first")), "PROMPT-1", ".offers_prompts()"),
    ] {
        let error = error.expect_err("it is not offered");
        assert_eq!(error.defects().iter().map(|defect| defect.rule).collect::<Vec<_>>(), [rule]);
        assert!(error.to_string().contains(remedy), "{error}");
    }
    let app = Server::new("test", "1").prompt(prompt("other")).build().expect("it builds");
    let error = app.add_prompt(completed()).expect_err("completions are not offered");
    assert!(error.to_string().contains(".offers_completions()"), "{error}");
    app.add_prompt(prompt("first")).expect("prompts are");
    assert_eq!(app.prompt_names(), ["other", "first"]);
}

#[test]
fn code_of_one_kind_is_never_run_for_another_that_took_its_place() {
    testing::block_on(async {
        let waiting = ResourceTemplate::new("a://{v}").run(std::future::pending::<String>);
        let app = Server::new("test", "1").resource_template(waiting).offers_prompts().build().expect("it builds");
        let mut client = testing::Client::new(&app);
        let call = client.read("a://x").start();
        assert!(app.remove_resource_template("a://{v}"));
        app.add_prompt(prompt("next")).expect("it can be added");
        assert!(!client.is_answered(&call), "what runs goes on");
        client.read("a://x").await.assert_fault(-32002);
        client.get_prompt("next", ()).await.assert_text("x");
        assert!(client.cancel(call).is_none());
    });
}

#[test]
fn who_subscribed_is_told_of_new_contents_until_it_unsubscribes_res_7() {
    testing::block_on(async {
        let app = Server::new("test", "1")
            .resource(Resource::new("a://1").text("1"))
            .resource_template(ResourceTemplate::new("b://{v}").run(|v: String| v))
            .build()
            .expect("it builds");
        let mut client = testing::Client::new(&app);
        for uri in ["a://1", "b://x"] {
            app.resource_updated(uri);
            client.subscribe(uri).await.assert_at("/result", json!({}));
            client.subscribe(uri).await.assert_ok();
        }
        assert_eq!(client.take_updates(), Vec::<String>::new(), "it was not subscribed to");
        for uri in ["a://1", "b://x", "b://y", "c://unknown"] {
            app.resource_updated(uri);
        }
        assert_eq!(client.take_updates(), ["a://1", "b://x"]);
        client.unsubscribe("a://1").await.assert_at("/result", json!({}));
        app.resource_updated("a://1");
        assert_eq!(client.take_updates(), Vec::<String>::new());
        let mut modern = testing::Client::builder(&app).modern().connect();
        modern.subscribe("a://1").await.assert_fault(-32601);
    });
}

#[tokio::test]
async fn a_tool_changes_its_own_server_and_keeps_nothing_of_it_alive_tool_16() {
    struct Gone(Arc<AtomicBool>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let grow = tool("grow").run(|ctx: Ctx| {
        let app = ctx.app().ok_or_else(|| CallError::new("no server"))?;
        app.add_tool(tool("grown").run(|| "Here."))?;
        Ok::<_, CallError>(app.tool_names().join(" "))
    });
    let app = Server::new("grows", "1.0.0").state(Gone(Arc::clone(&gone))).tool(grow).build().unwrap();
    let mut client = testing::Client::new(app.clone());
    client.call("grow", ()).await.assert_text("grow grown");
    client.call("grown", ()).await.assert_text("Here.");
    drop((client, app));
    assert!(gone.load(Ordering::SeqCst), "what knows its server does not own it");
}
