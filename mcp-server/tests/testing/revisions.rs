//! All five revisions, what a client declares, who it is, and what it sends that it should not.

use std::sync::Arc;

use mcp_server::testing::{Client, block_on};
use mcp_server::{Ability, App, Caller, Ctx, Level, Log, Policy, Revision};
use serde_json::json;

use super::{Sum, failure, server, tool};

fn app() -> App {
    let whole = tool("whole")
        .title("Whole")
        .read_only(true)
        .needs(Ability::ElicitationForm)
        .run(|ctx: Ctx| format!("{} {:?}", ctx.peer().revision, ctx.peer().info.as_ref().map(|info| &*info.name)));
    let logs = tool("logs").run(|log: Log| {
        Level::ALL.into_iter().for_each(|level| {
            log.send(level, level.as_str());
        });
    });
    let who = tool("who").run(|caller: Caller| {
        let name = caller.principal.as_ref().map_or("nobody", |principal| principal.as_str());
        format!("{name}: {}", caller.scopes.iter().collect::<Vec<_>>().join("+"))
    });
    server().tool(whole).tool(logs).tool(who).build().expect("it can be built")
}

#[test]
fn every_revision_is_spoken_life_1_ver_1() {
    for revision in Revision::ALL {
        block_on(async {
            let mut client = Client::builder(app()).revision(revision).connect();
            assert_eq!(client.revision(), revision);
            let sum = client.call("add", json!({"a": 1, "b": 2})).await;
            sum.assert_text(r#"{"sum":3}"#);
            if revision >= Revision::V2025_06_18 {
                assert_eq!(sum.structured::<Sum>(), Sum { sum: 3 });
            }
            client.call("add", json!({"a": 1, "b": "x"})).await.assert_error_contains("`b`");
            client.call("fail", ()).await.assert_error_text("no such city");
            client.call("nowhere", ()).await.assert_fault(-32602);
            client.call("add", json!([1, 2])).await.assert_fault(-32602);
            client.request("no/such/method", ()).await.assert_fault(-32601);
            client.call("count", json!({"steps": 2})).await.assert_ok();
            let progress = client.take_progress();
            assert_eq!(progress.len(), 2, "{revision}");
            assert_eq!(progress[1].message.is_some(), revision > Revision::V2024_11_05);
            let name = if revision.era() == mcp_core::Era::Modern {
                client.server().pointer("/_meta/io.modelcontextprotocol~1serverInfo/name")
            } else {
                assert_eq!(client.server()["protocolVersion"], revision.as_str());
                client.server().pointer("/serverInfo/name")
            };
            assert_eq!(name, Some(&json!("test")), "{}", client.server());
        });
    }
}

#[test]
fn what_a_client_can_do_is_declared_in_every_revision_shim_11() {
    for revision in Revision::ALL {
        block_on(async {
            let mut unable = Client::builder(app()).revision(revision).connect();
            let refused = unable.call("whole", ()).await;
            if revision == Revision::MODERN {
                refused.assert_fault(-32021);
            } else {
                refused.assert_error_contains("elicitation");
            }
            let able = || Client::builder(app()).revision(revision);
            let said = format!("{revision} Some(\"test-client\")");
            let mut can = able().can(Ability::Sampling).can(Ability::ElicitationForm).connect();
            can.call("whole", ()).await.assert_text(&said);
            let mut declares = able().capabilities(json!({"elicitation": {}})).connect();
            declares.call("whole", ()).await.assert_text(&said);
            let mut named = able().can(Ability::ElicitationForm).client_info("me", "2").connect();
            named.call("whole", ()).await.assert_text(format!("{revision} Some(\"me\")"));
        });
    }
}

#[test]
fn logs_come_from_the_level_that_was_asked_for_log_2_log_3() {
    for revision in Revision::ALL {
        block_on(async {
            let modern = revision == Revision::MODERN;
            let mut client = Client::builder(app()).revision(revision).connect();
            client.call("logs", ()).await.assert_ok();
            assert_eq!(client.take_logs().len(), if modern { 0 } else { 7 }, "{revision}");
            client.log_level(Level::Error).await;
            client.call("logs", ()).await.assert_ok();
            assert_eq!(client.take_logs().iter().map(|log| log.level).collect::<Vec<_>>(), Level::ALL[4..]);
            if modern {
                client.call("logs", ()).log_level(Level::Emergency).await.assert_ok();
                assert_eq!(client.take_logs().len(), 1);
            }
            let mut curious = Client::builder(app()).revision(revision).log_level(Level::Debug).connect();
            curious.call("logs", ()).await.assert_ok();
            assert_eq!(curious.take_logs().len(), 8, "{revision}");
        });
    }
    let text = failure(|| {
        let quiet = mcp_server::Server::new("quiet", "1").tool(tool("quiet").run(|| ()));
        block_on(Client::new(quiet).log_level(Level::Debug));
    });
    assert!(text.starts_with("the log level cannot be set, asked at"), "{text}");
}

#[test]
fn the_caller_is_who_the_test_says() {
    for revision in [Revision::NEWEST_LEGACY, Revision::MODERN] {
        block_on(async {
            let mut nobody = Client::builder(app()).revision(revision).connect();
            nobody.call("who", ()).await.assert_text("nobody: ");
            let builder = Client::builder(app()).revision(revision).principal("ada").scopes("read write");
            let mut ada = builder.connect();
            ada.call("who", ()).await.assert_text("ada: read+write");
            assert_eq!(ada.caller().principal.as_ref().map(|principal| principal.as_str()), Some("ada"));
            let mut same = Client::builder(app()).revision(revision).caller(ada.caller().clone()).connect();
            same.call("who", ()).await.assert_text("ada: read+write");
        });
    }
}

#[test]
fn tools_are_listed_with_all_their_pages_tool_2() {
    for revision in Revision::ALL {
        block_on(async {
            let mut policy = Policy::default();
            policy.limits.page = 2;
            let many = server().policy(policy).tool(tool("whole").title("Whole").read_only(true).run(|| ()));
            let mut client = Client::builder(many).revision(revision).connect();
            let names: Vec<String> = client.list_tools().await.into_iter().map(|tool| tool.name).collect();
            assert_eq!(names, ["add", "fail", "count", "stuck", "whole"]);
            let add = client.tool("add").await;
            assert_eq!(add.description.as_deref(), Some("A tool of a test."));
            assert_eq!(add.input_schema["required"], json!(["a", "b"]));
            assert_eq!(add.output_schema.is_some(), revision >= Revision::V2025_06_18, "{revision}");
            let whole = client.tool("whole").await;
            assert_eq!(whole.title.is_some(), revision >= Revision::V2025_06_18, "{revision}");
            let hint = (revision > Revision::V2024_11_05).then_some(true);
            assert_eq!(whole.annotations["readOnlyHint"].as_bool(), hint, "{revision}");
            assert_eq!((&whole.json["name"], whole.output_schema), (&json!("whole"), None));
        });
    }
    let text = failure(|| _ = block_on(Client::new(server()).tool("multiply")));
    assert!(text.starts_with("no tool `multiply` is listed, asked at"), "{text}");
    assert!(text.ends_with("there are: add, fail, count, stuck"), "{text}");
}

#[test]
fn a_revision_that_is_not_served_is_told_of_life_2_ver_4() {
    let old = || server().revisions([Revision::V2025_03_26]);
    assert_eq!(Client::new(old()).revision(), Revision::V2025_03_26, "the newest that there is");
    assert_eq!(Client::new(server().revisions([Revision::MODERN])).revision(), Revision::MODERN);
    let text = failure(|| _ = Client::builder(old()).revision(Revision::V2025_11_25).connect());
    assert_eq!(text, "the server does not serve 2025-11-25; it offers \"2025-03-26\"");
    let text = failure(|| _ = Client::builder(old()).modern().connect());
    assert!(text.starts_with("expected a success, got the fault"), "{text}");
}

#[test]
fn a_server_that_cannot_be_built_is_told_of_with_every_defect() {
    let text = failure(|| _ = Client::new(mcp_server::Server::new("", "1").tool(tool("no_code"))));
    assert!(text.starts_with("the server cannot be built, for 2 reasons:"), "{text}");
}

#[test]
fn anything_that_drives_as_a_handler_can_be_tested() {
    let mut client = Client::new(Arc::new(app()));
    block_on(client.call("add", json!({"a": 1, "b": 2}))).assert_ok();
    let erased: Arc<dyn mcp_core::drive::Handler> = Arc::new(app());
    block_on(Client::new(erased).call("add", json!({"a": 1, "b": 2}))).assert_ok();
    let app = app();
    for _ in 0..2 {
        block_on(Client::new(&app).call("add", json!({"a": 1, "b": 2}))).assert_ok();
    }
}

#[test]
fn hostile_input_is_answered_as_over_a_pipe_base_6() {
    block_on(async {
        let mut policy = Policy::default();
        policy.limits.line = 1000;
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let gone = std::sync::Mutex::new(Some(gone));
        let wait = tool("wait").run(move || {
            let gone = gone.lock().unwrap().take();
            async move { gone.unwrap().await.map(|()| "waited").map_err(|error| error.to_string()) }
        });
        let mut client = Client::new(server().policy(policy).tool(wait));
        for (bytes, code) in [
            (&b"{\"jsonrpc\": 2.0"[..], -32700),
            (b"\xff\xfe", -32700),
            (b"[]", -32600),
            (&[b'x'; 2000], -32600),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", -32600),
        ] {
            let answers = client.send_raw(bytes).await;
            assert_eq!(answers.len(), 1, "{}", String::from_utf8_lossy(bytes));
            answers[0].assert_fault(code);
        }
        let ping = r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#;
        assert_eq!(client.send_raw(format!("{ping}\r\n\n{ping}")).await.len(), 2, "two lines and an empty one");
        assert!(client.send_raw(r#"{"jsonrpc":"2.0","method":"no/such/notification"}"#).await.is_empty());
        assert!(client.send_raw(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#).await.is_empty(), "nobody asked");
        client.notify("notifications/unheard-of", json!({"x": 1}));
        let slow = r#"{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"wait"}}"#;
        assert!(client.send_raw(slow).await.is_empty(), "it waits");
        go.send(()).unwrap();
        client.settle().await;
        client.take_answers()[0].assert_text("waited").assert_at("/id", "s");
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
    });
}

#[test]
fn batches_are_answered_in_their_revision_batch_1() {
    block_on(async {
        let mut client = Client::builder(server()).revision(Revision::V2025_03_26).connect();
        let call = |id: &str| {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                   "params": {"name": "count", "arguments": {"steps": 2}}})
        };
        let answers = client.send_raw(json!([call("a"), call("b")]).to_string()).await;
        assert_eq!(answers.iter().map(|answer| &answer.json()["id"]).collect::<Vec<_>>(), ["a", "b"]);
        answers.iter().for_each(|answer| _ = answer.assert_text("counted to 2"));
    });
}

#[test]
fn a_handshake_can_be_made_by_hand_life_6() {
    block_on(async {
        let mut client = Client::builder(server()).connect_silently();
        assert!(client.server().is_null());
        client.request("tools/list", ()).await.assert_fault_contains("protocolVersion");
        client.request("initialize", json!({"protocolVersion": 1})).await.assert_fault(-32602);
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        client.request("initialize", &hello).await.assert_at("/result/protocolVersion", "2025-06-18");
        client.request("initialize", &hello).await.assert_fault(-32600);
        client.notify("notifications/initialized", ());
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
    });
}
