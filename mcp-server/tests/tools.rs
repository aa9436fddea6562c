//! What a tool's code may take and return, and what becomes of it.

#![cfg(feature = "tokio")]

mod common;

use common::{Client, text};
use mcp_server::schemars::{self, JsonSchema};
use mcp_server::{CallError, Code, Content, Ctx, Fault, Json, Level, Server, Tool, ToolAnswer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i32,
    b: i32,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i32,
}

fn server() -> Server {
    Server::new("test", "1")
}

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

async fn later(args: Echo) -> String {
    tokio::task::yield_now().await;
    args.message
}

fn free(args: Echo) -> String {
    args.message
}

#[tokio::test]
async fn code_is_a_closure_or_function_with_or_without_context_and_arguments() {
    let prefix = String::from("moved: ");
    let mut client = Client::of(
        server()
            .tool(tool("nothing").run(|| "nothing"))
            .tool(tool("nothing_later").run(|| async { "nothing later" }))
            .tool(tool("arguments").run(move |args: Echo| format!("{prefix}{}", args.message)))
            .tool(tool("async_closure").run(async |args: Echo| args.message))
            .tool(tool("function").run(free))
            .tool(tool("async_function").run(later))
            .tool(tool("context").run(|ctx: Ctx| format!("{}", ctx.peer().revision)))
            .tool(tool("both").run(|ctx: Ctx, args: Add| format!("{} {} {}", ctx.id().0 > 0, args.a, args.b)))
            .tool(tool("both_later").run(|_: Ctx, args: Echo| async move { args.message }))
            .tool(tool("blocking").run_blocking(|args: Echo| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                args.message
            }))
            .tool(tool("blocking_context").run_blocking(|ctx: Ctx| ctx.is_cancelled()))
            .tool(tool("value").run(|args: Value| args["message"].to_string())),
    );
    let message = json!({"message": "m"});
    for (name, arguments, said) in [
        ("nothing", json!({}), "nothing"),
        ("nothing_later", json!({}), "nothing later"),
        ("arguments", message.clone(), "moved: m"),
        ("async_closure", message.clone(), "m"),
        ("function", message.clone(), "m"),
        ("async_function", message.clone(), "m"),
        ("context", json!({}), "2026-07-28"),
        ("both", json!({"a": 1, "b": 2}), "true 1 2"),
        ("both_later", message.clone(), "m"),
        ("blocking", message.clone(), "m"),
        ("blocking_context", json!({}), "false"),
        ("value", message.clone(), "\"m\""),
    ] {
        let response = client.call(name, arguments).await;
        assert_eq!(text(&response), said, "{name}");
        assert!(response["result"].get("isError").is_none_or(|error| error == false), "{response}");
    }
}

#[tokio::test]
async fn returned_values_become_content_tool_7() {
    let mut client = Client::of(
        server()
            .tool(tool("unit").run(|| ()))
            .tool(tool("none").run(|| None::<String>))
            .tool(tool("number").run(|| 1.5))
            .tool(tool("bool").run(|| true))
            .tool(tool("some").run(|| Some("some")))
            .tool(tool("blocks").run(|| vec![Content::text("a"), Content::image(&b"png"[..], "image/png")]))
            .tool(tool("answer").run(|| ToolAnswer::text("whole"))),
    );
    for name in ["unit", "none"] {
        assert_eq!(client.call(name, json!({})).await["result"]["content"], json!([]), "{name}");
    }
    for (name, said) in [("number", "1.5"), ("bool", "true"), ("some", "some"), ("answer", "whole")] {
        assert_eq!(text(&client.call(name, json!({})).await), said);
    }
    let blocks = client.call("blocks", json!({})).await;
    assert_eq!(blocks["result"]["content"][1], json!({"type": "image", "data": "cG5n", "mimeType": "image/png"}));
}

#[tokio::test]
async fn a_structured_result_comes_with_its_schema_and_as_text_tool_11_tool_12() {
    let mut client = Client::of(server().tool(tool("add").run(|args: Add| Json(Sum { sum: args.a + args.b }))).tool(
        tool("try").run(|args: Add| match args.a.checked_add(args.b) {
            Some(sum) => Ok(Json(Sum { sum })),
            None => Err("the sum is too large"),
        }),
    ));
    let schema = json!({
        "type": "object",
        "properties": {"sum": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX}},
        "required": ["sum"],
    });
    for name in ["add", "try"] {
        assert_eq!(client.listed(name).await["outputSchema"], schema);
        let response = client.call(name, json!({"a": 2, "b": 3})).await;
        assert_eq!(response["result"]["structuredContent"], json!({"sum": 5}));
        assert_eq!(serde_json::from_str::<Value>(text(&response)).unwrap(), json!({"sum": 5}));
    }
    let failed = client.call("try", json!({"a": i32::MAX, "b": 1})).await;
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"].get("structuredContent"), None);
}

