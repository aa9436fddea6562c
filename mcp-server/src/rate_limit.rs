//! How often one may ask.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcp_core::fault::Fault;
use mcp_core::{Caller, Era, Span};

mod buckets;

use self::buckets::{Buckets, Rate};
use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::{Needs, Wanted};
use crate::middleware::{CallResult, Middleware, Next};

/// The most keys of a limit: 100,000, which take 4 MiB.
const KEYS: usize = 100_000;

/// Says who is counted together.
type KeyFn = dyn Fn(&RateKeyInput<'_>) -> Option<String> + Send + Sync;

/// How often one may ask (SEC-2): so many times in a span, for each client.
///
/// ```
/// use std::time::Duration;
/// use mcp_server::RateLimit;
///
/// // 100 at once, then one each 600 ms; who was quiet for a minute may ask 100 times at once again.
/// let limit = RateLimit::new(100, Duration::from_secs(60));
/// ```
///
/// A client is its principal, where one is known, and else its address; a network of IPv6 (/64) is one client. All that have neither
/// are one. Behind a proxy everybody has the proxy's address: see `http::PeerAddr`, or count [by](RateLimit::by)
/// something else.
///
/// It limits all HTTP requests as [`Server::rate_limit`](crate::Server::rate_limit), and calls as a [`Middleware`]: of a whole
/// server, or of one entry, over any transport. A call that is one too many ends with an error of the protocol that says when to try
/// again (TOOL-17), which is 429 with `Retry-After` where nothing was sent before it. A run that goes on with what the client
/// was [asked](crate::ask) is not counted again, but on 2026-07-28, where it is a request of its own (MRTR-14).
///
/// ```
/// use std::time::Duration;
/// use mcp_server::{RateLimit, Server, Tool};
///
/// let report = Tool::new("report").description("Makes the report, which takes long.");
/// let server = Server::new("my-app", "1.0.0")
///     .tool(report.wrap(RateLimit::new(3, Duration::from_secs(3600))).run(|| "It is made."));
/// ```
///
/// Clones of a limit count together; each of the methods below makes it a limit of its own. What is counted stays in this
/// process, so several nodes let through as many times as much.
///
/// # Many clients
///
/// No more than [so many](RateLimit::max_keys) are remembered. When they are, those are forgotten first who may ask as often as
/// anybody new; if that does not make room, an eighth of the others, those who asked least. So whoever asks too often is
/// remembered longest, memory stays bounded, and a flood of new clients locks nobody out: who is forgotten begins anew.
#[derive(Clone)]
pub struct RateLimit {
    amount: u32,
    per: Duration,
    burst: Option<u32>,
    keys: usize,
    /// By principal, or else address, without it.
    key: Option<Arc<KeyFn>>,
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// Of a key of its own, so that nobody can make keys that are counted as another's.
    hasher: RandomState,
    buckets: Arc<Mutex<Buckets>>,
}

impl RateLimit {
    /// So many requests in that span, and as many at once. Neither may be zero, or the server cannot be built.
    #[must_use]
    pub fn new(amount: u32, per: Duration) -> Self {
        let start = Instant::now();
        let limit = Self {
            amount,
            per,
            burst: None,
            keys: KEYS,
            key: None,
            clock: Arc::new(move || start.elapsed()),
            hasher: RandomState::new(),
            buckets: Arc::default(),
        };
        limit.anew()
    }

    /// How many a client that was quiet may send at once; one at least. Default: all that it may send in the span.
    #[must_use]
    pub fn burst(mut self, burst: u32) -> Self {
        self.burst = Some(burst);
        self.anew()
    }

    /// Counts each principal, and each address of those who have none: the default.
    #[must_use]
    pub fn by_principal(mut self) -> Self {
        self.key = None;
        self.anew()
    }

    /// Counts those together for whom that says the same; all for whom it says nothing are one.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mcp_server::RateLimit;
    ///
    /// // Each tenant, whoever asks for it: principals are called `tenant/user` here.
    /// let limit = RateLimit::new(1_000, Duration::from_secs(60))
    ///     .by(|who| who.principal()?.split_once('/').map(|(tenant, _)| tenant.to_owned()));
    /// ```
    #[must_use]
    pub fn by(mut self, key: impl Fn(&RateKeyInput<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        self.key = Some(Arc::new(key));
        self.anew()
    }

    /// How many clients are remembered; 100,000 by default, and one at least. Each takes up to 40 bytes.
    #[must_use]
    pub fn max_keys(mut self, most: usize) -> Self {
        self.keys = most;
        self.anew()
    }

    /// Another clock than the computer's monotonic one, for tests: the time since any moment that stays the same.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self.anew()
    }

    fn anew(mut self) -> Self {
        let rate = Rate::new(self.amount, self.per, self.burst.unwrap_or(self.amount));
        self.buckets = Arc::new(Mutex::new(Buckets::new(rate, self.keys)));
        self
    }

    /// What is wrong with it.
    pub(crate) fn mistake(&self) -> Option<&'static str> {
        if self.amount == 0 || self.per.is_zero() {
            Some("give a number of requests and a span, as in `RateLimit::new(100, Duration::from_secs(60))`")
        } else if self.burst == Some(0) {
            Some("let one request through at once at least, as in `.burst(1)`")
        } else if self.keys == 0 {
            Some("remember one client at least, or leave `max_keys` away")
        } else {
            None
        }
    }

    /// Counts one request.
    ///
    /// # Errors
    ///
    /// How long to wait before the next one.
    pub(crate) fn check(&self, who: &RateKeyInput<'_>) -> Result<(), Duration> {
        let key = match &self.key {
            Some(key) => key(who).map_or(Key::Others, Key::Own),
            None => who.key(),
        };
        let key = self.hasher.hash_one(key);
        let now = u64::try_from((self.clock)().as_nanos()).unwrap_or(u64::MAX);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(key, now).map_err(Duration::from_nanos)
    }
}

