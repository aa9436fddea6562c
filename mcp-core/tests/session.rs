//! Legacy over HTTP: a session, its streams, its calls, its end. In simulated time.

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::policy::{Policy, Timing};
use mcp_core::question::Question;
use mcp_core::record::Recorder;
use mcp_core::{
    CallId, Caller, Change, Close, Endpoint, Event, EventId, Form, Input, Kind, Level, MachineId, Note, Outcome,
    Revision, Scopes, Session, SessionId, Span, StreamId, Time, Timer,
};
use serde_json::{Value, json};
use testkit::{Script, fixture};

#[path = "session/asking.rs"]
mod asking;

const ID: SessionId = SessionId::new([7; 16]);

/// Every run of these tests is recorded, and replayed when its test is over.
type Client = Script<Recorder<Session>>;

fn new_session() -> Client {
    with(Policy::default())
}

fn with(policy: Policy) -> Client {
    of(fixture::builder().policy(policy).build().unwrap())
}

fn of(endpoint: Arc<Endpoint>) -> Client {
    Script::replaying(move || Session::new(MachineId(1), Arc::clone(&endpoint), ID, Time(1_000_000)))
}

fn resumable(policy: Policy) -> Client {
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let fresh = move || Session::new(MachineId(1), Arc::clone(&endpoint), ID, Time(1_000_000)).resumable();
    Script::replaying(fresh).resumable()
}

fn sessionless(policy: Policy) -> Client {
    let endpoint = fixture::builder().sessions(false).policy(policy).build().unwrap();
    let revision = Revision::V2025_06_18;
    let fresh = move || Session::sessionless(MachineId(1), Arc::clone(&endpoint), revision, Time(1_000_000));
    Script::replaying(fresh).speaking(revision)
}

fn opened(revision: Revision, capabilities: &Value) -> Client {
    let mut script = new_session();
    script.open(revision, capabilities);
    script
}

fn open() -> Client {
    opened(Revision::V2025_11_25, &json!({}))
}

