//! One message as it was read, and what takes its place when it could not be.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::{Id, client, decode, read::read};
use crate::fault::{Code, Fault, reflect};
use crate::policy::Limits;

/// One JSON-RPC message: its bytes, and where in them the members lie that the protocol defines.
///
/// Made by [`read`](super::read). Texts handed out are raw JSON unless said otherwise. What must outlive the message is to
/// be copied: a slice of the body pins all of it.
#[derive(Clone, PartialEq)]
pub struct Message {
    pub(super) body: Bytes,
    pub(super) shape: Shape,
    pub(super) id: Option<Id>,
    pub(super) method: Method,
    pub(super) spans: Spans,
    pub(super) batch: Option<Box<Batch>>,
}

/// What a message is, by the members it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `method` and `id`: to be answered.
    Request,
    /// `method` alone: never answered (BASE-7).
    Notification,
    /// `result` or `error`: never answered (BASE-24).
    Response,
    /// An array, whose members were not read yet (BASE-11).
    Batch,
}

/// Something that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The id to echo, if it could be read (BASE-6).
    pub id: Option<Id>,
    /// What is wrong, with the HTTP status that fits.
    pub fault: Fault,
    /// Whether it was shaped as a notification or a response: a byte stream then answers nothing (BASE-7, BASE-24), while HTTP
    /// answers with the status of the fault.
    pub silent: bool,
}

/// An `error` member, as a peer sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorObject {
    /// `code`; -32603 if it is not a 64-bit integer.
    pub code: i64,
    /// `message`, made safe to quote; empty if it is not a string.
    pub message: Box<str>,
}

impl Message {
    /// The same with bytes of its own, to be kept: it pins no buffer of the transport's.
    pub(crate) fn kept(&self) -> Self {
        Self { body: Bytes::copy_from_slice(&self.body), ..self.clone() }
    }

    /// What it is.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Its id: always there for requests, for responses if it could be read.
    #[must_use]
    pub const fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    /// The method, decoded; empty for responses and batches.
    #[must_use]
    pub fn method(&self) -> &str {
        match &self.method {
            Method::None => "",
            Method::Plain(span) => self.text(*span),
            Method::Decoded(text) => text,
        }
    }

    /// All of it, without a byte order mark.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// `params`, an object; `None` if absent or `null`.
    #[must_use]
    pub fn params(&self) -> Option<&str> {
        self.some(self.spans.params)
    }

    /// `params` as a slice of the body, `{}` if absent.
    #[must_use]
    pub fn params_bytes(&self) -> Bytes {
        self.slice(self.spans.params).unwrap_or(Bytes::from_static(b"{}"))
    }

    /// A member of `params`; `arguments` and `cursor` are absent when `null`.
    #[must_use]
    pub fn param(&self, key: Param) -> Option<&str> {
        self.some(self.spans.param(key))
    }

    /// A member of `params` as a slice of the body.
    #[must_use]
    pub fn param_bytes(&self, key: Param) -> Option<Bytes> {
        self.slice(self.spans.param(key))
    }

