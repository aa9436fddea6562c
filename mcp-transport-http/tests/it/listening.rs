//! Clients that hear of changes: `subscriptions/listen`, and what legacy sessions subscribed to.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_core::answer::Implementation;
use mcp_core::catalog::{Catalog, Handle, Item, Resource, Tool, View};
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::policy::Policy;
use mcp_core::{Call, Caller, Change, Endpoint, Outcome, Scopes};
use mcp_transport_http::{Body, McpService};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::*;

/// A server of two documents, of which one is for those with the scope `secret`.
struct Docs {
    endpoint: Arc<Endpoint>,
    catalog: Arc<Catalog>,
    /// Whether the secret is out for nobody any more.
    sealed: Mutex<bool>,
    watchers: Mutex<Watchers>,
}

impl Docs {
    fn new(policy: Policy) -> Arc<Self> {
        let builder = Catalog::builder()
            .tool(Tool::new("hang", Handle(1), r#"{"type":"object"}"#))
            .resource(Resource::new("doc://open", "open", Handle(2)))
            .resource(Resource::new("doc://secret", "secret", Handle(3)));
        let endpoint = Endpoint::builder(Implementation::new("docs", "1.0.0")).tools(true).resources(true, true);
        Arc::new(Self {
            endpoint: endpoint.policy(policy).build().unwrap(),
            catalog: builder.build().unwrap(),
            sealed: Mutex::new(false),
            watchers: Mutex::default(),
        })
    }

    fn watchers(&self) -> Vec<Arc<dyn Watcher>> {
        self.watchers.lock().unwrap().alive()
    }

    fn change(&self, what: Change) {
        self.watchers().iter().for_each(|watcher| watcher.changed(&self.catalog, what));
    }

    fn update(&self, uri: &str) {
        self.watchers().iter().for_each(|watcher| watcher.updated(uri));
    }
}

impl Handler for Docs {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, caller: &Caller) -> View {
        let sees = caller.scopes.has("secret") && !*self.sealed.lock().unwrap();
        let hidden = |item: &Item<'_>| item.key() == "doc://secret";
        View::only(Arc::clone(&self.catalog), |item| sees || !hidden(&item))
    }

    fn call(&self, _: Call, _: Link) -> Running {
        Running::Later(Box::pin(std::future::pending::<Outcome>()))
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        self.watchers.lock().unwrap().add(watcher);
    }
}

fn serve() -> (Arc<Docs>, McpService) {
    serve_with(Policy::default())
}

fn serve_with(policy: Policy) -> (Arc<Docs>, McpService) {
    let docs = Docs::new(policy);
    let service = build(McpService::builder(Arc::clone(&docs)));
    (docs, service)
}

fn caller(name: &str, scopes: &str) -> Option<Caller> {
    Some(Caller::new(name, Scopes::parse(scopes)))
}

fn request(
    id: &Value,
    notifications: &Value,
    caller: Option<Caller>,
) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let mut body = modern_body("subscriptions/listen", json!({"notifications": notifications}));
    body["id"] = id.clone();
    let builder = post().header("mcp-protocol-version", "2026-07-28").header("mcp-method", "subscriptions/listen");
    let mut request = with_body(builder, body.to_string());
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    request
}

/// A body that begins with that acknowledgement.
async fn listen_as(service: &McpService, id: Value, asked: Value, caller: Option<Caller>) -> (Body, Value) {
    let response = service.handle(request(&id, &asked, caller)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let first = next(&mut body).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["_meta"], tag(&id));
    (body, first["params"]["notifications"].clone())
}

async fn listen(service: &McpService, id: Value, asked: Value) -> Body {
    let (body, honoured) = listen_as(service, id, asked.clone(), None).await;
    assert_eq!(honoured, asked);
    body
}

/// The one message of the next piece of a body.
async fn next(body: &mut Body) -> Value {
    let mut messages = events(&frame(body).await.expect("the stream goes on"));
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

fn tag(id: &Value) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}

