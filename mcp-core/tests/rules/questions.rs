//! Rule 9: to ask is data, in both eras.

use mcp_core::{Ability, Timer};

use super::*;

fn form() -> Question {
    let schema = r#"{"type":"object","properties":{"n":{"type":"string"}}}"#;
    Question::Form { message: "Name?".into(), schema: schema.into() }
}

/// What one handler says, whoever it serves.
fn asks() -> Outcome {
    Outcome::Ask { questions: vec![("who".into(), form())], state: Bytes::from_static(b"step 1") }
}

fn able() -> Value {
    json!({"elicitation": {}})
}

fn answer(asked: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
}

#[test]
fn rule_9_the_same_outcome_is_a_result_on_modern_and_a_request_on_legacy() {
    let endpoint = fixture::endpoint();
    let accepted = json!({"action": "accept", "content": {"n": "Ann"}});
    let params =
        json!({"message": "Name?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}}});

    let mut message = modern_echo(1, &json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = able();
    let mut modern = exchange(&endpoint, 1);
    modern.send(&message);
    assert_eq!(modern.calls[0].1.resume, None);
    modern.done(asks());
    let sent = modern.received();
    let mut with_mode = params.clone();
    with_mode["mode"] = json!("form");
    let asked = &sent.one()["result"]["inputRequests"]["who"];
    assert_eq!(*asked, json!({"method": "elicitation/create", "params": with_mode}));
    assert!(sent.ended, "no future waits for a human");
    message["params"]["requestState"] = sent.one()["result"]["requestState"].clone();
    message["params"]["inputResponses"] = json!({"who": accepted});
    let mut retry = exchange(&endpoint, 2);
    retry.send(&message);
    let on_modern = retry.calls.pop_front().unwrap().1.resume.unwrap();

    for (revision, params) in [(Revision::V2025_11_25, &with_mode), (Revision::V2025_06_18, &params)] {
        let mut legacy = session(&endpoint, revision, &able());
        legacy.send(&echo(1, &json!({})));
        let stream = legacy.stream();
        legacy.done(asks());
        assert!(legacy.calls.is_empty(), "no run waits for a human");
        let sent = legacy.sent(stream);
        let asked = sent.one();
        assert_eq!((&asked["method"], &asked["params"]), (&json!("elicitation/create"), params));
        assert_eq!(legacy.send(&answer(asked, &accepted)).status(), 202);
        let on_legacy = legacy.calls.pop_front().unwrap().1.resume.unwrap();
        assert_eq!(on_legacy, on_modern, "{revision}");
    }
}

#[test]
fn rule_9_a_client_that_cannot_be_asked_is_an_answer_in_every_revision() {
    let endpoint = fixture::endpoint();
    let mut modern = exchange(&endpoint, 1);
    modern.send(&modern_echo(1, &json!({})));
    modern.done(asks());
    let unsupported = modern.calls.pop_front().unwrap().1.resume.unwrap();
    assert_eq!((&*unsupported.state, unsupported.reply("who")), (&b"step 1"[..], Some(&Response::Unsupported)));
    for (revision, capabilities) in [
        (Revision::V2024_11_05, able()),
        (Revision::V2025_03_26, able()),
        (Revision::V2025_06_18, json!({})),
        (Revision::V2025_11_25, json!({"elicitation": {"url": {}}})),
    ] {
        let mut legacy = session(&endpoint, revision, &capabilities);
        legacy.send(&echo(1, &json!({})));
        legacy.done(asks());
        assert_eq!(legacy.calls.pop_front().unwrap().1.resume.unwrap(), unsupported, "{revision}");
    }
    let mut alone = Script::new(Session::sessionless(MachineId(1), endpoint, Revision::V2025_11_25, Time(0)));
    alone.send(&echo(1, &json!({})));
    alone.done(asks());
    assert_eq!(alone.calls.pop_front().unwrap().1.resume.unwrap(), unsupported, "case 97");
}

#[test]
fn rule_9_a_request_keeps_its_id_token_progress_deadline_and_stream_over_its_runs() {
    let endpoint = limited(|policy| policy.timing.call = Some(Span::secs(100)));
    let mut script = session(&endpoint, Revision::V2025_11_25, &able());
    script.send(&echo("mine", &json!({"progressToken": "t", "com.acme/x": 1})));
    let stream = script.stream();
    let first = script.calls[0].1.clone();
    script.note(at(5.0));
    script.done(asks());
    let sent = script.sent(stream);
    script.advance(Span::secs(40));
    script.send(&answer(&sent.messages[1], &json!({"action": "decline"})));
    let second = script.calls[0].1.clone();
    assert_ne!(first.id, second.id, "a run has a name of its own");
    assert_eq!(second.deadline, first.deadline);
    assert_eq!((&second.kind, &second.meta, second.progress), (&first.kind, &first.meta, true));
    assert!(second.peer.capabilities.has(Ability::ElicitationForm));
    script.sent(stream);
    script.note(at(5.0));
    script.note(at(4.0));
    assert_eq!(script.sent(stream).text, "", "PROG-2: over all runs");
    script.note(at(6.0));
    assert_eq!(script.sent(stream).one()["params"], json!({"progressToken": "t", "progress": 6}));
    script.done(text("done"));
    let sent = script.sent(stream);
    assert_eq!((&sent.one()["id"], words(sent.one()), sent.ended), (&json!("mine"), "done", true));
}

#[test]
fn rule_9_the_deadline_of_a_request_ends_its_open_question() {
    let endpoint = limited(|policy| policy.timing.call = Some(Span::secs(100)));
    let mut script = session(&endpoint, Revision::V2025_11_25, &able());
    script.send(&echo(1, &json!({})));
    let stream = script.stream();
    script.advance(Span::secs(60));
    script.done(asks());
    let asked = script.sent(stream).messages[0]["id"].clone();
    script.advance(Span::secs(40));
    let sent = script.sent(stream);
    assert_eq!(methods(&sent), ["notifications/cancelled", "answer"]);
    assert_eq!(sent.messages[0]["params"]["requestId"], asked);
    assert_eq!(sent.messages[1]["error"]["code"], -32603);
    assert!(script.calls.is_empty());
}

#[test]
fn rule_9_cancelling_the_request_cancels_the_question_canc_3() {
    let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &able());
    script.send(&echo("mine", &json!({})));
    let stream = script.stream();
    script.done(asks());
    let asked = script.sent(stream).messages[0]["id"].clone();
    script.send(&cancel(&json!("mine")));
    let sent = script.sent(stream);
    assert_eq!(methods(&sent), ["notifications/cancelled"]);
    assert_eq!(sent.messages[0]["params"]["requestId"], asked);
    assert!(sent.ended && sent.messages[0].get("id").is_none());
    // An answer that crosses it is ignored.
    assert_eq!(script.send(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "accept"}})).status(), 202);
    assert!(script.calls.is_empty());
}

