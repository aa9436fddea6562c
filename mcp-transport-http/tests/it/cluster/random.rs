//! Clients of three nodes that die and whose stores fail at random, and an oracle: nothing that was acknowledged is lost, no call
//! runs twice, and nobody sees what is another's.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::{Kind, Note, Outcome};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::faulty::{Fate, Op};
use super::*;

/// Histories that are tried; one alone with its number in `CLUSTER_SEED`.
const SEEDS: u64 = 20;

/// Small random numbers, the same for the same seed.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// How often each token was run, over all nodes.
type Runs = Arc<Mutex<HashMap<String, u32>>>;

/// Tools that say the token they were called with, and note each run.
struct Noted {
    tools: Tools,
    runs: Runs,
}

impl Handler for Noted {
    fn endpoint(&self) -> &Arc<mcp_core::Endpoint> {
        self.tools.endpoint()
    }

    fn view(&self, caller: &Caller) -> View {
        self.tools.view(caller)
    }

    fn call(&self, call: Call, link: Link) -> Running {
        let Kind::Tool { arguments, .. } = &call.kind else { return self.tools.call(call, link) };
        let arguments: Value = serde_json::from_slice(arguments).unwrap();
        let token = arguments["text"].as_str().unwrap_or_default().to_owned();
        let run = format!("{token}/{}", if call.resume.is_some() { "resumed" } else { "first" });
        *self.runs.lock().unwrap().entry(run).or_default() += 1;
        if arguments["steps"].is_null() {
            return self.tools.call(call, link);
        }
        Running::Later(Box::pin(async move {
            for step in 1..=3_u32 {
                let message = Some(format!("{token} {step}").into());
                link.note(Note::Progress { progress: step.into(), total: Some(3.0), message });
                sleep(Duration::from_millis(7)).await;
            }
            Outcome::Complete(Answer::Tool(ToolAnswer::text(&format!("done {token}"))))
        }))
    }
}

/// The nodes, each replaced when it has died.
struct Nodes {
    memory: Memory,
    runs: Runs,
    alive: Mutex<Vec<(McpService, Faulty)>>,
    /// Those that have died are kept: a process that hangs may wake.
    dead: Mutex<Vec<(McpService, Faulty)>>,
    seed: AtomicU64,
    /// Streams that were read to their answer, and those of them whose answer is that they were interrupted.
    answered: AtomicU64,
    interrupted: AtomicU64,
}

impl Nodes {
    fn new(seed: u64) -> Arc<Self> {
        let (memory, runs) = (memory(), Runs::default());
        let all = Self {
            memory,
            runs,
            alive: Mutex::default(),
            dead: Mutex::default(),
            seed: AtomicU64::new(seed),
            answered: AtomicU64::new(0),
            interrupted: AtomicU64::new(0),
        };
        (0..3).for_each(|_| all.start());
        Arc::new(all)
    }

    fn start(&self) {
        let (service, store) = faulty(&self.memory, Noted { tools: Tools::new(), runs: Arc::clone(&self.runs) });
        let mut dice = Dice(self.seed.fetch_add(0x9E37_79B9, Ordering::Relaxed) | 1);
        store.decide(move |op| match (op, dice.roll(100)) {
            (Op::Receive, _) => Fate::Fine,
            (_, 0..2) => Fate::Down,
            (_, 2..4) => Fate::Unknown,
            (_, 4..8) => Fate::Slow(Duration::from_millis(dice.roll(300))),
            (Op::Append | Op::Save | Op::Send, 8) => Fate::Dies,
            (Op::Append | Op::Save | Op::Send, 9) => Fate::DoneAndDies,
            _ => Fate::Fine,
        });
        self.alive.lock().unwrap().push((service, store));
    }

    /// One of them; in place of the dead there are new ones.
    fn any(&self, dice: &mut Dice) -> (McpService, Faulty) {
        let gone: Vec<_> = self.alive.lock().unwrap().extract_if(.., |(_, store)| store.is_cut()).collect();
        let count = gone.len();
        self.dead.lock().unwrap().extend(gone);
        (0..count).for_each(|_| self.start());
        let alive = self.alive.lock().unwrap();
        alive[dice.roll(alive.len() as u64) as usize].clone()
    }

    /// What a node answers; nothing if it has died before it did, or takes for ever.
    async fn ask(&self, dice: &mut Dice, request: Request<Full<Bytes>>) -> Option<Got> {
        let (service, store) = self.any(dice);
        let got = timeout(Duration::from_secs(60), send(&service, request)).await.ok()?;
        // What a dead process says reaches nobody.
        (!store.is_cut()).then_some(got)
    }
}

