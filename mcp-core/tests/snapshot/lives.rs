//! Two lives of one session: whatever happens, the one that sleeps at every moment that it may says the same and sends the
//! same bytes as its twin that never does. For a property test and for a fuzzer.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::wire::{self, Unread};
use mcp_core::{
    Asleep, Caller, Change, Close, Endpoint, Fault, Gate, Generations, Head, Input, KeepAlives, Level, Machine,
    MachineId, Note, Outcome, Output, Pull, Revision, Scopes, Session, SessionId, Span, StreamId, Ticket, Time, Timer,
};
use serde_json::{Value, json};
use testkit::fixture;

/// What happens to both.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send {
        what: Said,
        accept: u8,
        stranger: bool,
    },
    Batch(Vec<Said>),
    Unread,
    Attach {
        accept: u8,
        /// After an event of one of the latest streams, or of none.
        resume: Option<(u8, u8)>,
    },
    Detach(u8),
    Note {
        call: u8,
        note: u8,
    },
    Done {
        call: u8,
        how: u8,
    },
    Wait(u64),
    UntilDue,
    Changed(Change),
    Updated(u8),
    /// Whether outputs are taken, and bytes pulled.
    Take(bool),
    Pull(bool),
    Close(u8),
}

/// What the client says. Ids are few, so that some are used twice.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Initialized,
    Initialize,
    Ping(u8),
    List(u8),
    Level(u8),
    Subscribe(u8),
    Unsubscribe(u8),
    Call {
        id: u8,
        token: bool,
    },
    Extension(u8),
    /// A list, a resource, a prompt or a completion.
    Use {
        id: u8,
        what: u8,
    },
    Cancel(u8),
    /// To one of the latest questions, or pings.
    Reply {
        back: u8,
        how: u8,
    },
    Junk,
}

/// How the two live.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) revision: Revision,
    pub(crate) able: bool,
    pub(crate) principal: bool,
    pub(crate) ping: bool,
    pub(crate) call: bool,
    pub(crate) orphan: bool,
    pub(crate) silent: bool,
    pub(crate) resumable: bool,
}

impl World {
    fn endpoint(&self) -> Arc<Endpoint> {
        let mut policy = Policy::default();
        let Policy { limits, timing, .. } = &mut policy;
        (limits.calls, limits.listening, limits.logs, limits.unsent) = (4, 2, 2, 2000);
        // Who has slept does not say that it may.
        (timing.question, timing.idle, timing.hibernate_after) = (Span::secs(30), Span::secs(120), None);
        timing.ping = self.ping.then_some(Span::secs(20));
        timing.call = self.call.then_some(Span::secs(40));
        timing.orphan = self.orphan.then_some(Span::secs(50));
        timing.keep_alive = Span::secs(if self.silent { 0 } else { 15 });
        fixture::builder().resources(true, true).policy(policy).build().unwrap()
    }

    fn capabilities(&self) -> Value {
        match self.able {
            true => json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}},
                "extensions": {fixture::EXTENSION: {}}}),
            false => json!({"sampling": {}}),
        }
    }

    fn caller(&self) -> Caller {
        if self.principal { Caller::new("ann", Scopes::parse("read write")) } else { Caller::anonymous() }
    }
}

/// The two have one id.
const ID: SessionId = SessionId::new([9; 16]);

/// One of the twins and its driver.
struct Twin {
    life: Life,
    endpoint: Arc<Endpoint>,
    sleeps: bool,
    counts: Counts,
    /// The lists as they are now.
    listed: [u32; 3],
    /// What it follows and has changed while it slept.
    missed: Vec<&'static str>,
    /// What runs, or ran, each with how it would end well.
    tickets: Vec<(Ticket, Outcome)>,
    streams: Vec<StreamId>,
    ready: Vec<StreamId>,
    taking: bool,
    pulling: bool,
    /// The latest id of a request to the client.
    asked: u64,
    /// Everything that it said, but where there is something to pull.
    said: Vec<String>,
    /// Everything that it sent.
    sent: BTreeMap<StreamId, String>,
}

/// How much has happened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// How often it fell asleep.
    pub(crate) naps: u64,
    /// How many of its calls ran again after a question.
    pub(crate) resumed: u64,
    /// How often a stream was read on after an event.
    pub(crate) returns: u64,
    /// How many comments were sent while it slept.
    pub(crate) comments: u64,
    /// How often it was woken because something changed.
    pub(crate) changes: u64,
    /// How often something changed of which it heard when it woke for something else.
    pub(crate) late: u64,
}

