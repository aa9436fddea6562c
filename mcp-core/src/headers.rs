//! The protocol's HTTP headers, and whether those that mirror the body agree with it (HDR-1 to HDR-12).
//!
//! Only modern requests are checked (HDR-13). All but [`check_params`] need no catalogue; that one comes after the
//! lookup
//! of the tool, so that an unknown tool is reported as such (HDR-12).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::catalog::Mirror;
use crate::fault::{Code, Fault, reflect};
use crate::wire::{Message, Param};

mod accept;
mod mirror;

pub use accept::Accept;

/// `MCP-Protocol-Version`.
pub const VERSION: &str = "mcp-protocol-version";
/// `Mcp-Method`.
pub const METHOD: &str = "mcp-method";
/// `Mcp-Name`.
pub const NAME: &str = "mcp-name";
/// `Mcp-Session-Id`.
pub const SESSION: &str = "mcp-session-id";
/// `Last-Event-ID`.
pub const LAST_EVENT: &str = "last-event-id";
/// `Mcp-Param-`, before the name that a tool chose.
pub const PARAM_PREFIX: &str = "mcp-param-";
const ACCEPT: &str = "accept";

/// The headers of one HTTP request that mean something to the protocol, borrowed.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head<'a> {
    /// `MCP-Protocol-Version`
    pub version: Field<'a>,
    /// `Mcp-Method`
    pub method: Field<'a>,
    /// `Mcp-Name`
    pub name: Field<'a>,
    /// `Mcp-Session-Id`
    pub session: Field<'a>,
    /// `Last-Event-ID`
    pub last_event: Field<'a>,
    /// `Accept`
    pub accept: Accept,
    /// `Mcp-Param-*`: what follows the prefix, and the value as it was sent.
    pub params: Vec<(&'a str, &'a [u8])>,
}

/// A header that may be there once.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Field<'a> {
    /// Not there.
    #[default]
    Absent,
    /// There, without the blanks around it. Copies that are the same count as one (HDR-7).
    One(&'a [u8]),
    /// There more than once, with different values.
    Many,
}

impl<'a> Head<'a> {
    /// Picks the protocol's headers out of all. Names compare without regard to case; values lose the spaces and tabs
    /// around them (HTTP-14).
    pub fn read(headers: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut head = Self::default();
        let mut accept = accept::Reader::default();
        for (name, value) in headers {
            let value = trim(value);
            // Lengths differ for nearly all, so that a foreign header costs one comparison of numbers.
            match name.len() {
                6 if name.eq_ignore_ascii_case(ACCEPT) => accept.read(value),
                8 if name.eq_ignore_ascii_case(NAME) => head.name.add(value),
                10 if name.eq_ignore_ascii_case(METHOD) => head.method.add(value),
                13 if name.eq_ignore_ascii_case(LAST_EVENT) => head.last_event.add(value),
                14 if name.eq_ignore_ascii_case(SESSION) => head.session.add(value),
                20 if name.eq_ignore_ascii_case(VERSION) => head.version.add(value),
                _ => {}
            }
            if let Some((prefix, suffix)) = name.split_at_checked(PARAM_PREFIX.len())
                && prefix.eq_ignore_ascii_case(PARAM_PREFIX)
            {
                head.params.push((suffix, value));
            }
        }
        head.accept = accept.finish();
        head
    }

    /// `Mcp-Param-<suffix>`.
    #[must_use]
    pub fn param(&self, suffix: &str) -> Field<'a> {
        let mut field = Field::Absent;
        for (name, value) in &self.params {
            if name.eq_ignore_ascii_case(suffix) {
                field.add(value);
            }
        }
        field
    }
}

/// The session's id is left out: it is a secret of its client.
impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<(&str, Field<'_>)> =
            self.params.iter().map(|(name, value)| (*name, Field::One(value))).collect();
        f.debug_struct("Head")
            .field("version", &self.version)
            .field("method", &self.method)
            .field("name", &self.name)
            .field("last_event", &self.last_event)
            .field("accept", &self.accept)
            .field("params", &params)
            .finish_non_exhaustive()
    }
}

