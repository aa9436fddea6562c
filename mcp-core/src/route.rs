//! Which machine an HTTP request is for: a pure function of its body and headers, so that modern traffic meets no lock.
//!
//! The body is primary, the version header second, the session third.
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
    let version = Version::of(head, endpoint);
    let routed = match message.shape() {
        Shape::Request => post_request(endpoint, message, head, version),
        Shape::Notification => post_notification(endpoint, message, head, version),
        Shape::Response => post_response(endpoint, head, version),
        Shape::Batch => post_batch(endpoint, head, version),
    };
    let answered = matches!(message.shape(), Shape::Request | Shape::Batch);
    match routed {
        Ok(Route::Reply(reply, body)) => Route::Reply(reply, body),
        // HTTP-5. A refusal is not held back by it: it is JSON whatever the client lists.
        Ok(_) if answered && !head.accept.json && !head.accept.events => {
            not_acceptable("`Accept` must list application/json or text/event-stream")
        }
        Ok(route) => route,
        Err(fault) => {
            let (reply, body) = refusal(message.id().filter(|_| message.shape() == Shape::Request), &fault);
            Route::Reply(reply, body)
        }
    }
}

/// Routes a GET: listen, or resume.
#[must_use]
pub fn get(endpoint: &Endpoint, head: &Head<'_>) -> Route {
    match session_only(endpoint, head) {
        Ok(_) if !head.accept.events => {
            not_acceptable("`Accept` must list text/event-stream: a GET is answered by a stream")
        }
        Ok(session) => Route::Session(session),
        Err(route) => route,
    }
}

/// Routes a DELETE: end the session.
#[must_use]
pub fn delete(endpoint: &Endpoint, head: &Head<'_>) -> Route {
    session_only(endpoint, head).map_or_else(|route| route, Route::Session)
}

