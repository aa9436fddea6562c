//! What is said to whoever is not let in.

use std::fmt;
use std::time::Duration;

use http::Response;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use mcp_core::fault::{Code, Fault, reflect};
use mcp_core::{Challenge, Scopes, Span};

use crate::answer::{refuse, set};
use crate::body::Body;
use crate::limit::wait;

/// The answer to a request that is not served: status, challenge, and a small body without an id (AUTH-4).
///
/// The reasons that it is given are sent to the client, without quotes, control characters and letters beyond ASCII: they
/// must not say more than anybody may know.
///
/// ```
/// use mcp_transport_http::Rejection;
///
/// # let _ =
/// Rejection::unauthorized().scope("notes:read notes:write")
/// # ;
/// // HTTP/1.1 401 Unauthorized
/// // WWW-Authenticate: Bearer scope="notes:read notes:write"
/// ```
pub struct Rejection(Box<Kind>);

enum Kind {
    Refusal(Refusal),
    Response(Response<Body>),
}

struct Refusal {
    fault: Fault,
    /// Of RFC 6750.
    error: Option<&'static str>,
    description: Option<String>,
    realm: Option<String>,
    scope: Scopes,
    retry_after: Option<Span>,
}

impl Rejection {
    /// 401: there is no token. With a challenge, but without an error: the client did nothing wrong yet.
    #[must_use]
    pub fn unauthorized() -> Self {
        let message = "Authentication is required: send `Authorization: Bearer <token>`";
        Self::new(Fault::new(code(401), message).with_status(401))
    }

    /// 401 with `error="invalid_token"`: the token is unknown, expired, revoked, or not for this server.
    #[must_use]
    pub fn invalid_token(why: &str) -> Self {
        let fault = Fault::new(code(401), format!("The token is not valid: {}", reflect(why))).with_status(401);
        Self::with_error(fault, "invalid_token", why)
    }

    /// 400 with `error="invalid_request"`: what was sent to authenticate is not well-formed.
    #[must_use]
    pub fn malformed(why: &str) -> Self {
        let fault = Fault::invalid_request(format!("Malformed authorization: {}", reflect(why)));
        Self::with_error(fault, "invalid_request", why)
    }

    /// 403: it is known who asks, and they may not. With a [scope](Rejection::scope), which would let them, the challenge is
    /// `error="insufficient_scope"` (AUTH-6); without one there is none, since no token would help.
    #[must_use]
    pub fn forbidden(why: &str) -> Self {
        let mut rejection = Self::new(Fault::new(code(403), reflect(why)).with_status(403));
        rejection.change(|refusal| refusal.description = Some(why.into()));
        rejection
    }

    /// 503: it cannot be found out now who asks. The client may try again after 1 s, or [other](Rejection::retry_after).
    #[must_use]
    pub fn unavailable() -> Self {
        let message = "Who asks cannot be found out now: try again later";
        Self::new(Fault::internal(message).with_status(503))
    }

    /// That response, as it is.
    #[must_use]
    pub fn response(response: Response<Body>) -> Self {
        Self(Box::new(Kind::Response(response)))
    }

    /// The scopes to ask for, separated by spaces: those that this request needs, no more (AUTH-5). The client is not told of those
    /// that a [challenge](Challenge) never names: wildcards (SEC-4) and `offline_access` (AUTH-8).
    #[must_use]
    pub fn scope(mut self, scopes: &str) -> Self {
        self.change(|refusal| refusal.scope = Scopes::parse(scopes));
        self
    }

    /// What the token is for, in the words of the host.
    #[must_use]
    pub fn realm(mut self, realm: &str) -> Self {
        self.change(|refusal| refusal.realm = Some(realm.into()));
        self
    }

    /// When to try again: whole seconds, rounded up.
    #[must_use]
    pub fn retry_after(mut self, span: Duration) -> Self {
        self.change(|refusal| refusal.retry_after = Some(wait(span)));
        self
    }

    /// 500: the code that should have decided panicked.
    pub(crate) fn failed() -> Self {
        Self::new(Fault::internal("Internal error: the request was not let in").with_status(500))
    }

    /// 429: the client has to wait for that long.
    pub(crate) fn too_many(span: Duration) -> Self {
        Self::new(Fault::too_many(wait(span)))
    }

    fn empty(fault: Fault) -> Refusal {
        Refusal { fault, error: None, description: None, realm: None, scope: Scopes::default(), retry_after: None }
    }

    fn new(fault: Fault) -> Self {
        Self(Box::new(Kind::Refusal(Self::empty(fault))))
    }

    fn with_error(fault: Fault, error: &'static str, why: &str) -> Self {
        let refusal = Refusal { error: Some(error), description: Some(why.into()), ..Self::empty(fault) };
        Self(Box::new(Kind::Refusal(refusal)))
    }

    fn change(&mut self, change: impl FnOnce(&mut Refusal)) {
        if let Kind::Refusal(refusal) = &mut *self.0 {
            change(refusal);
        }
    }

