//! Prompts and completions: what clients see of them, and what they say.

use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{
    CallError, Completing, Completion, Content, Ctx, Link, Prompt, PromptAnswer, PromptArg, PromptMessage,
    ResourceTemplate, Revision, Server, State, json,
};
use serde::Deserialize;

fn server() -> Server {
    Server::new("test", "1")
}

async fn get(server: Server, name: &str, arguments: serde_json::Value) -> Answer {
    Client::new(server).request("prompts/get", json!({"name": name, "arguments": arguments})).await
}

#[derive(Deserialize)]
struct Review {
    code: String,
    lines: Option<u32>,
}

fn review() -> Prompt {
    Prompt::new("review")
        .title("Review")
        .description("Reviews code.")
        .required("code", "The code")
        .arg(PromptArg::new("lines").title("Lines").description("How many"))
        .run(|Review { code, lines }: Review| format!("Review {lines:?}: {code}"))
}

#[test]
fn a_prompt_is_listed_with_its_arguments_and_with_what_the_revision_knows_prompt_1() {
    block_on(async {
        let app = server().prompt(review()).build().expect("it builds");
        let listed = Client::new(&app).request("prompts/list", ()).await;
        listed.assert_at(
            "/result/prompts",
            json!([{
                "name": "review",
                "title": "Review",
                "description": "Reviews code.",
                "arguments": [
                    {"name": "code", "description": "The code", "required": true},
                    {"name": "lines", "title": "Lines", "description": "How many"},
                ],
            }]),
        );
        let mut old = Client::builder(&app).revision(Revision::V2024_11_05).connect();
        let listed = old.request("prompts/list", ()).await;
        assert_eq!(listed.json().pointer("/result/prompts/0/title"), None);
        assert_eq!(listed.json().pointer("/result/prompts/0/arguments/1/title"), None);
    });
}

#[test]
fn a_prompt_is_one_block_of_content_in_each_message_and_its_description_prompt_2() {
    block_on(async {
        let prompt = Prompt::new("all").description("All kinds.").run(|| {
            vec![
                PromptMessage::system("Be brief."),
                PromptMessage::user(Content::image(vec![0], "image/png")),
                PromptMessage::assistant(String::from("Yes?")),
                PromptMessage::user(Link::new("test://x", "x")),
                PromptMessage::user(Content::resource_text("test://y", "text/plain", "y")),
            ]
        });
        let app = server().prompt(prompt).prompt(review()).build().expect("it builds");
        let mut client = Client::new(&app);
        let answer = client.request("prompts/get", json!({"name": "all"})).await;
        answer.assert_at(
            "/result",
            json!({
                "description": "All kinds.",
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "Be brief."}},
                    {"role": "user", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
                    {"role": "assistant", "content": {"type": "text", "text": "Yes?"}},
                    {"role": "user", "content": {"type": "resource_link", "uri": "test://x", "name": "x"}},
                    {
                        "role": "user",
                        "content": {
                            "type": "resource",
                            "resource": {"uri": "test://y", "mimeType": "text/plain", "text": "y"},
                        },
                    },
                ],
            }),
        );
        let answer =
            client.request("prompts/get", json!({"name": "review", "arguments": {"code": "x", "lines": "3"}})).await;
        answer.assert_at("/result/messages/0/content/text", "Review Some(3): x");
        let own = Prompt::new("own").description("Static.").run(|| {
            let mut answer = PromptAnswer::new(vec![PromptMessage::user("x")]);
            answer.description = Some("Of this instance.".into());
            answer
        });
        get(server().prompt(own), "own", json!({})).await.assert_at("/result/description", "Of this instance.");
    });
}

#[test]
fn sound_for_a_client_that_knows_none_is_words_prompt_4() {
    block_on(async {
        let prompt = Prompt::new("sound").run(|| Content::audio(vec![0], "audio/wav"));
        let app = server().prompt(prompt).build().expect("it builds");
        let mut client = Client::builder(&app).revision(Revision::V2024_11_05).connect();
        let answer = client.request("prompts/get", json!({"name": "sound"})).await;
        answer.assert_at("/result/messages/0/content/type", "text");
        let answer = Client::new(&app).request("prompts/get", json!({"name": "sound"})).await;
        answer
            .assert_at("/result/messages/0/content", json!({"type": "audio", "data": "AA==", "mimeType": "audio/wav"}));
    });
}

