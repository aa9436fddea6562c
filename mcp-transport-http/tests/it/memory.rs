//! What sessions cost, by what the system says. `cargo test --release --test it -- --ignored --nocapture memory`

use std::fs;
use std::time::Duration;

use mcp_core::policy::Policy;
use mcp_core::{Caller, Scopes};
use mcp_transport_http::{Body, McpService};
use serde_json::json;

use crate::support::*;

const N: usize = 100_000;

fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("a Linux system");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
}

fn service_for_many() -> McpService {
    let mut policy = Policy::default();
    policy.limits.sessions = 2 * N;
    policy.limits.sessions_opening = 2 * N;
    build(McpService::builder(Tools::with_policy(policy)))
}

/// A client of 40 bytes in all, with a principal of its own: initialize, initialized.
async fn open_one(service: &McpService, n: usize) -> (Caller, String) {
    let caller = Caller::new(&*format!("user-{n:07}@example"), Scopes::default());
    let info = json!({"name": "a-client-of-thirty-four-characters", "version": "1.20.3"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let mut request = legacy(None, &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    request.extensions_mut().insert(caller.clone());
    let session = send(service, request).await.session();
    let mut request = legacy(Some(&session), &initialized());
    request.extensions_mut().insert(caller.clone());
    assert_eq!(send(service, request).await.status, 202);
    (caller, session)
}

async fn listen(service: &McpService, (caller, session): (Caller, String)) -> Body {
    let mut request = bare("GET", &session);
    request.extensions_mut().insert(caller);
    let mut body = service.handle(request).await.into_body();
    assert!(is_priming(&frame(&mut body).await.unwrap()));
    body
}

/// Bytes each, since `before`.
fn each(before: usize) -> usize {
    resident().saturating_sub(before) / N
}

#[tokio::test(start_paused = true)]
#[allow(clippy::print_stderr, reason = "the numbers are what it is run for")]
#[ignore = "opens many sessions; for a release build"]
async fn memory_of_sessions_that_live_and_that_sleep() {
    let service = service_for_many();
    open_one(&service, 0).await;
    let before = resident();
    for n in 0..N {
        open_one(&service, n).await;
    }
    assert_eq!(service.sleeping(), 0);
    let live = each(before);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(service.sleeping(), N + 1);
    let asleep = each(before);
    for n in 0..N {
        open_one(&service, n).await;
    }
    tokio::time::sleep(Duration::from_secs(100)).await;
    let second = each(before);
    eprintln!("{live} bytes each that lives; {asleep} when all sleep; {second} when as many again do");
    assert!(live <= 1536, "{live}");
}

#[tokio::test(start_paused = true)]
#[allow(clippy::print_stderr, reason = "the numbers are what it is run for")]
#[ignore = "opens many sessions; for a release build"]
async fn memory_of_sessions_that_sleep_and_listen() {
    let service = service_for_many();
    let one = open_one(&service, 0).await;
    drop(listen(&service, one).await);
    let before = resident();
    let mut bodies = Vec::with_capacity(N);
    for n in 0..N {
        let opened = open_one(&service, n).await;
        bodies.push(listen(&service, opened).await);
    }
    let live = each(before);
    // As connections do, they are read until the silence is broken by the roster alone.
    for _ in 0..5 {
        for body in &mut bodies {
            assert!(is_comment(&frame(body).await.unwrap()));
        }
    }
    assert!(service.sleeping() > N, "{}", service.sleeping());
    let asleep = each(before);
    let kept = std::mem::size_of::<Body>();
    eprintln!(
        "{live} bytes each that lives and listens; {asleep} when all sleep and listen, {kept} of it the test's own"
    );
}
