//! Every message that a server sends, in each revision that has it. What is sent here is held against the schemas of all five
//! (`schema-check`), so this is where a row of its table is filled.

use std::sync::Arc;

use mcp_core::answer::{
    Answer, Completion, Content, Contents, PromptAnswer, PromptMessage, ResourceAnswer, Role, ToolAnswer,
};
use mcp_core::catalog::{Catalog, Prompt, PromptArgument, Resource, Template, Tool};
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::{
    Call, Change, Code, Endpoint, Fault, Handle, Input, Kind, Level, MachineId, Note, Outcome, Pipe, Revision, Session,
    SessionId, Span, Time, View,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, Site, fixture};

const LEGACY: [Revision; 4] =
    [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

/// A catalogue with one of each kind.
fn catalog() -> Arc<Catalog> {
    Catalog::builder()
        .tool(Tool::new("echo", Handle(1), r#"{"type":"object"}"#).with_title("Echo"))
        .resource(Resource::new("doc://one", "one", Handle(2)).with_mime("text/plain").with_size(3))
        .template(Template::new("doc://{id}/text", "text", Handle(3)).completes("id"))
        .prompt(Prompt::new("greet", Handle(4)).with_argument(PromptArgument::new("name").required().completes()))
        .build()
        .unwrap()
}

fn endpoint(policy: Policy) -> Arc<Endpoint> {
    let builder = fixture::builder().policy(policy).resources(true, true).prompts(true).completions();
    builder.build().unwrap()
}

/// A client that can do everything, in an open session of that revision.
fn session(revision: Revision) -> Script<Session> {
    session_with(revision, Policy::default(), &able())
}

fn session_with(revision: Revision, policy: Policy, capabilities: &Value) -> Script<Session> {
    let session = Session::new(MachineId(1), endpoint(policy), SessionId::new([7; 16]), Time(1_000_000));
    let mut script = Script::new(session);
    script.view = View::all(catalog());
    script.open(revision, capabilities);
    script
}

fn able() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}, "context": {}}, "roots": {}})
}

/// A site that answers every call, for modern requests.
fn site() -> Site {
    let mut site = Site::new(endpoint(Policy::default()));
    site.view = View::all(catalog());
    site.answer = Some(|call| Outcome::Complete(answer(call)));
    site
}

fn answer(call: &Call) -> Answer {
    match &call.kind {
        Kind::Resource { .. } => Answer::Resource(ResourceAnswer::new(vec![
            Contents::text("abc").with_mime("text/plain"),
            Contents::bytes(vec![0, 159]).with_uri("doc://one/raw").with_meta(r#"{"com.acme/n":1}"#),
        ])),
        Kind::Prompt { .. } => {
            let message = PromptMessage { role: Role::User, content: Content::text("Hello") };
            Answer::Prompt(PromptAnswer::new(vec![message]))
        }
        Kind::Complete { .. } => Answer::Complete(Completion::new(vec!["Ann".into(), "Bob".into()])),
        _ => Answer::Tool(ToolAnswer::text("done")),
    }
}

/// The answer to a request, whose call, if it makes one, is answered.
fn ask(script: &mut Script<Session>, method: &str, params: &Value) -> Sent {
    let sent = script.send(&fixture::request(9, method, params));
    let Some((_, call)) = script.calls.front() else { return sent };
    let outcome = Outcome::Complete(answer(call));
    let stream = script.stream();
    script.done(outcome);
    script.sent(stream)
}

/// What each list, and each method that runs something, is asked with.
fn requests() -> Vec<(&'static str, Value, &'static str)> {
    let reference = json!({"type": "ref/prompt", "name": "greet"});
    vec![
        ("tools/list", json!({}), "tools"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("prompts/list", json!({}), "prompts"),
        ("tools/call", json!({"name": "echo"}), "content"),
        ("resources/read", json!({"uri": "doc://one"}), "contents"),
        ("prompts/get", json!({"name": "greet", "arguments": {"name": "Ann"}}), "messages"),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "name", "value": ""}}), "completion"),
    ]
}

#[test]
fn every_request_has_its_result_in_each_revision() {
    for (method, params, member) in requests() {
        for revision in LEGACY {
            let sent = ask(&mut session(revision), method, &params);
            assert!(!sent.one()["result"][member].is_null(), "{revision} {method}: {}", sent.text);
        }
        let sent = site().modern(&fixture::modern(1, method, &params, &json!({})));
        assert!(!sent.one()["result"][member].is_null(), "{method}: {}", sent.text);
    }
    for revision in LEGACY {
        let mut script = session(revision);
        for (method, params) in [("ping", json!({})), ("logging/setLevel", json!({"level": "debug"}))] {
            assert_eq!(ask(&mut script, method, &params).one()["result"], json!({}), "{revision} {method}");
        }
    }
}

