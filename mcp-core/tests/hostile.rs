//! What nobody should send, in any place, and more of it than anybody should.

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::Policy;
use mcp_core::{Endpoint, MachineId, Outcome, Pipe, Revision, Session, SessionId, Time};
use serde_json::{Value, json};
use testkit::{Script, Site, fixture};

const NEWEST: Revision = Revision::V2025_11_25;

fn site() -> Site {
    Site::new(fixture::endpoint())
}

fn pipe() -> Script<Pipe> {
    Script::new(Pipe::new(MachineId(1), fixture::endpoint(), Time(1_000_000)))
}

fn session_of(endpoint: Arc<Endpoint>) -> Script<Session> {
    let mut script = Script::new(Session::new(MachineId(1), endpoint, SessionId::new([7; 16]), Time(1_000_000)));
    script.open(NEWEST, &json!({}));
    script
}

fn modern(method: &str, params: &Value) -> Value {
    fixture::modern(1, method, params, &json!({}))
}

fn call(id: u64) -> Value {
    fixture::request(id, "tools/call", &json!({"name": "echo"}))
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

/// What nobody should send, in any place.
fn hostile() -> Vec<Value> {
    let mut deep = json!([]);
    for _ in 0..40 {
        deep = json!([deep]);
    }
    let long = "\u{1f600}".repeat(20_000);
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}\u{1b}[2J\r\n\u{202e}"),
        json!("../../etc/passwd"),
        json!("'; drop table tools; --"),
        json!(long),
        json!([]),
        json!([[], {}, null]),
        deep,
        json!({}),
        json!({"__proto__": {"a": 1}, "": null, "io.modelcontextprotocol/x": 1}),
    ]
}

#[test]
fn whatever_a_client_sends_gets_a_defined_answer_and_harms_nobody_sec_1() {
    let methods = ["server/discover", "tools/list", "tools/call", "acme/do", "no/such"];
    let places = [
        "/cursor",
        "/name",
        "/arguments",
        "/requestState",
        "/inputResponses",
        "/task",
        "/_meta/io.modelcontextprotocol~1protocolVersion",
        "/_meta/io.modelcontextprotocol~1clientCapabilities",
        "/_meta/io.modelcontextprotocol~1clientInfo",
        "/_meta/io.modelcontextprotocol~1logLevel",
        "/_meta/progressToken",
        "/_meta/traceparent",
        "/_meta",
        "",
    ];
    let whole = json!({"name": "echo", "arguments": {}, "cursor": "", "requestState": "", "inputResponses": {}, "task": {},
        "_meta": {"io.modelcontextprotocol/clientInfo": {}, "io.modelcontextprotocol/logLevel": "",
            "progressToken": 1, "traceparent": ""}});
    let mut site = site();
    let mut stream = pipe();
    stream.open(NEWEST, &json!({}));
    for method in methods {
        for place in places {
            for value in hostile() {
                let mut message = modern(method, &whole);
                *message["params"].pointer_mut(place).unwrap() = value.clone();
                let sent = site.modern(&message);
                let defined = matches!(sent.code(), 0 | -32603..=-32600 | -32022..=-32020);
                assert!(defined && sent.text.len() < 4_096, "{method} {place} {value}: {}", sent.text);
                stream.send(&message);
                while !stream.calls.is_empty() {
                    stream.done(text("done"));
                }
                if let Some(params) = message["params"].as_object_mut() {
                    params.remove("_meta");
                }
                stream.send(&message);
                while !stream.calls.is_empty() {
                    stream.done(text("done"));
                }
                stream.received();
            }
        }
    }
    assert_eq!(stream.send(&fixture::request(1, "ping", &json!({}))).one()["result"], json!({}));
}

#[test]
fn a_burst_of_calls_is_limited_and_then_served_again_sec_2() {
    let mut policy = Policy::default();
    policy.limits.calls = 3;
    let mut script = session_of(fixture::builder().policy(policy).build().unwrap());
    let refused: Vec<i64> = (1..=10).map(|id| script.send(&call(id)).messages.first().map_or(0, code)).collect();
    assert_eq!(refused, [0, 0, 0, -32603, -32603, -32603, -32603, -32603, -32603, -32603]);
    assert_eq!(script.calls.len(), 3);
    assert_eq!(script.send(&fixture::request(11, "ping", &json!({}))).one()["result"], json!({}));
    script.done(text("one"));
    assert!(script.send(&call(12)).messages.is_empty());
    assert_eq!(script.calls.len(), 3);
}

fn code(message: &Value) -> i64 {
    message["error"]["code"].as_i64().unwrap_or(0)
}
