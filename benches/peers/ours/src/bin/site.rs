use mcp_server::http::{Parts, Rejection};
use mcp_server::{Caller, Resource, Scopes, Server, prompt, resource_template, tool};

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

/// Search the pages
#[tool]
fn search(#[arg(desc = "Word to look for")] query: String) -> String {
    let found = PAGES.iter().filter(|(_, text)| text.contains(&query));
    let slugs: Vec<_> = found.map(|(slug, _)| *slug).collect();
    slugs.join(", ")
}

/// Publish a page
#[tool(tags(admin))]
fn publish(#[arg(desc = "Page to publish")] slug: String) -> String {
    format!("Published {slug}")
}

/// Empty the cache
#[tool(tags(admin))]
fn purge() -> &'static str {
    "Purged"
}

/// Review code
#[prompt]
fn review(
    #[arg(desc = "Code to review")] code: String,
    #[arg(desc = "Language of the code", complete = LANGUAGES)] language: Option<String>,
) -> String {
    let language = language.as_deref().unwrap_or("this");
    format!("Review {language} code:\n\n{code}")
}

#[resource_template("page://{slug}", mime = "text/markdown")]
fn page(#[arg(complete = slugs)] slug: String) -> Option<&'static str> {
    let page = PAGES.iter().find(|page| page.0 == slug);
    page.map(|(_, text)| *text)
}

fn slugs(typed: String) -> Vec<&'static str> {
    let slugs = PAGES.iter().map(|(slug, _)| *slug);
    slugs.filter(|slug| slug.starts_with(&typed)).collect()
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    let about = Resource::new("site://about").mime("text/plain");
    Server::new("site", "1.0.0")
        .authenticate(|head: &Parts| {
            let key = head.headers.get("X-Api-Key");
            let user = USERS.iter().find(|user| key.is_some_and(|k| k == user.0));
            let (_, name, role) = user.ok_or_else(Rejection::unauthorized)?;
            Ok(Caller::new(*name, Scopes::parse(role)))
        })
        .visible(|entry, viewer| entry.tag("admin") != true || viewer.has_scope("admin"))
        .tool(search)
        .tool(publish)
        .tool(purge)
        .prompt(review)
        .resource(about.text("A small site."))
        .resource_template(page)
        .serve_http("127.0.0.1:8000")
        .await
}
