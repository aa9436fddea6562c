//! A catalogue that is swapped while it is served (TOOL-16): the handler tells, the service has subscribed.

use std::sync::{Arc, Mutex};

use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::{Call, Caller, Change, Endpoint, Kind, Outcome};
use mcp_transport_http::McpService;
use serde_json::{Value, json};

use crate::support::*;

/// Its tools add tools.
struct Growing {
    endpoint: Arc<Endpoint>,
    view: Mutex<View>,
    watchers: Mutex<Watchers>,
}

/// Swaps as part of the call, as a task, on another thread, and many times.
const TOOLS: [&str; 4] = ["inline", "task", "thread", "burst"];
const MANY: u64 = 20;

fn catalog(tools: u64) -> Arc<Catalog> {
    let name = |at: u64| TOOLS.get(at as usize).map_or_else(|| format!("new{at}"), |name| (*name).to_owned());
    let tools = (0..tools).map(|at| Tool::new(&name(at), Handle(at), r#"{"type":"object"}"#));
    tools.fold(Catalog::builder(), mcp_core::catalog::Builder::tool).build().unwrap()
}

impl Growing {
    fn new() -> Arc<Self> {
        let endpoint = Endpoint::builder(Implementation::new("growing", "1.0.0")).tools(true).build().unwrap();
        Arc::new(Self { endpoint, view: Mutex::new(View::all(catalog(4))), watchers: Mutex::default() })
    }

    fn grow(&self) {
        let catalog = {
            let mut view = self.view.lock().unwrap();
            let catalog = catalog(view.catalog().tools().count() as u64 + 1);
            *view = View::all(Arc::clone(&catalog));
            catalog
        };
        let watchers = self.watchers.lock().unwrap().alive();
        watchers.iter().for_each(|watcher| watcher.changed(&catalog, Change::Tools));
    }
}

/// The server of the tests: the code of a call needs the whole of it.
struct Server(Arc<Growing>);

impl Handler for Server {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.0.view.lock().unwrap().clone()
    }

    fn call(&self, call: Call, _: Link) -> Running {
        let Kind::Tool { tool, .. } = call.kind else { panic!("{call:?}") };
        let growing = Arc::clone(&self.0);
        let done = || Outcome::Complete(Answer::Tool(ToolAnswer::text("grown")));
        match tool.0 {
            0 => {
                growing.grow();
                Running::Done(done())
            }
            1 => Running::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                growing.grow();
                done()
            })),
            2 => {
                std::thread::spawn(move || growing.grow()).join().unwrap();
                Running::Done(done())
            }
            _ => {
                (0..MANY).for_each(|_| growing.grow());
                Running::Done(done())
            }
        }
    }

    fn subscribe(&self, watcher: std::sync::Weak<dyn Watcher>) {
        self.0.watchers.lock().unwrap().add(watcher);
    }
}

fn serve() -> (Arc<Growing>, McpService) {
    let growing = Growing::new();
    // By way of `Handler for Arc<H>`, which must pass subscriptions on.
    let service = build(McpService::builder(Arc::new(Server(Arc::clone(&growing)))));
    (growing, service)
}

async fn listen(service: &McpService, session: &str) -> http::Response<mcp_transport_http::Body> {
    let response = service.handle(bare("GET", session)).await;
    assert_eq!(response.status(), 200);
    response
}

/// Ends the session, which ends its stream, and returns the methods of all that came on it.
async fn told(service: &McpService, session: &str, stream: http::Response<mcp_transport_http::Body>) -> Vec<Value> {
    assert_eq!(send(service, bare("DELETE", session)).await.status, 204);
    read(stream).await.events().into_iter().map(|mut event| event["method"].take()).collect()
}

