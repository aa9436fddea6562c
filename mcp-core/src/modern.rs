//! The modern era: one request, judged by itself alone (VER-1, BASE-18), in the order of VER-20.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::ask;
use crate::caching::Caching;
use crate::calls::Admission;
use crate::catalog::{Listing, View};
use crate::endpoint::Endpoint;
use crate::fault::{Code, Fault};
use crate::headers::{self, Head};
use crate::legacy::Ready;
use crate::listen::Listen;
use crate::machine::{Kind, Level};
use crate::methods::{self, Method};
use crate::peer::{Caller, Capabilities, Peer, Revision};
use crate::settle;
use crate::time::Time;
use crate::unjudged::{Then, Unjudged};
use crate::wire::{self, Id, Message, Meta, write};

/// A request that passed every check.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Answered at once: a whole JSON-RPC response.
    Answer(Vec<u8>),
    /// To be run.
    Run(Admission),
    /// To be told of changes (SUB-1).
    Listen(Box<Listen>),
    /// A legacy conversation begins.
    Open(Box<Opening>),
    /// Whoever sent it is to be let in first; then that is done.
    Init(Admission, Box<Then>),
}

/// What was agreed on, and the answer that says so.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) ready: Ready,
    pub(crate) answer: Vec<u8>,
}

impl Step {
    /// The same, once who sent the request is let in.
    pub(crate) fn after_init(then: Then, court: &Court<'_>, peer: &Arc<Peer>, id: &Id) -> Self {
        let admission = Admission {
            id: id.clone(),
            peer: Arc::clone(peer),
            kind: Kind::Init,
            meta: kept(&court.message.meta_bytes()),
            token: None,
            level: None,
            resume: None,
            rounds: 0,
            hint: Caching::NONE,
            chosen: false,
            assigns: None,
        };
        Self::Init(admission, Box::new(then))
    }

    /// What is done now that who sent it is let in, with what is kept of it.
    pub(crate) fn with_assigns(self, assigns: Bytes) -> Self {
        match self {
            Self::Run(admission) => Self::Run(Admission { assigns: Some(assigns), ..admission }),
            Self::Open(mut opening) => {
                opening.ready.assigns = assigns;
                Self::Open(opening)
            }
            other => other,
        }
    }
}

/// Everything that a request is judged by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Court<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) message: &'a Message,
    /// Only over HTTP: a byte stream has no header to check (STDIO-5).
    pub(crate) head: Option<&'a Head<'a>>,
    pub(crate) from: &'a Caller,
    pub(crate) view: &'a View,
    pub(crate) now: Time,
}

/// Judges a modern request.
///
/// # Errors
///
/// The first fault in the order of VER-20.
pub(crate) fn admit(court: &Court<'_>, id: &Id) -> Result<Step, Fault> {
    let Court { endpoint, message, head, .. } = *court;
    let version = message.meta_str(Meta::ProtocolVersion).ok_or_else(|| missing_version(court))?;
    if let Some(head) = head {
        headers::check_version(head, &version)?;
    }
    if !endpoint.modern() || version != Revision::MODERN.as_str() {
        return Err(endpoint.unsupported_version(&version));
    }
    let peer = Arc::new(peer(message)?);
    let level = level(message)?;
    let token = token(message, endpoint)?;
    if let Some(head) = head {
        headers::check_method(head, message.method())?;
        // HDR-3: a task is named only to a server that has tasks; to any other its methods are unknown (A29).
        if !message.method().starts_with("tasks/") || endpoint.extension_of(message.method()).is_some() {
            headers::check_name(head, message)?;
        }
    }
    if message.method() == "server/discover" {
        return Ok(Step::Answer(answer(id, endpoint.discover_result())));
    }
    let init = endpoint.has_init().then(|| Arc::clone(&peer));
    let request = Requested { id, peer, token, level };
    if let Some(peer) = init.as_ref().filter(|_| court.view.is_by_rule()) {
        return Ok(Step::after_init(Then::Judge(Unjudged::modern(court, request)), court, peer, id));
    }
    let step = offered(court, request);
    match init {
        Some(peer) => Ok(Step::after_init(Then::Do(step), court, &peer, id)),
        None => step,
    }
}