fn call(id: u64, progress: bool) -> Value {
    let meta = if progress { json!({"progressToken": id}) } else { json!({}) };
    fixture::request(id, "tools/call", &json!({"name": "echo", "arguments": {"message": "hi"}, "_meta": meta}))
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn progress(progress: f64) -> Note {
    Note::Progress { progress, total: Some(100.0), message: Some("on the way".into()) }
}

fn log(level: Level) -> Note {
    Note::Log { level, logger: Some("test".into()), data: "{\"a\":1}".into() }
}

#[test]
fn each_legacy_revision_is_answered_as_asked_and_anything_else_with_the_newest_life_2_life_3() {
    let cases = [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("1.0.0", "2025-11-25"),
        ("", "2025-11-25"),
    ];
    for (asked, answered) in cases {
        let mut script = new_session();
        let sent = script.send(&fixture::initialize(asked, &json!({})));
        assert_eq!(sent.one()["result"]["protocolVersion"], answered, "asked {asked}");
        assert_eq!(sent.status(), 200);
        let reply = sent.head();
        assert_eq!((reply.session, reply.form), (Some(ID), Form::Json));
        assert!(script.events.contains(&Event::Opened(Revision::parse(answered).unwrap())));
    }
}

#[test]
fn initialize_with_a_missing_or_ill_typed_member_is_refused_and_opens_nothing_life_1() {
    let whole = fixture::initialize("2025-11-25", &json!({}));
    let broken: [(&str, Value); 6] = [
        ("protocolVersion", Value::Null),
        ("protocolVersion", json!(5)),
        ("capabilities", Value::Null),
        ("capabilities", json!([])),
        ("clientInfo", Value::Null),
        ("clientInfo", json!({"name": "x"})),
    ];
    for (member, value) in broken {
        let mut message = whole.clone();
        match value {
            Value::Null => drop(message["params"].as_object_mut().unwrap().remove(member)),
            value => message["params"][member] = value,
        }
        let mut script = new_session();
        let sent = script.send(&message);
        assert_eq!((sent.code(), sent.one()["id"].clone()), (-32602, json!(0)), "{member}");
        assert!(sent.one()["error"]["message"].as_str().unwrap().contains(member), "{}", sent.text);
        assert_eq!(sent.head().session, None);
        assert!(script.closed, "a session whose handshake failed is no session");
    }
}

#[test]
fn unknown_capabilities_are_tolerated_case_22_shim_12() {
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "roots": {},
        "extensions": {"com.example/x": {"y": 1}}, "futureThing": {"z": true}});
    let script = opened(Revision::V2025_11_25, &capabilities);
    let peer = Arc::clone(script.machine.machine().peer().unwrap());
    assert_eq!(peer.capabilities.extension("com.example/x"), Some(r#"{"y":1}"#));
}

#[test]
fn a_second_initialize_is_refused_and_the_session_goes_on_life_7() {
    let mut script = open();
    let sent = script.send(&fixture::initialize("2025-06-18", &json!({})));
    assert_eq!((sent.code(), sent.status()), (-32600, 400));
    assert_eq!(script.send(&fixture::request(1, "ping", &json!({}))).one()["result"], json!({}));
}

#[test]
fn logging_can_be_set_and_tools_listed_before_initialized_case_18_case_24() {
    let mut script = new_session();
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    let set = script.send(&fixture::request(1, "logging/setLevel", &json!({"level": "error"})));
    assert_eq!(set.one(), &json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert!(script.send(&fixture::request(2, "tools/list", &json!({}))).one()["result"]["tools"].is_array());
    assert_eq!(script.send(&fixture::initialized()).status(), 202);
}

#[test]
fn nothing_modern_leaks_to_a_legacy_peer_base_13_case_101() {
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut script = opened(revision, &json!({}));
        let list = script.send(&fixture::request(1, "tools/list", &json!({})));
        let members: Vec<&String> = list.one()["result"].as_object().unwrap().keys().collect();
        assert_eq!(members, ["tools"], "{revision}");
        let sent = script.send(&call(2, false));
        assert_eq!(sent.reply.clone(), None, "a call waits for its first message");
        let stream = script.stream();
        script.done(text("hi"));
        let result = script.sent(stream).one()["result"].clone();
        assert_eq!(result, json!({"content": [{"type": "text", "text": "hi"}]}), "{revision}");
    }
}

#[test]
fn errors_of_methods_have_status_200_and_404_is_for_sessions_alone_http_11() {
    let mut script = open();
    for (message, code) in [
        (fixture::request(1, "foo/bar", &json!({})), -32601),
        (fixture::request(2, "subscriptions/listen", &json!({})), -32601),
        (fixture::request(3, "server/discover", &json!({})), -32601),
        (fixture::request(4, "tools/call", &json!({"name": "nope"})), -32602),
        (fixture::request(5, "tools/call", &json!({})), -32602),
        (fixture::request(6, "tools/call", &json!({"name": "echo", "arguments": []})), -32602),
        (fixture::request(7, "tools/list", &json!({"cursor": "garbage"})), -32602),
        (fixture::request(8, "logging/setLevel", &json!({"level": "loud"})), -32602),
    ] {
        let sent = script.send(&message);
        assert_eq!((sent.code(), sent.status()), (code, 200), "{message}");
        assert_eq!(sent.one()["id"], message["id"]);
    }
    assert!(script.calls.is_empty());
}

#[test]
fn a_call_that_answers_first_is_json_and_one_that_speaks_first_is_a_stream_http_7() {
    let mut script = open();
    script.send(&call(1, true));
    let plain = script.stream();
    script.done(text("done"));
    let sent = script.sent(plain);
    assert_eq!((sent.head().form, sent.ended), (Form::Json, true));

    script.send(&call(2, true));
    let stream = script.stream();
    script.note(progress(10.0));
    script.note(progress(10.0));
    script.note(progress(5.0));
    script.note(progress(50.5));
    script.done(text("done"));
    let sent = script.sent(stream);
    assert_eq!((sent.status(), sent.head().form, sent.ended), (200, Form::Events, true));
    let seen: Vec<&Value> = sent.messages.iter().map(|message| &message["params"]["progress"]).collect();
    assert_eq!(seen, [&json!(10), &json!(50.5), &Value::Null], "prog_2: only growing values, then the answer (prog_3)");
    let token = json!({"progressToken": 2, "progress": 10, "total": 100, "message": "on the way"});
    assert_eq!(sent.messages[0]["params"], token);
    assert_eq!(sent.messages[2]["id"], 2);
}

#[test]
fn progress_has_no_message_in_2024_11_05_and_none_is_sent_without_a_token_prog_1() {
    let mut script = opened(Revision::V2024_11_05, &json!({}));
    script.send(&call(1, true));
    let stream = script.stream();
    script.note(progress(1.0));
    assert_eq!(script.sent(stream).one()["params"], json!({"progressToken": 1, "progress": 1, "total": 100}));
    script.done(text("done"));

    script.send(&call(2, false));
    let stream = script.stream();
    assert!(!script.calls[0].1.progress, "the handler can see that nobody listens");
    script.note(progress(1.0));
    script.done(text("done"));
    assert_eq!(script.sent(stream).head().form, Form::Json);
}

#[test]
fn logs_go_to_the_stream_of_their_request_from_the_level_that_was_set_log_2() {
    let mut script = open();
    script.send(&fixture::request(1, "logging/setLevel", &json!({"level": "warning"})));
    script.send(&call(2, false));
    let stream = script.stream();
    script.note(log(Level::Notice));
    script.note(log(Level::Warning));
    script.done(text("done"));
    let sent = script.sent(stream);
    assert_eq!(sent.messages.len(), 2);
    assert_eq!(sent.messages[0]["method"], "notifications/message");
    assert_eq!(sent.messages[0]["params"], json!({"level": "warning", "logger": "test", "data": {"a": 1}}));
}

#[test]
fn a_json_only_client_gets_its_answer_and_nothing_else() {
    let mut script = open();
    let headers = [("accept".to_owned(), "application/json".to_owned())];
    script.send_with(&call(1, true), &headers);
    let stream = script.stream();
    assert!(!script.calls[0].1.progress);
    script.note(progress(1.0));
    script.note(log(Level::Error));
    script.advance(Span::secs(60));
    script.done(text("done"));
    let sent = script.sent(stream);
    assert_eq!((sent.head().form, sent.messages.len()), (Form::Json, 1));
}

#[test]
fn cancelling_ends_the_request_without_an_answer_and_a_late_one_is_ignored_canc_2() {
    let mut script = open();
    script.send(&call(1, true));
    let stream = script.stream();
    let (ticket, running) = script.calls.pop_front().unwrap();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(script.send(&cancel).status(), 202);
    assert_eq!(script.abandoned, [running.id]);
    let sent = script.sent(stream);
    assert_eq!((sent.messages.len(), sent.ended), (0, true));
    // The id may be used again, and the late answer must not reach the new request.
    script.send(&call(1, true));
    let second = script.stream();
    script.input(Input::Note { call: running.id, note: progress(1.0) });
    script.input(Input::Done { ticket, outcome: text("late") });
    assert_eq!(script.sent(second).reply, None);
    assert!(script.events.contains(&Event::Late(running.id)));
    script.done(text("new"));
    assert_eq!(script.sent(second).one()["result"]["content"][0]["text"], "new");
}

#[test]
fn cancellations_that_name_nothing_are_ignored_canc_1_canc_8() {
    let mut script = open();
    script.send(&call(1, false));
    let stream = script.stream();
    for params in [
        json!({"requestId": "1"}),
        json!({"requestId": 99}),
        json!({}),
        json!({"requestId": null}),
        json!({"requestId": []}),
    ] {
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        assert_eq!(script.send(&cancel).status(), 202);
    }
    assert!(script.abandoned.is_empty());
    script.done(text("done"));
    assert_eq!(script.sent(stream).one()["id"], 1);
}

#[test]
fn two_requests_with_one_id_each_get_their_own_answer_and_a_cancel_ends_both_case_32() {
    let mut script = open();
    script.send(&call(1, false));
    let slow = script.stream();
    script.send(&call(1, false));
    let fast = script.stream();
    let (ticket, _) = script.calls.pop_back().unwrap();
    script.input(Input::Done { ticket, outcome: text("fast") });
    assert_eq!(script.sent(fast).one()["result"]["content"][0]["text"], "fast");
    script.done(text("slow"));
    assert_eq!(script.sent(slow).one()["result"]["content"][0]["text"], "slow");

    script.send(&call(2, false));
    script.send(&call(2, false));
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    assert_eq!(script.abandoned.len(), 2);
}

#[test]
fn a_call_outlives_its_reader_http_28() {
    let mut script = open();
    script.send(&call(1, true));
    let stream = script.stream();
    script.note(progress(1.0));
    script.input(Input::Detach { stream });
    assert!(script.abandoned.is_empty());
    script.note(progress(2.0));
    script.done(text("nobody hears"));
    assert_eq!(script.send(&fixture::request(2, "ping", &json!({}))).status(), 200);
}

#[test]
fn a_silence_is_broken_by_comments_http_45() {
    let mut script = open();
    script.send(&call(1, false));
    let stream = script.stream();
    assert_eq!(script.deadline(), Some((Time(1_015_000), Timer::KeepAlive(stream))));
    script.advance(Span::secs(61));
    let sent = script.sent(stream);
    assert_eq!(sent.head().form, Form::Events);
    assert_eq!(sent.text.matches(": ").count(), 4);
    assert!(sent.messages.is_empty());
    script.done(text("done"));
    assert_eq!(script.sent(stream).one()["id"], 1);
}

#[test]
fn a_listening_stream_says_something_at_once_and_hears_of_changes_once_http_25_http_26() {
    let mut script = open();
    let (first, sent) = script.attach(&[("accept", "text/event-stream")]);
    assert_eq!((sent.head().form, sent.text.as_str()), (Form::Events, ": \n\n"));
    let (second, _) = script.attach(&[("accept", "text/event-stream")]);
    let changed = || Input::Changed { catalog: fixture::catalog(), what: Change::Tools };
    script.input(changed());
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}});
    assert_eq!(script.sent(second).one(), &notice, "to the newest");
    assert!(script.sent(first).messages.is_empty(), "and to nobody else");
    script.input(Input::Detach { stream: second });
    script.hold(true);
    script.input(changed());
    script.input(changed());
    script.hold(false);
    assert_eq!(script.sent(first).one(), &notice, "a burst is one notice");
}

