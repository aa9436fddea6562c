//! A stream's queue of unsent messages: bounded, coalescing, and never losing an answer (ARCHITECTURE, rule 6).
//!
//! | what | when there is no room, or the same again |
//! |---|---|
//! | answer, question | always kept; their number is limited where calls and questions are admitted |
//! | progress | the last one per call replaces the one before |
//! | `list_changed`, `updated`, word for who listens | once per list, resource and listener |
//! | log | the oldest is dropped and counted |
//! | hanging up | once |
//! | comment | only into an empty queue: it is there to break a silence |

use alloc::collections::VecDeque;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use crate::machine::{CallId, Change, EventId, Pull};
use crate::time::Span;
use crate::wire;

/// One unsent message.
#[derive(Clone, Debug)]
struct Frame {
    kind: FrameKind,
    json: Vec<u8>,
}

/// What a message is, as far as the queue cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Answer,
    /// A request to the client, by its id.
    Question(u64),
    /// Word that a question needs no answer any more.
    Withdrawal,
    /// Of the request whose first run that was.
    Progress(CallId),
    ListChanged(Change),
    /// Word of a resource's new contents, for the legacy client.
    Updated,
    /// Word for the modern listener of that name.
    Listen(u64),
    Log,
    Comment,
    /// An event without data, to resume after before anything was said (HTTP-30).
    Priming(Span),
    /// Word that the response ends here, and its client is to come back (HTTP-30).
    HangUp(Span),
}

/// How messages are set apart on their transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One message, as it is.
    Bare,
    /// All messages of the queue, as one JSON array (BATCH-2).
    Array,
    /// Server-sent events.
    Events,
    /// One message a line.
    Lines,
}

impl Framing {
    /// Bytes that it adds to a message.
    const fn overhead(self) -> usize {
        match self {
            Self::Bare => 0,
            Self::Array | Self::Lines => 1,
            Self::Events => b"data: \n\n".len(),
        }
    }
}

/// The queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    frames: VecDeque<Frame>,
    bytes: usize,
    logs: usize,
    dropped_logs: u64,
}

impl Outbox {
    /// Queues a message by the rules above. `max_logs` bounds the logs among them.
    pub(crate) fn push(&mut self, kind: FrameKind, json: Vec<u8>, max_logs: usize) {
        match kind {
            FrameKind::Progress(_) | FrameKind::ListChanged(_) | FrameKind::HangUp(_) => {
                if let Some(same) = self.frames.iter_mut().rev().find(|frame| frame.kind == kind) {
                    self.bytes = self.bytes - same.json.len() + json.len();
                    same.json = json;
                    return;
                }
            }
            // The text says of what, and to whom.
            FrameKind::Updated | FrameKind::Listen(_) => {
                if self.frames.iter().any(|frame| frame.kind == kind && frame.json == json) {
                    return;
                }
            }
            FrameKind::Log => self.make_room_for_log(max_logs),
            FrameKind::Comment if !self.frames.is_empty() => return,
            FrameKind::Comment
            | FrameKind::Answer
            | FrameKind::Question(_)
            | FrameKind::Withdrawal
            | FrameKind::Priming(_) => {}
        }
        self.bytes += json.len();
        self.frames.push_back(Frame { kind, json });
    }

    /// Queues what primes its reader, before everything else. It opens proxies too, so that no comment need.
    pub(crate) fn prime(&mut self, retry: Span) {
        self.retain(|kind| kind != FrameKind::Comment);
        self.frames.push_front(Frame { kind: FrameKind::Priming(retry), json: Vec::new() });
    }

    /// The reader has gone by itself.
    pub(crate) fn forget_hanging_up(&mut self) {
        self.retain(|kind| !matches!(kind, FrameKind::HangUp(_)));
    }

    /// Forgets what belongs to a call that ended without an answer (CANC-2).
    pub(crate) fn forget(&mut self, call: CallId) {
        self.retain(|kind| kind != FrameKind::Progress(call));
    }

    /// Forgets what was to be said to a listener that wants no more of it (SUB-10).
    pub(crate) fn forget_listen(&mut self, name: u64) {
        self.retain(|kind| kind != FrameKind::Listen(name));
    }

    /// Whether word of that waits to be sent.
    pub(crate) fn holds(&self, kind: FrameKind, json: &[u8]) -> bool {
        self.frames.iter().any(|frame| frame.kind == kind && frame.json == json)
    }

