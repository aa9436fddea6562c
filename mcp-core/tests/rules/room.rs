//! Rule 6, for calls that would rather wait than have what they say merged and dropped.

use mcp_core::{CallId, Machine as _, Output};

use super::*;

/// Wants progress, and logs from `error` on.
fn wants() -> Value {
    json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "error"})
}

fn has_room<M: Machine>(script: &Script<M>, call: usize) -> bool {
    script.machine.has_room(script.calls[call].1.id)
}

/// One KiB, as a text.
fn much() -> String {
    format!("\"{}\"", "x".repeat(1022))
}

/// Lets a call log for as long as it has room, at most so often. Returns how often it did.
fn fill<M: Machine>(script: &mut Script<M>, call: usize, most: usize) -> usize {
    let call = script.calls[call].1.id;
    for n in 0..most {
        if !script.machine.has_room(call) {
            return n;
        }
        let note = Note::Log { level: Level::Error, logger: Some(n.to_string().into()), data: much().into() };
        script.input(Input::Note { call, note });
    }
    most
}

fn loggers(sent: &Sent) -> Vec<usize> {
    let logs = sent.messages.iter().filter(|message| message["method"] == "notifications/message");
    logs.map(|log| log["params"]["logger"].as_str().unwrap().parse().unwrap()).collect()
}

/// A call that fills its stream while nobody reads, three times over.
fn waits<M: Machine>(mut script: Script<M>, stream: StreamId) {
    script.events.clear();
    for _ in 0..3 {
        script.hold(true);
        let said = fill(&mut script, 0, 1000);
        assert!((50..=64).contains(&said), "64 KiB wait and no more: {said}");
        script.hold(false);
        assert!(has_room(&script, 0), "it was read");
        let sent = script.sent(stream);
        assert_eq!(loggers(&sent), (0..said).collect::<Vec<_>>(), "all of it, in order");
    }
    assert!(script.events.is_empty(), "nothing was dropped: {:?}", script.events);
}

#[test]
fn rule_6_who_waits_for_room_loses_no_logs_and_holds_no_more_than_the_window() {
    let endpoint = fixture::endpoint();
    let mut script = exchange(&endpoint, 1);
    script.send(&modern_echo(1, &wants()));
    waits(script, StreamId::ONLY);
    let mut script = pipe(&endpoint);
    script.send(&modern_echo(1, &wants()));
    waits(script, StreamId::ONLY);
    let mut script = opened_pipe(&endpoint, &json!({}));
    script.send(&echo(1, &json!({})));
    waits(script, StreamId::ONLY);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    let stream = script.stream();
    waits(script, stream);
}

#[test]
fn rule_6_all_calls_of_a_byte_stream_find_room_for_one_more_log_each() {
    let mut script = opened_pipe(&limited(|policy| policy.limits.logs = 40), &json!({}));
    for id in 0..20 {
        script.send(&echo(id, &json!({})));
    }
    script.hold(true);
    // All of them look, and then all of them speak.
    for _ in 0..10 {
        let roomy: Vec<usize> = (0..20).filter(|call| has_room(&script, *call)).collect();
        for call in roomy {
            let call = script.calls[call].1.id;
            script.input(Input::Note { call, note: said(Level::Error, "1") });
        }
    }
    script.hold(false);
    assert_eq!(script.received().messages.len(), 40);
    assert!(!script.events.iter().any(|event| matches!(event, Event::LogsDropped(_))));
}

#[test]
fn rule_6_one_log_at_a_time_has_room_whatever_the_limits_are() {
    let endpoint = limited(|policy| (policy.limits.logs, policy.limits.window) = (0, 0));
    let mut script = exchange(&endpoint, 1);
    script.send(&modern_echo(1, &wants()));
    for _ in 0..3 {
        script.hold(true);
        assert_eq!(fill(&mut script, 0, 10), 1);
        script.hold(false);
    }
    assert_eq!(loggers(&script.received()), [0, 0, 0]);
}

#[test]
fn rule_6_a_slow_reader_holds_back_no_call_but_its_own() {
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    script.send(&echo(2, &json!({})));
    script.hold(true);
    fill(&mut script, 0, 1000);
    assert_eq!((has_room(&script, 0), has_room(&script, 1)), (false, true));
    assert!(fill(&mut script, 1, 1000) > 50);
    assert_eq!((has_room(&script, 0), has_room(&script, 1)), (false, false));
    let slow = script.machine.stream_of(script.calls[0].1.id).unwrap();
    let other = script.machine.stream_of(script.calls[1].1.id).unwrap();
    assert_ne!(slow, other);
    let _ = script.machine.pull(other, &mut Vec::new(), usize::MAX);
    assert_eq!((has_room(&script, 0), has_room(&script, 1)), (false, true));
}

/// What of the progress of those calls came, by their tokens.
fn reports(sent: &Sent) -> Vec<(String, u64)> {
    let reports = sent.messages.iter().filter(|message| message["method"] == "notifications/progress");
    let report = |report: &Value| {
        let Value::Object(params) = &report["params"] else { panic!("{report}") };
        (params["progressToken"].as_str().unwrap().to_owned(), params["progress"].as_u64().unwrap())
    };
    reports.map(report).collect()
}

