//! The scripted client.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::policy::Policy;
use mcp_core::record::{self, Record, Recorder};
use mcp_core::wire::{self, sse};
use mcp_core::{
    Call, CallId, Caller, Catalog, Claim, Close, Event, EventId, EventLog, Fault, Form, Gate, Head, Input, Machine,
    Note, Outcome, Output, Pull, Reply, Revision, SessionId, Span, StreamId, Ticket, Time, Timer, View,
};
use serde_json::Value;

use crate::{fixture, transcript, types};

/// A client, its machine, and everything that came out of it.
#[derive(Debug)]
pub struct Script<M> {
    /// The machine under test.
    pub machine: M,
    /// The simulated time.
    pub now: Time,
    /// Who sends.
    pub caller: Caller,
    /// What they may see.
    pub view: View,
    /// Calls that were handed out and not answered, oldest first.
    pub calls: VecDeque<(Ticket, Box<Call>)>,
    /// Calls that were abandoned.
    pub abandoned: Vec<CallId>,
    /// Events, oldest first.
    pub events: Vec<Event>,
    /// Whether the machine has closed.
    pub closed: bool,
    /// How often it said that it could sleep.
    pub hibernations: u32,
    /// What was sent, if the session is resumable.
    pub log: EventLog,
    /// The room that it asked for, to listen.
    pub claims: Vec<Claim>,
    /// Why it does not get any; it does by default.
    pub no_seat: Option<Fault>,
    limits: mcp_core::policy::Limits,
    heads: HashMap<StreamId, Reply>,
    bytes: BTreeMap<StreamId, Vec<u8>>,
    ended: Vec<StreamId>,
    expected: Option<StreamId>,
    asked: HashMap<String, (String, String)>,
    /// The revision of the legacy conversation, once it is known.
    legacy: Option<Revision>,
    /// Whether a version in `_meta` means anything to the server.
    modern: bool,
    holding: bool,
    resumable: bool,
    resumed: Vec<StreamId>,
    paused: Vec<StreamId>,
    pulled: Vec<(StreamId, Vec<u8>)>,
    verify: Option<Verify<M>>,
}

/// Replays what a machine was told, and compares what it wrote with what was pulled.
struct Verify<M>(Box<Replaying<M>>);

type Replaying<M> = dyn Fn(&M, &[(StreamId, Vec<u8>)]);

impl<M> fmt::Debug for Verify<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verify(..)")
    }
}

/// What came back on one stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Its head, if it was opened. A byte stream has none.
    pub reply: Option<Reply>,
    /// The bytes, as framed.
    pub text: String,
    /// The messages in them.
    pub messages: Vec<Value>,
    /// Whether the stream has ended.
    pub ended: bool,
}

impl Sent {
    /// Its head.
    ///
    /// # Panics
    ///
    /// If the stream was not opened.
    #[must_use]
    pub fn head(&self) -> &Reply {
        self.reply.as_ref().expect("the stream was opened")
    }

    /// The HTTP status.
    ///
    /// # Panics
    ///
    /// If the stream was not opened.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.head().status
    }

    /// The only message.
    ///
    /// # Panics
    ///
    /// If there is none, or more than one.
    #[must_use]
    pub fn one(&self) -> &Value {
        assert_eq!(self.messages.len(), 1, "expected one message, got: {}", self.text);
        &self.messages[0]
    }

    /// The error code of the only message; 0 if it is no error.
    ///
    /// # Panics
    ///
    /// As [`Sent::one`].
    #[must_use]
    pub fn code(&self) -> i64 {
        self.one()["error"]["code"].as_i64().unwrap_or(0)
    }
}

impl<M: Machine> Script<M> {
    /// A client of that machine, at the time 1,000,000.
    pub fn new(machine: M) -> Self {
        Self {
            machine,
            now: Time(1_000_000),
            caller: Caller::anonymous(),
            view: fixture::view(),
            calls: VecDeque::new(),
            abandoned: Vec::new(),
            events: Vec::new(),
            closed: false,
            hibernations: 0,
            log: EventLog::new(&Policy::default()),
            claims: Vec::new(),
            no_seat: None,
            limits: mcp_core::policy::Limits::default(),
            heads: HashMap::new(),
            bytes: BTreeMap::new(),
            ended: Vec::new(),
            expected: None,
            asked: HashMap::new(),
            legacy: None,
            modern: true,
            holding: false,
            resumable: false,
            resumed: Vec::new(),
            paused: Vec::new(),
            pulled: Vec::new(),
            verify: None,
        }
    }

