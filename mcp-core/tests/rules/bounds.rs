//! Rule 6: every queue is bounded, and says what happens when it is full.

use mcp_core::{Change, Output, Pull};

use super::*;

fn wants(token: &str) -> Value {
    json!({"progressToken": token, "io.modelcontextprotocol/logLevel": "debug"})
}

fn say<M: Machine>(script: &mut Script<M>, call: usize, note: Note) {
    let call = script.calls[call].1.id;
    script.input(Input::Note { call, note });
}

#[test]
fn rule_6_a_slow_reader_finds_the_last_progress_of_each_token() {
    let mut script = pipe(&fixture::endpoint());
    script.send(&modern_echo(1, &wants("a")));
    script.send(&modern_echo(2, &wants("b")));
    script.hold(true);
    for n in 1..=1000 {
        say(&mut script, 0, at(f64::from(n)));
        say(&mut script, 1, at(f64::from(n * 2)));
    }
    script.hold(false);
    let sent = script.received();
    let params: Vec<&Value> = sent.messages.iter().map(|message| &message["params"]).collect();
    assert_eq!(
        params,
        [&json!({"progressToken": "a", "progress": 1000}), &json!({"progressToken": "b", "progress": 2000})]
    );
}

#[test]
fn rule_6_progress_is_one_over_the_runs_of_a_request() {
    let mut script = opened_pipe(&fixture::endpoint(), &json!({}));
    script.send(&echo(1, &json!({"progressToken": 1})));
    script.hold(true);
    script.note(at(1.0));
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
    script.note(at(2.0));
    script.hold(false);
    assert_eq!(script.received().one()["params"]["progress"], 2);
}

#[test]
fn rule_6_a_change_of_a_list_waits_once() {
    let change = || Input::Changed { catalog: fixture::catalog(), what: Change::Tools };
    let mut script = opened_pipe(&fixture::endpoint(), &json!({}));
    script.hold(true);
    (0..1000).for_each(|_| script.input(change()));
    script.hold(false);
    assert_eq!(methods(&script.received()), ["notifications/tools/list_changed"]);
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &json!({}));
    (0..1000).for_each(|_| script.input(change()));
    let (stream, sent) = script.attach(&[]);
    assert_eq!(methods(&sent), ["notifications/tools/list_changed"], "nobody listened before");
    script.hold(true);
    (0..1000).for_each(|_| script.input(change()));
    script.hold(false);
    assert_eq!(methods(&script.sent(stream)), ["notifications/tools/list_changed"]);
}

fn logs_of(sent: &Sent) -> Vec<i64> {
    let logs = sent.messages.iter().filter(|message| message["method"] == "notifications/message");
    logs.map(|message| message["params"]["data"].as_i64().unwrap()).collect()
}

#[test]
fn rule_6_logs_drop_the_oldest_and_count_them() {
    fn full<M: Machine>(mut script: Script<M>, stream: StreamId) {
        script.events.clear();
        script.hold(true);
        for n in 0..10 {
            script.note(said(Level::Error, &n.to_string()));
        }
        script.done(text("x"));
        script.hold(false);
        let sent = script.sent(stream);
        assert_eq!(logs_of(&sent), [6, 7, 8, 9]);
        assert_eq!(words(sent.messages.last().unwrap()), "x", "an answer is never dropped");
        let counts: Vec<&Event> = script.events.iter().collect();
        let right: Vec<Event> = (1..=6).map(Event::LogsDropped).collect();
        assert_eq!(counts, right.iter().collect::<Vec<_>>());
    }
    let endpoint = limited(|policy| policy.limits.logs = 4);
    let mut script = exchange(&endpoint, 1);
    script.send(&modern_echo(1, &wants("t")));
    full(script, StreamId::ONLY);
    let mut script = pipe(&endpoint);
    script.send(&modern_echo(1, &wants("t")));
    full(script, StreamId::ONLY);
    let mut script = opened_pipe(&endpoint, &json!({}));
    script.send(&echo(1, &json!({})));
    full(script, StreamId::ONLY);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    let stream = script.stream();
    full(script, stream);
}

