//! What the code of a call learns of the request that started it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::question::Question;
use mcp_core::{Call, Caller, Endpoint, Kind, Outcome};
use mcp_transport_http::{McpService, RequestHead};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::support::*;

/// What a middleware puts into the extensions. Counts how many are kept.
#[derive(Clone)]
struct Tenant(Arc<str>);

/// Its tools tell the head: at once, when three of them run, when they are let go, and after a question that is asked at once
/// or later.
struct Heads {
    endpoint: Arc<Endpoint>,
    view: View,
    three: Arc<Barrier>,
    go: Arc<Notify>,
    seen: Arc<Mutex<Vec<String>>>,
}

const TOOLS: [&str; 5] = ["now", "three", "wait", "ask", "ask_later"];

impl Heads {
    fn new() -> Self {
        Self::with(|endpoint| endpoint)
    }

    fn with(describe: impl FnOnce(mcp_core::EndpointBuilder) -> mcp_core::EndpointBuilder) -> Self {
        let tools = (0..).zip(TOOLS).map(|(at, name)| Tool::new(name, Handle(at), r#"{"type":"object"}"#));
        let catalog = tools.fold(Catalog::builder(), mcp_core::catalog::Builder::tool).build().unwrap();
        let endpoint = Endpoint::builder(Implementation::new("heads", "1.0.0")).tools(false);
        Self {
            endpoint: describe(endpoint).build().unwrap(),
            view: View::all(catalog),
            three: Arc::new(Barrier::new(3)),
            go: Arc::default(),
            seen: Arc::default(),
        }
    }
}

impl Handler for Heads {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.view.clone()
    }

    fn call(&self, call: Call, link: Link) -> Running {
        let Kind::Tool { tool, .. } = call.kind else { panic!("{call:?}") };
        let (three, go, seen) = (Arc::clone(&self.three), Arc::clone(&self.go), Arc::clone(&self.seen));
        match tool.0 {
            0 => Running::Done(told(&link)),
            1 => Running::Later(Box::pin(async move {
                three.wait().await;
                told(&link)
            })),
            2 => Running::Later(Box::pin(async move {
                go.notified().await;
                seen.lock().unwrap().push(report(&link));
                go.notify_one();
                told(&link)
            })),
            3 if call.resume.is_none() => Running::Done(asked(&link)),
            _ => Running::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                if call.resume.is_none() { asked(&link) } else { told(&link) }
            })),
        }
    }
}

fn report(link: &Link) -> String {
    let Some(head) = link.shared_context::<RequestHead>() else { return "none".into() };
    let probe = head.headers().get("x-probe").map_or("", |value| value.to_str().unwrap());
    let tenant = head.extensions().get::<Tenant>().map_or("", |tenant| &*tenant.0);
    format!("{} {} {:?} {probe} {tenant}", head.method(), head.uri(), head.version())
}

fn told(link: &Link) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(report(link))))
}

