//! One modern request: what it is judged by, and in which order (VER, BASE, HDR, TOOL, EXT).

use std::sync::Arc;

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::catalog::{Catalog, Tool};
use mcp_core::{
    Ability, Capabilities, Endpoint, Exchange, ExtensionDecl, Handle, Kind, MachineId, Outcome, Pipe, Revision, Time,
    View,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, Site, fixture};

#[path = "exchange/asking.rs"]
mod asking;
#[path = "exchange/headers.rs"]
mod headers;
#[path = "exchange/order.rs"]
mod order;
#[path = "exchange/running.rs"]
mod running;

const NONE: &[(String, String)] = &[];

/// A machine for one request.
fn exchange(endpoint: &Arc<Endpoint>) -> Script<Exchange> {
    Script::new(Exchange::new(MachineId(7), Arc::clone(endpoint), Time(1_000_000)))
}

/// A call of `echo`.
fn echo(params: &Value) -> Value {
    call("echo", params, &json!({}))
}

fn call(tool: &str, params: &Value, capabilities: &Value) -> Value {
    let mut params = params.clone();
    params["name"] = json!(tool);
    fixture::modern(1, "tools/call", &params, capabilities)
}

/// A request that was sent; its call runs.
fn started(message: &Value) -> Script<Exchange> {
    started_on(&fixture::endpoint(), message)
}

fn started_on(endpoint: &Arc<Endpoint>, message: &Value) -> Script<Exchange> {
    let mut script = exchange(endpoint);
    let sent = script.send(message);
    assert_eq!((sent.reply.clone(), &*sent.text), (None, ""), "nothing is said before the call says something");
    assert_eq!(script.calls.len(), 1);
    script
}

/// What a request gets whose call, if there is one, answers `done`.
fn answered(message: &Value) -> Sent {
    answered_on(&fixture::endpoint(), message)
}

fn answered_on(endpoint: &Arc<Endpoint>, message: &Value) -> Sent {
    let mut script = exchange(endpoint);
    let sent = script.send(message);
    let Some((_, call)) = script.calls.front() else { return sent };
    let outcome = testkit::done(call);
    script.done(outcome);
    script.received()
}

/// `status code`, and a check that the answer is whole and for this request.
fn verdict(sent: &Sent) -> (u16, i64) {
    assert!(sent.ended, "{sent:?}");
    assert_eq!(sent.one()["id"], 1, "BASE-6: {}", sent.text);
    (sent.status(), sent.code())
}

fn text(words: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(words)))
}

fn server_info() -> Value {
    json!({"io.modelcontextprotocol/serverInfo": {"name": "fixture", "version": "1.0.0"}})
}

/// A tool that is to be called by a client with those abilities.
fn needing(needs: Capabilities) -> View {
    let schema = r#"{"type":"object"}"#;
    View::all(Catalog::builder().tool(Tool::new("echo", Handle(9), schema).with_needs(needs)).build().unwrap())
}

#[test]
fn each_request_is_judged_by_its_own_version_ver_1() {
    let endpoint = fixture::endpoint();
    let (mut a, mut b) = (exchange(&endpoint), exchange(&endpoint));
    let mut old = echo(&json!({}));
    old["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25");
    let refused = a.send(&old);
    assert_eq!(verdict(&refused), (400, -32022));
    b.send(&echo(&json!({})));
    b.done(text("served"));
    assert_eq!(b.received().one()["result"]["content"][0]["text"], "served");
}

#[test]
fn a_version_is_echoed_as_it_was_sent_ver_2() {
    for (version, echoed) in [("1900-01-01", "1900-01-01"), ("v\u{202E}9", "v\u{202E}9"), ("\"", "\"")] {
        let mut script = exchange(&fixture::endpoint());
        let mut message = echo(&json!({}));
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        // Over a transport whose headers mirror the body, whatever that takes.
        let sent = script.send_bytes(message.to_string().into(), None);
        assert_eq!(verdict(&sent), (400, -32022));
        assert_eq!(sent.one()["error"]["data"]["requested"], echoed);
        assert_eq!(sent.one()["error"]["data"]["supported"][0], "2026-07-28");
    }
}

