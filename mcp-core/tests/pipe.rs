//! Both eras on one byte stream, interleaved, in simulated time: the stdio table of `spec.md` 2.4 and STDIO.

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::question::Question;
use mcp_core::record::Recorder;
use mcp_core::{
    Change, Close, Endpoint, Event, Input, Machine as _, MachineId, Note, Outcome, Pipe, Pull, Revision, StreamId, Time,
};
use serde_json::{Value, json};
use testkit::{Script, fixture};

/// Every run of these tests is recorded, and replayed when its test is over.
type Client = Script<Recorder<Pipe>>;

fn pipe() -> Client {
    of(fixture::endpoint())
}

fn serving(revisions: &[Revision]) -> Client {
    of(fixture::builder().revisions(revisions).build().unwrap())
}

fn of(endpoint: Arc<Endpoint>) -> Client {
    let fresh = move || Pipe::new(MachineId(1), Arc::clone(&endpoint), Time(1_000_000));
    Script::replaying(fresh).speaking(Revision::V2025_11_25)
}

fn opened(capabilities: &Value) -> Client {
    let mut script = pipe();
    assert_eq!(script.send(&fixture::initialize("2025-11-25", capabilities)).code(), 0);
    assert_eq!(script.send(&fixture::initialized()).text, "");
    script
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn legacy_call(id: u64) -> Value {
    fixture::request(id, "tools/call", &json!({"name": "echo", "_meta": {"progressToken": id}}))
}

fn modern_call(id: u64) -> Value {
    fixture::modern(id, "tools/call", &json!({"name": "echo", "_meta": {"progressToken": id}}), &json!({}))
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

#[test]
fn stdio_row_1_a_request_with_a_version_is_modern_even_after_a_handshake_ver_21() {
    let mut script = opened(&json!({}));
    let modern = script.send(&fixture::modern(1, "tools/list", &json!({}), &json!({})));
    assert_eq!(modern.one()["result"]["resultType"], "complete");
    let legacy = script.send(&fixture::request(2, "tools/list", &json!({})));
    assert_eq!(legacy.one()["result"].get("resultType"), None);
    assert_eq!(script.send(&fixture::modern(3, "server/discover", &json!({}), &json!({}))).code(), 0);
}

#[test]
fn stdio_row_2_a_handshake_opens_the_legacy_conversation() {
    let mut script = pipe();
    let sent = script.send(&fixture::initialize("2025-06-18", &json!({})));
    assert_eq!(sent.one()["result"]["protocolVersion"], "2025-06-18");
    assert!(script.events.contains(&Event::Opened(Revision::V2025_06_18)));
    assert_eq!(script.send(&fixture::initialize("2025-06-18", &json!({}))).code(), -32600, "life_7");
    assert!(script.send(&fixture::request(2, "tools/list", &json!({}))).one()["result"]["tools"].is_array());
}

#[test]
fn stdio_row_3_initialize_with_a_version_in_meta_does_not_exist() {
    let params = fixture::initialize("2025-11-25", &json!({}))["params"].clone();
    let mut script = pipe();
    let sent = script.send(&fixture::modern(1, "initialize", &params, &json!({})));
    assert_eq!(sent.code(), -32601);
    assert!(sent.one()["error"]["message"].as_str().unwrap().contains("2026-07-28"));
    assert!(script.machine.machine().peer().is_none());
}

#[test]
fn stdio_row_4_and_5_ping_is_answered_before_and_after_the_handshake_life_6() {
    let mut script = pipe();
    assert_eq!(script.send(&fixture::request(1, "ping", &json!({}))).one()["result"], json!({}));
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert_eq!(script.send(&fixture::request(2, "ping", &json!({}))).one()["result"], json!({}));
}

#[test]
fn stdio_row_6_other_requests_before_the_handshake_are_told_both_ways_to_open_life_6() {
    let mut script = pipe();
    for method in ["tools/list", "tools/call", "server/discover", "logging/setLevel", "foo"] {
        let sent = script.send(&fixture::request(1, method, &json!({})));
        assert_eq!(sent.code(), -32602, "{method}");
        let error = &sent.one()["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("_meta") && message.contains("initialize"), "{message}");
        assert_eq!(error["data"]["supported"][0], "2026-07-28");
    }
    assert_eq!(
        script.send(&fixture::initialize("2025-11-25", &json!({}))).code(),
        0,
        "ver_23: and the handshake still works"
    );
}

#[test]
fn stdio_row_7_and_8_unknown_notifications_and_answers_are_dropped_in_silence() {
    let mut script = pipe();
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/foo"}),
        json!({"jsonrpc": "2.0", "method": "ping"}),
        json!({"jsonrpc": "2.0", "method": "notifications/x", "params": []}),
        json!({"jsonrpc": "2.0", "id": 5, "result": {}}),
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}),
        fixture::initialized(),
        cancel(99),
    ] {
        assert_eq!(script.send(&message).text, "", "{message}");
    }
}