#[tokio::test]
async fn an_error_is_shown_or_hidden_or_a_fault_as_its_type_says_tool_10() {
    let hidden = || -> Result<String, CallError> { Ok(std::fs::read_to_string("/no/such/file/at/all")?) };
    let of_anyhow = || -> Result<(), CallError> {
        let load = || anyhow::Context::context(std::fs::read("/no/such/file/at/all"), "secret");
        load().map_err(CallError::hidden)?;
        Ok(())
    };
    let boxed = || -> Result<(), CallError> {
        let load = || -> Result<(), Box<dyn std::error::Error + Send + Sync>> { Err("secret".into()) };
        load().map_err(CallError::hidden)
    };
    let fault = || -> Result<(), CallError> {
        Err(CallError::fault(Fault::new(Code::application(403).expect("not reserved"), "Missing scope: write")))
    };
    let mut client = Client::of(
        server()
            .tool(tool("text").run(|| Err::<(), _>("no such city")))
            .tool(tool("display").run(|| "x".parse::<u8>().map_err(CallError::new)))
            .tool(tool("new").run(|| Err::<(), _>(CallError::new("say more"))))
            .tool(tool("anyhow").run(|| Err::<(), _>(CallError::new(anyhow::anyhow!("no such street")))))
            .tool(tool("hidden").run(hidden))
            .tool(tool("hidden_anyhow").run(of_anyhow))
            .tool(tool("hidden_box").run(boxed))
            .tool(tool("hidden_text").run(|| Err::<(), _>(CallError::hidden("secret"))))
            .tool(tool("fault").run(fault)),
    );
    for (name, said) in [
        ("text", "no such city"),
        ("display", "invalid digit found in string"),
        ("new", "say more"),
        ("anyhow", "no such street"),
        ("hidden", "The tool failed with an internal error."),
        ("hidden_anyhow", "The tool failed with an internal error."),
        ("hidden_box", "The tool failed with an internal error."),
        ("hidden_text", "The tool failed with an internal error."),
    ] {
        let response = client.call(name, json!({})).await;
        assert_eq!(response["result"]["isError"], true, "{response}");
        assert_eq!(text(&response), said, "{name}");
        assert_eq!(response["result"]["content"].as_array().map(Vec::len), Some(1), "{response}");
    }
    let response = client.call("fault", json!({})).await;
    assert_eq!(response["error"], json!({"code": 403, "message": "Missing scope: write"}));
}

#[tokio::test]
async fn a_panic_is_an_error_to_its_caller_alone_and_its_text_stays_here_tool_10() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("secret in a destructor");
        }
    }
    let mut client = Client::of(
        server()
            .tool(tool("plain").run(|| -> String { panic!("secret") }))
            .tool(tool("later").run(|| async {
                if true {
                    panic!("secret {}", 1)
                }
            }))
            .tool(tool("after_a_while").run(|| async {
                tokio::task::yield_now().await;
                if true {
                    panic!("secret")
                }
            }))
            .tool(tool("blocking").run_blocking(|| -> String { panic!("secret") }))
            .tool(tool("destructor").run(|| async {
                let _loud = Loud;
                tokio::task::yield_now().await;
            }))
            .tool(tool("echo").run(free)),
    );
    for name in ["plain", "later", "after_a_while", "blocking", "destructor"] {
        let response = client.call(name, json!({})).await;
        assert_eq!(response["error"]["code"], -32603, "{response}");
        assert_eq!(response["error"]["message"], "Internal error: the tool panicked");
        assert!(!response.to_string().contains("secret"), "{response}");
        assert_eq!(text(&client.call("echo", json!({"message": "still here"})).await), "still here");
    }
}

#[tokio::test]
async fn a_cancelled_call_whose_destructor_panics_harms_nobody_canc_2() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let mut client = Client::of(server().tool(tool("echo").run(free)).tool(tool("wait").run(|| async {
        let _loud = Loud;
        std::future::pending::<()>().await;
    })));
    let id = client.request("tools/call", json!({"name": "wait"})).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    assert_eq!(text(&client.call("echo", json!({"message": "still here"})).await), "still here");
}

#[tokio::test]
async fn slow_tools_hold_up_nobody_case_45() {
    let mut client = Client::of(
        server()
            .tool(tool("echo").run(free))
            .tool(tool("asleep").run(|| tokio::time::sleep(std::time::Duration::from_secs(5))))
            .tool(tool("blocks").run_blocking(|| std::thread::sleep(std::time::Duration::from_millis(500)))),
    );
    client.request("tools/call", json!({"name": "asleep"})).await;
    let blocks = client.request("tools/call", json!({"name": "blocks"})).await;
    assert_eq!(text(&client.call("echo", json!({"message": "m"})).await), "m", "it overtakes both");
    assert_eq!(client.next().await["id"], blocks);
}

