//! The vocabulary of the contract: what goes into a machine and what comes out.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::answer::Answer;
use crate::catalog::{Catalog, Handle, View};
use crate::fault::Fault;
use crate::headers::Head;
use crate::listeners::Claim;
use crate::peer::{Caller, Peer};
use crate::question::{Question, Resume};
use crate::reply::Reply;
use crate::time::Time;
use crate::timers::Timer;
use crate::wire::{Message, Unread};

/// A protocol state machine: [`Exchange`](crate::Exchange), [`Session`](crate::Session) or [`Pipe`](crate::Pipe).
///
/// Only [`handle`](Machine::handle) advances it; the other methods pop or look, so they may be called in any order and
/// at any time, and there is nothing to remember.
pub trait Machine: sealed::Sealed {
    /// Takes one input in. Never fails: a peer's mistake becomes a reply, late news from the driver is ignored.
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// The oldest output that was not taken yet.
    #[must_use]
    fn poll_output(&mut self) -> Option<Output>;

    /// Appends framed bytes of one stream to `buf` until it would hold more than `limit` bytes, at least one message. Call it
    /// again while it says [`Pull::More`]. With a limit of 0 each pull gives one message: for a driver that keeps an
    /// [`EventLog`](crate::EventLog).
    fn pull(&mut self, stream: StreamId, buf: &mut Vec<u8>, limit: usize) -> Pull;

    /// When to send [`Input::Tick`] at the latest, and why. Early and extra ticks do no harm.
    #[must_use]
    fn deadline(&self) -> Option<(Time, Timer)>;

    /// Whether the driver should stop reading from this peer for now.
    #[must_use]
    fn gate(&self) -> Gate;

    /// Whether the client has taken enough of what was said for this call to say more: for code that would rather wait than
    /// have its progress merged and its logs dropped. Look again after each [`pull`](Machine::pull) and each input.
    ///
    /// What counts is the call's stream, so one slow reader holds back no calls but its own: room is up to
    /// [`Limits::window`](crate::policy::Limits::window) unsent bytes, as long as a log of each call that runs on the stream
    /// fits within [`Limits::logs`](crate::policy::Limits::logs), and once no progress of this call is unsent, whose place more of it
    /// would take.
    ///
    /// True wherever waiting would be for nothing: the call does not run any more, nobody reads its stream, it carries answers
    /// alone, or what the call said last was not sent at all (no token, a level that is not wanted, progress that did not grow).
    #[must_use]
    fn has_room(&self, call: CallId) -> bool;

    /// Who follows the contents of that resource, if anybody does: whose view goes with [`Input::Updated`].
    #[must_use]
    fn subscriber(&self, uri: &str) -> Option<&Caller>;
}

pub(crate) mod sealed {
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::{CallId, View};

    /// What a recorder has to know of a machine.
    #[allow(unnameable_types)]
    pub trait Sealed {
        /// The assigns that a view may be looked at with which comes next: with a message, or with word of that resource.
        fn lenses(&self, uri: Option<&str>) -> Vec<Bytes>;

        /// The view that goes with a request which is judged once its sender is let in, which that call says.
        fn unjudged(&mut self, call: CallId) -> Option<&mut View>;
    }
}

/// The name of a machine, given by its driver when it makes the machine. It must differ between machines of one driver
/// whose tickets could meet. A session that wakes gets a new one, or keeps its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(pub u64);

/// The name of a call within its machine: a counter that never runs back, also over a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// The name of a stream of bytes within its machine, minted by the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl StreamId {
    /// The one stream of an [`Exchange`](crate::Exchange) and of a [`Pipe`](crate::Pipe).
    pub const ONLY: Self = Self(0);
}

/// The name of one event on a stream of a session: the stream's id and a count, `3-17` on the wire (HTTP-29). Unique over
/// all streams of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// The stream that it was sent on, and that it resumes.
    pub stream: StreamId,
    /// Which event of the stream, from 1.
    pub number: u64,
}

impl EventId {
    /// The event that a `Last-Event-ID` names; `None` for everything that this library never wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        let id = Self { stream: StreamId(stream.parse().ok()?), number: number.parse().ok()? };
        // One spelling only: no signs, no leading zeros.
        (alloc::format!("{id}") == text).then_some(id)
    }

    /// The id of one event as a machine frames it; `None` for what has none, as a comment.
    #[must_use]
    pub fn of_event(framed: &[u8]) -> Option<Self> {
        let rest = framed.strip_prefix(b"id: ")?;
        let end = memchr::memchr(b'\n', rest)?;
        Self::parse(core::str::from_utf8(&rest[..end]).ok()?)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream.0, self.number)
    }
}

