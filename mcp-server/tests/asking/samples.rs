//! Asking the client's model.

use mcp_server::ask::{Ask, Asked, IncludeContext, Part, Sample, SamplingTool, StopReason, ToolChoice, sample};
use mcp_server::testing::{Client, Reply, block_on};
use mcp_server::{Ability, App, CallError, Ctx, Revision, Role, Value, json};

use super::{able, app};

/// The params that a client of that revision with those capabilities is asked with.
fn asked(app: &App, revision: Revision, capabilities: Value) -> Value {
    let (send, heard) = std::sync::mpsc::channel();
    block_on(async {
        let mut client = Client::builder(app)
            .revision(revision)
            .capabilities(capabilities)
            .on_request(move |_, params| {
                send.send(params.clone()).unwrap();
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}})
            })
            .connect();
        client.call("ask", ()).await.assert_text("Hi");
    });
    heard.recv().expect("it was asked")
}

fn asking(question: fn() -> Sample) -> App {
    app(move |ctx: Ctx| Ok::<_, CallError>(ctx.ask("q", question())?.required()?.text()))
}

#[test]
fn everything_that_can_be_said_is_said_in_the_protocols_words_samp_1() {
    let app = asking(|| {
        sample(100)
            .system("Be brief.")
            .user("Who am I?")
            .assistant("Ada.")
            .user([Part::text("And this?"), Part::image(&b"\x00\xff"[..], "image/png")])
            .temperature(0.5)
            .stop("END")
            .metadata(json!({"x": 1}))
            .hint("claude")
            .hint("sonnet")
            .cost_priority(0.0)
            .speed_priority(0.5)
            .intelligence_priority(1.0)
    });
    let newer = json!({
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "Who am I?"}},
            {"role": "assistant", "content": {"type": "text", "text": "Ada."}},
            {"role": "user", "content": [
                {"type": "text", "text": "And this?"}, {"type": "image", "data": "AP8=", "mimeType": "image/png"},
            ]},
        ],
        "maxTokens": 100,
        "modelPreferences": {
            "costPriority": 0.0, "speedPriority": 0.5, "intelligencePriority": 1.0,
            "hints": [{"name": "claude"}, {"name": "sonnet"}],
        },
        "systemPrompt": "Be brief.",
        "temperature": 0.5,
        "metadata": {"x": 1},
        "stopSequences": ["END"],
    });
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        assert_eq!(asked(&app, revision, json!({"sampling": {}})), newer);
    }
    // Older ones take one block for each message (SAMP-2).
    let mut older = newer;
    older["messages"] = json!([
        {"role": "user", "content": {"type": "text", "text": "Who am I?"}},
        {"role": "assistant", "content": {"type": "text", "text": "Ada."}},
        {"role": "user", "content": {"type": "text", "text": "And this?"}},
        {"role": "user", "content": {"type": "image", "data": "AP8=", "mimeType": "image/png"}},
    ]);
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18] {
        assert_eq!(asked(&app, revision, json!({"sampling": {}})), older);
    }
}

#[test]
fn sound_is_words_to_a_client_of_2024_11_05_samp_2() {
    let app = asking(|| sample(1).user(Part::audio(&b"x"[..], "audio/wav")));
    let content = |revision| asked(&app, revision, json!({"sampling": {}}))["messages"][0]["content"].clone();
    assert_eq!(content(Revision::V2025_03_26), json!({"type": "audio", "data": "eA==", "mimeType": "audio/wav"}));
    assert_eq!(content(Revision::V2024_11_05)["type"], "text");
}

#[test]
fn context_is_included_only_where_it_was_declared_samp_3() {
    let app = asking(|| sample(1).user("?").include_context(IncludeContext::ThisServer));
    let context = |revision, sampling: Value| {
        let params = asked(&app, revision, json!({"sampling": sampling}));
        params.get("includeContext").cloned()
    };
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        assert_eq!(context(revision, json!({})), None);
        assert_eq!(context(revision, json!({"context": {}})), Some(json!("thisServer")));
    }
    assert_eq!(context(Revision::V2025_06_18, json!({})), Some(json!("thisServer")), "nobody could declare it then");
}

fn weather() -> SamplingTool {
    SamplingTool::new(
        "weather",
        "Tells the weather.",
        json!({"type": "object", "properties": {"at": {"type": "string"}}}),
    )
}