    /// The same, where messages are to be taken for legacy ones of that revision unless they carry a version.
    #[must_use]
    pub fn speaking(mut self, revision: Revision) -> Self {
        self.legacy = (revision != Revision::MODERN).then_some(revision);
        self
    }

    /// The same, that keeps an event log.
    #[must_use]
    pub const fn resumable(mut self) -> Self {
        self.resumable = true;
        self
    }

    /// The same, of a server that serves no modern revision if `modern` is false.
    #[must_use]
    pub(crate) fn of_a_server_that_is(mut self, modern: bool) -> Self {
        self.modern = modern;
        self
    }

    /// Sends a message with the headers that a right client would send, and returns what came back for it so far.
    pub fn send(&mut self, message: &Value) -> Sent {
        self.send_with(message, &fixture::headers(message))
    }

    /// Sends a message with those headers.
    pub fn send_with(&mut self, message: &Value, headers: &[(String, String)]) -> Sent {
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let head = Head::read(headers);
        self.send_bytes(message.to_string().into(), Some(&head))
    }

    /// Sends a body that may be no message.
    pub fn send_bytes(&mut self, body: Bytes, head: Option<&Head<'_>>) -> Sent {
        self.expected = None;
        if let Ok(message) = serde_json::from_slice(&body) {
            self.remember(&message);
        }
        let (caller, view) = (self.caller.clone(), self.view.clone());
        match wire::read(body, &self.limits) {
            Ok(message) => self.machine.handle(self.now, Input::Message { message, head, from: &caller, view: &view }),
            Err(unread) => self.machine.handle(self.now, Input::Unread(unread)),
        }
        self.drain();
        self.sent(self.expected.unwrap_or(StreamId::ONLY))
    }

    /// Opens a listening stream (GET) with those headers.
    pub fn attach(&mut self, headers: &[(&str, &str)]) -> (StreamId, Sent) {
        self.expected = None;
        let head = Head::read(headers.iter().map(|(name, value)| (*name, value.as_bytes())));
        let caller = self.caller.clone();
        self.machine.handle(self.now, Input::Attach { head: &head, from: &caller });
        self.drain();
        let stream = self.expected.expect("an attach is answered on a stream");
        (stream, self.sent(stream))
    }

    /// Any other input.
    pub fn input(&mut self, input: Input<'_>) {
        self.machine.handle(self.now, input);
        self.drain();
    }

