//! Requests that are handed on to the node that holds their session, and what comes back: flow is bounded for each.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, COOKIE, HOST, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use mcp_core::{Form, Reply};

use super::Node;
use super::ask::Request;
use super::frame::{Ask, Frame};
use crate::run::Seats;
use crate::shared::Shared;
use crate::source::{Source, UNOPENED};
use crate::store::NodeId;
use crate::sync::lock;

/// Bytes of a stream that may be on their way: 256 KiB. The other side sends no more until some are taken.
pub(super) const WINDOW: usize = 256 << 10;
/// Requests that are handed on, and that are answered for others, at a time: 4,096 each. Listening streams are among them.
pub(super) const MOST: usize = 4096;
/// Bytes of the headers that go with a request: 32 KiB, more than servers take in.
const HEADERS: usize = 32 << 10;
/// Bytes of an answer that is no stream: 64 MiB. It is handed on whole, since half of one cannot be taken back.
const ANSWER: usize = 64 << 20;

/// All conversations of this node.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    next: AtomicU64,
    asked: Mutex<HashMap<u64, Arc<Asked>>>,
    served: Mutex<HashMap<(NodeId, u64), Arc<Served>>>,
}

/// A request that was handed on.
#[derive(Debug)]
pub(super) struct Asked {
    to: NodeId,
    state: Mutex<Answer>,
}

/// What has come of it.
#[derive(Debug, Default)]
struct Answer {
    /// The other node has it: it may be asked what has become of it.
    sent: bool,
    opened: Option<Reply>,
    queue: VecDeque<Bytes>,
    queued: usize,
    /// Bytes that were taken and not said to be.
    taken: usize,
    end: Option<Ended>,
    waker: Option<Waker>,
}

/// What a frame does to an answer.
type Act = Box<dyn FnOnce(&mut Answer)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// It was said whole.
    Whole,
    NotMine,
    /// Nobody knows what became of it.
    Lost,
}

/// A request that is answered here for another node.
#[derive(Debug)]
pub(super) struct Served(Mutex<Flow>);

/// How much more may be sent.
#[derive(Debug)]
struct Flow {
    credit: usize,
    gone: bool,
    waker: Option<Waker>,
}

/// What came of handing a request on.
pub(super) enum Forwarded {
    Answered(Box<dyn Source>),
    /// The other node does not hold the session any more. Nothing was done.
    NotMine,
    /// The other node has died before it got it.
    Dead,
    /// The other node has died, and may have done it.
    Lost,
    /// Too many are on their way.
    Full,
}

impl Conversations {
    fn begin(&self, to: NodeId) -> Option<(u64, Arc<Asked>)> {
        let mut asked = lock(&self.asked);
        if asked.len() >= MOST {
            return None;
        }
        let name = self.next.fetch_add(1, Ordering::Relaxed);
        let one = Arc::new(Asked { to, state: Mutex::default() });
        asked.insert(name, Arc::clone(&one));
        Some((name, one))
    }

    /// Takes in a request of another node's. `None` if there is no room, or it is here already.
    pub(super) fn serve(&self, from: NodeId, name: u64) -> Result<Arc<Served>, NotServed> {
        let mut served = lock(&self.served);
        if served.contains_key(&(from, name)) {
            return Err(NotServed::Already);
        }
        if served.len() >= MOST {
            return Err(NotServed::Full);
        }
        let one = Arc::new(Served(Mutex::new(Flow { credit: WINDOW, gone: false, waker: None })));
        served.insert((from, name), Arc::clone(&one));
        Ok(one)
    }

    pub(super) fn served(&self, from: NodeId, name: u64) {
        lock(&self.served).remove(&(from, name));
    }

    pub(super) fn credit(&self, from: NodeId, name: u64, bytes: usize) {
        let served = lock(&self.served).get(&(from, name)).cloned();
        served
            .iter()
            .for_each(|served| served.change(|flow| flow.credit = flow.credit.saturating_add(bytes).min(WINDOW)));
    }

    pub(super) fn gone(&self, from: NodeId, name: u64) {
        let served = lock(&self.served).get(&(from, name)).cloned();
        served.iter().for_each(|served| served.change(|flow| flow.gone = true));
    }

    /// Which of these are not being answered here.
    pub(super) fn unknown(&self, from: NodeId, names: Vec<u64>) -> Vec<u64> {
        let served = lock(&self.served);
        names.into_iter().filter(|name| !served.contains_key(&(from, *name))).collect()
    }

