//! Sessions that sleep: what a snapshot keeps, how large it is, what damage does to it. In simulated time.

use std::sync::Arc;

use bytes::Bytes;
use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::{Policy, Timing};
use mcp_core::question::{Question, Response};
use mcp_core::{
    Asleep, CallId, Caller, Change, Close, Endpoint, Event, Generations, Input, KeepAlives, Kind, Level, Machine,
    MachineId, Note, Outcome, Revision, Scopes, Session, SessionId, Snapshot, SnapshotError, Span, StreamId, Time,
    Timer, wire,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::sample::Index;
use serde_json::{Value, json};
use testkit::{Script, fixture};

#[path = "snapshot/asleep.rs"]
mod asleep;
#[path = "snapshot/damage.rs"]
mod damage;
#[path = "snapshot/twin.rs"]
mod twin;

/// The lists as they are all the while.
const LISTED: Generations = Generations::new(1, 2, 3);

const ID: SessionId = SessionId::new([7; 16]);

type Client = Script<Session>;

fn client(policy: Policy) -> Client {
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    Script::new(Session::new(MachineId(1), endpoint, ID, Time(1_000_000)))
}

fn open(revision: Revision, capabilities: &Value) -> Client {
    let mut client = client(timed(|_| {}));
    client.open(revision, capabilities);
    client
}

fn timed(change: impl FnOnce(&mut Timing)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy.timing);
    policy
}

fn all_capabilities() -> Value {
    json!({"roots": {}, "sampling": {"tools": {}, "context": {}}, "elicitation": {"form": {}, "url": {}},
        "extensions": {fixture::EXTENSION: {"fast": [true, "ü"]}, "com.acme/other": {}}})
}

fn echo(id: impl Into<Value>, token: &Value) -> Value {
    let meta = if token.is_null() { json!({"trace": "x"}) } else { json!({"progressToken": token}) };
    fixture::request(id, "tools/call", &json!({"name": "echo", "arguments": {"message": "hi"}, "_meta": meta}))
}

fn form(message: &str) -> Question {
    Question::Form { message: message.into(), schema: r#"{"type":"object","properties":{}}"#.into() }
}

fn ask(keys: &[&str]) -> Outcome {
    let questions = keys.iter().map(|key| ((*key).into(), form(key))).collect();
    Outcome::Ask { questions, state: Bytes::from_static(b"\x00state\xff") }
}

fn reply(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}})
}

fn log(data: u32) -> Note {
    Note::Log { level: Level::Error, logger: None, data: data.to_string().into() }
}

/// Puts the session to sleep and leaves another in its place.
fn sleep(client: &mut Client) -> Snapshot {
    fall_asleep(client).snapshot
}

fn fall_asleep(client: &mut Client) -> Asleep {
    let other = Session::new(MachineId(9), fixture::endpoint(), ID, client.now);
    assert!(client.machine.can_sleep());
    std::mem::replace(&mut client.machine, other).sleep(LISTED).expect("a quiet session sleeps")
}

fn wake(snapshot: &Snapshot) -> Result<Session, SnapshotError> {
    wake_under(snapshot, fixture::endpoint(), Time(0))
}

fn wake_under(snapshot: &Snapshot, endpoint: Arc<Endpoint>, now: Time) -> Result<Session, SnapshotError> {
    Session::wake(MachineId(1), snapshot, KeepAlives::default(), endpoint, LISTED, now)
}

/// Everything that the session holds, line by line, in no order.
fn fields(session: &Session) -> Vec<String> {
    // Who sleeps is drowsy: it is the one thing that changes.
    let lines = format!("{session:#?}").replace("drowsy: false", "drowsy: true");
    let mut lines: Vec<String> = lines.lines().map(ToOwned::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// A session that sleeps with as much as one can: two questions of one request answered, two open, a second request whose
/// reader has left, a listening stream, a ping.
fn full() -> Client {
    let mut client = client(timed(|timing| {
        timing.ping = Some(Span::secs(100));
        timing.call = Some(Span::secs(900));
    }));
    client.caller = Caller::new("ann@example.com", Scopes::parse("read write"));
    client.open(Revision::V2025_11_25, &all_capabilities());
    client.send(&fixture::request(1, "logging/setLevel", &json!({"level": "warning"})));
    client.attach(&[("accept", "text/event-stream")]);
    // The slot of a request that ends stays free between those that go on.
    let mut acme = fixture::request("a\u{1F600}", "acme/do", &json!({"deep": {"er": [1, 2]}}));
    acme["params"]["_meta"] = json!({"progressToken": "t", "trace": 1});
    client.send(&echo(2, &Value::Null));
    client.send(&echo(json!(18_446_744_073_709_551_615_u64), &json!(7)));
    client.send(&acme);
    client.done(Outcome::Complete(Answer::Tool(ToolAnswer::text("done"))));
    client.note(Note::Progress { progress: 0.5, total: None, message: None });
    client.hold(true);
    for n in 0..300 {
        client.note(log(n));
    }
    client.hold(false);
    client.done(ask(&["one", "two", "three", "four"]));
    let stream = StreamId(6);
    client.done(ask(&["alone"]));
    client.input(Input::Detach { stream });
    client.advance(Span::secs(100));
    client.send(&reply(1));
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "no"}}));
    client.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    client.advance(Span::secs(100));
    client
}

