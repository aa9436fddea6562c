//! Whether a client is let in: the call that the server's own code is asked before anybody is served, and what is kept of what it
//! says. In simulated time.

use std::sync::Arc;

use bytes::Bytes;
use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::{Limits, Policy};
use mcp_core::question::Question;
use mcp_core::record::Recorder;
use mcp_core::{
    Caller, Close, Endpoint, EndpointBuilder, Event, Exchange, Fault, Form, Input, Kind, MachineId, Note, Outcome,
    Pipe, Revision, Session, SessionId, Span, StreamId, Time,
};
use serde_json::{Value, json};
use testkit::{Script, fixture};

#[path = "init/each.rs"]
mod each;

const ID: SessionId = SessionId::new([7; 16]);
const START: Time = Time(1_000_000);

fn builder() -> EndpointBuilder {
    fixture::builder().init(true)
}

fn within(call: Option<Span>) -> Policy {
    let mut policy = Policy::default();
    policy.timing.call = call;
    policy
}

fn session_of(endpoint: Arc<Endpoint>) -> Script<Recorder<Session>> {
    let fresh = move || Session::new(MachineId(1), Arc::clone(&endpoint), ID, START);
    Script::replaying(fresh).speaking(Revision::V2025_11_25)
}

fn session() -> Script<Recorder<Session>> {
    session_of(builder().build().unwrap())
}

fn pipe() -> Script<Recorder<Pipe>> {
    let endpoint = builder().build().unwrap();
    Script::replaying(move || Pipe::new(MachineId(1), Arc::clone(&endpoint), START)).speaking(Revision::V2025_11_25)
}

fn hello() -> Value {
    fixture::initialize("2025-11-25", &json!({}))
}

fn let_in(assigns: &'static str) -> Outcome {
    Outcome::Complete(Answer::Init(Bytes::from_static(assigns.as_bytes())))
}

fn refused() -> Outcome {
    Outcome::Fail(Fault::init_failed("no such tenant"))
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn echo(id: u64) -> Value {
    fixture::request(id, "tools/call", &json!({"name": "echo"}))
}

fn assigned(assigns: &'static str) -> Note {
    Note::Assigns(Bytes::from_static(assigns.as_bytes()))
}

/// What the oldest call runs, and with which assigns.
fn runs<M: mcp_core::Machine>(script: &Script<M>) -> (&Kind, &str) {
    let call = &script.calls.front().expect("a call runs").1;
    (&call.kind, std::str::from_utf8(&call.assigns).unwrap())
}

/// Whether the oldest call is a tool's, with these assigns.
fn runs_a_tool_with<M: mcp_core::Machine>(script: &Script<M>, assigns: &str) -> bool {
    let (kind, kept) = runs(script);
    matches!(kind, Kind::Tool { .. }) && kept == assigns
}

fn message(sent: &testkit::Sent) -> &str {
    sent.one()["error"]["message"].as_str().expect("it is an error")
}

#[test]
fn a_client_that_is_let_in_gets_its_session_only_then_and_every_call_has_its_assigns_life_1_http_20() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut script = session();
        let sent = script.send(&fixture::initialize(revision.as_str(), &json!({})));
        let stream = script.stream();
        assert_eq!((sent.reply.clone(), &*sent.text, sent.ended), (None, "", false), "nothing is said before");
        let (_, call) = script.calls.front().unwrap();
        assert_eq!((&call.kind, call.peer.revision, call.assigns.len()), (&Kind::Init, revision, 0));
        assert_eq!(call.peer.info.as_ref().map(|info| &*info.name), Some("script"), "it may look at the client");
        assert!(script.machine.machine().peer().is_none() && script.events.is_empty());

        script.done(let_in("ann"));
        let sent = script.sent(stream);
        let reply = sent.head();
        assert_eq!((reply.status, reply.form, reply.session), (200, Form::Json, Some(ID)));
        assert_eq!(sent.one()["result"]["protocolVersion"], revision.as_str());
        assert_eq!(script.events, [Event::Opened(revision)]);
        assert_eq!(script.machine.machine().assigns(), b"ann");

        script.send(&fixture::initialized());
        script.send(&echo(1));
        assert!(runs_a_tool_with(&script, "ann"), "and init is not run again");
        script.done(text("done"));
        assert_eq!(script.send(&fixture::request(2, "tools/list", &json!({}))).code(), 0, "nor for a list");
        assert!(script.calls.is_empty() && !script.closed);
    }
}