#[test]
fn rule_6_answers_and_questions_are_never_dropped_and_so_limited_in_number() {
    let mut script = opened_pipe(&limited(|policy| policy.limits.logs = 1), &json!({"roots": {}}));
    script.hold(true);
    for id in 0..128 {
        script.send(&echo(id, &json!({})));
    }
    for id in 0..128 {
        script.note(said(Level::Error, "0"));
        if id % 2 == 0 {
            script.done(text(&id.to_string()));
        } else {
            script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
        }
    }
    script.hold(false);
    let sent = script.received();
    let answers = sent.messages.iter().filter(|message| message.get("result").is_some()).count();
    let questions = sent.messages.iter().filter(|message| message["method"] == "roots/list").count();
    assert_eq!((answers, questions, logs_of(&sent).len()), (64, 64, 1));
    // One more question than a call may ask.
    let keys: Vec<(Box<str>, Question)> = (0..17).map(|n| (n.to_string().into(), Question::Roots)).collect();
    script.send(&echo("last", &json!({})));
    script.done(Outcome::Ask { questions: keys, state: Bytes::new() });
    assert_eq!(script.received().code(), -32603);
}

#[test]
fn rule_6_over_the_limit_of_calls_a_request_is_refused_at_once_and_the_rest_is_read() {
    let endpoint = limited(|policy| policy.limits.calls = 2);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({"roots": {}}));
    script.send(&echo(1, &json!({})));
    let asking = script.stream();
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
    let asked = script.sent(asking).messages[0]["id"].clone();
    script.send(&echo(2, &json!({})));
    let refused = script.send(&echo(3, &json!({})));
    assert_eq!((refused.status(), refused.code(), refused.ended), (503, -32603, true));
    assert!(refused.head().headers().any(|(name, _)| name == "retry-after"));
    assert_eq!(script.send(&fixture::request(4, "ping", &json!({}))).one()["result"], json!({}));
    assert_eq!(script.send(&fixture::request(5, "tools/list", &json!({}))).status(), 200);
    assert_eq!(script.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"roots": []}})).status(), 202);
    assert_eq!(script.calls.len(), 2, "the answer was read");
    assert_eq!(script.send(&echo(6, &json!({}))).code(), -32603);
    script.send(&cancel(&json!(2)));
    assert_eq!(script.abandoned.len(), 1, "the cancellation was read");
    script.send(&echo(7, &json!({})));
    assert_eq!(script.calls.len(), 2);

    let mut script = pipe(&endpoint);
    for id in 1..=2 {
        script.send(&modern_echo(id, &json!({})));
    }
    let refused = script.send(&modern_echo(3, &json!({})));
    assert_eq!((refused.code(), &refused.one()["id"]), (-32603, &json!(3)));
    script.send(&cancel(&json!(1)));
    script.send(&modern_echo(4, &json!({})));
    assert_eq!(script.calls.len(), 2);
}

#[test]
fn rule_6_listeners_are_limited_in_number() {
    let endpoint = limited(|policy| policy.limits.listening = 2);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    let (first, _) = script.attach(&[]);
    script.attach(&[]);
    let (_, refused) = script.attach(&[]);
    assert_eq!((refused.status(), refused.code()), (409, -32600));
    script.input(Input::Detach { stream: first });
    assert_eq!(script.attach(&[]).1.status(), 200);
}

#[test]
fn rule_6_unsent_bytes_close_the_gate_and_sent_ones_open_it() {
    fn fills<M: Machine>(mut script: Script<M>) {
        assert!(!script.is_full());
        script.hold(true);
        script.note(said(Level::Error, &format!("\"{}\"", "x".repeat(2000))));
        assert!(script.is_full());
        script.hold(false);
        assert!(!script.is_full());
    }
    let endpoint = limited(|policy| policy.limits.unsent = 1000);
    let mut script = exchange(&endpoint, 1);
    script.send(&modern_echo(1, &wants("t")));
    fills(script);
    let mut script = pipe(&endpoint);
    script.send(&modern_echo(1, &wants("t")));
    fills(script);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    fills(script);
}

