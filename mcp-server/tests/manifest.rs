//! Tools that are defined in a file, and everything that can be wrong with one.

#![cfg(feature = "validate")]

mod common;

use common::{Client, text};
use mcp_server::{Arguments, Common, Manifest, Module, Param, Server, Tool, Value, json};

/// Entry, rule and message of each thing that is wrong.
fn told(manifest: Manifest) -> Vec<(String, &'static str, String)> {
    let error = Server::new("test", "1").tools(manifest).build().expect_err("it is wrong");
    let told = |defect: &mcp_server::Defect| (defect.entry.to_string(), defect.rule, defect.message.to_string());
    error.defects().iter().map(told).collect()
}

fn expect(found: &[(String, &'static str, String)], expected: &[(&str, &str, &str)]) {
    for (index, (entry, rule, message)) in expected.iter().enumerate() {
        let Some((its_entry, its_rule, said)) = found.get(index) else { panic!("{message} is missing: {found:#?}") };
        assert!(its_entry.starts_with(entry), "{entry} is not {its_entry}: {said}");
        assert_eq!(its_rule, rule, "{said}");
        assert!(said.contains(message), "{message} is not in {said}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

const TWO: &str = r#"{"tools": [
    {
        "name": "area", "description": "Computes an area.",
        "inputSchema": {"type": "object", "properties": {"side": {"type": "number", "minimum": 0}}, "required": ["side"]},
        "annotations": {"readOnlyHint": true}, "tags": {"team": "maths"}, "taskSupport": "forbidden",
        "cache": {"ttlMs": 5000, "scope": "private"}
    },
    {"name": "shout", "description": "Says it louder.", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}}
]}"#;

#[tokio::test]
async fn definitions_are_published_and_enforced_and_the_code_is_bound_by_name_tool_9_tool_14() {
    let manifest = Manifest::json(TWO)
        .run("shout", |_: Value| "HO")
        .run("area", |ctx: mcp_server::Ctx, args: Value| format!("{} {}", args["side"], ctx.tags()["team"]));
    let mut client = Client::of(Server::new("test", "1").tools(manifest));
    assert_eq!(text(&client.call("area", json!({"side": 2})).await), "2 \"maths\"");
    assert!(text(&client.call("area", json!({"side": -2})).await).contains("`side`: must be at least 0, is -2"));
    assert_eq!(text(&client.call("shout", json!({})).await), "HO");
    let shout = client.listed("shout").await;
    let published = json!({"name": "shout", "description": "Says it louder.", "inputSchema": {"type": "object", "properties": {"z": {}, "a": {}}}});
    assert_eq!(shout.to_string(), published.to_string(), "in its order");
    let area = client.listed("area").await;
    assert_eq!(area["annotations"], json!({"readOnlyHint": true}));
    for private in ["tags", "cache", "taskSupport"] {
        assert_eq!(area[private], json!(null), "{private} is not published");
    }
}

#[test]
fn a_list_or_a_single_definition_will_do() {
    let one = r#"{"name": "one", "description": "d", "inputSchema": {"type": "object"}}"#;
    for text in [one.to_owned(), format!("[{one}]"), format!("{{\"tools\": [{one}]}}")] {
        let app = Server::new("test", "1").tools(Manifest::json(text).run("one", || ())).build().expect("it is right");
        assert_eq!(app.tool_names(), ["one"]);
    }
}

#[test]
fn everything_that_is_wrong_with_a_manifest_is_told_at_once_with_its_place() {
    let manifest = Manifest::json(
        r#"{"tool": [], "tools": [
            {"name": "no_schema", "description": "d", "input_shema": {"type": "object"}},
            {"name": "list", "description": "d", "inputSchema": {"type": "array"}},
            {"description": "d", "inputSchema": {"type": "object"}},
            {"name": "silent", "inputSchema": {"type": "object"}},
            {"name": "silent", "description": "d", "inputSchema": {"type": "object"}},
            "silent",
            {"name": "unbound", "description": "d", "inputSchema": {"type": "object"},
             "scope": 5, "cache": {"ttlMs": -1, "scope": "shared", "ttl": 1}, "taskSupport": "maybe", "sensitive": "yes", "tags": []}
        ]}"#,
    )
    .run("list", || ())
    .run("silent", || ())
    .run("no_schema", || ())
    .run("no_schema", || ())
    .run("unbuond", || ())
    .run("elsewhere", || ());
    let found = told(manifest);
    expect(
        &found,
        &[
            (
                "manifest at mcp-server/tests/manifest.rs:",
                "TOOL-3",
                "a member `tool`, which nobody reads: did you mean `tools`?",
            ),
            ("manifest at ", "TOOL-5", "tools[3] and tools[4] are both called `silent`: rename one"),
            ("manifest at ", "TOOL-6", "there is code for `no_schema` a second time at mcp-server/tests/manifest.rs:"),
            ("manifest at ", "TOOL-6", "no such tool is defined: did you mean `unbound`?"),
            ("manifest at ", "TOOL-6", "there is code for `elsewhere` at mcp-server/tests/manifest.rs:"),
            ("no_schema", "TOOL-4", "tools[0]: its definition has no `inputSchema`"),
            (
                "no_schema",
                "TOOL-3",
                "tools[0]: its definition has a member `input_shema`, which nobody reads: did you mean `input_schema`?",
            ),
            ("unnamed-", "TOOL-5", "tools[2]: "),
            ("unnamed-", "TOOL-6", "tools[2]: it has no code"),
            ("silent", "TOOL-3", "tools[3]: it has no description"),
            ("unnamed-", "TOOL-3", "must be a JSON object, not a string"),
            ("unbound", "AUTH-6", "tools[6]: the `scope` of its definition must be"),
            ("unbound", "CACHE-1", "`cache.ttlMs` of its definition must be a number of milliseconds"),
            ("unbound", "CACHE-1", "`cache.scope` of its definition must be \"public\" or \"private\""),
            (
                "unbound",
                "TOOL-3",
                "`cache` of its definition has a member `ttl`, which nobody reads: it knows ttlMs, scope",
            ),
            (
                "unbound",
                "TASK-2",
                "`taskSupport` of its definition must be \"none\" or \"forbidden\", \"supported\" or \"optional\", or \"required\"",
            ),
            ("unbound", "TOOL-15", "`sensitive` of its definition must be true or false, not a string"),
            ("unbound", "TOOL-3", "the `tags` of its definition must be an object, not an array"),
            ("unbound", "TOOL-6", "tools[6]: it has no code: bind some with `.run(\"unbound\", ..)`"),
            ("list", "TOOL-4", "tools[1]: the input schema's root must say"),
        ],
    );
}

