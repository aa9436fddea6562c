//! What this node hears from the others, and does for them.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::Poll;

use bytes::Bytes;
use http::Request as HttpRequest;
use mcp_core::{Fault, Form, route, wire};

use super::ask::{Request, answer, said};
use super::conversations::{NotServed, Served};
use super::frame::{Ask, Frame, Verb};
use super::{Backoff, Node, first, unavailable};
use crate::head::RequestHead;
use crate::shared::Shared;
use crate::source::Source;
use crate::store::NodeId;
use crate::sync::lock;

/// Bytes up to which an answer that is there whole goes in one frame with its head: 64 KiB.
const ONE_FRAME: usize = 64 << 10;

/// The task that hears.
pub(super) async fn receive(node: Arc<Node>, weak: Weak<Shared>) {
    let mut backoff = Backoff::new();
    while !node.is_stopped() {
        let mut got = None;
        {
            let frames = async { got = Some(node.relay().receive(node.id).await) };
            let mut heard = 0;
            let stopped = async {
                while !node.is_stopped() {
                    poll_fn(|cx| node.end.poll_ring(&mut heard, cx)).await;
                }
            };
            first(frames, stopped).await;
        }
        let Some(shared) = weak.upgrade() else { return };
        match got {
            Some(Ok(frames)) => {
                backoff = Backoff::new();
                frames.into_iter().for_each(|frame| node.hear(&shared, frame));
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "nothing is heard from the other nodes now");
                backoff.wait(&*shared.runtime).await;
            }
            None => return,
        }
    }
}

/// The task that says what is short.
pub(super) async fn send(node: Arc<Node>, weak: Weak<Shared>) {
    let mut heard = 0;
    while !node.is_stopped() {
        let word = lock(&node.outbox).pop_front();
        let Some((to, frame)) = word else {
            poll_fn(|cx| node.post.poll_ring(&mut heard, cx)).await;
            continue;
        };
        let bytes = frame.encode(node.id);
        let sent = match to {
            Some(to) => node.in_time(&weak, node.relay().send(to, bytes)).await.map(|_| ()),
            None => node.in_time(&weak, node.relay().broadcast(node.id, bytes)).await,
        };
        if let Err(error) = sent {
            tracing::warn!(%error, "a word to another node was lost");
        }
    }
}

impl Node {
    fn hear(self: &Arc<Self>, shared: &Arc<Shared>, frame: Bytes) {
        let Some((from, frame)) = Frame::decode(frame) else {
            tracing::error!("a frame of the relay is not of this release of this library: it is ignored");
            return;
        };
        match frame {
            Frame::Ask(ask) => self.asked(shared, from, *ask),
            Frame::Credit { conversation, bytes } => self.conversations.credit(from, conversation, bytes as usize),
            Frame::Gone { conversation } => self.conversations.gone(from, conversation),
            Frame::Probe { conversations } => {
                let conversations = self.conversations.unknown(from, conversations);
                if !conversations.is_empty() {
                    self.say(Some(from), Frame::Unknown { conversations });
                }
            }
            Frame::Unknown { conversations } => self.conversations.lost(from, &conversations),
            Frame::Updated { uri } => shared.heard_of_update(&uri),
            other @ (Frame::Whole { .. }
            | Frame::Opened { .. }
            | Frame::Bytes { .. }
            | Frame::End { .. }
            | Frame::NotMine { .. }) => self.conversations.heard(from, other),
        }
    }

    /// Another node hands a request on.
    fn asked(self: &Arc<Self>, shared: &Arc<Shared>, from: NodeId, ask: Ask) {
        let conversation = ask.conversation;
        let served = match self.conversations.serve(from, conversation) {
            Ok(served) => served,
            Err(NotServed::Already) => return,
            Err(NotServed::Full) => {
                let (reply, body) = route::refusal(None, &Fault::busy());
                return self.say(Some(from), Frame::Whole { conversation, reply, bytes: body.into() });
            }
        };
        let (node, weak) = (Arc::clone(self), Arc::downgrade(shared));
        shared.runtime.spawn(Box::pin(async move {
            node.serve(&weak, from, ask, &served).await;
            node.conversations.served(from, conversation);
        }));
    }