    /// Forgets what was to be said of changes to a legacy client.
    pub(crate) fn forget_news(&mut self) {
        self.retain(|kind| !matches!(kind, FrameKind::ListChanged(_) | FrameKind::Updated));
    }

    /// Takes a question back that was not sent yet; false if it was.
    pub(crate) fn take_back(&mut self, question: u64) -> bool {
        let before = self.frames.len();
        self.retain(|kind| kind != FrameKind::Question(question));
        self.frames.len() < before
    }

    /// Appends framed messages until `buf` would hold more than `limit` bytes, at least one.
    /// Events are numbered if there is a number to go on from.
    pub(crate) fn pull(
        &mut self,
        framing: Framing,
        numbers: &mut Option<EventId>,
        buf: &mut Vec<u8>,
        limit: usize,
    ) -> Pull {
        if framing == Framing::Array {
            return self.pull_array(buf);
        }
        let start = buf.len();
        while let Some(frame) = self.frames.front() {
            if buf.len() > start && buf.len() + frame.json.len() + framing.overhead() > limit {
                return Pull::More;
            }
            if let Some(FrameKind::HangUp(_)) = self.pull_front(framing, numbers, buf) {
                return Pull::Pause;
            }
        }
        Pull::Wait
    }

    fn pull_array(&mut self, buf: &mut Vec<u8>) -> Pull {
        let mut open = b'[';
        while self.frames.front().is_some() {
            buf.push(open);
            let _ = self.pull_front(Framing::Bare, &mut None, buf);
            open = b',';
        }
        if open == b',' {
            buf.push(b']');
        }
        Pull::Wait
    }

    fn pull_front(&mut self, framing: Framing, numbers: &mut Option<EventId>, buf: &mut Vec<u8>) -> Option<FrameKind> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.json.len();
        self.logs -= usize::from(frame.kind == FrameKind::Log);
        match framing {
            // Most replies are one message into an empty buffer: hand it over instead of copying it.
            Framing::Bare if buf.is_empty() => *buf = frame.json,
            Framing::Bare | Framing::Array => buf.extend_from_slice(&frame.json),
            Framing::Lines => wire::lines::write(buf, &frame.json),
            Framing::Events => self::event(&frame, numbers, buf),
        }
        Some(frame.kind)
    }

    /// Bytes that wait.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether so many calls may each say something more before anything is dropped or takes the place of what that call has said,
    /// and few bytes wait.
    pub(crate) fn has_room(&self, speakers: usize, call: CallId, window: usize, max_logs: usize) -> bool {
        // One that is empty has room whatever the limits are, or nobody could ever speak.
        let fits = self.bytes <= window && (self.logs == 0 || self.logs.saturating_add(speakers) <= max_logs);
        fits && !self.frames.iter().any(|frame| frame.kind == FrameKind::Progress(call))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// An empty queue from which that many logs were dropped so far.
    pub(crate) fn drained(dropped_logs: u64) -> Self {
        Self { dropped_logs, ..Self::default() }
    }

    /// How many logs were dropped so far.
    pub(crate) const fn dropped_logs(&self) -> u64 {
        self.dropped_logs
    }

    fn make_room_for_log(&mut self, max_logs: usize) {
        while self.logs >= max_logs.max(1) {
            let Some(oldest) = self.frames.iter().position(|frame| frame.kind == FrameKind::Log) else { break };
            if let Some(frame) = self.frames.remove(oldest) {
                self.bytes -= frame.json.len();
            }
            self.logs -= 1;
            self.dropped_logs += 1;
        }
        self.logs += 1;
    }

    fn retain(&mut self, keep: impl Fn(FrameKind) -> bool) {
        let bytes = &mut self.bytes;
        self.frames.retain(|frame| {
            let stays = keep(frame.kind);
            *bytes -= if stays { 0 } else { frame.json.len() };
            stays
        });
    }
}

