//! A driver that keeps an event log, and the connections of one client to it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mcp_core::policy::Policy;
use mcp_core::wire::{self, sse};
use mcp_core::{
    Caller, Endpoint, EventId, EventLog, Head, Input, Machine, MachineId, Note, Outcome, Output, Pull, Reply, Revision,
    Session, SessionId, Span, StreamId, Ticket, Time, route,
};
use serde_json::{Value, json};
use testkit::fixture;

pub(crate) const ID: SessionId = SessionId::new([7; 16]);

/// A session, its log, and what is on its way to whoever reads.
pub(crate) struct Host {
    pub(crate) session: Session,
    pub(crate) log: EventLog,
    pub(crate) now: Time,
    pub(crate) caller: Caller,
    pub(crate) calls: VecDeque<Ticket>,
    /// The streams with a reader, and what was written to it.
    pub(crate) reading: BTreeMap<StreamId, Connection>,
    pub(crate) closed: bool,
    expected: Option<StreamId>,
}

/// One response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub(crate) reply: Option<Reply>,
    pub(crate) text: String,
    /// The response has ended; the stream has, or may go on.
    pub(crate) ended: Option<Pull>,
}

impl Connection {
    pub(crate) fn status(&self) -> u16 {
        self.reply.as_ref().expect("it has a head").status
    }

    /// Its events that have an id, as they were written.
    pub(crate) fn events(&self) -> Vec<String> {
        let frames = self.text.split_inclusive("\n\n");
        frames.filter(|frame| EventId::of_event(frame.as_bytes()).is_some()).map(Into::into).collect()
    }

    /// Its messages.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let mut parser = sse::Parser::new(usize::MAX);
        let mut rest = self.text.as_bytes();
        let mut messages = Vec::new();
        while let Some(frame) = parser.next(&mut rest) {
            match frame {
                sse::Frame::Event(event) if !event.data.is_empty() => {
                    messages.push(serde_json::from_str(&event.data).unwrap());
                }
                _ => {}
            }
        }
        messages
    }

    pub(crate) fn code(&self) -> i64 {
        let answer: Value = serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text));
        answer["error"]["code"].as_i64().expect("it is an error")
    }
}

/// The id of an event as it was written.
pub(crate) fn id_of(event: &str) -> EventId {
    EventId::of_event(event.as_bytes()).expect("the event has an id")
}

impl Host {
    /// After the handshake.
    pub(crate) fn open(revision: Revision) -> Self {
        Self::with(revision, Policy::default())
    }

    pub(crate) fn with(revision: Revision, policy: Policy) -> Self {
        let log = EventLog::new(&policy);
        let mut host = Self::fresh(fixture::builder().policy(policy).build().unwrap(), log);
        host.handshake(revision);
        host
    }

    pub(crate) fn fresh(endpoint: Arc<Endpoint>, log: EventLog) -> Self {
        let now = Time(1_000_000);
        Self {
            session: Session::new(MachineId(1), endpoint, ID, now).resumable(),
            log,
            now,
            caller: Caller::anonymous(),
            calls: VecDeque::new(),
            reading: BTreeMap::new(),
            closed: false,
            expected: None,
        }
    }

    pub(crate) fn handshake(&mut self, revision: Revision) {
        let capabilities = json!({"elicitation": {"form": {}}, "roots": {}});
        let (_, answered) = self.post(&fixture::initialize(revision.as_str(), &capabilities));
        assert_eq!(answered.status(), 200);
        self.post(&fixture::initialized());
    }

    /// POSTs a message; what it got so far stays readable until it is [left](Host::leave).
    pub(crate) fn post(&mut self, message: &Value) -> (StreamId, Connection) {
        self.post_accepting(message, "application/json, text/event-stream")
    }

    pub(crate) fn post_accepting(&mut self, message: &Value, accept: &str) -> (StreamId, Connection) {
        let message = wire::read(message.to_string().into(), &mcp_core::policy::Limits::default()).unwrap();
        let head = Head::read([("accept", accept.as_bytes())]);
        let (caller, view) = (self.caller.clone(), fixture::view());
        self.ask(Input::Message { message, head: Some(&head), from: &caller, view: &view })
    }

