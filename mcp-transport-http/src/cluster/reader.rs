//! Who reads a stream of a session of this node: one response, here or at the node that the client is connected to.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mcp_core::wire::Id;
use mcp_core::{EventId, Reply, StreamId, route};

use super::cell::Cell;
use super::slot::{End, From, Next};
use super::state::Life;
use super::{interrupted, unavailable};
use crate::run::Seats;
use crate::runtime::Task;
use crate::shared::Shared;
use crate::source::{CHUNK, Source, UNOPENED};
use crate::store::{Replay, StoreError};

type Fetch = Pin<Box<dyn Future<Output = Result<Option<Replay>, StoreError>> + Send>>;

/// Times that the log is asked for the same before the reader is sent away, to come back by itself: 8, about 5 s.
const TRIES: u32 = 8;

/// The reader of one stream.
pub(super) struct Local {
    cell: Arc<Cell>,
    shared: Arc<Shared>,
    stream: StreamId,
    /// Its name among the readers of the session.
    name: u64,
    /// The request that is answered on it.
    owed: Option<Id>,
    /// What the log is asked for, after which event.
    fetch: Option<(u64, Fetch)>,
    /// Until the log is asked again.
    pause: Option<Task>,
    tries: u32,
    over: bool,
    /// What it is answered with in place of the stream.
    refusal: Option<(Reply, Vec<u8>)>,
}

impl Local {
    pub(super) fn new(cell: &Arc<Cell>, shared: &Arc<Shared>, stream: StreamId, name: u64, owed: Option<Id>) -> Self {
        let (cell, shared) = (Arc::clone(cell), Arc::clone(shared));
        Self { cell, shared, stream, name, owed, fetch: None, pause: None, tries: 0, over: false, refusal: None }
    }

    fn refuse(&mut self, refusal: (Reply, Vec<u8>)) -> Poll<Reply> {
        let reply = refusal.0.clone();
        self.refusal = Some(refusal);
        Poll::Ready(reply)
    }

    /// Its session was lost before the answer could leave.
    fn lost(&mut self) -> Poll<Reply> {
        match self.owed.clone() {
            Some(id) => self.refuse(route::refusal(Some(&id), &interrupted())),
            None => self.refuse((UNOPENED, Vec::new())),
        }
    }

    /// Hands on what the log had, and goes on after it.
    fn replayed(&mut self, last: u64, replay: Replay) -> Option<Bytes> {
        let tail = self.cell.lock().tail(self.stream);
        // A commit appends first and saves then: what the log has beyond the state that is stored may not leave yet.
        let stored = tail.map_or(u64::MAX, |tail| tail.stored);
        let mut last = last;
        let mut all = Vec::new();
        for (event, framed) in replay.events {
            // What is not the next event of this stream is not believed, nor what comes after it.
            let next = event.stream == self.stream && event.number == last + 1;
            if !next || EventId::of_event(&framed) != Some(event) {
                tracing::error!("the log of a session has given what was never in it: its stream ends here");
                self.over = true;
                break;
            }
            if event.number > stored {
                break;
            }
            last = event.number;
            all.extend_from_slice(&framed);
        }
        self.over |= replay.ended && tail.is_none();
        let mut state = self.cell.lock();
        if let Some(slot) = state.slot_of(self.stream, self.name) {
            slot.source = From::Log { last };
        }
        // Nothing more is there of a stream that has ended, or not what should be.
        self.over |= all.is_empty() && tail.is_none_or(|tail| tail.stored > last);
        let roomy = state.roomy();
        drop(state);
        roomy.into_iter().for_each(Waker::wake);
        (!all.is_empty()).then(|| self.shared.seats.hand_out(all))
    }

    fn ask_log(&self, last: u64) -> Fetch {
        let (cell, weak) = (Arc::clone(&self.cell), Arc::downgrade(&self.shared));
        let after = EventId { stream: self.stream, number: last };
        Box::pin(async move {
            let node = cell.node();
            node.in_time(&weak, node.log().after(cell.key(), after, CHUNK)).await
        })
    }

