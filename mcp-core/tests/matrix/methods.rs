//! Every method that lists or runs what a server offers, in each revision, over both transports, also by several at once (21.1, 21.3).

use super::*;

/// Method, parameters, and what of the result shows that it was answered.
fn requests() -> [(&'static str, Value, &'static str); 11] {
    let complete = |reference: Value, argument: &str| json!({"ref": reference, "argument": {"name": argument, "value": ""}, "context": {"arguments": {"tone": "x"}}});
    [
        ("tools/list", json!({}), "tools"),
        ("tools/call", json!({"name": "echo", "arguments": {"message": "x"}}), "content"),
        ("resources/list", json!({}), "resources"),
        ("resources/templates/list", json!({}), "resourceTemplates"),
        ("resources/read", json!({"uri": "notes://today"}), "contents"),
        ("resources/read", json!({"uri": "files:///a/é b"}), "contents"),
        ("prompts/list", json!({}), "prompts"),
        ("prompts/get", json!({"name": "greet", "arguments": {"who": "a", "tone": "b"}}), "messages"),
        ("completion/complete", complete(json!({"type": "ref/prompt", "name": "greet"}), "who"), "completion"),
        ("completion/complete", complete(json!({"type": "ref/prompt", "name": "greet"}), "lang"), "completion"),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "notes://{id}"}), "id"), "completion"),
    ]
}

/// The same, each with what is wrong with it, and the code in legacy and on modern.
fn mistakes() -> [(&'static str, Value, i64, i64); 8] {
    [
        ("tools/call", json!({"name": "nope"}), -32602, -32602),
        ("tools/list", json!({"cursor": ""}), -32602, -32602),
        ("resources/list", json!({"cursor": ""}), -32602, -32602),
        ("resources/templates/list", json!({"cursor": ""}), -32602, -32602),
        ("resources/read", json!({"uri": "nope://x"}), -32002, -32602),
        ("prompts/list", json!({"cursor": ""}), -32602, -32602),
        ("prompts/get", json!({"name": "nope"}), -32602, -32602),
        ("completion/complete", json!({}), -32602, -32602),
    ]
}

#[test]
fn every_method_answers_in_every_revision_over_both_transports_ver_25_base_5_http_11_http_41_shim_3() {
    for revision in Revision::ALL {
        for (method, params, member) in requests() {
            let sent = Web::new(revision, &json!({})).ask(method, &params);
            assert_eq!((sent.status(), sent.code()), (200, 0), "{revision} {method}: {}", sent.text);
            let mut talk = Talk::new(revision, &json!({}));
            let mut line = talk.ask(method, &params);
            if let Some((_, call)) = talk.script.calls.front() {
                let outcome = testkit::done(call);
                talk.script.done(outcome);
                line = talk.script.received();
            }
            let (over_http, over_stdio) = (&sent.one()["result"], &line.one()["result"]);
            assert!(over_http.get(member).is_some() && sent.one().get("error").is_none(), "{revision} {method}");
            assert_eq!(over_http, over_stdio, "{revision} {method}");
        }
        for (method, params, legacy, modern) in mistakes() {
            let right = if revision == Revision::MODERN { modern } else { legacy };
            let sent = Web::new(revision, &json!({})).ask(method, &params);
            assert_eq!((sent.status(), sent.code()), (200, right), "{revision} {method}");
            assert_eq!(Talk::new(revision, &json!({})).ask(method, &params).one()["error"], sent.one()["error"]);
        }
    }
}

#[test]
fn a_batch_of_2025_03_26_holds_any_of_them_batch_1_batch_2() {
    let requests: Vec<Value> =
        requests().iter().enumerate().map(|(id, (method, params, _))| fixture::request(id, method, params)).collect();
    let mut site = http();
    let session = site.open(Revision::V2025_03_26, &json!({})).encode();
    let sent = site.post(&Value::from(requests), &sessioned(&session));
    assert_eq!((sent.status(), sent.messages.len()), (200, 11), "{}", sent.text);
    for (id, (method, _, member)) in super::methods::requests().iter().enumerate() {
        let answer = sent.messages.iter().find(|answer| answer["id"] == id).expect("each is answered");
        assert!(answer["result"].get(member).is_some(), "{method}: {answer}");
    }
}

#[test]
fn without_a_session_they_answer_all_the_same_in_the_revision_of_the_header() {
    for (date, revision) in LEGACY {
        let mut site = Site::new(fixture::builder().sessions(false).build().unwrap());
        for (method, params, member) in requests() {
            let message = fixture::request(1, method, &params);
            let sent = site.post(&message, &[("mcp-protocol-version", date)]);
            assert_eq!((sent.status(), sent.code()), (200, 0), "{date} {method}: {}", sent.text);
            let with_session = Web::new(revision, &json!({})).ask(method, &params);
            assert_eq!(sent.one()["result"][member], with_session.one()["result"][member], "{date} {method}");
        }
        let sent = site
            .post(&fixture::request(1, "resources/read", &json!({"uri": "x:y"})), &[("mcp-protocol-version", date)]);
        assert_eq!((sent.status(), sent.code()), (200, -32002), "{date}");
    }
}

#[test]
fn a_mirror_that_differs_wins_over_an_unknown_name_and_an_unknown_name_over_its_parameters_ver_20_hdr_3() {
    let refused = |method: &str, params: Value, name: Option<&str>| {
        let message = modern(method, &params);
        let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
        headers.extend(name.map(|name| ("mcp-name", name)));
        let sent = http().post(&message, &headers);
        (sent.status(), sent.code())
    };
    for (method, params, name) in [
        ("prompts/get", json!({"name": "nope", "arguments": []}), "nope"),
        ("resources/read", json!({"uri": "x:nope", "requestState": "forged"}), "x:nope"),
    ] {
        assert_eq!(refused(method, params.clone(), Some("other")), (400, -32020));
        assert_eq!(refused(method, params.clone(), None), (400, -32020));
        assert_eq!(refused(method, params, Some(name)), (200, -32602));
    }
}