/// Reports until there is no room, while nobody reads. Returns how often it did.
fn report<M: Machine>(script: &mut Script<M>, call: usize, from: u32, most: u32) -> u32 {
    let call = script.calls[call].1.id;
    for n in 0..most {
        if !script.machine.has_room(call) {
            return n;
        }
        script.input(Input::Note { call, note: at(f64::from(from + n)) });
    }
    most
}

/// A call that reports while nobody reads.
fn reports_all_or_the_last<M: Machine>(mut script: Script<M>, stream: StreamId) {
    // Who waits for room sends each report, in order.
    for n in 1..=20 {
        script.hold(true);
        assert_eq!(report(&mut script, 0, n, 100), 1, "the next one would take its place");
        script.hold(false);
        assert!(has_room(&script, 0), "it was read");
        assert_eq!(reports(&script.sent(stream)), [("t".into(), n.into())]);
    }
    // Who does not wait has the last one sent alone.
    script.hold(true);
    for n in 21..=10_000 {
        script.note(at(f64::from(n)));
        assert!(!has_room(&script, 0));
    }
    script.hold(false);
    assert_eq!(reports(&script.sent(stream)), [("t".into(), 10_000)]);
}

#[test]
fn rule_6_who_waits_for_room_loses_no_progress_and_of_who_does_not_the_last_comes_prog_6() {
    let endpoint = fixture::endpoint();
    let mut script = exchange(&endpoint, 1);
    script.send(&modern_echo(1, &wants()));
    reports_all_or_the_last(script, StreamId::ONLY);
    let mut script = pipe(&endpoint);
    script.send(&modern_echo(1, &wants()));
    reports_all_or_the_last(script, StreamId::ONLY);
    let mut script = opened_pipe(&endpoint, &json!({}));
    script.send(&echo(1, &wants()));
    reports_all_or_the_last(script, StreamId::ONLY);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &wants()));
    let stream = script.stream();
    reports_all_or_the_last(script, stream);
}

#[test]
fn rule_6_progress_waits_for_that_of_its_own_call_alone_and_for_what_else_is_unsent() {
    let mut script = pipe(&fixture::endpoint());
    script.send(&modern_echo(1, &json!({"progressToken": "a", "io.modelcontextprotocol/logLevel": "error"})));
    script.send(&modern_echo(2, &json!({"progressToken": "b"})));
    script.hold(true);
    assert_eq!(report(&mut script, 0, 1, 9), 1);
    assert_eq!((has_room(&script, 0), has_room(&script, 1)), (false, true));
    assert_eq!(report(&mut script, 1, 5, 9), 1);
    script.hold(false);
    assert_eq!(reports(&script.received()), [("a".into(), 1), ("b".into(), 5)]);
    script.hold(true);
    fill(&mut script, 0, 1000);
    assert!(!has_room(&script, 1), "what else waits counts");
    script.hold(false);
    assert!(has_room(&script, 0) && has_room(&script, 1));
}

#[test]
fn progress_that_a_reader_has_left_behind_holds_nobody_back() {
    for resumable in [false, true] {
        let id = SessionId::new([7; 16]);
        let machine = Session::new(MachineId(1), fixture::endpoint(), id, Time(1_000_000));
        let mut script = match resumable {
            true => Script::new(machine.resumable()).resumable(),
            false => Script::new(machine),
        };
        script.open(Revision::V2025_11_25, &json!({}));
        script.send(&echo(1, &wants()));
        let stream = script.stream();
        script.note(at(1.0));
        script.hold(true);
        script.note(at(2.0));
        assert!(!has_room(&script, 0));
        let call = script.calls[0].1.id;
        script.machine.handle(script.now, Input::Detach { stream });
        for n in 3..50 {
            log_at_once(&mut script);
            assert!(script.machine.has_room(call), "{resumable}: nobody reads it, or the log has it");
            script.machine.handle(script.now, Input::Note { call, note: at(f64::from(n)) });
        }
    }
}

// Who would wait for nothing.

#[test]
fn what_nobody_wants_to_hear_is_waited_for_by_nobody() {
    let endpoint = fixture::endpoint();
    let mut script = pipe(&endpoint);
    script.send(&modern_echo(1, &wants()));
    script.send(&modern_echo(2, &json!({})));
    script.hold(true);
    fill(&mut script, 0, 1000);
    script.note(at(5.0));
    assert!(!has_room(&script, 0));
    let of = |script: &mut Script<Pipe>, call: usize, note| {
        let call = script.calls[call].1.id;
        script.input(Input::Note { call, note });
    };
    of(&mut script, 0, said(Level::Debug, "1"));
    assert!(has_room(&script, 0), "a level that it does not want");
    of(&mut script, 0, at(5.0));
    assert!(has_room(&script, 0), "progress that has not grown");
    for note in [at(1.0), said(Level::Emergency, "1")] {
        of(&mut script, 1, note);
        assert!(has_room(&script, 1), "neither token nor level");
    }
    of(&mut script, 0, at(6.0));
    assert!(!has_room(&script, 0), "that was wanted");
}

