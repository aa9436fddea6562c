//! Options that guard entries, and those of `#[tools(..)]`: what the builder is told of the same comes to the same lists.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_server::middleware::Next;
use mcp_server::testing::Client;
use mcp_server::{
    App, Arguments, Authorization, CacheHint, Common, Ctx, Module, Param, Prompt, Resource, ResourceTemplate, Revision,
    Server, Shown, TaskSupport, Tool, ToolSet as _, UiApp, Value, Viewer, app, json, prompt, resource,
    resource_template, tool, tools,
};

/// The account.
#[derive(Arguments)]
struct Account {
    /// Account ID
    account_id: String,
    #[arg(default = 10, min = 1)]
    limit: u32,
}

struct Pages(u32);

async fn twice(ctx: Ctx, next: Next) -> mcp_server::middleware::CallResult {
    assert_eq!(ctx.tags()["team"], "content");
    next.run().await
}

fn shown(_: &Shown<'_>, viewer: &Viewer) -> bool {
    viewer.has_scope("seen")
}

#[tools(
    params = Account,
    tags(team = "content"),
    meta = json!({"example.com/a": {"b": 1}}),
    read_only = false,
    open_world = false,
    cache(ttl_ms = 5_000),
    wrap = twice,
    visible = shown
)]
impl Pages {
    /// Gets a page.
    #[tool(read_only, meta = json!({"example.com/a": {"c": 2}}), task_support = "supported")]
    fn get_page(&self, Common(account): Common<Account>, id: u32) -> String {
        format!("{id} of {}, {}, {}", account.account_id, account.limit, self.0)
    }

    /// Lists accounts.
    #[tool(skip_default_params(account_id, "limit"), tags(own), sensitive = false, unlisted)]
    fn list_accounts(&self, ctx: Ctx) -> String {
        json!(ctx.tags()).to_string()
    }

    /// A page.
    #[resource_template("pages://{id}", cache(private))]
    fn page(&self, id: u32) -> String {
        format!("page {id}")
    }

    /// Asks.
    #[prompt]
    fn ask(&self) -> &'static str {
        "?"
    }
}

fn by_hand() -> Module {
    let tool = |name: &str, description: &str| Tool::new(name).description(description);
    Module::new("Pages")
        .arguments::<Account>()
        .tag("team", "content")
        .meta(json!({"example.com/a": {"b": 1}}))
        .read_only(false)
        .open_world(false)
        .cache(CacheHint::new().ttl(Duration::from_secs(5)))
        .wrap(twice)
        .visible(shown)
        .tool(
            tool("get_page", "Gets a page.")
                .read_only(true)
                .meta(json!({"example.com/a": {"c": 2}}))
                .task_support(TaskSupport::Supported)
                .param(Param::integer("id").min(0).max(u32::MAX).required())
                .run(|Common(account): Common<Account>, args: Value| {
                    format!("{} of {}, {}, 3", args["id"], account.account_id, account.limit)
                }),
        )
        .tool(
            tool("list_accounts", "Lists accounts.")
                .skip_default_params(["account_id", "limit"])
                .tag("own", true)
                .sensitive(false)
                .unlisted()
                .run(|ctx: Ctx| json!(ctx.tags()).to_string()),
        )
        .resource_template(
            ResourceTemplate::new("pages://{id}")
                .name("page")
                .description("A page.")
                .cache(CacheHint::new().private())
                .run(|id: u32| format!("page {id}")),
        )
        .prompt(Prompt::new("ask").description("Asks.").run(|| "?"))
}

async fn lists(app: &App, revision: Revision) -> Vec<Value> {
    let mut client = Client::builder(app).revision(revision).principal("ada").scopes("seen").connect();
    let mut lists = Vec::new();
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        lists.push(client.request(method, json!({})).await.result().expect("a list").clone());
    }
    lists
}

#[tokio::test]
async fn a_block_with_options_is_the_module_that_is_built_by_hand() {
    let blocks = Server::new("a", "1").tools(Pages(3)).build().expect("it builds");
    let built = Server::new("a", "1").module(by_hand()).build().expect("it builds");
    for revision in Revision::ALL {
        let lists_of_block = lists(&blocks, revision).await;
        assert_eq!(lists_of_block, lists(&built, revision).await, "{revision:?}");
        assert_eq!(lists_of_block[0]["tools"].as_array().map(Vec::len), Some(1), "{revision:?}: one is unlisted");
    }
    for app in [&blocks, &built] {
        let mut client = Client::builder(app).principal("ada").scopes("seen").connect();
        client.call("get_page", json!({"account_id": "a", "id": 1})).await.assert_text("1 of a, 10, 3");
        let broken = client.call("get_page", json!({"limit": 0, "idd": 1})).await;
        for place in ["`account_id`", "`limit`", "`id`", "`idd`"] {
            broken.assert_error_contains(place);
        }
        client.call("list_accounts", ()).await.assert_text(r#"{"own":true,"team":"content"}"#);
        let mut hidden = Client::builder(app).principal("bob").connect();
        assert_eq!(hidden.list_tools().await.len(), 0);
        hidden.call("list_accounts", ()).await.assert_fault(-32602);
    }
    let tool = lists(&blocks, Revision::V2026_07_28).await[0]["tools"][0].clone();
    assert_eq!(tool["annotations"], json!({"readOnlyHint": true, "openWorldHint": false}));
    assert_eq!(tool["_meta"], json!({"example.com/a": {"c": 2, "b": 1}}));
}

/// How often something ran around an entry.
static AROUND: AtomicU32 = AtomicU32::new(0);

async fn around(next: Next) -> mcp_server::middleware::CallResult {
    AROUND.fetch_add(1, Ordering::Relaxed);
    next.run().await
}

/// Does it.
#[tool(scope = "a b", cache(ttl_ms = 1, private), sensitive, task_support = "required", visible = shown, wrap = around)]
fn guarded() -> &'static str {
    "done"
}

