//! Where an answer comes from, and how it becomes a response.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use mcp_core::{Call, Event, Form, Reply, Ticket};

use crate::answer::respond;
use crate::body::Body;
use crate::run::Seats;

/// The most bytes that a body hands on at once: 16 KiB, what hyper's buffers start with.
pub(crate) const CHUNK: usize = 16 << 10;

/// One stream of one machine.
pub(crate) trait Source: Send {
    /// Its status and shape.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Reply>;

    /// The next bytes, never empty; `None` at the end.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;

    /// All of its bytes, if it has ended already. Called before the first [`Source::poll_bytes`], if at all.
    fn whole(&mut self) -> Option<Vec<u8>>;

    /// Who counts what is handed out.
    fn seats(&self) -> &Arc<Seats>;
}

/// A response, or what it has to wait for.
pub(crate) enum Answered {
    Now(Response<Body>),
    Later(Box<dyn Source>),
}

impl Answered {
    /// Looks whether the stream is open already: what is answered at once is not boxed.
    pub(crate) fn by(mut source: impl Source + 'static, cx: &mut Context<'_>) -> Self {
        match source.poll_open(cx) {
            Poll::Pending => Self::Later(Box::new(source)),
            Poll::Ready(reply) => match source.whole() {
                Some(bytes) => Self::Now(respond(&reply, Body::full(source.seats().hand_out(bytes)))),
                None => Self::Now(respond(&reply, Body::stream(Box::new(source)))),
            },
        }
    }
}

/// The response of a stream that has opened.
pub(crate) fn open(reply: &Reply, mut source: Box<dyn Source>) -> Response<Body> {
    match source.whole() {
        Some(bytes) => respond(reply, Body::full(source.seats().hand_out(bytes))),
        None => respond(reply, Body::stream(source)),
    }
}

/// What a stream opens with whose machine closed before it did.
pub(crate) const UNOPENED: Reply = Reply::new(503, Form::Empty);

/// The calls that a machine asked for, in order. One is the usual number and costs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    first: Option<(Ticket, Box<Call>)>,
    rest: VecDeque<(Ticket, Box<Call>)>,
}

impl Calls {
    pub(crate) fn push(&mut self, ticket: Ticket, call: Box<Call>) {
        if self.is_empty() {
            self.first = Some((ticket, call));
        } else {
            self.rest.push_back((ticket, call));
        }
    }

    pub(crate) fn pop(&mut self) -> Option<(Ticket, Box<Call>)> {
        self.first.take().or_else(|| self.rest.pop_front())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.rest.is_empty()
    }
}

/// Tells the log what a machine reports.
pub(crate) fn log(event: &Event) {
    match event {
        Event::LogsDropped(all) => tracing::warn!(all, "log messages for a client were dropped: it reads too slowly"),
        Event::TimedOut(call) => tracing::warn!(call = call.0, "a call ran for longer than it may and was given up"),
        Event::MetaDropped(call, keys) => tracing::warn!(
            call = call.0,
            ?keys,
            "keys of `_meta` were left out of an answer: use a prefix of a domain of your own, such as `com.example/`"
        ),
        Event::Opened(revision) => tracing::debug!(%revision, "a session was opened"),
        Event::Refused(fault) => tracing::debug!(%fault, "a request was refused"),
        Event::Expired => tracing::debug!("a session was idle for too long and has ended"),
        other => tracing::trace!(event = ?other),
    }
}
