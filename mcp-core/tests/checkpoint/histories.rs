//! Random histories of a session that is stored as durable ones are, and whose node dies at any point, also between two steps
//! of one commit: what was acknowledged is kept, what was not is as if it had never been.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use mcp_core::wire;
use mcp_core::{Head, Kind, Machine as _, Output, Ticket};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any};
use proptest::prop_oneof;
use proptest::test_runner::TestRunner;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    /// It happens, and is stored.
    Do(Act),
    /// It happens, and the node dies before it is stored.
    Lose(Act),
    /// The node dies.
    Die,
    /// The session sleeps if it may, and is let go for another node.
    Move,
}

#[derive(Clone, Debug)]
enum Act {
    Post { accept: u8 },
    Batch(u8),
    Ping,
    Initialized,
    Note { call: u8, note: u8 },
    Done { call: u8, how: u8 },
    Reply { back: u8, well: bool },
    Cancel(u8),
    Get,
    Detach(u8),
    Resume { stream: u8, event: u8 },
    Wait(u64),
    Changed,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => any::<u8>().prop_map(|accept| Act::Post { accept }),
        2 => (1..4_u8).prop_map(Act::Batch),
        1 => Just(Act::Ping),
        1 => Just(Act::Initialized),
        8 => (any::<u8>(), any::<u8>()).prop_map(|(call, note)| Act::Note { call, note }),
        8 => (any::<u8>(), any::<u8>()).prop_map(|(call, how)| Act::Done { call, how }),
        5 => (any::<u8>(), any::<bool>()).prop_map(|(back, well)| Act::Reply { back, well }),
        1 => any::<u8>().prop_map(Act::Cancel),
        2 => Just(Act::Get),
        2 => any::<u8>().prop_map(Act::Detach),
        3 => (any::<u8>(), any::<u8>()).prop_map(|(stream, event)| Act::Resume { stream, event }),
        2 => (0..40_000_u64).prop_map(Act::Wait),
        2 => Just(Act::Changed),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => act().prop_map(Step::Do),
        1 => act().prop_map(Step::Lose),
        1 => Just(Step::Die),
        1 => Just(Step::Move),
    ]
}

/// A request, by its id.
#[derive(Clone, Copy, Debug)]
struct Request {
    stream: StreamId,
    cancelled: bool,
    /// Whether it ran, and could be come back to, when its node died.
    interrupted: bool,
}

/// What the nodes share, and the one that has the session.
struct Nodes {
    session: Session,
    now: Time,
    stored: Checkpoint,
    /// What was sent of each stream: the data of its events.
    log: BTreeMap<StreamId, Vec<Value>>,
    ended: BTreeSet<StreamId>,
    /// Streams of which a log may hold events that no client was sent.
    stale: BTreeSet<StreamId>,
    requests: BTreeMap<u64, Request>,
    /// The requests whose calls ran when the store last had all of it.
    running: BTreeSet<u64>,
    /// Those that ran on a node that died.
    dead: BTreeSet<u64>,
    /// Of the node: what runs, and what was pulled and not stored.
    tickets: Vec<(Ticket, u64)>,
    pulled: Vec<(EventId, Value)>,
    finished: Vec<StreamId>,
    expected: Option<StreamId>,
    /// The id of the next request.
    next: u64,
    closed: bool,
    deaths: u64,
}