#[test]
fn a_refused_client_gets_32603_with_status_200_and_no_session_which_ends() {
    let outcomes = [
        (refused(), "Initialization failed: no such tenant"),
        (let_in_with(Limits::default().assigns + 1), "Initialization failed: the server has more to keep"),
        (text("what?"), "Initialization failed: the server's answer is of another kind"),
        (
            Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() },
            "Initialization failed: ",
        ),
        (Outcome::Fail(Fault::method_not_found("x")), "Method not found: x"),
    ];
    for (outcome, words) in outcomes {
        let mut script = session();
        script.send(&hello());
        let stream = script.stream();
        script.done(outcome);
        let sent = script.sent(stream);
        assert!(message(&sent).starts_with(words), "{}", sent.text);
        let reply = sent.head();
        assert_eq!((reply.status, reply.session, sent.ended), (200, None, true));
        assert!(words.starts_with("Method") || sent.code() == -32603);
        assert!(script.closed, "the session is over");
        assert!(matches!(&*script.events, [Event::Refused(_)]), "{:?}", script.events);
        assert_eq!(script.send(&echo(1)).status(), 404);
        assert!(script.calls.is_empty() && script.deadline().is_none());
    }
}

fn let_in_with(bytes: usize) -> Outcome {
    Outcome::Complete(Answer::Init(vec![b'x'; bytes].into()))
}

#[test]
fn as_many_bytes_as_the_limit_says_are_kept() {
    let mut script = session();
    script.send(&hello());
    let stream = script.stream();
    script.done(let_in_with(Limits::default().assigns));
    assert_eq!(script.sent(stream).code(), 0);
    assert_eq!(script.machine.machine().assigns().len(), 16 << 10);
}

#[test]
fn a_server_that_is_full_says_so_in_its_own_words_and_with_its_own_status() {
    let mut script = session();
    script.send(&hello());
    let stream = script.stream();
    script.done(Outcome::Fail(Fault::busy()));
    let sent = script.sent(stream);
    assert_eq!((sent.code(), sent.status(), script.closed), (-32603, 503, true));
    assert_eq!(sent.head().session, None);
}

#[test]
fn a_client_that_takes_nothing_but_events_is_told_all_the_same_http_20_http_43() {
    for (outcome, session) in [(let_in(""), Some(ID)), (refused(), None)] {
        let mut script = self::session();
        script.send_with(&hello(), &[("accept".into(), "text/event-stream".into())]);
        let stream = script.stream();
        script.done(outcome);
        let sent = script.sent(stream);
        let reply = sent.head();
        assert_eq!((reply.status, reply.form, reply.session), (200, Form::Events, session));
        assert_eq!((sent.messages.len(), sent.ended), (1, true));
    }
}

#[test]
fn no_silence_is_broken_before_it_is_known_whether_there_is_a_session_http_20() {
    let mut script = session();
    script.send(&hello());
    let stream = script.stream();
    script.advance(Span::secs(3600));
    assert_eq!(script.sent(stream).reply, None, "a head without a session could not be taken back");
    script.done(let_in("late"));
    assert_eq!(script.sent(stream).head().session, Some(ID));
    assert!(!script.closed);
}

#[test]
fn what_an_init_says_on_the_way_reaches_nobody() {
    let mut script = session();
    let mut hello = hello();
    hello["params"]["_meta"] = json!({"progressToken": 1});
    script.send(&hello);
    let stream = script.stream();
    assert!(!script.calls.front().unwrap().1.progress);
    script.note(Note::Progress { progress: 1.0, total: None, message: None });
    script.note(Note::Log { level: mcp_core::Level::Emergency, logger: None, data: "1".into() });
    script.note(Note::PageDone { id: "1".into() });
    script.note(Note::HangUp);
    script.note(assigned("too soon"));
    script.done(let_in(""));
    let sent = script.sent(stream);
    assert_eq!((sent.head().form, sent.messages.len()), (Form::Json, 1));
    assert_eq!(script.machine.machine().assigns(), b"");
}