#[test]
fn a_probe_with_an_unsupported_version_leaves_the_handshake_open_case_15_ver_23() {
    let mut script = pipe();
    let mut probe = fixture::modern(1, "server/discover", &json!({}), &json!({}));
    probe["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let sent = script.send(&probe);
    assert_eq!(sent.code(), -32022);
    assert_eq!(sent.one()["error"]["data"]["requested"], "2027-01-01");
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert!(script.send(&fixture::request(2, "tools/list", &json!({}))).one()["result"]["tools"].is_array());
}

#[test]
fn a_legacy_only_server_refuses_a_probe_and_goes_on_case_14() {
    let mut script = serving(&[Revision::V2025_11_25]);
    let probe = fixture::modern(1, "server/discover", &json!({}), &json!({}));
    let code = script.send(&probe).code();
    assert!(![-32020, -32021, -32022, 0].contains(&code), "ver_22: a client would take {code} for a modern server");
    assert_eq!(script.send(&fixture::initialize("2025-11-25", &json!({}))).code(), 0);
}

#[test]
fn a_modern_only_server_names_its_versions_to_an_old_client_ver_7() {
    let mut script = serving(&[Revision::V2026_07_28]);
    let sent = script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert_eq!(sent.code(), -32601);
    assert!(sent.one()["error"]["message"].as_str().unwrap().contains("2026-07-28"));
    assert_eq!(sent.one()["error"]["data"], json!({"supported": ["2026-07-28"]}));
}

#[test]
fn each_modern_request_is_judged_by_itself_base_18_stdio_11() {
    let mut script = pipe();
    let sampler =
        |id: u64, capabilities: Value| fixture::modern(id, "tools/call", &json!({"name": "sampler"}), &capabilities);
    script.send(&sampler(1, json!({"sampling": {}})));
    assert_eq!(script.calls.len(), 1);
    let sent = script.send(&sampler(2, json!({})));
    assert_eq!(
        (sent.code(), sent.one()["error"]["data"].clone()),
        (-32021, json!({"requiredCapabilities": {"sampling": {}}}))
    );
}

#[test]
fn answers_come_out_of_order_and_nothing_is_opened_stdio_6() {
    let mut script = opened(&json!({}));
    script.send(&legacy_call(1));
    script.send(&modern_call(2));
    assert_eq!(script.send(&fixture::request(3, "tools/list", &json!({}))).one()["id"], 3, "the list overtakes");
    let (ticket, _) = script.calls.pop_back().unwrap();
    script.input(Input::Done { ticket, outcome: text("b") });
    script.done(text("a"));
    let sent = script.received();
    assert_eq!(sent.reply.clone(), None);
    let results: Vec<(&Value, bool)> =
        sent.messages.iter().map(|m| (&m["id"], m["result"].get("resultType").is_some())).collect();
    assert_eq!(results, [(&json!(2), true), (&json!(1), false)], "each in the shape of its era");
}

#[test]
fn a_cancel_silences_its_request_in_either_era_canc_5_stdio_7() {
    let mut script = opened(&json!({}));
    for message in [legacy_call(1), modern_call(1)] {
        script.send(&message);
        script.hold(true);
        script.note(Note::Progress { progress: 1.0, total: None, message: None });
        let (ticket, call) = script.calls.pop_front().unwrap();
        script.send(&cancel(1));
        script.hold(false);
        assert_eq!(script.received().text, "", "not even the progress that waited");
        assert_eq!(script.abandoned.pop(), Some(call.id));
        script.input(Input::Done { ticket, outcome: text("late") });
        assert_eq!(script.received().text, "");
    }
}

#[test]
fn an_id_in_flight_is_refused_and_free_again_afterwards_base_3() {
    let mut script = opened(&json!({}));
    script.send(&modern_call(1));
    for twice in [modern_call(1), legacy_call(1)] {
        let sent = script.send(&twice);
        assert_eq!((sent.code(), sent.one()["id"].clone()), (-32600, json!(1)));
    }
    assert_eq!(script.calls.len(), 1);
    script.done(text("a"));
    assert_eq!(script.received().one()["result"]["content"][0]["text"], "a");
    script.send(&legacy_call(1));
    script.done(text("b"));
    assert_eq!(script.received().one()["result"]["content"][0]["text"], "b");
}

#[test]
fn no_request_is_ever_sent_for_a_modern_call_stdio_3() {
    let mut script = pipe();
    script.send(&fixture::modern(1, "tools/call", &json!({"name": "echo"}), &json!({"elicitation": {}})));
    let question = Question::Form { message: "Who?".into(), schema: r#"{"type":"object","properties":{}}"#.into() };
    script.done(Outcome::Ask { questions: vec![("who".into(), question)], state: "s".into() });
    let sent = script.received();
    assert_eq!(sent.one()["result"]["resultType"], "input_required");
    assert_eq!(sent.one().get("method"), None);
}

#[test]
fn a_legacy_question_is_a_request_on_the_stream_and_the_end_of_input_answers_it_shim_5() {
    let mut script = opened(&json!({"roots": {}}));
    script.send(&legacy_call(1));
    script.done(Outcome::Ask { questions: vec![("roots".into(), Question::Roots)], state: "s".into() });
    assert_eq!(script.received().one(), &json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list", "params": {}}));
    script.close(Close::EndOfInput);
    let resume = script.calls[0].1.resume.clone().unwrap();
    assert_eq!(fixture::reply(resume.reply("roots")), "Some(Unsupported)", "nobody can answer any more");
    script.done(text("without roots"));
    let sent = script.received();
    assert_eq!(sent.messages[0]["params"]["reason"], "The input has ended: the question cannot be answered");
    assert_eq!(sent.messages.last().unwrap()["id"], 1);
    assert!(script.closed);
}

#[test]
fn the_end_of_input_finishes_what_runs_and_reads_nothing_new_stdio_4() {
    let mut script = opened(&json!({}));
    script.send(&legacy_call(1));
    script.close(Close::EndOfInput);
    assert!(!script.closed);
    assert_eq!(script.send(&fixture::request(2, "ping", &json!({}))).text, "");
    script.done(text("owed"));
    let sent = script.received();
    assert_eq!((sent.one()["id"].clone(), sent.ended, script.closed), (json!(1), true, true));

    let mut idle = pipe();
    idle.close(Close::EndOfInput);
    assert!(idle.closed, "with nothing owed it ends at once");
}

#[test]
fn a_broken_transport_abandons_everything() {
    let mut script = opened(&json!({}));
    script.send(&legacy_call(1));
    script.send(&modern_call(2));
    script.close(Close::Peer);
    assert_eq!((script.abandoned.len(), script.closed), (2, true));
    assert_eq!(script.received().text, "");
}

#[test]
fn a_shutdown_answers_what_runs() {
    let mut script = opened(&json!({}));
    script.send(&legacy_call(1));
    script.close(Close::Shutdown);
    assert_eq!(script.received().code(), -32603);
    assert!(script.closed);
}

#[test]
fn a_change_is_told_once_after_initialized_tool_16() {
    let mut script = pipe();
    let change = || Input::Changed { catalog: fixture::catalog(), what: Change::Tools };
    script.input(change());
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert_eq!(script.send(&fixture::initialized()).text, "", "who opens afterwards lists anew");
    let mut script = pipe();
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    script.input(change());
    script.input(change());
    assert_eq!(script.received().text, "");
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}});
    assert_eq!(script.send(&fixture::initialized()).one(), &notice);
}

