//! The tools of ConduitMCP's DSL text.

use mcp_server::question::{Question, Response};
use mcp_server::testing::Client as TestClient;
use mcp_server::{
    Ability, Args, Arguments, CallError, Ctx, Icon, Json, Param, Revision, Server, Tool, Value, json, tool, validators,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::common::{Client, text};

fn server() -> Server {
    Server::new("conduit", "1.0.0")
}

/// The violations that a call is refused with, and nothing else of it.
fn refused(response: &Value) -> String {
    assert_eq!(response["result"]["isError"], true, "{response}");
    text(response).to_owned()
}

/// Greets someone
#[tool]
fn greet(#[arg(desc = "Name")] name: String) -> String {
    format!("Hello {name}!")
}

/// Calculator
#[tool]
fn calculate(a: f64, b: f64) -> f64 {
    a + b
}

#[derive(Arguments)]
struct NewUser {
    #[arg(desc = "Full name")]
    name: String,
    #[arg(desc = "Email")]
    email: String,
}

/// Creates user
#[tool]
fn create_user(#[arg(desc = "User data")] user: NewUser) -> String {
    format!("{} <{}>", user.name, user.email)
}

#[tokio::test]
async fn the_simple_tools_answer_and_nested_objects_are_enforced_tool_9() {
    let mut client = Client::of(server().tool(greet).tool(calculate).tool(create_user));
    assert_eq!(text(&client.call("greet", json!({"name": "Ada"})).await), "Hello Ada!");
    assert_eq!(text(&client.call("calculate", json!({"a": 1.5, "b": 2})).await), "3.5");
    let user = json!({"user": {"name": "Ada", "email": "ada@example.com"}});
    assert_eq!(text(&client.call("create_user", user).await), "Ada <ada@example.com>");
    let wrong = refused(&client.call("create_user", json!({"user": {"name": 1, "age": 3}})).await);
    for path in ["`user.name`", "`user.email`", "`user.age`"] {
        assert!(wrong.contains(path), "{path}: {wrong}");
    }
}

/// Deletes a user
#[tool(destructive, idempotent)]
fn delete_user(#[arg(desc = "User ID")] id: String) -> String {
    format!("deleted {id}")
}

/// Create a user account
#[tool(name = "create_account", title = "Create User")]
fn create_account(#[arg(desc = "Email address")] email: String) -> String {
    email
}

/// Search the catalog
#[tool(icon = Icon::new("https://example.com/search.svg").map(|icon| icon.mime("image/svg+xml")))]
fn search() -> &'static str {
    "nothing"
}

/// Health dashboard
#[tool(meta = json!({"ui": {"resourceUri": "ui://dashboard/app.html"}}))]
fn dashboard(#[arg(desc = "Output format", default = "json")] format: String) -> String {
    format
}

#[tokio::test]
async fn annotations_title_icons_and_meta_are_listed_as_they_were_given_tool_3_tool_15() {
    let server = server().allow_unguarded(["delete_user"]);
    let mut client = Client::of(server.tool(delete_user).tool(create_account).tool(search).tool(dashboard));
    let annotations = client.listed("delete_user").await["annotations"].clone();
    assert_eq!(annotations, json!({"destructiveHint": true, "idempotentHint": true}));
    assert_eq!(client.listed("create_account").await["title"], "Create User");
    let icons = client.listed("search").await["icons"].clone();
    assert_eq!(icons, json!([{"src": "https://example.com/search.svg", "mimeType": "image/svg+xml"}]));
    let shown = client.listed("dashboard").await;
    assert_eq!(shown["_meta"], json!({"ui": {"resourceUri": "ui://dashboard/app.html"}}));
    assert_eq!(shown["inputSchema"]["properties"]["format"]["default"], "json");
    assert_eq!(text(&client.call("dashboard", json!({})).await), "json");
}

#[derive(Serialize, JsonSchema)]
struct User {
    id: String,
    email: String,
}

/// Fetch a user
#[tool]
fn get_user(#[arg(desc = "User id")] id: String) -> Result<Json<User>, CallError> {
    Ok(Json(User { email: format!("{id}@example.com"), id }))
}

#[tokio::test]
async fn get_user_publishes_what_it_returns_tool_11() {
    let mut client = Client::of(server().tool(get_user));
    let schema = client.listed("get_user").await["outputSchema"].clone();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {"id": {"type": "string"}, "email": {"type": "string"}},
            "required": ["id", "email"],
        })
    );
    let answer = client.call("get_user", json!({"id": "ada"})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"id": "ada", "email": "ada@example.com"}));
}

#[derive(Arguments)]
struct Row {
    #[arg(desc = "Row id")]
    id: i64,
}

#[derive(Arguments)]
struct Member {
    #[arg(desc = "Name")]
    name: Option<String>,
    #[arg(desc = "Email")]
    email: Option<String>,
}