#[test]
fn until_a_session_is_there_only_pings_are_answered_and_nobody_else_takes_it_over_life_6_life_7_http_21() {
    let mut script = session();
    script.caller = Caller::new("ann", mcp_core::Scopes::default());
    script.send(&hello());
    let stream = script.stream();
    assert_eq!(script.send(&fixture::request(1, "ping", &json!({}))).code(), 0);
    assert_eq!(script.send(&echo(2)).code(), -32600);
    assert_eq!(script.send(&hello()).code(), -32600);
    let (_, listening) = script.attach(&[("accept", "text/event-stream")]);
    assert_eq!(listening.status(), 404);
    script.caller = Caller::new("bob", mcp_core::Scopes::default());
    assert_eq!(script.send(&hello()).status(), 404);
    script.caller = Caller::new("ann", mcp_core::Scopes::default());
    assert_eq!((script.calls.len(), script.closed), (1, false));
    script.done(let_in(""));
    assert_eq!(script.sent(stream).code(), 0);
}

#[test]
fn initialize_cannot_be_cancelled_also_while_init_runs_canc_2() {
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}});
    let mut script = session();
    script.send(&hello());
    let stream = script.stream();
    script.send(&cancel);
    assert!(script.abandoned.is_empty());
    script.done(let_in(""));
    assert_eq!(script.sent(stream).code(), 0);
    let mut script = pipe();
    script.send(&hello());
    script.send(&cancel);
    assert!(script.abandoned.is_empty());
    script.done(let_in(""));
    assert_eq!(script.received().code(), 0);
}

#[test]
fn an_init_that_takes_too_long_is_a_refusal_and_its_answer_comes_too_late() {
    let mut script = session_of(builder().policy(within(Some(Span::secs(5)))).build().unwrap());
    script.send(&hello());
    let stream = script.stream();
    let (ticket, call) = script.calls.pop_front().unwrap();
    assert_eq!(call.deadline, Some(START.after(Span::secs(5))));
    script.advance(Span::secs(5));
    let sent = script.sent(stream);
    assert_eq!((sent.code(), sent.status(), script.closed), (-32603, 200, true));
    assert_eq!((sent.head().session, &*script.abandoned), (None, &[call.id][..]));
    script.input(Input::Done { ticket, outcome: let_in("ann") });
    assert_eq!(script.events.last(), Some(&Event::Late(call.id)));
}

#[test]
fn a_client_that_leaves_before_it_has_a_session_leaves_none_behind() {
    let mut script = session();
    script.send(&hello());
    let stream = script.stream();
    script.input(Input::Detach { stream });
    assert_eq!((script.abandoned.len(), script.closed), (1, true));
    assert!(script.deadline().is_none());
    for (why, answered) in [(Close::Shutdown, true), (Close::Peer, false)] {
        let mut script = session();
        script.send(&hello());
        let stream = script.stream();
        script.close(why);
        let sent = script.sent(stream);
        assert_eq!((script.abandoned.len(), script.closed, sent.messages.len()), (1, true, usize::from(answered)));
        assert!(sent.reply.is_none_or(|reply| reply.session.is_none()));
    }
}

#[test]
fn a_call_replaces_what_is_kept_of_its_session_for_those_that_come_after() {
    let mut script = session();
    script.send(&hello());
    script.done(let_in("one"));
    script.send(&fixture::initialized());
    script.send(&echo(1));
    script.send(&echo(2));
    script.note(assigned("two"));
    script.note(assigned("three"));
    let too_much = Note::Assigns(vec![b'x'; Limits::default().assigns + 1].into());
    script.note(too_much);
    assert_eq!(script.events.last(), Some(&Event::Dropped("assigns that are too large")));
    assert_eq!(script.machine.machine().assigns(), b"three");
    assert!(runs_a_tool_with(&script, "one"), "what runs keeps what it was handed");
    script.done(text("1"));
    assert!(runs_a_tool_with(&script, "one"));
    script.send(&echo(3));
    script.done(text("2"));
    assert!(runs_a_tool_with(&script, "three"));
    // It has ended, and has nothing more to say.
    script.input(Input::Note { call: mcp_core::CallId(2), note: assigned("four") });
    assert_eq!(script.machine.machine().assigns(), b"three");
}

