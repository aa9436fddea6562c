//! Work that takes long: what it says is awaited or dropped, and its end is heard of, over each transport.

#![cfg(feature = "tokio")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::Client;
use mcp_server::{App, Cancelled, Ctx, Level, Log, Policy, Progress, Server, Span, Tool, json, testing};
use mcp_transport_stdio::Connection;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

fn app(tool: Tool) -> App {
    Server::new("test", "1").tool(tool).build().expect("it can be built")
}

const MANY: usize = 10_000;

/// A tool that logs 1 KiB each time, and how often it has.
fn flood(waits: bool) -> (Tool, Arc<AtomicUsize>) {
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let flood = tool("flood").run(move |log: Log| {
        let said = Arc::clone(&count);
        async move {
            for n in 0..MANY {
                let sent = log.warning(json!({"n": n, "pad": "x".repeat(1000)}));
                said.fetch_add(1, Ordering::SeqCst);
                if waits {
                    sent.await;
                }
            }
            "flooded"
        }
    });
    (flood, said)
}

fn number(log: &Value) -> usize {
    usize::try_from(log["n"].as_u64().expect("a number")).expect("a small one")
}

// What is said.

#[tokio::test(start_paused = true)]
async fn what_a_tool_awaits_is_all_logged_in_order_and_what_it_does_not_is_dropped_from_the_oldest() {
    for waits in [true, false] {
        let (flood, said) = flood(waits);
        let (mut near, far) = tokio::io::duplex(1 << 10);
        let (reader, writer) = tokio::io::split(far);
        tokio::spawn(Connection::tokio(Arc::new(app(flood))).run_tokio(reader, writer));
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flood", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "info",
        }}});
        near.write_all(format!("{call}\n").as_bytes()).await.expect("it reads");
        // The client reads nothing meanwhile.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let before = said.load(Ordering::SeqCst);
        let mut lines = BufReader::new(near).lines();
        let mut logs = Vec::new();
        loop {
            let line = lines.next_line().await.expect("it writes").expect("it goes on");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["method"] != "notifications/message" {
                assert_eq!(message["result"]["content"][0]["text"], "flooded");
                break;
            }
            logs.push(number(&message["params"]["data"]));
        }
        if waits {
            assert!(before < 200, "{before} messages of 1 KiB");
            assert!(logs.into_iter().eq(0..MANY));
        } else {
            assert_eq!(before, MANY);
            assert!(logs.into_iter().eq(MANY - 256..MANY), "the newest");
        }
    }
}

#[cfg(feature = "http")]
#[tokio::test(start_paused = true)]
async fn over_http_a_tool_is_held_back_too_and_an_answer_in_json_holds_nobody_back() {
    use axum::body::{Body, to_bytes};

    let request = |accept: &str| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flood", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "info",
        }}});
        let request = axum::http::Request::post("/mcp").header("host", "localhost").header("accept", accept);
        let request = request.header("content-type", "application/json").header("mcp-method", "tools/call");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-name", "flood");
        request.body(Body::from(body.to_string())).expect("a request")
    };
    let (flood, said) = flood(true);
    let service = app(flood).http_service().expect("it serves");
    let response = service.handle(request("application/json, text/event-stream")).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(said.load(Ordering::SeqCst) < 200);
    let body = to_bytes(Body::new(response.into_body()), 64 << 20).await.expect("a body");
    let body = String::from_utf8(body.to_vec()).expect("a text");
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages: Vec<Value> = events.map(|data| serde_json::from_str(data).expect("JSON")).collect();
    let logs = messages.iter().filter(|message| message["method"] == "notifications/message");
    assert!(logs.map(|log| number(&log["params"]["data"])).eq(0..MANY));

    let response = service.handle(request("application/json")).await;
    let body = to_bytes(Body::new(response.into_body()), 1 << 20).await.expect("a body");
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(answer["result"]["content"][0]["text"], "flooded");
    assert_eq!(said.load(Ordering::SeqCst), 2 * MANY);
}

#[test]
fn the_client_of_tests_holds_back_a_tool_that_waits_until_it_has_looked() {
    let (flood, said) = flood(true);
    testing::block_on(async {
        let mut client = testing::Client::builder(app(flood)).log_level(Level::Info).connect();
        let call = client.start("flood", ());
        assert!((900..1100).contains(&said.load(Ordering::SeqCst)), "a thousand wait");
        client.finish(call).await.assert_text("flooded");
        assert!(client.take_logs().iter().map(|log| number(&log.data)).eq(0..MANY));
    });
}

