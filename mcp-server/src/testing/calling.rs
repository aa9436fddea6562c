//! A request from before it is sent until it is answered.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use mcp_core::Level;
use serde_json::Value;

use super::answer::Answer;
use super::client::Client;
use super::outgoing::Outgoing;

/// A call that was [started](Calling::start): the right to its answer.
#[derive(Debug)]
#[must_use = "the answer of a call is had with `Client::finish`"]
pub struct Call {
    /// Of which client.
    pub(super) client: u64,
    pub(super) id: u64,
    pub(super) asked: Box<str>,
    pub(super) place: &'static Location<'static>,
}

impl Call {
    /// The id of its request, which is also the token of its progress.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.id
    }
}

/// A request that is about to be sent: await it for the [`Answer`], or [`start`](Calling::start) it.
#[must_use = "a request is not sent before it is awaited or started"]
pub struct Calling<'c>(State<'c>);

enum State<'c> {
    Unsent { client: &'c mut Client, outgoing: Outgoing, place: &'static Location<'static> },
    Sent(Pin<Box<dyn Future<Output = Answer> + Send + 'c>>),
    Ended,
}

impl<'c> Calling<'c> {
    pub(super) const fn new(client: &'c mut Client, outgoing: Outgoing, place: &'static Location<'static>) -> Self {
        Self(State::Unsent { client, outgoing, place })
    }

    /// Sends it, and lets it run as far as it goes without waiting. It goes on whenever the client is awaited.
    ///
    /// # Panics
    ///
    /// If it was awaited already.
    #[track_caller]
    pub fn start(self) -> Call {
        let State::Unsent { client, outgoing, place } = self.0 else { panic!("the request was sent already") };
        client.send(outgoing, place)
    }

    /// Adds a member to its `_meta`.
    pub fn meta(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.with(|outgoing| drop(outgoing.meta.insert(key.into(), value.into())))
    }

    /// Says what is known of the other arguments, where one is completed: an object of texts (COMP-1).
    pub fn context(self, arguments: impl Into<Value>) -> Self {
        let context = Value::from_iter([("arguments", arguments.into())]);
        self.with(|outgoing| outgoing.param("context", &context))
    }

    /// Does not ask for progress. What runs code of the server's does.
    pub fn without_progress(self) -> Self {
        self.with(|outgoing| outgoing.progress = false)
    }

    /// Asks for log messages from that level on, for this request alone: 2026-07-28 only, the others have
    /// [`Client::log_level`].
    pub fn log_level(self, level: Level) -> Self {
        self.with(|outgoing| outgoing.level = Some(level))
    }

    fn with(mut self, change: impl FnOnce(&mut Outgoing)) -> Self {
        if let State::Unsent { outgoing, .. } = &mut self.0 {
            change(outgoing);
        }
        self
    }
}

impl Future for Calling<'_> {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        self.0 = match std::mem::replace(&mut self.0, State::Ended) {
            State::Unsent { client, outgoing, place } => {
                let call = client.send(outgoing, place);
                State::Sent(Box::pin(client.answer(call)))
            }
            other => other,
        };
        let State::Sent(answer) = &mut self.0 else { panic!("polled after it was answered") };
        let answer = ready!(answer.as_mut().poll(cx));
        self.0 = State::Ended;
        Poll::Ready(answer)
    }
}

impl fmt::Debug for Calling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            State::Unsent { outgoing, .. } => f.debug_tuple("Calling").field(outgoing).finish(),
            State::Sent(_) | State::Ended => f.write_str("Calling(..)"),
        }
    }
}

impl Client {
    fn send(&mut self, outgoing: Outgoing, place: &'static Location<'static>) -> Call {
        let asked = outgoing.asked().into();
        Call { client: self.inbox.client, id: self.inbox.ask(&mut self.driver, outgoing), asked, place }
    }

    pub(super) async fn answer(&mut self, call: Call) -> Answer {
        let Self { driver, inbox, .. } = self;
        let found = driver.until(|driver| {
            inbox.sort(driver);
            inbox.answers.remove(&call.id)
        });
        let found = found.await;
        found.unwrap_or_else(|| self.stand(&format!("the answer to {}, asked", call.asked), call.place))
    }
}