#[test]
fn tools_need_their_own_capability_samp_3_mrtr_4() {
    let app = asking(|| sample(1).user("?").tool(weather()).tool_choice(ToolChoice::Required));
    block_on(async {
        let mut client = Client::builder(&app).modern().can(Ability::Sampling).connect();
        let answer = client.call("ask", ()).await;
        answer.assert_fault(-32021).assert_at("/error/data/requiredCapabilities", json!({"sampling": {"tools": {}}}));
        let mut legacy = Client::builder(&app).can(Ability::Sampling).connect();
        legacy.call("ask", ()).await.assert_error_contains("sampling");
        // 2025-06-18 has no such thing, whatever a client declares.
        let mut older = able(&app, Revision::V2025_06_18).connect();
        older.call("ask", ()).await.assert_error();
    });
    let params = asked(&app, Revision::MODERN, json!({"sampling": {"tools": {}}}));
    assert_eq!(params["tools"][0]["name"], "weather");
    assert_eq!(params["toolChoice"], json!({"mode": "required"}));
}

#[test]
fn without_sampling_nothing_is_sampled_samp_1() {
    let app = asking(|| sample(1).user("?"));
    block_on(async {
        let answer = Client::builder(&app).modern().connect().call("ask", ()).await;
        answer.assert_fault(-32021).assert_at("/error/data/requiredCapabilities", json!({"sampling": {}}));
        Client::builder(&app).connect().call("ask", ()).await.assert_error_contains("sampling");
    });
}

#[test]
fn a_tool_is_used_over_several_rounds_samp_2_samp_4_samp_6() {
    let app = app(|ctx: Ctx| {
        let mut question = sample(100).user("How is the weather in Rome?").tool(weather());
        for round in 0..3 {
            let said = ctx.ask(&format!("turn {round}"), question.clone())?.required()?;
            if said.stop_reason != Some(StopReason::ToolUse) {
                return Ok(format!("{} after {round} rounds, by {}", said.text(), said.model));
            }
            let results: Vec<_> = said
                .tool_uses()
                .map(|used| match used.input["at"].as_str() {
                    Some(at) => used.result(format!("Sunny in {at}")).structured(json!({"sun": true})),
                    None => used.error("Where?"),
                })
                .collect();
            question = question.used(&said, results);
        }
        Err(CallError::new("The model uses tools without end."))
    });
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        block_on(async {
            let mut client = able(&app, revision)
                .on_request(|_, params| match params["messages"].as_array().map(Vec::len) {
                    Some(1) => json!({"role": "assistant", "model": "m", "stopReason": "toolUse", "content": [
                        {"type": "text", "text": "Let me see."},
                        {"type": "tool_use", "id": "1", "name": "weather", "input": {"at": "Rome"}},
                        {"type": "tool_use", "id": "2", "name": "weather", "input": {}},
                    ]}),
                    _ => {
                        assert_eq!(params["messages"][2], json!({"role": "user", "content": [
                            {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "Sunny in Rome"}],
                             "structuredContent": {"sun": true}},
                            {"type": "tool_result", "toolUseId": "2", "content": [{"type": "text", "text": "Where?"}], "isError": true},
                        ]}));
                        json!({"role": "assistant", "model": "m", "stopReason": "endTurn", "content": {"type": "text", "text": "Sunny"}})
                    }
                })
                .connect();
            client.call("ask", ()).await.assert_text("Sunny after 1 rounds, by m");
        });
    }
    // The loop has its limit.
    block_on(async {
        let mut client = able(&app, Revision::MODERN)
            .on_request(|_, _| {
                json!({"role": "assistant", "model": "m", "stopReason": "toolUse", "content": {
                    "type": "tool_use", "id": "1", "name": "weather", "input": {},
                }})
            })
            .connect();
        client.call("ask", ()).await.assert_error_text("The model uses tools without end.");
    });
}

