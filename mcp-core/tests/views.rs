//! Views that are a rule, asked with what is kept of who is served: of a session, or of a request where there is none. In simulated
//! time, each run recorded and replayed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use mcp_core::answer::Answer;
use mcp_core::catalog::{Catalog, Item, Sight, Tool};
use mcp_core::policy::Policy;
use mcp_core::record::Recorder;
use mcp_core::{
    Caching, Endpoint, EndpointBuilder, Exchange, Fault, Handle, Kind, Machine, MachineId, Note, Outcome, Pipe,
    Revision, Session, SessionId, Span, Time, View,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, Talk, fixture};

#[path = "views/asked.rs"]
mod asked;
#[path = "views/changes.rs"]
mod changes;

const START: Time = Time(1_000_000);

/// What `ann` alone sees.
const SECRETS: [&str; 4] = ["route", "notes://today", "files:///{+path}", "greet"];

/// Secrets are shown to whoever was let in as `ann`.
#[derive(Debug, Default)]
struct ByAssigns {
    asked: AtomicUsize,
}

impl Sight for ByAssigns {
    fn shows(&self, item: Item<'_>, assigns: &Bytes) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        **assigns == *b"ann" || !SECRETS.contains(&item.key())
    }
}

fn view() -> View {
    View::by(fixture::catalog(), Arc::new(ByAssigns::default()))
}

fn builder() -> EndpointBuilder {
    fixture::builder().resources(true, true).init(true)
}

fn let_in(assigns: &str) -> Outcome {
    Outcome::Complete(Answer::Init(Bytes::copy_from_slice(assigns.as_bytes())))
}

/// A client whose machine is recorded.
fn script<M: Machine + 'static>(
    fresh: impl Fn(Arc<Endpoint>) -> M + 'static,
    builder: EndpointBuilder,
) -> Script<Recorder<M>> {
    let endpoint = builder.build().unwrap();
    let mut script = Script::replaying(move || fresh(Arc::clone(&endpoint)));
    script.view = view();
    script
}

fn exchange() -> Script<Recorder<Exchange>> {
    script(|endpoint| Exchange::new(MachineId(1), endpoint, START), builder())
}

fn pipe() -> Script<Recorder<Pipe>> {
    script(|endpoint| Pipe::new(MachineId(1), endpoint, START), builder())
}

fn session(builder: EndpointBuilder) -> Script<Recorder<Session>> {
    script(|endpoint| Session::new(MachineId(1), endpoint, SessionId::new([7; 16]), START), builder)
}

/// Makes the handshake, as `who` is let in.
fn open<M: Machine>(mut script: Script<M>, revision: Revision, who: &str) -> Script<M> {
    script = script.speaking(revision);
    script.send(&fixture::initialize(revision.as_str(), &json!({})));
    script.done(let_in(who));
    script.send(&fixture::initialized());
    script
}

/// What comes of a request whose sender is let in as `who`, if that is asked: its answer, or what is to be run.
fn outcome<M: Machine>(mut script: Script<M>, message: &Value, who: &str) -> String {
    let sent = script.send(message);
    let stream = script.answering();
    let mut text = sent.text;
    if script.calls.front().is_some_and(|(_, call)| call.kind == Kind::Init) {
        assert!(text.is_empty(), "nothing is said before");
        script.done(let_in(who));
        text = script.sent(stream).text;
    }
    match script.calls.front() {
        Some((_, call)) => format!("{:?}", call.kind),
        None => text,
    }
}

/// The same of every kind of machine, in every revision, named.
fn outcomes(method: &str, params: &Value, who: &str) -> Vec<(String, String)> {
    let (modern, legacy) = (fixture::modern(9, method, params, &json!({})), fixture::request(9, method, params));
    let mut all =
        vec![("exchange".into(), outcome(exchange(), &modern, who)), ("pipe".into(), outcome(pipe(), &modern, who))];
    // A modern client beside a legacy one that sees all.
    let beside = open(pipe(), Revision::V2025_11_25, "ann");
    all.push(("pipe beside".into(), outcome(beside, &modern, who)));
    for revision in &Revision::ALL[..4] {
        all.push((format!("pipe {revision}"), outcome(open(pipe(), *revision, who), &legacy, who)));
        all.push((format!("session {revision}"), outcome(open(session(builder()), *revision, who), &legacy, who)));
        let alone = script(move |endpoint| Session::sessionless(MachineId(1), endpoint, *revision, START), builder());
        all.push((format!("one POST {revision}"), outcome(alone.speaking(*revision), &legacy, who)));
    }
    all
}