    /// A member of `params`, decoded; `None` if absent or not a string.
    #[must_use]
    pub fn param_str(&self, key: Param) -> Option<Cow<'_, str>> {
        self.param(key).and_then(decode)
    }

    /// `params._meta`, an object; `None` if absent or `null`.
    #[must_use]
    pub fn meta(&self) -> Option<&str> {
        self.some(self.spans.meta)
    }

    /// `params._meta` as a slice of the body, empty if absent.
    #[must_use]
    pub fn meta_bytes(&self) -> Bytes {
        self.slice(self.spans.meta).unwrap_or_default()
    }

    /// A member of `params._meta`.
    #[must_use]
    pub fn meta_member(&self, key: Meta) -> Option<&str> {
        self.some(self.spans.member[key as usize])
    }

    /// A member of `params._meta`, decoded; `None` if absent or not a string.
    #[must_use]
    pub fn meta_str(&self, key: Meta) -> Option<Cow<'_, str>> {
        self.meta_member(key).and_then(decode)
    }

    /// `result`, which may be any JSON value.
    #[must_use]
    pub fn result(&self) -> Option<&str> {
        self.some(self.spans.result)
    }

    /// `result` as a slice of the body, empty if absent.
    #[must_use]
    pub fn result_bytes(&self) -> Bytes {
        self.slice(self.spans.result).unwrap_or_default()
    }

    /// `error`, made safe; its defects are smoothed over, since a response is never answered (BASE-24).
    #[must_use]
    pub fn error(&self) -> Option<ErrorObject> {
        let raw = self.some(self.spans.error)?;
        let mut error = ErrorObject { code: Code::INTERNAL.get(), message: Box::default() };
        // A value that is not an object has no members, and so leaves the defaults.
        let _ = client::members(raw, |key, value| match key {
            "code" => error.code = value.parse().unwrap_or(error.code),
            "message" => error.message = decode(value).map(|text| reflect(&text).into()).unwrap_or_default(),
            _ => {}
        });
        Some(error)
    }

    /// The members of a [`Shape::Batch`], each read on its own; none for other shapes.
    ///
    /// A batch within a batch is no message.
    #[must_use]
    pub fn into_batch(self) -> Vec<Result<Self, Unread>> {
        let Some(batch) = self.batch else { return Vec::new() };
        let member = |span: &Span| {
            let message = read(self.body.slice(span.range()), &batch.limits)?;
            if message.shape == Shape::Batch {
                return Err(Unread::new(None, Fault::invalid_request("A batch holds messages, not batches")));
            }
            Ok(message)
        };
        batch.members.iter().map(member).collect()
    }

    /// How many members a [`Shape::Batch`] has; 0 for other shapes.
    #[must_use]
    pub fn batch_len(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.members.len())
    }

    fn some(&self, span: Span) -> Option<&str> {
        (!span.is_none()).then(|| self.text(span))
    }

    fn text(&self, span: Span) -> &str {
        // The body was found to be UTF-8 and spans lie on token boundaries: the default is never taken.
        self.body.get(span.range()).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    fn slice(&self, span: Span) -> Option<Bytes> {
        (!span.is_none()).then(|| self.body.slice(span.range()))
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("shape", &self.shape)
            .field("id", &self.id)
            .field("method", &self.method())
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl Unread {
    pub(super) const fn new(id: Option<Id>, fault: Fault) -> Self {
        Self { id, fault, silent: false }
    }

    /// A message of more than `limit` bytes, refused unread: -32600 without id, status 413 (BASE-26).
    #[must_use]
    pub fn too_long(limit: usize) -> Self {
        let fault = Fault::invalid_request(alloc::format!("A message holds at most {limit} bytes"));
        Self::new(None, fault.with_status(413))
    }
}

/// A known member of `params`, those of calls first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Param {
    /// `name`
    Name,
    /// `arguments`
    Arguments,
    /// `cursor`
    Cursor,
    /// `uri`
    Uri,
    /// `requestId`
    RequestId,
    /// `inputResponses`
    InputResponses,
    /// `requestState`
    RequestState,
    /// `task`
    Task,
    /// `level`
    Level,
    /// `reason`
    Reason,
    /// `protocolVersion`
    ProtocolVersion,
    /// `capabilities`
    Capabilities,
    /// `clientInfo`
    ClientInfo,
    /// `progressToken`
    ProgressToken,
    /// `progress`
    Progress,
    /// `total`
    Total,
    /// `message`
    Message,
    /// `notifications`
    Notifications,
    /// `ref`
    Ref,
    /// `argument`
    Argument,
    /// `context`
    Context,
    /// `taskId`
    TaskId,
}

impl Param {
    /// All of them, indexed by `param as usize`.
    pub const ALL: [Self; 22] = [
        Self::Name,
        Self::Arguments,
        Self::Cursor,
        Self::Uri,
        Self::RequestId,
        Self::InputResponses,
        Self::RequestState,
        Self::Task,
        Self::Level,
        Self::Reason,
        Self::ProtocolVersion,
        Self::Capabilities,
        Self::ClientInfo,
        Self::ProgressToken,
        Self::Progress,
        Self::Total,
        Self::Message,
        Self::Notifications,
        Self::Ref,
        Self::Argument,
        Self::Context,
        Self::TaskId,
    ];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Arguments => "arguments",
            Self::Cursor => "cursor",
            Self::Uri => "uri",
            Self::RequestId => "requestId",
            Self::InputResponses => "inputResponses",
            Self::RequestState => "requestState",
            Self::Task => "task",
            Self::Level => "level",
            Self::Reason => "reason",
            Self::ProtocolVersion => "protocolVersion",
            Self::Capabilities => "capabilities",
            Self::ClientInfo => "clientInfo",
            Self::ProgressToken => "progressToken",
            Self::Progress => "progress",
            Self::Total => "total",
            Self::Message => "message",
            Self::Notifications => "notifications",
            Self::Ref => "ref",
            Self::Argument => "argument",
            Self::Context => "context",
            Self::TaskId => "taskId",
        }
    }
}

