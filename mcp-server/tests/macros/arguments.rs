//! `#[derive(Arguments)]` and `#[arg(..)]`: what is published, and how it is read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mcp_server::schemars::{JsonSchema, generate::SchemaSettings};
use mcp_server::{Args, Arguments, Server, tool};
use serde_json::{Value, from_str, from_value, json};

use crate::common::{Client, text};

/// The schema of a type as the derive writes it.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.into()
}

/// The properties of a tool's arguments as they are published.
async fn properties(tool: impl mcp_server::IntoTool, name: &str) -> Value {
    Client::of(Server::new("test", "1").tool(tool)).listed(name).await["inputSchema"]["properties"].clone()
}

const LEAST: u8 = 18;
const UNITS: [&str; 2] = ["celsius", "kelvin"];
const UNIT: &str = "kelvin";

/// Has every rule.
#[tool]
fn rules(
    #[arg(min = LEAST, max = 120)] age: u8,
    #[arg(min = -1.5, max = 1.5)] tilt: f64,
    #[arg(min = -3, max = 9_223_372_036_854_775_808)] wide: i128,
    #[arg(min_length = 1, max_length = 10, pattern = "^[a-z]+$")] word: String,
    #[arg(min_length = 1, max_length = 10)] words: Vec<String>,
    #[arg(min_items = 1, max_items = 3, unique)] set: Vec<u32>,
    #[arg(min_length = 1)] map: BTreeMap<String, u8>,
    #[arg(min = 1, max = 6)] dice: Vec<u8>,
    #[arg(one_of = ["a", "b"])] letters: Option<Vec<String>>,
    #[arg(one_of = [1, 2, 4])] power: u8,
    #[arg(one_of = UNITS)] unit: String,
    #[arg(one_of = [UNIT, "rankine"])] other: Option<String>,
    #[arg(header = "Region")] region: String,
    #[arg(name = "sort-by", header = "X-Level")] sort_by: Option<i32>,
    #[arg(unique = false)] plain: Vec<u8>,
) -> String {
    let all = (age, tilt, wide, word, words, set, map, dice);
    format!("{all:?}{letters:?}{power}{unit}{other:?}{region}{sort_by:?}{plain:?}")
}

#[tokio::test]
async fn each_rule_is_published() {
    let properties = properties(rules, "rules").await;
    let byte = json!({"type": "integer", "minimum": 0, "maximum": 255});
    let wanted = json!({
        "age": {"type": "integer", "minimum": 18, "maximum": 120},
        "tilt": {"type": "number", "minimum": -1.5, "maximum": 1.5},
        "wide": {"type": "integer", "minimum": -3, "maximum": 9_223_372_036_854_775_808_u64},
        "word": {"type": "string", "minLength": 1, "maxLength": 10, "pattern": "^[a-z]+$"},
        "words": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 10},
        "set": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": u32::MAX}, "minItems": 1,
            "maxItems": 3, "uniqueItems": true},
        "map": {"type": "object", "additionalProperties": byte, "minProperties": 1},
        "dice": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 6}},
        "letters": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "power": {"type": "integer", "minimum": 0, "maximum": 255, "enum": [1, 2, 4]},
        "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
        "other": {"type": "string", "enum": ["kelvin", "rankine"]},
        "region": {"type": "string", "x-mcp-header": "Region"},
        "sort-by": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX, "x-mcp-header": "X-Level"},
        "plain": {"type": "array", "items": byte},
    });
    for (name, property) in wanted.as_object().unwrap() {
        assert_eq!(properties[name], *property, "{name}");
    }
    let order = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(order(&properties), order(&wanted));
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Arguments, serde::Serialize)]
enum Color {
    #[default]
    Red,
    #[arg(name = "dark green")]
    DarkGreen,
}

/// Not to be written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Arguments)]
enum Secret {
    One,
    Two,
}

const TEXT: &str = "constant";

