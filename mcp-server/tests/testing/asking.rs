//! Questions of the server's to its client, in both eras.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::question::{Question, Response};
use mcp_core::{Ability, Call, Caller, Endpoint, Outcome, Revision};
use mcp_server::Keys;
use mcp_server::testing::{Builder, Client, Notice, Reply, block_on};
use serde_json::json;

/// A server whose only tool asks twice, and tells what it was told.
struct Asks(Arc<Endpoint>, View);

impl Asks {
    fn new() -> Arc<Self> {
        let schema = r#"{"type":"object","properties":{}}"#;
        let catalog = Catalog::builder().tool(Tool::new("ask", Handle(1), schema)).build().unwrap();
        let endpoint =
            Endpoint::builder(Implementation::new("asks", "1")).tools(false).seal(Arc::new(Keys::new([7; 32])));
        Arc::new(Self(endpoint.build().unwrap(), View::all(catalog)))
    }
}

impl Handler for Asks {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0
    }

    fn view(&self, _: &Caller) -> View {
        self.1.clone()
    }

    fn call(&self, call: Call, _: Link) -> Running {
        let round = call.resume.as_ref().map_or(0, |resume| resume.state.len());
        let mut said = call.resume.as_ref().map(|resume| format!("{:?}", resume.replies)).unwrap_or_default();
        if let Some(Response::Result(result)) = call.resume.as_ref().and_then(|resume| resume.reply("sure")) {
            said = String::from_utf8_lossy(result).into_owned();
        }
        let question =
            Question::Form { message: "Sure?".into(), schema: r#"{"type":"object","properties":{}}"#.into() };
        Running::Done(match round {
            0 | 1
                if call.resume.as_ref().is_none_or(|resume| resume.reply("sure").is_some()) && !said.contains("no") =>
            {
                Outcome::Ask { questions: vec![("sure".into(), question)], state: Bytes::from(vec![b'x'; round + 1]) }
            }
            _ => Outcome::Complete(Answer::Tool(ToolAnswer::text(format!("{round}: {said}")))),
        })
    }
}

fn client(revision: Revision) -> Builder {
    Client::builder(Asks::new()).revision(revision).can(Ability::ElicitationForm)
}

#[test]
fn questions_are_answered_as_the_test_says_in_both_eras_mrtr_5_shim_5() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::MODERN] {
        block_on(async {
            let mut asked = 0;
            let mut client = client(revision)
                .on_request(move |method, params| {
                    asked += 1;
                    assert_eq!((method, &params["message"]), ("elicitation/create", &json!("Sure?")));
                    json!({"action": "accept", "content": {"n": asked}})
                })
                .connect();
            let answer = client.call("ask", ()).await;
            answer.assert_text_contains("2: ").assert_text_contains(r#""n":2"#);
            client.call("ask", ()).await.assert_text_contains(r#""n":4"#);
        });
    }
}

#[test]
fn without_an_answer_of_the_tests_a_question_is_refused_or_is_itself_the_answer() {
    block_on(async {
        let mut legacy = client(Revision::NEWEST_LEGACY).connect();
        legacy.call("ask", ()).await.assert_text_contains("-32601");
        let mut modern = client(Revision::MODERN).connect();
        let answer = modern.call("ask", ()).await;
        answer.assert_at("/result/resultType", "input_required");
        answer.assert_at("/result/inputRequests/sure/method", "elicitation/create");
        let refuses = |_: &str, _: &_| Reply::Error { code: -1, message: "no".into() };
        let mut modern = client(Revision::MODERN).on_request(refuses).connect();
        modern.call("ask", ()).await.assert_at("/result/resultType", "input_required");
        let mut legacy = client(Revision::NEWEST_LEGACY).on_request(refuses).connect();
        legacy.call("ask", ()).await.assert_text_contains("code: -1, message: \"no\"");
    });
}

#[test]
fn a_question_that_nobody_answers_times_out_on_the_clock_base_25() {
    block_on(async {
        let mut client = client(Revision::NEWEST_LEGACY).on_request(|_, _| Reply::Silence).connect();
        let call = client.start("ask", ());
        client.advance(Duration::from_secs(299)).await;
        assert!(!client.is_answered(&call));
        client.advance(Duration::from_secs(1)).await;
        let withdrawn = client.take_notices();
        assert!(matches!(&withdrawn[..], [Notice::Other(json)] if json["method"] == "notifications/cancelled"));
        assert!(!client.is_answered(&call), "it asks anew");
        client.cancel(call);
    });
}

#[test]
fn a_wait_for_an_unanswered_question_fails_and_says_when_it_times_out() {
    let text = super::failure(|| {
        let mut client = client(Revision::NEWEST_LEGACY).on_request(|_, _| Reply::Silence).connect();
        block_on(client.call("ask", ())).assert_ok();
    });
    assert!(text.contains("nothing runs; what falls due next is 300s of `Client::advance` away"), "{text}");
    assert!(text.contains("elicitation/create"), "{text}");
}

#[test]
fn a_cancelled_round_ends_the_request_mrtr_6() {
    let mut client = client(Revision::MODERN).connect();
    let call = client.start("ask", ());
    client.cancel(call).expect("the question is its answer").assert_at("/result/resultType", "input_required");
}

#[test]
fn a_conversation_with_questions_can_be_had_again() {
    for revision in [Revision::NEWEST_LEGACY, Revision::MODERN] {
        block_on(async {
            let mut client = client(revision).on_request(|_, _| json!({"action": "accept"})).connect();
            client.call("ask", ()).await.assert_ok();
            client.transcript().replay(Asks::new()).await.expect("the key is the same, and so is the state");
        });
    }
}
