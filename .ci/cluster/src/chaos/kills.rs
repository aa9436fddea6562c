//! Who dies when: decided by the seed alone.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use cluster::point::{Op, Point, Sent};
use fastrand::Rng;
use nix::sys::signal::Signal;
use tokio::time::sleep;

use crate::nodes::{Node, Plan};
use crate::proxy::Targets;

/// How long a graceful stop may take: far more than the nodes' grace.
const STOP: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    BeforeStore,
    AfterStore,
    AfterSend,
    AtRandom,
    Graceful,
    Frozen,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeStore => "killed before the store",
            Self::AfterStore => "killed after the store",
            Self::AfterSend => "killed after the send",
            Self::AtRandom => "killed at random",
            Self::Graceful => "stopped with SIGTERM",
            Self::Frozen => "frozen for longer than the lease",
        })
    }
}

pub struct Kills {
    pub nodes: Vec<Node>,
    pub plan: Plan,
    pub targets: Targets,
    pub rng: Rng,
    pub lease: Duration,
    pub counts: BTreeMap<Phase, u32>,
    /// Which points were reached.
    pub points: BTreeMap<Point, u32>,
    /// What the nodes did that nobody had them do.
    pub faults: Vec<String>,
}

impl Kills {
    pub async fn start(&mut self, index: usize) -> Result<(), String> {
        let node = Node::start(&self.plan, index).await?;
        self.targets.set(index, node.addresses.clone());
        if index < self.nodes.len() {
            self.nodes[index] = node;
        } else {
            self.nodes.push(node);
        }
        Ok(())
    }

    /// So many kills, with graceful stops and freezes in between.
    pub async fn run(&mut self, kills: u32) -> Result<(), String> {
        for number in 0..kills {
            let index = self.rng.usize(0..self.nodes.len());
            let phase = self.one(index, number).await;
            *self.counts.entry(phase).or_default() += 1;
            self.start(index).await?;
            if number % 10 == 9 {
                let index = self.rng.usize(0..self.nodes.len());
                self.stop(index).await;
                self.start(index).await?;
            }
            if number % 20 == 13 {
                self.freeze().await;
            }
            if number % 25 == 24 {
                println!("{} kills", number + 1);
            }
            sleep(Duration::from_millis(self.rng.u64(100..900))).await;
        }
        Ok(())
    }

    /// The phases take turns; what exactly, and how long it takes, is chosen.
    async fn one(&mut self, index: usize, number: u32) -> Phase {
        let ops = [
            Op::Save,
            Op::Append,
            Op::Acquire,
            Op::Create,
            Op::Release,
            Op::Save,
            Op::Append,
            Op::Renew,
            Op::Truncate,
            Op::Replay,
        ];
        let op = ops[self.rng.usize(0..ops.len())];
        let sent = if self.rng.bool() { Sent::Response } else { Sent::Event };
        let (point, phase) = match number % 4 {
            0 => (Point::Before(op), Phase::BeforeStore),
            1 => (Point::After(op), Phase::AfterStore),
            2 => (Point::Sent(sent), Phase::AfterSend),
            _ => {
                sleep(Duration::from_millis(self.rng.u64(0..400))).await;
                return self.kill(index).await;
            }
        };
        // What is rare is not waited for many times.
        let passes = match point {
            Point::Before(Op::Save | Op::Append) | Point::After(Op::Save | Op::Append) | Point::Sent(_) => {
                self.rng.u32(0..40)
            }
            _ => self.rng.u32(0..3),
        };
        let node = &mut self.nodes[index];
        if !node.arm(point, passes).await {
            self.faults.push(format!("node {index} had ended by itself"));
            return Phase::AtRandom;
        }
        match node.ended(Duration::from_secs(3)).await {
            Some(status) if status.signal() == Some(Signal::SIGKILL as i32) => {
                *self.points.entry(point).or_default() += 1;
                phase
            }
            Some(status) => {
                self.faults.push(format!("node {index} ended by itself: {status}"));
                phase
            }
            // Nothing came there.
            None => self.kill(index).await,
        }
    }

    async fn kill(&mut self, index: usize) -> Phase {
        let node = &mut self.nodes[index];
        if let Some(status) = node.ended(Duration::ZERO).await {
            self.faults.push(format!("node {index} had ended by itself: {status}"));
        }
        node.signal(Signal::SIGKILL);
        let _ = node.ended(STOP).await;
        Phase::AtRandom
    }

    async fn stop(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.signal(Signal::SIGTERM);
        self.stopped(index).await;
    }

    async fn stopped(&mut self, index: usize) {
        match self.nodes[index].ended(STOP).await {
            Some(status) if status.success() => {}
            Some(status) => self.faults.push(format!("node {index} ended with {status} when it was told to stop")),
            None => {
                self.faults.push(format!("node {index} did not stop when it was told to"));
                self.nodes[index].signal(Signal::SIGKILL);
                let _ = self.nodes[index].ended(STOP).await;
            }
        }
        *self.counts.entry(Phase::Graceful).or_default() += 1;
    }

    /// A node that comes back after another has taken what it had must find that out.
    async fn freeze(&mut self) {
        let index = self.rng.usize(0..self.nodes.len());
        let span = self.lease + Duration::from_millis(self.rng.u64(300..2000));
        self.nodes[index].signal(Signal::SIGSTOP);
        sleep(span).await;
        self.nodes[index].signal(Signal::SIGCONT);
        *self.counts.entry(Phase::Frozen).or_default() += 1;
    }

    /// All of them at once, and then all are started again.
    pub async fn restart(&mut self, signal: Signal) -> Result<(), String> {
        self.nodes.iter().for_each(|node| node.signal(signal));
        for index in 0..self.nodes.len() {
            match signal {
                Signal::SIGTERM => self.stopped(index).await,
                _ => {
                    let _ = self.nodes[index].ended(STOP).await;
                    *self.counts.entry(Phase::AtRandom).or_default() += 1;
                }
            }
        }
        for index in 0..self.nodes.len() {
            self.start(index).await?;
        }
        Ok(())
    }
}