#[test]
fn changes_wait_for_initialized_and_for_a_listener_life_5() {
    let mut script = new_session().speaking(Revision::V2025_11_25);
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    script.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    let (stream, sent) = script.attach(&[("accept", "text/event-stream")]);
    assert!(sent.messages.is_empty());
    script.send(&fixture::initialized());
    assert_eq!(script.sent(stream).one()["method"], "notifications/tools/list_changed");
}

#[test]
fn listeners_are_limited_in_number_and_resuming_is_refused_definitely_case_75() {
    let mut script = open();
    for _ in 0..8 {
        assert_eq!(script.attach(&[("accept", "text/event-stream")]).1.status(), 200);
    }
    assert_eq!(script.attach(&[("accept", "text/event-stream")]).1.status(), 409);
    for event in ["999999", "garbage", ""] {
        let (_, sent) = script.attach(&[("accept", "text/event-stream"), ("last-event-id", event)]);
        assert_eq!((sent.status(), sent.code(), sent.ended), (400, -32600, true), "{event}");
    }
}

#[test]
fn calls_are_limited_in_number_and_pings_are_read_over_the_limit() {
    let mut policy = Policy::default();
    policy.limits.calls = 2;
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&call(1, false));
    script.send(&call(2, false));
    let sent = script.send(&call(3, false));
    assert_eq!((sent.status(), sent.code()), (503, -32603));
    assert_eq!(script.calls.len(), 2, "the third was refused at once");
    assert_eq!(script.send(&fixture::request(4, "ping", &json!({}))).status(), 200);
    script.done(text("done"));
    assert_eq!(script.send(&call(5, false)).reply, None);
}

