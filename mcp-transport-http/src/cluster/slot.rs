//! What waits for one reader of a durable session: what may not leave yet, and what may.

use std::collections::VecDeque;
use std::task::{Context, Waker};

use bytes::Bytes;
use mcp_core::{Reply, StreamId};

/// What a reader of events leaves unread in memory: 256 KiB. What comes then it reads from the log.
const BUFFER: usize = 256 << 10;

/// What it may leave so before its calls wait that wait for it: 64 KiB. It never comes to the log then.
const WINDOW: usize = 64 << 10;

/// A piece of a stream: an event with its number, or what has none.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) number: Option<u64>,
    pub(super) bytes: Bytes,
}

/// A stream that somebody reads, or will read.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) stream: StreamId,
    /// Who reads it: a stream that is resumed has one reader after another.
    pub(super) reader: u64,
    /// Said since the last commit began.
    fresh: Option<Reply>,
    open: Gated<Reply>,
    end: Gated<End>,
    /// Said by the machine, and not stored yet.
    staged: Vec<Piece>,
    /// Stored: it may leave.
    out: VecDeque<Piece>,
    out_bytes: usize,
    pub(super) source: From,
    /// What was asked could not be stored in good time: the request is refused.
    refused: bool,
    waker: Option<Waker>,
}

/// Something that is said once, when what led to it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gated<T> {
    Unsaid,
    Staged(T),
    Out(T),
    Taken,
}

/// How a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With its stream.
    Stream,
    /// Before its stream: the reader is to come back.
    Pause,
}

/// Where a reader gets on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// What the machine says. The last event that it was handed is known, if there was any.
    Machine { handed: u64 },
    /// The log: it has all up to this event, once it has taken what is there.
    Log { last: u64 },
}

/// What there is for a reader now.
#[derive(Debug)]
pub(super) enum Next {
    Bytes(Bytes),
    /// The log is to be asked what comes after that event.
    Log(u64),
    Wait,
    Over(End),
}

impl<T> Gated<T> {
    fn release(&mut self) -> bool {
        match std::mem::replace(self, Self::Taken) {
            Self::Staged(what) => {
                *self = Self::Out(what);
                true
            }
            other => {
                *self = other;
                false
            }
        }
    }
}

impl Slot {
    pub(super) const fn new(stream: StreamId, reader: u64) -> Self {
        Self {
            stream,
            reader,
            fresh: None,
            open: Gated::Unsaid,
            end: Gated::Unsaid,
            staged: Vec::new(),
            out: VecDeque::new(),
            out_bytes: 0,
            source: From::Machine { handed: 0 },
            refused: false,
            waker: None,
        }
    }

    pub(super) fn opened(&mut self, reply: Reply) {
        self.fresh = Some(reply);
    }

    /// What was said so far is to be stored now.
    pub(super) fn stage(&mut self) {
        if let Some(reply) = self.fresh.take() {
            self.open = Gated::Staged(reply);
        }
    }

    pub(super) fn ended(&mut self, end: End) {
        self.end = Gated::Staged(end);
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.staged.push(piece);
    }

    /// What is staged is stored: it may leave. Returns whom to wake.
    pub(super) fn release(&mut self) -> Option<Waker> {
        let mut moved = self.open.release();
        moved |= self.end.release();
        // Who reads the log may have waited for what was staged before it came.
        moved |= !self.staged.is_empty() || matches!(self.source, From::Log { .. });
        for piece in self.staged.drain(..) {
            match self.source {
                From::Machine { .. } => {
                    self.out_bytes += piece.bytes.len();
                    self.out.push_back(piece);
                }
                // It is in the log, or it is a comment that broke a silence which is none.
                From::Log { .. } => {}
            }
        }
        self.bound();
        if moved { self.waker.take() } else { None }
    }

    /// Has a slow reader of events go on from the log. It must have the first event, since nobody can come back before it.
    fn bound(&mut self) {
        let From::Machine { handed } = self.source else { return };
        if self.out_bytes <= BUFFER {
            return;
        }
        let keep = match handed {
            0 => match self.out.iter().position(|piece| piece.number.is_some()) {
                Some(first) => first + 1,
                // No events: the answer of one request, which is one piece.
                None => return,
            },
            _ => 0,
        };
        let last = self.out.iter().take(keep).filter_map(|piece| piece.number).next_back().unwrap_or(handed);
        self.out.truncate(keep);
        self.out_bytes = self.out.iter().map(|piece| piece.bytes.len()).sum();
        self.source = From::Log { last };
    }

