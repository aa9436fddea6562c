//! What runs around calls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_server::middleware::{Answer, CallResult, Middleware, Next, map_errors};
use mcp_server::testing::Client;
use mcp_server::{
    Ability, App, Assigns, CallError, Caller, Ctx, Needs, Prompt, Resource, ResourceTemplate, Revision, Server, State,
    Tool, ToolAnswer, Value, json, tool,
};

/// What was seen, in order.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Says when a call passes, both ways.
struct Named(&'static str, Seen);

impl Middleware for Named {
    async fn call(&self, ctx: Ctx, next: Next) -> CallResult {
        self.1.add(format!("{} {}", self.0, ctx.name()));
        let result = next.run().await;
        self.1.add(format!("/{}", self.0));
        result
    }
}

fn app(server: Server) -> App {
    server.build().expect("it builds")
}

fn hello() -> Tool {
    Tool::new("hello").description("Says hello.")
}

#[tokio::test]
async fn the_server_is_around_the_entry_in_the_order_in_which_they_were_given() {
    let seen = Seen::default();
    let (a, b, c, d) = (seen.clone(), seen.clone(), seen.clone(), seen.clone());
    let own = seen.clone();
    let tool = hello().wrap(Named("c", c)).wrap(Named("d", d)).run(move || own.add("hello"));
    let mut client = Client::new(app(Server::new("x", "1").wrap(Named("a", a)).tool(tool).wrap(Named("b", b))));
    client.call("hello", json!({})).await.assert_ok();
    let all = ["a hello", "b hello", "c hello", "d hello", "hello", "/d", "/c", "/b", "/a"];
    assert_eq!(seen.take(), all);
    // Nor is anything around what is not there.
    client.call("goodbye", json!({})).await.assert_fault(-32602);
    assert_eq!(seen.take(), [""; 0]);
}

#[tokio::test]
async fn every_kind_of_call_is_wrapped() {
    let seen = Seen::default();
    let server = Server::new("x", "1")
        .wrap(Named("around", seen.clone()))
        .tool(hello().run(|| async { "hello" }))
        .resource(Resource::new("app://a").text("a"))
        .resource_template(ResourceTemplate::new("app://b/{c}").run(|c: String| c).complete("c", |_: String| vec!["x"]))
        .prompt(Prompt::new("p").description("P.").run(|| "p"));
    let mut client = Client::new(app(server));
    client.call("hello", json!({})).await.assert_text("hello");
    client.read("app://a").await.assert_text("a");
    client.read("app://b/7").await.assert_text("7");
    client.complete_template("app://b/{c}", "c", "").await.assert_values(["x"]);
    client.get_prompt("p", json!({})).await.assert_text("p");
    let names = ["hello", "app://a", "app://b/{c}", "app://b/{c}", "p"];
    let seen: Vec<String> = seen.take().into_iter().filter(|one| one.starts_with("around")).collect();
    assert_eq!(seen, names.map(|name| format!("around {name}")));
}

tokio::task_local! {
    static TENANT: String;
}

async fn with_tenant(caller: Caller, next: Next) -> CallResult {
    let tenant = caller.principal.map_or_else(String::new, |principal| principal.as_str().to_owned());
    TENANT.scope(tenant, next.run()).await
}

#[tokio::test]
async fn task_locals_hold_within_plain_and_asynchronous_code() {
    let plain = Tool::new("plain").description("P.").run(|| TENANT.get());
    let later = Tool::new("later").description("L.").run(|| async {
        tokio::task::yield_now().await;
        TENANT.get()
    });
    let app = app(Server::new("x", "1").wrap(with_tenant).tool(plain).tool(later));
    let mut client = Client::builder(&app).principal("acme").connect();
    client.call("plain", json!({})).await.assert_text("acme");
    client.call("later", json!({})).await.assert_text("acme");
}

/// The error of a database.
#[derive(Debug)]
struct NoRows;

impl std::fmt::Display for NoRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no rows in table `secret`")
    }
}

impl std::error::Error for NoRows {}

#[tokio::test]
async fn errors_are_told_apart_by_their_type_and_made_others() {
    let query = Tool::new("query").description("Q.").run(|args: Value| -> Result<String, CallError> {
        match args["what"].as_str() {
            Some("rows") => Err(NoRows)?,
            Some("io") => Err(std::io::Error::other("secret"))?,
            _ => Err(CallError::new("Say what.")),
        }
    });
    let query = query.param(mcp_server::Param::string("what"));
    let map = |error: CallError| if error.is::<NoRows>() { CallError::new("Not found.") } else { error };
    let mut client = Client::new(app(Server::new("x", "1").wrap(map_errors(map)).tool(query)));
    client.call("query", json!({"what": "rows"})).await.assert_error_text("Not found.");
    client.call("query", json!({"what": "io"})).await.assert_error_text("The tool failed with an internal error.");
    client.call("query", json!({})).await.assert_error_text("Say what.");
}

