//! Resources: fixed ones, a template with completion, the files of a directory, and word of what has changed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mcp_server::{Json, Resource, ResourceTemplate, Result, Server, State, resource_template};
use serde::Serialize;

#[derive(Default)]
struct Users(Mutex<BTreeMap<u64, User>>);

#[derive(Clone, Serialize)]
struct User {
    name: String,
    city: String,
}

/// A user's profile.
// `None` is a user that is not there, and a URI whose id is no number names nothing.
#[resource_template("users://{id}/profile", mime = "application/json")]
fn profile(State(users): State<Users>, #[arg(complete = ids)] id: u64) -> Option<Json<User>> {
    let users = users.0.lock().unwrap_or_else(PoisonError::into_inner);
    users.get(&id).cloned().map(Json)
}

fn ids(State(users): State<Users>, typed: String) -> Vec<String> {
    let users = users.0.lock().unwrap_or_else(PoisonError::into_inner);
    users.keys().map(u64::to_string).filter(|id| id.starts_with(&typed)).collect()
}

fn server(users: Users) -> Server {
    let motto = Resource::new("app://motto").description("What we say.").mime("text/plain").text("Keep it short.");
    // Nothing outside of the directory is ever read.
    let docs = ResourceTemplate::files("file:///docs", "docs").name("docs").description("The documentation.");
    Server::new("users", "1.0.0").state(users).resource(motto).resource_template(profile).resource_template(docs)
}

#[tokio::main]
async fn main() -> Result<()> {
    let app = server(Users::default()).build()?;
    // Code that changes a user says `ctx.app()?.resource_updated("users://1/profile")`, and who subscribed is told.
    app.serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/resources.rs"]
mod tests;
