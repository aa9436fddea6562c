//! Prompts and resources ask as tools do; completions ask nobody.

use mcp_server::ask::{Asked, Field, elicit};
use mcp_server::testing::{Client, block_on};
use mcp_server::{App, CallError, Ctx, Prompt, Resource, Revision, Server, json};

use super::{ASKING, able};

fn who(ctx: &Ctx) -> Result<String, CallError> {
    let values = ctx.ask("who", elicit("Who?").field("name", Field::text().required()))?.required()?;
    Ok(values.text("name").unwrap_or_default().to_owned())
}

fn served() -> App {
    let greeting = Resource::new("note://greeting")
        .name("greeting")
        .run(|ctx: Ctx| Ok::<_, CallError>(format!("Hello, {}!", who(&ctx)?)));
    let greet = Prompt::new("greet").run(|ctx: Ctx| Ok::<_, CallError>(format!("Greet {}.", who(&ctx)?)));
    Server::new("asks", "1.0.0").resource(greeting).prompt(greet).build().unwrap()
}

#[test]
fn a_prompt_and_a_resource_ask_in_the_same_line_mrtr_1_mrtr_15_mrtr_16_shim_5() {
    let app = served();
    for revision in ASKING {
        block_on(async {
            let ada = |_: &str, _: &_| json!({"action": "accept", "content": {"name": "Ada"}});
            let mut client = able(&app, revision).on_request(ada).connect();
            let answer = client.request("prompts/get", json!({"name": "greet"})).await;
            answer.assert_at("/result/messages/0/content/text", "Greet Ada.");
            let answer = client.request("resources/read", json!({"uri": "note://greeting"})).await;
            answer.assert_at("/result/contents/0/text", "Hello, Ada!");
            if revision == Revision::MODERN {
                answer.assert_at("/result/ttlMs", 0).assert_at("/result/cacheScope", "private");
            }
        });
    }
    block_on(async {
        let mut client = able(&app, Revision::MODERN).connect();
        for (method, params) in
            [("prompts/get", json!({"name": "greet"})), ("resources/read", json!({"uri": "note://greeting"}))]
        {
            let answer = client.request(method, params).await;
            answer
                .assert_at("/result/resultType", "input_required")
                .assert_at("/result/inputRequests/who/params/message", "Who?");
        }
    });
}

#[test]
fn a_capability_that_a_prompt_needs_is_named_ver_6_shim_4() {
    let app = served();
    block_on(async {
        let answer = Client::builder(&app).modern().connect().request("prompts/get", json!({"name": "greet"})).await;
        answer.assert_fault(-32021).assert_at("/error/data/requiredCapabilities", json!({"elicitation": {"form": {}}}));
        let answer = Client::new(&app).request("prompts/get", json!({"name": "greet"})).await;
        answer.assert_fault(-32602).assert_fault_contains("elicitation");
    });
}

#[test]
fn a_completion_asks_nobody_mrtr_1() {
    let prompt = Prompt::new("greet").required("name", "Whom").complete("name", |ctx: Ctx, _: String| {
        let asked = ctx.ask("who", elicit("Who?"))?;
        Ok::<_, CallError>(vec![if matches!(asked, Asked::Unsupported(_)) { "nobody" } else { "somebody" }.to_owned()])
    });
    let app = Server::new("asks", "1.0.0").prompt(prompt.run(|ctx: Ctx| ctx.tool().to_owned())).build().unwrap();
    block_on(async {
        let mut client = able(&app, Revision::MODERN).on_request(|_, _| json!({"action": "accept"})).connect();
        let params = json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "name", "value": ""}});
        client.request("completion/complete", params).await.assert_at("/result/completion/values", json!(["nobody"]));
    });
}
