//! Everything at once, on several threads: nothing hangs, nothing is lost, nothing panics.

use std::time::Duration;

use mcp_core::Span;
use mcp_core::policy::Policy;
use mcp_transport_http::McpService;
use serde_json::json;

use crate::support::*;

/// A small generator of its own: the same numbers on each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// One client that does what comes into its head, in a session that others use too.
async fn play(service: McpService, session: String, seed: u64) {
    let mut random = Random(seed);
    for round in 0..40 {
        let id = random.below(8);
        let ms = random.below(4);
        let tool = ["echo", "slow", "steps", "thread", "ask", "panic_at_once", "hang"][random.below(7) as usize];
        let arguments = json!({"ms": ms, "text": round});
        let patience = Duration::from_millis(random.below(6));
        match random.below(6) {
            0 => {
                let request = modern_call_with_progress(tool, arguments);
                drop(tokio::time::timeout(patience, send(&service, request)).await);
            }
            1 => {
                let cancel =
                    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
                send(&service, legacy(Some(&session), &cancel)).await;
            }
            2 => drop(tokio::time::timeout(patience, send(&service, bare("GET", &session))).await),
            3 => {
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {}}});
                send(&service, legacy(Some(&session), &answer)).await;
            }
            _ => {
                let request = legacy_call(&session, id, tool, arguments);
                drop(tokio::time::timeout(patience, send(&service, request)).await);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_cancels_drops_and_deletes_may_cross_canc_8() {
    let tools = Tools::new();
    let log = tools.log();
    let service = build(McpService::builder(tools));
    let mut sessions = Vec::new();
    let mut players = Vec::new();
    for seed in 0..32 {
        if seed % 8 == 0 {
            sessions.push(open(&service).await);
        }
        let session = sessions.last().unwrap().clone();
        players.push(tokio::spawn(play(service.clone(), session, seed)));
    }
    // One session is deleted while it is in use.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let deleted = send(&service, bare("DELETE", &sessions[0])).await;
    assert_eq!(deleted.status, 204);
    for player in players {
        player.await.unwrap();
    }
    assert_eq!(service.sessions(), sessions.len() - 1);
    assert_eq!(send(&service, legacy_call(&sessions[1], 99, "echo", json!({"text": 1}))).await.status, 200);
    service.shutdown(Duration::from_millis(50)).await;
    assert_eq!(service.sessions(), 0);
    // Whatever began to wait has ended or was dropped.
    for _ in 0..400 {
        let (_, finished, dropped) = log.counts();
        if finished + dropped == log.waiting() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{:?} of {} calls are left", log.counts(), log.waiting());
}

/// One client of a session that sleeps whenever it can, together with others: each answer must be to what it asked.
async fn disturb(service: McpService, sessions: Vec<String>, scarce: bool, seed: u64) {
    let mut random = Random(seed);
    for round in 0..60 {
        let session = &sessions[random.below(sessions.len() as u64) as usize];
        let patience = Duration::from_millis(random.below(8));
        let id = seed * 1000 + round;
        match random.below(8) {
            0 | 1 => drop(tokio::time::timeout(patience, send(&service, bare("GET", session))).await),
            2 => {
                let request = legacy_call(session, id, "slow", json!({"ms": random.below(5), "text": id}));
                drop(tokio::time::timeout(patience, send(&service, request)).await);
            }
            3 => drop(tokio::time::timeout(patience, send(&service, legacy_call(session, id, "ask", json!({})))).await),
            4 => {
                let answer = json!({"jsonrpc": "2.0", "id": round, "result": {"action": "accept", "content": {}}});
                let status = send(&service, legacy(Some(session), &answer)).await.status;
                assert!(status == 202 || (scarce && status == 503), "{status}");
            }
            // Long enough for it to fall asleep.
            5 => tokio::time::sleep(patience).await,
            6 => service.updated("doc://nobody"),
            _ => {
                let got = send(&service, legacy_call(session, id, "echo", json!({"text": id}))).await;
                // Where the seats are few, all of them may be taken.
                if got.status != 503 || !scarce {
                    assert!(got.status == 200 && got.body.contains(&format!("\"echo {id}\"")), "{got:?}");
                }
            }
        }
    }
}

/// Sessions that sleep after that time, or as soon as another needs their seat.
async fn sleepers_are_disturbed(hibernate_after: Span, seats: usize) {
    let mut policy = Policy::default();
    policy.timing.hibernate_after = Some(hibernate_after);
    policy.timing.keep_alive = Span::millis(2);
    policy.timing.ping = Some(Span::secs(60));
    policy.limits.sessions = seats;
    policy.limits.listening = 1000;
    let service = build(McpService::builder(Tools::with_policy(policy)));
    let mut sessions = Vec::new();
    for _ in 0..8 {
        sessions.push(open(&service).await);
    }
    let mut players = Vec::new();
    for seed in 1..=24 {
        players.push(tokio::spawn(disturb(service.clone(), sessions.clone(), seats < sessions.len(), seed)));
    }
    for player in players {
        player.await.unwrap();
    }
    // All of them are there, and end when they are told to: asleep, awake, and on their way.
    assert_eq!(service.sessions(), sessions.len());
    let deletes: Vec<_> = sessions[..4]
        .iter()
        .flat_map(|session| [session; 3])
        .map(|session| {
            tokio::spawn({
                let (service, request) = (service.clone(), bare("DELETE", session));
                async move { send(&service, request).await.status }
            })
        })
        .collect();
    let mut ended = 0;
    for delete in deletes {
        ended += usize::from(delete.await.unwrap() == 204);
    }
    assert!(ended >= 4, "each was somebody's to end: {ended}");
    assert_eq!(service.sessions(), 4);
    // And a shutdown finds whoever it crosses.
    let late = tokio::spawn({
        let (service, session) = (service.clone(), sessions[7].clone());
        async move {
            for id in 0..200 {
                let status = send(&service, legacy(Some(&session), &ping(id))).await.status;
                assert!([200, 404, 503].contains(&status), "{status}");
            }
        }
    });
    service.shutdown(Duration::from_millis(10)).await;
    late.await.unwrap();
    assert_eq!((service.sessions(), service.sleeping()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn messages_streams_news_and_ends_may_cross_those_who_fall_asleep_and_wake() {
    // So short that each falls asleep with the answer.
    for hibernate_after in [Span::millis(0), Span::millis(1), Span::millis(3)] {
        sleepers_are_disturbed(hibernate_after, 1000).await;
    }
    // Nobody is ever quiet enough by the clock, and only half of them can live.
    sleepers_are_disturbed(Span::secs(60), 4).await;
}
