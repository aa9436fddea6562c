//! Sessions that several nodes serve, in simulated time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mcp_core::answer::Implementation;
use mcp_core::catalog::{Catalog, Handle, Resource, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::policy::Policy;
use mcp_core::{Call, Caller};
use mcp_transport_http::store::Memory;
use mcp_transport_http::{Cluster, McpService};
use serde_json::json;

use crate::support::*;

mod faults;
mod faulty;
mod random;
mod room;

use faulty::Faulty;

/// A store on tokio's clock.
fn memory() -> Memory {
    Memory::with_clock(&Policy::default(), || tokio::time::Instant::now().into_std())
}

fn cluster(memory: &Memory) -> Cluster {
    let all = Arc::new(memory.clone());
    Cluster::new(all.clone(), all.clone(), all)
}

fn node(memory: &Memory) -> McpService {
    build(McpService::builder(Tools::new()).cluster(cluster(memory)))
}

/// A node whose store can fail.
fn faulty(memory: &Memory, tools: impl Handler) -> (McpService, Faulty) {
    let faulty = Faulty::new(memory);
    let all = Arc::new(faulty.clone());
    (build(McpService::builder(tools).cluster(Cluster::new(all.clone(), all.clone(), all))), faulty)
}

/// The id of the last event in a text.
fn last_id(text: &str) -> String {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().unwrap().to_owned()
}

/// What a stream says up to that.
async fn until(body: &mut mcp_transport_http::Body, what: &str) -> String {
    let mut text = String::new();
    while !text.contains(what) {
        text.push_str(&frame(body).await.unwrap_or_else(|| panic!("the stream ends before {what:?}: {text}")));
    }
    text
}

/// A GET that reads on after an event.
fn resume(session: &str, after: &str) -> Request<Full<Bytes>> {
    let mut request = bare("GET", session);
    request.headers_mut().insert("last-event-id", after.parse().unwrap());
    request
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_session_are_answered_at_any_node() {
    let memory = memory();
    let nodes = [node(&memory), node(&memory)];
    let session = open(&nodes[0]).await;
    for round in 0..6_u64 {
        let node = &nodes[round as usize % 2];
        let got = send(node, legacy_call(&session, round + 1, "echo", json!({"text": round}))).await;
        assert_eq!((got.status, got.text()), (200, format!("echo {round}")));
        let got = send(node, legacy_call(&session, round + 100, "steps", json!({"ms": 10}))).await;
        assert_eq!(result_text(got.events().last().unwrap()), "stepped");
    }
    assert_eq!(send(&nodes[1], bare("DELETE", &session)).await.status, 204);
    for node in &nodes {
        assert_eq!(send(node, legacy(Some(&session), &ping(1))).await.status, 404);
    }
    assert!(memory.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_read_on_at_another_node() {
    let memory = memory();
    let nodes = [node(&memory), node(&memory)];
    let session = open(&nodes[0]).await;
    let mut body = nodes[1].handle(legacy_call(&session, 1, "steps", json!({"ms": 10}))).await.into_body();
    let first = frame(&mut body).await.unwrap();
    let id = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    drop(body);
    tokio::time::sleep(Duration::from_millis(15)).await;
    let got = send(&nodes[1], resume(&session, &id)).await;
    assert_eq!(got.status, 200, "{got:?}");
    assert_eq!(result_text(got.events().last().unwrap()), "stepped");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_cancelled_at_any_node_canc_2() {
    let memory = memory();
    let tools = Tools::new();
    let log = tools.log();
    let (one, _) = faulty(&memory, tools);
    let other = node(&memory);
    let session = open(&one).await;
    let mut body = one.handle(legacy_call(&session, 7, "hang", json!({}))).await.into_body();
    assert!(frame(&mut body).await.is_some(), "a silence was broken");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(send(&other, legacy(Some(&session), &cancel)).await.status, 202);
    while frame(&mut body).await.is_some() {}
    assert_eq!(log.counts(), (1, 0, 1));
}

/// A server with one document.
struct Docs(Arc<mcp_core::Endpoint>);

impl Handler for Docs {
    fn endpoint(&self) -> &Arc<mcp_core::Endpoint> {
        &self.0
    }

    fn view(&self, _: &Caller) -> View {
        let catalog = Catalog::builder().resource(Resource::new("doc://open", "open", Handle(1)));
        View::all(catalog.build().unwrap())
    }

    fn call(&self, call: Call, _: Link) -> Running {
        panic!("nothing is called: {call:?}")
    }
}

#[tokio::test(start_paused = true)]
async fn news_reach_who_listens_at_one_node_to_a_session_of_another_from_a_third_res_7() {
    let memory = memory();
    let nodes = [(); 3].map(|()| {
        let endpoint = mcp_core::Endpoint::builder(Implementation::new("docs", "1.0.0")).resources(true, true);
        faulty(&memory, Docs(endpoint.build().unwrap())).0
    });
    let session = open(&nodes[0]).await;
    let params = json!({"uri": "doc://open"});
    let follow = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": params});
    assert_eq!(send(&nodes[1], legacy(Some(&session), &follow)).await.json()["result"], json!({}));
    let mut body = nodes[2].handle(bare("GET", &session)).await.into_body();
    assert!(is_priming(&frame(&mut body).await.unwrap()));
    nodes[1].updated("doc://open");
    assert!(until(&mut body, "notifications/resources/updated").await.contains("doc://open"));
    // Also while it sleeps.
    tokio::time::sleep(Duration::from_secs(120)).await;
    nodes[2].updated("doc://open");
    assert!(until(&mut body, "notifications/resources/updated").await.contains("doc://open"));
    assert_eq!(send(&nodes[1], bare("DELETE", &session)).await.status, 204);
    while frame(&mut body).await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_at_any_node() {
    let memory = memory();
    let nodes = [node(&memory), node(&memory), node(&memory)];
    let session = open(&nodes[0]).await;
    let mut body = nodes[1].handle(legacy_call(&session, 7, "ask", json!({}))).await.into_body();
    let text = until(&mut body, "elicitation/create").await;
    let question = events(&text).into_iter().find(|event| event["method"] == "elicitation/create").unwrap();
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}});
    assert_eq!(send(&nodes[2], legacy(Some(&session), &answer)).await.status, 202);
    assert!(until(&mut body, "said").await.contains("accept"));
    assert!(frame(&mut body).await.is_none());
}
