//! Code that says who is let in, what it keeps of them, and what tools make of that: the same code in all revisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mcp_server::ask::elicit;
use mcp_server::question::Question;
use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{
    Ability, Assigns, BuildError, CallError, Caller, Code, Completing, Ctx, Extension, Extract, Fault, Json, Policy,
    Prompt, Resource, ResourceTemplate, Revision, Server, State, Tool, Value, json, tool,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Visit {
    name: String,
    #[serde(default)]
    times: u32,
}

impl Visit {
    fn of(name: &str) -> Self {
        Self { name: name.into(), times: 0 }
    }
}

/// How often init has run.
#[derive(Default)]
struct Runs(AtomicU32);

fn plain() -> Server {
    Server::new("test", "1")
}

fn described(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

fn init(runs: State<Runs>, caller: Caller) -> Result<Visit, CallError> {
    runs.0.0.fetch_add(1, Ordering::Relaxed);
    let name = caller.principal.ok_or_else(|| CallError::new("sign in first"))?;
    Ok(Visit::of(name.as_str()))
}

/// Who is it?
#[tool]
fn who(visit: Assigns<Visit>) -> String {
    format!("{} {}", visit.name, visit.times)
}

/// Count one more.
#[tool]
fn count(ctx: Ctx, visit: Assigns<Visit>) -> Result<(), CallError> {
    ctx.assign(&Visit { times: 100, ..visit.0.clone() })?;
    ctx.assign(&Visit { times: visit.times + 1, ..visit.0.clone() })?;
    assert_eq!(ctx.assigns::<Visit>()?.times, visit.times, "a run goes on with what it was handed");
    Ok(())
}

fn server(runs: &Arc<Runs>) -> Server {
    plain().shared_state(Arc::clone(runs)).init(init).tool(who).tool(count)
}

#[test]
fn the_same_code_serves_sessions_and_requests_without() {
    block_on(async {
        for revision in Revision::ALL {
            let runs = Arc::new(Runs::default());
            let mut client = Client::builder(server(&runs)).revision(revision).principal("ann").connect();
            client.call("who", ()).await.assert_text("ann 0");
            client.call("count", ()).await.assert_ok();
            client.call("count", ()).await.assert_ok();
            let is_modern = revision == Revision::MODERN;
            let (kept, ran) = if is_modern { ("ann 0", 4) } else { ("ann 2", 1) };
            client.call("who", ()).await.assert_text(kept);
            assert_eq!(runs.0.load(Ordering::Relaxed), ran, "{revision}");
            assert_eq!(client.list_tools().await.len(), 2);
            assert_eq!(runs.0.load(Ordering::Relaxed), ran + u32::from(is_modern), "{revision}");
        }
    });
}

#[test]
fn who_is_refused_is_told_why_and_gets_nothing() {
    block_on(async {
        for revision in Revision::ALL {
            let runs = Arc::new(Runs::default());
            let silent = || Client::builder(server(&runs)).revision(revision);
            if revision == Revision::MODERN {
                let mut client = silent().connect();
                for (method, params) in [
                    ("tools/call", json!({"name": "who", "arguments": {}})),
                    ("tools/call", json!({"name": "nothing", "arguments": {}})),
                    ("tools/list", json!({})),
                    ("no/method", json!({})),
                ] {
                    let answer = client.request(method, params).await;
                    answer.assert_fault(-32603).assert_fault_contains("Initialization failed: sign in first");
                }
                assert_eq!(runs.0.load(Ordering::Relaxed), 4);
            } else {
                let refusal = silent().try_connect().await.expect_err("it is refused");
                refusal.assert_fault(-32603).assert_fault_contains("Initialization failed: sign in first");
            }
        }
    });
}

struct Somebody;

impl Extract for Somebody {
    fn extract(_: &Ctx) -> Result<Self, CallError> {
        Err(CallError::new("nobody is there"))
    }
}

/// What a client is told whom that code refuses.
async fn refusal<F: mcp_server::InitFn<M>, M>(code: F) -> Answer {
    Client::builder(plain().init(code)).can(Ability::ElicitationForm).try_connect().await.expect_err("it is refused")
}

#[test]
fn what_a_refusal_says_is_decided_by_the_type_of_the_error() {
    block_on(async {
        let io = || std::io::Error::other("the database is down");
        let said = |answer: &Answer| answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        let text = refusal(|| Err::<(), _>("a text")).await;
        assert_eq!(said(&text), "Initialization failed: a text");
        let text = refusal(|| Err::<(), String>(format!("a {}", "text"))).await;
        assert_eq!(said(&text), "Initialization failed: a text");
        let shown = refusal(|| Err::<(), _>(CallError::new("shown"))).await;
        assert_eq!(said(&shown), "Initialization failed: shown");
        let none = refusal(|| Err::<(), _>(CallError::not_found())).await;
        assert_eq!(said(&none), "Initialization failed: Not found.");
        let hidden = refusal(move || Err::<(), CallError>(io().into())).await;
        assert_eq!(said(&hidden), "Initialization failed: internal error");
        let later = refusal(move || async move { Err::<(), CallError>(io().into()) }).await;
        assert_eq!(said(&later), "Initialization failed: internal error");
        let required = refusal(|ctx: Ctx| ctx.ask("k", elicit("?"))?.required().map(|_| ()));
        assert!(said(&required.await).starts_with("Initialization failed: "), "it cannot be asked, which it is told");
        let asks = refusal(|| Err::<(), _>(CallError::ask([("k", Question::Roots)], "")));
        assert_eq!(said(&asks.await), "Initialization failed: internal error");
        let panics = refusal(|| -> Assigns<()> { panic!("a secret") });
        assert_eq!(said(&panics.await), "Initialization failed: internal error");
        let later = refusal(|| async { if true { panic!("a secret") } else { Ok::<_, CallError>(()) } });
        assert_eq!(said(&later.await), "Initialization failed: internal error");
        let nobody = refusal(|_: Somebody| Ok::<_, CallError>(()));
        assert_eq!(said(&nobody.await), "Initialization failed: nobody is there");
        let code = Code::application(401).expect("an application's");
        let fault = refusal(move || Err::<(), _>(CallError::fault(Fault::new(code, "Pay first")))).await;
        fault.assert_fault(401).assert_fault_contains("Pay first");
        let huge = refusal(|| Assigns(vec![0_u8; 20_000])).await;
        assert_eq!(said(&huge), "Initialization failed: internal error");
        for answer in [&shown, &hidden, &huge] {
            answer.assert_fault(-32603);
        }
    });
}

#[test]
fn an_init_that_refuses_nobody_says_so_by_its_type_and_may_keep_anything() {
    block_on(async {
        let list = described("list").run(|list: Assigns<Vec<String>>| list.0.join(" "));
        let app = plain().init(|| Assigns(vec!["a".to_owned(), "b".to_owned()])).tool(list).build();
        Client::new(app.expect("it can be built")).call("list", ()).await.assert_text("a b");
        let none = described("none").run(|_: Assigns<()>| "nothing");
        Client::new(plain().init(async || Ok::<_, CallError>(())).tool(none))
            .call("none", ())
            .await
            .assert_text("nothing");
    });
}

#[test]
fn code_of_every_kind_has_what_is_kept() {
    block_on(async {
        let name = |visit: Assigns<Visit>| visit.0.name;
        let complete = |visit: Assigns<Visit>, _: Completing| vec![visit.0.name];
        let server = || {
            plain()
                .init(|| Assigns(Visit::of("ann")))
                .tool(described("tool").run(name))
                .resource(Resource::new("app://who").run(name))
                .resource_template(
                    ResourceTemplate::new("app://{x}").run(|visit: Assigns<Visit>, x: String| visit.0.name + &x),
                )
                .prompt(
                    Prompt::new("prompt")
                        .required("x", "X")
                        .run(|visit: Assigns<Visit>, _: String| visit.0.name)
                        .complete("x", complete),
                )
                .extension(
                    Extension::new("com.example/who")
                        .legacy()
                        .method("who/am", |visit: Assigns<Visit>| Json(json!({"who": visit.name}))),
                )
        };
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            let able = json!({"extensions": {"com.example/who": {}}});
            let mut client = Client::builder(server()).revision(revision).capabilities(able).connect();
            client.call("tool", ()).await.assert_text("ann");
            client.request("who/am", json!({})).await.assert_at("/result/who", "ann");
            let read = |uri: &str| json!({"uri": uri});
            client.request("resources/read", read("app://who")).await.assert_at("/result/contents/0/text", "ann");
            client.request("resources/read", read("app://1")).await.assert_at("/result/contents/0/text", "ann1");
            let get = json!({"name": "prompt", "arguments": {"x": "y"}});
            client.request("prompts/get", get).await.assert_at("/result/messages/0/content/text", "ann");
            let typed =
                json!({"ref": {"type": "ref/prompt", "name": "prompt"}, "argument": {"name": "x", "value": ""}});
            client.request("completion/complete", typed).await.assert_values(["ann"]);
        }
    });
}

#[test]
fn a_call_that_asks_goes_on_in_what_is_kept_by_then_in_a_session_and_in_what_init_says_without() {
    block_on(async {
        let ask = |ctx: Ctx, visit: Assigns<Visit>| -> Result<u32, CallError> {
            if ctx.resume().is_none() {
                ctx.assign(&Visit { times: 7, ..visit.0.clone() })?;
            }
            ctx.ask("sure", elicit("Sure?"))?.required()?;
            Ok(visit.times)
        };
        for (revision, times) in [(Revision::V2025_11_25, "7"), (Revision::MODERN, "0")] {
            let server = plain().init(|| Assigns(Visit::of("ann"))).tool(described("ask").run(ask));
            let client = Client::builder(server).revision(revision).can(Ability::ElicitationForm);
            let mut client = client.on_request(|_, _| json!({"action": "accept", "content": {}})).connect();
            client.call("ask", ()).await.assert_text(times);
        }
    });
}

#[test]
fn time_limits_and_waiting_are_of_the_whole() {
    block_on(async {
        let mut policy = Policy::default();
        policy.timing.call = Some(mcp_server::Span::secs(5));
        let server =
            || plain().policy(policy.clone()).init(async || std::future::pending::<Result<(), CallError>>().await);
        let mut client = Client::builder(server()).connect_silently();
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let call = client.request("initialize", hello).start();
        client.request("ping", json!({})).await.assert_ok();
        client.advance(Duration::from_secs(5)).await;
        client.finish(call).await.assert_fault_contains("longer than");
        let mut client = Client::builder(server()).modern().connect();
        let call = client.request("tools/list", json!({})).start();
        client.advance(Duration::from_secs(5)).await;
        client.finish(call).await.assert_fault_contains("longer than");
    });
}

#[test]
fn a_conversation_is_had_again_also_where_init_looks_at_its_context() {
    #[derive(Debug)]
    struct Door(&'static str);
    block_on(async {
        let init = |ctx: Ctx| ctx.transport::<Door>().map(|door| Visit::of(door.0)).ok_or("come by the door");
        let app = plain().init(init).tool(who).tool(count).build().expect("it can be built");
        for revision in [Revision::V2025_06_18, Revision::MODERN] {
            let of = |door| Client::builder(&app).revision(revision).context(Door(door));
            let mut client = of("front").connect();
            client.call("count", ()).await.assert_ok();
            client.call("who", ()).await.assert_ok();
            let transcript = client.transcript();
            transcript.replay_as(of("front")).await.expect("it goes the same");
            transcript.replay_as(of("back")).await.expect_err("somebody else is let in");
            transcript.replay(&app).await.expect_err("nobody is let in");
        }
    });
}

#[test]
fn what_an_older_release_kept_is_read_and_what_cannot_be_read_is_no_answer() {
    block_on(async {
        let read = |ctx: Ctx| ctx.assigns::<Visit>().map(|visit| visit.times);
        let may = |ctx: Ctx| ctx.assigns::<Visit>().is_ok();
        let server = |kept: Value| {
            let init = move || Assigns(kept.clone());
            plain().init(init).tool(described("read").run(read)).tool(described("may").run(may))
        };
        let mut client = Client::new(server(json!({"name": "ann", "of_another_release": 1})));
        client.call("read", ()).await.assert_text("0");
        let mut client = Client::new(server(json!({"name": 5})));
        let answer = client.call("read", ()).await;
        answer.assert_fault(-32603).assert_fault_contains("what the server keeps of this session cannot be read");
        client.call("may", ()).await.assert_text("false");
    });
}

#[test]
fn no_more_is_kept_than_may_be_and_nothing_of_another_type() {
    block_on(async {
        let grow = |ctx: Ctx| match ctx.assign(&Visit::of(&"x".repeat(16 << 10))) {
            Ok(()) => "grown".to_owned(),
            Err(error) => format!("{error:?}"),
        };
        let other = |ctx: Ctx| ctx.assign(&5).map_err(|error| format!("{error:?}"));
        let server = plain().init(|| Assigns(Visit::of("ann"))).tool(who);
        let mut client = Client::new(server.tool(described("grow").run(grow)).tool(described("other").run(other)));
        client.call("grow", ()).await.assert_text_contains("`Limits::assigns`");
        client.call("other", ()).await.assert_error_contains("the server's init makes `init::Visit`");
        client.call("who", ()).await.assert_text("ann 0");
    });
}

#[test]
fn where_there_is_no_init_a_session_may_keep_something_all_the_same() {
    block_on(async {
        let turn = |ctx: Ctx, turns: Option<Assigns<u32>>| {
            let turns = turns.map_or(0, |turns| turns.0) + 1;
            ctx.assign(&turns)?;
            Ok::<_, CallError>(turns)
        };
        let mut client = Client::new(plain().tool(described("turn").run(turn)));
        client.call("turn", ()).await.assert_text("1");
        client.call("turn", ()).await.assert_text("2");
    });
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn blocking_code_runs_on_the_pool_and_a_client_that_waits_is_let_in() {
    let thread = std::thread::current().id();
    let init = move |_: Ctx| {
        assert_ne!(std::thread::current().id(), thread);
        Assigns(Visit::of("ann"))
    };
    let server = || plain().logging().init_blocking(init).tool(who);
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        let client = Client::builder(server()).revision(revision).log_level(mcp_server::Level::Info);
        let mut client = client.try_connect().await.expect("it is let in");
        client.call("who", ()).await.assert_text("ann 0");
    }
}

fn mistakes(server: Server) -> BuildError {
    server.build().expect_err("it cannot be built")
}

#[test]
fn what_does_not_fit_is_told_when_the_server_is_built_and_names_both_types() {
    let wants = || described("wants").run(|_: Assigns<Visit>| ());
    let error = mistakes(plain().init(|| Assigns(5_u32)).tool(wants()));
    let text = error.to_string();
    assert!(text.contains("`wants`: it takes `Assigns<init::Visit>`, and the server's init makes `u32`"), "{text}");
    let text = mistakes(plain().tool(wants())).to_string();
    assert!(text.contains("`wants`: it takes `Assigns<init::Visit>`, and the server has no init"), "{text}");
    let text = mistakes(plain().init(|visit: Assigns<Visit>| visit)).to_string();
    assert!(text.contains("which it is to make"), "{text}");
    let text = mistakes(plain().init(|_: State<Runs>| Assigns(()))).to_string();
    assert!(text.contains("it takes the state `init::Runs`, which the server was not given"), "{text}");
    let text = mistakes(plain().init(|| Assigns(1)).init(|| Assigns(2))).to_string();
    assert!(text.contains("two inits were given") && text.matches("tests/init.rs").count() == 2, "{text}");
    let method = Extension::new("com.example/x").method("x/y", |_: Assigns<Visit>| ());
    let resource = Resource::new("app://x").run(|_: Assigns<Visit>| "");
    let text = mistakes(plain().init(|| Assigns(5_u32)).extension(method).resource(resource)).to_string();
    assert_eq!(text.matches("the server's init makes `u32`").count(), 2, "{text}");
    let maybe = described("maybe").run(|_: Option<Assigns<Visit>>| ());
    assert!(plain().tool(maybe).build().is_ok());
}

#[test]
fn what_is_said_of_times_holds_in_whatever_order_it_is_said() {
    use mcp_core::drive::Handler as _;
    let timing = |server: Server| server.build().expect("it can be built").endpoint().timing().clone();
    let (quiet, idle) = (Duration::from_secs(3), Duration::from_millis(70));
    let mut policy = Policy::default();
    policy.timing.hibernate_after = None;
    policy.timing.call = Some(mcp_server::Span::secs(9));
    let server = plain().hibernate_after(quiet).idle_timeout(idle).policy(policy.clone());
    let said = timing(server);
    assert_eq!((said.hibernate_after, said.idle), (Some(mcp_server::Span::secs(3)), mcp_server::Span::millis(70)));
    assert_eq!(said.call, Some(mcp_server::Span::secs(9)));
    assert_eq!(timing(plain().hibernate_after(None)).hibernate_after, None);
    assert_eq!(timing(plain().policy(policy)).hibernate_after, None);
    assert_eq!(timing(plain()), mcp_server::Timing::default());
    assert_eq!(timing(plain().idle_timeout(Duration::MAX)).idle, mcp_server::Span::millis(u64::MAX));
}
