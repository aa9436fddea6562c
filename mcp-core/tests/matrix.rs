//! The acceptance matrix of a server that speaks both eras (`spec.md` 28), as far as the core goes; rows 5 to 18 in depth are
//! in `route.rs` and `exchange.rs`, sessions and byte streams in `session.rs` and `pipe.rs`.

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::catalog::{Catalog, Tool};
use mcp_core::question::Question;
use mcp_core::{
    Ability, Capabilities, Exchange, Fault, Form, Handle, Input, Level, MachineId, Note, Outcome, Pipe, Reply,
    Revision, StreamId, Time, View,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, Site, Talk, Web, fixture, proves};

#[path = "matrix/listening.rs"]
mod listening;
#[path = "matrix/methods.rs"]
mod methods;

const MODERN: &str = "2026-07-28";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LEGACY: [(&str, Revision); 4] = [
    ("2024-11-05", Revision::V2024_11_05),
    ("2025-03-26", Revision::V2025_03_26),
    ("2025-06-18", Revision::V2025_06_18),
    ("2025-11-25", Revision::V2025_11_25),
];

fn http() -> Site {
    Site::new(fixture::endpoint())
}

fn stdio() -> Script<Pipe> {
    Script::new(Pipe::new(MachineId(1), fixture::endpoint(), Time(1_000_000)))
}

fn modern(method: &str, params: &Value) -> Value {
    fixture::modern(1, method, params, &json!({}))
}

fn discover() -> Value {
    modern("server/discover", &json!({}))
}

fn echo(capabilities: &Value) -> Value {
    fixture::modern(1, "tools/call", &json!({"name": "echo"}), capabilities)
}

/// The same message without a member of its `_meta`.
fn without(mut message: Value, key: &str) -> Value {
    message["params"]["_meta"].as_object_mut().unwrap().remove(key);
    message
}

/// The same message without its `_meta`.
fn bare(mut message: Value) -> Value {
    message["params"].as_object_mut().unwrap().remove("_meta");
    message
}

fn sessioned(id: &str) -> [(&str, &str); 1] {
    [("mcp-session-id", id)]
}

/// The answer over HTTP with right headers, and over a byte stream.
fn both(message: &Value) -> [Sent; 2] {
    let mut script = stdio();
    let mut sent = script.send(message);
    if let Some((_, call)) = script.calls.front() {
        let outcome = testkit::done(call);
        script.done(outcome);
        sent = script.received();
    }
    [http().modern(message), sent]
}

fn text(words: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(words)))
}

fn progress(progress: f64) -> Note {
    Note::Progress { progress, total: None, message: None }
}

