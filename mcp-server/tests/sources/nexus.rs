//! The tools of NexusMCP's texts.

use mcp_server::{
    Args, Arguments, Assigns, CallError, Caller, Common, Ctx, Extract, Json, Needs, Revision, Server, Shown, State,
    Viewer, json, testing, tool, tools,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::{Client, text};

/// Say hello
#[tool]
fn hello(#[arg(desc = "Person's name")] name: String) -> String {
    format!("Hello, {name}!")
}

#[tokio::test]
async fn hello_says_hello() {
    let mut client = Client::of(Server::new("my-app", "1.0.0").tool(hello));
    let tool = client.listed("hello").await;
    assert_eq!(tool["description"], "Say hello");
    assert_eq!(
        tool["inputSchema"],
        json!({
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Person's name"}},
            "required": ["name"],
            "additionalProperties": false,
        })
    );
    assert_eq!(text(&client.call("hello", json!({"name": "Ada"})).await), "Hello, Ada!");
}

struct Cms(Vec<Page>);

#[derive(Clone, Serialize, JsonSchema)]
struct Page {
    id: String,
    title: String,
    slug: String,
    body: String,
}

impl Cms {
    fn page(&self, id: &str) -> Result<&Page, String> {
        self.0.iter().find(|page| page.id == id).ok_or_else(|| format!("There is no page {id}."))
    }
}

fn cms() -> Cms {
    let page = |id: &str, title: &str| Page {
        id: id.into(),
        title: title.into(),
        slug: title.to_lowercase(),
        body: "..".into(),
    };
    Cms(vec![page("1", "Home"), page("2", "About")])
}

/// Get a page by ID
#[tool]
fn get_page(State(cms): State<Cms>, #[arg(desc = "Page ID")] id: String) -> Result<Json<Page>, String> {
    cms.page(&id).cloned().map(Json)
}

#[tokio::test]
async fn get_page_gives_a_structured_page_or_a_text_that_the_model_can_read() {
    let mut client = Client::of(Server::new("cms", "1").state(cms()).tool(get_page));
    let page = client.call("get_page", json!({"id": "2"})).await;
    assert_eq!(
        page["result"]["structuredContent"],
        json!({"id": "2", "title": "About", "slug": "about", "body": ".."})
    );
    let missing = client.call("get_page", json!({"id": "3"})).await;
    assert_eq!(missing["result"]["isError"], true);
    assert_eq!(text(&missing), "There is no page 3.");
}

#[derive(Serialize, JsonSchema)]
struct Deleted {
    deleted: bool,
}

/// Delete an item
#[tool(read_only = false, destructive, idempotent)]
fn delete_item(#[arg(desc = "Item ID")] id: String) -> Json<Deleted> {
    Json(Deleted { deleted: !id.is_empty() })
}

#[tokio::test]
async fn delete_item_has_its_annotations_and_no_others_tool_15() {
    let mut client = Client::of(Server::new("items", "1").tool(delete_item).allow_unguarded(["delete_item"]));
    let tool = client.listed("delete_item").await;
    assert_eq!(tool["annotations"], json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true}));
    let answer = client.call("delete_item", json!({"id": "7"})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"deleted": true}));
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    /// Temperature in celsius
    temperature: f64,
    /// Weather conditions
    conditions: String,
}

/// Get current weather
#[tool]
fn get_weather(#[arg(desc = "City name")] city: String) -> Json<Weather> {
    let _ = city;
    Json(Weather { temperature: 22.5, conditions: "Partly cloudy".into() })
}

#[tokio::test]
async fn get_weather_has_an_output_schema_and_its_result_in_both_fields_tool_11_tool_12() {
    let mut client = Client::of(Server::new("weather", "1").tool(get_weather));
    assert_eq!(
        client.listed("get_weather").await["outputSchema"],
        json!({
            "type": "object",
            "properties": {
                "temperature": {"type": "number", "description": "Temperature in celsius"},
                "conditions": {"type": "string", "description": "Weather conditions"},
            },
            "required": ["temperature", "conditions"],
        })
    );
    let answer = client.call("get_weather", json!({"city": "Oslo"})).await;
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(*structured, json!({"temperature": 22.5, "conditions": "Partly cloudy"}));
    let as_text: serde_json::Value = serde_json::from_str(text(&answer)).expect("the text is the same JSON");
    assert_eq!(as_text, *structured);
}

