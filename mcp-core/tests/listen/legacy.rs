//! Legacy clients: `list_changed` without being asked, `resources/subscribe` for the rest.

use mcp_core::{Asleep, Caller, Generations, Machine as _, Scopes, Session, SessionId};

use super::*;

type Client = Script<Recorder<Session>>;

pub(super) fn session(endpoint: &Arc<Endpoint>, revision: Revision) -> Client {
    session_of(endpoint, Caller::anonymous(), revision)
}

fn session_of(endpoint: &Arc<Endpoint>, caller: Caller, revision: Revision) -> Client {
    let endpoint = Arc::clone(endpoint);
    let fresh = move || Session::new(MachineId(1), Arc::clone(&endpoint), SessionId::new([7; 16]), Time(1_000_000));
    let mut script = Script::replaying_with(fresh, vec![catalog()]);
    (script.view, script.caller) = (view(), caller);
    script.open(revision, &json!({}));
    script
}

fn open() -> Client {
    session(&endpoint(), Revision::V2025_11_25)
}

fn get(script: &mut Client) -> StreamId {
    let (stream, sent) = script.attach(&[("accept", "text/event-stream")]);
    assert_eq!(sent.status(), 200);
    stream
}

fn ask(script: &mut Client, method: &str, uri: &str) -> Sent {
    script.send(&fixture::request(9, &format!("resources/{method}"), &json!({"uri": uri})))
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}

#[test]
fn a_subscriber_is_told_until_it_unsubscribes_res_7() {
    for revision in &Revision::ALL[..4] {
        let mut script = session(&endpoint(), *revision);
        let stream = get(&mut script);
        update(&mut script, "doc://a");
        assert_eq!(script.sent(stream).messages.len(), 0, "{revision}: not before it subscribed");
        let sent = ask(&mut script, "subscribe", "doc://a");
        assert_eq!((sent.status(), &sent.one()["result"]), (200, &json!({})));
        update(&mut script, "doc://b");
        update(&mut script, "doc://a");
        assert_eq!(script.sent(stream).messages, [updated("doc://a")], "{revision}");
        assert_eq!(ask(&mut script, "unsubscribe", "doc://a").one()["result"], json!({}));
        update(&mut script, "doc://a");
        assert_eq!(script.sent(stream).messages.len(), 0, "{revision}: not after it unsubscribed");
    }
}

#[test]
fn subscribing_and_unsubscribing_twice_is_as_once_res_7() {
    let mut script = open();
    let stream = get(&mut script);
    for _ in 0..2 {
        assert_eq!(ask(&mut script, "subscribe", "user://7").one()["result"], json!({}));
    }
    update(&mut script, "user://7");
    assert_eq!(script.sent(stream).messages, [updated("user://7")]);
    for uri in ["user://7", "user://7", "doc://none"] {
        assert_eq!(ask(&mut script, "unsubscribe", uri).one()["result"], json!({}));
    }
    update(&mut script, "user://7");
    assert_eq!(script.sent(stream).messages.len(), 0);
}

#[test]
fn a_resource_that_is_not_there_cannot_be_subscribed_to_res_5_res_7() {
    let mut script = open();
    script.view = narrow();
    for uri in ["doc://none", "doc://b"] {
        let sent = ask(&mut script, "subscribe", uri);
        assert_eq!((sent.code(), sent.status()), (-32002, 200));
        assert_eq!(sent.one()["error"]["data"], json!({"uri": uri}));
    }
    for params in [json!({}), json!({"uri": 1})] {
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(script.send(&fixture::request(1, method, &params)).code(), -32602);
        }
    }
}

#[test]
fn without_the_capability_there_is_no_subscribing_res_7_base_9() {
    for builder in [plain(), plain().resources(true, false)] {
        let mut script = session(&builder.build().unwrap(), Revision::V2025_11_25);
        for method in ["subscribe", "unsubscribe"] {
            let sent = ask(&mut script, method, "doc://a");
            assert_eq!((sent.code(), sent.status()), (-32601, 200));
        }
    }
}