/// A known member of `params._meta`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Meta {
    /// `io.modelcontextprotocol/protocolVersion`
    ProtocolVersion,
    /// `io.modelcontextprotocol/clientCapabilities`
    ClientCapabilities,
    /// `io.modelcontextprotocol/clientInfo`
    ClientInfo,
    /// `io.modelcontextprotocol/logLevel`
    LogLevel,
    /// `progressToken`
    ProgressToken,
    /// `traceparent`
    Traceparent,
    /// `tracestate`
    Tracestate,
    /// `baggage`
    Baggage,
}

impl Meta {
    /// All of them, indexed by `meta as usize`.
    pub const ALL: [Self; 8] = [
        Self::ProtocolVersion,
        Self::ClientCapabilities,
        Self::ClientInfo,
        Self::LogLevel,
        Self::ProgressToken,
        Self::Traceparent,
        Self::Tracestate,
        Self::Baggage,
    ];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProtocolVersion => "io.modelcontextprotocol/protocolVersion",
            Self::ClientCapabilities => "io.modelcontextprotocol/clientCapabilities",
            Self::ClientInfo => "io.modelcontextprotocol/clientInfo",
            Self::LogLevel => "io.modelcontextprotocol/logLevel",
            Self::ProgressToken => "progressToken",
            Self::Traceparent => "traceparent",
            Self::Tracestate => "tracestate",
            Self::Baggage => "baggage",
        }
    }
}

/// Where a value lies in the body. No value starts at 0, since it is in an object or array: `0..0` means absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) const NONE: Self = Self { start: 0, end: 0 };

    pub(super) const fn is_none(self) -> bool {
        self.end == 0
    }

    pub(super) const fn range(self) -> core::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// How many members of `params` are those of calls: all up to [`Param::Task`].
const CALLS: usize = Param::Task as usize + 1;

/// The values of a message, by known key.
#[derive(Clone, PartialEq)]
pub(super) struct Spans {
    pub(super) params: Span,
    pub(super) meta: Span,
    pub(super) result: Span,
    pub(super) error: Span,
    calls: [Span; CALLS],
    /// Allocated only for messages that have such members: a message is moved about, and most are calls.
    others: Option<Box<[Span; Param::ALL.len() - CALLS]>>,
    pub(super) member: [Span; Meta::ALL.len()],
}

impl Spans {
    pub(super) const NONE: Self = Self {
        params: Span::NONE,
        meta: Span::NONE,
        result: Span::NONE,
        error: Span::NONE,
        calls: [Span::NONE; CALLS],
        others: None,
        member: [Span::NONE; Meta::ALL.len()],
    };

    pub(super) fn set_param(&mut self, key: Param, span: Span) {
        match (key as usize).checked_sub(CALLS) {
            None => self.calls[key as usize] = span,
            Some(at) => self.others.get_or_insert_default()[at] = span,
        }
    }

    fn param(&self, key: Param) -> Span {
        match (key as usize).checked_sub(CALLS) {
            None => self.calls[key as usize],
            Some(at) => self.others.as_ref().map_or(Span::NONE, |others| others[at]),
        }
    }
}

#[derive(Clone, PartialEq)]
pub(super) enum Method {
    None,
    Plain(Span),
    /// It was sent with escapes.
    Decoded(Box<str>),
}

#[derive(Clone, PartialEq)]
pub(super) struct Batch {
    pub(super) members: Vec<Span>,
    /// The members are read by these, once somebody asks for them.
    pub(super) limits: Limits,
}