#[test]
fn rule_6_one_slow_reader_holds_back_nobody() {
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({"progressToken": 1})));
    let slow = script.stream();
    script.send(&echo(2, &json!({"progressToken": 2})));
    let quick = script.stream();
    script.hold(true);
    for n in 1..=100 {
        say(&mut script, 0, said(Level::Error, &n.to_string()));
    }
    say(&mut script, 1, at(1.0));
    let mut read = Vec::new();
    assert_eq!(script.machine.pull(quick, &mut read, 1 << 20), Pull::Wait);
    assert!(String::from_utf8(read).unwrap().contains(r#""progressToken":2"#));
    script.hold(false);
    assert_eq!(logs_of(&script.sent(slow)).len(), 100);
}

/// How many outputs wait after a call has spoken that often while nobody polled.
fn outputs<M: Machine>(mut machine: M, hello: &[Value], call: Value, notes: usize) -> usize {
    let (from, view) = (mcp_core::Caller::anonymous(), fixture::view());
    let endpoint = fixture::endpoint();
    let mut running = None;
    for message in hello.iter().chain([&call]) {
        let message = mcp_core::wire::read(message.to_string().into(), endpoint.limits()).unwrap();
        machine.handle(Time(1), Input::Message { message, head: None, from: &from, view: &view });
        while let Some(output) = machine.poll_output() {
            if let Output::Call(ticket, _) = output {
                running = Some(ticket);
            }
        }
    }
    let ticket = running.expect("a call runs");
    for n in 1..=notes {
        let call = ticket.call();
        machine.handle(Time(1), Input::Note { call, note: at(n as f64) });
        machine.handle(Time(1), Input::Note { call, note: said(Level::Error, "1") });
    }
    machine.handle(Time(1), Input::Done { ticket, outcome: text("x") });
    let outputs: Vec<Output> = std::iter::from_fn(|| machine.poll_output()).collect();
    let open = outputs.iter().position(|output| matches!(output, Output::Open { .. }));
    let ready = outputs.iter().position(|output| matches!(output, Output::Ready(_)));
    assert!(open <= ready, "a driver knows the head before it pulls: {outputs:?}");
    outputs.len()
}

#[test]
fn rule_6_what_a_call_says_before_anybody_polls_is_bounded() {
    let endpoint = fixture::endpoint();
    let modern = || modern_echo(1, &wants("t"));
    let legacy = || echo(1, &json!({"progressToken": "t"}));
    let hello = [fixture::initialize("2025-11-25", &json!({})), fixture::initialized()];
    let new_session = || Session::new(MachineId(1), Arc::clone(&endpoint), SessionId::new([7; 16]), Time(0));
    for notes in [1, 5_000] {
        let all = [
            outputs(Exchange::new(MachineId(1), Arc::clone(&endpoint), Time(0)), &[], modern(), notes),
            outputs(Pipe::new(MachineId(1), Arc::clone(&endpoint), Time(0)), &[], modern(), notes),
            outputs(Pipe::new(MachineId(1), Arc::clone(&endpoint), Time(0)), &hello, legacy(), notes),
            outputs(new_session(), &hello, legacy(), notes),
        ];
        assert!(all.iter().all(|count| *count <= 4), "{all:?}");
    }
}

/// What a machine says whose call speaks, and then answers, to a client that takes JSON alone, while nobody polls.
fn outputs_of_json<M: Machine>(mut machine: M, messages: &[Value]) -> Vec<Output> {
    let (from, view, endpoint) = (mcp_core::Caller::anonymous(), fixture::view(), fixture::endpoint());
    let mut ticket = None;
    for message in messages {
        let mut headers = fixture::headers(message);
        headers[0].1 = "application/json".into();
        let head = mcp_core::Head::read(headers.iter().map(|(name, value)| (&**name, value.as_bytes())));
        let message = mcp_core::wire::read(message.to_string().into(), endpoint.limits()).unwrap();
        machine.handle(Time(1), Input::Message { message, head: Some(&head), from: &from, view: &view });
        while let Some(output) = machine.poll_output() {
            if let Output::Call(call, _) = output {
                ticket = Some(call);
            }
        }
    }
    let ticket = ticket.unwrap();
    machine.handle(Time(1), Input::Note { call: ticket.call(), note: at(1.0) });
    machine.handle(Time(1), Input::Done { ticket, outcome: text("x") });
    std::iter::from_fn(|| machine.poll_output()).collect()
}

#[test]
fn rule_6_a_note_that_reaches_nobody_says_nothing_before_the_head() {
    let machine = Session::new(MachineId(1), fixture::endpoint(), SessionId::new([7; 16]), Time(0));
    let messages = [fixture::initialize("2025-11-25", &json!({})), echo(1, &json!({"progressToken": 1}))];
    let outputs = outputs_of_json(machine, &messages);
    assert!(matches!(&outputs[..], [Output::Open { .. }, Output::Ready(_)]), "{outputs:?}");
}

#[test]
fn rule_6_a_modern_note_that_reaches_nobody_says_nothing_before_the_head() {
    let machine = Exchange::new(MachineId(1), fixture::endpoint(), Time(0));
    let outputs = outputs_of_json(machine, &[modern_echo(1, &wants("t"))]);
    assert!(matches!(&outputs[..], [Output::Open { .. }, Output::Ready(_), Output::Closed]), "{outputs:?}");
}