/// The right to answer one call, once. Not `Clone`: [`Input::Done`] consumes it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a call whose ticket is dropped is never answered, except by its deadline"]
pub struct Ticket {
    pub(crate) machine: MachineId,
    pub(crate) call: CallId,
    /// Where the call table keeps it; a hint, checked against `call`.
    pub(crate) slot: u32,
}

impl Ticket {
    /// The machine that waits for the answer.
    #[must_use]
    pub const fn machine(&self) -> MachineId {
        self.machine
    }

    /// The call to answer.
    #[must_use]
    pub const fn call(&self) -> CallId {
        self.call
    }
}

/// What a driver tells a machine.
#[derive(Debug)]
// A message is moved in once; a box would cost every request an allocation.
#[allow(clippy::large_enum_variant)]
pub enum Input<'a> {
    /// The peer sent a message.
    Message {
        /// The message, read by [`wire::read`](crate::wire::read).
        message: Message,
        /// Over HTTP, the protocol's headers beside it.
        head: Option<&'a Head<'a>>,
        /// Who sent it, as the adapter's authenticator found.
        from: &'a Caller,
        /// What of the catalogue this caller may see.
        view: &'a View,
    },
    /// The peer sent something that is no message.
    Unread(Unread),
    /// Legacy HTTP GET: listen for what belongs to no request, or go on after an event that was received.
    Attach {
        /// The headers of the GET.
        head: &'a Head<'a>,
        /// Who asks.
        from: &'a Caller,
    },
    /// The reader of a stream has gone. On a modern stream this cancels its request; on a legacy one the work goes on, and
    /// what comes of it is said to be [ready](Output::Ready) for the event log, if the reader can come back.
    Detach {
        /// Which stream.
        stream: StreamId,
    },
    /// A running call has something to say.
    Note {
        /// Which call.
        call: CallId,
        /// What it says.
        note: Note,
    },
    /// A call has ended.
    Done {
        /// The right to answer it.
        ticket: Ticket,
        /// How it ended.
        outcome: Outcome,
    },
    /// The catalogue was swapped. A client that was promised word of it gets it, also if its view shows nothing of what
    /// differs.
    Changed {
        /// The new one.
        catalog: Arc<Catalog>,
        /// What of it differs.
        what: Change,
    },
    /// What a resource holds has changed. A client that follows it is told (RES-7, SUB-5).
    Updated {
        /// Which one, as its readers name it.
        uri: &'a str,
        /// What the one may see now who [follows](Machine::subscriber) it: nothing is said of what is hidden by now (SUB-9).
        view: &'a View,
    },
    /// The answer to [`Output::Listen`]: there is room, or there is none, and why.
    Listen(Result<(), Fault>),
    /// Time has passed.
    Tick,
    /// The conversation ends.
    Close(Close),
}

/// What a machine asks its driver to do. Exhaustive on purpose: a driver that skips one should fail to compile.
#[derive(Debug)]
pub enum Output {
    /// Run it: inline, spawned, on a pool, on another machine. Then hand the ticket back with [`Input::Done`].
    Call(Ticket, Box<Call>),
    /// A modern client over HTTP wants to listen (SUB-1). Say with [`Input::Listen`] whether there is room, before anything
    /// else; [`Listeners`](crate::Listeners) keeps count. From then on the machine wants to hear of changes until it ends, and
    /// then its room is free again. Said by an [`Exchange`](crate::Exchange) alone: what a byte stream may have is its own.
    Listen(Claim),
    /// Nobody waits for this call any more: stop it.
    Abandon(CallId),
    /// The [`Input::Message`] or [`Input::Attach`] just handled is answered on this stream: wait for its `Open`.
    /// Said by a [`Session`](crate::Session) once for each of them, before anything else about that stream.
    ///
    /// A stream that is [resumed](Output::Resume) is named again. Who read it until then has been succeeded: nothing more is
    /// to be pulled for that reader, and its end is not to be told.
    Expect(StreamId),
    /// The stream that was just named is read on after this event: send what the [`EventLog`](crate::EventLog) has of it, and
    /// then what is pulled. If the log [cannot](crate::EventLog::can_resume), answer with
    /// [`route::not_resumable`](crate::route::not_resumable) in place of it, and say [`Input::Detach`].
    ///
    /// Said by a [resumable](crate::Session::resumable) session only, after [`Output::Expect`] and before [`Output::Open`].
    Resume(EventId),
    /// The stream begins: status and shape, final, before its first byte. Said once, and again where it is resumed.
    Open {
        /// Which stream.
        stream: StreamId,
        /// Status and shape.
        reply: Reply,
    },
    /// The stream has bytes, or has ended: pull when the transport has room, and again for as long as [`Pull::More`] comes
    /// back, as it is said once however much there is.
    Ready(StreamId),
    /// Quiet for [`Timing::hibernate_after`](crate::policy::Timing): a good moment to put the session to sleep.
    Hibernate,
    /// For logs and metrics; may be ignored.
    Event(Event),
    /// The machine has ended and what was sent is all there is. Pull what is left, then drop it.
    Closed,
}

