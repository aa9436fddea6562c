//! `resources/read`.

use super::*;

fn kind(call: &Call) -> (Handle, &str, Vec<(&str, &str)>) {
    match &call.kind {
        Kind::Resource { resource, uri, variables } => {
            (*resource, uri, variables.iter().map(|(name, value)| (&**name, &**value)).collect())
        }
        other => panic!("not a read: {other:?}"),
    }
}

#[test]
fn text_bytes_and_several_contents_in_the_words_of_the_revision_res_4_cache_1_base_12_base_13() {
    let answer = || {
        let meta = r#"{"com.example/a":[1]}"#;
        let mut answer = ResourceAnswer::new(vec![
            Contents::text("a\n\u{2028}\"b").with_mime("text/plain").with_meta(meta),
            Contents::bytes(vec![0, 255, 16]).with_uri("notes://today#2"),
            Contents::text(""),
        ]);
        answer.meta = Some(meta.into());
        Outcome::Complete(Answer::Resource(answer))
    };
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let answer = talk.run("resources/read", &json!({"uri": "notes://today"}), answer());
        let result = &answer["result"];
        let mut own = vec!["contents"];
        own.extend((revision != Revision::MODERN).then_some("_meta"));
        assert_eq!(members(result), with(revision, true, &own), "{revision}");
        assert_eq!(result["_meta"]["com.example/a"], json!([1]));
        let [text, bytes, empty] = result["contents"].as_array().unwrap().as_slice() else { panic!("{result}") };
        let mut right = json!({"uri": "notes://today", "mimeType": "text/plain", "text": "a\n\u{2028}\"b"});
        if revision >= Revision::V2025_06_18 {
            right["_meta"] = json!({"com.example/a": [1]});
        }
        assert_eq!(text, &right, "{revision}");
        assert_eq!(bytes, &json!({"uri": "notes://today#2", "blob": "AP8Q"}));
        assert_eq!(empty, &json!({"uri": "notes://today", "text": ""}));
        if revision == Revision::MODERN {
            assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
        }
    }
}

#[test]
fn a_template_hands_over_what_its_variables_stand_for_decoded_once_res_3_res_11() {
    let cases = [
        ("notes://today", fixture::TODAY, vec![]),
        ("notes://a%2Fb", fixture::NOTES, vec![("id", "a/b")]),
        ("notes://a%252Fb", fixture::NOTES, vec![("id", "a%2Fb")]),
        ("files:///a/b%20c.txt", fixture::FILES, vec![("path", "a/b c.txt")]),
    ];
    for revision in Revision::ALL {
        for (uri, handle, variables) in &cases {
            let mut talk = Talk::new(revision, &json!({}));
            assert_eq!(talk.ask("resources/read", &json!({"uri": uri})).text, "");
            assert_eq!(kind(&talk.script.calls[0].1), (*handle, *uri, variables.clone()), "{revision}");
            talk.script.done(read(vec![Contents::text("x")]));
            let sent = talk.script.received();
            assert_eq!(sent.one()["result"]["contents"][0]["uri"], *uri, "the concrete one");
        }
    }
}

#[test]
fn a_literal_with_a_blank_or_other_letters_is_read_as_it_is_listed_and_as_clients_encode_it_case_68() {
    let catalog =
        Catalog::builder().template(Template::new("doc:///my files/ü/{n}", "doc", Handle(5))).build().unwrap();
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        talk.script.view = View::all(catalog.clone());
        for uri in ["doc:///my%20files/%C3%BC/a%20b", "doc:///my files/ü/a b"] {
            assert_eq!(talk.ask("resources/read", &json!({"uri": uri})).text, "", "{uri}");
            let (_, call) = talk.script.calls.back().unwrap();
            assert_eq!(kind(call), (Handle(5), uri, vec![("n", "a b")]));
            talk.script.done(read(vec![Contents::text("x")]));
            let sent = talk.script.received();
            assert_eq!(sent.one()["result"]["contents"][0]["uri"], "doc:///my%20files/%C3%BC/a%20b", "a URI");
        }
        let listed = talk.result("resources/templates/list", &json!({}));
        assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], "doc:///my%20files/%C3%BC/{n}");
    }
}

