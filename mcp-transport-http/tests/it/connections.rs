//! Connections at their limits: what comes behind a request, a peer that leaves at once, and one that does not read.

use std::time::{Duration, Instant};

use mcp_transport_http::McpService;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpSocket;

use crate::support::*;

/// `tools/list`, as bytes.
fn list() -> String {
    let body = modern_body("tools/list", json!({})).to_string();
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
                mcp-method: tools/list\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// What must not wait for anything. Five seconds is for ever on one machine.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), future).await.expect("it waits for something")
}

#[tokio::test]
async fn an_answer_waits_for_nothing_that_comes_behind_its_request() {
    let served = Served::new(service()).await;
    let list = list();
    // RFC 9112 section 2.2 knows clients that send a line break too many.
    for behind in ["\r\n", "\n", &list[..1], &list[..50], &list[..list.len() - 1]] {
        let mut client = served.client().await;
        client.write(format!("{list}{behind}")).await;
        assert_eq!(soon(client.answer()).await.status, 200, "{behind:?}");
        // The second request is still read where it was left off.
        client.write(list.strip_prefix(behind).unwrap_or(&list)).await;
        assert_eq!(soon(client.answer()).await.status, 200, "{behind:?}");
    }
}

#[tokio::test]
async fn events_wait_for_nothing_that_comes_behind_their_request() {
    let served = Served::new(service()).await;
    for behind in ["\r\n".to_owned(), list()] {
        let mut client = served.client().await;
        client.send(modern_call_with_progress("steps", json!({"ms": 3_600_000}))).await;
        client.write(behind).await;
        assert_eq!(soon(client.head()).await.status, 200);
        assert!(soon(client.chunk()).await.unwrap().contains("step 1"));
    }
}

