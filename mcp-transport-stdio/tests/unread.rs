//! A peer that has stopped reading, slow or gone, under a clock that jumps: no runtime.
#![allow(missing_docs)]

mod support;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Poll;

use mcp_core::catalog::{Catalog, Handle, Tool};
use mcp_core::policy::Policy;
use mcp_core::{Change, Close, Event};
use mcp_transport_stdio::{Connection, Ended};
use support::{Channel, Task, TestClock, Tools, call, ids, legacy, ping};

/// A connection whose peer has stopped reading, with the gate full and nothing of the input left; two calls run.
struct Stuck {
    to: Channel,
    from: Channel,
    tools: Arc<Tools>,
    clock: TestClock,
    events: Arc<std::sync::Mutex<Vec<Event>>>,
    task: Task<Pin<Box<dyn Future<Output = io::Result<Ended>>>>>,
}

const STUCK_CHUNK: usize = 1000;

impl Stuck {
    fn new() -> Self {
        let mut policy = Policy::default();
        policy.limits.unsent = 5000;
        let (to, from) = (Channel::new(), Channel::bounded(usize::MAX, 100));
        let (tools, clock) = (Tools::with_policy(policy), TestClock::default());
        let events = Arc::new(std::sync::Mutex::new(Vec::new()));
        let log = Arc::clone(&events);
        let connection = Connection::new(Arc::clone(&tools), clock.clone()).chunk(STUCK_CHUNK);
        let connection = connection.on_event(move |event| log.lock().unwrap().push(event));
        to.put(legacy([call(1, "wait", 0), call(2, "never", 0), call(3, "big", 10_000), call(4, "big", 10_000)]));
        let run = connection.run(to.clone(), from.clone());
        let mut task = Task::new(Box::pin(run) as Pin<Box<dyn Future<Output = _>>>);
        task.waits();
        Self { to, from, tools, clock, events, task }
    }

    /// Puts pings, from id 5 on, of that many bytes in all. Returns the id after the last.
    fn put(&self, mut bytes: usize) -> i64 {
        let (mut input, mut id) = (String::new(), 5);
        let line = ping(id).len() + 1;
        while bytes >= 2 * line {
            let next = ping(id) + "\n";
            bytes -= next.len();
            input += &next;
            id += 1;
        }
        self.to.put(input + &" ".repeat(bytes - 1) + "\n");
        id.cast_signed()
    }

    fn waits_for(&mut self, millis: u64) {
        self.clock.advance(millis);
        self.task.waits();
    }

    /// Reads all there is. The calls end meanwhile.
    fn drain(&mut self) -> (Vec<u8>, Poll<io::Result<Ended>>) {
        self.tools.seen.release();
        let mut output = Vec::new();
        loop {
            let ended = self.task.run();
            let more = self.from.take();
            if more.is_empty() {
                return (output, ended);
            }
            output.extend(more);
        }
    }

    fn assert_given_up(&mut self) {
        assert_eq!(self.task.finish().unwrap(), Ended::Gone);
        assert_eq!(self.tools.seen.dropped.load(SeqCst), 1);
        assert!(self.events.lock().unwrap().contains(&Event::Ended(Close::Peer)));
    }
}

#[test]
fn the_end_of_input_is_found_behind_a_full_gate_and_a_peer_that_reads_nothing_is_given_up_stdio_4() {
    for unread in [50, STUCK_CHUNK - 1, STUCK_CHUNK] {
        let mut stuck = Stuck::new();
        stuck.put(unread);
        stuck.to.end();
        let tries = stuck.to.tries();
        stuck.waits_for(1_499);
        assert_eq!(stuck.to.tries(), tries, "a peer that may only be slow is read from no more");
        stuck.waits_for(1);
        assert!(stuck.to.tries() > tries);
        stuck.waits_for(1_499);
        assert_eq!(stuck.tools.seen.dropped.load(SeqCst), 0);
        stuck.clock.advance(1);
        stuck.assert_given_up();
    }
}

#[test]
fn an_end_of_input_long_after_the_peer_stopped_reading_is_seen_at_once_stdio_4() {
    let mut stuck = Stuck::new();
    stuck.waits_for(60_000);
    stuck.put(STUCK_CHUNK);
    stuck.to.end();
    stuck.waits_for(0);
    stuck.waits_for(1_499);
    stuck.clock.advance(1);
    stuck.assert_given_up();
}