#[test]
fn a_call_that_takes_too_long_is_answered_for() {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(1));
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&call(1, false));
    let stream = script.stream();
    script.advance(Span::secs(2));
    let sent = script.sent(stream);
    assert_eq!((sent.status(), sent.code()), (200, -32603));
    assert_eq!(script.abandoned, [CallId(1)]);
}

#[test]
fn a_session_belongs_to_who_opened_it_http_21() {
    let mut script = new_session().speaking(Revision::V2025_11_25);
    script.caller = Caller::new("alice", Scopes::parse("read"));
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    for stranger in [Caller::anonymous(), Caller::new("bob", Scopes::default())] {
        script.caller = stranger;
        let sent = script.send(&fixture::request(1, "tools/list", &json!({})));
        assert_eq!((sent.status(), sent.code(), sent.one()["id"].clone()), (404, -32600, json!(1)));
        assert_eq!(script.attach(&[("accept", "text/event-stream")]).1.status(), 404);
        assert_eq!(script.send(&fixture::initialized()).status(), 404);
    }
    script.caller = Caller::new("alice", Scopes::default());
    assert_eq!(script.send(&fixture::request(1, "tools/list", &json!({}))).status(), 200);
}

#[test]
fn closing_ends_calls_and_streams_and_then_there_is_no_session_http_23_life_11() {
    let mut script = open();
    script.send(&call(1, false));
    let waiting = script.stream();
    let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
    script.close(Close::Peer);
    assert!(script.closed);
    assert_eq!(script.abandoned, [CallId(1)]);
    for stream in [waiting, listening] {
        let sent = script.sent(stream);
        assert!(sent.ended && sent.messages.is_empty(), "{}", sent.text);
    }
    assert_eq!(script.deadline(), None);
    assert_eq!(script.send(&fixture::request(2, "ping", &json!({}))).status(), 404);
}

#[test]
fn a_shutdown_answers_what_waits() {
    let mut script = open();
    script.send(&call(1, false));
    let waiting = script.stream();
    script.close(Close::Shutdown);
    assert_eq!(script.sent(waiting).code(), -32603);
    assert!(script.closed);
}

#[test]
fn a_quiet_session_may_sleep_after_a_minute_and_ends_after_two_hours() {
    let mut script = open();
    assert_eq!(script.deadline(), Some((Time(1_060_000), Timer::Hibernate)));
    script.advance(Span::secs(50));
    script.send(&fixture::request(1, "ping", &json!({})));
    assert_eq!(script.deadline(), Some((Time(1_110_000), Timer::Hibernate)), "each request re-arms it");
    script.advance(Span::secs(61));
    assert_eq!(script.hibernations, 1, "said once");
    assert_eq!(script.deadline(), Some((Time(1_050_000 + 7_200_000), Timer::Idle)), "and extends nothing");
    script.advance(Span::secs(7200));
    assert!(script.closed && script.events.contains(&Event::Expired));
}

#[test]
fn a_running_call_defers_sleep_and_end() {
    let mut script = open();
    script.send(&call(1, false));
    let stream = script.stream();
    script.advance(Span::secs(10_000));
    assert_eq!((script.hibernations, script.closed), (0, false));
    script.done(text("at last"));
    assert!(script.sent(stream).ended);
    assert_eq!(script.deadline(), Some((script.now.after(Span::secs(60)), Timer::Hibernate)));
}

#[test]
fn a_listener_does_not_keep_a_session_awake() {
    let mut script = open();
    script.attach(&[("accept", "text/event-stream")]);
    script.advance(Span::secs(61));
    assert_eq!(script.hibernations, 1);
}

#[test]
fn a_session_that_was_opened_and_left_ends_soon() {
    let mut script = new_session();
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert_eq!(script.deadline(), Some((Time(1_030_000), Timer::Opening)));
    script.advance(Span::secs(30));
    assert!(script.closed);
}

