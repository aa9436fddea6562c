//! What several rules say together of one conversation: who may answer, what is never sent, what is served beside what.

use mcp_core::answer::{Answer, Contents, ResourceAnswer};
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::{Caching, Call, Caller, MachineId, Outcome, Pipe, Revision, Scopes, Span, StreamId, Time, View};
use serde_json::{Value, json};
use testkit::{Script, Site, fixture};

const NEWEST: Revision = Revision::V2025_11_25;

/// Everything that can be declared.
fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {"listChanged": true}})
}

fn questions() -> Vec<Question> {
    let schema = r#"{"type":"object","properties":{"n":{"type":"string"}}}"#;
    vec![
        Question::Form { message: "Who?".into(), schema: schema.into() },
        Question::Url { message: "Sign in".into(), url: "https://example.com/in".into(), id: "e1".into() },
        Question::Sample { params: r#"{"messages":[],"maxTokens":5}"#.into(), tools: false },
        Question::Sample { params: r#"{"messages":[],"maxTokens":5,"tools":[]}"#.into(), tools: true },
        Question::Roots,
    ]
}

fn ask(question: &Question) -> Outcome {
    Outcome::Ask { questions: vec![("k".into(), question.clone())], state: "s".into() }
}

/// Each request that code runs for.
fn runs() -> [(&'static str, Value); 6] {
    let complete =
        |reference: Value, argument: &str| json!({"ref": reference, "argument": {"name": argument, "value": ""}});
    [
        ("tools/call", json!({"name": "echo"})),
        ("resources/read", json!({"uri": "notes://today"})),
        ("resources/read", json!({"uri": "notes://another"})),
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "a", "tone": "b"}})),
        ("completion/complete", complete(json!({"type": "ref/prompt", "name": "greet"}), "who")),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "notes://{id}"}), "id")),
    ]
}

#[test]
fn no_handler_s_way_to_ask_puts_a_request_on_a_modern_stream_stdio_3_http_43_mrtr_1() {
    for (method, params) in runs() {
        for question in questions() {
            for capabilities in [able(), json!({})] {
                let mut script = Script::new(Pipe::new(MachineId(1), fixture::endpoint(), Time(1_000_000)));
                // Also where a legacy client on the same stream could be asked.
                script.open(NEWEST, &able());
                let mut sent = script.send(&fixture::modern("m", method, &params, &capabilities)).messages;
                script.done(ask(&question));
                if let Some((_, call)) = script.calls.front() {
                    let outcome = testkit::done(call);
                    script.done(outcome);
                }
                sent.extend(script.received().messages);
                assert!(sent.iter().all(|message| message.get("method").is_none()), "{method}: {sent:?}");
                assert_eq!((sent.len(), &sent[0]["id"]), (1, &json!("m")), "{method} is answered once");
                let may_ask = capabilities != json!({}) && method != "completion/complete";
                let kind = if may_ask { "input_required" } else { "complete" };
                assert_eq!(sent[0]["result"]["resultType"], kind, "{method} {question:?}");
            }
        }
    }
}

#[test]
fn every_question_of_a_legacy_call_is_on_its_own_stream_and_on_no_other_http_27_http_26() {
    for (method, params) in runs() {
        for question in questions() {
            let mut site = Site::new(fixture::endpoint());
            site.answer = None;
            let id = site.open(NEWEST, &able());
            let listening = site.session(id).attach(&[("accept", "text/event-stream")]).0;
            let headers = [("mcp-session-id", &*id.encode())];
            site.post(&fixture::request(7, "tools/call", &json!({"name": "echo"})), &headers);
            let other = site.session(id).stream();
            site.post(&fixture::request(8, method, &params), &headers);
            let script = site.session(id);
            let stream = script.stream();
            script.calls.rotate_right(1);
            script.done(ask(&question));
            let asked = script.sent(stream);
            assert_eq!(asked.one()["method"], question.method(), "{method}");
            for quiet in [listening, other] {
                assert!(script.sent(quiet).messages.is_empty(), "{method}: {quiet:?}");
            }
        }
    }
}

#[test]
fn a_question_of_one_principal_is_not_answered_by_another_who_knows_its_session_elic_9_http_21() {
    let caller = |name: &str| Caller::new(name, Scopes::default());
    for question in questions() {
        let mut site = Site::new(fixture::endpoint());
        (site.answer, site.caller) = (None, caller("ann"));
        let id = site.open(NEWEST, &able());
        let headers = [("mcp-session-id", &*id.encode())];
        site.post(&fixture::request(5, "tools/call", &json!({"name": "echo"})), &headers);
        let script = site.session(id);
        let stream = script.stream();
        script.done(ask(&question));
        let asked = script.sent(stream).one()["id"].clone();
        let answer = json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "accept", "content": {"n": "x"}}});
        for stranger in [caller("bob"), Caller::anonymous(), caller("")] {
            site.caller = stranger;
            assert_eq!(site.post(&answer, &headers).status(), 404);
            assert!(site.session(id).calls.is_empty(), "the question is still open");
        }
        site.caller = caller("ann");
        assert_eq!(site.post(&answer, &headers).status(), 202);
        assert_eq!(site.session(id).calls.len(), 1, "{question:?}");
    }
}

#[test]
fn what_is_hidden_from_some_is_shared_by_no_cache_whatever_its_code_says_cache_4() {
    let all = View::all(fixture::catalog());
    let but_logo = View::only(fixture::catalog(), |item| item.key() != "notes://logo.png");
    let chosen = View::only(fixture::catalog(), |_| true);
    for (view, right) in [(all, "public"), (but_logo, "private"), (chosen, "private")] {
        let mut site = Site::new(fixture::endpoint());
        site.view = view;
        site.answer = Some(shared);
        let sent = site.modern(&fixture::modern(1, "resources/read", &json!({"uri": "notes://today"}), &json!({})));
        let result = &sent.one()["result"];
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(60_000), &json!(right)));
    }
}

