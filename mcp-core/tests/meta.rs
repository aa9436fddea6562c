//! `_meta` in both directions: what a handler gets of it, and what an answer may say in it. Extensions, where it belongs to them.

use std::sync::Arc;

use mcp_core::answer::{
    Answer, Block, Content, Contents, Implementation, PromptAnswer, PromptMessage, ResourceAnswer, Role, ToolAnswer,
};
use mcp_core::catalog::{Catalog, Prompt, PromptArgument, Resource, Template, Tool};
use mcp_core::trace::TraceContext;
use mcp_core::{Endpoint, Event, ExtensionDecl, Handle, Kind, MachineId, Outcome, Pipe, Revision, Time, View};
use serde_json::{Value, json};
use testkit::{Script, Sent, fixture};

const THING: &str = "com.example/thing";
const OFFICIAL: &str = "io.modelcontextprotocol/thing";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn endpoint() -> Arc<Endpoint> {
    Endpoint::builder(Implementation::new("fixture", "1.0.0"))
        .tools(false)
        .resources(false, false)
        .prompts(false)
        .completions()
        .extension(ExtensionDecl::new(THING).with_method("thing/do").with_legacy())
        .extension(ExtensionDecl::new(OFFICIAL).with_method("official/do"))
        .build()
        .unwrap()
}