#[tokio::test]
async fn what_comes_back_can_be_seen_and_changed_and_a_call_answered_in_place_of_its_code() {
    let ran = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&ran);
    let shout = |ctx: Ctx, next: Next| async move {
        if ctx.arguments().as_ref() == br#"{"quiet":true}"# {
            return Ok(Answer::Tool(ToolAnswer::text("(silence)")));
        }
        let mut answer = next.run().await?;
        if let Answer::Tool(tool) = &mut answer {
            tool.content.push(mcp_server::Content::text("!"));
        }
        Ok(answer)
    };
    let tool = hello().param(mcp_server::Param::boolean("quiet")).wrap(shout).run(move |_: Value| {
        counted.fetch_add(1, Ordering::Relaxed);
        "hello"
    });
    let mut client = Client::new(app(Server::new("x", "1").tool(tool)));
    client.call("hello", json!({"quiet": true})).await.assert_text("(silence)");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    client.call("hello", json!({})).await.assert_at("/result/content/1/text", "!");
    // Arguments that are refused are an answer, too.
    client.call("hello", json!({"quiet": 1})).await.assert_at("/result/content/1/text", "!");
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_answer_of_another_kind_is_an_error_and_nothing_of_it_is_sent() {
    let wrong = |next: Next| async move {
        next.run().await?;
        Ok(Answer::Tool(ToolAnswer::text("of a tool")))
    };
    let mut client = Client::new(app(Server::new("x", "1").resource(Resource::new("app://a").text("a").wrap(wrong))));
    client.read("app://a").await.assert_fault(-32603).assert_fault_contains("the resource failed");
}

#[tokio::test]
async fn panics_within_are_errors_and_those_of_middleware_reach_one_caller_alone_tool_10() {
    let seen = Seen::default();
    let look = seen.clone();
    let look = move |next: Next| {
        let look = look.clone();
        async move {
            let result = next.run().await;
            look.add(format!("{}", result.as_ref().is_err_and(CallError::is_failure)));
            result
        }
    };
    #[allow(unreachable_code, reason = "what it would return")]
    let plain = Tool::new("plain").description("P.").run(|| -> &'static str { panic!("secret") });
    #[allow(unreachable_code, reason = "what it would return")]
    let later = Tool::new("later").description("L.").run(|| async {
        tokio::task::yield_now().await;
        panic!("secret");
        ""
    });
    #[allow(unreachable_code, reason = "what it would return")]
    let around = |_: Next| async move {
        panic!("secret");
        Err(CallError::new(""))
    };
    let outer = Tool::new("outer").description("O.").wrap(around).run(|| "never");
    let mut client = Client::new(app(Server::new("x", "1").wrap(look).tool(plain).tool(later).tool(outer)));
    for name in ["plain", "later"] {
        client.call(name, json!({})).await.assert_fault(-32603).assert_fault_contains("the tool panicked");
        assert_eq!(seen.take(), ["true"]);
    }
    client.call("outer", json!({})).await.assert_fault(-32603).assert_fault_contains("the tool panicked");
}

/// Deploys.
#[tool]
async fn deploy(ctx: Ctx) -> Result<String, CallError> {
    let form = mcp_server::ask::elicit("Deploy?").field("sure", mcp_server::ask::Field::boolean());
    let said = ctx.ask("sure", form)?;
    Ok(format!("{}", said.accepted().is_some()))
}

#[tokio::test]
async fn questions_pass_and_what_is_around_runs_on_each_run_mrtr_1() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let count = move |next: Next| {
            counted.fetch_add(1, Ordering::Relaxed);
            next.run()
        };
        let never = map_errors(|_| CallError::new("an error"));
        let app = app(Server::new("x", "1").wrap(count).wrap(never).tool(deploy));
        let mut client = Client::builder(&app)
            .revision(revision)
            .can(Ability::ElicitationForm)
            .on_request(|_, _| json!({"action": "accept", "content": {"sure": true}}))
            .connect();
        client.call("deploy", json!({})).await.assert_text("true");
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{revision}");
    }
}

#[tokio::test]
async fn what_is_kept_of_the_session_is_there_for_what_runs_around_its_calls() {
    let tenant = |Assigns(tenant): Assigns<String>, next: Next| TENANT.scope(tenant, next.run());
    let init = || Assigns("acme".to_owned());
    let tool = Tool::new("tenant").description("T.").run(|| TENANT.get());
    let app = app(Server::new("x", "1").wrap(tenant).init(init).tool(tool));
    Client::new(&app).call("tenant", json!({})).await.assert_text("acme");
}

struct Missing;

#[test]
fn what_it_takes_and_the_server_lacks_is_told_when_the_server_is_built() {
    struct Own;
    impl Middleware for Own {
        async fn call(&self, _: Ctx, next: Next) -> CallResult {
            next.run().await
        }
        fn needs(&self, needs: &mut Needs) {
            needs.state::<Missing>();
        }
    }
    let takes = |_: State<Missing>, next: Next| next.run();
    let server = Server::new("x", "1").wrap(Own).tool(hello().wrap(takes).run(|| "hello"));
    let error = server.build().expect_err("two states are missing").to_string();
    assert!(error.contains("what is wrapped around its calls: it takes the state"), "{error}");
    assert!(error.contains("hello"), "{error}");
    assert_eq!(error.matches("Missing").count(), 2, "{error}");
}
