//! What the operator is told.

#![cfg(feature = "tokio")]

mod common;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use common::{Client, text};
use mcp_server::ask::{self, elicit, elicit_url};
use mcp_server::{CallError, Ctx, Resource, Server, Tool};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps what is at least as serious as `info`, a line for each event.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<String>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("a String takes it");
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_debug(field, &value.to_string());
    }
}

impl Kept {
    /// Keeps what this thread logs.
    fn install() -> (Self, DefaultGuard) {
        let kept = Self::default();
        let guard = tracing::subscriber::set_default(kept.clone());
        (kept, guard)
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("no test panics with it").lines().map(Into::into).collect()
    }
}

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().expect("no test panics with it");
        text.push_str(event.metadata().level().as_str());
        event.record(&mut Line(&mut text));
        text.push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

#[test]
fn names_that_many_clients_do_not_take_are_warned_of_tool_5() {
    let (kept, _guard) = Kept::install();
    let (long, longer) = ("n".repeat(64), "n".repeat(65));
    let names = ["a", "A-b_c", &long, "a/b", "a.b", &longer];
    let server = names.iter().fold(Server::new("test", "1"), |server, name| server.tool(tool(name).run(|| ())));
    server.build().expect("the protocol takes them");
    let lines = kept.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, name) in lines.iter().zip(["a/b", "a.b", &longer]) {
        assert!(line.starts_with("WARN") && line.ends_with(&format!(" tool={name:?}")), "{line}");
        assert!(line.contains("at most 64"), "{line}");
    }
}

#[test]
fn resources_that_clients_may_fetch_by_themselves_are_told_of_res_10() {
    let (kept, _guard) = Kept::install();
    let uris = ["https://a.example/b", "file:///d", "doc://https", "httpsx://e"];
    let server = Server::new("test", "1");
    let server = uris.iter().fold(server, |server, uri| server.resource(Resource::new(uri).text("x")));
    server.build().expect("the protocol takes them");
    let lines = kept.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("INFO") && lines[0].ends_with(" uri=\"https://a.example/b\""), "{lines:?}");
}

#[tokio::test]
async fn what_a_model_may_not_know_of_an_error_is_logged_tool_10() {
    let (kept, _guard) = Kept::install();
    let mut client = Client::of(
        Server::new("test", "1")
            .tool(tool("hidden").run(|| Err::<(), _>(CallError::hidden(anyhow::anyhow!("no such host: db.internal")))))
            .tool(tool("shown").run(|| Err::<(), _>("no such city"))),
    );
    assert_eq!(text(&client.call("hidden", json!({})).await), "The tool failed with an internal error.");
    assert_eq!(text(&client.call("shown", json!({})).await), "no such city");
    let lines = kept.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("ERROR") && lines[0].contains("tool=\"hidden\""), "{lines:?}");
    assert!(lines[0].contains("no such host: db.internal"), "{lines:?}");
}

#[tokio::test]
#[cfg(feature = "http")]
async fn a_server_that_listens_says_where() {
    let (kept, _guard) = Kept::install();
    let app = |path: &str| Server::new("test", "1").http_path(path).build().expect("it can be built");
    let plain = Server::new("test", "1").build().expect("it can be built");
    for (app, path) in [(plain, "/mcp"), (app("/tools"), "/tools")] {
        let server = app.bind_http("127.0.0.1:0").await.expect("a free port");
        let address = server.local_addr().expect("an address");
        let line = format!("INFO message=serving MCP over HTTP address={address} path={path:?}");
        assert_eq!(kept.lines().last(), Some(&line));
    }
    assert_eq!(kept.lines().len(), 2);
}

/// What is logged when a client that declares everything calls a tool with that code.
fn logged<M>(code: impl mcp_server::ToolFn<M>) -> Vec<String> {
    use mcp_server::Ability::{ElicitationForm, ElicitationUrl};

    let (kept, _guard) = Kept::install();
    let client = mcp_server::testing::Client::builder(Server::new("test", "1").tool(tool("ask").run(code)));
    let client = client.can(ElicitationForm).can(ElicitationUrl).on_request(|_, _| json!({"action": "accept"}));
    drop(mcp_server::testing::block_on(client.connect().call("ask", ())));
    kept.lines()
}

#[test]
fn a_page_that_is_not_https_is_warned_of_elic_8() {
    let open = |url: &'static str| {
        logged(move |ctx: Ctx| ctx.ask("page", elicit_url("Go.", url)).map(|opened| format!("{opened:?}")))
    };
    let lines = open("http://example.com/login");
    assert!(lines.len() == 1 && lines[0].starts_with("WARN") && lines[0].contains("ELIC-8"), "{lines:?}");
    assert_eq!(open("https://example.com/login"), [""; 0]);
    assert_eq!(open("http://localhost:3000/login"), [""; 0]);
}

