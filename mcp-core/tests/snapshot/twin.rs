//! The twin test: of two sessions with the same history one sleeps at every moment that it may, the other never. Whatever
//! the history, they say the same and send the same bytes (HTTP-26, CANC-2, PROG-2, LIFE-5, LIFE-10, RES-7 and whatever else counts over time).

use std::cell::Cell;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::question::Question;
use mcp_core::wire::{self, Unread};
use mcp_core::{
    Asleep, Caller, Change, Close, Endpoint, Fault, Generations, Head, Input, Level, Machine, MachineId, Note, Outcome,
    Output, Pull, Revision, Scopes, Session, SessionId, Span, StreamId, Ticket, Time,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, ProptestConfig, Strategy, any};
use proptest::prop_oneof;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use testkit::fixture;

/// What happens to both.
#[derive(Clone, Debug)]
enum Step {
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
enum Said {
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

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        2 => Just(Said::Initialized),
        1 => Just(Said::Initialize),
        1 => any::<u8>().prop_map(Said::Ping),
        1 => any::<u8>().prop_map(Said::List),
        1 => any::<u8>().prop_map(Said::Level),
        3 => any::<u8>().prop_map(Said::Subscribe),
        1 => any::<u8>().prop_map(Said::Unsubscribe),
        8 => (any::<u8>(), any::<bool>()).prop_map(|(id, token)| Said::Call { id, token }),
        2 => any::<u8>().prop_map(Said::Extension),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(id, what)| Said::Use { id, what }),
        2 => any::<u8>().prop_map(Said::Cancel),
        8 => (0..4_u8, any::<u8>()).prop_map(|(back, how)| Said::Reply { back, how }),
        1 => Just(Said::Junk),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let stranger = prop_oneof![9 => Just(false), 1 => Just(true)];
    prop_oneof![
        20 => (said(), 0..8_u8, stranger).prop_map(|(what, accept, stranger)| Step::Send { what, accept, stranger }),
        2 => vec(said(), 0..4).prop_map(Step::Batch),
        1 => Just(Step::Unread),
        4 => (any::<u8>(), option::of((0..6_u8, 0..5_u8))).prop_map(|(accept, resume)| Step::Attach { accept, resume }),
        2 => any::<u8>().prop_map(Step::Detach),
        5 => (any::<u8>(), any::<u8>()).prop_map(|(call, note)| Step::Note { call, note }),
        12 => (any::<u8>(), any::<u8>()).prop_map(|(call, how)| Step::Done { call, how }),
        3 => (0..40_000_u64).prop_map(Step::Wait),
        3 => Just(Step::UntilDue),
        2 => (0..3_usize).prop_map(|what| Step::Changed(Change::ALL[what])),
        3 => any::<u8>().prop_map(Step::Updated),
        1 => any::<bool>().prop_map(Step::Take),
        2 => any::<bool>().prop_map(Step::Pull),
        1 => any::<u8>().prop_map(Step::Close),
    ]
}

/// How the two live.
#[derive(Clone, Debug)]
struct World {
    revision: Revision,
    able: bool,
    principal: bool,
    ping: bool,
    call: bool,
    orphan: bool,
    silent: bool,
    resumable: bool,
}

