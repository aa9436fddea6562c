//! Everything at once, on several threads: nothing hangs, nothing is lost, nothing panics.

use std::time::Duration;

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
