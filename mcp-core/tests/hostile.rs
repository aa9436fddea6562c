//! What nobody should send, in any place, and more of it than anybody should.

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::Policy;
use mcp_core::{Change, Endpoint, Input, Level, MachineId, Note, Outcome, Pipe, Revision, Session, SessionId, Time};
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
    let long = "\u{1f600}".repeat(4_000);
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

/// A request that has every member that any method looks at, and in each what that method takes.
fn whole(method: &str) -> Value {
    let name = if method == "tools/call" { "echo" } else { "greet" };
    let mut params = json!({
        "name": name, "uri": "notes://today", "arguments": {"who": "a", "tone": "b"}, "task": {}, "level": "info",
        "requestId": 1, "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
        "ref": {"type": "ref/prompt", "name": "greet", "uri": "notes://{id}"}, "argument": {"name": "who", "value": ""},
        "context": {"arguments": {"tone": "x"}},
        "notifications": {"toolsListChanged": true, "resourceSubscriptions": []},
    });
    params["_meta"] = json!({"io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/logLevel": "info", "progressToken": 1, "traceparent": ""});
    modern(method, &params)
}

/// Puts a value where the pointer leads, into an object that may lack that member.
fn put(message: &mut Value, place: &str, value: Value) {
    let (parent, member) = place.rsplit_once('/').expect("a pointer");
    let member = member.replace("~1", "/");
    message["params"].pointer_mut(parent).expect("the parent is there")[member] = value;
}

/// Each method, and where in the parameters it looks.
const METHODS: [(&str, &[&str]); 15] = [
    ("server/discover", &[]),
    ("tools/list", &["/cursor"]),
    (
        "tools/call",
        &["/name", "/arguments", "/arguments/who", "/requestState", "/inputResponses", "/inputResponses/who", "/task"],
    ),
    ("resources/list", &["/cursor"]),
    ("resources/templates/list", &["/cursor"]),
    ("resources/read", &["/uri", "/requestState", "/inputResponses"]),
    ("prompts/get", &["/name", "/arguments", "/arguments/who", "/requestState", "/inputResponses"]),
    (
        "completion/complete",
        &[
            "/ref",
            "/ref/type",
            "/ref/name",
            "/ref/uri",
            "/argument",
            "/argument/name",
            "/argument/value",
            "/context",
            "/context/arguments",
            "/context/arguments/tone",
        ],
    ),
    (
        "subscriptions/listen",
        &["/notifications", "/notifications/toolsListChanged", "/notifications/resourceSubscriptions"],
    ),
    ("resources/subscribe", &["/uri"]),
    ("logging/setLevel", &["/level"]),
    ("initialize", &["/protocolVersion", "/capabilities", "/clientInfo"]),
    ("ping", &[]),
    ("acme/do", &["/x"]),
    ("no/such", &["/x"]),
];

/// What every method looks at.
const META: [&str; 6] = [
    "/_meta",
    "/_meta/io.modelcontextprotocol~1protocolVersion",
    "/_meta/io.modelcontextprotocol~1clientCapabilities",
    "/_meta/io.modelcontextprotocol~1clientInfo",
    "/_meta/io.modelcontextprotocol~1logLevel",
    "/_meta/progressToken",
];

/// Each request of a method with one thing wrong in it.
fn attacks(method: &str, places: &[&str]) -> Vec<Value> {
    let mut attacks = vec![whole(method)];
    for place in places.iter().chain(&META) {
        for value in hostile() {
            let mut message = whole(method);
            if place.starts_with("/inputResponses/") {
                message["params"]["inputResponses"] = json!({});
            }
            put(&mut message, place, value);
            attacks.push(message);
        }
    }
    let bare = |params| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    attacks.extend(hostile().into_iter().map(bare));
    attacks
}

/// Whether that is an answer of the protocol, and no more of it than a URI that is not known, shortened.
fn is_defined(answer: &Value, codes: &[i64]) -> bool {
    let shape = match answer["error"]["code"].as_i64() {
        Some(code) => codes.contains(&code),
        None => answer["result"].is_object() || answer["method"].is_string(),
    };
    shape && answer.to_string().len() < 10_000
}

const MODERN: [i64; 7] = [-32600, -32601, -32602, -32603, -32020, -32021, -32022];
const LEGACY: [i64; 5] = [-32600, -32601, -32602, -32603, -32002];

#[test]
fn whatever_a_client_of_the_stateless_revision_sends_gets_a_defined_answer_sec_1() {
    let mut site = site();
    for (method, places) in METHODS {
        for message in attacks(method, places) {
            let sent = site.modern(&message);
            assert!(!sent.messages.is_empty(), "{message}");
            assert!(
                sent.messages.iter().all(|answer| is_defined(answer, &MODERN)),
                "{message:.2000}: {:.2000}",
                sent.text
            );
        }
    }
    assert_eq!(site.modern(&modern("tools/list", &json!({}))).status(), 200);
}