fn told(id: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": TOOLS, "params": {"_meta": tag(&id)}})
}

fn told_of(id: Value, uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": uri, "_meta": tag(&id)}})
}

fn subscribe(session: &str, uri: &str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": {"uri": uri}});
    legacy(Some(session), &message)
}

const TOOLS: &str = "notifications/tools/list_changed";
const UPDATED: &str = "notifications/resources/updated";

#[tokio::test]
async fn one_change_reaches_a_session_and_each_listener_shim_6_sub_7_tool_16() {
    let (docs, service) = serve();
    let session = open(&service).await;
    let mut get = service.handle(bare("GET", &session)).await.into_body();
    assert!(is_priming(&frame(&mut get).await.unwrap()));
    let mut one = listen(&service, json!(1), json!({"toolsListChanged": true})).await;
    let mut two = listen(&service, json!("two"), json!({"toolsListChanged": true, "resourcesListChanged": true})).await;
    docs.change(Change::Tools);
    assert_eq!(next(&mut get).await, json!({"jsonrpc": "2.0", "method": TOOLS, "params": {}}));
    assert_eq!(next(&mut one).await, told(json!(1)));
    assert_eq!(next(&mut two).await, told(json!("two")));
    docs.change(Change::Resources);
    assert_eq!(next(&mut two).await["method"], "notifications/resources/list_changed");
    service.changed(&docs.catalog, Change::Tools);
    assert_eq!(next(&mut one).await, told(json!(1)), "nothing else came in between");
}

#[tokio::test]
async fn two_clients_with_the_same_id_do_not_meet_base_4_http_46() {
    let (docs, service) = serve();
    let ask = |uri: &str| json!({"resourceSubscriptions": [uri]});
    let secret = caller("ann", "secret");
    let (mut one, _) = listen_as(&service, json!(1), ask("doc://open"), None).await;
    let (mut two, _) = listen_as(&service, json!(1), ask("doc://secret"), secret).await;
    docs.update("doc://open");
    docs.update("doc://secret");
    assert_eq!(next(&mut one).await, told_of(json!(1), "doc://open"));
    assert_eq!(next(&mut two).await, told_of(json!(1), "doc://secret"));
    assert_eq!(service.listeners(), 2);
    drop(one);
    assert_eq!(service.listeners(), 1, "its room is free at once");
    docs.update("doc://open");
    service.updated("doc://secret");
    assert_eq!(next(&mut two).await, told_of(json!(1), "doc://secret"));
}

#[tokio::test]
async fn what_a_caller_may_not_see_is_neither_honoured_nor_told_sub_9() {
    let (docs, service) = serve();
    let asked = json!({"resourceSubscriptions": ["doc://open", "doc://secret"]});
    let (_, honoured) = listen_as(&service, json!(1), asked.clone(), caller("bob", "read")).await;
    assert_eq!(honoured, json!({"resourceSubscriptions": ["doc://open"]}));
    let (mut body, honoured) = listen_as(&service, json!(1), asked.clone(), caller("ann", "secret")).await;
    assert_eq!(honoured, asked);
    *docs.sealed.lock().unwrap() = true;
    docs.update("doc://secret");
    docs.update("doc://open");
    assert_eq!(next(&mut body).await, told_of(json!(1), "doc://open"));
}