/// The answer to any other verb: GET and DELETE exist where there are sessions (HTTP-41, HTTP-48).
#[must_use]
pub fn other(endpoint: &Endpoint) -> (Reply, Vec<u8>) {
    let allow = if endpoint.legacy() && endpoint.sessions() { VERBS } else { "POST, OPTIONS" };
    (Reply { allow: Some(allow), ..Reply::new(405, Form::Empty) }, Vec::new())
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

/// The answer where a stream cannot be read on after the event that was named (HTTP-29): a definite one, and not 404, which
/// would end the session at the client.
#[must_use]
pub fn not_resumable() -> (Reply, Vec<u8>) {
    let fault = Fault::invalid_request(
        "The stream cannot be resumed after this event: it was never sent, is no longer kept, or its stream has ended with \
         it. Send GET without `Last-Event-ID` to listen",
    );
    refusal(None, &fault)
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
    /// Not served, no date at all, or several that differ; [`post`] and the others refuse it where it matters.
    Unknown,
}

impl Version {
    fn of(head: &Head<'_>, endpoint: &Endpoint) -> Self {
        if head.version.is_absent() {
            return Self::Absent;
        }
        match head.version.as_str().and_then(Revision::parse) {
            Some(revision) if revision.era() == Era::Modern && endpoint.modern() => Self::Modern,
            Some(revision) if revision.era() == Era::Legacy && endpoint.serves(revision) => Self::Legacy(revision),
            _ => Self::Unknown,
        }
    }
}

fn post_request(endpoint: &Endpoint, message: &Message, head: &Head<'_>, version: Version) -> Result<Route, Fault> {
    let meta_version = message.meta_member(Meta::ProtocolVersion).is_some();
    if endpoint.modern() && (meta_version || version == Version::Modern) {
        return Ok(Route::Modern);
    }
    let opens = message.method() == "initialize";
    // The header of a handshake binds nobody, unless it says two things at once: the version is negotiated in the body.
    if version == Version::Unknown && (!opens || head.version == Field::Many) {
        return named_session(endpoint, head).and_then(|_| Err(unsupported(endpoint, head)));
    }
    if !endpoint.legacy() {
        return Err(modern_only(endpoint));
    }
    match (named_session(endpoint, head)?, version) {
        (Some(session), _) => Ok(Route::Session(session)),
        (None, _) if opens && endpoint.sessions() => Ok(Route::Open),
        (None, _) if opens => Ok(Route::Sessionless(endpoint.newest_legacy().unwrap_or(Revision::NEWEST_LEGACY))),
        (None, Version::Legacy(_)) if endpoint.sessions() => Err(no_session_id()),
        (None, Version::Legacy(revision)) => Ok(Route::Sessionless(revision)),
        (None, _) if endpoint.sessions() => Err(unopened(endpoint)),
        (None, _) => assumed(endpoint).map(Route::Sessionless).ok_or_else(|| unopened(endpoint)),
    }
}

fn post_notification(
    endpoint: &Endpoint,
    message: &Message,
    head: &Head<'_>,
    version: Version,
) -> Result<Route, Fault> {
    let modern = message.meta_member(Meta::ProtocolVersion).is_some() || version == Version::Modern;
    let session = named_session(endpoint, head)?;
    match session {
        // HTTP-49: nothing of modern is sent so; ids are not unique over clients, so nothing may act on it.
        None if endpoint.modern() && (modern || !endpoint.legacy()) => {}
        _ if version == Version::Unknown => return Err(unsupported(endpoint, head)),
        Some(session) => return Ok(Route::Session(session)),
        None if endpoint.sessions() => return Err(no_session_id()),
        None => {}
    }
    Ok(Route::Reply(Reply::ACCEPTED, Vec::new()))
}

/// BASE-24: a response belongs to a session that asked something.
fn post_response(endpoint: &Endpoint, head: &Head<'_>, version: Version) -> Result<Route, Fault> {
    let stray = || Fault::invalid_request("A response answers nothing here: no session asked anything");
    if version == Version::Modern {
        return Err(stray());
    }
    match named_session(endpoint, head)?.ok_or_else(stray)? {
        _ if version == Version::Unknown => Err(unsupported(endpoint, head)),
        session => Ok(Route::Session(session)),
    }
}

/// BATCH-4: arrays are for 2025-03-26 only; a session knows whether it is one.
fn post_batch(endpoint: &Endpoint, head: &Head<'_>, version: Version) -> Result<Route, Fault> {
    let batch = Revision::V2025_03_26;
    match version {
        _ if !endpoint.serves(batch) => Err(no_batch()),
        Version::Modern | Version::Unknown => Err(no_batch()),
        Version::Absent | Version::Legacy(_) if endpoint.sessions() => {
            named_session(endpoint, head)?.map(Route::Session).ok_or_else(no_batch)
        }
        Version::Absent | Version::Legacy(Revision::V2025_03_26) => Ok(Route::Sessionless(batch)),
        Version::Legacy(_) => Err(no_batch()),
    }
}

/// GET and DELETE are legacy, and concern a session (HTTP-25, HTTP-23, HTTP-48).
fn session_only(endpoint: &Endpoint, head: &Head<'_>) -> Result<SessionId, Route> {
    let version = Version::of(head, endpoint);
    if version == Version::Modern || !endpoint.legacy() || !endpoint.sessions() {
        let reply = Reply { allow: Some("POST"), ..Reply::new(405, Form::Empty) };
        return Err(Route::Reply(reply, Vec::new()));
    }
    let session = named_session(endpoint, head).and_then(|session| match session {
        _ if version == Version::Unknown => Err(unsupported(endpoint, head)),
        session => session.ok_or_else(no_session_id),
    });
    session.map_err(|fault| {
        let (reply, body) = refusal(None, &fault);
        Route::Reply(reply, body)
    })
}

/// The session that the header names, where there is a legacy era to have any. An id that cannot be one of ours names a
/// session that has ended, as far as its client is concerned (row 12); so does any id where no sessions are kept.
fn named_session(endpoint: &Endpoint, head: &Head<'_>) -> Result<Option<SessionId>, Fault> {
    match head.session {
        _ if !endpoint.legacy() => Ok(None),
        Field::Absent => Ok(None),
        Field::Many => Err(Fault::invalid_request("`Mcp-Session-Id` is there more than once")),
        Field::One(text) => SessionId::parse(text).filter(|_| endpoint.sessions()).map(Some).ok_or_else(no_session),
    }
}

/// Row 15: without a header, 2025-03-26 is assumed, or else 2024-11-05, which knows no header either. Row 16: newer clients
/// send one.
fn assumed(endpoint: &Endpoint) -> Option<Revision> {
    [Revision::V2025_03_26, Revision::V2024_11_05].into_iter().find(|revision| endpoint.serves(*revision))
}

fn not_acceptable(why: &'static str) -> Route {
    let fault = Fault::invalid_request(why).with_status(406);
    let (reply, body) = refusal(None, &fault);
    Route::Reply(reply, body)
}

/// Row 11: -32600 in a session, else -32602.
fn unsupported(endpoint: &Endpoint, head: &Head<'_>) -> Fault {
    let served = endpoint.supported_text();
    let code = match named_session(endpoint, head) {
        Ok(Some(_)) => Code::INVALID_REQUEST,
        _ => Code::INVALID_PARAMS,
    };
    let problem = match head.version {
        Field::Many => String::from("is there more than once, with different values"),
        version => alloc::format!("`{}` is not served", crate::fault::reflect(version.as_str().unwrap_or_default())),
    };
    let message = alloc::format!("`MCP-Protocol-Version` {problem}; versions served: {served}");
    Fault::new(code, message).with_status(400).with_data(endpoint.supported_data())
}

/// Row 13.
fn no_session_id() -> Fault {
    Fault::invalid_request("`Mcp-Session-Id` is missing: send the id that the answer to `initialize` carried")
}

/// Row 16: nothing says which era this is.
fn unopened(endpoint: &Endpoint) -> Fault {
    let legacy = if endpoint.sessions() {
        "send `initialize` first and then its `Mcp-Session-Id`"
    } else {
        "send `initialize` first and then `MCP-Protocol-Version` with each request"
    };
    let modern = if endpoint.modern() {
        ", or, for 2026-07-28, `params._meta[\"io.modelcontextprotocol/protocolVersion\"]` with the same in \
         `MCP-Protocol-Version`"
    } else {
        ""
    };
    let message =
        alloc::format!("The request opens nothing: {legacy}{modern}. Versions served: {}", endpoint.supported_text());
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
