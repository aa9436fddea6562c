//! Schemas given as data: published as they are, enforced before and after the code.

#![cfg(feature = "validate")]

mod common;

use common::{Client, text};
use mcp_server::{CallError, Json, Server, Tool};
use serde_json::{Value, json};

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "who": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        },
        "required": ["who"],
        "$defs": {"line": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}},
        "if": {"properties": {"who": {"const": "me"}}},
        "then": {"required": ["lines"]},
        "additionalProperties": false,
        "x-own": [1, null],
    })
}

#[tokio::test]
async fn a_schema_is_published_as_it_was_given_tool_14() {
    let ordered = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"null"}},"$comment":" { \" } "}"#;
    let spaced = ordered.replace(",\"", " ,\n\t\"");
    let mut client = Client::of(
        Server::new("test", "1")
            .tool(tool("value").input_schema(schema()).run(|_: Value| ()))
            .tool(tool("text").input_schema_text(spaced).run(|_: Value| ())),
    );
    assert_eq!(client.listed("value").await["inputSchema"], schema());
    assert_eq!(client.listed("text").await["inputSchema"], serde_json::from_str::<Value>(ordered).expect("JSON"));
}

#[tokio::test]
async fn a_default_refuses_nothing_that_the_schema_lets_in() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": "string", "default": "none"},
            "page": {"type": "integer", "default": "first"},
        },
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    });
    let mut client = Client::of(
        Server::new("test", "1").tool(tool("echo").input_schema(schema).run(|args: Value| args.to_string())),
    );
    for (sent, read) in [
        (json!({"id": 1}), json!({"id": 1, "name": "none"})),
        (json!({"name": "x", "page": 2}), json!({"name": "x", "page": 2})),
    ] {
        assert_eq!(text(&client.call("echo", sent).await), read.to_string());
    }
    assert_eq!(client.call("echo", json!({})).await["result"]["isError"], true);
}

#[tokio::test]
async fn every_violation_is_reported_with_its_path_and_the_code_is_not_entered_tool_9() {
    let mut client = Client::of(Server::new("test", "1").tool(
        tool("data").input_schema(schema()).run(|args: Value| args["who"].as_str().unwrap_or_default().to_owned()),
    ));
    assert_eq!(text(&client.call("data", json!({"who": "you"})).await), "you");
    let refused = client.call("data", json!({"who": "ABCDEF", "lines": [{"n": 1}, {}, {"n": "x"}], "more": 1})).await;
    assert_eq!(refused["result"]["isError"], true);
    let said = text(&refused);
    assert_eq!(said.lines().count(), 6, "{said}");
    for line in [
        "- `lines[1].n`: is required, and missing",
        "- `lines[2].n`: expected an integer, got a string",
        "- `more`: is not a known parameter",
        "- `who`: must have at most 5 characters, has 6",
        "- `who`: must match the pattern `^[a-z]+$`, is \"ABCDEF\"",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    let refused = client.call("data", json!({"who": "me"})).await;
    assert!(text(&refused).ends_with("\n- `lines`: is required, and missing"), "{refused}");
}

#[tokio::test]
async fn typed_code_may_have_a_schema_given_as_data() {
    #[derive(serde::Deserialize, mcp_server::schemars::JsonSchema)]
    #[schemars(crate = "mcp_server::schemars")]
    struct Count {
        n: u8,
    }
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]});
    let mut client =
        Client::of(Server::new("test", "1").tool(tool("count").input_schema(schema).run(|args: Count| args.n)));
    assert_eq!(text(&client.call("count", json!({"n": 9})).await), "9");
    assert!(text(&client.call("count", json!({"n": 10})).await).contains("`n`: must be at most 9, is 10"));
    assert!(text(&client.call("count", json!({"n": -1})).await).contains("`n`: "), "the type's own rule still holds");
}

#[tokio::test]
async fn a_result_that_breaks_its_schema_is_not_sent_tool_11() {
    let output = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let mut client = Client::of(
        Server::new("test", "1").tool(
            tool("any")
                .output_schema(output.clone())
                .run(|args: Value| if args["fail"] == true { Err(CallError::new("no")) } else { Ok(Json(args)) }),
        ),
    );
    assert_eq!(client.listed("any").await["outputSchema"], output);
    assert_eq!(client.call("any", json!({"n": 1})).await["result"]["structuredContent"], json!({"n": 1}));
    let broken = client.call("any", json!({"n": "secret"})).await;
    assert_eq!(broken["error"]["code"], -32603, "{broken}");
    assert!(!broken.to_string().contains("secret"), "{broken}");
    assert_eq!(client.call("any", json!({"fail": true})).await["result"]["isError"], true, "an error promises nothing");
}

