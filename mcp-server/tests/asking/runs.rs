//! One line of code, two eras: how a call runs, ends with a question, and runs again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_server::ask::{Asked, Field, FormValues, elicit, roots, sample};
use mcp_server::testing::{Client, Reply, block_on};
use mcp_server::{CallError, Ctx, Policy, Revision, Server, Tool, json};

use super::{ASKING, able, app};

/// Says what became of a question, in a word.
fn word(asked: &Asked<FormValues>) -> String {
    match asked {
        Asked::Accepted(values) => format!("accepted {}", values.text("name").unwrap_or("-")),
        Asked::Declined => "declined".into(),
        Asked::Cancelled => "cancelled".into(),
        Asked::TimedOut => "timed out".into(),
        Asked::Unsupported(lacking) => format!("unsupported {:?}", lacking.capabilities()),
        Asked::Failed { code, message } => format!("failed {code}: {message}"),
        _ => "?".into(),
    }
}

fn names(ctx: Ctx) -> Result<String, CallError> {
    let form = elicit("Who?").field("name", Field::text().required());
    Ok(word(&ctx.ask("name", form)?))
}

#[test]
fn the_same_line_asks_and_has_the_answer_in_every_revision_shim_5_mrtr_5_mrtr_15_elic_3() {
    for revision in ASKING {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let app = app(move |ctx: Ctx| {
            counted.fetch_add(1, Ordering::Relaxed);
            names(ctx)
        });
        block_on(async {
            let mut client = able(&app, revision)
                .on_request(move |method, params| {
                    assert_eq!((method, &params["message"]), ("elicitation/create", &json!("Who?")));
                    assert_eq!(params.get("mode").is_some(), revision > Revision::V2025_06_18, "ELIC-3");
                    json!({"action": "accept", "content": {"name": "Ada"}})
                })
                .connect();
            client.call("ask", ()).await.assert_text("accepted Ada");
        });
        assert_eq!(runs.load(Ordering::Relaxed), 2, "the code runs again from its beginning");
    }
}

#[test]
fn a_refusal_is_an_answer_and_no_error_mrtr_13_elic_5() {
    for revision in ASKING {
        for (action, said) in [("decline", "declined"), ("cancel", "cancelled")] {
            block_on(async {
                // Content is only for those who accept.
                let mut client = able(&app(names), revision)
                    .on_request(move |_, _| json!({"action": action, "content": {"name": "Eve"}}))
                    .connect();
                client.call("ask", ()).await.assert_text(said);
            });
        }
    }
}

#[test]
fn a_client_that_cannot_be_asked_is_an_answer_at_once_mrtr_4_elic_2_shim_11() {
    let form = r#"{"elicitation":{"form":{}}}"#;
    for (revision, capabilities, said) in [
        (Revision::MODERN, json!({}), format!("unsupported {:?}", Some(form))),
        (Revision::MODERN, json!({"elicitation": {"url": {}}}), format!("unsupported {:?}", Some(form))),
        (Revision::V2025_11_25, json!({}), format!("unsupported {:?}", Some(form))),
        (Revision::V2025_11_25, json!({"elicitation": {"url": {}}}), format!("unsupported {:?}", Some(form))),
        // Declared, and its revision has no such thing.
        (Revision::V2025_03_26, json!({"elicitation": {}}), "unsupported None".into()),
        (Revision::V2024_11_05, json!({"elicitation": {}}), "unsupported None".into()),
    ] {
        block_on(async {
            let never = |_: &str, _: &_| -> Reply { panic!("it must not be asked") };
            let builder = Client::builder(app(names)).revision(revision);
            let mut client = builder.capabilities(capabilities.clone()).on_request(never).connect();
            client.call("ask", ()).await.assert_text(&said);
        });
    }
}

#[test]
fn an_empty_elicitation_capability_means_forms_in_both_eras_shim_11_elic_2() {
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        block_on(async {
            let mut client = Client::builder(app(names))
                .revision(revision)
                .capabilities(json!({"elicitation": {}}))
                .on_request(|_, _| json!({"action": "accept", "content": {"name": "Ada"}}))
                .connect();
            client.call("ask", ()).await.assert_text("accepted Ada");
        });
    }
}

#[test]
fn a_required_answer_names_the_capability_that_is_missing_ver_6_shim_4_mrtr_4() {
    let app = app(|ctx: Ctx| {
        ctx.ask("sure", elicit("Sure?"))?.required()?;
        Ok::<_, CallError>("done")
    });
    block_on(async {
        let client = |revision| {
            Client::builder(&app).revision(revision).capabilities(json!({"elicitation": {"url": {}}})).connect()
        };
        let answer = client(Revision::MODERN).call("ask", ()).await;
        answer
            .assert_fault(-32021)
            .assert_at("/error/data", json!({"requiredCapabilities": {"elicitation": {"form": {}}}}));
        for legacy in [Revision::V2025_11_25, Revision::V2025_06_18] {
            let answer = client(legacy).call("ask", ()).await;
            answer.assert_error_contains("Missing required client capability");
        }
        // A person who said no is told to the model in words.
        let mut refused = able(&app, Revision::MODERN).on_request(|_, _| json!({"action": "decline"})).connect();
        refused.call("ask", ()).await.assert_error_text("The user declined.");
    });
}

