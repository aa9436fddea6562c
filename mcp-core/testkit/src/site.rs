//! An HTTP endpoint in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::answer::{
    Answer, Completion, Content, Contents, PromptAnswer, PromptMessage, ResourceAnswer, Role, ToolAnswer,
};
use mcp_core::route::{self, Route};
use mcp_core::wire::{self, Message, Unread};
use mcp_core::{
    Call, Caller, Close, Endpoint, Exchange, Head, Kind, MachineId, Outcome, Reply, Revision, Session, SessionId,
    StreamId, Time, View,
};
use serde_json::Value;

use crate::{Script, Sent, fixture, script};

/// An endpoint as an HTTP adapter runs it: it routes each request, keeps the sessions, and answers calls at once.
#[derive(Debug)]
pub struct Site {
    /// What is served.
    pub endpoint: Arc<Endpoint>,
    /// Who sends.
    pub caller: Caller,
    /// What they may see.
    pub view: View,
    /// The simulated time.
    pub now: Time,
    /// How a call is answered; `None` lets it run.
    pub answer: Option<fn(&Call) -> Outcome>,
    /// The modern request of the last POST that was one.
    pub exchange: Option<Script<Exchange>>,
    sessions: BTreeMap<SessionId, Script<Session>>,
    machines: u64,
}

impl Site {
    /// An endpoint without sessions so far, at the time 1,000,000, that answers calls by [`done`].
    #[must_use]
    pub fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            caller: Caller::anonymous(),
            view: fixture::view(),
            now: Time(1_000_000),
            answer: Some(done),
            exchange: None,
            sessions: BTreeMap::new(),
            machines: 0,
        }
    }

    /// Which machine a POST is for.
    ///
    /// # Errors
    ///
    /// If the body is no message.
    pub fn route(&self, body: &[u8], headers: &[(&str, &[u8])]) -> Result<Route, Unread> {
        let head = Head::read(headers.iter().copied());
        let message = wire::read(Bytes::copy_from_slice(body), self.endpoint.limits())?;
        Ok(route::post(&self.endpoint, &message, &head))
    }

    /// POSTs a message with those headers.
    pub fn post(&mut self, message: &Value, headers: &[(&str, &str)]) -> Sent {
        let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        self.post_bytes(message.to_string().as_bytes(), &headers)
    }

    /// POSTs a message with the headers that a right modern client would send.
    pub fn modern(&mut self, message: &Value) -> Sent {
        let headers = fixture::headers(message);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.post(message, &headers)
    }

    /// POSTs a body that may be no message.
    pub fn post_bytes(&mut self, body: &[u8], headers: &[(&str, &[u8])]) -> Sent {
        let head = Head::read(headers.iter().copied());
        let body = Bytes::copy_from_slice(body);
        let message = match wire::read(body.clone(), self.endpoint.limits()) {
            Ok(message) => message,
            Err(unread) => {
                let (reply, body) = route::unread(&unread);
                return whole(reply, &body, self.spoken(&head));
            }
        };
        match route::post(&self.endpoint, &message, &head) {
            Route::Modern => {
                let machine = Exchange::new(self.machine(), Arc::clone(&self.endpoint), self.now);
                let mut script = self.script(machine, Revision::MODERN);
                let sent = self.run(&mut script, body, &head);
                self.exchange = Some(script);
                sent
            }
            Route::Open => {
                self.machines += 1;
                let id = SessionId::new(u128::from(self.machines).to_be_bytes());
                let machine = Session::new(MachineId(self.machines), Arc::clone(&self.endpoint), id, self.now);
                let mut script = self.script(machine, Revision::NEWEST_LEGACY);
                let sent = self.run(&mut script, body, &head);
                if !script.closed {
                    self.sessions.insert(id, script);
                }
                sent
            }
            Route::Session(id) => self.in_session(id, &message, body, &head),
            Route::Sessionless(revision) => {
                let machine = Session::sessionless(self.machine(), Arc::clone(&self.endpoint), revision, self.now);
                let mut script = self.script(machine, revision);
                self.run(&mut script, body, &head)
            }
            Route::Reply(reply, body) => whole(reply, &body, self.spoken(&head)),
        }
    }

    /// Opens a session with a handshake in that revision, and `initialized`.
    ///
    /// # Panics
    ///
    /// If it is refused.
    pub fn open(&mut self, revision: Revision, capabilities: &Value) -> SessionId {
        let sent = self.post(&fixture::initialize(revision.as_str(), capabilities), &[]);
        let session = sent.reply.as_ref().and_then(|reply| reply.session).expect("a session was opened");
        assert_eq!(sent.one()["result"]["protocolVersion"], revision.as_str());
        assert_eq!(self.post(&fixture::initialized(), &[("mcp-session-id", &session.encode())]).status(), 202);
        session
    }

    /// The live session of that id.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn session(&mut self, id: SessionId) -> &mut Script<Session> {
        self.sessions.get_mut(&id).expect("the session lives")
    }

    /// GETs: listens, or resumes.
    pub fn get(&mut self, headers: &[(&str, &str)]) -> Sent {
        let head = Head::read(headers.iter().map(|(name, value)| (*name, value.as_bytes())));
        match route::get(&self.endpoint, &head) {
            Route::Session(id) => {
                let (now, caller) = (self.now, self.caller.clone());
                let Some(script) = self.sessions.get_mut(&id) else { return gone(None) };
                (script.now, script.caller) = (now, caller);
                script.attach(headers).1
            }
            Route::Reply(reply, body) => whole(reply, &body, self.spoken(&head)),
            other => panic!("a GET has no such route: {other:?}"),
        }
    }

    /// DELETEs: ends a session.
    pub fn delete(&mut self, headers: &[(&str, &str)]) -> Sent {
        let head = Head::read(headers.iter().map(|(name, value)| (*name, value.as_bytes())));
        match route::delete(&self.endpoint, &head) {
            Route::Session(id) => match self.sessions.get_mut(&id) {
                Some(script) if script.machine.belongs_to(&self.caller) => {
                    script.now = self.now;
                    script.close(Close::Peer);
                    self.sessions.remove(&id);
                    whole(Reply::DELETED, b"", Revision::NEWEST_LEGACY)
                }
                _ => gone(None),
            },
            Route::Reply(reply, body) => whole(reply, &body, self.spoken(&head)),
            other => panic!("a DELETE has no such route: {other:?}"),
        }
    }

    fn in_session(&mut self, id: SessionId, message: &Message, body: Bytes, head: &Head<'_>) -> Sent {
        let Some(mut script) = self.sessions.remove(&id) else { return gone(Some(message)) };
        (script.now, script.caller, script.view) = (self.now, self.caller.clone(), self.view.clone());
        let sent = self.run(&mut script, body, head);
        if !script.closed {
            self.sessions.insert(id, script);
        }
        sent
    }

    fn run<M: mcp_core::Machine>(&self, script: &mut Script<M>, body: Bytes, head: &Head<'_>) -> Sent {
        let mut sent = script.send_bytes(body, Some(head));
        let stream = script.expected().unwrap_or(StreamId::ONLY);
        if let Some(answer) = self.answer {
            while let Some((_, call)) = script.calls.front() {
                let outcome = answer(call);
                script.done(outcome);
            }
            let rest = script.sent(stream);
            sent.text.push_str(&rest.text);
            sent.messages.extend(rest.messages);
            (sent.reply, sent.ended) = (rest.reply, rest.ended);
        }
        sent
    }

    /// The revision that a request without a machine is of: what its header says, as far as that is served.
    fn spoken(&self, head: &Head<'_>) -> Revision {
        let said = head.version.as_str().and_then(Revision::parse).filter(|said| self.endpoint.serves(*said));
        said.unwrap_or(if self.endpoint.legacy() { Revision::NEWEST_LEGACY } else { Revision::MODERN })
    }

    fn script<M: mcp_core::Machine>(&self, machine: M, revision: Revision) -> Script<M> {
        let mut script = Script::new(machine).speaking(revision).of_a_server_that_is(self.endpoint.modern());
        (script.now, script.caller, script.view) = (self.now, self.caller.clone(), self.view.clone());
        script
    }

    fn machine(&mut self) -> MachineId {
        self.machines += 1;
        MachineId(self.machines)
    }
}

