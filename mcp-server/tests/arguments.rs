//! Schemas as they are published, and arguments that do not fit them.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::{Client, text};
use mcp_server::schemars::{self, JsonSchema};
use mcp_server::{Server, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

fn server() -> Server {
    Server::new("test", "1")
}

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
struct Order {
    /// How many
    count: u8,
    note: Option<String>,
    lines: Vec<Line>,
    size: Option<Size>,
    payment: Option<Payment>,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
struct Line {
    item: String,
    price: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "lowercase")]
#[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
enum Payment {
    Card { number: String },
    Cash { amount: u32 },
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
struct Tree {
    children: Vec<Tree>,
    next: Option<Box<Tree>>,
}

#[tokio::test]
async fn schemas_are_whole_plain_and_the_same_each_time_case_53_case_54() {
    let mut client = Client::of(server().tool(tool("order").run(|_: Order| ())).tool(tool("tree").run(|_: Tree| ())));
    let schema = client.listed("order").await["inputSchema"].clone();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 0, "maximum": 255, "description": "How many"},
                "note": {"type": "string"},
                "lines": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"item": {"type": "string"}, "price": {"type": "number"}},
                    "required": ["item", "price"],
                }},
                "size": {"type": "string", "enum": ["small", "large"]},
                "payment": {"oneOf": [
                    {"type": "object", "required": ["by", "number"],
                     "properties": {"by": {"type": "string", "const": "card"}, "number": {"type": "string"}}},
                    {"type": "object", "required": ["by", "amount"],
                     "properties": {"by": {"type": "string", "const": "cash"},
                                    "amount": {"type": "integer", "minimum": 0, "maximum": u32::MAX}}},
                ]},
            },
            "required": ["count", "lines"],
        })
    );
    // Only what is recursive is referred to, and only within `$defs`.
    let tree = client.listed("tree").await["inputSchema"].clone();
    assert_eq!(tree["properties"]["children"]["items"], json!({"$ref": "#/$defs/Tree"}));
    assert_eq!(tree["properties"]["next"], json!({"$ref": "#/$defs/Tree"}));
    assert_eq!(tree["$defs"]["Tree"]["required"], json!(["children"]));
    let again = Client::of(server().tool(tool("tree").run(|_: Tree| ()))).listed("tree").await;
    assert_eq!(again["inputSchema"].to_string(), tree.to_string());
}

#[tokio::test]
async fn every_root_is_an_object_and_a_tool_without_arguments_is_closed_case_51_case_56() {
    #[derive(Deserialize, JsonSchema)]
    struct Empty {}
    let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let mut client = Client::of(
        server()
            .tool(tool("nothing").run(|| "ok"))
            .tool(tool("empty").run(|_: Empty| "ok"))
            .tool(tool("value").run(|_: Value| "ok"))
            .tool(tool("map").run(|_: BTreeMap<String, u8>| "ok"))
            .tool(tool("tagged").run(|_: Payment| "ok")),
    );
    for name in ["nothing", "empty"] {
        assert_eq!(client.listed(name).await["inputSchema"], closed, "{name}");
        assert_eq!(text(&client.call(name, json!({})).await), "ok");
        let refused = client.call(name, json!({"x": 1})).await;
        assert_eq!(refused["result"]["isError"], true);
        assert!(text(&refused).contains("`x`: is not a known parameter"), "{refused}");
    }
    for name in ["value", "map", "tagged"] {
        assert_eq!(client.listed(name).await["inputSchema"]["type"], "object", "{name}");
    }
    assert_eq!(client.listed("value").await["inputSchema"], json!({"type": "object"}));
    assert_eq!(text(&client.call("value", json!({"any": [1]})).await), "ok");
}

