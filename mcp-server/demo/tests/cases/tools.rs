//! B4: tools, their schemas and results.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use mcp_server::{Ctx, Policy};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{LEGACY, Site, call, call_with_token, code, ping, pong, request, server, text, tool};

#[test]
fn case_41_arguments_are_an_object_or_as_good_as_absent_tool_6() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    for arguments in [json!([]), json!("{}"), json!(5), json!(true)] {
        let modern = site.call("test_simple_text", arguments.clone());
        // A parameter of the method, and not of the envelope: 200 (A3).
        assert_eq!((modern.status, code(&modern.json())), (200, -32602), "{arguments}");
        assert_eq!(code(&session.post(&call(1, "test_simple_text", arguments)).json()), -32602);
    }
    let said = "This is a simple text response for testing.";
    assert_eq!(text(&site.call("test_simple_text", Value::Null).json()), said);
    assert_eq!(text(&session.post(&call(1, "test_simple_text", Value::Null)).json()), said);
    let absent = request(1, "tools/call", json!({"name": "test_simple_text"}));
    assert_eq!(text(&session.post(&absent).json()), said);
}

#[derive(Deserialize, JsonSchema)]
struct Export {
    /// Where to
    #[serde(default)]
    dir: String,
}

#[test]
fn case_42_a_wrong_argument_is_named_and_the_tool_is_not_entered_tool_9() {
    let entered = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&entered);
    let export = tool("export").run(move |args: Export| {
        count.fetch_add(1, Relaxed);
        args.dir
    });
    let site = Site::of(server().tool(export));
    let session = site.session("2025-11-25");
    let wrong = json!({"dir": 5});
    let answers = [site.call("export", wrong.clone()).json(), session.post(&call(1, "export", wrong)).json()];
    for answer in answers {
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains("`dir`: expected a string"), "{answer}");
    }
    assert_eq!(entered.load(Relaxed), 0);
    assert_eq!(text(&site.call("export", json!({"dir": "d"})).json()), "d");
}

#[test]
fn case_43_an_unknown_tool_is_an_error_of_the_protocol_tool_8() {
    let site = Site::demo();
    let session = site.session("2025-11-25");
    let modern = site.call("nope", json!({}));
    let legacy = session.post(&call(1, "nope", json!({})));
    for answer in [modern, legacy] {
        assert_eq!((answer.status, code(&answer.json())), (200, -32602));
        assert_eq!(answer.json()["error"]["message"], "Unknown tool: nope");
    }
}

#[test]
fn case_45_a_tool_that_blocks_holds_up_nobody_and_calls_are_limited_ver_24() {
    let (release, held) = channel::<()>();
    let held = Mutex::new(held);
    let hold = tool("hold").run_blocking(move |ctx: Ctx| {
        ctx.progress().count(1);
        // Its thread stands still until the test lets it go on.
        held.lock().expect("nobody panicked").recv().expect("the test lets it go on");
        "held"
    });
    let mut policy = Policy::default();
    policy.limits.calls = 1;
    let site = Site::of(server().policy(policy).tool(hold).tool(tool("quick").run(|| "quick")));
    let session = site.session("2025-11-25");
    let mut holding = session.start(&call_with_token(1, "hold", json!({})));
    assert_eq!(session.post(&ping(2)).json(), pong(2));
    assert!(site.modern("server/discover", json!({})).json()["result"]["supportedVersions"].is_array());
    assert!(session.post(&request(3, "tools/list", json!({}))).json()["result"]["tools"].is_array());
    // The limit can be set, and is of one session: over it a call is refused at once, and others go on.
    let refused = session.post(&call(4, "quick", json!({})));
    assert_eq!((refused.status, code(&refused.json())), (503, -32603), "{refused:?}");
    assert_eq!(text(&site.session("2025-06-18").post(&call(1, "quick", json!({}))).json()), "quick");
    assert_eq!(text(&site.call("quick", json!({})).json()), "quick");
    release.send(()).expect("the tool waits");
    assert_eq!(text(&holding.next().expect("an answer")), "held");
    assert_eq!(text(&session.post(&call(4, "quick", json!({}))).json()), "quick");
}

/// Where in a message there is a `null`.
fn nulls(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(path.into()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| nulls(item, &format!("{path}[{at}]"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| nulls(member, &format!("{path}.{name}"), found));
        }
        _ => {}
    }
}

