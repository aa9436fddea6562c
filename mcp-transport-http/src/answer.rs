//! Answers of the machines and the router as HTTP responses.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use mcp_core::fault::Fault;
use mcp_core::{Reply, route};

use crate::body::Body;

/// `Mcp-Session-Id`.
pub(crate) const SESSION: HeaderName = HeaderName::from_static(mcp_core::headers::SESSION);

/// The response of that head and body.
pub(crate) fn respond(reply: &Reply, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    for (name, value) in reply.headers() {
        headers.insert(header_name(name), header_value(value));
    }
    if let Some(session) = reply.session {
        set(headers, SESSION, &session.encode());
    }
    if let Some(challenge) = &reply.challenge {
        set(headers, WWW_AUTHENTICATE, challenge);
    }
    if let Some(seconds) = reply.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// The response that is known at once.
pub(crate) fn whole((reply, bytes): (Reply, Vec<u8>)) -> Response<Body> {
    respond(&reply, Body::full(bytes))
}

/// The response that carries a fault of no request in particular: without an id.
pub(crate) fn refuse(fault: &Fault) -> Response<Body> {
    whole(route::refusal(None, fault))
}

/// A plain 404: the path is not this endpoint's, and the client is told nothing in its protocol (HTTP-1).
pub(crate) fn not_here() -> Response<Body> {
    let mut response = Response::new(Body::full(Bytes::from_static(b"Not found\n")));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Sets a header whose value the server made up itself; one that cannot be written is left out.
pub(crate) fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// The name of a header that the core knows. Those that it uses cost no look-up.
fn header_name(name: &'static str) -> HeaderName {
    match name {
        "content-type" => CONTENT_TYPE,
        "cache-control" => CACHE_CONTROL,
        "allow" => ALLOW,
        "retry-after" => RETRY_AFTER,
        other => HeaderName::from_static(other),
    }
}

/// The value of such a header. The usual one was checked when this was compiled.
fn header_value(value: &'static str) -> HeaderValue {
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    if value == "application/json" { JSON } else { HeaderValue::from_static(value) }
}
