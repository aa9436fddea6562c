//! B7: 2026-07-28. Case 116 is in `mcp-core/tests/exchange/asking.rs` and `mcp-server/tests/seal.rs`.

use mcp_server::{Ability, Revision, Server};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{
    CAPABILITIES, LEGACY, Site, Stream, VERSION, Wire, call, code, init, ping, pong, request, server, text, tool,
};
use crate::common::modern;

const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

/// A `tools/list` with that `_meta`, on stdio and over HTTP, where it must get 400 or 200.
fn listed_with(meta: &Value) -> Value {
    let list = request(1, "tools/list", json!({"_meta": meta}));
    let answer = Wire::open().ask(&list);
    let response = Site::demo().post(&[MODERN, ("mcp-method", "tools/list")], &list);
    assert_eq!(response.status, if code(&answer) == 0 { 200 } else { 400 }, "{response:?}");
    assert_eq!(response.json()["error"], answer["error"]);
    answer
}

#[test]
fn case_103_meta_needs_version_and_capabilities_and_no_client_info_base_15() {
    for (missing, wrong) in [(VERSION, json!(5)), (CAPABILITIES, json!([]))] {
        let mut meta = modern(json!({}));
        meta.as_object_mut().expect("an object").remove(missing);
        assert_eq!(code(&listed_with(&meta)), -32602, "{missing}");
        assert_eq!(code(&listed_with(&modern(json!({missing: wrong})))), -32602, "{missing}");
    }
    assert!(listed_with(&modern(json!({})))["result"]["tools"].is_array());
    let info = json!({"io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1", "futureThing": 1}});
    assert!(listed_with(&modern(info))["result"]["tools"].is_array());
}

#[test]
fn case_104_an_unsupported_version_is_told_what_is_supported_ver_2() {
    let site = Site::demo();
    for version in ["1900-01-01", "2025-06-18", "DRAFT-2026-v1", ""] {
        let list = request(1, "tools/list", json!({"_meta": modern(json!({VERSION: version}))}));
        let headers = [("mcp-protocol-version", version), ("mcp-method", "tools/list")];
        let response = site.post(&headers, &list);
        assert_eq!(response.status, 400, "{version}");
        for error in [response.json(), Wire::open().ask(&list)] {
            assert_eq!(code(&error), -32022, "{error}");
            assert_eq!(error["error"]["data"]["requested"], version);
            let supported = error["error"]["data"]["supported"].as_array().expect("versions").clone();
            assert!(supported.contains(&json!("2026-07-28")) && !supported.contains(&json!(version)), "{error}");
        }
    }
    // The handshake has another way to say it.
    assert_eq!(site.post(&[], &init("1900-01-01")).json()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(Wire::open().ask(&init("1900-01-01"))["result"]["protocolVersion"], "2025-11-25");
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    #[schemars(extend("x-mcp-header" = "Count"))]
    count: Option<i64>,
    place: Option<Place>,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: Option<String>,
}

fn mirroring() -> Server {
    server().tool(tool("mirror").run(|args: Mirrored| {
        let region = args.place.and_then(|place| place.region);
        format!("{:?} {:?}", args.count, region.as_deref())
    }))
}

/// Status and code of a call of `mirror`.
fn mirrored(site: &Site, arguments: &str, headers: &[(&str, &str)]) -> (u16, i64) {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "mirror", "arguments": "@", "_meta": modern(json!({}))}});
    let own = [MODERN, ("mcp-method", "tools/call"), ("mcp-name", "mirror")];
    let body = message.to_string().replace("\"@\"", arguments);
    let response = site.send("POST", &[&own[..], headers].concat(), &body);
    (response.status, code(&response.json()))
}

const MISMATCH: (u16, i64) = (400, -32020);
const SERVED: (u16, i64) = (200, 0);