#[test]
fn an_error_of_the_clients_is_an_answer_elic_11() {
    block_on(async {
        let refuse = |_: &str, _: &_| Reply::Error { code: -32602, message: "no\u{202e} forms".into() };
        let mut client = able(&app(names), Revision::V2025_11_25).on_request(refuse).connect();
        let answer = client.call("ask", ()).await;
        answer.assert_text_contains("failed -32602: no").assert_text_contains(" forms");
    });
}

#[test]
fn silence_is_an_answer_base_25() {
    block_on(async {
        let mut client = able(&app(names), Revision::V2025_11_25).on_request(|_, _| Reply::Silence).connect();
        let call = client.start("ask", ());
        client.advance(Duration::from_secs(300)).await;
        client.finish(call).await.assert_text("timed out");
    });
}

#[test]
fn answers_of_earlier_rounds_are_there_in_later_ones_mrtr_11() {
    let app = app(|ctx: Ctx| {
        let name = ctx.ask("name", elicit("Who?").field("name", Field::text().required()))?.required()?;
        let name = name.text("name").unwrap_or_default().to_owned();
        let age = ctx
            .ask("age", elicit(format!("How old, {name}?")).field("age", Field::integer().required()))?
            .required()?;
        let sure = ctx.ask("sure", elicit("Sure?"))?;
        Ok::<_, CallError>(format!("{name}, {}, {}", age.integer("age").unwrap_or_default(), word(&sure)))
    });
    for revision in ASKING {
        block_on(async {
            let mut asked = Vec::new();
            let mut client = able(&app, revision)
                .on_request(move |_, params| {
                    let message = params["message"].as_str().unwrap_or_default().to_owned();
                    assert!(!asked.contains(&message), "{message} is asked twice");
                    asked.push(message.clone());
                    match &*message {
                        "Who?" => json!({"action": "accept", "content": {"name": "Ada"}}),
                        "How old, Ada?" => json!({"action": "accept", "content": {"age": 36}}),
                        _ => json!({"action": "decline"}),
                    }
                })
                .connect();
            client.call("ask", ()).await.assert_text("Ada, 36, declined");
        });
    }
}

#[test]
fn several_questions_are_asked_in_one_round_mrtr_2() {
    let app = app(|ctx: Ctx| {
        let (name, greeting, folders) = ctx.ask_all((
            ("user_name", elicit("Who?").field("name", Field::text().required())),
            ("greeting", sample(50).user("Greet.")),
            ("client_roots", roots()),
        ))?;
        let name = name.required()?.text("name").unwrap_or_default().to_owned();
        Ok::<_, CallError>(format!("{} {name} {}", greeting.required()?.text(), folders.required()?.len()))
    });
    for revision in ASKING {
        block_on(async {
            let mut client = able(&app, revision)
                .on_request(|method, _| match method {
                    "elicitation/create" => Reply::accept(json!({"name": "Ada"})),
                    "roots/list" => Reply::roots(["file:///a", "file:///b"]),
                    _ => Reply::says("Hello"),
                })
                .connect();
            client.call("ask", ()).await.assert_text("Hello Ada 2");
        });
    }
    block_on(async {
        let answer = able(&app, Revision::MODERN).connect().call("ask", ()).await;
        let asked = answer.json()["result"]["inputRequests"].as_object().expect("questions").keys();
        assert_eq!(asked.collect::<Vec<_>>(), ["user_name", "greeting", "client_roots"]);
    });
}

#[test]
fn a_list_of_questions_has_a_list_of_answers() {
    let app = app(|ctx: Ctx| {
        let asked = ctx.ask_all((0..3).map(|n| (format!("q{n}"), elicit(format!("{n}?")))).collect::<Vec<_>>())?;
        Ok::<_, CallError>(asked.iter().map(word).collect::<Vec<_>>().join(", "))
    });
    block_on(async {
        let mut client = able(&app, Revision::MODERN)
            .on_request(|_, params| json!({"action": if params["message"] == "1?" { "cancel" } else { "decline" }}))
            .connect();
        client.call("ask", ()).await.assert_text("declined, cancelled, declined");
    });
}

#[test]
fn another_question_under_the_same_key_is_a_mistake_mrtr_3() {
    let runs = AtomicU32::new(0);
    let changing = app(move |ctx: Ctx| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        ctx.ask("sure", elicit(format!("Sure? {run}"))).map(drop)
    });
    let at_once = app(|ctx: Ctx| ctx.ask_all((("sure", elicit("Sure?")), ("sure", elicit("Really?")))).map(drop));
    let later = app(|ctx: Ctx| {
        ctx.ask("sure", elicit("Sure?"))?.required()?;
        ctx.ask("sure", elicit("Really?")).map(drop)
    });
    for app in [changing, at_once, later] {
        for revision in ASKING {
            block_on(async {
                let mut client = able(&app, revision).on_request(|_, _| json!({"action": "accept"})).connect();
                client.call("ask", ()).await.assert_error_text("The tool failed with an internal error.");
            });
        }
    }
}

