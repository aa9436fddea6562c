//! Prompts: lists, arguments, messages, asking. Over byte streams and HTTP, in every revision.

use mcp_core::answer::{Answer, Block, Content, Link, PromptAnswer, PromptMessage, Role};
use mcp_core::catalog::{Catalog, Defect, Item, Prompt, PromptArgument};
use mcp_core::question::Question;
use mcp_core::{Call, Code, Endpoint, Fault, Handle, Kind, Outcome, Revision, View};
use serde_json::{Value, json};
use testkit::{Talk, Web, fixture};

fn messages(messages: Vec<PromptMessage>) -> Outcome {
    Outcome::Complete(Answer::Prompt(PromptAnswer::new(messages)))
}

fn says(role: Role, content: Content) -> PromptMessage {
    PromptMessage { role, content }
}

fn members(object: &Value) -> Vec<&str> {
    let mut members: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    members.sort_unstable();
    members
}

fn greeting() -> Value {
    json!({"name": "greet", "arguments": {"who": "Ann", "tone": "warm"}})
}

/// The arguments as the handler sees them.
fn arguments(call: &Call) -> Value {
    let Kind::Prompt { arguments, .. } = &call.kind else { panic!("not a prompt: {:?}", call.kind) };
    serde_json::from_slice(arguments).expect("arguments are JSON")
}

#[test]
fn a_prompt_is_listed_with_the_members_that_the_revision_knows_prompt_1_base_12_base_13_cache_1() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let result = talk.result("prompts/list", &json!({}));
        let modern = ["_meta", "cacheScope", "prompts", "resultType", "ttlMs"];
        let right: &[&str] = if revision == Revision::MODERN { &modern } else { &["prompts"] };
        assert_eq!(members(&result), right, "{revision}");
        let [full, bare] = result["prompts"].as_array().unwrap().as_slice() else { panic!("{result}") };
        let mut right = vec!["name", "description", "arguments"];
        right.extend((revision >= Revision::V2025_06_18).then_some(["title", "_meta"]).into_iter().flatten());
        right.extend((revision >= Revision::V2025_11_25).then_some("icons"));
        right.sort_unstable();
        assert_eq!(members(full), right, "{revision}");
        let mut who = json!({"name": "who", "description": "A name", "required": true});
        if revision >= Revision::V2025_06_18 {
            who["title"] = json!("Who");
        }
        assert_eq!(full["arguments"], json!([who, {"name": "tone", "required": true}, {"name": "lang"}]));
        assert_eq!(bare, &json!({"name": "plain"}), "case 48: what is not there is not null");
    }
}

#[test]
fn without_the_capability_there_is_no_such_method_base_8_base_9_life_12_http_11_http_41() {
    let endpoint = || Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).tools(true).build().unwrap();
    for revision in Revision::ALL {
        for method in ["prompts/list", "prompts/get"] {
            assert_eq!(Talk::with(endpoint(), revision, &json!({})).ask(method, &greeting()).code(), -32601);
            let sent = Web::with(endpoint(), revision, &json!({})).ask(method, &greeting());
            let status = if revision == Revision::MODERN { 404 } else { 200 };
            assert_eq!((sent.status(), sent.code()), (status, -32601), "{revision} {method}");
        }
    }
}

#[test]
fn a_server_without_prompts_that_offers_them_lists_none_base_9() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        talk.script.view = View::all(Catalog::builder().build().unwrap());
        assert_eq!(talk.result("prompts/list", &json!({}))["prompts"], json!([]));
    }
}

