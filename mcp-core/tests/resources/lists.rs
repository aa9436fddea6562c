//! `resources/list`, `resources/templates/list`.

use super::*;

#[test]
fn a_resource_is_listed_with_the_members_that_the_revision_knows_res_1_res_2_tool_19() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let result = talk.result("resources/list", &json!({}));
        assert_eq!(members(&result), with(revision, true, &["resources"]), "{revision}");
        let [full, bare] = result["resources"].as_array().unwrap().as_slice() else { panic!("{result}") };
        let mut right = vec!["uri", "name", "description", "mimeType", "annotations", "size"];
        right.extend((revision >= Revision::V2025_06_18).then_some(["title", "_meta"]).into_iter().flatten());
        right.extend((revision >= Revision::V2025_11_25).then_some("icons"));
        right.sort_unstable();
        assert_eq!(members(full), right, "{revision}");
        assert_eq!((&full["uri"], &full["size"]), (&json!("notes://today"), &json!(5)));
        let mut hints = vec!["audience", "priority"];
        hints.extend((revision >= Revision::V2025_06_18).then_some("lastModified"));
        hints.sort_unstable();
        assert_eq!(members(&full["annotations"]), hints, "{revision}");
        assert_eq!(members(bare), ["name", "uri"], "case 48: what is not there is not null");
    }
}

#[test]
fn a_template_is_listed_with_the_members_that_the_revision_knows_res_1_res_3() {
    for revision in Revision::ALL {
        let mut talk = Talk::new(revision, &json!({}));
        let result = talk.result("resources/templates/list", &json!({}));
        assert_eq!(members(&result), with(revision, true, &["resourceTemplates"]), "{revision}");
        let [full, bare] = result["resourceTemplates"].as_array().unwrap().as_slice() else { panic!("{result}") };
        let mut right = vec!["uriTemplate", "name", "description", "mimeType", "annotations"];
        right.extend((revision >= Revision::V2025_06_18).then_some(["title", "_meta"]).into_iter().flatten());
        right.extend((revision >= Revision::V2025_11_25).then_some("icons"));
        right.sort_unstable();
        assert_eq!(members(full), right, "{revision}");
        assert_eq!(full["uriTemplate"], "notes://{id}");
        assert_eq!(members(bare), ["name", "uriTemplate"]);
    }
}

/// A server of these, which offers nothing but resources.
fn serving(catalog: mcp_core::catalog::Builder, revision: Revision) -> Talk {
    let endpoint = Endpoint::builder(mcp_core::answer::Implementation::new("s", "1"));
    let endpoint = endpoint.resources(false, false).build().unwrap();
    let mut talk = Talk::with(endpoint, revision, &json!({}));
    talk.script.view = View::all(catalog.build().unwrap());
    talk
}

#[test]
fn both_lists_answer_whatever_there_is_res_1_life_12() {
    for revision in Revision::ALL {
        let mut talk = serving(Catalog::builder().template(Template::new("a://{b}", "a", Handle(1))), revision);
        assert_eq!(talk.result("resources/list", &json!({}))["resources"], json!([]));
        let templates = talk.result("resources/templates/list", &json!({}));
        assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 1);
        let mut talk = serving(Catalog::builder(), revision);
        assert_eq!(talk.result("resources/templates/list", &json!({}))["resourceTemplates"], json!([]));
        assert_eq!(talk.ask("resources/read", &json!({"uri": "a://b"})).code(), not_found(revision));
    }
}

#[test]
fn without_the_capability_there_is_no_such_method_base_8_base_9_life_12_http_11_http_41_err_4() {
    let endpoint = || Endpoint::builder(mcp_core::answer::Implementation::new("s", "1")).tools(true).build().unwrap();
    for revision in Revision::ALL {
        for method in ["resources/list", "resources/templates/list", "resources/read"] {
            let mut talk = Talk::with(endpoint(), revision, &json!({}));
            assert_eq!(talk.ask(method, &json!({"uri": "notes://today"})).code(), -32601, "{revision} {method}");
            let sent = Web::with(endpoint(), revision, &json!({})).ask(method, &json!({"uri": "notes://today"}));
            let status = if revision == Revision::MODERN { 404 } else { 200 };
            assert_eq!((sent.status(), sent.code()), (status, -32601), "{revision} {method}");
        }
    }
}

#[test]
fn a_hidden_resource_is_not_listed_and_its_list_stays_private_cache_1_cache_4() {
    let mut talk = Talk::new(Revision::MODERN, &json!({}));
    talk.script.view = View::only(fixture::catalog(), |item| item.key() != "notes://today");
    let result = talk.result("resources/list", &json!({}));
    assert_eq!(result["resources"], json!([{"uri": "notes://logo.png", "name": "logo"}]));
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
}

#[test]
fn the_first_match_of_the_whole_catalogue_decides_even_if_it_is_hidden_res_11() {
    let found = |view: &View, uri: &str| match view.resource(uri) {
        None => Handle(0),
        Some(Found::Resource(resource)) => resource.handle(),
        Some(Found::Template(template, _)) => template.handle(),
    };
    let all = View::all(fixture::catalog());
    assert_eq!(found(&all, "notes://today"), fixture::TODAY, "static before template");
    assert_eq!(found(&all, "notes://other"), fixture::NOTES);
    let hide = |key: &'static str| View::only(fixture::catalog(), move |item: Item<'_>| item.key() != key);
    assert_eq!(found(&hide("notes://today"), "notes://today"), Handle(0), "and not the template that matches as well");
    assert_eq!(found(&hide("notes://today"), "notes://other"), fixture::NOTES);
    assert_eq!(found(&hide("notes://{id}"), "notes://today"), fixture::TODAY);

    let two = |first: &str, second: &str| {
        let template = |uri: &str, handle| Template::new(uri, "n", Handle(handle));
        Catalog::builder().template(template(first, 1)).template(template(second, 2)).build().unwrap()
    };
    let orders = [("a://{x}", "a://{+y}"), ("a://{+y}", "a://{x}")];
    for (first, second) in orders {
        assert_eq!(found(&View::all(two(first, second)), "a://b"), Handle(1), "in the order of registration");
        let hidden = View::only(two(first, second), |item| item.key() != first);
        assert_eq!(found(&hidden, "a://b"), Handle(0));
    }
    assert_eq!(
        found(&View::all(two("a://{x}", "a://{+y}")), "a://b/c"),
        Handle(2),
        "one that does not match is no first"
    );
}
