//! The service: one HTTP request in, one response out.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use http_body::SizeHint;
use http_body_util::Full;
use mcp_core::drive::{Handler, Watcher};
use mcp_core::fault::{Fault, reflect};
use mcp_core::wire::{self, Message};
use mcp_core::{Caller, Catalog, Change, Close, Exchange, Head, Input, Reply, Session, SessionId, View, route};

use crate::answer::{not_here, refuse, respond, whole};
use crate::authenticate::{Authenticating, Pending, ask, guarded};
use crate::body::Body;
use crate::builder::{Builder, Place};
use crate::cors;
use crate::head::RequestHead;
#[cfg(feature = "sse")]
use crate::http_sse::{self, Conversation, Resource};
use crate::rejection::Rejection;
use crate::responding::Responding;
use crate::session::Cell;
use crate::sessions::Refusal;
use crate::shared::Shared;
use crate::solo::Solo;
use crate::source::Answered;
use crate::upload::Upload;

/// An MCP server as a service for HTTP requests. Cheap to clone; all clones are one server.
///
/// It is a [`tower_service::Service`] for any body, and so a route of axum, a service of hyper, or whatever else takes
/// one; [`McpService::handle`] needs no trait at all. `Server` serves it by itself (feature `tokio`).
#[derive(Clone, Debug)]
pub struct McpService {
    shared: Arc<Shared>,
}

/// What can be said before the body is read.
pub(crate) enum Received {
    /// It is still to be found out who asks for what is at that place.
    Authenticating(Pending, Place),
    /// The body is to be read.
    Post(Caller, Upload, Recipient),
    Answered(Answered),
}

/// Whom the message of a POST is for.
pub(crate) enum Recipient {
    /// The machine that the message itself and its headers name.
    Routed,
    /// The conversation that the URI names.
    #[cfg(feature = "sse")]
    Conversation(Arc<Conversation>),
}

impl McpService {
    /// A service to describe.
    pub fn builder(handler: impl Handler) -> Builder {
        Builder::new(handler)
    }