/// A resource that anybody may keep for a minute.
fn shared(_: &Call) -> Outcome {
    let mut answer = ResourceAnswer::new(vec![Contents::text("x")]);
    answer.caching = Caching::public(Span::secs(60)).into();
    Outcome::Complete(Answer::Resource(answer))
}

/// The call of `echo`, and once more with that state.
fn shed(state: Option<&str>) -> Value {
    let mut params = json!({"name": "echo"});
    if let Some(state) = state {
        params["requestState"] = json!(state);
    }
    fixture::modern(1, "tools/call", &params, &json!({}))
}

#[test]
fn who_is_sent_away_with_a_state_alone_is_served_when_it_comes_back_and_not_sent_away_for_ever_mrtr_12() {
    let busy = |_: &Call| Outcome::Ask { questions: Vec::new(), state: "later".into() };
    let mut policy = Policy::default();
    policy.limits.rounds = 3;
    let mut site = Site::new(fixture::builder().policy(policy).build().unwrap());
    site.answer = Some(busy);
    let mut state = None::<String>;
    for round in 0..3 {
        let sent = site.modern(&shed(state.as_deref()));
        let result = &sent.one()["result"];
        assert_eq!((sent.status(), &result["resultType"]), (200, &json!("input_required")), "{round}");
        assert!(result.get("inputRequests").is_none(), "{result}");
        state = Some(result["requestState"].as_str().expect("a state").to_owned());
    }
    // The client comes back a fourth time: one server still has no time for it, and another has.
    let given_up = site.modern(&shed(state.as_deref()));
    assert_eq!((given_up.status(), given_up.code()), (200, -32603));
    let message = given_up.one()["error"]["message"].as_str().expect("a text").to_owned();
    assert!(message.contains("asked its client 3 times"), "{message}");
    site.answer = Some(testkit::done);
    let served = site.modern(&shed(state.as_deref()));
    let result = &served.one()["result"];
    assert_eq!((&result["resultType"], &result["content"][0]["text"]), (&json!("complete"), &json!("done")));
}

#[test]
fn whatever_discover_lists_is_served_beside_a_session_case_113_ver_3_ver_21() {
    let mut site = Site::new(fixture::endpoint());
    let session = site.open(NEWEST, &able());
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let lists =
        ["tools/list", "resources/list", "resources/templates/list", "prompts/list"].map(|list| (list, json!({})));
    let served = runs().into_iter().chain(lists).chain([("acme/do", json!({})), ("server/discover", json!({}))]);
    let capabilities = json!({"extensions": {"com.acme/work": {}}});
    for (method, params) in served {
        let sent = site.modern(&fixture::modern(1, method, &params, &capabilities));
        assert_eq!((sent.status(), &sent.one()["result"]["resultType"]), (200, &json!("complete")), "{method}");
    }
    let sent = site.modern(&fixture::modern(1, "subscriptions/listen", &listen, &json!({})));
    assert_eq!(sent.one()["params"]["notifications"], json!({"toolsListChanged": true}));
    // And the session has not noticed.
    let headers = [("mcp-session-id", &*session.encode())];
    let sent = site.post(&fixture::request(1, "tools/list", &json!({})), &headers);
    assert_eq!((sent.status(), sent.one()["result"].get("resultType")), (200, None));
    assert!(site.session(session).sent(StreamId::ONLY).messages.is_empty());
}

#[test]
fn what_is_refused_says_what_to_do_instead() {
    let policy = Policy::default();
    let said = |method: &str, params: Value, headers: &[(&str, &str)]| {
        let mut site = Site::new(fixture::builder().policy(policy.clone()).build().unwrap());
        let sent = match headers {
            [] => site.modern(&fixture::modern(1, method, &params, &json!({}))),
            headers => site.post(&fixture::request(1, method, &params), headers),
        };
        sent.one()["error"]["message"].as_str().expect("an error").to_owned()
    };
    let keys: serde_json::Map<String, Value> = (0..65).map(|n| (n.to_string(), json!({}))).collect();
    for (text, words) in [
        (said("tools/call", json!({"name": "echo", "inputResponses": keys}), &[]), "more than 64 keys"),
        (said("tools/list", json!({"cursor": "x"}), &[]), "start again without one"),
        (said("tools/list", json!({}), &[("accept", "*/*")]), "initialize"),
        (said("tools/list", json!({}), &[("mcp-session-id", "gone")]), "Send `initialize` to open a new one"),
        (said("prompts/get", json!({"name": "greet"}), &[]), "who"),
        (said("prompts/get", json!({"name": "greet"}), &[]), "tone"),
        (said("logging/setLevel", json!({"level": "info"}), &[]), "logging/setLevel"),
        (said("tools/call", json!({"name": "sampler"}), &[]), "sampling"),
    ] {
        assert!(text.contains(words), "`{words}` in: {text}");
    }
}

#[test]
fn what_came_of_a_client_s_answers_is_kept_for_nobody_whether_they_were_asked_for_or_not_mrtr_16_cache_4() {
    let mut site = Site::new(fixture::endpoint());
    site.answer = Some(shared);
    let mut read = |more: Value| {
        let mut params = json!({"uri": "notes://today"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let sent = site.modern(&fixture::modern(1, "resources/read", &params, &able()));
        let result = &sent.one()["result"];
        (result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    assert_eq!(read(json!({})), (json!(60_000), json!("public")));
    let unasked = json!({"inputResponses": {"who": {"action": "accept", "content": {"n": "Ann"}}}});
    assert_eq!(read(unasked), (json!(0), json!("private")));
}
