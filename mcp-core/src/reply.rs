//! Status, shape and headers of an answer, as hints for transports that have them.

use crate::fault::Fault;
use crate::roster::SessionId;

/// How a stream begins: HTTP status, shape and headers. A byte stream needs none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// What the bytes are.
    pub form: Form,
    /// The session that was opened, for the `Mcp-Session-Id` header (HTTP-20).
    pub session: Option<SessionId>,
    /// With 405, the methods that are allowed instead.
    pub allow: Option<&'static str>,
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
    pub const ACCEPTED: Self = Self { status: 202, form: Form::Empty, session: None, allow: None };
    /// 204, no body: the session is deleted (HTTP-23, A22).
    pub const DELETED: Self = Self { status: 204, form: Form::Empty, session: None, allow: None };
    /// 200, an event stream.
    pub const EVENTS: Self = Self { status: 200, form: Form::Events, session: None, allow: None };

    /// One JSON text with that status.
    #[must_use]
    pub const fn json(status: u16) -> Self {
        Self { status, form: Form::Json, session: None, allow: None }
    }

    /// The reply that carries a fault.
    #[must_use]
    pub const fn refusal(fault: &Fault) -> Self {
        Self::json(fault.status())
    }

    /// The headers that belong to it, the session's aside.
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
        let busy: &[(&str, &str)] = if self.status == 503 { &[("retry-after", "1")] } else { &[] };
        form.iter().chain(busy).copied().chain(self.allow.map(|methods| ("allow", methods)))
    }
}
