//! Who reads a stream of a session: one response.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mcp_core::{EventId, Input, KeepAlives, Pull, Reply, StreamId, route};

use super::Cell;
use super::state::{Head, State};
use crate::log::Log;
use crate::run::Seats;
use crate::shared::Shared;
use crate::source::{CHUNK, Source, UNOPENED};

/// The reader of one stream.
pub(crate) struct Reader {
    cell: Arc<Cell>,
    shared: Arc<Shared>,
    stream: StreamId,
    /// Its name among the readers of the session.
    name: u32,
    phase: Phase,
    /// Bytes that were pulled too early, for [`Source::whole`].
    kept: Vec<u8>,
}

enum Phase {
    Reading,
    /// It gets no more, and the stream goes on.
    Leaving,
    /// The stream has ended, or has another reader.
    Over,
    /// There is no stream to read.
    Refused(Box<(Reply, Vec<u8>)>),
}

impl Reader {
    pub(super) fn new(cell: &Arc<Cell>, shared: &Arc<Shared>, stream: StreamId, name: u32, refused: bool) -> Self {
        let phase = if refused { Phase::Refused(Box::new(route::not_resumable())) } else { Phase::Reading };
        let (cell, shared) = (Arc::clone(cell), Arc::clone(shared));
        Self { cell, shared, stream, name, phase, kept: Vec::new() }
    }

    /// Adds what there is to `buf`, first from the log. `Wait` says that there is no more now.
    fn read(&mut self, state: &mut State, buf: &mut Vec<u8>) -> Pull {
        let keeper = self.cell.keeper(&self.shared);
        let Some(slot) = state.readers.slot_of(self.stream, self.name) else { return Pull::End };
        if slot.head == Head::Silence {
            slot.head = Head::Read;
            buf.extend_from_slice(KeepAlives::COMMENT);
        }
        if let (Some(after), Some(log)) = (slot.replays_after(), keeper.log) {
            let last = replay(log, &self.cell, after, buf);
            if !log.can_resume(self.cell.id, last) {
                // The stream has ended with it; or what comes after it is gone meanwhile, and there must be no gap.
                return Pull::Pause;
            }
            slot.replaying = NonZeroU64::new(last.number).filter(|_| buf.len() >= CHUNK);
            if slot.replaying.is_some() {
                return Pull::More;
            }
        }
        state.pull(keeper, self.stream, buf)
    }

    fn end(&mut self, pulled: Pull) {
        match pulled {
            Pull::More | Pull::Wait => {}
            Pull::Pause => self.phase = Phase::Leaving,
            Pull::End => self.phase = Phase::Over,
        }
    }
}

/// Adds what the log has after that event to `buf`, about as much as fits. Returns the last event that was added.
fn replay(log: &Log, cell: &Cell, after: EventId, buf: &mut Vec<u8>) -> EventId {
    let mut last = after;
    while buf.len() < CHUNK
        && let Some((next, framed)) = log.after(cell.id, last)
    {
        buf.extend_from_slice(&framed);
        last = next;
    }
    last
}

impl Source for Reader {
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        if let Phase::Refused(refusal) = &self.phase {
            return Poll::Ready(refusal.0.clone());
        }
        let mut state = self.cell.lock();
        let closed = state.awake().is_some_and(|awake| awake.closed);
        match state.readers.slot_of(self.stream, self.name) {
            Some(slot) => match slot.head {
                Head::Opened(opened) => {
                    slot.head = Head::Read;
                    Poll::Ready(match slot.refusal.take() {
                        Some(reply) => *reply,
                        None => opened.reply(self.cell.id),
                    })
                }
                Head::Awaited if !closed => {
                    slot.wait(cx);
                    Poll::Pending
                }
                Head::Awaited | Head::Read | Head::Silence => Poll::Ready(UNOPENED),
            },
            None => Poll::Ready(UNOPENED),
        }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut buf = std::mem::take(&mut self.kept);
        if matches!(self.phase, Phase::Reading) {
            let cell = Arc::clone(&self.cell);
            let mut state = cell.lock();
            let pulled = self.read(&mut state, &mut buf);
            self.end(pulled);
            cell.settle(&mut state, &self.shared);
            if buf.is_empty()
                && pulled == Pull::Wait
                && let Some(slot) = state.readers.slot_of(self.stream, self.name)
            {
                slot.wait(cx);
                return Poll::Pending;
            }
            let roomy = state.roomy();
            drop(state);
            roomy.into_iter().for_each(Waker::wake);
        }
        Poll::Ready((!buf.is_empty()).then(|| self.shared.seats.hand_out(buf)))
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.shared.seats
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        if let Phase::Refused(refusal) = &mut self.phase {
            return Some(std::mem::take(&mut refusal.1));
        }
        let mut buf = std::mem::take(&mut self.kept);
        let cell = Arc::clone(&self.cell);
        let mut state = cell.lock();
        let resumed = state.readers.slot_of(self.stream, self.name).is_some_and(|slot| slot.replaying.is_some());
        if resumed {
            // What is replayed is taken from the log as the reader has room.
            return None;
        }
        loop {
            let pulled = self.read(&mut state, &mut buf);
            self.end(pulled);
            match pulled {
                Pull::More => continue,
                Pull::End => {}
                Pull::Wait | Pull::Pause => self.kept = std::mem::take(&mut buf),
            }
            cell.settle(&mut state, &self.shared);
            let roomy = state.roomy();
            drop(state);
            roomy.into_iter().for_each(Waker::wake);
            return (pulled == Pull::End).then_some(buf);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if matches!(self.phase, Phase::Over | Phase::Refused(..)) {
            return;
        }
        let keeper = self.cell.keeper(&self.shared);
        let due = {
            let mut state = self.cell.lock();
            if state.readers.slot_of(self.stream, self.name).is_none() {
                return;
            }
            state.readers.forget(self.stream);
            let Some(mut hands) = state.hands() else {
                return self.cell.detach_asleep(&mut state, &self.shared, self.stream);
            };
            let due = hands.handle(keeper, Input::Detach { stream: self.stream });
            self.cell.settle(&mut state, &self.shared);
            due
        };
        self.cell.perform_elsewhere(&self.shared, due);
    }
}