#[tokio::test]
async fn what_is_not_set_is_absent_and_never_null_case_48_case_49() {
    let bare = Tool::new("bare").description("d").run(|| ());
    let mut client = Client::of(server().tool(bare).tool(tool("hinted").read_only(true).title("T").run(|| ())));
    client.request("tools/list", json!({})).await;
    let list = client.next().await;
    assert!(!list.to_string().contains("null"), "{list}");
    assert_eq!(list["result"].get("nextCursor"), None);
    assert_eq!(list["result"]["tools"][1]["annotations"], json!({"readOnlyHint": true}));
    let answer = client.call("bare", json!({})).await;
    assert!(!answer.to_string().contains("null"), "{answer}");
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_once_and_the_code_is_not_entered_tool_9_case_42() {
    let entered = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&entered);
    let mut client = Client::of(server().tool(tool("order").run(move |_: Order| count.fetch_add(1, Relaxed))));
    let wrong = json!({
        "count": 300, "note": 5, "size": "huge", "payment": {"by": "barter"},
        "lines": [{"item": "a", "price": 1}, {"item": 2}, "b"],
    });
    let refused = client.call("order", wrong).await;
    assert_eq!(refused["result"]["isError"], true);
    let said: Vec<&str> = text(&refused).lines().collect();
    assert_eq!(
        said,
        [
            "Invalid arguments for tool `order`:",
            "- `count`: must be at most 255, is 300",
            "- `lines[1].price`: is required, and missing",
            "- `lines[1].item`: expected a string, got an integer",
            "- `lines[2]`: expected an object, got a string",
            "- `note`: expected a string, got an integer",
            "- `payment.by`: expected one of \"card\", \"cash\", got \"barter\"",
            "- `size`: expected one of \"small\", \"large\", got \"huge\"",
        ]
    );
    assert_eq!(entered.load(Relaxed), 0);
    let order = json!({"count": 1, "lines": [], "note": null, "size": null, "payment": null});
    assert_eq!(text(&client.call("order", order).await), "0", "an explicit null is as good as nothing (case 54)");
}

#[tokio::test]
async fn what_only_the_type_knows_is_told_with_its_path_tool_9() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
    struct Outer {
        inner: Vec<Inner>,
        #[serde(default)]
        count: u8,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Inner {
        #[serde(rename = "when", deserialize_with = "hour")]
        #[schemars(with = "String")]
        _when: u8,
    }
    fn hour<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.trim_end_matches('h').parse().map_err(|_| serde::de::Error::custom("write the hour as in `7h`"))
    }
    let mut client = Client::of(server().tool(tool("at").run(|_: Outer| ())));
    let refused = client.call("at", json!({"inner": [{"when": "7h"}, {"when": "noon"}]})).await;
    assert_eq!(text(&refused), "Invalid arguments for tool `at`:\n- `inner[1].when`: write the hour as in `7h`");
    let refused = client.call("at", json!({"inner": [], "count": null})).await;
    assert!(text(&refused).contains("`count`: invalid type: null"), "{refused}");
}

#[tokio::test]
async fn a_hostile_argument_is_quoted_short_and_clean() {
    let mut client = Client::of(server().tool(tool("order").run(|_: Order| ())));
    let long = "x\u{202E}\n".repeat(10_000);
    let refused = client.call("order", json!({"count": 1, "lines": [], "size": long, &long: 1})).await;
    assert!(text(&refused).len() < 1000, "{}", text(&refused).len());
    assert!(!text(&refused).contains('\u{202E}'));
    let many: Vec<Value> = (0..10_000).map(|n| json!(n)).collect();
    let refused = client.call("order", json!({"count": 1, "lines": many})).await;
    assert_eq!(text(&refused).lines().count(), 34, "32 of them, and how many more");
}

#[tokio::test]
async fn arguments_that_are_no_object_never_reach_the_tool_tool_6_case_41() {
    let mut client = Client::of(server().tool(tool("any").run(|args: Value| args.to_string())));
    for arguments in [json!([]), json!("{}"), json!(5)] {
        let refused = client.call("any", arguments).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(text(&client.call("any", Value::Null).await), "{}");
    client.request("tools/call", json!({"name": "any"})).await;
    assert_eq!(text(&client.next().await), "{}");
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol_tool_8_case_43() {
    let mut client = Client::of(server().tool(tool("any").run(|| ())));
    let refused = client.call("nope", json!({})).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(refused["error"]["message"], "Unknown tool: nope");
}

#[tokio::test]
async fn what_is_told_of_large_wrong_arguments_stays_short() {
    // That explaining them ends at all is shown beside the checker, where serde's own cost is out of the way.
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
    enum Nested {
        Leaf(bool),
        One { a: Vec<Nested> },
        Two { a: Vec<Nested>, b: Option<bool> },
        Three { a: Vec<Nested>, c: Option<bool> },
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
    struct Root {
        nested: Option<Nested>,
        flags: Option<Vec<bool>>,
        #[serde(flatten)]
        rest: BTreeMap<String, bool>,
    }
    let mut client = Client::of(server().tool(tool("root").run(|_: Root| ())));
    let mut nested = json!(1);
    for _ in 0..5 {
        nested = json!({"a": [nested]});
    }
    let members: serde_json::Map<String, Value> = (0..20_000).map(|n| (format!("{n}"), json!(n))).collect();
    let flags: Vec<u32> = (0..40_000).collect();
    for arguments in [json!({"nested": nested}), json!({"flags": flags}), Value::Object(members)] {
        let refused = client.call("root", arguments).await;
        assert_eq!(refused["result"]["isError"], true);
        assert!(text(&refused).len() < 10_000);
    }
}