#[derive(Debug, PartialEq, Arguments)]
struct Defaults {
    #[arg(default)]
    empty: String,
    #[arg(default = "text")]
    text: String,
    #[arg(default = TEXT)]
    constant: String,
    #[arg(default = 3)]
    whole: u8,
    #[arg(default = 3)]
    float: f64,
    #[arg(default = -1.5)]
    negative: f32,
    #[arg(default = true)]
    flag: bool,
    #[arg(default = 'x')]
    letter: char,
    #[arg(default = ["a", "b"])]
    list: Vec<String>,
    #[arg(default = [1, 2])]
    set: BTreeSet<u8>,
    #[arg(default = [1, 2])]
    array: [u8; 2],
    #[arg(default = Color::DarkGreen)]
    color: Color,
    #[arg(default)]
    other_color: Color,
    #[arg(default = Secret::Two)]
    secret: Secret,
    #[arg(default = std::time::Duration::from_secs(1))]
    time: std::time::Duration,
    #[arg(default = Some(1).into_iter().collect())]
    computed: Vec<u8>,
    #[arg(default = "boxed")]
    boxed: Box<str>,
    #[arg(default = ReadOnly(1))]
    read_only: ReadOnly,
}

/// Can be read, and not written.
#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct ReadOnly(u8);

impl Defaults {
    fn expected() -> Self {
        Self {
            empty: String::new(),
            text: "text".into(),
            constant: "constant".into(),
            whole: 3,
            float: 3.0,
            negative: -1.5,
            flag: true,
            letter: 'x',
            list: vec!["a".into(), "b".into()],
            set: BTreeSet::from([1, 2]),
            array: [1, 2],
            color: Color::DarkGreen,
            other_color: Color::Red,
            secret: Secret::Two,
            time: std::time::Duration::from_secs(1),
            computed: vec![1],
            boxed: "boxed".into(),
            read_only: ReadOnly(1),
        }
    }
}