enum Life {
    Awake(Box<Session>),
    Asleep(Asleep),
}

impl Twin {
    fn new(world: &World, sleeps: bool, now: Time) -> Self {
        let endpoint = world.endpoint();
        let session = Session::new(MachineId(3), Arc::clone(&endpoint), ID, now);
        let session = if world.resumable { session.resumable() } else { session };
        Self {
            life: Life::Awake(Box::new(session)),
            endpoint,
            sleeps,
            counts: Counts::default(),
            listed: [1, 2, 3],
            missed: Vec::new(),
            tickets: Vec::new(),
            streams: Vec::new(),
            ready: Vec::new(),
            taking: true,
            pulling: true,
            asked: 0,
            said: Vec::new(),
            sent: BTreeMap::new(),
        }
    }

    fn listed(&self) -> Generations {
        let [tools, prompts, resources] = self.listed;
        Generations::new(tools, prompts, resources)
    }

    /// The session, awake.
    fn awake(&mut self, now: Time) -> &mut Session {
        let (endpoint, listed) = (Arc::clone(&self.endpoint), self.listed());
        if let Life::Asleep(Asleep { snapshot, keep_alives, .. }) = &mut self.life {
            let keep_alives = std::mem::take(keep_alives);
            let woken = Session::wake(MachineId(3), snapshot, keep_alives, endpoint, listed, now);
            let mut session = woken.expect("what fell asleep wakes");
            assert!(session.is_drowsy());
            for uri in self.missed.drain(..) {
                session.handle(now, Input::Updated { uri, view: &fixture::view() });
            }
            self.life = Life::Awake(Box::new(session));
        }
        match &mut self.life {
            Life::Awake(session) => session,
            Life::Asleep(_) => unreachable!("it has just been woken"),
        }
    }

    fn input(&mut self, now: Time, input: Input<'_>) {
        self.awake(now).handle(now, input);
        self.obey();
    }

    fn obey(&mut self) {
        while let Life::Awake(session) = &mut self.life
            && let Some(output) = self.taking.then(|| session.poll_output()).flatten()
        {
            if !matches!(output, Output::Ready(_)) {
                self.said.push(format!("{output:?}"));
            }
            match output {
                Output::Call(ticket, call) => {
                    self.counts.resumed += u64::from(call.resume.is_some());
                    self.tickets.push((ticket, testkit::done(&call)));
                }
                Output::Expect(stream) => self.streams.push(stream),
                Output::Ready(stream) => self.ready.push(stream),
                Output::Resume(_) => self.counts.returns += 1,
                _ => {}
            }
        }
        if self.pulling {
            for stream in std::mem::take(&mut self.ready) {
                self.pull(stream);
            }
        }
    }

    fn pull(&mut self, stream: StreamId) {
        let Life::Awake(session) = &mut self.life else { panic!("what sleeps has nothing to pull") };
        let sent = self.sent.entry(stream).or_default();
        loop {
            let mut bytes = Vec::new();
            let pulled = session.pull(stream, &mut bytes, 100);
            let text = String::from_utf8(bytes).unwrap();
            for part in text.split("\"id\":").skip(1) {
                let (id, rest) = part.split_once(',').unwrap_or_default();
                if let Some(id) = id.parse().ok().filter(|_| rest.starts_with("\"method\"")) {
                    self.asked = id;
                }
            }
            sent.push_str(&text);
            match pulled {
                Pull::More => {}
                Pull::Wait => return,
                Pull::Pause | Pull::End => return sent.push_str(&format!("<{pulled:?}>")),
            }
        }
    }

    /// Time has passed. Who sleeps is woken if something is due, other than comments: those are written without it.
    fn tick(&mut self, now: Time) {
        while let Life::Asleep(asleep) = &mut self.life {
            let comment = asleep.keep_alives.deadline().filter(|at| *at <= now);
            let wake_at = asleep.wake_at.map(|(at, _)| at).filter(|at| *at <= now);
            match (comment, wake_at) {
                (None, None) => return,
                // One that does not take or pull would not send it, either.
                (Some(at), wake_at) if self.taking && self.pulling && wake_at.is_none_or(|wake_at| at <= wake_at) => {
                    let stream = asleep.keep_alives.due(now).expect("it was due");
                    let comment = std::str::from_utf8(KeepAlives::COMMENT).unwrap();
                    self.sent.entry(stream).or_default().push_str(comment);
                    self.counts.comments += 1;
                }
                _ => break,
            }
        }
        self.input(now, Input::Tick);
    }

