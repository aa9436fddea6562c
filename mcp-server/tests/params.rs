//! Arguments that are described at run time, without a type: published, and enforced.

mod common;

use common::{Client, text};
use mcp_server::{Param, Server, Tool, Value, json};

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

/// Tells what it was given.
fn echo(args: Value) -> String {
    args.to_string()
}

fn client(params: impl IntoIterator<Item = Param>) -> Client {
    Client::of(Server::new("test", "1").tool(tool("echo").params(params).run(echo)))
}

/// Each violation as it is told.
fn told(response: &Value) -> Vec<&str> {
    assert_eq!(response["result"]["isError"], true, "{response}");
    text(response).lines().skip(1).map(|line| &line[2..]).collect()
}

fn order() -> [Param; 7] {
    [
        Param::string("customer").description("Who orders").pattern("^[a-z0-9-]+$").max_length(8).required(),
        Param::string("speed").one_of(["slow", "fast"]).default("slow"),
        Param::number("budget").min(0.5).max(100),
        Param::boolean("gift").default(false),
        Param::object("address")
            .field(Param::string("city").required())
            .field(Param::object("geo").field(Param::integer("level").default(1)).field(Param::any("more"))),
        Param::array(
            "lines",
            Param::object("line").field(Param::string("isbn").required()).field(Param::integer("n").min(1)),
        )
        .min_items(1)
        .max_length(2)
        .required(),
        Param::object("extra"),
    ]
}

#[tokio::test]
async fn params_are_published_as_they_were_written_in_their_order() {
    let schema = client(order()).listed("echo").await["inputSchema"].clone();
    let expected = json!({
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "Who orders", "pattern": "^[a-z0-9-]+$", "maxLength": 8},
            "speed": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
            "budget": {"type": "number", "minimum": 0.5, "maximum": 100},
            "gift": {"type": "boolean", "default": false},
            "address": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "geo": {
                        "type": "object",
                        "properties": {"level": {"type": "integer", "default": 1}, "more": {}},
                        "additionalProperties": false,
                    },
                },
                "required": ["city"],
                "additionalProperties": false,
            },
            "lines": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"isbn": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
                    "required": ["isbn"],
                    "additionalProperties": false,
                },
                "minItems": 1,
                "maxItems": 2,
            },
            "extra": {"type": "object"},
        },
        "required": ["customer", "lines"],
        "additionalProperties": false,
    });
    assert_eq!(schema.to_string(), expected.to_string(), "the order counts");
}

