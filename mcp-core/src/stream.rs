//! One stream of bytes to the peer: waiting for its shape, open, ended.
//!
//! The first message decides the shape: an answer first is plain JSON with the answer's own status; progress, a
//! log, a question or the keep-alive first makes it an event stream, whose status is 200 for good (HTTP-42).
//!
//! ```text
//!              answer, accepts JSON            pulled
//!   Waiting ───────────────────────► Open(Json) ─────► End
//!      │ note, question, keep-alive,               all answers pulled
//!      ├─────────────────────────► Open(Events) ──────────────────► End
//!      │ reader gone              resumed ▲ │ reader gone,            ▲
//!      ▼                                  │ ▼ has the id of an event  │
//!    Parked                               Left ───────────────────────┘
//! ```

use alloc::vec::Vec;

use crate::headers::Accept;
use crate::machine::{CallId, EventId, Pull, StreamId};
use crate::outbox::{FrameKind, Framing, Outbox};
use crate::policy::Limits;
use crate::reply::Reply;
use crate::snapshot::{Extent, Reader, Writer};
use crate::time::Span;

/// A stream and what waits on it.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    phase: Phase,
    accept: Accept,
    life: Life,
    outbox: Outbox,
    /// The last event that was sent, where events carry ids.
    numbers: Option<EventId>,
    /// Where its reader may be sent away and come back, after how long (HTTP-30).
    retry: Option<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No byte was sent: the shape is open.
    Waiting,
    /// Its head was sent.
    Open(Framing),
    /// Its reader has gone, and can come back: what comes is pulled into the event log as events (HTTP-29).
    Left,
    /// Its reader has gone; what comes is dropped, the work goes on (HTTP-28).
    Parked,
}

/// When a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// When that many answers have been sent.
    Owes { answers: u32, batch: bool },
    /// When its session ends, or its reader leaves.
    Listens,
    /// It has ended: what is queued is the last of it.
    Ended,
}

impl Stream {
    /// A stream that will carry the answer to one request.
    pub(crate) fn owing_one(accept: Accept) -> Self {
        Self::new(accept, Life::Owes { answers: 1, batch: false })
    }

    /// A stream that will carry the answers to the requests of a batch (BATCH-2).
    pub(crate) fn owing_batch(accept: Accept, answers: u32) -> Self {
        Self::new(accept, Life::Owes { answers, batch: true })
    }

    /// An open event stream for what belongs to no request (HTTP-25).
    pub(crate) fn listening(accept: Accept) -> Self {
        let mut stream = Self::new(accept, Life::Listens);
        stream.phase = Phase::Open(Framing::Events);
        // Sends the response head at once through proxies that wait for a first byte.
        stream.outbox.push(FrameKind::Comment, Vec::new(), 0);
        stream
    }

    /// A byte stream: lines, for as long as the conversation lasts. Nobody opens it.
    pub(crate) fn lines() -> Self {
        let mut stream = Self::new(Accept { json: true, events: true }, Life::Listens);
        stream.phase = Phase::Open(Framing::Lines);
        stream
    }

    /// A stream that is known whole: its head is said by who makes it.
    pub(crate) fn whole(body: Vec<u8>) -> Self {
        let mut stream = Self::new(Accept { json: true, events: true }, Life::Ended);
        stream.phase = Phase::Open(Framing::Bare);
        if !body.is_empty() {
            stream.outbox.push(FrameKind::Answer, body, 0);
        }
        stream
    }

    fn new(accept: Accept, life: Life) -> Self {
        Self { phase: Phase::Waiting, accept, life, outbox: Outbox::default(), numbers: None, retry: None }
    }

    /// From now on its events carry ids (HTTP-29), and it is primed if readers can be told to come back (HTTP-30).
    pub(crate) fn number_events(&mut self, stream: StreamId, retry: Option<Span>) {
        self.numbers = Some(EventId { stream, number: 0 });
        self.retry = retry;
        if self.phase == Phase::Open(Framing::Events) {
            self.prime();
        }
    }