/// What came of [`Machine::pull`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Pull {
    /// The limit was reached and there is more.
    More,
    /// Nothing more for now; [`Output::Ready`] will tell.
    Wait,
    /// The response ends after these bytes, the stream does not: its reader is to come back (HTTP-30). End the response, and
    /// say [`Input::Detach`]. Said on streams of a [resumable](crate::Session::resumable) session only.
    Pause,
    /// The stream ends after these bytes.
    End,
}

/// Whether to read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Read on.
    Open,
    /// Too many unsent bytes: read no more from this peer until some are pulled.
    Full,
}

/// A piece of work for the server's own code.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name in its machine.
    pub id: CallId,
    /// What to run.
    pub kind: Kind,
    /// Who is at the other end.
    pub peer: Arc<Peer>,
    /// Who asks.
    pub caller: Caller,
    /// The request's `_meta`: JSON text of an object, or empty (BASE-22).
    pub meta: Bytes,
    /// Whether progress reaches anybody: the request carries a token and its stream can carry notifications.
    pub progress: bool,
    /// What an earlier run of the same request asked, and what came back.
    pub resume: Option<Box<Resume>>,
    /// When the machine will give it up.
    pub deadline: Option<Time>,
    /// What the server's own code keeps of the session, or of this request where there is none: what its [init](Kind::Init)
    /// answered, or what a call said since with [`Note::Assigns`]. Empty if there was neither.
    pub assigns: Bytes,
    /// Whether it came on a byte stream, where nobody without a principal can be told to come back with another token: what asks for
    /// scopes is not there for them (AUTH-6).
    pub byte_stream: bool,
}

/// What a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Whether this client is let in, and what is to be known of it: asked for only if the endpoint
    /// [says so](crate::EndpointBuilder::init). Answered with [`Answer::Init`], or with a fault, best of
    /// [`Fault::init_failed`], which the client is told.
    ///
    /// - Legacy: once, before `initialize` is answered. Until then there is no session; a refusal ends it.
    /// - Modern, and legacy without sessions: before anything else of each request, lists among them, once its envelope was
    ///   found right. Also of one that is refused then, so that who is not let in learns nothing from refusals. A retry with
    ///   answers (MRTR) is a request of its own. Not for `ping` and `server/discover`, which say nothing of anybody.
    ///
    /// It cannot ask, and its progress and logs reach nobody. It counts as a call of the client's; the time limit of its request is for
    /// both together.
    Init,
    /// A tool.
    Tool {
        /// The registrant's handle, not an index: the catalogue may be swapped meanwhile.
        tool: Handle,
        /// Its name, as listed.
        name: Arc<str>,
        /// JSON text of an object: `{}` if the peer sent none (TOOL-6).
        arguments: Bytes,
    },
    /// A resource, or an instance of a template.
    Resource {
        /// The registrant's handle of the resource or template.
        resource: Handle,
        /// The URI to read, as it was sent (RES-12).
        uri: Box<str>,
        /// What the template's variables stand for, in its order, percent-decoded once; none for a static resource.
        variables: Vec<(Box<str>, Box<str>)>,
    },
    /// A prompt.
    Prompt {
        /// The registrant's handle.
        prompt: Handle,
        /// Its name, as listed.
        name: Arc<str>,
        /// JSON text of an object of strings, with every required argument: `{}` if the peer sent none (PROMPT-3).
        arguments: Bytes,
    },
    /// Proposals for one argument of a prompt or one variable of a template (COMP-1).
    Complete {
        /// What is completed.
        of: Completes,
        /// The name of the argument or variable, one that the catalogue says can be completed.
        argument: Box<str>,
        /// What was typed so far; may be empty.
        value: Box<str>,
        /// What is known of the other arguments: JSON text of an object of strings, `{}` if nothing is.
        context: Bytes,
    },
    /// A method of an extension that both sides declared (EXT-2).
    Extension {
        /// The method.
        method: Box<str>,
        /// JSON text of an object.
        params: Bytes,
    },
}