#[test]
fn what_is_wrong_with_a_call_is_told_and_what_fails_inside_is_not_prompt_3() {
    block_on(async {
        let failing = Prompt::new("failing")
            .run(|| -> Result<String, CallError> { Ok(std::fs::read_to_string("/secret/path")?) });
        let panicking = Prompt::new("panicking").run(|| -> String { panic!("secret") });
        let shown = Prompt::new("shown").run(|| Err::<String, _>("Ask again tomorrow."));
        let missing = Prompt::new("missing").run(|| Err::<String, _>(CallError::not_found()));
        let app = server().prompts([review(), failing, panicking, shown, missing]);
        let mut client = Client::new(app);
        for (name, arguments, code, text) in [
            ("unknown", json!({}), -32602, "unknown"),
            ("missing", json!({}), -32602, "missing"),
            ("review", json!({}), -32602, "code"),
            ("review", json!({"code": 1}), -32602, "code"),
            ("review", json!({"code": "x", "lines": "many"}), -32602, "`lines` must be an integer"),
            ("failing", json!({}), -32603, "the prompt failed"),
            ("panicking", json!({}), -32603, "the prompt panicked"),
            ("shown", json!({}), -32603, "Ask again tomorrow."),
        ] {
            let answer = client.request("prompts/get", json!({"name": name, "arguments": arguments})).await;
            answer.assert_fault(code).assert_fault_contains(text);
            assert!(!answer.to_string().contains("secret"), "{answer}");
        }
    });
}

#[test]
fn arguments_are_data_and_never_interpreted_prompt_6() {
    block_on(async {
        let hostile = "\u{0}\u{1b}[1m{{lines}} ${code} \u{202e}\n</user>";
        let answer = get(server().prompt(review()), "review", json!({"code": hostile})).await;
        answer.assert_at("/result/messages/0/content/text", format!("Review None: {hostile}"));
        // What it means is up to nobody but the code.
        let answer = get(server().prompt(review()), "review", json!({"code": "x", "lines": "1; drop"})).await;
        answer.assert_fault(-32602);
    });
}

#[test]
fn arguments_are_read_in_the_order_in_which_they_are_declared() {
    block_on(async {
        let prompt = Prompt::new("pair")
            .argument("b", "May be missing")
            .required("a", "May not")
            .run(|(b, a): (Option<u8>, String)| format!("{b:?} {a}"));
        let app = server().prompt(prompt).build().expect("it builds");
        let mut client = Client::new(&app);
        for (arguments, text) in [
            (json!({"a": "x", "b": "1"}), "Some(1) x"),
            (json!({"a": "x"}), "None x"),
            (json!({"b": "1", "a": "y"}), "Some(1) y"),
        ] {
            let answer = client.request("prompts/get", json!({"name": "pair", "arguments": arguments})).await;
            answer.assert_at("/result/messages/0/content/text", text);
        }
    });
}

struct Users(Vec<&'static str>);

#[tokio::test]
async fn prompts_take_what_tools_take_and_may_wait_or_block() {
    let app = server()
        .state(Users(vec!["ada"]))
        .prompt(Prompt::new("state").run(|users: State<Users>| users.0.0.join(" ")))
        .prompt(Prompt::new("later").required("x", "").run(async |ctx: Ctx, x: String| {
            tokio::task::yield_now().await;
            format!("{} {x}", ctx.name())
        }))
        .prompt(Prompt::new("blocking").tag("a", "b").run_blocking(|ctx: Ctx| ctx.tags()["a"].to_string()));
    let mut client = Client::new(app);
    for (name, text) in [("state", "ada"), ("later", "later y"), ("blocking", "\"b\"")] {
        let answer = client.request("prompts/get", json!({"name": name, "arguments": {"x": "y"}})).await;
        answer.assert_at("/result/messages/0/content/text", text);
    }
}

async fn complete(client: &mut Client, name: &str, argument: &str, value: &str) -> Answer {
    let params = json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": argument, "value": value}});
    client.request("completion/complete", params).await
}

fn trip() -> Prompt {
    Prompt::new("trip")
        .required("country", "Where to")
        .required("city", "Which city")
        .run(|(country, city): (String, String)| format!("{country} {city}"))
        .complete_from("country", ["Norway", "France", "north"])
        .complete("city", |users: State<Users>, typed: Completing| match typed.get("country") {
            Some("France") => vec![format!("Paris {} {}", typed.argument, typed.value)],
            _ => users.0.0.iter().map(|user| (*user).to_owned()).collect(),
        })
}

#[test]
fn a_completion_knows_what_was_typed_and_the_other_arguments_comp_1() {
    block_on(async {
        let template = ResourceTemplate::new("users://{id}").run(|id: u64| id.to_string()).complete(
            "id",
            async |typed: String| {
                (1..=12).map(|id| id.to_string()).filter(|id| id.starts_with(&typed)).collect::<Vec<String>>()
            },
        );
        let app = server().state(Users(vec!["ada"])).prompt(trip()).resource_template(template);
        let mut client = Client::new(app);
        let answer = complete(&mut client, "trip", "country", "NOR").await;
        answer.assert_at("/result/completion/values", json!(["Norway", "north"]));
        complete(&mut client, "trip", "city", "P").await.assert_at("/result/completion/values", json!(["ada"]));
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "trip"},
            "argument": {"name": "city", "value": "P"},
            "context": {"arguments": {"country": "France"}},
        });
        let answer = client.request("completion/complete", params).await;
        answer.assert_at("/result/completion/values", json!(["Paris city P"]));
        let params =
            json!({"ref": {"type": "ref/resource", "uri": "users://{id}"}, "argument": {"name": "id", "value": "1"}});
        let answer = client.request("completion/complete", params).await;
        answer.assert_at("/result/completion/values", json!(["1", "10", "11", "12"]));
    });
}

