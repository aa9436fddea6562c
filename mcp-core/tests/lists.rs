//! The four lists by pages, in every revision: each item once, and cursors that are good for one list and one caller alone.

use std::sync::Arc;

use mcp_core::catalog::{Catalog, Item, Prompt, Resource, Template, Tool};
use mcp_core::policy::Policy;
use mcp_core::{Caching, Endpoint, Handle, Revision, Span, View};
use serde_json::{Value, json};
use testkit::{Talk, fixture};

/// Each list: its method, the member of its result, and what names an item.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

/// The keys of a list, not in alphabetical order: the order of registration is what counts. Two are as long as they may be.
fn keys(list: usize) -> Vec<String> {
    let name = |n: usize| match list {
        0 | 3 if n == 4 => "n".repeat(128),
        1 if n == 4 => format!("a:{}", "u".repeat(2046)),
        2 if n == 4 => format!("a:{}{{v}}", "u".repeat(1019)),
        0 | 3 => format!("n{}", n * 7 % 10),
        1 => format!("a:{}", n * 7 % 10),
        _ => format!("a:{}/{{v}}", n * 7 % 10),
    };
    (0..10).map(name).collect()
}

fn catalog() -> Arc<Catalog> {
    let mut builder = Catalog::builder();
    for n in 0..10 {
        let [tool, resource, template, prompt] = [0, 1, 2, 3].map(|list| keys(list).swap_remove(n));
        builder = builder
            .tool(Tool::new(&tool, Handle(1), r#"{"type":"object"}"#))
            .resource(Resource::new(&resource, "r", Handle(2)))
            .template(Template::new(&template, "t", Handle(3)))
            .prompt(Prompt::new(&prompt, Handle(4)));
    }
    builder.build().unwrap()
}

/// A server that lists by so many.
fn endpoint(page: usize) -> Arc<Endpoint> {
    let mut policy = Policy::default();
    policy.limits.page = page;
    fixture::builder().policy(policy).build().unwrap()
}

fn talk(revision: Revision, page: usize) -> Talk {
    let mut talk = Talk::with(endpoint(page), revision, &json!({}));
    talk.script.view = View::all(catalog());
    talk
}

/// All keys of a list, page by page, and the cursors between the pages.
fn walk(talk: &mut Talk, list: usize, page: usize) -> (Vec<String>, Vec<String>) {
    let (method, member, key) = LISTS[list];
    let (mut keys, mut cursors) = (Vec::new(), Vec::<String>::new());
    let mut scopes = Vec::new();
    loop {
        let params = cursors.last().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let result = talk.result(method, &params);
        let items = result[member].as_array().unwrap();
        assert!(!items.is_empty() && items.len() <= page);
        keys.extend(items.iter().map(|item| item[key].as_str().unwrap().to_owned()));
        scopes.push(result.get("cacheScope").cloned());
        match result.get("nextCursor") {
            Some(next) => cursors.push(next.as_str().expect("a string, never null").to_owned()),
            None => break,
        }
    }
    scopes.dedup();
    assert_eq!(scopes, [(talk.revision == Revision::MODERN).then(|| json!("private"))], "one scope for all pages");
    (keys, cursors)
}

#[test]
fn every_list_holds_each_item_once_in_order_and_ends_without_a_cursor_page_1_cache_3_tool_2_case_49() {
    for revision in Revision::ALL {
        for (list, (method, ..)) in LISTS.into_iter().enumerate() {
            for page in [1, 3, 10, 11] {
                let (found, cursors) = walk(&mut talk(revision, page), list, page);
                assert_eq!(found, keys(list), "{revision} {method}");
                assert_eq!(cursors.len(), 9 / page);
                assert!(cursors.iter().all(|cursor| !cursor.is_empty()));
            }
        }
    }
}

#[test]
fn what_is_hidden_leaves_no_gap_and_no_short_page_page_1_base_20() {
    for (list, (method, member, _)) in LISTS.into_iter().enumerate() {
        let mut talk = talk(Revision::MODERN, 2);
        let hidden: Vec<String> = keys(list).into_iter().step_by(3).collect();
        talk.script.view = View::only(catalog(), |item: Item<'_>| !hidden.iter().any(|key| key == item.key()));
        let (found, cursors) = walk(&mut talk, list, 2);
        let right: Vec<String> = keys(list).into_iter().filter(|key| !hidden.contains(key)).collect();
        assert_eq!((found, cursors.len()), (right, 2));
        talk.script.view = View::only(catalog(), |_| false);
        assert_eq!(talk.result(method, &json!({}))[member], json!([]));
    }
}

#[test]
fn lists_say_how_long_they_may_be_kept_and_a_filtered_one_is_private_whatever_was_said_cache_1_cache_3_cache_4() {
    for (caching, ttl, scope) in [
        (Caching::NONE, json!(0), "private"),
        (Caching::private(Span::secs(300)), json!(300_000), "private"),
        (Caching::public(Span::secs(300)), json!(300_000), "public"),
        (Caching::public(Span(u64::MAX)), json!(i64::MAX), "public"),
    ] {
        let mut policy = Policy::default();
        policy.limits.page = 3;
        let endpoint = fixture::builder().policy(policy).caching(caching).build().unwrap();
        let mut talk = Talk::with(Arc::clone(&endpoint), Revision::MODERN, &json!({}));
        let said = |result: &Value| (result["ttlMs"].clone(), result["cacheScope"].clone());
        assert_eq!(said(&talk.result("server/discover", &json!({}))), (ttl.clone(), json!(scope)));
        for (method, ..) in LISTS {
            talk.script.view = View::all(catalog());
            let first = talk.result(method, &json!({}));
            assert_eq!(said(&first), (ttl.clone(), json!(scope)), "{method}");
            assert_eq!(said(&talk.result(method, &json!({"cursor": first["nextCursor"]}))), said(&first));
            // Also what a caller gets from whom nothing is hidden: a shared cache would give it to the others.
            for hidden in ["n0", ""] {
                talk.script.view = View::only(catalog(), |item: Item<'_>| item.key() != hidden);
                assert_eq!(said(&talk.result(method, &json!({}))), (ttl.clone(), json!("private")), "{method}");
            }
        }
        let mut old = Talk::with(endpoint, Revision::V2025_11_25, &json!({}));
        assert!(old.result("tools/list", &json!({})).get("ttlMs").is_none(), "BASE-13");
    }
}

#[test]
fn a_list_that_depends_on_what_the_client_can_do_is_for_it_alone_app_1_cache_4() {
    let pages = |revision, apart: bool, linked: bool, capabilities: &Value| {
        let mut policy = Policy::default();
        policy.limits.page = 1;
        let builder = fixture::builder().policy(policy).caching(Caching::public(Span::secs(300)));
        let shown_by = |capabilities: &mcp_core::Capabilities| capabilities.extension("example.com/pages").is_some();
        let builder = if apart { builder.pages(shown_by) } else { builder };
        let mut talk = Talk::with(builder.build().unwrap(), revision, capabilities);
        let tool = |name: &str| Tool::new(name, Handle(1), r#"{"type":"object"}"#);
        let mut tools = vec![tool("a")];
        if linked {
            let link = tool("c").with_meta(r#"{"ui":{}}"#).with_pageless_meta(None);
            tools.extend([tool("b").for_page(), link, tool("d").for_page()]);
        }
        let catalog = tools.into_iter().fold(Catalog::builder(), mcp_core::catalog::Builder::tool);
        talk.script.view = View::all(catalog.build().unwrap());
        let (mut names, mut scopes, mut cursor) = (Vec::new(), Vec::new(), json!(null));
        loop {
            let result = talk.result("tools/list", &json!({"cursor": cursor}));
            let tool = &result["tools"][0];
            names.push(format!("{}{}", tool["name"].as_str().unwrap(), tool.get("_meta").map_or("", |_| "+")));
            scopes.push(result["cacheScope"].clone());
            match result.get("nextCursor") {
                Some(next) => cursor = next.clone(),
                None => break (names.concat(), scopes.swap_remove(0)),
            }
        }
    };
    let able = json!({"extensions": {"example.com/pages": {}}});
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
        let scope = |scope: &str| if revision == Revision::MODERN { json!(scope) } else { Value::Null };
        for capabilities in [&json!({}), &able] {
            assert_eq!(pages(revision, false, true, capabilities), ("abc+d".into(), scope("public")));
            assert_eq!(pages(revision, true, false, capabilities), ("a".into(), scope("public")));
        }
        assert_eq!(pages(revision, true, true, &able), ("abc+d".into(), scope("private")));
        assert_eq!(pages(revision, true, true, &json!({})), ("ac".into(), scope("private")), "and no short page");
    }
}

#[test]
fn a_cursor_is_good_on_another_instance_and_on_no_other_list_or_view_page_2_page_3() {
    for revision in Revision::ALL {
        let cursors: Vec<String> = (0..4).map(|list| walk(&mut talk(revision, 4), list, 4).1.swap_remove(0)).collect();
        for (list, (method, member, key)) in LISTS.into_iter().enumerate() {
            for (of, cursor) in cursors.iter().enumerate() {
                let mut other = talk(revision, 4);
                let sent = other.ask(method, &json!({"cursor": cursor}));
                if of == list {
                    assert_eq!(sent.one()["result"][member][0][key], keys(list)[4], "{revision} {method}");
                } else {
                    assert_eq!(sent.code(), -32602, "{revision} {method}");
                }
            }
            let mut other = talk(revision, 4);
            let hidden = keys(list).swap_remove(9);
            other.script.view = View::only(catalog(), |item: Item<'_>| item.key() != hidden);
            assert_eq!(other.ask(method, &json!({"cursor": cursors[list]})).code(), -32602, "of another view");
        }
    }
}

#[test]
fn any_other_cursor_is_refused_and_null_is_none_page_1_page_2() {
    for revision in Revision::ALL {
        for (method, member, _) in LISTS {
            let mut talk = talk(revision, 4);
            let long = json!("A".repeat(100_000));
            for cursor in [json!(""), json!("garbage"), json!("é"), json!(5), json!([]), json!({}), json!(false), long]
            {
                assert_eq!(talk.ask(method, &json!({"cursor": cursor})).code(), -32602, "{revision} {method} {cursor}");
            }
            let first = talk.result(method, &json!({"cursor": Value::Null, "other": 1}));
            assert_eq!(first[member], talk.result(method, &json!({}))[member], "BASE-10");
            assert_eq!(first[member].as_array().unwrap().len(), 4);
        }
    }
}
