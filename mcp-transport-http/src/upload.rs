//! The body of a request, read whole: counted as it arrives, and only for so long.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body::SizeHint;
use mcp_core::fault::{Code, Fault, reflect};
use mcp_core::wire::Unread;

use crate::runtime::{Runtime, Task};

/// A body on its way in.
pub(crate) struct Upload {
    limit: usize,
    span: Duration,
    received: Received,
    /// When it must be here. Set once it has to be waited for.
    timer: Option<Task>,
}

enum Received {
    Nothing,
    /// The usual case, which costs no copy.
    One(Bytes),
    Many(Vec<u8>),
}

impl Upload {
    /// Admits a body by what its headers say of it.
    ///
    /// # Errors
    ///
    /// If it is not JSON (HTTP-6), or longer than `limit` bytes (BASE-26): then it is not read at all.
    pub(crate) fn admit(headers: &HeaderMap, size: &SizeHint, limit: usize, span: Duration) -> Result<Self, Fault> {
        check_type(headers)?;
        if size.lower() > limit as u64 {
            return Err(Unread::too_long(limit).fault);
        }
        Ok(Self { limit, span, received: Received::Nothing, timer: None })
    }

    /// Reads on.
    pub(crate) fn poll<B>(
        &mut self,
        mut body: Pin<&mut B>,
        cx: &mut Context<'_>,
        runtime: &dyn Runtime,
    ) -> Poll<Result<Bytes, Fault>>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        loop {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers say nothing here.
                    if let Ok(data) = frame.into_data()
                        && let Err(fault) = self.add(data, &body.size_hint())
                    {
                        return Poll::Ready(Err(fault));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    let error: Box<dyn Error + Send + Sync> = error.into();
                    tracing::debug!(%error, "the body of a request broke off");
                    let fault = Fault::invalid_request("The body of the request broke off").with_status(400);
                    return Poll::Ready(Err(fault));
                }
                Poll::Ready(None) => return Poll::Ready(Ok(self.take())),
                Poll::Pending => {
                    let timer = self.timer.get_or_insert_with(|| runtime.sleep(self.span));
                    return timer.as_mut().poll(cx).map(|()| Err(self.too_slow()));
                }
            }
        }
    }

    fn add(&mut self, mut data: impl Buf, rest: &SizeHint) -> Result<(), Fault> {
        let length = data.remaining();
        if length == 0 {
            return Ok(());
        }
        if self.len().saturating_add(length) > self.limit {
            return Err(Unread::too_long(self.limit).fault);
        }
        match &mut self.received {
            Received::Nothing => self.received = Received::One(data.copy_to_bytes(length)),
            Received::One(first) => {
                // What the peer claims to send is reserved only as far as it may send it.
                let rest = usize::try_from(rest.lower()).unwrap_or(usize::MAX);
                let known = first.len().saturating_add(length).saturating_add(rest).min(self.limit);
                let mut all = Vec::with_capacity(known);
                all.extend_from_slice(first);
                append(&mut all, data);
                self.received = Received::Many(all);
            }
            Received::Many(all) => append(all, data),
        }
        Ok(())
    }

    const fn len(&self) -> usize {
        match &self.received {
            Received::Nothing => 0,
            Received::One(first) => first.len(),
            Received::Many(all) => all.len(),
        }
    }

    fn take(&mut self) -> Bytes {
        match std::mem::replace(&mut self.received, Received::Nothing) {
            Received::Nothing => Bytes::new(),
            Received::One(first) => first,
            Received::Many(all) => all.into(),
        }
    }

    fn too_slow(&self) -> Fault {
        let message = format!("The body of the request was not here within {} ms", self.span.as_millis());
        Fault::invalid_request(message).with_status(408)
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("limit", &self.limit).field("received", &self.len()).finish_non_exhaustive()
    }
}

fn append(all: &mut Vec<u8>, mut data: impl Buf) {
    while data.has_remaining() {
        let chunk = data.chunk();
        all.extend_from_slice(chunk);
        let length = chunk.len();
        data.advance(length);
    }
}

/// HTTP-6. A page of another site can send `text/plain` without asking, but not this.
fn check_type(headers: &HeaderMap) -> Result<(), Fault> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let said = match (types.next(), types.next()) {
        (Some(said), None) => said,
        (None, _) => return Err(unsupported("`Content-Type` is missing: send application/json")),
        (Some(_), Some(_)) => return Err(unsupported("`Content-Type` is there more than once")),
    };
    if !is_json(said) {
        let said = String::from_utf8_lossy(said.as_bytes());
        return Err(unsupported(format!("`Content-Type: {}`: send application/json", reflect(&said))));
    }
    match headers.get(CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(unsupported("`Content-Encoding` is not supported: send the body as it is"))
        }
        _ => Ok(()),
    }
}

fn is_json(value: &HeaderValue) -> bool {
    let bytes = value.as_bytes();
    if bytes == b"application/json" {
        return true;
    }
    let end = bytes.iter().position(|byte| *byte == b';').unwrap_or(bytes.len());
    bytes[..end].trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn unsupported(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(Code::INVALID_REQUEST, message).with_status(415)
}