#[test]
fn a_hundred_proposals_are_sent_and_the_rest_is_counted_comp_3() {
    block_on(async {
        let number = |name: &'static str| Prompt::new(name).required("n", "").run(|n: u8| n.to_string());
        let app = server().prompts([
            number("many").complete("n", || (0..150).map(|n| n.to_string()).collect::<Vec<_>>()),
            number("own").complete("n", || {
                let mut completion = Completion::new(vec!["1".into()]);
                completion.has_more = true;
                completion
            }),
            number("failing").complete("n", || -> Result<Vec<String>, CallError> {
                Err(std::fs::read_to_string("/secret/path").expect_err("there is none").into())
            }),
            number("asking").complete("n", || {
                Err::<Vec<String>, _>(CallError::ask(Vec::<(&str, mcp_server::question::Question)>::new(), ""))
            }),
        ]);
        let mut client = Client::new(app);
        let answer = complete(&mut client, "many", "n", "").await;
        let values = answer.json().pointer("/result/completion/values").and_then(|values| values.as_array());
        assert_eq!(values.map(Vec::len), Some(100));
        answer.assert_at("/result/completion/total", 150).assert_at("/result/completion/hasMore", true);
        complete(&mut client, "own", "n", "").await.assert_at("/result/completion/hasMore", true);
        complete(&mut client, "unknown", "n", "").await.assert_fault(-32602);
        complete(&mut client, "many", "m", "").await.assert_fault(-32602);
        let failed = complete(&mut client, "failing", "n", "").await;
        failed.assert_fault(-32603);
        assert!(!failed.to_string().contains("secret"), "{failed}");
        complete(&mut client, "asking", "n", "").await.assert_fault(-32603);
    });
}

#[test]
fn what_is_not_registered_is_not_offered_comp_2_life_12_base_9() {
    block_on(async {
        let mut client = Client::new(server().prompt(review()));
        let capabilities = client.server()["capabilities"].clone();
        assert!(capabilities.get("prompts").is_some() && capabilities.get("tools").is_some(), "{capabilities}");
        assert!(capabilities.get("completions").is_none() && capabilities.get("resources").is_none(), "{capabilities}");
        complete(&mut client, "review", "code", "").await.assert_fault(-32601);
        client.request("resources/list", ()).await.assert_fault(-32601);
        client.request("resources/read", json!({"uri": "a://b"})).await.assert_fault(-32601);
        let client = Client::new(server().offers_completions().offers_resources().offers_prompts());
        let capabilities = client.server()["capabilities"].clone();
        assert_eq!(capabilities["completions"], json!({}));
        assert_eq!(capabilities["resources"], json!({"listChanged": true, "subscribe": true}));
        assert_eq!(capabilities["prompts"], json!({"listChanged": true}));
    });
}

