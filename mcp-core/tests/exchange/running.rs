//! From the call to the answer: shape and status, progress, logs, silence, cancellation, deadlines, the end.

use mcp_core::fault::{Code, Fault};
use mcp_core::policy::Policy;
use mcp_core::{
    Close, Event, Form, Input, Level, Machine as _, Note, Output, Pull, Reply, Span, StreamId, Ticket, Time, Timer,
};

use super::*;

fn at(progress: f64) -> Note {
    Note::Progress { progress, total: None, message: None }
}

fn said(level: Level, data: &str) -> Note {
    Note::Log { level, logger: None, data: data.into() }
}

/// A call of `echo` with those members beside the required ones in its `_meta`.
fn with_meta(members: &Value) -> Value {
    echo(&json!({"_meta": members}))
}

fn tracked() -> Value {
    with_meta(&json!({"progressToken": "t"}))
}

fn accepting(accept: &str, message: &Value) -> Vec<(String, String)> {
    let mut headers = fixture::headers(message);
    headers.retain(|(name, _)| name != "accept");
    headers.push(("accept".into(), accept.into()));
    headers
}

/// A request that was sent with that `Accept`; its call runs.
fn started_accepting(accept: &str, message: &Value) -> Script<Exchange> {
    let mut script = exchange(&fixture::endpoint());
    script.send_with(message, &accepting(accept, message));
    assert_eq!(script.calls.len(), 1);
    script
}

fn timed(change: impl FnOnce(&mut Policy)) -> Arc<Endpoint> {
    let mut policy = Policy::default();
    change(&mut policy);
    fixture::builder().policy(policy).build().unwrap()
}

fn methods(sent: &Sent) -> Vec<&str> {
    sent.messages.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect()
}

fn progress(sent: &Sent) -> Vec<Value> {
    let notes = sent.messages.iter().filter(|message| message["method"] == "notifications/progress");
    notes.map(|message| message["params"]["progress"].clone()).collect()
}

// Shape and status.

#[test]
fn an_answer_first_is_plain_json_http_42() {
    let mut script = started(&tracked());
    script.done(text("x"));
    let sent = script.received();
    assert_eq!(sent.reply.clone(), Some(Reply::json(200)));
    assert_eq!(sent.head().headers().collect::<Vec<_>>(), [("content-type", "application/json")]);
    assert!(sent.ended && script.closed);
    assert!(sent.text.starts_with('{') && sent.text.ends_with('}'), "{}", sent.text);
}

#[test]
fn a_note_first_opens_an_event_stream_that_ends_after_the_answer_http_43_http_44_http_9_http_10() {
    let mut script = started(&tracked());
    script.note(at(1.0));
    let first = script.received();
    assert_eq!(first.reply.clone(), Some(Reply::EVENTS));
    let headers: Vec<_> = first.head().headers().collect();
    assert!(headers.contains(&("x-accel-buffering", "no")));
    assert!(headers.contains(&("cache-control", "no-cache, no-transform")));
    assert!(headers.contains(&("content-type", "text/event-stream")));
    assert_eq!(methods(&first), ["notifications/progress"]);
    assert!(!first.ended);
    script.done(text("x"));
    let rest = script.received();
    assert_eq!(methods(&rest), ["answer"]);
    assert!(rest.ended && script.closed);
    for line in [first.text, rest.text].concat().lines() {
        assert!(line.is_empty() || line.starts_with("data: {"), "no id, no retry: {line}");
    }
}