#[test]
fn whatever_comes_on_one_byte_stream_gets_a_defined_answer_and_the_stream_goes_on_sec_1() {
    let mut stream = pipe();
    stream.open(NEWEST, &json!({}));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    for (method, places) in METHODS {
        for message in attacks(method, places) {
            let mut bare = message.clone();
            if let Some(params) = bare["params"].as_object_mut() {
                params.remove("_meta");
            }
            for (message, codes) in [(&message, &[&MODERN[..], &LEGACY].concat()), (&bare, &LEGACY.to_vec())] {
                let mut answers = stream.send(message).messages;
                while let Some((_, call)) = stream.calls.front() {
                    let outcome = testkit::done(call);
                    stream.done(outcome);
                }
                answers.extend(stream.received().messages);
                assert!(
                    !answers.is_empty() && answers.iter().all(|answer| is_defined(answer, codes)),
                    "{message}: {answers:?}"
                );
                assert_eq!(stream.send(&cancel).text, "");
            }
            let mut note = bare;
            note.as_object_mut().unwrap().remove("id");
            assert_eq!(stream.send(&note).text, "", "{note}");
        }
    }
    assert_eq!(stream.send(&fixture::request(1, "ping", &json!({}))).one()["result"], json!({}));
}

/// A request that is run, of each kind.
fn runs(id: u64) -> [Value; 4] {
    let of_prompt = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}});
    [
        call(id),
        fixture::request(id, "resources/read", &json!({"uri": "notes://today"})),
        fixture::request(id, "prompts/get", &json!({"name": "plain"})),
        fixture::request(id, "completion/complete", &of_prompt),
    ]
}

#[test]
fn a_burst_of_calls_reads_prompts_or_completions_is_limited_and_then_served_again_sec_2_comp_4() {
    let mut policy = Policy::default();
    policy.limits.calls = 3;
    for kind in 0..4 {
        let mut script = session_of(fixture::builder().policy(policy.clone()).build().unwrap());
        let burst = (1..=10).map(|id| script.send(&runs(id)[kind]).messages.first().map_or(0, code));
        let burst: Vec<i64> = burst.collect();
        assert_eq!(burst, [0, 0, 0, -32603, -32603, -32603, -32603, -32603, -32603, -32603]);
        assert_eq!(script.calls.len(), 3);
        assert_eq!(script.send(&fixture::request(11, "ping", &json!({}))).one()["result"], json!({}));
        let done = testkit::done(&script.calls[0].1);
        script.done(done);
        assert!(script.send(&runs(12)[kind]).messages.is_empty());
        assert_eq!(script.calls.len(), 3);
    }
}

#[test]
fn a_burst_of_words_is_limited_and_the_answer_comes_all_the_same_sec_2() {
    let mut policy = Policy::default();
    policy.limits.logs = 4;
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut script = Script::new(Pipe::new(MachineId(1), endpoint, Time(1_000_000)));
    let meta = json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"});
    script.send(&modern("tools/call", &json!({"name": "echo", "_meta": meta})));
    script.hold(true);
    for n in 1..=1_000 {
        script.note(Note::Progress { progress: f64::from(n), total: None, message: None });
        script.note(Note::Log { level: Level::Info, logger: None, data: n.to_string().into() });
    }
    script.done(text("done"));
    script.hold(false);
    let sent = script.received().messages;
    let of = |method: &str| sent.iter().filter(|message| message["method"] == method).collect::<Vec<_>>();
    let data: Vec<&Value> = of("notifications/message").iter().map(|log| &log["params"]["data"]).collect();
    assert_eq!(data, [&json!(997), &json!(998), &json!(999), &json!(1_000)], "the newest of them");
    assert_eq!(of("notifications/progress").len(), 1);
    assert_eq!(of("notifications/progress")[0]["params"]["progress"], 1_000);
    assert_eq!(sent.last().unwrap()["result"]["content"][0]["text"], "done");
}

#[test]
fn a_burst_of_listeners_is_limited_and_the_others_live_sec_2_sub_14() {
    let mut policy = Policy::default();
    policy.limits.listens = 3;
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut script = Script::new(Pipe::new(MachineId(1), endpoint, Time(1_000_000)));
    let listen = |id: u64| {
        fixture::modern(id, "subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}), &json!({}))
    };
    let opened: Vec<i64> = (1..=6).map(|id| code(script.send(&listen(id)).one())).collect();
    assert_eq!(opened, [0, 0, 0, -32603, -32603, -32603]);
    script.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    assert_eq!(script.received().messages.len(), 3, "each that was taken in is told");
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    assert_eq!(code(script.send(&listen(7)).one()), 0, "and one that ends makes room");
}

fn code(message: &Value) -> i64 {
    message["error"]["code"].as_i64().unwrap_or(0)
}