impl Nodes {
    fn new(revision: Revision, initialized: bool) -> Self {
        let now = Time(1_000_000);
        let mut session = Session::new(MachineId(1), endpoint(), ID, now).resumable();
        let hello = fixture::initialize(revision.as_str(), &json!({"roots": {}}));
        hand(&mut session, now, &hello, 2);
        while let Some(output) = session.poll_output() {
            if let Output::Ready(stream) = output {
                let _ = session.pull(stream, &mut Vec::new(), usize::MAX);
            }
        }
        let stored = session.checkpoint(LISTED).expect("it is open");
        let mut nodes = Self {
            session,
            now,
            stored,
            log: BTreeMap::new(),
            ended: BTreeSet::new(),
            stale: BTreeSet::new(),
            requests: BTreeMap::new(),
            running: BTreeSet::new(),
            dead: BTreeSet::new(),
            tickets: Vec::new(),
            pulled: Vec::new(),
            finished: Vec::new(),
            expected: None,
            next: 0,
            closed: false,
            deaths: 0,
        };
        if initialized {
            nodes.step(&Step::Do(Act::Initialized));
        }
        nodes
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Do(act) => {
                self.act(act);
                self.commit();
            }
            Step::Lose(act) => {
                let before = (self.requests.clone(), self.now);
                self.act(act);
                // The session may have ended with it; its clients have not heard of that.
                (self.requests, self.closed) = (before.0, false);
                self.die();
            }
            Step::Die => self.die(),
            Step::Move => {
                let other = Session::new(MachineId(9), endpoint(), ID, self.now);
                match std::mem::replace(&mut self.session, other).sleep(LISTED) {
                    Ok(asleep) => {
                        self.stored = Checkpoint { snapshot: asleep.snapshot, digest: 0 };
                        self.take_over();
                    }
                    Err(session) => self.session = *session,
                }
            }
        }
    }

    fn die(&mut self) {
        self.deaths += 1;
        for n in &self.running {
            if let Some(request) = self.requests.get_mut(n) {
                let told = self.log.contains_key(&request.stream) && !self.ended.contains(&request.stream);
                request.interrupted |= told;
            }
        }
        self.dead.append(&mut self.running);
        self.take_over();
    }

    fn take_over(&mut self) {
        self.tickets.clear();
        let unsent = self.pulled.drain(..).map(|(id, _)| id.stream).filter(|stream| !self.log.contains_key(stream));
        self.stale.extend(unsent);
        self.finished.clear();
        let goes_on = Session::take_over(MachineId(2), &self.stored.snapshot, endpoint(), LISTED, self.now);
        self.session = goes_on.expect("another node goes on");
        let known: BTreeMap<StreamId, u64> =
            self.session.last_events().into_iter().map(|last| (last.stream, last.number)).collect();
        for (stream, events) in &self.log {
            let last = (!self.ended.contains(stream)).then_some(events.len() as u64);
            assert_eq!(known.get(stream).copied(), last, "{stream:?}: it goes on after the last event that was stored");
        }
        assert!(known.keys().all(|stream| self.log.contains_key(stream)));
        self.obey();
        self.commit();
    }

    /// Stores what there is to store, as a driver does before anything is sent.
    fn commit(&mut self) {
        for (id, data) in self.pulled.drain(..) {
            let events = self.log.entry(id.stream).or_default();
            events.push(data);
            assert_eq!(id.number, events.len() as u64, "{id}: no gap, no repetition");
            assert!(!self.ended.contains(&id.stream) && !self.stale.contains(&id.stream));
        }
        self.ended.extend(self.finished.drain(..).filter(|stream| self.log.contains_key(stream)));
        match self.session.checkpoint(LISTED) {
            Some(checkpoint) if checkpoint.digest != self.stored.digest => self.stored = checkpoint,
            Some(_) => {}
            None => self.closed = true,
        }
        self.running = self.tickets.iter().map(|(_, n)| *n).collect();
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Post { accept } => {
                let n = self.next;
                self.next += 1;
                self.post(&request(n), accept, &[n]);
            }
            Act::Batch(members) => {
                let first = self.next;
                self.next += u64::from(members);
                let ids: Vec<u64> = (first..first + u64::from(members)).collect();
                self.post(&ids.iter().map(|n| request(*n)).collect(), 2, &ids);
            }
            Act::Ping => self.post(&ping(1_000_000), 2, &[]),
            Act::Initialized => self.post(&fixture::initialized(), 2, &[]),
            Act::Note { call, note } => {
                if let Some(at) = pick(self.tickets.len(), call) {
                    let call = self.tickets[at].0.call();
                    let note = if note > 230 { Note::HangUp } else { progress(note.into()) };
                    self.input(Input::Note { call, note });
                }
            }
            Act::Done { call, how } => {
                if let Some(at) = pick(self.tickets.len(), call) {
                    let (ticket, n) = self.tickets.remove(at);
                    let outcome = if how % 2 == 0 { text(&n.to_string()) } else { ask() };
                    self.input(Input::Done { ticket, outcome });
                }
            }
            Act::Reply { back, well } => {
                let questions: Vec<u64> = self.questions();
                if let Some(at) = pick(questions.len(), back) {
                    let answer = if well {
                        ("result", json!({"roots": []}))
                    } else {
                        ("error", json!({"code": 1, "message": "no"}))
                    };
                    self.post(&json!({"jsonrpc": "2.0", "id": questions[at], answer.0: answer.1}), 2, &[]);
                }
            }
            Act::Cancel(back) => {
                let n = self.next.saturating_sub(1 + u64::from(back % 4));
                if let Some(request) = self.requests.get_mut(&n) {
                    request.cancelled = true;
                    let params = json!({"requestId": n});
                    self.post(
                        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
                        2,
                        &[],
                    );
                }
            }
            Act::Get => self.attach(None),
            Act::Detach(stream) => {
                let streams: Vec<StreamId> = self.log.keys().copied().collect();
                if let Some(at) = pick(streams.len(), stream) {
                    self.input(Input::Detach { stream: streams[at] });
                }
            }
            Act::Resume { stream, event } => {
                let streams: Vec<StreamId> = self.log.keys().copied().collect();
                if let Some(at) = pick(streams.len(), stream) {
                    let most = self.log[&streams[at]].len() as u64;
                    self.attach(Some(EventId { stream: streams[at], number: 1 + u64::from(event) % most }));
                }
            }
            Act::Wait(span) => {
                self.now = self.now.after(Span::millis(span));
                self.input(Input::Tick);
            }
            Act::Changed => self.input(Input::Changed { catalog: fixture::catalog(), what: Change::Tools }),
        }
    }

    fn questions(&self) -> Vec<u64> {
        let events = self.log.values().flatten();
        events.filter(|data| data["method"] == "roots/list").filter_map(|data| data["id"].as_u64()).collect()
    }

    fn post(&mut self, message: &Value, accept: u8, ids: &[u64]) {
        hand(&mut self.session, self.now, message, accept);
        self.obey();
        let stream = self.expected.expect("a message is answered on a stream");
        let request = Request { stream, cancelled: false, interrupted: false };
        self.requests.extend(ids.iter().map(|n| (*n, request)));
    }

    fn attach(&mut self, after: Option<EventId>) {
        let after = after.map(|after| after.to_string());
        let headers = [("accept", &b"text/event-stream"[..])];
        let head = Head::read(headers.into_iter().chain(after.iter().map(|id| ("last-event-id", id.as_bytes()))));
        self.input(Input::Attach { head: &head, from: &mcp_core::Caller::anonymous() });
    }

    fn input(&mut self, input: Input<'_>) {
        self.session.handle(self.now, input);
        self.obey();
    }

    fn obey(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Call(ticket, call) => {
                    let Kind::Tool { arguments, .. } = &call.kind else { panic!("only tools are called") };
                    let arguments: Value = serde_json::from_slice(arguments).unwrap();
                    let n = arguments["message"].as_str().unwrap().parse().unwrap();
                    assert!(!self.dead.contains(&n), "{n} ran on a node that died, and is never run again");
                    self.tickets.push((ticket, n));
                }
                Output::Abandon(call) => self.tickets.retain(|(ticket, _)| ticket.call() != call),
                Output::Expect(stream) => self.expected = Some(stream),
                Output::Ready(stream) => self.pull(stream),
                Output::Closed => self.closed = true,
                Output::Resume(_) | Output::Open { .. } | Output::Listen(_) | Output::Hibernate | Output::Event(_) => {}
            }
        }
    }

    fn pull(&mut self, stream: StreamId) {
        loop {
            let mut framed = Vec::new();
            let pulled = self.session.pull(stream, &mut framed, 0);
            if let Some(id) = EventId::of_event(&framed) {
                let data = std::str::from_utf8(&framed).unwrap().lines().find_map(|line| line.strip_prefix("data: "));
                self.pulled.push((
                    id,
                    data.filter(|data| !data.is_empty())
                        .map_or(Value::Null, |data| serde_json::from_str(data).unwrap()),
                ));
            }
            match pulled {
                Pull::More => {}
                Pull::Wait => return,
                Pull::Pause => return self.session.handle(self.now, Input::Detach { stream }),
                Pull::End => return self.finished.push(stream),
            }
        }
    }

    /// Lets everything come to its end, and looks at what was said. Returns how many calls were interrupted.
    fn end(mut self) -> u64 {
        self.step(&Step::Do(Act::Initialized));
        for _ in 0..4 {
            while !self.tickets.is_empty() {
                self.step(&Step::Do(Act::Done { call: 0, how: 0 }));
            }
            self.step(&Step::Do(Act::Wait(301_000)));
        }
        let mut interrupted = 0;
        for (n, request) in &self.requests {
            // Who has no event of it cannot come back to it.
            let Some(events) = self.log.get(&request.stream) else { continue };
            let answers: Vec<&Value> =
                events.iter().filter(|data| data.get("method").is_none() && data["id"] == json!(n)).collect();
            if request.cancelled {
                assert!(answers.len() <= 1);
                continue;
            }
            let [answer] = answers[..] else { panic!("{n} has {} answers: {events:?}", answers.len()) };
            let was_interrupted = answer["error"]["data"]["reason"] == "interrupted";
            assert_eq!(was_interrupted, request.interrupted, "{n}: {answer}");
            interrupted += u64::from(was_interrupted);
            assert!(self.ended.contains(&request.stream), "a stream ends with its last answer");
        }
        interrupted
    }
}