#[test]
fn what_is_asked_again_after_its_answer_is_answered_at_once() {
    let app = app(|ctx: Ctx| {
        let (a, b) = (ctx.ask("sure", elicit("Sure?"))?, ctx.ask("sure", elicit("Sure?"))?);
        Ok::<_, CallError>(format!("{} {}", word(&a), word(&b)))
    });
    block_on(async {
        let mut client = able(&app, Revision::MODERN).on_request(|_, _| json!({"action": "decline"})).connect();
        client.call("ask", ()).await.assert_text("declined declined");
    });
}

#[test]
fn a_request_that_asks_without_end_is_given_up_samp_6_mrtr_12() {
    let mut policy = Policy::default();
    policy.limits.rounds = 5;
    let tool = Tool::new("ask").description("Asks.").run(|ctx: Ctx| {
        for round in 0_u64.. {
            ctx.ask(&format!("q{round}"), sample(1).user("And now?"))?.required()?;
        }
        Ok::<_, CallError>("never")
    });
    let app = Server::new("asks", "1.0.0").policy(policy).tool(tool).build().unwrap();
    for revision in Revision::ALL {
        block_on(async {
            let says = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Go on"}});
            let mut client = able(&app, revision).on_request(move |_, _| says.clone()).connect();
            client.call("ask", ()).await.assert_fault(-32603).assert_fault_contains("it asked its client");
        });
    }
}

#[test]
fn extractors_ask_as_well() {
    struct Name(String);
    impl mcp_server::Extract for Name {
        fn extract(ctx: &Ctx) -> Result<Self, CallError> {
            let form = elicit("Who?").field("name", Field::text().required());
            Ok(Self(ctx.ask("name", form)?.required()?.text("name").unwrap_or_default().into()))
        }
    }
    let greet = Tool::new("greet").description("Greets.").run(|Name(name): Name| format!("Hello, {name}!"));
    let app = Server::new("asks", "1.0.0").tool(greet).build().unwrap();
    for revision in ASKING {
        block_on(async {
            let answer = |_: &str, _: &_| json!({"action": "accept", "content": {"name": "Ada"}});
            let mut client = able(&app, revision).on_request(answer).connect();
            client.call("greet", ()).await.assert_text("Hello, Ada!");
        });
    }
}

#[cfg(feature = "http")]
#[tokio::test]
async fn a_legacy_client_without_a_session_is_told_at_once_that_nobody_can_be_asked_case_97() {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;

    let ask = Tool::new("ask").description("Asks.").run(names);
    let server = Server::new("asks", "1.0.0").sessions(false).tool(ask);
    let service = server.build().expect("it can be built").http_service().expect("and served");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask"}});
    let request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-11-25")
        .body(Body::from(body.to_string()))
        .expect("a request");
    let response = service.handle(request).await;
    let body = to_bytes(Body::new(response.into_body()), 1 << 16).await.expect("it ends by itself");
    assert!(String::from_utf8_lossy(&body).contains("unsupported"), "{body:?}");
}

#[test]
fn answers_are_kept_though_code_asks_in_another_order_in_each_run_mrtr_11() {
    for revision in ASKING {
        let (runs, asked) = (AtomicU32::new(0), Arc::new(AtomicU32::new(0)));
        let app = app(move |ctx: Ctx| {
            let turned = runs.fetch_add(1, Ordering::Relaxed) % 2 == 1;
            for key in if turned { ["c", "b", "a"] } else { ["a", "b", "c"] } {
                ctx.ask(key, elicit(key))?.required()?;
            }
            Ok::<_, CallError>("done")
        });
        let counted = Arc::clone(&asked);
        block_on(async {
            let mut client = able(&app, revision)
                .on_request(move |_, _| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    json!({"action": "accept"})
                })
                .connect();
            client.call("ask", ()).await.assert_text("done");
        });
        assert_eq!(asked.load(Ordering::Relaxed), 3, "each is asked once");
    }
}

#[test]
fn answers_that_are_too_long_to_keep_are_told_as_such() {
    let app = app(|ctx: Ctx| {
        let said = ctx.ask("a", elicit("A?").field("name", Field::text()))?.required()?;
        ctx.ask("b", elicit("B?"))?.required()?;
        Ok::<_, CallError>(said.text("name").unwrap_or_default().len())
    });
    for revision in ASKING {
        block_on(async {
            let answer = json!({"action": "accept", "content": {"name": "x".repeat(200_000)}});
            let mut client = able(&app, revision).on_request(move |_, _| answer.clone()).connect();
            client.call("ask", ()).await.assert_error_contains("too long to be kept");
        });
    }
}