#[test]
fn case_48_nothing_is_ever_null_that_may_be_absent() {
    let site = Site::demo();
    let mut messages = vec![
        site.modern("server/discover", json!({})).json(),
        site.modern("tools/list", json!({})).json(),
        site.modern("nope", json!({})).json(),
        site.send("POST", &[], "{").json(),
        site.call("add", json!({"a": 1, "b": 2})).json(),
        site.call("echo", json!({})).json(),
    ];
    for version in LEGACY {
        messages.push(site.post(&[], &crate::client::init(version)).json());
        let session = site.session(version);
        for tool in ["add", "echo", "nope", "panic", "test_multiple_content_types", "test_audio_content"] {
            messages.push(session.post(&call(1, tool, json!({"a": 1, "b": 2}))).json());
        }
        messages.push(session.post(&request(1, "tools/list", json!({}))).json());
        let progress = call_with_token(1, "sleep", json!({"ms": 1}));
        messages.extend(session.post(&progress).messages());
    }
    let mut found = Vec::new();
    messages.iter().for_each(|message| nulls(message, "", &mut found));
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn case_49_the_last_page_has_no_cursor_and_each_one_leads_on_page_1() {
    let site = Site::demo();
    let whole = site.modern("tools/list", json!({})).json();
    assert_eq!(whole["result"].get("nextCursor"), None);
    let mut policy = Policy::default();
    policy.limits.page = 2;
    let names = ["a", "b", "c", "d", "e"];
    let site = Site::of(names.iter().fold(server().policy(policy), |server, name| server.tool(tool(name).run(|| ()))));
    let session = site.session("2025-11-25");
    let (mut cursor, mut listed, mut pages) = (None, Vec::new(), 0);
    loop {
        let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let modern = site.modern("tools/list", params.clone()).json();
        let legacy = session.post(&request(1, "tools/list", params)).json();
        assert_eq!(modern["result"]["tools"], legacy["result"]["tools"]);
        assert_eq!(modern["result"].get("nextCursor"), legacy["result"].get("nextCursor"));
        let page = modern["result"]["tools"].as_array().expect("a page");
        listed.extend(page.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()));
        pages += 1;
        match modern["result"].get("nextCursor") {
            None => break,
            Some(next) => {
                assert!(next.as_str().is_some_and(|next| !next.is_empty()), "{next}");
                cursor = Some(next.clone());
            }
        }
        assert!(pages < names.len(), "the pages do not end");
    }
    assert_eq!((listed, pages), (names.map(ToOwned::to_owned).to_vec(), 3));
    // A cursor that is none of the server's; null is as absent.
    for bad in [json!(""), json!("garbage"), json!(1)] {
        assert_eq!(code(&site.modern("tools/list", json!({"cursor": bad})).json()), -32602, "{bad}");
    }
    assert_eq!(site.modern("tools/list", json!({"cursor": null})).json()["result"]["tools"][0]["name"], "a");
}