#[test]
fn messages_that_break_the_rules_of_tools_are_never_sent_samp_1_samp_4() {
    let used = || -> mcp_server::ask::Sampled {
        let text = json!({"role": "assistant", "model": "m", "content": {"type": "tool_use", "id": "1", "name": "t", "input": {}}}).to_string();
        match sample(1).read(text.as_bytes()) {
            mcp_server::ask::Said::Accepted(sampled) => sampled,
            other => panic!("{other:?}"),
        }
    };
    let result = || Part::ToolResult(used().tool_uses().next().unwrap().result("done"));
    let asked = |sample: Sample| sample.question(None).map(drop).map_err(|error| error[..6].to_owned());
    let wrong = |rule: &str| Err(rule.to_owned());
    assert_eq!(asked(sample(1).user("?").used(&used(), [used().tool_uses().next().unwrap().result("done")])), Ok(()));
    assert_eq!(asked(sample(0).user("?")), wrong("SAMP-1"));
    assert_eq!(asked(sample(1)), wrong("SAMP-1"));
    assert_eq!(asked(sample(1).user(vec![])), wrong("SAMP-1"));
    assert_eq!(asked(sample(1).user("?").tool(SamplingTool::new("t", "", json!({})))), wrong("SAMP-1"));
    assert_eq!(asked(sample(1).user("?").assistant(used().content)), wrong("SAMP-4"));
    assert_eq!(asked(sample(1).user("?").assistant(used().content).user("well?")), wrong("SAMP-4"));
    assert_eq!(asked(sample(1).user([result(), Part::text("and")])), wrong("SAMP-4"));
    assert_eq!(asked(sample(1).user(result())), wrong("SAMP-4"));
    assert_eq!(asked(sample(1).assistant(used().content).user([result(), Part::text("and")])), wrong("SAMP-4"));
    assert_eq!(asked(sample(1).assistant(used().content).user([result(), result()])), wrong("SAMP-4"));
    assert_eq!(asked(sample(1).assistant(used().content).message(Role::Assistant, result())), wrong("SAMP-4"));
    for odd in [
        sample(1).user("?").temperature(f64::NAN),
        sample(1).user("?").cost_priority(1.5),
        sample(1).user("?").metadata(json!(1)),
    ] {
        assert!(odd.question(None).is_err());
    }
}

#[test]
fn a_person_who_rejects_a_sample_has_declined_samp_5() {
    let app = app(|ctx: Ctx| {
        Ok::<_, CallError>(match ctx.ask("q", sample(1).user("?"))? {
            Asked::Declined => "declined".to_owned(),
            other => format!("{other:?}"),
        })
    });
    for revision in [Revision::V2024_11_05, Revision::V2025_11_25] {
        for (code, said) in [(-1, "declined"), (-32601, "Failed { code: -32601"), (-32602, "Failed { code: -32602")] {
            block_on(async {
                let refuse = move |_: &str, _: &_| match code {
                    -1 => Reply::reject(),
                    code => Reply::Error { code, message: "no".into() },
                };
                let mut client = able(&app, revision).on_request(refuse).connect();
                client.call("ask", ()).await.assert_text_contains(said);
            });
        }
    }
}

#[test]
fn what_a_model_says_is_read_in_both_shapes_and_what_is_no_answer_is_not_samp_2_samp_6() {
    let app = app(|ctx: Ctx| {
        Ok::<_, CallError>(match ctx.ask("q", sample(1).user("?"))? {
            Asked::Accepted(said) => format!("{:?} {:?}", said.content, said.stop_reason),
            Asked::Failed { message, .. } => message,
            other => format!("{other:?}"),
        })
    });
    let say = |revision: Revision, result: Value| {
        block_on(async {
            able(&app, revision).on_request(move |_, _| result.clone()).connect().call("ask", ()).await.text()
        })
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let said = |content: Value, reason: &str| json!({"role": "assistant", "model": "m", "content": content, "stopReason": reason});
    for revision in Revision::ALL {
        assert_eq!(say(revision, said(text("a"), "maxTokens")), r#"[Text("a")] Some(MaxTokens)"#);
        assert_eq!(
            say(revision, said(json!([text("a"), text("b")]), "odd")),
            r#"[Text("a"), Text("b")] Some(Other("odd"))"#
        );
    }
    let image = json!({"type": "image", "data": "eA==", "mimeType": "image/png"});
    assert!(say(Revision::MODERN, said(image, "stopSequence")).contains("Image"));
    assert!(say(Revision::MODERN, said(json!({"type": "new", "x": 1}), "endTurn")).contains("Other"));
    for wrong in [
        json!({}),
        json!({"role": "system", "model": "m", "content": text("a")}),
        json!({"role": "assistant", "content": text("a")}),
        json!({"role": "assistant", "model": "m"}),
        json!({"role": "assistant", "model": "m", "content": "a"}),
        json!({"role": "assistant", "model": "m", "content": {"type": "text"}}),
        json!({"role": "assistant", "model": "m", "content": {"type": "image", "data": "?", "mimeType": "image/png"}}),
        json!({"role": "assistant", "model": "m", "content": {"type": "tool_use", "id": "1", "name": "t", "input": "x"}}),
    ] {
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            assert!(say(revision, wrong.clone()).starts_with('`'), "{wrong}: {}", say(revision, wrong.clone()));
        }
    }
}
