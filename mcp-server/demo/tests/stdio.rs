//! The demo over standard input and output.

mod common;

use common::{Pipe, modern};
use serde_json::{Value, json};

#[test]
fn a_legacy_client_lists_and_calls_case_43() {
    let mut pipe = Pipe::legacy();
    let id = pipe.request("tools/list", json!({}));
    let list = pipe.response(id)["result"]["tools"].clone();
    let names: Vec<&str> = list.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names[..4], ["echo", "add", "sleep", "panic"]);
    assert_eq!(
        pipe.call("echo", json!({"message": "Grüße \u{2028}\n\r\u{0}\u{1F980}"}))["result"]["content"],
        json!([{"type": "text", "text": "Grüße \u{2028}\n\r\u{0}\u{1F980}"}])
    );
    let sum = pipe.call("add", json!({"a": 2, "b": 3}));
    assert_eq!(sum["result"]["structuredContent"].to_string(), r#"{"sum":5}"#);
    assert_eq!(sum["result"]["content"], json!([{"type": "text", "text": "{\"sum\":5}"}]));
    assert_eq!(pipe.call("add", json!({"a": 0.5, "b": 1}))["result"]["structuredContent"], json!({"sum": 1.5}));
    let unknown = pipe.call("no_such_tool", json!({}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(unknown["error"]["message"], "Unknown tool: no_such_tool");
    for (tool, arguments) in [
        ("echo", json!({"message": 5})),
        ("add", json!({"a": 1})),
        ("add", json!({"a": 1e308, "b": 1e308})),
        ("sleep", json!({"ms": 600_001})),
        ("test_simple_text", json!({"extra": 1})),
    ] {
        assert_eq!(pipe.call(tool, arguments)["result"]["isError"], true, "{tool}");
    }
}

#[test]
fn a_modern_client_needs_no_handshake_and_both_eras_share_the_pipe() {
    let mut pipe = Pipe::legacy();
    let id =
        pipe.request("tools/call", json!({"name": "echo", "arguments": {"message": "m"}, "_meta": modern(json!({}))}));
    let response = pipe.response(id);
    assert_eq!(response["result"]["resultType"], "complete");
    assert_eq!(response["result"]["content"][0]["text"], "m");
    assert_eq!(pipe.call("echo", json!({"message": "m"}))["result"].get("resultType"), None, "case 101");
}

#[test]
fn the_end_of_input_ends_the_process_with_code_0() {
    let mut pipe = Pipe::legacy();
    let id = pipe.request("tools/call", json!({"name": "sleep", "arguments": {"ms": 50}}));
    pipe.close();
    assert_eq!(pipe.response(id)["result"]["isError"], Value::Null, "what runs is finished and sent (STDIO-4)");
    assert_eq!(pipe.demo.code(), Some(0));
    assert!(pipe.is_silent());
}

#[test]
fn nobody_reads_stderr_and_nothing_blocks_case_9_stdio_2() {
    let mut pipe = Pipe::with(&["--log", "debug"]);
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments, "_meta": modern(json!({}))});
    let long = "x".repeat(200_000);
    let id = pipe.request("tools/call", call("echo", json!({"message": long})));
    assert_eq!(pipe.response(id)["result"]["content"][0]["text"], *long);
    // Each panic is logged, and a pipe holds 64 KiB.
    for _ in 0..3000 {
        let id = pipe.request("tools/call", call("panic", json!({})));
        let response = pipe.response(id);
        assert_eq!(response["error"], json!({"code": -32603, "message": "Internal error: the tool panicked"}));
    }
    let id = pipe.request("tools/call", call("echo", json!({"message": "m"})));
    assert_eq!(pipe.response(id)["result"]["content"][0]["text"], "m");
    pipe.close();
    assert_eq!(pipe.demo.code(), Some(0));
}