    /// The catalogue was swapped. Who sleeps is woken for it if somebody reads.
    fn changed(&mut self, now: Time, what: Change) {
        self.listed[what as usize] += 1;
        match &self.life {
            Life::Awake(_) => self.input(now, Input::Changed { catalog: fixture::catalog(), what }),
            Life::Asleep(asleep) if asleep.keep_alives.is_empty() => self.counts.late += 1,
            Life::Asleep(_) => {
                self.counts.changes += 1;
                self.awake(now);
            }
        }
    }

    /// As with the catalogue, of who follows the resource.
    fn updated(&mut self, now: Time, uri: &'static str) {
        match &self.life {
            Life::Asleep(asleep) if !asleep.follows.iter().any(|followed| **followed == *uri) => {}
            Life::Asleep(asleep) if asleep.keep_alives.is_empty() => self.missed.push(uri),
            Life::Awake(_) | Life::Asleep(_) => self.input(now, Input::Updated { uri, view: &fixture::view() }),
        }
    }

    /// Sleeps, if it is the one that does, and may.
    fn nap(&mut self, now: Time) {
        // A stream that it was told is ready, and that has gone by now, still has its end to be pulled.
        if !self.sleeps || !self.ready.is_empty() || matches!(self.life, Life::Asleep(_)) {
            return;
        }
        let listed = self.listed();
        let session = self.awake(now);
        let could = session.can_sleep();
        let other = Session::new(MachineId(0), fixture::endpoint(), SessionId::new([0; 16]), now);
        self.life = match std::mem::replace(session, other).sleep(listed) {
            Ok(asleep) => {
                assert!(could);
                self.counts.naps += 1;
                Life::Asleep(asleep)
            }
            Err(session) => {
                assert!(!could);
                Life::Awake(session)
            }
        };
    }

    /// Whether it stands where its twin does that never sleeps.
    fn check(&self, waker: &Self, world: &World) {
        let Life::Awake(never) = &waker.life else { panic!("it never sleeps") };
        assert_eq!(self.said, waker.said);
        assert_eq!(self.sent, waker.sent);
        match &self.life {
            Life::Awake(session) => {
                assert_eq!(session.deadline(), never.deadline());
                assert_eq!(session.gate(), never.gate());
                assert_eq!(session.can_sleep(), never.can_sleep());
            }
            Life::Asleep(Asleep { snapshot, wake_at, keep_alives, follows }) => {
                let first = keep_alives.streams().next().unwrap_or(StreamId::ONLY);
                let comment = keep_alives.deadline().map(|at| (at, Timer::KeepAlive(first)));
                let named = |(at, timer)| (at, if matches!(timer, Timer::KeepAlive(_)) { None } else { Some(timer) });
                assert_eq!(comment.into_iter().chain(*wake_at).min().map(named), never.deadline().map(named));
                assert!(never.can_sleep() && never.gate() == Gate::Open);
                assert_eq!((snapshot.session(), snapshot.belongs_to(&world.caller())), (Some(ID), true));
                assert!(!snapshot.belongs_to(&Caller::new("eve", Scopes::default())));
                for uri in (0..3).map(uri_of) {
                    let follows = follows.iter().any(|followed| **followed == *uri);
                    assert_eq!(follows, never.subscriber(uri).is_some(), "{uri}");
                }
            }
        }
    }

