//! What ConduitMCP's DSL text says of prompts, resources, completion, scopes, cache hints and apps.

use mcp_server::testing::Client;
use mcp_server::{
    Json, PromptMessage, ResourceTemplate, Revision, Server, Tool, app, json, prompt, resource, resource_template, tool,
};
use schemars::JsonSchema;
use serde::Serialize;

fn server() -> Server {
    Server::new("conduit", "1.0.0")
}

/// Code review assistant
#[prompt]
fn code_review(
    #[arg(desc = "Code to review")] code: String,
    #[arg(desc = "Programming language", default = "elixir", complete = languages)] language: String,
) -> [PromptMessage; 2] {
    [
        PromptMessage::system(format!("You are a code reviewer of {language}")),
        PromptMessage::user(format!("Review this code: {code}")),
    ]
}

fn languages(typed: String) -> Vec<&'static str> {
    ["elixir", "python", "javascript", "rust"].into_iter().filter(|known| known.starts_with(&typed)).collect()
}

#[tokio::test]
async fn code_review_has_a_default_and_completes_its_language_comp_1() {
    let mut client = Client::new(server().prompt(code_review).build().expect("it builds"));
    let answer = client.get_prompt("code_review", json!({"code": "x"})).await;
    // The protocol knows no system role.
    answer.assert_at("/result/messages/0/role", "user");
    answer.assert_at("/result/messages/0/content/text", "You are a code reviewer of elixir");
    answer.assert_at("/result/messages/1/content/text", "Review this code: x");
    client.complete_prompt("code_review", "language", "p").await.assert_values(["python"]);
    client.complete_prompt("code_review", "language", "").await.assert_at("/result/completion/total", 4);
    client.complete_prompt("code_review", "code", "").await.assert_values(json!([]));
}

#[derive(Serialize)]
struct User {
    id: u32,
}

/// User profile information
#[resource_template("user://{id}", mime = "application/json")]
fn user(#[arg(complete = ids)] id: u32) -> Option<Json<User>> {
    (id < 3).then_some(Json(User { id }))
}

fn ids(typed: String) -> Vec<String> {
    (0..3).map(|id: u32| id.to_string()).filter(|id| id.starts_with(&typed)).collect()
}

mod my_files {
    pub(super) fn read(path: String) -> String {
        format!("contents of {path}")
    }

    pub(super) fn autocomplete(typed: String) -> Vec<String> {
        vec![format!("{typed}.md")]
    }
}

#[tokio::test]
async fn resources_are_read_and_completed_by_closures_and_by_functions_of_a_module() {
    let files = ResourceTemplate::new("file://{path}").mime("text/plain").run(my_files::read);
    let files = files.complete("path", my_files::autocomplete);
    let mut client = Client::new(server().resource_template(user).resource_template(files).build().expect("it builds"));
    client.read("user://1").await.assert_text(r#"{"id":1}"#);
    client.read("user://7").await.assert_fault(-32002);
    client.read("file://a.txt").await.assert_text("contents of a.txt");
    client.complete_template("file://{path}", "path", "README").await.assert_values(["README.md"]);
    client.complete_template("user://{id}", "id", "2").await.assert_values(["2"]);
    client.complete_template("user://{id}", "name", "2").await.assert_fault(-32602);
}

/// Deletes a user
#[tool(scope = "users:write", destructive)]
fn delete_user(#[arg(desc = "User ID")] id: String) -> String {
    format!("deleted {id}")
}

/// Admin only
#[tool(scope = "admin users:write")]
fn admin_action() -> &'static str {
    "done"
}

#[resource_template("vault://{id}", scope = "vault:read")]
fn vault(id: String) -> String {
    id
}

#[resource_template("member://{id}", scope = "admin")]
fn member(id: String) -> String {
    id
}

// Of no scope: it is governed by itself, and not by the template that matches it, too.
#[resource("member://me")]
fn me() -> &'static str {
    "it is you"
}

/// Reviews code
#[prompt(scope = "review:run")]
fn scoped_review() -> &'static str {
    "Review."
}

