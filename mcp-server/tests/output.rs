//! Output schemas that were said, not derived, and results that keep or break them.

mod common;

use bytes::Bytes;
use common::{Client, text};
use mcp_server::{Content, Json, Server, Tool, ToolAnswer, json, tool};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
struct Weather {
    #[schemars(range(min = -90, max = 60))]
    temperature: f64,
}

/// Tells the weather by hand.
#[tool(output = Weather)]
fn by_hand(answer: String) -> ToolAnswer {
    match answer.as_str() {
        "text" => ToolAnswer::text("It is warm."),
        "error" => ToolAnswer::error("No thermometer."),
        json => ToolAnswer::structured(Bytes::from(json.to_owned())),
    }
}

fn weather(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.").output::<Weather>()
}

#[tokio::test]
async fn an_answer_made_by_hand_is_held_against_the_type_that_was_promised_tool_11() {
    let mut client = Client::of(Server::new("test", "1").tool(by_hand));
    let listed = client.listed("by_hand").await;
    assert_eq!(listed["outputSchema"]["properties"]["temperature"]["maximum"], json!(60));
    let right = client.call("by_hand", json!({"answer": r#"{"temperature":21.5}"#})).await;
    assert_eq!(right["result"]["structuredContent"], json!({"temperature": 21.5}));
    let failed = client.call("by_hand", json!({"answer": "error"})).await;
    assert_eq!(failed["result"]["isError"], true, "an error promises nothing");
    for broken in [r#"{"temperature":61}"#, r#"{"temperature":"warm"}"#, "{}", "[]", "text"] {
        let response = client.call("by_hand", json!({"answer": broken})).await;
        assert_eq!(response["error"]["code"], -32603, "{broken}: {response}");
        let said = response["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(said, "Internal error: the tool's result does not match its output schema");
    }
}

#[tokio::test]
async fn a_promise_that_is_not_checked_still_is_one_of_a_structured_result_tool_11() {
    let loose = weather("loose").unchecked_output().run(|| ToolAnswer::structured(Bytes::from_static(b"{\"x\":1}")));
    let text_only = weather("text_only").unchecked_output().run(|| "warm");
    let mut client = Client::of(Server::new("test", "1").tool(loose).tool(text_only));
    assert_eq!(client.call("loose", json!({})).await["result"]["structuredContent"], json!({"x": 1}));
    assert_eq!(client.call("text_only", json!({})).await["error"]["code"], -32603);
}

#[tokio::test]
async fn any_output_is_published_to_modern_clients_and_is_text_to_others_shim_2() {
    let list = Tool::new("list").description("Lists.").any_output().run(|| Json(vec![1, 2, 3]));
    let app = Server::new("test", "1").tool(list).build().expect("a list was allowed");
    let mut client = Client::to(app.clone());
    assert_eq!(client.listed("list").await["outputSchema"]["type"], "array");
    let answer = client.call("list", json!({})).await;
    assert_eq!(answer["result"]["structuredContent"], json!([1, 2, 3]));
    let mut legacy = mcp_server::testing::Client::new(&app);
    let listed = legacy.list_tools().await;
    assert_eq!(listed[0].output_schema, None);
    let answer = legacy.call("list", json!({})).await;
    answer.assert_text("[1,2,3]");
    let refused = Server::new("test", "1").tool(Tool::new("list").description("Lists.").run(|| Json(vec![1])));
    let error = refused.build().expect_err("a list was not allowed");
    assert_eq!(error.defects()[0].rule, "TOOL-13");
}

#[tokio::test]
async fn a_structured_result_may_bring_content_of_its_own_tool_12() {
    let forecast = || Json(Weather { temperature: 21.5 });
    let app = Server::new("test", "1")
        .tool(Tool::new("text").description("A tool.").run(move || forecast().with_text("It is warm.")))
        .tool(Tool::new("image").description("A tool.").run(move || {
            forecast().with_content([Content::image(vec![1, 2, 3], "image/png"), Content::text("a picture")])
        }));
    let mut client = Client::of(app);
    let answer = client.call("text", json!({})).await;
    assert_eq!((text(&answer), &answer["result"]["structuredContent"]), ("It is warm.", &json!({"temperature": 21.5})));
    let answer = client.call("image", json!({})).await;
    assert_eq!(answer["result"]["content"][0], json!({"type": "image", "data": "AQID", "mimeType": "image/png"}));
    assert_eq!(answer["result"]["content"].as_array().map(Vec::len), Some(2), "no JSON text beside them");
    assert_eq!(client.listed("image").await["outputSchema"]["required"], json!(["temperature"]));
}

#[tokio::test]
async fn links_lists_of_blocks_and_field_errors_are_answers_tool_18() {
    let fields = || -> Result<(), mcp_server::CallError> {
        Err(mcp_server::CallError::fields([("age", "must be 18 or more"), ("name", "is taken")]))
    };
    let app = Server::new("test", "1")
        .tool(Tool::new("link").description("A tool.").run(|| mcp_server::Link::new("file:///a", "a")))
        .tool(Tool::new("audio").description("A tool.").run(|| [Content::audio(vec![0], "audio/wav")]))
        .tool(Tool::new("fields").description("A tool.").run(fields));
    let mut client = Client::of(app);
    let link = client.call("link", json!({})).await;
    assert_eq!(link["result"]["content"][0], json!({"type": "resource_link", "uri": "file:///a", "name": "a"}));
    let audio = client.call("audio", json!({})).await;
    assert_eq!(audio["result"]["content"][0], json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}));
    let fields = client.call("fields", json!({})).await;
    assert_eq!(
        (text(&fields), &fields["result"]["isError"]),
        ("age: must be 18 or more, name: is taken", &json!(true))
    );
}

/// Held against the schema by a validator of others.
#[cfg(feature = "validate")]
mod both_ways {
    use mcp_server::{Args, Arguments, Value};
    use serde_json::Map;

    use super::*;

    #[derive(Clone, Arguments, Serialize)]
    #[arg(rename_all = "kebab-case")]
    struct Item {
        #[arg(name = "the-title", min_length = 1)]
        title: String,
        #[arg(default = Priority::VeryHigh)]
        priority: Priority,
        note: Option<String>,
        r#type: Vec<Option<u8>>,
        #[arg(rest)]
        more: Map<String, Value>,
    }

    #[derive(Clone, Copy, Arguments, Serialize)]
    #[arg(rename_all = "snake_case")]
    enum Priority {
        Low,
        VeryHigh,
    }

    /// Gives back what it got.
    #[tool]
    fn give_back(Args(item): Args<Item>) -> Json<Item> {
        Json(item)
    }

    #[tokio::test]
    async fn a_type_of_arguments_that_is_a_result_too_is_described_as_it_is_written_tool_11() {
        let mut client = Client::of(Server::new("test", "1").tool(give_back));
        let listed = client.listed("give_back").await;
        let reads = &listed["inputSchema"];
        assert_eq!(reads["required"], json!(["the-title", "type"]));
        assert_eq!(reads["properties"]["priority"]["enum"], json!(["low", "very_high"]));
        let writes = &listed["outputSchema"];
        assert_eq!(writes["required"], json!(["title", "priority", "note", "type", "more"]));
        assert_eq!(writes["properties"]["priority"]["enum"], json!(["Low", "VeryHigh"]));
        let validator = jsonschema::validator_for(writes).expect("a schema");
        for arguments in [
            json!({"the-title": "a", "type": []}),
            json!({"the-title": "a", "type": [1, null], "note": "b", "priority": "low", "x": {"y": 1}}),
        ] {
            let answer = client.call("give_back", arguments).await;
            let result = &answer["result"]["structuredContent"];
            assert!(validator.is_valid(result), "{result} against {writes}");
        }
    }

    #[derive(Serialize, JsonSchema)]
    struct Found {
        #[serde(flatten)]
        place: Option<Place>,
        #[serde(skip_serializing_if = "is_seven")]
        count: Option<u8>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Place {
        street: Option<String>,
    }

    fn is_seven(count: &Option<u8>) -> bool {
        *count == Some(7)
    }

    #[tokio::test]
    async fn what_may_be_left_out_of_a_result_may_also_be_null_tool_11() {
        let find = Tool::new("find")
            .description("Finds.")
            .run(|| Json(Found { place: Some(Place { street: None }), count: None }));
        let mut client = Client::of(Server::new("test", "1").tool(find));
        let schema = client.listed("find").await["outputSchema"].clone();
        assert_eq!(schema.get("required"), None);
        assert_eq!(schema["properties"]["street"]["type"], json!(["string", "null"]));
        assert_eq!(schema["properties"]["count"]["type"], json!(["integer", "null"]));
        let sent = client.call("find", json!({})).await;
        assert_eq!(sent["result"]["structuredContent"], json!({"street": null, "count": null}));
    }
}
