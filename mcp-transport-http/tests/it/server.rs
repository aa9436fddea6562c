//! The server over sockets.

use std::time::Duration;

use mcp_transport_http::{McpService, Server};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::*;

async fn open_over(served: &Served) -> String {
    let mut client = served.client().await;
    let session = client.ask(legacy(None, &initialize("2025-11-25"))).await.session();
    assert_eq!(client.ask(legacy(Some(&session), &initialized())).await.status, 202);
    session
}

#[tokio::test]
async fn requests_of_both_eras_share_a_connection_ver_21() {
    let served = Served::new(service()).await;
    let mut client = served.client().await;
    let got = client.ask(modern_call("echo", json!({"text": 1}))).await;
    assert_eq!((got.status, got.text().as_str()), (200, "echo 1"));
    let got = client.ask(legacy(None, &initialize("2025-11-25"))).await;
    let session = got.session();
    let got = client.ask(legacy(Some(&session), &initialized())).await;
    assert_eq!((got.status, got.header("content-length")), (202, Some("0")));
    assert_eq!(client.ask(legacy_call(&session, 1, "echo", json!({"text": 2}))).await.text(), "echo 2");
    let got = client.ask(modern_call_with_progress("steps", json!({"ms": 1}))).await;
    assert_eq!(result_text(got.events().last().unwrap()), "stepped");
    assert_eq!(client.ask(bare("DELETE", &session)).await.status, 204);
    assert_eq!(client.ask(legacy(Some(&session), &ping(1))).await.status, 404);
}

#[tokio::test]
async fn events_arrive_while_the_call_runs() {
    let served = Served::new(service()).await;
    let mut client = served.client().await;
    client.send(modern_call_with_progress("steps", json!({"ms": 60_000}))).await;
    assert_eq!(client.head().await.headers["content-type"], "text/event-stream");
    assert!(client.chunk().await.unwrap().contains("step 1"));
}

#[tokio::test]
async fn closing_the_connection_cancels_a_modern_call_and_not_a_legacy_one_http_46_http_28() {
    let tools = Tools::new();
    let log = tools.log();
    let served = Served::new(build(McpService::builder(tools))).await;
    let session = open_over(&served).await;

    let mut client = served.client().await;
    client.send(modern_call("hang", json!({}))).await;
    log.reaches((1, 0, 0)).await;
    drop(client);
    log.reaches((1, 0, 1)).await;

    let mut client = served.client().await;
    client.send(modern_call_with_progress("steps", json!({"ms": 60_000}))).await;
    assert_eq!(client.head().await.status, 200);
    drop(client);
    log.reaches((2, 0, 2)).await;

    let mut client = served.client().await;
    client.send(legacy_call(&session, 1, "slow", json!({"ms": 200}))).await;
    log.reaches((3, 0, 2)).await;
    drop(client);
    log.reaches((3, 1, 2)).await;
}

#[tokio::test]
async fn an_open_get_blocks_no_post_case_98() {
    let served = Served::new(service()).await;
    let session = open_over(&served).await;
    let mut listener = served.client().await;
    listener.send(bare("GET", &session)).await;
    assert_eq!(listener.head().await.status, 200);
    assert!(is_priming(&listener.chunk().await.unwrap()));
    let mut client = served.client().await;
    assert_eq!(client.ask(legacy(Some(&session), &ping(1))).await.status, 200);
}

#[tokio::test]
async fn long_uploads_get_413_with_a_length_and_chunked_case_95() {
    let served = Served::new(service()).await;
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let block = vec![b' '; 1 << 20];
    for chunked in [false, true] {
        let mut client = served.client().await;
        let framing = if chunked { "transfer-encoding: chunked" } else { "content-length: 52428800" };
        client.write(format!("{head}{framing}\r\n\r\n")).await;
        // A client that sends all of it before it looks for an answer.
        for _ in 0..50 {
            let sent = async {
                if chunked {
                    client.write("100000\r\n").await;
                }
                client.write(&block).await;
                if chunked {
                    client.write("\r\n").await;
                }
            };
            sent.await;
        }
        let got = client.answer().await;
        assert_eq!((got.status, got.error_code()), (413, -32600), "chunked: {chunked}");
        assert!(client.is_closed().await);
    }
}

#[tokio::test]
async fn an_upload_that_is_aborted_harms_nobody_case_95() {
    let served = Served::new(service()).await;
    let mut client = served.client().await;
    client
        .write(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
        )
        .await;
    drop(client);
    let mut client = served.client().await;
    assert_eq!(client.ask(modern_call("echo", json!({"text": 1}))).await.status, 200);
}

#[tokio::test]
async fn a_slow_head_is_cut_off() {
    let served = Served::with(service(), |server| server.head_time(Duration::from_millis(100))).await;
    let mut client = served.client().await;
    client.write("POST /mcp HTTP/1.1\r\nhost: loc").await;
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_connection_too_many_gets_503_and_room_is_made_when_one_ends() {
    let served = Served::with(service(), |server| server.max_connections(1)).await;
    let mut first = served.client().await;
    assert_eq!(first.ask(modern_call("echo", json!({}))).await.status, 200);
    let mut second = served.client().await;
    let head = second.head().await;
    assert_eq!((head.status, head.headers["retry-after"].to_str().unwrap()), (503, "1"));
    assert_eq!(first.ask(modern_call("echo", json!({}))).await.status, 200);
    drop(first);
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut third = served.client().await;
        third.send(modern_call("echo", json!({}))).await;
        if third.head().await.status == 200 {
            return;
        }
    }
    panic!("no room was made");
}