#[test]
fn the_six_faults_of_a_definition_have_six_texts() {
    let object = json!({"type": "object"});
    let fault = |definition: Value| {
        let found = told(Manifest::json(definition.to_string()).run("t", || ()));
        assert_eq!(found.len(), 1, "{found:#?}");
        found.into_iter().next().map(|(_, rule, message)| (rule, message)).expect("one")
    };
    let mut told: Vec<(&str, String)> = vec![
        fault(json!({"name": "t", "inputSchema": object})),
        fault(json!({"name": "t", "description": "d"})),
        fault(json!({"name": "t", "description": "d", "inputSchema": {}})),
        fault(
            json!({"name": "t", "description": "d", "inputSchema": {"type": "object", "properties": {"a": {"type": "text"}}}}),
        ),
    ];
    // No name, and so no code; that code takes what it can be given is seen when it is compiled.
    let nameless = [json!({"name": "", "description": "d", "inputSchema": object})];
    told.extend(
        self::told(Manifest::json(json!(nameless).to_string())).into_iter().map(|(_, rule, message)| (rule, message)),
    );
    let rules: Vec<&str> = told.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(rules, ["TOOL-3", "TOOL-4", "TOOL-4", "TOOL-4", "TOOL-5", "TOOL-6"]);
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 6, "{told:#?}");
}

