//! The tool of Raxol's text, and what it says of definitions.

use mcp_server::{Manifest, Server, Tool, Value, json};

use crate::common::{Client, text};

#[tokio::test]
async fn symphony_list_runs_is_a_definition_as_data_with_a_callback() {
    for spelling in ["inputSchema", "input_schema"] {
        let definition = json!({
            "name": "symphony_list_runs",
            "description": "Returns a snapshot of active Symphony runs.",
            spelling: {"type": "object", "properties": {}},
        });
        let tool = Tool::from_value(definition).run(|_: Value| json!({"ok": true}).to_string());
        let mut client = Client::of(Server::new("symphony", "1").tool(tool));
        assert_eq!(text(&client.call("symphony_list_runs", json!({})).await), r#"{"ok":true}"#);
    }
}

#[test]
fn everything_that_a_definition_lacks_is_told_at_once() {
    let error = Tool::validate(&json!({"input_schema": {"type": "array"}})).expect_err("nearly all is wrong");
    let text = error.to_string();
    for lacking in ["name", "description", "object"] {
        assert!(text.contains(lacking), "{lacking}: {text}");
    }
    let error = Server::new("x", "1").tool(Tool::from_value(json!({"name": "x"}))).build().expect_err("no code, too");
    assert!(error.to_string().contains("`.run(..)`"), "{error}");
    let complete = json!({"name": "x", "description": "X.", "inputSchema": {"type": "object"}});
    assert!(Tool::validate(&complete).is_ok());
}

#[tokio::test]
async fn symphony_list_runs_is_registered_by_itself_or_with_others_from_a_file() {
    let definition = r#"{
        "name": "symphony_list_runs", "description": "Returns a snapshot of active Symphony runs.",
        "input_schema": {"type": "object", "properties": {}}
    }"#;
    let manifest = Manifest::json(definition).run("symphony_list_runs", |_: Value| json!({"ok": true}).to_string());
    let mut client = Client::of(Server::new("symphony", "1").tools(manifest));
    assert_eq!(text(&client.call("symphony_list_runs", json!({})).await), r#"{"ok":true}"#);
    let listed = client.listed("symphony_list_runs").await;
    assert_eq!(listed["inputSchema"], json!({"type": "object", "properties": {}}), "the canonical key");
    assert_eq!(listed["input_schema"], json!(null));
}

#[test]
fn every_error_of_its_validation_has_a_text_and_all_are_told() {
    let object = json!({"type": "object"});
    let said = |definition: Value| {
        let error = Tool::validate(&definition).expect_err("it is wrong");
        error.defects().iter().map(|defect| defect.message.to_string()).collect::<Vec<_>>().join("; ")
    };
    assert!(said(json!({"description": "X.", "inputSchema": object})).contains("has no name"), "missing_name");
    assert!(said(json!({"name": 5, "description": "X.", "inputSchema": object})).contains("`name`"), "missing_name");
    assert!(said(json!({"name": "x", "inputSchema": object})).contains("no description"), "missing_description");
    let lacking = said(json!({"name": "x", "description": "X."}));
    assert!(lacking.contains("its definition has no `inputSchema`"), "missing_input_schema: {lacking}");
    let wrong = said(json!({"name": "x", "description": "X.", "inputSchema": {"type": "string"}}));
    assert!(wrong.contains("root must say") && !wrong.contains("has no `inputSchema`"), "invalid: {wrong}");
    let typo = said(json!({"name": "x", "description": "X.", "input_shema": object}));
    assert!(typo.contains("did you mean `input_schema`?"), "{typo}");
    // Code of another arity is not compiled; none at all is told when the server is built.
    let complete = json!({"name": "x", "description": "X.", "inputSchema": object});
    let error = Server::new("x", "1").tool(Tool::from_value(complete)).build().expect_err("missing_callback");
    assert!(error.to_string().contains("it has no code"), "{error}");
}

#[test]
fn an_annotation_can_only_add_an_obligation_and_a_self_report_of_safety_exempts_from_nothing() {
    let is_sensitive = |annotations: Value| {
        let definition = json!({"name": "pay", "description": "Moves money.", "inputSchema": {"type": "object"}, "annotations": annotations});
        Tool::from_value(definition).is_sensitive()
    };
    assert!(is_sensitive(json!({"destructiveHint": true})));
    assert!(is_sensitive(json!({"sensitive": true})));
    assert!(is_sensitive(json!({"destructiveHint": false, "readOnlyHint": true, "sensitive": true})));
    assert!(!is_sensitive(json!({"destructiveHint": false, "readOnlyHint": true})));
    assert!(!is_sensitive(json!({"sensitive": "true"})), "strictly true; and told when the server is built");
}

#[test]
fn hand_built_tools_are_checked_where_they_are_registered_and_none_is_if_one_is_wrong() {
    let app = Server::new("symphony", "1").build().expect("it is right");
    let tool = |definition: Value| Tool::from_value(definition).run(|_: Value| "ok");
    let right = json!({"name": "right", "description": "R.", "inputSchema": {"type": "object"}});
    let wrong = json!({"name": "wrong", "description": "W.", "inputSchma": {"type": "object"}});
    let error =
        app.edit(|edit| edit.add_all([tool(right.clone()), tool(wrong)])).expect_err("one is wrong").to_string();
    assert!(error.contains("`wrong`") && error.contains("did you mean `inputSchema`?"), "{error}");
    assert!(app.tool_names().is_empty());
    app.edit(|edit| edit.add_all([tool(right)])).expect("it is right");
    assert_eq!(app.tool_names(), ["right"]);
}
