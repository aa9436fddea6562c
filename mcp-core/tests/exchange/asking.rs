//! Asking the client: `input_required`, the state that travels through it, and the retry (MRTR, rule 9 on modern).

use mcp_core::policy::Policy;
use mcp_core::question::{Question, Response, Resume};
use mcp_core::{Caller, Code, Fault, Form, Note, Scopes, Span};

use super::*;

const FORM: &str = r#"{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}"#;

fn form(message: &str) -> Question {
    Question::Form { message: message.into(), schema: FORM.into() }
}

fn url() -> Question {
    Question::Url { message: "Sign in".into(), url: "https://example.com/in".into(), id: "e1".into() }
}

fn sample(tools: bool) -> Question {
    Question::Sample { params: r#"{"messages":[],"maxTokens":5}"#.into(), tools }
}

fn ask(questions: &[(&str, Question)], state: &str) -> Outcome {
    let questions = questions.iter().map(|(key, question)| ((*key).into(), question.clone())).collect();
    Outcome::Ask { questions, state: state.to_owned().into() }
}

/// Everything that can be declared.
fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}})
}

fn arguments() -> Value {
    json!({"arguments": {"message": "hi", "n": [1, {"b": 1, "a": 2}]}})
}

/// A call of `echo` that can be asked anything.
fn asked_call() -> Value {
    call("echo", &arguments(), &able())
}

/// What a call of `echo` gets whose first run asks that.
fn asking(questions: &[(&str, Question)], state: &str) -> Sent {
    let mut script = started(&asked_call());
    script.done(ask(questions, state));
    script.received()
}

fn state_of(sent: &Sent) -> String {
    sent.one()["result"]["requestState"].as_str().expect("a state was sent").to_owned()
}

/// The same call once more, with that state and those answers.
fn retry(state: &str, answers: &Value) -> Value {
    let mut message = asked_call();
    message["id"] = json!(2);
    message["params"]["requestState"] = json!(state);
    message["params"]["inputResponses"] = answers.clone();
    message
}

/// What the run of a request is handed.
fn resumed(message: &Value) -> Resume {
    *started(message).calls[0].1.resume.clone().expect("the request is a retry")
}

fn reply(resume: &Resume, key: &str) -> String {
    fixture::reply(resume.reply(key))
}

fn refused(endpoint: &Arc<Endpoint>, message: &Value) -> (u16, i64) {
    let mut script = exchange(endpoint);
    let sent = script.send(message);
    assert!(script.calls.is_empty(), "the handler is not entered");
    (sent.status(), sent.code())
}

const BAD: (u16, i64) = (200, -32602);
const INTERNAL: (u16, i64) = (200, -32603);

#[test]
fn a_question_is_a_result_and_the_last_message_mrtr_2_mrtr_14_http_43() {
    let mut script = started(&call("echo", &json!({"_meta": {"progressToken": 7}}), &able()));
    script.note(Note::Progress { progress: 1.0, total: None, message: None });
    script.done(ask(&[("who", form("Name?"))], "s"));
    let sent = script.received();
    assert_eq!(sent.messages.len(), 2);
    assert_eq!(sent.messages[0]["method"], "notifications/progress");
    assert!(sent.ended && script.closed);
    let state = sent.messages[1]["result"]["requestState"].clone();
    assert!(state.is_string());
    assert_eq!(
        sent.messages[1],
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "resultType": "input_required",
            "inputRequests": {"who": {"method": "elicitation/create", "params": {
                "mode": "form",
                "message": "Name?",
                "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]},
            }}},
            "requestState": state,
            "_meta": server_info(),
        }})
    );
}

