//! Mistakes are found when the server is built, all of them at once, each with its entry, its rule and a remedy.

use mcp_server::schemars::{self, JsonSchema};
use mcp_server::{BuildError, Json, Server, Tool};
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
fn every_mistake_is_reported_at_once_design_6() {
    #[derive(Serialize, JsonSchema)]
    struct Item {
        name: String,
    }
    let error = Server::new("", "1")
        .tool(tool("one").run(|| ()))
        .tool(tool("no code"))
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
            ("no code", "TOOL-6"),
            ("silent", "TOOL-3"),
            ("list", "TOOL-4"),
            ("text", "TOOL-4"),
            ("found", "TOOL-13"),
            ("server", "BASE-27"),
            ("one", "TOOL-5"),
            ("meta", "BASE-21"),
        ]
    );
    let text = format!("{error:?}");
    assert!(text.starts_with("the server cannot be built, for 8 reasons:\n  `no code`: it has no code"), "{text}");
    assert_eq!(text.lines().count(), 9);
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
#[cfg(not(feature = "validate"))]
fn a_schema_as_data_without_the_feature_that_enforces_it_is_a_mistake_design_8() {
    let error = Server::new("test", "1")
        .tool(tool("data").input_schema(json!({"type": "object"})).output_schema(json!({"type": "object"})).run(|| ()))
        .build()
        .expect_err("nothing would enforce it");
    assert_eq!(defects(&error), [("data", "TOOL-4"), ("data", "TOOL-13")]);
    assert!(error.to_string().contains("feature `validate`"), "{error}");
}
