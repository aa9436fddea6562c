//! The ten fixed rules of the contract (`ARCHITECTURE.md`), each as far as a test can show it from outside.

use std::sync::Arc;

use bytes::Bytes;
use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::Policy;
use mcp_core::question::{Question, Response};
use mcp_core::{
    Endpoint, Event, Exchange, Input, Kind, Level, Machine, MachineId, Note, Outcome, Pipe, Revision, Session,
    SessionId, Span, StreamId, Ticket, Time,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, fixture};

#[path = "rules/bounds.rs"]
mod bounds;
#[path = "rules/questions.rs"]
mod questions;
#[path = "rules/room.rs"]
mod room;
#[path = "rules/values.rs"]
mod values;

fn exchange(endpoint: &Arc<Endpoint>, machine: u64) -> Script<Exchange> {
    Script::new(Exchange::new(MachineId(machine), Arc::clone(endpoint), Time(1_000_000)))
}

fn pipe(endpoint: &Arc<Endpoint>) -> Script<Pipe> {
    Script::new(Pipe::new(MachineId(1), Arc::clone(endpoint), Time(1_000_000)))
}

/// A pipe whose legacy conversation is open.
fn opened_pipe(endpoint: &Arc<Endpoint>, capabilities: &Value) -> Script<Pipe> {
    let mut script = pipe(endpoint).speaking(Revision::V2025_11_25);
    script.send(&fixture::initialize("2025-11-25", capabilities));
    script.send(&fixture::initialized());
    script.received();
    script
}

fn session(endpoint: &Arc<Endpoint>, revision: Revision, capabilities: &Value) -> Script<Session> {
    let id = SessionId::new([7; 16]);
    let mut script = Script::new(Session::new(MachineId(1), Arc::clone(endpoint), id, Time(1_000_000)));
    script.open(revision, capabilities);
    script
}

fn limited(change: impl FnOnce(&mut Policy)) -> Arc<Endpoint> {
    let mut policy = Policy::default();
    change(&mut policy);
    fixture::builder().policy(policy).build().unwrap()
}

fn echo(id: impl Into<Value>, meta: &Value) -> Value {
    fixture::request(id, "tools/call", &json!({"name": "echo", "arguments": {"message": "hi"}, "_meta": meta}))
}

fn modern_echo(id: impl Into<Value>, meta: &Value) -> Value {
    fixture::modern(
        id,
        "tools/call",
        &json!({"name": "echo", "arguments": {"message": "hi"}, "_meta": meta}),
        &json!({}),
    )
}

fn cancel(id: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

fn text(words: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(words)))
}

fn at(progress: f64) -> Note {
    Note::Progress { progress, total: None, message: None }
}

fn said(level: Level, data: &str) -> Note {
    Note::Log { level, logger: None, data: data.into() }
}

/// The text of a tool's answer.
fn words(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

fn methods(sent: &Sent) -> Vec<&str> {
    sent.messages.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect()
}

#[test]
fn rule_1_the_crate_is_pure_by_its_own_declaration() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = std::fs::read_to_string(root.join("src/lib.rs")).unwrap();
    assert!(library.contains("#![no_std]\n") && library.contains("#![forbid(unsafe_code)]\n"));
    assert!(!library.contains("extern crate std"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    assert!(!manifest.contains("[features]"), "a feature could switch `std` on");
    let mut folders = vec![root.join("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                for word in ["std::", "unsafe ", "static mut", "SystemTime", "Instant::now", "Mutex<", "RwLock<"] {
                    assert!(!line.contains(word), "{}: {line}", path.display());
                }
            }
            files += 1;
        }
    }
    assert!(files > 30, "{files} files were looked at");
}

/// Whether a machine that was handed this body holds on to it.
fn pins<M: Machine>(script: &mut Script<M>, message: &Value) -> bool {
    let body = Bytes::from(message.to_string());
    script.send_bytes(body.clone(), None);
    !body.is_unique()
}