#[test]
fn discover_says_all_that_is_served_ver_3_ext_1() {
    let sent = answered(&fixture::modern(1, "server/discover", &json!({}), &json!({})));
    assert_eq!(sent.status(), 200);
    assert_eq!(
        *sent.one(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"completions": {}, "logging": {}, "prompts": {"listChanged": true},
                "resources": {"listChanged": true}, "tools": {"listChanged": true}, "extensions": {"com.acme/work": {}}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": server_info(),
        }})
    );
    let endpoint = fixture::builder().instructions("Be kind").build().unwrap();
    let sent = answered_on(&endpoint, &fixture::modern(1, "server/discover", &json!({}), &json!({})));
    assert_eq!(sent.one()["result"]["instructions"], "Be kind");
}

#[test]
fn nothing_is_declared_that_was_not_asked_for_ext_3_dep_1() {
    let endpoint = Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).build().unwrap();
    let sent = answered_on(&endpoint, &fixture::modern(1, "server/discover", &json!({}), &json!({})));
    assert_eq!(sent.one()["result"]["capabilities"], json!({}));
}

#[test]
fn discover_is_checked_like_any_other_request_ver_4() {
    let discover = fixture::modern(1, "server/discover", &json!({}), &json!({}));
    let headers = fixture::headers(&discover);
    let check = |message: &Value| verdict(&exchange(&fixture::endpoint()).send_with(message, &headers));
    assert_eq!(check(&discover), (200, 0));
    let mut message = discover.clone();
    message["params"].as_object_mut().unwrap().remove("_meta");
    assert_eq!(check(&message), (400, -32602));
    let mut message = discover.clone();
    message["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(check(&message), (400, -32602));
    let mut message = discover.clone();
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    assert_eq!(check(&message), (400, -32020));
    assert_eq!(verdict(&exchange(&fixture::endpoint()).send(&message)), (400, -32022));
    assert_eq!(verdict(&exchange(&fixture::endpoint()).send_with(&discover, NONE)), (400, -32020));
}

#[test]
fn the_first_request_may_be_any_ver_5() {
    assert_eq!(verdict(&answered(&echo(&json!({})))), (200, 0));
    assert_eq!(verdict(&answered(&fixture::modern(1, "tools/list", &json!({}), &json!({})))), (200, 0));
}

#[test]
fn what_a_client_cannot_do_is_named_as_an_object_ver_6() {
    let elicitation = json!({"elicitation": {}});
    let work = Capabilities::none().with_extension("com.acme/work", "{}");
    for (needs, declared, missing) in [
        (Capabilities::none().with(Ability::Sampling), json!({}), json!({"sampling": {}})),
        (
            Capabilities::none().with(Ability::SamplingTools),
            json!({"sampling": {}}),
            json!({"sampling": {"tools": {}}}),
        ),
        (Capabilities::none().with(Ability::SamplingTools), json!({}), json!({"sampling": {"tools": {}}})),
        (Capabilities::none().with(Ability::Roots), json!({"roots": null}), json!({"roots": {}})),
        (Capabilities::none().with(Ability::ElicitationForm), json!({}), json!({"elicitation": {"form": {}}})),
        (
            Capabilities::none().with(Ability::ElicitationForm),
            json!({"elicitation": {"url": {}}}),
            json!({"elicitation": {"form": {}}}),
        ),
        (Capabilities::none().with(Ability::ElicitationUrl), elicitation.clone(), json!({"elicitation": {"url": {}}})),
        (
            Capabilities::none().with(Ability::ElicitationUrl).with(Ability::Roots),
            json!({}),
            json!({"roots": {}, "elicitation": {"url": {}}}),
        ),
        (work.clone(), json!({"extensions": {"com.acme/other": {}}}), json!({"extensions": {"com.acme/work": {}}})),
    ] {
        let mut script = exchange(&fixture::endpoint());
        script.view = needing(needs);
        let sent = script.send(&call("echo", &json!({}), &declared));
        assert_eq!(verdict(&sent), (400, -32021), "{declared}");
        assert_eq!(sent.one()["error"]["data"], json!({"requiredCapabilities": missing}));
        assert!(script.calls.is_empty());
    }
    for (needs, declared) in [
        (Capabilities::none().with(Ability::Sampling), json!({"sampling": {}})),
        (Capabilities::none().with(Ability::Sampling), json!({"sampling": {"tools": {}, "futureThing": 1}})),
        (Capabilities::none().with(Ability::ElicitationForm), elicitation),
        (Capabilities::none().with(Ability::ElicitationForm), json!({"elicitation": {"form": {}, "url": {}}})),
        (work, json!({"extensions": {"com.acme/work": {"a": 1}}})),
    ] {
        let mut script = exchange(&fixture::endpoint());
        script.view = needing(needs);
        script.send(&call("echo", &json!({}), &declared));
        assert_eq!(script.calls.len(), 1, "{declared}");
    }
}

#[test]
fn every_result_says_its_type_and_who_the_server_is_base_12_base_16() {
    let extension = json!({"extensions": {"com.acme/work": {}}});
    for message in [
        fixture::modern(1, "server/discover", &json!({}), &json!({})),
        fixture::modern(1, "tools/list", &json!({}), &json!({})),
        echo(&json!({})),
        fixture::modern(1, "acme/do", &json!({}), &extension),
    ] {
        let sent = answered(&message);
        let result = &sent.one()["result"];
        assert_eq!(result["resultType"], "complete", "{message}");
        assert_eq!(result["_meta"], server_info(), "{message}");
        assert!(result.get("serverInfo").is_none() && result.get("protocolVersion").is_none());
    }
    let mut failed = started(&echo(&json!({})));
    failed.done(Outcome::Complete(Answer::Tool(ToolAnswer::error("no"))));
    let sent = failed.received();
    assert_eq!((sent.status(), &sent.one()["result"]["isError"]), (200, &json!(true)));
    assert_eq!(sent.one()["result"]["resultType"], "complete");
    // Not on errors.
    let sent = answered(&call("nope", &json!({}), &json!({})));
    assert_eq!(sent.one()["error"].get("data"), None);
    assert_eq!(sent.one().get("_meta"), None);
}

#[test]
fn a_list_carries_the_hints_for_caches_and_a_call_does_not_cache_1_cache_2() {
    let list = answered(&fixture::modern(1, "tools/list", &json!({}), &json!({})));
    assert_eq!((&list.one()["result"]["ttlMs"], &list.one()["result"]["cacheScope"]), (&json!(0), &json!("private")));
    let names: Vec<&str> =
        list.one()["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["echo", "route", "sampler"]);
    assert!(list.one()["result"].get("nextCursor").is_none());
    let call = answered(&echo(&json!({})));
    assert!(call.one()["result"].get("ttlMs").is_none() && call.one()["result"].get("cacheScope").is_none());
}

#[test]
fn two_keys_of_the_meta_are_enough_and_any_others_reach_the_handler_base_14_base_22_base_23() {
    let mut message = echo(&json!({"arguments": {"message": "hi"}}));
    let script = started(&message);
    assert_eq!(script.calls[0].1.peer.info, None);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"futureThing": {"z": true}},
        "io.modelcontextprotocol/clientInfo": {"name": "n", "version": "1", "title": "N", "more": []},
        "traceparent": "malformed",
        "com.acme/x": {"a": 1},
    });
    message["params"]["_meta"] = meta.clone();
    message["params"]["foo"] = json!(1);
    let script = started(&message);
    let call = &script.calls[0].1;
    assert_eq!(serde_json::from_slice::<Value>(&call.meta).unwrap(), meta);
    assert_eq!(call.peer.info.as_ref().map(|info| (&*info.name, &*info.version)), Some(("n", "1")));
    assert_eq!(call.peer.revision, Revision::MODERN);
    assert!(call.peer.capabilities.is_empty());
    assert!(!call.progress);
}