fn log(level: Level) -> Note {
    Note::Log { level, logger: None, data: "1".into() }
}

#[test]
fn what_a_call_says_and_what_changes_is_told_in_each_revision_with_a_handshake_log_2() {
    for revision in LEGACY {
        let mut script = session(revision);
        let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
        ask(&mut script, "logging/setLevel", &json!({"level": "error"}));
        assert_eq!(ask(&mut script, "logging/setLevel", &json!({"level": "loud"})).code(), -32602);
        let call = json!({"name": "echo", "_meta": {"progressToken": "p"}});
        script.send(&fixture::request(1, "tools/call", &call));
        let stream = script.stream();
        script.note(Note::Progress { progress: 1.5, total: Some(2.0), message: Some("half".into()) });
        script.note(log(Level::Warning));
        script.note(log(Level::Error));
        let sent = script.sent(stream);
        let told: Vec<&str> = sent.messages.iter().map(|message| message["method"].as_str().unwrap()).collect();
        assert_eq!(told, ["notifications/progress", "notifications/message"], "{revision}: only from the level on");
        assert_eq!(sent.messages[1]["params"], json!({"level": "error", "data": 1}));

        for (what, method) in [(Change::Tools, "tools"), (Change::Prompts, "prompts"), (Change::Resources, "resources")]
        {
            script.input(Input::Changed { catalog: catalog(), what });
            let told = script.sent(listening);
            assert_eq!(told.one()["method"], format!("notifications/{method}/list_changed"), "{revision}");
        }
    }
}

/// Each kind of question, and the first revision that has it.
fn questions() -> Vec<(Question, Revision)> {
    let form = Question::Form { message: "Who?".into(), schema: r#"{"type":"object","properties":{}}"#.into() };
    let url = Question::Url { message: "Sign".into(), url: "https://a.example/".into(), id: "e1".into() };
    let message = r#"{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":9}"#;
    vec![
        (form, Revision::V2025_06_18),
        (url, Revision::V2025_11_25),
        (Question::Sample { params: message.into(), tools: false }, Revision::V2024_11_05),
        (Question::Roots, Revision::V2024_11_05),
    ]
}

fn asking(question: &Question) -> Outcome {
    Outcome::Ask { questions: vec![("q".into(), question.clone())], state: "s".into() }
}

/// What the next run is told of the question.
fn told<M>(script: &Script<M>) -> String {
    fixture::reply(script.calls[0].1.resume.as_ref().unwrap().reply("q"))
}

#[test]
fn each_question_is_a_request_that_can_be_withdrawn_in_each_revision_that_has_it_root_1_canc_3() {
    for (question, since) in questions() {
        for revision in LEGACY {
            let call = fixture::request("call", "tools/call", &json!({"name": "echo"}));
            let mut unable = session_with(revision, Policy::default(), &json!({}));
            unable.send(&call);
            unable.done(asking(&question));
            assert_eq!(told(&unable), "Some(Unsupported)", "{revision} {question:?}");

            let mut script = session(revision);
            script.send(&call);
            let stream = script.stream();
            script.done(asking(&question));
            if revision < since {
                assert_eq!(told(&script), "Some(Unsupported)", "{revision} {question:?}");
                continue;
            }
            let asked = script.sent(stream);
            assert_eq!(asked.one()["method"], question.method(), "{revision}");
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "call"}});
            script.send(&cancel);
            let withdrawn = script.sent(stream);
            let withdrawn = withdrawn.one();
            assert_eq!(withdrawn["method"], "notifications/cancelled", "{revision}");
            assert_eq!(withdrawn["params"]["requestId"], asked.one()["id"], "{revision}");
        }
    }
}

#[test]
fn each_method_that_may_ask_answers_with_its_questions_in_the_stateless_revision_mrtr_1() {
    for (method, params, _) in requests().into_iter().skip(4) {
        for (question, _) in questions() {
            let mut site = site();
            site.answer = None;
            site.modern(&fixture::modern(1, method, &params, &able()));
            let mut exchange = site.exchange.take().unwrap();
            exchange.done(asking(&question));
            let sent = exchange.received();
            if method == "completion/complete" {
                assert_eq!(sent.text, "", "{method} may not ask");
                assert_eq!(told(&exchange), "Some(Unsupported)");
            } else {
                let result = &sent.one()["result"];
                assert_eq!(result["inputRequests"]["q"]["method"], question.method(), "{method}");
            }
        }
    }
}