fn request(n: u64) -> Value {
    let params = json!({"name": "echo", "arguments": {"message": n.to_string()}, "_meta": {"progressToken": n}});
    fixture::request(n, "tools/call", &params)
}

fn pick(among: usize, nth: u8) -> Option<usize> {
    (among > 0).then(|| among - 1 - usize::from(nth) % among)
}

fn hand(session: &mut Session, now: Time, message: &Value, accept: u8) {
    let message = wire::read(message.to_string().into(), &mcp_core::policy::Limits::default()).unwrap();
    let accept: &[u8] = match accept % 6 {
        0 => b"application/json",
        1 => b"text/event-stream",
        _ => b"application/json, text/event-stream",
    };
    let (head, view) = (Head::read([("accept", accept)]), fixture::view());
    session
        .handle(now, Input::Message { message, head: Some(&head), from: &mcp_core::Caller::anonymous(), view: &view });
}

#[test]
fn wherever_its_node_dies_each_request_is_answered_once_and_no_call_runs_twice_http_29() {
    let totals = Cell::new((0, 0));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = u64::from(config.cases);
    let worlds = (0..4_usize, any::<bool>(), vec(step(), 1..60));
    let lived = TestRunner::new(config).run(&worlds, |(revision, initialized, steps)| {
        let mut nodes = Nodes::new(Revision::ALL[revision], initialized);
        for step in &steps {
            if nodes.closed {
                return Ok(());
            }
            nodes.step(step);
        }
        let deaths = nodes.deaths;
        let interrupted = nodes.end();
        totals.set((totals.get().0 + deaths, totals.get().1 + interrupted));
        Ok(())
    });
    lived.unwrap_or_else(|failed| panic!("{failed}"));
    let (deaths, interrupted) = totals.get();
    assert!(deaths > cases && interrupted > cases / 4, "too quiet: {deaths} deaths, {interrupted} interrupted");
}