    /// Asks the log on. `Ready(None)` if there is nothing new in it.
    fn poll_log(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        let Some((last, fetch)) = &mut self.fetch else { return Poll::Ready(None) };
        let (last, fetched) = (*last, std::task::ready!(fetch.as_mut().poll(cx)));
        self.fetch = None;
        match fetched {
            Ok(Some(replay)) => {
                self.tries = 0;
                Poll::Ready(self.replayed(last, replay))
            }
            // The stream has ended with it, or what comes after it is gone: there must be no gap.
            Ok(None) => {
                self.over = true;
                Poll::Ready(None)
            }
            Err(error) => {
                self.tries += 1;
                tracing::warn!(%error, "a stream could not be read on from the log");
                if self.tries >= TRIES {
                    self.over = true;
                    return Poll::Ready(None);
                }
                let span = std::time::Duration::from_millis(10 << self.tries);
                self.pause = Some(self.shared.runtime.sleep(span));
                self.fetch = Some((last, self.ask_log(last)));
                self.poll_log(cx)
            }
        }
    }
}

impl Source for Local {
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<Reply> {
        let cell = Arc::clone(&self.cell);
        let mut state = cell.lock();
        let (life, speaks) = (state.life, state.may_speak(self.shared.now()));
        match state.slot_of(self.stream, self.name) {
            None if life == Life::Fenced => {
                drop(state);
                self.lost()
            }
            // It has been succeeded.
            None => Poll::Ready(UNOPENED),
            Some(slot) if slot.is_refused() => {
                drop(state);
                let id = self.owed.clone();
                self.refuse(route::refusal(id.as_ref(), &unavailable()))
            }
            Some(slot) => match if speaks { slot.take_open() } else { None } {
                Some(reply) => Poll::Ready(reply),
                None if life == Life::Left => Poll::Ready(UNOPENED),
                None => {
                    slot.wait(cx);
                    Poll::Pending
                }
            },
        }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some((_, body)) = &mut self.refusal {
            let body = std::mem::take(body);
            return Poll::Ready((!body.is_empty()).then(|| body.into()));
        }
        let cell = Arc::clone(&self.cell);
        loop {
            if self.over {
                return Poll::Ready(None);
            }
            let mut state = cell.lock();
            let speaks = state.may_speak(self.shared.now());
            let tail = state.tail(self.stream);
            let Some(slot) = state.slot_of(self.stream, self.name) else {
                self.over = true;
                continue;
            };
            if !speaks {
                slot.wait(cx);
                return Poll::Pending;
            }
            if self.fetch.is_some() {
                // Whatever comes of it, the lease is looked at again when it is there.
                slot.wait(cx);
                drop(state);
                match std::task::ready!(self.poll_log(cx)) {
                    Some(bytes) => return Poll::Ready(Some(bytes)),
                    None => continue,
                }
            }
            match slot.next(tail, CHUNK) {
                Next::Bytes(bytes) => {
                    let roomy = state.roomy();
                    drop(state);
                    roomy.into_iter().for_each(Waker::wake);
                    return Poll::Ready(Some(self.counted(bytes)));
                }
                Next::Log(last) => {
                    drop(state);
                    self.fetch = Some((last, self.ask_log(last)));
                }
                Next::Wait => {
                    slot.wait(cx);
                    return Poll::Pending;
                }
                Next::Over(End::Stream | End::Pause) => self.over = true,
            }
        }
    }

    fn whole(&mut self) -> Option<Vec<u8>> {
        if let Some((_, body)) = &mut self.refusal {
            return Some(std::mem::take(body));
        }
        let cell = Arc::clone(&self.cell);
        let mut state = cell.lock();
        if !state.may_speak(self.shared.now()) {
            return None;
        }
        let whole = match state.slot_of(self.stream, self.name) {
            Some(slot) => slot.whole(),
            // What never opened has no bytes.
            None => Some(Vec::new()),
        };
        self.over |= whole.is_some();
        whole
    }

    fn seats(&self) -> &Arc<Seats> {
        &self.shared.seats
    }
}

impl Local {
    fn counted(&self, bytes: Bytes) -> Bytes {
        self.shared.seats.hand_out(bytes.into())
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // Of a stream that has ended the machine knows nothing more.
        self.cell.detach(&self.shared, self.stream, self.name);
    }
}