#[test]
fn a_call_that_asks_is_run_again_with_what_is_kept_by_then() {
    let mut script = session();
    script.send(&fixture::initialize("2025-11-25", &json!({"roots": {}})));
    script.done(let_in("one"));
    script.send(&fixture::initialized());
    script.send(&echo(1));
    let stream = script.stream();
    script.note(assigned("two"));
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
    let asked = script.sent(stream).messages[0]["id"].clone();
    script.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": []}}));
    assert!(runs_a_tool_with(&script, "two"), "a session's init is not run again");
}

#[test]
fn over_a_byte_stream_a_refused_client_may_try_again() {
    let mut script = pipe();
    assert_eq!(script.send(&hello()).text, "");
    assert_eq!(script.send(&fixture::request(1, "ping", &json!({}))).code(), 0);
    assert_eq!(script.send(&hello()).code(), -32600, "its id is in flight");
    let mut other = hello();
    other["id"] = json!("other");
    assert_eq!(script.send(&other).code(), -32600);
    assert_ne!(script.send(&echo(2)).code(), 0);
    script.done(refused());
    let sent = script.received();
    assert_eq!(
        (sent.code(), &sent.one()["id"], message(&sent)),
        (-32603, &json!(0), "Initialization failed: no such tenant")
    );
    assert!(!script.closed);
    script.send(&hello());
    script.done(let_in("ann"));
    assert_eq!(script.received().one()["result"]["protocolVersion"], "2025-11-25");
    script.send(&echo(3));
    assert!(runs_a_tool_with(&script, "ann"));
    assert!(script.machine.machine().peer().is_some());
    let opened = script.events.iter().filter(|event| matches!(event, Event::Opened(_))).count();
    assert_eq!(opened, 1);
}

#[test]
fn a_client_of_a_byte_stream_that_waits_for_nothing_is_told_of_changes_life_5() {
    for hasty in [true, false] {
        let mut script = pipe();
        script.send(&hello());
        if hasty {
            script.send(&fixture::initialized());
        }
        script.done(let_in(""));
        script.received();
        script.input(Input::Changed { catalog: fixture::catalog(), what: mcp_core::Change::Tools });
        let told = script.received().messages;
        assert_eq!(told.len(), usize::from(hasty), "{told:?}");
    }
}

#[test]
fn the_end_of_the_input_waits_for_an_init_and_a_time_limit_ends_it_stdio_4() {
    let mut script = pipe();
    script.send(&hello());
    script.close(Close::EndOfInput);
    assert!(!script.closed);
    script.done(let_in(""));
    assert_eq!((script.received().code(), script.closed), (0, true));
    let endpoint = builder().policy(within(Some(Span::secs(5)))).build().unwrap();
    let mut script = Script::replaying(move || Pipe::new(MachineId(1), Arc::clone(&endpoint), START));
    script.send(&hello());
    script.advance(Span::secs(5));
    assert_eq!(script.received().code(), -32603);
    script.send(&hello());
    script.done(let_in(""));
    assert_eq!(script.received().code(), 0, "it was a refusal, and may be tried again");
}

#[test]
fn a_session_that_sleeps_keeps_its_assigns() {
    let endpoint = builder().build().unwrap();
    let mut script = Script::new(Session::new(MachineId(1), Arc::clone(&endpoint), ID, START));
    script.send(&hello());
    assert!(!script.machine.can_sleep(), "nobody sleeps who is not let in");
    script.done(let_in("ann"));
    script.send(&fixture::initialized());
    script.send(&echo(1));
    script.note(assigned("ben"));
    script.done(text("done"));
    let fresh = Session::new(MachineId(2), Arc::clone(&endpoint), ID, START);
    let session = std::mem::replace(&mut script.machine, fresh);
    let listed = fixture::catalog().generations();
    let asleep = session.sleep(listed).expect("it is quiet");
    let (snapshot, keep_alives) = (asleep.snapshot, asleep.keep_alives);
    script.machine = Session::wake(MachineId(1), &snapshot, keep_alives, endpoint, listed, script.now).unwrap();
    assert_eq!(script.machine.assigns(), b"ben");
    script.send(&echo(2));
    assert!(runs_a_tool_with(&script, "ben"));
}

#[test]
fn where_nobody_is_asked_calls_may_keep_something_all_the_same() {
    let mut script = session_of(fixture::endpoint());
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&echo(1));
    assert!(runs_a_tool_with(&script, ""));
    script.note(assigned("seen"));
    script.send(&echo(2));
    script.done(text("1"));
    assert!(runs_a_tool_with(&script, "seen"));
}
