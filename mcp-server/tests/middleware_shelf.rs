//! Middleware off the shelf: limits of time and of calls at once, and circuit breakers.

#![cfg(feature = "tokio")]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_server::ask::{Field, elicit};
use mcp_server::middleware::{CircuitBreaker, ConcurrencyLimit, TimeLimit};
use mcp_server::testing::Client;
use mcp_server::{
    Ability, App, CallError, Cancelled, Ctx, Fault, Param, Resource, Revision, Server, Tool, Value, json,
};
use tokio::sync::Notify;

const OPEN: &str = "Tool temporarily unavailable (circuit open after repeated failures)";

fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool.")
}

fn app(server: Server) -> App {
    server.build().expect("it builds")
}

/// Says when it goes.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_ends_and_its_code_is_dropped() {
    let gone = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&gone);
    let limit = TimeLimit::new(Duration::from_secs(5));
    let slow = tool("slow").param(Param::integer("seconds")).wrap(limit).run(move |args: Value| {
        let gone = Gone(Arc::clone(&own));
        async move {
            let _gone = gone;
            tokio::time::sleep(Duration::from_secs(args["seconds"].as_u64().unwrap_or_default())).await;
            "done"
        }
    });
    let mut client = Client::new(app(Server::new("x", "1").tool(slow)));
    client.call("slow", json!({"seconds": 4})).await.assert_text("done");
    gone.store(false, Ordering::Relaxed);
    let answer = client.call("slow", json!({"seconds": 6})).await;
    answer.assert_fault(-32603).assert_fault_contains("took longer than 5s");
    assert!(gone.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn blocking_code_past_its_time_limit_is_told_that_nobody_waits() {
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let ended = began.clone();
    let wait = tool("wait").wrap(TimeLimit::new(Duration::from_secs(5))).run_blocking(move |ctx: Ctx| {
        let _ = began.send("it began");
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        let _ = ended.send("it ended");
    });
    let mut client = Client::new(app(Server::new("x", "1").tool(wait)));
    let call = tokio::spawn(async move {
        client.call("wait", json!({})).await.assert_fault(-32603);
    });
    assert_eq!(begun.recv().await, Some("it began"));
    tokio::time::advance(Duration::from_secs(5)).await;
    call.await.expect("it was answered");
    assert_eq!(begun.recv().await, Some("it ended"));
}

#[tokio::test]
async fn what_is_around_the_code_hears_of_the_end_of_the_call_and_not_of_the_code() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&seen);
    let around = move |ctx: Ctx, cancelled: Cancelled, next: mcp_server::middleware::Next| {
        let own = Arc::clone(&own);
        async move {
            let result = next.run().await;
            own.lock().expect("no panic").extend([ctx.is_cancelled(), cancelled.is_cancelled()]);
            tokio::spawn(async move {
                cancelled.await;
                own.lock().expect("no panic").push(true);
            });
            result
        }
    };
    let mut client = Client::new(app(Server::new("x", "1").wrap(around).tool(tool("t").run(|_: Ctx| "done"))));
    client.call("t", json!({})).await.assert_text("done");
    while seen.lock().expect("no panic").len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*seen.lock().expect("no panic"), [false, false, true]);
}

/// Counts who is in, and the most that were; leaves when it is told.
#[derive(Clone, Default)]
struct Room {
    here: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
    leave: Arc<Notify>,
}

