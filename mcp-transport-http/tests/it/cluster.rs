//! Sessions that several nodes serve, in simulated time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mcp_core::policy::Policy;
use mcp_transport_http::store::Memory;
use mcp_transport_http::{Cluster, McpService};
use serde_json::json;

use crate::support::*;

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
