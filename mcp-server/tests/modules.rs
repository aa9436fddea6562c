//! Modules: entries that share params, tags, `_meta`, hints, scopes and cache hints.

mod common;

use std::time::Duration;

use mcp_server::{
    Arguments, BuildError, CacheHint, Common, Ctx, Defaults, Json, Module, Param, Prompt, Resource, ResourceTemplate,
    Server, Tool, Value, json,
};

use crate::common::{Client, text};

#[derive(Arguments)]
struct Account {
    /// Account ID
    #[arg(min_length = 2)]
    account_id: String,
    #[arg(default = 10, min = 1)]
    limit: u32,
}

#[derive(Arguments)]
struct Page {
    /// Page ID
    id: u32,
}

#[track_caller]
fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    client.request(method, params).await;
    client.next().await
}

fn messages(error: &BuildError) -> Vec<String> {
    error.defects().iter().map(ToString::to_string).collect()
}

fn refused(server: Server) -> Vec<String> {
    messages(&server.build().expect_err("there are mistakes"))
}

/// A message without the places in this file, which move.
fn without_places(message: &str) -> String {
    let mut parts = message.split(file!());
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "here" + part.trim_start_matches([':', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    })
}

#[tokio::test]
async fn default_params_come_first_and_are_enforced_with_the_others_tool_9() {
    let account = || Param::string("account_id").description("Account ID").min_length(2).required();
    let module = Module::new("pages")
        .params([account(), Param::integer("limit").min(1).default(10)])
        .tool(tool("by_params").param(Param::integer("id").required()).run(|args: Value| args.to_string()))
        .tool(tool("by_type").run(|Common(common): Common<Value>, page: Page| format!("{} {common}", page.id)))
        .tool(tool("by_value").run(|args: Value| args.to_string()))
        .tool(tool("by_nothing").run(|| "nothing"));
    let mut client = Client::of(Server::new("a", "1").coerce(true).module(module));
    let common = json!({
        "account_id": {"type": "string", "description": "Account ID", "minLength": 2},
        "limit": {"type": "integer", "minimum": 1, "default": 10},
    });
    for (name, own, required, closed) in [
        ("by_params", json!({"id": {"type": "integer"}}), json!(["account_id", "id"]), true),
        (
            "by_type",
            json!({"id": {"type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32, "description": "Page ID"}}),
            json!(["account_id", "id"]),
            true,
        ),
        ("by_value", json!({}), json!(["account_id"]), false),
        ("by_nothing", json!({}), json!(["account_id"]), true),
    ] {
        let schema = client.listed(name).await["inputSchema"].clone();
        let mut expected = common.clone();
        expected.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        assert_eq!(schema["properties"], expected, "{name}");
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&schema["properties"]), names(&expected), "{name}");
        assert_eq!(schema["required"], required, "{name}");
        assert_eq!(schema["additionalProperties"] == false, closed, "{name}");
    }
    for (name, answer) in [
        ("by_params", r#"{"id":7,"account_id":"ab","limit":10}"#),
        ("by_type", r#"7 {"account_id":"ab","limit":10}"#),
        ("by_value", r#"{"id":"7","account_id":"ab","limit":10}"#),
    ] {
        let answered = client.call(name, json!({"id": "7", "account_id": "ab"})).await;
        assert_eq!(text(&answered), answer, "{name}");
    }
    assert_eq!(text(&client.call("by_nothing", json!({"account_id": "ab"})).await), "nothing");
    for name in ["by_params", "by_type"] {
        let broken = client.call(name, json!({"limit": 0, "id": "x", "idd": 1})).await;
        let told = text(&broken);
        for fault in
            ["`account_id`: is required", "`limit`: must be at least 1", "`id`: expected an integer", "`idd`: is not"]
        {
            assert!(told.contains(fault), "{name}: {told}");
        }
    }
}

#[tokio::test]
async fn code_reads_the_default_params_as_a_type_tool_9() {
    let module = Module::new("pages")
        .arguments::<Account>()
        .tool(tool("typed").run(|Common(account): Common<Account>, page: Page| {
            format!("{} of {}, {}", page.id, account.account_id, account.limit)
        }))
        .tool(tool("bare").run(|account: Common<Account>| account.0.account_id))
        .tool(
            tool("params")
                .param(Param::boolean("all").default(true))
                .run(|account: Common<Account>, args: Value| format!("{} {args}", account.0.limit)),
        )
        .tool(tool("skips").skip_default_params(["account_id", "limit"]).run(|page: Page| page.id))
        .tool(tool("replaces").param(Param::integer("limit").max(3).required()).run(|args: Value| args.to_string()));
    let mut client = Client::of(Server::new("a", "1").module(module));
    let whole = json!({"id": 1, "account_id": "ab", "limit": 2});
    assert_eq!(text(&client.call("typed", whole).await), "1 of ab, 2");
    assert_eq!(text(&client.call("typed", json!({"id": 1, "account_id": "ab"})).await), "1 of ab, 10");
    assert_eq!(text(&client.call("bare", json!({"account_id": "ab"})).await), "ab");
    let answer = client.call("params", json!({"account_id": "ab"})).await;
    assert_eq!(text(&answer), r#"10 {"account_id":"ab","limit":10,"all":true}"#);
    assert_eq!(text(&client.call("skips", json!({"id": 1})).await), "1");
    let schema = client.listed("replaces").await["inputSchema"].clone();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["account_id", "limit"]);
    assert_eq!(schema["properties"]["limit"], json!({"type": "integer", "maximum": 3}));
    let answer = client.call("replaces", json!({"account_id": "ab", "limit": 4})).await;
    assert!(text(&answer).contains("`limit`: must be at most 3"), "{answer}");
}

#[tokio::test]
async fn nested_defaults_checks_and_alternatives_are_enforced_tool_9() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(tag = "kind", deny_unknown_fields)]
    #[allow(dead_code)]
    enum Change {
        Move { to: u32 },
        Rename { name: String },
    }
    let place = Param::object("place")
        .field(Param::string("city").required().validate(
            |city: &Value| {
                if city == "Nowhere" { Err("is no city") } else { Ok(()) }
            },
        ))
        .field(Param::string("country").default("FR"));
    let module = Module::new("m")
        .param(place.required())
        .param(Param::boolean("dry").coerce(true).default(false))
        .tool(tool("change").run(|Common(common): Common<Value>, change: Change| match change {
            Change::Move { to } => format!("to {to} {common}"),
            Change::Rename { name } => format!("{name} {common}"),
        }));
    let mut client = Client::of(Server::new("a", "1").module(module));
    let arguments = json!({"kind": "Move", "to": 3, "place": {"city": "Paris"}, "dry": "true"});
    let answer = client.call("change", arguments).await;
    assert_eq!(text(&answer), r#"to 3 {"place":{"city":"Paris","country":"FR"},"dry":true}"#);
    let answer = client.call("change", json!({"kind": "Move", "to": -1, "place": {"city": "Nowhere"}})).await;
    let told = text(&answer);
    assert!(told.contains("`place.city`: is no city") && told.contains("`to`: "), "{told}");
}

#[cfg(feature = "validate")]
#[tokio::test]
async fn default_params_are_part_of_a_schema_that_is_data_schema_3() {
    let schema = json!({
        "$comment": "kept",
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
        "unevaluatedProperties": false,
    });
    let account = Param::string("account_id").required().validate(|id: &Value| id.as_str() != Some("no"));
    let module = Module::new("m")
        .params([account, Param::integer("limit").default(5)])
        .tool(tool("value").input_schema(schema.clone()).run(|args: Value| args.to_string()))
        .tool(
            tool("typed")
                .input_schema_text(schema.to_string())
                .run(|common: Common<Value>, page: Page| format!("{} {}", page.id, common.0)),
        );
    let mut client = Client::of(Server::new("a", "1").module(module));
    let expected = r#"{"$comment":"kept","type":"object","properties":{"account_id":{"type":"string"},"limit":{"type":"integer","default":5},"id":{"type":"integer"}},"required":["account_id","id"],"unevaluatedProperties":false}"#;
    for name in ["value", "typed"] {
        assert_eq!(client.listed(name).await["inputSchema"].to_string(), expected, "{name}");
        let broken = client.call(name, json!({"limit": "x", "more": 1})).await;
        let told = text(&broken);
        for place in ["`account_id`", "`id`", "`limit`", "`more`"] {
            assert!(told.contains(place), "{name}: {told}");
        }
        let broken = client.call(name, json!({"id": 1, "account_id": "no"})).await;
        assert!(text(&broken).contains("`account_id`: fails its check"), "{name}: {broken}");
    }
    let given = json!({"id": 1, "account_id": "ab"});
    let answer = client.call("value", given.clone()).await;
    assert_eq!(text(&answer), r#"{"id":1,"account_id":"ab","limit":5}"#);
    assert_eq!(text(&client.call("typed", given).await), r#"1 {"account_id":"ab","limit":5}"#);
}

/// What a module says, what the entry says, and what is listed.
#[tokio::test]
async fn what_the_entry_says_wins_and_the_rest_is_merged() {
    let module = |defaults: Defaults, tool: Tool| Module::new("m").defaults(defaults).tool(tool);
    let tags = |ctx: Ctx| Json(json!(ctx.tags()));
    let cases: [(Defaults, Tool, &str, Value); 6] = [
        (Defaults::new().read_only(true), tool("t"), "annotations", json!({"readOnlyHint": true})),
        (
            Defaults::new().read_only(true).destructive(false),
            tool("t").read_only(false).idempotent(true),
            "annotations",
            json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true}),
        ),
        (Defaults::new().open_world(false), tool("t").open_world(true), "annotations", json!({"openWorldHint": true})),
        (
            Defaults::new().meta(json!({"a": {"b": 1, "c": [1]}, "d": 2})),
            tool("t").meta(json!({"a": {"b": 3}, "e": 4})),
            "_meta",
            json!({"a": {"b": 3, "c": [1]}, "e": 4, "d": 2}),
        ),
        (Defaults::new().meta(json!({"a": {"b": 1}})), tool("t").meta(json!({"a": 2})), "_meta", json!({"a": 2})),
        (Defaults::new().meta(json!({"a": 1})), tool("t"), "_meta", json!({"a": 1})),
    ];
    for (defaults, tool, member, expected) in cases {
        let mut client = Client::of(Server::new("a", "1").module(module(defaults, tool.run(|| ()))));
        assert_eq!(client.listed("t").await[member], expected);
    }
    let defaults = Defaults::new().tag("admin", true).tag("team", json!({"name": "a", "size": 3}));
    let tool = tool("t").tag("team", json!({"name": "b"})).tag("own", 1).run(tags);
    let mut client = Client::of(Server::new("a", "1").module(module(defaults, tool)));
    let answer = client.call("t", json!({})).await;
    assert_eq!(
        answer["result"]["structuredContent"],
        json!({"team": {"name": "b", "size": 3}, "own": 1, "admin": true})
    );
}

#[tokio::test]
async fn a_module_within_a_module_has_the_defaults_of_both() {
    let tags = |ctx: Ctx, args: Value| format!("{} {args}", json!(ctx.tags()));
    let inner = Module::new("inner")
        .params([Param::string("a").default("inner"), Param::string("b").default("b")])
        .tag("who", "inner")
        .tool(tool("deep").run(tags));
    let outer = Module::new("outer")
        .params([Param::string("a").default("outer"), Param::string("c").default("c")])
        .tag("who", "outer")
        .tag("outer", true)
        .module(inner)
        .tool(tool("flat").run(tags));
    let own = tool("own").run(tags);
    let server = Server::new("a", "1").module(outer).tool(own).defaults(Defaults::new().tag("own", true));
    let app = server.build().unwrap();
    assert_eq!(app.tool_names(), ["own", "flat", "deep"]);
    app.add_tool(tool("later").run(tags)).unwrap();
    app.add_module(Module::new("more").tag("more", 1).tool(tool("last").run(tags))).unwrap();
    assert_eq!(app.tool_names(), ["own", "flat", "deep", "later", "last"]);
    let mut client = Client::to(app);
    for (name, answer) in [
        ("own", r#"{"own":true} {}"#),
        ("flat", r#"{"who":"outer","outer":true} {"a":"outer","c":"c"}"#),
        ("deep", r#"{"who":"inner","outer":true} {"c":"c","a":"inner","b":"b"}"#),
        ("later", r#"{"own":true} {}"#),
        ("last", r#"{"more":1} {}"#),
    ] {
        assert_eq!(text(&client.call(name, json!({})).await), answer, "{name}");
    }
}

#[tokio::test]
async fn code_reads_a_type_of_which_the_tool_skips_all_tool_9() {
    #[derive(Arguments)]
    struct Opt {
        #[arg(default = 10)]
        limit: u32,
        city: Option<String>,
    }
    let show = |Common(opt): Common<Opt>| format!("{} {:?}", opt.limit, opt.city);
    let module = Module::new("m")
        .arguments::<Opt>()
        .tool(tool("bare").skip_default_params(["limit", "city"]).run(show))
        .tool(tool("typed").skip_default_params(["limit", "city"]).run(
            |Common(opt): Common<Opt>, Common(all): Common<Value>, page: Page| {
                format!("{} {all} {}", opt.limit, page.id)
            },
        ))
        .tool(
            tool("own")
                .param(Param::any("limit"))
                .param(Param::any("city"))
                .run(|Common(opt): Common<Opt>, args: Value| format!("{} {args}", opt.limit)),
        );
    let mut client = Client::of(Server::new("a", "1").module(module));
    assert_eq!(text(&client.call("bare", json!({})).await), "10 None");
    assert_eq!(text(&client.call("typed", json!({"id": 1})).await), "10 {} 1");
    assert_eq!(text(&client.call("own", json!({"limit": "x"})).await), r#"10 {"limit":"x"}"#);
}

#[tokio::test]
async fn a_module_within_one_has_a_field_of_its_own_beside_those_of_the_type_tool_9() {
    let inner = Module::new("inner").param(Param::string("limit").required()).tool(tool("t").run(
        |Common(account): Common<Account>, Common(all): Common<Value>| {
            format!("{} {} {all}", account.account_id, account.limit)
        },
    ));
    let outer = Module::new("outer").arguments::<Account>().module(inner);
    let mut client = Client::of(Server::new("a", "1").module(outer));
    assert_eq!(client.listed("t").await["inputSchema"]["properties"]["limit"], json!({"type": "string"}));
    let answer = client.call("t", json!({"account_id": "ab", "limit": "many"})).await;
    assert_eq!(text(&answer), r#"ab 10 {"account_id":"ab","limit":"many"}"#);
}

#[test]
fn obligations_add_up_cache_4() {
    let sensitive = tool("t").sensitive(false);
    assert!(!sensitive.is_sensitive());
    assert!(tool("t").read_only(true).destructive(true).sensitive(false).is_sensitive());
    assert!(tool("t").sensitive(true).destructive(false).is_sensitive());
    let public = || CacheHint::new().ttl(Duration::from_secs(5)).public();
    let conflict = "`t`: it is for callers with the scope `a b c`, and its cache hint lets anybody keep and pass on what it \
                    answers: make the hint private, or take the scope away (CACHE-4)";
    let inner = Module::new("inner").scope("b").tool(tool("t").scope("c b").run(|| ()));
    let outer = Module::new("outer").scope("a").cache(public()).module(inner);
    assert_eq!(refused(Server::new("a", "1").module(outer)), [conflict]);
    let inner = Module::new("inner").scope("b").tool(tool("t").cache(CacheHint::new().private()).run(|| ()));
    assert!(Server::new("a", "1").module(Module::new("outer").cache(public()).module(inner)).build().is_ok());
}

#[test]
fn no_tool_takes_back_that_its_module_destroys_tool_17() {
    let harmless = || tool("t").destructive(false).run(|| ());
    let destroys = || Module::new("m").destructive(true);
    let servers = [
        ("in a module", Server::new("a", "1").module(destroys().tool(harmless()))),
        ("in one within it", Server::new("a", "1").module(destroys().module(Module::new("n").tool(harmless())))),
        (
            "in one within it that says otherwise",
            Server::new("a", "1").module(destroys().module(Module::new("n").destructive(false).tool(harmless()))),
        ),
        ("of the server", Server::new("a", "1").defaults(Defaults::new().destructive(true)).tool(harmless())),
    ];
    for (which, server) in servers {
        let found = refused(server);
        assert!(found.len() == 1 && found[0].starts_with("`t`: it is sensitive"), "{which}: {found:?}");
    }
    let module = destroys().destructive(false).tool(harmless());
    assert!(Server::new("a", "1").module(module).build().is_ok(), "what a module says last is what it says");
}

#[tokio::test]
async fn a_tool_of_a_module_that_destroys_says_itself_what_is_published_tool_15() {
    let module = Module::new("m").destructive(true).tool(tool("t").destructive(false).run(|| ()));
    let mut client = Client::of(Server::new("a", "1").allow_unguarded(["t"]).module(module));
    assert_eq!(client.listed("t").await["annotations"], json!({"destructiveHint": false}));
}

#[tokio::test]
async fn resources_templates_and_prompts_are_grouped_too() {
    let module = Module::new("docs")
        .meta(json!({"team": "docs"}))
        .tag("kind", "docs")
        .resource(Resource::new("docs://a").run(|ctx: Ctx| json!(ctx.tags()).to_string()))
        .resource_template(ResourceTemplate::new("docs://{id}/x").meta(json!({"team": "own"})).run(|id: String| id))
        .prompt(Prompt::new("ask").description("Asks.").run(|ctx: Ctx| json!(ctx.tags()).to_string()));
    let server = Server::new("a", "1").module(module).resource(Resource::new("own://a").text("a"));
    let mut client = Client::of(server);
    let resources = ask(&mut client, "resources/list", json!({})).await;
    assert_eq!(resources["result"]["resources"][0]["uri"], "own://a");
    assert_eq!(resources["result"]["resources"][1]["_meta"], json!({"team": "docs"}));
    let templates = ask(&mut client, "resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["_meta"], json!({"team": "own"}));
    let read = ask(&mut client, "resources/read", json!({"uri": "docs://a"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], r#"{"kind":"docs"}"#);
    let got = ask(&mut client, "prompts/get", json!({"name": "ask"})).await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], r#"{"kind":"docs"}"#);
}

#[test]
fn mistakes_are_told_with_both_places_and_modules_tool_5_tool_4() {
    let account = || Param::string("account_id").required();
    let pages = Module::new("pages")
        .param(account())
        .tool(tool("get").skip_default_params(["acount_id"]).run(|| ()))
        .tool(tool("all").skip_default_params(["everything"]).run(|| ()));
    let admin = Module::new("admin").tool(tool("get").run(|| ())).module(
        Module::new("deep")
            .tool(tool("get").skip_default_params(["x"]).run(|| ()))
            .tool(tool("x").run(|_: Common<Account>| ())),
    );
    let found = refused(Server::new("a", "1").tool(tool("get").run(|| ())).module(pages).module(admin));
    let found: Vec<String> = found.iter().map(|message| without_places(message)).collect();
    let twice = |module: &str| {
        format!(
            "`get`: registered twice, at here and at here in the module `{module}`: each may be there once in a server, so \
             rename one, or take the first away in the same `App::edit` (TOOL-5)"
        )
    };
    assert_eq!(
        found,
        [
            twice("pages"),
            "`all`: it skips the default param `everything` (made at here), and the module `pages` has no such param: it has \
             `account_id` (TOOL-4)"
                .into(),
            twice("admin"),
            twice("admin/deep"),
            "`x`: its code takes `Common<modules::Account>`, and the module `admin/deep` does not give it: give it to the \
             module with `.arguments::<modules::Account>()`, or as `#[tools(params = ..)]` (TOOL-6)"
                .into(),
        ]
    );
    let again = || tool("get").run(|| ());
    let server = Server::new("a", "1").module(Module::new("a").tool(again())).module(Module::new("b").tool(again()));
    assert_eq!(
        without_places(&refused(server)[0]),
        "`get`: registered twice, made at here, in the module `a` and in the module `b`: each may be there once in a server, \
         so rename one, or take the first away in the same `App::edit` (TOOL-5)"
    );
    let skips = Module::new("pages").param(account()).tool(tool("get").skip_default_params(["acount_id"]).run(|| ()));
    let none = tool("none").skip_default_params(["x"]).run(|| ());
    let found = refused(Server::new("a", "1").module(skips).tool(none));
    let found: Vec<String> = found.iter().map(|message| without_places(message)).collect();
    assert_eq!(
        found,
        [
            "`none`: it skips the default param `x` (made at here), and the server has no such param: only \
             default params can be skipped, of a module or of `defaults`, so leave it out (TOOL-4)",
            "`get`: it skips the default param `acount_id` (made at here), and the module `pages` has no such param: did \
             you mean `account_id`? (TOOL-4)",
        ]
    );
}

#[test]
fn what_is_wrong_with_defaults_is_told_once_tool_4() {
    let module = Module::new("pages")
        .arguments::<Account>()
        .param(Param::string("account_id"))
        .param(Param::string("text").min(3))
        .param(Param::string("x").required().default("y"))
        .arguments::<Vec<u8>>()
        .meta(json!(3))
        .scope(" ")
        .tool(tool("a").run(|| ()))
        .tool(tool("b").run(|| ()));
    assert_eq!(
        refused(Server::new("a", "1").module(module)),
        [
            "`pages`: the default param `account_id` is given twice: keep one of them (TOOL-4)",
            "`pages`: `x`: is required, so its default would never be used: leave one of them out (TOOL-4)",
            "`pages`: `alloc::vec::Vec<u8>` cannot be default params (its root has `\"type\": \"array\"`): take a struct with \
             named fields (TOOL-4)",
            "`pages`: its scope is empty, which would let everybody in: name one, as in `.scope(\"notes:read\")`, or leave it \
             out (AUTH-6)",
            "`pages`: its default `_meta` must be a JSON object, not an integer (BASE-21)",
            "`pages`: `text`: `minimum` is a rule for numbers, and this can only be a string: leave it out, or change the \
             type (TOOL-4)",
        ]
    );
}

#[test]
fn code_that_needs_what_the_tool_skips_is_told_tool_6() {
    let module = |tool: Tool| Server::new("a", "1").module(Module::new("pages").arguments::<Account>().tool(tool));
    let needs = |tool: Tool| tool.run(|_: Common<Account>| ());
    let message = "`t`: its code takes `Common<modules::Account>`, which cannot do without `account_id` of the module `pages`, \
                   and the tool skips that or has one of its own: leave either out (TOOL-6)";
    assert_eq!(refused(module(needs(tool("t").skip_default_params(["account_id"])))), [message]);
    assert_eq!(refused(module(needs(tool("t").param(Param::any("account_id"))))), [message]);
    assert!(module(needs(tool("t").skip_default_params(["limit"]))).build().is_ok());
    let prompt = Prompt::new("p").description("Asks.").run(|_: Common<Account>| "x");
    let server = Server::new("a", "1").module(Module::new("pages").arguments::<Account>().prompt(prompt));
    assert_eq!(
        refused(server),
        [
            "`p`: it takes `Common<modules::Account>`, default params of a module, which the code of a tool alone has (PROMPT-2)"
        ]
    );
}

#[test]
fn code_that_takes_default_params_where_there_are_none_is_told_tool_6() {
    type Members = serde_json::Map<String, Value>;
    let any = || tool("t").run(|_: Common<Value>| ());
    let map = tool("t").run(|_: Common<Members>, page: Page| page.id);
    let what = |whose: &str, how: &str| {
        format!(
            "`t`: its code takes `Common<serde_json::value::Value>`, and {whose} has no default params: give it some with \
             `.{how}(..)`, or take no `Common` (TOOL-6)"
        )
    };
    assert_eq!(refused(Server::new("a", "1").tool(any())), [what("the server", "defaults")]);
    let module = |tool: Tool| Server::new("a", "1").module(Module::new("m").tool(tool));
    assert_eq!(refused(module(any())), [what("the module `m`", "param")]);
    let map = refused(module(map));
    assert!(map[0].contains("`Common<serde_json::map::Map<") && map[0].contains("has no default params"), "{map:?}");
    let inner = Module::new("inner").tool(any());
    assert!(Server::new("a", "1").module(Module::new("outer").param(Param::any("a")).module(inner)).build().is_ok());
    let own = Server::new("a", "1").defaults(Defaults::new().param(Param::any("a"))).tool(any());
    assert!(own.build().is_ok());
}

#[test]
fn what_follows_from_wrong_defaults_is_not_told_of_each_tool_tool_4() {
    let module = |param: Param| Module::new("m").arguments::<Account>().param(param);
    let tools = [
        tool("skips").skip_default_params(["text"]).run(|| ()),
        tool("any").run(|_: Common<Value>| ()),
        tool("typed").run(|_: Common<Account>| ()),
    ];
    let wrong = module(Param::string("text").min(3)).module(Module::new("inner").tools(tools));
    let found = refused(Server::new("a", "1").module(wrong));
    assert!(found.len() == 1 && found[0].contains("`minimum` is a rule for numbers"), "{found:?}");
    let wrong = Module::new("m").arguments::<Vec<u8>>().tool(tool("t").run(|_: Common<Vec<u8>>| ()));
    let found = refused(Server::new("a", "1").module(wrong));
    assert!(found.len() == 1 && found[0].contains("cannot be default params"), "{found:?}");
}

#[tokio::test]
async fn a_list_is_kept_no_longer_than_its_entries_and_privately_where_one_is_scoped_cache_1_cache_4() {
    let hint = |seconds| CacheHint::new().ttl(Duration::from_secs(seconds));
    let list = async |server: Server| {
        let listed = ask(&mut Client::of(server), "tools/list", json!({})).await;
        (listed["result"]["ttlMs"].clone(), listed["result"]["cacheScope"].clone())
    };
    let module = |name: &str, hint| Module::new(name).cache(hint).tool(tool(name).run(|| ()));
    let server = || Server::new("a", "1").cache(hint(60).public());
    assert_eq!(list(server().module(module("a", hint(5)))).await, (json!(5000), json!("public")));
    let two = server().module(module("a", hint(5))).module(module("b", hint(3).private()));
    assert_eq!(list(two).await, (json!(3000), json!("private")));
    assert_eq!(list(Server::new("a", "1").tool(tool("a").run(|| ()))).await, (json!(0), json!("private")));
}

#[tokio::test]
async fn an_app_and_its_page_are_for_the_same_callers_auth_6() {
    let shows = mcp_server::UiApp::new(tool("shows").run(|| "x")).view("a.html", "<p>").scope("shows");
    let module = Module::new("m").scope("m").app(shows);
    let app = Server::new("a", "1").module(module).build().unwrap();
    let mut with = mcp_server::testing::Client::builder(&app).principal("ada").scopes("m shows").connect();
    with.call("shows", ()).await.assert_text("x");
    with.read("ui://shows/a.html").await.assert_ok();
    let mut without = mcp_server::testing::Client::builder(&app).principal("ada").scopes("m").connect();
    without.call("shows", ()).await.assert_fault(403);
    without.read("ui://shows/a.html").await.assert_fault_contains("Insufficient scope. Required: m shows");
}

#[tokio::test]
async fn what_a_rule_hides_by_the_tags_of_an_app_it_hides_with_its_page() {
    let shows = |name: &str| mcp_server::UiApp::new(tool(name).tag("admin", true).run(|| "x")).view("a.html", "<p>");
    let rule = |entry: &mcp_server::Shown<'_>, viewer: &mcp_server::Viewer| {
        entry.tag("admin") != true || viewer.has_scope("admin")
    };
    let module = Module::new("m").app(shows("inner"));
    let app = Server::new("a", "1").app(shows("outer")).module(module).visible(rule).build().unwrap();
    let mut bob = mcp_server::testing::Client::builder(&app).principal("bob").connect();
    bob.request("resources/list", ()).await.assert_at("/result/resources", serde_json::json!([]));
    let mut ann = mcp_server::testing::Client::builder(&app).principal("ann").scopes("admin").connect();
    for name in ["outer", "inner"] {
        let page = format!("ui://{name}/a.html");
        bob.call(name, ()).await.assert_fault(-32602);
        bob.read(&page).await.assert_fault(-32002);
        ann.call(name, ()).await.assert_text("x");
        ann.read(&page).await.assert_text("<p>");
    }
}