/// Holds.
#[resource("a://b", scope = "a", cache(ttl_ms = 2, private), visible = shown, wrap = around)]
fn held() -> &'static str {
    "held"
}

/// Holds more.
#[resource_template("a://b/{id}", scope = "a", cache(ttl_ms = 3), visible = |_: &Shown, v: &Viewer| v.has_scope("seen"), wrap = around)]
fn holds(id: u32) -> String {
    id.to_string()
}

/// Asks.
#[prompt(scope = SCOPE, cache(ttl_ms = 4), visible = shown, wrap = around)]
fn asks() -> &'static str {
    "?"
}

const SCOPE: &str = "a b";

/// Shows.
#[app(view = "tests/macros/described.md", scope = "a", cache(ttl_ms = 5), sensitive, visible = shown, wrap = around)]
fn shows() -> &'static str {
    "shown"
}

fn of_macros() -> App {
    let server = Server::new("a", "1").authorize(Authorization::allow_all).tool(guarded).resource(held);
    server.resource_template(holds).prompt(asks).app(shows).build().expect("it builds")
}

fn of_builders() -> App {
    let hint = |millis| CacheHint::new().ttl(Duration::from_millis(millis));
    let one_tool = Tool::new("guarded").description("Does it.").scope("a b").cache(hint(1).private()).sensitive(true);
    let one_tool = one_tool.task_support(TaskSupport::Required).visible(shown).wrap(around).run(|| "done");
    let fixed = Resource::new("a://b").name("held").description("Holds.").scope("a").cache(hint(2).private());
    let template =
        ResourceTemplate::new("a://b/{id}").name("holds").description("Holds more.").scope("a").cache(hint(3));
    let question = Prompt::new("asks").description("Asks.").scope(SCOPE).cache(hint(4)).visible(shown).wrap(around);
    let page = Tool::new("shows").description("Shows.").sensitive(true).run(|| "shown");
    let page = UiApp::new(page).view_file("tests/macros/described.md").scope("a").cache(hint(5));
    Server::new("a", "1")
        .authorize(Authorization::allow_all)
        .tool(one_tool)
        .resource(fixed.visible(shown).wrap(around).run(|| "held"))
        .resource_template(template.visible(shown).wrap(around).run(|id: u32| id.to_string()))
        .prompt(question.run(|| "?"))
        .app(page.visible(shown).wrap(around))
        .build()
        .expect("it builds")
}

/// What that client is told by every entry, and how often something ran around them.
async fn told(app: &App, revision: Revision, scopes: &str) -> (Vec<Value>, u32) {
    let mut client = Client::builder(app).revision(revision).principal("ada").scopes(scopes).connect();
    let mut told = lists(app, revision).await;
    AROUND.store(0, Ordering::Relaxed);
    for name in ["guarded", "shows"] {
        told.push(client.call(name, json!({})).await.json().clone());
    }
    for uri in ["a://b", "a://b/7", "ui://shows/described.md"] {
        told.push(client.read(uri).await.json().clone());
    }
    told.push(client.get_prompt("asks", json!({})).await.json().clone());
    (told, AROUND.load(Ordering::Relaxed))
}

#[tokio::test]
async fn the_options_of_every_attribute_are_those_of_the_builders() {
    let (macros, builders) = (of_macros(), of_builders());
    for revision in Revision::ALL {
        // All that is asked, the scope alone that is seen, the other scopes alone, and nothing.
        for (scopes, around) in [("a b seen", 5), ("a seen", 3), ("a b", 0), ("", 0)] {
            let of_macros = told(&macros, revision, scopes).await;
            let of_builders = told(&builders, revision, scopes).await;
            assert_eq!(of_macros, of_builders, "{revision}: {scopes}");
            assert_eq!(of_macros.1, around, "{revision}: {scopes}");
        }
    }
    // An authorizer that denies shows which are sensitive.
    let server = Server::new("a", "1").authorize(Authorization::deny_all).tool(guarded).app(shows);
    let app = server.build().expect("it builds");
    let mut client = Client::builder(&app).principal("ada").scopes("a b seen").connect();
    for name in ["guarded", "shows"] {
        client.call(name, json!({})).await.assert_error_contains("Not allowed");
    }
    // Hints reach the clients that know them.
    let mut client = Client::builder(&macros).revision(Revision::MODERN).principal("ada").scopes("a b seen").connect();
    for (uri, ttl) in [("a://b", 2), ("a://b/7", 3), ("ui://shows/described.md", 5)] {
        client.read(uri).await.assert_at("/result/ttlMs", ttl);
    }
    assert!(Pages::entries(Arc::new(Pages(1))).tools.iter().all(|tool| !tool.is_sensitive()));
    assert_eq!((guarded(), held(), holds(1).as_str(), asks(), shows()), ("done", "held", "1", "?", "shown"));
}