#[test]
fn a_missing_or_wrong_key_is_400_and_named_base_15_log_4() {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    let right = fixture::modern(1, "tools/list", &json!({}), &json!({}));
    let headers = fixture::headers(&right);
    let check = |message: &Value| {
        let sent = exchange(&fixture::endpoint()).send_with(message, &headers);
        assert_eq!(verdict(&sent), (400, -32602), "{message}");
        sent.one()["error"].clone()
    };
    let mut message = right.clone();
    message.as_object_mut().unwrap().remove("params");
    let error = check(&message);
    assert!(error["message"].as_str().unwrap().contains(VERSION), "{error}");
    assert_eq!(error["data"]["supported"][0], "2026-07-28");
    for params in [json!({}), json!({"_meta": {}}), json!({"_meta": null}), json!({"_meta": []}), json!({"_meta": "x"})]
    {
        message["params"] = params;
        check(&message);
    }
    for (key, values) in [
        (VERSION, [json!(20_260_728), json!(null), json!(["2026-07-28"])]),
        (CAPABILITIES, [json!([]), json!(null), json!("{}")]),
        (
            "io.modelcontextprotocol/clientInfo",
            [json!("me"), json!({"name": "me"}), json!({"name": 1, "version": "1"})],
        ),
        ("io.modelcontextprotocol/logLevel", [json!("loud"), json!(3), json!("INFO")]),
        ("progressToken", [json!(1.5), json!({}), json!(true)]),
    ] {
        for value in values {
            let mut message = right.clone();
            message["params"]["_meta"][key] = value;
            let error = check(&message);
            assert!(error["message"].as_str().unwrap().contains(key), "{error}");
        }
    }
    for key in [VERSION, CAPABILITIES] {
        let mut message = right.clone();
        message["params"]["_meta"].as_object_mut().unwrap().remove(key);
        let error = check(&message);
        assert!(error["message"].as_str().unwrap().contains(key), "{error}");
    }
}

