//! Which states were used up, for those that are good for one use (MRTR-10).

use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a claim comes to: true if the name had not been claimed.
pub type Claim<'a> = Pin<Box<dyn Future<Output = Result<bool, Box<dyn Error + Send + Sync>>> + Send + 'a>>;

/// Remembers which states were used up: see [`Ctx::one_time`](crate::Ctx::one_time).
///
/// The default is [`RecentStates`], which is right for one process. Servers that answer for one another need one that they share:
///
/// ```
/// use std::time::Duration;
/// use mcp_server::Server;
/// use mcp_server::ask::{Claim, UsedStates};
///
/// #[derive(Debug)]
/// struct Shared(Database);
///
/// impl UsedStates for Shared {
///     fn claim<'a>(&'a self, name: &'a str, keep: Duration) -> Claim<'a> {
///         // One step, so that of two claims at the same moment one fails.
///         Box::pin(async move { Ok(self.0.insert_if_absent(name, keep).await?) })
///     }
/// }
///
/// let server = Server::new("shop", "1.0.0").used_states(Shared(Database));
/// # #[derive(Debug)]
/// # struct Database;
/// # impl Database {
/// #     async fn insert_if_absent(&self, _: &str, _: Duration) -> std::io::Result<bool> { Ok(true) }
/// # }
/// ```
pub trait UsedStates: Send + Sync + fmt::Debug + 'static {
    /// Claims a name, and remembers it for at least that long. False if it was claimed before. The error goes to the log, and
    /// the call fails.
    fn claim<'a>(&'a self, name: &'a str, keep: Duration) -> Claim<'a>;
}

/// The states that were used up in this process, a bounded number of them.
///
/// When it is full it takes no more until some are old enough to be forgotten: to forget one early would let it be used again.
pub struct RecentStates {
    most: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    names: HashSet<Box<str>>,
    /// In the order in which they came, which is the order in which they go.
    order: VecDeque<(Instant, Box<str>)>,
}

/// Names that are remembered: at 10 minutes each, 160 a second, and about 20 MB.
const MOST: usize = 100_000;

/// A century, more than any clock counts on to.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

impl RecentStates {
    /// At most so many. The default is 100,000, about 20 MB.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, known: Mutex::default() }
    }

    fn claim_at(&self, name: &str, now: Instant, keep: Duration) -> Result<bool, Box<dyn Error + Send + Sync>> {
        // Nothing in here panics between two writes.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((_, name)) = known.order.pop_front_if(|(until, _)| *until < now) {
            known.names.remove(&name);
        }
        if known.names.contains(name) {
            return Ok(false);
        }
        if known.names.len() >= self.most {
            return Err(format!("{} states were used up lately, and no more are remembered", self.most).into());
        }
        known.names.insert(name.into());
        known.order.push_back((now + keep.min(LONGEST), name.into()));
        Ok(true)
    }
}

impl Default for RecentStates {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl fmt::Debug for RecentStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentStates").field("most", &self.most).finish_non_exhaustive()
    }
}

impl UsedStates for RecentStates {
    fn claim<'a>(&'a self, name: &'a str, keep: Duration) -> Claim<'a> {
        Box::pin(ready(self.claim_at(name, Instant::now(), keep)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_claimed_once_until_it_is_old_mrtr_10() {
        let (states, now) = (RecentStates::default(), Instant::now());
        let at = |name: &str, second: u64| {
            let now = now + Duration::from_secs(second);
            states.claim_at(name, now, Duration::from_secs(600)).unwrap()
        };
        assert!(at("a", 0));
        assert!(!at("a", 1));
        assert!(at("b", 300));
        assert!(!at("a", 600), "kept for all the time that was asked");
        assert!(at("a", 601));
        assert!(!at("b", 700));
    }

    #[test]
    fn a_full_set_takes_no_more_rather_than_forget() {
        let (states, now) = (RecentStates::new(2), Instant::now());
        let at = |name: &str, second: u64| {
            let now = now + Duration::from_secs(second);
            states.claim_at(name, now, Duration::from_secs(10)).map_err(|error| error.to_string())
        };
        assert_eq!((at("a", 0), at("b", 0)), (Ok(true), Ok(true)));
        assert!(at("c", 1).unwrap_err().contains("2 states"));
        assert_eq!(at("a", 1), Ok(false), "what is known is still told");
        assert_eq!(at("c", 11), Ok(true));
    }
}