#[tokio::test]
async fn a_legacy_session_is_told_of_what_it_subscribed_to_and_may_see_res_7_sub_9() {
    let (docs, service) = serve();
    let session = open(&service).await;
    assert_eq!(send(&service, subscribe(&session, "doc://secret")).await.error_code(), -32002);
    assert_eq!(send(&service, subscribe(&session, "doc://open")).await.json()["result"], json!({}));
    let mut get = service.handle(bare("GET", &session)).await.into_body();
    assert!(is_priming(&frame(&mut get).await.unwrap()));
    for uri in ["doc://secret", "doc://open"] {
        docs.update(uri);
    }
    assert_eq!(next(&mut get).await, json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": "doc://open"}}));
}

#[tokio::test]
async fn a_thousand_changes_while_nobody_reads_are_told_once_sub_13() {
    let (docs, service) = serve();
    let asked = json!({"toolsListChanged": true, "resourceSubscriptions": ["doc://open"]});
    let mut body = listen(&service, json!(1), asked).await;
    for _ in 0..1000 {
        docs.change(Change::Tools);
        docs.update("doc://open");
    }
    let read = frame(&mut body).await.unwrap();
    assert_eq!(events(&read), [told(json!(1)), told_of(json!(1), "doc://open")]);
    docs.change(Change::Tools);
    assert_eq!(next(&mut body).await, told(json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_listener_gets_a_comment_each_15_s_and_stays_open_sub_6_http_45() {
    let (_, service) = serve();
    let mut body = listen(&service, json!(1), json!({})).await;
    let start = Instant::now();
    for n in 1..=4 {
        assert!(is_comment(&frame(&mut body).await.unwrap()));
        assert_eq!(start.elapsed().as_secs(), 15 * n);
    }
}

#[tokio::test]
async fn each_principal_has_room_for_so_many_and_all_for_more_sub_14() {
    let mut policy = Policy::default();
    (policy.limits.listens, policy.limits.listens_total) = (2, 4);
    let (docs, service) = serve_with(policy);
    let ann = || caller("ann", "");
    let asked = || json!({"toolsListChanged": true});
    let (mut first, _) = listen_as(&service, json!(1), asked(), ann()).await;
    let (second, _) = listen_as(&service, json!(2), asked(), ann()).await;
    let refused = send(&service, request(&json!(3), &asked(), ann())).await;
    assert_eq!((refused.status, refused.error_code()), (503, -32603));
    assert_eq!(refused.json()["id"], 3);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let others = [listen(&service, json!(1), asked()).await, listen(&service, json!(1), asked()).await];
    let refused = send(&service, request(&json!(9), &asked(), None)).await;
    assert_eq!((refused.status, refused.error_code()), (503, -32603), "in all");
    docs.change(Change::Tools);
    assert_eq!(next(&mut first).await, told(json!(1)), "those who listen live");
    drop((second, others));
    assert_eq!(service.listeners(), 1);
    drop(listen_as(&service, json!(3), asked(), ann()).await);
}

#[tokio::test]
async fn a_request_that_is_dropped_before_it_was_answered_takes_no_room() {
    let (_, service) = serve();
    for _ in 0..100 {
        drop(service.handle(request(&json!(1), &json!({}), None)));
        drop(service.handle(request(&json!(1), &json!({}), None)).await);
    }
    assert_eq!(service.listeners(), 0);
}

#[tokio::test]
async fn a_shutdown_ends_listeners_at_once_and_takes_in_no_more_sub_11_a1() {
    let (docs, service) = serve();
    let mut body = listen(&service, json!("s"), json!({"toolsListChanged": true})).await;
    docs.change(Change::Tools);
    // Were listeners waited for, as calls are, this would take the hour.
    service.shutdown(Duration::from_secs(3600)).await;
    let rest = events(&frame(&mut body).await.unwrap());
    let meta = json!({"io.modelcontextprotocol/serverInfo": {"name": "docs", "version": "1.0.0"},
        "io.modelcontextprotocol/subscriptionId": "s"});
    let result = json!({"jsonrpc": "2.0", "id": "s", "result": {"resultType": "complete", "_meta": meta}});
    assert_eq!(rest, [told(json!("s")), result]);
    assert_eq!(frame(&mut body).await, None);
    assert_eq!(send(&service, request(&json!(1), &json!({}), None)).await.status, 503);
}

#[tokio::test]
async fn over_a_socket_the_result_comes_before_the_end_of_the_stream_sub_11() {
    let (docs, service) = serve();
    let served = Served::new(service).await;
    let mut client = served.client().await;
    client.send(request(&json!(7), &json!({"toolsListChanged": true}), None)).await;
    let head = client.head().await;
    assert_eq!((head.status, head.headers["content-type"].to_str().unwrap()), (200, "text/event-stream"));
    let first = events(&client.chunk().await.unwrap());
    assert_eq!(first[0]["params"]["notifications"], json!({"toolsListChanged": true}));
    docs.change(Change::Tools);
    assert_eq!(events(&client.chunk().await.unwrap()), [told(json!(7))]);
    served.stop().await;
    let last = events(&client.chunk().await.unwrap());
    assert_eq!((last.len(), &last[0]["id"], &last[0]["result"]["resultType"]), (1, &json!(7), &json!("complete")));
    assert_eq!(client.chunk().await, None);
}

#[tokio::test]
async fn a_client_that_closes_its_socket_gives_its_room_back_sub_10_http_46() {
    let (_, service) = serve();
    let served = Served::new(service.clone()).await;
    let mut client = served.client().await;
    client.send(request(&json!(7), &json!({}), None)).await;
    client.head().await;
    client.chunk().await.unwrap();
    assert_eq!(service.listeners(), 1);
    drop(client);
    while service.listeners() > 0 {
        tokio::task::yield_now().await;
    }
    served.stop().await;
}

#[tokio::test]
async fn changes_on_many_threads_come_after_the_acknowledgement_of_listeners_that_come_and_go_sub_4() {
    let (docs, service) = serve();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let docs = Arc::clone(&docs);
            std::thread::spawn(move || {
                for _ in 0..500 {
                    docs.change(Change::Tools);
                    docs.update("doc://open");
                }
            })
        })
        .collect();
    let asked = json!({"toolsListChanged": true, "resourceSubscriptions": ["doc://open"]});
    // A change may be on its way with the acknowledgement, and never before it.
    let listening = async || {
        let mut body = service.handle(request(&json!(1), &asked, None)).await.into_body();
        let first = events(&frame(&mut body).await.unwrap());
        assert_eq!(first[0]["method"], "notifications/subscriptions/acknowledged", "{first:?}");
        assert!(first.iter().all(|event| event["params"]["_meta"] == tag(&json!(1))), "{first:?}");
        body
    };
    for _ in 0..50 {
        let mut kept = listening().await;
        drop(listening().await);
        docs.change(Change::Tools);
        assert!(
            events(&frame(&mut kept).await.unwrap()).iter().all(|event| event["params"]["_meta"] == tag(&json!(1)))
        );
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(service.listeners(), 0);
}

/// The transport of 2024-11-05: one caller's byte stream, which hears as any other.
#[cfg(feature = "sse")]
#[tokio::test]
async fn a_client_of_the_old_transport_is_told_what_it_subscribed_to_res_7_sub_9_tool_16() {
    let docs = Docs::new(Policy::default());
    let service = build(McpService::builder(Arc::clone(&docs)).http_sse());
    let (mut stream, uri) = crate::http_sse::Stream::open(&service).await;
    crate::http_sse::greet(&service, &mut stream, &uri, "2024-11-05").await;
    for (id, document) in [(5, "doc://secret"), (6, "doc://open")] {
        let params = json!({"uri": document});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": params});
        crate::http_sse::tell(&service, &uri, &message).await;
        assert_eq!(stream.next().await["error"].is_null(), id == 6);
    }
    for document in ["doc://secret", "doc://open"] {
        service.updated(document);
        docs.update(document);
    }
    let updated = json!({"jsonrpc": "2.0", "method": UPDATED, "params": {"uri": "doc://open"}});
    assert_eq!(stream.next().await, updated);
    docs.change(Change::Tools);
    assert_eq!(stream.next().await["method"], TOOLS);
}