impl Room {
    async fn stay(self) -> &'static str {
        let here = self.here.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(here, Ordering::Relaxed);
        self.leave.notified().await;
        self.here.fetch_sub(1, Ordering::Relaxed);
        "left"
    }
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_may_and_the_others_have_their_turn_in_order() {
    let (limit, room) = (ConcurrencyLimit::new(2), Room::default());
    let (a, b) = (room.clone(), room.clone());
    let a = tool("a").wrap(limit.clone()).run(move || a.clone().stay());
    let b = tool("b").wrap(limit).run(move || b.clone().stay());
    let app = app(Server::new("x", "1").tool(a).tool(b));
    let mut calls = Vec::new();
    for name in ["a", "b", "a", "b", "a"] {
        let mut client = Client::new(&app);
        calls.push(tokio::spawn(async move {
            client.call(name, json!({})).await.assert_text("left");
        }));
        tokio::task::yield_now().await;
    }
    for _ in 0..5 {
        while room.here.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        room.leave.notify_one();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    for call in calls {
        call.await.expect("it was answered");
    }
    assert_eq!(room.most.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_limit_that_refuses_says_so_in_words_and_a_cancelled_call_gives_its_place_back() {
    let room = Room::default();
    let stays = room.clone();
    let limited = tool("a").wrap(ConcurrencyLimit::new(1).refuse()).run(move || stays.clone().stay());
    let app = app(Server::new("x", "1").tool(limited));
    let mut first = Client::new(&app);
    let call = tokio::spawn(async move { drop(first.call("a", json!({})).await) });
    while room.here.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let mut second = Client::new(&app);
    second.call("a", json!({})).await.assert_error_contains("Too many calls of this run at once");
    call.abort();
    let _ = call.await;
    room.leave.notify_one();
    second.call("a", json!({})).await.assert_text("left");
}

/// A clock that stands still, and a tool that fails as it is told.
#[derive(Clone, Default)]
struct Bench {
    now: Arc<AtomicU64>,
    runs: Arc<AtomicU32>,
}

impl Bench {
    fn breaker(&self) -> CircuitBreaker {
        let now = Arc::clone(&self.now);
        CircuitBreaker::new().clock(move || Duration::from_secs(now.load(Ordering::Relaxed)))
    }

    fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::Relaxed);
    }

    fn tool(&self, name: &str) -> Tool {
        let runs = Arc::clone(&self.runs);
        tool(name).param(Param::string("how").required()).run(move |args: Value| -> Result<&'static str, CallError> {
            runs.fetch_add(1, Ordering::Relaxed);
            match args["how"].as_str() {
                Some("hidden") => Err(std::io::Error::other("secret"))?,
                Some("panic") => panic!("secret"),
                Some("fault") => Err(CallError::fault(Fault::internal("out of order"))),
                Some("shown") => Err(CallError::new("Try another.")),
                Some("missing") => Err(CallError::not_found()),
                Some("params") => Err(CallError::fault(Fault::invalid_params("wrong"))),
                _ => Ok("well"),
            }
        })
    }
}

async fn call(client: &mut Client, how: &str) -> String {
    let answer = client.call("a", json!({"how": how})).await;
    if answer.fault().is_some() { "fault".into() } else { answer.text() }
}

#[tokio::test]
async fn a_circuit_opens_after_failures_in_a_row_and_one_call_finds_out_whether_it_may_close() {
    let bench = Bench::default();
    let server = Server::new("x", "1").wrap(bench.breaker()).tool(bench.tool("a")).tool(bench.tool("b"));
    let mut client = Client::new(app(server));
    for how in ["hidden", "panic", "fault", "hidden"] {
        assert_ne!(call(&mut client, how).await, OPEN);
    }
    // A success counts from the beginning.
    assert_eq!(call(&mut client, "well").await, "well");
    for how in ["hidden", "panic", "fault", "hidden", "panic"] {
        assert_ne!(call(&mut client, how).await, OPEN);
    }
    let runs = bench.runs.load(Ordering::Relaxed);
    assert_eq!(call(&mut client, "well").await, OPEN);
    client.call("a", json!({"how": "well"})).await.assert_at("/result/isError", true);
    assert_eq!(bench.runs.load(Ordering::Relaxed), runs);
    // Each entry has a circuit of its own.
    client.call("b", json!({"how": "well"})).await.assert_text("well");
    bench.pass(29);
    assert_eq!(call(&mut client, "well").await, OPEN);
    bench.pass(1);
    assert_eq!(call(&mut client, "hidden").await, "The tool failed with an internal error.");
    assert_eq!(call(&mut client, "well").await, OPEN, "it was found out that it fails");
    bench.pass(30);
    assert_eq!(call(&mut client, "well").await, "well");
    assert_eq!(call(&mut client, "hidden").await, "The tool failed with an internal error.");
    assert_eq!(call(&mut client, "well").await, "well");
}

#[tokio::test]
async fn what_a_model_may_read_is_no_failure_unless_it_is_said_to_be() {
    let bench = Bench::default();
    let mut client = Client::new(app(Server::new("x", "1").wrap(bench.breaker().threshold(1)).tool(bench.tool("a"))));
    for how in ["shown", "missing", "params"] {
        call(&mut client, how).await;
    }
    client.call("a", json!({"how": 7})).await.assert_error_contains("how");
    assert_eq!(call(&mut client, "well").await, "well");
    let breaker = bench.breaker().threshold(1).counts(|error| error.to_string() == "Try another.");
    let mut client = Client::new(app(Server::new("x", "1").wrap(breaker).tool(bench.tool("a"))));
    for (how, open) in [("hidden", false), ("shown", false), ("well", true)] {
        assert_eq!(call(&mut client, how).await == OPEN, open, "{how}");
    }
}

#[tokio::test]
async fn time_limits_are_failures_and_resources_are_told_by_an_error() {
    let bench = Bench::default();
    let slow =
        Resource::new("app://a").wrap(bench.breaker().threshold(1)).wrap(TimeLimit::new(Duration::from_millis(1)));
    let slow = slow.run(std::future::pending::<String>);
    let mut client = Client::new(app(Server::new("x", "1").resource(slow)));
    client.read("app://a").await.assert_fault_contains("time limit");
    client.read("app://a").await.assert_fault(-32603).assert_fault_contains("Resource temporarily unavailable");
}

