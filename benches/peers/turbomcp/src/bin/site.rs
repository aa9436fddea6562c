use std::net::SocketAddr;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use tower::ServiceExt;
use turbomcp::prelude::serde_json::{Value, json};
use turbomcp::prelude::*;

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

#[derive(Clone)]
struct Site;

#[server(name = "site", version = "1.0.0")]
impl Site {
    #[tool("Search the pages")]
    async fn search(&self, #[description("Word to look for")] query: String) -> String {
        let found = PAGES.iter().filter(|(_, text)| text.contains(&query));
        let slugs: Vec<_> = found.map(|(slug, _)| *slug).collect();
        slugs.join(", ")
    }

    #[tool(description = "Publish a page", tags = ["admin"])]
    async fn publish(&self, #[description("Page to publish")] slug: String) -> String {
        format!("Published {slug}")
    }

    #[tool(description = "Empty the cache", tags = ["admin"])]
    async fn purge(&self) -> String {
        "Purged".into()
    }

    #[prompt("Review code")]
    async fn review(
        &self,
        #[description("Code to review")] code: String,
        #[description("Language of the code")] language: Option<String>,
        _ctx: &RequestContext,
    ) -> String {
        let language = language.as_deref().unwrap_or("this");
        format!("Review {language} code:\n\n{code}")
    }

    #[resource("site://about", mime_type = "text/plain")]
    async fn about(&self, _uri: String, _ctx: &RequestContext) -> McpResult<String> {
        Ok("A small site.".into())
    }

    #[resource("page://{slug}", mime_type = "text/markdown")]
    async fn page(&self, uri: String, _ctx: &RequestContext) -> McpResult<String> {
        let slug = uri.strip_prefix("page://");
        let page = PAGES.iter().find(|page| slug == Some(page.0));
        let (_, text) = page.ok_or_else(|| McpError::resource_not_found(&uri))?;
        Ok(text.to_string())
    }

    #[completion]
    async fn complete(&self, params: Value) -> McpResult<Value> {
        let typed = params["argument"]["value"].as_str().unwrap_or("");
        let (kind, name) = (&params["ref"]["type"], &params["argument"]["name"]);
        let all = match (kind.as_str(), name.as_str()) {
            (Some("ref/prompt"), Some("language")) => LANGUAGES.to_vec(),
            (Some("ref/resource"), Some("slug")) => PAGES.map(|(slug, _)| slug).to_vec(),
            _ => vec![],
        };
        let values: Vec<_> = all.iter().filter(|v| v.starts_with(typed)).collect();
        Ok(json!({ "completion": { "values": values } }))
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let admin = Site.builder().into_axum_router();
    let reader = VisibilityLayer::new(Site).disable_tags(["admin"]);
    let reader = reader.builder().into_axum_router();
    let site = async move |request: Request| {
        let key = request.headers().get("X-Api-Key");
        match USERS.iter().find(|user| key.is_some_and(|k| k == user.0)) {
            Some((.., "admin")) => admin.oneshot(request).await.into_response(),
            Some(_) => reader.oneshot(request).await.into_response(),
            None => StatusCode::UNAUTHORIZED.into_response(),
        }
    };
    let app = axum::Router::new().fallback(site);
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, app).await
}
