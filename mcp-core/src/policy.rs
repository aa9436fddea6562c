//! Bounds and delays, each with its unit and the reason for its default.

use alloc::vec::Vec;
use core::fmt;

use crate::time::{Span, Time};

/// Everything that an operator may tune, in one value.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Policy {
    /// What is bounded in number or size.
    pub limits: Limits,
    /// What is bounded in time.
    pub timing: Timing,
}

/// Bounds in number and size.
///
/// Take [`Limits::default`] and set its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of an HTTP body. 4 MiB: room for a base64 image of 3 MB, and a thousand of them fit into 4 GB.
    pub body: usize,
    /// Bytes of one line on a byte stream. 16 MiB: the peer is one local process, and clients send files inline there.
    pub line: usize,
    /// Depth of nested arrays and objects. 128: what `serde_json` takes for typed values, far under what a stack holds.
    pub depth: usize,
    /// Members of the envelope, of `params` and of `_meta`, each. 1,024: the protocol defines about a dozen.
    pub members: usize,
    /// Bytes of a request id or progress token. 1,024: a UUID has 36, and ids are kept while a call runs.
    pub id: usize,
    /// Calls in flight per session or byte stream, and per modern request one. 128: a model calls a handful at once.
    pub calls: usize,
    /// Messages in one 2025-03-26 batch. 64.
    pub batch: usize,
    /// Unsent bytes per machine before [`Gate::Full`](crate::Gate::Full). 8 MiB: two of the largest usual answers. HTTP has
    /// [`Limits::unread`] for it, since there an answer leaves its machine at once.
    pub unsent: usize,
    /// Unsent log messages per stream; the oldest are dropped and counted. 256.
    pub logs: usize,
    /// Unsent bytes of one stream over which a call waits that [waits for room](crate::Machine::has_room). 64 KiB: what a pipe or a
    /// socket holds. What each call says at once comes on top; logs make it wait before any of them need be dropped, and progress
    /// until that of its own is sent.
    pub window: usize,
    /// Listening (GET) streams per session. 8: a client that reconnects without closing stays well under it.
    pub listening: usize,
    /// Open `subscriptions/listen` per principal, and per byte stream. 64: one for each of the windows and agents of one person.
    pub listens: usize,
    /// The same of one HTTP endpoint, all clients together; those without a principal are bounded by it alone. 10,000, as
    /// [`Limits::sessions`]: each is a connection, or a stream of one.
    pub listens_total: usize,
    /// Bytes that the listens of one principal, or of one byte stream, may hold, if none of them reads. 1 MiB: thousands of URIs.
    pub listen_bytes: usize,
    /// The same of one HTTP endpoint, all clients together. 64 MiB: 6 KB each at the most listens.
    pub listen_bytes_total: usize,
    /// Resources that one listen, or one legacy session, may follow. 256: a client follows what it shows.
    pub subscriptions: usize,
    /// Bytes of their URIs, all together. 32 KiB: so many of 128 bytes.
    pub subscription_bytes: usize,
    /// Questions to the client open at once per call. 16.
    pub questions: usize,
    /// Bytes of state and answers that a call may carry from run to run. 64 KiB: it travels through the client.
    pub state: usize,
    /// Bytes of what the server's own code keeps of a session ([`Session::assigns`](crate::Session::assigns)). 16 KiB: who it is
    /// and what it chose, not what it loaded.
    pub assigns: usize,
    /// Times that one request may ask the client. 32: stops a handler that asks for ever.
    pub rounds: u32,
    /// Items on one page of a list. 1,000: all of them for nearly every server, and under 1 MB.
    pub page: usize,
    /// Calls of one HTTP endpoint that run at once, all sessions and modern requests together. 1,024: a call holds its
    /// arguments, so this bounds what one endpoint holds for them (4 GiB at worst), where [`Limits::calls`] bounds one
    /// client.
    pub running: usize,
    /// Bytes of large answers of one HTTP endpoint that their readers have not taken; over it, calls are refused as busy.
    /// 512 MiB: a hundred of the largest usual answers, and a reader that takes nothing is cut off after a while.
    pub unread: usize,
    /// Bytes of the events of one session in an [`EventLog`](crate::EventLog), with 256 for each of them; the oldest go first.
    /// 8 MiB: the largest usual answer, and what was said before it.
    pub log_of_session: usize,
    /// Bytes of the events of all sessions of one HTTP endpoint in it. 128 MiB: sixteen sessions that use all of theirs, or
    /// thousands with streams of a usual size.
    pub log: usize,
    /// Live sessions of one HTTP endpoint, whoever opened them, and with them all that they follow and keep. 10,000: at 1.5 KB
    /// each, 15 MB; 4 KiB more of each that declares extensions, and [`Limits::subscription_bytes`] more of each that follows
    /// resources. Where sessions sleep, new ones take nine of ten seats: the tenth is for sleepers that wake.
    pub sessions: usize,
    /// Those of them that have sent nothing after their handshake. 1,000: each has [`Timing::opening`] for it, so that clients
    /// open 33 a second at the least, and a flood of handshakes takes a tenth of the seats at most.
    pub sessions_opening: usize,
    /// Sleeping sessions of one HTTP endpoint. 1,000,000: at 256 bytes each, 256 MB.
    pub sessions_asleep: usize,
    /// Bytes of them: of each its [`Snapshot`](crate::Snapshot), with 96 for its place in the tables, 256 if it has open streams, and
    /// twice each URI that it follows. 512 MiB: twice what so many need that were asked nothing and follow nothing.
    pub sessions_asleep_bytes: usize,
    /// Sessions of one principal, live and asleep together. 10,000: a service account that many people share, and a hundredth of all.
    pub sessions_each: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 4 << 20,
            line: 16 << 20,
            depth: 128,
            members: 1024,
            id: 1024,
            calls: 128,
            batch: 64,
            unsent: 8 << 20,
            logs: 256,
            window: 64 << 10,
            listening: 8,
            listens: 64,
            listens_total: 10_000,
            listen_bytes: 1 << 20,
            listen_bytes_total: 64 << 20,
            subscriptions: 256,
            subscription_bytes: 32 << 10,
            questions: 16,
            state: 64 << 10,
            assigns: 16 << 10,
            rounds: 32,
            page: 1000,
            running: 1024,
            unread: 512 << 20,
            log_of_session: 8 << 20,
            log: 128 << 20,
            sessions: 10_000,
            sessions_opening: 1000,
            sessions_asleep: 1_000_000,
            sessions_asleep_bytes: 512 << 20,
            sessions_each: 10_000,
        }
    }
}