#[test]
fn a_message_holds_one_block_of_any_kind_that_the_revision_has_prompt_2_prompt_4_tool_18_shim_1() {
    let all = || {
        let mut link = Link::new("notes://today", "today");
        link.mime = Some("text/plain".into());
        let mut answer = PromptAnswer::new(vec![
            says(Role::User, Content::text("Hi").annotated(fixture::hints())),
            says(Role::Assistant, Content::image(vec![1], "image/png")),
            says(Role::User, Content::audio(vec![2], "audio/wav")),
            says(Role::User, Content::resource_text("notes://today", "text/plain", "x")),
            says(Role::User, Block::Link(Box::new(link)).into()),
        ]);
        answer.description = Some("A greeting".into());
        answer.meta = Some(r#"{"com.example/a":1}"#.into());
        Outcome::Complete(Answer::Prompt(answer))
    };
    for revision in Revision::ALL {
        let answer = Talk::new(revision, &json!({})).run("prompts/get", &greeting(), all());
        let result = &answer["result"];
        let modern = ["_meta", "description", "messages", "resultType"];
        let right: &[&str] = if revision == Revision::MODERN { &modern } else { &["_meta", "description", "messages"] };
        assert_eq!(members(result), right, "{revision}: CACHE-2");
        assert_eq!((&result["description"], &result["_meta"]["com.example/a"]), (&json!("A greeting"), &json!(1)));
        let sent = result["messages"].as_array().unwrap();
        assert!(sent.iter().all(|message| members(message) == ["content", "role"] && message["content"].is_object()));
        let kinds: Vec<&str> = sent.iter().map(|message| message["content"]["type"].as_str().unwrap()).collect();
        let audio = if revision >= Revision::V2025_03_26 { "audio" } else { "text" };
        let link = if revision >= Revision::V2025_06_18 { "resource_link" } else { "text" };
        assert_eq!(kinds, ["text", "image", audio, "resource", link], "{revision}");
        assert_eq!((&sent[0]["role"], &sent[1]["role"]), (&json!("user"), &json!("assistant")));
        assert_eq!(sent[1]["content"]["data"], "AQ==");
        let dated = sent[0]["content"]["annotations"].get("lastModified").is_some();
        assert_eq!(dated, revision >= Revision::V2025_06_18);
    }
}

#[test]
fn what_a_prompt_does_not_say_is_not_there_prompt_2_cache_2_case_48() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let answer = talk.run("prompts/get", &json!({"name": "plain"}), messages(Vec::new()));
        let right: &[&str] =
            if revision == Revision::MODERN { &["_meta", "messages", "resultType"] } else { &["messages"] };
        assert_eq!(members(&answer["result"]), right, "{revision}");
        assert_eq!(answer["result"]["messages"], json!([]));
    }
}

#[test]
fn an_unknown_or_hidden_prompt_is_a_wrong_parameter_and_tells_nothing_prompt_3_http_41() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        talk.script.view = View::only(fixture::catalog(), |item: Item<'_>| item.key() != "greet");
        let hidden = talk.ask("prompts/get", &greeting());
        let unknown = talk.ask("prompts/get", &json!({"name": "other"}));
        assert_eq!((hidden.code(), unknown.code()), (-32602, -32602), "{revision}");
        let hidden = hidden.one()["error"]["message"].as_str().unwrap().replace("greet", "other");
        assert_eq!(unknown.one()["error"]["message"], hidden);
        assert_eq!(talk.result("prompts/list", &json!({}))["prompts"], json!([{"name": "plain"}]));
        for params in [json!({}), json!({"name": null}), json!({"name": 5}), json!({"name": "Plain"})] {
            let sent = Web::new(revision, &json!({})).ask("prompts/get", &params);
            assert_eq!((sent.status(), sent.code()), (200, -32602), "{revision} {params}");
        }
    }
}

#[test]
fn what_is_required_and_missing_is_named_at_once_and_nothing_runs_prompt_3() {
    for revision in Revision::ALL {
        for (given, named) in [
            (json!({}), "Missing required arguments: who, tone"),
            (json!({"who": "a"}), "Missing required argument: tone"),
            (json!({"tone": "a", "who": null, "lang": "b"}), "Missing required argument: who"),
            (Value::Null, "Missing required arguments: who, tone"),
        ] {
            let mut talk = Talk::new(revision, &json!({}));
            let sent = talk.ask("prompts/get", &json!({"name": "greet", "arguments": given}));
            assert_eq!((sent.code(), &sent.one()["error"]["message"]), (-32602, &json!(named)), "{revision}");
            assert!(talk.script.calls.is_empty());
            let sent = Web::new(revision, &json!({})).ask("prompts/get", &json!({"name": "greet", "arguments": given}));
            assert_eq!((sent.status(), sent.code()), (200, -32602));
        }
        assert_eq!(Talk::new(revision, &json!({})).ask("prompts/get", &json!({"name": "greet"})).code(), -32602);
    }
}

#[test]
fn arguments_reach_the_handler_as_strings_and_as_they_came_prompt_2_prompt_6() {
    let strange = "\u{0}\n\u{202E}{{who}} </user> \\\" 😀";
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let given = json!({"who": strange, "tone": "", "lang": null, "more": "x"});
        assert_eq!(talk.ask("prompts/get", &json!({"name": "greet", "arguments": given})).text, "");
        let call = &talk.script.calls[0].1;
        assert_eq!(arguments(call), json!({"who": strange, "tone": "", "more": "x"}), "{revision}: null is absent");
        assert!(matches!(&call.kind, Kind::Prompt { prompt: fixture::GREET, name, .. } if **name == *"greet"));
        for absent in [json!({"name": "plain"}), json!({"name": "plain", "arguments": null})] {
            let mut talk = Talk::new(revision, &json!({}));
            assert_eq!(talk.ask("prompts/get", &absent).text, "");
            assert_eq!(arguments(&talk.script.calls[0].1), json!({}));
        }
    }
}