#[tokio::test]
async fn progress_comes_before_the_answer_and_only_if_asked_for_prog_1_case_61_case_62() {
    let mut client = Client::of(server().tool(tool("report").run(|ctx: Ctx| async move {
        for done in 1..=3 {
            ctx.progress().say(done, 3, "going on");
        }
        ctx.progress().is_wanted()
    })));
    let silent = client.call("report", json!({})).await;
    assert_eq!(text(&silent), "false");
    for token in [json!(5), json!("5")] {
        let meta = json!({"progressToken": token});
        let id = client.request_with("tools/call", json!({"name": "report"}), meta).await;
        let mut last = 0.0;
        loop {
            let message = client.next().await;
            if message["id"] == id {
                assert_eq!(text(&message), "true");
                break;
            }
            assert_eq!(message["method"], "notifications/progress");
            assert_eq!(message["params"]["progressToken"], token);
            assert_eq!(message["params"]["message"], "going on");
            let progress = message["params"]["progress"].as_f64().expect("a number");
            assert!(progress > last, "{message}");
            last = progress;
        }
        assert_eq!(last, 3.0, "the latest always comes");
    }
}

#[tokio::test]
async fn a_tool_logs_to_clients_that_ask_for_it_log_3() {
    let log = tool("log").logs().run(|ctx: Ctx| {
        ctx.log().info("text");
        ctx.log().named("part").send(Level::Error, json!({"n": 1}));
        ctx.log().debug("not wanted");
    });
    let mut client = Client::of(server().tool(log));
    assert_eq!(client.call("log", json!({})).await["result"]["content"], json!([]));
    let meta = json!({"io.modelcontextprotocol/logLevel": "info"});
    let id = client.request_with("tools/call", json!({"name": "log"}), meta).await;
    let first = client.next().await;
    assert_eq!(first["method"], "notifications/message");
    assert_eq!(first["params"]["level"], "info");
    assert_eq!(first["params"]["data"], "text");
    let second = client.next().await;
    assert_eq!(second["params"]["logger"], "part");
    assert_eq!(second["params"]["data"], json!({"n": 1}));
    assert_eq!(client.next().await["id"], id);
}

#[tokio::test]
async fn logging_is_offered_only_where_a_tool_logs() {
    for (app, offered) in [
        (server().tool(tool("quiet").run(|| ())), false),
        (server().tool(tool("loud").logs().run(|| ())), true),
        (server().logging(), true),
    ] {
        let mut client = Client::of(app);
        client.request("server/discover", json!({})).await;
        let capabilities = client.next().await["result"]["capabilities"].clone();
        assert_eq!(capabilities.get("logging").is_some(), offered, "{capabilities}");
        assert!(capabilities.get("tools").is_some(), "{capabilities}");
    }
}

/// Panics as it is dropped, but for while a panic is on its way: that would end the process.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("secret in a destructor");
        }
    }
}

#[tokio::test]
async fn what_a_removed_tool_owns_may_panic_as_it_goes_and_its_last_call_is_answered_tool_10() {
    let gate = std::sync::Arc::new(tokio::sync::Notify::new());
    let entered = std::sync::Arc::new(tokio::sync::Notify::new());
    let app = server().build().expect("it builds");
    let (gates, enters, mine) = (gate.clone(), entered.clone(), std::sync::Arc::new(Mine));
    app.add_tool(tool("mined").run(move || {
        let (gate, entered, _mine) = (gates.clone(), enters.clone(), &mine);
        async move {
            entered.notify_one();
            gate.notified().await;
            "answered"
        }
    }))
    .expect("it can be added");
    let mut client = Client::to(app.clone());
    client.request("tools/call", json!({"name": "mined"})).await;
    entered.notified().await;
    assert!(app.remove_tool("mined"));
    gate.notify_one();
    assert_eq!(text(&client.next().await), "answered");
    app.add_tool(tool("next").run(|| "next")).expect("and it goes on");
    assert_eq!(text(&client.call("next", json!({})).await), "next");
}

#[tokio::test]
async fn what_was_thrown_may_panic_as_it_is_dropped_tool_10() {
    let mut client = Client::of(
        server()
            .tool(tool("plain").run(|| -> String { std::panic::panic_any(Mine) }))
            .tool(tool("later").run(async || -> String { std::panic::panic_any(Mine) }))
            .tool(tool("pool").run_blocking(|| -> String { std::panic::panic_any(Mine) })),
    );
    for name in ["plain", "later", "pool"] {
        let response = client.call(name, json!({})).await;
        assert_eq!(response["error"]["message"], "Internal error: the tool panicked", "{name}: {response}");
    }
}