    async fn serve(self: &Arc<Self>, weak: &Weak<Shared>, from: NodeId, ask: Ask, served: &Served) {
        let conversation = ask.conversation;
        let source = {
            let Some(shared) = weak.upgrade() else { return };
            let mut finding = std::pin::pin!(self.source(&shared, ask));
            let source = poll_fn(|cx| match served.poll_gone(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => finding.as_mut().poll(cx).map(Some),
            });
            match source.await {
                Some(Some(source)) => source,
                Some(None) => {
                    let frame = Frame::NotMine { conversation };
                    let _ = self.send_to(weak, from, frame).await;
                    return;
                }
                None => return,
            }
        };
        // A node that does not get it asks again, or has gone.
        let _ = self.stream(weak, from, conversation, source, served).await;
    }

    /// Who answers, if the session is here. It is not fetched for another node.
    async fn source(self: &Arc<Self>, shared: &Arc<Shared>, ask: Ask) -> Option<Box<dyn Source>> {
        // One that goes down takes nothing more: the session is let go soon.
        let cell = self.table.here(&ask.key()).filter(|_| !shared.is_closing())?;
        let Some(request) = as_request(shared, ask) else {
            tracing::error!("a request that another node has handed on cannot be read");
            return Some(said(shared, route::refusal(None, &unavailable())));
        };
        answer(shared, &cell, &request).await.ok()
    }

    /// Sends an answer, as fast as it is taken. An error if the other side has gone.
    async fn stream(
        &self,
        weak: &Weak<Shared>,
        to: NodeId,
        conversation: u64,
        mut source: Box<dyn Source>,
        served: &Served,
    ) -> Result<(), ()> {
        let opened = poll_fn(|cx| match served.poll_gone(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => source.poll_open(cx).map(Some),
        });
        let reply = opened.await.ok_or(())?;
        let whole = source.whole();
        if let Some(body) = &whole
            && body.len() <= ONE_FRAME
        {
            let bytes = Bytes::copy_from_slice(body);
            return self.send_to(weak, to, Frame::Whole { conversation, reply, bytes }).await;
        }
        let bounded = reply.form == Form::Events;
        self.send_to(weak, to, Frame::Opened { conversation, reply }).await?;
        let mut rest = Bytes::from(whole.unwrap_or_default());
        loop {
            poll_fn(|cx| served.poll_room(bounded, cx)).await?;
            if rest.is_empty() {
                let more = poll_fn(|cx| match served.poll_gone(cx) {
                    Poll::Ready(()) => Poll::Ready(Err(())),
                    Poll::Pending => source.poll_bytes(cx).map(Ok),
                });
                match more.await? {
                    Some(bytes) => rest = bytes,
                    None => return self.send_to(weak, to, Frame::End { conversation }).await,
                }
            }
            let bytes = rest.split_to(rest.len().min(ONE_FRAME));
            served.spend(bytes.len());
            self.send_to(weak, to, Frame::Bytes { conversation, bytes }).await?;
        }
    }

    async fn send_to(&self, weak: &Weak<Shared>, to: NodeId, frame: Frame) -> Result<(), ()> {
        match self.in_time(weak, self.relay().send(to, frame.encode(self.id))).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(()),
            Err(error) => {
                tracing::warn!(%error, "an answer could not be sent to the node that asked");
                Err(())
            }
        }
    }

    /// Has every other node hear that what a resource holds has changed.
    pub(crate) fn tell_of_update(&self, uri: &str) {
        self.say(None, Frame::Updated { uri: uri.to_owned() });
    }
}

fn as_request(shared: &Shared, ask: Ask) -> Option<Request> {
    let Ask { verb, session, caller, path, headers, body, .. } = ask;
    let method = match verb {
        Verb::Post => http::Method::POST,
        Verb::Get => http::Method::GET,
        Verb::Delete => http::Method::DELETE,
    };
    let mut head = HttpRequest::builder().method(method).uri(path);
    for (name, value) in headers {
        head = head.header(name, &value[..]);
    }
    let parts = head.body(()).ok()?.into_parts().0;
    let message = match verb {
        Verb::Post => Some(wire::read(body, shared.endpoint().limits()).ok()?),
        Verb::Get | Verb::Delete => None,
    };
    Some(Request { verb, session, caller, head: Arc::new(RequestHead::from(parts)), message })
}
