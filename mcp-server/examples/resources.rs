//! Resources: fixed ones, a template with completion, the files of a directory, and word of what has changed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mcp_server::{Completing, Json, Resource, ResourceTemplate, Result, Server, State};
use serde::{Deserialize, Serialize};

#[derive(Default)]
struct Users(Mutex<BTreeMap<u64, User>>);

#[derive(Clone, Serialize)]
struct User {
    name: String,
    city: String,
}

/// What the template's variables stand for: `{id}` must be a number, or the URI names nothing.
#[derive(Deserialize)]
struct Which {
    id: u64,
}

impl Users {
    fn get(&self, id: u64) -> Option<User> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    fn ids(&self, typed: &str) -> Vec<String> {
        let users = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        users.keys().map(u64::to_string).filter(|id| id.starts_with(typed)).collect()
    }
}

fn server(users: Users) -> Server {
    let motto = Resource::new("app://motto").description("What we say.").mime("text/plain").text("Keep it short.");
    // `None` is a user that is not there.
    let profile = ResourceTemplate::new("users://{id}/profile")
        .description("A user's profile.")
        .mime("application/json")
        .run(|users: State<Users>, Which { id }: Which| users.get(id).map(Json))
        .complete("id", |users: State<Users>, typed: Completing| users.ids(&typed.value));
    // Nothing outside of the directory is ever read.
    let docs = ResourceTemplate::files("file:///docs", "docs").name("docs").description("The documentation.");

    Server::new("users", "1.0.0").state(users).resource(motto).resource_template(profile).resource_template(docs)
}

#[tokio::main]
async fn main() -> Result<()> {
    let app = server(Users::default()).build()?;
    // Whoever changes a user says `app.resource_updated("users://1/profile")`, and who subscribed is told.
    app.serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/resources.rs"]
mod tests;