/// The text `done` from whatever has texts, an empty object from an extension.
#[must_use]
pub fn done(call: &Call) -> Outcome {
    Outcome::Complete(match call.kind {
        Kind::Resource { .. } => Answer::Resource(ResourceAnswer::new(vec![Contents::text("done")])),
        Kind::Prompt { .. } => {
            Answer::Prompt(PromptAnswer::new(vec![PromptMessage { role: Role::User, content: Content::text("done") }]))
        }
        Kind::Complete { .. } => Answer::Complete(Completion::new(vec!["done".into()])),
        Kind::Extension { .. } => Answer::Extension(Bytes::from_static(b"{}")),
        _ => Answer::Tool(ToolAnswer::text("done")),
    })
}

fn gone(message: Option<&Message>) -> Sent {
    let (reply, body) = route::unknown_session(message);
    whole(reply, &body, Revision::NEWEST_LEGACY)
}

/// An answer that is known whole, before there is a machine that speaks a revision.
fn whole(reply: Reply, body: &[u8], revision: Revision) -> Sent {
    let text = String::from_utf8(body.to_vec()).expect("everything that is sent is UTF-8");
    let messages = script::messages(Some(&reply), &text);
    for message in &messages {
        if revision == Revision::MODERN {
            crate::types::check(None, message);
        }
        crate::transcript::write(revision.as_str(), None, message);
    }
    Sent { reply: Some(reply), text, messages, ended: true }
}