    /// Takes the head, if it may leave.
    pub(super) fn take_open(&mut self) -> Option<Reply> {
        match std::mem::replace(&mut self.open, Gated::Taken) {
            Gated::Out(reply) => Some(reply),
            other => {
                self.open = other;
                None
            }
        }
    }

    /// What the reader gets next. `stored` is the last event of its stream that is stored, if the stream is open, and `pulled`
    /// the last that was said.
    pub(super) fn next(&mut self, tail: Option<Tail>, room: usize) -> Next {
        if !self.out.is_empty() {
            return Next::Bytes(self.take(room));
        }
        if let From::Log { last } = self.source {
            match tail {
                // It has caught up.
                Some(Tail { stored, said, .. }) if last >= said && last >= stored => {
                    self.source = From::Machine { handed: last };
                }
                Some(Tail { stored, .. }) if last < stored => return Next::Log(last),
                Some(_) => return Next::Wait,
                None => return Next::Log(last),
            }
        }
        match self.end {
            Gated::Out(end) => Next::Over(end),
            Gated::Unsaid | Gated::Staged(_) | Gated::Taken => Next::Wait,
        }
    }

    fn take(&mut self, room: usize) -> Bytes {
        let mut number = None;
        let first = self.out.pop_front().map(|piece| {
            number = piece.number;
            piece.bytes
        });
        let first = first.unwrap_or_default();
        let mut all = Vec::new();
        while let Some(next) = self.out.front()
            && first.len().max(all.len()) + next.bytes.len() <= room
        {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&next.bytes);
            number = next.number.or(number);
            self.out.pop_front();
        }
        let bytes = if all.is_empty() { first } else { all.into() };
        self.out_bytes = self.out_bytes.saturating_sub(bytes.len());
        if let (From::Machine { handed }, Some(number)) = (&mut self.source, number) {
            *handed = number;
        }
        bytes
    }

    /// All that it will ever get, if that is there.
    pub(super) fn whole(&mut self) -> Option<Vec<u8>> {
        let over = matches!(self.source, From::Machine { .. }) && self.end == Gated::Out(End::Stream);
        if !over {
            return None;
        }
        let first = self.out.pop_front().map(|piece| piece.bytes).unwrap_or_default();
        // Most answers are one piece: handed over, not copied.
        let mut all = Vec::from(first);
        self.out.drain(..).for_each(|piece| all.extend_from_slice(&piece.bytes));
        Some(all)
    }

    /// Whether its reader has taken enough of what was said. One that reads the log has, once it has caught up.
    pub(super) fn has_room(&self, tail: Option<Tail>) -> bool {
        match self.source {
            From::Machine { .. } => self.out_bytes <= WINDOW,
            From::Log { last } => tail.is_none_or(|tail| last >= tail.stored),
        }
    }

    /// Whether something for it waits to be stored before its head can leave.
    pub(super) fn is_held_back(&self) -> bool {
        self.fresh.is_some() || matches!(self.open, Gated::Staged(_))
    }

    /// It gets nothing more here. Returns whom to wake.
    pub(super) fn finish(&mut self) -> Option<Waker> {
        if self.end == Gated::Unsaid {
            self.end = Gated::Out(End::Pause);
        }
        self.waker.take()
    }

    /// Whether its stream has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.end, Gated::Staged(End::Stream) | Gated::Out(End::Stream))
    }

    /// Its request is refused, since what it asks for cannot be stored. Returns whom to wake.
    pub(super) fn refuse(&mut self) -> Option<Waker> {
        self.refused = true;
        self.waker.take()
    }

    pub(super) const fn is_refused(&self) -> bool {
        self.refused
    }

    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }

    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        self.waker.take()
    }
}

/// How far an open stream of events has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// Its last event that is stored.
    pub(super) stored: u64,
    /// Its last event that the machine has said.
    pub(super) said: u64,
    /// It has ended with that, and its end is being stored.
    pub(super) ended: bool,
}