    /// Whether that event was sent on it, with an id.
    pub(crate) fn has_sent(&self, event: EventId) -> bool {
        self.numbers.is_some_and(|last| (1..=last.number).contains(&event.number))
    }

    /// The last event that was sent on it, where they carry ids; its number is 0 before the first.
    pub(crate) const fn last_event(&self) -> Option<EventId> {
        self.numbers
    }

    /// Whether somebody reads events from it, and will read more.
    pub(crate) fn is_read(&self) -> bool {
        self.phase == Phase::Open(Framing::Events) && !self.is_settled()
    }

    /// The reader has gone. Returns whether it can come back, since it has an event to come back after; if not, nothing has
    /// happened.
    pub(crate) fn leave(&mut self) -> bool {
        let can = self.phase == Phase::Open(Framing::Events) && self.numbers.is_some_and(|last| last.number > 0);
        if can {
            self.phase = Phase::Left;
            self.outbox.forget_hanging_up();
        }
        can
    }

    /// A reader has come, for one that has left or is about to find out that it has been succeeded.
    pub(crate) fn come_back(&mut self) {
        if self.phase == Phase::Left {
            self.phase = Phase::Open(Framing::Events);
        }
        self.outbox.forget_hanging_up();
    }

    /// Sends the reader away, to come back for the rest (HTTP-30); does nothing where it could not. Returns the head of the
    /// stream if this is what opens it.
    pub(crate) fn hang_up(&mut self) -> Option<Reply> {
        let retry = self.retry.filter(|_| self.phase != Phase::Left && self.carries_notes())?;
        self.outbox.push(FrameKind::HangUp(retry), Vec::new(), 0);
        (self.phase == Phase::Waiting).then(|| self.open_events())
    }

    /// Queues an answer, whose own head is that. Returns the head of the stream if this is what opens it.
    pub(crate) fn answer(&mut self, json: Vec<u8>, head: Reply, limits: &Limits) -> Option<Reply> {
        self.settle_one();
        if self.phase == Phase::Parked {
            return None;
        }
        self.outbox.push(FrameKind::Answer, json, limits.logs);
        self.open_if_settled(head)
    }

    /// Ends one request without an answer: it was cancelled. Returns the head of the stream if this is what opens it.
    pub(crate) fn forget(&mut self, call: CallId) -> Option<Reply> {
        self.outbox.forget(call);
        self.settle_one();
        self.open_if_settled(Reply::json(200))
    }

    /// Forgets what was to be said to a listener that wants no more of it (SUB-10).
    pub(crate) fn forget_listen(&mut self, name: u64) {
        self.outbox.forget_listen(name);
    }

    /// Forgets what was to be said of changes to a legacy client, since it is told elsewhere.
    pub(crate) fn forget_news(&mut self) {
        self.outbox.forget_news();
    }

    /// Takes a question back that was not sent yet; false if it was.
    pub(crate) fn take_back(&mut self, question: u64) -> bool {
        self.outbox.take_back(question)
    }

    /// Queues a notification or question. Returns the head of the stream if this is what opens it; dropped where
    /// [`Stream::carries_notes`] is false.
    pub(crate) fn note(&mut self, kind: FrameKind, json: Vec<u8>, limits: &Limits) -> Option<Reply> {
        if !self.carries_notes() {
            return None;
        }
        self.outbox.push(kind, json, limits.logs);
        (self.phase == Phase::Waiting).then(|| self.open_events())
    }

    /// Breaks a silence with a comment (HTTP-45).
    pub(crate) fn keep_alive(&mut self) -> Option<Reply> {
        self.note(FrameKind::Comment, Vec::new(), &Limits::default())
    }

    /// The reader has gone.
    pub(crate) fn park(&mut self) {
        self.phase = Phase::Parked;
        self.outbox = Outbox::default();
    }