#[test]
fn a_schema_that_leads_outside_or_cannot_be_compiled_is_a_mistake_schema_3() {
    let build = |schema: Value| Server::new("test", "1").tool(tool("data").input_schema(schema).run(|| ())).build();
    for schema in [
        json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}),
        json!({"type": "object", "properties": {"a": {"pattern": "("}}}),
        json!({"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}}),
        json!({"type": "object", "properties": []}),
        json!({"type": "array"}),
        json!({}),
        json!(true),
    ] {
        let error = build(schema.clone()).expect_err("the schema is wrong");
        assert!(error.defects().iter().all(|defect| &*defect.entry == "data"), "{schema}: {error}");
    }
    let text = Server::new("test", "1").tool(tool("data").input_schema_text("{").run(|| ())).build();
    assert!(text.expect_err("no JSON").to_string().contains("is not JSON"));
}

#[test]
fn every_fault_of_a_schema_is_told_once_and_with_its_place_tool_4() {
    let told = |tool: Tool| -> Vec<(&str, String)> {
        let error =
            Server::new("test", "1").tool(tool.run(|| Json(json!({})))).build().expect_err("the schema is wrong");
        error.defects().iter().map(|defect| (defect.rule, defect.message.to_string())).collect()
    };
    // What the validator alone finds: all of it.
    let wrong = json!({"type": "object", "properties": {
        "a": {"type": "strin"}, "b": {"minLength": -1}, "c/d": {"required": "c"}, "e": {"type": "string"},
    }});
    let places = ["/properties/a/type", "/properties/b/minLength", "/properties/c~1d/required"];
    for (rule, name, found) in [
        ("TOOL-4", "input", told(tool("data").input_schema(wrong.clone()))),
        ("TOOL-13", "output", told(tool("data").output_schema(wrong))),
    ] {
        assert_eq!(found.len(), places.len(), "{found:?}");
        for ((its_rule, message), place) in found.iter().zip(places) {
            assert_eq!(*its_rule, rule);
            assert!(message.starts_with(&format!("the {name} schema is not valid at `{place}`: ")), "{message}");
        }
    }
    // What is found only when it is compiled.
    let pattern =
        told(tool("data").input_schema(json!({"type": "object", "properties": {"a": {"pattern": "(a)\\1"}}})));
    assert_eq!(pattern.len(), 1);
    assert!(pattern[0].1.starts_with("the input schema is not valid at `/properties/a/pattern`: "), "{pattern:?}");
    // What the catalogue finds, too: the catalogue's words only.
    for (schema, rules) in [
        (json!({"type": "object", "properties": []}), ["TOOL-4"]),
        (json!({"type": "strin"}), ["TOOL-4"]),
        (json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}), ["SCHEMA-3"]),
        (json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}), ["SCHEMA-4"]),
        (json!(5), ["TOOL-4"]),
    ] {
        let found = told(tool("data").input_schema(schema));
        assert_eq!(found.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), rules, "{found:?}");
    }
    // One schema's faults do not silence the other's.
    let both = tool("data").input_schema(json!({"type": "object", "properties": []})).output_schema(json!({
        "type": "object", "properties": {"a": {"type": 5}},
    }));
    let mut rules: Vec<&str> = told(both).iter().map(|(rule, _)| *rule).collect();
    rules.sort_unstable();
    assert_eq!(rules, ["TOOL-13", "TOOL-4"]);
}

#[tokio::test]
async fn what_no_tree_of_rules_knows_is_enforced_too() {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^\\p{Lu}"}, "n": {"type": "integer"}},
        "unevaluatedProperties": false,
    });
    let mut client = Client::of(
        Server::new("test", "1")
            .tool(tool("data").input_schema(schema).coerce(true).run(|args: Value| args.to_string())),
    );
    assert_eq!(text(&client.call("data", json!({"name": "Émile", "n": "5"})).await), r#"{"name":"Émile","n":5}"#);
    let refused = client.call("data", json!({"name": "émile", "n": "x", "more": 1})).await;
    assert_eq!(refused["result"]["isError"], true);
    for path in ["`name`: ", "`n`: ", "`more`: is not a known parameter"] {
        assert!(text(&refused).contains(path), "{path} in {refused}");
    }
}

#[tokio::test]
async fn alternatives_within_alternatives_are_judged_in_bounded_time_schema_5() {
    // One at each level is enough to fit, and none does: told naively, each level would cost three times as much as the last.
    let form = |more: &str| {
        json!({"type": "object", "required": ["a"],
            "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/Nested"}}, more: {"type": "boolean"}}})
    };
    let schema = |more: Value| {
        let mut schema = json!({
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/Nested"}},
            "$defs": {"Nested": {"anyOf": [{"type": "boolean"}, form("b"), form("c"), form("d")]}},
        });
        schema.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        schema
    };
    // The second has a keyword that no tree knows.
    let known = tool("known").input_schema(schema(json!({}))).run(|_: Value| "fits");
    let unknown = tool("unknown").input_schema(schema(json!({"unevaluatedProperties": false}))).run(|_: Value| "fits");
    let mut client = Client::of(Server::new("test", "1").tool(known).tool(unknown));
    let nested = |mut value: Value| {
        (0..50).for_each(|_| value = json!({"a": [value]}));
        json!({"root": value})
    };
    for name in ["known", "unknown"] {
        assert_eq!(text(&client.call(name, nested(json!(true))).await), "fits");
        let refused = client.call(name, nested(json!(1))).await;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
    }
}