#[test]
fn a_silent_client_is_pinged_and_taken_for_gone_when_that_is_wanted_life_10() {
    let mut policy = Policy::default();
    policy.timing = Timing::default();
    policy.timing.ping = Some(Span::secs(10));
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    let (stream, _) = script.attach(&[("accept", "text/event-stream")]);
    script.advance(Span::secs(10));
    let ping = script.sent(stream).one().clone();
    assert_eq!(ping, json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}));
    assert_eq!(script.send(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})).status(), 202);
    assert!(!script.events.iter().any(|event| matches!(event, Event::Dropped(_))), "{:?}", script.events);
    script.advance(Span::secs(10));
    assert_eq!(script.sent(stream).one()["id"], 2);
    assert!(!script.closed);
    script.advance(Span::secs(10));
    assert!(script.closed, "the second ping was not answered");
}

#[test]
fn a_tool_that_needs_what_the_client_lacks_says_so_to_the_model_shim_4() {
    let mut script = open();
    let sent = script.send(&fixture::request(1, "tools/call", &json!({"name": "sampler"})));
    let result = &sent.one()["result"];
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains(r#"{"sampling":{}}"#), "{result}");
    assert!(script.calls.is_empty(), "the tool is not entered");
}

#[test]
fn stray_answers_and_notifications_are_taken_and_ignored_base_24_base_7() {
    let mut script = open();
    for message in [
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "x"}}),
        json!({"jsonrpc": "2.0", "method": "ping"}),
        json!({"jsonrpc": "2.0", "method": "notifications/foo"}),
        json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
    ] {
        let sent = script.send(&message);
        assert_eq!((sent.status(), sent.text.as_str()), (202, ""), "{message}");
    }
}

fn batch(script: &mut Client, messages: &Value) -> testkit::Sent {
    script.send(messages)
}

#[test]
fn a_batch_is_answered_as_an_array_in_2025_03_26_batch_2() {
    let mut script = opened(Revision::V2025_03_26, &json!({}));
    let sent =
        batch(&mut script, &json!([fixture::request(1, "ping", &json!({})), fixture::initialized(), call(2, false)]));
    assert_eq!(sent.reply.clone(), None, "it waits for the call");
    let stream = script.stream();
    script.done(text("hi"));
    let sent = script.sent(stream);
    assert!(sent.text.starts_with('[') && sent.ended);
    let ids: Vec<&Value> = sent.messages.iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)]);
    let one = batch(&mut script, &json!([fixture::request(3, "ping", &json!({}))]));
    assert!(one.text.starts_with('['), "batch_3: a batch of one is answered by an array");
    let sent = batch(&mut script, &json!([fixture::initialized()]));
    assert_eq!((sent.status(), sent.text.as_str()), (202, ""));
}

#[test]
fn a_batch_that_speaks_first_becomes_a_stream_with_an_event_for_each_answer_batch_2() {
    let mut script = opened(Revision::V2025_03_26, &json!({}));
    batch(&mut script, &json!([fixture::request(1, "ping", &json!({})), call(2, true)]));
    let stream = script.stream();
    script.note(progress(1.0));
    script.done(text("hi"));
    let sent = script.sent(stream);
    assert_eq!((sent.head().form, sent.messages.len(), sent.ended), (Form::Events, 3, true));
}

#[test]
fn an_invalid_member_fails_alone_and_an_unfit_batch_fails_whole_batch_3_batch_5() {
    let mut script = opened(Revision::V2025_03_26, &json!({}));
    let sent = batch(&mut script, &json!([1, fixture::request(1, "ping", &json!({}))]));
    let codes: Vec<i64> = sent.messages.iter().map(|m| m["error"]["code"].as_i64().unwrap_or(0)).collect();
    assert_eq!(codes, [-32600, 0]);
    let twice = json!([fixture::request(1, "ping", &json!({})), fixture::request(1, "ping", &json!({}))]);
    let modern = json!([fixture::modern(1, "tools/list", &json!({}), &json!({}))]);
    let handshake = json!([fixture::initialize("2025-03-26", &json!({}))]);
    let most = Policy::default().limits.batch;
    let pings = |count: usize| (0..count).map(|id| fixture::request(id, "ping", &json!({}))).collect::<Vec<_>>();
    assert_eq!(batch(&mut script, &Value::from(pings(most))).messages.len(), most);
    for whole in [json!([]), twice, modern, handshake, Value::from(pings(most + 1))] {
        let sent = batch(&mut script, &whole);
        assert_eq!((sent.status(), sent.code()), (400, -32600), "{whole}");
        assert_eq!(sent.one().get("id"), None);
    }
    assert!(script.calls.is_empty());
}

#[test]
fn batches_do_not_exist_in_other_revisions_batch_4() {
    for revision in [Revision::V2024_11_05, Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut script = opened(revision, &json!({}));
        let sent = batch(&mut script, &json!([call(1, false)]));
        assert_eq!((sent.status(), sent.code()), (400, -32600), "{revision}");
        assert!(script.calls.is_empty(), "refused before anything runs");
    }
}

fn ask() -> Outcome {
    let schema = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
    let question = Question::Form { message: "Who?".into(), schema: schema.into() };
    Outcome::Ask { questions: vec![("who".into(), question)], state: "state".into() }
}

