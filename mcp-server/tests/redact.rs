//! What tools log to clients is looked over before it is sent.

use mcp_server::testing::{Client, block_on};
use mcp_server::{Ctx, Level, Log, Server, Tool, Value};
use serde_json::json;

const TOKEN: &str = "sk-0123456789";

/// Takes the token out of every text, at any depth.
fn without_token(data: &mut Value) {
    match data {
        Value::String(text) => *text = text.replace(TOKEN, "(token)"),
        Value::Array(items) => items.iter_mut().for_each(without_token),
        Value::Object(members) => members.values_mut().for_each(without_token),
        _ => {}
    }
}

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

fn server() -> Server {
    let failing = |log: Log| {
        let error = std::io::Error::other(format!("401 for Authorization: Bearer {TOKEN}"));
        log.error(error.to_string());
        log.named("upstream").error(json!({"request": {"headers": [TOKEN, 1]}}));
        "done"
    };
    let by_ctx = |ctx: Ctx| {
        ctx.log().info(TOKEN);
    };
    Server::new("test", "1").tool(tool("failing").run(failing)).tool(tool("by-ctx").logs().run(by_ctx))
}

fn logged(server: Server, modern: bool) -> Vec<Value> {
    block_on(async {
        let builder = Client::builder(server).log_level(Level::Debug);
        let mut client = if modern { builder.modern() } else { builder }.connect();
        client.call("failing", ()).await.assert_text("done");
        client.call("by-ctx", ()).await.assert_ok();
        client.take_logs().into_iter().map(|log| log.data).collect()
    })
}

#[test]
fn a_token_in_what_is_logged_can_be_taken_out_before_a_client_gets_it_log_5() {
    for modern in [false, true] {
        let told = [
            json!("401 for Authorization: Bearer (token)"),
            json!({"request": {"headers": ["(token)", 1]}}),
            json!("(token)"),
        ];
        assert_eq!(logged(server().redact_logs(without_token), modern), told);
        let whole = Value::from(logged(server(), modern)).to_string();
        assert_eq!(whole.matches(TOKEN).count(), 3, "nothing is changed unasked");
    }
}