    pub(crate) const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Answers one request. Dropping the future, or later the body of the response, cancels a modern request (HTTP-46);
    /// what runs in a legacy session goes on (HTTP-28).
    pub fn handle<B>(&self, request: Request<B>) -> impl Future<Output = Response<Body>> + use<B>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let responding = self.respond(request);
        async move {
            let Ok(response) = responding.await;
            response
        }
    }

    /// The same for a host that has read the body itself. It should have counted the bytes as it did so: here the limit
    /// ([`Limits::body`](mcp_core::policy::Limits)) is met when all of them are there already.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use bytes::Bytes;
    /// # use mcp_transport_http::{Body, McpService};
    /// async fn answer(service: &McpService, request: http::Request<Bytes>) -> http::Response<Body> {
    ///     service.handle_bytes(request).await
    /// }
    /// ```
    pub fn handle_bytes(&self, request: Request<Bytes>) -> impl Future<Output = Response<Body>> + use<> {
        self.handle(request.map(Full::new))
    }

    /// Whether it answers to loopback names only.
    #[cfg(feature = "tokio")]
    pub(crate) fn is_local(&self) -> bool {
        self.shared.config.guard.is_local()
    }

    fn respond<B>(&self, request: Request<B>) -> Responding<B> {
        let (head, body) = request.into_parts();
        Responding::new(Arc::clone(&self.shared), head, body)
    }

    /// Tells every session, and everybody who listens, that the catalogue was swapped (TOOL-16, SUB-5). What is served is up
    /// to the handler. Needed for one that does not [take in](Handler::subscribe) who watches it: the service subscribes
    /// to its handler when it is built.
    pub fn changed(&self, catalog: &Arc<Catalog>, what: Change) {
        Watcher::changed(&*self.shared, catalog, what);
        #[cfg(feature = "sse")]
        if let Some(http_sse) = &self.shared.config.http_sse {
            http_sse.changed(catalog, what);
        }
    }

    /// Tells everybody who follows the resource of that URI, and may still see it, that what it holds has changed (RES-7,
    /// SUB-9). Needed as [`changed`](McpService::changed) is.
    pub fn updated(&self, uri: &str) {
        Watcher::updated(&*self.shared, uri);
        #[cfg(feature = "sse")]
        if let Some(http_sse) = &self.shared.config.http_sse {
            http_sse.updated(uri);
        }
    }

    /// How many modern clients listen for changes.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.shared.listens.len()
    }

    /// How many legacy sessions there are, conversations over HTTP+SSE and those that [sleep](McpService::sleeping) among them.
    #[must_use]
    pub fn sessions(&self) -> usize {
        let sessions = self.shared.sessions.len() + self.shared.node.as_ref().map_or(0, |node| node.len());
        #[cfg(feature = "sse")]
        let sessions = sessions + self.shared.config.http_sse.as_ref().map_or(0, |http_sse| http_sse.len());
        sessions
    }

    /// How many of the legacy sessions sleep: those that were quiet for
    /// [`Timing::hibernate_after`](mcp_core::policy::Timing). Their clients notice nothing of it.
    #[must_use]
    pub fn sleeping(&self) -> usize {
        self.shared.sessions.asleep()
    }

    /// Ends everything: new requests are refused with 503 from now on, who listens is told the end, calls that run have
    /// `grace` to end and are cancelled then, sessions and their streams end. Ready when all that was said; the connections
    /// may still have to carry it.
    ///
    /// To be awaited beside the graceful shutdown of whatever serves this service: an open stream ends by nothing else.
    pub async fn shutdown(&self, grace: Duration) {
        let shared = &self.shared;
        shared.begin_closing();
        shared.listens.close();
        let mut heard = 0;
        let mut grace = shared.runtime.sleep(grace);
        std::future::poll_fn(|cx| match shared.poll_calm(&mut heard, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => grace.as_mut().poll(cx),
        })
        .await;
        shared.parked.close();
        if let Some(node) = &shared.node {
            node.shut_down(shared).await;
        }
        shared.sessions.close(shared, |cell| cell.tell(shared, Input::Close(Close::Shutdown)));
        #[cfg(feature = "sse")]
        if let Some(http_sse) = &shared.config.http_sse {
            http_sse.close(shared);
        }
    }
}

impl<B> tower_service::Service<Request<B>> for McpService
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Responding<B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Responding<B> {
        self.respond(request)
    }
}

#[cfg(feature = "tokio")]
impl<B> hyper::service::Service<Request<B>> for McpService
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Responding<B>;

    fn call(&self, request: Request<B>) -> Responding<B> {
        self.respond(request)
    }
}

/// Checks who sends this, before anything else (VER-20, HTTP-2).
pub(crate) fn check(shared: &Shared, head: &Parts) -> Option<Response<Body>> {
    let fault = shared.config.guard.check(head).err()?;
    warn_of(head, &fault);
    Some(refuse(&fault))
}

/// Looks at the rest of the head, in the order of VER-20.
pub(crate) fn receive(shared: &Arc<Shared>, head: &Parts, size: &SizeHint, cx: &mut Context<'_>) -> Received {
    let config = &shared.config;
    let answer = |response| Received::Answered(Answered::Now(response));
    let Some(place) = config.place(head.uri.path()) else { return answer(not_here()) };
    if head.method == Method::OPTIONS {
        return answer(cors::preflight(head, config.cors));
    }
    let caller = match config.authenticator.as_deref().map(|authenticator| ask(authenticator, head)) {
        Some(Authenticating::Ready(Ok(caller))) => caller,
        Some(Authenticating::Ready(Err(rejection))) => return answer(reject(shared, rejection)),
        Some(Authenticating::Later(future)) => {
            return Received::Authenticating(Pending::new(future, config.authentication_time), place);
        }
        None => head.extensions.get().cloned().unwrap_or_else(Caller::anonymous),
    };
    admit(shared, head, size, caller, place, cx)
}