/// Delays and life times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// Quiet time after which a waiting HTTP answer or open stream gets a comment. 15 s: under the 30 to 60 s after
    /// which common proxies cut a silent response (HTTP-45).
    pub keep_alive: Span,
    /// How long one request may run, all its runs together. `None`: as long as somebody waits for it.
    pub call: Option<Span>,
    /// How long a legacy call may go on whose reader has left (HTTP-28). 10 minutes: work that was begun is finished, and
    /// work that nobody will ever read ends. `None`: for ever.
    pub orphan: Option<Span>,
    /// How long a finished legacy stream can still be resumed (HTTP-29). 5 minutes: a connection that broke is made again in
    /// seconds, a laptop that was shut is opened again after a while, and an answer that nobody fetches is let go.
    pub resume: Span,
    /// How long a legacy client is told to wait before it comes back to a stream whose connection has ended (HTTP-30). 1 s:
    /// what clients do by themselves.
    pub retry: Span,
    /// How long a question to a legacy client may stay unanswered (BASE-25). 5 minutes: a person reads and decides.
    pub question: Span,
    /// How long a new session may stay without a second message. 30 s: clients send `notifications/initialized` at once.
    pub opening: Span,
    /// Quiet time after which [`Output::Hibernate`](crate::Output::Hibernate) is said. 60 s; `None` switches it off.
    pub hibernate_after: Option<Span>,
    /// Quiet time after which a session ends. 2 h.
    pub idle: Span,
    /// How often a legacy client is asked whether it is still there; one that did not answer by the next time is taken for
    /// gone (LIFE-10). Off by default: transports notice a dead peer by themselves.
    pub ping: Option<Span>,
    /// How long a sealed `requestState` is good. 10 minutes: a person answers, the client retries (MRTR-9).
    pub state: Span,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            keep_alive: Span::secs(15),
            call: None,
            orphan: Some(Span::secs(600)),
            resume: Span::secs(300),
            retry: Span::secs(1),
            question: Span::secs(300),
            opening: Span::secs(30),
            hibernate_after: Some(Span::secs(60)),
            idle: Span::secs(7200),
            ping: None,
            state: Span::secs(600),
        }
    }
}

/// Seals the state of a call that asks its client, so that only this server can have written it (MRTR-8, MRTR-9).
///
/// The core has no keys and no cipher; the driver hands one in. `bound` is what the state must not be moved away from
/// (principal, method, digest of the parameters): it is authenticated and not stored.
pub trait Seal: Send + Sync + fmt::Debug {
    /// Text for the wire that [`Seal::open`] turns back into `plain`.
    fn seal(&self, bound: &[u8], plain: &[u8]) -> alloc::string::String;

    /// What was sealed; `None` if the text is not ours, was changed, or belongs to another `bound`.
    fn open(&self, bound: &[u8], sealed: &str) -> Option<Vec<u8>>;
}

/// The latest of the times seen: a driver whose clock runs back does no harm.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock(Time);

impl Clock {
    pub(crate) const fn new(now: Time) -> Self {
        Self(now)
    }

    pub(crate) fn advance(&mut self, now: Time) -> Time {
        self.0 = self.0.max(now);
        self.0
    }

    pub(crate) const fn now(self) -> Time {
        self.0
    }
}
