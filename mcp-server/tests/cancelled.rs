//! Word of a call's end.

#![cfg(feature = "tokio")]

mod common;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use common::{Client, text};
use mcp_server::{Cancelled, Ctx, Server, Tool, json, testing};
use tokio::sync::{Notify, mpsc};

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}

/// A tool that spawns a task which waits for the call's end, says so, and then never answers unless told.
fn spawning(ended: mpsc::UnboundedSender<bool>, entered: Arc<Notify>, answer: bool) -> Tool {
    tool("spawning").run(move |cancelled: Cancelled| {
        let (ended, entered) = (ended.clone(), Arc::clone(&entered));
        async move {
            let here = cancelled.clone();
            tokio::spawn(async move {
                cancelled.clone().await;
                let _ = ended.send(cancelled.is_cancelled());
            });
            entered.notify_one();
            if !answer {
                std::future::pending::<()>().await;
            }
            assert!(!here.is_cancelled(), "it runs");
        }
    })
}

#[tokio::test]
async fn a_task_that_a_tool_left_behind_hears_of_a_cancellation_stdio_7() {
    let (ended, mut heard) = mpsc::unbounded_channel();
    let entered = Arc::new(Notify::new());
    let mut client = Client::of(Server::new("test", "1").tool(spawning(ended, Arc::clone(&entered), false)));
    let id = client.request("tools/call", json!({"name": "spawning", "arguments": {}})).await;
    entered.notified().await;
    assert!(heard.try_recv().is_err(), "not yet");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    assert_eq!(heard.recv().await, Some(true));
}

#[tokio::test]
async fn it_hears_of_an_answer_as_well_so_nothing_is_left_waiting() {
    let (ended, mut heard) = mpsc::unbounded_channel();
    let mut client = Client::of(Server::new("test", "1").tool(spawning(ended, Arc::default(), true)));
    client.call("spawning", json!({})).await;
    assert_eq!(heard.recv().await, Some(true));
}

#[tokio::test]
async fn blocking_code_asks_and_hears_of_it_through_the_context_too() {
    let (ended, mut heard) = mpsc::unbounded_channel();
    let entered = Arc::new(Notify::new());
    let inside = Arc::clone(&entered);
    let block = tool("block").run_blocking(move |ctx: Ctx, cancelled: Cancelled| {
        inside.notify_one();
        while !(cancelled.is_cancelled() && ctx.is_cancelled()) {
            std::thread::yield_now();
        }
        let _ = ended.send(());
    });
    let mut client = Client::of(Server::new("test", "1").tool(block).tool(tool("next").run(|| "next")));
    let id = client.request("tools/call", json!({"name": "block", "arguments": {}})).await;
    entered.notified().await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    assert_eq!(heard.recv().await, Some(()));
    assert_eq!(text(&client.call("next", json!({})).await), "next");
}

#[tokio::test]
async fn many_waits_for_one_call_are_all_woken_and_those_given_up_leave_their_place() {
    let (ended, mut heard) = mpsc::unbounded_channel();
    let many = tool("many").run(move |cancelled: Cancelled| {
        let ended = ended.clone();
        async move {
            for _ in 0..100 {
                let cancelled = cancelled.clone();
                // Looked at once and given up.
                tokio::select! { biased; () = cancelled => {} () = std::future::ready(()) => {} }
            }
            for _ in 0..10 {
                let (cancelled, ended) = (cancelled.clone(), ended.clone());
                tokio::spawn(async move {
                    cancelled.await;
                    let _ = ended.send(());
                });
            }
            tokio::task::yield_now().await;
        }
    });
    let mut client = Client::of(Server::new("test", "1").tool(many));
    client.call("many", json!({})).await;
    for _ in 0..10 {
        assert_eq!(heard.recv().await, Some(()));
    }
}

/// A task that lives for as long as a waker of it does.
struct Task(#[allow(dead_code, reason = "it is there to be dropped")] Mutex<Cancelled>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

/// Three waits for one call that runs: one that has begun and is owned by a task, and two that have not.
fn waits(client: &mut testing::Client, kept: &Mutex<Vec<Cancelled>>) -> (Waker, [Cancelled; 2]) {
    drop(client.start("waiting", ()));
    let mut kept = std::mem::take(&mut *kept.lock().expect("no panic"));
    let (first, second, mut owned) = (kept.remove(0), kept.remove(0), kept.remove(0));
    assert!(Pin::new(&mut owned).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    (Waker::from(Arc::new(Task(Mutex::new(owned)))), [first, second])
}

#[test]
fn with_the_waker_of_one_wait_may_go_a_task_that_waits_too() {
    let kept: Arc<Mutex<Vec<Cancelled>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let waiting = tool("waiting").run(move |cancelled: Cancelled| {
        keep.lock().expect("no panic").extend((0..3).map(|_| cancelled.clone()));
        std::future::pending::<()>()
    });
    let mut client = testing::Client::new(Server::new("test", "1").tool(waiting));
    let (waker, [mut replaced, _]) = waits(&mut client, &kept);
    assert!(Pin::new(&mut replaced).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    assert!(Pin::new(&mut replaced).poll(&mut Context::from_waker(Waker::noop())).is_pending(), "the task is gone");
    let (waker, [mut given_up, _]) = waits(&mut client, &kept);
    assert!(Pin::new(&mut given_up).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(waker);
    drop(given_up);
}