#[tokio::test]
async fn a_port_in_use_is_an_error_that_says_what_to_do() {
    let served = Served::new(service()).await;
    let error = Server::bind(served.address.to_string(), service()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    let text = error.to_string();
    assert!(text.contains(&served.address.to_string()) && text.contains("another port"), "{text}");
}

#[tokio::test]
async fn shutdown_ends_open_streams_and_slow_posts_within_the_grace_time_case_96() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let served = Served::with(service, |server| server.grace(Duration::from_millis(500))).await;
    let session = open_over(&served).await;
    let _idle = served.client().await;
    let mut listener = served.client().await;
    listener.send(bare("GET", &session)).await;
    assert_eq!(listener.head().await.status, 200);
    let mut quick = served.client().await;
    quick.send(modern_call("slow", json!({"ms": 200}))).await;
    let mut slow = served.client().await;
    slow.send(legacy_call(&session, 1, "hang", json!({}))).await;
    log.reaches((2, 0, 0)).await;
    let address = served.address;
    let (stopped, quick, slow, ended) = tokio::join!(served.stop(), quick.answer(), slow.answer(), async {
        while listener.chunk().await.is_some() {}
        listener.is_closed().await
    });
    assert!(stopped < Duration::from_secs(4), "{stopped:?}");
    assert_eq!(quick.text(), "slow null", "a call that ends in time is answered");
    assert_eq!(slow.error_code(), -32603, "one that does not is answered for");
    assert!(ended);
    assert_eq!(log.counts(), (2, 1, 1));
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn shutdown_without_work_is_quick() {
    let served = Served::new(service()).await;
    let session = open_over(&served).await;
    let mut listener = served.client().await;
    listener.send(bare("GET", &session)).await;
    assert_eq!(listener.head().await.status, 200);
    let stopped = served.stop().await;
    assert!(stopped < Duration::from_secs(3), "the grace time is not waited for: {stopped:?}");
}

#[tokio::test]
async fn a_slow_reader_holds_back_nobody() {
    let served = Served::new(service()).await;
    let session = open_over(&served).await;
    let mut slow = served.client().await;
    // More than the buffers of both ends hold.
    slow.send(legacy_call(&session, 1, "big", json!({"size": 3_000_000}))).await;
    let mut other = served.client().await;
    for id in 2..20 {
        let got = other.ask(legacy_call(&session, id, "echo", json!({"text": id}))).await;
        assert_eq!(got.status, 200);
    }
    assert_eq!(slow.answer().await.text().len(), 3_000_000);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let served = Served::new(service()).await;
    let mut client = served.client().await;
    for n in 0..20 {
        client.send(modern_call("slow", json!({"text": n, "ms": 20 - n}))).await;
    }
    for n in 0..20 {
        assert_eq!(client.answer().await.text(), format!("slow {n}"));
    }
}

#[tokio::test]
async fn a_session_header_may_be_long_double_or_not_ascii_and_is_only_unknown() {
    let served = Served::new(service()).await;
    let request = |session: &[u8]| {
        let head = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n".as_slice();
        [head, b"mcp-session-id: ", session, b"\r\n\r\n"].concat()
    };
    for (session, status) in
        [(vec![b'A'; 10_240], 404), (b"\xe9\xff\x80".to_vec(), 404), (b"a\r\nmcp-session-id: b".to_vec(), 400)]
    {
        let mut client = served.client().await;
        client.write(request(&session)).await;
        assert_eq!(client.answer().await.status, status);
    }
}

#[tokio::test]
async fn http_1_0_is_served_without_host_and_without_chunks() {
    let served = Served::new(service()).await;
    let body =
        modern_body("tools/call", json!({"name": "steps", "arguments": {"ms": 1}, "_meta": {"progressToken": 1}}));
    let body = body.to_string();
    let mut client = served.client().await;
    client
        .write(format!(
            "POST /mcp HTTP/1.0\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: steps\r\naccept: text/event-stream\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    let head = client.head().await;
    assert_eq!((head.status, head.headers.get("transfer-encoding")), (200, None));
    let mut rest = String::new();
    client.io.read_to_string(&mut rest).await.unwrap();
    assert_eq!(result_text(events(&rest).last().unwrap()), "stepped");
}

#[tokio::test]
async fn a_client_that_asks_before_it_uploads_is_told_case_95() {
    let served = Served::new(service()).await;
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n";
    let mut client = served.client().await;
    client.write(format!("{head}content-length: 52428800\r\n\r\n")).await;
    assert_eq!(client.answer().await.status, 413);
    let mut client = served.client().await;
    client.write(format!("{head}content-length: 1\r\n\r\n")).await;
    assert_eq!(client.head().await.status, 100);
    client.write("{").await;
    assert_eq!(client.answer().await.error_code(), -32700);
}
