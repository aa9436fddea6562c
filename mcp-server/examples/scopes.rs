//! Scopes: who asks is found out from the request's head, and what they may do is checked before anything runs.

use mcp_server::http::{Parts, Rejection, bearer};
use mcp_server::{Caller, Resource, Scopes, Server, tool};

/// Find a user
#[tool(scope = "users:read", read_only)]
fn find_user(#[arg(desc = "Name")] name: String) -> String {
    format!("{name} is user 7.")
}

/// Delete a user
#[tool(scope = "users:read users:write", destructive)]
fn delete_user(caller: Caller, #[arg(desc = "User ID")] id: u32) -> String {
    let who = caller.principal.map_or_else(String::new, |principal| principal.as_str().to_owned());
    format!("User {id} is deleted, says {who}.")
}

/// On each request, before any of it is read. Tokens of your own go here; this is no place for a slow look-up: see
/// `Authenticating::later`.
fn authenticate(head: &Parts) -> Result<Caller, Rejection> {
    match bearer(head)? {
        Some("ann-secret") => Ok(Caller::new("static:ann", Scopes::parse("admin"))),
        Some("bob-secret") => Ok(Caller::new("static:bob", Scopes::parse("users:read"))),
        Some(_) => Err(Rejection::invalid_token("there is no such token")),
        // Nobody in particular, who finds what needs no scope.
        None => Ok(Caller::anonymous()),
    }
}

fn server() -> Server {
    Server::new("users", "1.0.0")
        .authenticate(authenticate)
        .scope_implies("admin", "users:read users:write")
        .allow_unguarded(["delete_user"])
        .resource(Resource::new("app://about").mime("text/plain").text("Users, and what becomes of them."))
        .tool(find_user)
        .tool(delete_user)
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    server().serve_http("127.0.0.1:8000").await
}

#[cfg(test)]
#[path = "../tests/examples/scopes.rs"]
mod tests;