#[test]
fn who_cannot_be_told_cannot_subscribe_life_12() {
    let endpoint = builder().sessions(false).build().unwrap();
    let machine = Session::sessionless(MachineId(1), endpoint, Revision::V2025_03_26, Time(1_000_000));
    let mut script = Script::new(machine);
    script.view = view();
    let sent = script.send(&fixture::request(1, "resources/subscribe", &json!({"uri": "doc://a"})));
    assert_eq!((sent.code(), sent.status()), (-32601, 200));
}

#[test]
fn who_cannot_be_told_is_promised_no_word_of_changes_life_12() {
    for revision in Revision::ALL.into_iter().filter(|revision| *revision < Revision::MODERN) {
        let endpoint = builder().sessions(false).build().unwrap();
        let promised = |machine: Session| {
            let sent = Script::new(machine).send(&fixture::initialize(revision.as_str(), &json!({})));
            sent.one()["result"]["capabilities"].clone()
        };
        let alone = promised(Session::sessionless(MachineId(1), Arc::clone(&endpoint), revision, Time(1_000_000)));
        for list in ["tools", "prompts", "resources"] {
            assert_eq!(alone[list], json!({}), "{revision}: {alone}");
        }
        let kept = promised(Session::new(MachineId(1), endpoint, SessionId::new([7; 16]), Time(1_000_000)));
        assert_eq!(kept["resources"], json!({"listChanged": true, "subscribe": true}), "{revision}: {kept}");
    }
}

#[test]
fn news_wait_for_initialized_and_for_a_stream_once_each_life_5_tool_16_res_7_res_8_prompt_5() {
    let endpoint = endpoint();
    let machine = Session::new(MachineId(1), endpoint, SessionId::new([7; 16]), Time(1_000_000));
    let mut script = Script::new(machine);
    script.view = view();
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    script.send(&fixture::request(1, "resources/subscribe", &json!({"uri": "doc://a"})));
    script.send(&fixture::request(2, "resources/subscribe", &json!({"uri": "doc://b"})));
    let (older, _) = script.attach(&[("accept", "text/event-stream")]);
    for _ in 0..1000 {
        Change::ALL.into_iter().for_each(|what| change(&mut script, what));
        update(&mut script, "doc://a");
        update(&mut script, "doc://b");
    }
    assert_eq!(script.sent(older).messages.len(), 0, "before `initialized`");
    script.input(Input::Detach { stream: older });
    script.send(&fixture::initialized());
    script.send(&fixture::request(3, "resources/unsubscribe", &json!({"uri": "doc://b"})));
    let (newer, sent) = script.attach(&[("accept", "text/event-stream")]);
    let notice = |method: &str| json!({"jsonrpc": "2.0", "method": method, "params": {}});
    assert_eq!(sent.messages, [notice(TOOLS), notice(PROMPTS), notice(RESOURCES), updated("doc://a")]);
    update(&mut script, "doc://b");
    assert_eq!(script.sent(newer).messages.len(), 0);
}

#[test]
fn news_that_a_reader_left_behind_go_to_the_next_one_http_26_res_7_res_8() {
    let mut script = open();
    ask(&mut script, "subscribe", "doc://a");
    ask(&mut script, "subscribe", "doc://b");
    let (older, newer) = (get(&mut script), get(&mut script));
    script.hold(true);
    change(&mut script, Change::Tools);
    update(&mut script, "doc://a");
    update(&mut script, "doc://b");
    ask(&mut script, "unsubscribe", "doc://b");
    script.input(Input::Detach { stream: newer });
    script.hold(false);
    let notice = json!({"jsonrpc": "2.0", "method": TOOLS, "params": {}});
    assert_eq!(script.sent(older).messages, [notice.clone(), updated("doc://a")]);
    script.hold(true);
    change(&mut script, Change::Tools);
    script.input(Input::Detach { stream: older });
    script.hold(false);
    let (_, sent) = script.attach(&[("accept", "text/event-stream")]);
    assert_eq!(sent.messages, [notice]);
}