#[test]
fn each_kind_of_question_has_its_shape_and_no_envelope_mrtr_2_elic_3() {
    let questions = [("f", form("F")), ("u", url()), ("s", sample(true)), ("r", Question::Roots)];
    let sent = asking(&questions, "");
    assert_eq!((sent.status(), sent.head().form), (200, Form::Json));
    assert_eq!(
        sent.one()["result"]["inputRequests"],
        json!({
            "f": {"method": "elicitation/create", "params": {
                "mode": "form", "message": "F", "requestedSchema": serde_json::from_str::<Value>(FORM).unwrap(),
            }},
            "u": {"method": "elicitation/create", "params": {
                "mode": "url", "message": "Sign in", "url": "https://example.com/in",
            }},
            "s": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
            "r": {"method": "roots/list", "params": {}},
        })
    );
}

#[test]
fn a_client_that_takes_json_alone_can_be_asked() {
    let mut script = exchange(&fixture::endpoint());
    let mut headers = fixture::headers(&asked_call());
    headers.retain(|(name, _)| name != "accept");
    headers.push(("accept".into(), "application/json".into()));
    script.send_with(&asked_call(), &headers);
    script.done(ask(&[("who", form("Name?"))], ""));
    assert_eq!(script.received().one()["result"]["resultType"], "input_required");
}

