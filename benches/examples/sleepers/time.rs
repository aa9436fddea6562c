//! Times within this process: waking, and the watch.
#![allow(clippy::print_stdout)]

use std::io;
use std::time::{Duration, Instant};

use http::HeaderValue;

use crate::world::{self, World};

/// What waking may take.
const WAKE: f64 = 20.0;

/// Times in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn add(&mut self, span: Duration) {
        self.0.push(span.as_secs_f64() * 1e6);
    }

    /// The time that this part of all took no more than.
    pub(crate) fn at(&mut self, part: f64) -> f64 {
        self.0.sort_by(f64::total_cmp);
        let last = self.0.len().saturating_sub(1);
        self.0.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
    }
}

/// The same call to each of some sleepers, and again while it lives.
pub(crate) fn wake(sessions: usize, times: usize) {
    let world = World::new(world::policy(sessions));
    world.warm_up();
    let mut some: Vec<(usize, HeaderValue)> = Vec::new();
    let every = (sessions / times).max(1);
    world.put_to_sleep(0..sessions, |number, id| {
        if number % every == 0 {
            some.push((number, id.clone()));
        }
    });
    // As in a server that has run for a while: its heap has grown to what it needs.
    for (number, id) in &some {
        world.call(*number, id, world::CALL);
    }
    world.settle(sessions);
    let (mut asleep, mut live) = (Times::default(), Times::default());
    // In batches, so that neither side meets a colder cache than the other does.
    for batch in some.chunks(100) {
        for all in [&mut asleep, &mut live] {
            for (number, id) in batch {
                let begin = Instant::now();
                world.call(*number, id, world::CALL);
                all.add(begin.elapsed());
            }
        }
    }
    let waking = |part, asleep: &mut Times, live: &mut Times| asleep.at(part) - live.at(part);
    println!(
        "{sessions:>9}  waking: median {:.1} µs, 99 of 100 within {:.1} µs, goal {WAKE:.0}   (a call to a sleeper takes {:.1} and {:.1} µs, to a live session {:.1} and {:.1})",
        waking(0.5, &mut asleep, &mut live),
        waking(0.99, &mut asleep, &mut live),
        asleep.at(0.5),
        asleep.at(0.99),
        live.at(0.5),
        live.at(0.99),
    );
}

/// A round of the watch in which one sleeper is due and the others are not.
pub(crate) fn watch(sessions: usize, times: usize) {
    let world = World::new(world::policy(sessions));
    world.warm_up();
    // They end one by one, and long before the others.
    let apart = Duration::from_secs(3);
    for number in 0..times {
        world.put_to_sleep(number..number + 1, |_, _| {});
        world.clock.advance(apart);
    }
    world.clock.advance(world::IDLE / 2 - (apart + world::QUIET) * u32::try_from(times).unwrap_or(u32::MAX));
    world.put_to_sleep(times..sessions, |_, _| {});
    let (mut idle, mut ending) = (Times::default(), Times::default());
    let mut left = world.service.sessions();
    while left > sessions - times {
        world.clock.advance(apart);
        let begin = Instant::now();
        world.clock.turn();
        let span = begin.elapsed();
        let now = world.service.sessions();
        if now + 1 == left {
            ending.add(span);
        } else {
            assert_eq!(now, left, "no more than one is due at a time");
            idle.add(span);
        }
        left = now;
    }
    println!(
        "{sessions:>9}  a round of the watch: {:.2} µs where nobody is due, {:.2} µs where one sleeper ends (medians)",
        idle.at(0.5),
        ending.at(0.5),
    );
}

/// So many calls in one live session, once a line has come in: whoever counts instructions begins there.
pub(crate) fn calls(sessions: usize, times: usize) -> io::Result<()> {
    let world = World::new(world::policy(sessions));
    world.put_to_sleep(0..sessions, |_, _| {});
    let id = world.open(sessions);
    world.call(sessions, &id, world::CALL);
    println!("ready");
    io::stdin().read_line(&mut String::new())?;
    for _ in 0..times {
        world.call(sessions, &id, world::CALL);
    }
    Ok(())
}
