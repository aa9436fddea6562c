//! A request for a durable session: where it is answered.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use mcp_core::headers::{Field, Head};
use mcp_core::route::Route;
use mcp_core::wire::{Message, Shape};
use mcp_core::{Caller, Close, EventId, Fault, Input, Reply, Session, SessionId, route};

use super::cell::{Cell, Gone};
use super::conversations::Forwarded;
use super::frame::Verb;
use super::table::Found;
use super::{Backoff, Node, interrupted, unavailable};
use crate::answer::whole;
use crate::head::RequestHead;
use crate::run::Seats;
use crate::service::new_id;
use crate::shared::Shared;
use crate::source::{Answered, CHUNK, Source};
use crate::store::SessionKey;

/// What a client wants of a session.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) verb: Verb,
    pub(crate) session: SessionId,
    pub(crate) caller: Caller,
    pub(crate) head: Arc<RequestHead>,
    /// Of a POST.
    pub(crate) message: Option<Message>,
}

impl Request {
    pub(super) fn key(&self) -> SessionKey {
        SessionKey { session: self.session, principal: self.caller.principal.clone() }
    }

    fn refusal(&self, fault: &Fault) -> (Reply, Vec<u8>) {
        route::refusal(self.id(), fault)
    }

    fn unknown(&self) -> (Reply, Vec<u8>) {
        route::unknown_session(self.message.as_ref())
    }

    fn id(&self) -> Option<&mcp_core::wire::Id> {
        self.message.as_ref().filter(|message| message.shape() == Shape::Request).and_then(Message::id)
    }

    /// Whether it makes a call run, so that it is not sent again where nobody knows whether it did.
    fn runs(&self) -> bool {
        self.message.as_ref().is_some_and(|message| matches!(message.shape(), Shape::Request | Shape::Batch))
    }

    /// The event that a GET wants to go on after.
    fn after(&self) -> Option<EventId> {
        let head = read_head(self.head.headers());
        match (self.verb, head.last_event) {
            (Verb::Get, Field::One(_)) => head.last_event.as_str().and_then(EventId::parse),
            _ => None,
        }
    }
}

/// The answer to a request for a durable session, wherever it comes from.
pub(super) struct Asking {
    shared: Arc<Shared>,
    step: Step,
}

enum Step {
    Finding(Pin<Box<dyn Future<Output = Box<dyn Source>> + Send>>),
    Found(Box<dyn Source>),
}

impl Asking {
    /// A request for a session that there may be.
    pub(crate) fn of(shared: &Arc<Shared>, node: &Arc<Node>, request: Request) -> Self {
        let (shared, node) = (Arc::clone(shared), Arc::clone(node));
        let finding = Box::pin(find(Arc::clone(&shared), node, request));
        Self { shared, step: Step::Finding(finding) }
    }

    /// `initialize`.
    pub(crate) fn open(
        shared: &Arc<Shared>,
        node: &Arc<Node>,
        request: &Request,
        cx: &mut Context<'_>,
    ) -> Result<Self, Fault> {
        let machine =
            Session::new(shared.machine_id(), Arc::clone(shared.endpoint()), request.session, shared.now()).resumable();
        let cell = Cell::opened(node, shared, request.key(), machine);
        node.table.open(&cell)?;
        let source = hand_over(shared, &cell, request, cx).unwrap_or_else(|| said(shared, request.unknown()));
        Ok(Self { shared: Arc::clone(shared), step: Step::Found(source) })
    }
}

impl Node {
    /// Answers what concerns a session; `None` for everything else.
    pub(crate) fn answer(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        route: &Route,
        caller: &Caller,
        head: &Arc<RequestHead>,
        message: Option<&Message>,
        cx: &mut Context<'_>,
    ) -> Option<Answered> {
        let verb = match *head.method() {
            Method::GET => Verb::Get,
            Method::DELETE => Verb::Delete,
            _ => Verb::Post,
        };
        let request = |session| Request {
            verb,
            session,
            caller: caller.clone(),
            head: Arc::clone(head),
            message: message.cloned(),
        };
        let refused = |fault: &Fault| Answered::Now(whole(route::refusal(message.and_then(Message::id), fault)));
        match route {
            Route::Session(id) => Some(Answered::by(Asking::of(shared, self, request(*id)), cx)),
            Route::Open => Some(match new_id().and_then(|id| Asking::open(shared, self, &request(id), cx)) {
                Ok(asking) => Answered::by(asking, cx),
                Err(fault) => refused(&fault),
            }),
            Route::Modern | Route::Sessionless(_) | Route::Reply(..) => None,
        }
    }
}

impl Source for Asking {
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        loop {
            match &mut self.step {
                Step::Finding(finding) => self.step = Step::Found(std::task::ready!(finding.as_mut().poll(cx))),
                Step::Found(source) => return source.poll_open(cx),
            }
        }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match &mut self.step {
            Step::Finding(_) => Poll::Ready(None),
            Step::Found(source) => source.poll_bytes(cx),
        }
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        match &mut self.step {
            Step::Finding(_) => None,
            Step::Found(source) => source.whole(),
        }
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.shared.seats
    }
}

/// An answer that is known whole.
pub(super) struct Said {
    shared: Arc<Shared>,
    reply: Reply,
    body: Vec<u8>,
}

pub(super) fn said(shared: &Arc<Shared>, (reply, body): (Reply, Vec<u8>)) -> Box<dyn Source> {
    Box::new(Said { shared: Arc::clone(shared), reply, body })
}

