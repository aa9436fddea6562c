//! Frames that wait for nodes.

use std::collections::{HashMap, VecDeque};
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::store::{NodeId, StoreError};

/// How long a node is alive that does not receive. 5 s: it is between two receives for microseconds, or it hangs.
const LIVENESS: Duration = Duration::from_secs(5);
/// Frames in one inbox, and bytes of them.
const FRAMES: usize = 4096;
const BYTES: usize = 64 << 20;
/// Bytes after which no more frames are taken at once.
const TAKE: usize = 4 << 20;

/// The inboxes of the nodes that are alive, and of some that were.
#[derive(Debug, Default)]
pub(super) struct Inboxes {
    nodes: HashMap<NodeId, Inbox>,
    /// Who is to be woken once nobody holds the lock of these.
    woken: Vec<Waker>,
}

#[derive(Debug)]
struct Inbox {
    frames: VecDeque<Bytes>,
    bytes: usize,
    /// How many wait for it: one, unless its node errs.
    waiting: usize,
    waker: Waker,
    /// When somebody waited for it last, if nobody does now.
    seen: Instant,
}

impl Inboxes {
    /// Somebody begins to wait; says with [`Inboxes::leave`] when no longer.
    pub(super) fn enter(&mut self, node: NodeId, now: Instant) {
        self.bury(now);
        let inbox = self.nodes.entry(node).or_insert_with(|| Inbox {
            frames: VecDeque::new(),
            bytes: 0,
            waiting: 0,
            waker: Waker::noop().clone(),
            seen: now,
        });
        inbox.waiting += 1;
    }

    pub(super) fn leave(&mut self, node: NodeId, now: Instant) {
        if let Some(inbox) = self.nodes.get_mut(&node) {
            inbox.waiting = inbox.waiting.saturating_sub(1);
            inbox.seen = now;
        }
    }

    /// Some of the frames, oldest first; none: the waker will be woken once there are.
    pub(super) fn take(&mut self, node: NodeId, waker: &Waker) -> Vec<Bytes> {
        let Some(inbox) = self.nodes.get_mut(&node) else { return Vec::new() };
        let mut taken = Vec::new();
        let mut bytes = 0;
        while bytes < TAKE
            && let Some(frame) = inbox.frames.pop_front()
        {
            bytes += frame.len();
            taken.push(frame);
        }
        inbox.bytes -= bytes;
        if taken.is_empty() {
            inbox.waker.clone_from(waker);
        }
        taken
    }

    pub(super) fn send(&mut self, to: NodeId, frame: Bytes, now: Instant) -> Result<bool, StoreError> {
        self.bury(now);
        let Some(inbox) = self.nodes.get_mut(&to) else { return Ok(false) };
        inbox.put(frame, &mut self.woken)?;
        Ok(true)
    }

    pub(super) fn broadcast(&mut self, from: NodeId, frame: &Bytes, now: Instant) -> Result<(), StoreError> {
        self.bury(now);
        let others = self.nodes.iter_mut().filter(|(node, _)| **node != from);
        // Each gets it, whatever another's inbox says.
        others.map(|(_, inbox)| inbox.put(frame.clone(), &mut self.woken)).fold(Ok(()), Result::and)
    }

    pub(super) fn remove(&mut self, node: NodeId) {
        self.nodes.remove(&node);
    }

    /// Those who are to be woken.
    pub(super) fn woken(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.woken)
    }

    fn bury(&mut self, now: Instant) {
        self.nodes.retain(|_, inbox| inbox.waiting > 0 || now.saturating_duration_since(inbox.seen) <= LIVENESS);
    }
}

impl Inbox {
    fn put(&mut self, frame: Bytes, woken: &mut Vec<Waker>) -> Result<(), StoreError> {
        let fits = self.frames.len() < FRAMES && self.bytes + frame.len() <= BYTES;
        if !fits && !self.frames.is_empty() {
            return Err(StoreError::Full("the inbox of a node, which does not receive fast enough".into()));
        }
        self.bytes += frame.len();
        self.frames.push_back(frame);
        woken.push(std::mem::replace(&mut self.waker, Waker::noop().clone()));
        Ok(())
    }
}
