//! A limit for how many calls run at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::erased::{Held, Left};
use super::{CallResult, Middleware, Next};
use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::{Needs, Wanted};

/// Lets no more than so many calls run at once; the others wait for their turn, in the order in which they came, or are
/// [refused](ConcurrencyLimit::refuse).
///
/// Clones of one limit count together, so that one may stand for what several entries share:
///
/// ```
/// use mcp_server::middleware::ConcurrencyLimit;
/// use mcp_server::{Server, Tool};
///
/// let printer = ConcurrencyLimit::new(1);
/// let server = Server::new("my-app", "1.0.0")
///     .tool(Tool::new("print").description("Prints.").wrap(printer.clone()).run(|| "It is printed."))
///     .tool(Tool::new("scan").description("Scans.").wrap(printer).run(|| "It is scanned."));
/// ```
///
/// Those that wait are calls that run, of which each client may have as many as [`Limits`](crate::Limits) allow; one that is
/// cancelled leaves the line. [Blocking](crate::Tool::run_blocking) code that is cancelled, or runs past a
/// [`TimeLimit`](super::TimeLimit), has its place until it has ended. While a client is [asked](crate::ask), its call holds no place. A call must not wait for another of the
/// same limit; one that comes by a limit twice, around the server and around the tool, takes one place.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    places: Arc<Semaphore>,
    none: bool,
    refuses: bool,
}

impl ConcurrencyLimit {
    /// So many at once. None is a mistake that is told when the server is built.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self { places, none: most == 0, refuses: false }
    }

    /// Refuses those that would have to wait, in words that a model may read.
    #[must_use]
    pub fn refuse(mut self) -> Self {
        self.refuses = true;
        self
    }
}

/// The place of one call, which is free when the call has ended; and where its code blocks, when that has ended.
struct Place {
    held: Held,
    left: Option<Arc<Left>>,
}

impl Place {
    fn new(permit: OwnedSemaphorePermit, left: Option<Arc<Left>>) -> Self {
        let held: Held = Arc::new(permit);
        left.iter().for_each(|left| left.hold(&held));
        Self { held, left }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.left.iter().for_each(|left| left.let_go(&self.held));
    }
}

impl Middleware for ConcurrencyLimit {
    async fn call(&self, ctx: Ctx, next: Next) -> CallResult {
        // Around a server and one of its tools, it would wait for itself.
        let is_its = |permit: &OwnedSemaphorePermit| Arc::ptr_eq(permit.semaphore(), &self.places);
        if ctx.left().is_some_and(|left| left.holds(is_its)) {
            return next.run().await;
        }
        let places = Arc::clone(&self.places);
        let place = match self.refuses {
            true => places.try_acquire_owned().ok(),
            false => places.acquire_owned().await.ok(),
        };
        let Some(place) = place else {
            return Err(CallError::new("Too many calls of this run at once: wait for one to end, and call again."));
        };
        let _place = Place::new(place, ctx.left());
        next.run().await
    }

    fn needs(&self, needs: &mut Needs) {
        if self.none {
            needs.states.push(Wanted::Settings(
                "a limit of no calls at once lets none run: allow one at least, as in `ConcurrencyLimit::new(1)`",
            ));
        }
    }
}