async fn names(service: &McpService, session: &str) -> Vec<Value> {
    let list = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list"});
    let got = send(service, legacy(Some(session), &list)).await.json();
    got["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect()
}

const NOTICE: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn a_call_that_swaps_the_catalogue_is_heard_of_once_on_the_listening_stream_tool_16_http_26() {
    for tool in TOOLS {
        let (_, service) = serve();
        let (session, other) = (open(&service).await, open(&service).await);
        let (stream, others) = (listen(&service, &session).await, listen(&service, &other).await);
        let got = send(&service, legacy_call(&session, 1, tool, json!({}))).await;
        assert_eq!(got.text(), "grown", "{tool}: the answer alone is on the call's own stream");
        let names = names(&service, &session).await;
        assert!(names.contains(&json!("new4")), "{tool}: {names:?}");
        assert_eq!(told(&service, &session, stream).await, [NOTICE], "{tool}");
        assert_eq!(told(&service, &other, others).await, [NOTICE], "{tool}: every session is told");
    }
}

#[tokio::test]
async fn who_listens_later_is_told_once_then_tool_16() {
    for tool in TOOLS {
        let (_, service) = serve();
        let session = open(&service).await;
        assert_eq!(send(&service, legacy_call(&session, 1, tool, json!({}))).await.text(), "grown");
        assert!(names(&service, &session).await.contains(&json!("new4")), "{tool}");
        let stream = listen(&service, &session).await;
        assert_eq!(told(&service, &session, stream).await, [NOTICE], "{tool}");
    }
}

#[tokio::test]
async fn modern_calls_swap_it_too_and_are_told_nothing_themselves_tool_16() {
    for tool in TOOLS {
        let (_, service) = serve();
        let session = open(&service).await;
        let stream = listen(&service, &session).await;
        assert_eq!(send(&service, modern_call(tool, json!({}))).await.text(), "grown");
        let got = send(&service, modern("tools/list", json!({}))).await;
        assert!(got.body.contains("new4"), "{tool}: {got:?}");
        assert_eq!(told(&service, &session, stream).await, [NOTICE], "{tool}");
    }
    let (_, service) = serve();
    let got = send(&service, modern("server/discover", json!({}))).await.json();
    assert_eq!(got["result"]["capabilities"]["tools"], json!({"listChanged": true}), "to those who listen");
    let got = send(&service, legacy(None, &initialize("2025-11-25"))).await.json();
    assert_eq!(got["result"]["capabilities"]["tools"], json!({"listChanged": true}));
}

#[tokio::test]
async fn threads_that_swap_while_calls_do_end_and_are_heard_of_tool_16() {
    let (growing, service) = serve();
    let session = open(&service).await;
    let stream = listen(&service, &session).await;
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let growing = Arc::clone(&growing);
            std::thread::spawn(move || (0..50).for_each(|_| growing.grow()))
        })
        .collect();
    for id in 0..50 {
        assert_eq!(send(&service, legacy_call(&session, id, "task", json!({}))).await.text(), "grown");
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(names(&service, &session).await.len(), 4 + 4 * 50 + 50);
    // Nobody has read the stream meanwhile, so there is one notice for all.
    assert_eq!(told(&service, &session, stream).await, [NOTICE]);
}

#[tokio::test]
async fn a_notice_that_was_read_is_followed_by_another_tool_16() {
    let (growing, service) = serve();
    let session = open(&service).await;
    let mut stream = listen(&service, &session).await.into_body();
    assert!(is_priming(&frame(&mut stream).await.unwrap()));
    for _ in 0..3 {
        let growing = Arc::clone(&growing);
        std::thread::spawn(move || growing.grow()).join().unwrap();
        let read = frame(&mut stream).await.unwrap();
        assert_eq!(events(&read).len(), 1);
        assert_eq!(events(&read)[0]["method"], NOTICE);
    }
}

#[tokio::test]
async fn a_handshake_that_is_under_way_is_told_after_it_and_a_later_one_nothing_life_5() {
    let (growing, service) = serve();
    let early = send(&service, legacy(None, &initialize("2025-11-25"))).await.session();
    let stream = listen(&service, &early).await;
    growing.grow();
    let mut body = stream.into_body();
    assert!(is_priming(&frame(&mut body).await.unwrap()));
    assert_eq!(send(&service, legacy(Some(&early), &initialized())).await.status, 202);
    assert_eq!(events(&frame(&mut body).await.unwrap())[0]["method"], NOTICE);
    let late = open(&service).await;
    let stream = listen(&service, &late).await;
    assert_eq!(told(&service, &late, stream).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_service_that_is_gone_is_watched_for_no_more() {
    let (growing, service) = serve();
    let other = service.clone();
    assert_eq!(growing.watchers.lock().unwrap().alive().len(), 1, "clones are one service");
    drop((service, other));
    assert!(growing.watchers.lock().unwrap().alive().is_empty());
    assert_eq!(Arc::strong_count(&growing), 1, "the handler has gone with it");
    growing.grow();
}

#[cfg(feature = "sse")]
#[tokio::test]
async fn a_conversation_over_http_sse_is_told_once_after_its_handshake_tool_16() {
    use crate::http_sse::{Stream, call, post_to, tell};
    for told in [true, false] {
        let growing = Growing::new();
        let handler = Arc::new(Server(Arc::clone(&growing)));
        // A host that tells the service itself reaches it as well.
        let service = build(McpService::builder(handler).http_sse());
        let (mut stream, uri) = Stream::open(&service).await;
        tell(&service, &uri, &initialize("2024-11-05")).await;
        assert_eq!(stream.next().await["result"]["capabilities"]["tools"]["listChanged"], true);
        if told {
            tell(&service, &uri, &initialized()).await;
            tell(&service, &uri, &call(1, "burst", json!({}))).await;
            let mut methods = [stream.next().await, stream.next().await];
            methods.sort_by_key(|message| message["id"].is_null());
            assert_eq!(methods[0]["id"], 1);
            assert_eq!(methods[1]["method"], NOTICE);
        } else {
            service.changed(&catalog(5), Change::Tools);
            tell(&service, &uri, &initialized()).await;
            assert_eq!(stream.next().await["method"], NOTICE);
        }
        let got = send(&service, with_body(post_to(&uri), ping(9).to_string())).await;
        assert_eq!(got.status, 202);
        assert_eq!(stream.next().await["id"], 9, "nothing was told twice");
    }
}