#[test]
fn case_108_headers_that_differ_or_hold_no_text_are_refused_hdr_7() {
    let site = Site::demo();
    let own = [MODERN, ("mcp-method", "tools/list")];
    let list = request(1, "tools/list", json!({"_meta": modern(json!({}))}));
    for (twice, other) in [(own[0], "2025-11-25"), (own[1], "tools/call")] {
        for headers in [[own[0], own[1], (twice.0, other)], [(twice.0, other), own[0], own[1]]] {
            let response = site.post(&headers, &list);
            assert_eq!((response.status, code(&response.json())), MISMATCH, "{headers:?}");
        }
        assert_eq!(site.post(&[own[0], own[1], twice], &list).status, 200, "the same twice says one thing");
    }
    let echo = json!({"name": "echo", "arguments": {"message": "m"}});
    let names = site.modern_with("tools/call", echo, json!({}), &[("mcp-name", "add")]);
    assert_eq!((names.status, code(&names.json())), MISMATCH);
    // Bytes that no header may hold, at a tool that repeats its argument `value` in `Mcp-Param-Value`.
    let body = request(
        1,
        "tools/call",
        json!({"name": "test_custom_header", "arguments": {"value": "a\u{e9}"},
        "_meta": modern(json!({}))}),
    );
    let head = site.head("POST", "/mcp", &[own[0], ("mcp-method", "tools/call"), ("mcp-name", "test_custom_header")]);
    for value in [&b"a\xE9"[..], "a\u{e9}".as_bytes(), b"\x80", b"\xFF"] {
        let body = body.to_string();
        let mut bytes = format!("{head}content-length: {}\r\nmcp-param-value: ", body.len()).into_bytes();
        bytes.extend_from_slice(value);
        bytes.extend(format!("\r\n\r\n{body}").as_bytes());
        let response = Stream::open(site.raw(&bytes)).whole();
        assert_eq!((response.status, code(&response.json())), MISMATCH, "{value:?}");
    }
}

#[test]
fn case_108_integers_are_compared_as_numbers_up_to_2_to_the_53_hdr_10_a15() {
    let site = Site::of(mirroring());
    let count =
        |body: &str, header: &str| mirrored(&site, &format!("{{\"count\":{body}}}"), &[("mcp-param-count", header)]);
    for (body, header) in [("42", "42"), ("42", "42.0"), ("42", "4.2e1"), ("-7", "-7"), ("0", "-0")] {
        assert_eq!(count(body, header), SERVED, "{body} {header}");
    }
    for (body, header) in [("42", "43"), ("42", "42.5"), ("42", "0x2A"), ("42", ""), ("42", "NaN"), ("42", "4 2")] {
        assert_eq!(count(body, header), MISMATCH, "{body} {header}");
    }
    assert_eq!(count("9007199254740991", "9007199254740991"), SERVED);
    assert_eq!(count("9007199254740992", "9007199254740992"), MISMATCH, "beyond what a client can hold exactly");
    assert_eq!(count("9007199254740993", "9007199254740992"), MISMATCH);
}