/// A call that has no room, and says what is not for its client to hear.
fn still_waits<M: Machine>(mut script: Script<M>) {
    script.hold(true);
    fill(&mut script, 0, 1000);
    let call = script.calls[0].1.id;
    for note in [Note::Assigns("x".into()), Note::HangUp] {
        script.input(Input::Note { call, note: note.clone() });
        assert!(!script.machine.has_room(call), "{note:?}");
    }
    script.hold(false);
    assert!(script.machine.has_room(call));
}

#[test]
fn what_is_not_said_to_the_client_makes_no_room_on_any_machine() {
    let endpoint = fixture::endpoint();
    let mut script = exchange(&endpoint, 1);
    script.send(&modern_echo(1, &wants()));
    still_waits(script);
    let mut script = pipe(&endpoint);
    script.send(&modern_echo(1, &wants()));
    still_waits(script);
    let mut script = session(&endpoint, Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    still_waits(script);
}

#[test]
fn a_client_that_takes_json_alone_is_waited_for_by_nobody() {
    let mut script = exchange(&fixture::endpoint(), 1);
    let message = modern_echo(1, &wants());
    let mut headers = fixture::headers(&message);
    headers.retain(|(name, _)| name != "accept");
    headers.push(("accept".into(), "application/json".into()));
    script.send_with(&message, &headers);
    assert_eq!(fill(&mut script, 0, 1000), 1000);
}

#[test]
fn a_call_that_is_answered_cancelled_or_unknown_waits_for_nobody() {
    let mut script = pipe(&fixture::endpoint());
    for id in 1..=2 {
        script.send(&modern_echo(id, &wants()));
    }
    script.hold(true);
    fill(&mut script, 0, 1000);
    script.note(said(Level::Error, "1"));
    let (first, second) = (script.calls[0].1.id, script.calls[1].1.id);
    script.input(Input::Note { call: second, note: said(Level::Error, "1") });
    assert!(!script.machine.has_room(first) && !script.machine.has_room(second));
    script.send(&cancel(&json!(2)));
    assert!(script.machine.has_room(second), "it was cancelled");
    script.done(text("done"));
    assert!(script.machine.has_room(first), "it was answered");
    assert!(script.machine.has_room(CallId(77)), "there never was such a call");
}

#[test]
fn a_modern_reader_that_leaves_and_a_shutdown_free_who_waits() {
    for leaves in [true, false] {
        let mut script = exchange(&fixture::endpoint(), 1);
        script.send(&modern_echo(1, &wants()));
        script.hold(true);
        fill(&mut script, 0, 1000);
        let call = script.calls[0].1.id;
        assert!(!script.machine.has_room(call));
        let input = match leaves {
            true => Input::Detach { stream: StreamId::ONLY },
            false => Input::Close(mcp_core::Close::Shutdown),
        };
        script.input(input);
        assert!(script.machine.has_room(call));
    }
}

#[test]
fn a_call_that_runs_out_of_time_waits_no_more() {
    let mut script = exchange(&limited(|policy| policy.timing.call = Some(Span::secs(5))), 1);
    script.send(&modern_echo(1, &wants()));
    script.hold(true);
    fill(&mut script, 0, 1000);
    let call = script.calls[0].1.id;
    assert!(!script.machine.has_room(call));
    script.advance(Span::secs(5));
    assert_eq!(script.abandoned, [call]);
    assert!(script.machine.has_room(call));
}

#[test]
fn a_legacy_call_goes_on_without_its_reader_and_does_not_wait_for_one() {
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    let stream = script.stream();
    script.hold(true);
    fill(&mut script, 0, 1000);
    assert!(!has_room(&script, 0));
    script.input(Input::Detach { stream });
    assert_eq!(fill(&mut script, 0, 1000), 1000, "nobody can come back: what is said is dropped");
}

#[test]
fn what_a_reader_may_come_back_for_is_bounded_by_the_log_alone() {
    let id = SessionId::new([7; 16]);
    let machine = Session::new(MachineId(1), fixture::endpoint(), id, Time(1_000_000)).resumable();
    let mut script = Script::new(machine).resumable();
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&echo(1, &json!({})));
    let stream = script.stream();
    script.note(said(Level::Error, "1"));
    script.received();
    script.input(Input::Detach { stream });
    let call = script.calls[0].1.id;
    for _ in 0..1000 {
        assert!(script.machine.has_room(call), "its driver pulls at once what is for the log");
        let note = Note::Log { level: Level::Error, logger: None, data: much().into() };
        script.machine.handle(script.now, Input::Note { call, note });
        log_at_once(&mut script);
    }
}

/// What a driver does for a stream whose reader may come back.
fn log_at_once(script: &mut Script<Session>) {
    while let Some(output) = script.machine.poll_output() {
        if let Output::Ready(stream) = output {
            while script.machine.pull(stream, &mut Vec::new(), 0) == mcp_core::Pull::More {}
        }
    }
}