/// A resource, a prompt and two completions, all of which have asked the client.
fn all_kinds() -> Client {
    let mut client = open(Revision::V2025_11_25, &json!({"elicitation": {}}));
    let prompt = json!({"name": "greet", "arguments": {"who": "ü", "tone": ""}});
    let complete = json!({"ref": {"type": "ref/resource", "uri": "notes://{id}"},
        "argument": {"name": "id", "value": "x"}, "context": {"arguments": {"a": "b"}}});
    let named = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}});
    client.send(&fixture::request(1, "resources/read", &json!({"uri": "notes://a%2Fb"})));
    client.send(&fixture::request(2, "prompts/get", &prompt));
    client.send(&fixture::request(3, "completion/complete", &complete));
    client.send(&fixture::request(4, "completion/complete", &named));
    (0..4).for_each(|_| client.done(ask(&["one"])));
    client
}

/// A batch of which one member asks two questions.
fn batch() -> Client {
    let mut client = open(Revision::V2025_03_26, &json!({"sampling": {}}));
    client.send(&json!([echo(1, &json!("t")), echo(2, &Value::Null)]));
    client.done(Outcome::Complete(Answer::Tool(ToolAnswer::text("done"))));
    let question = Question::Sample { params: r#"{"messages":[],"maxTokens":1}"#.into(), tools: false };
    let questions = vec![("a".into(), question), ("b".into(), Question::Roots)];
    client.done(Outcome::Ask { questions, state: Bytes::new() });
    client
}

#[test]
fn what_wakes_holds_all_that_fell_asleep() {
    type Case = (&'static str, fn() -> Client);
    let cases: [Case; 12] = [
        ("just initialized", || {
            let mut client = client(Policy::default());
            client.send(&fixture::initialize("2024-11-05", &json!({})));
            client
        }),
        ("open", || open(Revision::V2025_06_18, &json!({}))),
        ("capabilities, level, name", || {
            let mut client = client(Policy::default());
            let mut hello = fixture::initialize("2025-11-25", &all_capabilities());
            hello["params"]["clientInfo"]["title"] = json!("A script ü");
            client.send(&hello);
            client.send(&fixture::request("1", "logging/setLevel", &json!({"level": "alert"})));
            client
        }),
        ("untold", || {
            let mut client = open(Revision::V2025_03_26, &json!({}));
            client.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
            client
        }),
        ("untold of two lists", || {
            let mut client = open(Revision::V2025_03_26, &json!({}));
            for what in [Change::Resources, Change::Prompts] {
                client.input(Input::Changed { catalog: fixture::catalog(), what });
            }
            client
        }),
        ("resource, prompt and completion ask", all_kinds),
        ("drowsy", || {
            let mut client = open(Revision::V2025_03_26, &json!({}));
            client.advance(Span::secs(61));
            assert_eq!(client.hibernations, 1);
            client
        }),
        ("listening twice", || {
            let mut client = open(Revision::V2025_11_25, &json!({}));
            client.attach(&[("accept", "text/event-stream")]);
            client.attach(&[]);
            client
        }),
        ("a ping is open", || {
            let mut client = client(timed(|timing| timing.ping = Some(Span::secs(20))));
            client.open(Revision::V2025_11_25, &json!({}));
            client.attach(&[]);
            client.advance(Span::secs(30));
            client
        }),
        ("a batch asks batch_2", batch),
        ("the clock ran back", || {
            let mut client = open(Revision::V2025_11_25, &json!({}));
            client.attach(&[]);
            client.advance(Span::secs(16));
            client.now = Time(5);
            client
        }),
        ("everything", full),
    ];
    for (name, make) in cases {
        let mut client = make();
        let (fell, deadline, caller) = (fields(&client.machine), client.deadline(), client.caller.clone());
        let asleep = fall_asleep(&mut client);
        let snapshot = asleep.snapshot;
        let stored = Snapshot::from_bytes(Bytes::copy_from_slice(snapshot.as_bytes()));
        let endpoint = fixture::builder().policy(policy_of(name)).build().unwrap();
        let woken = Session::wake(MachineId(1), &stored, asleep.keep_alives, endpoint, LISTED, client.now).unwrap();
        let woke = fields(&woken);
        let lost: Vec<_> = fell.iter().filter(|line| !woke.contains(line)).collect();
        assert!(fell == woke, "{name}: lost {lost:#?}");
        if !matches!(deadline, Some((_, Timer::Hibernate))) {
            assert_eq!(woken.deadline(), deadline, "{name}");
        }
        assert!(woken.belongs_to(&caller), "{name}");
        assert_eq!(woken.sleep(LISTED).unwrap().snapshot, snapshot, "{name}: sleeping at once changes nothing");
    }
}

/// The policy that a case of the table has: it belongs to the endpoint, and is no part of a snapshot.
fn policy_of(name: &str) -> Policy {
    timed(|timing| match name {
        "a ping is open" => timing.ping = Some(Span::secs(20)),
        "everything" => {
            timing.ping = Some(Span::secs(100));
            timing.call = Some(Span::secs(900));
        }
        _ => {}
    })
}

#[test]
fn a_reference_sleeper_is_small() {
    let mut client = client(Policy::default());
    let mut hello = fixture::initialize("2025-11-25", &json!({"roots": {}, "sampling": {}, "elicitation": {}}));
    hello["params"]["clientInfo"] = json!({"name": "a-client-with-a-name-of-35-byte-len", "version": "1.2.3"});
    client.caller = Caller::new("ann-3141", Scopes::default());
    client.send(&hello);
    client.send(&fixture::initialized());
    // A busy life leaves counters, and nothing else.
    client.now = Time(1_800_000_000_000);
    for id in 1..=1000 {
        client.send(&echo(id, &Value::Null));
        client.done(Outcome::Complete(Answer::Tool(ToolAnswer::text("done"))));
    }
    client.advance(Span::secs(60));
    let snapshot = sleep(&mut client);
    let length = snapshot.as_bytes().len();
    assert!(length <= 136, "{length} bytes");
    assert_eq!(format!("{snapshot:?}"), format!("Snapshot({length} bytes)"), "it shows no secret");
    assert_eq!((snapshot.session(), snapshot.belongs_to(&client.caller)), (Some(ID), true));
    assert!(
        !snapshot.belongs_to(&Caller::anonymous()) && !snapshot.belongs_to(&Caller::new("ann-3142", Scopes::default()))
    );
}

#[test]
fn a_question_answered_after_a_sleep_elsewhere_goes_on_with_its_request_shim_5() {
    let mut client = full();
    let snapshot = sleep(&mut client);
    client.machine = wake_under(&snapshot, fixture::endpoint(), client.now).unwrap();
    client.send(&reply(3));
    client.send(&reply(4));
    let (ticket, call) = client.calls.pop_front().expect("the request runs again");
    assert_eq!((ticket.machine(), ticket.call()), (MachineId(1), CallId(4)), "no name is used twice");
    let resume = call.resume.as_ref().unwrap();
    assert_eq!(&resume.state[..], b"\x00state\xff");
    assert_eq!(fixture::reply(resume.reply("one")), r#"{"action":"accept","content":{}}"#);
    assert_eq!(resume.reply("two"), Some(&Response::Error { code: -1, message: "no".into() }));
    assert_eq!(call.caller, client.caller);
    let again = Note::Progress { progress: 0.5, total: None, message: None };
    client.sent(StreamId(5));
    client.input(Input::Note { call: ticket.call(), note: again });
    client.input(Input::Done { ticket, outcome: Outcome::Complete(Answer::Tool(ToolAnswer::text("at last"))) });
    let sent = client.sent(StreamId(5));
    assert_eq!(sent.one()["id"], json!(18_446_744_073_709_551_615_u64), "and progress must grow still (PROG-2)");
    assert_eq!(sent.one()["result"]["content"][0]["text"], "at last");
    assert!(sent.ended);
}

#[test]
fn resources_and_prompts_that_ask_go_on_after_a_sleep_with_all_that_they_were_called_with_shim_5() {
    let mut client = open(Revision::V2025_11_25, &json!({"elicitation": {}}));
    let prompt = json!({"name": "greet", "arguments": {"who": "ü", "tone": ""}});
    client.send(&fixture::request(1, "resources/read", &json!({"uri": "notes://a%2Fb"})));
    let read = client.stream();
    client.send(&fixture::request(2, "prompts/get", &prompt));
    let got = client.stream();
    let kinds: Vec<Kind> = client.calls.iter().map(|(_, call)| call.kind.clone()).collect();
    client.done(ask(&["one"]));
    client.done(ask(&["two"]));
    let snapshot = sleep(&mut client);
    client.machine = wake_under(&snapshot, fixture::endpoint(), client.now).unwrap();
    client.sent(read);
    client.sent(got);
    client.send(&reply(1));
    client.send(&reply(2));
    assert!(client.calls.iter().map(|(_, call)| &call.kind).eq(&kinds), "the handlers are called as before");
    for (stream, member) in [(read, "contents"), (got, "messages")] {
        let outcome = testkit::done(&client.calls[0].1);
        client.done(outcome);
        let sent = client.sent(stream);
        assert!(sent.one()["result"].get(member).is_some() && sent.ended, "{}", sent.text);
    }
}

#[test]
fn who_has_something_to_do_does_not_sleep_and_is_given_back() {
    let mut opening = client(Policy::default());
    assert!(!opening.machine.can_sleep(), "opening");
    opening.close(Close::Shutdown);
    assert!(!opening.machine.can_sleep(), "closed");

    let mut running = open(Revision::V2025_11_25, &json!({}));
    running.send(&echo(1, &Value::Null));
    let before = fields(&running.machine);
    let other = Session::new(MachineId(9), fixture::endpoint(), ID, running.now);
    let given_back = std::mem::replace(&mut running.machine, other).sleep(LISTED).unwrap_err();
    assert_eq!(fields(&given_back), before, "a handler runs");

    let mut unsent = open(Revision::V2025_11_25, &json!({}));
    unsent.hold(true);
    unsent.attach(&[]);
    assert!(!unsent.machine.can_sleep(), "bytes wait");
    unsent.hold(false);
    assert!(unsent.machine.can_sleep());
    unsent.hold(true);
    unsent.send(&fixture::initialized());
    assert!(!unsent.machine.can_sleep(), "the end of a stream waits");
    unsent.hold(false);
    unsent.machine.handle(unsent.now, Input::Close(Close::EndOfInput));
    assert!(unsent.machine.can_sleep());
    unsent.machine.handle(unsent.now.after(Span::secs(60)), Input::Tick);
    assert!(!unsent.machine.can_sleep(), "an output waits");

    let endpoint = fixture::builder().sessions(false).build().unwrap();
    let none = Session::sessionless(MachineId(1), endpoint, Revision::V2025_06_18, Time(0));
    assert!(none.sleep(LISTED).is_err(), "it lives for one POST");
}

#[test]
fn a_sleep_ends_neither_deadlines_nor_late_tickets() {
    let mut client = open(Revision::V2025_11_25, &json!({"elicitation": {}}));
    client.send(&echo(1, &Value::Null));
    let (late, _) = client.calls.pop_back().unwrap();
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.send(&cancelled);
    client.send(&echo(2, &Value::Null));
    client.done(ask(&["one"]));
    let snapshot = sleep(&mut client);
    client.machine = wake_under(&snapshot, fixture::endpoint(), client.now).unwrap();
    let call = late.call();
    client.input(Input::Done { ticket: late, outcome: ask(&[]) });
    assert!(client.events.contains(&Event::Late(call)));
    client.advance(Span::secs(300));
    let resume = client.calls.front().unwrap().1.resume.as_ref().unwrap();
    assert_eq!(resume.reply("one"), Some(&Response::TimedOut), "BASE-25");
    client.done(Outcome::Complete(Answer::Tool(ToolAnswer::text("done"))));

    let snapshot = sleep(&mut client);
    let much_later = client.now.after(Span::secs(7200));
    client.machine = wake_under(&snapshot, fixture::endpoint(), much_later).unwrap();
    client.now = much_later;
    client.input(Input::Tick);
    assert!(client.closed && client.events.contains(&Event::Expired), "sleeping does not keep a session alive");
}

#[test]
fn a_clock_that_ran_back_over_a_sleep_does_no_harm() {
    let later = Time(1_010_000);
    for (woken, then) in [(Time(0), Time(1_000_000)), (later, later)] {
        let mut client = open(Revision::V2025_11_25, &json!({}));
        let snapshot = sleep(&mut client);
        client.machine = wake_under(&snapshot, fixture::endpoint(), woken).unwrap();
        client.now = Time(1);
        client.send(&fixture::request(1, "ping", &json!({})));
        assert_eq!(client.deadline(), Some((then.after(Span::secs(60)), Timer::Hibernate)));
    }
}
