//! Who decides whether a sensitive tool runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_server::ask::elicit;
use mcp_server::testing::Client;
use mcp_server::{
    Ability, App, Authorization, CallError, Caller, Ctx, Param, Revision, Server, State, Tool, Value, json,
};

/// A tool that counts how often it ran.
fn purge() -> (Tool, Arc<AtomicU32>) {
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let tool = Tool::new("purge").description("Deletes.").destructive(true).param(Param::string("what").required());
    (tool.run(move |_: Value| count.fetch_add(1, Ordering::Relaxed) + 1), ran)
}

fn server() -> Server {
    Server::new("x", "1")
}

fn asking() -> impl Fn(Ctx) -> Authorization + Clone {
    |ctx: Ctx| Authorization::ask(format!("Run `{}` with {}?", ctx.name(), String::from_utf8_lossy(ctx.arguments())))
}

fn what() -> Value {
    json!({"what": "all"})
}

fn client(app: &App, revision: Revision, reply: Value) -> Client {
    Client::builder(app)
        .revision(revision)
        .can(Ability::ElicitationForm)
        .on_request(move |method, params| {
            assert_eq!(method, "elicitation/create");
            assert_eq!(params["message"], r#"Run `purge` with {"what":"all"}?"#);
            assert_eq!(params["requestedSchema"]["required"], json!(["approve"]));
            reply.clone()
        })
        .connect()
}

const ASKING: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn allowed_it_runs_and_denied_it_does_not_tool_17() {
    let (tool, ran) = purge();
    let decide = |caller: Caller| match caller.principal {
        Some(_) => Authorization::Allow,
        None => Authorization::deny("sign in first"),
    };
    let app = server().authorize(decide).tool(tool).build().expect("it builds");
    let text = "This call was not authorized: sign in first";
    Client::new(&app).call("purge", what()).await.assert_error_text(text);
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    Client::builder(&app).principal("ann").connect().call("purge", what()).await.assert_text("1");
    // Nobody is asked about arguments that are wrong.
    Client::new(&app).call("purge", json!({})).await.assert_error_contains("`what`");
}

#[tokio::test]
async fn asked_it_runs_only_if_the_person_says_so_in_every_revision_that_has_questions() {
    let refused = "This call was not approved: do not try again unless you are told to.";
    let replies = [
        (json!({"action": "accept", "content": {"approve": true}}), Ok("1")),
        (json!({"action": "accept", "content": {"approve": false}}), Err(refused)),
        (json!({"action": "decline"}), Err(refused)),
        (json!({"action": "cancel"}), Err(refused)),
    ];
    for revision in ASKING {
        for (reply, expected) in &replies {
            let (tool, ran) = purge();
            let app = server().authorize(asking()).tool(tool).build().expect("it builds");
            let answer = client(&app, revision, reply.clone()).call("purge", what()).await;
            match expected {
                Ok(text) => answer.assert_text(text),
                Err(text) => answer.assert_error_text(text),
            };
            assert_eq!(ran.load(Ordering::Relaxed), u32::from(expected.is_ok()), "{revision} {reply}");
        }
    }
}

#[tokio::test]
async fn who_cannot_be_asked_has_not_approved() {
    for revision in Revision::ALL {
        let (tool, ran) = purge();
        let app = server().authorize(asking()).tool(tool).build().expect("it builds");
        let mut client = Client::builder(&app).revision(revision).connect();
        client.call("purge", what()).await.assert_error_contains("does not declare `elicitation`");
        assert_eq!(ran.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test]
async fn an_approval_stands_for_what_the_tool_itself_asks() {
    for revision in ASKING {
        let tool = Tool::new("purge").description("Deletes.").sensitive(true).param(Param::string("what")).run(
            |ctx: Ctx, _: Value| -> Result<&'static str, CallError> {
                ctx.ask("really", elicit("Really?"))?.required()?;
                ctx.ask("truly", elicit("Truly?"))?.required()?;
                Ok("gone")
            },
        );
        let app = server().authorize(asking()).tool(tool).build().expect("it builds");
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let mut client = Client::builder(&app)
            .revision(revision)
            .can(Ability::ElicitationForm)
            .on_request(move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
                json!({"action": "accept", "content": {"approve": true}})
            })
            .connect();
        client.call("purge", what()).await.assert_text("gone");
        assert_eq!(asked.load(Ordering::Relaxed), 3, "{revision}");
    }
}

#[tokio::test]
async fn an_approval_that_is_sent_again_runs_nothing_mrtr_10() {
    let (tool, ran) = purge();
    let app = server().authorize(asking()).tool(tool).build().expect("it builds");
    let mut client = Client::builder(&app).revision(Revision::V2026_07_28).can(Ability::ElicitationForm).connect();
    let first = client.request("tools/call", json!({"name": "purge", "arguments": what()})).await;
    let first = first.json();
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let key = first["result"]["inputRequests"].as_object().expect("it asks").keys().next().expect("one").clone();
    let retry = json!({
        "name": "purge",
        "arguments": what(),
        "requestState": first["result"]["requestState"],
        "inputResponses": {key: {"action": "accept", "content": {"approve": true}}},
    });
    client.request("tools/call", retry.clone()).await.assert_text("1");
    client.request("tools/call", retry.clone()).await.assert_fault(-32602).assert_fault_contains("used before");
    // Nor is it good for anything else.
    let mut other = retry;
    other["arguments"] = json!({"what": "more"});
    client.request("tools/call", other).await.assert_fault(-32602);
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_authorizer_that_fails_or_panics_lets_nothing_run() {
    #[allow(unreachable_code, reason = "what it would return")]
    let panics = |_: Ctx| -> Authorization { panic!("secret") };
    let (tool, ran) = purge();
    let app = server().authorize(panics).tool(tool).build().expect("it builds");
    Client::new(&app).call("purge", what()).await.assert_fault(-32603).assert_fault_contains("the tool panicked");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    let fails = |_: Ctx| async { Err::<Authorization, CallError>(std::io::Error::other("secret").into()) };
    let (tool, ran) = purge();
    let app = server().authorize(fails).tool(tool).build().expect("it builds");
    Client::new(&app).call("purge", what()).await.assert_error_text("The tool failed with an internal error.");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn hints_add_an_obligation_and_take_none_away() {
    let never = |_: Ctx| Authorization::deny("no");
    let tool = |name: &str| Tool::new(name).description("D.").run(|| "ran");
    let app = server()
        .authorize(never)
        .tool(tool("plain").destructive(false))
        .tool(tool("marked").sensitive(true).read_only(true).destructive(false))
        .tool(tool("destructive").sensitive(false).destructive(true))
        .tool(tool("known").destructive(true))
        .allow_unguarded(["known"])
        .build()
        .expect("it builds");
    let mut client = Client::new(&app);
    client.call("plain", json!({})).await.assert_text("ran");
    client.call("known", json!({})).await.assert_text("ran");
    for guarded in ["marked", "destructive"] {
        client.call(guarded, json!({})).await.assert_error_text("This call was not authorized: no");
    }
}

struct Missing;

#[test]
fn a_sensitive_tool_that_nobody_decides_about_is_told_when_it_comes() {
    let error = server().tool(purge().0).build().expect_err("nobody decides").to_string();
    let remedy = "it is destructive, and so it is sensitive, and nobody decides whether it runs: give the server an authorizer with \
                  `.authorize(..)`, or let this tool run without with `.allow_unguarded([\"purge\"])`";
    assert!(error.contains(remedy), "{error}");
    let app = server().build().expect("it builds");
    let error = app.add_tool(purge().0).expect_err("nobody decides").to_string();
    assert!(error.contains(remedy), "{error}");
    assert!(app.tool_names().is_empty());
    let marked = Tool::new("pay").description("Pays.").sensitive(true).run(|| ());
    let error = server().tool(marked).build().expect_err("nobody decides").to_string();
    assert!(error.contains("it is sensitive, and nobody decides"), "{error}");
    let takes = |_: State<Missing>| Authorization::Allow;
    let error = server().authorize(takes).authorize(takes).build().expect_err("two, and a state").to_string();
    assert!(error.contains("two authorizers were given") && error.contains("Missing"), "{error}");
}