#[test]
fn rule_2_a_running_call_pins_no_read_buffer() {
    let endpoint = fixture::endpoint();
    let extension = json!({"extensions": {"com.acme/work": {}}});
    let work = fixture::modern(2, "acme/do", &json!({"x": [1, 2, 3]}), &extension);
    let token = json!({"progressToken": "a-token-of-some-length", "com.acme/x": {"y": "z"}});
    for message in [modern_echo("an-id-of-some-length", &token), work] {
        let mut script = exchange(&endpoint, 1);
        assert!(!pins(&mut script, &message));
        assert_eq!(script.calls.len(), 1, "while the call runs");
        let mut script = pipe(&endpoint);
        assert!(!pins(&mut script, &message));
        assert_eq!(script.calls.len(), 1);
    }
    let legacy_work = fixture::request(2, "acme/do", &json!({"x": [1, 2, 3]}));
    for message in [echo("an-id-of-some-length", &token), legacy_work] {
        let mut script = session(&endpoint, Revision::V2025_11_25, &extension);
        assert!(!pins(&mut script, &message));
        assert_eq!(script.calls.len(), 1);
        let mut script = opened_pipe(&endpoint, &extension);
        assert!(!pins(&mut script, &message));
        assert_eq!(script.calls.len(), 1);
    }
}

#[test]
fn rule_2_a_handshake_a_question_and_its_answer_pin_no_read_buffer() {
    let endpoint = fixture::endpoint();
    let able = json!({"elicitation": {}, "roots": {}, "extensions": {"com.acme/work": {"a": 1}}});
    let mut script = pipe(&endpoint);
    assert!(!pins(&mut script, &fixture::initialize("2025-11-25", &able)));
    let mut script = session(&endpoint, Revision::V2025_11_25, &able);
    assert!(!pins(&mut script, &echo(1, &json!({}))));
    let questions = vec![("a".into(), Question::Roots), ("b".into(), Question::Roots)];
    script.done(Outcome::Ask { questions, state: Bytes::new() });
    let asked = script.sent(StreamId(2));
    assert_eq!(methods(&asked), ["roots/list", "roots/list"]);
    let answer = json!({"jsonrpc": "2.0", "id": asked.messages[0]["id"], "result": {"roots": [{"uri": "file:///a"}]}});
    assert!(!pins(&mut script, &answer));
    assert!(script.calls.is_empty(), "while the other question is open");
    // On modern the client brings its answers along.
    let mut script = exchange(&endpoint, 1);
    let mut message = modern_echo(1, &json!({}));
    message["params"]["inputResponses"] = json!({"who": {"action": "accept", "content": {"n": "Ann"}}});
    assert!(!pins(&mut script, &message));
    assert!(script.calls[0].1.resume.is_some());
}