#[test]
fn an_argument_that_is_no_string_is_named_prompt_3() {
    for revision in Revision::ALL {
        for value in [json!(5), json!(true), json!({}), json!(["a"])] {
            let mut talk = Talk::new(revision, &json!({}));
            let sent = talk.ask("prompts/get", &json!({"name": "greet", "arguments": {"who": "a", "tone": value}}));
            assert_eq!(sent.code(), -32602, "{revision}");
            assert_eq!(sent.one()["error"]["message"], "`params.arguments.tone` must be a string");
        }
        for arguments in [json!([]), json!("who"), json!(5), json!(false)] {
            let mut talk = Talk::new(revision, &json!({}));
            let sent = talk.ask("prompts/get", &json!({"name": "plain", "arguments": arguments}));
            assert_eq!(sent.code(), -32602, "{revision}");
            assert_eq!(sent.one()["error"]["message"], "`params.arguments` must be an object of strings");
        }
    }
}

#[test]
fn an_argument_that_is_there_twice_is_refused() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"plain","arguments":{"a":"1","b":"2","\u0061":"3"}}}"#;
    let mut talk = Talk::new(Revision::V2025_11_25, &json!({}));
    let sent = talk.script.send_bytes(body.into(), None);
    assert_eq!(sent.one()["error"]["message"], "`params.arguments.a` is there twice");
}

#[test]
fn the_name_is_mirrored_in_a_header_on_modern_alone_hdr_3_hdr_4_hdr_5_hdr_13() {
    let catalog = Catalog::builder().prompt(Prompt::new("grüße an alle", Handle(9))).build().unwrap();
    let params = json!({"name": "grüße an alle"});
    let message = fixture::modern(1, "prompts/get", &params, &json!({}));
    let encoded = mcp_core::headers::encode("grüße an alle");
    for (name, right) in [(Some(&*encoded), (200, 0)), (Some("gruesse"), (400, -32020)), (None, (400, -32020))] {
        let mut web = Web::new(Revision::MODERN, &json!({}));
        web.site.view = View::all(catalog.clone());
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "prompts/get")];
        headers.extend(name.map(|name| ("mcp-name", name)));
        let sent = web.site.post(&message, &headers);
        assert_eq!((sent.status(), sent.code()), right, "{name:?}");
    }
    let mut web = Web::new(Revision::V2025_11_25, &json!({}));
    web.site.view = View::all(catalog);
    let session = web.site.open(Revision::V2025_11_25, &json!({})).encode();
    let message = fixture::request(1, "prompts/get", &params);
    let sent = web.site.post(&message, &[("mcp-session-id", &session), ("mcp-name", "other")]);
    assert_eq!((sent.status(), sent.code()), (200, 0));
}

