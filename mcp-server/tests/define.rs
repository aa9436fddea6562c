//! Tools whose definition is data.

#![cfg(feature = "validate")]

mod common;

use common::{Client, text};
use mcp_server::{Server, Tool, Value, json};

fn build(tools: impl IntoIterator<Item = Tool>) -> Result<mcp_server::App, mcp_server::BuildError> {
    tools.into_iter().fold(Server::new("test", "1"), |server, tool| server.tool(tool.run(|| ()))).build()
}

/// Rule and message of each thing that is wrong with a definition.
fn told(definition: &Value) -> Vec<(&'static str, String)> {
    let error = Tool::validate(definition).expect_err("it is wrong");
    error.defects().iter().map(|defect| (defect.rule, defect.message.to_string())).collect()
}

const WEATHER: &str = r#"{
    "name": "weather",
    "title": "Weather",
    "description": "Tells the weather.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "where": {"type": "object", "properties": {"city": {"type": "string"}, "zone": {"type": "integer", "default": 1}}},
            "days": {"type": "integer", "minimum": 1, "default": 3},
            "alert": {"type": "boolean"}
        },
        "required": ["where"],
        "additionalProperties": false
    },
    "outputSchema": {"type": "object"},
    "annotations": {"title": "W", "readOnlyHint": true, "openWorldHint": false, "idempotentHint": null},
    "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"}],
    "_meta": {"com.example/team": "sky"},
    "execution": {"taskSupport": "optional"}
}"#;

#[tokio::test]
async fn a_definition_is_published_as_it_is_in_its_order_tool_14() {
    let tool = Tool::from_json(WEATHER).run(|_: Value| mcp_server::Json(json!({})));
    let listed = Client::of(Server::new("test", "1").tool(tool)).listed("weather").await;
    let mut expected: Value = serde_json::from_str(WEATHER).expect("JSON");
    expected.as_object_mut().expect("an object").shift_remove("execution");
    expected["annotations"].as_object_mut().expect("an object").shift_remove("idempotentHint");
    assert_eq!(listed, expected);
    assert_eq!(listed["inputSchema"].to_string(), expected["inputSchema"].to_string(), "the order counts");
}

#[tokio::test]
async fn its_schema_is_enforced_defaults_are_filled_in_and_texts_coerced_if_that_is_said() {
    let echo = mcp_server::Json::<Value>;
    let tool = |name: &str| Tool::from_json(WEATHER).renamed(name);
    let server = Server::new("test", "1").tool(tool("plain").run(echo)).tool(tool("lenient").coerce(true).run(echo));
    let mut client = Client::of(server);
    let read = |response: &Value| serde_json::from_str::<Value>(text(response)).expect("JSON");
    let sent = json!({"where": {"city": "Ghent"}, "days": null});
    let filled = json!({"where": {"city": "Ghent", "zone": 1}, "days": 3});
    assert_eq!(read(&client.call("plain", sent).await), filled);
    let sent = json!({"where": {"zone": "7"}, "days": "2.0", "alert": "TRUE"});
    let refused = client.call("plain", sent.clone()).await;
    assert_eq!(text(&refused).lines().count(), 4, "{refused}");
    let coerced = json!({"where": {"zone": 7}, "days": 2, "alert": true});
    assert_eq!(read(&client.call("lenient", sent).await), coerced);
    let refused = client.call("lenient", json!({"where": {}, "days": "0"})).await;
    assert!(text(&refused).contains("`days`: must be at least 1, is 0"), "{refused}");
}

#[test]
fn both_spellings_of_a_schema_are_read_and_one_at_a_time() {
    let base = json!({"name": "t", "description": "d"});
    let with = |members: Value| {
        let mut definition = base.clone();
        definition.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
        definition
    };
    let object = json!({"type": "object"});
    for good in [json!({"inputSchema": object}), json!({"input_schema": object, "output_schema": object})] {
        Tool::validate(&with(good)).expect("it is right");
    }
    let both = told(&with(json!({"inputSchema": object, "input_schema": object})));
    assert_eq!(
        both,
        [("TOOL-4", "its definition has `inputSchema` and `input_schema`, which are the same: keep one".into())]
    );
}