#[test]
fn what_was_read_ahead_is_answered_when_a_slow_peer_reads_on_stdio_4() {
    for ends in [false, true] {
        let mut stuck = Stuck::new();
        let next = stuck.put(STUCK_CHUNK);
        if ends {
            stuck.to.end();
        }
        stuck.waits_for(1_500);
        stuck.waits_for(1_499);
        // It takes a little: the time starts anew.
        let mut output = stuck.from.take();
        stuck.task.waits();
        stuck.waits_for(1_499);
        let (more, ended) = stuck.drain();
        output.extend(more);
        let mut expected: Vec<_> = (0..next).filter(|id| *id != 2).collect();
        if !ends {
            assert!(ended.is_pending());
            stuck.to.put(format!("{}\n", ping(next.cast_unsigned())));
            stuck.to.end();
            expected.push(next);
            output.extend(stuck.drain().0);
        }
        let mut answered = ids(&output);
        answered.sort_unstable();
        assert_eq!(answered, expected);
        stuck.clock.advance(1_500);
        let (rest, ended) = stuck.drain();
        assert_eq!(ids(&rest), [2], "the call that never ends");
        assert!(matches!(ended, Poll::Ready(Ok(Ended::EndOfInput))));
    }
}

#[test]
fn no_more_than_a_bound_is_read_ahead_and_nothing_of_it_is_lost() {
    let mut stuck = Stuck::new();
    let next = stuck.put(STUCK_CHUNK * 10);
    stuck.to.end();
    stuck.waits_for(1_500);
    let left = stuck.to.take();
    assert!((STUCK_CHUNK + 1..=STUCK_CHUNK * 2 + 1).contains(&(STUCK_CHUNK * 10 - left.len())));
    stuck.to.put(left);
    let tries = stuck.to.tries();
    stuck.waits_for(3_600_000);
    assert_eq!(stuck.to.tries(), tries);
    let mut answered = ids(&stuck.drain().0);
    answered.sort_unstable();
    assert_eq!(answered, (0..next).filter(|id| *id != 2).collect::<Vec<_>>());
}

#[test]
fn a_gate_that_fills_while_the_writer_is_blocked_hides_no_end_of_input_stdio_4() {
    let mut policy = Policy::default();
    policy.limits.unsent = 20;
    let (to, from, clock) = (Channel::new(), Channel::bounded(usize::MAX, 10), TestClock::default());
    let tools = Tools::with_policy(policy);
    to.put(legacy([call(1, "wait", 0)]));
    let mut task = Task::new(Connection::new(Arc::clone(&tools), clock.clone()).run(to.clone(), from));
    task.waits();
    tools.seen.release();
    to.end();
    task.waits();
    clock.advance(1_500);
    task.waits();
    clock.advance(1_500);
    assert_eq!(task.finish().unwrap(), Ended::Gone);
}

#[test]
fn a_writer_that_blocks_as_the_gate_fills_hides_no_end_of_input_stdio_4() {
    let mut policy = Policy::default();
    policy.limits.unsent = 20;
    // Full to the brim, but not blocked, once the handshake was answered.
    let room = handshake_len();
    let (to, from, clock) = (Channel::new(), Channel::bounded(usize::MAX, room), TestClock::default());
    let tools = Tools::with_policy(policy);
    to.put(legacy([call(1, "wait", 0)]));
    let connection = Connection::new(Arc::clone(&tools), clock.clone()).chunk(1);
    let control = connection.control();
    let mut task = Task::new(connection.run(to.clone(), from));
    task.waits();
    // Two messages: one for the writer, and one that keeps the gate full.
    let catalog = Catalog::builder().tool(Tool::new("new", Handle(9), r#"{"type":"object"}"#)).build().unwrap();
    control.changed(catalog, Change::Tools);
    tools.seen.release();
    to.end();
    task.waits();
    clock.advance(1_500);
    task.waits();
    clock.advance(1_500);
    assert_eq!(task.finish().unwrap(), Ended::Gone);
}

/// Bytes of the answer to the handshake.
fn handshake_len() -> usize {
    let (to, from) = (Channel::new(), Channel::new());
    to.put(legacy([""; 0]));
    Task::new(Connection::new(Tools::new(), TestClock::default()).run(to, from.clone())).waits();
    from.take().len()
}