    /// Something has come for a request that was handed on.
    pub(super) fn heard(&self, from: NodeId, frame: Frame) {
        let (name, act): (u64, Act) = match frame {
            Frame::Whole { conversation, reply, bytes } => (
                conversation,
                Box::new(move |answer| {
                    answer.opened.get_or_insert(reply);
                    answer.push(bytes);
                    answer.end.get_or_insert(Ended::Whole);
                }),
            ),
            Frame::Opened { conversation, reply } => (
                conversation,
                Box::new(move |answer| {
                    answer.opened.get_or_insert(reply);
                }),
            ),
            Frame::Bytes { conversation, bytes } => (conversation, Box::new(move |answer| answer.push(bytes))),
            Frame::End { conversation } => (conversation, Box::new(|answer| answer.finish(Ended::Whole))),
            Frame::NotMine { conversation } => (conversation, Box::new(|answer| answer.finish(Ended::NotMine))),
            _ => return,
        };
        let asked = lock(&self.asked).get(&name).filter(|asked| asked.to == from).cloned();
        if let Some(asked) = asked {
            asked.change(act);
        }
    }

    /// These were lost at that node.
    pub(super) fn lost(&self, at: NodeId, names: &[u64]) {
        for name in names {
            let asked = lock(&self.asked).get(name).filter(|asked| asked.to == at).cloned();
            asked.iter().for_each(|asked| asked.change(|answer| answer.finish(Ended::Lost)));
        }
    }

    /// What was handed on, by the node that should answer it.
    pub(super) fn all_asked(&self) -> HashMap<NodeId, Vec<u64>> {
        let mut all: HashMap<NodeId, Vec<u64>> = HashMap::new();
        for (name, asked) in &*lock(&self.asked) {
            let state = lock(&asked.state);
            if state.sent && state.end.is_none() {
                all.entry(asked.to).or_default().push(*name);
            }
        }
        all
    }

    /// The node goes down: what it carries for its own clients ends.
    pub(super) fn close(&self) {
        let all: Vec<Arc<Asked>> = lock(&self.asked).values().cloned().collect();
        all.iter().for_each(|asked| asked.change(|answer| answer.finish(Ended::Lost)));
    }

    /// Whether nothing is answered for other nodes any more.
    pub(super) fn serves_none(&self) -> bool {
        lock(&self.served).is_empty()
    }

    fn forget(&self, name: u64) {
        lock(&self.asked).remove(&name);
    }
}

/// Why a request of another node is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotServed {
    /// It is being served: its frame came twice.
    Already,
    /// So many are, that nothing of it was begun.
    Full,
}

impl Answer {
    fn push(&mut self, bytes: Bytes) {
        let most =
            if self.opened.as_ref().is_some_and(|reply| reply.form != Form::Events) { ANSWER } else { 2 * WINDOW };
        if self.end.is_some() || bytes.is_empty() {
            return;
        }
        if self.queued + bytes.len() > most {
            tracing::error!("another node sends more than it was told to: its answer ends here");
            return self.finish(Ended::Lost);
        }
        self.queued += bytes.len();
        self.queue.push_back(bytes);
    }

    fn finish(&mut self, how: Ended) {
        self.end.get_or_insert(how);
    }
}

