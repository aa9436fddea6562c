//! Who may use what, by scopes: in both eras, over HTTP and on a byte stream, before anything runs.

use std::sync::Arc;

use mcp_core::catalog::{Catalog, Item, Prompt, PromptArgument, Resource, TaskSupport, Template, Tool};
use mcp_core::record::{Record, Recorder, What};
use mcp_core::{
    CacheHint, Caller, Code, Endpoint, EndpointBuilder, Exchange, Fault, Handle, Input, MachineId, Outcome, Pipe,
    Revision, Scopes, Session, SessionId, Span, StreamId, Time, View,
};
use serde_json::{Value, json};
use testkit::{Script, Sent, Site, Web, fixture};

const ANY: &str = r#"{"type":"object"}"#;
const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource";
const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::MODERN];

fn filled() -> mcp_core::catalog::Builder {
    Catalog::builder()
        .tool(Tool::new("open", Handle(1), ANY))
        .tool(Tool::new("write", Handle(2), ANY).with_scopes("files:write files:read"))
        .resource(Resource::new("doc://motto", "motto", Handle(3)))
        .resource(Resource::new("doc://secret", "secret", Handle(4)).with_scopes("secrets:read"))
        .template(Template::new("doc://{id}", "doc", Handle(5)).with_scopes("docs:read").completes("id"))
        .template(Template::new("{+any}", "any", Handle(6)).completes("any"))
        .prompt(Prompt::new("plain", Handle(7)))
        .prompt(
            Prompt::new("plan", Handle(8))
                .with_scopes("plans")
                .with_argument(PromptArgument::new("of").required().completes()),
        )
}

fn view() -> View {
    View::all(filled().build().expect("the definitions are valid"))
}

/// What is there once every document asks for another scope. It lists the same.
fn stricter() -> View {
    let template = |scopes: &str| Template::new("doc://{id}", "doc", Handle(5)).with_scopes(scopes);
    View::all(Catalog::builder().template(template("more")).build().expect("the definitions are valid"))
}

fn builder() -> EndpointBuilder {
    fixture::builder()
        .resources(true, true)
        .resource_metadata(METADATA)
        .scope_implies("admin", "files docs:read")
        .scope_implies("files", "files:write")
        .scope_implies("files:write", "files:read files")
        .scope_implies("admin", "plans")
}

fn endpoint() -> Arc<Endpoint> {
    builder().build().unwrap()
}

fn ann(scopes: &str) -> Caller {
    Caller::new("ann", Scopes::parse(scopes))
}

/// What asks for scopes, and for which.
fn guarded() -> Vec<(&'static str, Value, &'static str)> {
    let complete =
        |reference: Value, argument: &str| json!({"ref": reference, "argument": {"name": argument, "value": "x"}});
    vec![
        ("tools/call", json!({"name": "write"}), "files:write files:read"),
        ("resources/read", json!({"uri": "doc://secret"}), "secrets:read"),
        ("resources/read", json!({"uri": "doc://7"}), "docs:read"),
        ("prompts/get", json!({"name": "plan"}), "plans"),
        ("completion/complete", complete(json!({"type": "ref/prompt", "name": "plan"}), "of"), "plans"),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "doc://{id}"}), "id"), "docs:read"),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "doc://8"}), "id"), "docs:read"),
        ("completion/complete", complete(json!({"type": "ref/resource", "uri": "doc://secret"}), "id"), "secrets:read"),
    ]
}

/// What every caller may use; the second is governed by the static resource, the third by no template that asks for anything.
fn open() -> Vec<(&'static str, Value)> {
    vec![
        ("tools/call", json!({"name": "open"})),
        ("resources/read", json!({"uri": "doc://motto"})),
        ("resources/read", json!({"uri": "file:///a"})),
        ("prompts/get", json!({"name": "plain"})),
    ]
}

fn web(revision: Revision, caller: Caller) -> Web {
    let mut site = Site::new(endpoint());
    (site.view, site.caller) = (view(), caller);
    Web::of(site, revision, &json!({}))
}

/// The challenge of a 403 answer, whose body was looked at.
fn challenge(sent: &Sent, scopes: &str) -> String {
    assert_eq!((sent.status(), sent.code()), (403, 403), "{}", sent.text);
    let error = &sent.one()["error"];
    assert_eq!(error["message"], format!("Insufficient scope. Required: {scopes}"));
    assert_eq!(error["data"], json!({"requiredScopes": scopes.split(' ').collect::<Vec<_>>()}));
    sent.head().challenge.as_deref().expect("there is a challenge").to_owned()
}