#[test]
fn an_unknown_uri_is_told_by_era_with_the_uri_as_it_came_res_5_res_12_err_2_shim_3_http_41_matrix_24() {
    let strange = [
        "NOTES://today",
        "notes://today/",
        "notes://",
        "files:///root/../etc/passwd",
        "a",
        "",
        "x://\u{202E}\"\\\n\u{1}é😀",
        "notes://%zz",
        "{",
    ];
    for revision in Revision::ALL {
        for uri in strange {
            let params = json!({"uri": uri});
            let sent = Talk::new(revision, &json!({})).ask("resources/read", &params);
            assert_eq!(sent.code(), not_found(revision), "{revision} {uri:?}");
            assert_eq!(sent.one()["error"]["data"], json!({"uri": uri}), "{revision}");
            let sent = Web::new(revision, &json!({})).ask("resources/read", &params);
            assert_eq!((sent.status(), sent.code()), (200, not_found(revision)), "{revision} {uri:?}");
            assert_eq!(sent.one()["error"]["data"], json!({"uri": uri}), "{revision}");
            let message = sent.one()["error"]["message"].as_str().unwrap();
            assert!(!message.contains(['\u{202E}', '\n', '\u{1}']), "what is quoted is made safe");
        }
    }
}

#[test]
fn a_huge_uri_does_not_come_back_whole_res_5() {
    for (length, tail) in [(2047, "é"), (2048, "é"), (9000, ""), (1_000_000, "é")] {
        let uri = format!("x{}{tail}", "y".repeat(length - 1));
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            let sent = Talk::new(revision, &json!({})).ask("resources/read", &json!({"uri": uri}));
            assert_eq!(sent.code(), not_found(revision));
            let echoed = sent.one()["error"]["data"]["uri"].as_str().unwrap();
            assert_eq!(echoed, uri.chars().take(2048).collect::<String>());
            assert!(sent.text.len() < 4000);
        }
    }
}

#[test]
fn the_longest_uri_that_a_template_can_match_is_read_and_a_longer_one_is_unknown() {
    let uri = |length: usize| format!("notes://{}", "n".repeat(length - 8));
    let mut talk = Talk::new(Revision::MODERN, &json!({}));
    assert_eq!(talk.ask("resources/read", &json!({"uri": uri(8192)})).text, "");
    assert_eq!(kind(&talk.script.calls[0].1).0, fixture::NOTES);
    assert_eq!(talk.ask("resources/read", &json!({"uri": uri(8193)})).code(), -32602);
}

#[test]
fn a_uri_that_is_no_string_is_a_wrong_parameter_in_every_revision_res_6_http_11_http_41() {
    for revision in Revision::ALL {
        for params in [json!({}), json!({"uri": null}), json!({"uri": 5}), json!({"uri": ["notes://today"]})] {
            let sent = Talk::new(revision, &json!({})).ask("resources/read", &params);
            assert_eq!(sent.code(), -32602, "{revision} {params}");
            assert!(sent.one()["error"]["message"].as_str().unwrap().contains("`params.uri`"));
            let sent = Web::new(revision, &json!({})).ask("resources/read", &params);
            assert_eq!((sent.status(), sent.code()), (200, -32602), "{revision} {params}");
        }
    }
}

#[test]
fn a_hidden_resource_is_as_unknown_as_any_other_res_5() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        talk.script.view = View::only(fixture::catalog(), |item| item.key() != "notes://today");
        let hidden = talk.ask("resources/read", &json!({"uri": "notes://today"}));
        let unknown = talk.ask("resources/read", &json!({"uri": "other://today"}));
        let blank = |text: &str| text.replace("notes", "other");
        assert_eq!(blank(&hidden.one()["error"].to_string()), unknown.one()["error"].to_string());
    }
}

#[test]
fn no_contents_are_the_servers_fault_and_not_an_empty_result_res_5_res_6() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let answer = talk.run("resources/read", &json!({"uri": "notes://today"}), read(Vec::new()));
        assert_eq!(answer["error"]["code"], -32603, "{revision}");
    }
}

#[test]
fn an_answer_of_another_kind_or_with_meta_that_is_no_json_is_the_servers_fault_base_5() {
    let mut broken = ResourceAnswer::new(vec![Contents::text("x")]);
    broken.meta = Some("{".into());
    let answers = [Answer::Resource(broken), Answer::Prompt(PromptAnswer::default())];
    for revision in Revision::ALL {
        for answer in answers.clone() {
            let mut talk = Talk::new(revision, &json!({}));
            let answer = talk.run("resources/read", &json!({"uri": "notes://today"}), Outcome::Complete(answer));
            assert_eq!((&answer["error"]["code"], answer.get("result")), (&json!(-32603), None), "{revision}");
        }
    }
}