#[test]
fn everything_that_is_wrong_with_a_definition_is_told_at_once() {
    let found = told(&json!({
        "nmae": "t",
        "description": 5,
        "inputSchma": {"type": "object"},
        "outputSchema": {"type": "array"},
        "annotations": {"readOnly": true, "destructiveHint": "no", "title": 1},
        "icons": [{"src": "file:///i.png"}, {"source": "x"}, "y", {"src": "https://a.example/i", "sizes": ["big"]}],
        "_meta": [],
        "execution": {"taskSupport": "always", "taskSuport": "none"},
        "colour": 1,
    }));
    let expected = [
        ("TOOL-5", "has no name"),
        ("TOOL-3", "the `description` of its definition must be a string, not an integer"),
        ("TOOL-4", "its definition has no `inputSchema`"),
        (
            "TOOL-3",
            "`annotations` of its definition has a member `readOnly`, which nobody reads: did you mean `readOnlyHint`?",
        ),
        ("TOOL-15", "`annotations.destructiveHint` of its definition must be true or false, not a string"),
        ("TOOL-15", "`annotations.title` of its definition must be a string, not an integer"),
        ("BASE-28", "`icons[0]` of its definition: "),
        ("TOOL-3", "`icons[1]` of its definition has a member `source`, which nobody reads: it knows src, "),
        ("BASE-28", "`icons[1]` of its definition: it needs a `src`"),
        ("BASE-28", "`icons[2]` of its definition: an icon is an object, not a string"),
        ("BASE-28", "`icons[3]` of its definition: `sizes` must be"),
        (
            "TASK-2",
            "`execution.taskSupport` of its definition must be \"none\" or \"forbidden\", \"supported\" or \"optional\", or \
             \"required\"",
        ),
        (
            "TOOL-3",
            "`execution` of its definition has a member `taskSuport`, which nobody reads: did you mean `taskSupport`?",
        ),
        ("TOOL-3", "its definition has a member `nmae`, which nobody reads: did you mean `name`?"),
        ("TOOL-3", "its definition has a member `inputSchma`, which nobody reads: did you mean `inputSchema`?"),
        ("TOOL-3", "its definition has a member `colour`, which nobody reads: it knows name, title, "),
        ("BASE-21", "its `_meta` must be a JSON object"),
        ("SCHEMA-6", "the output schema's root must say"),
    ];
    for (index, (rule, message)) in expected.iter().enumerate() {
        let (its_rule, said) = &found[index];
        assert_eq!(its_rule, rule, "{said}");
        assert!(said.contains(message), "{message} is not in {said}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn a_mistake_of_a_definition_is_told_once_and_in_its_words_tool_3_tool_5_auth_6_cache_1() {
    let with = |members: Value| {
        let mut definition = json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}});
        definition.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
        definition
    };
    let empty = "the `scope` of its definition is empty, which would let everybody in: name one, such as \"notes:read\", or leave \
                 it out";
    let public =
        "`cache` of its definition has a member `public`, which nobody reads: did you mean `scope = \"public\"`?";
    let private =
        "`cache` of its definition has a member `public`, which nobody reads: did you mean `scope = \"private\"`?";
    for (members, rule, message) in [
        (json!({"description": 7}), "TOOL-3", "the `description` of its definition must be a string, not an integer"),
        (json!({"name": 5}), "TOOL-5", "the `name` of its definition must be a string, not an integer"),
        (
            json!({"description": " "}),
            "TOOL-3",
            "it has no description, and a model would have to guess: give its definition a `description`",
        ),
        (json!({"scope": ""}), "AUTH-6", empty),
        (json!({"scope": []}), "AUTH-6", empty),
        (json!({"cache": {"public": true}}), "TOOL-3", public),
        (json!({"cache": {"public": false}}), "TOOL-3", private),
        (json!({"cache": {"private": true}}), "TOOL-3", &private.replace("a member `public`", "a member `private`")),
    ] {
        assert_eq!(told(&with(members)), [(rule, message.to_owned())]);
    }
    let unnamed = told(&json!({"description": "d", "inputSchema": {"type": "object"}}));
    assert!(unnamed.len() == 1 && unnamed[0].1.ends_with(" has no name: give its definition a `name`"), "{unnamed:?}");
}

