//! B1: lines on stdio, and the life of the process. Case 9 is in `tests/stdio.rs`.

use serde_json::{Value, json};

use crate::client::{Site, Wire, call, code, init, initialized, ping, pong, server, text, tool};

#[test]
fn case_1_a_malformed_line_is_answered_and_ends_nothing_stdio_9() {
    let mut wire = Wire::open();
    wire.ask(&init("2025-11-25"));
    wire.write(b"{oops\n");
    let error = wire.next();
    assert_eq!((code(&error), error.get("id")), (-32700, None), "{error}");
    assert_eq!(wire.ask(&ping(2)), pong(2));
    assert_eq!(wire.end(), (vec![], Some(0)));
}

#[test]
fn case_3_a_byte_order_mark_is_passed_over() {
    let mut wire = Wire::open();
    wire.write(b"\xEF\xBB\xBF");
    assert_eq!(wire.ask(&init("2025-11-25"))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn case_4_bytes_that_are_no_utf_8_are_a_parse_error_and_no_end_of_input() {
    let mut wire = Wire::open();
    for bytes in [&b"\xFF\xFE\n"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xC3\x28\"}\n"] {
        wire.write(bytes);
        let error = wire.next();
        assert_eq!((code(&error), error.get("id")), (-32700, None), "{error}");
        assert_eq!(wire.ask(&ping(2)), pong(2));
    }
}

#[test]
fn case_6_every_message_ends_with_one_line_feed_and_holds_none_stdio_1() {
    let mut wire = Wire::open();
    let lines = |wire: &mut Wire, count: usize| {
        for _ in 0..count {
            let line = wire.line();
            let (last, rest) = line.split_last().expect("a line");
            assert_eq!(*last, b'\n');
            assert!(!rest.contains(&b'\n') && !rest.contains(&b'\r'), "{}", String::from_utf8_lossy(&line));
        }
    };
    // A client may end its lines as Windows does; the answers are the same.
    wire.write(format!("{}\r\n{}\r\n", init("2025-11-25"), initialized()).as_bytes());
    lines(&mut wire, 1);
    wire.write(b"{oops\r\n");
    wire.send(&call(2, "echo", json!({"message": "a\r\nb\nc\r"})));
    wire.send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}));
    lines(&mut wire, 3);
    wire.stays_silent();
}

#[test]
fn case_7_what_a_tool_returns_is_always_utf_8() {
    use mcp_server::{Content, ToolAnswer};
    let site = Site::of(
        server()
            .tool(tool("lossy").run(|| String::from_utf8_lossy(b"\xB0\xA1").into_owned()))
            .tool(tool("bytes").run(|| Content::resource_bytes("file:///a", "text/plain", &b"\xB0\xA1"[..])))
            .tool(tool("raw").run(|| ToolAnswer::structured(&b"{\"text\":\"\xB0\xA1\"}"[..]))),
    );
    let answer = |name: &str| site.call(name, json!({})).json();
    assert_eq!(text(&answer("lossy")), "\u{FFFD}\u{FFFD}");
    assert_eq!(answer("bytes")["result"]["content"][0]["resource"]["blob"], "sKE=");
    assert_eq!(code(&answer("raw")), -32603, "what is no JSON is the server's fault");
    let mut wire = Wire::opened("2025-11-25");
    // The demo says these arguments again as they came.
    let surrogate = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"json_schema_2020_12_tool",
        "arguments":{"contactMethod":"phone","phone":"\udc00"}}}"#;
    wire.write(format!("{}\n", surrogate.replace('\n', " ")).as_bytes());
    assert_eq!(wire.next()["id"], 1);
    wire.stays_silent();
}

#[test]
fn case_10_a_line_of_5_mb_is_served_and_one_over_the_limit_is_refused_base_26() {
    let mut wire = Wire::opened("2025-11-25");
    let long = "x".repeat(5_000_000);
    assert_eq!(text(&wire.ask(&call(1, "echo", json!({"message": long})))), long);
    let most = mcp_server::Limits::default().line;
    assert!(most > long.len(), "the limit is documented and can be set: `Limits::line`");
    wire.write(" ".repeat(most).as_bytes());
    wire.send(&ping(2));
    let error = wire.next();
    assert_eq!((code(&error), error.get("id")), (-32600, None), "{error}");
    wire.stays_silent();
}

#[test]
fn probe_2_the_last_line_needs_no_end() {
    let mut wire = Wire::open();
    wire.write(ping(1).to_string().as_bytes());
    assert_eq!(wire.end(), (vec![pong(1)], Some(0)));
}

#[test]
fn probe_2_blank_lines_are_passed_over_stdio_9() {
    let mut wire = Wire::open();
    for blank in ["\n", "\r\n", "  \t \n", "\n\n\n"] {
        wire.write(blank.as_bytes());
        wire.stays_silent();
    }
}

#[test]
fn probe_2_two_messages_on_one_line_are_one_parse_error_stdio_1() {
    let mut wire = Wire::open();
    wire.write(format!("{}{}\n", ping(1), ping(2)).as_bytes());
    let error = wire.next();
    assert_eq!((code(&error), error.get("id")), (-32700, None), "{error}");
    wire.stays_silent();
}

#[test]
fn probe_1_text_with_breaks_is_one_line_on_stdio() {
    let mut wire = Wire::opened("2025-11-25");
    let breaks = "a\nb\rc\r\nd\u{2028}e\u{2029}f\u{85}g\u{0}";
    wire.send(&call(1, "echo", json!({"message": breaks})));
    let line = wire.line();
    assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
    assert_eq!(text(&serde_json::from_slice(&line).expect("JSON")), breaks);
}

#[test]
fn probe_1_half_a_surrogate_pair_is_refused_and_harms_nobody() {
    let mut wire = Wire::opened("2025-11-25");
    let at = |place: &str, value: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "echo", "arguments": {"message": "m"}}});
        message.to_string().replace(place, value)
    };
    for (place, value) in [
        (r#""m""#, r#""\ud800""#),
        (r#""m""#, r#""\udc00\ud800""#),
        (r#""echo""#, r#""\ud800""#),
        (r#""tools/call""#, r#""\ud800""#),
        ("\"id\":1", r#""id":"\ud800""#),
        (r#""message""#, r#""\ud800""#),
    ] {
        wire.write(format!("{}\n", at(place, value)).as_bytes());
        let answer = wire.next();
        assert!(code(&answer) != 0 || answer["result"]["isError"] == true, "{value} for {place}: {answer}");
        wire.stays_silent();
    }
    wire.write(format!("{}\n", at(r#""m""#, r#""\ud83e\udd80""#)).as_bytes());
    assert_eq!(text(&wire.next()), "\u{1F980}");
    assert_eq!(wire.end().0, Vec::<Value>::new());
}
