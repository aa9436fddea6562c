//! Modern listeners on a byte stream, with a legacy conversation beside them.

use mcp_core::{Caller, Pipe};

use super::*;

type Line = Script<Recorder<Pipe>>;

fn line_of(endpoint: &Arc<Endpoint>) -> Line {
    let endpoint = Arc::clone(endpoint);
    let fresh = move || Pipe::new(MachineId(1), Arc::clone(&endpoint), Time(1_000_000));
    let mut script = Script::replaying_with(fresh, vec![catalog()]);
    script.view = view();
    script
}

fn line() -> Line {
    line_of(&endpoint())
}

fn cancel(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id.into()}})
}

#[test]
fn listeners_and_a_legacy_conversation_share_a_stream_sub_7_shim_6_ver_21() {
    let mut script = line();
    script.open(Revision::V2025_11_25, &json!({}));
    assert_eq!(script.send(&listen(1, all())).messages, [acknowledged(1, all())]);
    let asked = json!({"toolsListChanged": true});
    assert_eq!(script.send(&listen("1", asked.clone())).messages, [acknowledged("1", asked)]);
    change(&mut script, Change::Tools);
    let legacy = json!({"jsonrpc": "2.0", "method": TOOLS, "params": {}});
    assert_eq!(script.received().messages, [legacy, told(1, TOOLS), told("1", TOOLS)]);
    update(&mut script, "doc://a");
    assert_eq!(script.received().messages, [told_of(1, "doc://a")], "the legacy client did not subscribe");
    assert!(script.claims.is_empty(), "a byte stream bounds its own");
}

#[test]
fn a_listener_needs_no_handshake_and_does_not_wait_for_one_sub_2_base_18() {
    let mut script = line();
    assert_eq!(script.send(&listen(1, all())).messages, [acknowledged(1, all())]);
    change(&mut script, Change::Prompts);
    assert_eq!(script.received().messages, [told(1, PROMPTS)]);
    script.send(&fixture::initialize("2025-11-25", &json!({})));
    change(&mut script, Change::Prompts);
    assert_eq!(script.received().messages, [told(1, PROMPTS)], "life_5: the legacy client is not there yet");
}

#[test]
fn a_cancelled_listener_is_told_nothing_more_sub_10_canc_2_canc_5() {
    let mut script = line();
    script.send(&listen(1, all()));
    script.send(&listen(2, all()));
    script.hold(true);
    change(&mut script, Change::Tools);
    script.send(&cancel(1));
    change(&mut script, Change::Prompts);
    script.hold(false);
    assert_eq!(script.received().messages, [told(2, TOOLS), told(2, PROMPTS)], "not even what waited");
    script.send(&cancel(1));
    script.close(Close::EndOfInput);
    assert_eq!(script.received().messages, [result(2)]);
    assert!(script.closed);
}

#[test]
fn cancelling_is_by_value_and_type_of_the_id_sub_3() {
    let mut script = line();
    script.send(&listen(1, all()));
    script.send(&cancel("1"));
    change(&mut script, Change::Tools);
    assert_eq!(script.received().messages, [told(1, TOOLS)]);
    script.send(&cancel(1));
    assert_eq!(
        script.send(&listen(1, json!({}))).messages,
        [acknowledged(1, json!({}))],
        "base_3: the id is free again"
    );
}

#[test]
fn an_id_in_flight_is_not_used_twice_base_3() {
    let mut script = line();
    script.send(&listen(1, all()));
    for message in [listen(1, json!({})), fixture::modern(1, "tools/list", &json!({}), &json!({}))] {
        assert_eq!(script.send(&message).code(), -32600);
    }
    script.send(&fixture::modern(2, "tools/call", &json!({"name": "t"}), &json!({})));
    assert_eq!(script.send(&listen(2, json!({}))).code(), -32600);
    change(&mut script, Change::Tools);
    assert_eq!(script.received().messages, [told(1, TOOLS)]);
}

#[test]
fn each_end_of_the_conversation_ends_listeners_with_their_result_sub_11_sub_12_a1_canc_6() {
    for why in [Close::EndOfInput, Close::Shutdown] {
        let mut script = line();
        script.send(&listen("a", all()));
        script.send(&listen(2, json!({})));
        script.hold(true);
        change(&mut script, Change::Tools);
        script.close(why);
        change(&mut script, Change::Tools);
        script.hold(false);
        let sent = script.received();
        assert_eq!(sent.messages, [told("a", TOOLS), result("a"), result(2)], "{why:?}");
        assert!(sent.ended && script.closed, "{why:?}");
    }
}