/// The answer to whoever is not let in.
pub(crate) fn reject(shared: &Shared, rejection: Rejection) -> Response<Body> {
    tracing::debug!(?rejection, "a request was not let in");
    rejection.into_response(shared.endpoint().resource_metadata())
}

/// Goes on where it is known who asks.
pub(crate) fn admit(
    shared: &Arc<Shared>,
    head: &Parts,
    size: &SizeHint,
    caller: Caller,
    place: Place,
    cx: &mut Context<'_>,
) -> Received {
    let answer = |response| Received::Answered(Answered::Now(response));
    if let Some(limiter) = &shared.config.limiter {
        match guarded(|| limiter.check(head, &caller)) {
            Ok(Ok(())) => {}
            Ok(Err(wait)) => return answer(reject(shared, Rejection::too_many(wait))),
            Err(rejection) => return answer(reject(shared, rejection)),
        }
    }
    shared.node.iter().for_each(|node| node.start(shared));
    if shared.is_closing() {
        return answer(refuse(&Fault::shutting_down().with_status(503)));
    }
    match place {
        Place::Endpoint if head.method == Method::POST => upload(shared, head, size, caller, Recipient::Routed),
        Place::Endpoint => Received::Answered(without_body(shared, head, &caller, cx)),
        #[cfg(feature = "sse")]
        Place::HttpSse(Resource::Stream) => answer(http_sse::get(shared, head, caller)),
        #[cfg(feature = "sse")]
        Place::HttpSse(Resource::Messages) => match http_sse::recipient(shared, head, &caller) {
            Ok(conversation) => upload(shared, head, size, caller, Recipient::Conversation(conversation)),
            Err(response) => answer(*response),
        },
    }
}

/// Looks what a POST says of its body.
fn upload(shared: &Shared, head: &Parts, size: &SizeHint, caller: Caller, recipient: Recipient) -> Received {
    let limit = shared.endpoint().limits().body;
    match Upload::admit(&head.headers, size, limit, shared.config.body_time) {
        Ok(upload) => Received::Post(caller, upload, recipient),
        Err(fault) => Received::Answered(Answered::Now(refuse(&fault))),
    }
}

/// Answers what is no POST.
fn without_body(shared: &Arc<Shared>, parts: &Parts, caller: &Caller, cx: &mut Context<'_>) -> Answered {
    let head = read_head(&parts.headers);
    let route = match parts.method {
        Method::GET => route::get(shared.endpoint(), &head),
        Method::DELETE => route::delete(shared.endpoint(), &head),
        _ => return Answered::Now(whole(route::other(shared.endpoint()))),
    };
    if let Some(node) = &shared.node {
        let context = Arc::new(RequestHead::from(parts.clone()));
        if let Some(answered) = node.answer(shared, &route, caller, &context, None, cx) {
            return answered;
        }
    }
    let id = match route {
        route::Route::Session(id) => id,
        route::Route::Reply(reply, body) => return Answered::Now(whole((reply, body))),
        route::Route::Modern | route::Route::Open | route::Route::Sessionless(_) => {
            return Answered::Now(whole(route::other(shared.endpoint())));
        }
    };
    if parts.method == Method::GET {
        let mut input = Some(Input::Attach { head: &head, from: caller });
        return match Cell::ask(shared, id, caller, &mut input, None, cx) {
            Ok(reader) => Answered::by(reader, cx),
            Err(refusal) => Answered::Now(refused(&refusal, None)),
        };
    }
    Answered::Now(match Cell::delete(shared, id, caller) {
        Ok(()) => respond(&Reply::DELETED, Body::empty()),
        Err(refusal) => refused(&refusal, None),
    })
}