#[tokio::test]
async fn defaults_are_those_of_all_definitions_that_do_not_say_otherwise() {
    let manifest = Manifest::json(
        r#"{
            "defaults": {
                "inputSchema": {
                    "properties": {"account": {"type": "string"}, "trace": {"type": "boolean", "default": false}},
                    "required": ["account"]
                },
                "tags": {"team": {"name": "web", "floor": 2}},
                "annotations": {"readOnlyHint": true, "openWorldHint": false},
                "_meta": {"com.example/a": 1}
            },
            "tools": [
                {"name": "all", "description": "d", "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
                {"name": "few", "description": "d", "inputSchema": {"type": "object", "properties": {"trace": {"type": "string"}}},
                 "annotations": {"readOnlyHint": false}, "tags": {"team": {"name": "ops"}}, "_meta": {"com.example/a": 2},
                 "skipDefaultParams": ["account"]}
            ]
        }"#,
    );
    let team = |ctx: mcp_server::Ctx, args: Value| format!("{} {args}", ctx.tags()["team"]);
    let mut client = Client::of(Server::new("test", "1").tools(manifest.run("all", team).run("few", team)));
    let all = client.listed("all").await;
    let schema = r#"{"type":"object","properties":{"account":{"type":"string"},"trace":{"type":"boolean","default":false},"id":{"type":"string"}},"required":["account","id"]}"#;
    assert_eq!(all["inputSchema"].to_string(), schema);
    assert_eq!(
        (&all["annotations"], &all["_meta"]),
        (&json!({"readOnlyHint": true, "openWorldHint": false}), &json!({"com.example/a": 1}))
    );
    let few = client.listed("few").await;
    assert_eq!(few["inputSchema"], json!({"type": "object", "properties": {"trace": {"type": "string"}}}));
    assert_eq!(
        (&few["annotations"], &few["_meta"]),
        (&json!({"readOnlyHint": false, "openWorldHint": false}), &json!({"com.example/a": 2}))
    );
    let answer = client.call("all", json!({"account": "a", "id": "i"})).await;
    assert_eq!(text(&answer), r#"{"name":"web","floor":2} {"account":"a","id":"i","trace":false}"#);
    assert_eq!(text(&client.call("few", json!({})).await), r#"{"name":"ops","floor":2} {}"#);
}

#[tokio::test]
async fn in_a_module_a_definition_has_the_params_of_both_and_skips_of_both_tool_9() {
    let object = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let manifest = json!({
        "defaults": {"inputSchema": {"properties": {"limit": {"type": "integer", "default": 5}, "zone": {"type": "string"}}}},
        "tools": [
            {"name": "all", "description": "d", "inputSchema": object},
            {"name": "few", "description": "d", "inputSchema": object, "skipDefaultParams": ["account", "limit", "zone"]},
        ],
    });
    let module = || Module::new("m").params([Param::string("account").required(), Param::any("zone")]);
    let echo = mcp_server::Json::<Value>;
    let manifest = Manifest::json(manifest.to_string()).run("all", echo).run("few", echo);
    let mut client = Client::of(Server::new("test", "1").module(module().tools(manifest)));
    let schema = client.listed("all").await["inputSchema"].to_string();
    let expected = r#"{"type":"object","properties":{"account":{"type":"string"},"limit":{"type":"integer","default":5},"zone":{"type":"string"},"id":{"type":"string"}},"required":["account","id"]}"#;
    assert_eq!(schema, expected);
    assert_eq!(client.listed("few").await["inputSchema"], object);
    let answer = client.call("all", json!({"account": "a", "id": "i"})).await;
    assert_eq!(text(&answer), r#"{"account":"a","id":"i","limit":5}"#);
    assert!(text(&client.call("all", json!({"account": 1, "id": "i", "zone": 1})).await).lines().count() == 3);
    let single =
        json!({"name": "one", "description": "d", "inputSchema": object, "skipDefaultParams": ["account", "zone"]});
    let one = Tool::from_value(single).run(echo);
    let mut client = Client::of(Server::new("test", "1").module(module().tool(one)));
    assert_eq!(client.listed("one").await["inputSchema"], object);
}

#[tokio::test]
async fn code_reads_default_params_as_fields_of_its_own_or_apart_from_them_tool_9() {
    #[derive(Arguments)]
    struct Both {
        account: String,
        id: u32,
    }
    #[derive(Arguments)]
    struct Own {
        id: u32,
    }
    let tool = |name: &str| {
        json!({
            "name": name, "description": "d",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        })
    };
    let defaults = json!({"inputSchema": {"properties": {"account": {"type": "string"}}, "required": ["account"]}});
    let manifest = json!({"defaults": defaults, "tools": [tool("both"), tool("own"), tool("apart")]});
    let manifest = Manifest::json(manifest.to_string())
        .run("both", |both: Both| format!("{} {}", both.account, both.id))
        .run("own", |own: Own| own.id)
        .run("apart", |Common(common): Common<Value>, own: Own| format!("{common} {}", own.id));
    let mut client = Client::of(Server::new("test", "1").tools(manifest));
    for (name, answer) in [("both", "ada 7"), ("own", "7"), ("apart", r#"{"account":"ada"} 7"#)] {
        assert_eq!(text(&client.call(name, json!({"id": 7, "account": "ada"})).await), answer, "{name}");
        assert!(text(&client.call(name, json!({"id": 7})).await).contains("`account`: is required"), "{name}");
    }
}

#[test]
fn what_is_wrong_with_defaults_is_told_once() {
    let object = json!({"type": "object"});
    let tools = json!([
        {"name": "a", "description": "d", "inputSchema": object, "skipDefaultParams": ["acount", "x"]},
        {"name": "b", "description": "d", "inputSchema": object, "skipDefaultParams": "account", "sensitive": false},
    ]);
    let of = |defaults: Value| {
        let manifest = Manifest::json(json!({"defaults": defaults, "tools": tools}).to_string());
        told(manifest.run("a", || ()).run("b", || ()))
    };
    let found = of(json!({
        "inputSchema": {"type": "object", "properties": {"account": {}}, "required": ["acount"], "$defs": {}},
        "tag": {}, "_meta": [], "sensitive": 1, "cache": {"ttlMs": -1}, "annotations": {"readOnly": true}, "scope": 1,
    }));
    let skips = "skips the default param";
    let nor = "and neither `defaults` of its manifest nor the server has such a param";
    expect(
        &found,
        &[
            (
                "manifest at ",
                "TOOL-3",
                "`annotations` of its `defaults` has a member `readOnly`, which nobody reads: did you mean `readOnlyHint`?",
            ),
            ("manifest at ", "BASE-21", "the `_meta` of its `defaults` must be an object, not an array"),
            ("manifest at ", "AUTH-6", "the `scope` of its `defaults` must be a text with scopes"),
            ("manifest at ", "CACHE-1", "`cache.ttlMs` of its `defaults` must be a number of milliseconds"),
            ("manifest at ", "TOOL-15", "`sensitive` of its `defaults` must be true or false, not an integer"),
            ("manifest at ", "TOOL-3", "its `defaults` have a member `tag`, which nobody reads: did you mean `tags`?"),
            (
                "manifest at ",
                "TOOL-4",
                "the `inputSchema` of its `defaults` has `type`, an object's, `properties` and `required`, and no such `$defs`",
            ),
            (
                "manifest at ",
                "TOOL-4",
                "the `inputSchema` of its `defaults` requires `acount`, which is none of its properties: did you mean `account`?",
            ),
            ("a", "TOOL-4", &format!("tools[0]: it {skips} `acount`, {nor}: did you mean `account`?")),
            ("a", "TOOL-4", &format!("tools[0]: it {skips} `x`, {nor}: they have `account`")),
            ("b", "TOOL-4", "tools[1]: `skipDefaultParams` of its definition must be a list of names"),
        ],
    );
    let found = of(json!({"inputSchema": {"properties": {"a": {"minimum": "x"}}}}));
    let wrong = "the `inputSchema` of its `defaults` is not valid at `/properties/a/minimum`";
    expect(&found, &[("manifest at ", "TOOL-4", wrong), ("b", "TOOL-4", "must be a list of names")]);
    let found = of(json!([]));
    expect(
        &found,
        &[
            ("manifest at ", "TOOL-3", "its `defaults` must be an object, not an array"),
            ("b", "TOOL-4", "must be a list of names"),
        ],
    );
}

#[test]
fn a_definition_that_skips_what_nobody_gives_is_told_tool_4() {
    let definition =
        json!({"name": "a", "description": "d", "inputSchema": {"type": "object"}, "skipDefaultParams": ["x"]});
    let manifest = || Manifest::json(json!([definition]).to_string()).run("a", || ());
    let found = told(manifest());
    let none = "and neither `defaults` of its manifest nor the server has such a param: only default params can be skipped, of a \
                module or of `defaults`, so leave it out";
    expect(&found, &[("a", "TOOL-4", &format!("tools[0]: it skips the default param `x`, {none}"))]);
    let module = Module::new("m").param(Param::any("y")).tools(manifest());
    let error = Server::new("test", "1").module(module).build().expect_err("it has no `x`").to_string();
    assert!(error.contains("nor the module `m` has such a param: they have `y`"), "{error}");
}

#[test]
fn default_params_do_not_hide_what_is_wrong_with_a_schema_tool_4() {
    let of = |schema: Value| {
        let tool = json!({"name": "a", "description": "d", "inputSchema": schema});
        let defaults = json!({"inputSchema": {"properties": {"account": {}}}});
        told(Manifest::json(json!({"defaults": defaults, "tools": [tool]}).to_string()).run("a", |_: Common<Value>| ()))
    };
    for (schema, place) in [
        (json!({"type": "object", "properties": []}), "tools[0]: `/properties` of the input schema must be an object"),
        (json!({"type": "object", "required": "a"}), "tools[0]: the input schema is not valid at `/required`"),
        (json!({"type": "array"}), "tools[0]: the input schema's root must say"),
        (json!({"type": "object", "$ref": "#/$defs/A", "$defs": {"A": {}}}), "or skip these with `skipDefaultParams`"),
    ] {
        expect(&of(schema), &[("a", "TOOL-4", place)]);
    }
}

#[tokio::test]
async fn null_in_a_definition_is_as_nothing_and_takes_no_default_away_tool_9_tool_17() {
    let nulls = json!({
        "name": "a", "description": "d", "title": null, "inputSchema": null, "outputSchema": null, "icons": null, "_meta": null,
        "input_schema": {"type": "object", "properties": {"id": {}}}, "annotations": null, "execution": null, "scope": null,
        "cache": null, "taskSupport": null, "tags": null, "sensitive": null, "skipDefaultParams": null,
    });
    let within = json!({
        "name": "b", "description": "d", "inputSchema": {"type": "object"},
        "annotations": {"title": null, "readOnlyHint": null, "destructiveHint": null, "sensitive": null},
        "cache": {"ttlMs": null, "scope": null}, "execution": {"taskSupport": null},
        "icons": [{"src": "https://a.example/i", "mimeType": null, "sizes": null, "theme": null}],
    });
    let defaults = json!({
        "inputSchema": null, "input_schema": {"type": null, "properties": {"account": {"type": "string"}}, "required": null},
        "annotations": {"destructiveHint": true, "readOnlyHint": null}, "tags": {"team": "web"}, "_meta": {"x": 1},
        "scope": "s", "cache": {"ttlMs": 5, "scope": null}, "sensitive": null,
    });
    let manifest = |tools: &Value| {
        let tags = |ctx: mcp_server::Ctx| format!("{}", json!(ctx.tags()));
        let text = json!({"defaults": defaults, "tools": tools}).to_string();
        Manifest::json(text).run("a", tags).run("b", tags)
    };
    let found = told(manifest(&json!([nulls, within])));
    expect(&found, &[("a", "TOOL-17", "it is sensitive"), ("b", "TOOL-17", "it is sensitive")]);
    let server = Server::new("test", "1").allow_unguarded(["a", "b"]).tools(manifest(&json!([nulls, within])));
    let app = server.build().expect("all of it is right");
    let mut with = mcp_server::testing::Client::builder(&app).principal("ada").scopes("s").connect();
    for name in ["a", "b"] {
        let tools = with.list_tools().await;
        let listed = &tools.iter().find(|tool| tool.name == name).expect("it is listed").json;
        assert_eq!(listed["annotations"], json!({"destructiveHint": true}), "{name}");
        assert_eq!(listed["_meta"], json!({"x": 1}), "{name}");
        assert_eq!(listed["inputSchema"]["properties"]["account"], json!({"type": "string"}), "{name}");
        with.call(name, ()).await.assert_text(r#"{"team":"web"}"#);
    }
    let mut without = mcp_server::testing::Client::builder(&app).principal("ada").scopes("").connect();
    without.call("a", ()).await.assert_fault(403);
    for text in [
        r#"{"defaults": null, "tools": null, "name": "a", "description": "d", "inputSchema": {"type": "object"}}"#,
        r#"{"defaults": null, "tools": [{"name": "a", "description": "d", "inputSchema": {"type": "object"}}]}"#,
    ] {
        assert!(Server::new("test", "1").tools(Manifest::json(text).run("a", || ())).build().is_ok(), "{text}");
    }
}

#[tokio::test]
async fn obligations_of_defaults_add_up_auth_6_tool_17() {
    let tool = |more: Value| {
        let mut tool = json!({"name": "a", "description": "d", "inputSchema": {"type": "object"}});
        tool.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        tool
    };
    let manifest = |defaults: Value, more: Value| {
        Manifest::json(json!({"defaults": defaults, "tools": [tool(more)]}).to_string()).run("a", || "a")
    };
    for (defaults, more, sensitive) in [
        (json!({"sensitive": true}), json!({"sensitive": false}), true),
        (json!({"annotations": {"sensitive": true}}), json!({"annotations": {"sensitive": false}}), true),
        (json!({"annotations": {"destructiveHint": true}}), json!({"annotations": {"destructiveHint": false}}), true),
        (json!({"annotations": {"destructiveHint": true}}), json!({}), true),
        (json!({"sensitive": false}), json!({"sensitive": true}), true),
        (json!({"annotations": {"destructiveHint": false}}), json!({"annotations": {"destructiveHint": true}}), true),
        (json!({"sensitive": false, "annotations": {"destructiveHint": false}}), json!({}), false),
        (json!({"scope": "a"}), json!({"scope": "b"}), false),
    ] {
        let which = format!("{defaults} {more}");
        let built = Server::new("test", "1").tools(manifest(defaults.clone(), more.clone())).build();
        assert_eq!(built.is_err(), sensitive, "{which}");
        let tools = mcp_server::IntoTools::into_tools(manifest(defaults, more)).tools;
        assert_eq!(tools[0].is_sensitive(), sensitive, "{which}");
    }
    for (default, own, needed) in [
        (json!("a"), json!("b"), "a b"),
        (json!(["a", "c"]), json!("c b"), "a c b"),
        (json!("a"), json!(null), "a"),
        (json!(null), json!(["b"]), "b"),
    ] {
        let manifest = manifest(json!({"scope": default}), json!({"scope": own}));
        let app = Server::new("test", "1").tools(manifest).build().expect("it is right");
        let client =
            |scopes: &str| mcp_server::testing::Client::builder(&app).principal("ada").scopes(scopes).connect();
        client(needed).call("a", ()).await.assert_text("a");
        for without in needed.split(' ') {
            let rest: Vec<&str> = needed.split(' ').filter(|scope| *scope != without).collect();
            let refused = client(&rest.join(" ")).call("a", ()).await;
            refused.assert_fault_contains(format!("Insufficient scope. Required: {needed}"));
        }
    }
}

#[test]
fn no_definition_takes_back_what_the_defaults_destroy_tool_17() {
    let tool = json!({
        "name": "a", "description": "d", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": false},
    });
    let manifest =
        |defaults: Value| Manifest::json(json!({"defaults": defaults, "tools": [tool]}).to_string()).run("a", || ());
    let destroys = json!({"annotations": {"destructiveHint": true}});
    expect(&told(manifest(destroys.clone())), &[("a", "TOOL-17", "it is sensitive")]);
    let module = Module::new("m").destructive(true).tools(manifest(json!({"annotations": {"destructiveHint": false}})));
    let error = Server::new("test", "1").module(module).build().expect_err("the module destroys").to_string();
    assert!(error.contains("it is sensitive"), "{error}");
    let allowed = Server::new("test", "1").allow_unguarded(["a"]).tools(manifest(destroys)).build();
    assert!(allowed.is_ok(), "{allowed:?}");
}

#[test]
fn what_cannot_be_read_is_told_by_line_and_column_and_nothing_else_is() {
    let broken = Manifest::json("{\"tools\": [\n  {\"name\": }\n]}").run("area", || ());
    expect(&told(broken), &[("manifest at ", "TOOL-3", "it is not JSON: expected value at line 2 column 12")]);
    for (wrong, what) in [
        ("5", "a manifest is an object with a list `tools`, or the list alone, and not an integer"),
        (r#"{"tools": {"a": 1}}"#, "its `tools` must be a list, not an object"),
    ] {
        expect(&told(Manifest::json(wrong).run("area", || ())), &[("manifest at ", "TOOL-3", what)]);
    }
    let twice = TWO.replace("\"annotations\"", "\"description\": \"d\", \"annotations\"");
    let found = told(Manifest::json(twice).run("area", || ()).run("shout", || ()));
    expect(&found, &[("manifest at ", "TOOL-3", "it has `tools[0].description` twice")]);
}

#[test]
fn a_file_is_read_by_its_ending() {
    let directory = std::env::temp_dir().join(format!("mcp-manifest-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let at = |name: &str| directory.join(name);
    let (right, other) = (at("tools.json"), at("tools.yaml"));
    std::fs::write(&right, TWO).and_then(|()| std::fs::write(&other, "")).expect("files");
    let app = Server::new("x", "1").tools(Manifest::file(&right).run("area", || ()).run("shout", || ())).build();
    assert_eq!(app.expect("it is right").tool_names(), ["area", "shout"]);
    let found = told(Manifest::file(&right).run("area", || ()));
    assert!(found[0].2.starts_with(&format!("{}, tools[1]: it has no code", right.display())), "{found:?}");
    let missing = told(Manifest::file(at("none.json")).run("area", || ()));
    assert!(missing.len() == 1 && missing[0].2.starts_with("it cannot be read: "), "{missing:?}");
    assert!(missing[0].0.contains("none.json"), "{missing:?}");
    assert_eq!(told(Manifest::file(&other))[0].2, "its name must end in `.json` or `.toml`");
    std::fs::remove_dir_all(directory).expect("it is there");
}

#[test]
fn nothing_is_registered_if_one_of_several_is_wrong() {
    let app =
        Server::new("test", "1").tool(Tool::new("first").description("d").run(|| ())).build().expect("it is right");
    let wrong = Manifest::json(TWO).run("area", || ());
    let error = app.edit(|edit| edit.add_all(wrong)).expect_err("`shout` has no code").to_string();
    assert!(error.contains("nothing was changed") && error.contains("tools[1]: it has no code"), "{error}");
    assert_eq!(app.tool_names(), ["first"]);
    app.edit(|edit| edit.add_all(Manifest::json(TWO).run("area", || ()).run("shout", || ()))).expect("all are right");
    assert_eq!(app.tool_names(), ["first", "area", "shout"]);
    let again = app.edit(|edit| edit.add_all(Manifest::json(TWO).run("area", || ()).run("shout", || ())));
    let again = again.expect_err("both are there already").to_string();
    assert!(again.matches("registered twice, at mcp-server/tests/manifest.rs:").count() == 2, "{again}");
}

#[test]
fn an_annotation_can_only_add_an_obligation() {
    let sensitive = |more: Value| {
        let mut definition = json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}});
        definition.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        Tool::from_value(definition).is_sensitive()
    };
    for says in [
        json!({"sensitive": true}),
        json!({"annotations": {"sensitive": true}}),
        json!({"annotations": {"destructiveHint": true, "sensitive": false}}),
        json!({"sensitive": false, "annotations": {"sensitive": true}}),
        json!({"sensitive": true, "annotations": {"sensitive": false, "readOnlyHint": true, "destructiveHint": false}}),
    ] {
        assert!(sensitive(says.clone()), "{says}");
    }
    for says in [json!({}), json!({"sensitive": false}), json!({"annotations": {"destructiveHint": false}})] {
        assert!(!sensitive(says.clone()), "{says}");
    }
}

#[cfg(feature = "toml")]
mod of_toml {
    use super::*;

    const AS_JSON: &str = r#"{
        "defaults": {
            "inputSchema": {
                "properties": {"trace": {"type": "boolean", "default": false}, "account": {"type": "string"}},
                "required": ["account"]
            },
            "scope": "s", "tags": {"team": "web", "floor": 2}, "_meta": {"com.example/z": 1, "com.example/a": [2]},
            "annotations": {"openWorldHint": false}, "cache": {"ttlMs": 9000}
        },
        "tools": [
            {
                "name": "z", "title": "Z", "description": "d", "scope": ["x:read", "y"],
                "input_schema": {
                    "type": "object",
                    "properties": {"z": {"type": "number", "default": 0.5}, "a": {"type": "string", "default": "2024-02-29"}},
                    "required": ["z"]
                },
                "outputSchema": {"type": "object", "properties": {"y": {}, "b": {}}},
                "annotations": {"readOnlyHint": true, "title": "T"}, "tags": {"team": "ops"}, "cache": {"scope": "private"},
                "icons": [{"src": "https://a.example/i", "sizes": ["48x48"], "theme": "dark"}]
            },
            {"name": "a", "description": "d", "inputSchema": {"type": "object"}, "skipDefaultParams": ["trace"]}
        ]
    }"#;
    const AS_TOML: &str = r#"
        [defaults]
        scope = "s"
        tags = { team = "web", floor = 2 }
        annotations.openWorldHint = false
        cache.ttlMs = 9_000

        [defaults._meta]
        "com.example/z" = 1
        "com.example/a" = [2]

        [defaults.inputSchema]
        properties.trace = { type = "boolean", default = false }
        properties.account = { type = "string" }
        required = ["account"]

        [[tools]]
        name = "z"
        title = "Z"
        description = "d"
        scope = ["x:read", "y"]
        input_schema.type = "object"
        input_schema.properties.z = { type = "number", default = 0.5 }
        input_schema.properties.a = { type = "string", default = 2024-02-29 }
        input_schema.required = ["z"]
        outputSchema = { type = "object", properties = { y = {}, b = {} } }
        annotations = { readOnlyHint = true, title = "T" }
        tags.team = "ops"
        cache.scope = "private"

        [[tools.icons]]
        src = "https://a.example/i"
        sizes = ["48x48"]
        theme = "dark"

        [[tools]]
        name = "a"
        description = "d"
        inputSchema = { type = "object" }
        skipDefaultParams = ["trace"]
        "#;

    #[tokio::test]
    async fn toml_says_the_same_in_its_order_tool_14() {
        let mut said = Vec::new();
        for manifest in [Manifest::json(AS_JSON), Manifest::toml(AS_TOML)] {
            let tags = |ctx: mcp_server::Ctx| json!(ctx.tags()).to_string();
            let both = |ctx: mcp_server::Ctx, args: Value| mcp_server::Json(json!({"b": args, "y": ctx.tags()}));
            let server = Server::new("test", "1").tools(manifest.run("a", tags).run("z", both));
            let app = server.build().expect("it is right");
            let client = |scopes: &str| mcp_server::testing::Client::builder(&app).modern().scopes(scopes).connect();
            let mut all = client("s x:read y");
            let listed: Vec<String> = all.list_tools().await.iter().map(|tool| tool.json.to_string()).collect();
            // What is told of it to nobody: its cache hints, tags and scopes.
            let list = all.request("tools/list", json!({})).await;
            let list = list.result().expect("a list");
            let hints = json!([list["ttlMs"], list["cacheScope"]]);
            let z = all.call("z", json!({"account": "ada", "z": 1})).await.structured_json().clone();
            all.call("a", json!({"account": "ada"})).await.assert_text(r#"{"team":"web","floor":2}"#);
            let mut few = client("s");
            few.call("a", json!({"account": "ada"})).await.assert_ok();
            few.call("z", json!({"account": "ada", "z": 1})).await.assert_fault_contains("Required: s x:read y");
            said.push((listed, hints.to_string(), z.to_string()));
        }
        let (listed, hints, z) = &said[0];
        assert_eq!(said[1], said[0]);
        let schema = r#""inputSchema":{"type":"object","properties":{"trace":{"type":"boolean","default":false},"account":{"type":"string"},"z":{"type":"number","default":0.5},"a":{"type":"string","default":"2024-02-29"}},"required":["account","z"]}"#;
        assert!(listed.len() == 2 && listed[0].contains(schema), "{listed:?}");
        assert!(listed[1].contains(r#""name":"a""#) && !listed[1].contains("trace"), "{listed:?}");
        assert!(listed[0].contains(r#""_meta":{"com.example/z":1,"com.example/a":[2]}"#), "{listed:?}");
        assert_eq!(hints, r#"[9000,"private"]"#);
        assert_eq!(z, r#"{"b":{"account":"ada","z":1,"trace":false,"a":"2024-02-29"},"y":{"team":"ops","floor":2}}"#);
    }

    #[tokio::test]
    async fn its_values_are_those_of_json_and_dates_are_texts() {
        let manifest = Manifest::toml(
            "name = \"a\"\ndescription = \"d\"\n[inputSchema]\ntype = \"object\"\n[inputSchema.properties]\n\
             z = { type = \"number\", default = 0.5 }\na = { default = 2024-02-29 }\n",
        );
        let echo = mcp_server::Json::<Value>;
        let mut client = Client::of(Server::new("test", "1").tools(manifest.run("a", echo)));
        let schema = client.listed("a").await["inputSchema"].to_string();
        let expected =
            r#"{"type":"object","properties":{"z":{"type":"number","default":0.5},"a":{"default":"2024-02-29"}}}"#;
        assert_eq!(schema, expected);
        assert_eq!(text(&client.call("a", json!({})).await), r#"{"z":0.5,"a":"2024-02-29"}"#);
    }

    #[test]
    fn what_cannot_be_read_is_told_by_line_and_column() {
        let broken = Manifest::toml("[[tools]]\nname = \"a\"\ndescription = \"é\" 5\n").run("a", || ());
        expect(&told(broken), &[("manifest at mcp-server/tests/", "TOOL-3", " at line 3 column 19")]);
        let twice = Manifest::toml("name = \"a\"\nname = \"b\"\n").run("a", || ());
        expect(&told(twice), &[("manifest at ", "TOOL-3", "it is not TOML: duplicate key at line 2 column 1")]);
        let infinite = told(Manifest::toml("[[tools]]\nname = \"a\"\n_meta = { x = [1, inf] }\n"));
        assert_eq!(infinite[0].2, "`tools[0]._meta.x[1]` is inf, which JSON has no number for");
        let deep = format!("a = {}", "[".repeat(100_000));
        assert!(told(Manifest::toml(deep))[0].2.starts_with("it is not TOML: "));
    }
}