#[test]
fn listeners_end_with_the_input_while_calls_go_on_stdio_4_sub_11() {
    let mut script = line();
    script.send(&listen(1, all()));
    script.send(&fixture::modern(2, "tools/call", &json!({"name": "t"}), &json!({})));
    script.close(Close::EndOfInput);
    assert_eq!(script.received().messages, [result(1)]);
    assert!(!script.closed);
    change(&mut script, Change::Tools);
    let answer = mcp_core::answer::ToolAnswer::text("done");
    script.done(mcp_core::Outcome::Complete(mcp_core::answer::Answer::Tool(answer)));
    assert_eq!(script.received().one()["id"], 2);
    assert!(script.closed);
}

#[test]
fn a_peer_that_has_gone_is_told_nothing_sub_10() {
    let mut script = line();
    script.send(&listen(1, all()));
    script.close(Close::Peer);
    assert_eq!((script.received().text.as_str(), script.closed), ("", true));
    assert_eq!(
        script.machine.machine().subscriber_name("doc://a"),
        None,
        "whoever holds the machine holds nothing of it"
    );
}

#[test]
fn a_byte_stream_has_room_for_so_many_listeners_and_bytes_sub_14() {
    let mut policy = Policy::default();
    policy.limits.listens = 2;
    let mut script = line_of(&builder().policy(policy.clone()).build().unwrap());
    script.send(&listen(1, all()));
    script.send(&listen(2, all()));
    let sent = script.send(&listen(3, json!({})));
    assert_eq!(sent.code(), -32603);
    assert!(sent.one()["error"]["message"].as_str().unwrap().contains("cancel one"));
    change(&mut script, Change::Tools);
    assert_eq!(script.received().messages, [told(1, TOOLS), told(2, TOOLS)], "the others live");
    script.send(&cancel(1));
    assert_eq!(script.send(&listen(3, json!({}))).messages, [acknowledged(3, json!({}))]);

    policy.limits.listen_bytes = 2000;
    let mut script = line_of(&builder().policy(policy).build().unwrap());
    assert_eq!(script.send(&listen(1, all())).messages.len(), 1);
    assert_eq!(script.send(&listen(2, all())).code(), -32603, "bytes");
    assert_eq!(script.send(&listen(2, json!({}))).messages, [acknowledged(2, json!({}))]);
}

#[test]
fn a_thousand_changes_for_many_listeners_wait_once_each_sub_13_bound() {
    let mut script = line();
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&fixture::request(0, "resources/subscribe", &json!({"uri": "doc://a"})));
    (1..=9).for_each(|id| drop(script.send(&listen(id, all()))));
    script.hold(true);
    for _ in 0..1000 {
        Change::ALL.into_iter().for_each(|what| change(&mut script, what));
        ["doc://a", "user://7"].into_iter().for_each(|uri| update(&mut script, uri));
    }
    script.hold(false);
    assert_eq!(script.received().messages.len(), 9 * 5 + 4);
}

#[test]
fn a_subscriber_of_either_era_is_found_sub_9() {
    let mut script = line();
    script.caller = Caller::new("ann", mcp_core::Scopes::default());
    let named = |script: &Line, uri| script.machine.machine().subscriber_name(uri).is_some();
    assert!(!named(&script, "doc://a"));
    script.send(&listen(1, json!({"resourceSubscriptions": ["doc://a"]})));
    script.open(Revision::V2025_11_25, &json!({}));
    script.send(&fixture::request(2, "resources/subscribe", &json!({"uri": "doc://b"})));
    assert_eq!(script.machine.machine().subscriber_name("doc://a"), Some(Some("ann")));
    assert_eq!(script.machine.machine().subscriber_name("doc://b"), Some(Some("ann")));
    assert!(!named(&script, "user://7"));
}

#[test]
fn a_server_says_cancelled_for_nothing_modern_canc_6() {
    let mut script = line();
    script.send(&listen(1, all()));
    script.send(&fixture::modern(2, "tools/call", &json!({"name": "t"}), &json!({})));
    script.send(&fixture::modern(3, "tools/call", &json!({"name": "t"}), &json!({})));
    script.send(&cancel(2));
    script.close(Close::Shutdown);
    let sent = script.received();
    assert!(!sent.text.contains("cancelled"), "{}", sent.text);
    assert_eq!(sent.messages.len(), 2);
}
