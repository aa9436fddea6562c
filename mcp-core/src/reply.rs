//! Status, shape and headers of an answer, as hints for transports that have them.

use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::challenge::{self, Challenge};
use crate::endpoint::Endpoint;
use crate::fault::{Fault, Remedy};
use crate::peer::Scopes;
use crate::roster::SessionId;

/// How a stream begins: HTTP status, shape and headers. A byte stream needs none of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// What the bytes are.
    pub form: Form,
    /// The session that was opened, for the `Mcp-Session-Id` header (HTTP-20).
    pub session: Option<SessionId>,
    /// With 405, the methods that are allowed instead.
    pub allow: Option<&'static str>,
    /// With 403, what a token must be good for: the value of `WWW-Authenticate` (AUTH-6). Printable ASCII.
    pub challenge: Option<Arc<str>>,
    /// With 429, for how many seconds the client is to wait, at least one: the value of `Retry-After`.
    pub retry_after: Option<u32>,
}

/// What the bytes of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// No body.
    Empty,
    /// One JSON text.
    Json,
    /// Server-sent events, one message each.
    Events,
}

impl Reply {
    /// 202, no body: a notification or response was taken (HTTP-8).
    pub const ACCEPTED: Self = Self::new(202, Form::Empty);
    /// 204, no body: the session is deleted (HTTP-23, A22).
    pub const DELETED: Self = Self::new(204, Form::Empty);
    /// 200, an event stream.
    pub const EVENTS: Self = Self::new(200, Form::Events);

    /// That status and shape, with no headers but those of the shape.
    #[must_use]
    pub const fn new(status: u16, form: Form) -> Self {
        Self { status, form, session: None, allow: None, challenge: None, retry_after: None }
    }

    /// One JSON text with that status.
    #[must_use]
    pub const fn json(status: u16) -> Self {
        Self::new(status, Form::Json)
    }

    /// The reply that carries a fault.
    #[must_use]
    pub fn refusal(fault: &Fault) -> Self {
        Self::with_remedy(fault, fault.status(), None)
    }

    /// The same of an endpoint, with another status where the era wants one.
    pub(crate) fn refusal_of(endpoint: &Endpoint, fault: &Fault, status: u16) -> Self {
        Self::with_remedy(fault, status, endpoint.resource_metadata())
    }

    /// Each status goes with a remedy of its own: one that was changed says something else.
    fn with_remedy(fault: &Fault, status: u16, metadata: Option<&str>) -> Self {
        let mut reply = Self::json(status);
        match (status, fault.remedy()) {
            (403, Some(Remedy::Scopes(scopes))) => reply.challenge = Some(challenge(scopes, metadata).into()),
            (429 | 503, Some(Remedy::Wait(span))) => reply.retry_after = Some(span.retry_after()),
            _ => {}
        }
        reply
    }

    /// The headers that belong to it and are the same for all: those of the session, the challenge and `retry_after` aside.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let form: &[(&str, &str)] = match self.form {
            Form::Empty => &[],
            Form::Json => &[("content-type", "application/json")],
            // HTTP-9 and HTTP-44: no cache or proxy may hold an event back.
            Form::Events => &[
                ("content-type", "text/event-stream"),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        };
        let busy: &[(&str, &str)] =
            if self.status == 503 && self.retry_after.is_none() { &[("retry-after", "1")] } else { &[] };
        form.iter().chain(busy).copied().chain(self.allow.map(|methods| ("allow", methods)))
    }
}

/// What a token must be good for: all scopes in one challenge (AUTH-6). Handlers name scopes too, so what cannot be named is left
/// out.
fn challenge(scopes: &Scopes, metadata: Option<&str>) -> String {
    let asked = challenge::named(scopes).collect::<Vec<&str>>().join(" ");
    let description = match asked.is_empty() {
        true => String::from("Insufficient scope"),
        false => alloc::format!("Insufficient scope. Required: {asked}"),
    };
    let challenge = Challenge {
        error: Some("insufficient_scope"),
        scope: Some(scopes),
        resource_metadata: metadata,
        error_description: Some(&description),
        ..Challenge::default()
    };
    challenge.to_string()
}
