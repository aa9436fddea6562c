//! What was said to the client, to wait for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use mcp_core::drive::Link;

/// What [`Progress`](crate::Progress) and [`Log`](crate::Log) have said: on its way already, whatever becomes of this.
///
/// - Dropped, which a `;` does: a client that reads slowly costs no memory and no time. Of progress it gets the latest, of log
///   messages the newest.
/// - Awaited: ready once the client has taken enough for more to be said. A tool that awaits all that it says loses none of its log
///   messages and none of its progress, and is as fast as its client. Progress waits until it is handed to the connection; log
///   messages for as long as [`Limits::window`](mcp_core::policy::Limits::window) bytes are unsent on the stream that the call is
///   answered on; over stdio that is the client's only one, so what other calls say without waiting may still push log messages out.
///
/// It never waits for nothing: it is ready at once where the client wants no such message, gets it not on this connection, or has
/// gone, and as soon as the call is cancelled.
///
/// ```
/// use mcp_server::{Log, Tool};
///
/// async fn dump(log: Log) -> &'static str {
///     for line in 0..10_000 {
///         log.info(format!("line {line}")).await;
///     }
///     "all of it"
/// }
///
/// let tool = Tool::new("dump").description("Logs ten thousand lines.").run(dump);
/// ```
pub struct Sent<'a>(Option<&'a Link>);

impl<'a> Sent<'a> {
    pub(crate) const fn by(link: &'a Link) -> Self {
        Self(Some(link))
    }

    /// Of what nobody wants.
    pub(crate) const fn nowhere() -> Self {
        Self(None)
    }
}

impl Future for Sent<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.map_or(Poll::Ready(()), |link| link.poll_room(cx))
    }
}

impl fmt::Debug for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent").finish_non_exhaustive()
    }
}