#[test]
fn a_type_that_is_none_is_told_with_those_that_are_tool_4() {
    let all = "array, boolean, integer, null, number, object, string";
    for (wrong, what) in [
        (json!("strng"), "`strng` is no type of JSON: did you mean `string`?".to_owned()),
        (json!("String"), "`String` is no type of JSON: did you mean `string`?".into()),
        (json!("float"), format!("`float` is no type of JSON: it has {all}")),
        (json!(["string", "nul"]), "`nul` is no type of JSON: did you mean `null`?".into()),
        (json!(5), format!("a type is a text or a list of different ones, not an integer: JSON has {all}")),
        (json!(["string", 5]), format!("a type is a text or a list of different ones, not an integer: JSON has {all}")),
        (json!(["string", "string"]), format!("a type is a text or a list of different ones: JSON has {all}")),
        (json!([]), format!("a type is a text or a list of different ones: JSON has {all}")),
    ] {
        for dialect in ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"] {
            let schema = json!({"$schema": dialect, "type": "object", "properties": {"a": {"items": {"type": wrong}}}});
            let found = told(&json!({"name": "t", "description": "d", "inputSchema": schema}));
            let expected = format!("the input schema is not valid at `/properties/a/items/type`: {what}");
            assert_eq!(found, [("TOOL-4", expected)], "{dialect}");
        }
    }
    // A property of that name is no type.
    let schema = json!({"type": "object", "properties": {"type": "string"}});
    let found = told(&json!({"name": "t", "description": "d", "inputSchema": schema}));
    assert!(found.len() == 1 && !found[0].1.contains("no type of JSON"), "{found:?}");
}

#[test]
fn what_a_checked_definition_must_have_is_asked_for() {
    let rules = |definition: Value| told(&definition).into_iter().map(|(rule, _)| rule).collect::<Vec<_>>();
    let object = json!({"type": "object"});
    assert_eq!(rules(json!({"description": "d", "inputSchema": object})), ["TOOL-5"]);
    assert_eq!(rules(json!({"name": 5, "description": "d", "inputSchema": object})), ["TOOL-5"]);
    assert_eq!(rules(json!({"name": "t", "inputSchema": object})), ["TOOL-3"]);
    assert_eq!(rules(json!({"name": "t", "description": "d"})), ["TOOL-4"]);
    for schema in
        [json!({}), json!({"type": "array"}), json!({"type": "object", "properties": {"a": {"type": "strin"}}})]
    {
        assert_eq!(rules(json!({"name": "t", "description": "d", "inputSchema": schema})), ["TOOL-4"]);
    }
    assert_eq!(rules(json!({"name": "a b", "description": "d", "inputSchema": object})), ["TOOL-5"]);
    for definition in [json!([]), json!("t"), json!(null)] {
        let found = told(&definition);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].1.contains("its definition must be a JSON object, not "), "{found:?}");
    }
}

#[test]
fn a_text_that_is_no_definition_fails_when_the_server_is_built() {
    let message = |text: &str| {
        let error = build([Tool::from_json(text)]).expect_err("it cannot be read");
        assert_eq!(error.defects().len(), 1, "{error}");
        error.defects()[0].message.to_string()
    };
    let broken = message("{\"name\": ");
    assert!(broken.contains("define.rs:") && broken.contains("its definition is not JSON: EOF"), "{broken}");
    assert!(message("[]").contains("its definition must be a JSON object, not an array"));
    let twice = r#"{"name": "t", "description": "d", "inputSchema": {"type": "object", "type": "object"}}"#;
    assert_eq!(message(twice), "its definition has `inputSchema.type` twice");
}

#[test]
fn the_rest_of_the_builder_adds_to_a_definition() {
    let app = build([
        Tool::from_value(json!({"name": "a", "description": "d", "inputSchema": {"type": "object"}})),
        Tool::from_value(json!({"name": "a", "inputSchema": {"type": "object"}})).renamed("b").description("d"),
    ]);
    assert_eq!(app.expect("both are right").tool_names(), ["a", "b"]);
}

#[test]
fn whether_it_is_sensitive_and_can_be_a_task_is_read_in_both_spellings() {
    let of = |annotations: Value, support: &str| {
        Tool::from_value(json!({
            "name": "t",
            "description": "d",
            "inputSchema": {"type": "object"},
            "annotations": annotations,
            "execution": {"taskSupport": support},
        }))
    };
    for (annotations, sensitive) in [
        (json!({}), false),
        (json!({"sensitive": true}), true),
        (json!({"sensitive": false, "readOnlyHint": true}), false),
        (json!({"destructiveHint": true}), true),
        (json!({"destructiveHint": true, "sensitive": false, "readOnlyHint": true}), true),
        (json!({"destructiveHint": false, "sensitive": true}), true),
    ] {
        assert_eq!(of(annotations.clone(), "none").is_sensitive(), sensitive, "{annotations}");
    }
    for support in ["none", "forbidden", "supported", "optional", "required"] {
        assert!(build([of(json!({}), support)]).is_ok(), "{support}");
    }
    let error = build([of(json!({"sensitive": "yes"}), "none")]).expect_err("it is no boolean");
    assert!(error.to_string().contains("`annotations.sensitive` of its definition must be true or false"), "{error}");
}
