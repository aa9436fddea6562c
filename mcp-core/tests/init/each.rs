//! Where there are no sessions, each request is let in by itself: modern ones, and legacy ones of a server without sessions.

use super::*;

fn exchange_of(endpoint: Arc<Endpoint>) -> Script<Recorder<Exchange>> {
    Script::replaying(move || Exchange::new(MachineId(1), Arc::clone(&endpoint), START))
}

fn exchange() -> Script<Recorder<Exchange>> {
    exchange_of(builder().build().unwrap())
}

fn modern(method: &str, params: &Value) -> Value {
    fixture::modern(1, method, params, &json!({}))
}

fn modern_echo() -> Value {
    modern("tools/call", &json!({"name": "echo"}))
}

/// Everything that a modern client may send, found right or wrong once its envelope was.
fn all() -> Vec<Value> {
    vec![
        modern_echo(),
        modern("tools/call", &json!({"name": "nothing"})),
        modern("tools/call", &json!({"name": "sampler"})),
        modern("tools/call", &json!({"name": 5})),
        modern("tools/list", &json!({})),
        modern("prompts/list", &json!({})),
        modern("resources/list", &json!({})),
        modern("resources/templates/list", &json!({})),
        modern("resources/read", &json!({"uri": "notes://today"})),
        modern("resources/read", &json!({"uri": "nothing://"})),
        modern("prompts/get", &json!({"name": "plain"})),
        modern("prompts/get", &json!({"name": "greet"})),
        modern(
            "completion/complete",
            &json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}}),
        ),
        modern(
            "completion/complete",
            &json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "lang", "value": ""}}),
        ),
        modern("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}})),
        modern("subscriptions/listen", &json!({})),
        modern("acme/do", &json!({})),
        modern("nothing/at/all", &json!({})),
    ]
}

#[test]
fn a_refusal_holds_for_whatever_a_modern_client_asks() {
    let mut answers = Vec::new();
    for message in all() {
        let mut script = exchange();
        let sent = script.send(&message);
        assert_eq!((sent.reply.clone(), sent.text.len(), runs(&script)), (None, 0, (&Kind::Init, "")), "{message}");
        assert!(script.claims.is_empty(), "no room is asked for before");
        script.done(refused());
        let sent = script.received();
        assert_eq!((sent.code(), sent.status(), sent.ended, script.closed), (-32603, 200, true, true));
        assert!(matches!(&*script.events, [Event::Refused(_)]) && script.calls.is_empty() && script.claims.is_empty());
        answers.push(sent.text);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "who is not let in learns nothing of what there is");
}

#[test]
fn who_is_let_in_gets_what_a_server_without_init_says() {
    for message in all() {
        let (mut script, mut other) = (exchange(), exchange_of(fixture::endpoint()));
        let expected = other.send(&message);
        script.send(&message);
        script.done(let_in("ann"));
        if let Some((_, call)) = other.calls.front() {
            let (kind, assigns) = runs(&script);
            assert_eq!((kind, assigns), (&call.kind, "ann"));
            let outcome = testkit::done(call);
            other.done(outcome.clone());
            script.done(outcome);
            assert_eq!(script.received(), other.received(), "{message}");
        } else {
            assert_eq!(script.received(), expected, "{message}");
        }
        assert_eq!((script.closed, script.claims.len()), (other.closed, other.claims.len()), "{message}");
    }
}

