//! What a client of 2026-07-28 may send back, and what it may not.

use std::time::Duration;

use mcp_server::ask::{Asked, Field, elicit};
use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{App, CallError, Ctx, Keys, Revision, Server, Tool, Value, json};

use super::able;

fn greet(ctx: Ctx) -> Result<String, CallError> {
    let form = elicit("Who?").field("name", Field::text().max_length(9).required());
    Ok(match ctx.ask("name", form)? {
        Asked::Accepted(values) => format!("Hello, {}!", values.text("name").unwrap_or_default()),
        Asked::Failed { code, message } => format!("failed {code}: {message}"),
        other => format!("{other:?}"),
    })
}

fn served(keys: Keys) -> App {
    let other = Tool::new("other").description("Asks the same.").run(greet);
    let tool = Tool::new("ask").description("Asks.").run(greet);
    Server::new("asks", "1.0.0").seal(keys).tool(tool).tool(other).build().unwrap()
}

async fn again(client: &mut Client, tool: &str, state: &Value, answers: Value) -> Answer {
    client.request("tools/call", json!({"name": tool, "requestState": state, "inputResponses": answers})).await
}

fn state_of(answer: &Answer) -> Value {
    answer
        .assert_at("/result/resultType", "input_required")
        .assert_at("/result/inputRequests/name/method", "elicitation/create");
    answer.json()["result"]["requestState"].clone()
}

fn ada() -> Value {
    json!({"name": {"action": "accept", "content": {"name": "Ada"}}})
}

#[test]
fn an_answer_that_does_not_fit_is_asked_for_once_more_and_never_handed_on_elic_6_mrtr_7() {
    for wrong in [
        json!({"action": "accept"}),
        json!({"action": "accept", "content": null}),
        json!({"action": "accept", "content": []}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"name": 7}}),
        json!({"action": "accept", "content": {"name": "much too long"}}),
        json!({"action": "accept", "content": {"name": null}}),
        json!({"action": "ACCEPT", "content": {"name": "Ada"}}),
        json!({"action": true}),
        json!({"roots": []}),
        json!({}),
    ] {
        block_on(async {
            let mut client = able(&served(Keys::new([1; 32])), Revision::MODERN).connect();
            let first = state_of(&client.call("ask", ()).await);
            let second = state_of(&again(&mut client, "ask", &first, json!({"name": wrong})).await);
            again(&mut client, "ask", &second, ada()).await.assert_text("Hello, Ada!");
            again(&mut client, "ask", &second, json!({"name": wrong})).await.assert_text_contains("failed -32602: ");
        });
        for legacy in [Revision::V2025_06_18, Revision::V2025_11_25] {
            block_on(async {
                let mut asked = 0;
                let answer = wrong.clone();
                let mut client = able(&served(Keys::new([1; 32])), legacy)
                    .on_request(move |_, _| {
                        asked += 1;
                        assert!(asked <= 2, "it is asked again once");
                        answer.clone()
                    })
                    .connect();
                client.call("ask", ()).await.assert_text_contains("failed -32602: ");
            });
        }
    }
}

#[test]
fn what_was_not_asked_for_is_not_looked_at_mrtr_7() {
    block_on(async {
        let mut client = able(&served(Keys::new([1; 32])), Revision::MODERN).connect();
        // Before anything was asked, and under another name.
        let answer = client.request("tools/call", json!({"name": "ask", "inputResponses": ada()})).await;
        let first = state_of(&answer);
        let more = json!({"name": ada()["name"], "extra": {"action": "accept"}, "": {}});
        again(&mut client, "ask", &first, more).await.assert_text("Hello, Ada!");
    });
}

#[test]
fn an_answer_that_is_missing_is_asked_for_again_and_not_for_ever_mrtr_7_mrtr_12() {
    block_on(async {
        let mut client = able(&served(Keys::new([1; 32])), Revision::MODERN).connect();
        let first = state_of(&client.call("ask", ()).await);
        let second = state_of(&again(&mut client, "ask", &first, json!({"wrong": {}})).await);
        let third = state_of(&again(&mut client, "ask", &second, json!({})).await);
        again(&mut client, "ask", &third, ada()).await.assert_text("Hello, Ada!");
        again(&mut client, "ask", &third, json!({})).await.assert_text("TimedOut");
    });
}

#[test]
fn a_state_is_for_one_caller_one_tool_its_arguments_and_a_while_mrtr_8_mrtr_9_elic_9() {
    let app = served(Keys::new([1; 32]));
    block_on(async {
        let mut client = able(&app, Revision::MODERN).principal("ada").connect();
        let state = state_of(&client.call("ask", ()).await);
        for principal in [Some("bob"), None] {
            let builder = able(&app, Revision::MODERN);
            let mut other = match principal {
                Some(id) => builder.principal(id),
                None => builder,
            }
            .connect();
            again(&mut other, "ask", &state, ada()).await.assert_fault(-32602);
        }
        again(&mut client, "other", &state, ada()).await.assert_fault(-32602);
        let request = json!({"name": "ask", "arguments": {"x": 1}, "requestState": state, "inputResponses": ada()});
        client.request("tools/call", request).await.assert_fault(-32602);
        let text = state.as_str().unwrap();
        let flipped = format!("{}{}", &text[..text.len() - 1], if text.ends_with('A') { 'B' } else { 'A' });
        again(&mut client, "ask", &flipped.into(), ada()).await.assert_fault(-32602);
        client.advance(Duration::from_secs(599)).await;
        again(&mut client, "ask", &state, ada()).await.assert_text("Hello, Ada!");
        client.advance(Duration::from_secs(1)).await;
        again(&mut client, "ask", &state, ada()).await.assert_fault(-32602);
    });
}

#[test]
fn a_retry_may_go_to_another_server_and_keys_may_be_rotated_meanwhile_mrtr_6() {
    let (old, new) = ([1; 32], [2; 32]);
    block_on(async {
        let mut client = able(&served(Keys::new(old)), Revision::MODERN).connect();
        let state = state_of(&client.call("ask", ()).await);
        let mut rotated = able(&served(Keys::new(new).and_retired(old)), Revision::MODERN).connect();
        again(&mut rotated, "ask", &state, ada()).await.assert_text("Hello, Ada!");
        let mut later = able(&served(Keys::new(new)), Revision::MODERN).connect();
        again(&mut later, "ask", &state, ada()).await.assert_fault(-32602);
    });
}

#[test]
fn what_this_run_asks_is_not_answered_by_what_came_with_it_mrtr_7() {
    // It lets the error go, and asks again.
    fn careless(ctx: Ctx) -> Result<String, CallError> {
        ctx.ask("name", elicit("Name?"))?.required()?;
        let _ = ctx.ask("pay", elicit("Pay?"));
        let _ = ctx.ask("other", elicit("Other?"));
        Ok(format!("{:?}", ctx.ask("pay", elicit("Pay?"))?))
    }
    let tool = Tool::new("ask").description("Asks.").run(careless);
    let app = Server::new("asks", "1.0.0").tool(tool).build().unwrap();
    block_on(async {
        let mut client = able(&app, Revision::MODERN).connect();
        let first = state_of(&client.call("ask", ()).await);
        let beforehand = json!({"name": {"action": "accept"}, "pay": {"action": "accept"}});
        let second = again(&mut client, "ask", &first, beforehand).await;
        second.assert_at("/result/inputRequests/pay/params/message", "Pay?");
    });
}
