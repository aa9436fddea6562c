use std::collections::HashMap;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tower_mcp::error::JsonRpcError;
use tower_mcp::{
    CallToolResult, CapabilityFilter, CompleteParams, CompleteResult, CompletionReference,
    GetPromptResult, HttpTransport, McpRouter, NoParams, ReadResourceResult, ResourceBuilder,
    Result, Tool, prompt_fn, resource_template_fn, tool_fn,
};

const LANGUAGES: [&str; 4] = ["go", "python", "ruby", "rust"];

const PAGES: [(&str, &str); 3] = [
    ("install", "# Install\n\nRun the installer."),
    ("intro", "# Intro\n\nWhat this is."),
    ("license", "# License\n\nDo as you like."),
];

const USERS: [(&str, &str, &str); 2] = [
    ("key-of-ann", "ann", "admin"),
    ("key-of-bob", "bob", "reader"),
];

#[derive(Clone, PartialEq)]
struct Role(&'static str);

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// Word to look for
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct Publish {
    /// Page to publish
    slug: String,
}

#[tool_fn(description = "Search the pages")]
async fn search(Search { query }: Search) -> Result<CallToolResult> {
    let found = PAGES.iter().filter(|(_, text)| text.contains(&query));
    let slugs: Vec<_> = found.map(|(slug, _)| *slug).collect();
    Ok(CallToolResult::text(slugs.join(", ")))
}

#[tool_fn(description = "Publish a page")]
async fn publish(Publish { slug }: Publish) -> Result<CallToolResult> {
    Ok(CallToolResult::text(format!("Published {slug}")))
}

#[tool_fn(description = "Empty the cache")]
async fn purge(_: NoParams) -> Result<CallToolResult> {
    Ok(CallToolResult::text("Purged"))
}

#[prompt_fn(
    description = "Review code",
    args(code = "Code to review", ?language = "Language of the code")
)]
async fn review(args: HashMap<String, String>) -> Result<GetPromptResult> {
    let language = args.get("language").map_or("this", String::as_str);
    let text = format!("Review {language} code:\n\n{}", args["code"]);
    Ok(GetPromptResult::user_message(text))
}

#[resource_template_fn(uri_template = "page://{slug}", mime_type = "text/markdown")]
async fn page(uri: String, vars: HashMap<String, String>) -> Result<ReadResourceResult> {
    let page = PAGES.iter().find(|(slug, _)| *slug == vars["slug"]);
    let mut unknown = JsonRpcError::resource_not_found(&uri);
    unknown.code = -32002;
    let (_, text) = page.ok_or(unknown)?;
    let contents = ReadResourceResult::text_with_mime(uri, *text, "text/markdown");
    Ok(contents)
}

async fn complete(params: CompleteParams) -> Result<CompleteResult> {
    let typed = params.argument.value;
    let all = match (params.reference, params.argument.name.as_str()) {
        (CompletionReference::Prompt { .. }, "language") => LANGUAGES.to_vec(),
        (CompletionReference::Resource { .. }, "slug") => PAGES.map(|(slug, _)| slug).to_vec(),
        _ => vec![],
    };
    let values = all.iter().filter(|value| value.starts_with(&typed));
    let values = values.map(ToString::to_string).collect();
    Ok(CompleteResult::new(values))
}

async fn authenticate(mut request: Request, next: Next) -> Response {
    let key = request.headers().get("X-Api-Key");
    let user = USERS.iter().find(|user| key.is_some_and(|k| k == user.0));
    let Some((.., role)) = user else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    request.extensions_mut().insert(Role(role));
    next.run(request).await
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let about = ResourceBuilder::new("site://about").mime_type("text/plain");
    let visible = CapabilityFilter::new_with_context(|context, tool: &Tool| {
        context.extension() == Some(&Role("admin")) || tool.name == "search"
    });
    let router = McpRouter::new()
        .server_info("site", "1.0.0")
        .tools([search_tool(), publish_tool(), purge_tool()])
        .tool_filter(visible)
        .prompt(review_prompt())
        .resource(about.text("A small site."))
        .resource_template(page_resource_template())
        .completion_handler(complete);
    let transport = HttpTransport::new(router).bridge_extension::<Role>();
    let app = transport.into_router().layer(from_fn(authenticate));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, app).await
}
