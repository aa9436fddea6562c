//! How many may listen at once: a driver's count of them, by principal and in all (SUB-14).

use alloc::collections::BTreeMap;

use crate::fault::Fault;
use crate::peer::Principal;
use crate::policy::Limits;
use crate::wire::Message;

/// The room that one listening client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who asks. Those without a principal share what all have together.
    pub principal: Option<Principal>,
    /// The most bytes that the subscription can hold, unsent messages of a reader that stalls among them.
    pub bytes: usize,
}

impl Claim {
    /// The room that a byte stream needs before its [`Pipe`](crate::Pipe) is handed this message; `None` for most. For drivers of
    /// many byte streams: each pipe bounds its own listeners by [`Limits::listen_bytes`], and one claim of that stands for all of
    /// them, for as long as the stream lasts.
    #[must_use]
    pub fn of_byte_stream(message: &Message, principal: Option<&Principal>, limits: &Limits) -> Option<Self> {
        (message.method() == "subscriptions/listen")
            .then(|| Self { principal: principal.cloned(), bytes: limits.listen_bytes })
    }
}

/// Counts those who listen at one endpoint, and refuses more than [`Limits`] allow. For drivers, which keep it behind a lock;
/// it knows of no connection.
///
/// ```
/// use mcp_core::policy::Limits;
/// use mcp_core::{Claim, Listeners};
///
/// let mut limits = Limits::default();
/// limits.listens = 1;
/// let mut listeners = Listeners::new(&limits);
/// let claim = |name: &str| Claim { principal: Some(name.into()), bytes: 400 };
/// assert!(listeners.admit(&claim("ann")).is_ok());
/// assert_eq!(listeners.admit(&claim("ann")).unwrap_err().status(), 503);
/// assert!(listeners.admit(&claim("bob")).is_ok(), "the others are not held back");
/// listeners.release(&claim("ann"));
/// assert!(listeners.admit(&claim("ann")).is_ok());
/// ```
#[derive(Debug)]
pub struct Listeners {
    each: Share,
    all: Share,
    taken: Share,
    /// Only of those who have a seat: nobody who comes and goes leaves a trace.
    by: BTreeMap<Principal, Share>,
}

/// Seats and bytes: taken, or allowed.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    seats: usize,
    bytes: usize,
}

impl Share {
    const fn takes(self, bytes: usize, most: Self) -> bool {
        self.seats < most.seats && self.bytes.saturating_add(bytes) <= most.bytes
    }

    const fn add(&mut self, bytes: usize) {
        self.seats = self.seats.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    const fn take_off(&mut self, bytes: usize) {
        self.seats = self.seats.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Listeners {
    /// Nobody listens yet.
    #[must_use]
    pub const fn new(limits: &Limits) -> Self {
        Self {
            each: Share { seats: limits.listens, bytes: limits.listen_bytes },
            all: Share { seats: limits.listens_total, bytes: limits.listen_bytes_total },
            taken: Share { seats: 0, bytes: 0 },
            by: BTreeMap::new(),
        }
    }

    /// Takes one more in.
    ///
    /// # Errors
    ///
    /// -32603 with status 503 if the principal, or all together, have as many as they may, or hold as many bytes.
    pub fn admit(&mut self, claim: &Claim) -> Result<(), Fault> {
        let own = claim.principal.as_ref().map(|principal| self.by.get(principal).copied().unwrap_or_default());
        if own.is_some_and(|own| !own.takes(claim.bytes, self.each)) {
            return Err(full("Too many subscriptions of yours are open: end one of them first"));
        }
        if !self.taken.takes(claim.bytes, self.all) {
            return Err(full("Too many clients listen here: try again later"));
        }
        self.taken.add(claim.bytes);
        if let Some(principal) = &claim.principal {
            self.by.entry(principal.clone()).or_default().add(claim.bytes);
        }
        Ok(())
    }

    /// Lets one go that was taken in with that claim.
    pub fn release(&mut self, claim: &Claim) {
        self.taken.take_off(claim.bytes);
        let Some(principal) = &claim.principal else { return };
        if let Some(own) = self.by.get_mut(principal) {
            own.take_off(claim.bytes);
            if own.seats == 0 {
                self.by.remove(principal);
            }
        }
    }

    /// How many listen.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.taken.seats
    }

    /// Whether nobody does.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// There is no room for another now.
pub(crate) fn full(message: &'static str) -> Fault {
    Fault::internal(message).with_status(503)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listeners() -> Listeners {
        let limits =
            Limits { listens: 2, listen_bytes: 100, listens_total: 4, listen_bytes_total: 250, ..Limits::default() };
        Listeners::new(&limits)
    }

    fn claim(principal: &str, bytes: usize) -> Claim {
        Claim { principal: (!principal.is_empty()).then(|| principal.into()), bytes }
    }

    #[test]
    fn each_principal_is_bounded_in_number_and_in_bytes_sub_14() {
        let mut listeners = listeners();
        assert!(listeners.admit(&claim("ann", 10)).is_ok() && listeners.admit(&claim("ann", 10)).is_ok());
        let fault = listeners.admit(&claim("ann", 10)).unwrap_err();
        assert_eq!((fault.code(), fault.status()), (crate::Code::INTERNAL, 503));
        assert!(listeners.admit(&claim("bob", 101)).is_err(), "more bytes than one may hold");
        assert!(listeners.admit(&claim("bob", 100)).is_ok());
        assert!(listeners.admit(&claim("bob", 1)).is_err(), "together more bytes than one may hold");
        listeners.release(&claim("bob", 100));
        assert!(listeners.admit(&claim("bob", 1)).is_ok());
    }

    #[test]
    fn all_together_are_bounded_too_and_the_anonymous_by_that_alone_sub_14() {
        let mut listeners = listeners();
        for _ in 0..3 {
            assert!(listeners.admit(&claim("", 80)).is_ok(), "nobody in particular");
        }
        assert!(listeners.admit(&claim("ann", 11)).is_err(), "bytes in all");
        assert!(listeners.admit(&claim("ann", 10)).is_ok());
        assert!(listeners.admit(&claim("bob", 0)).is_err(), "number in all");
        listeners.release(&claim("", 80));
        assert!(listeners.admit(&claim("bob", 0)).is_ok());
    }

    #[test]
    fn those_who_have_gone_leave_no_trace() {
        let mut listeners = listeners();
        for n in 0..1000 {
            let claim = claim(&alloc::format!("p{n}"), 5);
            assert!(listeners.admit(&claim).is_ok());
            listeners.release(&claim);
        }
        assert!(listeners.is_empty() && listeners.by.is_empty() && listeners.taken.bytes == 0);
    }
}
