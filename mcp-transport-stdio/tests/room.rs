//! Calls that wait until their client has read what they said: no runtime, so a lost wake-up shows.
#![allow(missing_docs)]

mod support;

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use mcp_core::Event;
use mcp_core::drive::Link;
use mcp_transport_stdio::{Connection, Ended};
use support::{Channel, Task, TestClock, Tools, call, cancel, ids, legacy, messages};

/// Bytes that are pulled at once, so that few are under way beside those that wait.
const CHUNK: usize = 4 << 10;

struct Talk<F: Future> {
    to: Channel,
    from: Channel,
    tools: Arc<Tools>,
    events: Arc<Mutex<Vec<Event>>>,
    task: Task<F>,
}

/// A conversation with a peer that reads nothing.
fn unread(lines: &[String]) -> Talk<impl Future<Output = std::io::Result<Ended>> + use<>> {
    let (to, from) = (Channel::new(), Channel::bounded(usize::MAX, CHUNK));
    let (tools, events) = (Tools::new(), Arc::new(Mutex::new(Vec::new())));
    let log = Arc::clone(&events);
    let connection = Connection::new(Arc::clone(&tools), TestClock::default()).chunk(CHUNK);
    let connection = connection.on_event(move |event| log.lock().unwrap().push(event));
    to.put(legacy(lines));
    let mut task = Task::new(connection.run(to.clone(), from.clone()));
    task.waits();
    Talk { to, from, tools, events, task }
}

impl<F: Future<Output = std::io::Result<Ended>>> Talk<F> {
    fn said(&self) -> usize {
        self.tools.seen.said.load(SeqCst)
    }

    /// Reads on until there is nothing more.
    fn read(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        loop {
            self.task.waits();
            let more = self.from.take();
            if more.is_empty() {
                return output;
            }
            output.extend(more);
        }
    }

    fn dropped(&self) -> u64 {
        let count = |event: &Event| if let Event::LogsDropped(all) = event { Some(*all) } else { None };
        self.events.lock().unwrap().iter().filter_map(count).max().unwrap_or(0)
    }

    fn link(&self) -> Link {
        self.tools.seen.link.lock().unwrap().clone().unwrap()
    }
}

fn loggers(output: &[u8]) -> Vec<usize> {
    let logs = messages(output).into_iter().filter(|message| message["method"] == "notifications/message");
    logs.map(|log| log["params"]["logger"].as_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn what_is_waited_for_is_all_sent_in_order_and_little_of_it_waits() {
    let mut talk = unread(&[call(1, "flood", 10_000)]);
    assert!((60..=75).contains(&talk.said()), "64 KiB, and two chunks: {}", talk.said());
    let output = talk.read();
    assert_eq!(loggers(&output), (0..10_000).collect::<Vec<_>>());
    assert_eq!((ids(&output), talk.dropped()), (vec![0, 1], 0));
}

#[test]
fn what_is_not_waited_for_costs_no_time_and_the_newest_of_it_is_kept() {
    let mut talk = unread(&[call(1, "pour", 10_000)]);
    assert_eq!(talk.said(), 10_000);
    let output = talk.read();
    assert_eq!(loggers(&output), (10_000 - 256..10_000).collect::<Vec<_>>());
    assert_eq!((ids(&output), talk.dropped()), (vec![0, 1], 10_000 - 256));
}

#[test]
fn many_calls_that_wait_all_go_on_and_lose_nothing() {
    let calls: Vec<String> = (1..=100).map(|id| call(id, "flood", 50)).collect();
    let mut talk = unread(&calls);
    assert!(talk.said() < 300, "{}", talk.said());
    let output = talk.read();
    assert_eq!((loggers(&output).len(), ids(&output).len(), talk.dropped()), (5000, 101, 0));
}

#[test]
fn a_peer_that_does_not_read_can_still_cancel_and_the_call_is_dropped_stdio_7() {
    let mut talk = unread(&[call(1, "flood", 10_000)]);
    let said = talk.said();
    talk.to.put(cancel(1) + "\n");
    talk.task.waits();
    assert_eq!(talk.tools.seen.dropped.load(SeqCst), 1);
    let output = talk.read();
    assert_eq!((talk.said(), ids(&output)), (said, vec![0]), "no answer, nothing more");
}

#[derive(Default)]
struct Woken(Mutex<bool>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
    }
}

/// Waits beside the call, as a task does that outlives it.
fn outlives(link: &Link, woken: &Arc<Woken>) -> Poll<()> {
    link.poll_room(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

#[test]
fn what_outlives_a_call_is_woken_by_its_end_and_by_that_of_the_connection() {
    let woken = Arc::new(Woken::default());
    let mut talk = unread(&[call(1, "flood", 10_000)]);
    let waits = talk.link();
    assert!(outlives(&waits, &woken).is_pending());
    talk.to.put(cancel(1) + "\n");
    talk.task.waits();
    assert!(*woken.0.lock().unwrap() && outlives(&waits, &woken).is_ready());

    let woken = Arc::new(Woken::default());
    let talk = unread(&[call(1, "flood", 10_000)]);
    let waits = talk.link();
    assert!(outlives(&waits, &woken).is_pending());
    drop(talk.task);
    assert!(*woken.0.lock().unwrap() && outlives(&waits, &woken).is_ready());
    assert_eq!(Arc::strong_count(&woken), 1, "nobody keeps it");
}
