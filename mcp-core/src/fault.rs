//! What went wrong, as a value that replies: JSON-RPC code, message, data, and the HTTP status it hints at.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use core::fmt;

use crate::peer::Scopes;
use crate::time::Span;

/// A JSON-RPC error code that this server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(i64);

impl Code {
    /// The body is not JSON.
    pub const PARSE: Self = Self(-32700);
    /// The envelope is not a request, notification or response.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// Unknown method, or a method whose capability is not advertised.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// Parameters missing or wrong.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The server's own fault.
    pub const INTERNAL: Self = Self(-32603);
    /// A mirrored header is missing or differs from the body (modern HTTP only).
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The client did not declare a capability that the request needs (modern only).
    pub const MISSING_CAPABILITY: Self = Self(-32021);
    /// The protocol version is not served (modern only).
    pub const UNSUPPORTED_VERSION: Self = Self(-32022);
    /// The person must open a page first (2025-11-25 only, ELIC-7).
    pub const URL_REQUIRED: Self = Self(-32042);
    /// Resource not found (legacy only).
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// Outside the reserved range, as the protocol has none for it.
    const INSUFFICIENT_SCOPE: Self = Self(403);

    /// A code of the application's own.
    ///
    /// `None` inside -32768..=-32000, the range that JSON-RPC and the protocol reserve (ERR-3).
    #[must_use]
    pub const fn application(code: i64) -> Option<Self> {
        if code >= -32768 && code <= -32000 { None } else { Some(Self(code)) }
    }

    /// The number on the wire.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// An error that will be sent to the peer: it says what is wrong, in words a person or a model can act on.
///
/// The texts of [`Fault`] never hold internals. What a peer sent is passed through [`reflect`] before it is quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    code: Code,
    message: Cow<'static, str>,
    data: Option<Box<str>>,
    status: u16,
    remedy: Option<Remedy>,
}

/// What would make the same request succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// A caller with all of these.
    Scopes(Scopes),
    /// Patience.
    Wait(Span),
}

