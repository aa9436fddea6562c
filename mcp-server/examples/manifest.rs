//! Tools whose names, descriptions and schemas are in a file, `manifest.toml`; the code is here, bound by name. What is wrong with
//! the file, and code or definitions that are left over, are told when the server is built. Needs `validate` and `toml`.

use mcp_server::{Ctx, Manifest, Result, Server, Value};
use serde::Deserialize;

/// Code may read the arguments by a type of its own.
#[derive(Deserialize, schemars::JsonSchema)]
struct Rectangle {
    width: f64,
    height: f64,
}

/// Or take them as JSON, judged by the schema and filled in with its defaults.
fn shout(ctx: Ctx, args: Value) -> String {
    let text = args["text"].as_str().unwrap_or_default().to_uppercase();
    let times = args["times"].as_u64().unwrap_or(1).min(10) as usize;
    format!("{} ({})", vec![text; times].join(" "), ctx.tags()["team"])
}

fn server() -> Server {
    // `Manifest::file("manifest.toml")` would read it when the program starts.
    let manifest = Manifest::toml(include_str!("manifest.toml"))
        .run("area", |rectangle: Rectangle| rectangle.width * rectangle.height)
        .run("shout", shout);
    Server::new("from-a-file", "1.0.0").tools(manifest)
}

#[tokio::main]
async fn main() -> Result<()> {
    server().serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/manifest.rs"]
mod tests;
