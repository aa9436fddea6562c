//! Completions: what may be asked for, what the handler gets, how much is sent. In every revision.

use std::collections::BTreeSet;

use mcp_core::answer::{Answer, Completion};
use mcp_core::catalog::{Catalog, Item, Prompt, PromptArgument, Template};
use mcp_core::question::{Question, Response};
use mcp_core::{Call, Completes, Endpoint, Fault, Handle, Kind, Outcome, Revision, View};
use serde_json::{Value, json};
use testkit::{Talk, Web, fixture};

const METHOD: &str = "completion/complete";

fn of_prompt(prompt: &str, argument: &str) -> Value {
    json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": argument, "value": "a"}})
}

fn of_template(uri: &str, variable: &str) -> Value {
    json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": variable, "value": "a"}})
}

fn proposals(count: usize) -> Completion {
    Completion::new((0..count).map(|n| format!("v{n}")).collect())
}

fn proposed(revision: Revision, completion: Completion) -> Value {
    let outcome = Outcome::Complete(Answer::Complete(completion));
    Talk::new(revision, &json!({})).run(METHOD, &of_prompt("greet", "who"), outcome)["result"].clone()
}

/// What the handler is asked, in short: which, what, the value, the context.
fn asked(call: &Call) -> (Handle, &str, &str, &str, Value) {
    let Kind::Complete { of, argument, value, context } = &call.kind else { panic!("{:?}", call.kind) };
    let (handle, of) = match of {
        Completes::Prompt { prompt, name } => (*prompt, &**name),
        Completes::Template { template, uri } => (*template, &**uri),
    };
    (handle, of, argument, value, serde_json::from_slice(context).expect("the context is JSON"))
}

#[test]
fn what_there_is_comes_in_order_with_its_number_comp_1_base_12_base_13_cache_2() {
    for revision in Revision::ALL {
        let result = proposed(revision, proposals(3));
        let right = json!({"values": ["v0", "v1", "v2"], "total": 3, "hasMore": false});
        assert_eq!(result["completion"], right, "{revision}");
        // In whichever order a build's `serde_json` keeps them.
        let members: BTreeSet<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
        let right: &[&str] =
            if revision == Revision::MODERN { &["_meta", "completion", "resultType"] } else { &["completion"] };
        assert_eq!(members, right.iter().copied().collect(), "{revision}");
    }
}

#[test]
fn the_first_hundred_of_150_are_sent_and_that_there_are_more_comp_1_comp_3_case_66() {
    for revision in Revision::ALL {
        let result = proposed(revision, proposals(150));
        let completion = &result["completion"];
        let values = completion["values"].as_array().unwrap();
        assert_eq!((values.len(), &values[99]), (100, &json!("v99")), "{revision}");
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
        let completion = &proposed(revision, proposals(100))["completion"];
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(100), &json!(false)));
    }
}

#[test]
fn what_a_completer_says_of_the_rest_is_told_and_never_contradicts_what_is_sent_comp_3() {
    let case = |count: usize, total: Option<u64>, has_more: bool| {
        let mut completion = proposals(count);
        (completion.total, completion.has_more) = (total, has_more);
        let completion = proposed(Revision::MODERN, completion)["completion"].clone();
        (completion.get("total").and_then(Value::as_u64), completion["hasMore"].as_bool().unwrap())
    };
    assert_eq!(case(2, Some(500), true), (Some(500), true));
    assert_eq!(case(2, None, true), (None, true), "how many, is not known");
    assert_eq!(case(2, Some(500), false), (Some(500), true));
    assert_eq!(case(150, None, true), (None, true));
    assert_eq!(case(150, Some(3), false), (Some(150), true));
    assert_eq!(case(3, Some(0), false), (Some(3), false));
    assert_eq!(case(0, Some(0), false), (Some(0), false));
    assert_eq!(case(0, Some(u64::MAX), true), (None, true), "no number that a client can hold");
}