    pub(crate) fn get(&mut self) -> (StreamId, Connection) {
        self.attach(None)
    }

    pub(crate) fn resume(&mut self, after: &str) -> (StreamId, Connection) {
        self.attach(Some(after))
    }

    fn attach(&mut self, after: Option<&str>) -> (StreamId, Connection) {
        let accept = ("accept", &b"text/event-stream"[..]);
        let head = Head::read([accept].into_iter().chain(after.map(|id| ("last-event-id", id.as_bytes()))));
        let caller = self.caller.clone();
        self.ask(Input::Attach { head: &head, from: &caller })
    }

    fn ask(&mut self, input: Input<'_>) -> (StreamId, Connection) {
        self.expected = None;
        self.input(input);
        let stream = self.expected.expect("it is answered on a stream");
        (stream, self.reading[&stream].clone())
    }

    /// The connection breaks, and the server notices.
    pub(crate) fn leave(&mut self, stream: StreamId) {
        if self.reading.remove(&stream).is_some_and(|connection| connection.ended != Some(Pull::End)) {
            self.input(Input::Detach { stream });
        }
    }

    pub(crate) fn note(&mut self, note: Note) {
        let call = self.calls.front().expect("a call runs").call();
        self.input(Input::Note { call, note });
    }

    pub(crate) fn done(&mut self, outcome: Outcome) {
        let ticket = self.calls.pop_front().expect("a call runs");
        self.input(Input::Done { ticket, outcome });
    }

    pub(crate) fn advance(&mut self, span: Span) {
        let until = self.now.after(span);
        while let Some((at, _)) = self.session.deadline().filter(|(at, _)| *at <= until && !self.closed) {
            self.now = self.now.max(at);
            self.input(Input::Tick);
        }
        self.now = until;
        self.input(Input::Tick);
        self.log.expire(self.now);
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        self.session.handle(self.now, input);
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Call(ticket, _) => self.calls.push_back(ticket),
                Output::Abandon(call) => self.calls.retain(|ticket| ticket.call() != call),
                Output::Expect(stream) => {
                    self.expected = Some(stream);
                    self.reading.insert(stream, Connection::default());
                }
                Output::Resume(after) => self.replay(after),
                Output::Open { stream, reply } => {
                    let reading = self.reading.get_mut(&stream).expect("a stream is named before it opens");
                    reading.reply.get_or_insert(reply);
                }
                Output::Ready(stream) => self.pull(stream),
                Output::Listen(_) | Output::Hibernate | Output::Event(_) => {}
                Output::Closed => self.closed = true,
            }
        }
    }

    fn replay(&mut self, after: EventId) {
        let connection = self.reading.get_mut(&after.stream).expect("it was named before it is resumed");
        if !self.log.can_resume(ID, after) {
            let (reply, body) = route::not_resumable();
            let text = String::from_utf8(body).unwrap();
            *connection = Connection { reply: Some(reply), text, ended: Some(Pull::Pause) };
            self.session.handle(self.now, Input::Detach { stream: after.stream });
            return;
        }
        let mut last = after;
        while let Some((next, framed)) = self.log.after(ID, last) {
            assert_eq!(next.stream, after.stream, "a replay stays within its stream");
            connection.text.push_str(std::str::from_utf8(&framed).unwrap());
            last = next;
        }
    }

    /// As a driver does: first into the log, then to the reader, if there is one.
    fn pull(&mut self, stream: StreamId) {
        loop {
            let mut framed = Vec::new();
            let pulled = self.session.pull(stream, &mut framed, 0);
            self.log.append(ID, &framed);
            let reader = self.reading.get_mut(&stream).filter(|connection| connection.ended.is_none());
            if let Some(connection) = reader {
                connection.text.push_str(std::str::from_utf8(&framed).unwrap());
                if matches!(pulled, Pull::End | Pull::Pause) {
                    connection.ended = Some(pulled);
                }
            }
            match pulled {
                Pull::More => {}
                Pull::Wait => return,
                Pull::Pause => return self.session.handle(self.now, Input::Detach { stream }),
                Pull::End => return self.log.end(ID, stream, self.now),
            }
        }
    }
}