impl<'a> Field<'a> {
    /// Its one value as text, if that has only visible ASCII characters, spaces and tabs (HDR-7).
    #[must_use]
    pub fn as_str(self) -> Option<&'a str> {
        match self {
            Self::One(value) if value.iter().all(is_plain) => core::str::from_utf8(value).ok(),
            _ => None,
        }
    }

    /// Whether it is there at all.
    #[must_use]
    pub const fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }

    fn add(&mut self, value: &'a [u8]) {
        *self = match *self {
            Self::Absent => Self::One(value),
            Self::One(before) if before == value => Self::One(before),
            _ => Self::Many,
        };
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::One(value) => write!(f, "One({:?})", quote(value)),
            Self::Many => f.write_str("Many"),
        }
    }
}

/// The headers of one HTTP request, owned: for recordings.
///
/// Reading it gives a [`Head`] equal to the one it was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadBuf {
    fields: Vec<(String, Vec<u8>)>,
}

impl HeadBuf {
    /// The headers, by name and value.
    #[must_use]
    pub fn fields(&self) -> &[(String, Vec<u8>)] {
        &self.fields
    }

    /// What they say.
    #[must_use]
    pub fn head(&self) -> Head<'_> {
        Head::read(self.fields.iter().map(|(name, value)| (&**name, &**value)))
    }

    fn push(&mut self, name: &str, value: &[u8]) {
        self.fields.push((name.into(), value.into()));
    }
}

impl FromIterator<(String, Vec<u8>)> for HeadBuf {
    fn from_iter<I: IntoIterator<Item = (String, Vec<u8>)>>(fields: I) -> Self {
        Self { fields: fields.into_iter().collect() }
    }
}

impl From<&Head<'_>> for HeadBuf {
    fn from(head: &Head<'_>) -> Self {
        let mut buf = Self::default();
        let fields = [
            (VERSION, head.version),
            (METHOD, head.method),
            (NAME, head.name),
            (SESSION, head.session),
            (LAST_EVENT, head.last_event),
        ];
        for (name, field) in fields {
            match field {
                Field::Absent => {}
                Field::One(value) => buf.push(name, value),
                // Which values differed is not kept, and makes no difference.
                Field::Many => {
                    buf.push(name, b"1");
                    buf.push(name, b"2");
                }
            }
        }
        buf.push(ACCEPT, head.accept.as_str().as_bytes());
        for (suffix, value) in &head.params {
            buf.push(&alloc::format!("{PARAM_PREFIX}{suffix}"), value);
        }
        buf
    }
}

/// Whether `MCP-Protocol-Version` is what the body's `_meta` says (HDR-1).
///
/// # Errors
///
/// -32020, status 400.
pub fn check_version(head: &Head<'_>, meta_version: &str) -> Result<(), Fault> {
    exact("MCP-Protocol-Version", head.version, meta_version)
}

/// Whether `Mcp-Method` is the body's method, byte for byte (HDR-2).
///
/// # Errors
///
/// -32020, status 400.
pub fn check_method(head: &Head<'_>, method: &str) -> Result<(), Fault> {
    exact("Mcp-Method", head.method, method)
}

/// Whether `Mcp-Name` is what the body names, for the methods that name something (HDR-3 to HDR-7).
///
/// If the body should name something and does not, that is reported by who reads the parameters, unless the header is
/// there (HDR-4).
///
/// # Errors
///
/// -32020, status 400.
pub fn check_name(head: &Head<'_>, message: &Message) -> Result<(), Fault> {
    let param = match message.method() {
        "tools/call" | "prompts/get" => Param::Name,
        "resources/read" => Param::Uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => Param::TaskId,
        _ => return Ok(()),
    };
    match (single("Mcp-Name", head.name)?, message.param_str(param)) {
        (None, None) => Ok(()),
        (None, Some(body)) => Err(missing("Mcp-Name", &body)),
        (Some(sent), None) => Err(unexpected("Mcp-Name", sent)),
        (Some(sent), Some(body)) if decoded("Mcp-Name", sent)? == body => Ok(()),
        (Some(sent), Some(body)) => Err(differs("Mcp-Name", sent, &body)),
    }
}