impl Fault {
    /// A fault with the status that its code hints at: 400 for the envelope's codes, 404 for an unknown method, 200 else.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        let status = match code {
            Code::PARSE
            | Code::INVALID_REQUEST
            | Code::HEADER_MISMATCH
            | Code::MISSING_CAPABILITY
            | Code::UNSUPPORTED_VERSION => 400,
            Code::METHOD_NOT_FOUND => 404,
            _ => 200,
        };
        Self { code, message: message.into(), data: None, status, remedy: None }
    }

    /// -32700, status 400.
    pub fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::PARSE, message)
    }

    /// -32600, status 400.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INVALID_REQUEST, message)
    }

    /// -32602 of a method, status 200; see [`Fault::with_status`] for the envelope's 400.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INVALID_PARAMS, message)
    }

    /// -32603, status 200. The message is sent: no internals.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INTERNAL, message)
    }

    /// -32603 with status 503: there is no room for another call now.
    #[must_use]
    pub fn busy() -> Self {
        Self::internal("Too many calls at once: wait for one to end").with_status(503)
    }

    /// -32603: the call ran longer than it may.
    pub(crate) fn too_slow() -> Self {
        Self::internal("The call took longer than this server allows")
    }

    /// -32603: the server goes down.
    #[must_use]
    pub fn shutting_down() -> Self {
        Self::internal("The server is shutting down")
    }

    /// -32603, with `data.reason` "interrupted": the server that ran the call has gone, and nobody knows how far it came.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::internal("The call was interrupted: the server that ran it has gone, so it may have been done in part")
            .with_data(r#"{"reason":"interrupted"}"#)
    }

    /// -32603, status 200: the server's own code does not let the client in ([`Kind::Init`](crate::Kind::Init)). The reason is sent.
    #[must_use]
    pub fn init_failed(reason: &str) -> Self {
        Self::internal(alloc::format!("Initialization failed: {reason}"))
    }

    /// 403, also the HTTP status: the caller lacks scopes of these, all of which it needs (AUTH-6). On HTTP the answer carries a
    /// challenge that names them.
    ///
    /// ```
    /// use mcp_core::{Fault, Scopes};
    ///
    /// let fault = Fault::insufficient_scope(&Scopes::parse("notes:read notes:write"));
    /// assert_eq!(fault.message(), "Insufficient scope. Required: notes:read notes:write");
    /// assert_eq!((fault.code().get(), fault.status()), (403, 403));
    /// assert_eq!(fault.data(), Some(r#"{"requiredScopes":["notes:read","notes:write"]}"#));
    /// ```
    #[must_use]
    pub fn insufficient_scope(required: &Scopes) -> Self {
        let mut data = alloc::vec::Vec::new();
        let mut object = crate::encode::json::Object::open(&mut data);
        crate::encode::strings(object.key("requiredScopes"), required.iter());
        object.close();
        Self::new(Code::INSUFFICIENT_SCOPE, alloc::format!("Insufficient scope. Required: {}", required.join()))
            .with_data(String::from_utf8_lossy(&data))
            .with_status(403)
            .with_remedy(Remedy::Scopes(required.clone()))
    }

    /// -32603 with status 429: the client asks too often, and is to wait for that long. On HTTP the answer carries `Retry-After`.
    ///
    /// ```
    /// use mcp_core::{Fault, Span};
    ///
    /// let fault = Fault::too_many(Span(1_500));
    /// assert_eq!(fault.message(), "Too many requests: try again in 2 s");
    /// assert_eq!((fault.code().get(), fault.status()), (-32603, 429));
    /// assert_eq!(fault.data(), Some(r#"{"retryAfterMs":1500}"#));
    /// ```
    #[must_use]
    pub fn too_many(retry_after: Span) -> Self {
        let ms = retry_after.0.max(1);
        Self::internal(alloc::format!("Too many requests: try again in {} s", retry_after.retry_after()))
            .with_data(alloc::format!("{{\"retryAfterMs\":{ms}}}"))
            .with_status(429)
            .with_remedy(Remedy::Wait(Span(ms)))
    }

    /// -32601, naming the method.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(Code::METHOD_NOT_FOUND, alloc::format!("Method not found: {}", reflect(method)))
    }

    /// -32002 to a legacy client and -32602 to a modern one, with the URI in `data` (RES-5).
    #[must_use]
    pub fn resource_not_found(uri: &str) -> Self {
        let data = match uri.char_indices().nth(ECHOED_URI) {
            None => uri,
            Some((end, _)) => &uri[..end],
        };
        let mut json = alloc::vec::Vec::with_capacity(16 + data.len());
        json.extend_from_slice(b"{\"uri\":");
        crate::wire::write::string(&mut json, data);
        json.push(b'}');
        let json = String::from_utf8_lossy(&json);
        Self::new(Code::RESOURCE_NOT_FOUND, alloc::format!("Resource not found: {}", reflect(uri))).with_data(&*json)
    }

    /// The same fault with `data`: JSON text. A text that is no JSON is sent as a string, so that it breaks nothing.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Box<str>>) -> Self {
        let data = data.into();
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(&data).is_ok();
        self.data = Some(if valid { data } else { serde_json::Value::from(&*data).to_string().into() });
        self
    }

    /// The same fault with another HTTP status.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// A fault as it was recorded, whatever it holds.
    pub(crate) const fn recorded(
        code: i64,
        message: String,
        data: Option<Box<str>>,
        status: u16,
        remedy: Option<Remedy>,
    ) -> Self {
        Self { code: Code(code), message: Cow::Owned(message), data, status, remedy }
    }

    fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedy = Some(remedy);
        self
    }

    /// What would make the same request succeed, if that is known.
    pub(crate) const fn remedy(&self) -> Option<&Remedy> {
        self.remedy.as_ref()
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// `data` as JSON text.
    #[must_use]
    pub fn data(&self) -> Option<&str> {
        self.data.as_deref()
    }

    /// The HTTP status that fits, for transports that have one. Legacy method errors are sent with 200 whatever this says
    /// (HTTP-11).
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code.get())
    }
}

impl core::error::Error for Fault {}

/// The most characters of a URI that was not found which come back as `data`: more than any resource here has.
const ECHOED_URI: usize = 2048;

/// The most characters of a peer's text that an error or log quotes.
const QUOTED: usize = 120;

/// A peer's text made safe to quote: clamped to 120 characters, control and bidirectional characters replaced.
#[must_use]
pub fn reflect(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED).map(|c| if is_hostile(c) { '\u{FFFD}' } else { c }).collect();
    if text.chars().nth(QUOTED).is_some() {
        quoted.push('…');
    }
    quoted
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn application_codes_stay_outside_the_reserved_range_err_3() {
        assert_eq!(Code::application(-32050), None);
        assert_eq!(Code::application(-32768), None);
        assert_eq!(Code::application(403).map(Code::get), Some(403));
        assert_eq!(Code::application(-31999).map(Code::get), Some(-31999));
    }

    #[test]
    fn quoted_text_is_clamped_and_has_no_control_or_bidirectional_characters() {
        assert_eq!(reflect("a\u{202E}b\u{1b}[1m\n"), "a\u{FFFD}b\u{FFFD}[1m\u{FFFD}");
        let long = "x".repeat(500);
        assert_eq!(reflect(&long).chars().count(), 121);
        assert_eq!(reflect("plain"), "plain");
    }
}
