//! The same request in any revision, over a byte stream and over HTTP.

use std::sync::Arc;

use mcp_core::{Endpoint, MachineId, Outcome, Pipe, Revision, SessionId, Time};
use serde_json::Value;

use crate::{Script, Sent, Site, fixture};

/// A client that speaks one revision over a byte stream.
#[derive(Debug)]
pub struct Talk {
    /// What it sends and gets.
    pub script: Script<Pipe>,
    /// Its revision.
    pub revision: Revision,
    capabilities: Value,
    last: u64,
}

impl Talk {
    /// A client of [`fixture::endpoint`], past its handshake if its revision has one.
    #[must_use]
    pub fn new(revision: Revision, capabilities: &Value) -> Self {
        Self::with(fixture::endpoint(), revision, capabilities)
    }

    /// A client of that endpoint.
    #[must_use]
    pub fn with(endpoint: Arc<Endpoint>, revision: Revision, capabilities: &Value) -> Self {
        let mut script = Script::new(Pipe::new(MachineId(1), endpoint, Time(1_000_000)));
        if revision != Revision::MODERN {
            script.open(revision, capabilities);
        }
        Self { script, revision, capabilities: capabilities.clone(), last: 0 }
    }

    /// Sends a request with an id of its own, and returns what came back so far.
    pub fn ask(&mut self, method: &str, params: &Value) -> Sent {
        self.last += 1;
        self.script.send(&request(self.revision, self.last, method, params, &self.capabilities))
    }

    /// The same, of a method that is answered at once: its result.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn result(&mut self, method: &str, params: &Value) -> Value {
        let sent = self.ask(method, params);
        assert!(sent.one()["result"].is_object(), "{}", sent.text);
        sent.one()["result"].clone()
    }

    /// The same, of a method that is run, and ends so: its answer.
    ///
    /// # Panics
    ///
    /// If it is not run, or not answered.
    pub fn run(&mut self, method: &str, params: &Value, outcome: Outcome) -> Value {
        let sent = self.ask(method, params);
        assert_eq!(sent.text, "", "it is to be run");
        self.script.done(outcome);
        self.script.received().one().clone()
    }
}

/// A client that speaks one revision over HTTP; in a legacy one it has a session.
#[derive(Debug)]
pub struct Web {
    /// The server.
    pub site: Site,
    /// Its revision.
    pub revision: Revision,
    session: Option<SessionId>,
    capabilities: Value,
    last: u64,
}

impl Web {
    /// A client of [`fixture::endpoint`], past its handshake if its revision has one.
    #[must_use]
    pub fn new(revision: Revision, capabilities: &Value) -> Self {
        Self::with(fixture::endpoint(), revision, capabilities)
    }

    /// A client of that endpoint.
    #[must_use]
    pub fn with(endpoint: Arc<Endpoint>, revision: Revision, capabilities: &Value) -> Self {
        Self::of(Site::new(endpoint), revision, capabilities)
    }

    /// A client of that site, which says who it is.
    #[must_use]
    pub fn of(mut site: Site, revision: Revision, capabilities: &Value) -> Self {
        let session = (revision != Revision::MODERN).then(|| site.open(revision, capabilities));
        Self { site, revision, session, capabilities: capabilities.clone(), last: 0 }
    }

    /// POSTs a request with an id of its own and right headers.
    pub fn ask(&mut self, method: &str, params: &Value) -> Sent {
        self.last += 1;
        let message = request(self.revision, self.last, method, params, &self.capabilities);
        match self.session {
            None => self.site.modern(&message),
            Some(session) => self.site.post(&message, &[("mcp-session-id", &session.encode())]),
        }
    }
}

fn request(revision: Revision, id: u64, method: &str, params: &Value, capabilities: &Value) -> Value {
    match revision {
        Revision::MODERN => fixture::modern(id, method, params, capabilities),
        _ => fixture::request(id, method, params),
    }
}
