//! A limit for how long a call may run.

use std::time::Duration;

use mcp_core::fault::Fault;

use super::{CallResult, Middleware, Next};
use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::{Needs, Wanted};

/// Ends a call that runs for too long, with the error -32603 that says so. By default a call has the time that
/// [`Timing`](crate::Timing) gives to all of them; this is for those that need less.
///
/// ```
/// use std::time::Duration;
/// use mcp_server::Tool;
/// use mcp_server::middleware::TimeLimit;
///
/// let search = Tool::new("search")
///     .description("Searches the web.")
///     .wrap(TimeLimit::new(Duration::from_secs(5)))
///     .run(|| async { "Nothing was found." });
/// ```
///
/// Asynchronous code is dropped where it waits. [Blocking](crate::Tool::run_blocking) code cannot be: it is told that
/// [nobody waits](Ctx::is_cancelled). Plain code holds up the limit, too.
///
/// The time that a client takes to answer a [question](crate::ask) does not count: the limit is for each run of the code. It is that
/// of tokio, which has to run the server with its time enabled.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit(Duration);

impl TimeLimit {
    /// So long at most. Zero is a mistake that is told when the server is built.
    #[must_use]
    pub const fn new(most: Duration) -> Self {
        Self(most)
    }
}

impl Middleware for TimeLimit {
    async fn call(&self, _: Ctx, next: Next) -> CallResult {
        match tokio::time::timeout(self.0, next.run()).await {
            Ok(result) => result,
            Err(_) => {
                let text = format!("The call took longer than {:?}, which is its time limit", self.0);
                Err(CallError::fault(Fault::internal(text)))
            }
        }
    }

    fn needs(&self, needs: &mut Needs) {
        if self.0.is_zero() {
            needs.states.push(Wanted::Settings(
                "a time limit of nothing ends every call: give it a span, as in `TimeLimit::new(Duration::from_secs(5))`",
            ));
        }
    }
}