#[test]
fn case_109_a_repeated_argument_is_in_its_header_if_it_is_in_the_body_hdr_9_hdr_10() {
    let site = Site::of(mirroring());
    let region = ("mcp-param-region", "eu");
    for (arguments, headers, right) in [
        (r#"{"place":{"region":"eu"}}"#, &[region][..], SERVED),
        (r#"{"place":{"region":"eu"}}"#, &[], MISMATCH),
        (r#"{"place":{"region":"us"}}"#, &[region], MISMATCH),
        (r#"{"place":{"region":null}}"#, &[], SERVED),
        (r#"{"place":{"region":null}}"#, &[region], MISMATCH),
        (r#"{"place":{}}"#, &[], SERVED),
        (r#"{"place":null}"#, &[], SERVED),
        ("{}", &[], SERVED),
        ("{}", &[region], MISMATCH),
        // Only the property itself counts, and not one of its name elsewhere.
        (r#"{"region":"eu"}"#, &[], SERVED),
        (r#"{"region":"eu"}"#, &[region], MISMATCH),
        ("{}", &[("mcp-param-unknown", "1")], SERVED),
    ] {
        assert_eq!(mirrored(&site, arguments, headers), right, "{arguments} {headers:?}");
    }
    let legacy = site.session("2025-11-25");
    let answer = legacy.post(&call(1, "mirror", json!({"place": {"region": "eu"}})));
    assert_eq!(text(&answer.json()), "None Some(\"eu\")", "no header is asked for there (HDR-13)");
}

#[test]
fn case_109_annotations_that_no_client_can_follow_are_refused_when_the_server_is_built_hdr_9() {
    let build = |property: Value| {
        let schema =
            json!({"type": "object", "properties": property, "$defs": {"a": {"type": "string", "x-mcp-header": "A"}}});
        server().tool(tool("t").input_schema(schema).run(|_: Value| ())).build().map_err(|error| error.to_string())
    };
    let string = |header: Value| json!({"type": "string", "x-mcp-header": header});
    for property in [
        json!({"a": {"type": "number", "x-mcp-header": "A"}}),
        json!({"a": {"type": "array", "items": string(json!("A"))}}),
        json!({"a": {"$ref": "#/$defs/a"}}),
        json!({"a": string(json!("A")), "b": string(json!("a"))}),
        json!({"a": string(json!("My Header"))}),
        json!({"a": string(json!(""))}),
        json!({"a": string(json!(5))}),
        json!({"a": {"oneOf": [string(json!("A"))]}}),
        json!({"a": {"type": ["string", "null"], "x-mcp-header": "A"}}),
    ] {
        let refused = build(property.clone()).expect_err("the annotation is wrong");
        assert!(refused.contains("HDR-9"), "{property}: {refused}");
    }
    assert!(server().tool(tool("t").run(|_: Mirrored| ())).build().is_ok());
}

#[test]
fn case_110_an_unknown_method_gets_404_with_an_error_http_41() {
    let demo = Site::demo();
    let only = Site::of(server().revisions([Revision::V2026_07_28]).tool(tool("t").run(|| ())));
    for method in ["foo/bar", "initialize", "ping", "logging/setLevel", "resources/subscribe", "Tools/list"] {
        for site in [&demo, &only] {
            let response = site.modern(method, json!({}));
            assert_eq!((response.status, code(&response.json())), (404, -32601), "{method}");
            assert_eq!(response.json()["id"], 1);
        }
    }
    let text = only.modern("initialize", init("2025-11-25")["params"].clone()).body;
    assert!(text.contains("2026-07-28"), "VER-7: {text}");
}

#[test]
fn case_113_what_discover_lists_is_served_also_beside_a_session_ver_3() {
    let site = Site::demo();
    let _session = site.session("2025-11-25");
    let discovered = site.modern("server/discover", json!({})).json();
    let listed = discovered["result"]["supportedVersions"].as_array().expect("versions").clone();
    assert_eq!(listed.len(), 5, "{discovered}");
    for version in listed.iter().filter_map(Value::as_str) {
        if LEGACY.contains(&version) {
            assert_eq!(text(&site.session(version).post(&call(1, "echo", json!({"message": "m"}))).json()), "m");
            continue;
        }
        assert_eq!(version, "2026-07-28");
        for (method, params) in [
            ("server/discover", json!({})),
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "echo", "arguments": {"message": "m"}})),
        ] {
            let response = site.modern(method, params);
            assert_eq!((response.status, &response.json()["result"]["resultType"]), (200, &json!("complete")));
        }
    }
}

#[test]
fn case_115_what_a_tool_needs_and_the_client_did_not_declare_is_named_ver_6() {
    let needing =
        |server: Server, (name, ability): (&str, Ability)| server.tool(tool(name).needs(ability).run(|| "ok"));
    let tools = [("form", Ability::ElicitationForm), ("url", Ability::ElicitationUrl), ("sample", Ability::Sampling)];
    let site = Site::of(tools.into_iter().fold(server(), needing));
    for (declared, tool, missing) in [
        (json!({}), "form", json!({"elicitation": {"form": {}}})),
        (json!({}), "url", json!({"elicitation": {"url": {}}})),
        (json!({}), "sample", json!({"sampling": {}})),
        (json!({"elicitation": {}}), "form", Value::Null),
        (json!({"elicitation": {"form": {}}}), "form", Value::Null),
        (json!({"elicitation": {"url": {}}}), "form", json!({"elicitation": {"form": {}}})),
        (json!({"elicitation": {}}), "url", json!({"elicitation": {"url": {}}})),
        (json!({"elicitation": {"url": {}}}), "url", Value::Null),
        (json!({"sampling": {}}), "sample", Value::Null),
    ] {
        let meta = json!({CAPABILITIES: declared});
        let response = site.modern_with("tools/call", json!({"name": tool}), meta, &[]);
        let answer = response.json();
        let right = if missing.is_null() { SERVED } else { (400, -32021) };
        assert_eq!((response.status, code(&answer)), right, "{declared} {tool}: {answer}");
        let named = answer["error"]["data"].get("requiredCapabilities");
        assert_eq!(named, Some(&missing).filter(|missing| !missing.is_null()), "{declared} {tool}");
    }
}

#[test]
fn case_122_tasks_are_unknown_to_a_server_that_has_none_a29() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let declared = json!({CAPABILITIES: {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    for method in ["tasks/get", "tasks/cancel", "tasks/update", "tasks/list", "tasks/result"] {
        for meta in [json!({}), declared.clone()] {
            let response = site.modern_with(method, json!({"taskId": "t"}), meta, &[]);
            assert_eq!((response.status, code(&response.json())), (404, -32601), "{method}");
        }
        let response = session.post(&request(1, method, json!({"taskId": "t"})));
        assert_eq!((response.status, code(&response.json())), (200, -32601), "{method}");
    }
    // Nobody gets a task: neither who asked for one in 2025-11-25, nor who could take one.
    let mut asking = json!({"name": "echo", "arguments": {"message": "m"}, "task": {"ttl": 1000}});
    let result = session.post(&request(1, "tools/call", asking.clone())).json()["result"].clone();
    assert_eq!((result.get("task"), &result["content"][0]["text"]), (None, &json!("m")), "{result}");
    asking.as_object_mut().expect("an object").remove("task");
    let result = site.modern_with("tools/call", asking, declared, &[]).json()["result"].clone();
    assert_eq!((&result["resultType"], &result["content"][0]["text"]), (&json!("complete"), &json!("m")), "{result}");
}

#[test]
fn case_123_discover_without_meta_is_refused_and_never_ignored_ver_4() {
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    let headers = [MODERN, ("mcp-method", "server/discover")];
    let only = Site::of(server().revisions([Revision::V2026_07_28]).tool(tool("t").run(|| ())));
    let demo = Site::demo();
    for (site, headers) in [(&only, &headers[..]), (&demo, &headers), (&demo, &[])] {
        let response = site.post(headers, &discover);
        assert_eq!((response.status, code(&response.json())), (400, -32602), "{response:?}");
        assert_eq!(response.json()["id"], 1);
    }
    // Without the header it is that which is missing first (row 16).
    let response = only.post(&[], &discover);
    assert_eq!((response.status, code(&response.json())), MISMATCH);
    assert_eq!(code(&Wire::open().ask(&discover)), -32602);
}

#[test]
fn case_124_a_list_is_the_same_whatever_was_called_before_base_20() {
    let list = request(1, "tools/list", json!({"_meta": modern(json!({}))}));
    let mut wire = Wire::open();
    let first = wire.ask(&list)["result"]["tools"].clone();
    for (id, tool) in ["echo", "panic", "nope", "test_missing_capability"].into_iter().enumerate() {
        wire.ask(&request(id as u64, "tools/call", json!({"name": tool, "_meta": modern(json!({}))})));
    }
    assert_eq!(wire.ask(&list)["result"]["tools"], first);
    assert_eq!(wire.ask(&init("2025-11-25"))["id"], 0);
    assert_eq!(wire.ask(&list)["result"]["tools"], first, "nor does a handshake make a difference");
    let able = modern(json!({CAPABILITIES: {"sampling": {}, "elicitation": {}, "roots": {}}}));
    assert_eq!(wire.ask(&request(1, "tools/list", json!({"_meta": able})))["result"]["tools"], first);
    assert_eq!(Wire::open().ask(&list)["result"]["tools"], first, "on another connection");
    assert_eq!(Site::demo().modern("tools/list", json!({})).json()["result"]["tools"], first);
    assert_eq!(wire.ask(&ping(1)), pong(1));
}

#[test]
fn what_a_server_does_not_have_is_neither_advertised_nor_known_base_9() {
    let site = Site::of(server().tool(tool("t").run(|| ())));
    let session = site.session("2025-11-25");
    let discovered = site.modern("server/discover", json!({})).json();
    let opened = site.post(&[], &init("2025-11-25")).json();
    for answer in [discovered, opened] {
        let capabilities = answer["result"]["capabilities"].as_object().expect("capabilities").clone();
        assert_eq!(capabilities.keys().collect::<Vec<_>>(), ["tools"]);
    }
    for (method, params) in [
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}),
        ),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "doc:///my%20files/a"})),
        ("prompts/list", json!({})),
    ] {
        let legacy = session.post(&request(1, method, params.clone()));
        assert_eq!((legacy.status, code(&legacy.json())), (200, -32601), "{method}");
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        let named = site.modern_with(method, params, json!({}), &[("mcp-name", &uri)]);
        assert_eq!((named.status, code(&named.json())), (404, -32601), "{method}");
    }
}

#[test]
fn what_is_served_is_advertised_and_nothing_else_is_known_base_9() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let discovered = site.modern("server/discover", json!({})).json();
    let opened = site.post(&[], &init("2025-11-25")).json();
    for answer in [discovered, opened] {
        let capabilities = answer["result"]["capabilities"].as_object().expect("capabilities").clone();
        assert_eq!(
            capabilities.keys().collect::<Vec<_>>(),
            ["completions", "logging", "prompts", "resources", "tools"]
        );
    }
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        assert!(session.post(&request(1, method, json!({}))).json()["result"].is_object(), "{method}");
        assert!(site.modern(method, json!({})).json()["result"].is_object(), "{method}");
    }
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let unknown = [("tasks/list", json!({})), ("skills/list", json!({})), ("resources/directory/read", json!({}))];
    for (method, params) in unknown.iter().chain([&("subscriptions/listen", listen)]) {
        let legacy = session.post(&request(1, method, params.clone()));
        assert_eq!((legacy.status, code(&legacy.json())), (200, -32601), "{method}");
    }
    let watched = json!({"uri": "test://watched-resource"});
    for (method, params) in unknown.iter().chain([&("resources/subscribe", watched)]) {
        let modern = site.modern(method, params.clone());
        assert_eq!((modern.status, code(&modern.json())), (404, -32601), "{method}");
    }
}
