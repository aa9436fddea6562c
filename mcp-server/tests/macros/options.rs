//! The options of `#[tool(..)]`, and where descriptions come from.

use mcp_server::{Ability, Ctx, Icon, Server, ToolAnswer, tool};
use serde_json::{Value, json};

use crate::common::{Client, text};

const TITLE: &str = "The title";

const fn described() -> &'static str {
    "By a function"
}

fn server() -> Server {
    Server::new("test", "1")
}

async fn listed(server: Server, tool: &str) -> Value {
    Client::of(server).listed(tool).await
}

/// Not this: the option wins.
#[tool(
    name = "files/delete",
    title = TITLE,
    description = concat!("Deletes ", "files."),
    read_only = false,
    destructive,
    idempotent = true,
    open_world = false,
    icon = "https://example.com/a.png",
    icon = Icon::new("data:image/png;base64,AAAA"),
    meta = json!({"example.com/a": 1}),
    tags(admin, team = "storage", level = 3),
    logs,
)]
fn delete(ctx: Ctx) -> String {
    Value::from(ctx.tags().clone()).to_string()
}

#[tokio::test]
async fn options_say_what_the_builder_says() {
    let listed = listed(server().tool(delete).allow_unguarded(["files/delete"]), "files/delete").await;
    assert_eq!(listed["title"], "The title");
    assert_eq!(listed["description"], "Deletes files.");
    assert_eq!(
        listed["annotations"],
        json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false})
    );
    assert_eq!(listed["icons"][0]["src"], "https://example.com/a.png");
    assert_eq!(listed["icons"][1]["src"], "data:image/png;base64,AAAA");
    assert_eq!(listed["_meta"], json!({"example.com/a": 1}));
    assert!(!listed.to_string().contains("storage"));
}

#[tokio::test]
async fn tags_are_private_and_a_tag_without_a_value_is_true() {
    let mut client = Client::of(server().tool(delete).allow_unguarded(["files/delete"]));
    let response = client.call("files/delete", json!({})).await;
    let tags: Value = serde_json::from_str(text(&response)).unwrap();
    assert_eq!(tags, json!({"admin": true, "team": "storage", "level": 3}));
}

/// Asks.
#[tool(needs = Ability::ElicitationForm)]
fn asks() {}

#[tokio::test]
async fn what_a_tool_needs_of_the_client_is_asked_before_it_runs_ver_6() {
    let response = Client::of(server().tool(asks)).call("asks", json!({})).await;
    assert!(response["error"]["code"].is_number(), "{response}");
}

/// Takes what comes.
#[tool(open)]
fn open(a: Option<u8>) -> u8 {
    a.unwrap_or(7)
}

/// Takes what comes, and looks at none of it.
#[tool(open)]
fn open_only() -> u8 {
    8
}

#[tokio::test]
async fn an_open_tool_lets_other_arguments_through() {
    let mut client = Client::of(server().tool(open).tool(open_only));
    assert_eq!(text(&client.call("open", json!({"b": [1], "a": 2})).await), "2");
    assert_eq!(text(&client.call("open_only", json!({"b": 1})).await), "8");
    let schema = client.listed("open").await["inputSchema"].clone();
    assert_eq!(schema.get("additionalProperties"), None);
    assert_eq!(client.listed("open_only").await["inputSchema"], json!({"type": "object", "properties": {}}));
}

#[derive(serde::Serialize, mcp_server::schemars::JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct Report {
    lines: Vec<u8>,
}

/// Says more of its result than its type.
#[tool(output = Report)]
fn report() -> ToolAnswer {
    ToolAnswer::structured(br#"{"lines":[1]}"#.as_slice())
}

#[tokio::test]
async fn the_schema_of_a_result_can_be_named() {
    let listed = listed(server().tool(report), "report").await;
    assert_eq!(listed["outputSchema"]["properties"]["lines"]["type"], "array");
}

/// Line one.
///
///   indented
/// last
#[tool]
fn lines(
    /// First line
    /// and second
    a: u8,
    #[arg(description = described())]
    /// Not this
    b: u8,
    #[doc = include_str!("described.md")] c: u8,
) -> u8 {
    a + b + c
}

#[doc = include_str!("described.md")]
#[tool]
fn from_a_file() {}

/// Before.
#[doc = include_str!("described.md")]
/// After.
#[tool]
fn between() {}

/** Stars
 *  are not
 * part of it. */
#[tool]
fn starred() {}

#[tool(description = described())]
fn computed() {}

#[tokio::test]
async fn descriptions_come_from_doc_comments_constants_and_files() {
    let server = server().tool(lines).tool(from_a_file).tool(between).tool(starred).tool(computed);
    let mut client = Client::of(server);
    let listed = client.listed("lines").await;
    assert_eq!(listed["description"], "Line one.\n\n  indented\nlast");
    let properties = &listed["inputSchema"]["properties"];
    assert_eq!(properties["a"]["description"], "First line\nand second");
    assert_eq!(properties["b"]["description"], "By a function");
    assert_eq!(properties["c"]["description"], "From a file.\n\nTwo paragraphs.");
    for (tool, description) in [
        ("from_a_file", "From a file.\n\nTwo paragraphs."),
        ("between", "Before.\nFrom a file.\n\nTwo paragraphs.\n\nAfter."),
        ("starred", "Stars\n are not\npart of it."),
        ("computed", "By a function"),
    ] {
        assert_eq!(client.listed(tool).await["description"], description, "{tool}");
    }
}
