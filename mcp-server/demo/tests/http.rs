//! The demo over Streamable HTTP.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};

use common::{Http, initialize};
use serde_json::{Value, json};

#[test]
fn the_line_to_try_works_as_it_is_printed() {
    let http = Http::open();
    let words: Vec<&str> = http.example.split('\'').collect();
    assert_eq!(words[0], "curl -sS ");
    assert_eq!(words[1], format!("http://{}/mcp", http.address));
    let after = |flag: &'static str| words.windows(2).filter(move |pair| pair[0] == flag).map(|pair| pair[1]);
    let headers: Vec<(&str, &str)> = after(" -H ").filter_map(|header| header.split_once(": ")).collect();
    assert_eq!(headers.len(), 5);
    let response = http.send("POST", &headers, after(" -d ").next().expect("a body"));
    assert_eq!(response.status, 200);
    assert_eq!(response.json()["result"]["content"], json!([{"type": "text", "text": "Hello!"}]));
}

#[test]
fn a_foreign_host_is_refused_with_what_to_do_and_logged_http_2() {
    let mut http = Http::open();
    let response = http.call_with("echo", json!({"message": "m"}), json!({}), &[("host", "evil.example")]);
    assert_eq!(response.status, 403);
    assert!(response.body.contains("evil.example") && response.body.contains("allow"), "{}", response.body);
    let log = http.log();
    assert!(log.starts_with("WARN") && log.contains("evil.example"), "{log}");
    let page = http.call_with("echo", json!({"message": "m"}), json!({}), &[("origin", "http://evil.example")]);
    assert_eq!(page.status, 403);
    let open = Http::with(&["--allow-host", "evil.example"]);
    let response = open.call_with("echo", json!({"message": "m"}), json!({}), &[("host", "evil.example")]);
    assert_eq!(response.status, 200);
}

#[test]
fn a_modern_call_is_answered_with_json_or_events_as_it_goes() {
    let http = Http::open();
    let plain = http.call("add", json!({"a": 2, "b": 3}));
    assert_eq!((plain.status, plain.header("content-type")), (200, Some("application/json")));
    assert_eq!(plain.json()["result"]["structuredContent"], json!({"sum": 5}));
    let events = http.call_with("sleep", json!({"ms": 600}), json!({"progressToken": 7}), &[]);
    assert_eq!((events.status, events.header("content-type")), (200, Some("text/event-stream")));
    let messages = events.messages();
    let (answer, reports) = messages.split_last().expect("an answer");
    assert_eq!(answer["id"], 1);
    let done: Vec<f64> = reports.iter().filter_map(|report| report["params"]["progress"].as_f64()).collect();
    assert!(done.len() == reports.len() && done.len() >= 2, "{messages:?}");
    assert!(done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    assert!(reports.iter().all(|report| report["params"]["progressToken"] == 7));
}

#[test]
fn errors_have_the_status_that_fits() {
    let http = Http::open();
    for (tool, arguments, status, code) in [
        ("nope", json!({}), 200, -32602),
        ("panic", json!({}), 200, -32603),
        ("echo", json!([]), 200, -32602),
        ("test_missing_capability", json!({}), 400, -32021),
    ] {
        let response = http.call(tool, arguments);
        assert_eq!(
            (response.status, &response.json()["error"]["code"]),
            (status, &json!(code)),
            "{tool}: {response:?}"
        );
    }
    assert_eq!(http.call("echo", json!({"message": 5})).json()["result"]["isError"], true);
    assert_eq!(http.call("echo", json!({"message": "m"})).json()["result"]["content"][0]["text"], "m");
}

#[test]
fn a_tool_can_need_a_capability_and_mirror_an_argument_ver_6_hdr_9() {
    let http = Http::open();
    let refused = http.call("test_missing_capability", json!({})).json();
    assert_eq!(refused["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
    let able = json!({"io.modelcontextprotocol/clientCapabilities": {"sampling": {}}});
    assert_eq!(http.call_with("test_missing_capability", json!({}), able, &[]).status, 200);
    let custom = |header: Option<&str>| {
        let headers: Vec<_> = header.map(|value| ("mcp-param-value", value)).into_iter().collect();
        http.call_with("test_custom_header", json!({"value": "Hello"}), json!({}), &headers)
    };
    assert_eq!(custom(Some("=?base64?SGVsbG8=?=")).json()["result"]["content"][0]["text"], "Hello");
    for header in [None, Some("Bye"), Some("=?base64?SGVs!!!bG8=?=")] {
        let refused = custom(header);
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!(-32020)), "{header:?}");
    }
}

#[test]
fn fixtures_answer_as_the_official_suite_wants() {
    let http = Http::open();
    let content = |tool: &str| http.call(tool, json!({})).json()["result"]["content"].clone();
    assert_eq!(
        content("test_simple_text"),
        json!([{"type": "text", "text": "This is a simple text response for testing."}])
    );
    let image = content("test_image_content");
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
    assert_eq!(image, json!([{"type": "image", "mimeType": "image/png", "data": png}]));
    let audio = content("test_audio_content");
    assert_eq!(
        audio,
        json!([{"type": "audio", "mimeType": "audio/wav",
                "data": "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="}])
    );
    assert_eq!(
        content("test_embedded_resource"),
        json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}])
    );
    let mixed = content("test_multiple_content_types");
    assert_eq!(mixed[0], json!({"type": "text", "text": "Multiple content types test:"}));
    assert_eq!(mixed[1], image[0]);
    assert_eq!(
        mixed[2]["resource"],
        json!({"uri": "test://mixed-content-resource", "mimeType": "application/json",
               "text": "{\"test\":\"data\",\"value\":123}"})
    );
    let failed = http.call("test_error_handling", json!({})).json()["result"].clone();
    assert_eq!(failed["isError"], true);
    assert_eq!(
        failed["content"],
        json!([{"type": "text", "text": "This tool intentionally returns an error for testing"}])
    );
    let progress = http.call_with("test_tool_with_progress", json!({}), json!({"progressToken": "p"}), &[]).messages();
    let done: Vec<Option<f64>> = progress.iter().map(|message| message["params"]["progress"].as_f64()).collect();
    assert_eq!(done, [Some(0.0), Some(50.0), Some(100.0), None]);
    let quiet = http.call("test_logging_tool", json!({})).messages();
    assert_eq!(quiet.len(), 1, "no level, no log (LOG-3)");
    let level = json!({"io.modelcontextprotocol/logLevel": "debug"});
    let loud = http.call_with("test_tool_with_logging", json!({}), level, &[]).messages();
    assert_eq!(loud.len(), 4, "{loud:?}");
    let valid = json!({"name": "n", "contactMethod": "phone", "phone": "1"});
    assert_eq!(http.call("json_schema_2020_12_tool", valid).json()["result"].get("isError"), None);
    let invalid = http.call("json_schema_2020_12_tool", json!({"contactMethod": "phone", "more": 1})).json();
    let said = invalid["result"]["content"][0]["text"].as_str().expect("a text").to_owned();
    assert!(said.contains("`phone`: is required") && said.contains("`more`: is not a known parameter"), "{said}");
}