#[test]
fn the_retry_brings_state_and_answers_back_under_any_id_mrtr_5() {
    let state = state_of(&asking(&[("who", form("Name?")), ("roots", Question::Roots)], "step 1\0\u{e9}"));
    let ann = json!({"action": "accept", "content": {"n": "Ann", "big": 12_345_678_901_234_567_890_u64}});
    let mut message = retry(&state, &json!({"who": ann, "roots": {"roots": []}, "extra": {"x": 1}}));
    for id in [json!(2), json!(1), json!("again")] {
        message["id"] = id;
        let resume = resumed(&message);
        assert_eq!(&*resume.state, "step 1\0\u{e9}".as_bytes());
        assert_eq!(serde_json::from_str::<Value>(&reply(&resume, "who")).unwrap(), ann);
        assert_eq!(reply(&resume, "roots"), r#"{"roots":[]}"#);
        assert_eq!(reply(&resume, "extra"), r#"{"x":1}"#, "MRTR-7: whoever asked nothing may ignore it");
        assert_eq!(resume.reply("other"), None);
    }
    let mut script = started(&message);
    script.done(text("Ann"));
    let sent = script.received();
    assert_eq!((&sent.one()["id"], &sent.one()["result"]["resultType"]), (&json!("again"), &json!("complete")));
    assert!(sent.one()["result"].get("requestState").is_none());
}

#[test]
fn answers_keep_the_text_that_they_were_sent_in() {
    let state = state_of(&asking(&[("who", form("Name?"))], ""));
    let sent = retry(&state, &json!({"who": "@"})).to_string();
    let sent = sent.replace(r#""@""#, r#"{"n":1.0, "big":123456789012345678901234567890}"#);
    let mut script = exchange(&fixture::endpoint());
    script.send_bytes(sent.into(), None);
    let resume = script.calls[0].1.resume.as_ref().unwrap();
    assert_eq!(reply(resume, "who"), r#"{"n":1.0, "big":123456789012345678901234567890}"#);
}

#[test]
fn a_request_that_is_no_retry_resumes_nothing() {
    assert_eq!(started(&asked_call()).calls[0].1.resume, None);
}

#[test]
fn another_instance_with_the_same_key_serves_the_retry_mrtr_6() {
    let state = state_of(&asking(&[("who", form("Name?"))], "from the first"));
    let other = fixture::builder().build().unwrap();
    let mut script = exchange(&other);
    // Registered in another order there, so under another handle.
    let tool = Tool::new("echo", Handle(77), r#"{"type":"object"}"#);
    script.view = View::all(Catalog::builder().tool(tool).build().unwrap());
    script.send(&retry(&state, &json!({"who": {"action": "accept", "content": {"n": "Ann"}}})));
    let call = &script.calls[0].1;
    assert_eq!(&*call.resume.as_ref().unwrap().state, b"from the first");
    assert!(matches!(call.kind, Kind::Tool { tool: Handle(77), .. }));
}

#[test]
fn a_retry_is_a_request_of_its_own_mrtr_14() {
    let mut first = asked_call();
    first["params"]["_meta"]["progressToken"] = json!(7);
    first["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    let mut script = started(&first);
    script.done(ask(&[("who", form("Name?"))], ""));
    let mut message = retry(&state_of(&script.received()), &json!({"who": {"action": "decline"}}));
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut script = started(&message);
    let call = &script.calls[0].1;
    assert!(!call.progress && call.peer.capabilities.is_empty());
    // A refusal is an answer like any other (MRTR-13).
    assert_eq!(reply(call.resume.as_ref().unwrap(), "who"), r#"{"action":"decline"}"#);
    script.note(Note::Progress { progress: 1.0, total: None, message: None });
    assert_eq!(script.received().reply, None);
    // What it did not declare now it cannot be asked.
    script.done(ask(&[("who", form("Name?"))], ""));
    assert_eq!(script.calls[0].1.resume.as_ref().unwrap().reply("who"), Some(&Response::Unsupported));
}

#[test]
fn only_what_a_client_declared_is_asked_mrtr_4_case_115() {
    for (declared, question, can) in [
        (json!({}), form("F"), false),
        (json!({"elicitation": {}}), form("F"), true),
        (json!({"elicitation": {"form": {}}}), form("F"), true),
        (json!({"elicitation": {"url": {}}}), form("F"), false),
        (json!({"elicitation": {}}), url(), false),
        (json!({"elicitation": {"url": {}}}), url(), true),
        (json!({"sampling": {}}), sample(false), true),
        (json!({"sampling": {}}), sample(true), false),
        (json!({"sampling": {"tools": {}}}), sample(true), true),
        (json!({"elicitation": {}}), sample(false), false),
        (json!({"roots": {}}), Question::Roots, true),
        (json!({"roots": {"listChanged": true}}), Question::Roots, true),
        (json!({"sampling": {}}), Question::Roots, false),
    ] {
        let mut script = started(&call("echo", &json!({}), &declared));
        script.done(ask(&[("k", question.clone())], "state"));
        if can {
            assert!(script.calls.is_empty());
            assert_eq!(script.received().one()["result"]["inputRequests"]["k"]["method"], question.method());
        } else {
            // It is run once more, and told so: a typed answer, of which it makes what it likes.
            assert_eq!(script.received().reply, None, "{declared} {question:?}");
            let resume = script.calls[0].1.resume.clone().unwrap();
            assert_eq!((&*resume.state, resume.reply("k")), (&b"state"[..], Some(&Response::Unsupported)));
            script.done(text("without"));
            assert_eq!(script.received().one()["result"]["content"][0]["text"], "without");
        }
    }
}

#[test]
fn what_cannot_be_asked_among_what_can_is_told_with_the_retry_mrtr_4() {
    let declared = json!({"elicitation": {}});
    let message = call("echo", &arguments(), &declared);
    let mut script = started(&message);
    script.done(ask(&[("a", url()), ("who", form("Name?")), ("b", Question::Roots)], "s"));
    let sent = script.received();
    let asked: Vec<&String> = sent.one()["result"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(asked, ["who"]);
    // Whatever the client makes up for the others.
    let answers = json!({"who": {"action": "cancel"}, "a": {"action": "accept"}});
    let resume = resumed(&retry(&state_of(&sent), &answers));
    assert_eq!(reply(&resume, "who"), r#"{"action":"cancel"}"#);
    assert_eq!(resume.reply("a"), Some(&Response::Unsupported));
    assert_eq!(resume.reply("b"), Some(&Response::Unsupported));
    assert_eq!((&*resume.state, resume.replies.len()), (&b"s"[..], 3));
}

#[test]
fn a_client_that_is_asked_in_vain_for_ever_is_given_up() {
    let mut policy = Policy::default();
    policy.limits.rounds = 3;
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut script = started_on(&endpoint, &echo(&json!({})));
    for _ in 0..3 {
        script.done(ask(&[("k", form("F"))], ""));
        assert_eq!(script.calls.len(), 1);
    }
    script.done(ask(&[("k", form("F"))], ""));
    assert!(script.calls.is_empty());
    assert_eq!(verdict(&script.received()), INTERNAL);
}

#[test]
fn answers_that_are_malformed_are_refused_mrtr_7() {
    let state = state_of(&asking(&[("who", form("Name?"))], ""));
    let served = fixture::endpoint();
    for answers in [json!(null), json!([]), json!("x"), json!({"who": "Ann"}), json!({"who": null}), json!({"who": []})]
    {
        assert_eq!(refused(&served, &retry(&state, &answers)), BAD, "{answers}");
    }
    let twice = retry(&state, &json!({"who": "@"})).to_string().replace(r#""@""#, r#"{},"who":{}"#);
    let mut script = exchange(&served);
    assert_eq!(script.send_bytes(twice.into(), None).code(), -32602, "two readers might take different ones");
    assert!(script.calls.is_empty());
    let many: serde_json::Map<String, Value> = (0..65).map(|n| (n.to_string(), json!({}))).collect();
    assert_eq!(refused(&served, &retry(&state, &Value::Object(many))), BAD);
    for forged in [json!(7), json!(null), json!({}), json!(""), json!("v1.forged")] {
        let mut message = retry(&state, &json!({}));
        message["params"]["requestState"] = forged;
        assert_eq!(refused(&served, &message), BAD);
    }
}

#[test]
fn a_needed_answer_that_is_missing_is_asked_for_again_mrtr_7_mrtr_11() {
    let first = asking(&[("who", form("Name?"))], "step 1");
    let mut script = started(&retry(&state_of(&first), &json!({"wrong": {}})));
    assert_eq!(script.calls[0].1.resume.as_ref().unwrap().reply("who"), None);
    script.done(ask(&[("who", form("Name?"))], "step 2"));
    let second = script.received();
    assert_eq!(second.one()["result"]["resultType"], "input_required");
    assert_eq!(second.one()["id"], 2);
    assert_ne!(state_of(&first), state_of(&second));
    let resume = resumed(&retry(&state_of(&second), &json!({"who": {"action": "accept", "content": {}}})));
    assert_eq!(&*resume.state, b"step 2");
    // The client answers only the last round; what the first brought is the state's to keep.
    assert_eq!(resume.replies.len(), 1);
}

#[test]
fn a_state_alone_is_retried_right_away_mrtr_12() {
    let sent = asking(&[], "load");
    let result = &sent.one()["result"];
    assert_eq!(result["resultType"], "input_required");
    assert!(result.get("inputRequests").is_none() && result["requestState"].is_string());
    let mut message = retry(&state_of(&sent), &json!({}));
    message["params"].as_object_mut().unwrap().remove("inputResponses");
    let resume = resumed(&message);
    assert_eq!((&*resume.state, resume.replies.len()), (&b"load"[..], 0));
}

#[test]
fn retries_do_not_go_on_for_ever_mrtr_12() {
    let mut policy = Policy::default();
    policy.limits.rounds = 3;
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut message = asked_call();
    for _ in 0..3 {
        let mut script = started_on(&endpoint, &message);
        script.done(ask(&[("who", form("Name?"))], ""));
        message = retry(&state_of(&script.received()), &json!({}));
        message["id"] = json!(1);
    }
    let mut script = started_on(&endpoint, &message);
    script.done(ask(&[("who", form("Name?"))], ""));
    assert_eq!(verdict(&script.received()), INTERNAL);
}

#[test]
fn a_state_that_was_changed_is_refused_mrtr_8_case_116() {
    let state = state_of(&asking(&[("who", form("Name?"))], "secret"));
    let served = fixture::endpoint();
    for at in 0..state.len() {
        let mut changed = state.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(refused(&served, &retry(&changed, &json!({}))), BAD, "{at}");
    }
    for cut in [&state[1..], &state[..state.len() - 1], &state[..state.len() / 2]] {
        assert_eq!(refused(&served, &retry(cut, &json!({}))), BAD);
    }
    assert_eq!(started(&retry(&state, &json!({}))).calls.len(), 1);
}

#[test]
fn a_state_is_for_its_principal_its_tool_and_its_arguments_mrtr_9_case_116() {
    let as_caller = |principal: Option<&str>, message: &Value| {
        let mut script = exchange(&fixture::endpoint());
        let caller = principal.map(|name| Caller::new(name, Scopes::default()));
        script.caller = caller.unwrap_or_default();
        let sent = script.send(message);
        if script.calls.is_empty() { Err((sent.status(), sent.code())) } else { Ok(script) }
    };
    let principals = [None, Some(""), Some("ann"), Some("bob")];
    for from in principals {
        let mut script = as_caller(from, &asked_call()).unwrap();
        script.done(ask(&[("who", form("Name?"))], ""));
        let message = retry(&state_of(&script.received()), &json!({}));
        for to in principals {
            assert_eq!(as_caller(to, &message).err(), if from == to { None } else { Some(BAD) }, "{from:?} {to:?}");
        }
    }
    let state = state_of(&asking(&[("who", form("Name?"))], ""));
    let served = fixture::endpoint();
    for (key, value) in [
        ("name", json!("sampler")),
        ("arguments", json!({})),
        ("arguments", json!(null)),
        ("arguments", json!({"message": "ho", "n": [1, {"b": 1, "a": 2}]})),
        ("arguments", json!({"message": "hi", "n": [{"b": 1, "a": 2}, 1]})),
    ] {
        let mut message = retry(&state, &json!({}));
        message["params"][key] = value;
        assert_eq!(refused(&served, &message), BAD, "{key}");
    }
    // What one reader takes for the same and another does not.
    let served_text = |from: &str, to: &str| {
        let message = retry(&state, &json!({})).to_string();
        let changed = message.replace(from, to);
        assert_ne!(message, changed);
        let mut script = exchange(&served);
        let sent = script.send_bytes(changed.into(), None);
        script.calls.is_empty().then(|| sent.code())
    };
    assert_eq!(served_text(r#""message":"hi""#, r#""message":"ho","message":"hi""#), Some(-32602));
    assert_eq!(served_text(r#""n":[1,"#, r#""n":[1.0,"#), Some(-32602));
    // The same arguments in another spelling are the same.
    let spelled = r#"{ "n":[ 1,{"a":2, "b":1}], "message":"\u0068i" }"#;
    assert_eq!(served_text(&arguments()["arguments"].to_string(), spelled), None);
}

#[test]
fn a_state_is_for_the_very_digits_of_its_arguments_mrtr_9() {
    let with = |digits: &str, state: Option<&str>| {
        let mut message = call("echo", &json!({"arguments": {"amount": "@"}}), &able());
        if let Some(state) = state {
            message["params"]["requestState"] = json!(state);
        }
        let mut script = exchange(&fixture::endpoint());
        script.send_bytes(message.to_string().replace(r#""@""#, digits).into(), None);
        script
    };
    let mut script = with("123456789012345678901", None);
    script.done(ask(&[("who", form("Name?"))], ""));
    let state = state_of(&script.received());
    assert_eq!(with("123456789012345678901", Some(&state)).calls.len(), 1);
    assert_eq!(with("123456789012345678902", Some(&state)).calls.len(), 0);
    assert_eq!(with("\"123456789012345678901\"", Some(&state)).calls.len(), 0);
}

#[test]
fn a_state_expires_mrtr_9() {
    let state = state_of(&asking(&[("who", form("Name?"))], ""));
    let message = retry(&state, &json!({}));
    for (later, right) in
        [(Span::millis(599_999), None), (Span::secs(600), Some(-32602)), (Span::secs(9999), Some(-32602))]
    {
        let mut script = exchange(&fixture::endpoint());
        script.now = script.now.after(later);
        let sent = script.send(&message);
        assert_eq!(script.calls.is_empty().then(|| sent.code()), right, "{later:?}");
    }
}

#[test]
fn an_extensions_method_never_asks_so_mrtr_1() {
    let mut declared = able();
    declared["extensions"] = json!({"com.acme/work": {}});
    let message = fixture::modern(1, "acme/do", &json!({}), &declared);
    for questions in [&[("k", form("F"))][..], &[]] {
        let mut script = started(&message);
        script.done(ask(questions, "state"));
        assert_eq!(script.received().reply, None);
        let resume = script.calls[0].1.resume.clone().unwrap();
        assert_eq!(&*resume.state, b"state");
        assert!(resume.replies.iter().all(|(_, reply)| *reply == Response::Unsupported));
        assert_eq!(resume.replies.len(), questions.len());
        let outcome = testkit::done(&script.calls[0].1);
        script.done(outcome);
        assert_eq!(script.received().one()["result"]["resultType"], "complete");
    }
}

#[test]
fn what_a_handler_asks_wrongly_is_the_servers_fault_mrtr_3() {
    let internal = |outcome: Outcome| {
        let mut script = started(&asked_call());
        script.done(outcome);
        assert_eq!(verdict(&script.received()), INTERNAL);
    };
    internal(ask(&[("k", form("F")), ("k", form("G"))], ""));
    internal(ask(&[("k", Question::Form { message: "F".into(), schema: "[]".into() })], ""));
    internal(ask(&[("k", Question::Form { message: "F".into(), schema: "{".into() })], ""));
    internal(ask(&[("k", Question::Sample { params: "5".into(), tools: false })], ""));
    let keys: Vec<String> = (0..17).map(|n| n.to_string()).collect();
    let many: Vec<(&str, Question)> = keys.iter().map(|key| (&**key, form("F"))).collect();
    internal(ask(&many, ""));
    internal(ask(&[], &"x".repeat((64 << 10) + 1)));
    // At the bounds it can be done.
    let sent = asking(&many[..16], &"x".repeat(64 << 10));
    assert_eq!(sent.one()["result"]["inputRequests"].as_object().unwrap().len(), 16);
}

#[test]
fn the_error_that_asks_for_pages_is_never_sent_elic_7() {
    let mut script = started(&asked_call());
    script.note(Note::PageDone { id: "e1".into() });
    script.done(Outcome::Fail(Fault::new(Code::URL_REQUIRED, "Sign in first").with_data("{}")));
    let sent = script.received();
    let result = &sent.one()["result"];
    assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!("Sign in first")));
}

#[test]
fn without_a_seal_nothing_can_be_asked_mrtr_8() {
    let bare = Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).tools(true).build().unwrap();
    let mut script = started_on(&bare, &asked_call());
    script.done(ask(&[("k", form("F"))], ""));
    assert_eq!(verdict(&script.received()), INTERNAL);
    let state = state_of(&asking(&[("who", form("Name?"))], ""));
    assert_eq!(refused(&bare, &retry(&state, &json!({}))), BAD);
}

#[test]
fn a_schema_of_many_lines_is_sent_on_one() {
    let schema = "{\"type\":\"object\",\n  \"properties\":{\r\n}}";
    let sent = asking(&[("k", Question::Form { message: "a\nb".into(), schema: schema.into() })], "");
    assert!(!sent.text.contains(['\n', '\r']), "{}", sent.text);
    let params = &sent.one()["result"]["inputRequests"]["k"]["params"];
    assert_eq!((&params["message"], &params["requestedSchema"]["properties"]), (&json!("a\nb"), &json!({})));
}