#[test]
fn row_1_discover() {
    proves(&["VER-3", "VER-22"]);
    for sent in both(&discover()) {
        let result = &sent.one()["result"];
        assert!(result["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)));
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
        assert_eq!(result["resultType"], "complete");
    }
}

#[test]
fn row_2_discover_without_meta_and_then_a_handshake() {
    proves(&["VER-4", "VER-23", "CASE-123"]);
    let message = bare(discover());
    let mut site = http();
    let sent = site.post(&message, &[("mcp-protocol-version", MODERN), ("mcp-method", "server/discover")]);
    assert_eq!((sent.status(), sent.code()), (400, -32602));
    let sent = site.post(&message, &[]);
    assert_eq!((sent.status(), sent.code()), (400, -32602), "case 123");
    site.open(Revision::V2025_11_25, &json!({}));

    let mut script = stdio();
    assert_eq!(script.send_bytes("{oops".into(), None).code(), -32700);
    assert_eq!(script.send(&message).code(), -32602);
    let sent = script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert_eq!(sent.one()["result"]["protocolVersion"], "2025-11-25", "VER-23");
}

#[test]
fn row_3_each_legacy_date_is_answered_with_itself_life_2_http_62() {
    for (date, _) in LEGACY {
        let message = fixture::initialize(date, &json!({}));
        let sent = http().post(&message, &[]);
        assert_eq!((sent.status(), &sent.one()["result"]["protocolVersion"]), (200, &json!(date)));
        assert!(sent.head().session.is_some());
        assert_eq!(stdio().send(&message).one()["result"]["protocolVersion"], date);
    }
}

#[test]
fn row_4_a_handshake_never_ends_in_the_modern_revision() {
    for asked in [MODERN, "2099-01-01", "1.0.0", ""] {
        let message = fixture::initialize(asked, &json!({}));
        assert_eq!(http().post(&message, &[]).one()["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(stdio().send(&message).one()["result"]["protocolVersion"], "2025-11-25");
    }
}

#[test]
fn row_5_initialize_with_modern_meta_is_unknown() {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let message = modern("initialize", &params);
    let [over_http, over_stdio] = both(&message);
    assert_eq!((over_http.status(), over_http.code(), over_http.head().session), (404, -32601, None));
    assert_eq!(over_stdio.code(), -32601);
    // And no legacy conversation is open after it.
    let mut script = stdio();
    script.send(&message);
    assert!(script.machine.peer().is_none());
}

#[test]
fn row_6_modern_without_the_version_header() {
    proves(&["HDR-1"]);
    let sent = http().post(&modern("tools/list", &json!({})), &[("mcp-method", "tools/list")]);
    assert_eq!((sent.status(), sent.code(), &sent.one()["id"]), (400, -32020, &json!(1)));
}

#[test]
fn row_7_a_header_that_differs_from_the_meta() {
    proves(&["HDR-1"]);
    for version in ["2025-11-25", "2025-06-18", "1900-01-01", ""] {
        let headers = [("mcp-method", "tools/list"), ("mcp-protocol-version", version)];
        let sent = http().post(&modern("tools/list", &json!({})), &headers);
        assert_eq!((sent.status(), sent.code(), &sent.one()["id"]), (400, -32020, &json!(1)), "{version}");
    }
}

#[test]
fn row_8_an_unknown_version() {
    proves(&["VER-2", "CASE-104"]);
    let mut message = modern("tools/list", &json!({}));
    message["params"]["_meta"][VERSION] = json!("1900-01-01");
    let [over_http, over_stdio] = both(&message);
    assert_eq!(over_http.status(), 400);
    for sent in [over_http, over_stdio] {
        assert_eq!(sent.code(), -32022);
        let data = &sent.one()["error"]["data"];
        assert_eq!(data["requested"], "1900-01-01");
        assert_eq!(data["supported"], json!([MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]));
    }
}

#[test]
fn row_9_without_client_capabilities() {
    proves(&["BASE-15", "CASE-103"]);
    let [over_http, over_stdio] = both(&without(modern("tools/list", &json!({})), CAPABILITIES));
    assert_eq!((over_http.status(), over_http.code(), over_stdio.code()), (400, -32602, -32602));
}

#[test]
fn row_10_without_client_info() {
    proves(&["BASE-14"]);
    let message = modern("tools/list", &json!({}));
    assert!(message["params"]["_meta"].get("io.modelcontextprotocol/clientInfo").is_none());
    let [over_http, over_stdio] = both(&message);
    assert_eq!(over_http.status(), 200);
    assert_eq!(over_http.one()["result"]["tools"], over_stdio.one()["result"]["tools"]);
    assert_eq!(over_stdio.one()["result"]["tools"].as_array().unwrap().len(), 3);
}

#[test]
fn row_11_mcp_method_absent_or_wrong() {
    proves(&["HDR-2"]);
    let message = modern("tools/list", &json!({}));
    for method in [None, Some("TOOLS/LIST"), Some("Tools/list"), Some("tools/call"), Some("")] {
        let mut headers = vec![("mcp-protocol-version", MODERN)];
        headers.extend(method.map(|method| ("mcp-method", method)));
        let sent = http().post(&message, &headers);
        assert_eq!((sent.status(), sent.code()), (400, -32020), "{method:?}");
    }
}

#[test]
fn row_12_mcp_name_in_base64() {
    proves(&["HDR-5", "HDR-6"]);
    for (name, right) in [("=?base64?ZWNobw==?=", (200, 0)), ("=?base64?ZWNobw?=", (400, -32020))] {
        let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", name)];
        let sent = http().post(&echo(&json!({})), &headers);
        assert_eq!((sent.status(), sent.code()), right, "{name}");
    }
}

#[test]
fn row_13_methods_that_modern_does_not_have_http_41_log_6() {
    for method in ["nope", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        let [over_http, over_stdio] = both(&modern(method, &json!({"level": "info", "uri": "a://b"})));
        assert_eq!((over_http.status(), over_http.code(), over_stdio.code()), (404, -32601, -32601), "{method}");
    }
}

#[test]
fn row_14_an_unknown_method_in_a_legacy_session() {
    for (_, revision) in LEGACY {
        let mut site = http();
        let session = site.open(revision, &json!({})).encode();
        let sent = site.post(&fixture::request(5, "nope", &json!({})), &sessioned(&session));
        assert_eq!((sent.status(), sent.code(), &sent.one()["id"]), (200, -32601, &json!(5)));
    }
}

#[test]
fn row_14_an_error_of_a_legacy_method_is_a_200_unless_the_server_means_another_status_http_11_err_2() {
    let mut site = http();
    let session = site.open(Revision::V2025_11_25, &json!({})).encode();
    let call = fixture::request(5, "tools/call", &json!({"name": "echo"}));
    type Handler = fn(&mcp_core::Call) -> Outcome;
    let handlers: [(Handler, (u16, i64)); 5] = [
        (|_| Outcome::Fail(Fault::invalid_request("x")), (200, -32600)),
        (|_| Outcome::Fail(Fault::method_not_found("x")), (200, -32601)),
        (|_| Outcome::Fail(Fault::invalid_params("x").with_status(400)), (200, -32602)),
        (|_| Outcome::Fail(Fault::new(mcp_core::Code::RESOURCE_NOT_FOUND, "x")), (200, -32002)),
        (|_| Outcome::Fail(Fault::new(mcp_core::Code::application(403).unwrap(), "x").with_status(403)), (403, 403)),
    ];
    for (handler, right) in handlers {
        site.answer = Some(handler);
        let sent = site.post(&call, &sessioned(&session));
        assert_eq!((sent.status(), sent.code()), right);
    }
    // What only modern has becomes a word to the model (SHIM-4).
    site.answer = Some(|_| Outcome::Fail(Fault::new(mcp_core::Code::MISSING_CAPABILITY, "Sampling is needed")));
    let sent = site.post(&call, &sessioned(&session));
    assert_eq!((sent.status(), &sent.one()["result"]["isError"]), (200, &json!(true)));
    let mut ill = call;
    ill["params"]["_meta"] = json!({"progressToken": {}});
    let sent = site.post(&ill, &sessioned(&session));
    assert_eq!((sent.status(), sent.code()), (200, -32602));
}

#[test]
fn row_15_a_session_that_has_ended() {
    proves(&["HTTP-22"]);
    let mut site = http();
    let session = site.open(Revision::V2025_11_25, &json!({})).encode();
    assert_eq!(site.delete(&sessioned(&session)).status(), 204);
    assert_eq!(site.post(&fixture::request(1, "ping", &json!({})), &sessioned(&session)).status(), 404);
    assert_eq!(site.post(&fixture::initialized(), &sessioned(&session)).status(), 404);
    assert_eq!(site.get(&sessioned(&session)).status(), 404);
    assert_eq!(site.delete(&sessioned(&session)).status(), 404);
    site.open(Revision::V2025_11_25, &json!({}));
}

#[test]
fn row_16_a_session_header_on_a_modern_request() {
    proves(&["HTTP-47"]);
    let mut site = http();
    let session = site.open(Revision::V2025_11_25, &json!({})).encode();
    for id in [&*session, "gone"] {
        let headers = [
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/list"),
            ("mcp-session-id", id),
            ("last-event-id", "1"),
        ];
        let sent = site.post(&modern("tools/list", &json!({})), &headers);
        assert_eq!(
            (sent.reply.clone(), &sent.one()["result"]["resultType"]),
            (Some(Reply::json(200)), &json!("complete"))
        );
    }
}

#[test]
fn row_17_get_and_delete_with_a_modern_header() {
    proves(&["HTTP-48"]);
    let mut site = http();
    let session = site.open(Revision::V2025_11_25, &json!({})).encode();
    for headers in
        [vec![("mcp-protocol-version", MODERN)], vec![("mcp-protocol-version", MODERN), ("mcp-session-id", &*session)]]
    {
        for sent in [site.get(&headers), site.delete(&headers)] {
            assert_eq!((sent.status(), &*sent.text), (405, ""));
            assert!(sent.head().headers().any(|header| header == ("allow", "POST")));
        }
    }
    assert_eq!(site.post(&fixture::request(1, "ping", &json!({})), &sessioned(&session)).status(), 200, "it lives");
}

#[test]
fn row_18_arrays() {
    proves(&["BASE-11", "BATCH-4"]);
    let batch = json!([fixture::request(1, "ping", &json!({})), fixture::request("b", "nope", &json!({}))]);
    let mut site = http();
    let session = site.open(Revision::V2025_03_26, &json!({})).encode();
    let sent = site.post(&batch, &sessioned(&session));
    assert_eq!((sent.status(), sent.head().form), (200, Form::Json));
    assert!(sent.text.starts_with('['), "A31: {}", sent.text);
    assert_eq!((&sent.messages[0]["id"], &sent.messages[0]["result"]), (&json!(1), &json!({})));
    assert_eq!((&sent.messages[1]["id"], &sent.messages[1]["error"]["code"]), (&json!("b"), &json!(-32601)));
    let other = site.open(Revision::V2025_06_18, &json!({})).encode();
    for headers in [&sessioned(&other)[..], &[("mcp-protocol-version", MODERN)], &[]] {
        let sent = site.post(&batch, headers);
        assert_eq!((sent.status(), sent.code(), sent.one().get("id")), (400, -32600, None), "{headers:?}");
    }
}

/// A tool that needs a client who can fill in a form.
fn form_view() -> View {
    let needs = Capabilities::none().with(Ability::ElicitationForm);
    let tool = Tool::new("echo", Handle(1), r#"{"type":"object"}"#).with_needs(needs);
    View::all(Catalog::builder().tool(tool).build().unwrap())
}

fn ask() -> Outcome {
    let schema = r#"{"type":"object","properties":{"n":{"type":"string"}}}"#;
    let form = Question::Form { message: "Name?".into(), schema: schema.into() };
    Outcome::Ask { questions: vec![("who".into(), form)], state: "s".into() }
}

#[test]
fn row_19_a_tool_that_needs_elicitation() {
    proves(&["MRTR-15", "SHIM-5"]);
    let mut site = http();
    site.view = form_view();
    site.answer = Some(|_| ask());
    let sent = site.modern(&echo(&json!({"elicitation": {}})));
    assert_eq!(sent.one()["result"]["resultType"], "input_required");
    let sent = site.modern(&echo(&json!({})));
    assert_eq!((sent.status(), sent.code()), (400, -32021));
    let call = fixture::request(9, "tools/call", &json!({"name": "echo"}));
    let session = site.open(Revision::V2025_11_25, &json!({"elicitation": {}})).encode();
    let sent = site.post(&call, &sessioned(&session));
    assert_eq!((&sent.one()["method"], sent.one().get("id").is_some()), (&json!("elicitation/create"), true));
    let session = site.open(Revision::V2024_11_05, &json!({})).encode();
    let sent = site.post(&call, &sessioned(&session));
    assert_eq!((sent.status(), &sent.one()["result"]["isError"]), (200, &json!(true)));

    let mut script = stdio();
    script.view = form_view();
    script.send(&echo(&json!({"elicitation": {}})));
    script.done(ask());
    assert_eq!(script.received().one()["result"]["resultType"], "input_required");
    assert_eq!(script.send(&echo(&json!({}))).code(), -32021);
}

#[test]
fn row_20_a_state_that_was_tampered_with() {
    proves(&["MRTR-8"]);
    let mut site = http();
    site.answer = Some(|_| ask());
    let sent = site.modern(&echo(&json!({"elicitation": {}})));
    let mut state = sent.one()["result"]["requestState"].as_str().unwrap().to_owned();
    let last = if state.ends_with('A') { "B" } else { "A" };
    state.replace_range(state.len() - 1.., last);
    let mut retry = echo(&json!({"elicitation": {}}));
    retry["params"]["requestState"] = json!(state);
    for sent in both(&retry) {
        assert_eq!(sent.code(), -32602);
    }
}

#[test]
fn row_21_a_reader_that_leaves_in_the_middle() {
    proves(&["HTTP-46", "HTTP-28"]);
    let mut modern = Script::new(Exchange::new(MachineId(1), fixture::endpoint(), Time(0)));
    let mut message = echo(&json!({}));
    message["params"]["_meta"]["progressToken"] = json!(1);
    modern.send(&message);
    modern.note(progress(1.0));
    modern.input(Input::Detach { stream: StreamId::ONLY });
    assert_eq!((modern.abandoned.len(), modern.closed), (1, true));

    let mut site = http();
    site.answer = None;
    let session = site.open(Revision::V2025_11_25, &json!({}));
    let call = fixture::request(9, "tools/call", &json!({"name": "echo", "_meta": {"progressToken": 1}}));
    site.post(&call, &sessioned(&session.encode()));
    let script = site.session(session);
    let stream = script.stream();
    script.note(progress(1.0));
    assert_eq!(script.sent(stream).messages.len(), 1);
    script.input(Input::Detach { stream });
    assert!(script.abandoned.is_empty() && script.calls.len() == 1, "it goes on");
    script.done(text("finished"));
    assert!(script.events.iter().all(|event| !matches!(event, mcp_core::Event::Late(_))), "and ends in its own time");
    assert_eq!(script.sent(stream).text, "");
}

#[test]
fn row_23_a_cancelled_call_is_silent() {
    proves(&["CANC-2", "STDIO-7"]);
    for (hello, call) in [
        (None, fixture::modern(7, "tools/call", &json!({"name": "echo", "_meta": {"progressToken": 1}}), &json!({}))),
        (
            Some(fixture::initialize("2025-11-25", &json!({}))),
            fixture::request(7, "tools/call", &json!({"name": "echo", "_meta": {"progressToken": 1}})),
        ),
    ] {
        let mut script = stdio().speaking(Revision::V2025_11_25);
        hello.iter().for_each(|hello| drop(script.send(hello)));
        script.send(&call);
        let (ticket, running) = script.calls.pop_front().unwrap();
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        assert_eq!(script.send(&cancel).text, "");
        assert_eq!(script.abandoned, [running.id]);
        script.input(Input::Note { call: running.id, note: progress(1.0) });
        script.input(Input::Done { ticket, outcome: text("late") });
        script.advance(mcp_core::Span::secs(5));
        assert_eq!(script.received().text, "");
        assert_eq!(script.send(&cancel).text, "", "CANC-8");
    }
}

#[test]
fn row_25_logs_for_who_asked_and_from_its_level() {
    proves(&["LOG-3"]);
    let levels = |sent: &Sent| -> Vec<String> {
        sent.messages.iter().filter_map(|message| message["params"]["level"].as_str().map(Into::into)).collect()
    };
    for (level, right) in [(None, &[][..]), (Some("error"), &["error", "critical", "alert", "emergency"])] {
        let mut message = echo(&json!({}));
        if let Some(level) = level {
            message["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
        }
        let mut over_http = Script::new(Exchange::new(MachineId(1), fixture::endpoint(), Time(0)));
        let mut over_stdio = stdio();
        over_http.send(&message);
        over_stdio.send(&message);
        for level in Level::ALL {
            over_http.note(Note::Log { level, logger: None, data: "1".into() });
            over_stdio.note(Note::Log { level, logger: None, data: "1".into() });
        }
        assert_eq!(levels(&over_http.received()), right);
        assert_eq!(levels(&over_stdio.received()), right);
    }
}

#[test]
fn row_26_two_clients_with_the_same_ids() {
    proves(&["BASE-4"]);
    let endpoint = fixture::endpoint();
    let mut message = echo(&json!({}));
    message["params"]["_meta"]["progressToken"] = json!(1);
    let mut clients = [1, 2].map(|n| Script::new(Exchange::new(MachineId(n), Arc::clone(&endpoint), Time(0))));
    clients.iter_mut().for_each(|client| drop(client.send(&message)));
    clients[0].note(progress(1.0));
    clients[0].input(Input::Detach { stream: StreamId::ONLY });
    clients[1].done(text("two"));
    assert_eq!(clients[1].received().one()["result"]["content"][0]["text"], "two");

    let mut site = http();
    site.answer = None;
    let call = fixture::request(1, "tools/call", &json!({"name": "echo"}));
    let sessions = [(); 2].map(|()| site.open(Revision::V2025_11_25, &json!({})));
    sessions.iter().for_each(|session| drop(site.post(&call, &sessioned(&session.encode()))));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    site.post(&cancel, &sessioned(&sessions[0].encode()));
    assert_eq!(site.session(sessions[0]).abandoned.len(), 1);
    assert_eq!(site.session(sessions[1]).calls.len(), 1, "CANC-4");
}

#[test]
fn row_33_both_eras_interleaved_on_one_stream() {
    proves(&["VER-21"]);
    let mut script = stdio().speaking(Revision::V2025_11_25);
    script.send(&fixture::initialize("2025-11-25", &json!({"sampling": {}})));
    script.send(&fixture::initialized());
    let legacy = fixture::request("old", "tools/list", &json!({}));
    for _ in 0..2 {
        let new = script.send(&modern("tools/list", &json!({})));
        assert_eq!(new.one()["result"]["resultType"], "complete");
        assert!(new.one()["result"]["_meta"].is_object() && new.one()["result"]["ttlMs"].is_number());
        let old = script.send(&legacy);
        let members: Vec<&String> = old.one()["result"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["tools"], "BASE-13");
        assert_eq!(old.one()["result"]["tools"], new.one()["result"]["tools"]);
        // What one era declared the other did not.
        let sampler = fixture::modern(1, "tools/call", &json!({"name": "sampler"}), &json!({}));
        assert_eq!(script.send(&sampler).code(), -32021);
    }
    script.send(&fixture::request("a", "tools/call", &json!({"name": "echo"})));
    script.send(&fixture::modern("b", "tools/call", &json!({"name": "echo"}), &json!({})));
    script.done(text("x"));
    script.done(text("x"));
    let sent = script.received();
    assert_eq!((&sent.messages[0]["id"], sent.messages[0]["result"].get("resultType")), (&json!("a"), None));
    assert_eq!((&sent.messages[1]["id"], &sent.messages[1]["result"]["resultType"]), (&json!("b"), &json!("complete")));
}

#[test]
fn row_34_a_missing_capability_that_a_handler_finds_before_any_output() {
    proves(&["HTTP-42", "VER-6"]);
    let mut site = http();
    site.answer = Some(|_| {
        let missing = r#"{"requiredCapabilities":{"sampling":{}}}"#;
        Outcome::Fail(Fault::new(mcp_core::Code::MISSING_CAPABILITY, "Sampling is needed").with_data(missing))
    });
    let sent = site.modern(&echo(&json!({})));
    assert_eq!((sent.reply.clone(), sent.code()), (Some(Reply::json(400)), -32021));
}
