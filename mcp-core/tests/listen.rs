//! Word of changes, in simulated time: `subscriptions/listen` over HTTP here, on a byte stream and to legacy clients beside it.

use std::sync::Arc;

use mcp_core::answer::Implementation;
use mcp_core::catalog::{Catalog, Item, Prompt, Resource, Template, Tool};
use mcp_core::policy::Policy;
use mcp_core::record::Recorder;
use mcp_core::{
    Change, Close, Endpoint, EndpointBuilder, Exchange, Fault, Handle, Input, MachineId, Revision, Span, StreamId,
    Time, View,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, fixture};

#[path = "listen/legacy.rs"]
mod legacy;
#[path = "listen/model.rs"]
mod model;
#[path = "listen/pipe.rs"]
mod pipe;

type Client = Script<Recorder<Exchange>>;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

fn catalog() -> Arc<Catalog> {
    let schema = r#"{"type":"object","properties":{}}"#;
    Catalog::builder()
        .tool(Tool::new("t", Handle(1), schema))
        .prompt(Prompt::new("p", Handle(2)))
        .resource(Resource::new("doc://a", "a", Handle(3)))
        .resource(Resource::new("doc://b", "b", Handle(4)))
        .template(Template::new("user://{id}", "user", Handle(5)))
        .build()
        .expect("the definitions are valid")
}

fn view() -> View {
    View::all(catalog())
}

/// As a caller sees it who may not see `doc://b`.
fn narrow() -> View {
    View::only(catalog(), |item| !matches!(item, Item::Resource(resource) if resource.uri() == "doc://b"))
}

/// Promises word of tools alone.
fn plain() -> EndpointBuilder {
    Endpoint::builder(Implementation::new("fixture", "1.0.0")).tools(true)
}

fn builder() -> EndpointBuilder {
    plain().prompts(true).resources(true, true)
}

fn endpoint() -> Arc<Endpoint> {
    builder().build().unwrap()
}

/// One of the clients of an endpoint: each has the machine name that it is given, and all use the same ids.
fn client(endpoint: &Arc<Endpoint>) -> Client {
    let endpoint = Arc::clone(endpoint);
    let fresh = move || Exchange::new(MachineId(1), Arc::clone(&endpoint), Time(1_000_000));
    let mut script = Script::replaying_with(fresh, vec![catalog()]);
    script.view = view();
    script
}

fn listen(id: impl Into<Value>, notifications: Value) -> Value {
    fixture::modern(id, "subscriptions/listen", &json!({"notifications": notifications}), &json!({}))
}

/// Everything that can be asked for.
fn all() -> Value {
    json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": ["doc://a", "user://7"]})
}

fn acknowledged(id: impl Into<Value>, notifications: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": notifications, "_meta": {ID: id.into()}}})
}

fn told(id: impl Into<Value>, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": {ID: id.into()}}})
}

fn told_of(id: impl Into<Value>, uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri, "_meta": {ID: id.into()}}})
}

fn ended(id: impl Into<Value>) -> Value {
    let info = json!({"name": "fixture", "version": "1.0.0"});
    json!({"jsonrpc": "2.0", "id": id.into(), "result": {"resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": info, ID: Value::Null}}})
}

/// The result, whose tag is the id that it answers.
fn result(id: impl Into<Value>) -> Value {
    let id = id.into();
    let mut result = ended(id.clone());
    result["result"]["_meta"][ID] = id;
    result
}

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

fn change<M: mcp_core::Machine>(script: &mut Script<M>, what: Change) {
    script.input(Input::Changed { catalog: catalog(), what });
}

fn update<M: mcp_core::Machine>(script: &mut Script<M>, uri: &str) {
    let view = script.view.clone();
    script.input(Input::Updated { uri, view: &view });
}

/// A client that listens, and its acknowledgement.
fn listening(id: impl Into<Value>, notifications: Value) -> (Client, Sent) {
    let mut script = client(&endpoint());
    let sent = script.send(&listen(id, notifications));
    (script, sent)
}