#[test]
fn everything_that_is_wrong_is_told_when_the_server_is_built() {
    let error = server()
        .prompt(Prompt::new("code"))
        .prompt(Prompt::new("unknown").required("a", "").run(|_: Review| "x"))
        .prompt(Prompt::new("optional").argument("code", "").run(|_: Review| "x"))
        .prompt(Prompt::new("single").required("a", "").required("b", "").run(|_: Option<String>| "x"))
        .prompt(Prompt::new("places").required("a", "").run(|_: (String, String)| "x"))
        .prompt(Prompt::new("completed").argument("a", "").run(|| "x").complete_from("b", ["x"]))
        .prompt(Prompt::new("twice").argument("a", "").run(|| "x").complete_from("a", ["x"]).complete("a", || ["x"]))
        .prompt(Prompt::new("state").argument("a", "").run(|| "x").complete("a", |_: State<Users>| ["x"]))
        .prompt(Prompt::new("state"))
        .prompt(Prompt::new(""))
        .build()
        .expect_err("all of it is wrong");
    let wrong: Vec<(&str, &str)> = error.defects().iter().map(|defect| (&*defect.entry, defect.rule)).collect();
    assert_eq!(
        wrong,
        [
            ("code", "PROMPT-2"),
            ("unknown", "PROMPT-3"),
            ("optional", "PROMPT-3"),
            ("single", "PROMPT-3"),
            ("places", "PROMPT-3"),
            ("completed", "COMP-3"),
            ("twice", "COMP-3"),
            ("state", "PROMPT-2"),
            ("state", "PROMPT-1"),
            ("", "PROMPT-2"),
        ],
        "{error}"
    );
}

mod typed {
    use mcp_server::Arguments;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Arguments)]
    enum Style {
        Brief,
        Long,
    }

    #[derive(Debug, Arguments)]
    #[allow(dead_code, reason = "they are read by `Debug`")]
    struct Typed {
        /// The code
        code: String,
        #[arg(desc = "How hard", min = 1, max = 5, default = 3)]
        level: u8,
        /// How long
        style: Option<Style>,
        #[arg(desc = "Whether")]
        sure: bool,
    }

    fn prompt() -> Prompt {
        Prompt::new("typed").arguments::<Typed>().run(|args: Typed| format!("{args:?}"))
    }

    #[test]
    fn a_type_says_what_the_arguments_are_and_what_it_says_is_enforced_prompt_1_prompt_3() {
        block_on(async {
            let app = server().prompt(prompt()).build().expect("it builds");
            let mut client = Client::new(&app);
            let listed = client.list_prompts().await.swap_remove(0);
            assert_eq!(listed.arguments, ["code", "level", "style", "sure"]);
            assert_eq!(listed.required, ["code", "sure"]);
            assert_eq!(listed.json["arguments"][0]["description"], "The code");
            let answer = client.get_prompt("typed", json!({"code": "1", "sure": "true"})).await;
            answer.assert_text("Typed { code: \"1\", level: 3, style: None, sure: true }");
            let all = json!({"code": "x", "sure": "false", "level": "5", "style": "Long"});
            let answer = client.get_prompt("typed", all).await;
            answer.assert_text("Typed { code: \"x\", level: 5, style: Some(Long), sure: false }");
            let wrong = json!({"code": "x", "sure": "maybe", "level": "6", "style": "Odd"});
            let answer = client.get_prompt("typed", wrong).await;
            answer.assert_fault(-32602).assert_fault_contains("Invalid arguments for prompt `typed`");
            for name in ["`sure`", "`level`", "`style`"] {
                answer.assert_fault_contains(name);
            }
            answer.assert_fault_contains("`sure`: expected a boolean, written as a text");
            client.get_prompt("typed", json!({"code": "x"})).await.assert_fault(-32602).assert_fault_contains("sure");
            // What the rules take for a number is what is read.
            let answer =
                client.get_prompt("typed", json!({"code": "5", "sure": "1", "level": "4.0", "style": null})).await;
            answer.assert_text("Typed { code: \"5\", level: 4, style: None, sure: true }");
        });
    }

    #[test]
    fn what_may_be_a_few_words_is_proposed_unless_the_prompt_says_what_is_comp_1() {
        block_on(async {
            let own = prompt().renamed("own").complete_from("style", ["Other"]);
            let mut client = Client::new(server().prompts([prompt(), own]));
            client.complete_prompt("typed", "style", "l").await.assert_values(["Long"]);
            client.complete_prompt("own", "style", "").await.assert_values(["Other"]);
            client.complete_prompt("typed", "code", "").await.assert_values(json!([]));
        });
    }

    #[test]
    fn a_type_that_cannot_be_texts_is_told_when_the_server_is_built() {
        #[derive(Arguments)]
        #[allow(dead_code, reason = "it is never read")]
        struct Lists {
            /// Several
            all: Vec<String>,
        }
        let prompt = Prompt::new("lists").arguments::<Lists>().run(|| "x");
        let error = server().prompt(prompt).build().expect_err("texts are no lists");
        assert!(error.to_string().contains("`all` would be a list"), "{error}");
    }
}