#[test]
fn the_handler_gets_what_is_completed_the_value_and_the_context_comp_1_case_66() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let mut ask = |params: &Value, handle, of: &str, argument: &str, context: Value| {
            assert_eq!(talk.ask(METHOD, params).text, "", "{params}");
            let (_, call) = talk.script.calls.back().unwrap();
            assert_eq!(asked(call), (handle, of, argument, "a", context), "{revision} {params}");
        };
        ask(&of_prompt("greet", "who"), fixture::GREET, "greet", "who", json!({}));
        for uri in ["notes://{id}", "notes://x", "notes://a%2Fb"] {
            ask(&of_template(uri, "id"), fixture::NOTES, "notes://{id}", "id", json!({}));
        }
        for (context, seen) in [
            (json!({"arguments": {"tone": "warm\n", "lang": null}}), json!({"tone": "warm\n"})),
            (json!({"arguments": {}}), json!({})),
            (json!({"arguments": null}), json!({})),
            (json!({"other": 5}), json!({})),
            (Value::Null, json!({})),
        ] {
            let mut params = of_prompt("greet", "who");
            params["context"] = context;
            params["ref"]["title"] = json!("ignored");
            ask(&params, fixture::GREET, "greet", "who", seen);
        }
    }
}

#[test]
fn what_nobody_completes_is_answered_empty_at_once_comp_3() {
    for revision in Revision::ALL {
        for params in [of_prompt("greet", "tone"), of_prompt("greet", "lang"), of_template("files:///{+path}", "path")]
        {
            let mut talk = Talk::new(revision, &json!({}));
            let result = talk.result(METHOD, &params);
            assert_eq!(result["completion"], json!({"values": [], "total": 0, "hasMore": false}), "{revision}");
            assert_eq!(result.get("resultType").is_some(), revision == Revision::MODERN);
            assert!(talk.script.calls.is_empty());
            let sent = Web::new(revision, &json!({})).ask(METHOD, &params);
            assert_eq!((sent.status(), &sent.one()["result"]["completion"]["values"]), (200, &json!([])));
        }
    }
}

#[test]
fn an_unknown_reference_or_argument_is_a_wrong_parameter_comp_3_comp_4_http_11_http_41_case_66() {
    let argument = json!({"name": "who", "value": ""});
    let with = |reference: Value| json!({"ref": reference, "argument": argument});
    let strange = [
        of_prompt("nope", "who"),
        of_prompt("greet", "nope"),
        of_prompt("plain", "who"),
        of_template("nope://{id}", "id"),
        of_template("notes://{id}", "nope"),
        of_template("notes://{other}", "other"),
        of_template("notes://today", "id"),
        with(json!({"type": "ref/tool", "name": "echo"})),
        with(json!({"type": "REF/PROMPT", "name": "greet"})),
        with(json!({"name": "greet"})),
        with(json!({"type": "ref/prompt"})),
        with(json!({"type": "ref/prompt", "name": 5})),
        with(json!({"type": "ref/resource"})),
        with(json!("greet")),
        with(Value::Null),
        json!({"argument": argument}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who"}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": 5}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": null, "value": ""}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": []}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument, "context": []}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument, "context": {"arguments": []}}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument,
            "context": {"arguments": {"tone": 5}}}),
    ];
    for revision in Revision::ALL {
        for params in &strange {
            let mut talk = Talk::new(revision, &json!({}));
            let sent = talk.ask(METHOD, params);
            assert_eq!(sent.code(), -32602, "{revision} {params}");
            assert!(talk.script.calls.is_empty());
            let sent = Web::new(revision, &json!({})).ask(METHOD, params);
            assert_eq!((sent.status(), sent.code()), (200, -32602), "{revision} {params}");
        }
    }
}

#[test]
fn what_a_caller_may_not_see_is_not_completed_comp_4() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let hidden = |item: Item<'_>| !matches!(item.key(), "greet" | "notes://{id}");
        talk.script.view = View::only(fixture::catalog(), hidden);
        for (hidden, unknown, from) in [
            (of_prompt("greet", "who"), of_prompt("other", "who"), "greet"),
            (of_template("notes://{id}", "id"), of_template("other://{id}", "id"), "notes"),
            (of_template("notes://x", "id"), of_template("other://x", "id"), "notes"),
        ] {
            let hidden = talk.ask(METHOD, &hidden).one()["error"].to_string().replace(from, "other");
            assert_eq!(talk.ask(METHOD, &unknown).one()["error"].to_string(), hidden, "{revision}");
        }
    }
}

