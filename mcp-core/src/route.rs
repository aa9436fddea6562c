//! Which machine an HTTP request is for: a pure function of its body and headers, so that modern traffic meets no lock.
//!
//! The tables of `spec.md` 2.4. The body is primary, the version header second, the session third.
//!
//! | body | `MCP-Protocol-Version` | session header | route |
//! |---|---|---|---|
//! | request with a meta-version, or any with a modern header | any | any | [`Route::Modern`], which checks the rest |
//! | `initialize` | legacy, absent or unknown | none | [`Route::Open`] |
//! | other | legacy or absent | one | [`Route::Session`] |
//! | other | legacy or absent | none | 400, or [`Route::Sessionless`] where there are no sessions |
//! | other | unknown | any | 400 |

use alloc::string::String;
use alloc::vec::Vec;

use crate::endpoint::Endpoint;
use crate::fault::{Code, Fault};
use crate::headers::{Field, Head};
use crate::peer::{Era, Revision};
use crate::reply::{Form, Reply};
use crate::roster::SessionId;
use crate::settle;
use crate::wire::{Id, Message, Meta, Shape, Unread};

/// Which machine a request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// A new [`Exchange`](crate::Exchange).
    Modern,
    /// A new [`Session`](crate::Session), under a new id.
    Open,
    /// The session of that id; [`unknown_session`] if there is none.
    Session(SessionId),
    /// A [`Session::sessionless`](crate::Session::sessionless) for this one request.
    Sessionless(Revision),
    /// None: answer this at once.
    Reply(Reply, Vec<u8>),
}

/// Routes a POST.
#[must_use]
pub fn post(endpoint: &Endpoint, message: &Message, head: &Head<'_>) -> Route {
    let version = match Version::of(head, endpoint) {
        Ok(version) => version,
        Err(fault) => return refuse_version(message, &fault),
    };
    if message.shape() == Shape::Request && !head.accept.json && !head.accept.events {
        return not_acceptable();
    }
    let routed = match message.shape() {
        Shape::Request => post_request(endpoint, message, head, version),
        Shape::Notification => post_notification(endpoint, message, head, version),
        Shape::Response => post_response(head, version),
        Shape::Batch => post_batch(endpoint, head, version),
    };
    routed.unwrap_or_else(|fault| {
        let (reply, body) = refusal(message.id().filter(|_| message.shape() == Shape::Request), &fault);
        Route::Reply(reply, body)
    })
}

/// Routes a GET: listen, or resume.
#[must_use]
pub fn get(endpoint: &Endpoint, head: &Head<'_>) -> Route {
    match session_only(endpoint, head) {
        Ok(_) if !head.accept.events => not_acceptable(),
        Ok(session) => Route::Session(session),
        Err(route) => route,
    }
}

/// Routes a DELETE: end the session.
#[must_use]
pub fn delete(endpoint: &Endpoint, head: &Head<'_>) -> Route {
    session_only(endpoint, head).map_or_else(|route| route, Route::Session)
}

/// The answer to any other verb.
#[must_use]
pub fn other() -> (Reply, Vec<u8>) {
    (Reply { status: 405, form: Form::Empty, session: None, allow: Some(VERBS) }, Vec::new())
}

/// The answer where there is no session of that id (HTTP-22), or none for this principal (HTTP-21).
#[must_use]
pub fn unknown_session(message: Option<&Message>) -> (Reply, Vec<u8>) {
    let id = message.filter(|message| message.shape() == Shape::Request).and_then(Message::id);
    refusal(id, &no_session())
}

/// The answer to what is no message.
#[must_use]
pub fn unread(unread: &Unread) -> (Reply, Vec<u8>) {
    refusal(unread.id.as_ref(), &unread.fault)
}

/// The answer that carries a fault.
#[must_use]
pub fn refusal(id: Option<&Id>, fault: &Fault) -> (Reply, Vec<u8>) {
    (Reply::refusal(fault), settle::error(id, fault))
}

pub(crate) fn no_session() -> Fault {
    Fault::invalid_request("Session not found: it has ended, or never was. Send `initialize` to open a new one")
        .with_status(404)
}

/// What the version header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Absent,
    Legacy(Revision),
    Modern,
    /// Neither; [`post`] and the others refuse it where it matters.
    Unknown,
}