#[test]
fn an_id_comes_back_as_it_was_sent_base_2() {
    for id in ["7", "\"7\"", "-1", "0", "18446744073709551616", "\"\\u00e9\\n\"", "\"\""] {
        let message = echo(&json!({})).to_string().replace("\"id\":1", &format!("\"id\":{id}"));
        let mut script = exchange(&fixture::endpoint());
        script.send_bytes(message.into(), None);
        script.done(text("x"));
        let sent = script.received();
        assert!(sent.text.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":")), "{}", sent.text);
    }
}

#[test]
fn no_conclusion_is_drawn_from_an_earlier_request_base_18_base_3() {
    let endpoint = fixture::endpoint();
    let mut declared = echo(&json!({}));
    declared["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "sampling": {}});
    declared["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    declared["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "a", "version": "1"});
    let mut first = started_on(&endpoint, &declared);
    let second = started_on(&endpoint, &echo(&json!({})));
    assert!(first.calls[0].1.peer.capabilities.has(Ability::Sampling));
    assert!(second.calls[0].1.peer.capabilities.is_empty());
    assert_eq!(second.calls[0].1.peer.info, None);
    first.done(text("a"));
    // The same id again: it only has to differ from those in flight.
    assert_eq!(verdict(&answered_on(&endpoint, &call("sampler", &json!({}), &json!({})))), (400, -32021));
    assert_eq!(verdict(&answered_on(&endpoint, &echo(&json!({})))), (200, 0));
}

#[test]
fn a_body_that_is_no_request_runs_nothing_http_40_http_49_base_7() {
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    for body in [json!([echo(&json!({}))]), json!([]), response] {
        let mut script = exchange(&fixture::endpoint());
        let sent = script.send_with(&body, NONE);
        assert_eq!((sent.status(), sent.code(), sent.one().get("id")), (400, -32600, None), "{body}");
        assert!(script.closed && script.calls.is_empty());
    }
    let mut script = exchange(&fixture::endpoint());
    let sent = script.send_with(&json!({"jsonrpc": "2.0", "method": "tools/call", "params": {}}), NONE);
    assert_eq!((sent.reply.clone(), &*sent.text, sent.ended), (Some(mcp_core::Reply::ACCEPTED), "", true));
    assert!(script.closed && script.calls.is_empty());
}