#[test]
fn without_completions_there_is_no_such_method_comp_2_base_8_base_9_http_41() {
    let endpoint = || {
        let who = mcp_core::answer::Implementation::new("s", "1");
        Endpoint::builder(who).prompts(false).resources(false, false).build().unwrap()
    };
    for revision in Revision::ALL {
        let sent = Web::with(endpoint(), revision, &json!({})).ask(METHOD, &of_prompt("greet", "who"));
        let status = if revision == Revision::MODERN { 404 } else { 200 };
        assert_eq!((sent.status(), sent.code()), (status, -32601), "{revision}");
        let mut talk = Talk::with(endpoint(), revision, &json!({}));
        assert_eq!(talk.ask(METHOD, &of_prompt("greet", "who")).code(), -32601);
    }
}

#[test]
fn the_capability_has_a_name_since_2025_03_26_and_the_method_works_before_it_comp_2_life_12() {
    for revision in Revision::ALL {
        let capabilities = if revision == Revision::MODERN {
            Talk::new(revision, &json!({})).result("server/discover", &json!({}))["capabilities"].clone()
        } else {
            let mut web = Web::new(revision, &json!({}));
            let sent = web.site.post(&fixture::initialize(revision.as_str(), &json!({})), &[]);
            sent.one()["result"]["capabilities"].clone()
        };
        assert_eq!(capabilities.get("completions").is_some(), revision > Revision::V2024_11_05, "{revision}");
        assert!(capabilities["prompts"].is_object() && capabilities["resources"].is_object());
    }
    assert_eq!(proposed(Revision::V2024_11_05, proposals(1))["completion"]["values"], json!(["v0"]));
}

#[test]
fn a_completion_that_fails_or_answers_otherwise_is_the_servers_fault_comp_3() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let params = of_prompt("greet", "who");
        let answer = talk.run(METHOD, &params, Outcome::Fail(Fault::internal("x")));
        assert_eq!(answer["error"]["code"], -32603);
        let answer = talk.run(METHOD, &params, Outcome::Complete(Answer::Extension("{}".into())));
        assert_eq!(answer["error"]["code"], -32603);
    }
}

#[test]
fn a_completion_never_asks_its_client_on_modern_mrtr_1() {
    let mut talk = Talk::new(Revision::MODERN, &json!({"elicitation": {}}));
    let mut params = of_prompt("greet", "who");
    // What a retry would bring means nothing here.
    params["requestState"] = json!("forged");
    params["inputResponses"] = json!(5);
    assert_eq!(talk.ask(METHOD, &params).text, "");
    assert!(talk.script.calls[0].1.resume.is_none());
    let form = Question::Form { message: "?".into(), schema: r#"{"type":"object","properties":{}}"#.into() };
    talk.script.done(Outcome::Ask { questions: vec![("k".into(), form)], state: "s".into() });
    assert_eq!(talk.script.received().text, "");
    let resume = talk.script.calls[0].1.resume.as_ref().expect("it runs again");
    assert_eq!(resume.replies[0].1, Response::Unsupported);
    talk.script.done(Outcome::Complete(Answer::Complete(proposals(1))));
    assert_eq!(talk.script.received().one()["result"]["completion"]["values"], json!(["v0"]));
}

#[test]
fn the_first_template_that_matches_is_the_one_that_completes_res_11() {
    let template = |uri: &str, handle| Template::new(uri, "n", Handle(handle)).completes("v");
    let catalog = Catalog::builder().template(template("a://{v}", 1)).template(template("a://{+v}", 2));
    let catalog = catalog.prompt(Prompt::new("p", Handle(3)).with_argument(PromptArgument::new("v").completes()));
    let view = View::all(catalog.build().unwrap());
    for (uri, handle) in [("a://{v}", 1), ("a://{+v}", 2), ("a://b", 1), ("a://b/c", 2)] {
        let mut talk = Talk::new(Revision::MODERN, &json!({}));
        talk.script.view = view.clone();
        assert_eq!(talk.ask(METHOD, &of_template(uri, "v")).text, "");
        assert_eq!(asked(&talk.script.calls[0].1).0, Handle(handle), "{uri}");
    }
}