#[test]
fn members_of_a_batch_are_answered_on_lines_of_their_own_batch_1() {
    let mut script = pipe();
    script.send(&fixture::initialize("2025-03-26", &json!({})));
    let sent =
        script.send(&json!([fixture::request(1, "ping", &json!({})), 5, fixture::request(2, "ping", &json!({}))]));
    let mut answers: Vec<(Option<&Value>, Option<&Value>, Option<i64>)> = Vec::new();
    for message in &sent.messages {
        answers.push((message.get("id"), message.get("result"), message["error"]["code"].as_i64()));
    }
    answers.sort_by_key(|(id, ..)| id.and_then(Value::as_u64));
    let (one, two, pong) = (json!(1), json!(2), json!({}));
    let right = [(None, None, Some(-32600)), (Some(&one), Some(&pong), None), (Some(&two), Some(&pong), None)];
    assert_eq!(answers, right);
    assert_eq!(sent.text.lines().count(), 3, "each on a line of its own");
    let mut script = opened(&json!({}));
    let sent = script.send(&json!([fixture::request(1, "ping", &json!({}))]));
    assert_eq!((sent.code(), sent.one().get("id")), (-32600, None));
}

#[test]
fn a_peer_that_does_not_read_closes_the_gate_and_opens_it_again_rule_6() {
    let mut policy = mcp_core::policy::Policy::default();
    policy.limits.unsent = 1000;
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut script = of(endpoint);
    script.hold(true);
    for id in 0..40 {
        script.send(&fixture::request(id, "ping", &json!({})));
    }
    assert!(script.is_full());
    script.hold(false);
    assert!(!script.is_full());
    assert_eq!(script.received().messages.len(), 40);
}

#[test]
fn what_waits_is_counted_until_it_is_pulled_rule_6() {
    let mut pipe = Pipe::new(MachineId(1), fixture::endpoint(), Time(0));
    let unread = mcp_core::wire::read("{".into(), fixture::endpoint().limits()).unwrap_err();
    pipe.handle(Time(1), Input::Unread(unread));
    let waiting = pipe.unsent();
    let mut line = Vec::new();
    assert_eq!(pipe.pull(StreamId::ONLY, &mut line, 1 << 16), Pull::Wait);
    assert_eq!((line.len(), pipe.unsent()), (waiting + 1, 0), "all but the line break");
}

#[test]
fn a_client_whose_input_has_ended_is_not_pinged_and_its_calls_are_finished_stdio_4() {
    let mut policy = mcp_core::policy::Policy::default();
    policy.timing.ping = Some(mcp_core::Span::millis(100));
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut script = of(endpoint);
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    script.send(&fixture::initialized());
    script.send(&legacy_call(1));
    script.close(Close::EndOfInput);
    script.advance(mcp_core::Span::secs(1));
    assert_eq!(script.received().text, "");
    script.done(text("owed"));
    assert_eq!(script.received().one()["id"], 1);
}