    /// Nothing will be added any more.
    pub(crate) fn end(&mut self) -> Option<Reply> {
        if let Life::Owes { answers, .. } = &mut self.life {
            *answers = 0;
        } else {
            self.life = Life::Ended;
        }
        self.open_if_settled(Reply::json(200))
    }

    /// Appends framed bytes to `buf`.
    pub(crate) fn pull(&mut self, buf: &mut Vec<u8>, limit: usize) -> Pull {
        let framing = match self.phase {
            Phase::Open(framing) => framing,
            Phase::Left => Framing::Events,
            Phase::Waiting => return Pull::Wait,
            Phase::Parked => return Pull::End,
        };
        match self.outbox.pull(framing, &mut self.numbers, buf, limit) {
            Pull::Wait if self.is_settled() => Pull::End,
            pulled => pulled,
        }
    }

    /// Whether progress, logs and questions can reach the peer on it.
    pub(crate) fn carries_notes(&self) -> bool {
        match self.phase {
            Phase::Waiting => self.accept.events,
            Phase::Open(framing) => {
                matches!(framing, Framing::Events | Framing::Lines) && !matches!(self.life, Life::Ended)
            }
            Phase::Left => !matches!(self.life, Life::Ended),
            Phase::Parked => false,
        }
    }

    /// Whether so many calls that speak on it, the request among them whose first run that was, may each say something more: also if
    /// nobody would hear it.
    pub(crate) fn has_room(&self, speakers: usize, origin: CallId, limits: &Limits) -> bool {
        !self.carries_notes() || self.outbox.has_room(speakers, origin, limits.window, limits.logs)
    }

    /// Whether it will carry nothing more than what is queued.
    pub(crate) const fn is_settled(&self) -> bool {
        matches!(self.life, Life::Owes { answers: 0, .. } | Life::Ended)
    }

    /// Whether a silence on it should be broken.
    pub(crate) fn wants_keep_alive(&self) -> bool {
        !self.is_settled() && self.carries_notes() && !self.is_left()
    }

    /// Whether somebody listens on it for what belongs to no request.
    pub(crate) fn is_listening(&self) -> bool {
        self.listens() && !self.is_left()
    }

    /// Whether it is for what belongs to no request.
    pub(crate) const fn listens(&self) -> bool {
        matches!(self.life, Life::Listens)
    }

    /// Whether its reader has gone, and can come back.
    pub(crate) fn is_left(&self) -> bool {
        self.phase == Phase::Left
    }