    /// The response, which names the metadata document of this server, if there is one (AUTH-3).
    pub(crate) fn into_response(self, metadata: Option<&str>) -> Response<Body> {
        let refusal = match *self.0 {
            Kind::Refusal(refusal) => refusal,
            Kind::Response(response) => return response,
        };
        let mut response = refuse(&refusal.fault);
        if let Some(challenge) = refusal.challenge(metadata) {
            set(response.headers_mut(), WWW_AUTHENTICATE, &challenge);
        }
        if let Some(span) = refusal.retry_after {
            response.headers_mut().insert(RETRY_AFTER, span.retry_after().into());
        }
        response
    }
}

impl Refusal {
    fn challenge(&self, metadata: Option<&str>) -> Option<String> {
        let error = match self.fault.status() {
            400 | 401 => self.error,
            403 if !self.scope.is_empty() => Some("insufficient_scope"),
            _ => return None,
        };
        let challenge = Challenge {
            realm: self.realm.as_deref(),
            error,
            scope: Some(&self.scope),
            resource_metadata: metadata,
            error_description: self.description.as_deref(),
        };
        Some(challenge.to_string())
    }
}

impl From<Response<Body>> for Rejection {
    fn from(response: Response<Body>) -> Self {
        Self::response(response)
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Refusal(Refusal { fault, error, scope, .. }) => {
                f.debug_struct("Rejection").field("fault", fault).field("error", error).field("scope", scope).finish()
            }
            Kind::Response(response) => {
                f.debug_struct("Rejection").field("status", &response.status()).finish_non_exhaustive()
            }
        }
    }
}

const fn code(status: i64) -> Code {
    match Code::application(status) {
        Some(code) => code,
        None => Code::INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(rejection: Rejection, metadata: Option<&str>) -> (u16, Option<String>) {
        let response = rejection.into_response(metadata);
        let header = response.headers().get(WWW_AUTHENTICATE);
        (response.status().as_u16(), header.map(|header| header.to_str().unwrap().to_owned()))
    }

    #[test]
    fn challenges_are_those_of_rfc_6750_auth_4_auth_5() {
        let url = Some("https://mcp.example.com/.well-known/oauth-protected-resource/mcp");
        let said = |status, text: &str| (status, Some(text.to_owned()));
        assert_eq!(challenge(Rejection::unauthorized(), None), said(401, r#"Bearer realm="mcp""#));
        let asked = Rejection::unauthorized().realm("notes").scope("  a   b ");
        let text = r#"Bearer realm="notes", scope="a b", resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp""#;
        assert_eq!(challenge(asked, url), said(401, text));
        let expired = Rejection::invalid_token("it has expired");
        assert_eq!(
            challenge(expired, None),
            said(401, r#"Bearer error="invalid_token", error_description="it has expired""#)
        );
        let garbage = Rejection::malformed("no token");
        assert_eq!(
            challenge(garbage, None),
            said(400, r#"Bearer error="invalid_request", error_description="no token""#)
        );
        assert_eq!(challenge(Rejection::forbidden("blocked"), url), (403, None));
        let narrow = Rejection::forbidden("too little").scope("a");
        let text = r#"Bearer error="insufficient_scope", scope="a", error_description="too little""#;
        assert_eq!(challenge(narrow, None), said(403, text));
        assert_eq!(challenge(Rejection::unavailable().scope("a"), url), (503, None));
    }

    #[test]
    fn no_challenge_names_a_wildcard_sec_4() {
        let text = |rejection: Rejection| challenge(rejection, None).1.unwrap();
        let scopes = "* a files:* offline_access b\"c d\\e b";
        assert_eq!(text(Rejection::unauthorized().scope(scopes)), r#"Bearer scope="a b""#);
        let narrow = r#"Bearer error="insufficient_scope", scope="a b", error_description="no""#;
        assert_eq!(text(Rejection::forbidden("no").scope(scopes)), narrow);
        // One that can be named by nobody is none that this server names.
        assert_eq!(text(Rejection::unauthorized().scope("*")), r#"Bearer realm="mcp""#);
        let bare = r#"Bearer error="insufficient_scope", error_description="no""#;
        assert_eq!(text(Rejection::forbidden("no").scope("offline_access")), bare);
    }

    #[test]
    fn nothing_breaks_out_of_a_quoted_text() {
        let hostile = Rejection::invalid_token("a\"b\\c\r\nX: y\u{e9}\u{0}").realm("\", evil=\"").scope("s\"t");
        let (_, header) = challenge(hostile, None);
        let text = r#"Bearer realm="', evil='", error="invalid_token", error_description="a'b?c??X: y??""#;
        assert_eq!(header.as_deref(), Some(text));
    }

    #[test]
    fn seconds_to_wait_are_whole_and_one_at_least_sec_2() {
        let after =
            |rejection: Rejection| rejection.into_response(None).headers()[RETRY_AFTER].to_str().unwrap().to_owned();
        for (ms, seconds) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2"), (59_999, "60")] {
            assert_eq!(after(Rejection::too_many(Duration::from_millis(ms))), seconds);
            assert_eq!(after(Rejection::unavailable().retry_after(Duration::from_millis(ms))), seconds);
        }
        assert_eq!(after(Rejection::unavailable()), "1");
    }
}