const ACCOUNT: &str = "Account ID (use list_accounts to find)";
const GUIDE: &str = include_str!("page_guide.md");

#[tool(description = GUIDE)]
fn update_page(#[arg(desc = ACCOUNT)] account_id: String, #[arg(desc = "Page ID")] id: String) -> String {
    format!("updated {id} of {account_id}")
}

#[tokio::test]
async fn update_page_takes_its_descriptions_from_a_constant_and_a_file() {
    let mut client = Client::of(Server::new("cms", "1").tool(update_page));
    let tool = client.listed("update_page").await;
    assert_eq!(tool["description"], GUIDE);
    assert_eq!(tool["inputSchema"]["properties"]["account_id"]["description"], ACCOUNT);
    let answer = client.call("update_page", json!({"account_id": "a", "id": "1"})).await;
    assert_eq!(text(&answer), "updated 1 of a");
}

/// What every tool of a module takes.
#[derive(Arguments)]
struct Account {
    #[arg(desc = ACCOUNT)]
    account_id: String,
}

/// One module of tools: the value whose methods they are.
struct Pages(Cms);

#[tools(params = Account)]
impl Pages {
    /// Get a page
    #[tool(name = "get_page")]
    fn page(&self, account: Common<Account>, #[arg(desc = "Page ID")] id: String) -> Result<Json<Page>, String> {
        let Common(Account { account_id }) = account;
        if account_id == "a" { self.0.page(&id).cloned().map(Json) } else { Err(format!("{account_id} has no pages.")) }
    }

    /// List accounts you can access
    #[tool(skip_default_params(account_id))]
    fn list_accounts(&self, caller: Caller) -> Json<Accounts> {
        Json(Accounts { accounts: caller.principal.map(|user| user.as_str().to_owned()).into_iter().collect() })
    }
}

#[derive(Serialize, JsonSchema)]
struct Accounts {
    accounts: Vec<String>,
}

/// Another.
struct Templates;

#[tools(tags(admin), read_only = false)]
impl Templates {
    /// Delete a template
    #[tool(destructive, title = "Delete template")]
    fn delete_template(&self, #[arg(desc = "Template ID")] id: String) -> String {
        format!("deleted {id}")
    }
}

#[derive(Serialize, Deserialize)]
struct Session {
    is_admin: bool,
}

fn of_modules() -> Server {
    Server::new("myapp", "1.0.0")
        .init(|caller: Caller| Assigns(Session { is_admin: caller.scopes.has("admin") }))
        .tools(Pages(cms()))
        .tools(Templates)
        .allow_unguarded(["delete_template"])
        .tool(hello)
        .visible(|entry: &Shown, viewer: &Viewer| {
            entry.tag("admin") != true || viewer.assigns::<Session>().is_some_and(|session| session.is_admin)
        })
}

#[tokio::test]
async fn modules_of_tools_make_one_list_the_servers_own_first() {
    let app = of_modules().build().expect("it builds");
    assert_eq!(app.tool_names(), ["hello", "get_page", "list_accounts", "delete_template"]);
    let mut client = Client::to(app);
    assert_eq!(
        client.listed("get_page").await["inputSchema"],
        json!({
            "type": "object",
            "properties": {
                "account_id": {"type": "string", "description": ACCOUNT},
                "id": {"type": "string", "description": "Page ID"},
            },
            "required": ["account_id", "id"],
            "additionalProperties": false,
        })
    );
    assert_eq!(client.listed("list_accounts").await["inputSchema"]["properties"], json!({}));
    let page = client.call("get_page", json!({"account_id": "a", "id": "1"})).await;
    assert_eq!(page["result"]["structuredContent"]["title"], "Home");
    let other = client.call("get_page", json!({"account_id": "b", "id": "1"})).await;
    assert_eq!(text(&other), "b has no pages.");
    let missing = client.call("get_page", json!({"id": 1})).await;
    assert!(text(&missing).contains("`account_id`") && text(&missing).contains("`id`"), "{missing}");
    let accounts = client.call("list_accounts", json!({})).await;
    assert_eq!(accounts["result"]["structuredContent"], json!({"accounts": []}));
}