fn right(scopes: &str) -> String {
    format!(
        "Bearer error=\"insufficient_scope\", scope=\"{scopes}\", resource_metadata=\"{METADATA}\", \
         error_description=\"Insufficient scope. Required: {scopes}\""
    )
}

#[test]
fn who_lacks_a_scope_is_told_all_that_it_needs_with_403_before_anything_runs_auth_6_auth_4() {
    for revision in ERAS {
        // Nobody, somebody with nothing, with another scope, with one of two.
        for caller in [Caller::anonymous(), ann(""), ann("other"), ann("files:read")] {
            let mut web = web(revision, caller);
            for (method, params, scopes) in guarded() {
                let sent = web.ask(method, &params);
                assert_eq!(challenge(&sent, scopes), right(scopes), "{revision} {method}");
            }
            for (method, params) in open() {
                assert!(web.ask(method, &params).one()["result"].is_object(), "{revision} {method} {params}");
            }
        }
        let mut web = web(revision, ann("files:write docs:read secrets:read plans"));
        for (method, mut params, _) in guarded().into_iter().take(7) {
            params["arguments"] = json!({"of": "x"});
            assert!(web.ask(method, &params).one()["result"].is_object(), "{revision} {method} {params}");
        }
    }
}

#[test]
fn scopes_of_nobody_count_for_nothing_auth_6() {
    let nobody = Caller { principal: None, scopes: Scopes::parse("admin secrets:read") };
    for (method, params, scopes) in guarded() {
        assert_eq!(challenge(&web(Revision::MODERN, nobody.clone()).ask(method, &params), scopes), right(scopes));
    }
}

#[test]
fn a_broader_scope_includes_what_narrower_ones_include_and_circles_do_no_harm_auth_7() {
    for revision in ERAS {
        let mut web = web(revision, ann("admin"));
        for (method, mut params, scopes) in guarded() {
            params["arguments"] = json!({"of": "x"});
            let sent = web.ask(method, &params);
            match scopes {
                "secrets:read" => assert_eq!(sent.code(), 403, "nothing includes it"),
                _ => assert!(sent.one()["result"].is_object(), "{method} {params}"),
            }
        }
    }
    let endpoint = endpoint();
    let permits = |has: &str, needs: &str| endpoint.permits(&ann(has), &Scopes::parse(needs));
    assert!(permits("files", "files:read files:write") && permits("files:write", "files") && permits("", ""));
    assert!(!permits("files:read", "files") && !permits("docs:read", "admin") && !permits("files plans", "docs:read"));
}

#[test]
fn what_is_hidden_is_unknown_before_any_scope_is_looked_at() {
    for revision in ERAS {
        let mut web = web(revision, ann(""));
        web.site.view = View::only(filled().build().unwrap(), |item: Item<'_>| item.scopes().is_empty());
        for (method, params, _) in guarded() {
            let sent = web.ask(method, &params);
            assert!(matches!(sent.code(), -32602 | -32002), "{revision} {method} {}", sent.text);
            assert_eq!((sent.head().challenge.as_deref(), sent.text.contains("scope")), (None, false));
        }
    }
}

#[test]
fn lists_over_http_show_what_a_client_may_ask_more_scopes_for_and_are_private_cache_4() {
    let public = || builder().caching(mcp_core::Caching::public(Span::secs(9))).build().unwrap();
    for (method, member, keys) in [
        ("tools/list", "tools", 2),
        ("resources/list", "resources", 2),
        ("resources/templates/list", "resourceTemplates", 2),
        ("prompts/list", "prompts", 2),
    ] {
        for caller in [Caller::anonymous(), ann(""), ann("admin")] {
            let mut web = Web::with(public(), Revision::MODERN, &json!({}));
            (web.site.view, web.site.caller) = (view(), caller);
            let sent = web.ask(method, &json!({}));
            let result = &sent.one()["result"];
            assert_eq!((result[member].as_array().unwrap().len(), &result["cacheScope"]), (keys, &json!("private")));
        }
    }
}

/// What it does is replayed from its record when the test is over.
fn pipe(caller: Caller, revision: Revision) -> Script<Recorder<Pipe>> {
    let fresh = || Pipe::new(MachineId(1), endpoint(), Time(1_000_000));
    let catalogs = vec![Arc::clone(view().catalog()), Arc::clone(stricter().catalog())];
    let mut script = Script::replaying_with(fresh, catalogs);
    (script.view, script.caller) = (view(), caller);
    if revision != Revision::MODERN {
        script.open(revision, &json!({}));
    }
    script
}

fn ask(revision: Revision, id: u64, method: &str, params: &Value) -> Value {
    match revision {
        Revision::MODERN => fixture::modern(id, method, params, &json!({})),
        _ => fixture::request(id, method, params),
    }
}

#[test]
fn on_a_byte_stream_nothing_that_asks_for_scopes_is_there_for_nobody_and_somebody_is_told() {
    for revision in ERAS {
        let mut stranger = pipe(Caller::anonymous(), revision);
        let mut ann = pipe(ann("docs:read"), revision);
        for (id, (method, params, scopes)) in (1..).zip(guarded()) {
            let sent = stranger.send(&ask(revision, id, method, &params));
            assert!(matches!(sent.code(), -32602 | -32002), "{revision} {method} {}", sent.text);
            assert!(!sent.text.contains("scope"), "{}", sent.text);
            let sent = ann.send(&ask(revision, id, method, &params));
            match scopes {
                "docs:read" => assert_eq!(sent.text, "", "it runs"),
                _ => assert_eq!(sent.code(), 403, "{}", sent.text),
            }
        }
        for (method, member) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            let listed = |script: &mut Script<Recorder<Pipe>>| {
                let sent = script.send(&ask(revision, 99, method, &json!({})));
                sent.one()["result"][member].as_array().unwrap().len()
            };
            assert_eq!((listed(&mut stranger), listed(&mut ann)), (1, 2), "{revision} {method}");
        }
    }
}