    fn step(&mut self, now: Time, step: &Step, world: &World) {
        match step {
            Step::Send { what, accept, stranger } => {
                let caller = if *stranger { Caller::new("eve", Scopes::default()) } else { world.caller() };
                let body = what.body(world, self.asked);
                self.post(now, &body, *accept, &caller);
            }
            Step::Batch(members) => {
                let members: Vec<Value> = members.iter().map(|member| member.body(world, self.asked)).collect();
                self.post(now, &members.into(), 0, &world.caller());
            }
            Step::Unread => self.input(now, Input::Unread(Unread::too_long(5))),
            Step::Attach { accept, resume } => self.attach(now, *accept, *resume, world),
            Step::Detach(nth) => {
                if let Some(stream) = pick(&self.streams, *nth) {
                    let stream = self.streams[stream];
                    self.input(now, Input::Detach { stream });
                }
            }
            Step::Note { call, note } => {
                if let Some(ticket) = pick(&self.tickets, *call) {
                    let call = self.tickets[ticket].0.call();
                    self.input(now, Input::Note { call, note: note_of(*note) });
                }
            }
            Step::Done { call, how } => {
                // Tickets of calls that were abandoned are among them: those come late.
                if let Some(ticket) = pick(&self.tickets, *call) {
                    let (ticket, well) = self.tickets.remove(ticket);
                    self.input(now, Input::Done { ticket, outcome: outcome_of(*how, well) });
                }
            }
            Step::Wait(_) | Step::UntilDue => self.tick(now),
            Step::Changed(what) => self.changed(now, *what),
            Step::Updated(uri) => self.updated(now, uri_of(*uri)),
            Step::Take(taking) => self.taking = *taking,
            Step::Pull(pulling) => self.pulling = *pulling,
            // A session that has ended says little more, so most histories go on.
            Step::Close(how @ 0..=15) => {
                self.input(now, Input::Close(if how % 2 == 0 { Close::Peer } else { Close::Shutdown }));
            }
            Step::Close(_) => self.input(now, Input::Close(Close::EndOfInput)),
        }
        self.obey();
    }

    fn attach(&mut self, now: Time, accept: u8, resume: Option<(u8, u8)>, world: &World) {
        let mut headers = vec![("accept", accept_of(accept))];
        let event = resume.map(|(back, number)| match pick(&self.streams, back) {
            Some(stream) => format!("{}-{number}", self.streams[stream].0),
            None => "7".into(),
        });
        headers.extend(event.as_ref().map(|event| ("last-event-id", event.as_bytes())));
        let head = Head::read(headers);
        self.input(now, Input::Attach { head: &head, from: &world.caller() });
    }

    fn post(&mut self, now: Time, body: &Value, accept: u8, caller: &Caller) {
        let head = Head::read([("accept", accept_of(accept))]);
        let view = fixture::view();
        match wire::read(body.to_string().into(), self.endpoint.limits()) {
            Ok(message) => self.input(now, Input::Message { message, head: Some(&head), from: caller, view: &view }),
            Err(unread) => self.input(now, Input::Unread(unread)),
        }
    }
}

impl Said {
    fn body(&self, world: &World, asked: u64) -> Value {
        let id = |id: u8| if id.is_multiple_of(2) { json!(id % 4) } else { json!(format!("id{}", id % 4)) };
        match self {
            Self::Initialized => fixture::initialized(),
            Self::Initialize => fixture::initialize(world.revision.as_str(), &world.capabilities()),
            Self::Ping(n) => fixture::request(id(*n), "ping", &json!({})),
            Self::List(n) => fixture::request(id(*n), "tools/list", &json!({})),
            Self::Level(n) => {
                let level = Level::ALL[usize::from(*n % 8)].as_str();
                fixture::request(id(*n), "logging/setLevel", &json!({"level": level}))
            }
            Self::Subscribe(n) => fixture::request(id(*n), "resources/subscribe", &json!({"uri": uri_of(*n)})),
            Self::Unsubscribe(n) => fixture::request(id(*n), "resources/unsubscribe", &json!({"uri": uri_of(*n)})),
            Self::Call { id: n, token } => {
                let meta = if *token { json!({"progressToken": id(*n), "x": n}) } else { json!({}) };
                let params = json!({"name": "echo", "arguments": {"message": n.to_string()}, "_meta": meta});
                fixture::request(id(*n), "tools/call", &params)
            }
            Self::Extension(n) => fixture::request(id(*n), "acme/do", &json!({"n": n})),
            Self::Use { id: n, what } => {
                let argument = json!({"name": "who", "value": n.to_string()});
                let variable = json!({"name": "id", "value": ""});
                let (method, params) = match what % 7 {
                    0 => ("resources/list", json!({})),
                    1 => ("resources/read", json!({"uri": "notes://today"})),
                    2 => ("resources/read", json!({"uri": format!("notes://{n}%20x")})),
                    3 => ("prompts/get", json!({"name": "greet", "arguments": {"who": n.to_string(), "tone": ""}})),
                    4 => (
                        "completion/complete",
                        json!({"ref": {"type": "ref/prompt", "name": "greet"}, "argument": argument}),
                    ),
                    5 => (
                        "completion/complete",
                        json!({"ref": {"type": "ref/resource", "uri": "notes://{id}"}, "argument": variable,
                            "context": {"arguments": {"a": "b"}}}),
                    ),
                    _ => ("prompts/get", json!({"name": "plain"})),
                };
                fixture::request(id(*n), method, &params)
            }
            Self::Cancel(n) => {
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id(*n)}})
            }
            Self::Reply { back, how } => {
                let id = asked.saturating_sub(u64::from(*back));
                match how % 4 {
                    0 => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -5, "message": "no"}}),
                    1 => json!({"jsonrpc": "2.0", "id": id, "result": [how]}),
                    _ => json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"n": how}}}),
                }
            }
            Self::Junk => json!({"jsonrpc": "2.0", "method": "notifications/whatever"}),
        }
    }
}