#[test]
fn a_question_goes_out_on_the_stream_of_its_call_and_its_answer_starts_another_run_shim_5_http_27() {
    let mut script = opened(Revision::V2025_11_25, &json!({"elicitation": {}}));
    let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
    script.send(&call(5, true));
    let stream = script.stream();
    script.note(progress(7.0));
    script.done(ask());
    let sent = script.sent(stream);
    assert_eq!(
        sent.messages[1],
        json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {
        "mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
    );
    assert!(script.sent(listening).messages.is_empty(), "http_27: not on the GET stream");
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"name": "Ann"}}});
    assert_eq!(script.send(&answer).status(), 202);
    let resumed = &script.calls[0].1;
    assert_eq!(resumed.id, CallId(2), "a run of its own");
    let resume = resumed.resume.as_ref().unwrap();
    assert_eq!(&resume.state[..], b"state");
    assert_eq!(fixture::reply(resume.reply("who")), r#"{"action":"accept","content":{"name":"Ann"}}"#);
    script.note(progress(6.0));
    script.note(progress(8.0));
    script.done(text("Hello, Ann!"));
    let sent = script.sent(stream);
    assert_eq!(sent.messages[0]["params"]["progress"], 8, "rule 9: the last progress is kept over the runs");
    assert_eq!(sent.messages[1]["id"], 5);
    assert!(sent.ended);
}

#[test]
fn a_client_that_cannot_be_asked_is_a_typed_answer_at_once_case_97() {
    let unable = [
        opened(Revision::V2025_11_25, &json!({})),
        opened(Revision::V2025_11_25, &json!({"elicitation": {"url": {}}})),
        opened(Revision::V2025_03_26, &json!({"elicitation": {}})),
    ];
    for mut script in unable {
        script.send(&call(1, false));
        script.done(ask());
        let resume = script.calls[0].1.resume.clone().unwrap();
        assert_eq!(fixture::reply(resume.reply("who")), "Some(Unsupported)");
    }
    let mut script = opened(Revision::V2025_11_25, &json!({"elicitation": {}}));
    script.send_with(&call(1, false), &[("accept".into(), "application/json".into())]);
    script.done(ask());
    let resume = script.calls[0].1.resume.clone().unwrap();
    assert_eq!(fixture::reply(resume.reply("who")), "Some(Unsupported)", "nor can one that takes JSON only");
}

#[test]
fn a_question_that_nobody_answers_times_out_and_is_withdrawn_base_25() {
    let mut script = opened(Revision::V2025_11_25, &json!({"elicitation": {}}));
    script.send(&call(1, false));
    let stream = script.stream();
    script.done(ask());
    script.sent(stream);
    script.advance(Span::secs(300));
    let withdrawn = script.sent(stream);
    let last = withdrawn.messages.last().unwrap();
    assert_eq!((&last["method"], &last["params"]["requestId"]), (&json!("notifications/cancelled"), &json!(1)));
    let resume = script.calls[0].1.resume.clone().unwrap();
    assert_eq!(fixture::reply(resume.reply("who")), "Some(TimedOut)");
    script.send(&json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}));
    assert_eq!(script.calls.len(), 1, "the late reply starts nothing");
}

#[test]
fn cancelling_a_request_withdraws_its_questions_canc_3() {
    let mut script = opened(Revision::V2025_11_25, &json!({"elicitation": {}}));
    script.send(&call(1, false));
    let stream = script.stream();
    script.done(ask());
    script.sent(stream);
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let sent = script.sent(stream);
    assert_eq!(sent.one()["method"], "notifications/cancelled");
    assert_eq!(sent.one()["params"]["requestId"], 1);
    assert!(sent.ended && script.calls.is_empty() && script.abandoned.is_empty());
}

#[test]
fn a_client_error_is_a_typed_answer_elic_11() {
    let mut script = opened(Revision::V2025_11_25, &json!({"elicitation": {}}));
    script.send(&call(1, false));
    script.done(ask());
    script.send(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no\u{202e}such mode"}}));
    let resume = script.calls[0].1.resume.clone().unwrap();
    assert_eq!(fixture::reply(resume.reply("who")), "Some(Error { code: -32602, message: \"no\u{fffd}such mode\" })");
}

#[test]
fn asking_again_and_again_ends_at_the_limit_of_rounds() {
    let mut policy = Policy::default();
    policy.limits.rounds = 3;
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&call(1, false));
    let stream = script.stream();
    for _ in 0..4 {
        script.done(ask());
    }
    assert_eq!(script.sent(stream).code(), -32603);
}

#[test]
fn a_post_without_a_session_is_served_by_itself_and_asks_nobody_row_14_case_97() {
    let mut script = sessionless(Policy::default());
    script.send(&call(1, true));
    let stream = script.stream();
    script.done(ask());
    let resume = script.calls[0].1.resume.clone().unwrap();
    assert_eq!(fixture::reply(resume.reply("who")), "Some(Unsupported)");
    script.note(progress(1.0));
    script.done(text("done"));
    let sent = script.sent(stream);
    assert_eq!((sent.messages.len(), sent.head().session, sent.ended), (2, None, true));
    assert!(script.closed);
}