#[test]
fn a_fault_before_any_output_has_its_own_status_and_later_none_http_42_a33() {
    let missing = || {
        Fault::new(Code::MISSING_CAPABILITY, "Missing required client capability")
            .with_data(r#"{"requiredCapabilities":{"sampling":{}}}"#)
    };
    let mut script = started(&tracked());
    script.done(Outcome::Fail(missing()));
    let sent = script.received();
    assert_eq!((sent.reply.clone(), sent.code()), (Some(Reply::json(400)), -32021));
    assert_eq!(sent.one()["error"]["data"], json!({"requiredCapabilities": {"sampling": {}}}));

    let mut script = started(&tracked());
    script.note(at(1.0));
    script.done(Outcome::Fail(missing()));
    let sent = script.received();
    assert_eq!(sent.reply.clone(), Some(Reply::EVENTS));
    assert_eq!((&sent.messages[1]["error"]["code"], &sent.messages[1]["id"]), (&json!(-32021), &json!(1)));
    assert_eq!(sent.messages.len(), 2);
    assert!(sent.ended);
}

#[test]
fn a_handlers_fault_has_the_status_of_its_code_http_41_a3() {
    let application = Code::application(403).unwrap();
    for (fault, right) in [
        (Fault::invalid_params("p"), (200, -32602)),
        (Fault::internal("i"), (200, -32603)),
        (Fault::new(application, "scope"), (200, 403)),
        (Fault::new(application, "scope").with_status(403), (403, 403)),
        // ERR-2: not on modern.
        (Fault::new(Code::RESOURCE_NOT_FOUND, "gone").with_data(r#"{"uri":"a://b"}"#), (200, -32602)),
    ] {
        let mut script = started(&echo(&json!({})));
        script.done(Outcome::Fail(fault.clone()));
        let sent = script.received();
        assert_eq!(verdict(&sent), right, "{fault}");
        assert_eq!(sent.one()["error"]["message"], fault.message());
        assert_eq!(sent.one()["error"].get("data").map(Value::to_string).as_deref(), fault.data());
    }
}

#[test]
fn a_client_gets_a_form_that_it_lists_http_5() {
    let mut script = started_accepting("text/event-stream", &echo(&json!({})));
    script.done(text("x"));
    let sent = script.received();
    assert_eq!((sent.reply.clone(), methods(&sent)), (Some(Reply::EVENTS), vec!["answer"]));
    // What is answered at once, too.
    let list = fixture::modern(1, "tools/list", &json!({}), &json!({}));
    let sent = exchange(&fixture::endpoint()).send_with(&list, &accepting("text/event-stream", &list));
    assert_eq!((sent.reply.clone(), sent.ended), (Some(Reply::EVENTS), true));
    // A status cannot be said by an event stream.
    let unknown = fixture::modern(1, "nope", &json!({}), &json!({}));
    let sent = exchange(&fixture::endpoint()).send_with(&unknown, &accepting("text/event-stream", &unknown));
    assert_eq!((sent.reply.clone(), sent.code()), (Some(Reply::json(404)), -32601));
}

#[test]
fn a_client_that_takes_json_alone_gets_the_answer_alone_prog_4() {
    let message = with_meta(&json!({"progressToken": 1, "io.modelcontextprotocol/logLevel": "debug"}));
    let mut script = started_accepting("application/json", &message);
    assert!(!script.calls[0].1.progress, "the handler can spare itself the trouble (SHIM-8)");
    script.note(at(1.0));
    script.note(said(Level::Emergency, "1"));
    assert_eq!(script.deadline(), None, "and there is nothing to break a silence with");
    script.advance(Span::secs(120));
    assert_eq!(script.received().reply, None);
    script.done(text("x"));
    let sent = script.received();
    assert_eq!((sent.reply.clone(), methods(&sent)), (Some(Reply::json(200)), vec!["answer"]));
}

// Progress and logs.

#[test]
fn progress_carries_the_token_as_it_was_sent_prog_1_case_61() {
    for token in [json!(5), json!("5"), json!("é"), json!(-1), json!(0)] {
        let mut script = started(&with_meta(&json!({"progressToken": token})));
        assert!(script.calls[0].1.progress);
        script.note(Note::Progress { progress: 0.5, total: Some(2.0), message: Some("half\nway".into()) });
        let params = json!({"progressToken": token, "progress": 0.5, "total": 2, "message": "half\nway"});
        let right = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        assert_eq!(script.received().messages, [right]);
    }
    let mut script = started(&echo(&json!({})));
    assert!(!script.calls[0].1.progress);
    script.note(at(1.0));
    assert_eq!(script.received().reply, None, "no token, no progress");
}

#[test]
fn progress_only_grows_prog_2() {
    let mut script = started(&tracked());
    for value in [f64::NAN, -1.5, 10.0, 10.0, 5.0, f64::INFINITY, 10.25, f64::NEG_INFINITY, 1e15] {
        script.note(at(value));
    }
    let sent = script.received();
    assert_eq!(progress(&sent), [json!(-1.5), json!(10), json!(10.25), json!(1_000_000_000_000_000_i64)]);
    script.note(Note::Progress { progress: 2e15, total: Some(f64::NAN), message: None });
    assert_eq!(script.received().one()["params"].get("total"), None);
}

#[test]
fn every_progress_comes_before_the_answer_and_none_after_it_prog_3_case_62() {
    let mut script = started(&tracked());
    let call = script.calls[0].1.id;
    for value in [1.0, 2.0, 3.0] {
        script.note(at(value));
    }
    script.done(text("x"));
    script.input(Input::Note { call, note: at(4.0) });
    script.input(Input::Note { call, note: said(Level::Alert, "1") });
    let sent = script.received();
    assert_eq!(
        methods(&sent),
        ["notifications/progress", "notifications/progress", "notifications/progress", "answer"]
    );
    assert_eq!(progress(&sent), [json!(1), json!(2), json!(3)]);
    assert!(sent.ended);
}

#[test]
fn a_slow_reader_gets_the_last_progress_alone_prog_6() {
    let mut script = started(&tracked());
    script.hold(true);
    for n in 1..=10_000 {
        script.note(at(f64::from(n)));
    }
    script.done(text("x"));
    script.hold(false);
    let sent = script.received();
    assert_eq!(progress(&sent), [json!(10_000)]);
    assert_eq!(methods(&sent), ["notifications/progress", "answer"]);
}

#[test]
fn logs_are_sent_to_who_asks_and_from_the_level_asked_for_log_3_a35() {
    let asking = |level: &str| with_meta(&json!({"io.modelcontextprotocol/logLevel": level}));
    let logged = |endpoint: &Arc<Endpoint>, message: &Value| {
        let mut script = started_on(endpoint, message);
        for level in Level::ALL {
            script.note(said(level, "{\"a\":1}"));
        }
        script.done(text("x"));
        let sent = script.received();
        let levels: Vec<String> =
            sent.messages.iter().filter_map(|m| m["params"]["level"].as_str()).map(Into::into).collect();
        assert_eq!(sent.messages.len(), levels.len() + 1);
        assert_eq!(sent.messages.last().unwrap()["id"], 1, "before the answer");
        levels
    };
    let served = fixture::endpoint();
    assert!(logged(&served, &echo(&json!({}))).is_empty());
    let all: Vec<&str> = Level::ALL.iter().map(|level| level.as_str()).collect();
    for (n, level) in all.iter().enumerate() {
        assert_eq!(logged(&served, &asking(level)), all[n..]);
    }
    let silent = fixture::builder().logging(false).build().unwrap();
    assert!(logged(&silent, &asking("debug")).is_empty(), "LOG-1: never declared");
}

#[test]
fn a_log_is_one_message_whatever_its_data_log_1() {
    let mut script = started(&with_meta(&json!({"io.modelcontextprotocol/logLevel": "debug"})));
    for (data, right) in [
        ("{\"a\":\n [1,\r\n2]}", json!({"a": [1, 2]})),
        ("\"text\"", json!("text")),
        ("null", json!(null)),
        ("no\nJSON", json!("no\nJSON")),
        ("", json!("")),
    ] {
        script.note(Note::Log { level: Level::Warning, logger: Some("db\"".into()), data: data.into() });
        let params = json!({"level": "warning", "logger": "db\"", "data": right});
        let sent = script.received();
        assert_eq!(*sent.one(), json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}));
        assert_eq!(sent.text.matches('\n').count(), 2, "one event: {:?}", sent.text);
    }
}

// Silence.

#[test]
fn a_silence_is_broken_by_comments_alone_http_45() {
    let mut script = started(&echo(&json!({})));
    let began = script.now;
    assert_eq!(script.deadline(), Some((began.after(Span::secs(15)), Timer::KeepAlive(StreamId::ONLY))));
    script.advance(Span::millis(14_999));
    assert_eq!(script.received().reply, None);
    script.advance(Span::millis(1));
    let sent = script.received();
    assert_eq!((sent.reply.clone(), &*sent.text), (Some(Reply::EVENTS), ": \n\n"));
    script.advance(Span::secs(45));
    let sent = script.received();
    assert_eq!((&*sent.text, sent.messages.len()), (": \n\n: \n\n: \n\n", 0));
    script.done(text("x"));
    let sent = script.received();
    assert_eq!(methods(&sent), ["answer"]);
    assert!(sent.ended);
    assert_eq!(script.deadline(), None);
    script.advance(Span::secs(60));
    assert_eq!(script.received().text, "");
}

#[test]
fn what_is_said_is_no_silence_http_45() {
    let mut script = started(&tracked());
    for n in 1..=6 {
        script.advance(Span::secs(10));
        script.note(at(f64::from(n)));
    }
    let sent = script.received();
    assert_eq!((sent.messages.len(), sent.text.matches(": \n\n").count()), (6, 0));
    script.advance(Span::secs(15));
    assert_eq!(script.received().text, ": \n\n");
}

#[test]
fn a_reader_that_stalls_finds_one_comment_http_45() {
    let mut script = started(&echo(&json!({})));
    script.hold(true);
    script.advance(Span::secs(3600));
    script.hold(false);
    assert_eq!(script.received().text, ": \n\n");
}

#[test]
fn a_deadline_lies_ahead_or_is_none() {
    let endpoint = timed(|policy| policy.timing.keep_alive = Span(0));
    assert_eq!(started_on(&endpoint, &echo(&json!({}))).deadline(), None);
    let mut script = exchange(&fixture::endpoint());
    script.now = Time::MAX;
    script.send(&echo(&json!({})));
    assert_eq!(script.deadline(), None);
}

// Cancellation and lateness.

#[test]
fn a_reader_that_leaves_cancels_and_nothing_more_is_said_http_46_a37_canc_5() {
    for streaming in [false, true] {
        let mut script = started(&tracked());
        let (call, before) = (script.calls[0].1.id, if streaming { 1.0 } else { f64::NAN });
        script.note(at(before));
        script.received();
        let (ticket, _) = script.calls.pop_front().unwrap();
        script.input(Input::Detach { stream: StreamId::ONLY });
        assert_eq!(script.abandoned, [call]);
        assert!(script.closed);
        assert_eq!(script.deadline(), None);
        script.input(Input::Note { call, note: at(9.0) });
        script.input(Input::Done { ticket, outcome: text("late") });
        script.advance(Span::secs(60));
        assert_eq!(script.events, [Event::Late(call)]);
        assert_eq!(script.received().text, "");
        assert_eq!(script.machine.pull(StreamId::ONLY, &mut Vec::new(), 9), Pull::End);
        script.input(Input::Detach { stream: StreamId::ONLY });
        assert_eq!(script.abandoned.len(), 1, "once");
    }
}

#[test]
fn a_reader_that_left_before_its_request_was_read_is_not_served() {
    let mut script = exchange(&fixture::endpoint());
    script.input(Input::Detach { stream: StreamId::ONLY });
    assert!(script.closed);
    assert_eq!(script.send(&echo(&json!({}))).reply, None);
    assert!(script.calls.is_empty());
}

#[test]
fn a_machine_serves_one_request_and_ignores_another() {
    let mut script = started(&echo(&json!({})));
    script.send(&echo(&json!({})));
    assert_eq!(script.calls.len(), 1);
    script.done(text("x"));
    assert_eq!(script.received().messages.len(), 1);
    assert_eq!(script.send(&echo(&json!({}))).text, "");
    script.send_bytes("{".into(), None);
    assert_eq!(script.received().text, "");
    assert!(script.calls.is_empty());
}

#[test]
fn the_ticket_of_another_machine_opens_nothing_here() {
    let mut stranger = Script::new(Exchange::new(MachineId(8), fixture::endpoint(), Time(0)));
    stranger.send(&echo(&json!({})));
    let (ticket, _): (Ticket, _) = stranger.calls.pop_front().unwrap();
    let mut script = started(&echo(&json!({})));
    let call = ticket.call();
    script.input(Input::Done { ticket, outcome: text("stranger") });
    assert_eq!(script.events, [Event::Late(call)]);
    script.done(text("own"));
    assert_eq!(script.received().one()["result"]["content"][0]["text"], "own");
}

#[test]
fn a_call_has_its_time_and_is_then_answered_for() {
    let endpoint = timed(|policy| policy.timing.call = Some(Span::secs(5)));
    for streaming in [false, true] {
        let mut script = started_on(&endpoint, &tracked());
        let call = script.calls[0].1.id;
        let due = script.now.after(Span::secs(5));
        assert_eq!(script.calls[0].1.deadline, Some(due));
        assert_eq!(script.deadline(), Some((due, Timer::Call(call))));
        if streaming {
            script.note(at(1.0));
        }
        let (ticket, _) = script.calls.pop_front().unwrap();
        script.advance(Span::millis(4999));
        assert!(script.abandoned.is_empty());
        script.advance(Span::millis(1));
        assert_eq!(script.abandoned, [call]);
        let sent = script.received();
        let right = if streaming { Reply::EVENTS } else { Reply::json(200) };
        assert_eq!(sent.reply.clone(), Some(right));
        assert_eq!(sent.messages.last().unwrap()["error"]["code"], -32603);
        assert!(sent.ended && script.closed);
        script.input(Input::Done { ticket, outcome: text("late") });
        assert_eq!(script.events, [Event::TimedOut(call), Event::Late(call)]);
        assert_eq!(script.received().text, "");
    }
}

#[test]
fn time_does_not_run_back() {
    let endpoint = timed(|policy| policy.timing.call = Some(Span::secs(20)));
    let mut script = started_on(&endpoint, &echo(&json!({})));
    script.machine.handle(Time(0), Input::Tick);
    assert_eq!(script.deadline(), Some((script.now.after(Span::secs(15)), Timer::KeepAlive(StreamId::ONLY))));
    let due = script.now.after(Span::secs(20));
    script.machine.handle(Time(0), Input::Tick);
    script.now = due;
    script.input(Input::Tick);
    assert_eq!(script.received().messages[0]["error"]["code"], -32603);
}

// The end.

#[test]
fn a_shutdown_is_told_to_who_waits() {
    for streaming in [false, true] {
        let mut script = started(&tracked());
        let call = script.calls[0].1.id;
        if streaming {
            script.note(at(1.0));
        }
        script.close(Close::Shutdown);
        let sent = script.received();
        assert_eq!(sent.messages.last().unwrap()["error"]["code"], -32603);
        assert_eq!(sent.status(), 200);
        assert!(sent.ended && script.closed);
        assert_eq!(script.abandoned, [call]);
        script.close(Close::Shutdown);
        assert_eq!(script.received().text, "");
    }
    let mut fresh = exchange(&fixture::endpoint());
    fresh.close(Close::Shutdown);
    assert!(fresh.closed);
}

#[test]
fn the_end_of_input_changes_nothing_and_a_broken_connection_cancels() {
    let mut script = started(&echo(&json!({})));
    script.close(Close::EndOfInput);
    assert!(!script.closed);
    script.done(text("x"));
    assert_eq!(script.received().one()["id"], 1);

    let mut script = started(&echo(&json!({})));
    script.input(Input::Detach { stream: StreamId(5) });
    assert!(!script.closed, "it has one stream");
    script.close(Close::Peer);
    assert_eq!((script.abandoned.len(), script.closed, &*script.received().text), (1, true, ""));
}

#[test]
fn what_is_no_message_is_answered_and_ends_it_http_12() {
    for (body, status, code, id) in [
        (&b"{"[..], 400, -32700, None),
        (br#"{"jsonrpc":"2.0","id":true,"method":"tools/list"}"#, 400, -32600, None),
        (br#"{"id":7}"#, 400, -32600, Some(json!(7))),
        (br#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":5}"#, 400, -32602, Some(json!(7))),
    ] {
        let mut script = exchange(&fixture::endpoint());
        let sent = script.send_bytes(body.into(), None);
        assert_eq!((sent.status(), sent.code(), sent.one().get("id")), (status, code, id.as_ref()));
        assert!(sent.ended && script.closed);
        assert!(matches!(&script.events[..], [Event::Refused(fault)] if fault.code().get() == code));
    }
}

#[test]
fn a_listening_get_is_not_for_this_machine_http_48() {
    let mut script = exchange(&fixture::endpoint());
    let head = mcp_core::Head::default();
    let from = mcp_core::Caller::anonymous();
    script.input(Input::Attach { head: &head, from: &from });
    assert_eq!(script.received().status(), 405);
    assert!(script.closed);
}

#[test]
fn nothing_is_said_after_closed() {
    let mut machine = Exchange::new(MachineId(1), fixture::endpoint(), Time(0));
    let (from, view) = (mcp_core::Caller::anonymous(), fixture::view());
    let message = fixture::modern(1, "nope", &json!({}), &json!({})).to_string();
    let message = mcp_core::wire::read(message.into(), fixture::endpoint().limits()).unwrap();
    machine.handle(Time(1), Input::Message { message, head: None, from: &from, view: &view });
    let outputs: Vec<Output> = core::iter::from_fn(|| machine.poll_output()).collect();
    assert!(
        matches!(
            &outputs[..],
            [
                Output::Event(Event::Refused(_)),
                Output::Open { stream: StreamId::ONLY, reply: Reply { status: 404, form: Form::Json, .. } },
                Output::Ready(StreamId::ONLY),
                Output::Closed,
            ]
        ),
        "{outputs:?}"
    );
    assert_eq!(machine.pull(StreamId(5), &mut Vec::new(), 99), Pull::End, "it has one stream");
}
