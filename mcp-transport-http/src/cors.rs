//! Cross-origin requests: what a browser is told about them (HTTP-13).
//!
//! Off by default: a preflight is answered, but allows nothing. Where it is on, it is on for the origins that the
//! [guard](crate::guard) lets through, which has looked at each request before.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use mcp_core::headers::PARAM_PREFIX;

use crate::answer::set;
use crate::body::Body;

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE, OPTIONS");
const HEADERS: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Session-Id, Last-Event-ID, \
                       Mcp-Method, Mcp-Name";
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After");
/// How long a browser may remember the answer to a preflight: 1 h, so that a changed allow-list is seen the same day.
/// Browsers cap it at 2 h or more.
const MAX_AGE: HeaderValue = HeaderValue::from_static("3600");
/// The most `Mcp-Param-*` names that a preflight may ask for: 64, far over what a tool has parameters.
const PARAMS: usize = 64;

/// Answers an OPTIONS request.
pub(crate) fn preflight(head: &Parts, enabled: bool) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, METHODS);
    if enabled && head.headers.contains_key(ORIGIN) {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        set(headers, ACCESS_CONTROL_ALLOW_HEADERS, &allowed(&head.headers));
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    }
    response
}

/// Lets the page of that origin read the response.
pub(crate) fn expose(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// The request headers that may be sent. `Authorization` is not covered by `*`, and `Mcp-Param-` has no wildcard at
/// all: those that are asked for are enumerated.
fn allowed(asked: &HeaderMap) -> String {
    let mut list = String::from(HEADERS);
    let names = asked.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|value| value.to_str().ok());
    let is_param = |name: &&str| {
        name.get(..PARAM_PREFIX.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM_PREFIX))
            && http::HeaderName::from_bytes(name.as_bytes()).is_ok()
    };
    for name in names.flat_map(|value| value.split(',')).map(str::trim).filter(is_param).take(PARAMS) {
        list.push_str(", ");
        list.push_str(name);
    }
    list
}
