//! One set of handlers behind two eras: what is the same in both, what differs, and what one peer cannot do to another.

use std::sync::Arc;

use mcp_core::answer::{Answer, Content, ToolAnswer};
use mcp_core::catalog::{Catalog, Tool, ToolAnnotations};
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::{
    Caching, CallId, Close, Endpoint, Exchange, Handle, Input, Level, MachineId, Note, Outcome, Pipe, Revision,
    Session, SessionId, Span, StreamId, Time, View,
};
use serde_json::{Value, json};
use testkit::{Script, Site, fixture};

const NEWEST: Revision = Revision::V2025_11_25;

fn site() -> Site {
    Site::new(fixture::endpoint())
}

fn pipe() -> Script<Pipe> {
    Script::new(Pipe::new(MachineId(1), fixture::endpoint(), Time(1_000_000)))
}

fn session() -> Script<Session> {
    session_of(fixture::endpoint())
}

fn session_of(endpoint: Arc<Endpoint>) -> Script<Session> {
    let mut script = Script::new(Session::new(MachineId(1), endpoint, SessionId::new([7; 16]), Time(1_000_000)));
    script.open(NEWEST, &json!({"elicitation": {}}));
    script
}

fn exchange() -> Script<Exchange> {
    Script::new(Exchange::new(MachineId(1), fixture::endpoint(), Time(1_000_000)))
}

fn modern(method: &str, params: &Value) -> Value {
    fixture::modern(1, method, params, &json!({}))
}