#[test]
fn progress_that_nobody_wants_is_ready_at_once_and_so_is_what_is_said_without_waiting_prog_1() {
    let quiet = tool("quiet").run(|progress: Progress, ctx: Ctx| async move {
        assert!(!progress.is_wanted());
        progress.count(1).await;
        ctx.progress().say(1, 2, "half").await;
        format!("{:?}", ctx.progress().send(2, 2))
    });
    testing::block_on(async {
        let mut client = testing::Client::new(app(quiet));
        client.call("quiet", ()).without_progress().await.assert_text("Sent { .. }");
        assert_eq!(client.take_progress().len(), 0);
    });
}

/// A tool that tells its progress so often, and how often it has.
fn steps(waits: bool) -> (Tool, Arc<AtomicUsize>) {
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let steps = tool("steps").run(move |progress: Progress| {
        let said = Arc::clone(&count);
        async move {
            for step in 1..=MANY {
                let sent = progress.say(step, MANY, "at work");
                said.fetch_add(1, Ordering::SeqCst);
                if waits {
                    sent.await;
                }
            }
            "done"
        }
    });
    (steps, said)
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_steps_a_slow_client_gets_all_that_were_awaited_else_few_and_the_last_prog_6() {
    for waits in [true, false] {
        let (steps, said) = steps(waits);
        let (mut near, far) = tokio::io::duplex(1 << 10);
        let (reader, writer) = tokio::io::split(far);
        tokio::spawn(Connection::tokio(Arc::new(app(steps))).run_tokio(reader, writer));
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "steps", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": "t",
        }}});
        near.write_all(format!("{call}\n").as_bytes()).await.expect("it reads");
        // The client reads nothing meanwhile.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let before = said.load(Ordering::SeqCst);
        let mut lines = BufReader::new(near).lines();
        let mut reports = Vec::new();
        loop {
            let line = lines.next_line().await.expect("it writes").expect("it goes on");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["method"] != "notifications/progress" {
                assert_eq!(message["result"]["content"][0]["text"], "done");
                break;
            }
            reports
                .push(usize::try_from(message["params"]["progress"].as_u64().expect("a number")).expect("a small one"));
        }
        if waits {
            assert!(before < 1000, "it is held back: {before}");
            assert!(reports.into_iter().eq(1..=MANY), "each, in order");
        } else {
            assert_eq!(before, MANY, "it is held back by nobody");
            assert!((1..100).contains(&reports.len()) && reports.last() == Some(&MANY), "{reports:?}");
        }
    }
}

#[cfg(feature = "http")]
#[tokio::test(start_paused = true)]
async fn over_http_each_report_comes_that_was_awaited_prog_6() {
    use axum::body::{Body, to_bytes};

    for waits in [true, false] {
        let (steps, said) = steps(waits);
        let service = app(steps).http_service().expect("it serves");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "steps", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": "t",
        }}});
        let request = axum::http::Request::post("/mcp").header("host", "localhost");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json").header("mcp-method", "tools/call");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-name", "steps");
        let request = request.body(Body::from(body.to_string())).expect("a request");
        let response = service.handle(request).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(said.load(Ordering::SeqCst) < 10, waits);
        let body = to_bytes(Body::new(response.into_body()), 64 << 20).await.expect("a body");
        let body = String::from_utf8(body.to_vec()).expect("a text");
        let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let messages: Vec<Value> = events.map(|data| serde_json::from_str(data).expect("JSON")).collect();
        let reports = messages.iter().filter_map(|message| message["params"]["progress"].as_u64());
        let right: Vec<u64> = if waits { (1..=10_000).collect() } else { vec![10_000] };
        assert!(reports.eq(right), "{}", messages.len());
    }
}

// The end.

/// How a call over stdio ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Its client cancels it.
    Cancelled,
    /// It runs for longer than it may.
    TimedOut,
    /// The server ends.
    ShutDown,
    /// Its client has gone.
    Gone,
}