fn of_prompt(name: &str) -> Value {
    json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "who", "value": ""}})
}

fn of_template(uri: &str) -> Value {
    json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "path", "value": ""}})
}

#[test]
fn what_is_hidden_by_assigns_is_answered_as_what_is_unknown_tool_8_res_5_prompt_3_comp_4_case_43() {
    let arguments = json!({"who": "x", "tone": "y"});
    for (method, hidden, unknown, [name, other]) in [
        ("tools/call", json!({"name": "route"}), json!({"name": "nope"}), ["route", "nope"]),
        ("resources/read", json!({"uri": "notes://today"}), json!({"uri": "nope://today"}), ["notes:", "nope:"]),
        ("resources/read", json!({"uri": "files:///a"}), json!({"uri": "other:///a"}), ["files:", "other:"]),
        ("resources/subscribe", json!({"uri": "files:///a"}), json!({"uri": "other:///a"}), ["files:", "other:"]),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": arguments}),
            json!({"name": "nope", "arguments": arguments}),
            ["greet", "nope"],
        ),
        ("completion/complete", of_prompt("greet"), of_prompt("nope"), ["greet", "nope"]),
        ("completion/complete", of_template("files:///{+path}"), of_template("other:///{+path}"), ["files:", "other:"]),
        ("completion/complete", of_template("files:///a"), of_template("other:///a"), ["files:", "other:"]),
    ] {
        let seen = outcomes(method, &hidden, "ann");
        let (hidden, unknown) = (outcomes(method, &hidden, "bob"), outcomes(method, &unknown, "ann"));
        assert_eq!((seen.len(), hidden.len()), (15, 15));
        for ((seen, hidden), unknown) in seen.into_iter().zip(hidden).zip(unknown) {
            let machine = hidden.0;
            assert_eq!(hidden.1.replace(name, other), unknown.1, "{machine}: {method}");
            // Where there is no subscribing, there is none for anybody.
            if !hidden.1.contains("-32601") {
                assert!(
                    hidden.1.contains("error") && !seen.1.contains("error"),
                    "{machine}: {method}: {} {}",
                    hidden.1,
                    seen.1
                );
            }
        }
    }
}

#[test]
fn lists_show_what_the_assigns_let_see_tool_2_res_2_res_3_prompt_1() {
    for (method, member, key, all) in [
        ("tools/list", "tools", "name", vec!["echo", "route", "sampler"]),
        ("resources/list", "resources", "uri", vec!["notes://today", "notes://logo.png"]),
        ("resources/templates/list", "resourceTemplates", "uriTemplate", vec!["notes://{id}", "files:///{+path}"]),
        ("prompts/list", "prompts", "name", vec!["greet", "plain"]),
    ] {
        for who in ["ann", "bob", ""] {
            let right: Vec<&str> = all.iter().copied().filter(|key| who == "ann" || !SECRETS.contains(key)).collect();
            for (machine, text) in outcomes(method, &json!({}), who) {
                let json = text.trim_start_matches("event: message\ndata: ");
                let listed: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"));
                let items = listed["result"][member].as_array().unwrap_or_else(|| panic!("{machine}: {text}"));
                let keys: Vec<&str> = items.iter().map(|item| item[key].as_str().unwrap()).collect();
                assert_eq!(keys, right, "{machine}: {method} for {who}");
            }
        }
    }
}