#[test]
fn each_kind_of_trouble_has_its_status_http_41() {
    let request = |method: &str, params: Value| fixture::modern(1, method, &params, &json!({}));
    let plain = Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).build().unwrap();
    let served = fixture::endpoint();
    for (endpoint, message, right) in [
        (&served, request("tools/list", json!({})), (200, 0)),
        (&served, echo(&json!({})), (200, 0)),
        (&served, request("nope", json!({})), (404, -32601)),
        (&served, request("ping", json!({})), (404, -32601)),
        (&served, request("initialize", json!({})), (404, -32601)),
        (&served, request("logging/setLevel", json!({"level": "info"})), (404, -32601)),
        (&served, request("resources/subscribe", json!({"uri": "a://b"})), (404, -32601)),
        (&served, request("notifications/initialized", json!({})), (404, -32601)),
        (&served, request("resources/read", json!({"uri": "a://b"})), (200, -32602)),
        (&served, request("prompts/get", json!({"name": "p"})), (200, -32602)),
        (&served, request("completion/complete", json!({})), (200, -32602)),
        (&served, request("ui/initialize", json!({})), (404, -32601)),
        (&served, request("TOOLS/LIST", json!({})), (404, -32601)),
        (&plain, request("tools/list", json!({})), (404, -32601)),
        (&plain, request("tools/call", json!({"name": "echo"})), (404, -32601)),
        (&plain, request("resources/list", json!({})), (404, -32601)),
        (&plain, request("resources/templates/list", json!({})), (404, -32601)),
        (&plain, request("resources/read", json!({"uri": "a://b"})), (404, -32601)),
        (&plain, request("prompts/list", json!({})), (404, -32601)),
        (&plain, request("prompts/get", json!({"name": "p"})), (404, -32601)),
        (&plain, request("completion/complete", json!({})), (404, -32601)),
        (&plain, request("acme/do", json!({})), (404, -32601)),
        (&served, call("sampler", &json!({}), &json!({})), (400, -32021)),
        (&served, request("acme/do", json!({})), (400, -32021)),
        (&served, call("nope", &json!({}), &json!({})), (200, -32602)),
        (&served, request("tools/list", json!({"cursor": "garbage"})), (200, -32602)),
        (&served, request("tools/list", json!({"cursor": ""})), (200, -32602)),
        (&served, request("tools/list", json!({"cursor": 5})), (200, -32602)),
        (&served, request("tools/list", json!({"cursor": null})), (200, 0)),
    ] {
        let sent = answered_on(endpoint, &message);
        assert_eq!(verdict(&sent), right, "{message}");
        assert_eq!(sent.head().form, mcp_core::Form::Json);
    }
}