#[test]
fn a_post_without_a_session_is_served_whoever_sends_it_http_21_row_14() {
    let mut script = sessionless(Policy::default());
    script.caller = Caller::new("ann", Scopes::default());
    script.send(&call(1, false));
    let stream = script.stream();
    assert_eq!(script.calls[0].1.caller, script.caller);
    script.done(text("done"));
    assert_eq!(script.sent(stream).one()["result"]["content"][0]["text"], "done");

    let mut script = sessionless(Policy::default());
    script.caller = Caller::new("ann", Scopes::default());
    assert_eq!(script.send(&fixture::initialize("2025-06-18", &json!({}))).status(), 200);
}

#[test]
fn an_extension_answers_whom_it_was_declared_to_ext_2() {
    let mut script = open();
    assert_eq!(script.send(&fixture::request(1, "acme/do", &json!({}))).code(), -32601);
    let mut script = opened(Revision::V2025_11_25, &json!({"extensions": {fixture::EXTENSION: {}}}));
    script.send(&fixture::request(1, "acme/do", &json!({"x": 1})));
    let stream = script.stream();
    let kind = script.calls[0].1.kind.clone();
    assert_eq!(kind, Kind::Extension { method: "acme/do".into(), params: r#"{"x":1}"#.into() });
    script.done(Outcome::Complete(Answer::Extension(r#"{"y":2}"#.into())));
    assert_eq!(script.sent(stream).one()["result"], json!({"y": 2}));
}

#[test]
fn a_reader_that_stalls_bounds_what_waits_for_it_and_holds_back_nobody() {
    let mut policy = Policy::default();
    policy.limits.logs = 4;
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&call(1, true));
    let slow = script.stream();
    script.hold(true);
    for n in 1..=1000 {
        script.note(progress(f64::from(n) / 20.0));
        script.note(log(Level::Error));
    }
    let (ticket, _) = script.calls.pop_front().unwrap();
    script.send(&call(2, false));
    let fast = script.stream();
    script.done(text("fast"));
    script.input(Input::Done { ticket, outcome: text("slow") });
    script.hold(false);
    assert_eq!(script.sent(fast).one()["id"], 2);
    let sent = script.sent(slow);
    assert_eq!(sent.messages.len(), 1 + 4 + 1, "the last progress, four logs, the answer");
    assert!(sent.messages.iter().any(|message| message["params"]["progress"] == 50));
    assert!(script.events.contains(&Event::LogsDropped(996)));
    assert_eq!(sent.messages.last().unwrap()["id"], 1);
    assert_ne!(slow, StreamId::ONLY);
}

#[test]
fn a_batch_whose_last_member_is_cancelled_keeps_its_framing_batch_2() {
    let mut script = opened(Revision::V2025_03_26, &json!({}));
    let headers = [("accept".to_owned(), "application/json".to_owned())];
    let members = json!([call(1, false), call(2, false), fixture::request(3, "ping", &json!({}))]);
    script.send_with(&members, &headers);
    let stream = script.stream();
    script.done(text("one"));
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
    let sent = script.sent(stream);
    assert_eq!((sent.status(), sent.head().form, sent.ended), (200, Form::Json, true));
    assert!(sent.text.starts_with('['), "{}", sent.text);
    assert_eq!(sent.messages.len(), 2);
}

#[test]
fn requests_whose_readers_left_leave_nothing_behind() {
    let mut script = open();
    let before = format!("{:?}", script.machine.machine()).len();
    for id in 1..100 {
        script.send(&call(id, true));
        let stream = script.stream();
        script.input(Input::Detach { stream });
        if id % 2 == 0 {
            script.done(text("nobody hears"));
        } else {
            script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        }
    }
    let after = format!("{:?}", script.machine.machine()).len();
    assert!(after < before + 200, "{before} bytes of state became {after}");
}

#[test]
fn nobody_hears_of_changes_that_were_not_promised_life_12() {
    let mut script = of(fixture::builder().tools(false).build().unwrap());
    script.open(Revision::V2025_11_25, &json!({}));
    let (stream, _) = script.attach(&[("accept", "text/event-stream")]);
    script.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    assert!(script.sent(stream).messages.is_empty());
}

#[test]
fn a_post_without_a_session_ends_when_its_call_times_out() {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::millis(100));
    let mut script = sessionless(policy);
    script.send(&call(1, false));
    let stream = script.stream();
    script.advance(Span::millis(200));
    assert_eq!(script.sent(stream).code(), -32603);
    assert!(script.closed);
}

#[test]
fn the_end_of_time_and_a_keep_alive_of_nothing_do_no_harm() {
    let mut script = open();
    script.attach(&[("accept", "text/event-stream")]);
    script.now = Time(u64::MAX);
    script.input(Input::Tick);
    script.input(Input::Tick);
    assert!(script.closed, "two hours have passed");

    let mut policy = Policy::default();
    policy.timing.keep_alive = Span(0);
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    script.attach(&[("accept", "text/event-stream")]);
    assert_eq!(script.deadline().map(|(_, timer)| timer), Some(Timer::Hibernate));
}

#[test]
fn a_time_out_counts_as_activity() {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::millis(300));
    policy.timing.idle = Span::millis(200);
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&call(1, false));
    script.now = script.now.after(Span::millis(300));
    script.input(Input::Tick);
    assert!(!script.closed);
    script.advance(Span::millis(200));
    assert!(script.closed);
}

#[test]
fn a_question_that_was_not_sent_is_taken_back_in_silence_canc_3() {
    let mut script = opened(Revision::V2025_11_25, &json!({"elicitation": {}}));
    script.send(&call(1, false));
    let stream = script.stream();
    script.hold(true);
    script.done(ask());
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    script.hold(false);
    let sent = script.sent(stream);
    assert!(sent.messages.is_empty() && sent.ended, "{}", sent.text);
}

#[test]
fn progress_of_an_earlier_run_is_not_sent_after_a_cancel_canc_2() {
    let mut script = opened(Revision::V2025_11_25, &json!({}));
    script.send(&call(1, true));
    let stream = script.stream();
    script.hold(true);
    script.note(progress(1.0));
    script.done(ask());
    assert_eq!(script.calls[0].1.id, CallId(2), "the second run, as nobody can be asked");
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    script.hold(false);
    assert!(script.sent(stream).messages.is_empty());
}

#[test]
fn a_call_that_nobody_will_ever_read_does_not_run_for_ever_http_28() {
    let mut script = open();
    script.send(&call(1, false));
    let stream = script.stream();
    script.input(Input::Detach { stream });
    script.advance(Span::secs(599));
    assert!(script.abandoned.is_empty(), "it goes on");
    script.advance(Span::secs(1));
    assert_eq!(script.abandoned, [CallId(1)], "but not for ever");
    assert!(script.events.contains(&Event::TimedOut(CallId(1))));
}

#[test]
fn a_client_that_speaks_is_there_whatever_became_of_a_ping_life_10() {
    let mut policy = Policy::default();
    policy.timing.ping = Some(Span::secs(20));
    let mut script = with(policy);
    script.open(Revision::V2025_11_25, &json!({}));
    let (stream, _) = script.attach(&[("accept", "text/event-stream")]);
    script.hold(true);
    script.advance(Span::secs(20));
    script.input(Input::Detach { stream });
    script.hold(false);
    script.attach(&[("accept", "text/event-stream")]);
    script.advance(Span::secs(20));
    assert!(!script.closed, "the ping was never read");
    script.send(&fixture::request(1, "ping", &json!({})));
    script.advance(Span::secs(20));
    assert!(!script.closed, "and the client has just spoken");
    script.advance(Span::secs(20));
    assert!(script.closed, "now it has not");
}

#[test]
fn a_second_message_to_a_session_of_one_post_abandons_nothing_in_silence() {
    let mut script = sessionless(Policy::default());
    script.send(&call(1, false));
    script.send(&fixture::request(2, "initialize", &json!({})));
    assert!(!script.closed && script.abandoned.is_empty());
    script.done(text("done"));
    assert!(script.closed);
}

#[test]
fn events_carry_ids_of_their_stream_where_a_log_is_kept_and_only_there_http_29() {
    let mut script = resumable(Policy::default());
    script.open(Revision::V2025_06_18, &json!({}));
    let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
    script.send(&call(1, true));
    let calling = script.stream();
    script.note(progress(1.0));
    script.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools });
    script.done(text("done"));
    let ids = |text: &str| -> Vec<EventId> {
        text.lines().filter_map(|line| line.strip_prefix("id: ")).map(|id| EventId::parse(id).unwrap()).collect()
    };
    let id = |stream, number| EventId { stream, number };
    assert_eq!(ids(&script.sent(calling).text), [id(calling, 1), id(calling, 2)]);
    assert_eq!(ids(&script.sent(listening).text), [id(listening, 1)], "comments have none");
    assert_eq!(script.send(&fixture::request(2, "ping", &json!({}))).head().form, Form::Json);

    let mut script = open();
    script.send(&call(1, true));
    let stream = script.stream();
    script.note(progress(1.0));
    script.done(text("done"));
    assert!(!script.sent(stream).text.contains("id:"), "no log, no promise");
}

#[test]
fn only_an_event_id_of_ours_is_read_as_one_http_29() {
    let id = EventId { stream: StreamId(3), number: 17 };
    assert_eq!((id.to_string().as_str(), EventId::parse("3-17")), ("3-17", Some(id)));
    for foreign in ["", "3", "-", "3-", "-17", "03-17", "3-+17", "3-17 ", "a-b", "3-17-1", "99999999999999999999-1"] {
        assert_eq!(EventId::parse(foreign), None, "{foreign}");
    }
}

#[test]
fn an_answer_that_comes_too_late_keeps_no_session_awake() {
    let mut script = open();
    script.send(&call(1, false));
    let (ticket, _) = script.calls.pop_front().unwrap();
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    let deadline = script.deadline();
    script.now = script.now.after(Span::secs(30));
    script.input(Input::Done { ticket, outcome: text("late") });
    assert_eq!(script.deadline(), deadline);
}