#[test]
fn what_a_handler_says_is_sent_in_the_codes_of_the_era_res_5_res_6_err_2_shim_3_shim_4() {
    /// A handler, and the code and status of what it says in legacy and on modern.
    type Case = (fn(&Call) -> Outcome, (i64, u16), (i64, u16));
    let cases: [Case; 5] = [
        (|_| Outcome::Fail(Fault::resource_not_found("notes://today")), (-32002, 200), (-32602, 200)),
        (|_| Outcome::Fail(Fault::internal("The disk is broken")), (-32603, 200), (-32603, 200)),
        (|_| Outcome::Fail(Fault::invalid_params("No such line")), (-32602, 200), (-32602, 200)),
        (
            |_| Outcome::Fail(Fault::new(Code::application(403).unwrap(), "Not yours").with_status(403)),
            (403, 403),
            (403, 403),
        ),
        (
            |_| {
                let data = r#"{"requiredCapabilities":{"sampling":{}}}"#;
                Outcome::Fail(Fault::new(Code::MISSING_CAPABILITY, "Sampling is needed").with_data(data))
            },
            (-32602, 200),
            (-32021, 400),
        ),
    ];
    let params = json!({"uri": "notes://today"});
    for revision in Revision::ALL {
        for (handler, old, new) in cases {
            let (code, status) = if revision == Revision::MODERN { new } else { old };
            let mut web = Web::new(revision, &json!({}));
            web.site.answer = Some(handler);
            let sent = web.ask("resources/read", &params);
            assert_eq!((sent.code(), sent.status()), (code, status), "{revision}");
            let mut talk = Talk::new(revision, &json!({}));
            talk.ask("resources/read", &params);
            let outcome = handler(&talk.script.calls[0].1);
            talk.script.done(outcome);
            assert_eq!(talk.script.received().one()["error"], sent.one()["error"], "{revision}");
        }
    }
}

#[test]
fn mcp_name_is_the_uri_also_in_base64_hdr_3_hdr_4_hdr_5_hdr_7() {
    let name = "notes://%C3%A9é";
    let message = fixture::modern(1, "resources/read", &json!({"uri": name}), &json!({}));
    let post = |message: &Value, names: &[&str]| {
        let mut web = Web::new(Revision::MODERN, &json!({}));
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "resources/read")];
        headers.extend(names.iter().map(|name| ("mcp-name", *name)));
        let sent = web.site.post(message, &headers);
        (sent.status(), sent.code())
    };
    let encoded = mcp_core::headers::encode(name);
    assert!(encoded.starts_with("=?base64?"));
    assert_eq!(post(&message, &[&encoded]), (200, 0));
    assert_eq!(post(&message, &[&encoded, &encoded]), (200, 0), "identical copies count as one");
    assert_eq!(post(&message, &[name]), (400, -32020), "raw UTF-8 is no header value");
    assert_eq!(post(&message, &["notes://%C3%A9%C3%A9"]), (400, -32020), "compared raw");
    assert_eq!(post(&message, &[]), (400, -32020));
    assert_eq!(post(&message, &[&encoded, "notes://x"]), (400, -32020));
    let nameless = fixture::modern(1, "resources/read", &json!({}), &json!({}));
    assert_eq!(post(&nameless, &["notes://x"]), (400, -32020));
    assert_eq!(post(&nameless, &[]), (200, -32602));
    let plain = fixture::modern(1, "resources/read", &json!({"uri": "notes://today"}), &json!({}));
    assert_eq!(post(&plain, &["notes://today"]), (200, 0));
    assert_eq!(post(&plain, &["Notes://today"]), (400, -32020));
    // The mirror comes before the method in the order of checks, and names are no business of other methods.
    let list = fixture::modern(1, "resources/list", &json!({}), &json!({}));
    let mut web = Web::new(Revision::MODERN, &json!({}));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "resources/list"), ("mcp-name", "x")];
    assert_eq!(web.site.post(&list, &headers).status(), 200);
    let bare = Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).tools(false).build().unwrap();
    let mut web = Web::with(bare, Revision::MODERN, &json!({}));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "resources/read"), ("mcp-name", "x")];
    assert_eq!(web.site.post(&plain, &headers).code(), -32020, "VER-20");
}

#[test]
fn legacy_needs_and_checks_no_mirror_hdr_13() {
    for revision in Revision::ALL.into_iter().filter(|revision| *revision != Revision::MODERN) {
        let mut web = Web::new(revision, &json!({}));
        let session = web.site.open(revision, &json!({})).encode();
        let message = fixture::request(1, "resources/read", &json!({"uri": "notes://today"}));
        for name in [None, Some("notes://other")] {
            let mut headers = vec![("mcp-session-id", &*session)];
            headers.extend(name.map(|name| ("mcp-name", name)));
            assert_eq!(web.site.post(&message, &headers).status(), 200);
        }
    }
}