#[test]
fn the_log_says_what_panicked_and_no_message() {
    let mut pipe = Pipe::open();
    let params = json!({"name": "panic", "arguments": {}, "_meta": modern(json!({"secret": "s3cr3t"}))});
    let id = pipe.request("tools/call", params);
    pipe.response(id);
    pipe.close();
    assert_eq!(pipe.demo.code(), Some(0));
    let mut log = String::new();
    std::io::Read::read_to_string(&mut pipe.demo.child.stderr.take().expect("stderr"), &mut log).expect("text");
    assert!(log.contains("ERROR a tool panicked tool=\"panic\" panic=\"asked to\""), "{log}");
    assert!(!log.contains("s3cr3t"), "{log}");
}

#[test]
fn a_slow_tool_holds_up_nobody_and_can_be_cancelled_case_45_canc_2() {
    let mut pipe = Pipe::legacy();
    let sleep = pipe.request("tools/call", json!({"name": "sleep", "arguments": {"ms": 60_000}}));
    let ping = pipe.request("ping", json!({}));
    assert_eq!(pipe.next(), json!({"jsonrpc": "2.0", "id": ping, "result": {}}));
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": sleep}}));
    let echo = pipe.request("tools/call", json!({"name": "echo", "arguments": {"message": "m"}}));
    assert_eq!(pipe.next()["id"], echo, "a cancelled request is not answered");
    pipe.close();
    assert_eq!(pipe.demo.code(), Some(0), "nothing runs that would hold up the end");
}

#[test]
fn sleep_reports_progress_that_grows_and_ends_before_the_answer_prog_1_case_62() {
    let mut pipe = Pipe::legacy();
    let params = json!({"name": "sleep", "arguments": {"ms": 600}, "_meta": {"progressToken": "t"}});
    let id = pipe.request("tools/call", params);
    let mut reports = Vec::new();
    let response = loop {
        let message = pipe.next();
        if message["id"] == id {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress");
        assert_eq!(message["params"]["progressToken"], "t");
        assert_eq!(message["params"]["total"], 600.0);
        reports.push(message["params"]["progress"].as_f64().expect("a number"));
    };
    assert!(reports.len() >= 2 && reports.windows(2).all(|pair| pair[0] < pair[1]), "{reports:?}");
    assert!(response["result"]["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("Slept for 6")));
    assert!(pipe.is_silent());
    pipe.call("sleep", json!({"ms": 0}));
    assert!(pipe.is_silent(), "no token, no progress (case 61)");
}

#[test]
fn fast_progress_never_comes_after_the_answer_case_62() {
    let mut pipe = Pipe::legacy();
    for token in 0..200 {
        let params = json!({"name": "sleep", "arguments": {"ms": 3}, "_meta": {"progressToken": token}});
        let id = pipe.request("tools/call", params);
        let mut last = 0.0;
        loop {
            let message = pipe.next();
            if message["id"] == id {
                break;
            }
            assert_eq!(message["params"]["progressToken"], token);
            let progress = message["params"]["progress"].as_f64().expect("a number");
            assert!(progress > last);
            last = progress;
        }
        assert_eq!(last, 3.0);
    }
    assert!(pipe.is_silent());
}

#[test]
fn logs_come_at_the_level_that_was_set_log_2() {
    let mut pipe = Pipe::legacy();
    let level = pipe.request("logging/setLevel", json!({"level": "debug"}));
    assert_eq!(pipe.response(level)["result"], json!({}));
    let id = pipe.request("tools/call", json!({"name": "test_tool_with_logging"}));
    for data in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let message = pipe.next();
        assert_eq!(message["method"], "notifications/message");
        assert_eq!(message["params"]["level"], "info");
        assert_eq!(message["params"]["data"], data);
    }
    assert_eq!(pipe.next()["id"], id);
    let level = pipe.request("logging/setLevel", json!({"level": "error"}));
    pipe.response(level);
    let id = pipe.request("tools/call", json!({"name": "test_tool_with_logging"}));
    assert_eq!(pipe.next()["id"], id, "none is serious enough");
}
