//! Mistakes are found when the server is built, all of them at once, each with its entry, its rule and a remedy.

use std::sync::Arc;

use mcp_server::schemars::{self, JsonSchema};
use mcp_server::{BuildError, Json, Server, State, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

/// Entry and rule of each defect, and that each says something of use.
fn defects(error: &BuildError) -> Vec<(&str, &str)> {
    assert!(error.defects().iter().all(|defect| defect.message.len() > 20), "{error}");
    error.defects().iter().map(|defect| (&*defect.entry, defect.rule)).collect()
}

#[test]
fn every_mistake_is_reported_at_once() {
    #[derive(Serialize, JsonSchema)]
    struct Item {
        name: String,
    }
    let error = Server::new("", "1")
        .tool(tool("one").run(|| ()))
        .tool(tool("no_code"))
        .tool(Tool::new("silent").run(|| ()))
        .tool(tool("one").run(|| ()))
        .tool(tool("list").run(|_: Vec<u8>| ()))
        .tool(tool("text").run(|_: String| ()))
        .tool(tool("found").run(|| Json(vec![Item { name: "a".into() }])))
        .tool(tool("meta").meta(json!({"io.modelcontextprotocol/x": 1})).run(|| ()))
        .build()
        .expect_err("there are mistakes");
    assert_eq!(
        defects(&error),
        [
            ("no_code", "TOOL-6"),
            ("silent", "TOOL-3"),
            ("one", "TOOL-5"),
            ("list", "TOOL-4"),
            ("text", "TOOL-4"),
            ("found", "TOOL-13"),
            ("meta", "BASE-21"),
            ("server", "BASE-27"),
        ]
    );
    let text = format!("{error:?}");
    assert!(text.starts_with("the server cannot be built, for 8 reasons:\n  `no_code`: it has no code"), "{text}");
    assert_eq!(text.lines().count(), 9);
    let said = |entry: &str| {
        let defect = error.defects().iter().find(|defect| &*defect.entry == entry);
        defect.map(|defect| &*defect.message).unwrap_or_default()
    };
    assert_eq!(
        said("list"),
        "the schema of its arguments' type is not that of an object (its root has `\"type\": \"array\"`): take a struct with \
         named fields, a map, or nothing"
    );
    assert_eq!(
        said("found"),
        "the schema of its result's type is not that of an object (its root has `\"type\": \"array\"`): wrap the value in a \
         struct, such as `struct Found { items: Vec<Item> }`"
    );
}

#[test]
fn a_tool_without_a_name_is_told_by_its_place_tool_5() {
    let error = Server::new("test", "1")
        .tool(tool("a").run(|| ()))
        .tool(Tool::new("").run(|| ()))
        .tool(tool("").meta(json!({"mcp.dev/x": 1})).run(|| ()))
        .build()
        .expect_err("two have no name");
    assert_eq!(
        defects(&error),
        [("unnamed-1", "TOOL-5"), ("unnamed-1", "TOOL-3"), ("unnamed-2", "TOOL-5"), ("unnamed-2", "BASE-21")]
    );
    let text = error.to_string();
    let place = "mcp-server/tests/build.rs:";
    assert!(text.contains(&format!("\n  `unnamed-1`: the tool made at {place}")), "{text}");
}

#[test]
fn meta_must_be_an_object_base_21() {
    for (meta, what) in [(json!([1]), "an array"), (json!("{}"), "a string"), (json!(null), "null")] {
        let error = Server::new("test", "1").tool(tool("a").meta(meta).run(|| ())).build().expect_err("no object");
        assert_eq!(defects(&error), [("a", "BASE-21")]);
        assert_eq!(&*error.defects()[0].message, format!("its `_meta` must be a JSON object, not {what}"));
    }
    assert!(Server::new("test", "1").tool(tool("a").meta(json!({})).run(|| ())).build().is_ok());
}

#[test]
fn names_keep_to_the_grammar_and_are_unique_tool_5_case_60() {
    let long = "n".repeat(129);
    for name in ["My Tool", "", "é", "a,b", &long] {
        let error = Server::new("test", "1").tool(tool(name).run(|| ())).build().expect_err("a bad name");
        assert_eq!(defects(&error)[0].1, "TOOL-5", "{name}");
    }
    for name in ["a", "A-b_c.d", "a/b", &long[..128]] {
        assert!(Server::new("test", "1").tool(tool(name).run(|| ())).build().is_ok(), "{name}");
    }
    let twice = Server::new("test", "1").tool(tool("a").run(|| ())).tool(tool("A").run(|| ()));
    assert!(twice.build().is_ok(), "names are case-sensitive");
}

#[test]
fn a_header_annotation_must_be_one_that_clients_can_follow_hdr_9() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Bad {
        #[schemars(extend("x-mcp-header" = "Price"))]
        price: f64,
        #[schemars(extend("x-mcp-header" = "two words"))]
        name: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Good {
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: Option<String>,
    }
    let error = Server::new("test", "1").tool(tool("bad").run(|_: Bad| ())).build().expect_err("two bad headers");
    assert_eq!(defects(&error), [("bad", "HDR-9"), ("bad", "HDR-9")]);
    assert!(Server::new("test", "1").tool(tool("good").run(|_: Good| ())).build().is_ok());
}

#[test]
#[cfg(feature = "http")]
fn hosts_and_origins_that_cannot_be_are_reported_with_the_rest_http_2() {
    let error = Server::new("test", "1")
        .tool(tool("no_code"))
        .allow_host("https://example.com/")
        .allow_origin("example.com")
        .build()
        .expect_err("there are mistakes");
    assert_eq!(defects(&error), [("no_code", "TOOL-6"), ("http", "HTTP-2"), ("http", "HTTP-2")]);
    assert!(Server::new("test", "1").allow_host("example.com").allow_origin("https://example.com").build().is_ok());
}

#[test]
#[cfg(feature = "http")]
fn a_path_that_cannot_be_is_reported_by_the_name_of_its_method_http_1() {
    let error = Server::new("test", "1").http_path("mcp").build().expect_err("no slash");
    assert_eq!(defects(&error), [("http", "HTTP-1")]);
    assert_eq!(&*error.defects()[0].message, "http_path(\"mcp\"): give the path of one endpoint, as in `/mcp`");
    assert!(Server::new("test", "1").http_path("/").build().is_ok());
}

#[test]
#[cfg(feature = "http-sse")]
fn paths_of_http_sse_that_cannot_be_are_reported_http_60() {
    for (stream, messages, said) in [
        ("sse", "/messages", "http_sse_at(\"sse\"): give a path"),
        ("/sse", "//host/m", "http_sse_at(\"//host/m\"): give a path"),
        ("/mcp", "/messages", "http_sse_at(\"/mcp, /messages\"): give the endpoint"),
    ] {
        let error = Server::new("test", "1").http_sse_at(stream, messages).build().expect_err("they cannot be");
        assert_eq!(defects(&error), [("http", "HTTP-60")]);
        assert!(error.defects()[0].message.starts_with(said), "{error}");
    }
    assert!(Server::new("test", "1").http_sse_at("/old", "/old/in").build().is_ok());
}

#[test]
#[cfg(not(feature = "validate"))]
fn a_schema_as_data_without_the_feature_that_enforces_it_is_a_mistake() {
    let error = Server::new("test", "1")
        .tool(tool("data").input_schema(json!({"type": "object"})).output_schema(json!({"type": "object"})).run(|| ()))
        .build()
        .expect_err("nothing would enforce it");
    assert_eq!(defects(&error), [("data", "TOOL-4"), ("data", "TOOL-13")]);
    assert!(error.to_string().contains("feature `validate`"), "{error}");
}

#[test]
fn all_that_is_wrong_with_one_tool_is_told_though_it_has_no_code_tool_5() {
    let error = Server::new("test", "1").tool(Tool::new("no such name!")).build().expect_err("three mistakes");
    let rules: Vec<_> = error.defects().iter().map(|defect| defect.rule).collect();
    assert_eq!(rules, ["TOOL-3", "TOOL-6", "TOOL-5"]);
}

#[test]
fn a_state_that_is_missing_or_was_given_in_an_arc_is_told_with_the_remedy() {
    let takes = || tool("takes").run(|_: State<u32>| ());
    let error = Server::new("test", "1").tool(takes()).build().expect_err("it was not given");
    assert!(error.to_string().contains("the state `u32`, which the server was not given: give it with `.state(..)`"));
    let error = Server::new("test", "1").state(Arc::new(1_u32)).tool(takes()).build().expect_err("it is in an Arc");
    assert!(error.to_string().contains("given as an `Arc`: give it with `.shared_state(..)`"), "{error}");
    let error = Server::new("test", "1").state(1_u32).state(2_u32).tool(takes()).build().expect_err("there are two");
    assert!(error.to_string().contains("the state `u32` was given twice"), "{error}");
    assert!(Server::new("test", "1").shared_state(Arc::new(1_u32)).tool(takes()).build().is_ok());
}