/// One client: asks, loses its connection, comes back, and looks whether all is there.
async fn client(nodes: Arc<Nodes>, name: u64, seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(name + 7) | 1);
    let session = loop {
        if let Some(got) = nodes.ask(&mut dice, legacy(None, &initialize("2025-11-25"))).await
            && got.status == 200
        {
            let session = got.session();
            // A session that was not begun ends soon, by rule.
            let begun = nodes.ask(&mut dice, legacy(Some(&session), &initialized())).await;
            if begun.is_some_and(|got| got.status == 202) {
                break session;
            }
        }
    };
    for turn in 0..6_u64 {
        let token = format!("c{name}t{turn}");
        match dice.roll(3) {
            0 => {
                let call = legacy_call(&session, turn, "echo", json!({"text": token}));
                if let Some(got) = nodes.ask(&mut dice, call).await {
                    assert_ne!(got.status, 404, "seed {seed}: an acknowledged session is lost");
                    if got.status == 200 && got.json()["error"].is_null() {
                        assert_eq!(got.text(), format!("echo \"{token}\""), "seed {seed}");
                    }
                }
            }
            1 => {
                let got = nodes.ask(&mut dice, legacy(Some(&session), &ping(turn))).await;
                assert!(got.is_none_or(|got| got.status != 404), "seed {seed}: an acknowledged session is lost");
            }
            _ => stream(&nodes, &session, &mut dice, &token, seed, turn).await,
        }
    }
}

/// A call whose events are read bit by bit, at one node after the other.
async fn stream(nodes: &Nodes, session: &str, dice: &mut Dice, token: &str, seed: u64, turn: u64) {
    let mut seen: Vec<(String, String)> = Vec::new();
    let mut request = legacy_call(session, turn, "slow", json!({"text": token, "steps": 3}));
    for _ in 0..40 {
        let (service, store) = nodes.any(dice);
        let Ok(response) = timeout(Duration::from_secs(60), service.handle(request)).await else { return };
        if store.is_cut() || response.headers().get("content-type").is_none_or(|kind| kind != "text/event-stream") {
            if seen.is_empty() {
                return;
            }
            // It was told to come back later, or is connected to a dead one.
            let status = response.status().as_u16();
            assert!(store.is_cut() || status == 503, "seed {seed}: {token} cannot be read on: {status} after {seen:?}");
        } else {
            let mut body = response.into_body();
            let most = dice.roll(4) + 1;
            for _ in 0..most {
                let Ok(Some(text)) = timeout(Duration::from_secs(40), frame(&mut body)).await else { break };
                if store.is_cut() {
                    break;
                }
                for event in text.split_inclusive("\n\n").filter(|event| event.starts_with("id: ")) {
                    let id = last_id(event);
                    let number = |id: &str| id.split_once('-').unwrap().1.parse::<u64>().unwrap();
                    if let Some((last, _)) = seen.last() {
                        assert_eq!(
                            number(&id),
                            number(last) + 1,
                            "seed {seed}: {token}: a gap, or twice: {seen:?} {event}"
                        );
                    }
                    seen.push((id, event.to_owned()));
                }
            }
        }
        let Some((last, event)) = seen.last() else { return };
        if event.contains("\"result\"") || event.contains("\"error\"") {
            let own = event.contains(&format!("done {token}")) || event.contains("interrupted");
            assert!(own, "seed {seed}: {token} is answered with {event}");
            nodes.answered.fetch_add(1, Ordering::Relaxed);
            nodes.interrupted.fetch_add(u64::from(event.contains("interrupted")), Ordering::Relaxed);
            let progress = seen.iter().filter(|(_, event)| event.contains("notifications/progress"));
            assert!(progress.clone().all(|(_, event)| event.contains(token)), "seed {seed}: another's: {seen:?}");
            return;
        }
        request = resume(session, last);
        sleep(Duration::from_millis(dice.roll(200))).await;
    }
    panic!("seed {seed}: {token} is never answered: {seen:?}");
}

#[tokio::test(start_paused = true)]
async fn whatever_fails_nothing_acknowledged_is_lost_and_no_call_runs_twice() {
    let from = std::env::var("CLUSTER_SEED").ok().and_then(|seed| seed.parse().ok());
    let (mut dead, mut answered, mut interrupted) = (0, 0, 0);
    for seed in from.map_or(1..SEEDS + 1, |seed: u64| seed..seed + 1) {
        println!("seed {seed}");
        let nodes = Nodes::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
        let clients: Vec<_> = (0..4).map(|name| tokio::spawn(client(Arc::clone(&nodes), name, seed))).collect();
        for client in clients {
            client.await.unwrap();
        }
        let runs = nodes.runs.lock().unwrap();
        assert!(runs.values().all(|count| *count == 1), "seed {seed}: {runs:?}");
        dead += nodes.dead.lock().unwrap().len() as u64;
        answered += nodes.answered.load(Ordering::Relaxed);
        interrupted += nodes.interrupted.load(Ordering::Relaxed);
    }
    println!("{dead} nodes died; {answered} streams were read to their answer, {interrupted} to that of a dead node");
    assert!(from.is_some() || (dead > SEEDS && answered > SEEDS && interrupted > 0), "the test tests too little");
}
