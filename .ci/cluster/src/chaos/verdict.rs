//! What all of it shows in the end.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use redis::AsyncCommands;
use tokio::time::{Instant, sleep};

use crate::kills::{Kills, Phase};
use crate::nodes::Node;
use crate::world::{PATIENCE, World};

#[derive(Default)]
pub struct Verdict {
    passed: u64,
    failures: Vec<String>,
    told: String,
}

impl Verdict {
    pub fn check(&mut self, passed: bool, what: &str, why: &str) {
        if passed {
            self.passed += 1;
        } else {
            self.failures.push(format!("{what}: {why}"));
        }
    }

    /// Each session is a check.
    pub fn sessions(&mut self, world: &World, sessions: u64) {
        let failures = world.failures.lock().unwrap();
        self.passed += sessions.saturating_sub(failures.len() as u64);
        self.failures.extend(failures.iter().cloned());
        self.told.push_str(&world.tell());
    }

    /// A cancellation that was acknowledged has ended its call.
    pub async fn cancelled(&mut self, world: &World, nodes: &mut [Node]) {
        let cancelled: HashSet<String> = world.cancelled.lock().unwrap().iter().cloned().collect();
        let end = Instant::now() + PATIENCE;
        loop {
            let mut hanging = Vec::new();
            for node in nodes.iter_mut() {
                match node.say("hanging").await {
                    Ok(line) => hanging
                        .extend(line.split(' ').skip(1).filter(|name| cancelled.contains(*name)).map(str::to_owned)),
                    Err(error) => hanging.push(error),
                }
            }
            if hanging.is_empty() || Instant::now() > end {
                return self.check(hanging.is_empty(), "cancelled calls have ended", &hanging.join(", "));
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// Nothing ran more often than it was asked for; what was answered ran, and what was refused did not.
    pub async fn runs(&mut self, world: &World, url: &str) -> Result<(), String> {
        let runs = read_runs(url).await.map_err(|error| error.to_string())?;
        let most = world.most.lock().unwrap();
        let twice: Vec<String> = runs
            .iter()
            .filter(|(name, times)| **times > most.get(*name).copied().unwrap_or(1))
            .map(|(name, times)| format!("{name} ran {times} times"))
            .collect();
        self.check(twice.is_empty(), "no call ran twice", &twice.join(", "));
        let ran = |name: &String| runs.contains_key(name);
        let never: Vec<String> = world.answered.lock().unwrap().iter().filter(|name| !ran(name)).cloned().collect();
        self.check(never.is_empty(), "what was answered ran", &never.join(", "));
        let all_the_same: Vec<String> =
            world.refused.lock().unwrap().iter().filter(|name| ran(name)).cloned().collect();
        self.check(all_the_same.is_empty(), "what was refused with 503 did not run", &all_the_same.join(", "));
        self.told.push_str(&format!("{:>8} runs counted\n", runs.len()));
        Ok(())
    }

    pub fn kills(&mut self, kills: &Kills, wanted: u32) {
        let of = |phase| kills.counts.get(&phase).copied().unwrap_or_default();
        let killed = [Phase::BeforeStore, Phase::AfterStore, Phase::AfterSend, Phase::AtRandom].map(of);
        self.check(killed.iter().sum::<u32>() >= wanted, "kills", "fewer than wanted");
        for (phase, count) in &kills.counts {
            self.told.push_str(&format!("{count:>8} {phase}\n"));
        }
        let points: Vec<String> = kills.points.iter().map(|(point, count)| format!("{point} {count}")).collect();
        self.told.push_str(&format!("         points: {}\n", points.join(", ")));
        if wanted >= 200 {
            // A quarter of them each, less those whose point was not reached in time.
            for (phase, count) in [Phase::BeforeStore, Phase::AfterStore, Phase::AfterSend].into_iter().zip(killed) {
                self.check(count >= wanted / 10, &phase.to_string(), &format!("{count} times only"));
            }
        }
        self.check(
            kills.faults.is_empty(),
            "nodes end when they are told to, and not by themselves",
            &kills.faults.join("; "),
        );
    }

    /// A check that nothing came to is none.
    pub fn coverage(&mut self, world: &World, kills: u32) {
        let unneeded = |name: &str| {
            kills == 0 && ["refused", "broken", "broke", "interrupted"].iter().any(|word| name.contains(word))
        };
        let never: Vec<&str> = world
            .stats
            .all()
            .into_iter()
            .filter(|(name, count)| *count == 0 && !name.contains("503") && !unneeded(name))
            .map(|(name, _)| name)
            .collect();
        self.check(never.is_empty(), "everything happened", &format!("never: {}", never.join(", ")));
    }

    /// Prints it; whether all is well.
    pub fn print(&self, again: &str) -> bool {
        println!("{}", self.told);
        for failure in self.failures.iter().take(30) {
            let short: String = failure.chars().take(4000).collect();
            println!("FAILED: {short}");
        }
        if !self.failures.is_empty() {
            println!("again: {again}");
        }
        println!("{} passed, {} failed", self.passed, self.failures.len());
        self.failures.is_empty()
    }
}

async fn read_runs(url: &str) -> redis::RedisResult<HashMap<String, u64>> {
    let mut redis = redis::Client::open(url)?.get_multiplexed_async_connection().await?;
    let mut names: Vec<String> = Vec::new();
    {
        let mut found = redis.scan_match::<_, String>("runs:*").await?;
        while let Some(name) = found.next_item().await {
            names.push(name?);
        }
    }
    let mut runs = HashMap::new();
    for names in names.chunks(500) {
        let counts: Vec<u64> = redis.mget(names).await?;
        runs.extend(names.iter().map(|name| name.trim_start_matches("runs:").to_owned()).zip(counts));
    }
    Ok(runs)
}