/// Answers a POST, whose body has been read.
pub(crate) fn post(
    shared: &Arc<Shared>,
    parts: Parts,
    caller: &Caller,
    recipient: &Recipient,
    body: Bytes,
    cx: &mut Context<'_>,
) -> Answered {
    match recipient {
        Recipient::Routed => {}
        #[cfg(feature = "sse")]
        Recipient::Conversation(conversation) => {
            return Answered::Now(http_sse::post(shared, conversation, parts, caller, body));
        }
    }
    let endpoint = shared.endpoint();
    let message = match wire::read(body, endpoint.limits()) {
        Ok(message) => message,
        Err(unread) => return Answered::Now(whole(route::unread(&unread))),
    };
    let context = Arc::new(RequestHead::from(parts));
    let head = read_head(context.headers());
    let view = shared.handler.view(caller);
    let now = shared.now();
    let route = route::post(endpoint, &message, &head);
    if let Some(node) = &shared.node
        && let Some(answered) = node.answer(shared, &route, caller, &context, Some(&message), cx)
    {
        return answered;
    }
    match route {
        route::Route::Reply(reply, body) => Answered::Now(whole((reply, body))),
        route::Route::Modern => {
            let id = shared.machine_id();
            let machine = Exchange::new(id, Arc::clone(endpoint), now);
            let input = Input::Message { message, head: Some(&head), from: caller, view: &view };
            Answered::by(Solo::start(shared, id, now, machine, input, Arc::clone(&context)), cx)
        }
        route::Route::Sessionless(revision) => {
            let id = shared.machine_id();
            let machine = Session::sessionless(id, Arc::clone(endpoint), revision, now);
            let input = Input::Message { message, head: Some(&head), from: caller, view: &view };
            Answered::by(Solo::start(shared, id, now, machine, input, Arc::clone(&context)), cx)
        }
        route::Route::Session(id) => {
            let mut input = Some(Input::Message { message, head: Some(&head), from: caller, view: &view });
            match Cell::ask(shared, id, caller, &mut input, Some(&context), cx) {
                Ok(reader) => Answered::by(reader, cx),
                Err(refusal) => Answered::Now(refused(&refusal, input.as_ref())),
            }
        }
        route::Route::Open => match open(shared, caller, &view) {
            Ok(cell) => {
                let input = Input::Message { message, head: Some(&head), from: caller, view: &view };
                Answered::by(cell.open(shared, input, &context, cx), cx)
            }
            Err(fault) => Answered::Now(whole(route::refusal(message.id(), &fault))),
        },
    }
}

/// A new session, in the table.
fn open(shared: &Arc<Shared>, caller: &Caller, view: &View) -> Result<Arc<Cell>, Fault> {
    shared.sessions.open(shared, new_id()?, caller, view.catalog().generations())
}

/// The response to who asked for a session that cannot be had.
fn refused(refusal: &Refusal, input: Option<&Input<'_>>) -> Response<Body> {
    let message = match input {
        Some(Input::Message { message, .. }) => Some(message),
        _ => None,
    };
    whole(match refusal {
        Refusal::Unknown => route::unknown_session(message),
        Refusal::Full(fault) => route::refusal(message.and_then(Message::id), fault),
    })
}

/// An id that nobody can guess (HTTP-20).
pub(crate) fn new_id() -> Result<SessionId, Fault> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        tracing::error!(%error, "no random numbers: a session could not be opened");
        Fault::internal("No session can be opened now: try again later").with_status(503)
    })?;
    Ok(SessionId::new(random))
}

fn read_head(headers: &HeaderMap) -> Head<'_> {
    Head::read(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
}

/// HTTP-2: whoever runs the server should learn of a name that it is reached by, and of an attack.
fn warn_of(head: &Parts, fault: &Fault) {
    let text = |name| {
        let value = head.headers.get(name).map(http::HeaderValue::as_bytes).unwrap_or_default();
        reflect(&String::from_utf8_lossy(value))
    };
    let (host, origin) = (text(HOST), text(ORIGIN));
    tracing::warn!(status = fault.status(), host, origin, "{}", fault.message());
}