#[test]
fn news_go_out_on_the_newest_stream_alone_http_26_res_7() {
    let mut script = open();
    ask(&mut script, "subscribe", "doc://a");
    let (older, newer) = (get(&mut script), get(&mut script));
    update(&mut script, "doc://a");
    assert_eq!((script.sent(older).messages.len(), script.sent(newer).messages), (0, vec![updated("doc://a")]));
}

#[test]
fn a_burst_waits_once_for_each_resource_bound_res_7() {
    let mut script = open();
    let stream = get(&mut script);
    ask(&mut script, "subscribe", "doc://a");
    ask(&mut script, "subscribe", "user://7");
    script.hold(true);
    (0..1000).for_each(|_| ["doc://a", "user://7"].into_iter().for_each(|uri| update(&mut script, uri)));
    script.hold(false);
    assert_eq!(script.sent(stream).messages, [updated("doc://a"), updated("user://7")]);
}

#[test]
fn who_may_not_see_it_any_more_is_not_told_sub_9() {
    let mut script = session_of(&endpoint(), Caller::new("ann", Scopes::parse("read")), Revision::V2025_11_25);
    let stream = get(&mut script);
    ask(&mut script, "subscribe", "doc://b");
    assert_eq!(script.machine.machine().subscriber_name("doc://b"), Some(Some("ann")));
    script.input(Input::Updated { uri: "doc://b", view: &narrow() });
    assert_eq!(script.sent(stream).messages.len(), 0);
    update(&mut script, "doc://b");
    assert_eq!(script.sent(stream).messages, [updated("doc://b")]);
}

#[test]
fn one_session_follows_so_many_resources_and_bytes_sub_14_bound() {
    let mut policy = Policy::default();
    (policy.limits.subscriptions, policy.limits.subscription_bytes) = (2, 24);
    let mut script = session(&builder().policy(policy).build().unwrap(), Revision::V2025_11_25);
    assert_eq!(ask(&mut script, "subscribe", "user://1").code(), 0);
    assert_eq!(ask(&mut script, "subscribe", "user://10000000000").code(), -32602, "bytes");
    assert_eq!(ask(&mut script, "subscribe", "user://2").code(), 0);
    assert_eq!(ask(&mut script, "subscribe", "user://3").code(), -32602, "number");
    assert_eq!(ask(&mut script, "subscribe", "user://2").code(), 0, "it follows that one already");
    ask(&mut script, "unsubscribe", "user://1");
    assert_eq!(ask(&mut script, "subscribe", "user://3").code(), 0);
}

#[test]
fn a_sleeper_keeps_what_it_follows_and_what_it_was_not_told_res_7() {
    let endpoint = endpoint();
    let machine = Session::new(MachineId(1), Arc::clone(&endpoint), SessionId::new([7; 16]), Time(1_000_000));
    let mut script = Script::new(machine);
    (script.view, script.caller) = (view(), Caller::new("ann", Scopes::parse("read write")));
    script.open(Revision::V2025_11_25, &json!({}));
    for uri in ["doc://b", "doc://a", "user://7"] {
        script.send(&fixture::request(1, "resources/subscribe", &json!({"uri": uri})));
    }
    update(&mut script, "doc://b");
    let other = Session::new(MachineId(0), Arc::clone(&endpoint), SessionId::new([0; 16]), Time(0));
    let listed = Generations::default();
    let Asleep { snapshot, keep_alives, .. } =
        std::mem::replace(&mut script.machine, other).sleep(listed).expect("it is quiet");
    let woken = Session::wake(MachineId(1), &snapshot, keep_alives, endpoint, listed, script.now);
    script.machine = woken.expect("it wakes");
    assert_eq!(script.machine.subscriber("user://7"), Some(&script.caller), "scopes and all");
    let (stream, sent) = script.attach(&[("accept", "text/event-stream")]);
    assert_eq!(sent.messages, [updated("doc://b")]);
    update(&mut script, "doc://a");
    assert_eq!(script.sent(stream).messages, [updated("doc://a")]);
}
