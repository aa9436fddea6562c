//! The tool of Raxol's text, and what it says of definitions.

use mcp_server::{Server, Tool, Value, json};

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