    /// Answers the oldest call.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn done(&mut self, outcome: Outcome) {
        let (ticket, _) = self.calls.pop_front().expect("a call is running");
        self.input(Input::Done { ticket, outcome });
    }

    /// Says something from the oldest call.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn note(&mut self, note: Note) {
        let call = self.calls.front().expect("a call is running").1.id;
        self.input(Input::Note { call, note });
    }

    /// Lets time pass, with a tick at each deadline on the way.
    pub fn advance(&mut self, span: Span) {
        let until = self.now.after(span);
        while let Some((at, _)) = self.machine.deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.input(Input::Tick);
        }
        self.now = until;
        self.input(Input::Tick);
    }

    /// Ends the conversation.
    pub fn close(&mut self, why: Close) {
        self.input(Input::Close(why));
    }

    /// Stops (or goes on) pulling, like a reader that stalls.
    pub fn hold(&mut self, holding: bool) {
        self.holding = holding;
        if !holding {
            let streams: Vec<StreamId> = self.bytes.keys().copied().chain(self.heads.keys().copied()).collect();
            for stream in streams.into_iter().chain([StreamId::ONLY]) {
                self.pull(stream);
            }
        }
    }

    /// The next deadline, and why.
    #[must_use]
    pub fn deadline(&self) -> Option<(Time, Timer)> {
        self.machine.deadline()
    }

    /// Whether the machine wants no more input for now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.machine.gate() == Gate::Full
    }

    /// What came on a stream since it was last asked for.
    pub fn sent(&mut self, stream: StreamId) -> Sent {
        let bytes = self.bytes.remove(&stream).unwrap_or_default();
        let reply = self.heads.get(&stream).cloned();
        let text = String::from_utf8(bytes).expect("everything that is sent is UTF-8");
        let messages = messages(reply.as_ref(), &text);
        for message in &messages {
            self.write_down(message);
        }
        Sent { reply, text, messages, ended: self.ended.contains(&stream) }
    }

    /// Opens a legacy conversation: handshake in that revision, with those capabilities, and `initialized`.
    ///
    /// # Panics
    ///
    /// If the machine refuses.
    pub fn open(&mut self, revision: Revision, capabilities: &Value) {
        let sent = self.send(&fixture::initialize(revision.as_str(), capabilities));
        assert_eq!(sent.one()["result"]["protocolVersion"], revision.as_str());
        let sent = self.send(&fixture::initialized());
        assert_eq!((sent.text.as_str(), sent.reply.map_or(202, |reply| reply.status)), ("", 202));
    }

    /// What came on the only stream since it was last asked for.
    pub fn received(&mut self) -> Sent {
        self.sent(StreamId::ONLY)
    }

    /// The stream that answers the last message.
    ///
    /// # Panics
    ///
    /// If the machine named none.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.expected.expect("the machine named a stream")
    }

    /// The stream that answers the last message: the only one, if the machine named none.
    #[must_use]
    pub fn answering(&self) -> StreamId {
        self.expected.unwrap_or(StreamId::ONLY)
    }

    /// The stream that the machine named for the last message, if it did.
    pub(crate) const fn expected(&self) -> Option<StreamId> {
        self.expected
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Call(ticket, call) => self.calls.push_back((ticket, call)),
                Output::Abandon(call) => {
                    self.calls.retain(|(_, running)| running.id != call);
                    self.abandoned.push(call);
                }
                Output::Expect(stream) => self.expected = Some(stream),
                Output::Resume(after) => self.replay(after),
                Output::Open { stream, reply } => {
                    let before = self.heads.insert(stream, reply.clone());
                    let resumed = before.is_none_or(|before| self.resumed.contains(&stream) && before == reply);
                    assert!(resumed, "a stream is opened once, and again where it is resumed");
                }
                Output::Ready(stream) => self.pull(stream),
                Output::Listen(claim) => {
                    self.claims.push(claim);
                    let seat = self.no_seat.clone().map_or(Ok(()), Err);
                    self.machine.handle(self.now, Input::Listen(seat));
                }
                Output::Hibernate => self.hibernations += 1,
                Output::Event(event) => self.events.push(event),
                Output::Closed => self.closed = true,
            }
        }
    }

    fn pull(&mut self, stream: StreamId) {
        if self.holding {
            return;
        }
        let bytes = self.bytes.entry(stream).or_default();
        loop {
            let mut chunk = Vec::new();
            // One event at a time, for the log.
            let limit = if self.resumable { 0 } else { 1024 };
            let pulled = self.machine.pull(stream, &mut chunk, limit);
            if self.resumable {
                self.log.append(SESSION, &chunk);
            }
            bytes.extend_from_slice(&chunk);
            self.pulled.push((stream, chunk));
            match pulled {
                Pull::More => {}
                Pull::Wait => return,
                Pull::Pause => {
                    self.paused.push(stream);
                    return;
                }
                Pull::End => {
                    self.log.end(SESSION, stream, self.now);
                    if !self.ended.contains(&stream) {
                        self.ended.push(stream);
                    }
                    return;
                }
            }
        }
    }

    /// Sends what the log has after that event, as a driver does.
    fn replay(&mut self, after: EventId) {
        assert!(self.log.can_resume(SESSION, after), "{after} can be resumed after");
        self.resumed.push(after.stream);
        let bytes = self.bytes.entry(after.stream).or_default();
        bytes.clear();
        let mut last = after;
        while let Some((next, framed)) = self.log.after(SESSION, last) {
            bytes.extend_from_slice(&framed);
            last = next;
        }
    }

    /// Whether the reader of that stream was sent away, and is to come back.
    #[must_use]
    pub fn is_paused(&self, stream: StreamId) -> bool {
        self.paused.contains(&stream)
    }

    fn remember(&mut self, message: &Value) {
        for message in message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice) {
            let meta = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            let legacy = self.legacy.unwrap_or(Revision::NEWEST_LEGACY);
            let revision = if meta.is_null() || !self.modern { legacy } else { Revision::MODERN }.as_str();
            // An answer to a question of the server asks for nothing, and its id is the server's.
            let Some(method) = message["method"].as_str() else { continue };
            self.asked.insert(message["id"].to_string(), (method.to_owned(), revision.to_owned()));
        }
    }

    fn write_down(&mut self, message: &Value) {
        if let Some(agreed) = message["result"]["protocolVersion"].as_str().and_then(Revision::parse) {
            self.legacy = Some(agreed);
            return transcript::write(agreed.as_str(), Some("initialize"), message);
        }
        let asked = self.asked.get(&message["id"].to_string());
        let is_response = message.get("method").is_none();
        let listens = !message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_null();
        let (answers, revision) = match asked.filter(|_| is_response) {
            Some((method, revision)) => (Some(method.as_str()), revision.as_str()),
            // Only what a modern client listens to is tagged, also beside a legacy conversation.
            None if listens => (None, Revision::MODERN.as_str()),
            None => (None, self.legacy.unwrap_or(Revision::MODERN).as_str()),
        };
        if revision == Revision::MODERN.as_str() {
            types::check(answers, message);
            if message["method"] == "notifications/cancelled" {
                let ended = self.asked.get(&message["params"]["requestId"].to_string()).map(|(method, _)| &**method);
                assert_eq!(ended, Some("subscriptions/listen"), "CANC-6: a server cancels nothing else");
            }
        }
        transcript::write(revision, answers, message);
    }
}

