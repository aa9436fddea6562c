use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::any;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, prompt, prompt_handler, prompt_router, schemars, tool,
    tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;

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

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// Code to review
    code: String,
    /// Language of the code
    language: Option<String>,
}

#[derive(Clone)]
struct Site(ToolRouter<Self>);

#[tool_router]
#[prompt_router]
impl Site {
    #[tool(description = "Search the pages")]
    fn search(&self, Parameters(Search { query }): Parameters<Search>) -> String {
        let found = PAGES.iter().filter(|(_, text)| text.contains(&query));
        let slugs: Vec<_> = found.map(|(slug, _)| *slug).collect();
        slugs.join(", ")
    }

    #[tool(description = "Publish a page")]
    fn publish(&self, Parameters(Publish { slug }): Parameters<Publish>) -> String {
        format!("Published {slug}")
    }

    #[tool(description = "Empty the cache")]
    fn purge(&self) -> String {
        "Purged".into()
    }

    #[prompt(description = "Review code")]
    fn review(
        &self,
        Parameters(Review { code, language }): Parameters<Review>,
    ) -> Vec<PromptMessage> {
        let language = language.as_deref().unwrap_or("this");
        let text = format!("Review {language} code:\n\n{code}");
        vec![PromptMessage::new_text(Role::User, text)]
    }
}

#[tool_handler(router = self.0)]
#[prompt_handler]
impl ServerHandler for Site {
    fn get_info(&self) -> ServerConfig {
        let offered = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_completions();
        ServerConfig::new(offered.build()).with_server_info(Implementation::new("site", "1.0.0"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let about = Resource::new("site://about", "about").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![about]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let page = ResourceTemplate::new("page://{slug}", "page").with_mime_type("text/markdown");
        Ok(ListResourceTemplatesResult::with_all_items(vec![page]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = if request.uri == "site://about" {
            ResourceContents::text("A small site.", request.uri)
        } else {
            let slug = request.uri.strip_prefix("page://");
            let page = PAGES.iter().find(|page| slug == Some(page.0));
            let (_, text) = page.ok_or_else(|| ErrorData::resource_not_found("not found", None))?;
            ResourceContents::text(*text, request.uri).with_mime_type("text/markdown")
        };
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let typed = request.argument.value;
        let all = match (request.r#ref, request.argument.name.as_str()) {
            (Reference::Prompt(_), "language") => LANGUAGES.to_vec(),
            (Reference::Resource(_), "slug") => PAGES.map(|(slug, _)| slug).to_vec(),
            _ => vec![],
        };
        let values = all.iter().filter(|value| value.starts_with(&typed));
        let values = values.map(ToString::to_string).collect();
        Ok(CompleteResult::new(CompletionInfo::new(values).unwrap()))
    }
}

fn service(tools: ToolRouter<Site>) -> StreamableHttpService<Site, LocalSessionManager> {
    let site = Site(tools);
    let (sessions, config) = Default::default();
    StreamableHttpService::new(move || Ok(site.clone()), sessions, config)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let admin = service(Site::tool_router());
    let tools = Site::tool_router().with_disabled("publish");
    let reader = service(tools.with_disabled("purge"));
    let site = async move |request: Request| {
        let key = request.headers().get("X-Api-Key");
        match USERS.iter().find(|user| key.is_some_and(|k| k == user.0)) {
            Some((.., "admin")) => admin.handle(request).await.into_response(),
            Some(_) => reader.handle(request).await.into_response(),
            None => StatusCode::UNAUTHORIZED.into_response(),
        }
    };
    let router = axum::Router::new().route("/mcp", any(site));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    axum::serve(listener, router).await
}