/// Few, so that some are subscribed to twice; the last is not there.
fn uri_of(uri: u8) -> &'static str {
    ["notes://today", "notes://logo.png", "none:"][usize::from(uri) % 3]
}

fn accept_of(accept: u8) -> &'static [u8] {
    match accept % 8 {
        0 => b"application/json",
        1 => b"text/event-stream",
        _ => b"application/json, text/event-stream",
    }
}

/// One of the latest.
fn pick<T>(of: &[T], nth: u8) -> Option<usize> {
    let among = of.len().min(4);
    (among > 0).then(|| of.len() - 1 - usize::from(nth) % among)
}

fn note_of(note: u8) -> Note {
    if note > 240 {
        Note::HangUp
    } else if note.is_multiple_of(2) {
        Note::Progress { progress: f64::from(note) / 4.0, total: None, message: Some("on".into()) }
    } else {
        Note::Log { level: Level::ALL[usize::from(note % 8)], logger: None, data: note.to_string().into() }
    }
}

fn outcome_of(how: u8, well: Outcome) -> Outcome {
    let form = Question::Form { message: "Who?".into(), schema: r#"{"type":"object","properties":{}}"#.into() };
    let url = Question::Url { message: "Go".into(), url: "https://example.com/".into(), id: "u".into() };
    let sample = |tools| Question::Sample { params: r#"{"messages":[],"maxTokens":1}"#.into(), tools };
    let all = [form, url, sample(false), sample(true), Question::Roots];
    match how % 8 {
        0 | 1 => well,
        2 => Outcome::Fail(Fault::internal("It failed")),
        count => {
            let skip = usize::from(how / 8) % all.len();
            let questions = all.into_iter().cycle().skip(skip).take(usize::from(count) - 2);
            let questions = questions.enumerate().map(|(key, question)| (key.to_string().into(), question));
            Outcome::Ask { questions: questions.collect(), state: Bytes::from(vec![how; usize::from(how % 3)]) }
        }
    }
}

/// Lives both lives. Returns what happened in the one of them that sleeps.
///
/// # Panics
///
/// If the two differ.
pub(crate) fn live(world: &World, steps: &[Step]) -> Counts {
    let mut now = Time(1_000_000);
    let [mut sleeper, mut waker] = [true, false].map(|sleeps| Twin::new(world, sleeps, now));
    let hello = [Said::Initialize, Said::Initialized].map(|what| Step::Send { what, accept: 2, stranger: false });
    // Some histories begin without `initialized`.
    let hello = &hello[..if world.orphan { 2 } else { 1 }];
    for step in hello.iter().chain(steps) {
        now = match step {
            Step::Wait(span) => now.after(Span::millis(*span)),
            Step::UntilDue => waker.awake(now).deadline().map_or(now, |(due, _)| due.max(now)),
            _ => now,
        };
        sleeper.step(now, step, world);
        waker.step(now, step, world);
        sleeper.nap(now);
        sleeper.check(&waker, world);
        for twin in [&mut sleeper, &mut waker] {
            twin.said.clear();
            twin.sent.clear();
        }
    }
    let counts = sleeper.counts;
    for twin in [&mut sleeper, &mut waker] {
        twin.tick(now);
        twin.awake(now);
        twin.sleeps = true;
        twin.nap(now);
    }
    match (sleeper.life, waker.life) {
        (Life::Asleep(slept), Life::Asleep(never)) => {
            assert_eq!(slept.snapshot.as_bytes(), never.snapshot.as_bytes(), "they are the same to the last byte");
        }
        (slept, never) => assert!(matches!((slept, never), (Life::Awake(_), Life::Awake(_)))),
    }
    counts
}
