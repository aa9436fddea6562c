//! Calls under way: several at once, cancelled, never ending; and what is said meanwhile.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use mcp_server::testing::{Call, Client, Notice, block_on};
use mcp_server::{Cancelled, Ctx, Level, Policy, Progress, Span};
use serde_json::json;

use super::{failure, server, tool, yields};

/// Counts how often it was dropped.
struct Dropped(Arc<AtomicU32>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn calls_run_beside_one_another_and_each_has_its_own_answer_and_progress_prog_1() {
    block_on(async {
        let mut client = Client::new(server());
        let calls: Vec<(u32, Call)> =
            (1..=3).map(|steps| (steps, client.start("count", json!({"steps": steps})))).collect();
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
        // The longest first: the others go on meanwhile.
        for (steps, call) in calls.into_iter().rev() {
            assert_eq!(client.is_answered(&call), steps < 3);
            client.finish(call).await.assert_text(format!("counted to {steps}"));
        }
        let mut calls: Vec<Call> = (1..=3).map(|steps| client.start("count", json!({"steps": steps}))).collect();
        client.settle().await;
        let second = calls.swap_remove(1);
        assert_eq!(client.take_progress_of(&second).len(), 2);
        assert!(client.take_progress().iter().all(|notice| notice.token != second.id()));
    });
}

#[test]
fn every_word_of_a_call_is_heard_in_order_prog_2_log_2() {
    block_on(async {
        let mut client = Client::new(server());
        let call = client.start("count", json!({"steps": 2}));
        assert_eq!(client.next_progress(&call).await.message.as_deref(), Some("step 1"));
        let second = client.next_progress(&call).await;
        assert_eq!((second.progress, second.total, second.message.as_deref()), (2.0, Some(2.0), Some("step 2")));
        client.finish(call).await.assert_text("counted to 2");
        let logs = client.take_logs();
        assert_eq!(logs.iter().map(|log| &log.data["step"]).collect::<Vec<_>>(), [&json!(1), &json!(2)]);
        assert_eq!((logs[0].level, &logs[0].logger), (Level::Info, &None));
        assert_eq!((client.take_logs(), client.take_progress(), client.take_notices()), (vec![], vec![], vec![]));

        client.call("count", json!({"steps": 1})).await.assert_ok();
        let notices = client.take_notices();
        assert!(matches!(&notices[..], [Notice::Progress(_), Notice::Log(_)]), "{notices:?}");
        let call = client.start("count", json!({"steps": 1}));
        assert!(matches!(client.next_notice().await, Notice::Progress(_)));
        assert!(matches!(client.next_notice().await, Notice::Log(_)));
        client.finish(call).await.assert_ok();
    });
}

#[test]
fn a_tool_that_never_waits_is_heard_in_full() {
    // A real client's connection may merge these; here each can be looked at.
    let hasty = tool("hasty").run(|progress: Progress| {
        (1..=1000).for_each(|step| {
            progress.send(step, 1000);
        })
    });
    block_on(async {
        let mut client = Client::new(server().tool(hasty));
        client.call("hasty", ()).await.assert_ok();
        assert_eq!(client.take_progress().len(), 1000);
    });
}

#[test]
fn progress_is_asked_for_unless_it_is_not_prog_1() {
    let wanted = tool("wanted").run(|progress: Progress| progress.is_wanted());
    block_on(async {
        let mut client = Client::new(server().tool(wanted));
        client.call("wanted", ()).await.assert_text("true");
        client.call("wanted", ()).without_progress().await.assert_text("false");
        client.call("wanted", ()).meta("progressToken", "mine").await.assert_text("true");
    });
}

#[test]
fn meta_reaches_the_tool_base_22() {
    let meta = tool("meta").run(|ctx: Ctx| String::from_utf8_lossy(ctx.meta()).into_owned());
    block_on(async {
        let mut client = Client::new(server().tool(meta));
        let answer = client.call("meta", ()).meta("com.example/trace", "abc").await;
        answer.assert_text_contains(r#""com.example/trace":"abc""#);
    });
}

#[test]
fn a_cancelled_call_is_dropped_where_it_waits_canc_2() {
    let dropped = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&dropped);
    let holds = tool("holds").run(move || {
        let held = Dropped(Arc::clone(&counter));
        async move {
            let _held = held;
            std::future::pending::<()>().await;
        }
    });
    let mut client = Client::new(server().tool(holds));
    let (first, second) = (client.start("holds", ()), client.start("holds", ()));
    assert_eq!(client.cancel(first), None);
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "at once, and that one alone");
    assert!(!client.is_answered(&second));
    drop(client);
    assert_eq!(dropped.load(Ordering::Relaxed), 2, "a client that has gone leaves nothing behind");
}

#[test]
fn a_cancellation_that_comes_too_late_gives_the_answer() {
    let mut client = Client::new(server());
    let call = client.start("add", json!({"a": 1, "b": 2}));
    client.cancel(call).expect("it was answered at once").assert_structured(json!({"sum": 3}));
}

