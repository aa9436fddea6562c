//! Extensions: declared, active where both sides declared them, their methods' code like any other; and trace context.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_server::testing::{Client, block_on};
use mcp_server::{App, CallError, Ctx, Extension, Json, Progress, Revision, Server, State, Tool, Value, json};
use serde::{Deserialize, Serialize};

const WHEEL: &str = "com.example/wheel";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spin {
    times: u32,
}

#[derive(Serialize)]
struct Spun {
    degrees: u32,
}

#[derive(Default)]
struct Total(AtomicU32);

fn wheel() -> Extension {
    Extension::new(WHEEL)
        .settings(json!({"fastest": 10}))
        .method("wheel/spin", |total: State<Total>, spin: Spin| {
            total.0.0.fetch_add(spin.times, Ordering::Relaxed);
            Json(Spun { degrees: 360 * spin.times })
        })
        .method("wheel/look", async |ctx: Ctx, progress: Progress| {
            progress.send(1, 1);
            let settings = ctx.peer().capabilities.extension(WHEEL).map(str::to_owned);
            let meta: Value = serde_json::from_slice(ctx.meta()).unwrap_or_default();
            json!({"client": settings, "method": ctx.name(), "own": meta["com.acme/x"], "_meta": {"com.acme/y": 1, "dev.mcp/z": 2}})
        })
        .method("wheel/later", || json!({"resultType": "com.example/later", "id": 7}))
        .method("wheel/stop", |why: Value| match why["why"].as_str() {
            Some("list") => Ok(json!([1])),
            Some("panic") => panic!("it burst"),
            Some("gone") => Err(CallError::not_found()),
            Some("hidden") => Err(std::io::Error::other("the password is 1234").into()),
            Some("ask") => Err(CallError::ask([("k", mcp_server::question::Question::Roots)], "")),
            _ => Err(CallError::new("say why")),
        })
        .method("wheel/rest", || ())
}

fn server() -> Server {
    Server::new("app", "1.0.0").state(Total::default())
}

fn app(extension: Extension) -> App {
    server().extension(extension).build().unwrap()
}

fn able() -> Value {
    json!({"extensions": {WHEEL: {"slow": true}}})
}

fn client(app: &App) -> Client {
    Client::builder(app).modern().capabilities(able()).connect()
}

#[test]
fn none_is_declared_by_default_ext_3() {
    block_on(async {
        let app = server().build().unwrap();
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            let client = Client::builder(&app).revision(revision).connect();
            let capabilities = &client.server()["capabilities"];
            assert!(capabilities["tools"].is_object(), "{capabilities}");
            assert!(capabilities.get("extensions").is_none() && capabilities.get("experimental").is_none());
        }
    });
}

#[test]
fn it_is_declared_with_its_settings_and_to_sessions_only_if_it_says_so_ext_1_shim_12() {
    block_on(async {
        let declared = |app: &App, revision| {
            Client::builder(app).revision(revision).connect().server()["capabilities"]["extensions"].clone()
        };
        let (plain, legacy) = (app(wheel()), app(wheel().legacy()));
        let settings = json!({WHEEL: {"fastest": 10}});
        assert_eq!(declared(&plain, Revision::MODERN), settings);
        assert_eq!(declared(&plain, Revision::V2025_11_25), Value::Null);
        assert_eq!(declared(&legacy, Revision::V2025_11_25), settings);
        assert_eq!(declared(&legacy, Revision::V2025_06_18), Value::Null);

        let spin = json!({"times": 1});
        for (app, revision, served) in [
            (&plain, Revision::V2025_11_25, false),
            (&legacy, Revision::V2025_11_25, true),
            (&legacy, Revision::V2025_06_18, false),
        ] {
            let mut client = Client::builder(app).revision(revision).capabilities(able()).connect();
            let answer = client.request("wheel/spin", &spin).await;
            assert_eq!(answer.fault(), (!served).then_some(-32601), "{revision}");
        }
        // A session without it on the client's side.
        let mut client = Client::builder(&legacy).revision(Revision::V2025_11_25).connect();
        client.request("wheel/spin", &spin).await.assert_fault(-32601);
    });
}