#[test]
fn what_a_handler_says_is_sent_in_the_codes_of_the_era_prompt_3_err_2_shim_3_shim_4() {
    for revision in Revision::ALL {
        let modern = revision == Revision::MODERN;
        let missing = Fault::new(Code::MISSING_CAPABILITY, "Sampling is needed");
        let missing = missing.with_data(r#"{"requiredCapabilities":{"sampling":{}}}"#);
        for (fault, right) in [
            (Fault::internal("x"), -32603),
            (Fault::invalid_params("x"), -32602),
            (Fault::resource_not_found("a://b"), if modern { -32602 } else { -32002 }),
            (missing, if modern { -32021 } else { -32602 }),
        ] {
            let answer = Talk::new(revision, &json!({})).run("prompts/get", &greeting(), Outcome::Fail(fault));
            assert_eq!(answer["error"]["code"], right, "{revision}");
        }
        let other = Outcome::Complete(Answer::Complete(mcp_core::answer::Completion::default()));
        let answer = Talk::new(revision, &json!({})).run("prompts/get", &greeting(), other);
        assert_eq!(answer["error"]["code"], -32603, "an answer of another kind");
    }
}

fn ask() -> Outcome {
    let form = Question::Form { message: "Which?".into(), schema: r#"{"type":"object","properties":{}}"#.into() };
    Outcome::Ask { questions: vec![("which".into(), form)], state: "half".into() }
}

#[test]
fn a_prompt_may_ask_and_its_state_is_good_for_its_name_and_arguments_alone_mrtr_1_mrtr_5_mrtr_9_cache_2() {
    let mut talk = Talk::new(Revision::MODERN, &json!({"elicitation": {}}));
    let asked = talk.run("prompts/get", &greeting(), ask());
    assert_eq!(members(&asked["result"]), ["_meta", "inputRequests", "requestState", "resultType"]);
    let retry = |name: &str, arguments: &str| {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        json!({"name": name, "arguments": arguments, "requestState": asked["result"]["requestState"],
            "inputResponses": {"which": {"action": "accept", "content": {}}}})
    };
    for (name, arguments) in [
        ("greet", r#"{"who":"Bob","tone":"warm"}"#),
        ("greet", r#"{"who":"Ann","tone":"warm","lang":"de"}"#),
        ("plain", r#"{"who":"Ann","tone":"warm"}"#),
    ] {
        assert_eq!(talk.ask("prompts/get", &retry(name, arguments)).code(), -32602, "{name} {arguments}");
    }
    // Spelled otherwise, and with what counts as absent, it is the same request.
    let same = retry("greet", r#"{ "tone" : "w\u0061rm", "lang": null, "who": "Ann" }"#);
    assert_eq!(talk.ask("prompts/get", &same).text, "");
    let resume = talk.script.calls[0].1.resume.as_ref().expect("it is a retry");
    assert_eq!(&resume.state[..], b"half");
    talk.script.done(messages(vec![says(Role::User, Content::text("x"))]));
    assert_eq!(talk.script.received().one()["result"]["resultType"], "complete");
}

#[test]
fn another_principal_does_not_open_the_state_of_a_prompt_mrtr_8_mrtr_9() {
    let mut web = Web::new(Revision::MODERN, &json!({"elicitation": {}}));
    web.site.caller = mcp_core::Caller::new("ann", mcp_core::Scopes::default());
    web.site.answer = Some(|_| ask());
    let asked = web.ask("prompts/get", &greeting());
    let mut retry = greeting();
    retry["requestState"] = asked.one()["result"]["requestState"].clone();
    web.site.answer = Some(testkit::done);
    web.site.caller = mcp_core::Caller::new("bob", mcp_core::Scopes::default());
    let sent = web.ask("prompts/get", &retry);
    assert_eq!((sent.status(), sent.code()), (200, -32602));
    web.site.caller = mcp_core::Caller::new("ann", mcp_core::Scopes::default());
    assert_eq!(web.ask("prompts/get", &retry).code(), 0);
}

#[test]
fn a_legacy_prompt_asks_on_its_stream_mrtr_15_shim_5() {
    let mut talk = Talk::new(Revision::V2025_11_25, &json!({"elicitation": {}}));
    let asked = talk.run("prompts/get", &greeting(), ask());
    assert_eq!(asked["method"], "elicitation/create");
    let reply = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}});
    assert_eq!(talk.script.send(&reply).text, "");
    assert_eq!(arguments(&talk.script.calls[0].1), json!({"who": "Ann", "tone": "warm"}));
    talk.script.done(messages(Vec::new()));
    assert!(talk.script.received().one()["result"]["messages"].is_array());
}

fn defects(prompt: Prompt) -> Vec<Defect> {
    Catalog::builder().prompt(prompt).build().err().unwrap_or_default()
}

#[test]
fn what_is_wrong_with_a_prompt_is_said_at_registration_prompt_1() {
    let prompt = |name: &str| Prompt::new(name, Handle(1));
    for good in ["a", "a b", "grüße", &"x".repeat(128)] {
        assert_eq!(defects(prompt(good)), [], "{good}");
    }
    for bad in ["", "a\nb", &"x".repeat(129)] {
        let found = defects(prompt(bad));
        assert!(found.len() == 1 && found[0].rule == "PROMPT-1", "{bad:?}: {found:?}");
    }
    let argument = PromptArgument::new;
    let found =
        defects(prompt("p").with_argument(argument("a")).with_argument(argument("")).with_argument(argument("a")));
    let found: Vec<&str> = found.iter().map(|defect| &*defect.message).collect();
    assert!(found.len() == 2 && found[0].contains("empty") && found[1].contains("`a` is there twice"), "{found:?}");
    assert_eq!(defects(prompt("p").with_meta(r#"{"dev.mcp/x":1}"#))[0].rule, "BASE-21");
    let twice = Catalog::builder().prompt(prompt("p")).prompt(prompt("P")).prompt(prompt("p")).build().unwrap_err();
    assert_eq!((twice.len(), twice[0].rule), (1, "PROMPT-1"));
}