impl Source for Said {
    fn poll_open(&mut self, _: &mut Context<'_>) -> Poll<Reply> {
        Poll::Ready(self.reply.clone())
    }

    fn poll_bytes(&mut self, _: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let body = std::mem::take(&mut self.body);
        Poll::Ready((!body.is_empty()).then(|| body.into()))
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.body))
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.shared.seats
    }
}

/// Finds who answers: this node, the one that holds the session, or nobody. A session whose node has died is waited for until
/// its lease is over, and taken over then.
async fn find(shared: Arc<Shared>, node: Arc<Node>, request: Request) -> Box<dyn Source> {
    let key = request.key();
    let begun = shared.now();
    let longest = super::span(node.cluster.lease * 2 + node.cluster.patience);
    let mut backoff = Backoff::new();
    let mut lost = false;
    loop {
        let wait = match node.find(&shared, &key).await {
            // The owner ended it, and died before it could say so.
            Found::Missing if lost && request.verb == Verb::Delete => {
                return said(&shared, (Reply::DELETED, Vec::new()));
            }
            Found::Missing => return said(&shared, request.unknown()),
            Found::Refused(fault) => return said(&shared, request.refusal(&fault)),
            Found::Here(cell) => match answer(&shared, &cell, &request).await {
                Ok(source) => return source,
                Err(Gone) => None,
            },
            Found::There(owner, left) => match node.forward(&shared, owner, &request).await {
                Forwarded::Answered(source) => return source,
                Forwarded::Full => return said(&shared, request.refusal(&Fault::busy())),
                // Nobody knows whether it ran.
                Forwarded::Lost if request.runs() => return said(&shared, request.refusal(&interrupted())),
                Forwarded::Lost => {
                    lost = true;
                    Some(left)
                }
                Forwarded::Dead => Some(left),
                Forwarded::NotMine => None,
            },
        };
        if shared.now().since(begun) >= longest {
            return said(&shared, request.refusal(&unavailable()));
        }
        match wait {
            // It may be let go sooner, but not renewed any more.
            Some(left) => shared.runtime.sleep(left.clamp(Duration::from_millis(1), node.cluster.lease / 4)).await,
            None => backoff.wait(&*shared.runtime).await,
        }
    }
}

/// Has a session of this node answer.
pub(super) async fn answer(shared: &Arc<Shared>, cell: &Arc<Cell>, request: &Request) -> Result<Box<dyn Source>, Gone> {
    match cell.admit(shared).await {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => return Ok(said(shared, request.refusal(&fault))),
        Err(Gone) => {
            within_patience(shared, cell, cell.gone()).await;
            return Err(Gone);
        }
    }
    if request.verb == Verb::Delete {
        return delete(shared, cell, request).await;
    }
    if let Some(after) = request.after()
        && let Some(refusal) = cannot_resume(shared, cell, request, after).await
    {
        return Ok(refusal);
    }
    let answered = poll_fn(|cx| Poll::Ready(hand_over(shared, cell, request, cx)));
    answered.await.ok_or(Gone)
}

/// Whether the log can go on after that event. Asked first, as the machine does not know.
async fn cannot_resume(
    shared: &Arc<Shared>,
    cell: &Arc<Cell>,
    request: &Request,
    after: EventId,
) -> Option<Box<dyn Source>> {
    let node = cell.node();
    match node.in_time(&Arc::downgrade(shared), node.log().after(cell.key(), after, CHUNK)).await {
        Ok(Some(_)) => None,
        Ok(None) => Some(said(shared, route::not_resumable())),
        Err(error) => {
            tracing::warn!(%error, "a stream could not be looked up in the log");
            Some(said(shared, request.refusal(&unavailable())))
        }
    }
}

/// Hands a message or a GET to a session. `None`: it has left.
fn hand_over(
    shared: &Arc<Shared>,
    cell: &Arc<Cell>,
    request: &Request,
    cx: &mut Context<'_>,
) -> Option<Box<dyn Source>> {
    let head = read_head(request.head.headers());
    let from = &request.caller;
    let view = shared.handler.view(from);
    let asked = match &request.message {
        Some(message) => {
            let input = Input::Message { message: message.clone(), head: Some(&head), from, view: &view };
            cell.ask(shared, input, Some(&request.head), cx)
        }
        None => cell.ask(shared, Input::Attach { head: &head, from }, None, cx),
    };
    asked.map(|local| Box::new(local) as Box<dyn Source>)
}

/// HTTP-23. Answered once the session is gone from the store.
async fn delete(shared: &Arc<Shared>, cell: &Arc<Cell>, request: &Request) -> Result<Box<dyn Source>, Gone> {
    let told = cell.tell(shared, Input::Close(Close::Peer));
    let gone = within_patience(shared, cell, cell.gone()).await;
    match (told, gone) {
        (false, _) => Err(Gone),
        (true, true) => Ok(said(shared, (Reply::DELETED, Vec::new()))),
        (true, false) => Ok(said(shared, request.refusal(&unavailable()))),
    }
}

/// Whether it came to its end in the time that a request waits.
async fn within_patience(shared: &Shared, cell: &Cell, what: impl Future<Output = ()>) -> bool {
    let mut limit = shared.runtime.sleep(cell.node().cluster.patience);
    let mut what = std::pin::pin!(what);
    poll_fn(|cx| match what.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => limit.as_mut().poll(cx).map(|()| false),
    })
    .await
}

pub(super) fn read_head(headers: &HeaderMap) -> Head<'_> {
    Head::read(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
}
