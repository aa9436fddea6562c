//! The body of the GET: the stream that all answers of a conversation go down.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_core::{Pull, Reply, Span, wire};

use super::conversation::Conversation;
use crate::run::Seats;
use crate::runtime::Task;
use crate::shared::Shared;
use crate::source::Source;

pub(super) struct Reader {
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
    /// The first event, which was not sent yet.
    first: Vec<u8>,
    /// Runs while nothing is sent.
    silence: Option<Task>,
    ended: bool,
}

impl Reader {
    /// Its first event tells the client where to POST (HTTP-60).
    pub(super) fn new(shared: &Arc<Shared>, conversation: Arc<Conversation>, uri: &str) -> Self {
        let mut first = b"event: endpoint\n".to_vec();
        wire::sse::event(&mut first, None, uri.as_bytes());
        Self { shared: Arc::clone(shared), conversation, first, silence: None, ended: false }
    }

    /// Breaks a silence with a comment (HTTP-45). A span of nothing switches that off.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        let span = self.shared.endpoint().timing().keep_alive;
        if span == Span::millis(0) {
            return Poll::Pending;
        }
        let silence = self.silence.get_or_insert_with(|| self.shared.runtime.sleep(span.into()));
        std::task::ready!(silence.as_mut().poll(cx));
        let mut comment = Vec::new();
        wire::sse::comment(&mut comment, "");
        Poll::Ready(comment)
    }
}

impl Source for Reader {
    fn poll_open(&mut self, _: &mut Context<'_>) -> Poll<Reply> {
        Poll::Ready(Reply::EVENTS)
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let mut out = std::mem::take(&mut self.first);
        let pulled = self.conversation.poll_pull(&mut out, cx);
        self.ended = pulled == Pull::End;
        if out.is_empty() {
            if self.ended {
                return Poll::Ready(None);
            }
            out = std::task::ready!(self.poll_silence(cx));
        }
        self.silence = None;
        Poll::Ready(Some(self.shared.seats.hand_out(out)))
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.shared.seats
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.ended {
            self.conversation.leave(&self.shared);
        }
    }
}