fn ask() -> Outcome {
    let schema = r#"{"type":"object","properties":{"n":{"type":"string"}}}"#;
    let form = Question::Form { message: "Which?".into(), schema: schema.into() };
    Outcome::Ask { questions: vec![("which".into(), form)], state: "half".into() }
}

#[test]
fn a_read_may_ask_and_its_state_is_good_for_its_uri_alone_mrtr_1_mrtr_5_mrtr_9_mrtr_16_cache_2() {
    let able = json!({"elicitation": {}});
    let mut talk = Talk::new(Revision::MODERN, &able);
    let asked = talk.run("resources/read", &json!({"uri": "notes://a"}), ask());
    let result = &asked["result"];
    assert_eq!(members(result), ["_meta", "inputRequests", "requestState", "resultType"]);
    assert_eq!(result["inputRequests"]["which"]["method"], "elicitation/create");
    let retry = |uri: &str| {
        json!({"uri": uri, "requestState": result["requestState"],
            "inputResponses": {"which": {"action": "accept", "content": {"n": "x"}}}})
    };
    for other in ["notes://b", "notes://A", "notes://%61", "notes://today", "files:///a"] {
        assert_eq!(talk.ask("resources/read", &retry(other)).code(), -32602, "{other}");
    }
    let mut moved = retry("notes://a");
    moved["name"] = json!("notes://a");
    assert_eq!(talk.ask("prompts/get", &moved).code(), -32602);
    assert_eq!(talk.ask("resources/read", &retry("notes://a")).text, "");
    let resume = talk.script.calls[0].1.resume.as_ref().expect("it is a retry");
    assert_eq!(&resume.state[..], b"half");
    assert!(fixture::reply(Some(&resume.replies[0].1)).contains("accept"));
    let mut kept = ResourceAnswer::new(vec![Contents::text("x")]);
    kept.caching = Caching::public(Span::secs(60)).into();
    let kept = Outcome::Complete(Answer::Resource(kept));
    talk.script.done(kept.clone());
    let sent = talk.script.received();
    assert_eq!((&sent.one()["result"]["ttlMs"], &sent.one()["result"]["cacheScope"]), (&json!(0), &json!("private")));
    // Read without a question it is as its handler says.
    let whole = talk.run("resources/read", &json!({"uri": "notes://a"}), kept);
    assert_eq!((&whole["result"]["ttlMs"], &whole["result"]["cacheScope"]), (&json!(60_000), &json!("public")));
}

#[test]
fn a_legacy_read_asks_on_its_stream_mrtr_15_shim_5() {
    let mut talk = Talk::new(Revision::V2025_11_25, &json!({"elicitation": {}}));
    let asked = talk.run("resources/read", &json!({"uri": "notes://a"}), ask());
    assert_eq!(asked["method"], "elicitation/create");
    let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}});
    assert_eq!(talk.script.send(&reply).text, "");
    let (_, call) = &talk.script.calls[0];
    assert_eq!(kind(call), (fixture::NOTES, "notes://a", vec![("id", "a")]), "the same call once more");
    talk.script.done(read(vec![Contents::text("x")]));
    assert!(talk.script.received().one()["result"]["contents"].is_array());
}

#[test]
fn links_and_embedded_resources_in_a_tools_answer_are_those_of_the_revision_tool_18_shim_1() {
    use mcp_core::answer::{Block, Link, ToolAnswer};
    for revision in Revision::ALL {
        let mut link = Link::new("notes://today", "today");
        link.size = Some(5);
        let link = Content::from(Block::Link(Box::new(link))).annotated(fixture::hints());
        let blob = Content::resource_bytes("notes://logo.png", "image/png", vec![1, 2]);
        let answer = Outcome::Complete(Answer::Tool(ToolAnswer::blocks(vec![link, blob])));
        let answer = Talk::new(revision, &json!({})).run("tools/call", &json!({"name": "echo"}), answer);
        let [link, embedded] = answer["result"]["content"].as_array().unwrap().as_slice() else { panic!("{answer}") };
        let kind = if revision >= Revision::V2025_06_18 { "resource_link" } else { "text" };
        assert_eq!(link["type"], kind, "{revision}");
        let right = json!({"uri": "notes://logo.png", "mimeType": "image/png", "blob": "AQI="});
        assert_eq!(embedded, &json!({"type": "resource", "resource": right}));
    }
}