#[test]
fn who_follows_must_have_the_scopes_and_hears_nothing_without_them_sub_9_res_7() {
    // Legacy.
    let mut script = pipe(ann("docs:read"), Revision::V2025_11_25);
    assert_eq!(script.send(&fixture::request(1, "resources/subscribe", &json!({"uri": "doc://secret"}))).code(), 403);
    let sent = script.send(&fixture::request(2, "resources/subscribe", &json!({"uri": "doc://7"})));
    assert_eq!(sent.one()["result"], json!({}));
    let told = |script: &mut Script<Recorder<Pipe>>, view: &View| {
        script.input(Input::Updated { uri: "doc://7", view });
        script.received().messages.len()
    };
    assert_eq!(told(&mut script, &view()), 1);
    assert_eq!(told(&mut script, &stricter()), 0, "it asks for more by now");
    // Modern, over HTTP: all scopes at once, before the stream opens.
    let listen = json!({"notifications": {"toolsListChanged": true,
        "resourceSubscriptions": ["doc://motto", "doc://7", "doc://8", "doc://secret"]}});
    let mut web = web(Revision::MODERN, ann(""));
    web.site.answer = None;
    let sent = web.ask("subscriptions/listen", &listen);
    assert_eq!(challenge(&sent, "docs:read secrets:read"), right("docs:read secrets:read"));
    web.site.caller = ann("docs:read secrets:read");
    let sent = web.ask("subscriptions/listen", &listen);
    let honoured = &sent.messages[0]["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(honoured.as_array().unwrap().len(), 4, "{}", sent.text);
    // For nobody on a byte stream it is not there.
    let mut stranger = pipe(Caller::anonymous(), Revision::MODERN);
    let sent = stranger.send(&fixture::modern(1, "subscriptions/listen", &listen, &json!({})));
    assert_eq!(sent.one()["params"]["notifications"]["resourceSubscriptions"], json!(["doc://motto"]));
}

/// A call of a tool whose handler fails so, over modern and over legacy HTTP.
fn failed(fault: &Fault) -> [Sent; 2] {
    let call = |id| ask(Revision::V2025_11_25, id, "tools/call", &json!({"name": "open"}));
    let fresh = || Exchange::new(MachineId(1), endpoint(), Time(1));
    let mut modern = Script::replaying_with(fresh, vec![Arc::clone(view().catalog())]);
    modern.view = view();
    assert_eq!(modern.send(&ask(Revision::MODERN, 1, "tools/call", &json!({"name": "open"}))).text, "");
    modern.done(Outcome::Fail(fault.clone()));
    let fresh = || Session::new(MachineId(1), endpoint(), SessionId::new([7; 16]), Time(1));
    let mut legacy = Script::replaying_with(fresh, vec![Arc::clone(view().catalog())]);
    legacy.view = view();
    legacy.open(Revision::V2025_11_25, &json!({}));
    assert_eq!(legacy.send(&call(1)).text, "");
    let stream = legacy.answering();
    legacy.done(Outcome::Fail(fault.clone()));
    [modern.sent(StreamId::ONLY), legacy.sent(stream)]
}

#[test]
fn no_challenge_names_a_wildcard_or_breaks_out_of_its_quotes_sec_4_auth_6() {
    let fail = |scopes: &str| {
        let [modern, legacy] = failed(&Fault::insufficient_scope(&Scopes::parse(scopes)));
        assert_eq!((modern.status(), modern.code(), &modern.reply), (403, 403, &legacy.reply));
        modern.head().challenge.as_deref().unwrap().to_owned()
    };
    assert_eq!(fail("a b"), right("a b"), "also of a handler's own making");
    assert_eq!(fail("* a files:* b\"c d\\e é\u{1}"), right("a"));
    // AUTH-8.
    assert_eq!(fail("offline_access a offline_access:b"), right("a offline_access:b"));
    let bare = format!(
        "Bearer error=\"insufficient_scope\", resource_metadata=\"{METADATA}\", error_description=\"Insufficient scope\""
    );
    assert_eq!((fail("*"), fail("")), (bare.clone(), bare));
}

#[test]
fn defects_of_scopes_and_hints_are_found_before_anything_is_served_sec_4_cache_4() {
    let found = |tool: Tool| match Catalog::builder().tool(tool).build() {
        Ok(_) => (String::new(), ""),
        Err(defects) => (defects[0].to_string(), defects[0].rule),
    };
    let tool = |scopes: &str| Tool::new("t", Handle(1), ANY).with_scopes(scopes);
    for empty in ["", "  "] {
        assert_eq!(found(tool(empty)).1, "AUTH-6");
    }
    for odd in ["a\"b", "a b\\c", "é", "a\u{7f}"] {
        assert_eq!(found(tool(odd)).1, "AUTH-6", "{odd}");
    }
    for wild in ["*", "a files:*"] {
        assert_eq!(found(tool(wild)).1, "SEC-4", "{wild}");
    }
    let (text, rule) = found(tool("files:read").with_caching(CacheHint::default().public()));
    assert!(rule == "CACHE-4" && text.contains("public") && text.contains("files:read"), "{text}");
    assert_eq!(found(tool("a:b!~[]").with_caching(CacheHint::ttl(Span(1)).private())).1, "");
    for (broad, narrow) in [("a b", "c"), ("", "c"), ("a", ""), ("a", "\"")] {
        let defects = fixture::builder().scope_implies(broad, narrow).build().unwrap_err();
        assert_eq!((defects.len(), defects[0].rule), (1, "AUTH-7"), "{broad} {narrow}");
    }
    for url in ["", "/metadata", "ftp://a", "https://", "https:///a", "https://a/\"b", "https://a/ b", "https://é"] {
        let defects = fixture::builder().resource_metadata(url).build().unwrap_err();
        assert_eq!((defects.len(), defects[0].rule), (1, "AUTH-3"), "{url}");
    }
}

#[test]
fn who_asks_too_often_is_told_how_long_to_wait_in_whole_seconds_sec_2() {
    for (ms, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (59_999, 60), (u64::MAX, u32::MAX)] {
        for sent in failed(&Fault::too_many(Span(ms))) {
            assert_eq!((sent.status(), sent.code()), (429, Code::INTERNAL.get()));
            assert_eq!(sent.head().retry_after, Some(seconds), "{ms}");
            assert_eq!(sent.one()["error"]["data"]["retryAfterMs"], json!(ms.max(1)));
        }
    }
}

#[test]
fn task_support_is_told_to_nobody_yet() {
    for revision in Revision::ALL {
        for support in [TaskSupport::None, TaskSupport::Supported, TaskSupport::Required] {
            let tool = Tool::new("t", Handle(1), ANY).with_task_support(support);
            assert_eq!(tool.task_support(), support);
            let catalog = Catalog::builder().tool(tool).build().unwrap();
            let mut out = Vec::new();
            View::all(catalog).write_tools(revision, None, 9, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), r#""tools":[{"name":"t","inputSchema":{"type":"object"}}]"#);
        }
    }
}

#[test]
fn what_would_help_is_kept_in_a_record() {
    for fault in [Fault::too_many(Span(1500)), Fault::insufficient_scope(&Scopes::parse("a b")), Fault::busy()] {
        let record = Record { at: Time(1), what: What::Listen(Err(fault)) };
        assert_eq!(Record::from_json(&record.to_json()).unwrap(), record);
    }
}