impl<M: Machine + 'static> Script<Recorder<M>> {
    /// A client whose whole run is recorded, written as text, read again, and replayed when the test is over: on another
    /// machine from `fresh` it must give the same bytes (ARCHITECTURE, rule 5).
    pub fn replaying(fresh: impl Fn() -> M + 'static) -> Self {
        Self::replaying_with(fresh, vec![fixture::catalog()])
    }

    /// The same, with other catalogues than the fixture's.
    pub fn replaying_with(fresh: impl Fn() -> M + 'static, catalogs: Vec<Arc<Catalog>>) -> Self {
        let mut script = Self::new(Recorder::new(fresh()));
        let limits = script.limits.clone();
        script.verify = Some(Verify(Box::new(move |recorder, pulled| {
            let lines = recorder.records().iter().map(Record::to_json);
            let records: Vec<Record> =
                lines.map(|line| Record::from_json(&line).expect("a record reads back")).collect();
            let replayed = record::replay(&mut fresh(), &records, &catalogs, &limits);
            assert_eq!(replayed.expect("a record replays").pulled, pulled, "rule 5: a replay gives the same bytes");
        })));
        script
    }
}

impl<M> Drop for Script<M> {
    fn drop(&mut self) {
        if let Some(verify) = self.verify.take().filter(|_| !std::thread::panicking()) {
            verify.0(&self.machine, &self.pulled);
        }
    }
}

pub(crate) fn messages(reply: Option<&Reply>, text: &str) -> Vec<Value> {
    let parse = |text: &str| -> Value { serde_json::from_str(text).expect("everything that is sent is JSON") };
    match reply.map(|reply| reply.form) {
        Some(Form::Empty) => Vec::new(),
        Some(Form::Json) if text.is_empty() => Vec::new(),
        Some(Form::Json) => match parse(text) {
            Value::Array(batch) => batch,
            message => vec![message],
        },
        Some(Form::Events) => events(text).iter().filter(|data| !data.is_empty()).map(|data| parse(data)).collect(),
        None => {
            assert!(text.is_empty() || text.ends_with('\n'), "a line ends with a newline");
            text.lines().map(parse).collect()
        }
    }
}

/// The name of the session in the log of a script.
const SESSION: SessionId = SessionId::new([7; 16]);

/// The data of the events in a text; comments carry none.
fn events(text: &str) -> Vec<String> {
    let mut parser = sse::Parser::new(usize::MAX);
    let mut rest = text.as_bytes();
    let mut events = Vec::new();
    while let Some(frame) = parser.next(&mut rest) {
        if let sse::Frame::Event(event) = frame {
            events.push(event.data);
        }
    }
    events
}