fn world() -> impl Strategy<Value = World> {
    (0..4_usize, any::<[bool; 7]>()).prop_map(|(revision, [able, principal, ping, call, orphan, silent, resumable])| {
        World { revision: Revision::ALL[revision], able, principal, ping, call, orphan, silent, resumable }
    })
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

/// One of the twins and its driver.
struct Twin {
    session: Session,
    endpoint: Arc<Endpoint>,
    sleeps: bool,
    naps: u64,
    resumed: u64,
    /// How often a stream was read on after an event.
    returns: u64,
    /// What runs, or ran, each with how it would end well.
    tickets: Vec<(Ticket, Outcome)>,
    streams: Vec<StreamId>,
    ready: Vec<StreamId>,
    taking: bool,
    pulling: bool,
    /// The latest id of a request to the client.
    asked: u64,
    /// Everything that it said and sent.
    log: Vec<String>,
}

impl Twin {
    fn new(world: &World, sleeps: bool, now: Time) -> Self {
        let endpoint = world.endpoint();
        let session = Session::new(MachineId(3), Arc::clone(&endpoint), SessionId::new([9; 16]), now);
        let session = if world.resumable { session.resumable() } else { session };
        Self {
            session,
            endpoint,
            sleeps,
            naps: 0,
            resumed: 0,
            returns: 0,
            tickets: Vec::new(),
            streams: Vec::new(),
            ready: Vec::new(),
            taking: true,
            pulling: true,
            asked: 0,
            log: Vec::new(),
        }
    }

    fn input(&mut self, now: Time, input: Input<'_>) {
        self.session.handle(now, input);
        self.obey();
    }

    fn obey(&mut self) {
        while let Some(output) = self.taking.then(|| self.session.poll_output()).flatten() {
            self.log.push(format!("{output:?}"));
            match output {
                Output::Call(ticket, call) => {
                    self.resumed += u64::from(call.resume.is_some());
                    self.tickets.push((ticket, testkit::done(&call)));
                }
                Output::Expect(stream) => self.streams.push(stream),
                Output::Ready(stream) => self.ready.push(stream),
                Output::Resume(_) => self.returns += 1,
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
        loop {
            let mut bytes = Vec::new();
            let pulled = self.session.pull(stream, &mut bytes, 100);
            let text = String::from_utf8(bytes).unwrap();
            for part in text.split("\"id\":").skip(1) {
                let (id, rest) = part.split_once(',').unwrap_or_default();
                if let Some(id) = id.parse().ok().filter(|_| rest.starts_with("\"method\"")) {
                    self.asked = id;
                }
            }
            self.log.push(format!("{stream:?} {pulled:?} {text}"));
            if pulled != Pull::More {
                return;
            }
        }
    }

    /// Sleeps and wakes, if it is the one that does, and may.
    fn nap(&mut self, now: Time) {
        if !self.sleeps {
            return;
        }
        let other = Session::new(MachineId(0), Arc::clone(&self.endpoint), SessionId::new([0; 16]), now);
        let could = self.session.can_sleep();
        self.session = match std::mem::replace(&mut self.session, other).sleep(Generations::default()) {
            Ok(Asleep { snapshot, keep_alives, .. }) => {
                assert!(could);
                self.naps += 1;
                let (endpoint, listed) = (Arc::clone(&self.endpoint), Generations::default());
                Session::wake(MachineId(3), &snapshot, keep_alives, endpoint, listed, now)
                    .expect("what fell asleep wakes")
            }
            Err(session) => {
                assert!(!could);
                *session
            }
        };
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
            Step::Attach { accept, resume } => {
                let mut headers = vec![("accept", accept_of(*accept))];
                let event = resume.map(|(back, number)| match pick(&self.streams, back) {
                    Some(stream) => format!("{}-{number}", self.streams[stream].0),
                    None => "7".into(),
                });
                headers.extend(event.as_ref().map(|event| ("last-event-id", event.as_bytes())));
                let head = Head::read(headers);
                self.input(now, Input::Attach { head: &head, from: &world.caller() });
            }
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
            Step::Wait(_) | Step::UntilDue => self.input(now, Input::Tick),
            Step::Changed(what) => self.input(now, Input::Changed { catalog: fixture::catalog(), what: *what }),
            Step::Updated(uri) => self.input(now, Input::Updated { uri: uri_of(*uri), view: &fixture::view() }),
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

/// Lives both lives. Returns how often the one slept, how many of its calls ran again after a question, and how often a reader
/// came back.
fn live(world: &World, steps: &[Step]) -> (u64, u64, u64) {
    let mut now = Time(1_000_000);
    let [mut sleeper, mut waker] = [true, false].map(|sleeps| Twin::new(world, sleeps, now));
    let hello = [Said::Initialize, Said::Initialized].map(|what| Step::Send { what, accept: 2, stranger: false });
    // Some histories begin without `initialized`.
    let hello = &hello[..if world.orphan { 2 } else { 1 }];
    for (at, step) in hello.iter().chain(steps).enumerate() {
        now = match step {
            Step::Wait(span) => now.after(Span::millis(*span)),
            Step::UntilDue => waker.session.deadline().map_or(now, |(due, _)| due.max(now)),
            _ => now,
        };
        sleeper.step(now, step, world);
        waker.step(now, step, world);
        sleeper.nap(now);
        assert_eq!(sleeper.log, waker.log, "step {at}: {step:?}");
        assert_eq!(sleeper.session.deadline(), waker.session.deadline(), "step {at}: {step:?}");
        assert_eq!(sleeper.session.gate(), waker.session.gate(), "step {at}: {step:?}");
        assert_eq!(sleeper.session.can_sleep(), waker.session.can_sleep(), "step {at}: {step:?}");
        sleeper.log.clear();
        waker.log.clear();
    }
    let counts = (sleeper.naps, sleeper.resumed, sleeper.returns);
    match (sleeper.session.sleep(Generations::default()), waker.session.sleep(Generations::default())) {
        (Ok(slept), Ok(never)) => {
            assert_eq!(slept.snapshot.as_bytes(), never.snapshot.as_bytes(), "they are the same to the last byte")
        }
        (slept, never) => assert_eq!(slept.is_ok(), never.is_ok()),
    }
    counts
}

#[test]
fn a_session_that_sleeps_at_each_chance_sends_what_its_twin_sends_that_never_does() {
    let totals = Cell::new((0, 0, 0));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = u64::from(config.cases);
    let lived = TestRunner::new(config).run(&(world(), vec(step(), 1..80)), |(world, steps)| {
        let (naps, resumed, returns) = live(&world, &steps);
        let (before, again, back) = totals.get();
        totals.set((before + naps, again + resumed, back + returns));
        Ok(())
    });
    lived.unwrap_or_else(|failed| panic!("{failed}"));
    let (naps, resumed, returns) = totals.get();
    assert!(naps > 5 * cases && resumed > cases / 2, "too quiet to mean much: {naps} naps, {resumed} calls ran again");
    assert!(returns > cases / 10, "too few came back: {returns}");
}