/// Where the references of a schema point.
fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is of interest")]
struct Shape {
    kind: Kind,
    parts: Vec<Part>,
    children: Option<Vec<Shape>>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is of interest")]
enum Kind {
    Round,
    Square,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema is of interest")]
struct Part {
    size: f64,
    kind: Option<Kind>,
}

#[test]
fn case_51_case_53_case_56_schemas_are_of_objects_and_refer_to_nothing_outside_tool_4() {
    let own = server()
        .tool(tool("untyped").run(|_: Value| ()))
        .tool(tool("nothing").run(|| ()))
        .tool(tool("shape").run(|_: Shape| ()));
    let list = |site: &Site| site.modern("tools/list", json!({})).json()["result"]["tools"].clone();
    let (demo, own) = (list(&Site::demo()), list(&Site::of(own)));
    for listed in [&demo, &own].into_iter().filter_map(Value::as_array).flatten() {
        assert_eq!(listed["inputSchema"]["type"], "object", "{listed}");
        let mut found = Vec::new();
        references(listed, &mut found);
        assert!(found.iter().all(|target| target.starts_with("#/$defs/")), "{found:?}");
    }
    assert_eq!(own[1]["inputSchema"], json!({"type": "object", "properties": {}, "additionalProperties": false}));
    // What does not recur stands where it is used.
    let shape = &own[2]["inputSchema"];
    assert_eq!(shape["properties"]["kind"], json!({"type": "string", "enum": ["Round", "Square"]}));
    assert_eq!(shape["properties"]["parts"]["items"]["properties"]["size"]["type"], "number");
}

#[test]
fn case_53_a_schema_that_refers_to_another_place_is_refused_and_nothing_is_fetched_schema_3() {
    use std::net::TcpListener;
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a free port");
    elsewhere.set_nonblocking(true).expect("a listener that does not wait");
    let target = format!("http://{}/schema.json", elsewhere.local_addr().expect("an address"));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": target}}});
    let refused = server().tool(tool("remote").input_schema(schema).run(|_: Value| ())).build();
    assert!(refused.expect_err("the schema leads outside").defects().iter().all(|defect| &*defect.entry == "remote"));
    assert!(elsewhere.accept().is_err(), "nobody came for it");
}

#[derive(Deserialize, JsonSchema)]
struct Optional {
    count: Option<i64>,
    name: Option<String>,
    kind: Option<Kind>,
    part: Option<Part>,
}

#[test]
fn case_54_what_may_be_left_out_is_of_a_plain_type_and_null_is_read_as_absent() {
    let said =
        |args: Optional| format!("{:?} {:?} {} {}", args.count, args.name, args.kind.is_none(), args.part.is_none());
    let site = Site::of(server().tool(tool("optional").run(said)));
    let listed = site.modern("tools/list", json!({})).json()["result"]["tools"][0]["inputSchema"].clone();
    assert_eq!(listed.get("required"), None, "{listed}");
    let properties = listed["properties"].as_object().expect("properties");
    let types: Vec<&Value> = ["count", "name", "kind", "part"].map(|name| &properties[name]["type"]).to_vec();
    assert_eq!(types, ["integer", "string", "string", "object"]);
    assert!(!listed.to_string().contains("null"), "{listed}");
    for arguments in [json!({}), json!({"count": null, "name": null, "kind": null, "part": null})] {
        assert_eq!(text(&site.call("optional", arguments).json()), "None None true true");
    }
    assert_eq!(text(&site.call("optional", json!({"count": 1})).json()), "Some(1) None true true");
}

#[test]
fn case_60_names_that_clients_cannot_take_are_refused_when_the_server_is_built_tool_5() {
    let refused = |names: &[&str]| {
        let built = names.iter().fold(server(), |server, name| server.tool(tool(name).run(|| ()))).build();
        built.expect_err("the names are wrong").defects().iter().filter(|defect| defect.rule == "TOOL-5").count()
    };
    assert_eq!(refused(&["My Tool", "", &"n".repeat(129), "a,b", "é", "a\nb"]), 6, "each of them is named");
    assert_eq!(refused(&["twice", "other", "twice"]), 1);
    let built = ["get_weather", "a.b-c", "A", "a", &"n".repeat(128)];
    assert!(built.iter().fold(server(), |server, name| server.tool(tool(name).run(|| ()))).build().is_ok());
}

#[test]
fn probe_6_numbers_of_a_structured_result_are_json_and_exact() {
    use mcp_server::{Json, ToolAnswer};
    #[derive(serde::Serialize, JsonSchema)]
    struct Numbers {
        huge: u64,
        low: i64,
        half: f64,
    }
    let numbers = || Json(Numbers { huge: u64::MAX, low: i64::MIN, half: 0.5 });
    let site = Site::of(
        server()
            .tool(tool("numbers").run(numbers))
            .tool(tool("digits").run(|| ToolAnswer::structured(&b"{\"n\":123456789012345678901234567890}"[..])))
            .tool(tool("nan").run(|| ToolAnswer::structured(&b"{\"n\":NaN}"[..])))
            .tool(tool("infinity").run(|| ToolAnswer::structured(&b"{\"n\":-Infinity}"[..]))),
    );
    for response in [
        site.call("numbers", json!({})),
        site.session("2025-11-25").post(&call(1, "numbers", json!({}))),
        site.session("2025-03-26").post(&call(1, "numbers", json!({}))),
    ] {
        assert!(response.body.contains("18446744073709551615"), "{}", response.body);
        assert!(response.body.contains("-9223372036854775808"), "{}", response.body);
    }
    assert!(site.call("digits", json!({})).body.contains("{\"n\":123456789012345678901234567890}"));
    for not_json in ["nan", "infinity"] {
        assert_eq!(code(&site.call(not_json, json!({})).json()), -32603, "{not_json}");
    }
}
