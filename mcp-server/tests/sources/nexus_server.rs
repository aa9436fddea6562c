//! What NexusMCP's text says of prompts, resources, sessions and the transport.

use std::time::Duration;

use mcp_server::middleware::{CallResult, Next, map_errors};
use mcp_server::testing::Client;
use mcp_server::{
    Assigns, CallError, Json, PromptMessage, Revision, Server, Shown, Viewer, json, prompt, resource,
    resource_template, tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

fn server() -> Server {
    Server::new("my-app", "1.0.0")
}

/// Ask the model to review code
#[prompt]
fn code_review(#[arg(desc = "The code to review")] code: String) -> PromptMessage {
    PromptMessage::user(format!("Please review:\n{code}"))
}

#[tokio::test]
async fn code_review_is_a_user_message_and_its_code_is_required_prompt_3() {
    let mut client = Client::new(server().prompt(code_review).build().expect("it builds"));
    let listed = client.request("prompts/list", json!({})).await;
    listed.assert_at("/result/prompts/0/description", "Ask the model to review code");
    let arguments = json!([{"name": "code", "description": "The code to review", "required": true}]);
    listed.assert_at("/result/prompts/0/arguments", arguments);
    let answer = client.get_prompt("code_review", json!({"code": "x = 1"})).await;
    let content = json!({"type": "text", "text": "Please review:\nx = 1"});
    answer.assert_messages(json!([{"role": "user", "content": content}]));
    answer.assert_at("/result/description", "Ask the model to review code");
    client.get_prompt("code_review", json!({})).await.assert_fault(-32602).assert_fault_contains("code");
}

#[derive(Serialize)]
struct Config {
    debug: bool,
}

#[resource("config://app", name = "app_config", description = "Application configuration", mime = "application/json")]
fn app_config() -> Json<Config> {
    Json(Config { debug: true })
}

#[resource_template(
    "file:///{path}",
    name = "project_files",
    description = "Files in the project directory",
    mime = "text/plain"
)]
fn project_files(path: String) -> Result<String, CallError> {
    if path == "README.md" { Ok("Read me.".into()) } else { Err(CallError::not_found()) }
}

#[resource_template("tree:///{+path}", name = "tree_node", mime = "application/json")]
fn tree_node(path: String) -> Json<Vec<String>> {
    Json(path.split('/').map(str::to_owned).collect())
}

#[tokio::test]
async fn resources_are_read_by_uri_and_by_template_res_4_res_11() {
    let server = server().resource(app_config).resource_template(project_files).resource_template(tree_node);
    let mut client = Client::new(server.build().expect("it builds"));
    let listed = client.request("resources/list", json!({})).await;
    let config = json!({
        "uri": "config://app",
        "name": "app_config",
        "description": "Application configuration",
        "mimeType": "application/json",
    });
    listed.assert_at("/result/resources", json!([config]));
    let templates = client.request("resources/templates/list", json!({})).await;
    templates.assert_at("/result/resourceTemplates/0/uriTemplate", "file:///{path}");
    templates.assert_at("/result/resourceTemplates/1/name", "tree_node");
    client.read("config://app").await.assert_text(r#"{"debug":true}"#);
    client.read("file:///README.md").await.assert_text("Read me.");
    // One segment, and several.
    client.read("file:///a/b").await.assert_fault(-32002);
    client.read("file:///nothing").await.assert_fault(-32002);
    client.read("tree:///a/b").await.assert_text(r#"["a","b"]"#);
}

/// The error of a database.
#[derive(Debug)]
struct NoResults;

impl std::fmt::Display for NoResults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("expected a result in table `users`")
    }
}

impl std::error::Error for NoResults {}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct User {
    id: u32,
    is_admin: bool,
}

async fn init(headers: mcp_server::http::HeaderMap) -> Result<User, CallError> {
    match headers.get("x-api-key").map(http::HeaderValue::as_bytes) {
        Some(b"ann") => Ok(User { id: 1, is_admin: true }),
        Some(b"bob") => Ok(User { id: 2, is_admin: false }),
        _ => Err(CallError::new("unauthorized")),
    }
}

tokio::task_local! {
    static USER_ID: u32;
}

/// What every tool runs in.
async fn with_user(user: Assigns<User>, next: Next) -> CallResult {
    USER_ID.scope(user.0.id, next.run()).await
}

/// Return the current user
#[tool]
fn me() -> Result<Json<User>, CallError> {
    match USER_ID.get() {
        1 => Ok(Json(User { id: 1, is_admin: true })),
        _ => Err(NoResults.into()),
    }
}

/// Delete a template
#[tool(tags(admin))]
fn delete_template(user: Assigns<User>, #[arg(desc = "Template ID")] id: String) -> Result<String, &'static str> {
    if user.0.is_admin { Ok(format!("deleted {id}")) } else { Err("forbidden") }
}

#[tokio::test]
async fn a_session_is_set_up_wrapped_and_shown_what_is_for_it() {
    let not_found = |error: CallError| if error.is::<NoResults>() { CallError::new("Not found") } else { error };
    let visible = |entry: &Shown<'_>, viewer: &Viewer| {
        entry.tag("admin") != true || viewer.assigns::<User>().is_some_and(|user| user.is_admin)
    };
    let server = server().init(init).wrap(map_errors(not_found)).wrap(with_user).visible(visible);
    let app = server.tool(me).tool(delete_template).build().expect("it builds");
    for revision in Revision::ALL {
        let of = |key: &str| Client::builder(&app).revision(revision).header("x-api-key", key);
        let mut ann = of("ann").connect();
        assert_eq!(ann.list_tools().await.len(), 2);
        ann.call("me", json!({})).await.assert_ok();
        ann.call("delete_template", json!({"id": "7"})).await.assert_text("deleted 7");
        let mut bob = of("bob").connect();
        let names: Vec<String> = bob.list_tools().await.into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["me"]);
        bob.call("me", json!({})).await.assert_error_text("Not found");
        let hidden = bob.call("delete_template", json!({"id": "7"})).await;
        hidden.assert_fault(-32602).assert_fault_contains("Unknown tool: delete_template");
    }
    let refused = Client::builder(&app).header("x-api-key", "eve").try_connect().await.expect_err("eve is nobody");
    refused.assert_fault(-32603).assert_fault_contains("Initialization failed: unauthorized");
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_and_who_sends_none_is_not_http_2() {
    let server = server().allow_origin("https://myapp.com").allow_origin("https://studio.myapp.com");
    let service = server.build().expect("it builds").http_service().expect("it serves");
    for (origin, status) in [(None, 200), (Some("https://studio.myapp.com"), 200), (Some("https://evil.example"), 403)]
    {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
        let mut request = http::Request::post("http://localhost/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let response = service.handle_bytes(request.body(body.into()).expect("it is a request")).await;
        assert_eq!(response.status().as_u16(), status, "{origin:?}");
    }
}

#[test]
fn how_long_sessions_live_and_when_they_sleep_is_said_to_the_server() {
    let server = server().idle_timeout(Duration::from_secs(7200)).hibernate_after(Duration::from_secs(60));
    server.build().expect("it builds");
    Server::new("my-app", "1.0.0").hibernate_after(None).build().expect("never sleeping is fine, too");
}