/// What is asked of what the server offers.
pub(crate) fn offered(court: &Court<'_>, request: Requested<'_>) -> Result<Step, Fault> {
    let Court { endpoint, message, .. } = *court;
    match message.method() {
        // A19: also of a server on which nothing changes.
        "subscriptions/listen" => Ok(Step::Listen(Box::new(Listen::admit(court, request.id)?))),
        method => match (Method::of(method, endpoint), endpoint.extension_of(method)) {
            (Some(method), _) => run(court, method, request),
            (None, Some(extension)) => {
                let needs = Capabilities::none().with_extension(&extension.id, "{}");
                require(&request.peer.capabilities, &needs)?;
                let kind = Kind::Extension { method: method.into(), params: kept(&message.params_bytes()) };
                Ok(Step::Run(request.admission(message, kind)))
            }
            (None, None) => Err(unknown_method(endpoint, method)),
        },
    }
}

/// What is known of a request before its method is looked at.
pub(crate) struct Requested<'a> {
    pub(crate) id: &'a Id,
    pub(crate) peer: Arc<Peer>,
    pub(crate) token: Option<Id>,
    pub(crate) level: Option<Level>,
}

impl Requested<'_> {
    fn admission(self, message: &Message, kind: Kind) -> Admission {
        Admission {
            id: self.id.clone(),
            peer: self.peer,
            kind,
            meta: kept(&message.meta_bytes()),
            token: self.token,
            level: self.level,
            resume: None,
            rounds: 0,
            hint: Caching::NONE,
            chosen: false,
            assigns: None,
        }
    }
}

fn list(court: &Court<'_>, list: Listing, request: &Requested<'_>) -> Result<Step, Fault> {
    // What a client is shown by what it can do is nothing to be shown to all.
    let apart = list == Listing::Tools && court.endpoint.tells_pages_apart() && court.view.has_pages();
    let mut out = Vec::with_capacity(512);
    write::result_open(&mut out, request.id);
    out.extend_from_slice(b"{\"resultType\":\"complete\",");
    let caching = methods::write_page(&mut out, list, court, &request.peer)?;
    out.push(b',');
    caching.seen_by_one(apart || is_chosen(court)).write(&mut out);
    out.push(b',');
    out.extend_from_slice(court.endpoint.result_meta());
    out.extend_from_slice(b"}}");
    Ok(Step::Answer(out))
}

fn run(court: &Court<'_>, method: Method, request: Requested<'_>) -> Result<Step, Fault> {
    let Court { endpoint, message, head, from, .. } = *court;
    let (mut hint, mut scoped) = (Caching::NONE, false);
    let (kind, mirrors) = match method {
        Method::List(listed) => return list(court, listed, &request),
        Method::Tool => {
            // The tool is looked up early: what it needs of the client comes before its parameters in VER-20. An unknown
            // one is still reported after a missing name.
            let tool = methods::tool(court)?;
            require(&request.peer.capabilities, tool.needs())?;
            (methods::call_tool(court, tool)?, tool.mirrors())
        }
        Method::Resource => {
            let read = methods::read_resource(court).map_err(as_modern)?;
            (hint, scoped) = (read.hint, read.scoped);
            (read.kind, &[][..])
        }
        Method::Prompt => (methods::get_prompt(court)?, &[][..]),
        Method::Complete => match methods::complete(court)? {
            Some(kind) => return Ok(Step::Run(request.admission(message, kind))),
            None => return Ok(Step::Answer(settle::nothing_to_propose(request.id, Revision::MODERN, endpoint))),
        },
    };
    // MRTR-1: these three, and no other, may have asked.
    let retry = ask::resume(message, from, &kind, court.now, endpoint)?;
    if let (Some(head), Kind::Tool { arguments, .. }) = (head, &kind) {
        headers::check_params(head, mirrors, core::str::from_utf8(arguments).unwrap_or("{}"))?;
    }
    let mut admission = request.admission(message, kind);
    (admission.resume, admission.rounds) = (retry.resume, retry.rounds);
    admission.hint = hint;
    admission.chosen = scoped || is_chosen(court);
    Ok(Step::Run(admission))
}

/// Whether not everybody gets the same: of some things are hidden, others are not let in (CACHE-4).
fn is_chosen(court: &Court<'_>) -> bool {
    court.view.is_filtered() || court.endpoint.has_init()
}

/// ERR-2: the code of a resource that is not there is legacy's.
fn as_modern(fault: Fault) -> Fault {
    if fault.code() == Code::RESOURCE_NOT_FOUND { settle::recode(&fault, Code::INVALID_PARAMS) } else { fault }
}