#[test]
fn what_is_wrong_with_a_question_is_told_to_who_can_mend_it_mrtr_3_elic_1_elic_8() {
    let cases = [
        (logged(|ctx: Ctx| ctx.ask("page", elicit_url("Go.", "https://ada:pw@x")).map(drop)), ["`page`", "ELIC-8"]),
        (
            logged(|ctx: Ctx| ctx.ask("q", elicit("?").field("password", ask::Field::text())).map(drop)),
            ["`q`", "ELIC-1"],
        ),
        (
            logged(|ctx: Ctx| {
                ctx.ask("q", elicit("A?"))?.required()?;
                ctx.ask("q", elicit("B?")).map(drop)
            }),
            ["`q`", "under the same key"],
        ),
        (
            logged(|ctx: Ctx| {
                ctx.keep(&"x".repeat(100_000))?;
                Ok::<_, CallError>(())
            }),
            ["65536", "`Limits::state`"],
        ),
    ];
    for (lines, said) in cases {
        assert!(lines.len() == 1 && lines[0].starts_with("ERROR"), "{lines:?}");
        assert!(said.iter().all(|said| lines[0].contains(said)), "{said:?} in {lines:?}");
    }
}

#[tokio::test]
async fn what_logs_to_clients_of_a_server_without_is_told_when_it_is_added_log_1() {
    let silent = Server::new("my-app", "1.0.0").offers_resources().build().expect("it builds");
    let logging = Server::new("my-app", "1.0.0").offers_resources().logging().build().expect("it builds");
    let (kept, _guard) = Kept::install();
    for app in [&logging, &silent] {
        assert_eq!(kept.lines(), [""; 0]);
        app.add_tool(Tool::new("t").description("Logs.").run(|log: mcp_server::Log| {
            log.info("x");
        }))
        .expect("it fits");
        app.add_resource(Resource::new("a://r").run(|log: mcp_server::Log| {
            log.info("x");
            "x"
        }))
        .expect("it fits");
        app.add_tool(Tool::new("quiet").description("Is quiet.").run(|| "x")).expect("it fits");
    }
    let lines = kept.lines();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("`.logging()`")), "{lines:?}");
}

#[tokio::test]
async fn a_tool_whose_page_is_taken_away_is_told_app_2() {
    let shown = || mcp_server::UiApp::new(Tool::new("t").description("Shows.").run(|| "x")).view("a.html", "x");
    let app = Server::new("my-app", "1.0.0").app(shown()).build().expect("it builds");
    let (kept, _guard) = Kept::install();
    let page = "ui://t/a.html";
    app.edit(|edit| {
        assert!(edit.remove("t") && edit.remove_resource(page));
        edit.add_app(shown());
    })
    .expect("both are replaced");
    assert_eq!(kept.lines(), [""; 0]);
    assert!(app.remove_resource(page));
    let lines = kept.lines();
    assert!(lines.len() == 1 && lines[0].contains("a page that was taken away"), "{lines:?}");
}

#[tokio::test]
async fn a_question_that_code_lets_go_is_told_since_nobody_was_asked() {
    let careless = |ctx: Ctx| match ctx.ask("sure", elicit("Sure?")) {
        Ok(_) => "asked",
        Err(_) => "refused",
    };
    let careless = Tool::new("careless").description("Asks.").run(careless);
    let careful = |ctx: Ctx| Ok::<_, CallError>(ctx.ask("sure", elicit("Sure?"))?.accepted().is_some());
    let careful = Tool::new("careful").description("Asks.").run(careful);
    let app = Server::new("my-app", "1.0.0").tool(careless).tool(careful).build().expect("it builds");
    let (kept, _guard) = Kept::install();
    let mut client = mcp_server::testing::Client::builder(&app)
        .modern()
        .can(mcp_server::Ability::ElicitationForm)
        .on_request(|_, _| json!({"action": "accept"}))
        .connect();
    client.call("careful", ()).await.assert_text("true");
    assert_eq!(kept.lines(), [""; 0]);
    client.call("careless", ()).await.assert_text("refused");
    let lines = kept.lines();
    assert!(
        lines.len() == 1 && lines[0].contains("a question was not asked") && lines[0].contains("sure"),
        "{lines:?}"
    );
}

#[test]
fn a_rule_that_panics_is_told_with_the_entry_that_it_hides() {
    let (kept, _guard) = Kept::install();
    let rule = |entry: &mcp_server::Shown, _: &mcp_server::Viewer| entry.name() != "odd" || panic!("no idea");
    let app = Server::new("test", "1").tool(tool("odd").run(|| "ran")).visible(rule).build().unwrap();
    mcp_server::testing::block_on(async {
        let mut client = mcp_server::testing::Client::new(&app);
        client.call("odd", ()).await.assert_fault(-32602);
    });
    let lines = kept.lines();
    let told = |line: &String| {
        line.starts_with("ERROR") && line.contains("\"odd\"") && line.contains("no idea") && line.contains("hidden")
    };
    assert!(lines.iter().any(told), "{lines:?}");
}