#[tokio::test]
async fn what_is_left_out_has_its_default_when_the_code_runs() {
    let mut client = client(order());
    let sent =
        json!({"customer": "ada", "lines": [{"isbn": "1"}], "gift": null, "address": {"city": "Ghent", "geo": {}}});
    assert_eq!(
        serde_json::from_str::<Value>(text(&client.call("echo", sent).await)).expect("JSON"),
        json!({
            "customer": "ada", "lines": [{"isbn": "1"}], "speed": "slow", "gift": false,
            "address": {"city": "Ghent", "geo": {"level": 1}},
        })
    );
    let all = json!({"customer": "ada", "lines": [{"isbn": "1", "n": 2}], "speed": "fast", "gift": true, "extra": {"any": 1}});
    assert_eq!(serde_json::from_str::<Value>(text(&client.call("echo", all.clone()).await)).expect("JSON"), all);
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once_at_any_depth_tool_9() {
    let mut client = client(order());
    let sent = json!({
        "customer": "No One Knows", "budget": "7", "gift": 1, "sped": "fast",
        "address": {"geo": {"level": 1.5, "more": [null]}},
        "lines": [{"isbn": 5, "n": 0}, {"m": 1}, {"isbn": "3"}],
    });
    assert_eq!(
        told(&client.call("echo", sent).await),
        [
            "`customer`: must have at most 8 characters, has 12",
            "`customer`: must match the pattern `^[a-z0-9-]+$`, is \"No One Knows\"",
            "`budget`: expected a number, got a string",
            "`gift`: expected a boolean, got an integer",
            "`address.city`: is required, and missing",
            "`address.geo.level`: expected an integer, got a number",
            "`lines[0].isbn`: expected a string, got an integer",
            "`lines[0].n`: must be at least 1, is 0",
            "`lines[1].isbn`: is required, and missing",
            "`lines[1].m`: is not a known parameter",
            "`lines`: must have at most 2 items, has 3",
            "`sped`: is not a known parameter (did you mean `speed`?)",
        ]
    );
}

#[tokio::test]
async fn objects_and_the_arguments_themselves_are_closed_or_open_as_is_said() {
    let params = [
        Param::object("bag"),
        Param::object("fields").field(Param::string("a")),
        Param::object("both").field(Param::string("a")).open(),
        Param::object("empty").closed(),
    ];
    let mut closed = client(params.clone());
    let more = json!({"x": 1});
    assert_eq!(closed.call("echo", json!({"bag": more, "both": more})).await["result"].get("isError"), None);
    let refused = closed.call("echo", json!({"fields": more, "empty": more, "other": 1})).await;
    let expected = ["`fields.x`", "`empty.x`", "`other`"].map(|path| format!("{path}: is not a known parameter"));
    assert_eq!(told(&refused), expected);
    let open = Server::new("test", "1").tool(tool("echo").params(params).open().run(echo));
    let mut open = Client::of(open);
    assert_eq!(text(&open.call("echo", json!({"other": 1})).await), r#"{"other":1}"#);
    assert_eq!(open.listed("echo").await["inputSchema"].get("additionalProperties"), None);
}

#[tokio::test]
async fn a_check_of_ones_own_is_asked_after_all_rules_and_its_panic_is_contained() {
    let mut client = client([
        Param::integer("even").max(10).validate(|n: &Value| n.as_i64().is_some_and(|n| n % 2 == 0)),
        Param::string("host")
            .validate(|host: &Value| if host == "localhost" { Err("must not be this machine") } else { Ok(()) })
            .validate(|host: &Value| host != "example.com"),
        Param::integer("bad").validate(|_: &Value| -> bool { panic!("secret") }),
        Param::array("list", Param::string("item").validate(|text: &Value| text != "no"))
            .validate(|list: &Value| list != &json!([])),
    ]);
    let fits = json!({"even": 2, "host": "a.example", "list": ["yes"]});
    assert_eq!(text(&client.call("echo", fits.clone()).await), fits.to_string());
    let sent = json!({"even": 3, "host": "localhost", "bad": 1, "list": ["yes", "no"]});
    assert_eq!(
        told(&client.call("echo", sent).await),
        [
            "`even`: fails its check",
            "`host`: must not be this machine",
            "`bad`: could not be checked: its check failed",
            "`list[1]`: fails its check",
        ]
    );
    let sent = json!({"even": 11, "host": "example.com", "list": []});
    assert_eq!(
        told(&client.call("echo", sent).await),
        ["`even`: must be at most 10, is 11", "`host`: fails its check", "`list`: fails its check"]
    );
    assert_eq!(text(&client.call("echo", json!({"even": null, "bad": null})).await), "{}", "there is nothing to check");
}

#[tokio::test]
async fn coercion_is_said_by_the_nearest() {
    let params = [
        Param::object("on")
            .coerce(true)
            .field(Param::integer("n").min(18))
            .field(Param::boolean("raw").coerce(false))
            .field(Param::array("list", Param::number("x"))),
        Param::integer("off"),
    ];
    let mut client = client(params);
    let sent = json!({"on": {"n": "25", "list": ["1", "85.5", 3]}});
    assert_eq!(text(&client.call("echo", sent).await), r#"{"on":{"n":25,"list":[1,85.5,3]}}"#);
    let sent = json!({"on": {"n": "5", "raw": "true", "list": ["x"]}, "off": "1"});
    assert_eq!(
        told(&client.call("echo", sent).await),
        [
            "`on.n`: must be at least 18, is 5",
            "`on.raw`: expected a boolean, got a string",
            "`on.list[0]`: expected a number, got a string",
            "`off`: expected an integer, got a string",
        ]
    );
}

#[tokio::test]
async fn a_header_is_published_and_only_where_clients_can_follow_it_hdr_9() {
    let region = Param::string("region").header("Region");
    let nested = Param::object("where").field(region.clone());
    let schema = client([nested]).listed("echo").await["inputSchema"].clone();
    assert_eq!(schema["properties"]["where"]["properties"]["region"]["x-mcp-header"], "Region");
    for wrong in [
        Param::array("regions", region),
        Param::number("price").header("Price"),
        Param::string("a").header("two words"),
    ] {
        let error = Server::new("test", "1").tool(tool("t").param(wrong).run(echo)).build().expect_err("it cannot be");
        assert_eq!(error.defects()[0].rule, "HDR-9", "{error}");
    }
}

#[tokio::test]
async fn an_update_asks_for_nothing_and_fills_nothing_in() {
    let update = order().map(Param::optional);
    let mut client = client([Param::integer("id").required()].into_iter().chain(update));
    let schema = client.listed("echo").await["inputSchema"].clone();
    assert_eq!(schema["required"], json!(["id"]));
    assert!(!schema.to_string().contains("default"), "{schema}");
    assert_eq!(schema["properties"]["address"].get("required"), None);
    assert_eq!(schema["properties"]["lines"]["items"]["required"], json!(["isbn"]), "an item is given whole");
    assert_eq!(text(&client.call("echo", json!({"id": 1, "address": {}})).await), r#"{"id":1,"address":{}}"#);
}

#[tokio::test]
async fn code_may_take_params_by_a_type_of_its_own() {
    #[derive(serde::Deserialize, mcp_server::schemars::JsonSchema)]
    #[schemars(crate = "mcp_server::schemars")]
    struct Count {
        n: u8,
    }
    let count = tool("count").param(Param::integer("n").max(9).default(3)).run(|args: Count| args.n);
    let mut client = Client::of(Server::new("test", "1").tool(count));
    assert_eq!(text(&client.call("count", json!({})).await), "3");
    assert_eq!(text(&client.call("count", json!({"n": 9})).await), "9");
    assert_eq!(told(&client.call("count", json!({"n": 10})).await), ["`n`: must be at most 9, is 10"]);
    assert_eq!(told(&client.call("count", json!({"n": -1})).await), ["`n`: invalid value: integer `-1`, expected u8"]);
}

#[test]
fn every_mistake_in_params_is_told_at_once_with_its_path_tool_4() {
    let wrong = [
        Param::string("twice"),
        Param::string("twice"),
        Param::integer("length").min_length(1),
        Param::string("bound").min(1),
        Param::object("deep").field(Param::array("list", Param::string("item").pattern("(").required())),
        Param::string("both").required().default("x"),
        Param::integer("default").max(3).default(4),
        Param::number("nan").min(f64::NAN),
        Param::string("field").field(Param::string("x")),
        Param::string("closed").closed(),
        Param::string(""),
        Param::integer("crossed").min(2).max(1),
        Param::string("none").one_of::<&str>([]),
    ];
    let error = Server::new("test", "1").tool(tool("t").params(wrong).run(echo)).build().expect_err("all are wrong");
    assert!(error.defects().iter().all(|defect| (defect.rule, &*defect.entry) == ("TOOL-4", "t")), "{error}");
    let told = error.to_string();
    for said in [
        "`twice`: is declared twice",
        "`length`: `minLength` is a rule for strings, and this can only be an integer",
        "`bound`: `minimum` is a rule for numbers, and this can only be a string",
        "`deep.list`: has items that are required",
        "`deep.list[]`: the pattern `(` cannot be enforced",
        "`both`: is required, so its default would never be used",
        "`default`: its default 4 does not fit: must be at most 3, is 4",
        "`nan`: `minimum` must be a number, and is null",
        "`field`: it has fields, and is no object",
        "`closed`: it is open or closed, and no object",
        "``: has a field without a name",
        "`crossed`: its smallest number is above its largest",
        "`none`: `enum` must be a list with at least one value",
    ] {
        assert!(told.contains(said), "{said}\nis not in\n{told}");
    }
    assert_eq!(error.defects().len(), 13, "{error}");
}

#[test]
fn arguments_are_described_once() {
    let both = tool("t").param(Param::string("a")).input_schema(json!({"type": "object"})).run(echo);
    let open = tool("u").open().run(echo);
    let error = Server::new("test", "1").tool(both).tool(open).build().expect_err("two mistakes");
    assert!(error.to_string().contains("its arguments are described twice, by params and by a schema"), "{error}");
    assert!(error.to_string().contains("`.open()` lets arguments through beside those of `.param(..)`"), "{error}");
}
