//! The run loop: what a reader, a writer, a clock and the server's code need to do for a [`Pipe`](mcp_core::Pipe).
//!
//! ```text
//!           lines               Call
//! Incoming ───────► Pipe ───────────────► Runner: calls, polled once where they stand, parked if pending
//!                   ▲ │ ▲                   │
//!        timer: Tick ─┘ │ └─────────────────┘
//! Outgoing ◄────────────┘    Done, Note
//!           pull
//! ```
//!
//! All rules of the protocol are the machine's. What is decided here is when to read, when to write and when to stop:
//! - no message is taken in while the machine's gate is full, so a peer that does not read blocks itself, and its calls go on;
//! - a peer that has blocked itself for the grace time may have left: one chunk is read ahead, and kept, to find the end of input;
//! - nothing is pulled while the writer is blocked, so the machine can go on merging what waits;
//! - after the end of input, calls have the grace time to finish, and a writer that takes nothing for that long is given up.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_io::{AsyncRead, AsyncWrite};
use mcp_core::drive::Handler;
use mcp_core::policy::Limits;
use mcp_core::wire::lines::Line;
use mcp_core::wire::{self, Unread};
use mcp_core::{Caller, Close, Gate, Input, Machine, Span, Time};

use crate::clock::Clock;
use crate::connection::Ended;
use crate::incoming::{Incoming, Read};
use crate::outgoing::{Outgoing, Sent};
use crate::runner::Runner;
use crate::shared::Shared;

/// Rounds in one poll before other tasks of the same thread get their turn: at 64 KiB a round, some milliseconds.
const ROUNDS: usize = 16;

/// Longest that lines already read are handled before their answers are written: a slow handler must not hold back the answers
/// of those before it. A full chunk of quick calls takes less, and one write for all of them costs the peer one wake-up.
const SLICE: Span = Span::millis(1);

/// One connection under way.
pub(crate) struct Driver<R, W, H, C: Clock> {
    pub(crate) incoming: Incoming<R>,
    pub(crate) outgoing: Outgoing<W>,
    pub(crate) runner: Runner<H>,
    pub(crate) shared: Arc<Shared<C>>,
    pub(crate) caller: Caller,
    pub(crate) limits: Limits,
    pub(crate) grace: Span,
    pub(crate) phase: Phase,
    /// Since when the writer has taken nothing.
    pub(crate) blocked: Option<Time>,
    pub(crate) timer: Option<Alarm<C::Sleep>>,
}

/// How far the conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Messages are read.
    Open,
    /// The end of input was found, behind messages that wait for the gate to open.
    Stranded { since: Time },
    /// Nothing more is read; what runs may finish until then.
    Finishing { until: Time },
    /// Nothing runs any more; what is ready is sent.
    Leaving { ended: Ended, since: Time },
    /// All was sent.
    Closing { ended: Ended, since: Time },
}

/// A sleep under way.
#[derive(Debug)]
pub(crate) struct Alarm<S> {
    at: Time,
    sleep: Pin<Box<S>>,
}

/// What writing came to.
enum Written {
    /// Nothing, and what could be done about it was done.
    None,
    /// Something: there may be room to read on.
    Some,
    /// All there will ever be.
    Ended(Ended),
}