impl Kind {
    /// The method that it answers.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            // Of whichever request it comes before; it answers none itself.
            Self::Init => "initialize",
            Self::Tool { .. } => "tools/call",
            Self::Resource { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
            Self::Complete { .. } => "completion/complete",
            Self::Extension { method, .. } => method,
        }
    }
}

/// What a completion is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completes {
    /// An argument of a prompt.
    Prompt {
        /// The registrant's handle.
        prompt: Handle,
        /// Its name, as listed.
        name: Arc<str>,
    },
    /// A variable of a template.
    Template {
        /// The registrant's handle.
        template: Handle,
        /// The template, as listed.
        uri: Arc<str>,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// With an answer.
    Complete(Answer),
    /// It must ask the client first, and will be run again with what comes back (ARCHITECTURE, rule 9).
    Ask {
        /// What to ask, by keys of the handler's own choice, each once.
        questions: Vec<(Box<str>, Question)>,
        /// What the next run needs to know: opaque bytes.
        state: Bytes,
    },
    /// With an error for the protocol, not for the model.
    Fail(Fault),
}

/// What a running call says on the way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// How far it is. Sent only if the request carries a token, and only if `progress` grew (PROG-1, PROG-2).
    Progress {
        /// How far.
        progress: f64,
        /// Of how much.
        total: Option<f64>,
        /// In words.
        message: Option<Box<str>>,
    },
    /// The person is done at a page that they were asked to open (ELIC-7). Sent to clients of 2025-11-25 that take pages; bounded
    /// as log messages are.
    PageDone {
        /// What the client knows the page by: the `id` of its [`Question::Url`](crate::question::Question::Url).
        id: Box<str>,
    },
    /// A log message for the client (LOG-1).
    Log {
        /// How serious.
        level: Level,
        /// Who says it.
        logger: Option<Box<str>>,
        /// JSON text of any value.
        data: Box<str>,
    },
    /// The response may end here and the client come back for the rest (HTTP-30): for a call that takes long. Nothing happens
    /// where the client could not come back: without an event log, before 2025-11-25, and on modern requests and byte streams.
    HangUp,
    /// What is kept of the session is this from now on; the last one counts. Calls that run already keep what they were
    /// handed. Where there is no session it is good for the request alone. Dropped if there are more bytes than
    /// [`Limits::assigns`](crate::policy::Limits).
    Assigns(Bytes),
}

/// How serious a log message is (LOG-1), lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// The usual course of things.
    Info,
    /// Usual but significant.
    Notice,
    /// Something may be wrong.
    Warning,
    /// Something failed.
    Error,
    /// A part has failed.
    Critical,
    /// Act at once.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// What of the catalogue changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources, or that of templates (RES-8).
    Resources,
}

impl Change {
    /// Every one of them.
    pub const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];
}

/// Why a conversation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Close {
    /// The peer's input has ended (stdio): what runs is finished and sent, nothing new is read (STDIO-4).
    EndOfInput,
    /// The peer ended the session (HTTP DELETE), or the transport broke: running calls are cancelled.
    Peer,
    /// The server goes down: running calls are cancelled, streams end.
    Shutdown,
}

/// What happened, for logs and metrics. Texts in it are safe to log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A session was opened, in this revision.
    Opened(crate::peer::Revision),
    /// A request was refused before it ran.
    Refused(Fault),
    /// A message was dropped: a notification nobody knows, an answer nobody waits for.
    Dropped(&'static str),
    /// Log messages were dropped from a full stream, this many in all.
    LogsDropped(u64),
    /// A call's answer came too late: cancelled, timed out, or answered before.
    Late(CallId),
    /// A call ran longer than it may and was answered for.
    TimedOut(CallId),
    /// Keys of `_meta` in a call's answer were not sent: they are the protocol's, or malformed, or of an extension that is not
    /// active (BASE-21, EXT-4).
    MetaDropped(CallId, Vec<Box<str>>),
    /// The session ended.
    Ended(Close),
    /// The session was idle for too long.
    Expired,
}