#[tokio::test]
async fn what_is_for_admins_is_unknown_to_others_and_has_the_hints_of_its_module() {
    let app = of_modules().build().expect("it builds");
    for revision in Revision::ALL {
        let mut admin = testing::Client::builder(&app).revision(revision).principal("ada").scopes("admin").connect();
        let names: Vec<String> = admin.list_tools().await.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["hello", "get_page", "list_accounts", "delete_template"], "{revision:?}");
        admin.call("delete_template", json!({"id": "7"})).await.assert_text("deleted 7");
        let mut other = testing::Client::builder(&app).revision(revision).principal("bob").connect();
        let names: Vec<String> = other.list_tools().await.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["hello", "get_page", "list_accounts"], "{revision:?}");
        let hidden = other.call("delete_template", json!({"id": "7"})).await;
        hidden.assert_fault(-32602).assert_fault_contains("Unknown tool: delete_template");
    }
    let mut admin = testing::Client::builder(&app).principal("ada").scopes("admin").connect();
    let listed = admin.request("tools/list", json!({})).await;
    let tool = &listed.result().expect("a list")["tools"][3];
    assert_eq!(tool["annotations"], json!({"readOnlyHint": false, "destructiveHint": true}));
    assert_eq!(tool["title"], "Delete template");
    assert!(!tool.to_string().contains("admin"), "tags are never sent: {tool}");
}

/// Who asks, looked up once for every tool that takes it: what a hook around each call does elsewhere.
struct User {
    id: u32,
}

struct Users(Vec<(&'static str, u32)>);

impl Extract for User {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        let users = State::<Users>::extract(ctx)?;
        let key = ctx.caller().principal.as_ref().map_or("anonymous", |principal| principal.as_str());
        let found = users.0.0.iter().find(|(name, _)| *name == key);
        found.map(|(_, id)| Self { id: *id }).ok_or_else(|| CallError::new("Not found"))
    }

    fn needs(needs: &mut Needs) {
        State::<Users>::needs(needs);
    }
}

#[derive(Serialize, JsonSchema)]
struct Me {
    id: u32,
}

/// Return the current user
#[tool]
fn me(#[extract] user: User) -> Json<Me> {
    Json(Me { id: user.id })
}

#[tokio::test]
async fn me_is_the_user_of_the_call_and_an_unknown_one_is_not_found() {
    let of = |users| Client::of(Server::new("my-app", "1.0.0").state(Users(users)).tool(me));
    let answer = of(vec![("anonymous", 7)]).call("me", json!({})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"id": 7}));
    let unknown = of(vec![]).call("me", json!({})).await;
    assert_eq!((text(&unknown), &unknown["result"]["isError"]), ("Not found", &json!(true)));
}

#[derive(Arguments)]
struct Everything {
    string: Option<String>,
    integer: Option<i64>,
    number: Option<f64>,
    boolean: Option<bool>,
    object: Option<serde_json::Map<String, serde_json::Value>>,
    #[arg(desc = "Tags")]
    array: Vec<String>,
}

/// Takes a parameter of every type
#[tool]
fn every_type(Args(args): Args<Everything>) -> usize {
    let given = [args.string.is_some(), args.integer.is_some(), args.number.is_some(), args.boolean.is_some()];
    given.into_iter().filter(|given| *given).count() + usize::from(args.object.is_some()) + args.array.len()
}

#[tokio::test]
async fn every_type_of_parameter_and_which_are_required() {
    let mut client = Client::of(Server::new("types", "1").tool(every_type));
    let tool = client.listed("every_type").await;
    let schema = &tool["inputSchema"];
    for kind in ["string", "integer", "number", "boolean", "object"] {
        assert_eq!(schema["properties"][kind]["type"], kind);
    }
    assert_eq!(
        schema["properties"]["array"],
        json!({"type": "array", "items": {"type": "string"}, "description": "Tags"})
    );
    assert_eq!(schema["required"], json!(["array"]));
    let all =
        json!({"string": "a", "integer": 1, "number": 0.5, "boolean": true, "object": {"x": 1}, "array": ["a", "b"]});
    assert_eq!(text(&client.call("every_type", all).await), "7");
    let wrong = client.call("every_type", json!({"integer": "1", "array": ["a", 2]})).await;
    assert!(text(&wrong).contains("`integer`") && text(&wrong).contains("`array[1]`"), "{wrong}");
}