/// Says when it is dropped.
struct OnDrop(mpsc::UnboundedSender<&'static str>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// A tool that works, waits for its end beside that, and has left a task behind that waits for it too.
fn selecting(tell: mpsc::UnboundedSender<&'static str>) -> Tool {
    tool("selecting").run(move |ctx: Ctx, cancelled: Cancelled| {
        let tell = tell.clone();
        async move {
            let (left, heard) = (ctx.cancelled(), tell.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = left => drop(heard.send("heard")),
                    () = std::future::pending() => {}
                }
            });
            let _guard = OnDrop(tell.clone());
            let _ = tell.send("runs");
            tokio::select! {
                () = cancelled => drop(tell.send("never: it is dropped where it stands")),
                () = std::future::pending() => {}
            }
        }
    })
}

#[tokio::test]
async fn a_tool_that_selects_is_dropped_and_what_it_left_behind_hears_whatever_ends_the_call_canc_2_stdio_7() {
    for end in [End::Cancelled, End::TimedOut, End::ShutDown, End::Gone] {
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut policy = Policy::default();
        policy.timing.call = matches!(end, End::TimedOut).then_some(Span::millis(20));
        let server = Server::new("test", "1").policy(policy).tool(selecting(tell));
        let (mut near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(far);
        let connection = Connection::tokio(Arc::new(server.build().expect("it can be built")));
        let control = connection.control();
        tokio::spawn(connection.run_tokio(reader, writer));
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "selecting", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        near.write_all(format!("{call}\n").as_bytes()).await.expect("it reads");
        assert_eq!(told.recv().await, Some("runs"), "{end:?}");
        match end {
            End::Cancelled => {
                let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
                near.write_all(format!("{cancel}\n").as_bytes()).await.expect("it reads");
            }
            End::TimedOut => {}
            End::ShutDown => control.shutdown(),
            End::Gone => drop(near),
        }
        let mut both = [told.recv().await, told.recv().await];
        both.sort_unstable();
        assert_eq!(both, [Some("dropped"), Some("heard")], "{end:?}");
    }
}

#[cfg(feature = "http")]
#[tokio::test(start_paused = true)]
async fn over_http_it_is_so_too_when_the_client_leaves_in_the_middle_and_when_time_is_up_http_46() {
    use axum::body::Body;

    for end in [End::Gone, End::TimedOut, End::ShutDown] {
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut policy = Policy::default();
        policy.timing.call = matches!(end, End::TimedOut).then_some(Span::secs(10));
        let server = Server::new("test", "1").policy(policy).tool(selecting(tell));
        let service = server.build().expect("it can be built").http_service().expect("it serves");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "selecting", "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }}});
        let request = axum::http::Request::post("/mcp").header("host", "localhost");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json").header("mcp-method", "tools/call");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-name", "selecting");
        let running = tokio::spawn(service.handle(request.body(Body::from(body.to_string())).expect("a request")));
        assert_eq!(told.recv().await, Some("runs"), "{end:?}");
        match end {
            End::Gone => running.abort(),
            End::TimedOut | End::Cancelled => {}
            End::ShutDown => service.shutdown(Duration::ZERO).await,
        }
        let mut both = [told.recv().await, told.recv().await];
        both.sort_unstable();
        assert_eq!(both, [Some("dropped"), Some("heard")], "{end:?}");
    }
}

#[tokio::test]
async fn a_tool_that_selects_and_is_not_cancelled_ends_with_its_work() {
    let works = tool("works").run(|ctx: Ctx| async move {
        tokio::select! {
            () = ctx.cancelled() => "cancelled",
            () = tokio::task::yield_now() => "worked",
        }
    });
    testing::Client::new(app(works)).call("works", ()).await.assert_text("worked");
}

#[tokio::test]
async fn in_tests_a_call_that_waits_for_its_end_can_be_cancelled_and_times_out() {
    for times_out in [true, false] {
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut policy = Policy::default();
        policy.timing.call = Some(Span::secs(5));
        let server = Server::new("test", "1").policy(policy).tool(selecting(tell));
        let mut client = testing::Client::new(server);
        let call = client.start("selecting", ());
        assert_eq!(told.recv().await, Some("runs"));
        if times_out {
            client.advance(Duration::from_secs(5)).await;
            assert!(client.is_answered(&call));
        } else {
            assert!(client.cancel(call).is_none());
        }
        let mut both = [told.recv().await, told.recv().await];
        both.sort_unstable();
        assert_eq!(both, [Some("dropped"), Some("heard")]);
    }
}