#[tokio::test]
async fn a_call_that_finds_out_and_does_not_end_holds_up_nobody_for_ever() {
    let bench = Bench::default();
    let hang = Arc::new(AtomicBool::new(false));
    let (own, never) = (Arc::clone(&hang), Arc::new(Notify::new()));
    let shaky = tool("a").wrap(bench.breaker().threshold(1)).run(move || {
        let (hang, never) = (own.load(Ordering::Relaxed), Arc::clone(&never));
        async move {
            if hang {
                never.notified().await;
            }
            Err::<(), _>(CallError::hidden("secret"))
        }
    });
    let app = app(Server::new("x", "1").tool(shaky));
    let mut client = Client::new(&app);
    client.call("a", json!({})).await.assert_error_text("The tool failed with an internal error.");
    bench.pass(30);
    hang.store(true, Ordering::Relaxed);
    let mut probing = Client::new(&app);
    let probe = tokio::spawn(async move { drop(probing.call("a", json!({})).await) });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    client.call("a", json!({})).await.assert_error_text(OPEN);
    hang.store(false, Ordering::Relaxed);
    probe.abort();
    let _ = probe.await;
    client.call("a", json!({})).await.assert_error_text("The tool failed with an internal error.");
}

#[tokio::test]
async fn a_question_says_nothing_of_how_a_call_ends() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let bench = Bench::default();
        let ask = tool("a").wrap(bench.breaker().threshold(1)).run(|ctx: Ctx| -> Result<&'static str, CallError> {
            let said = ctx.ask("fail", elicit("Fail?").field("fail", Field::boolean()))?.required()?;
            if said.boolean("fail") == Some(true) { Err(CallError::hidden("secret")) } else { Ok("well") }
        });
        let fail = Arc::new(AtomicBool::new(true));
        let own = Arc::clone(&fail);
        let mut client = Client::builder(app(Server::new("x", "1").tool(ask)))
            .revision(revision)
            .can(Ability::ElicitationForm)
            .on_request(move |_, _| json!({"action": "accept", "content": {"fail": own.load(Ordering::Relaxed)}}))
            .connect();
        client.call("a", json!({})).await.assert_error_text("The tool failed with an internal error.");
        client.call("a", json!({})).await.assert_error_text(OPEN);
        bench.pass(30);
        fail.store(false, Ordering::Relaxed);
        // The run that asks is let through, and so is the one that finds out.
        client.call("a", json!({})).await.assert_text("well");
        client.call("a", json!({})).await.assert_text("well");
    }
}

#[test]
fn limits_that_let_nothing_run_are_told_when_the_server_is_built() {
    let limited = tool("a").wrap(ConcurrencyLimit::new(0)).wrap(TimeLimit::new(Duration::ZERO));
    let limited = limited.wrap(CircuitBreaker::new().threshold(0)).run(|| ());
    let error = Server::new("x", "1").tool(limited).build().expect_err("it never could run").to_string();
    for remedy in
        ["`ConcurrencyLimit::new(1)`", "`TimeLimit::new(Duration::from_secs(5))`", "a threshold of one at least"]
    {
        assert!(error.contains(remedy), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn blocking_code_has_its_place_until_it_has_ended_also_past_its_time_limit() {
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (end, ending) = std::sync::mpsc::channel::<()>();
    let ending = Mutex::new(ending);
    let ended = began.clone();
    let limit = ConcurrencyLimit::new(1).refuse();
    let print =
        tool("print").wrap(limit.clone()).wrap(TimeLimit::new(Duration::from_secs(5))).run_blocking(move || {
            let _ = began.send("it began");
            let _ = ending.lock().expect("nobody panics").recv();
            let _ = ended.send("it ended");
            "printed"
        });
    let scan = tool("scan").wrap(limit).run(|| "scanned");
    let app = app(Server::new("x", "1").tool(print).tool(scan));
    let mut first = Client::new(&app);
    let call = tokio::spawn(async move {
        first.call("print", json!({})).await.assert_fault(-32603);
    });
    assert_eq!(begun.recv().await, Some("it began"));
    tokio::time::advance(Duration::from_secs(5)).await;
    call.await.expect("it was answered");
    // Nobody waits for it any more, and it prints on.
    let mut client = Client::new(&app);
    client.call("scan", json!({})).await.assert_error_contains("Too many calls");
    end.send(()).expect("it waits");
    assert_eq!(begun.recv().await, Some("it ended"));
    loop {
        // The thread gives its place back after its last word.
        let answer = client.call("scan", json!({})).await;
        if !answer.is_error() {
            answer.assert_text("scanned");
            break;
        }
        tokio::task::yield_now().await;
    }
}