#[test]
fn rule_9_a_refusal_an_error_and_a_time_out_are_typed_answers() {
    let replied = |reply: Option<Value>| {
        let mut script = session(&fixture::endpoint(), Revision::V2025_11_25, &able());
        script.send(&echo(1, &json!({})));
        let stream = script.stream();
        script.done(asks());
        let asked = script.sent(stream).messages[0]["id"].clone();
        match reply {
            Some(mut reply) => {
                reply["jsonrpc"] = json!("2.0");
                reply["id"] = asked;
                script.send(&reply);
            }
            None => {
                assert!(matches!(script.machine.deadline(), Some((_, Timer::KeepAlive(_) | Timer::Question(_)))));
                script.advance(Span::secs(300));
                assert_eq!(script.sent(stream).messages[0]["params"]["requestId"], asked, "BASE-25");
            }
        }
        script.calls.pop_front().unwrap().1.resume.unwrap().reply("who").unwrap().clone()
    };
    let declined = Response::Result(Bytes::from_static(br#"{"action":"decline"}"#));
    assert_eq!(replied(Some(json!({"result": {"action": "decline"}}))), declined);
    let error = Response::Error { code: -1, message: "User rejected".into() };
    assert_eq!(replied(Some(json!({"error": {"code": -1, "message": "User rejected"}}))), error);
    assert_eq!(replied(None), Response::TimedOut);
}
