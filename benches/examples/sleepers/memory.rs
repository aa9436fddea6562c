//! Resident bytes of sessions, in this process.

use http::HeaderValue;

use crate::report::Report;
use crate::rss;
use crate::world::{self, World};

/// What a sleeping session may take.
const ASLEEP: f64 = 256.0;
/// What a live one may take.
const LIVE: f64 = 1536.0;
/// How often they wake and sleep again.
const WAVES: usize = 3;
/// Room for an id, which is there before anything is measured.
type Id = [u8; 22];

/// Sleepers that never lived together.
pub(crate) fn fresh(sessions: usize) -> Report {
    let (world, floor) = begin(sessions);
    world.put_to_sleep(0..sessions, |_, _| {});
    let mut report = Report::new(floor);
    report.bytes("asleep, never all live together", rss::own(), sessions, Some(ASLEEP));
    report
}

/// The same after each was answered with a megabyte.
pub(crate) fn answered(sessions: usize) -> Report {
    let (world, floor) = begin(sessions);
    world.put_to_sleep(0..sessions, |number, id| {
        let bytes = world.call(number, id, world::LARGE);
        assert!(bytes > 1 << 20, "the answer must be large");
    });
    let mut report = Report::new(floor);
    report.bytes("asleep, each after an answer of 1 MiB", rss::own(), sessions, Some(ASLEEP));
    report
}

/// The same after a megabyte in events, once nobody can come back to them any more.
pub(crate) fn streamed(sessions: usize) -> Report {
    let (world, floor) = begin(sessions);
    world.put_to_sleep(0..sessions, |number, id| {
        let bytes = world.stream(number, id, world::LARGE);
        assert!(bytes > 1 << 20, "the answer must be large");
    });
    let mut report = Report::new(floor);
    report.bytes("asleep, each after 1 MiB in events", rss::own(), sessions, None);
    world.clock.advance(world::RESUME);
    // As if another client came.
    let id = world.open(sessions);
    world.call(sessions, &id, world::CALL);
    world.settle(sessions + 1);
    report.bytes("the same, the events forgotten", rss::own(), sessions, Some(ASLEEP));
    report
}

/// Those that lived all together, and what comes of them. How much of it stays with the process is the allocator's to say; of
/// one that gives pages back, no more is to stay than sleepers take.
pub(crate) fn together(sessions: usize, gives_back: bool) -> Report {
    let goal = gives_back.then_some(ASLEEP);
    let mut ids: Vec<Id> = vec![[b'-'; 22]; sessions];
    let (world, floor) = begin(sessions);
    let mut report = Report::new(floor);

    open_all(&world, 0, &mut ids);
    report.bytes("live, all together, after the handshake", rss::own(), sessions, Some(LIVE));
    call_all(&world, &ids);
    let live = rss::own();
    report.bytes("live, all together, after a call each", live, sessions, Some(LIVE));
    world.settle(sessions);
    let first = rss::own();
    report.bytes("asleep, once they all lived together", first, sessions, goal);

    // What was given back is not to be missed later.
    let most = if gives_back { first } else { live.max(first) };
    for _ in 0..WAVES {
        call_all(&world, &ids);
        world.settle(sessions);
    }
    report.no_more("all woken together and asleep, three times", rss::own(), most, 0.0);

    // As many more, of other principals, beside those who sleep.
    open_all(&world, sessions, &mut ids);
    world.settle(2 * sessions);
    let sleepers = ASLEEP * sessions as f64;
    let second = rss::own();
    report.no_more("as many more, live and asleep beside them", second, most, sleepers);

    world.clock.advance(world::IDLE + world::QUIET);
    world.watch_until(|| world.service.sessions() == 0);
    report.bytes("all of them ended", rss::own(), sessions, None);
    open_all(&world, 0, &mut ids);
    call_all(&world, &ids);
    world.settle(sessions);
    report.no_more("one more wave", rss::own(), second.max(most), 0.0);
    report
}

fn open_all(world: &World, first: usize, ids: &mut [Id]) {
    for (number, id) in ids.iter_mut().enumerate() {
        id.copy_from_slice(world.open(first + number).as_bytes());
    }
}

fn call_all(world: &World, ids: &[Id]) {
    for (number, id) in ids.iter().enumerate() {
        let id = HeaderValue::from_bytes(id).expect("an id is visible");
        world.call(number, &id, world::CALL);
    }
}

fn begin(sessions: usize) -> (World, u64) {
    let world = World::new(world::policy(sessions));
    world.warm_up();
    let floor = rss::own();
    (world, floor)
}