#[test]
fn a_legacy_session_opens_works_and_ends_http_20_http_23() {
    let http = Http::open();
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize()}).to_string();
    let opened = http.send("POST", &[], &open);
    assert_eq!(opened.status, 200);
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let headers = [("mcp-session-id", &*session), ("mcp-protocol-version", "2025-11-25")];
    let post = |message: Value| http.send("POST", &headers, &message.to_string());
    assert_eq!(post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).status, 202);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "sleep", "arguments": {"ms": 300}, "_meta": {"progressToken": "t"}}});
    let messages = post(call).messages();
    assert!(messages.len() >= 3, "{messages:?}");
    assert_eq!(messages.last().map(|last| last["id"].clone()), Some(json!(1)));
    assert_eq!(http.send("DELETE", &headers, "").status, 204);
    assert_eq!(post(json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).status, 404);
}

#[test]
fn closing_a_modern_stream_cancels_and_the_next_call_is_answered_at_once_http_46() {
    let http = Http::open();
    let params =
        json!({"name": "sleep", "arguments": {"ms": 60_000}, "_meta": common::modern(json!({"progressToken": 1}))});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "sleep")];
    let mut stream = http.begin("POST", &headers, &body);
    let mut first = [0; 64];
    stream.read_exact(&mut first).expect("the stream begins");
    drop(stream);
    assert_eq!(http.call("echo", json!({"message": "m"})).status, 200);
}

#[test]
#[cfg(unix)]
fn sigterm_ends_it_while_a_stream_is_open_case_96() {
    let mut http = Http::open();
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize()}).to_string();
    let session = http.send("POST", &[], &open).header("mcp-session-id").expect("a session").to_owned();
    let listening = http.begin("GET", &[("mcp-session-id", &session)], "");
    let mut lines = BufReader::new(listening).lines();
    assert!(lines.next().is_some_and(|line| line.is_ok_and(|line| line.contains("200"))));
    let pid = http.demo.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
    assert_eq!(http.demo.code(), Some(0));
    assert!(lines.all(|line| line.is_ok()), "the stream ended as a stream should");
}
