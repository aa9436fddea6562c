//! B3: the envelope of JSON-RPC.

use mcp_server::{Json, Server};
use serde_json::{Value, json};

use crate::client::{Site, Wire, call, call_with_token, code, init, nested, ping, pong, request, server, text, tool};

/// What each of these gets, on stdio and over HTTP.
fn refused(cases: &[(&str, i64, Option<Value>)]) {
    let mut wire = Wire::opened("2025-11-25");
    let site = Site::demo();
    let session = site.session("2025-11-25");
    for (message, expected, id) in cases {
        let right = |error: &Value| assert_eq!((code(error), error.get("id")), (*expected, id.as_ref()), "{message}");
        wire.write(format!("{message}\n").as_bytes());
        right(&wire.next());
        wire.stays_silent();
        for response in [session.send("POST", &[], message), site.send("POST", &[], message)] {
            assert_eq!(response.status, 400, "{message}");
            right(&response.json());
        }
        assert_eq!(session.post(&ping(1)).json(), pong(1));
    }
}

#[test]
fn case_26_a_method_that_is_no_string_is_an_invalid_request_base_1() {
    let id = Some(json!(3));
    refused(&[
        (r#"{"jsonrpc":"2.0","id":3,"method":12}"#, -32600, id.clone()),
        (r#"{"jsonrpc":"2.0","id":3,"method":null}"#, -32600, id.clone()),
        (r#"{"jsonrpc":"2.0","id":3,"method":["ping"]}"#, -32600, id),
        (r#"{"jsonrpc":"2.0","method":12}"#, -32600, None),
    ]);
}

#[test]
fn case_27_an_id_of_null_is_an_invalid_request_and_no_notification_base_2() {
    refused(&[
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}"#, -32600, None),
    ]);
}

#[test]
fn case_28_ids_that_are_neither_string_nor_integer_are_refused_base_2_base_6() {
    refused(&[
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":[],"method":"tools/list"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"tools/list"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600, None),
    ]);
}

#[test]
fn case_32_each_answer_goes_to_its_own_response_whatever_its_id_http_33() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let mut slow = session.start(&call_with_token(1, "sleep", json!({"ms": 400})));
    let fast = session.post(&call(1, "echo", json!({"message": "fast"}))).json();
    assert_eq!((&fast["id"], text(&fast)), (&json!(1), "fast"));
    let answer = loop {
        let message = slow.next().expect("an answer");
        if message.get("id").is_some() {
            break message;
        }
    };
    assert_eq!(answer["id"], 1);
    assert!(text(&answer).starts_with("Slept for "), "{answer}");
    assert_eq!(slow.next(), None);
    assert_eq!(text(&session.post(&call(1, "echo", json!({"message": "again"}))).json()), "again");
}

#[test]
fn case_32_an_id_is_free_again_after_a_cancel_canc_2() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let mut slow = session.start(&call_with_token(1, "sleep", json!({"ms": 600_000})));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(session.post(&cancel).status, 202);
    while let Some(message) = slow.next() {
        assert_eq!(message["method"], "notifications/progress", "no answer comes");
    }
    assert_eq!(text(&session.post(&call(1, "echo", json!({"message": "again"}))).json()), "again");
}

#[test]
fn case_32_on_one_byte_stream_an_id_in_flight_is_refused_and_then_free_base_3() {
    let mut wire = Wire::opened("2025-11-25");
    wire.send(&call(1, "sleep", json!({"ms": 600_000})));
    let twice = wire.ask(&call(1, "echo", json!({"message": "m"})));
    assert_eq!(code(&twice), -32600, "{twice}");
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!(text(&wire.ask(&call(1, "echo", json!({"message": "m"})))), "m");
    assert_eq!(text(&wire.ask(&call(1, "echo", json!({"message": "m"})))), "m");
    wire.stays_silent();
}

#[test]
fn case_35_deep_values_are_refused_wherever_they_are_base_26() {
    let deep = nested(10_000);
    let objects = ["{\"a\":".repeat(10_000), "0".into(), "}".repeat(10_000)].concat();
    let with = |params: &str, more: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo",{params}}}{more}}}"#)
    };
    let id = Some(json!(1));
    let cases = [&deep, &objects].map(|deep| {
        [
            with(&format!(r#""arguments":{{"x":{deep}}}"#), ""),
            with(&format!(r#""arguments":{deep}"#), ""),
            with(&format!(r#""unknown":{deep}"#), ""),
            with(&format!(r#""_meta":{{"x":{deep}}}"#), ""),
            with(r#""arguments":{}"#, &format!(r#","unknown":{deep}"#)),
        ]
    });
    let cases: Vec<_> = cases.as_flattened().iter().map(|message| (&**message, -32600, id.clone())).collect();
    refused(&cases);
}

fn echoing() -> Server {
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/nested"}},
        "$defs": {"nested": {"type": "array", "items": {"$ref": "#/$defs/nested"}}}});
    server()
        .tool(tool("typed").run(|args: Value| Json(json!({"again": args.clone()}))))
        .tool(tool("validated").input_schema(schema.clone()).output_schema(schema).run(|args: Value| Json(args)))
}

#[test]
fn case_35_what_is_just_not_too_deep_is_read_validated_cloned_and_written() {
    let site = Site::of(echoing());
    let levels = mcp_server::Limits::default().depth - 10;
    let arguments: Value = serde_json::from_str(&format!(r#"{{"x":{}}}"#, nested(levels))).expect("JSON");
    for tool in ["typed", "validated"] {
        let answer = site.call(tool, arguments.clone());
        assert!(answer.body.contains(&nested(levels)), "{tool}: {}", answer.body);
    }
    site.still_answers();
}

#[test]
fn case_37_a_notification_is_never_answered_base_7() {
    let notifications = [
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
    ];
    let mut wire = Wire::opened("2025-11-25");
    let site = Site::demo();
    let session = site.session("2025-11-25");
    for message in notifications {
        wire.write(format!("{message}\n").as_bytes());
        wire.stays_silent();
        let modern = site.send("POST", &[("mcp-protocol-version", "2026-07-28")], message);
        for response in [session.send("POST", &[], message), modern] {
            assert_eq!((response.status, &*response.body), (202, ""), "{message}");
            assert_eq!(response.header("content-type"), None);
        }
    }
}

#[test]
fn case_38_what_a_client_does_wrong_is_answered_and_ends_nothing_base_8() {
    let mut wire = Wire::opened("2025-11-25");
    for (message, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#, 0),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, -32602),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("[]", -32600),
        ("5", -32600),
    ] {
        wire.write(format!("{message}\n").as_bytes());
        let answer = wire.next();
        assert_eq!(code(&answer), expected, "{message}: {answer}");
        assert_eq!(wire.ask(&ping(2)), pong(2));
    }
    assert_eq!(wire.end(), (vec![], Some(0)));
}

#[test]
fn case_39_a_request_without_jsonrpc_gets_an_error_with_its_id_base_6() {
    refused(&[
        (r#"{"id":99,"method":"ping"}"#, -32600, Some(json!(99))),
        (r#"{"jsonrpc":"1.0","id":"99","method":"ping"}"#, -32600, Some(json!("99"))),
    ]);
}

#[test]
fn probe_3_an_answer_to_nothing_is_passed_over_base_24() {
    let stray = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
    let failed = json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}});
    let mut wire = Wire::opened("2025-11-25");
    let site = Site::demo();
    let session = site.session("2025-11-25");
    for message in [&stray, &failed] {
        wire.send(message);
        wire.stays_silent();
        let response = session.post(message);
        assert_eq!((response.status, &*response.body), (202, ""), "{message}");
        assert_eq!(site.post(&[("mcp-protocol-version", "2026-07-28")], message).status, 400);
        assert_eq!(site.post(&[], message).status, 400);
        assert_eq!(session.post(&ping(1)).json(), pong(1));
    }
    assert_eq!(site.post(&[], &init("2025-11-25")).status, 200);
    assert_eq!(session.post(&request(1, "ping", json!({}))).json(), pong(1));
}