impl<R, W, H, C> Future for Driver<R, W, H, C>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    H: Handler,
    C: Clock,
{
    type Output = io::Result<Ended>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        for _ in 0..ROUNDS {
            this.attend(cx);
            let mut rests = this.poll_timer(cx);
            this.runner.poll_calls(&this.shared, cx);
            rests &= this.poll_read(cx)?;
            this.notice_end();
            match this.poll_write(cx)? {
                Written::Ended(ended) => return Poll::Ready(Ok(ended)),
                Written::Some => rests = false,
                Written::None => {}
            }
            if rests && this.shared.leave(cx.waker()) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<R, W, H, C> Driver<R, W, H, C>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    H: Handler,
    C: Clock,
{
    /// Takes notice of what was said from outside.
    fn attend(&mut self, cx: &mut Context<'_>) {
        self.runner.now = self.shared.clock().now();
        let state = self.shared.attend();
        let shutdown = state.shutdown;
        self.runner.settle(&self.shared, state, cx);
        self.tell_updated(cx);
        if shutdown && !matches!(self.phase, Phase::Leaving { .. } | Phase::Closing { .. }) {
            self.leave(Ended::Shutdown, Close::Shutdown, cx);
        }
    }

    /// Tells the client of resources that have changed, if it may still see them.
    fn tell_updated(&mut self, cx: &mut Context<'_>) {
        loop {
            // On a line of its own: the lock is free again when the handler is asked.
            let updated = self.shared.lock().take_updated();
            let Some(uri) = updated else { return };
            let view = self.runner.handler.view(&self.caller);
            self.runner.handle(&self.shared, Input::Updated { uri: &uri, view: &view }, cx);
        }
    }

    /// Takes notice that the machine has ended.
    fn notice_end(&mut self) {
        if !self.runner.closed {
            return;
        }
        let since = self.runner.now;
        match self.phase {
            // The machine itself took the peer for gone.
            Phase::Open | Phase::Stranded { .. } => self.phase = Phase::Leaving { ended: Ended::Gone, since },
            Phase::Finishing { .. } => self.phase = Phase::Leaving { ended: Ended::EndOfInput, since },
            Phase::Leaving { .. } | Phase::Closing { .. } => {}
        }
    }

    /// Stops what runs.
    fn leave(&mut self, ended: Ended, close: Close, cx: &mut Context<'_>) {
        self.phase = Phase::Leaving { ended, since: self.runner.now };
        self.runner.handle(&self.shared, Input::Close(close), cx);
    }

    /// Does what is due, and sleeps until more is. Returns whether this now rests.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        let now = self.runner.now;
        let mut next = self.shared.lock().pipe.deadline().map(|(at, _)| at);
        if next.is_some_and(|at| at <= now) {
            self.runner.handle(&self.shared, Input::Tick, cx);
            // A deadline that a tick does not move must not become a busy loop.
            next = self.shared.lock().pipe.deadline().map(|(at, _)| at.max(now.after(Span::millis(1))));
        }
        if let Phase::Finishing { until } = self.phase {
            if until <= now {
                self.leave(Ended::EndOfInput, Close::Shutdown, cx);
                return false;
            }
            next = Some(next.map_or(until, |at| at.min(until)));
        }
        // What is overdue is done by each poll, and needs no alarm.
        let stall = self.stall().filter(|at| *at > now);
        if let Some(until) = self.patience().or(stall) {
            next = Some(next.map_or(until, |at| at.min(until)));
        }
        let Some(next) = next else { return true };
        // An alarm that is early does no harm, and one that is kept is one less to set for each call.
        if self.timer.as_ref().is_none_or(|timer| timer.at > next) {
            let sleep = Box::pin(self.shared.clock().sleep(next.since(now)));
            self.timer = Some(Alarm { at: next, sleep });
        }
        let Some(timer) = &mut self.timer else { return true };
        if timer.sleep.as_mut().poll(cx).is_pending() {
            return true;
        }
        self.timer = None;
        false
    }

    /// When a peer that takes nothing is to be suspected of having left, if it then also keeps the gate full.
    fn stall(&self) -> Option<Time> {
        let blocked = self.blocked.filter(|_| self.phase == Phase::Open)?;
        Some(blocked.after(self.grace))
    }

    /// Until when a writer that takes nothing is waited for, now that the conversation has ended.
    fn patience(&self) -> Option<Time> {
        let since = match self.phase {
            Phase::Open | Phase::Finishing { .. } => return None,
            Phase::Stranded { since } | Phase::Leaving { since, .. } | Phase::Closing { since, .. } => since,
        };
        Some(self.blocked.unwrap_or(since).max(since).after(self.grace))
    }

    fn is_out_of_patience(&self) -> bool {
        self.patience().is_some_and(|until| until <= self.runner.now)
    }

    /// Writes what is ready.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> io::Result<Written> {
        let (shared, runner) = (&self.shared, &mut self.runner);
        if runner.ready || !self.outgoing.is_idle() {
            // It is said anew of what comes after this.
            runner.ready = false;
            let pull = |buffer: &mut Vec<u8>, limit| {
                let (pulled, roomy) = shared.lock().pull(buffer, limit);
                roomy.into_iter().for_each(Waker::wake);
                pulled
            };
            match self.outgoing.poll_send(pull, cx)? {
                Sent::All => {
                    self.blocked = None;
                    return Ok(Written::Some);
                }
                Sent::Chunk => {
                    self.blocked = None;
                    runner.ready = true;
                    return Ok(Written::Some);
                }
                Sent::Blocked { moved } => {
                    if moved || self.blocked.is_none() {
                        self.blocked = Some(runner.now);
                        // Once more, as there is an alarm to set.
                        return Ok(Written::Some);
                    }
                    return Ok(if self.is_out_of_patience() { self.give_up(cx) } else { Written::None });
                }
                Sent::Gone => return Ok(self.give_up(cx)),
            }
        }
        if let Phase::Leaving { ended, since } = self.phase {
            self.phase = Phase::Closing { ended, since };
        }
        let Phase::Closing { ended, .. } = self.phase else { return Ok(Written::None) };
        let closed = self.outgoing.poll_close(cx).is_ready() || self.is_out_of_patience();
        Ok(if closed { Written::Ended(ended) } else { Written::None })
    }

    /// Ends at once: nothing can be sent any more.
    fn give_up(&mut self, cx: &mut Context<'_>) -> Written {
        self.runner.handle(&self.shared, Input::Close(Close::Peer), cx);
        Written::Ended(Ended::Gone)
    }

    /// Reads on, and handles the lines that are here. Returns whether this now rests.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if !matches!(self.phase, Phase::Open | Phase::Stranded { .. }) {
            return Ok(true);
        }
        if self.shared.lock().pipe.gate() == Gate::Full {
            return self.poll_ahead(cx);
        }
        if self.incoming.is_empty() {
            let read = match self.phase {
                Phase::Stranded { .. } => Read::End,
                _ => match self.incoming.poll_read(cx)? {
                    Poll::Ready(read) => read,
                    Poll::Pending => return Ok(true),
                },
            };
            match read {
                Read::Some => {}
                Read::End => {
                    if let Some(line) = self.incoming.last_line() {
                        self.handle_line(line, cx);
                    }
                    self.phase = Phase::Finishing { until: self.runner.now.after(self.grace) };
                    self.runner.handle(&self.shared, Input::Close(Close::EndOfInput), cx);
                }
                Read::Gone => self.leave(Ended::Gone, Close::Peer, cx),
            }
        }
        let begun = self.runner.now;
        while let Some(line) = self.incoming.next_line() {
            let gate = self.handle_line(line, cx);
            if gate == Gate::Full || self.runner.now.since(begun) > SLICE {
                break;
            }
        }
        Ok(false)
    }

    /// Looks for the end of input behind a full gate, as a peer that has left never opens it (STDIO-4). What this reads is
    /// kept: the peer may only be slow. Returns whether this now rests.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let now = self.runner.now;
        if self.stall().is_none_or(|at| at > now) {
            return Ok(true);
        }
        let Poll::Ready(read) = self.incoming.poll_ahead(cx)? else { return Ok(true) };
        match read {
            Read::Some => {}
            Read::End => self.phase = Phase::Stranded { since: now },
            Read::Gone => self.leave(Ended::Gone, Close::Peer, cx),
        }
        Ok(false)
    }

    fn handle_line(&mut self, line: Line, cx: &mut Context<'_>) -> Gate {
        let read = match line {
            Line::Text(body) => wire::read(body, &self.limits),
            Line::TooLong => Err(Unread::too_long(self.limits.line)),
        };
        match read {
            Ok(message) => {
                let view = self.runner.handler.view(&self.caller);
                let input = Input::Message { message, head: None, from: &self.caller, view: &view };
                self.runner.handle(&self.shared, input, cx)
            }
            Err(unread) => self.runner.handle(&self.shared, Input::Unread(unread), cx),
        }
    }
}

impl<R, W, H, C: Clock> Drop for Driver<R, W, H, C> {
    fn drop(&mut self) {
        // What cannot be dropped with the calls' futures learns that nobody waits any more.
        let roomy = {
            let mut state = self.shared.lock();
            state.running.clear();
            state.roomy()
        };
        roomy.into_iter().for_each(Waker::wake);
    }
}

impl<R, W, H, C: Clock> fmt::Debug for Driver<R, W, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("phase", &self.phase).field("blocked", &self.blocked).finish_non_exhaustive()
    }
}
