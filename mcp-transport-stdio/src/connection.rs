//! What a user sets before a connection runs, and how it ends.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_io::{AsyncRead, AsyncWrite};
use mcp_core::drive::Handler;
use mcp_core::{Caller, Event, MachineId, Pipe, Span};

use crate::clock::Clock;
use crate::driver::{Driver, Phase};
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::runner::{Listener, Runner};
use crate::shared::{Control, Shared};

/// One client on one byte stream: standard input and output, a socket, a pipe in memory.
///
/// Both eras are served, also mixed (VER-21). Nothing is spawned: calls run within the future that [`run`](Connection::run)
/// returns, and dropping it cancels them.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_transport_stdio::{Clock, Connection, Ended};
///
/// # use futures_io::{AsyncRead, AsyncWrite};
/// # use mcp_core::drive::Handler;
/// async fn serve<H: Handler, C: Clock>(
///     stream: (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
///     handler: Arc<H>,
///     clock: C,
/// ) -> std::io::Result<Ended> {
///     Connection::new(handler, clock).run(stream.0, stream.1).await
/// }
/// ```
pub struct Connection<H, C> {
    handler: Arc<H>,
    shared: Arc<Shared<C>>,
    caller: Caller,
    grace: Span,
    chunk: usize,
    listener: Option<Listener>,
}

/// Why a connection ended. None of these is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The peer's input ended (STDIO-4). What was owed was sent, except for calls that outran the grace time.
    EndOfInput,
    /// [`Control::shutdown`] was called.
    Shutdown,
    /// The peer takes no output any more: a broken pipe, or nothing was taken for the grace time after the end.
    Gone,
}

impl<H: Handler, C: Clock> Connection<H, C> {
    /// A connection that has not begun.
    #[must_use]
    pub fn new(handler: Arc<H>, clock: C) -> Self {
        // A connection is a machine of its own: its tickets meet no others.
        let shared = Shared::new(|now| Pipe::new(MachineId::default(), Arc::clone(handler.endpoint()), now), clock);
        Self { handler, shared, caller: Caller::anonymous(), grace: GRACE, chunk: CHUNK, listener: None }
    }

    /// Who the peer is: from configuration, as there is no authentication here (STDIO-8). Default: nobody, with no scopes.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// How long running calls may go on after the end of input, and how long a peer that takes no output is then waited for.
    ///
    /// Default: 1.5 s. Clients send SIGTERM 2 s after they have closed the input, and answers are to be out by then.
    ///
    /// A peer that leaves more than [`Limits::unsent`](mcp_core::policy::Limits::unsent) bytes unread is read from no more. Once
    /// it has taken nothing for this time, up to one [chunk](Connection::chunk) of its input is read ahead to find the end of
    /// it (STDIO-4), and answered if the peer takes output again. An end of input that is further away is not found: such a
    /// connection waits until the peer takes output, closes its end of it, or [`Control::shutdown`] is called.
    #[must_use]
    pub const fn grace(mut self, grace: Duration) -> Self {
        let millis = grace.as_millis();
        self.grace = Span(if millis > u64::MAX as u128 { u64::MAX } else { millis as u64 });
        self
    }

    /// Bytes read, and bytes written, at once; at least 1. Default: 64 KiB, what a pipe holds.
    ///
    /// A server with many idle sockets may want less: this much is held for each, and twice that and a byte for one whose peer
    /// has stopped reading and still writes.
    #[must_use]
    pub const fn chunk(mut self, bytes: usize) -> Self {
        self.chunk = if bytes == 0 { 1 } else { bytes };
        self
    }

    /// What to do with events, for logs and metrics. Called between messages, so it should be quick. Default: nothing.
    ///
    /// Their texts are safe to log and hold no message bodies. Standard output is the protocol's (STDIO-1).
    #[must_use]
    pub fn on_event(mut self, listener: impl FnMut(Event) + Send + 'static) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// A handle for ending the connection from outside, and for telling it of changes.
    #[must_use]
    pub fn control(&self) -> Control {
        self.shared.control()
    }

    /// Talks to the peer until one of them ends it. Both ends are closed then.
    ///
    /// Reading goes on while calls run; messages of different requests interleave on line boundaries (STDIO-6). A line that is
    /// no message is answered and skipped (STDIO-9).
    ///
    /// # Errors
    ///
    /// What the reader or the writer failed with, except where that means that the peer has gone.
    pub fn run<R, W>(self, reader: R, writer: W) -> impl Future<Output = io::Result<Ended>> + use<R, W, H, C>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let limits = self.handler.endpoint().policy().limits.clone();
        let uplink = Arc::clone(&self.shared) as Arc<_>;
        let watcher = Arc::downgrade(&self.shared);
        self.handler.subscribe(watcher);
        Driver {
            incoming: Incoming::new(reader, limits.line, self.chunk),
            outgoing: Outgoing::new(writer, self.chunk),
            runner: Runner::new(self.handler, self.listener, uplink),
            shared: self.shared,
            caller: self.caller,
            limits,
            grace: self.grace,
            phase: Phase::Open,
            blocked: None,
            timer: None,
        }
    }
}

impl<H, C> fmt::Debug for Connection<H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("caller", &self.caller)
            .field("grace", &self.grace)
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}

const GRACE: Span = Span::millis(1500);
const CHUNK: usize = 64 << 10;