impl Version {
    /// # Errors
    ///
    /// If the header is there more than once with different values.
    fn of(head: &Head<'_>, endpoint: &Endpoint) -> Result<Self, Fault> {
        match head.version {
            Field::Absent => Ok(Self::Absent),
            Field::Many => Err(bad_version(endpoint)),
            Field::One(_) => Ok(match head.version.as_str().and_then(Revision::parse) {
                Some(revision) if revision.era() == Era::Modern && endpoint.modern() => Self::Modern,
                Some(revision) if revision.era() == Era::Legacy && endpoint.serves(revision) => Self::Legacy(revision),
                _ => Self::Unknown,
            }),
        }
    }
}

fn post_request(endpoint: &Endpoint, message: &Message, head: &Head<'_>, version: Version) -> Result<Route, Fault> {
    let meta_version = message.meta_member(Meta::ProtocolVersion).is_some();
    if endpoint.modern() && (meta_version || version == Version::Modern) {
        return Ok(Route::Modern);
    }
    if !endpoint.legacy() {
        return Err(modern_only(endpoint));
    }
    let session = session(head)?;
    if message.method() == "initialize" {
        return Ok(match session {
            Some(session) => session,
            None if endpoint.sessions() => Route::Open,
            None => Route::Sessionless(endpoint.newest_legacy().unwrap_or(Revision::NEWEST_LEGACY)),
        });
    }
    if version == Version::Unknown {
        return Err(unsupported(endpoint, head));
    }
    match (session, version) {
        (Some(session), _) if endpoint.sessions() => Ok(session),
        (_, Version::Legacy(revision)) if !endpoint.sessions() => Ok(Route::Sessionless(revision)),
        (_, _) if !endpoint.sessions() => Ok(Route::Sessionless(assumed(endpoint))),
        (_, Version::Legacy(_)) => Err(no_session_id()),
        (_, _) => Err(unopened(endpoint)),
    }
}

fn post_notification(
    endpoint: &Endpoint,
    message: &Message,
    head: &Head<'_>,
    version: Version,
) -> Result<Route, Fault> {
    let modern = message.meta_member(Meta::ProtocolVersion).is_some() || version == Version::Modern;
    let session = if endpoint.sessions() && endpoint.legacy() { session(head)? } else { None };
    match session {
        Some(_) if version == Version::Unknown => Err(unsupported(endpoint, head)),
        Some(session) => Ok(session),
        // HTTP-49: nothing of modern is sent so; ids are not unique over clients, so nothing may act on it.
        None if modern && endpoint.modern() => Ok(Route::Reply(Reply::ACCEPTED, Vec::new())),
        None if endpoint.sessions() && endpoint.legacy() => Err(no_session_id()),
        None => Ok(Route::Reply(Reply::ACCEPTED, Vec::new())),
    }
}

/// BASE-24: a response belongs to a session that asked something.
fn post_response(head: &Head<'_>, version: Version) -> Result<Route, Fault> {
    let stray = || Fault::invalid_request("A response answers nothing here: no session asked anything");
    if version == Version::Modern {
        return Err(stray());
    }
    session(head)?.ok_or_else(stray)
}

/// BATCH-4: arrays are for 2025-03-26 only; a session knows whether it is one.
fn post_batch(endpoint: &Endpoint, head: &Head<'_>, version: Version) -> Result<Route, Fault> {
    let batch = Revision::V2025_03_26;
    let served = endpoint.serves(batch);
    match version {
        Version::Modern | Version::Unknown => Err(no_batch()),
        Version::Absent | Version::Legacy(_) if endpoint.sessions() => session(head)?.ok_or_else(no_batch),
        Version::Absent | Version::Legacy(Revision::V2025_03_26) if served => Ok(Route::Sessionless(batch)),
        Version::Absent | Version::Legacy(_) => Err(no_batch()),
    }
}