#[test]
fn who_is_not_let_in_learns_nothing_of_what_is_hidden_from_whom() {
    let mut answers = Vec::new();
    for params in [json!({"name": "route"}), json!({"name": "echo"}), json!({"name": "nope"}), json!({"name": 5})] {
        let mut script = exchange();
        script.send(&fixture::modern(1, "tools/call", &params, &json!({})));
        assert_eq!(script.calls.front().unwrap().1.kind, Kind::Init, "{params}");
        script.done(Outcome::Fail(Fault::init_failed("no such tenant")));
        answers.push(script.received().text);
        assert!(script.closed && script.calls.is_empty());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    assert!(answers[0].contains("no such tenant"));
}

#[test]
fn what_an_envelope_has_wrong_is_told_without_asking_the_rule_or_init_ver_20() {
    let mut message = fixture::modern(1, "tools/call", &json!({"name": "route"}), &json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let mut script = exchange();
    assert_eq!(script.send(&message).code(), -32022);
    assert!(script.calls.is_empty());
}

#[test]
fn headers_are_held_against_the_arguments_once_the_sender_is_let_in_hdr_10_hdr_12() {
    let message =
        fixture::modern(1, "tools/call", &json!({"name": "route", "arguments": {"region": "eu"}}), &json!({}));
    for (region, right) in [(Some("eu"), true), (Some("us"), false), (None, false)] {
        let mut headers = fixture::headers(&message);
        headers.extend(region.map(|region| ("mcp-param-region".to_owned(), region.to_owned())));
        let mut script = exchange();
        script.send_with(&message, &headers);
        script.done(let_in("ann"));
        assert_eq!(script.calls.len() == 1, right, "{region:?}");
        if !right {
            assert_eq!(script.received().code(), -32020);
        }
        // Whom it is hidden from is not told that it has such a header.
        let mut script = exchange();
        script.send_with(&message, &headers);
        script.done(let_in("bob"));
        assert_eq!(script.received().code(), -32602);
    }
}

#[test]
fn a_call_that_replaces_the_assigns_changes_what_its_session_sees() {
    let mut script = open(session(builder()), Revision::V2025_11_25, "bob");
    let call = |name: &str| fixture::request(1, "tools/call", &json!({"name": name}));
    assert_eq!(script.send(&call("route")).code(), -32602);
    script.send(&call("echo"));
    script.note(Note::Assigns(Bytes::from_static(b"ann")));
    script.send(&call("route"));
    assert_eq!(script.calls.len(), 2);
    script.note(Note::Assigns(Bytes::from_static(b"bob")));
    assert_eq!(script.send(&call("route")).code(), -32602);
}

#[test]
fn without_an_init_nothing_is_waited_for_and_a_rule_sees_no_assigns() {
    let endpoint = fixture::endpoint();
    let fresh = move || Exchange::new(MachineId(1), Arc::clone(&endpoint), START);
    for (name, code) in [("route", -32602), ("echo", 0)] {
        let mut script = Script::replaying(fresh.clone());
        script.view = view();
        let sent = script.send(&fixture::modern(1, "tools/call", &json!({"name": name}), &json!({})));
        match code {
            0 => assert!(matches!(script.calls.front().unwrap().1.kind, Kind::Tool { .. })),
            code => assert_eq!(sent.code(), code),
        }
    }
}

#[test]
fn a_lookup_asks_for_one_entry_and_a_list_once_for_each_of_its_own() {
    let sight = Arc::new(ByAssigns::default());
    let view = View::by(fixture::catalog(), Arc::clone(&sight) as Arc<dyn Sight>);
    let asked = || sight.asked.swap(0, Ordering::Relaxed);
    assert!(view.tool("echo").is_some() && asked() == 1);
    assert!(view.tool("route").is_none() && asked() == 1);
    assert!(view.tool("nope").is_none() && asked() == 0);
    assert!(view.resource("notes://today").is_none() && asked() == 1, "RES-11: no template answers for what is hidden");
    assert!(view.resource("notes://7").is_some() && asked() == 1);
    let mut out = Vec::new();
    view.write_tools(Revision::MODERN, None, 1, &mut out).unwrap();
    assert_eq!(asked(), 3);
    assert!(view.is_filtered());
}

#[test]
fn a_rule_shows_pages_and_cursors_as_a_choice_made_before_does_page_1_page_2_page_3_base_20() {
    for who in ["ann", "bob"] {
        let assigns = Bytes::copy_from_slice(who.as_bytes());
        let rule = view().with_assigns(assigns.clone());
        let only = View::only(fixture::catalog(), |item| ByAssigns::default().shows(item, &assigns));
        let mut cursor = None;
        for _ in 0..3 {
            let [mut a, mut b] = [Vec::new(), Vec::new()];
            rule.write_tools(Revision::MODERN, cursor.as_deref(), 1, &mut a).unwrap();
            only.write_tools(Revision::MODERN, cursor.as_deref(), 1, &mut b).unwrap();
            assert_eq!(a, b);
            let text = format!("{{{}}}", String::from_utf8(a).unwrap());
            let page: Value = serde_json::from_str(&text).unwrap();
            cursor = page["nextCursor"].as_str().map(ToOwned::to_owned);
            if cursor.is_none() {
                break;
            }
            // It is good for nobody who sees another list.
            let other = if who == "ann" { "bob" } else { "ann" };
            let other = view().with_assigns(Bytes::copy_from_slice(other.as_bytes()));
            assert!(other.write_tools(Revision::MODERN, cursor.as_deref(), 1, &mut Vec::new()).is_err());
        }
        assert!(cursor.is_none());
    }
}

#[test]
fn lists_of_a_rule_are_private_whatever_it_shows_cache_4() {
    let endpoint = fixture::builder().caching(Caching::public(Span::secs(60))).build().unwrap();
    for (view, scope) in [(view(), "private"), (View::all(fixture::catalog()), "public")] {
        let mut talk = Talk::with(Arc::clone(&endpoint), Revision::MODERN, &json!({}));
        talk.script.view = view;
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            assert_eq!(talk.result(method, &json!({}))["cacheScope"], scope);
        }
    }
}

/// Says another thing each time that it is asked.
#[derive(Debug, Default)]
struct Fickle(AtomicUsize);

impl Sight for Fickle {
    fn shows(&self, _: Item<'_>, _: &Bytes) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(3)
    }
}

#[test]
fn a_rule_that_changes_its_mind_is_replayed_as_it_was() {
    for who in ["ann", "bob"] {
        let mut script = open(pipe(), Revision::V2025_11_25, who);
        script.view = View::by(fixture::catalog(), Arc::new(Fickle::default()));
        for n in 1..20_u64 {
            let message = match n % 2 {
                0 => fixture::request(n, "tools/list", &json!({})),
                _ => fixture::modern(n, "resources/list", &json!({}), &json!({})),
            };
            script.send(&message);
            if !script.calls.is_empty() {
                script.done(let_in(if n % 3 == 0 { "ann" } else { "bob" }));
            }
        }
        // The replay is compared as the script is dropped.
    }
}

#[test]
fn an_unlisted_tool_is_called_and_in_no_list() {
    let schema = r#"{"type":"object"}"#;
    let catalog = || {
        let tools = ["a", "b", "c"].map(|name| Tool::new(name, Handle(1), schema));
        let [a, b, c] = tools;
        Catalog::builder().tool(a).tool(b.with_unlisted()).tool(c).build().unwrap()
    };
    for page in [1, 2, 100] {
        let mut policy = Policy::default();
        policy.limits.page = page;
        for revision in Revision::ALL {
            let mut talk = Talk::with(fixture::builder().policy(policy.clone()).build().unwrap(), revision, &json!({}));
            talk.script.view = View::all(catalog());
            let mut names = Vec::new();
            let mut params = json!({});
            loop {
                let result = talk.result("tools/list", &params);
                names.extend(
                    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()),
                );
                let Some(cursor) = result["nextCursor"].as_str() else { break };
                params = json!({"cursor": cursor});
            }
            assert_eq!(names, ["a", "c"], "{revision}");
            assert_eq!(talk.ask("tools/call", &json!({"name": "b"})).text, "", "it is to be run");
            assert_eq!(talk.script.calls.len(), 1);
        }
    }
}