#[tokio::test]
async fn scopes_are_all_required_fail_closed_and_a_template_has_them_for_all_that_it_serves_auth_6() {
    let server = server().tool(delete_user).tool(admin_action).allow_unguarded(["delete_user"]);
    let server = server.resource_template(vault).resource_template(member).resource(me).prompt(scoped_review);
    let app = server.build().expect("it builds");
    for revision in Revision::ALL {
        let of = |scopes: &str| Client::builder(&app).revision(revision).principal("ada").scopes(scopes).connect();
        let mut writer = of("users:write vault:read review:run");
        writer.call("delete_user", json!({"id": "7"})).await.assert_text("deleted 7");
        let refused = writer.call("admin_action", json!({})).await;
        refused.assert_fault(403).assert_fault_contains("Insufficient scope. Required: admin users:write");
        writer.read("vault://7").await.assert_text("7");
        writer.read("member://7").await.assert_fault(403);
        writer.read("member://me").await.assert_text("it is you");
        writer.get_prompt("scoped_review", json!({})).await.assert_ok();
        of("admin users:write").call("admin_action", json!({})).await.assert_text("done");
        let mut nobody = of("");
        nobody.call("delete_user", json!({"id": "7"})).await.assert_fault(403);
        nobody.read("vault://7").await.assert_fault(403);
        nobody.get_prompt("scoped_review", json!({})).await.assert_fault(403);
    }
}

/// Lists the public catalog
#[tool(cache(ttl_ms = 5_000, public))]
fn catalog() -> &'static str {
    "..."
}

#[tokio::test]
async fn a_list_may_be_kept_as_long_as_its_entries_say_and_what_is_public_and_scoped_is_no_server_cache_4() {
    let app = server().tool(catalog).build().expect("it builds");
    let mut client = Client::builder(&app).revision(Revision::V2026_07_28).connect();
    let listed = client.request("tools/list", json!({})).await;
    listed.assert_at("/result/ttlMs", 5_000).assert_at("/result/cacheScope", "public");
    client.call("catalog", json!({})).await.assert_text("...");
    let both = Tool::new("both").description("B.").scope("a").cache(mcp_server::CacheHint::new().public()).run(|| "");
    let error = server().tool(both).build().expect_err("public and scoped").to_string();
    assert!(error.contains("CACHE-4"), "{error}");
}

#[derive(Serialize, JsonSchema)]
struct Health {
    cpu: u8,
    memory: u8,
}

/// Health dashboard
#[app(view = "tests/sources/dashboard.html")]
fn dashboard(#[arg(desc = "Output format", default = "json")] format: String) -> Json<Health> {
    let _ = format;
    Json(Health { cpu: 42, memory: 128 })
}

#[tokio::test]
async fn dashboard_is_a_tool_with_a_page_app_2() {
    let mut client = Client::new(server().app(dashboard).build().expect("it builds"));
    let uri = "ui://dashboard/dashboard.html";
    let tool = client.tool("dashboard").await;
    assert_eq!(tool.json["_meta"]["ui"]["resourceUri"], uri);
    client.call("dashboard", json!({})).await.assert_structured(json!({"cpu": 42, "memory": 128}));
    let page = client.read(uri).await;
    page.assert_at("/result/contents/0/mimeType", "text/html;profile=mcp-app");
    page.assert_text("<!doctype html><title>Dashboard</title>\n");
}

/// Render a video from a script
#[tool(task_support = "supported")]
async fn render_video(#[arg(desc = "Script source")] script: String) -> String {
    format!("rendered {} bytes", script.len())
}

#[tokio::test]
async fn render_video_says_that_it_can_be_a_task_and_no_client_is_told_yet() {
    let app = server().tool(render_video).build().expect("it builds");
    for revision in Revision::ALL {
        let mut client = Client::builder(&app).revision(revision).connect();
        assert!(client.tool("render_video").await.json.get("execution").is_none(), "{revision}");
        client.call("render_video", json!({"script": "fade in"})).await.assert_text("rendered 7 bytes");
    }
}