/// GET and DELETE are legacy, and concern a session (HTTP-25, HTTP-23, HTTP-48).
fn session_only(endpoint: &Endpoint, head: &Head<'_>) -> Result<SessionId, Route> {
    let refuse = |fault: &Fault| {
        let (reply, body) = refusal(None, fault);
        Route::Reply(reply, body)
    };
    let version = Version::of(head, endpoint).map_err(|fault| refuse(&fault))?;
    if version == Version::Modern || !endpoint.legacy() || !endpoint.sessions() {
        let reply = Reply { status: 405, form: Form::Empty, session: None, allow: Some("POST") };
        return Err(Route::Reply(reply, Vec::new()));
    }
    if version == Version::Unknown {
        return Err(refuse(&unsupported(endpoint, head)));
    }
    match session(head) {
        Ok(Some(Route::Session(session))) => Ok(session),
        Ok(_) => Err(refuse(&no_session_id())),
        Err(fault) => Err(refuse(&fault)),
    }
}

/// The session that the header names.
fn session(head: &Head<'_>) -> Result<Option<Route>, Fault> {
    match head.session {
        Field::Absent => Ok(None),
        Field::Many => Err(Fault::invalid_request("`Mcp-Session-Id` is there more than once")),
        Field::One(text) => SessionId::parse(text).map(Route::Session).map(Some).ok_or_else(no_session),
    }
}

/// Row 15: without a header, 2025-03-26 is assumed; where it is not served, the newest that is.
fn assumed(endpoint: &Endpoint) -> Revision {
    let assumed = Revision::V2025_03_26;
    if endpoint.serves(assumed) { assumed } else { endpoint.newest_legacy().unwrap_or(assumed) }
}

/// Two version headers that differ: to a modern request a mismatch (HDR-7), to any other an invalid request.
fn refuse_version(message: &Message, fault: &Fault) -> Route {
    let id = message.id().filter(|_| message.shape() == Shape::Request);
    let modern = message.meta_member(Meta::ProtocolVersion).is_some();
    let code = if modern { Code::HEADER_MISMATCH } else { fault.code() };
    let (reply, body) = refusal(id, &Fault::new(code, String::from(fault.message())));
    Route::Reply(reply, body)
}

fn not_acceptable() -> Route {
    let fault = Fault::invalid_request("`Accept` must list application/json or text/event-stream").with_status(406);
    let (reply, body) = refusal(None, &fault);
    Route::Reply(reply, body)
}

fn bad_version(endpoint: &Endpoint) -> Fault {
    let served = endpoint.supported_text();
    Fault::invalid_request(alloc::format!("`MCP-Protocol-Version` is there more than once; versions served: {served}"))
}

/// Row 11: -32600 in a session, else -32602.
fn unsupported(endpoint: &Endpoint, head: &Head<'_>) -> Fault {
    let served = endpoint.supported_text();
    let code = if head.session == Field::Absent { Code::INVALID_PARAMS } else { Code::INVALID_REQUEST };
    let sent = head.version.as_str().unwrap_or_default();
    let message = alloc::format!(
        "`MCP-Protocol-Version: {}` is not served; versions served: {served}",
        crate::fault::reflect(sent)
    );
    Fault::new(code, message).with_status(400).with_data(endpoint.supported_data())
}

/// Row 13.
fn no_session_id() -> Fault {
    Fault::invalid_request("`Mcp-Session-Id` is missing: send the id that the answer to `initialize` carried")
}

/// Row 16: nothing says which era this is.
fn unopened(endpoint: &Endpoint) -> Fault {
    let message = alloc::format!(
        "The request opens nothing: send `initialize` first and then its `Mcp-Session-Id`, or, for 2026-07-28, \
         `params._meta[\"io.modelcontextprotocol/protocolVersion\"]` with the same in `MCP-Protocol-Version`. \
         Versions served: {}",
        endpoint.supported_text()
    );
    Fault::invalid_params(message).with_status(400).with_data(endpoint.supported_data())
}

/// VER-7, A7: the headers are what is missing first; the text is for an old client's user.
fn modern_only(endpoint: &Endpoint) -> Fault {
    let message = alloc::format!(
        "`MCP-Protocol-Version` is missing or not served; this server speaks {} and no handshake",
        endpoint.supported_text()
    );
    Fault::new(Code::HEADER_MISMATCH, message).with_data(endpoint.supported_data())
}

pub(crate) fn no_batch() -> Fault {
    Fault::invalid_request("Batches exist in 2025-03-26 sessions only: send one message at a time")
}

const VERBS: &str = "POST, GET, DELETE, OPTIONS";
