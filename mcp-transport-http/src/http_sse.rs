//! The HTTP+SSE transport of 2024-11-05, deprecated (HTTP-60, DEP-1): one stream down, one POST for each message up.
//!
//! ```text
//!   GET  /sse ─────────────────► 200 ◄─ event: endpoint   data: /messages?sessionId=…
//!                                    ◄─ event: message    data: {"jsonrpc":"2.0", ..}
//!   POST /messages?sessionId=… ─► 202           ▲
//!              │                                │ Reader: frames, breaks silences
//!              └──► Conversation: a Pipe behind a lock ◄──► Driver: a task that runs its calls
//! ```
//!
//! It is a byte stream in two halves, so its machine is that of a byte stream, and what a message means, and of which era it
//! is, is for the [`Pipe`](mcp_core::Pipe) to judge. All that it answers goes down the stream, its refusals too: the body of
//! a POST's answer carries none of the protocol (HTTP-61). A conversation lives as long as its stream.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, Uri};
use mcp_core::drive::Watcher;
use mcp_core::fault::Fault;
use mcp_core::{Caller, Catalog, Change, Close, Form, Input, Reply, SessionId, wire};

use crate::answer::{refuse, respond};
use crate::body::Body;
use crate::head::RequestHead;
use crate::service::new_id;
use crate::shared::Shared;
use crate::sync::lock;

mod conversation;
mod driver;
mod reader;

pub(crate) use conversation::Conversation;
use conversation::Taken;
use driver::Driver;
use reader::Reader;

/// The parameter of the URI that is POSTed to: as the official TypeScript servers name it, and the Python client reads it.
const SESSION: &str = "sessionId";

/// The two halves of the transport, and who speaks over it.
pub(crate) struct HttpSse {
    /// Without the slash at its end, as the other.
    stream: Box<str>,
    messages: Box<str>,
    /// One lock for all is held for a look-up. The transport is there for old clients, not for throughput.
    conversations: Mutex<HashMap<SessionId, Arc<Conversation>>>,
}

/// One of its two halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Stream,
    Messages,
}

impl HttpSse {
    pub(crate) fn new(stream: &str, messages: &str) -> Self {
        Self { stream: stream.into(), messages: messages.into(), conversations: Mutex::default() }
    }

    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    pub(crate) fn messages(&self) -> &str {
        &self.messages
    }

    /// What is at that path, which has no slash at its end.
    pub(crate) fn resource(&self, path: &str) -> Option<Resource> {
        match path {
            _ if path == &*self.stream => Some(Resource::Stream),
            _ if path == &*self.messages => Some(Resource::Messages),
            _ => None,
        }
    }

    /// How many conversations live.
    pub(crate) fn len(&self) -> usize {
        lock(&self.conversations).len()
    }

    /// The server goes down.
    pub(crate) fn close(&self, shared: &Shared) {
        for conversation in self.all() {
            conversation.handle(shared, Input::Close(Close::Shutdown), None);
        }
    }

    fn all(&self) -> Vec<Arc<Conversation>> {
        lock(&self.conversations).values().cloned().collect()
    }

    /// Takes a new conversation in, unless there are `most` already.
    fn admit(&self, id: SessionId, conversation: &Arc<Conversation>, most: usize) -> Result<(), Fault> {
        let mut conversations = lock(&self.conversations);
        if conversations.len() >= most {
            let message = "Too many streams: close one, or try again later";
            return Err(Fault::internal(message).with_status(503));
        }
        conversations.insert(id, Arc::clone(conversation));
        Ok(())
    }

    fn find(&self, uri: &Uri) -> Option<Arc<Conversation>> {
        let parameters = uri.query()?.split('&').filter_map(|parameter| parameter.split_once('='));
        let (_, id) = parameters.into_iter().find(|(name, _)| *name == SESSION)?;
        lock(&self.conversations).get(&SessionId::parse(id.as_bytes())?).cloned()
    }

