//! Nodes that die, and stores that fail, at each point.

use std::time::Duration;

use mcp_core::SessionId;
use mcp_transport_http::store::{Acquired, NodeId, SessionKey, SessionStore};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::faulty::{Fate, Op};
use super::*;

/// How long a test waits for what must not come.
const NEVER: Duration = Duration::from_secs(3);

#[tokio::test(start_paused = true)]
async fn a_node_that_dies_at_any_point_leaves_a_session_that_goes_on_elsewhere_and_runs_no_call_twice() {
    for (op, done) in [(Op::Append, false), (Op::Append, true), (Op::Save, false), (Op::Save, true)] {
        let memory = memory();
        let tools = Tools::new();
        let log = tools.log();
        let (one, store) = faulty(&memory, tools);
        let other = node(&memory);
        let session = open(&one).await;
        // What was answered before is not lost.
        let got = send(&one, legacy_call(&session, 1, "steps", json!({"ms": 10}))).await;
        let first = got.body.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
        store.die_at(op, done);
        let mut dead = Box::pin(one.handle(legacy_call(&session, 2, "steps", json!({"ms": 10}))));
        assert!(timeout(NEVER, &mut dead).await.is_err(), "{op:?} {done}: nothing leaves before it is stored");
        let again = send(&other, resume(&session, &first)).await;
        assert_eq!(again.status, 200, "{op:?} {done}: {again:?}");
        let own = got.body.split_inclusive("\n\n").skip(1).collect::<String>();
        assert_eq!(again.body, own, "{op:?} {done}");
        if let Ok(late) = timeout(NEVER, &mut dead).await {
            assert_eq!(late.status(), 503, "{op:?} {done}: it could not be stored");
        }
        assert_eq!(send(&other, legacy_call(&session, 3, "echo", json!({"text": 1}))).await.text(), "echo 1");
        assert_eq!(log.counts().0, 2, "{op:?} {done}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_dead_node_is_answered_once_as_interrupted_on_its_stream() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let other = node(&memory);
    let session = open(&one).await;
    let mut body = one.handle(legacy_call(&session, 9, "steps", json!({"ms": 60_000}))).await.into_body();
    let text = until(&mut body, "step 1").await;
    store.cut();
    let start = Instant::now();
    let got = send(&other, resume(&session, &last_id(&text))).await;
    assert!(start.elapsed() <= Duration::from_secs(20), "two leases: {:?}", start.elapsed());
    let answer = got.events().into_iter().next_back().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(9), &json!(-32603)), "{got:?}");
    assert_eq!(answer["error"]["data"]["reason"], "interrupted");
    let mut rest = String::new();
    while let Ok(Some(frame)) = timeout(Duration::from_secs(60), frame(&mut body)).await {
        rest.push_str(&frame);
    }
    assert!(!rest.contains("data: {"), "the dead node says nothing more: {rest}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_a_dead_owner_had_is_answered_as_interrupted_and_not_sent_again() {
    let memory = memory();
    let tools = Tools::new();
    let log = tools.log();
    let (one, store) = faulty(&memory, tools);
    let other = node(&memory);
    let session = open(&one).await;
    let asked = tokio::spawn({
        let (other, request) = (other.clone(), legacy_call(&session, 4, "hang", json!({})));
        async move { send(&other, request).await }
    });
    log.reaches((1, 0, 0)).await;
    store.cut();
    let got = asked.await.unwrap();
    assert_eq!((got.error_code(), &got.json()["id"]), (-32603, &json!(4)));
    assert_eq!(got.json()["error"]["data"]["reason"], "interrupted");
    assert_eq!(send(&other, legacy_call(&session, 5, "echo", json!({"text": 1}))).await.text(), "echo 1");
    assert_eq!(log.counts().0, 1, "it ran once");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_paused_says_nothing_of_a_session_that_went_on_elsewhere() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let other = node(&memory);
    let session = open(&one).await;
    let mut listening = one.handle(bare("GET", &session)).await.into_body();
    assert!(is_priming(&frame(&mut listening).await.unwrap()));
    store.cut();
    sleep(Duration::from_secs(1)).await;
    // Its lease runs out, and the other one goes on.
    let set = json!({"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "error"}});
    // The first request may be lost with it; the second finds out.
    send(&other, legacy(Some(&session), &set)).await;
    let got = send(&other, legacy(Some(&session), &set)).await;
    assert_eq!((got.status, &got.json()["result"]), (200, &json!({})));
    while let Ok(Some(more)) = timeout(Duration::from_millis(1), frame(&mut listening)).await {
        assert!(is_comment(&more), "{more}");
    }
    let asked = one.handle(legacy(Some(&session), &ping(4)));
    store.heal();
    let got = read(asked.await).await;
    assert_eq!(got.status, 200, "it learns, and hands the request on: {got:?}");
    let end = timeout(Duration::from_secs(60), frame(&mut listening)).await;
    assert_eq!(end, Ok(None), "its own reader is ended without a byte");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_refuses_what_needs_it_with_503_and_the_session_goes_on_after() {
    for fate in [Fate::Down, Fate::Full, Fate::Slow(Duration::from_secs(60))] {
        let memory = memory();
        let (one, store) = faulty(&memory, Tools::new());
        let session = open(&one).await;
        store.decide(move |op| if matches!(op, Op::Save | Op::Append | Op::Create) { fate } else { Fate::Fine });
        let set = json!({"jsonrpc": "2.0", "id": 3, "method": "logging/setLevel", "params": {"level": "error"}});
        let got = send(&one, legacy_call(&session, 2, "echo", json!({"text": 1}))).await;
        assert_eq!(got.text(), "echo 1", "what changes nothing needs no store");
        let got = send(&one, legacy(Some(&session), &set)).await;
        assert_eq!((got.status, got.header("retry-after")), (503, Some("1")), "{fate:?}");
        let got = send(&one, legacy(None, &initialize("2025-11-25"))).await;
        assert_eq!(got.status, 503, "{fate:?}");
        store.heal();
        sleep(Duration::from_secs(10)).await;
        let got = send(&one, legacy_call(&session, 4, "steps", json!({"ms": 1}))).await;
        assert_eq!(result_text(got.events().last().unwrap()), "stepped", "{fate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_though_the_store_said_that_it_is_down_is_done_once() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let mut turn = 0_u32;
    store.decide(move |op| {
        turn += 1;
        let fails = turn % 2 == 1 && !matches!(op, Op::Receive | Op::Send | Op::Broadcast);
        if fails { Fate::Unknown } else { Fate::Fine }
    });
    let session = open(&one).await;
    for id in 1..5 {
        let got = send(&one, legacy_call(&session, id, "steps", json!({"ms": 5}))).await;
        let events = got.events();
        let logs = events.iter().filter(|event| event["method"] == "notifications/message").count();
        let answers = events.iter().filter(|event| !event["result"].is_null()).count();
        assert_eq!((logs, answers), (3, 1), "{got:?}");
    }
    assert_eq!(send(&one, bare("DELETE", &session)).await.status, 204);
    assert!(memory.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_goes_down_hands_its_sessions_over_at_once() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let other = node(&memory);
    let session = open(&one).await;
    let mut listening = one.handle(bare("GET", &session)).await.into_body();
    assert!(is_priming(&frame(&mut listening).await.unwrap()));
    let mut body = one.handle(legacy_call(&session, 9, "steps", json!({"ms": 60_000}))).await.into_body();
    until(&mut body, "step 1").await;
    let start = Instant::now();
    one.shutdown(Duration::from_millis(100)).await;
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(store.count(Op::Release), 1);
    assert!(until(&mut body, "interrupted").await.contains("\"id\":9"));
    while frame(&mut body).await.is_some() {}
    while frame(&mut listening).await.is_some() {}
    let start = Instant::now();
    assert_eq!(send(&other, legacy(Some(&session), &ping(4))).await.status, 200);
    assert!(start.elapsed() < Duration::from_secs(1), "no lease is waited for: {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_quiet_session_goes_back_to_the_store_and_wakes_at_any_node() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let other = node(&memory);
    let session = open(&one).await;
    assert_eq!(one.sessions(), 1);
    sleep(Duration::from_secs(90)).await;
    assert_eq!((one.sessions(), store.count(Op::Release)), (0, 1));
    assert_eq!(send(&other, legacy_call(&session, 5, "echo", json!({"text": 1}))).await.text(), "echo 1");
    assert_eq!((one.sessions(), other.sessions()), (0, 1));
    sleep(Duration::from_secs(3 * 3600)).await;
    assert_eq!(send(&one, legacy(Some(&session), &ping(4))).await.status, 404, "idle for too long");
    assert!(memory.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_store_makes_up_is_refused_for_that_session_alone_http_21() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let [mine, other, good] = [open(&one).await, open(&one).await, open(&one).await];
    one.shutdown(Duration::ZERO).await;
    // Another process, to which the store says what it likes.
    let (two, lies) = faulty(&memory, Tools::new());
    let garbage = mcp_core::Snapshot::from_bytes(Bytes::from_static(b"\x02garbage"));
    let theirs = store.snapshot_of(&other);
    lies.lie(&mine, theirs);
    lies.lie(&other, garbage);
    for session in [&mine, &other] {
        let got = send(&two, legacy(Some(session), &ping(1))).await;
        assert_eq!(got.status, 404, "{got:?}");
    }
    assert_eq!(send(&two, legacy(Some(&good), &ping(1))).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_state_that_a_session_has_left_behind_is_refused() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let session = open(&one).await;
    sleep(Duration::from_secs(90)).await;
    assert_eq!(store.count(Op::Release), 1);
    store.run_back();
    assert_eq!(send(&one, legacy(Some(&session), &ping(1))).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn what_is_logged_and_not_yet_saved_is_neither_sent_early_nor_twice_http_29() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let session = open(&one).await;
    let mut body = one.handle(legacy_call(&session, 9, "steps", json!({"ms": 100}))).await.into_body();
    let id = "2-1";
    assert!(until(&mut body, "log 1").await.contains(&format!("id: {id}\n")));
    drop(body);
    // It reads from the log, until it has caught up.
    let mut body = one.handle(resume(&session, id)).await.into_body();
    store.decide(|op| if op == Op::Save { Fate::Slow(Duration::from_secs(1)) } else { Fate::Fine });
    sleep(Duration::from_millis(150)).await;
    // The second step is in the log, and the state that sent it will be saved in a second.
    let mut got = String::new();
    while let Ok(Some(early)) = timeout(Duration::from_millis(500), frame(&mut body)).await {
        got.push_str(&early);
    }
    assert!(got.contains("log 1") && !got.contains("step 2"), "it left before it was stored: {got}");
    got.push_str(&until(&mut body, "stepped").await);
    let number = |id: &str| id.split_once('-').unwrap().1.parse::<u64>().unwrap();
    let numbers: Vec<u64> = got.lines().filter_map(|line| line.strip_prefix("id: ")).map(number).collect();
    let wanted: Vec<u64> = (1..=numbers.len() as u64).map(|more| number(id) + more).collect();
    assert_eq!(numbers, wanted, "each once: {got}");
    assert!(got.contains("log 2") && got.contains("log 3"));
}

#[tokio::test(start_paused = true)]
async fn a_delete_whose_owner_died_once_it_was_done_is_answered_as_done_http_23() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let other = node(&memory);
    let session = open(&one).await;
    store.die_at(Op::Remove, true);
    assert_eq!(send(&other, bare("DELETE", &session)).await.status, 204);
    assert_eq!(send(&other, legacy(Some(&session), &ping(1))).await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn ids_that_are_tried_at_a_slow_store_take_no_seats() {
    let memory = memory();
    let mut policy = Policy::default();
    policy.limits.sessions = 8;
    let (one, store) = faulty(&memory, Tools::with_policy(policy));
    store.decide(|op| if op == Op::Acquire { Fate::Slow(Duration::from_secs(60)) } else { Fate::Fine });
    let tries: Vec<_> = (0..32_u8)
        .map(|n| {
            let (one, id) = (one.clone(), mcp_core::SessionId::new([n; 16]).encode());
            tokio::spawn(async move { send(&one, legacy(Some(&id), &ping(1))).await })
        })
        .collect();
    sleep(Duration::from_millis(100)).await;
    assert_eq!(one.sessions(), 0);
    let session = open(&one).await;
    assert_eq!(send(&one, legacy_call(&session, 1, "echo", json!({"text": 1}))).await.text(), "echo 1");
    for tried in tries {
        assert_eq!(tried.await.unwrap().status, 503, "it is not known whether there is one");
    }
    assert_eq!(one.sessions(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_relay_that_hangs_costs_no_lease() {
    let memory = memory();
    let (one, store) = faulty(&memory, Tools::new());
    let others = [node(&memory), node(&memory)];
    let mine = open(&one).await;
    let mut bodies = Vec::new();
    for other in &others {
        bodies.push(one.handle(bare("GET", &open(other).await)).await.into_body());
    }
    store.decide(|op| if op == Op::Send { Fate::Slow(Duration::from_secs(600)) } else { Fate::Fine });
    let key = SessionKey { session: SessionId::parse(mine.as_bytes()).unwrap(), principal: None };
    for _ in 0..30 {
        sleep(Duration::from_secs(1)).await;
        let acquired = memory.acquire(&key, NodeId::new([9; 16]), Duration::from_secs(1)).await;
        assert!(matches!(acquired, Ok(Acquired::Held { .. })), "{acquired:?}");
    }
    drop(bodies);
}

#[tokio::test(start_paused = true)]
async fn what_a_newer_release_wrote_is_left_to_a_node_that_reads_it() {
    let memory = memory();
    let one = node(&memory);
    let session = open(&one).await;
    one.shutdown(Duration::ZERO).await;
    let (old, store) = faulty(&memory, Tools::new());
    store.lie(&session, mcp_core::Snapshot::from_bytes(b"\xC8what a later format has"[..].into()));
    let call = |id| legacy_call(&session, id, "echo", json!({"text": 1}));
    assert_eq!(send(&old, call(1)).await.status, 503, "it is there");
    // And is not held by who cannot go on with it.
    assert_eq!(send(&node(&memory), call(2)).await.text(), "echo 1");
}