#[test]
fn a_silent_client_is_pinged_in_each_revision_with_a_handshake_life_10() {
    for revision in LEGACY {
        let mut policy = Policy::default();
        policy.timing.ping = Some(Span::secs(10));
        let mut script = session_with(revision, policy, &able());
        let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
        script.advance(Span::secs(10));
        assert_eq!(script.sent(listening).one()["method"], "ping", "{revision}");
    }
}

/// Every kind of error that an outcome can be.
fn faults() -> Vec<Fault> {
    let code = |code: i64| Code::application(code).map(|code| Fault::new(code, "mine"));
    let mut faults = vec![
        Fault::parse("x"),
        Fault::invalid_request("x"),
        Fault::method_not_found("x"),
        Fault::invalid_params("x"),
        Fault::internal("x"),
        Fault::busy(),
        Fault::resource_not_found("doc://none"),
        Fault::new(Code::HEADER_MISMATCH, "x"),
        Fault::new(Code::MISSING_CAPABILITY, "x").with_data(r#"{"requiredCapabilities":{"sampling":{}}}"#),
        Fault::new(Code::UNSUPPORTED_VERSION, "x").with_data(r#"{"supported":[],"requested":"y"}"#),
    ];
    faults.extend([-32769, -31999, -1, 0, 7].into_iter().filter_map(code));
    faults
}

#[test]
fn whatever_a_handler_fails_with_is_an_error_that_its_revision_has_err_1_err_2() {
    // No code of the reserved range can be made but those with a name.
    assert!((-32768..=-32000).all(|code| Code::application(code).is_none()));
    for fault in faults() {
        for revision in LEGACY {
            for (method, params, _) in requests().into_iter().skip(4) {
                let mut script = session(revision);
                script.send(&fixture::request(1, method, &params));
                let stream = script.stream();
                script.done(Outcome::Fail(fault.clone()));
                let sent = script.sent(stream);
                let code = sent.code();
                let reserved = (-32768..=-32000).contains(&code);
                let allowed = matches!(code, -32700 | -32603..=-32600 | -32002);
                assert!(!reserved || allowed, "{revision} {method}: {}", sent.text);
            }
        }
        for (method, params, _) in requests().into_iter().skip(4) {
            let mut site = site();
            site.answer = None;
            site.modern(&fixture::modern(1, method, &params, &json!({})));
            let mut exchange = site.exchange.take().unwrap();
            exchange.done(Outcome::Fail(fault.clone()));
            let sent = exchange.received();
            let reserved = (-32768..=-32000).contains(&sent.code());
            let allowed = matches!(sent.code(), -32700 | -32603..=-32600 | -32022..=-32020);
            assert!(!reserved || allowed, "{method}: {}", sent.text);
        }
    }
}

#[test]
fn what_a_client_does_wrong_is_told_in_each_revision_with_a_handshake_base_6() {
    for revision in LEGACY {
        let mut pipe = Script::new(Pipe::new(MachineId(1), endpoint(Policy::default()), Time(1_000_000)));
        pipe.view = View::all(catalog());
        pipe.open(revision, &json!({}));
        let unread = pipe.send_bytes("{oops".into(), None);
        assert_eq!((unread.code(), unread.one().get("id")), (-32700, None), "{revision}");
        let unfit = pipe.send_bytes(r#"{"jsonrpc":"2.0","id":4}"#.into(), None);
        assert_eq!((unfit.code(), &unfit.one()["id"]), (-32600, &json!(4)), "{revision}");
        let cases = [
            ("foo/bar", json!({}), -32601),
            ("tools/call", json!({"name": "none"}), -32602),
            ("prompts/get", json!({"name": "greet"}), -32602),
            ("resources/read", json!({"uri": "doc://none"}), -32002),
            ("tools/list", json!({"cursor": "none"}), -32602),
        ];
        for (method, params, code) in cases {
            let sent = pipe.send(&fixture::request(method, method, &params));
            assert_eq!((sent.code(), &sent.one()["id"]), (code, &json!(method)), "{revision}");
        }
    }
}