    /// Whether it can be forgotten: nobody reads it, and nothing is owed on it.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Parked && self.is_settled()
    }

    /// Whether what is queued on it can be pulled.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open(_) | Phase::Left)
    }

    pub(crate) fn is_lines(&self) -> bool {
        self.phase == Phase::Open(Framing::Lines)
    }

    pub(crate) const fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Whether nothing waits to be pulled from it, its end included.
    pub(crate) fn is_quiet(&self) -> bool {
        self.outbox.is_empty() && !self.is_settled()
    }

    /// Whether its client has an event of it to come back after, for more.
    pub(crate) fn is_told(&self) -> bool {
        let open = matches!(self.phase, Phase::Open(Framing::Events) | Phase::Left);
        open && !self.is_settled() && self.numbers.is_some_and(|last| last.number > 0)
    }

    /// Whether its reader is known to have gone.
    pub(crate) const fn is_unread(&self) -> bool {
        matches!(self.phase, Phase::Left | Phase::Parked)
    }

    /// Writes down a quiet stream: one byte, what it owes, and what it has dropped.
    pub(crate) fn save(&self, extent: Extent, out: &mut Writer) {
        let Self { phase, accept: Accept { json, events }, life, outbox, numbers, retry } = self;
        let phase = match phase {
            // Who has lost the node has lost the reader.
            _ if extent == Extent::Told => 3,
            Phase::Waiting => 0,
            Phase::Parked => 1,
            Phase::Open(Framing::Events) => 2,
            Phase::Left => 3,
            // A quiet stream of a session has no such shape: it ends with its only message.
            Phase::Open(Framing::Bare | Framing::Array | Framing::Lines) => 2,
        };
        let (life, owed) = match life {
            Life::Listens => (0, None),
            Life::Owes { answers, batch } => (1 + u8::from(*batch), Some(*answers)),
            Life::Ended => (3, None),
        };
        out.byte(phase | life << 2 | u8::from(*json) << 4 | u8::from(*events) << 5);
        if let Some(owed) = owed {
            out.number(owed.into());
        }
        out.loosely(|out| out.number(outbox.dropped_logs()));
        out.option(*numbers, |out, EventId { stream, number }| {
            out.number(stream.0);
            out.number(number);
        });
        out.option(*retry, |out, retry| out.number(retry.0));
    }

    pub(crate) fn load(from: &mut Reader<'_>) -> Option<Self> {
        let byte = from.byte()?;
        let accept = Accept { json: byte & 1 << 4 != 0, events: byte & 1 << 5 != 0 };
        let phase = match byte & 3 {
            0 => Phase::Waiting,
            1 => Phase::Parked,
            2 => Phase::Open(Framing::Events),
            _ => Phase::Left,
        };
        let life = match (byte >> 2 & 3, phase) {
            (0, Phase::Open(_) | Phase::Left) => Life::Listens,
            (batch @ (1 | 2), _) => {
                let answers = u32::try_from(from.number()?).ok().filter(|answers| *answers > 0)?;
                Life::Owes { answers, batch: batch == 2 }
            }
            _ => return None,
        };
        let outbox = Outbox::drained(from.counter()?);
        let numbers =
            from.option(|from| Some(EventId { stream: StreamId(from.number()?), number: from.counter()? }))?;
        let retry = from.option(|from| from.number().map(Span))?;
        // Nobody comes back to what carries no ids, or has sent none.
        let sound = match (phase, numbers) {
            (Phase::Left, None) => false,
            (Phase::Left, Some(last)) => last.number > 0,
            (_, numbers) => numbers.is_some() || retry.is_none(),
        };
        (sound && byte >> 6 == 0).then_some(Self { phase, accept, life, outbox, numbers, retry })
    }

    /// Opens a stream that waits for nothing any more: the shape can be chosen by what is queued.
    fn open_if_settled(&mut self, head: Reply) -> Option<Reply> {
        if self.phase != Phase::Waiting || !self.is_settled() {
            return None;
        }
        let batch = matches!(self.life, Life::Owes { batch: true, .. });
        if self.outbox.is_empty() {
            // Cancelled: an event stream without events, or nothing at all.
            return Some(if self.accept.events {
                self.open_events()
            } else {
                self.open(Framing::Bare, Reply::ACCEPTED)
            });
        }
        // A status other than 200 cannot be said by an event stream, so it wins over `Accept`.
        if self.accept.json || !self.accept.events || head.status != 200 {
            let (framing, head) = if batch { (Framing::Array, Reply::json(200)) } else { (Framing::Bare, head) };
            return Some(self.open(framing, head));
        }
        Some(self.open_events())
    }

    fn prime(&mut self) {
        if let Some(retry) = self.retry {
            self.outbox.prime(retry);
        }
    }

    fn open_events(&mut self) -> Reply {
        self.prime();
        self.open(Framing::Events, Reply::EVENTS)
    }

    fn open(&mut self, framing: Framing, reply: Reply) -> Reply {
        self.phase = Phase::Open(framing);
        reply
    }

    /// One answer less is owed.
    fn settle_one(&mut self) {
        if let Life::Owes { answers, .. } = &mut self.life {
            *answers = answers.saturating_sub(1);
        }
    }
}