fn event(frame: &Frame, numbers: &mut Option<EventId>, buf: &mut Vec<u8>) {
    match frame.kind {
        FrameKind::Comment => return wire::sse::comment(buf, ""),
        FrameKind::HangUp(retry) => return wire::sse::retry(buf, retry.0),
        _ => {}
    }
    let id = numbers.as_mut().map(|last| {
        last.number += 1;
        last.to_string()
    });
    match (frame.kind, id) {
        (FrameKind::Priming(retry), Some(id)) => wire::sse::priming(buf, &id, retry.0),
        (_, id) => wire::sse::event(buf, id.as_deref(), &frame.json),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    fn outbox(frames: &[(FrameKind, &str)], max_logs: usize) -> Outbox {
        let mut outbox = Outbox::default();
        for (kind, json) in frames {
            outbox.push(*kind, json.as_bytes().to_vec(), max_logs);
        }
        outbox
    }

    fn lines(outbox: &mut Outbox) -> String {
        let mut buf = Vec::new();
        assert_eq!(outbox.pull(Framing::Lines, &mut None, &mut buf, usize::MAX), Pull::Wait);
        assert_eq!(outbox.bytes(), 0);
        String::from_utf8(buf).unwrap()
    }

    const P1: FrameKind = FrameKind::Progress(CallId(1));
    const P2: FrameKind = FrameKind::Progress(CallId(2));
    const TOOLS: FrameKind = FrameKind::ListChanged(Change::Tools);

    #[test]
    fn progress_keeps_the_last_of_each_call_prog_6() {
        let mut outbox = outbox(&[(P1, "1"), (P2, "2"), (P1, "3333"), (FrameKind::Answer, "4")], 9);
        assert_eq!(outbox.bytes(), 6);
        assert_eq!(lines(&mut outbox), "3333\n2\n4\n");
    }

    #[test]
    fn list_changed_waits_once() {
        assert_eq!(lines(&mut outbox(&[(TOOLS, "1"), (FrameKind::Answer, "2"), (TOOLS, "1")], 9)), "1\n2\n");
    }

    #[test]
    fn what_is_said_to_a_listener_waits_once_for_each_of_them_sub_13() {
        let (a, b) = (FrameKind::Listen(1), FrameKind::Listen(2));
        let mut outbox = outbox(&[(a, "ack"), (a, "x"), (b, "y"), (FrameKind::Updated, "x"), (a, "z"), (a, "x")], 9);
        assert_eq!(outbox.bytes(), 7);
        outbox.forget_listen(2);
        assert_eq!(lines(&mut outbox), "ack\nx\nx\nz\n");
        outbox.push(a, b"x".to_vec(), 9);
        assert_eq!(lines(&mut outbox), "x\n", "once it was sent it is news again");
    }

    #[test]
    fn logs_drop_the_oldest_and_count_and_answers_never_drop() {
        let log = FrameKind::Log;
        let mut outbox =
            outbox(&[(log, "1"), (FrameKind::Answer, "2"), (log, "3"), (log, "4"), (FrameKind::Question(5), "5")], 2);
        assert_eq!(outbox.dropped_logs(), 1);
        assert_eq!(lines(&mut outbox), "2\n3\n4\n5\n");
        outbox.push(log, b"6".to_vec(), 2);
        outbox.push(log, b"7".to_vec(), 2);
        assert_eq!(outbox.dropped_logs(), 1);
    }

    #[test]
    fn a_pull_stops_at_its_limit_but_gives_at_least_one_message() {
        let mut outbox =
            outbox(&[(FrameKind::Answer, "11111111"), (FrameKind::Answer, "2"), (FrameKind::Answer, "3")], 9);
        let mut buf = Vec::new();
        assert_eq!(outbox.pull(Framing::Lines, &mut None, &mut buf, 4), Pull::More);
        assert_eq!(buf, b"11111111\n");
        buf.clear();
        assert_eq!(outbox.pull(Framing::Lines, &mut None, &mut buf, 4), Pull::Wait);
        assert_eq!(buf, b"2\n3\n");
    }

    #[test]
    fn a_comment_breaks_a_silence_only() {
        let mut outbox = outbox(&[(FrameKind::Comment, ""), (FrameKind::Comment, ""), (FrameKind::Answer, "1")], 9);
        let mut buf = Vec::new();
        let _ = outbox.pull(Framing::Events, &mut None, &mut buf, usize::MAX);
        assert_eq!(String::from_utf8(buf).unwrap(), ": \n\ndata: 1\n\n");
    }

    #[test]
    fn forgetting_a_call_drops_its_progress_alone_canc_2() {
        let mut outbox = outbox(&[(P1, "1"), (P2, "2"), (FrameKind::Answer, "3")], 9);
        outbox.forget(CallId(1));
        assert_eq!(lines(&mut outbox), "2\n3\n");
    }

    #[test]
    fn a_batch_is_answered_as_one_array_batch_2() {
        let mut outbox = outbox(&[(FrameKind::Answer, "1"), (FrameKind::Answer, "2")], 9);
        let mut buf = Vec::new();
        let _ = outbox.pull(Framing::Array, &mut None, &mut buf, 0);
        assert_eq!(buf, b"[1,2]");
    }
}