/// A part of a message at its exact size: a call may run for hours, and a slice would pin the transport's read buffer for
/// as long (ARCHITECTURE, rule 2).
pub(crate) fn kept(part: &Bytes) -> Bytes {
    Bytes::copy_from_slice(part)
}

/// -32021 with what is missing, as an object (VER-6).
fn require(has: &Capabilities, needs: &Capabilities) -> Result<(), Fault> {
    match has.missing(needs) {
        None => Ok(()),
        Some(missing) => {
            let message = alloc::format!("Missing required client capability: {missing}");
            Err(Fault::new(Code::MISSING_CAPABILITY, message)
                .with_data(alloc::format!("{{\"requiredCapabilities\":{missing}}}")))
        }
    }
}

fn peer(message: &Message) -> Result<Peer, Fault> {
    let wrong =
        |what: &str| Fault::invalid_params(alloc::format!("`_meta[\"io.modelcontextprotocol/{what}")).with_status(400);
    let Some(declared) = message.meta_member(Meta::ClientCapabilities) else {
        return Err(wrong("clientCapabilities\"]` is missing: send an object, `{}` if there are none"));
    };
    let capabilities = wire::read_capabilities(declared)
        .map_err(|why| wrong(&alloc::format!("clientCapabilities\"]` is not valid: {why}")))?;
    let info = match message.meta_member(Meta::ClientInfo) {
        None => None,
        Some(info) => Some(
            wire::read_client_info(info).map_err(|why| wrong(&alloc::format!("clientInfo\"]` is not valid: {why}")))?,
        ),
    };
    Ok(Peer { revision: Revision::MODERN, capabilities, info })
}

/// LOG-4: an unknown level is refused even where no logs are sent, so that a client learns of its mistake.
fn level(message: &Message) -> Result<Option<Level>, Fault> {
    if message.meta_member(Meta::LogLevel).is_none() {
        return Ok(None);
    }
    match message.meta_str(Meta::LogLevel).as_deref().and_then(Level::parse) {
        Some(level) => Ok(Some(level)),
        None => Err(unknown_level("`_meta[\"io.modelcontextprotocol/logLevel\"]`").with_status(400)),
    }
}

/// The fault for a level that is none of the eight.
pub(crate) fn unknown_level(place: &str) -> Fault {
    let levels: Vec<&str> = Level::ALL.iter().map(|level| level.as_str()).collect();
    Fault::invalid_params(alloc::format!("{place} must be one of {}", levels.join(", ")))
}

/// The progress token of a request, in any era (PROG-1).
pub(crate) fn token(message: &Message, endpoint: &Endpoint) -> Result<Option<Id>, Fault> {
    match message.meta_member(Meta::ProgressToken) {
        None => Ok(None),
        Some(raw) => match Id::parse(raw, endpoint.limits().id) {
            Some(token) => Ok(Some(token)),
            None => {
                let message = "`_meta.progressToken` must be a string or an integer";
                Err(Fault::invalid_params(message).with_status(400))
            }
        },
    }
}

pub(crate) fn missing_version(court: &Court<'_>) -> Fault {
    let present = court.message.meta_member(Meta::ProtocolVersion).is_some();
    let problem = if present { "must be a string" } else { "is missing" };
    let message = alloc::format!(
        "`params._meta[\"io.modelcontextprotocol/protocolVersion\"]` {problem}: each request of 2026-07-28 carries it \
         and `io.modelcontextprotocol/clientCapabilities`. Older clients open with `initialize`. Versions served: {}",
        court.endpoint.supported_text()
    );
    Fault::invalid_params(message).with_status(400).with_data(court.endpoint.supported_data())
}

fn unknown_method(endpoint: &Endpoint, method: &str) -> Fault {
    if method == "initialize" {
        return no_handshake(endpoint);
    }
    Fault::method_not_found(method)
}

/// VER-7: a modern-only server is asked for a handshake.
pub(crate) fn no_handshake(endpoint: &Endpoint) -> Fault {
    let message = alloc::format!("initialize is not supported here; this server speaks {}", endpoint.supported_text());
    Fault::new(Code::METHOD_NOT_FOUND, message).with_data(endpoint.supported_data())
}

/// A whole response with a result that was encoded before.
pub(crate) fn answer(id: &Id, result: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + result.len());
    write::result_open(&mut out, id);
    out.extend_from_slice(result);
    out.push(b'}');
    out
}