#[test]
fn what_waits_for_the_end_of_a_call_hears_of_it_canc_2() {
    let (tell, told) = std::sync::mpsc::channel();
    let waits = tool("waits").run(move |cancelled: Cancelled| {
        tell.send(cancelled).expect("the test listens");
        std::future::pending::<()>()
    });
    let mut client = Client::new(server().tool(waits));
    let call = client.start("waits", ());
    let cancelled = told.recv().expect("it was called");
    assert!(!cancelled.is_cancelled());
    client.cancel(call);
    assert!(cancelled.is_cancelled());
    block_on(cancelled);
}

#[test]
fn what_outlives_its_client_learns_that_nobody_waits_canc_2() {
    let (tell, told) = std::sync::mpsc::channel();
    let waits = tool("waits").run(move |ctx: Ctx| {
        tell.send(ctx).expect("the test listens");
        std::future::pending::<()>()
    });
    let mut client = Client::new(server().tool(waits));
    let _runs = client.start("waits", ());
    let ctx = told.recv().expect("it was called");
    assert!(!ctx.is_cancelled());
    drop(client);
    assert!(ctx.is_cancelled());
}

#[test]
fn what_can_never_be_answered_fails_and_says_why() {
    let (file, line) = (file!(), line!() + 3);
    let text = failure(|| {
        let mut client = Client::new(server());
        block_on(client.call("stuck", ())).assert_ok();
    });
    assert!(text.starts_with(&format!("the answer to `stuck`, asked at {file}:{line}:")), "{text}");
    assert!(text.contains("can never come\n`stuck` runs, and waits for nothing that could wake it\n"), "{text}");
    assert!(
        text.ends_with("\"method\":\"tools/call\",\"params\":{\"name\":\"stuck\",\"_meta\":{\"progressToken\":2}}}\n")
    );

    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(30));
    let text = failure(|| {
        let mut client = Client::new(server().policy(policy));
        let call = client.start("stuck", ());
        block_on(client.finish(call)).assert_ok();
    });
    assert!(text.contains("its time limit is 30s of `Client::advance` away"), "{text}");

    let text = failure(|| _ = block_on(Client::new(server()).next_notice()));
    assert!(text.starts_with("a notice, awaited at") && text.contains("can never come\nlast was said:"), "{text}");

    let text = failure(|| {
        let mut client = Client::new(server());
        let _runs = client.start("stuck", ());
        block_on(client.close());
    });
    assert!(text.starts_with("the end of what runs, awaited at"), "{text}");
}

#[test]
fn progress_that_does_not_come_fails_and_says_so() {
    let text = failure(|| {
        let mut client = Client::new(server());
        let call = client.start("add", json!({"a": 1, "b": 2}));
        block_on(client.next_progress(&call));
    });
    assert!(text.starts_with("`add` was answered and said no more progress, awaited at"), "{text}");
    let text = failure(|| {
        let mut client = Client::new(server());
        let call = client.start("stuck", ());
        block_on(client.next_progress(&call));
    });
    assert!(text.starts_with("progress of `stuck`, awaited at"), "{text}");
}

#[test]
fn the_call_of_another_client_is_told_from_ones_own() {
    let (mut one, mut other) = (Client::new(server()), Client::new(server()));
    let call = one.start("stuck", ());
    let _runs = other.start("stuck", ());
    assert!(failure(|| _ = other.cancel(call)).contains("the call of `stuck` at"));
}

#[test]
fn a_client_that_is_awaited_no_more_can_be_used_again() {
    block_on(async {
        let mut client = Client::new(server());
        {
            let mut call = pin!(client.call("count", json!({"steps": 5})));
            let mut cx = Context::from_waker(Waker::noop());
            assert!(call.as_mut().poll(&mut cx).is_pending());
        }
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
    });
}

#[test]
fn the_end_of_input_waits_for_what_runs_stdio_4() {
    block_on(async {
        let mut client = Client::new(server());
        let call = client.start("count", json!({"steps": 3}));
        assert!(!client.is_closed());
        client.close().await;
        assert!(client.is_closed());
        client.finish(call).await.assert_text("counted to 3");
        let late = client.start("add", json!({"a": 1, "b": 2}));
        assert!(!client.is_answered(&late), "nothing is read any more");
    });
    let text = failure(|| {
        block_on(async {
            let mut client = Client::new(server());
            client.close().await;
            client.call("add", ()).await.assert_ok();
        });
    });
    assert!(text.contains("can never come\nthe conversation has ended"), "{text}");
}

#[test]
fn settling_goes_as_far_as_it_goes() {
    block_on(async {
        let endless = tool("endless").run(async || {
            loop {
                yields().await;
                if false {
                    break;
                }
            }
        });
        let mut client = Client::new(server().tool(endless));
        let (count, stuck) = (client.start("count", json!({"steps": 20})), client.start("stuck", ()));
        client.settle().await;
        assert!(client.is_answered(&count) && !client.is_answered(&stuck));
        let _runs = client.start("endless", ());
        client.settle().await;
    });
}

#[test]
fn a_test_that_asks_again_and_again_how_far_a_call_is_comes_to_an_end() {
    block_on(async {
        let mut client = Client::new(server());
        let call = client.start("count", json!({"steps": 3}));
        while !client.is_answered(&call) {
            client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
        }
        client.finish(call).await.assert_text("counted to 3");
    });
}

