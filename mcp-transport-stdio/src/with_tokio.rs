//! The adapter within tokio: its clock, its streams, standard input and output, signals.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mcp_core::drive::Handler;
use mcp_core::{Span, Time};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio::time::Sleep;

use crate::clock::{Clock, SystemClock};
use crate::connection::{Connection, Ended};

mod standard;

/// Serves standard input and output until the input ends, SIGTERM or Ctrl-C.
///
/// Nothing else may write to standard output (STDIO-1): no `println!` in a tool.
///
/// ```no_run
/// # use std::sync::Arc;
/// # async fn run(handler: Arc<impl mcp_core::drive::Handler>) -> std::io::Result<()> {
/// mcp_transport_stdio::stdio(handler).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// What reading or writing failed with, except where that means that the peer has gone.
///
/// # Panics
///
/// Outside of a tokio runtime, and in one whose IO or time is not enabled.
pub async fn stdio<H: Handler>(handler: Arc<H>) -> io::Result<Ended> {
    Connection::tokio(handler).stdio().await
}

impl<H: Handler> Connection<H, TokioClock> {
    /// A connection that runs within tokio.
    #[must_use]
    pub fn tokio(handler: Arc<H>) -> Self {
        Self::new(handler, TokioClock::default())
    }

    /// As [`Connection::run`], on standard input and output, until the input ends, SIGTERM or Ctrl-C.
    ///
    /// Pipes and sockets are read and written where they are, without a thread. They are set to non-blocking for that time,
    /// which other holders of the same end would notice: do not let child processes inherit them. Everything else (a terminal,
    /// a file) gets [threads](crate::threads).
    ///
    /// # Errors
    ///
    /// As [`Connection::run`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, and in one whose IO or time is not enabled.
    pub async fn stdio(self) -> io::Result<Ended> {
        let control = self.control();
        let stop = stop_signal();
        let run = self.run(standard::input()?, standard::output()?);
        // A task is polled on the thread of the runtime that sees its input arrive. What a main function waits for may not be,
        // and each message would then cost a change of threads.
        let mut task = Task(tokio::spawn(run));
        let mut stop = pin!(stop);
        let mut stopping = false;
        poll_fn(|cx| {
            if !stopping && stop.as_mut().poll(cx).is_ready() {
                stopping = true;
                control.shutdown();
            }
            Pin::new(&mut task).poll(cx)
        })
        .await
    }
}

impl<H: Handler, C: Clock> Connection<H, C> {
    /// As [`Connection::run`], on a stream with tokio's traits.
    ///
    /// # Errors
    ///
    /// As [`Connection::run`].
    pub fn run_tokio<R, W>(self, reader: R, writer: W) -> impl Future<Output = io::Result<Ended>> + use<R, W, H, C>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        self.run(Compat(reader), Compat(writer))
    }
}

/// Tokio's timer, and the system's time.
#[derive(Debug)]
pub struct TokioClock(SystemClock<fn(Duration) -> Sleep>);

impl Default for TokioClock {
    fn default() -> Self {
        Self(SystemClock::new(tokio::time::sleep))
    }
}

impl Clock for TokioClock {
    type Sleep = Sleep;

    fn now(&self) -> Time {
        self.0.now()
    }

    fn sleep(&self, span: Span) -> Sleep {
        self.0.sleep(span)
    }
}

/// A stream with tokio's traits, as one with those of `futures-io`.
#[derive(Clone, Debug)]
pub struct Compat<T>(pub T);

impl<T: AsyncRead + Unpin> futures_io::AsyncRead for Compat<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        ready!(Pin::new(&mut self.0).poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

impl<T: AsyncWrite + Unpin> futures_io::AsyncWrite for Compat<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// A task that does not outlive whoever waits for it.
struct Task(JoinHandle<io::Result<Ended>>);

impl Future for Task {
    type Output = io::Result<Ended>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let joined = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(joined.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down.
            Err(_) => Ok(Ended::Shutdown),
        }))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").finish()
    }
}

/// Ends when the process is asked to stop; listens from now on. A signal that cannot be listened to keeps its usual effect.
#[cfg(unix)]
fn stop_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};

    let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    poll_fn(move |cx| match signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

/// Ends when the process is asked to stop. A signal that cannot be listened to keeps its usual effect.
#[cfg(not(unix))]
async fn stop_signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
