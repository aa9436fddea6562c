//! The body of an answer.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::source::Source;

/// The body of an answer: nothing, one piece, or a stream of events.
///
/// Dropping a stream tells its machine that the reader has gone: that cancels a modern request (HTTP-46), and lets a
/// legacy one go on (HTTP-28).
#[derive(Default)]
pub struct Body(Kind);

#[derive(Default)]
enum Kind {
    #[default]
    Empty,
    Full(Bytes),
    Stream(Box<dyn Source>),
}

impl Body {
    /// No bytes.
    #[must_use]
    pub const fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// All bytes at once.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        if bytes.is_empty() { Self::empty() } else { Self(Kind::Full(bytes)) }
    }

    pub(crate) fn stream(source: Box<dyn Source>) -> Self {
        Self(Kind::Stream(source))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Kind::Empty => Poll::Ready(None),
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Kind::Stream(source) => {
                let bytes = std::task::ready!(source.poll_bytes(cx));
                if bytes.is_none() {
                    self.0 = Kind::Empty;
                }
                Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Empty => f.write_str("Body::Empty"),
            Kind::Full(bytes) => write!(f, "Body::Full({} bytes)", bytes.len()),
            Kind::Stream(_) => f.write_str("Body::Stream(..)"),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::full(bytes)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::full(bytes)
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::full(text)
    }
}