#[test]
fn parameters_of_another_shape_are_refused_sub_1() {
    let refused = |params: Value| {
        let mut script = client(&endpoint());
        let sent = script.send(&fixture::modern(1, "subscriptions/listen", &params, &json!({})));
        assert_eq!((sent.code(), sent.status(), script.closed), (-32602, 200, true), "{params}");
        assert!(script.claims.is_empty(), "no room is asked for");
        sent.one()["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(refused(json!({})).contains("`params.notifications` must be an object"));
    for notifications in [json!(null), json!([]), json!("x"), json!(true)] {
        assert!(refused(json!({"notifications": notifications})).contains("must be an object"));
    }
    for wrong in [json!("true"), json!(1), json!({})] {
        let text = refused(json!({"notifications": {"toolsListChanged": wrong}}));
        assert!(text.contains("`params.notifications.toolsListChanged` must be a boolean"), "{text}");
    }
    for wrong in [json!("doc://a"), json!({}), json!(["doc://a", 1]), json!([null])] {
        let text = refused(json!({"notifications": {"resourceSubscriptions": wrong}}));
        assert!(text.contains("must be an array of strings"), "{text}");
    }
}

#[test]
fn nothing_asked_for_is_acknowledged_as_nothing_sub_1() {
    let (mut script, sent) = listening(1, json!({}));
    assert_eq!(sent.messages, [acknowledged(1, json!({}))]);
    Change::ALL.into_iter().for_each(|what| change(&mut script, what));
    update(&mut script, "doc://a");
    assert_eq!(script.received().text, "");
    let (_, sent) =
        listening(1, json!({"toolsListChanged": false, "promptsListChanged": null, "resourceSubscriptions": null}));
    assert_eq!(sent.messages, [acknowledged(1, json!({}))], "`false` and `null` are as good as omitted");
}

#[test]
fn the_acknowledgement_comes_first_with_what_is_honoured_sub_2_case_119() {
    let endpoint = plain().build().unwrap();
    let mut script = client(&endpoint);
    let sent = script
        .send(&listen(1, json!({"toolsListChanged": true, "promptsListChanged": true, "taskIds": ["x"], "new": 1})));
    assert_eq!(sent.text, format!("data: {}\n\n", text(&acknowledged(1, json!({"toolsListChanged": true})))));
    assert!(!sent.ended && !script.closed);
}

/// As the server writes it: keys in this order.
fn text(acknowledged: &Value) -> String {
    let params = &acknowledged["params"];
    format!(
        r#"{{"jsonrpc":"2.0","method":"{}","params":{{"notifications":{},"_meta":{}}}}}"#,
        acknowledged["method"].as_str().unwrap(),
        params["notifications"],
        params["_meta"]
    )
}

#[test]
fn every_message_is_tagged_with_the_id_in_its_type_sub_3_sub_5_case_119() {
    for id in [json!(1), json!("1"), json!("s"), json!(-7), json!("ünï\"")] {
        let (mut script, sent) = listening(id.clone(), all());
        assert_eq!(sent.messages, [acknowledged(id.clone(), all())]);
        Change::ALL.into_iter().for_each(|what| change(&mut script, what));
        update(&mut script, "doc://a");
        update(&mut script, "user://7");
        script.close(Close::Shutdown);
        let sent = script.received();
        let id = || id.clone();
        let right = [
            told(id(), TOOLS),
            told(id(), PROMPTS),
            told(id(), RESOURCES),
            told_of(id(), "doc://a"),
            told_of(id(), "user://7"),
            result(id()),
        ];
        assert_eq!(sent.messages, right);
        assert!(!sent.text.contains("id: "), "events that cannot be resumed have no ids");
    }
}

#[test]
fn only_what_was_asked_for_is_told_sub_4_tool_16_prompt_5_res_8() {
    for (asked, right) in
        [("toolsListChanged", TOOLS), ("promptsListChanged", PROMPTS), ("resourcesListChanged", RESOURCES)]
    {
        let (mut script, sent) = listening(1, json!({asked: true}));
        assert_eq!(sent.messages, [acknowledged(1, json!({asked: true}))]);
        Change::ALL.into_iter().for_each(|what| change(&mut script, what));
        update(&mut script, "doc://a");
        assert_eq!(script.received().messages, [told(1, right)]);
    }
}

#[test]
fn a_change_before_the_acknowledgement_was_read_comes_after_it_sub_4() {
    let mut script = client(&endpoint());
    script.hold(true);
    script.send(&listen(1, all()));
    change(&mut script, Change::Tools);
    update(&mut script, "doc://a");
    script.hold(false);
    assert_eq!(script.received().messages, [acknowledged(1, all()), told(1, TOOLS), told_of(1, "doc://a")]);
}

#[test]
fn a_stream_of_events_stays_open_with_comments_alone_sub_6_http_45() {
    let (mut script, sent) = listening(1, all());
    assert_eq!(sent.reply.clone(), Some(mcp_core::Reply::EVENTS));
    script.advance(Span::secs(60));
    let quiet = script.received();
    assert_eq!((quiet.messages.len(), quiet.text.matches(": \n\n").count(), quiet.ended), (0, 4, false));
    script.advance(Span::secs(7 * 24 * 3600));
    assert!(!script.received().ended && !script.closed, "nobody listens for too long");
}

#[test]
fn the_time_limit_of_calls_is_not_one_of_listening_sub_6() {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(5));
    let mut script = client(&builder().policy(policy).build().unwrap());
    script.send(&listen(1, all()));
    script.advance(Span::secs(60));
    assert!(!script.closed);
}

#[test]
fn whoever_takes_json_alone_is_told_why_it_hears_nothing_sub_6() {
    let mut script = client(&endpoint());
    let message = listen(1, all());
    let mut headers = fixture::headers(&message);
    headers[0].1 = "application/json".to_owned();
    let sent = script.send_with(&message, &headers);
    assert_eq!((sent.code(), sent.status(), sent.ended), (-32600, 406, true));
    assert!(sent.one()["error"]["message"].as_str().unwrap().contains("text/event-stream"));
    assert!(script.claims.is_empty());
}

#[test]
fn several_of_one_client_each_get_a_copy_of_their_own_sub_7() {
    let endpoint = endpoint();
    let (mut one, mut two) = (client(&endpoint), client(&endpoint));
    one.send(&listen(1, all()));
    two.send(&listen("two", json!({"toolsListChanged": true})));
    for script in [&mut one, &mut two] {
        change(script, Change::Tools);
        change(script, Change::Prompts);
    }
    assert_eq!(one.received().messages, [told(1, TOOLS), told(1, PROMPTS)]);
    assert_eq!(two.received().messages, [told("two", TOOLS)]);
}

#[test]
fn two_clients_with_the_same_id_do_not_meet_base_4() {
    let endpoint = endpoint();
    let (mut one, mut two) = (client(&endpoint), client(&endpoint));
    one.send(&listen(1, json!({"resourceSubscriptions": ["doc://a"]})));
    two.send(&listen(1, json!({"resourceSubscriptions": ["doc://b"]})));
    for uri in ["doc://a", "doc://b"] {
        update(&mut one, uri);
        update(&mut two, uri);
    }
    assert_eq!(one.received().messages, [told_of(1, "doc://a")]);
    assert_eq!(two.received().messages, [told_of(1, "doc://b")]);
    one.input(Input::Detach { stream: StreamId::ONLY });
    update(&mut two, "doc://b");
    assert!(one.closed && !two.closed);
    assert_eq!(two.received().messages, [told_of(1, "doc://b")]);
}

#[test]
fn a_server_on_which_nothing_changes_acknowledges_nothing_and_stays_sub_8_a19() {
    let endpoint = plain().tools(false).build().unwrap();
    let mut script = client(&endpoint);
    let sent = script.send(&listen(1, all()));
    assert_eq!(sent.messages, [acknowledged(1, json!({}))]);
    Change::ALL.into_iter().for_each(|what| change(&mut script, what));
    script.advance(Span::secs(60));
    assert_eq!((script.received().messages.len(), script.closed), (0, false));
}

#[test]
fn unknown_and_hidden_resources_are_dropped_from_what_is_honoured_sub_9() {
    let mut script = client(&endpoint());
    script.view = narrow();
    let asked = json!({"resourceSubscriptions": ["user://7", "doc://b", "doc://a", "doc://none", "doc://a"]});
    let sent = script.send(&listen(1, asked));
    assert_eq!(sent.messages, [acknowledged(1, json!({"resourceSubscriptions": ["doc://a", "user://7"]}))]);
    for uri in ["doc://b", "doc://none", "user://8", "user://7"] {
        script.input(Input::Updated { uri, view: &view() });
    }
    assert_eq!(script.received().messages, [told_of(1, "user://7")]);
    let mut script = client(&endpoint());
    let sent = script.send(&listen(1, json!({"resourceSubscriptions": ["doc://none"]})));
    assert_eq!(sent.messages, [acknowledged(1, json!({"resourceSubscriptions": []}))]);
}

#[test]
fn what_the_server_does_not_promise_is_not_honoured_sub_9() {
    let silent = plain().prompts(false).resources(false, false).build().unwrap();
    let sent = client(&silent).send(&listen(1, all()));
    assert_eq!(sent.messages, [acknowledged(1, json!({"toolsListChanged": true}))]);
    let followed = plain().tools(false).resources(false, true).build().unwrap();
    let sent = client(&followed).send(&listen(1, all()));
    assert_eq!(sent.messages, [acknowledged(1, json!({"resourceSubscriptions": ["doc://a", "user://7"]}))]);
}

#[test]
fn what_was_hidden_meanwhile_is_told_no_more_sub_9() {
    let (mut script, _) = listening(1, json!({"resourceSubscriptions": ["doc://a", "doc://b"]}));
    assert_eq!(script.machine.machine().subscriber_name("doc://b"), Some(None));
    assert_eq!(script.machine.machine().subscriber_name("doc://c"), None);
    for uri in ["doc://a", "doc://b"] {
        script.input(Input::Updated { uri, view: &narrow() });
    }
    assert_eq!(script.received().messages, [told_of(1, "doc://a")]);
}

/// Who follows a resource, for assertions.
trait Follows {
    fn subscriber_name(&self, uri: &str) -> Option<Option<&str>>;
}

impl<M: mcp_core::Machine> Follows for M {
    fn subscriber_name(&self, uri: &str) -> Option<Option<&str>> {
        self.subscriber(uri).map(|caller| caller.principal.as_ref().map(mcp_core::Principal::as_str))
    }
}

#[test]
fn a_client_that_leaves_is_told_nothing_more_sub_10_http_46() {
    for leave in [Input::Detach { stream: StreamId::ONLY }, Input::Close(Close::Peer)] {
        let (mut script, _) = listening(1, all());
        script.input(leave);
        assert!(script.closed);
        change(&mut script, Change::Tools);
        update(&mut script, "doc://a");
        script.close(Close::Shutdown);
        script.advance(Span::secs(60));
        assert_eq!(script.received().text, "");
        assert_eq!((script.deadline(), script.machine.machine().subscriber_name("doc://a")), (None, None));
    }
}

#[test]
fn a_shutdown_ends_it_with_its_result_after_what_was_to_be_told_sub_11_sub_12_a1_canc_6() {
    let (mut script, _) = listening("s1", all());
    script.hold(true);
    change(&mut script, Change::Tools);
    script.close(Close::EndOfInput);
    assert!(!script.closed, "the request was read whole long ago");
    script.close(Close::Shutdown);
    change(&mut script, Change::Tools);
    script.hold(false);
    let sent = script.received();
    assert_eq!(sent.messages, [told("s1", TOOLS), result("s1")]);
    assert!(sent.ended && script.closed);
}

#[test]
fn a_thousand_changes_while_nobody_reads_are_told_once_sub_13() {
    let (mut script, _) = listening(1, all());
    script.hold(true);
    let claimed = script.claims[0].bytes;
    for _ in 0..1000 {
        Change::ALL.into_iter().for_each(|what| change(&mut script, what));
        ["doc://a", "user://7", "user://8"].into_iter().for_each(|uri| update(&mut script, uri));
    }
    script.hold(false);
    let sent = script.received();
    let right = [told(1, TOOLS), told(1, PROMPTS), told(1, RESOURCES), told_of(1, "doc://a"), told_of(1, "user://7")];
    assert_eq!(sent.messages, right);
    let json: usize = sent.text.len() - sent.messages.len() * "data: \n\n".len();
    assert!(json < claimed, "{json} bytes waited, {claimed} were claimed");
    change(&mut script, Change::Tools);
    assert_eq!(script.received().messages, [told(1, TOOLS)], "what was read can change again");
}

#[test]
fn without_room_it_is_refused_before_anything_was_sent_sub_14() {
    let mut script = client(&endpoint());
    script.no_seat = Some(Fault::internal("Full").with_status(503));
    let sent = script.send(&listen(1, all()));
    assert_eq!((sent.code(), sent.status(), sent.ended, script.closed), (-32603, 503, true, true));
    assert_eq!(script.claims.len(), 1);
    change(&mut script, Change::Tools);
    assert_eq!(script.received().text, "");
}

#[test]
fn more_resources_than_one_may_follow_are_refused_sub_14() {
    let mut policy = Policy::default();
    (policy.limits.subscriptions, policy.limits.subscription_bytes) = (3, 40);
    let endpoint = builder().policy(policy).build().unwrap();
    let send = |uris: Value| client(&endpoint).send(&listen(1, json!({"resourceSubscriptions": uris})));
    assert_eq!(send(json!(["user://1", "user://2", "user://3"])).messages.len(), 1);
    let many = send(json!(["user://1", "user://2", "user://3", "user://4"]));
    assert_eq!((many.code(), many.status()), (-32602, 200));
    assert!(many.one()["error"]["message"].as_str().unwrap().contains("3 URIs of 40 bytes"));
    assert_eq!(send(json!(["user://12345678901234567890", "user://12345678901234567890"])).code(), -32602);
}

#[test]
fn the_claim_names_who_asks_and_covers_all_that_can_wait_sub_14() {
    let mut script = client(&endpoint());
    script.caller = mcp_core::Caller::new("ann", mcp_core::Scopes::default());
    script.hold(true);
    script.send(&listen(1, all()));
    Change::ALL.into_iter().for_each(|what| change(&mut script, what));
    ["doc://a", "user://7"].into_iter().for_each(|uri| update(&mut script, uri));
    script.close(Close::Shutdown);
    script.hold(false);
    let claim = script.claims[0].clone();
    assert_eq!(claim.principal.as_ref().map(mcp_core::Principal::as_str), Some("ann"));
    let waited: usize = script.received().text.lines().map(|line| line.trim_start_matches("data: ").len()).sum();
    assert_eq!(claim.bytes, waited + "doc://a".len() + "user://7".len());
}

#[test]
fn a_seat_that_comes_late_or_twice_changes_nothing() {
    let mut script = client(&endpoint());
    script.input(Input::Listen(Ok(())));
    assert_eq!(script.received().text, "");
    assert_eq!(script.send(&listen(1, all())).messages.len(), 1);
    script.input(Input::Listen(Err(Fault::internal("Full"))));
    script.input(Input::Listen(Ok(())));
    assert_eq!((script.received().text.as_str(), script.closed), ("", false));
}

#[test]
fn subscribing_is_legacy_and_listening_is_modern_res_7_http_41() {
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let sent = client(&endpoint()).send(&fixture::modern(1, method, &json!({"uri": "doc://a"}), &json!({})));
        assert_eq!((sent.code(), sent.status()), (-32601, 404), "{method}");
    }
    let mut script = legacy::session(&endpoint(), Revision::V2025_11_25);
    let sent = script.send(&fixture::request(1, "subscriptions/listen", &json!({"notifications": {}})));
    assert_eq!((sent.code(), sent.status()), (-32601, 200));
}