#[test]
fn a_default_stands_in_for_what_is_missing_and_for_null() {
    assert_eq!(from_str::<Defaults>("{}").unwrap(), Defaults::expected());
    let nulls: serde_json::Map<String, Value> = schema::<Defaults>()["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(|name| (name.clone(), Value::Null))
        .collect();
    assert_eq!(nulls.len(), 18);
    assert_eq!(from_value::<Defaults>(nulls.into()).unwrap(), Defaults::expected());
    assert_eq!(from_str::<Defaults>(r#"{"text": "sent"}"#).unwrap().text, "sent");
}

#[test]
fn a_default_is_published_where_it_can_be_written() {
    let schema = schema::<Defaults>();
    assert_eq!(schema.get("required"), None);
    let default = |name: &str| schema["properties"][name].get("default").cloned();
    for (name, wanted) in [
        ("empty", json!("")),
        ("text", json!("text")),
        ("constant", json!("constant")),
        ("whole", json!(3)),
        ("negative", json!(-1.5)),
        ("flag", json!(true)),
        ("letter", json!("x")),
        ("list", json!(["a", "b"])),
        ("set", json!([1, 2])),
        ("computed", json!([1])),
        ("boxed", json!("boxed")),
        ("secret", json!("Two")),
    ] {
        assert_eq!(default(name), Some(wanted), "{name}");
    }
    assert_eq!(default("read_only"), None);
}

#[derive(Debug, PartialEq, Arguments)]
struct Order {
    number: u32,
    note: Option<String>,
    lines: Vec<Line>,
    ship_to: Option<Box<Address>>,
}

#[derive(Debug, PartialEq, Arguments)]
struct Line {
    #[arg(min_length = 1)]
    item: String,
}

/// An address.
#[derive(Debug, PartialEq, Arguments)]
#[arg(rename_all = "camelCase")]
struct Address {
    zip_code: String,
    #[arg(name = "town")]
    city_name: String,
}

#[test]
fn structs_nest_at_any_depth() {
    let line = json!({
        "type": "object",
        "properties": {"item": {"type": "string", "minLength": 1}},
        "required": ["item"],
        "additionalProperties": false,
    });
    let schema = schema::<Order>();
    assert_eq!(schema["properties"]["lines"], json!({"type": "array", "items": line}));
    assert_eq!(schema["required"], json!(["number", "lines"]));
    assert_eq!(schema["additionalProperties"], false);
    let sent = r#"{"lines": [{"item": "a"}], "number": 1, "ship_to": {"zipCode": "8000", "town": "Z"}, "note": null}"#;
    let order: Order = from_str(sent).unwrap();
    let address = Address { zip_code: "8000".into(), city_name: "Z".into() };
    let lines = vec![Line { item: "a".into() }];
    assert_eq!(order, Order { number: 1, note: None, lines, ship_to: Some(Box::new(address)) });
}

#[test]
fn what_cannot_be_read_is_told_with_its_reason() {
    let error = |sent: &str| from_str::<Order>(sent).unwrap_err().to_string();
    assert!(error("[]").starts_with("invalid type: sequence, expected an object"), "{}", error("[]"));
    assert!(error("{}").starts_with("missing field `number`"));
    assert!(error(r#"{"number": 1, "number": 2}"#).starts_with("duplicate field `number`"));
    assert!(error(r#"{"number": "1"}"#).starts_with("invalid type: string"));
}

#[test]
fn unknown_members_are_passed_over_for_the_schema_refuses_them_before() {
    let line: Line = from_str(r#"{"unknown": [{}], "item": "a"}"#).unwrap();
    assert_eq!(line.item, "a");
}

#[derive(Debug, PartialEq, Arguments)]
struct Tree {
    name: String,
    children: Vec<Tree>,
    next: Option<Box<Tree>>,
}

/// Counts.
#[tool]
fn count(Args(tree): Args<Tree>) -> usize {
    fn count(tree: &Tree) -> usize {
        1 + tree.children.iter().map(count).sum::<usize>() + tree.next.as_deref().map_or(0, count)
    }
    count(&tree) + tree.name.len()
}

#[tokio::test]
async fn a_type_may_hold_itself() {
    let mut client = Client::of(Server::new("test", "1").tool(count));
    let leaf = json!({"name": "b", "children": []});
    let tree = json!({"name": "a", "children": [leaf, leaf], "next": leaf});
    assert_eq!(text(&client.call("count", tree).await), "5");
}

#[derive(Debug, PartialEq, Arguments)]
struct Rest {
    known: Option<u8>,
    /// All others
    #[arg(rest)]
    others: HashMap<String, u8>,
}

#[derive(Debug, PartialEq, Arguments)]
struct AnyRest {
    #[arg(rest)]
    others: serde_json::Map<String, Value>,
}

#[derive(Debug, PartialEq, Arguments)]
#[arg(open)]
struct Open {
    known: u8,
}

#[test]
fn rest_takes_all_members_that_are_not_named() {
    let rest: Rest = from_str(r#"{"b": 2, "known": 1, "c": 3}"#).unwrap();
    assert_eq!(rest, Rest { known: Some(1), others: HashMap::from([("b".into(), 2), ("c".into(), 3)]) });
    assert!(from_str::<Rest>(r#"{"b": "x"}"#).unwrap_err().to_string().contains("invalid type: string"));
    let byte = json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255});
    assert_eq!(schema::<Rest>()["additionalProperties"], byte);
    let any: AnyRest = from_str(r#"{"b": {"c": [1]}}"#).unwrap();
    assert_eq!(any.others["b"], json!({"c": [1]}));
    assert_eq!(schema::<AnyRest>(), json!({"type": "object", "properties": {}, "additionalProperties": true}));
}

#[test]
fn an_open_struct_lets_members_through() {
    assert_eq!(from_str::<Open>(r#"{"known": 1, "b": 2}"#).unwrap(), Open { known: 1 });
    assert_eq!(schema::<Open>().get("additionalProperties"), None);
}

#[derive(Debug, PartialEq, Arguments)]
#[arg(rename_all = "SCREAMING-KEBAB-CASE")]
enum Loud {
    OneWord,
    Two,
}

/// Described.
#[derive(Debug, PartialEq, Arguments)]
enum Described {
    /// The first
    First,
    #[arg(desc = "The second")]
    Second,
    Third,
    r#Fourth,
}

#[test]
fn an_enum_is_one_of_its_names() {
    assert_eq!(schema::<Loud>(), json!({"type": "string", "enum": ["ONE-WORD", "TWO"]}));
    assert_eq!(schema::<Color>(), json!({"type": "string", "enum": ["Red", "dark green"]}));
    assert_eq!(from_str::<Loud>(r#""ONE-WORD""#).unwrap(), Loud::OneWord);
    assert_eq!(from_str::<Loud>(r#""TWO""#).unwrap(), Loud::Two);
    let error = from_str::<Loud>(r#""Two""#).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `Two`, expected `ONE-WORD` or `TWO`"), "{error}");
}

#[test]
fn variants_that_are_described_are_published_one_by_one() {
    assert_eq!(
        schema::<Described>(),
        json!({"description": "Described.", "type": "string", "oneOf": [
            {"const": "First", "description": "The first"},
            {"const": "Second", "description": "The second"},
            {"const": "Third"},
            {"const": "Fourth"},
        ]})
    );
    assert_eq!(from_value::<Described>(json!("Fourth")).unwrap(), Described::Fourth);
}

#[derive(Debug, PartialEq, Arguments)]
struct Page<T, const N: usize = 1>
where
    T: Clone,
{
    items: Vec<T>,
    #[arg(default = N)]
    size: usize,
}

#[derive(Debug, PartialEq, Arguments)]
struct Pages {
    numbers: Page<u8>,
    texts: Page<String, 7>,
}

#[test]
fn a_struct_may_have_type_parameters() {
    let pages: Pages = from_str(r#"{"numbers": {"items": [1]}, "texts": {"items": ["a"], "size": 2}}"#).unwrap();
    assert_eq!(pages.numbers, Page { items: vec![1], size: 1 });
    assert_eq!(pages.texts, Page { items: vec!["a".into()], size: 2 });
    let schema = schema::<Pages>();
    assert_eq!(schema["properties"]["texts"]["properties"]["items"]["items"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["texts"]["properties"]["size"]["default"], 7);
}

#[test]
fn types_of_one_name_in_different_modules_are_two() {
    mod one {
        #[derive(mcp_server::Arguments)]
        pub(super) struct Same {
            pub(super) a: u8,
        }
    }
    mod two {
        #[derive(mcp_server::Arguments)]
        pub(super) struct Same {
            pub(super) b: u8,
        }
    }
    assert_ne!(one::Same::schema_id(), two::Same::schema_id());
    assert_ne!(Page::<u8>::schema_id(), Page::<String>::schema_id());
    let (one, two): (one::Same, two::Same) = (from_str(r#"{"a":1}"#).unwrap(), from_str(r#"{"b":1}"#).unwrap());
    assert_eq!(one.a, two.b);
}

/// Names that the macros might have used themselves.
#[derive(Debug, PartialEq, Arguments)]
#[allow(non_snake_case, reason = "some are names of type parameters")]
struct Clash {
    index: A,
    members: D,
    A: u8,
    value: u8,
    object: u8,
    generator: u8,
    slot0: u8,
    default0: u8,
    r#type: u8,
}

#[derive(Debug, PartialEq, Arguments)]
struct A {
    a: u8,
}

#[derive(Debug, PartialEq, Arguments)]
struct D {
    d: u8,
}

/// Their names are unit structs here, which patterns cannot shadow: not even those in `json!`.
mod clash {
    use mcp_server::tool;

    use super::{A, D};

    /// Takes what might have been the macro's.
    #[tool]
    pub(super) fn value(
        index: A,
        this: u8,
        ctx: D,
        extracted: u8,
        arguments: u8,
        all: u8,
        p0: u8,
        tools: u8,
        needs: u8,
    ) -> u8 {
        index.a + this + ctx.d + extracted + arguments + all + p0 + tools + needs
    }

    /// Has a name that might have been the macro's.
    #[tool]
    pub(super) fn object(value2: u8) -> u8 {
        value2
    }

    /// Has a name that derives write.
    #[tool]
    pub(super) fn f(formatter: u8) -> u8 {
        formatter
    }
}

#[test]
fn names_of_an_author_do_not_clash_with_those_of_the_macros() {
    let sent = r#"{"index": {"a": 1}, "members": {"d": 2}, "A": 3, "value": 4, "object": 5, "generator": 6, "slot0": 7,
        "default0": 8, "type": 9}"#;
    let clash: Clash = from_str(sent).unwrap();
    assert_eq!((clash.index.a, clash.members.d, clash.A, clash.r#type), (1, 2, 3, 9));
    let sum = clash::value(A { a: 1 }, 1, D { d: 1 }, 1, 1, 1, 1, 1, 1);
    assert_eq!(sum + clash::object(1) + clash::f(1), 11);
}

fn is_even(number: &u8) -> bool {
    number.is_multiple_of(2)
}

fn is_upper(text: &str) -> Result<(), String> {
    if text.chars().all(char::is_uppercase) { Ok(()) } else { Err(format!("{text:?} is not in upper case")) }
}

mod checks {
    pub(super) fn any(_: &[u8]) -> bool {
        true
    }
}

/// Is checked by functions.
#[tool]
fn checked(
    #[arg(validate = is_even)] even: u8,
    #[arg(validate = is_upper)] upper: Option<String>,
    #[arg(validate = checks::any)] list: Vec<u8>,
    #[arg(validate = str::is_empty)] empty: String,
) -> String {
    format!("{even} {upper:?} {list:?} {empty}")
}

#[tokio::test]
async fn a_function_checks_what_no_schema_tells() {
    let mut client = Client::of(Server::new("test", "1").tool(checked));
    let response = client.call("checked", json!({"even": 2, "upper": "A", "list": [], "empty": ""})).await;
    assert_eq!(text(&response), r#"2 Some("A") [] "#);
    let response = client.call("checked", json!({"even": 2, "list": [], "empty": "", "upper": null})).await;
    assert_eq!(text(&response), "2 None [] ");
    let refused = client.call("checked", json!({"even": 3, "upper": "a", "list": [], "empty": "x"})).await;
    assert_eq!(
        text(&refused),
        "Invalid arguments for tool `checked`:\n- `even`: fails the check `is_even`\n- `upper`: \"a\" is not in upper case\n\
         - `empty`: fails the check `is_empty`"
    );
    // Nothing of it is published.
    let published = client.listed("checked").await["inputSchema"]["properties"]["empty"].clone();
    assert_eq!(published, json!({"type": "string"}));
}

#[derive(Debug, Arguments)]
#[expect(dead_code, reason = "read by `Debug`")]
struct Guest {
    #[arg(min_length = 2)]
    name: String,
    #[arg(min = LEAST, max = 120, default = 30)]
    age: u8,
    #[arg(validate = is_upper, one_of = ["A", "b"])]
    room: Option<String>,
}

/// Books rooms.
#[tool]
fn rooms(
    #[arg(min_items = 1, max_items = 2)] guests: Vec<Guest>,
    #[arg(default = Color::Red)] color: Color,
    #[arg(default = 1.5, min = 1)] factor: f64,
    rest: Option<Rest>,
) -> String {
    format!("{guests:?} {color:?} {factor} {rest:?}")
}

#[tokio::test]
async fn what_is_published_is_enforced_at_every_depth_and_all_at_once_tool_9() {
    let mut client = Client::of(Server::new("test", "1").tool(rooms));
    let accepted = json!({"guests": [{"name": "Ada", "room": "A"}], "rest": {"x": 1}});
    assert_eq!(
        text(&client.call("rooms", accepted).await),
        r#"[Guest { name: "Ada", age: 30, room: Some("A") }] Red 1.5 Some(Rest { known: None, others: {"x": 1} })"#
    );
    let guests = json!([{"name": "A", "age": 17}, {"room": "c", "nmae": "B"}, {"name": "Cid", "room": "b"}]);
    let refused =
        client.call("rooms", json!({"guests": guests, "color": "Blue", "factor": 0.5, "rest": {"x": "1"}})).await;
    assert_eq!(refused["result"]["isError"], true);
    let told: BTreeSet<&str> = text(&refused).lines().skip(1).collect();
    let wanted = [
        "- `guests`: must have at most 2 items, has 3",
        "- `guests[0].name`: must have at least 2 characters, has 1",
        "- `guests[0].age`: must be at least 18, is 17",
        "- `guests[1].name`: is required, and missing",
        "- `guests[1].nmae`: is not a known parameter (did you mean `name`?)",
        "- `guests[1].room`: expected one of \"A\", \"b\", got \"c\"",
        "- `guests[2].room`: \"b\" is not in upper case",
        "- `color`: expected one of \"Red\", \"dark green\", got \"Blue\"",
        "- `factor`: must be at least 1, is 0.5",
        "- `rest.x`: expected an integer, got a string",
    ];
    assert_eq!(told, BTreeSet::from(wanted));
}

#[tokio::test]
async fn null_stands_for_the_default_over_the_wire() {
    let mut client = Client::of(Server::new("test", "1").tool(rooms));
    let nulls =
        json!({"guests": [{"name": "Ada", "age": null, "room": null}], "color": null, "factor": null, "rest": null});
    assert_eq!(
        text(&client.call("rooms", nulls).await),
        r#"[Guest { name: "Ada", age: 30, room: None }] Red 1.5 None"#
    );
}

/// Spelled out.
#[tool]
fn spelled(#[arg(coerce)] number: u8, exact: Option<u8>, #[arg(coerce)] line: Option<Vec<bool>>) -> String {
    format!("{number} {exact:?} {line:?}")
}

/// All of it.
#[tool(coerce)]
fn spelled_all(number: u8, #[arg(coerce = false)] exact: Option<u8>) -> String {
    format!("{number} {exact:?}")
}

/// None of it, whatever the server says.
#[tool(coerce = false)]
fn spelled_none(Args(open): Args<Open>) -> u8 {
    open.known
}

#[tokio::test]
async fn texts_are_taken_for_what_they_spell_where_it_is_said() {
    let server = || Server::new("test", "1").tool(spelled).tool(spelled_all).tool(spelled_none);
    let mut client = Client::of(server());
    let response = client.call("spelled", json!({"number": "12", "line": ["true", "0"]})).await;
    assert_eq!(text(&response), "12 None Some([true, false])");
    assert_eq!(client.call("spelled", json!({"number": 1, "exact": "1"})).await["result"]["isError"], true);
    assert_eq!(text(&client.call("spelled_all", json!({"number": "3"})).await), "3 None");
    assert_eq!(client.call("spelled_all", json!({"number": 1, "exact": "1"})).await["result"]["isError"], true);
    let mut client = Client::of(server().coerce(true));
    assert_eq!(text(&client.call("spelled", json!({"number": 1, "exact": "1"})).await), "1 Some(1) None");
    assert_eq!(client.call("spelled_none", json!({"known": "1"})).await["result"]["isError"], true);
}

/// What the type of a field that takes the rest says of it.
#[derive(Arguments)]
#[allow(dead_code, reason = "read, and told by its schema")]
struct Others {
    more: u8,
    some: Option<String>,
}

#[derive(Arguments)]
#[allow(dead_code, reason = "read, and told by its schema")]
struct WithFields {
    known: u8,
    #[arg(rest)]
    others: Others,
}

#[derive(Arguments)]
#[allow(dead_code, reason = "read, and told by its schema")]
struct WithNumbers {
    known: u8,
    #[arg(rest)]
    others: HashMap<u32, u8>,
}

#[test]
fn rest_says_what_its_type_says() {
    let byte = json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255});
    let wanted = json!({
        "type": "object",
        "properties": {"known": byte, "more": byte, "some": {"type": ["string", "null"]}},
        "required": ["known", "more"],
        "additionalProperties": false,
    });
    assert_eq!(schema::<WithFields>(), wanted);
    from_str::<WithFields>(r#"{"more": 1, "known": 2}"#).expect("it fits");
    let wanted = json!({
        "type": "object",
        "properties": {"known": byte},
        "required": ["known"],
        "additionalProperties": false,
        "patternProperties": {r"^\d+$": byte},
    });
    assert_eq!(schema::<WithNumbers>(), wanted);
    from_str::<WithNumbers>(r#"{"1": 1, "known": 2}"#).expect("it fits");
}

type Byte = u8;
const MANY: u16 = 300;

/// Asks for more than its types can be.
#[tool]
fn beyond(
    #[arg(min = -5, max = 300)] named: Byte,
    #[arg(max = MANY)] constant: u8,
    #[arg(min = 0)] not_zero: std::num::NonZeroU16,
    #[arg(max_length = 9)] letter: char,
    #[arg(min_items = 1, max_items = 9)] three: [u8; 3],
    #[arg(max = MANY)] list: Vec<u8>,
) -> String {
    format!("{named}{constant}{not_zero}{letter}{three:?}{list:?}")
}

/// The same by serde.
#[derive(serde::Deserialize, JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
#[allow(dead_code, reason = "told by its schema")]
struct Beyond {
    #[schemars(range(min = -5, max = 300))]
    named: i8,
}

#[tokio::test]
async fn no_rule_lets_in_what_a_type_cannot_be() {
    let byte = json!({"type": "integer", "minimum": 0, "maximum": 255});
    let wanted = json!({
        "named": byte,
        "constant": byte,
        "not_zero": {"type": "integer", "minimum": 1, "maximum": 65535},
        "letter": {"type": "string", "minLength": 1, "maxLength": 1},
        "three": {"type": "array", "items": byte, "minItems": 3, "maxItems": 3},
        "list": {"type": "array", "items": byte},
    });
    assert_eq!(properties(beyond, "beyond").await, wanted);
    let tool = mcp_server::Tool::new("serde").description("A tool of a test.").run(|_: Beyond| ());
    let listed = Client::of(Server::new("test", "1").tool(tool)).listed("serde").await;
    assert_eq!(listed["inputSchema"]["properties"]["named"], json!({"type": "integer", "minimum": -5, "maximum": 127}));
}
