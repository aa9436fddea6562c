//! Tools that are not listed: found by words, and called by the path of a direct call.

use mcp_server::ask::{Field, elicit};
use mcp_server::middleware::Next;
use mcp_server::testing::{Client, Reply, block_on};
use mcp_server::{Ability, CallError, Ctx, Focus, Param, Revision, Server, Tool, Value, json};

fn tool(name: &str) -> Tool {
    Tool::new(name)
        .description("A tool of a test.")
        .run(|ctx: Ctx| format!("{} with {:?}", ctx.tool(), ctx.arguments()))
}

fn client(server: Server) -> Client {
    Client::new(server)
}

async fn names(client: &mut Client, arguments: Value) -> Vec<String> {
    let found = client.call("discover_tools", arguments).await.structured_json().clone();
    let tools = found["tools"].as_array().expect("a list");
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

async fn listed(client: &mut Client) -> Vec<String> {
    client.list_tools().await.into_iter().map(|tool| tool.name).collect()
}

/// What is said of a call, directly and through the other tool.
async fn both(client: &mut Client, name: &str, arguments: Value) -> [String; 2] {
    let direct = client.call(name, arguments.clone()).await;
    let through = client.call("call_tool", json!({"name": name, "arguments": arguments})).await;
    [direct, through].map(|answer| format!("{} {}", answer.json()["error"], answer.json()["result"]))
}

#[test]
fn what_is_pinned_is_listed_and_the_rest_is_found_by_its_words_the_best_first() {
    let server = Server::new("test", "1")
        .focus(Focus::new(["pinned"]))
        .tool(tool("pinned"))
        .tool(tool("send_mail").description("Sends a letter to an address."))
        .tool(tool("archive").description("Puts mails away."))
        .tool(tool("createInvoice").title("Billing").param(Param::string("mailbox")))
        .tool(tool("secret_mail").unlisted());
    block_on(async {
        let mut client = client(server);
        assert_eq!(listed(&mut client).await, ["discover_tools", "call_tool", "pinned"]);
        assert_eq!(names(&mut client, json!({"query": "MAIL"})).await, ["send_mail", "archive", "createInvoice"]);
        assert_eq!(names(&mut client, json!({"query": "billing"})).await, ["createInvoice"]);
        assert_eq!(names(&mut client, json!({"query": "invoices to bill"})).await, ["createInvoice"]);
        assert_eq!(names(&mut client, json!({"query": "letter for an address"})).await[0], "send_mail");
        assert!(names(&mut client, json!({"query": "weather"})).await.is_empty());
        let all = ["pinned", "send_mail", "archive", "createInvoice"];
        assert_eq!(names(&mut client, json!({})).await, all, "in the order of registration");
        let some = client.call("discover_tools", json!({"limit": 1})).await.structured_json().clone();
        assert_eq!((some["more"].clone(), some["tools"].as_array().map(Vec::len)), (json!(3), Some(1)));
        assert!(some["note"].as_str().expect("a note").starts_with("3 more fit"));
        client.call("discover_tools", json!({"limit": 0})).await.assert_error_contains("`limit`");
        let found = client.call("discover_tools", json!({"query": "send"})).await.structured_json().clone();
        assert_eq!(found["tools"][0]["description"], "Sends a letter to an address.");
        assert_eq!(found["tools"][0]["inputSchema"]["type"], "object");
    });
}

#[test]
fn a_call_through_the_other_tool_is_answered_as_a_direct_one() {
    let strict = Tool::new("strict")
        .description("A tool of a test.")
        .param(Param::integer("n").required().min(1))
        .run(|arguments: Value| format!("{arguments}"));
    let failing = Tool::new("failing").description("Fails.").run(|| Err::<(), _>(CallError::new("it is broken")));
    let panicking = Tool::new("panicking").description("Panics.").run(|| -> String { panic!("as the test wants") });
    let server = Server::new("test", "1").focus(Focus::new(["strict"])).tool(strict).tool(failing).tool(panicking);
    block_on(async {
        let mut client = client(server);
        for (name, arguments) in [
            ("strict", json!({"n": 3})),
            ("strict", json!({"n": 0})),
            ("strict", json!({})),
            ("strict", json!({"n": 1, "more": true})),
            ("failing", json!({})),
            ("panicking", json!({})),
            ("unknown", json!({})),
        ] {
            let [direct, through] = both(&mut client, name, arguments).await;
            assert_eq!(direct, through, "{name}");
        }
        client.call("call_tool", json!({"arguments": {}})).await.assert_error_contains("`name`");
        client.call("call_tool", json!({"name": 1})).await.assert_error_contains("`name`");
        client
            .call("call_tool", json!({"name": "strict", "arguments": [1]}))
            .await
            .assert_error_contains("`arguments`");
        let [direct, through] = both(&mut client, "nothing", json!({})).await;
        assert_eq!(direct, through);
        client
            .call("call_tool", json!({"name": "call_tool", "arguments": {"name": "strict"}}))
            .await
            .assert_fault(-32602);
    });
}

#[test]
fn who_may_not_see_it_or_lacks_a_scope_is_told_the_same() {
    let server = || {
        Server::new("test", "1")
            .focus(Focus::new(["open"]))
            .tool(tool("open"))
            .tool(tool("scoped").scope("write"))
            .tool(tool("hidden").visible(|_, viewer| viewer.has_scope("admin")))
    };
    block_on(async {
        for (principal, scopes, sees) in [
            (None, "", &["open"][..]),
            (Some("ada"), "", &["open", "scoped"]),
            (Some("ada"), "write", &["open", "scoped"]),
            (Some("ada"), "write admin", &["open", "scoped", "hidden"]),
        ] {
            let builder = Client::builder(server());
            let mut client = match principal {
                Some(principal) => builder.principal(principal).scopes(scopes).connect(),
                None => builder.connect(),
            };
            assert_eq!(names(&mut client, json!({})).await, sees, "{principal:?} {scopes}");
            for name in ["open", "scoped", "hidden"] {
                let [direct, through] = both(&mut client, name, json!({})).await;
                assert_eq!(direct, through, "{name}: {principal:?} {scopes}");
            }
        }
    });
}

#[test]
fn its_middleware_runs_around_it_and_so_does_the_servers_once() {
    async fn seen(ctx: Ctx, next: Next) -> mcp_server::middleware::CallResult {
        ctx.progress().say(1, 1, ctx.tool());
        next.run().await
    }
    let own = tool("own").wrap(|_: Ctx, _: Next| async { Err(CallError::new("not today")) });
    let server = Server::new("test", "1").focus(Focus::new(["other"])).wrap(seen).tool(own).tool(tool("other"));
    block_on(async {
        let mut client = client(server);
        client.call("call_tool", json!({"name": "own"})).await.assert_error_contains("not today");
        let said: Vec<_> = client.take_progress().into_iter().filter_map(|progress| progress.message).collect();
        assert_eq!(said, ["own"]);
    });
}

#[test]
fn it_can_ask_and_is_run_again_with_the_answer_in_both_eras() {
    let asks = Tool::new("asks").description("Asks.").param(Param::string("what").required()).run(
        |ctx: Ctx, arguments: Value| {
            ctx.progress().count(1);
            let form = elicit("Sure?").field("word", Field::text().required());
            let answer = ctx.ask("sure", form)?.required()?;
            Ok::<_, CallError>(format!("{}: {:?}", arguments["what"], answer.text("word").unwrap_or_default()))
        },
    );
    let app = Server::new("test", "1").focus(Focus::new([""; 0])).tool(asks).build().expect("it can be built");
    block_on(async {
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
            let builder = Client::builder(&app).revision(revision).can(Ability::ElicitationForm);
            let mut client = builder.on_request(|_, _| Reply::accept(json!({"word": "yes"}))).connect();
            let call = json!({"name": "asks", "arguments": {"what": "that"}});
            client.call("call_tool", call).await.assert_text(r#""that": "yes""#);
            assert!(!client.take_progress().is_empty());
        }
    });
}

#[test]
fn names_that_do_not_exist_or_clash_are_build_errors() {
    let error = Server::new("test", "1").focus(Focus::new(["serach"])).tool(tool("search")).build().unwrap_err();
    assert!(error.to_string().contains("`serach`") && error.to_string().contains("Focus::new"), "{error}");
    let error =
        Server::new("test", "1").focus(Focus::new(["search"])).tool(tool("search")).tool(tool("call_tool")).build();
    assert!(error.unwrap_err().to_string().contains("call_tool"));
    let focus = Focus::new(["call_tool"]).discover_name("find").call_name("use");
    let mut client = client(Server::new("test", "1").focus(focus).tool(tool("call_tool")).tool(tool("other")));
    block_on(async {
        assert_eq!(listed(&mut client).await, ["find", "use", "call_tool"]);
        client.call("use", json!({"name": "other", "arguments": {"a": 1}})).await.assert_error_contains("`a`");
        client.call("use", json!({"name": "other"})).await.assert_ok();
    });
}

#[test]
fn tools_that_are_added_later_are_found_and_not_listed_and_a_name_that_is_taken_over_calls_nothing_else() {
    let app = Server::new("test", "1").focus(Focus::new(["one"])).tool(tool("one")).build().expect("it can be built");
    block_on(async {
        let mut client = Client::new(&app);
        app.add_tool(tool("two")).expect("it fits");
        assert_eq!(listed(&mut client).await, ["discover_tools", "call_tool", "one"]);
        assert_eq!(names(&mut client, json!({"query": "two"})).await, ["two"]);
        client.call("call_tool", json!({"name": "two"})).await.assert_ok();
        assert!(app.remove_tool("one"));
        app.add_tool(tool("one")).expect("it fits");
        assert_eq!(listed(&mut client).await, ["discover_tools", "call_tool", "one"], "it is pinned");
        assert!(app.remove_tool("call_tool"));
        let named = Tool::new("call_tool").description("Another.").param(Param::string("name")).run(|_: Value| "own");
        app.add_tool(named).expect("it fits");
        client.call("call_tool", json!({"name": "two"})).await.assert_text("own");
    });
}
