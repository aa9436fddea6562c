//! How long lists and resources may be kept, and by whom, by what their entries say.

use std::sync::Arc;

use mcp_core::answer::{Answer, Contents, ResourceAnswer, ToolAnswer};
use mcp_core::catalog::{Catalog, Item, Prompt, Resource, Template, Tool};
use mcp_core::policy::Policy;
use mcp_core::{CacheHint, Caching, Caller, Endpoint, Handle, Outcome, Revision, Scopes, Span, View};
use serde_json::{Value, json};
use testkit::{Talk, fixture};

const ANY: &str = r#"{"type":"object"}"#;
const LISTS: [&str; 4] = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/// What an entry says; `+` is public, `-` private, `s` scoped.
type Said = (Option<u64>, &'static str);

/// One entry of each kind for each.
fn view(said: &[Said]) -> View {
    let mut builder = Catalog::builder();
    for (n, (ttl, rest)) in said.iter().enumerate() {
        let mut hint = CacheHint::default();
        hint.ttl = ttl.map(Span);
        hint.public = if rest.contains('+') { Some(true) } else { rest.contains('-').then_some(false) };
        let mut tool = Tool::new(&format!("n{n}"), Handle(1), ANY).with_caching(hint);
        let mut resource = Resource::new(&format!("a:{n}"), "r", Handle(2)).with_caching(hint);
        let mut template = Template::new(&format!("a:{n}/{{v}}"), "t", Handle(3)).with_caching(hint);
        let mut prompt = Prompt::new(&format!("n{n}"), Handle(4)).with_caching(hint);
        if rest.contains('s') {
            tool = tool.with_scopes("s");
            resource = resource.with_scopes("s");
            template = template.with_scopes("s");
            prompt = prompt.with_scopes("s");
        }
        builder = builder.tool(tool).resource(resource).template(template).prompt(prompt);
    }
    View::all(builder.build().expect("the definitions are valid"))
}

fn endpoint(fallback: Caching) -> Arc<Endpoint> {
    let mut policy = Policy::default();
    policy.limits.page = 1;
    fixture::builder().policy(policy).caching(fallback).build().unwrap()
}

fn talk(fallback: Caching) -> Talk {
    let mut talk = Talk::with(endpoint(fallback), Revision::MODERN, &json!({}));
    talk.script.caller = Caller::new("ann", Scopes::parse("s"));
    talk
}

/// `ttlMs` and whether `cacheScope` is public.
fn kept(result: &Value) -> (u64, bool) {
    (
        result["ttlMs"].as_u64().expect("CACHE-1"),
        match result["cacheScope"].as_str() {
            Some("public") => true,
            Some("private") => false,
            other => panic!("CACHE-1: {other:?}"),
        },
    )
}

/// What all pages of each list say, which is the same.
fn listed(talk: &mut Talk) -> (u64, bool) {
    let mut all = Vec::new();
    for method in LISTS {
        let mut cursor = json!(null);
        loop {
            let result = talk.result(method, &json!({"cursor": cursor}));
            all.push(kept(&result));
            match result.get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
    }
    all.dedup();
    assert_eq!(all.len(), 1, "all pages of all lists say the same (CACHE-3): {all:?}");
    all[0]
}

#[test]
fn a_list_is_kept_no_longer_than_its_items_and_by_nobody_else_if_one_is_private_cache_1_cache_3_cache_4() {
    let (public, private) = (Caching::public(Span(100)), Caching::private(Span(100)));
    let cases: &[(&[Said], Caching, (u64, bool))] = &[
        // Nothing is said: the endpoint's.
        (&[(None, ""), (None, "")], public, (100, true)),
        (&[(None, ""), (None, "")], private, (100, false)),
        // The least of all, the endpoint's among them where an entry says nothing.
        (&[(Some(7), ""), (Some(5), ""), (Some(9), "")], public, (5, true)),
        (&[(Some(700), ""), (Some(500), "")], public, (500, true)),
        (&[(Some(700), ""), (None, "")], public, (100, true)),
        (&[(Some(0), ""), (None, "")], public, (0, true)),
        // Private if one is, wherever it stands.
        (&[(None, ""), (None, ""), (None, "-")], public, (100, false)),
        (&[(Some(5), "-"), (Some(9), "+")], public, (5, false)),
        // Public if all say so, whatever is said for all.
        (&[(Some(5), "+"), (None, "+")], private, (5, true)),
        (&[(Some(5), "+"), (None, "")], private, (5, false)),
        // What asks for scopes.
        (&[(Some(5), "+"), (None, "s")], public, (5, false)),
        // None at all: it may be another's that is not.
        (&[], public, (100, false)),
        (&[], private, (100, false)),
    ];
    for (said, fallback, right) in cases {
        let mut talk = talk(*fallback);
        talk.script.view = view(said);
        assert_eq!(listed(&mut talk), *right, "{said:?} {fallback:?}");
        // The same, but chosen for somebody: nobody else may keep it.
        talk.script.view = View::only(Arc::clone(view(said).catalog()), |_| true);
        assert_eq!(listed(&mut talk), (right.0, false), "{said:?} {fallback:?}");
    }
}

#[test]
fn what_is_hidden_tells_nothing_by_its_hint_cache_4() {
    let mut talk = talk(Caching::public(Span(100)));
    let all = view(&[(Some(5), ""), (Some(50), ""), (None, "")]);
    for (hidden, right) in [("0", 50), ("1", 5), ("9", 5)] {
        let shown = |item: Item<'_>| !item.key().trim_end_matches("/{v}").ends_with(hidden);
        talk.script.view = View::only(Arc::clone(all.catalog()), shown);
        assert_eq!(listed(&mut talk), (right, false), "{hidden}");
    }
}

fn read(caching: Option<Caching>) -> Outcome {
    let mut answer = ResourceAnswer::new(vec![Contents::text("x")]);
    if let Some(caching) = caching {
        answer.caching = caching.into();
    }
    Outcome::Complete(Answer::Resource(answer))
}

#[test]
fn a_resource_is_kept_as_it_says_itself_else_as_its_entry_does_else_as_is_said_for_all_cache_1_cache_4() {
    let (public, none) = (Caching::public(Span(100)), Caching::NONE);
    let own = Some(Caching::public(Span(3)));
    for (said, fallback, answer, right) in [
        ((None, ""), none, None, (0, false)),
        ((None, ""), public, None, (100, true)),
        ((Some(7), ""), none, None, (7, false)),
        ((Some(7), ""), public, None, (7, true)),
        ((None, "-"), public, None, (100, false)),
        ((Some(7), "+"), none, None, (7, true)),
        ((Some(7), "-"), none, own, (3, true)),
        ((Some(7), "-"), public, Some(Caching::private(Span(1))), (1, false)),
        // Also what is to be kept by nobody is said, and not left unsaid.
        ((Some(7), "+"), public, Some(Caching::NONE), (0, false)),
        ((Some(7), "+"), public, Some(Caching::public(Span(0))), (0, true)),
        ((None, ""), public, Some(Caching::NONE), (0, false)),
        // What asks for scopes is for nobody else, whatever is said.
        ((Some(7), "s"), public, None, (7, false)),
        ((Some(7), "s"), public, own, (3, false)),
    ] {
        for uri in ["a:0", "a:0/x"] {
            let mut talk = talk(fallback);
            talk.script.view = view(&[said]);
            let answered = talk.run("resources/read", &json!({"uri": uri}), read(answer));
            assert_eq!(kept(&answered["result"]), right, "{said:?} {fallback:?} {answer:?} {uri}");
            talk.script.view = View::only(Arc::clone(view(&[said]).catalog()), |_| true);
            let answered = talk.run("resources/read", &json!({"uri": uri}), read(answer));
            assert_eq!(kept(&answered["result"]), (right.0, false), "what is chosen for somebody is private");
        }
    }
}

#[test]
fn calls_and_older_revisions_say_nothing_of_caches_and_changes_are_told_all_the_same_cache_2_cache_5() {
    let mut talk = talk(Caching::public(Span(100)));
    talk.script.view = view(&[(Some(7), "+")]);
    let silent = |result: &Value| result.get("ttlMs").is_none() && result.get("cacheScope").is_none();
    let called =
        talk.run("tools/call", &json!({"name": "n0"}), Outcome::Complete(Answer::Tool(ToolAnswer::text("done"))));
    assert!(silent(&called["result"]) && called["result"].is_object());
    // CACHE-5: word of changes is promised beside it.
    let result = talk.result("server/discover", &json!({}));
    assert_eq!((kept(&result), &result["capabilities"]["tools"]["listChanged"]), ((100, true), &json!(true)));
    let mut old = Talk::with(endpoint(Caching::public(Span(100))), Revision::V2025_11_25, &json!({}));
    old.script.view = view(&[(Some(7), "+")]);
    for method in LISTS {
        assert!(silent(&old.result(method, &json!({}))), "BASE-13");
    }
    let answered = old.run("resources/read", &json!({"uri": "a:0"}), read(Some(Caching::public(Span(3)))));
    assert!(silent(&answered["result"]));
}
