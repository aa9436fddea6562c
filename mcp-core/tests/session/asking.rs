//! What a legacy client is asked with, in the words of its revision.

use mcp_core::{Code, Fault};

use super::*;

#[test]
fn a_form_is_said_in_the_words_of_its_revision_and_a_list_only_from_2025_11_25_on_elic_3_elic_4() {
    let form = |schema: &str| Outcome::Ask {
        questions: vec![("k".into(), Question::Form { message: "?".into(), schema: schema.into() })],
        state: "".into(),
    };
    let titled =
        r#"{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"x"}}}"#;
    let list = r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}"#;
    let older = json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x"], "enumNames": ["X"]}}});
    for (revision, mode, said) in [
        (Revision::V2025_11_25, json!("form"), serde_json::from_str(titled).unwrap()),
        (Revision::V2025_06_18, Value::Null, older),
    ] {
        let mut script = opened(revision, &json!({"elicitation": {}}));
        script.send(&call(1, false));
        let stream = script.stream();
        script.done(form(titled));
        let params = script.sent(stream).messages[0]["params"].clone();
        assert_eq!((&params["mode"], &params["requestedSchema"]), (&mode, &said));
        let mut script = opened(revision, &json!({"elicitation": {}}));
        script.send(&call(1, false));
        script.done(form(list));
        assert_eq!(script.calls.is_empty(), revision == Revision::V2025_11_25, "it is asked, or told at once");
    }
}

#[test]
fn only_a_client_that_was_sent_to_a_page_hears_that_it_is_done_elic_7() {
    for (revision, declared, hears) in [
        (Revision::V2025_11_25, json!({"elicitation": {"url": {}}}), true),
        (Revision::V2025_11_25, json!({"elicitation": {}}), false),
        (Revision::V2025_06_18, json!({"elicitation": {"url": {}}}), false),
    ] {
        let mut script = opened(revision, &declared);
        let (listening, _) = script.attach(&[("accept", "text/event-stream")]);
        script.send(&call(1, false));
        let stream = script.stream();
        script.note(Note::PageDone { id: "e1".into() });
        script.done(text("done"));
        let sent = script.sent(stream).messages;
        let done = json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": "e1"}});
        assert_eq!(sent.first() == Some(&done), hears, "{sent:?}");
        assert_eq!(sent.len(), 1 + usize::from(hears));
        assert!(script.sent(listening).messages.is_empty());
    }
}

#[test]
fn the_error_that_asks_for_pages_is_for_clients_of_one_revision_that_take_them_elic_7_err_2() {
    let fault = || Outcome::Fail(Fault::new(Code::URL_REQUIRED, "Sign in first").with_data(r#"{"elicitations":[]}"#));
    for (revision, declared, code) in [
        (Revision::V2025_11_25, json!({"elicitation": {"url": {}}}), Some(-32042)),
        (Revision::V2025_11_25, json!({"elicitation": {}}), None),
        (Revision::V2025_06_18, json!({"elicitation": {"url": {}}}), None),
    ] {
        let mut script = opened(revision, &declared);
        script.send(&call(1, false));
        let stream = script.stream();
        script.done(fault());
        let sent = script.sent(stream);
        match code {
            Some(code) => assert_eq!((sent.code(), &sent.one()["error"]["data"]), (code, &json!({"elicitations": []}))),
            None => assert_eq!(sent.one()["result"]["isError"], true),
        }
    }
}

#[test]
fn a_question_waits_for_initialized_and_is_taken_back_if_its_request_ends_before_life_5() {
    let ask = || Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: "".into() };
    let mut script = new_session();
    script.send(&fixture::initialize("2025-11-25", &json!({"roots": {}})));
    let streams = [1, 2].map(|id| {
        script.send(&call(id, false));
        let stream = script.stream();
        script.done(ask());
        assert!(script.sent(stream).messages.is_empty(), "nothing is asked before `initialized`");
        stream
    });
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    script.send(&cancelled);
    script.send(&fixture::initialized());
    assert!(script.sent(streams[0]).messages.is_empty(), "the question was never sent, and so not withdrawn");
    let sent = script.sent(streams[1]).messages;
    assert_eq!((sent.len(), &sent[0]["method"]), (1, &json!("roots/list")));
    script.send(&json!({"jsonrpc": "2.0", "id": sent[0]["id"], "result": {"roots": []}}));
    script.done(text("done"));
    assert_eq!(script.sent(streams[1]).messages.len(), 1, "and its answer runs the call again");
}
