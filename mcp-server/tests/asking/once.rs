//! What makes it safe that code runs again: effects that happen once, data that is kept, states that are good for one use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_server::ask::{RecentStates, elicit};
use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{App, CallError, Ctx, Policy, Revision, Server, Tool, Value, json};
use serde::{Deserialize, Serialize};

use super::{ASKING, able, app};

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Order {
    number: u64,
    items: Vec<String>,
}

#[test]
fn an_effect_happens_once_over_all_runs_mrtr_11() {
    for revision in ASKING {
        let effects = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&effects);
        let app = app(move |ctx: Ctx| {
            let effects = Arc::clone(&counted);
            async move {
                let order: Order = ctx
                    .once("order", async {
                        tokio::task::yield_now().await;
                        let number = u64::from(effects.fetch_add(1, Ordering::Relaxed)) + (1 << 60);
                        Order { number, items: vec!["é\"\n".into()] }
                    })
                    .await?;
                ctx.ask("sure", elicit(format!("Order {}?", order.number)))?.required()?;
                let more: u32 = ctx.once("more", async { effects.fetch_add(1, Ordering::Relaxed) }).await?;
                ctx.ask("really", elicit("Really?"))?.required()?;
                Ok::<_, CallError>(format!("{} {more} {:?}", order.number, order.items))
            }
        });
        block_on(async {
            let mut client = able(&app, revision).on_request(|_, _| json!({"action": "accept"})).connect();
            client.call("ask", ()).await.assert_text(r#"1152921504606846976 1 ["é\"\n"]"#);
        });
        assert_eq!(effects.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn what_failed_is_tried_again_and_what_succeeded_is_not() {
    let tries = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&tries);
    let app = app(move |ctx: Ctx| {
        let tries = Arc::clone(&counted);
        async move {
            let reserve = async {
                match tries.fetch_add(1, Ordering::Relaxed) {
                    0 => Err("sold out"),
                    n => Ok(n),
                }
            };
            let reserved: Result<u32, CallError> = ctx.try_once("reserve", reserve).await;
            ctx.ask("sure", elicit("Sure?"))?.required()?;
            let kept: Result<u32, CallError> = ctx.try_once("reserve", async { Err("not run") }).await;
            Ok::<_, CallError>(format!("{} {}", reserved?, kept?))
        }
    });
    block_on(async {
        let mut client = able(&app, Revision::MODERN).on_request(|_, _| json!({"action": "accept"})).connect();
        client.call("ask", ()).await.assert_text("1 1");
    });
}

#[test]
fn code_that_is_not_asynchronous_has_it_as_well() {
    let effects = AtomicU32::new(0);
    let app = app(move |ctx: Ctx| {
        let number: u32 = ctx.once_blocking("n", || effects.fetch_add(1, Ordering::Relaxed))?;
        ctx.ask("sure", elicit("Sure?"))?.required()?;
        Ok::<_, CallError>(number)
    });
    block_on(async {
        let mut client = able(&app, Revision::MODERN).on_request(|_, _| json!({"action": "accept"})).connect();
        client.call("ask", ()).await.assert_text("0");
        client.call("ask", ()).await.assert_text("1");
    });
}

#[test]
fn data_is_kept_over_runs_mrtr_11() {
    let app = app(|ctx: Ctx| {
        let seen: Vec<u32> = ctx.kept()?.unwrap_or_default();
        let seen = [seen, vec![7]].concat();
        ctx.keep(&seen)?;
        assert_eq!(ctx.kept::<Vec<u32>>()?.as_ref(), Some(&seen), "also in the same run");
        ctx.ask("a", elicit("A?"))?.required()?;
        ctx.ask("b", elicit("B?"))?.required()?;
        Ok::<_, CallError>(format!("{seen:?}"))
    });
    for revision in ASKING {
        block_on(async {
            let mut client = able(&app, revision).on_request(|_, _| json!({"action": "accept"})).connect();
            client.call("ask", ()).await.assert_text("[7, 7, 7]");
            client.call("ask", ()).await.assert_text("[7, 7, 7]");
        });
    }
}

#[test]
fn what_is_kept_has_a_size_and_a_type() {
    let size = |bytes: usize| {
        move |ctx: Ctx| {
            ctx.keep(&"x".repeat(bytes))?;
            ctx.ask("a", elicit("A?"))?.required()?;
            Ok::<_, CallError>(ctx.kept::<String>()?.unwrap_or_default().len())
        }
    };
    let mut policy = Policy::default();
    policy.limits.state = 1000;
    for (bytes, fits) in [(800, true), (1000, false)] {
        let tool = Tool::new("ask").description("Asks.").run(size(bytes));
        let app = Server::new("asks", "1.0.0").policy(policy.clone()).tool(tool).build().unwrap();
        for revision in ASKING {
            block_on(async {
                let mut client = able(&app, revision).on_request(|_, _| json!({"action": "accept"})).connect();
                let answer = client.call("ask", ()).await;
                if fits {
                    answer.assert_text(bytes.to_string())
                } else {
                    answer.assert_error_contains("internal error")
                };
            });
        }
    }
    let of_another_type = app(|ctx: Ctx| {
        ctx.keep(&7)?;
        Ok::<_, CallError>(ctx.kept::<String>()?.unwrap_or_default())
    });
    block_on(Client::new(&of_another_type).call("ask", ())).assert_error_contains("internal error");
}

#[test]
fn code_that_never_asks_may_keep_what_it_likes() {
    let app = app(async |ctx: Ctx| {
        ctx.keep(&1)?;
        ctx.one_time().await?;
        let n: u32 = ctx.once("n", async { 5 }).await?;
        Ok::<_, CallError>(n)
    });
    for revision in Revision::ALL {
        block_on(async {
            able(&app, revision).connect().call("ask", ()).await.assert_text("5");
        });
    }
}

/// Pays once it is sure; `step` asks twice.
async fn pay(ctx: Ctx) -> Result<&'static str, CallError> {
    ctx.ask("sure", elicit("Sure?"))?.required()?;
    ctx.ask("really", elicit("Really?"))?.required()?;
    ctx.one_time().await?;
    Ok("Paid.")
}

fn shop() -> App {
    app(pay)
}

/// Sends a call of `ask` again with that state and those answers.
async fn again(client: &mut Client, state: &Value, answers: Value) -> Answer {
    client.request("tools/call", json!({"name": "ask", "requestState": state, "inputResponses": answers})).await
}

fn state_of(answer: &Answer) -> Value {
    answer.assert_at("/result/resultType", "input_required");
    answer.json()["result"]["requestState"].clone()
}

#[test]
fn a_one_time_state_is_refused_the_second_time_mrtr_10_case_116() {
    let app = shop();
    block_on(async {
        let mut client = able(&app, Revision::MODERN).connect();
        let (yes, really) = (json!({"sure": {"action": "accept"}}), json!({"really": {"action": "accept"}}));
        let first = state_of(&client.call("ask", ()).await);
        let second = state_of(&again(&mut client, &first, yes.clone()).await);
        // Nothing was used up yet: a client whose connection broke may come again.
        let other = state_of(&again(&mut client, &first, yes).await);
        again(&mut client, &second, really.clone()).await.assert_text("Paid.");
        for replayed in [&second, &other] {
            let answer = again(&mut client, replayed, really.clone()).await;
            answer.assert_fault(-32602).assert_fault_contains("used before");
        }
        // A new request has states of its own.
        let first = state_of(&client.call("ask", ()).await);
        let both = json!({"sure": {"action": "accept"}, "really": {"action": "accept"}});
        let second = state_of(&again(&mut client, &first, both).await);
        again(&mut client, &second, really).await.assert_text("Paid.");
    });
}

#[test]
fn a_state_may_be_used_up_before_each_question_mrtr_10() {
    let app = app(async |ctx: Ctx| {
        ctx.one_time().await?;
        ctx.ask("sure", elicit("Sure?"))?.required()?;
        ctx.one_time().await?;
        ctx.ask("really", elicit("Really?"))?.required()?;
        Ok::<_, CallError>("Paid.")
    });
    block_on(async {
        let mut client = able(&app, Revision::MODERN).connect();
        let yes = |key: &str| json!({key: {"action": "accept"}});
        let first = state_of(&client.call("ask", ()).await);
        let second = state_of(&again(&mut client, &first, yes("sure")).await);
        again(&mut client, &first, yes("sure")).await.assert_fault(-32602);
        again(&mut client, &second, yes("really")).await.assert_text("Paid.");
        again(&mut client, &second, yes("really")).await.assert_fault(-32602);
        // A client that is asked does all that by itself, in every revision.
        for revision in ASKING {
            let mut client = able(&app, revision).on_request(|_, _| json!({"action": "accept"})).connect();
            client.call("ask", ()).await.assert_text("Paid.");
            client.call("ask", ()).await.assert_text("Paid.");
        }
    });
}

#[test]
fn servers_that_share_what_was_used_up_refuse_it_together_mrtr_6_mrtr_10() {
    #[derive(Debug)]
    struct Shared(Arc<RecentStates>);
    impl mcp_server::ask::UsedStates for Shared {
        fn claim<'a>(&'a self, name: &'a str, keep: std::time::Duration) -> mcp_server::ask::Claim<'a> {
            self.0.claim(name, keep)
        }
    }
    let states = Arc::new(RecentStates::default());
    let server = || {
        let tool = Tool::new("ask").description("Asks.").run(pay);
        let server = Server::new("asks", "1.0.0").seal(mcp_server::Keys::new([3; 32])).tool(tool);
        server.used_states(Shared(Arc::clone(&states))).build().unwrap()
    };
    block_on(async {
        let (mut one, mut other) =
            (able(&server(), Revision::MODERN).connect(), able(&server(), Revision::MODERN).connect());
        let first = state_of(&one.call("ask", ()).await);
        let second = state_of(&again(&mut other, &first, json!({"sure": {"action": "accept"}})).await);
        again(&mut one, &second, json!({"really": {"action": "accept"}})).await.assert_text("Paid.");
        again(&mut other, &second, json!({"really": {"action": "accept"}})).await.assert_fault(-32602);
    });
}

#[test]
fn a_store_that_fails_fails_the_call() {
    let tool = Tool::new("ask").description("Asks.").run(pay);
    let app = Server::new("asks", "1.0.0").used_states(RecentStates::new(0)).tool(tool).build().unwrap();
    block_on(async {
        let mut client = able(&app, Revision::MODERN).on_request(|_, _| json!({"action": "accept"})).connect();
        client.call("ask", ()).await.assert_error_contains("internal error");
    });
}

#[test]
fn two_effects_under_one_key_at_the_same_time_are_a_defect_that_is_told() {
    let app = app(async |ctx: Ctx| {
        let slow = ctx.once("n", async {
            tokio::task::yield_now().await;
            1
        });
        let (slow, fast): (Result<u32, CallError>, Result<u32, CallError>) =
            tokio::join!(slow, ctx.once("n", async { 2 }));
        Ok::<_, CallError>(format!("{} {}", fast?, slow.is_err()))
    });
    block_on(async {
        able(&app, Revision::MODERN).connect().call("ask", ()).await.assert_text("2 true");
    });
}