/// Whether each `Mcp-Param-*` that the tool asks for is what the arguments say (HDR-10 to HDR-12). Others are ignored.
///
/// `arguments` is the JSON text of an object. It is not read at all if `mirrors` is empty.
///
/// # Errors
///
/// -32020, or -32602 if an object on the way to a mirrored argument has a member twice; both with status 400.
pub fn check_params(head: &Head<'_>, mirrors: &[Mirror], arguments: &str) -> Result<(), Fault> {
    if mirrors.is_empty() {
        return Ok(());
    }
    let values = mirror::values(mirrors, arguments)?;
    for (mirror, value) in mirrors.iter().zip(values) {
        let header = &*alloc::format!("Mcp-Param-{}", mirror.header);
        match (single(header, head.param(&mirror.header))?, value) {
            (None, None) => {}
            (None, Some(body)) => return Err(missing(header, body)),
            // A client must not send what the body does not say (A13).
            (Some(sent), None) => return Err(unexpected(header, sent)),
            (Some(sent), Some(body)) => {
                let text = decoded(header, sent)?;
                match mirror::compare(mirror.kind, &text, body) {
                    mirror::Verdict::Equal => {}
                    mirror::Verdict::Different => return Err(differs(header, sent, body)),
                    mirror::Verdict::TooLarge => return Err(too_large(header, body)),
                }
            }
        }
    }
    Ok(())
}

/// The text of a value of `Mcp-Name` or `Mcp-Param-*`: as it is, or out of `=?base64?…?=` (HDR-5, HDR-6).
///
/// # Errors
///
/// What is wrong with it.
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    if !value.iter().all(is_plain) {
        return Err("has bytes that a header cannot hold; such text is sent as =?base64?...?=");
    }
    let text = core::str::from_utf8(value).map_err(|_| "is not text")?;
    let Some(base64) = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix(CLOSE)) else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(base64).map_err(|_| "is not standard base64 with padding")?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "is not UTF-8 in base64")
}

/// A text as a value for `Mcp-Name` or `Mcp-Param-*` (HDR-5). For clients and tests.
#[must_use]
pub fn encode(value: &str) -> String {
    let visible = value.bytes().all(|byte| matches!(byte, 0x20..=0x7E));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let marked = value.starts_with(OPEN) && value.ends_with(CLOSE);
    if visible && !padded && !marked {
        return value.into();
    }
    alloc::format!("{OPEN}{}{CLOSE}", STANDARD.encode(value))
}

fn exact(header: &str, field: Field<'_>, body: &str) -> Result<(), Fault> {
    match single(header, field)? {
        None => Err(missing(header, body)),
        Some(sent) if sent == body.as_bytes() => Ok(()),
        Some(sent) => Err(differs(header, sent, body)),
    }
}

fn single<'a>(header: &str, field: Field<'a>) -> Result<Option<&'a [u8]>, Fault> {
    match field {
        Field::Absent => Ok(None),
        Field::One(value) => Ok(Some(value)),
        Field::Many => Err(mismatch(alloc::format!("{header} header was sent more than once, with different values"))),
    }
}

fn decoded<'a>(header: &str, sent: &'a [u8]) -> Result<Cow<'a, str>, Fault> {
    decode(sent).map_err(|why| mismatch(alloc::format!("{header} header `{}` {why}", quote(sent))))
}

fn missing(header: &str, body: &str) -> Fault {
    mismatch(alloc::format!("{header} header is missing; the body says `{}`", reflect(body)))
}

fn unexpected(header: &str, sent: &[u8]) -> Fault {
    mismatch(alloc::format!("{header} header says `{}`; the body has no such value", quote(sent)))
}

fn differs(header: &str, sent: &[u8], body: &str) -> Fault {
    mismatch(alloc::format!("{header} header says `{}`, the body says `{}`", quote(sent), reflect(body)))
}

fn too_large(header: &str, body: &str) -> Fault {
    mismatch(alloc::format!("{header} header: `{}` is beyond 2^53-1, the most that a header may carry", reflect(body)))
}

fn mismatch(message: String) -> Fault {
    Fault::new(Code::HEADER_MISMATCH, message)
}

/// What a peer put into a header, safe to quote.
fn quote(value: &[u8]) -> String {
    // `reflect` keeps 120 characters, of at most 4 bytes each.
    let start = &value[..value.len().min(4 * 121)];
    reflect(&String::from_utf8_lossy(start))
}

fn trim(value: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

fn is_plain(byte: &u8) -> bool {
    matches!(byte, 0x20..=0x7E | b'\t')
}

const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";