/// Takes lists
#[tool]
fn lists(
    #[arg(desc = "Tags", max_length = 10)] tags: Vec<String>,
    #[arg(desc = "Rows")] rows: Vec<Row>,
    #[arg(desc = "Users")] users: Option<Vec<Member>>,
) -> String {
    let named = users.into_iter().flatten().filter(|user| user.name.is_some() || user.email.is_some()).count();
    format!("{} tags, {} rows, {named} users", tags.len(), rows.iter().map(|row| row.id).sum::<i64>())
}

#[tokio::test]
async fn items_of_lists_are_published_and_enforced_and_a_length_of_a_list_counts_items_tool_9() {
    let mut client = Client::of(server().tool(lists));
    let properties = client.listed("lists").await["inputSchema"]["properties"].clone();
    assert_eq!(
        properties["tags"],
        json!({"type": "array", "items": {"type": "string"}, "maxItems": 10, "description": "Tags"})
    );
    assert_eq!(properties["rows"]["items"]["required"], json!(["id"]));
    let right = json!({"tags": ["a"], "rows": [{"id": 1}, {"id": 2}], "users": [{"name": "Ada"}, {}]});
    assert_eq!(text(&client.call("lists", right).await), "1 tags, 3 rows, 1 users");
    let wrong = json!({"tags": vec!["a"; 11], "rows": [{"id": 1}, {"id": "2"}, {}], "users": [{"nam": "x"}]});
    let wrong = refused(&client.call("lists", wrong).await);
    for path in ["`tags`", "`rows[1].id`", "`rows[2].id`", "`users[0].nam`"] {
        assert!(wrong.contains(path), "{path}: {wrong}");
    }
}

fn no_friday(priority: &str) -> Result<(), String> {
    if priority == "critical" { Err("nothing is critical on a Friday".into()) } else { Ok(()) }
}

#[derive(Arguments)]
struct Registration {
    #[arg(desc = "User name")]
    name: String,
    #[arg(desc = "User role", one_of = ["admin", "user", "guest"])]
    role: Option<String>,
    #[arg(desc = "Active status", default = true)]
    active: bool,
    #[arg(desc = "Age in years", min = 0, max = 150)]
    age: u8,
    #[arg(desc = "Username", min_length = 3, max_length = 30)]
    username: Option<String>,
    #[arg(desc = "Score", min = 0.0, max = 100.0, default = 50.0)]
    score: f64,
    #[arg(desc = "Email", validate = validators::email)]
    email: Option<String>,
    #[arg(desc = "Task priority", one_of = ["low", "medium", "high", "critical"], validate = no_friday)]
    priority: String,
    #[arg(desc = "Tags", max_length = 10)]
    tags: Option<Vec<String>>,
}

/// Registers someone
#[tool]
fn register(Args(new): Args<Registration>) -> String {
    format!(
        "{} {:?} {} {} {:?} {} {:?} {} {:?}",
        new.name, new.role, new.active, new.age, new.username, new.score, new.email, new.priority, new.tags
    )
}