impl Asked {
    fn change(&self, act: impl FnOnce(&mut Answer)) {
        let waker = {
            let mut state = lock(&self.state);
            act(&mut state);
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// Whether it was opened; what is no stream is so when it is there whole.
    fn poll_opened(&self, cx: &Context<'_>) -> Poll<Result<Reply, Ended>> {
        let mut state = lock(&self.state);
        match (&state.opened, state.end) {
            (Some(reply), Some(Ended::Whole)) => Poll::Ready(Ok(reply.clone())),
            (Some(reply), _) if reply.form == Form::Events => Poll::Ready(Ok(reply.clone())),
            (None, Some(Ended::Whole)) => Poll::Ready(Err(Ended::Lost)),
            (_, Some(end)) => Poll::Ready(Err(end)),
            (_, None) => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Served {
    fn change(&self, act: impl FnOnce(&mut Flow)) {
        let waker = {
            let mut flow = lock(&self.0);
            act(&mut flow);
            flow.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// `Err` once the client has gone; ready once something may be sent, which `bounded` streams wait for.
    pub(super) fn poll_room(&self, bounded: bool, cx: &Context<'_>) -> Poll<Result<(), ()>> {
        let mut flow = lock(&self.0);
        if flow.gone {
            return Poll::Ready(Err(()));
        }
        if !bounded || flow.credit > 0 {
            return Poll::Ready(Ok(()));
        }
        flow.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ready once the client has gone.
    pub(super) fn poll_gone(&self, cx: &Context<'_>) -> Poll<()> {
        let mut flow = lock(&self.0);
        if flow.gone {
            return Poll::Ready(());
        }
        flow.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn spend(&self, bytes: usize) {
        let mut flow = lock(&self.0);
        flow.credit = flow.credit.saturating_sub(bytes);
    }
}

/// The answer that another node gives.
struct Remote {
    node: Arc<Node>,
    shared: Arc<Shared>,
    name: u64,
    asked: Arc<Asked>,
}

impl Node {
    /// Hands a request on to the node that holds its session, and waits for the head of its answer.
    pub(super) async fn forward(self: &Arc<Self>, shared: &Arc<Shared>, to: NodeId, request: &Request) -> Forwarded {
        let Some((name, asked)) = self.conversations.begin(to) else { return Forwarded::Full };
        // From here on it is forgotten, and the other node told, when this is dropped.
        let remote = Remote { node: Arc::clone(self), shared: Arc::clone(shared), name, asked };
        let ask = Frame::Ask(Box::new(as_frame(name, request))).encode(self.id);
        let weak: Weak<Shared> = Arc::downgrade(shared);
        match self.in_time(&weak, self.relay().send(to, ask)).await {
            Ok(true) => lock(&remote.asked.state).sent = true,
            Ok(false) => return Forwarded::Dead,
            Err(error) => {
                tracing::warn!(%error, "a request could not be handed on to the node that holds its session");
                return Forwarded::Lost;
            }
        }
        let opened = std::future::poll_fn(|cx| remote.asked.poll_opened(cx)).await;
        match opened {
            Ok(_) => Forwarded::Answered(Box::new(remote)),
            Err(Ended::NotMine) => Forwarded::NotMine,
            Err(Ended::Lost | Ended::Whole) => Forwarded::Lost,
        }
    }
}

/// A request as it is handed on: without what lets somebody in, since who asks was found out here.
fn as_frame(conversation: u64, request: &Request) -> Ask {
    let mut room = HEADERS;
    let secret = [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, CONNECTION, TRANSFER_ENCODING, HOST];
    let headers =
        request.head.headers().iter().filter(|(name, _)| !secret.contains(name)).filter_map(|(name, value)| {
            room = room.checked_sub(name.as_str().len() + value.len())?;
            Some((name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes())))
        });
    Ask {
        conversation,
        verb: request.verb,
        session: request.session,
        caller: request.caller.clone(),
        path: request.head.uri().path().to_owned(),
        headers: headers.collect(),
        body: request.message.as_ref().map(|message| message.body().clone()).unwrap_or_default(),
    }
}

impl Source for Remote {
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        self.asked.poll_opened(cx).map(|opened| opened.unwrap_or(UNOPENED))
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let (bytes, taken) = {
            let mut state = lock(&self.asked.state);
            let Some(bytes) = state.queue.pop_front() else {
                if state.end.is_some() {
                    return Poll::Ready(None);
                }
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            };
            state.queued -= bytes.len();
            state.taken += bytes.len();
            let due = state.taken >= WINDOW / 2 && state.end.is_none();
            (bytes, if due { std::mem::take(&mut state.taken) } else { 0 })
        };
        if taken > 0 {
            let credit = Frame::Credit { conversation: self.name, bytes: u32::try_from(taken).unwrap_or(u32::MAX) };
            self.node.say(Some(self.asked.to), credit);
        }
        Poll::Ready(Some(self.shared.seats.hand_out(bytes.into())))
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        let mut state = lock(&self.asked.state);
        if state.end != Some(Ended::Whole) {
            return None;
        }
        let mut all = Vec::from(state.queue.pop_front().unwrap_or_default());
        state.queue.drain(..).for_each(|bytes| all.extend_from_slice(&bytes));
        Some(all)
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.shared.seats
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.node.conversations.forget(self.name);
        let over = lock(&self.asked.state).end.is_some();
        if !over {
            self.node.say(Some(self.asked.to), Frame::Gone { conversation: self.name });
        }
    }
}