/// Asks, with what the head was before that.
fn asked(link: &Link) -> Outcome {
    let question =
        Question::Form { message: report(link).into(), schema: r#"{"type":"object","properties":{}}"#.into() };
    Outcome::Ask { questions: vec![("k".into(), question)], state: Bytes::new() }
}

/// A request of its own: with a header, a query and an extension.
fn marked(mut request: Request<Full<Bytes>>, mark: &str) -> Request<Full<Bytes>> {
    *request.uri_mut() = format!("/mcp?q={mark}").parse().unwrap();
    request.headers_mut().insert("x-probe", mark.parse().unwrap());
    request.extensions_mut().insert(Tenant(format!("tenant-{mark}").into()));
    request
}

fn mark(mark: &str) -> String {
    format!("POST /mcp?q={mark} HTTP/1.1 {mark} tenant-{mark}")
}

fn sessionless(body: &Value) -> Request<Full<Bytes>> {
    legacy(None, body)
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

#[tokio::test]
async fn a_call_sees_method_uri_header_and_extension_of_its_request_in_each_kind_of_it() {
    let service = build(McpService::builder(Heads::new()));
    assert_eq!(send(&service, marked(modern_call("now", json!({})), "a")).await.text(), mark("a"));
    let session = open(&service).await;
    for kind in ["b", "c"] {
        let got = send(&service, marked(legacy_call(&session, 1, "now", json!({})), kind)).await;
        assert_eq!(got.text(), mark(kind));
    }
    let service = build(McpService::builder(Heads::with(|endpoint| endpoint.sessions(false))));
    assert_eq!(send(&service, marked(sessionless(&call(1, "now")), "d")).await.text(), mark("d"));
}

#[tokio::test]
async fn calls_that_run_at_once_each_see_their_own_head() {
    let service = build(McpService::builder(Heads::new()));
    let session = open(&service).await;
    let ask = |request| {
        let service = service.clone();
        tokio::spawn(async move { send(&service, request).await.text() })
    };
    // None of them ends before all three run.
    let one = ask(marked(legacy_call(&session, 1, "three", json!({})), "one"));
    let two = ask(marked(legacy_call(&session, 2, "three", json!({})), "two"));
    let modern = ask(marked(modern_call("three", json!({})), "modern"));
    assert_eq!(one.await.unwrap(), mark("one"));
    assert_eq!(two.await.unwrap(), mark("two"));
    assert_eq!(modern.await.unwrap(), mark("modern"));
}

#[tokio::test]
async fn members_of_a_batch_see_the_head_of_the_batch_batch_1() {
    let service = build(McpService::builder(Heads::new()));
    let session = send(&service, legacy(None, &initialize("2025-03-26"))).await.session();
    let mut request =
        legacy(Some(&session), &json!([call(1, "now"), call(2, "three"), call(3, "three"), call(4, "three")]));
    request.headers_mut().remove("mcp-protocol-version");
    let got = send(&service, marked(request, "batch")).await.json();
    let texts: Vec<String> = got.as_array().unwrap().iter().map(result_text).collect();
    assert_eq!(texts, [mark("batch"), mark("batch"), mark("batch"), mark("batch")]);
}

#[tokio::test]
async fn the_run_after_an_answer_sees_the_head_of_the_answers_post() {
    let service = build(McpService::builder(Heads::new()));
    let session = open(&service).await;
    for tool in ["ask", "ask_later"] {
        let request = marked(legacy_call(&session, 1, tool, json!({})), "call");
        let mut body = service.handle(request).await.into_body();
        let question = events(&frame(&mut body).await.unwrap()).remove(0);
        assert_eq!(question["params"]["message"], mark("call"));
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}});
        assert_eq!(send(&service, marked(legacy(Some(&session), &answer), "answer")).await.status, 202);
        let last = events(&frame(&mut body).await.unwrap()).remove(0);
        assert_eq!(result_text(&last), mark("answer"), "{tool}");
    }
}

#[tokio::test]
async fn a_run_that_follows_at_once_sees_the_head_of_the_first() {
    let service = build(McpService::builder(Heads::new()));
    // A client that cannot be asked: the handler is run again by itself.
    let mut hello = initialize("2025-11-25");
    hello["params"]["capabilities"] = json!({});
    let session = send(&service, legacy(None, &hello)).await.session();
    for tool in ["ask", "ask_later"] {
        let request = marked(legacy_call(&session, 1, tool, json!({})), "call");
        assert_eq!(send(&service, request).await.text(), mark("call"), "{tool}");
        assert_eq!(send(&service, marked(modern_call(tool, json!({})), "m")).await.text(), mark("m"), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_a_timer_started_sees_no_head_base_25() {
    let service = build(McpService::builder(Heads::new()));
    let session = open(&service).await;
    for tool in ["ask", "ask_later"] {
        let got = send(&service, marked(legacy_call(&session, 1, tool, json!({})), "call")).await;
        assert_eq!(result_text(got.events().last().unwrap()), "none", "{tool}");
    }
}

#[tokio::test]
async fn a_head_lives_as_long_as_its_call_and_no_longer_http_28() {
    let heads = Heads::new();
    let (go, seen) = (Arc::clone(&heads.go), Arc::clone(&heads.seen));
    let service = build(McpService::builder(heads));
    let session = open(&service).await;
    let tenant: Arc<str> = "kept".into();
    let with = |mut request: Request<Full<Bytes>>| {
        request.extensions_mut().insert(Tenant(Arc::clone(&tenant)));
        request
    };
    for request in [
        legacy_call(&session, 1, "now", json!({})),
        modern_call("now", json!({})),
        legacy(Some(&session), &ping(2)),
        legacy(Some(&session), &json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})),
        legacy(Some("gone"), &ping(4)),
        with_body(post(), "{"),
    ] {
        drop(send(&service, with(request)).await);
        assert_eq!(Arc::strong_count(&tenant), 1);
    }
    // Its connection goes, the call goes on and still sees it.
    let mut responding = Box::pin(service.handle(with(legacy_call(&session, 5, "wait", json!({})))));
    std::future::poll_fn(|cx| {
        assert!(responding.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    drop(responding);
    assert_eq!(Arc::strong_count(&tenant), 2);
    go.notify_one();
    while seen.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*seen.lock().unwrap(), ["POST /mcp HTTP/1.1  kept"]);
    while Arc::strong_count(&tenant) > 1 {
        tokio::task::yield_now().await;
    }
}
