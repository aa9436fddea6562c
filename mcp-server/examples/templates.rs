//! Resource templates: variables of one segment and of many, a query, completion that knows the other variables, and a scope.

use mcp_server::{Completing, Resource, Result, Server, resource_template};

/// The issues of a repository
// `{?state}` is of the query, and may be missing.
#[resource_template("repo://{owner}/{name}/issues{?state}", mime = "text/plain")]
fn issues(
    owner: String,
    #[arg(complete = names)] name: String,
    #[arg(complete = ["open", "closed"])] state: Option<Status>,
) -> Option<String> {
    let known = REPOSITORIES.contains(&(&*owner, &*name));
    known.then(|| format!("Issues of {owner}/{name}, {:?}.", state.unwrap_or_default()))
}

// A URI with any other word names nothing.
#[derive(mcp_server::Arguments, Debug, Default)]
#[arg(rename_all = "lowercase")]
enum Status {
    #[default]
    Open,
    Closed,
}

/// A file of a repository: `{+path}` takes slashes, too.
#[resource_template("file://{owner}/{+path}", scope = "files:read")]
fn file(owner: String, path: String) -> String {
    format!("{path} of {owner}")
}

const REPOSITORIES: [(&str, &str); 3] = [("ada", "engine"), ("ada", "notes"), ("grace", "compiler")];

/// What was typed, and the owner that was chosen before.
fn names(typed: Completing) -> Vec<&'static str> {
    let owner = typed.get("owner");
    let fits = |(of, name): &&(&str, &str)| owner.is_none_or(|owner| owner == *of) && name.starts_with(&typed.value);
    REPOSITORIES.iter().filter(fits).map(|(_, name)| *name).collect()
}

fn server() -> Server {
    // A fixed URI goes before every template, and answers to its own rules: this one needs no scope.
    let readme = Resource::new("file://ada/README").mime("text/plain").text("Read me.");
    Server::new("repositories", "1.0.0").resource(readme).resource_template(issues).resource_template(file)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/templates.rs"]
mod tests;