#[tokio::test]
async fn a_request_with_garbage_behind_it_is_answered_and_then_the_garbage_is() {
    let served = Served::new(service()).await;
    let mut client = served.client().await;
    client.write(format!("{}GARBAGE\r\n\r\n", list())).await;
    let first = soon(client.answer()).await;
    assert_eq!((first.status, first.json()["result"]["tools"].is_array()), (200, true));
    assert_eq!(soon(client.answer()).await.status, 400);
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn what_is_no_http_is_told_so() {
    let served = Served::new(service()).await;
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let many: String = (0..300).map(|n| format!("x-{n}: y\r\n")).collect();
    for (bytes, status) in [
        ("GARBAGE\r\n\r\n".to_owned(), 400),
        ("GET\r\n\r\n".to_owned(), 400),
        ("{\"jsonrpc\":\"2.0\"}\r\n\r\n".to_owned(), 400),
        // The first bytes of TLS.
        ("\u{16}\u{3}\u{1}\0\0\r\n\r\n".to_owned(), 400),
        (format!("{head}x: a\u{0}b\r\n\r\n"), 400),
        (format!("{head}x: a\u{1}b\r\n\r\n"), 400),
        (format!("{head}x: a\u{7f}b\r\n\r\n"), 400),
        (format!("{head}transfer-encoding: chunked\r\n\r\nno number\r\n"), 400),
        (format!("{head}{many}\r\n"), 431),
        (format!("{head}x: {}", "y".repeat(70_000)), 431),
        (format!("{head}x: {}\r\n\r\n", "y".repeat(100_000)), 431),
    ] {
        let mut client = served.client().await;
        client.write(&bytes).await;
        let start: String = bytes.chars().skip(head.len()).take(20).collect();
        assert_eq!(soon(client.answer()).await.status, status, "{start:?}");
        assert!(client.is_closed().await, "{start:?}");
    }
    let mut client = served.client().await;
    assert_eq!(client.ask(modern_call("echo", json!({}))).await.status, 200);
}

/// How a client goes that does not wait for its answer.
#[derive(Clone, Copy, Debug)]
enum Leave {
    Close,
    /// As a system does that closes a socket with unread bytes. Others than Linux may take from the server what it has
    /// not read yet.
    #[cfg(target_os = "linux")]
    Reset,
}

#[cfg(target_os = "linux")]
const LEAVES: [Leave; 2] = [Leave::Close, Leave::Reset];
#[cfg(not(target_os = "linux"))]
const LEAVES: [Leave; 1] = [Leave::Close];

/// A client whose connection the server waits on already: a new one it would read once before it hears of anything.
async fn known(served: &Served) -> Client {
    let mut client = served.client().await;
    assert_eq!(client.ask(modern("tools/list", json!({}))).await.status, 200);
    client
}

/// Sends a request and leaves. Nothing here waits between the two, and the server runs on the same thread: it finds
/// both at once.
async fn fire(served: &Served, request: http::Request<http_body_util::Full<bytes::Bytes>>, leave: Leave) {
    let mut client = known(served).await;
    client.send(request).await;
    match leave {
        Leave::Close => {}
        #[cfg(target_os = "linux")]
        Leave::Reset => client.io.get_ref().set_zero_linger().unwrap(),
    }
}

fn cancel(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// Waits for real time to bring that number of sessions.
async fn reaches(service: &McpService, sessions: usize) {
    for _ in 0..400 {
        if service.sessions() == sessions {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(service.sessions(), sessions);
}

#[tokio::test]
async fn a_legacy_message_whose_client_leaves_at_once_is_handled_http_28_canc_2() {
    for leave in LEAVES {
        let tools = Tools::new();
        let log = tools.log();
        let service = build(McpService::builder(tools));
        let served = Served::new(service.clone()).await;
        let session = open(&service).await;

        fire(&served, legacy_call(&session, 1, "slow", json!({"ms": 1})), leave).await;
        log.reaches((1, 1, 0)).await;

        fire(&served, legacy_call(&session, 2, "hang", json!({})), leave).await;
        log.reaches((2, 1, 0)).await;
        fire(&served, legacy(Some(&session), &cancel(2)), leave).await;
        log.reaches((2, 1, 1)).await;

        fire(&served, bare("DELETE", &session), leave).await;
        reaches(&service, 0).await;
    }
}

#[tokio::test]
async fn a_long_message_whose_client_closes_at_once_is_handled_http_28() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let served = Served::new(service.clone()).await;
    let session = open(&service).await;
    // More than is read at a time, and than lies in the buffers of both ends.
    let arguments = json!({"ms": 1, "text": "x".repeat(3_000_000)});
    fire(&served, legacy_call(&session, 1, "slow", arguments), Leave::Close).await;
    log.reaches((1, 1, 0)).await;
}

#[tokio::test]
async fn a_modern_call_whose_client_leaves_at_once_is_cancelled_http_46() {
    for leave in LEAVES {
        let tools = Tools::new();
        let log = tools.log();
        let served = Served::new(build(McpService::builder(tools))).await;
        fire(&served, modern_call("hang", json!({})), leave).await;
        log.reaches((1, 0, 1)).await;
        fire(&served, modern_call_with_progress("steps", json!({"ms": 60_000})), leave).await;
        log.reaches((2, 0, 2)).await;
    }
}

#[tokio::test]
async fn who_closes_the_writing_side_at_once_still_gets_what_is_answered_at_once() {
    let service = service();
    let served = Served::new(service.clone()).await;
    let session = open(&service).await;
    for request in [modern_call("echo", json!({"text": 1})), legacy_call(&session, 1, "echo", json!({"text": 1}))] {
        let mut client = known(&served).await;
        client.send(request).await;
        client.io.shutdown().await.unwrap();
        assert_eq!(soon(client.answer()).await.text(), "echo 1");
        assert!(client.is_closed().await);
    }
}

#[tokio::test]
async fn requests_behind_one_another_are_all_handled_though_the_client_leaves_at_once() {
    let service = service();
    let served = Served::new(service.clone()).await;
    let session = open(&service).await;
    let mut client = known(&served).await;
    for id in 0..5 {
        client.send(legacy_call(&session, id, "echo", json!({"text": id}))).await;
    }
    client.send(bare("DELETE", &session)).await;
    client.io.shutdown().await.unwrap();
    for id in 0..5 {
        assert_eq!(soon(client.answer()).await.text(), format!("echo {id}"));
    }
    assert_eq!(soon(client.answer()).await.status, 204);
    assert_eq!(service.sessions(), 0);
}

/// A client whose system takes little for it.
async fn narrow(served: &Served) -> Client {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    Client { io: BufReader::new(socket.connect(served.address).await.unwrap()) }
}

#[tokio::test]
async fn who_reads_nothing_is_cut_off_and_makes_room() {
    const SIZE: usize = 16 << 20;
    let limit = Duration::from_millis(200);
    let served = Served::with(service(), |server| server.write_time(limit).max_connections(1)).await;
    let mut stalled = narrow(&served).await;
    let start = Instant::now();
    stalled.send(modern_call("big", json!({"size": SIZE}))).await;
    let status = async || {
        let mut client = served.client().await;
        client.send(modern_call("echo", json!({}))).await;
        client.head().await.status
    };
    while status().await == 503 {
        assert!(start.elapsed() < Duration::from_secs(10), "it keeps its connection for ever");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(start.elapsed() >= limit);
    // What the system had taken before is still there; the rest is not.
    let mut rest = Vec::new();
    drop(stalled.io.read_to_end(&mut rest).await);
    assert!(rest.len() < SIZE, "{}", rest.len());
}

#[tokio::test]
async fn a_quiet_stream_is_no_write_that_waits_http_45() {
    let service = service();
    let served = Served::with(service.clone(), |server| server.write_time(Duration::from_millis(1))).await;
    let session = open(&service).await;
    let mut listener = served.client().await;
    listener.send(bare("GET", &session)).await;
    assert_eq!(listener.head().await.status, 200);
    assert!(is_priming(&listener.chunk().await.unwrap()));
    let start = tokio::time::Instant::now();
    tokio::time::pause();
    while start.elapsed() < Duration::from_secs(600) {
        assert!(is_comment(&listener.chunk().await.expect("the stream goes on")));
    }
}