#[test]
fn arguments_are_an_object_or_absent_tool_6_case_41() {
    let schemaless = |params: Value| started(&echo(&params)).calls.pop_front().unwrap().1.kind;
    let seen = |kind: Kind| match kind {
        Kind::Tool { tool, name, arguments } => {
            (tool, name.to_string(), String::from_utf8_lossy(&arguments).into_owned())
        }
        other => panic!("{other:?}"),
    };
    let echo_of = |arguments: &str| (fixture::ECHO, "echo".to_owned(), arguments.to_owned());
    assert_eq!(seen(schemaless(json!({}))), echo_of("{}"));
    assert_eq!(seen(schemaless(json!({"arguments": null}))), echo_of("{}"));
    assert_eq!(seen(schemaless(json!({"arguments": {"message": "é"}}))), echo_of(r#"{"message":"é"}"#));
    for wrong in [json!([]), json!("{}"), json!(1), json!(true)] {
        let mut script = exchange(&fixture::endpoint());
        assert_eq!(verdict(&script.send(&echo(&json!({"arguments": wrong})))), (200, -32602), "{wrong}");
        assert!(script.calls.is_empty());
    }
    for name in [json!(5), json!(null), json!(["echo"])] {
        let sent = answered(&fixture::modern(1, "tools/call", &json!({"name": name}), &json!({})));
        assert_eq!(verdict(&sent), (200, -32602), "{name}");
    }
    assert_eq!(verdict(&answered(&fixture::modern(1, "tools/call", &json!({}), &json!({})))), (200, -32602));
}

#[test]
fn an_unknown_tool_and_a_hidden_one_are_the_same_tool_8_case_43() {
    let sent = answered(&call("nope", &json!({}), &json!({})));
    assert_eq!(sent.one()["error"], json!({"code": -32602, "message": "Unknown tool: nope"}));
    let mut script = exchange(&fixture::endpoint());
    script.view = View::only(fixture::catalog(), |item| item.key() != "sampler");
    // Not even what it needs of its client is told.
    let sent = script.send(&call("sampler", &json!({}), &json!({})));
    assert_eq!(sent.one()["error"], json!({"code": -32602, "message": "Unknown tool: sampler"}));
    let sent = answered(&call("a\u{202E}b\n", &json!({}), &json!({})));
    assert_eq!(sent.one()["error"]["message"], "Unknown tool: a\u{FFFD}b\u{FFFD}");
}

#[test]
fn an_extension_is_active_only_where_both_sides_declared_it_ext_2() {
    let declared = json!({"extensions": {"com.acme/work": {"depth": 2}}});
    let script = started(&fixture::modern(1, "acme/do", &json!({"x": 1}), &declared));
    let call = &script.calls[0].1;
    let Kind::Extension { method, params } = &call.kind else { panic!("{call:?}") };
    assert_eq!((&**method, serde_json::from_slice::<Value>(params).unwrap()["x"].clone()), ("acme/do", json!(1)));
    assert_eq!(call.peer.capabilities.extension("com.acme/work"), Some(r#"{"depth":2}"#));
    for undeclared in [json!({}), json!({"extensions": {}}), json!({"extensions": {"com.acme/work": null}})] {
        let sent = answered(&fixture::modern(1, "acme/do", &json!({}), &undeclared));
        assert_eq!(verdict(&sent), (400, -32021));
        let missing = json!({"requiredCapabilities": {"extensions": {"com.acme/work": {}}}});
        assert_eq!(sent.one()["error"]["data"], missing);
    }
}

#[test]
fn a_method_of_tasks_is_unknown_without_the_extension_and_refused_before_its_id_is_looked_at_a29_case_122() {
    let id = "io.modelcontextprotocol/tasks";
    let tasks = ExtensionDecl::new(id).with_method("tasks/get").with_method("tasks/cancel");
    let served = fixture::builder().extension(tasks).build().unwrap();
    let named = |name: &str, endpoint: &Arc<Endpoint>, method: &str, capabilities: &Value| {
        let message = fixture::modern(1, method, &json!({"taskId": "t"}), capabilities);
        let headers = [fixture::headers(&message), vec![("mcp-name".into(), name.into())]].concat();
        let mut script = exchange(endpoint);
        let sent = script.send_with(&message, &headers);
        (sent.reply.is_some().then(|| verdict(&sent)), script.calls.len())
    };
    let get = |endpoint: &Arc<Endpoint>, method: &str, capabilities: &Value| named("t", endpoint, method, capabilities);
    assert_eq!(get(&fixture::endpoint(), "tasks/get", &json!({"extensions": {id: {}}})), (Some((404, -32601)), 0));
    assert_eq!(get(&served, "tasks/get", &json!({})), (Some((400, -32021)), 0));
    assert_eq!(get(&served, "tasks/list", &json!({"extensions": {id: {}}})), (Some((404, -32601)), 0));
    assert_eq!(get(&served, "tasks/get", &json!({"extensions": {id: {}}})), (None, 1));
    assert_eq!(named("u", &served, "tasks/get", &json!({"extensions": {id: {}}})), (Some((400, -32020)), 0), "TASK-29");
    assert_eq!(named("u", &served, "tasks/get", &json!({})), (Some((400, -32020)), 0));
}

#[test]
fn an_extension_may_set_a_type_of_result_and_a_tool_may_not_ext_4() {
    let declared = json!({"extensions": {"com.acme/work": {}}});
    let mut script = started(&fixture::modern(1, "acme/do", &json!({}), &declared));
    script.done(Outcome::Complete(Answer::Extension(r#"{"resultType":"task","taskId":"t"}"#.into())));
    let sent = script.received();
    assert_eq!(sent.one()["result"], json!({"resultType": "task", "taskId": "t", "_meta": server_info()}));
    // The answer of one kind of call does not fit another.
    let mut script = started(&echo(&json!({})));
    script.done(Outcome::Complete(Answer::Extension(r#"{"resultType":"task"}"#.into())));
    assert_eq!(verdict(&script.received()), (200, -32603));
    let mut script = started(&fixture::modern(1, "acme/do", &json!({}), &declared));
    script.done(text("x"));
    assert_eq!(verdict(&script.received()), (200, -32603));
}