#[tokio::test(start_paused = true)]
async fn timers_of_tokio_run_and_its_paused_clock_jumps_by_itself() {
    let sleeps = tool("sleeps").run(async |progress: Progress| {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        progress.send(1, 2);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        "slept"
    });
    let mut client = Client::new(server().tool(sleeps));
    let begun = tokio::time::Instant::now();
    let call = client.start("sleeps", ());
    client.settle().await;
    assert_eq!(begun.elapsed(), Duration::ZERO, "to settle is not to wait");
    client.next_progress(&call).await;
    assert_eq!(begun.elapsed().as_secs(), 3600);
    client.finish(call).await.assert_text("slept");
    assert_eq!(begun.elapsed().as_secs(), 7200);
    assert_eq!(client.elapsed(), Duration::ZERO, "the protocol's clock is another");
}

#[tokio::test]
async fn settling_lets_the_tasks_of_the_runtime_go_on() {
    let spawned = tool("spawned").run(async || {
        let task = tokio::spawn(async { tokio::task::yield_now().await });
        task.await.map_err(|error| error.to_string())
    });
    let mut client = Client::new(server().tool(spawned));
    let call = client.start("spawned", ());
    assert!(!client.is_answered(&call));
    client.settle().await;
    assert!(client.is_answered(&call));
}

#[test]
fn what_another_thread_says_of_a_call_wakes_who_waits_for_it() {
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let (tell, told) = std::sync::mpsc::channel();
    let says = tool("says").run(move |progress: Progress| {
        tell.send(progress).expect("the test listens");
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        async move {
            let _end = end;
            ended.await.map_err(|error| error.to_string())
        }
    });
    let mut client = Client::new(server().tool(says));
    let call = client.start("says", ());
    let progress = told.recv().expect("it was called");
    let woken = Arc::new(Woken(AtomicU32::new(0)));
    let waker = Arc::clone(&woken).into();
    let mut cx = Context::from_waker(&waker);
    let mut next = pin!(client.next_progress(&call));
    assert!(next.as_mut().poll(&mut cx).is_pending());
    std::thread::spawn(move || {
        progress.send(1, 1);
    })
    .join()
    .expect("it speaks");
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(matches!(next.poll(&mut cx), Poll::Ready(said) if said.progress == 1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_threads_and_pools_wake_the_client() {
    let spawned = tool("spawned").run(async || {
        let task = tokio::spawn(async {
            tokio::task::yield_now().await;
            "spawned"
        });
        task.await.unwrap_or_default()
    });
    let thread = tool("thread").run(async |progress: Progress| {
        let (done, waits) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            (1..=3).for_each(|step| {
                progress.send(step, 3);
            });
            let _ = done.send("thread");
        });
        waits.await.unwrap_or_default()
    });
    let server = server().tool(spawned).tool(thread);
    #[cfg(feature = "tokio")]
    let server = server.tool(tool("pool").run_blocking(|| "pool"));
    #[cfg(not(feature = "tokio"))]
    let server = server.tool(tool("pool").run(|| "pool"));
    let mut client = Client::new(server);
    // It may be moved to another task, as a future that is `Send`.
    let work = tokio::spawn(async move {
        for name in ["spawned", "thread", "pool"] {
            client.call(name, ()).await.assert_text(name);
        }
        client.take_progress().len()
    });
    assert_eq!(work.await.unwrap(), 3);
}

#[tokio::test]
async fn two_clients_of_one_server_can_wait_for_each_other() {
    let met = Arc::new(tokio::sync::Notify::new());
    let wait = Arc::clone(&met);
    let app = server()
        .tool(tool("wait").run(move || {
            let wait = Arc::clone(&wait);
            async move { wait.notified().await }
        }))
        .tool(tool("wake").run(move || met.notify_one()))
        .build()
        .unwrap();
    let (mut one, mut other) = (Client::new(&app), Client::new(&app));
    let (waited, woke) = tokio::join!(one.call("wait", ()), other.call("wake", ()));
    waited.assert_ok();
    woke.assert_ok();
}

#[test]
fn a_tool_that_panics_is_a_fault_and_the_client_goes_on_tool_10() {
    let panics = tool("panics").run(async || {
        yields().await;
        if true {
            panic!("secret")
        }
    });
    block_on(async {
        let mut client = Client::new(server().tool(panics));
        client.call("panics", ()).await.assert_fault(-32603).assert_fault_contains("the tool panicked");
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
    });
}

#[tokio::test]
async fn a_client_with_scopes_is_somebody() {
    let guarded = tool("guarded").scope("notes:read").run(|caller: mcp_server::Caller| {
        caller.principal.map_or_else(String::new, |principal| principal.as_str().to_owned())
    });
    let app = mcp_server::Server::new("test", "1").tool(guarded).build().expect("it builds");
    let of = || Client::builder(&app).scopes("notes:read");
    of().connect().call("guarded", json!({})).await.assert_text("tester");
    of().principal("ann").connect().call("guarded", json!({})).await.assert_text("ann");
}