#[tokio::test]
async fn every_constraint_is_published_and_enforced_and_all_violations_are_told_at_once_tool_9() {
    let mut client = Client::of(server().tool(register));
    let properties = client.listed("register").await["inputSchema"]["properties"].clone();
    assert_eq!(properties["role"]["enum"], json!(["admin", "user", "guest"]));
    assert_eq!(properties["active"]["default"], true);
    assert_eq!((&properties["age"]["minimum"], &properties["age"]["maximum"]), (&json!(0), &json!(150)));
    assert_eq!((&properties["username"]["minLength"], &properties["username"]["maxLength"]), (&json!(3), &json!(30)));
    assert_eq!((&properties["score"]["minimum"], &properties["score"]["default"]), (&json!(0.0), &json!(50.0)));
    let right = json!({"name": "Ada", "age": 36, "priority": "low", "email": "ada@example.com"});
    let answer = client.call("register", right).await;
    assert_eq!(text(&answer), r#"Ada None true 36 None 50 Some("ada@example.com") low None"#);
    let wrong = json!({
        "role": "owner", "active": "yes", "age": 151, "username": "ab", "score": 100.5, "email": "ada", "priority": "critical",
        "tags": vec!["x"; 11], "extra": 1,
    });
    let wrong = refused(&client.call("register", wrong).await);
    for path in ["name", "role", "active", "age", "username", "score", "email", "priority", "tags", "extra"] {
        assert!(wrong.contains(&format!("`{path}`")), "{path}: {wrong}");
    }
    assert!(wrong.contains("nothing is critical on a Friday"), "{wrong}");
    assert!(wrong.contains("`email`: must be an email address"), "{wrong}");
}

#[tokio::test]
async fn objects_are_closed_where_they_declare_fields_and_open_where_they_do_not_or_say_so() {
    let address =
        Param::object("address").description("Address").field(Param::string("city").description("City").required());
    let user = Param::object("user")
        .description("User data")
        .required()
        .field(Param::string("name").description("Full name").required())
        .field(address);
    let metadata = Param::object("metadata").description("Arbitrary metadata");
    let bag =
        Param::object("bag").description("Bag").open().field(Param::string("name").description("Name").required());
    let echo = Tool::new("echo").description("Gives back what it got").params([user, metadata, bag]);
    let mut client = Client::of(server().tool(echo.run(|args: Value| args.to_string())));
    let right = json!({
        "user": {"name": "Ada", "address": {"city": "London"}},
        "metadata": {"any": ["thing"]},
        "bag": {"name": "b", "more": 1},
    });
    let answer = client.call("echo", right.clone()).await;
    assert_eq!(serde_json::from_str::<Value>(text(&answer)).expect("JSON"), right);
    let wrong = json!({"user": {"name": "Ada", "address": {"town": "London"}}, "metadata": [], "bag": {"more": 1}});
    let wrong = refused(&client.call("echo", wrong).await);
    for path in ["`user.address.city`", "`user.address.town`", "`metadata`", "`bag.name`"] {
        assert!(wrong.contains(path), "{path}: {wrong}");
    }
    let properties = client.listed("echo").await["inputSchema"]["properties"].clone();
    assert_eq!(properties["user"]["additionalProperties"], false);
    assert_eq!(properties["bag"]["additionalProperties"], true);
}

/// Deploys
#[tool]
fn deploy(#[arg(desc = "Region", header = "Region")] region: String) -> String {
    format!("deployed to {region}")
}

#[tokio::test]
async fn a_mirrored_argument_is_published_and_validated_as_any_other_hdr_9() {
    let mut client = Client::of(server().tool(deploy));
    let region = client.listed("deploy").await["inputSchema"]["properties"]["region"].clone();
    assert_eq!(region, json!({"type": "string", "description": "Region", "x-mcp-header": "Region"}));
    assert_eq!(text(&client.call("deploy", json!({"region": "eu"})).await), "deployed to eu");
    assert!(refused(&client.call("deploy", json!({"region": 1})).await).contains("`region`"));
}

/// Counts
#[tool(coerce)]
fn count(#[arg(min = 18)] age: u8, flag: bool, #[arg(coerce = false)] strict: Option<i64>) -> String {
    format!("{age} {flag} {strict:?}")
}

#[tokio::test]
async fn coercion_comes_before_constraints_and_a_parameter_may_refuse_it() {
    let mut client = Client::of(server().tool(count));
    assert_eq!(text(&client.call("count", json!({"age": "25", "flag": "TRUE"})).await), "25 true None");
    let wrong = refused(&client.call("count", json!({"age": "5", "flag": 2, "strict": "1"})).await);
    for path in ["`age`", "`flag`", "`strict`"] {
        assert!(wrong.contains(path), "{path}: {wrong}");
    }
}

/// Deploys, if it is approved
#[tool(name = "deploy")]
fn deploy_if_approved(ctx: Ctx, #[arg(desc = "Where to")] target: String) -> Result<String, CallError> {
    let Some(resume) = ctx.resume() else {
        let schema = json!({"type": "object", "properties": {"note": {"type": "string"}}}).to_string();
        let question = Question::Form { message: "Approve deploy?".into(), schema: schema.into() };
        return Err(CallError::ask([("approval", question)], target));
    };
    let accepted = match resume.reply("approval") {
        Some(Response::Result(reply)) => serde_json::from_slice::<Value>(reply)?["action"] == "accept",
        _ => false,
    };
    let target = String::from_utf8_lossy(&resume.state);
    Ok(if accepted { format!("Deployed {target}") } else { "Cancelled".to_owned() })
}

#[tokio::test]
async fn deploy_asks_and_finds_its_state_and_the_answer_in_every_era_that_has_questions_mrtr_1() {
    let app = server().tool(deploy_if_approved).build().expect("it builds");
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
        for (action, said) in [("accept", "Deployed eu"), ("decline", "Cancelled"), ("cancel", "Cancelled")] {
            let mut client = TestClient::builder(&app)
                .revision(revision)
                .can(Ability::ElicitationForm)
                .on_request(move |method, params| {
                    assert_eq!((method, &params["message"]), ("elicitation/create", &json!("Approve deploy?")));
                    json!({"action": action, "content": {}})
                })
                .connect();
            client.call("deploy", json!({"target": "eu"})).await.assert_text(said);
        }
        // Who cannot be asked has not approved.
        let mut client = TestClient::builder(&app).revision(revision).connect();
        client.call("deploy", json!({"target": "eu"})).await.assert_text("Cancelled");
    }
}