#[test]
fn rule_2_a_handler_that_keeps_its_arguments_keeps_them_alone() {
    let mut message = modern_echo(1, &json!({}));
    message["params"]["padding"] = json!("x".repeat(100_000));
    let mut script = exchange(&fixture::endpoint(), 1);
    script.send_bytes(message.to_string().into(), None);
    let (_, call) = script.calls.pop_front().unwrap();
    drop(script);
    let Kind::Tool { arguments, .. } = call.kind else { panic!("{call:?}") };
    let arguments = arguments.try_into_mut().expect("nobody else holds them");
    assert_eq!((&*arguments, arguments.capacity()), (&br#"{"message":"hi"}"#[..], 16));
    let meta = call.meta.try_into_mut().expect("nobody else holds it");
    assert_eq!(meta.capacity(), meta.len());
}

/// Cancels a call, lets its driver oversleep, sends another under the same id, and then the late answer to the first.
fn late_answer<M: Machine>(mut script: Script<M>, stream: impl Fn(&Script<M>) -> StreamId, call: impl Fn() -> Value) {
    script.send(&call());
    let (late, _) = script.calls.pop_front().unwrap();
    script.send(&cancel(&json!(1)));
    assert_eq!(script.abandoned, [late.call()]);
    script.advance(Span::secs(50));
    script.send(&call());
    let second = stream(&script);
    script.sent(second);
    let (ticket, fresh) = script.calls.pop_front().unwrap();
    assert_ne!(late.call(), ticket.call(), "a name of its own");
    assert_eq!(ticket.call(), fresh.id);
    let name = late.call();
    script.events.clear();
    script.input(Input::Note { call: name, note: said(Level::Emergency, "\"late\"") });
    script.input(Input::Done { ticket: late, outcome: text("late") });
    assert_eq!(script.events, [Event::Late(name)]);
    assert_eq!(script.sent(second).text, "");
    script.input(Input::Done { ticket, outcome: text("in time") });
    let sent = script.sent(second);
    assert_eq!((sent.messages.len(), words(&sent.messages[0])), (1, "in time"));
}

#[test]
fn rule_3_a_late_answer_never_reaches_another_request_with_the_same_id() {
    let endpoint = fixture::endpoint();
    late_answer(opened_pipe(&endpoint, &json!({})), |_| StreamId::ONLY, || echo(1, &json!({})));
    let wanted = || json!({"io.modelcontextprotocol/logLevel": "debug"});
    late_answer(pipe(&endpoint), |_| StreamId::ONLY, || modern_echo(1, &wanted()));
    let script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    late_answer(script, Script::stream, || echo(1, &json!({})));
}

#[test]
fn rule_3_the_ticket_of_an_earlier_run_opens_nothing() {
    // The request, its slot and its stream are the same; only the run is another.
    let endpoint = fixture::endpoint();
    let mut script = opened_pipe(&endpoint, &json!({}));
    script.send(&echo(1, &json!({})));
    let first = script.calls[0].1.id;
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
    let second = script.calls[0].1.id;
    assert_ne!(first, second);
    script.input(Input::Note { call: first, note: said(Level::Emergency, "1") });
    assert_eq!(script.received().text, "");
    script.done(text("second"));
    assert_eq!(words(script.received().one()), "second");
}

#[test]
fn rule_3_a_ticket_cannot_be_copied_and_a_call_names_its_entry_by_handle() {
    // Ambiguous, and so no code, if `Ticket` were `Clone`.
    trait NotClone<Marker> {
        fn is_fine() {}
    }
    impl<T> NotClone<()> for T {}
    struct Copied;
    impl<T: Clone> NotClone<Copied> for T {}
    let () = <Ticket as NotClone<_>>::is_fine();

    let mut script = opened_pipe(&fixture::endpoint(), &json!({}));
    script.send(&echo(1, &json!({})));
    let empty = mcp_core::Catalog::builder().build().unwrap();
    script.input(Input::Changed { catalog: empty, what: mcp_core::Change::Tools });
    assert!(matches!(&script.calls[0].1.kind, Kind::Tool { tool: fixture::ECHO, name, .. } if &**name == "echo"));
    script.received();
    script.done(text("still"));
    assert_eq!(words(script.received().one()), "still");
}

#[test]
fn rule_7_modern_requests_share_nothing_that_changes() {
    fn shared<T: Send + Sync>() {}
    fn moved<T: Send>() {}
    shared::<Endpoint>();
    moved::<Exchange>();
    let endpoint = fixture::endpoint();
    let meta = |level: &str| json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": level});
    let (mut a, mut b) = (exchange(&endpoint, 1), exchange(&endpoint, 2));
    // The same id and token: clients need not know of each other (BASE-4).
    a.send(&modern_echo(1, &meta("debug")));
    b.send(&modern_echo(1, &meta("error")));
    for (first, second) in [(1.0, 10.0), (2.0, 5.0)] {
        for (script, progress) in [(&mut a, first), (&mut b, second)] {
            script.note(at(progress));
            script.note(said(Level::Info, "0"));
        }
    }
    let of = |script: &mut Script<Exchange>| {
        let sent = script.received();
        sent.messages.iter().map(|message| message["params"]["progress"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of(&mut a), ["1", "null", "2", "null"]);
    assert_eq!(of(&mut b), ["10"]);
    b.input(Input::Detach { stream: StreamId::ONLY });
    a.done(text("a"));
    assert_eq!(words(a.received().one()), "a");
    assert_eq!(b.received().text, "");
    // All that an exchange has of others is the endpoint.
    drop((a, b));
    assert_eq!(Arc::strong_count(&endpoint), 1);
}

#[test]
fn rule_8_one_message_has_one_home() {
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &json!({"roots": {}}));
    let (older, _) = script.attach(&[]);
    let (newer, _) = script.attach(&[]);
    let changed = Input::Changed { catalog: fixture::catalog(), what: mcp_core::Change::Tools };
    script.input(changed);
    assert_eq!(methods(&script.sent(older)), Vec::<&str>::new());
    assert_eq!(methods(&script.sent(newer)), ["notifications/tools/list_changed"]);
    // What belongs to a request goes on its stream alone.
    script.send(&echo(1, &json!({"progressToken": 1})));
    let first = script.stream();
    script.send(&echo(1, &json!({"progressToken": 1})));
    let second = script.stream();
    script.note(at(1.0));
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
    assert_eq!(methods(&script.sent(first)), ["notifications/progress", "roots/list"]);
    script.done(text("second"));
    assert_eq!(methods(&script.sent(second)), ["answer"]);
    assert_eq!((&*script.sent(older).text, &*script.sent(newer).text), ("", ""));
}

#[test]
fn rule_8_the_name_of_a_stream_is_never_given_again() {
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &json!({}));
    let mut seen = std::collections::BTreeSet::new();
    for n in 0..50 {
        let sent = script.send(&fixture::request(n, "ping", &json!({})));
        assert!(sent.ended);
        assert!(seen.insert(script.stream()));
        let (listening, _) = script.attach(&[]);
        assert!(seen.insert(listening));
        script.input(Input::Detach { stream: listening });
    }
    // And nobody reads on in the stream of another (HTTP-29: 400, and not 404).
    for event in ["1", "0", "garbage", ""] {
        let (_, sent) = script.attach(&[("last-event-id", event)]);
        assert_eq!((sent.status(), sent.code()), (400, -32600), "{event}");
    }
}

#[test]
fn rule_10_an_extensions_method_is_a_call_where_both_sides_declared_it() {
    let endpoint = fixture::endpoint();
    let declared = json!({"extensions": {"com.acme/work": {"depth": 2}}});
    let check = |calls: &std::collections::VecDeque<(Ticket, Box<mcp_core::Call>)>| {
        let call = &calls[0].1;
        assert_eq!(call.peer.capabilities.extension("com.acme/work"), Some(r#"{"depth":2}"#));
        let Kind::Extension { method, params } = &call.kind else { panic!("{call:?}") };
        assert_eq!((&**method, serde_json::from_slice::<Value>(params).unwrap()["x"].clone()), ("acme/do", json!(1)));
    };
    let done = || Outcome::Complete(Answer::Extension(Bytes::from_static(b"{\"y\":2}")));
    let work = fixture::request(1, "acme/do", &json!({"x": 1}));
    let modern_work = |capabilities: &Value| fixture::modern(1, "acme/do", &json!({"x": 1}), capabilities);

    let mut script = exchange(&endpoint, 1);
    script.send(&modern_work(&declared));
    check(&script.calls);
    script.done(done());
    let sent = script.received();
    assert_eq!((&sent.one()["result"]["y"], &sent.one()["result"]["resultType"]), (&json!(2), &json!("complete")));

    let mut script = opened_pipe(&endpoint, &declared);
    script.send(&work);
    check(&script.calls);
    script.done(done());
    assert_eq!(script.received().one()["result"], json!({"y": 2}));
    // The handshake's declaration is not a modern request's.
    assert_eq!(script.send(&modern_work(&json!({}))).code(), -32021);
    script.send(&modern_work(&declared));
    check(&script.calls);

    let mut script = session(&endpoint, Revision::V2025_11_25, &declared);
    script.send(&work);
    check(&script.calls);
    script.done(done());
    assert_eq!(script.sent(script.stream()).one()["result"], json!({"y": 2}));

    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    assert_eq!(script.send(&work).code(), -32601, "SHIM-4: -32021 is not legacy's");
    assert_eq!(exchange(&endpoint, 1).send(&modern_work(&json!({}))).code(), -32021);
    assert_eq!(exchange(&endpoint, 1).send(&fixture::modern(1, "acme/undo", &json!({}), &declared)).code(), -32601);
    // Declared by the client alone.
    let plain = Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).build().unwrap();
    assert_eq!(exchange(&plain, 1).send(&modern_work(&declared)).code(), -32601);
}
