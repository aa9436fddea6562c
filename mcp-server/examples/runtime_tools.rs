//! Tools that are known only at run time: their definitions are JSON, their code a closure. Needs the feature `validate`.

use mcp_server::{App, BuildError, Param, Result, Server, Tool, Value};

/// As a file or a database would have them.
const DEFINITIONS: &str = r#"[
    {
        "name": "area", "description": "Computes the area of a rectangle.",
        "inputSchema": {
            "type": "object",
            "properties": { "width": { "type": "number", "minimum": 0 }, "height": { "type": "number", "minimum": 0 } },
            "required": ["width", "height"], "additionalProperties": false
        }
    },
    {
        "name": "shout", "description": "Says it louder.",
        "input_schema": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }
    }
]"#;

/// What a definition's name stands for.
fn run(name: &str, args: &Value) -> Result<String, String> {
    match name {
        "area" => Ok((args["width"].as_f64().unwrap_or(0.0) * args["height"].as_f64().unwrap_or(0.0)).to_string()),
        "shout" => Ok(args["text"].as_str().unwrap_or_default().to_uppercase()),
        other => Err(format!("nobody knows how to run `{other}`")),
    }
}

fn app() -> Result<App> {
    let definitions: Vec<Value> = serde_json::from_str(DEFINITIONS).unwrap_or_default();
    let tools: Vec<Tool> = definitions
        .into_iter()
        .map(|definition| {
            let name = definition["name"].as_str().unwrap_or_default().to_owned();
            Tool::from_value(definition).run(move |args: Value| run(&name, &args))
        })
        .collect();
    Ok(Server::new("runtime", "1.0.0").tools(tools).build()?)
}

/// Another tool, while the server serves: its parameters are built, so they need no schema by hand.
fn learn(app: &App) -> Result<(), BuildError> {
    let times = Param::integer("times").description("How often").min(1).max(10).default(2);
    let repeat = |args: Value| "ha".repeat(args["times"].as_u64().unwrap_or(1) as usize);
    app.add_tool(Tool::new("laugh").description("Laughs.").param(times).run(repeat))
}

#[tokio::main]
async fn main() -> Result<()> {
    let app = app()?;
    learn(&app)?;
    app.serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/runtime_tools.rs"]
mod tests;