fn call(id: u64) -> Value {
    fixture::request(id, "tools/call", &json!({"name": "echo", "_meta": {"progressToken": id}}))
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn progress(progress: f64) -> Note {
    Note::Progress { progress, total: None, message: None }
}

fn log(level: Level) -> Note {
    Note::Log { level, logger: None, data: "1".into() }
}

fn ask() -> Outcome {
    let schema = r#"{"type":"object","properties":{"n":{"type":"string"}}}"#;
    let question = Question::Form { message: "Who?".into(), schema: schema.into() };
    Outcome::Ask { questions: vec![("who".into(), question)], state: "s".into() }
}

#[test]
fn who_a_client_says_it_is_changes_nothing_base_17() {
    let who = |name: &str| json!({"name": name, "version": "1", "title": name});
    for method in ["server/discover", "tools/list", "tools/call"] {
        let answers = ["Claude", "curl", ""].map(|name| {
            let meta = json!({"io.modelcontextprotocol/clientInfo": who(name)});
            site().modern(&modern(method, &json!({"name": "echo", "_meta": meta}))).text
        });
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
    let answers = ["Claude", "curl", ""].map(|name| {
        let mut script = pipe();
        let mut handshake = fixture::initialize("2025-11-25", &json!({}));
        handshake["params"]["clientInfo"] = who(name);
        script.send(&handshake).text + &script.send(&fixture::request(1, "tools/list", &json!({}))).text
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[test]
fn each_session_keeps_the_revision_and_capabilities_of_its_own_handshake_life_4() {
    let mut site = site();
    let hints = ToolAnnotations { read_only: Some(true), ..ToolAnnotations::default() };
    let tool = Tool::new("t", Handle(1), r#"{"type":"object"}"#).with_title("T").with_annotations(hints);
    site.view = View::all(Catalog::builder().tool(tool).build().unwrap());
    let opened = [
        (Revision::V2024_11_05, json!({}), (false, false)),
        (Revision::V2025_03_26, json!({"sampling": {}}), (true, false)),
        (NEWEST, json!({"elicitation": {}}), (true, true)),
    ]
    .map(|(revision, capabilities, has)| (site.open(revision, &capabilities), revision, capabilities, has));
    for _ in 0..2 {
        for (id, revision, capabilities, (hints, title)) in &opened {
            let sent = site.post(&fixture::request(1, "tools/list", &json!({})), &[("mcp-session-id", &id.encode())]);
            let tool = &sent.one()["result"]["tools"][0];
            let has = (tool.get("annotations").is_some(), tool.get("title").is_some());
            assert_eq!(has, (*hints, *title), "{revision}");
            let peer = Arc::clone(site.session(*id).machine.peer().unwrap());
            let declared = (capabilities.get("sampling").is_some(), capabilities.get("elicitation").is_some());
            let stored = &peer.capabilities;
            let kept = [mcp_core::Ability::Sampling, mcp_core::Ability::ElicitationForm].map(|able| stored.has(able));
            assert_eq!((kept[0], kept[1]), declared, "{revision}");
            assert_eq!((peer.revision, peer.info.as_ref().unwrap().name.as_ref()), (*revision, "script"));
        }
    }
}

#[test]
fn a_handshake_cannot_be_cancelled_life_9() {
    let mut script = pipe();
    assert_eq!(script.send(&cancel(0)).text, "");
    let sent = script.send(&fixture::initialize("2025-11-25", &json!({})));
    assert_eq!(sent.one()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(script.send(&cancel(0)).text, "");
    script.send(&fixture::initialized());
    let sent = script.send(&fixture::request(1, "ping", &json!({})));
    assert_eq!(sent.one()["result"], json!({}), "and the session goes on");
}

#[test]
fn a_tool_gives_the_same_blocks_in_each_era_ver_25() {
    let answer = || {
        let blocks = vec![Content::text("a"), Content::image(vec![1, 2], "image/png"), Content::text("\u{e9}\n")];
        Outcome::Complete(Answer::Tool(ToolAnswer::blocks(blocks)))
    };
    let mut legacy = session();
    legacy.send(&call(1));
    let stream = legacy.stream();
    legacy.done(answer());
    let legacy = legacy.sent(stream).one().clone();
    let mut exchange = exchange();
    exchange.send(&modern("tools/call", &json!({"name": "echo"})));
    exchange.done(answer());
    let modern = exchange.received().one().clone();
    assert_eq!(legacy["result"]["content"], modern["result"]["content"]);
    let members = |message: &Value| {
        let mut members: Vec<String> = message["result"].as_object().unwrap().keys().cloned().collect();
        // In whichever order a build's `serde_json` keeps them.
        members.sort_unstable();
        members
    };
    assert_eq!(members(&legacy), ["content"]);
    assert_eq!(members(&modern), ["_meta", "content", "resultType"]);
}

#[test]
fn a_stream_stays_open_until_it_has_carried_its_answer_http_32() {
    let mut script = session();
    script.send(&call(1));
    let stream = script.stream();
    script.note(progress(1.0));
    assert!(!script.sent(stream).ended);
    for _ in 0..10 {
        script.advance(Span::secs(30));
        let sent = script.sent(stream);
        assert!(!sent.ended && sent.messages.is_empty(), "{}", sent.text);
    }
    script.done(text("late"));
    let sent = script.sent(stream);
    assert_eq!((&sent.one()["id"], sent.ended), (&json!(1), true));
}

#[test]
fn mirrored_headers_mean_nothing_to_a_legacy_session_hdr_13() {
    let mut site = site();
    let id = site.open(NEWEST, &json!({})).encode();
    let route = fixture::request(1, "tools/call", &json!({"name": "route", "arguments": {"region": "us"}}));
    let session = ("mcp-session-id", &*id);
    for headers in [
        &[][..],
        &[("mcp-method", "tools/list")],
        &[("mcp-name", "another")],
        &[("mcp-param-region", "eu"), ("mcp-name", "=?base64?!?=")],
    ] {
        let headers: Vec<_> = headers.iter().copied().chain([session]).collect();
        let sent = site.post(&route, &headers);
        assert_eq!((sent.status(), &sent.one()["result"]["content"][0]["text"]), (200, &json!("done")), "{headers:?}");
    }
}

#[test]
fn no_session_can_cancel_what_another_one_asked_for_canc_4() {
    let mut site = site();
    site.answer = None;
    let [mine, other] = [(); 2].map(|()| site.open(NEWEST, &json!({})));
    site.post(&call(1), &[("mcp-session-id", &mine.encode())]);
    let sent = site.post(&cancel(1), &[("mcp-session-id", &other.encode())]);
    assert_eq!((sent.status(), &*sent.text), (202, ""));
    let script = site.session(mine);
    assert_eq!((script.calls.len(), script.abandoned.len()), (1, 0));
    // Nor does a peer cancel what the server asked of it, with the id that the server gave.
    let mut asked = session();
    asked.send(&call(5));
    let stream = asked.stream();
    asked.done(ask());
    let question = asked.sent(stream).one()["id"].as_u64().unwrap();
    assert_ne!(question, 5);
    asked.send(&cancel(question));
    asked.send(&json!({"jsonrpc": "2.0", "id": question, "result": {"action": "cancel"}}));
    assert_eq!(asked.calls.len(), 1, "the question was still open");
}

#[test]
fn nothing_of_the_stateless_revision_is_cancelled_by_the_server_canc_6() {
    // The testkit refuses any such notification that names no listening request; these are the ways a request can end.
    let request = modern("tools/call", &json!({"name": "echo", "_meta": {"progressToken": 1}}));
    let silent =
        |sent: testkit::Sent| sent.messages.iter().all(|message| message["method"] != "notifications/cancelled");
    let mut cancelled = pipe();
    cancelled.send(&request);
    assert!(silent(cancelled.send(&cancel(1))));
    let mut shut = pipe();
    shut.send(&request);
    shut.close(Close::Shutdown);
    assert!(silent(shut.received()));
    let mut slow = exchange();
    slow.send(&request);
    slow.advance(Span::secs(86_400));
    assert!(silent(slow.received()));
    let mut asking = exchange();
    asking.send(&fixture::modern(1, "tools/call", &json!({"name": "echo"}), &json!({"elicitation": {}})));
    asking.done(ask());
    assert!(silent(asking.received()));
    let mut left = exchange();
    left.send(&request);
    left.input(Input::Detach { stream: StreamId::ONLY });
    assert!(silent(left.received()));
}

#[test]
fn progress_of_a_client_is_accepted_prog_5() {
    let mut script = session();
    script.send(&call(1));
    let stream = script.stream();
    script.done(ask());
    let id = script.sent(stream).one()["id"].clone();
    for token in [json!("t"), json!(1)] {
        let params = json!({"progressToken": token, "progress": 0.5, "total": 1});
        let sent = script.send(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        assert_eq!((sent.status(), &*sent.text), (202, ""));
    }
    assert!(script.calls.is_empty(), "it answers nothing");
    script.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}}));
    assert_eq!(script.calls.len(), 1);
}

#[test]
fn a_server_of_tools_answers_though_it_has_none_or_shows_none_tool_1() {
    let nothing = View::all(Catalog::builder().build().unwrap());
    let hidden = View::only(fixture::catalog(), |_| false);
    for view in [nothing, hidden] {
        let mut site = site();
        site.view = view.clone();
        assert_eq!(site.modern(&modern("tools/list", &json!({}))).one()["result"]["tools"], json!([]));
        let discovered = site.modern(&modern("server/discover", &json!({})));
        assert!(discovered.one()["result"]["capabilities"]["tools"].is_object());
        let mut script = session();
        script.view = view;
        let sent = script.send(&fixture::request(1, "tools/list", &json!({})));
        assert_eq!(sent.one()["result"], json!({"tools": []}));
    }
}

#[test]
fn every_page_of_every_list_is_private_whoever_asks_cache_3_cache_4() {
    let mut policy = Policy::default();
    policy.limits.page = 1;
    let mut site = Site::new(fixture::builder().policy(policy).build().unwrap());
    for view in [fixture::view(), View::only(fixture::catalog(), |item| item.key() != "route")] {
        site.view = view;
        let mut cursor = json!(null);
        let mut pages = 0;
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let sent = site.modern(&modern("tools/list", &params));
            let result = &sent.one()["result"];
            assert_eq!((&result["cacheScope"], &result["ttlMs"]), (&json!("private"), &json!(0)));
            pages += 1;
            cursor = result["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert!(pages > 1);
    }
}

#[test]
fn a_list_may_be_kept_and_its_changes_be_told_as_well_cache_5() {
    let endpoint = fixture::builder().caching(Caching::private(Span::secs(300))).build().unwrap();
    let mut site = Site::new(endpoint);
    let sent = site.modern(&modern("server/discover", &json!({})));
    let result = &sent.one()["result"];
    assert_eq!((&result["capabilities"]["tools"]["listChanged"], &result["ttlMs"]), (&json!(true), &json!(300_000)));
    let sent = site.modern(&modern("tools/list", &json!({})));
    assert_eq!(
        (&sent.one()["result"]["ttlMs"], &sent.one()["result"]["cacheScope"]),
        (&json!(300_000), &json!("private"))
    );
}

#[test]
fn a_server_without_logging_sends_no_log_whatever_its_code_says_log_1() {
    let endpoint = fixture::builder().logging(false).build().unwrap();
    let mut script = session_of(Arc::clone(&endpoint));
    assert_eq!(script.send(&fixture::request(9, "logging/setLevel", &json!({"level": "debug"}))).code(), -32601);
    script.send(&call(1));
    let stream = script.stream();
    script.note(log(Level::Emergency));
    script.done(text("done"));
    assert_eq!(script.sent(stream).one()["id"], 1);

    let mut exchange = Script::new(Exchange::new(MachineId(1), endpoint, Time(1_000_000)));
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    exchange.send(&modern("tools/call", &json!({"name": "echo", "_meta": meta})));
    exchange.note(log(Level::Emergency));
    exchange.done(text("done"));
    assert_eq!(exchange.received().one()["id"], 1);
}

#[test]
fn progress_is_of_its_request_and_not_of_who_listens_prog_4_sub_4() {
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut script = pipe();
    let acknowledged = script.send(&fixture::modern("l", "subscriptions/listen", &listen, &json!({})));
    assert_eq!(acknowledged.one()["method"], "notifications/subscriptions/acknowledged");
    let meta = json!({"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"});
    script.send(&modern("tools/call", &json!({"name": "echo", "_meta": meta})));
    script.note(progress(1.0));
    script.note(log(Level::Info));
    script.done(text("done"));
    let sent = script.received().messages;
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert_eq!(sent[0]["params"]["progressToken"], "p");
    for message in &sent[..2] {
        assert_eq!(message.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId"), None, "{message}");
    }
}

#[test]
fn nothing_is_asked_of_a_client_that_asks_nothing_life_5() {
    let mut policy = Policy::default();
    policy.timing.opening = Span::secs(86_400);
    let endpoint = fixture::builder().policy(policy).build().unwrap();
    let mut script = Script::new(Session::new(MachineId(1), endpoint, SessionId::new([7; 16]), Time(1_000_000)));
    script.send(&fixture::initialize("2025-11-25", &json!({"elicitation": {}, "roots": {}, "sampling": {}})));
    let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
    for _ in 0..2 {
        script.advance(Span::secs(3600));
        assert_eq!(script.sent(listening).messages.len(), 0);
        script.send(&fixture::initialized());
    }
}

#[test]
fn members_that_nobody_knows_are_passed_over_base_10() {
    let mut message = fixture::request(1, "tools/list", &json!({"foo": 1}));
    message["extra"] = json!({"a": []});
    assert!(session().send(&message).one()["result"]["tools"].is_array());
    let mut message = modern("tools/list", &json!({"foo": [null]}));
    message["extra"] = json!(true);
    assert!(exchange().send(&message).one()["result"]["tools"].is_array());
    for params in [json!([]), json!("x"), json!(7)] {
        let sent = session().send(&fixture::request(1, "tools/list", &params));
        assert!(matches!(sent.code(), -32602 | -32600), "{params}: {}", sent.text);
    }
}

#[test]
fn the_same_mistake_has_the_code_and_status_of_its_era_shim_3_err_4() {
    let who = mcp_core::answer::Implementation::new("s", "1");
    let endpoint = mcp_core::Endpoint::builder(who).resources(false, false).build().unwrap();
    let mut site = Site::new(endpoint);
    let id = site.open(NEWEST, &json!({})).encode();
    for (method, params, legacy, modern_status) in [
        ("no/such", json!({}), (200, -32601), (404, -32601)),
        ("prompts/list", json!({}), (200, -32601), (404, -32601)),
        ("resources/subscribe", json!({"uri": "a://b"}), (200, -32601), (404, -32601)),
        ("resources/read", json!({"uri": "a://b"}), (200, -32002), (200, -32602)),
    ] {
        let sent = site.post(&fixture::request(1, method, &params), &[("mcp-session-id", &id)]);
        assert_eq!((sent.status(), sent.code()), legacy, "{method}");
        let sent = site.modern(&modern(method, &params));
        assert_eq!((sent.status(), sent.code()), modern_status, "{method}");
    }
}

#[test]
fn the_level_of_a_session_and_of_a_request_know_nothing_of_each_other_shim_7() {
    let mut script = pipe();
    script.open(NEWEST, &json!({}));
    script.send(&fixture::request(1, "logging/setLevel", &json!({"level": "error"})));
    script.send(&fixture::request(2, "tools/call", &json!({"name": "echo"})));
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    script.send(&modern("tools/call", &json!({"name": "echo", "_meta": meta})));
    let calls: Vec<CallId> = script.calls.iter().map(|(_, call)| call.id).collect();
    for (call, told) in [(calls[0], 0), (calls[1], 1)] {
        script.input(Input::Note { call, note: log(Level::Debug) });
        assert_eq!(script.received().messages.len(), told);
    }
    script.input(Input::Note { call: calls[0], note: log(Level::Error) });
    assert_eq!(script.received().one()["params"]["level"], "error");
}

#[test]
fn progress_is_said_into_the_void_where_nobody_asked_or_none_can_be_carried_shim_8() {
    let quiet = fixture::request(1, "tools/call", &json!({"name": "echo"}));
    let mut legacy = session();
    legacy.send(&quiet);
    let stream = legacy.stream();
    let mut unasked = exchange();
    unasked.send(&modern("tools/call", &json!({"name": "echo"})));
    let mut plain = exchange();
    let message = modern("tools/call", &json!({"name": "echo", "_meta": {"progressToken": 1}}));
    let mut headers = fixture::headers(&message);
    headers.retain(|(name, _)| name != "accept");
    headers.push(("accept".into(), "application/json".into()));
    plain.send_with(&message, &headers);
    assert!(!legacy.calls[0].1.progress && !unasked.calls[0].1.progress && !plain.calls[0].1.progress);
    legacy.note(progress(1.0));
    legacy.done(text("done"));
    assert_eq!(legacy.sent(stream).one()["id"], 1);
    for mut script in [unasked, plain] {
        script.note(progress(1.0));
        script.done(text("done"));
        assert_eq!(script.received().one()["id"], 1);
    }
}

#[test]
fn whatever_ends_a_request_abandons_its_call_shim_9() {
    let request = modern("tools/call", &json!({"name": "echo"}));
    let mut notified = session();
    notified.send(&call(1));
    notified.send(&cancel(1));
    assert_eq!(notified.abandoned.len(), 1, "a notification of a legacy session");
    let mut line = pipe();
    line.send(&request);
    line.send(&cancel(1));
    assert_eq!(line.abandoned.len(), 1, "a notification on a byte stream");
    let mut left = exchange();
    left.send(&request);
    left.input(Input::Detach { stream: StreamId::ONLY });
    assert_eq!(left.abandoned.len(), 1, "a reader of the stateless revision that leaves");
    for why in [Close::Peer, Close::Shutdown] {
        let mut ended = session();
        ended.send(&call(1));
        ended.close(why);
        let mut shut = exchange();
        shut.send(&request);
        shut.close(why);
        let mut closed = pipe();
        closed.send(&request);
        closed.close(Close::Shutdown);
        for abandoned in [&ended.abandoned, &shut.abandoned, &closed.abandoned] {
            assert_eq!(abandoned.len(), 1, "{why:?}");
        }
    }
}

#[test]
fn an_extension_of_tasks_turns_nothing_on_in_a_legacy_session_shim_10_shim_12() {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/ui": {}},
        "tasks": {"requests": {"tools": {"call": {}}}}});
    let mut script =
        Script::new(Session::new(MachineId(1), fixture::endpoint(), SessionId::new([7; 16]), Time(1_000_000)));
    script.open(NEWEST, &capabilities);
    let peer = Arc::clone(script.machine.peer().unwrap());
    assert_eq!(peer.capabilities.extension("io.modelcontextprotocol/ui"), Some("{}"));
    script.send(&fixture::request(1, "tools/call", &json!({"name": "echo", "task": {"ttl": 1}})));
    let stream = script.stream();
    script.done(text("done"));
    assert_eq!(script.sent(stream).one()["result"], json!({"content": [{"type": "text", "text": "done"}]}));
    for method in ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel", "tasks/update"] {
        assert_eq!(script.send(&fixture::request(2, method, &json!({"taskId": "t"}))).code(), -32601, "{method}");
    }
}
