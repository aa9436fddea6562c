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
            "- `note`: expected a string, got an integer",
            "- `lines[1].item`: expected a string, got an integer",
            "- `lines[1].price`: is required, and missing",
            "- `lines[2]`: expected an object, got a string",
            "- `size`: expected one of \"small\", \"large\", got \"huge\"",
            "- `payment.by`: expected one of \"card\", \"cash\", got \"barter\"",
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
}

#[derive(Deserialize, JsonSchema)]
struct Limited {
    #[schemars(range(min = 18, max = 99))]
    age: u8,
    #[schemars(length(min = 2), regex(pattern = "^[a-z]+$"))]
    name: String,
    #[serde(default)]
    #[schemars(length(max = 2), inner(length(max = 3)))]
    tags: Vec<String>,
    #[serde(default = "five")]
    size: u8,
}

fn five() -> u8 {
    5
}

fn limited(args: Limited) -> String {
    format!("{} {} {:?} {}", args.age, args.name, args.tags, args.size)
}

#[tokio::test]
async fn every_bound_that_is_published_is_enforced_tool_9() {
    let mut client = Client::of(server().tool(tool("limited").run(limited)));
    let fits = json!({"age": 18, "name": "ab", "tags": ["abc", ""]});
    assert_eq!(text(&client.call("limited", fits).await), r#"18 ab ["abc", ""] 5"#);
    let refused = client.call("limited", json!({"age": 17, "name": "A", "tags": ["abcd", "", ""], "size": 256})).await;
    assert_eq!(
        text(&refused).lines().skip(1).collect::<Vec<_>>(),
        [
            "- `age`: must be at least 18, is 17",
            "- `name`: must have at least 2 characters, has 1",
            "- `name`: must match the pattern `^[a-z]+$`, is \"A\"",
            "- `tags[0]`: must have at most 3 characters, has 4",
            "- `tags`: must have at most 2 items, has 3",
            "- `size`: must be at most 255, is 256",
        ]
    );
}

#[tokio::test]
async fn null_stands_for_nothing_and_five_point_zero_for_five() {
    let mut client = Client::of(server().tool(tool("limited").run(limited)));
    let sent = json!({"age": 20.0, "name": "ab", "tags": null, "size": null});
    assert_eq!(text(&client.call("limited", sent).await), "20 ab [] 5");
    let refused = client.call("limited", json!({"age": null, "name": "ab"})).await;
    assert!(text(&refused).ends_with("`age`: expected an integer, got null"), "{refused}");
}

#[tokio::test]
async fn texts_are_coerced_where_a_tool_or_the_server_says_so() {
    let mut client = Client::of(
        server().coerce(true).tool(tool("by_server").run(limited)).tool(tool("never").coerce(false).run(limited)),
    );
    let sent = json!({"age": "42", "name": "ab", "size": "7"});
    assert_eq!(text(&client.call("by_server", sent.clone()).await), "42 ab [] 7");
    let refused = client.call("by_server", json!({"age": "5", "name": "ab"})).await;
    assert!(text(&refused).ends_with("`age`: must be at least 18, is 5"), "{refused}");
    let refused = client.call("never", sent.clone()).await;
    assert!(text(&refused).contains("`age`: expected an integer, got a string"), "{refused}");
    let mut client =
        Client::of(server().tool(tool("by_tool").coerce(true).run(limited)).tool(tool("plain").run(limited)));
    assert_eq!(text(&client.call("by_tool", sent.clone()).await), "42 ab [] 7");
    assert_eq!(client.call("plain", sent).await["result"]["isError"], true, "off by default");
}

#[tokio::test]
async fn an_integer_that_no_type_holds_is_refused_with_its_path() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
    struct Wide {
        #[serde(default)]
        unsigned: u64,
        #[serde(default)]
        signed: Vec<i64>,
        #[serde(default)]
        huge: u128,
    }
    let mut client = Client::of(server().tool(tool("wide").run(|args: Wide| args.huge)));
    for (sent, said) in [
        (
            r#"{"unsigned": 18446744073709551616}"#,
            "`unsigned`: must be an integer of at most 64 bits, without fraction and exponent",
        ),
        (
            r#"{"signed": [1, -9223372036854775809]}"#,
            "`signed[1]`: must be an integer of at most 64 bits, without fraction and exponent",
        ),
        (
            r#"{"signed": [9223372036854775808]}"#,
            "`signed[0]`: invalid value: integer `9223372036854775808`, expected i64",
        ),
        (r#"{"unsigned": -1}"#, "`unsigned`: must be at least 0, is -1"),
        (r#"{"huge": 1e999}"#, "`huge`: number out of range"),
    ] {
        let refused = client.call_text("wide", sent).await;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert!(text(&refused).ends_with(said), "{refused}");
    }
    let huge = client.call_text("wide", r#"{"huge": 340282366920938463463374607431768211455}"#).await;
    assert_eq!(text(&huge), u128::MAX.to_string());
}

#[tokio::test]
async fn a_member_that_is_given_twice_is_refused_whatever_reads_it() {
    let mut client = Client::of(
        server()
            .tool(tool("typed").run(limited))
            .tool(tool("map").run(|args: BTreeMap<String, u8>| format!("{args:?}")))
            .tool(tool("value").run(|args: Value| args.to_string())),
    );
    for (name, sent, path) in [
        ("typed", r#"{"age": 5, "age": 20, "name": "ab"}"#, "age"),
        ("map", r#"{"a": 1, "b": 2, "a": 3}"#, "a"),
        ("value", r#"{"deep": [{"a": 1, "\u0061": 2}]}"#, "deep[0].a"),
    ] {
        let refused = client.call_text(name, sent).await;
        assert!(text(&refused).ends_with(&format!("- `{path}`: is given twice")), "{refused}");
    }
}

#[tokio::test]
async fn properties_are_published_in_the_order_of_their_fields() {
    let mut client = Client::of(server().tool(tool("limited").run(limited)));
    let schema = client.listed("limited").await["inputSchema"].clone();
    let names: Vec<&String> = schema["properties"].as_object().expect("an object").keys().collect();
    assert_eq!(names, ["age", "name", "tags", "size"]);
}

#[test]
fn a_schema_that_promises_what_cannot_be_kept_is_a_mistake_tool_4() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
    struct Wrong {
        #[schemars(extend("minLength" = 3))]
        count: u8,
        #[schemars(regex(pattern = "(?<=a)b"))]
        text: String,
        #[schemars(extend("unevaluatedItems" = false))]
        list: Vec<u8>,
        #[serde(default)]
        #[schemars(range(min = 1))]
        number: i32,
    }
    let error = server().tool(tool("wrong").run(|_: Wrong| ())).build().expect_err("it cannot be kept");
    let told: Vec<&str> = error.defects().iter().map(|defect| &*defect.message).collect();
    assert_eq!(told.len(), 4, "{error}");
    assert!(error.defects().iter().all(|defect| (defect.rule, &*defect.entry) == ("TOOL-4", "wrong")));
    assert!(told[0].starts_with("`count`: `minLength` is a rule for strings"), "{error}");
    assert!(told[1].starts_with("`text`: the pattern `(?<=a)b` cannot be enforced"), "{error}");
    assert!(told[2].starts_with("`list`: `unevaluatedItems` is published and cannot be enforced"), "{error}");
    assert_eq!(told[3], "`number`: its default 0 does not fit: must be at least 1, is 0");
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

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "read by serde, for its schema and its refusals")]
struct Wide {
    wide: Vec<u128>,
    by_number: Option<BTreeMap<u32, u8>>,
}

#[tokio::test]
async fn what_a_type_refuses_by_itself_is_told_where_it_is_tool_9() {
    let mut client = Client::of(server().tool(tool("wide").run(|_: Wide| ())));
    for (sent, fault) in [
        (r#"{"wide": [1, 1e20]}"#, "`wide[1]`: must be an integer of at most 128 bits, without fraction and exponent"),
        (r#"{"wide": [], "by_number": {"7": 1, "07": 1}}"#, "`by_number`: invalid number"),
    ] {
        let told = client.call_text("wide", sent).await;
        assert_eq!(text(&told), format!("Invalid arguments for tool `wide`:\n- {fault}"), "{sent}");
    }
    let largest = format!(r#"{{"wide": [{}]}}"#, u128::MAX);
    assert_eq!(client.call_text("wide", &largest).await["result"]["content"], json!([]), "it is read whole");
}