fn view() -> View {
    let catalog = Catalog::builder()
        .tool(Tool::new("echo", Handle(1), r#"{"type":"object"}"#))
        .resource(Resource::new("a://x", "x", Handle(2)))
        .template(Template::new("b://{v}", "b", Handle(3)).completes("v"))
        .prompt(Prompt::new("p", Handle(4)).with_argument(PromptArgument::new("a")));
    View::all(catalog.build().unwrap())
}

fn pipe() -> Script<Pipe> {
    let mut script = Script::new(Pipe::new(MachineId(7), endpoint(), Time(1_000_000)));
    script.view = view();
    script
}

/// A legacy conversation in that revision, or one that needs no opening.
fn speaking(revision: Revision, capabilities: &Value) -> Script<Pipe> {
    let mut script = pipe();
    if revision != Revision::MODERN {
        script.open(revision, capabilities);
    }
    script
}

fn ask(script: &mut Script<Pipe>, revision: Revision, method: &str, params: &Value, capabilities: &Value) -> Sent {
    script.send(&match revision {
        Revision::MODERN => fixture::modern(1, method, params, capabilities),
        _ => fixture::request(1, method, params),
    })
}

/// The result that a call with that answer gets.
fn result(
    revision: Revision,
    method: &str,
    params: &Value,
    capabilities: &Value,
    answer: Answer,
) -> (Value, Vec<Event>) {
    let mut script = speaking(revision, capabilities);
    ask(&mut script, revision, method, params, capabilities);
    script.events.clear();
    script.done(Outcome::Complete(answer));
    (script.received().one().clone(), script.events.clone())
}

#[test]
fn meta_reaches_the_handler_of_every_kind_of_call_as_it_was_sent_base_22() {
    let able = json!({"extensions": {THING: {}}});
    let requests = [
        ("tools/call", r#""name":"echo","arguments":{}"#),
        ("resources/read", r#""uri":"a://x""#),
        ("resources/read", r#""uri":"b://y""#),
        ("prompts/get", r#""name":"p""#),
        ("completion/complete", r#""ref":{"type":"ref/resource","uri":"b://{v}"},"argument":{"name":"v","value":""}"#),
        ("thing/do", r#""x":1"#),
    ];
    let own = r#""com.acme/x":{"a":1 , "b":[1e400, 1.0]},"io.modelcontextprotocol/new":null,"":"\u00e9\ud83d\ude00","no grammar!":[ ],"traceparent":7"#;
    for revision in Revision::ALL {
        for (method, params) in requests {
            let mut script = speaking(revision, &able);
            let meta = match revision {
                Revision::MODERN => format!(
                    r#"{{{own}, "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{able}}}"#
                ),
                _ => format!("{{{own} }}"),
            };
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},"_meta":{meta}}}}}"#);
            let sent = script.send_bytes(body.into(), None);
            // An extension is not declared before 2025-11-25.
            if method == "thing/do" && revision < Revision::V2025_11_25 {
                assert_eq!(sent.code(), -32601, "EXT-2");
                continue;
            }
            assert_eq!(script.calls.len(), 1, "{method} {revision}: {}", sent.text);
            assert_eq!(script.calls[0].1.meta, meta, "{method} {revision}");
        }
    }
}

#[test]
fn keys_of_the_protocol_are_taken_out_of_every_answer_and_told_base_21() {
    let mixed = r#"{"com.example/a": {"x" : 1},"io.modelcontextprotocol/x":1,"dev.mcp/y":2,"ui":3,"-bad":4}"#;
    let clean = json!({"com.example/a": {"x": 1}, "ui": 3});
    let meta = || Some(mixed.into());

    let embedded = Content::resource_text("a://y", "text/plain", "y");
    let Block::Resource(mut inner) = embedded.block else { panic!("{embedded:?}") };
    inner.meta = meta();
    let mut embedded = Content::from(Block::Resource(inner));
    embedded.meta = meta();
    let mut text = Content::text("t");
    text.meta = meta();

    let mut tool = ToolAnswer::blocks(vec![embedded.clone(), text.clone()]);
    tool.meta = meta();
    let mut resource = ResourceAnswer::new(vec![Contents::text("x").with_meta(mixed)]);
    resource.meta = meta();
    let mut prompt = PromptAnswer::new(vec![PromptMessage { role: Role::User, content: embedded }]);
    prompt.meta = meta();
    let cases: [(&str, Value, Answer, &[&str]); 4] = [
        (
            "tools/call",
            json!({"name": "echo"}),
            Answer::Tool(tool),
            &["/content/0", "/content/0/resource", "/content/1"],
        ),
        ("resources/read", json!({"uri": "a://x"}), Answer::Resource(resource), &["/contents/0"]),
        (
            "prompts/get",
            json!({"name": "p"}),
            Answer::Prompt(prompt),
            &["/messages/0/content", "/messages/0/content/resource"],
        ),
        ("thing/do", json!({}), Answer::Extension(format!(r#"{{"_meta":{mixed},"y":2}}"#).into()), &[]),
    ];
    let able = json!({"extensions": {THING: {}}});
    for (method, params, answer, places) in cases {
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            let (response, events) = result(revision, method, &params, &able, answer.clone());
            let result = &response["result"];
            let mut expected = clean.clone();
            if revision == Revision::MODERN {
                expected["io.modelcontextprotocol/serverInfo"] = json!({"name": "fixture", "version": "1.0.0"});
            }
            assert_eq!(result["_meta"], expected, "{method}");
            for place in places {
                assert_eq!(result.pointer(place).unwrap()["_meta"], clean, "{method} {place}");
            }
            let told = events.iter().filter_map(|event| match event {
                Event::MetaDropped(_, keys) => Some(keys),
                _ => None,
            });
            let told: Vec<&str> = told.flatten().map(|key| &**key).collect();
            assert_eq!(told, ["io.modelcontextprotocol/x", "dev.mcp/y", "-bad"].repeat(places.len() + 1), "{method}");
        }
    }
}

#[test]
fn a_meta_that_is_left_empty_is_not_sent_base_21() {
    let mut answer = ToolAnswer::text("t");
    answer.meta = Some(r#"{"dev.mcp/x":1}"#.into());
    answer.content[0].meta.clone_from(&answer.meta);
    let call = json!({"name": "echo"});
    let (response, _) = result(Revision::V2025_11_25, "tools/call", &call, &json!({}), Answer::Tool(answer));
    assert_eq!(response["result"], json!({"content": [{"type": "text", "text": "t"}]}));
    let able = json!({"extensions": {THING: {}}});
    let answer = || Answer::Extension(r#"{"_meta":{"dev.mcp/x":1}}"#.into());
    let (response, _) = result(Revision::V2025_11_25, "thing/do", &json!({}), &able, answer());
    assert_eq!(response["result"], json!({}));
}

#[test]
fn an_extension_s_id_is_a_key_only_while_it_is_active_ext_4() {
    let both = json!({"extensions": {THING: {}, OFFICIAL: {}}});
    let meta = format!(r#"{{"{THING}":1,"{OFFICIAL}":2,"io.modelcontextprotocol/other":3}}"#);
    let keys = |revision, capabilities: &Value| {
        let mut answer = ToolAnswer::text("t");
        answer.content[0].meta = Some(meta.as_str().into());
        let (response, _) =
            result(revision, "tools/call", &json!({"name": "echo"}), capabilities, Answer::Tool(answer));
        response["result"]["content"][0]["_meta"].clone()
    };
    assert_eq!(keys(Revision::MODERN, &both), json!({THING: 1, OFFICIAL: 2}));
    assert_eq!(keys(Revision::MODERN, &json!({"extensions": {OFFICIAL: {}}})), json!({OFFICIAL: 2}));
    assert_eq!(keys(Revision::MODERN, &json!({})), Value::Null);
    // The second one is not declared in legacy sessions.
    assert_eq!(keys(Revision::V2025_11_25, &both), json!({THING: 1}));
    assert_eq!(keys(Revision::V2025_06_18, &both), Value::Null);
}

#[test]
fn an_extension_is_active_in_the_revisions_in_which_it_is_declared_ext_2_shim_12() {
    let both = json!({"extensions": {THING: {"a": 1}, OFFICIAL: {}}});
    for revision in Revision::ALL {
        let mut script = speaking(revision, &both);
        let thing = ask(&mut script, revision, "thing/do", &json!({}), &both);
        let active = revision >= Revision::V2025_11_25;
        assert_eq!((script.calls.len() == 1, thing.messages.is_empty()), (active, active), "{revision}");
        if active {
            assert_eq!(script.calls[0].1.peer.capabilities.extension(THING), Some(r#"{"a":1}"#));
        }
        let mut script = speaking(revision, &both);
        let official = ask(&mut script, revision, "official/do", &json!({}), &both);
        assert_eq!(script.calls.len() == 1, revision == Revision::MODERN, "{revision}: {}", official.text);
    }
    // A handler of another kind sees what a legacy client declared, too.
    let mut script = speaking(Revision::V2025_11_25, &json!({"extensions": {"io.modelcontextprotocol/ui": {"x": 1}}}));
    ask(&mut script, Revision::V2025_11_25, "tools/call", &json!({"name": "echo"}), &json!({}));
    assert_eq!(script.calls[0].1.peer.capabilities.extension("io.modelcontextprotocol/ui"), Some(r#"{"x":1}"#));
}

#[test]
fn tasks_are_never_turned_on_in_a_legacy_session_shim_10_shim_12() {
    let tasks = ExtensionDecl::new("io.modelcontextprotocol/tasks").with_method("tasks/get");
    let build = |tasks| Endpoint::builder(Implementation::new("fixture", "1.0.0")).extension(tasks).build();
    let defects = build(tasks.clone().with_legacy()).unwrap_err();
    assert_eq!((defects.len(), defects[0].rule), (1, "SHIM-12"));
    let mut script = Script::new(Pipe::new(MachineId(7), build(tasks).unwrap(), Time(1_000_000)));
    let declared = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    script.open(Revision::V2025_11_25, &declared);
    assert_eq!(script.send(&fixture::request(1, "tasks/get", &json!({"taskId": "t"}))).code(), -32601);
}

#[test]
fn the_result_of_an_extension_has_a_type_of_its_own_or_none_ext_4_base_12_shim_4() {
    let able = json!({"extensions": {THING: {}}});
    let kind = |revision, result: &'static str| {
        self::result(revision, "thing/do", &json!({}), &able, Answer::Extension(result.into())).0
    };
    let typed = r#"{"resultType":"com.example/later","y":2}"#;
    assert_eq!(kind(Revision::MODERN, typed)["result"]["resultType"], "com.example/later");
    assert_eq!(kind(Revision::MODERN, "{}")["result"]["resultType"], "complete");
    assert_eq!(kind(Revision::V2025_11_25, typed)["result"], json!({"y": 2}));
    // A client may read either of two members of one name.
    let type_twice = r#"{"resultType":"complete","resultType":"input_required"}"#;
    let meta_twice = r#"{"_meta":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#;
    let escaped = r#"{"_meta":{},"\u005fmeta":{"io.modelcontextprotocol/subscriptionId":1}}"#;
    let one = [r#"{"resultType":1}"#, r#"{"resultType":"input_required"}"#, "[]", "", "{"];
    for wrong in one.into_iter().chain([type_twice, meta_twice, escaped]) {
        assert_eq!(kind(Revision::MODERN, wrong)["error"]["code"], -32603, "{wrong}");
    }
    assert_eq!(kind(Revision::V2025_11_25, "[]")["error"]["code"], -32603);
}

#[test]
fn trace_context_is_read_from_a_request_and_only_sent_if_it_is_valid_base_23() {
    for (parent, expected) in [(PARENT, Some(PARENT)), ("00-xyz", None)] {
        let mut script = pipe();
        let params = json!({"name": "echo", "_meta": {"traceparent": parent, "baggage": "a=1"}});
        ask(&mut script, Revision::MODERN, "tools/call", &params, &json!({}));
        let Kind::Tool { .. } = script.calls[0].1.kind else { panic!("it is served all the same") };
        let trace = TraceContext::read(&script.calls[0].1.meta);
        assert_eq!((trace.traceparent(), trace.baggage()), (expected, Some("a=1")));

        let mut answer = ToolAnswer::text("t");
        answer.meta = Some(format!(r#"{{"traceparent":"{parent}","tracestate":"A=1"}}"#).into());
        script.done(Outcome::Complete(Answer::Tool(answer)));
        let sent = &script.received().one()["result"]["_meta"].clone();
        assert_eq!((sent["traceparent"].as_str(), &sent["tracestate"]), (expected, &Value::Null));
    }
}
