//! Schemas given as data, in the dialect that they name.

#![cfg(feature = "validate")]

use mcp_core::question::Question;
use mcp_server::testing::{Client, block_on};
use mcp_server::{Ability, CallError, Ctx, Json, Revision, Server, Tool};
use serde_json::{Value, json};

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

fn echo(arguments: Value) -> Json<Value> {
    Json(arguments)
}

fn pair(dialect: Option<&str>, keyword: &str) -> Value {
    let items = json!([{"type": "integer"}, {"type": "string"}]);
    let mut schema = json!({"type": "object", "properties": {"pair": {"type": "array"}}});
    schema["properties"]["pair"][keyword] = items;
    if let Some(dialect) = dialect {
        schema["$schema"] = json!(dialect);
    }
    schema
}

#[test]
fn a_schema_is_of_2020_12_unless_it_says_otherwise_and_draft_07_is_known_too_schema_1() {
    let cases = [
        ("none", pair(None, "prefixItems")),
        ("newest", pair(Some("https://json-schema.org/draft/2020-12/schema"), "prefixItems")),
        ("older", pair(Some("http://json-schema.org/draft-07/schema#"), "items")),
    ];
    let server = cases.iter().fold(Server::new("test", "1"), |server, (name, schema)| {
        server.tool(tool(name).input_schema(schema.clone()).run(|_: Value| "taken"))
    });
    block_on(async {
        let mut client = Client::new(server);
        for (name, _) in &cases {
            client.call(name, json!({"pair": [1, "a"]})).await.assert_text("taken");
            client.call(name, json!({"pair": ["a", 1]})).await.assert_error_contains("pair");
        }
    });
    // What is a keyword in one dialect only is none in the other.
    let other = pair(Some("http://json-schema.org/draft-07/schema#"), "prefixItems");
    block_on(async {
        let server = Server::new("test", "1").tool(tool("other").input_schema(other).run(|_: Value| "taken"));
        Client::new(server).call("other", json!({"pair": ["a", 1]})).await.assert_text("taken");
    });
}

#[test]
fn a_dialect_that_is_not_known_is_refused_when_the_server_is_built_schema_2() {
    for dialect in ["urn:x", "https://example.com/mine", "json-schema"] {
        let schema = json!({"$schema": dialect, "type": "object"});
        let built = Server::new("test", "1").tool(tool("strange").input_schema(schema).run(|_: Value| ())).build();
        let error = built.expect_err("nobody knows how to enforce it");
        assert!(error.to_string().contains(dialect), "{error}");
    }
}

#[test]
fn alternatives_beside_the_type_of_an_object_are_kept_and_enforced_schema_6() {
    let schema = json!({"type": "object", "oneOf": [
        {"required": ["city"], "properties": {"city": {"type": "string"}}},
        {"required": ["lat", "lon"], "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}},
    ]});
    let output = json!({"type": "object", "anyOf": [{"required": ["city"]}, {"required": ["lat"]}]});
    let place = tool("place").input_schema(schema.clone()).output_schema(output.clone()).run(echo);
    block_on(async {
        let mut client = Client::builder(Server::new("test", "1").tool(place)).modern().connect();
        let listed = client.request("tools/list", json!({})).await;
        let listed = &listed.result().expect("a list")["tools"][0];
        assert_eq!((&listed["inputSchema"], &listed["outputSchema"]), (&schema, &output));
        client.call("place", json!({"city": "Bern"})).await.assert_ok();
        client.call("place", json!({"lat": 1.5, "lon": 2})).await.assert_ok();
        client.call("place", json!({})).await.assert_error();
        client.call("place", json!({"city": "Bern", "lat": 1, "lon": 2})).await.assert_error();
    });
}

#[test]
fn the_bounds_of_a_form_may_be_fractions_schema_7() {
    let form =
        r#"{"type":"object","properties":{"share":{"type":"number","minimum":0.5,"maximum":1.5,"default":0.75}}}"#;
    let ask = move |ctx: Ctx| match ctx.resume() {
        Some(_) => Ok("asked"),
        None => {
            let question = Question::Form { message: "How much?".into(), schema: form.into() };
            Err(CallError::ask([("share", question)], ""))
        }
    };
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
        let server = Server::new("test", "1").tool(tool("share").run(ask));
        let client = Client::builder(server).revision(revision).can(Ability::ElicitationForm);
        let mut client = client
            .on_request(move |_, params| {
                let share = &params["requestedSchema"]["properties"]["share"];
                assert_eq!((&share["minimum"], &share["maximum"]), (&json!(0.5), &json!(1.5)), "{revision}");
                json!({"action": "accept", "content": {"share": 1}})
            })
            .connect();
        block_on(async { client.call("share", ()).await.assert_text("asked").assert_ok().is_ok() });
    }
}