#[test]
fn what_says_nothing_of_anybody_is_answered_without_ver_3_ver_20() {
    let mut script = exchange();
    assert_eq!(script.send(&modern("server/discover", &json!({}))).code(), 0);
    assert!(script.calls.is_empty());
    // Nor is anybody asked about an envelope that is wrong.
    let mut unversioned = modern_echo();
    unversioned["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let mut incapable = modern_echo();
    incapable["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    for message in [unversioned, incapable] {
        let mut script = exchange();
        assert_eq!(script.send(&message).status(), 400);
        assert!(script.calls.is_empty());
    }
    let mut script = exchange();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list"), ("accept", "*/*")];
    let headers: Vec<_> = headers.map(|(name, value)| (name.into(), value.into())).into();
    assert_eq!(script.send_with(&modern_echo(), &headers).code(), -32020);
    assert!(script.calls.is_empty());
}

#[test]
fn what_is_given_to_one_who_was_let_in_is_for_no_shared_cache_cache_4() {
    let caching = mcp_core::Caching::public(Span::secs(60));
    for (init, scope) in [(false, "public"), (true, "private")] {
        let endpoint = fixture::builder().caching(caching).init(init).build().unwrap();
        let mut script = exchange_of(endpoint);
        let mut sent = script.send(&modern("tools/list", &json!({})));
        if init {
            script.done(let_in(""));
            sent = script.received();
        }
        assert_eq!(sent.one()["result"]["cacheScope"], scope);
    }
}

#[test]
fn one_time_limit_is_for_init_and_what_comes_after() {
    let endpoint = || builder().policy(within(Some(Span::secs(5)))).build().unwrap();
    let mut script = exchange_of(endpoint());
    script.send(&modern_echo());
    script.advance(Span::secs(3));
    script.done(let_in("ann"));
    assert_eq!(script.calls.front().unwrap().1.deadline, Some(START.after(Span::secs(5))));
    script.advance(Span::secs(2));
    assert_eq!((script.received().code(), script.abandoned.len()), (-32603, 1));
    let mut script = exchange_of(endpoint());
    script.send(&modern_echo());
    script.advance(Span::secs(5));
    assert_eq!((script.received().code(), script.abandoned.len(), script.closed), (-32603, 1, true));
    let mut script = pipe_of(endpoint());
    script.send(&modern_echo());
    script.advance(Span::secs(3));
    script.done(let_in("ann"));
    assert_eq!(script.calls.front().unwrap().1.deadline, Some(START.after(Span::secs(5))));
    script.advance(Span::secs(2));
    assert_eq!((script.received().code(), script.abandoned.len()), (-32603, 1));
}

fn pipe_of(endpoint: Arc<Endpoint>) -> Script<Recorder<Pipe>> {
    Script::replaying(move || Pipe::new(MachineId(1), Arc::clone(&endpoint), START))
}

#[test]
fn who_leaves_meanwhile_stops_the_init_http_46() {
    for why in [None, Some(Close::Peer), Some(Close::Shutdown)] {
        let mut script = exchange();
        script.send(&modern_echo());
        script.input(why.map_or(Input::Detach { stream: StreamId::ONLY }, Input::Close));
        let answered = usize::from(why == Some(Close::Shutdown));
        assert_eq!((script.abandoned.len(), script.closed), (1, true));
        assert_eq!(script.received().messages.len(), answered);
    }
    let mut script = exchange();
    script.send(&modern_echo());
    script.advance(Span::secs(15));
    assert_eq!(script.received().head().form, Form::Events, "HTTP-45: a silence is broken meanwhile");
    script.done(refused());
    assert_eq!(script.received().code(), -32603);
}

#[test]
fn over_a_byte_stream_each_modern_request_is_let_in_and_the_legacy_conversation_once() {
    let mut script = pipe();
    script.send(&hello());
    script.done(let_in("legacy"));
    script.received();
    script.send(&modern_echo());
    assert_eq!(runs(&script), (&Kind::Init, ""));
    script.done(let_in("modern"));
    assert!(runs_a_tool_with(&script, "modern"));
    script.note(assigned("gone with it"));
    script.done(text("1"));
    script.send(&echo(2));
    assert!(runs_a_tool_with(&script, "legacy"));
    script.done(text("2"));
    script.send(&modern("tools/list", &json!({})));
    script.received();
    script.done(refused());
    assert_eq!(script.received().code(), -32603);
    script.send(&modern_echo());
    script.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}));
    assert_eq!((script.abandoned.len(), script.calls.len(), script.received().text), (1, 0, String::new()));
}

#[test]
fn a_byte_stream_whose_input_has_ended_begins_no_subscription_sub_11() {
    let mut script = pipe();
    script.send(&modern("subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}})));
    script.close(Close::EndOfInput);
    assert!(!script.closed);
    script.done(let_in(""));
    let messages = script.received().messages;
    assert_eq!(messages.last().map(|last| &last["id"]), Some(&json!(1)), "{messages:?}");
    assert!(script.closed);
}

#[test]
fn a_retry_with_answers_is_let_in_like_any_other_request_mrtr_3() {
    let capabilities = json!({"roots": {}});
    let mut script = exchange();
    script.send(&fixture::modern(1, "tools/call", &json!({"name": "echo"}), &capabilities));
    script.done(let_in("one"));
    script.note(assigned("two"));
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::from_static(b"s") });
    let asked = script.received();
    let state = &asked.one()["result"]["requestState"];
    let answers = json!({"k": {"roots": []}});
    let retry = json!({"name": "echo", "requestState": state, "inputResponses": answers});
    let mut script = exchange();
    script.send(&fixture::modern(2, "tools/call", &retry, &capabilities));
    assert_eq!(runs(&script), (&Kind::Init, ""));
    script.done(let_in("three"));
    assert!(runs_a_tool_with(&script, "three"));
    assert!(script.calls.front().unwrap().1.resume.is_some());
}

#[test]
fn a_request_that_is_run_again_at_once_has_what_its_first_run_said() {
    let mut script = exchange();
    script.send(&modern_echo());
    script.done(let_in("one"));
    script.note(assigned("two"));
    let too_much = Note::Assigns(vec![b'x'; Limits::default().assigns + 1].into());
    script.note(too_much);
    assert_eq!(script.events.last(), Some(&Event::Dropped("assigns that are too large")));
    // The client cannot be asked, so its tool is told that at once.
    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
    assert!(runs_a_tool_with(&script, "two"));
}

#[test]
fn without_sessions_each_legacy_request_is_let_in() {
    let sessionless = || {
        let endpoint = builder().sessions(false).build().unwrap();
        let revision = Revision::V2025_06_18;
        let fresh = move || Session::sessionless(MachineId(1), Arc::clone(&endpoint), revision, START);
        Script::replaying(fresh).speaking(revision)
    };
    for message in
        [hello(), echo(1), fixture::request(1, "tools/list", &json!({})), fixture::request(1, "x/y", &json!({}))]
    {
        let mut script = sessionless();
        script.send(&message);
        let stream = script.stream();
        assert_eq!(runs(&script), (&Kind::Init, ""), "{message}");
        script.done(refused());
        let sent = script.sent(stream);
        assert_eq!((sent.code(), sent.status(), script.closed), (-32603, 200, true), "{message}");
        assert_eq!(sent.head().session, None);

        let mut script = sessionless();
        script.send(&message);
        let stream = script.stream();
        script.done(let_in("ann"));
        if message["method"] == "tools/call" {
            assert!(runs_a_tool_with(&script, "ann"));
            script.done(text("done"));
        }
        let sent = script.sent(stream);
        assert_eq!(sent.code() == 0, message["method"] != "x/y", "{}", sent.text);
        assert!(sent.ended && script.closed);
    }
    let mut script = sessionless();
    assert_eq!(script.send(&fixture::request(1, "ping", &json!({}))).code(), 0);
    assert!(script.calls.is_empty() && script.closed);
}

#[test]
fn each_request_of_a_batch_without_a_session_is_let_in_batch_2() {
    let endpoint = builder().sessions(false).build().unwrap();
    let revision = Revision::V2025_03_26;
    let fresh = move || Session::sessionless(MachineId(1), Arc::clone(&endpoint), revision, START);
    let mut script = Script::replaying(fresh).speaking(revision);
    script.send(&json!([echo(1), fixture::request(2, "tools/list", &json!({}))]));
    let stream = script.stream();
    assert_eq!(script.calls.len(), 2);
    script.done(let_in("ann"));
    script.done(refused());
    assert!(runs_a_tool_with(&script, "ann"));
    script.done(text("done"));
    let codes: Vec<bool> = script.sent(stream).messages.iter().map(|answer| answer["error"].is_null()).collect();
    assert_eq!((codes.len(), codes.iter().filter(|fine| **fine).count(), script.closed), (2, 1, true));
}

#[test]
fn an_init_counts_as_a_call_of_its_client() {
    let mut policy = Policy::default();
    policy.limits.calls = 1;
    let mut script = pipe_of(builder().policy(policy).build().unwrap());
    script.send(&modern_echo());
    let mut other = modern("tools/list", &json!({}));
    other["id"] = json!(2);
    assert_eq!(script.send(&other).code(), -32603);
    assert_eq!(script.calls.len(), 1);
    script.done(let_in(""));
    assert!(runs_a_tool_with(&script, ""), "there is room for what was let in");
}