    fn remove(&self, id: SessionId) {
        // Dropped after the lock is free.
        let _conversation = lock(&self.conversations).remove(&id);
    }
}

impl Watcher for HttpSse {
    fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        for conversation in self.all() {
            conversation.tell(Input::Changed { catalog: Arc::clone(catalog), what });
        }
    }

    fn updated(&self, uri: &str) {
        self.all().iter().for_each(|conversation| conversation.updated(uri));
    }
}

impl fmt::Debug for HttpSse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSse")
            .field("stream", &self.stream)
            .field("messages", &self.messages)
            .field("conversations", &self.len())
            .finish()
    }
}

/// Answers a request to the stream's path: a GET opens a conversation.
pub(crate) fn get(shared: &Arc<Shared>, head: &Parts, caller: Caller) -> Response<Body> {
    if head.method != Method::GET {
        return not_allowed("GET, OPTIONS");
    }
    match shared.config.http_sse.as_ref().map(|http_sse| open(shared, http_sse, caller)) {
        Some(Ok(reader)) => respond(&Reply::EVENTS, Body::stream(Box::new(reader))),
        Some(Err(fault)) => refuse(&fault),
        None => refuse(&unknown()),
    }
}

fn open(shared: &Arc<Shared>, http_sse: &HttpSse, caller: Caller) -> Result<Reader, Fault> {
    let id = new_id()?;
    let conversation = Conversation::new(id, caller, shared);
    http_sse.admit(id, &conversation, shared.endpoint().limits().sessions)?;
    shared.runtime.spawn(Box::pin(Driver::new(shared, &conversation)));
    let uri = format!("{}?{SESSION}={}", http_sse.messages, id.encode());
    let reader = Reader::new(shared, conversation, &uri);
    // The server may have told all others between the look at it and the entry in the table.
    if shared.is_closing() {
        return Err(Fault::shutting_down().with_status(503));
    }
    Ok(reader)
}

/// The conversation that a request to the messages' path is for, if it is a POST.
pub(crate) fn recipient(
    shared: &Shared,
    head: &Parts,
    caller: &Caller,
) -> Result<Arc<Conversation>, Box<Response<Body>>> {
    if head.method != Method::POST {
        return Err(Box::new(not_allowed("POST, OPTIONS")));
    }
    let found = shared.config.http_sse.as_ref().and_then(|http_sse| http_sse.find(&head.uri));
    // HTTP-21: for anyone else it does not exist.
    found.filter(|conversation| conversation.belongs_to(caller)).ok_or_else(|| Box::new(refuse(&unknown())))
}

/// Answers a POST, whose body has been read.
pub(crate) fn post(
    shared: &Arc<Shared>,
    conversation: &Conversation,
    head: Parts,
    caller: &Caller,
    body: Bytes,
) -> Response<Body> {
    let context = Arc::new(RequestHead::from(head));
    let view = shared.handler.view(caller);
    let input = match wire::read(body, shared.endpoint().limits()) {
        Ok(message) => Input::Message { message, head: None, from: caller, view: &view },
        Err(unread) => Input::Unread(unread),
    };
    match conversation.take(shared, input, &context) {
        Taken::Yes => respond(&Reply::ACCEPTED, Body::empty()),
        Taken::Full => refuse(&Fault::internal("The stream is full: read it, then send this again").with_status(503)),
        Taken::Refused(fault) => refuse(&fault),
        Taken::Ended => refuse(&unknown()),
    }
}

fn unknown() -> Fault {
    let message =
        "No such stream: it has ended, or never was. POST to the URI that the `endpoint` event of an open one gave";
    Fault::invalid_request(message).with_status(404)
}

fn not_allowed(methods: &'static str) -> Response<Body> {
    respond(&Reply { allow: Some(methods), ..Reply::new(405, Form::Empty) }, Body::empty())
}