impl Middleware for RateLimit {
    async fn call(&self, ctx: Ctx, next: Next) -> CallResult {
        let goes_on = ctx.resume().is_some() && ctx.peer().revision.era() == Era::Legacy;
        if !goes_on {
            RateKeyInput::with(&ctx, |who| self.check(who)).map_err(|wait| CallError::fault(too_many(wait)))?;
        }
        next.run().await
    }

    fn needs(&self, needs: &mut Needs) {
        needs.states.extend(self.mistake().map(Wanted::Settings));
    }
}

fn too_many(wait: Duration) -> Fault {
    Fault::too_many(Span::millis(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)))
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("amount", &self.amount)
            .field("per", &self.per)
            .field("burst", &self.burst.unwrap_or(self.amount))
            .field("max_keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// Who is counted as one.
#[derive(Hash)]
enum Key<'a> {
    Principal(&'a str),
    V4([u8; 4]),
    /// The network: a client chooses the other half of its address as it likes.
    V6([u8; 8]),
    Own(String),
    Others,
}

/// What [`RateLimit::by`] may look at.
#[derive(Clone, Copy, Debug)]
pub struct RateKeyInput<'a> {
    caller: &'a Caller,
    address: Option<IpAddr>,
    #[cfg(feature = "http")]
    headers: Option<&'a crate::http::HeaderMap>,
}

impl<'a> RateKeyInput<'a> {
    /// A caller of whom no more is known.
    const fn of(caller: &'a Caller) -> Self {
        Self {
            caller,
            address: None,
            #[cfg(feature = "http")]
            headers: None,
        }
    }

    /// Who made a call.
    fn with<T>(ctx: &Ctx, look: impl FnOnce(&RateKeyInput<'_>) -> T) -> T {
        #[cfg(feature = "http")]
        if let Some(head) = ctx.transport::<crate::http::RequestHead>() {
            return look(&RateKeyInput::of_http(ctx.caller(), head.peer_addr(), head.headers()));
        }
        look(&RateKeyInput::of(ctx.caller()))
    }

    /// Who sent a request with that head.
    #[cfg(feature = "http")]
    pub(crate) fn of_http(
        caller: &'a Caller,
        peer: Option<std::net::SocketAddr>,
        headers: &'a crate::http::HeaderMap,
    ) -> Self {
        Self { caller, address: peer.map(|peer| peer.ip().to_canonical()), headers: Some(headers) }
    }

    /// Who asks.
    #[must_use]
    pub const fn caller(&self) -> &'a Caller {
        self.caller
    }

    /// Their principal.
    #[must_use]
    pub fn principal(&self) -> Option<&'a str> {
        self.caller.principal.as_ref().map(mcp_core::Principal::as_str)
    }

    /// From where, over HTTP; `None` also where the host around the service does not say (`http::PeerAddr`).
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// The headers of the request, over HTTP.
    #[cfg(feature = "http")]
    #[must_use]
    pub const fn headers(&self) -> Option<&'a crate::http::HeaderMap> {
        self.headers
    }

    fn key(&self) -> Key<'a> {
        match (self.principal(), self.address) {
            (Some(principal), _) => Key::Principal(principal),
            (None, Some(IpAddr::V4(address))) => Key::V4(address.octets()),
            (None, Some(IpAddr::V6(address))) => {
                let [network @ .., _, _, _, _, _, _, _, _] = address.octets();
                Key::V6(network)
            }
            (None, None) => Key::Others,
        }
    }
}

#[cfg(test)]
mod tests;