#[test]
fn a_tool_sees_the_extensions_that_a_session_s_client_declared_shim_12() {
    block_on(async {
        let look = |ctx: Ctx| format!("{:?}", ctx.peer().capabilities.extension("io.modelcontextprotocol/ui"));
        let app = server().tool(Tool::new("look").description("Looks.").run(look)).build().unwrap();
        let ui = json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": []}}});
        let mut client = Client::builder(&app).revision(Revision::V2025_11_25).capabilities(ui).connect();
        client.call("look", ()).await.assert_text(r#"Some("{\"mimeTypes\":[]}")"#);
    });
}

#[test]
fn its_methods_run_for_who_declared_it_and_others_are_told_what_is_missing_ext_2() {
    block_on(async {
        let app = app(wheel());
        let mut able = client(&app);
        able.request("wheel/spin", json!({"times": 2})).await.assert_at("/result/degrees", 720);
        able.request("wheel/rest", ()).await.assert_at("/result/resultType", "complete");
        able.request("wheel/none", ()).await.assert_fault(-32601);

        let mut other = Client::builder(&app).modern().connect();
        let answer = other.request("wheel/spin", json!({"times": 2})).await;
        answer
            .assert_fault(-32021)
            .assert_at("/error/data", json!({"requiredCapabilities": {"extensions": {WHEEL: {}}}}));
        // Nothing else of it reaches that client either.
        other.request("wheel/later", ()).await.assert_fault(-32021);
    });
}

#[test]
fn a_method_gets_its_params_its_meta_and_the_client_s_settings_base_22() {
    block_on(async {
        let app = app(wheel());
        let mut client = client(&app);
        let answer = client.request("wheel/look", ()).meta("com.acme/x", json!({"a": 1})).await;
        answer.assert_at("/result/client", r#"{"slow":true}"#).assert_at("/result/method", "wheel/look");
        answer.assert_at("/result/own", json!({"a": 1}));
        // `_meta` is no part of `params`: the type takes no unknown fields.
        let answer = client.request("wheel/spin", json!({"times": 1})).meta("com.acme/x", 1).await;
        answer.assert_at("/result/degrees", 360);
        let lacking = client.request("wheel/spin", ()).await;
        lacking.assert_fault(-32602).assert_fault_contains("missing field `times`");
        let wrong = client.request("wheel/spin", json!({"times": "x"})).await;
        wrong.assert_fault(-32602).assert_fault_contains("`params`: invalid type");
    });
}

#[test]
fn a_type_of_result_and_keys_of_its_own_reach_who_declared_it_ext_4_base_21() {
    block_on(async {
        let app = app(wheel().legacy());
        let mut modern = client(&app);
        modern.request("wheel/later", ()).await.assert_at("/result/resultType", "com.example/later");
        let meta = modern.request("wheel/look", ()).await.json()["result"]["_meta"].clone();
        assert_eq!((&meta["com.acme/y"], meta.get("dev.mcp/z")), (&json!(1), None));
        let mut legacy = Client::builder(&app).revision(Revision::V2025_11_25).capabilities(able()).connect();
        assert_eq!(legacy.request("wheel/later", ()).await.json()["result"], json!({"id": 7}));
    });
}

#[test]
fn what_goes_wrong_in_a_method_is_an_error_of_the_protocol() {
    block_on(async {
        let app = app(wheel());
        let mut client = client(&app);
        let cases = [
            ("list", -32603, "Internal error: the method failed"),
            ("panic", -32603, "Internal error: the method panicked"),
            ("hidden", -32603, "Internal error: the method failed"),
            ("ask", -32603, "Internal error: the method failed"),
            ("gone", -32602, "Not found"),
            ("else", -32603, "say why"),
        ];
        for (why, code, message) in cases {
            let answer = client.request("wheel/stop", json!({"why": why})).await;
            answer.assert_fault(code).assert_at("/error/message", message);
        }
    });
}

#[test]
fn a_handler_reads_the_trace_context_of_its_request_base_23() {
    block_on(async {
        let trace = |ctx: Ctx| ctx.trace().trace_id().unwrap_or("none").to_owned();
        let app = server().tool(Tool::new("trace").description("Tells the trace.").run(trace)).build().unwrap();
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            let mut client = Client::builder(&app).revision(revision).connect();
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            let answer = client.call("trace", ()).meta("traceparent", parent).await;
            answer.assert_text("0af7651916cd43dd8448eb211c80319c");
            client.call("trace", ()).meta("traceparent", "00-broken").await.assert_text("none");
        }
    });
}

#[test]
fn its_state_is_the_server_s() {
    block_on(async {
        let total = Arc::new(Total::default());
        let app = Server::new("app", "1.0.0").shared_state(Arc::clone(&total)).extension(wheel()).build().unwrap();
        client(&app).request("wheel/spin", json!({"times": 3})).await.assert_ok();
        assert_eq!(total.0.load(Ordering::Relaxed), 3);
    });
}

#[test]
fn what_is_wrong_with_it_is_told_when_the_server_is_built_ext_1_ext_4() {
    let build = |extension: Extension| server().extension(extension).build().unwrap_err().to_string();
    assert!(build(Extension::new("tasks")).contains("an extension's id needs a prefix, such as `com.example/`"));
    assert!(build(wheel().settings(json!(1))).contains("must be the text of a JSON object"));
    assert!(build(wheel().method("tools/call", || ())).contains("`tools/call` belongs to the protocol"));
    assert!(build(wheel().method("wheel/spin", || ())).contains("`wheel/spin` is empty or declared twice"));
    let twice = server().extension(wheel()).extension(Extension::new(WHEEL)).build().unwrap_err().to_string();
    assert!(twice.contains("declared twice"), "{twice}");
    let tasks = build(Extension::new("io.modelcontextprotocol/tasks").legacy());
    assert!(tasks.contains("SHIM-12"), "{tasks}");
    let lacking = Server::new("app", "1.0.0").extension(wheel()).build().unwrap_err().to_string();
    assert!(lacking.contains("`wheel/spin`") && lacking.contains(".state(..)"), "{lacking}");
}

#[test]
fn an_experimental_capability_is_told_to_every_revision_ext_4() {
    let app = server().experimental("a \"b\"", json!({"x": 1})).experimental("c", json!({})).build().unwrap();
    for revision in Revision::ALL {
        let client = Client::builder(&app).revision(revision).connect();
        let expected = json!({"a \"b\"": {"x": 1}, "c": {}});
        assert_eq!(client.server()["capabilities"]["experimental"], expected, "{revision}");
    }
    let wrong = server().experimental("c", json!(1)).experimental("c", json!({})).build().unwrap_err().to_string();
    assert!(wrong.contains("JSON object") && wrong.contains("declared twice"), "{wrong}");
}
