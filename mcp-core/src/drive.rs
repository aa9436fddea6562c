//! What an adapter and a framework agree on: who runs an [`Output::Call`](crate::Output::Call), and how a running call
//! speaks. No machine uses this; a driver with ways of its own needs none of it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;

use crate::catalog::View;
use crate::endpoint::Endpoint;
use crate::machine::{Call, CallId, Note, Outcome};
use crate::peer::Caller;

/// The server's own code, as an adapter sees it.
pub trait Handler: Send + Sync + 'static {
    /// What the server says of itself.
    fn endpoint(&self) -> &Arc<Endpoint>;

    /// The catalogue as this caller may see it. Asked before each message, so it should be a clone of something cached.
    fn view(&self, caller: &Caller) -> View;

    /// Runs one call. Must not block for long, and must not panic: what it runs may, and becomes an
    /// [`Outcome::Fail`] here.
    fn call(&self, call: Call, link: Link) -> Running;
}

/// A call under way.
pub enum Running {
    /// It has ended already.
    Done(Outcome),
    /// It goes on. The adapter polls it once where it stands, and parks it if it is not ready. Dropping it cancels it.
    Later(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(outcome) => f.debug_tuple("Done").field(outcome).finish(),
            Self::Later(_) => f.write_str("Later(..)"),
        }
    }
}

/// How a running call speaks to its machine.
pub trait Uplink: Send + Sync + fmt::Debug {
    /// Hands [`Input::Note`](crate::Input::Note) to the machine. Never blocks on a peer: the machine bounds its queue.
    fn note(&self, call: CallId, note: Note);

    /// Whether [`Output::Abandon`](crate::Output::Abandon) was said of the call. For code that cannot be dropped.
    fn is_abandoned(&self, call: CallId) -> bool;
}

/// A running call's own end of an [`Uplink`].
#[derive(Clone, Debug)]
pub struct Link {
    call: CallId,
    up: Arc<dyn Uplink>,
}

impl Link {
    /// The link of one call.
    #[must_use]
    pub fn new(call: CallId, up: Arc<dyn Uplink>) -> Self {
        Self { call, up }
    }

    /// Says something on the way. Dropped if nobody waits any more.
    pub fn note(&self, note: Note) {
        self.up.note(self.call, note);
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.up.is_abandoned(self.call)
    }
}
