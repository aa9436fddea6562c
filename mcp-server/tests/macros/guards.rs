//! Options that guard entries, and those of `#[tools(..)]`: what the builder is told of the same comes to the same lists.

use std::sync::Arc;
use std::time::Duration;

use mcp_server::middleware::Next;
use mcp_server::testing::Client;
use mcp_server::{
    App, Arguments, CacheHint, Common, Ctx, IntoApp as _, IntoPrompt as _, IntoResource as _,
    IntoResourceTemplate as _, IntoTool as _, Module, Param, Prompt, Resource, ResourceTemplate, Revision, Server,
    Shown, TaskSupport, Tool, ToolSet as _, Value, Viewer, app, json, prompt, resource, resource_template, tool, tools,
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

/// Does it.
#[tool(scope = "a b", cache(ttl_ms = 1, private), sensitive, task_support = "required", visible = shown, wrap = around)]
fn guarded() {}

async fn around(next: Next) -> mcp_server::middleware::CallResult {
    next.run().await
}

#[resource("a://b", scope = "a", cache(private), visible = shown, wrap = around)]
fn held() -> &'static str {
    "held"
}

#[resource_template("a://b/{id}", scope = "a", visible = |_: &Shown, _: &Viewer| true, wrap = around)]
fn holds(id: u32) -> String {
    id.to_string()
}

/// Asks.
#[prompt(scope = SCOPE, cache(ttl_ms = 3), visible = shown, wrap = around)]
fn asks() -> &'static str {
    "?"
}

const SCOPE: &str = "a b";

/// Shows.
#[app(view = "tests/macros/described.md", scope = "a", sensitive, visible = shown)]
fn shows() {}

#[test]
fn the_options_of_every_attribute_are_those_of_the_builders() {
    assert!(guarded.into_tool().is_sensitive());
    assert!(Pages::entries(Arc::new(Pages(1))).tools.iter().all(|tool| !tool.is_sensitive()));
    let built: [(String, String); 2] = [
        (format!("{:?}", held.into_resource()), format!("{:?}", Resource::new("a://b").text("held").scope("a"))),
        (
            format!("{:?}", holds.into_resource_template()),
            format!("{:?}", ResourceTemplate::new("a://b/{id}").run(|id: u32| id.to_string())),
        ),
    ];
    for (macros, builder) in built {
        assert_eq!(macros, builder);
    }
    let _ = (asks.into_prompt(), shows.into_app());
    assert_eq!((held(), holds(1).as_str(), asks()), ("held", "1", "?"));
}
