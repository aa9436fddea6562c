//! A store on one Redis primary.

mod call;
mod events;
mod frames;
mod scripts;
mod sessions;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_core::policy::Policy;
use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionInfo, IntoConnectionInfo};

use self::call::Link;
use self::frames::Reader;
use super::{NodeId, StoreError};

/// How long one operation may take. 3 s: a thousand times what one takes, and under the 5 s that a request waits.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How long a node is alive that does not receive. 10 s: as a lease, whose node has died when it is over.
const LIVENESS: Duration = Duration::from_secs(10);
/// What names of keys begin with.
const PREFIX: &str = "mcp";

/// A [`SessionStore`](super::SessionStore), an [`EventLog`](super::EventLog) and a [`Relay`](super::Relay) on one Redis
/// primary, 6.2 or newer (or Valkey). Clones share their connections: one, and one more for each node that receives.
///
/// Every change is a script of its own, which Redis runs as one step; leases, expiry and all times are Redis' own. It needs tokio.
/// Connections are made when they are needed, and made again after they broke or an operation ran into its time limit.
///
/// ```no_run
/// use std::time::Duration;
/// use mcp_transport_http::store::Redis;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Redis::new("redis://:password@cache.internal:6379/2")?.prefix("my-app").timeout(Duration::from_secs(2));
/// // Fails at once if there is none, or it refuses the password. Not needed: a server may start before its Redis.
/// store.ping().await?;
/// # Ok(())
/// # }
/// ```
///
/// # How to run Redis for it
///
/// * The address is `redis://[user][:password@]host[:port][/database]`, or `redis+unix:///path?db=2&pass=word`. The
///   password is percent-encoded in it. TLS is not built in.
/// * `maxmemory-policy` must be `noeviction` (the default), or Redis drops sessions that it has confirmed. With a `maxmemory`,
///   what needs room fails with [`StoreError::Full`] once it is reached, and leases are renewed all the same.
/// * What Redis confirms is as safe as its persistence: `appendonly yes` with `appendfsync always` survives a crash of its machine, the
///   default (`everysec`) loses its last second, and no persistence at all loses everything with its process. After a
///   failover to a replica, which may lack what was confirmed last, two nodes may hold one session until the lease of one is over.
/// * Session ids are in the names of keys, and snapshots and events hold what clients sent: who may run `MONITOR`, `SCAN` or
///   `GET` there can take over sessions. An own database, or user with `~my-app:*`, keeps other programs out.
///
/// Keys, for those who look: `PREFIX:{SESSION}` (a hash), the same with `:lease`, `:tracks`, `:events`, `:order` and `:ended`,
/// all of which expire, `PREFIX:{nodes}`, and `PREFIX:{nodes}:NODE` with `:n`.
#[derive(Clone)]
pub struct Redis {
    client: Client,
    prefix: Box<str>,
    timeout: Duration,
    liveness: Duration,
    room: usize,
    resume: Duration,
    link: Arc<Link>,
    readers: Arc<Mutex<HashMap<NodeId, Reader>>>,
}

impl Redis {
    /// The store at that address, with the bounds of [`Policy::default`]. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Down`] if it is no address of a Redis.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let wrong = |_| StoreError::Down("what was given is no address like redis://:password@host:6379/0".into());
        let address: ConnectionInfo = url.into_connection_info().map_err(wrong)?;
        let client = Client::open(address.set_tcp_settings(tcp(TIMEOUT))).map_err(wrong)?;
        let store = Self {
            client,
            prefix: PREFIX.into(),
            timeout: TIMEOUT,
            liveness: LIVENESS,
            room: 0,
            resume: Duration::ZERO,
            link: Arc::default(),
            readers: Arc::default(),
        };
        Ok(store.policy(&Policy::default()))
    }

    /// What the names of all keys begin with; `mcp` by default. Servers that are to share sessions have the same.
    #[must_use]
    pub fn prefix(self, prefix: &str) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// How long one operation may take, connecting included; 3 s by default.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, link: Arc::default(), ..self }
    }

    /// How long a node counts as alive that does not receive; 10 s by default. It says three times in it that it is.
    #[must_use]
    pub fn liveness(self, liveness: Duration) -> Self {
        Self { liveness: liveness.max(Duration::from_millis(30)), ..self }
    }

    /// The bounds of the log: [`Limits::log_of_session`](mcp_core::policy::Limits::log_of_session) and
    /// [`Timing::resume`](mcp_core::policy::Timing::resume). All nodes should have the same.
    #[must_use]
    pub fn policy(self, policy: &Policy) -> Self {
        Self { room: policy.limits.log_of_session, resume: policy.timing.resume.into(), ..self }
    }

    /// Whether it is there and takes commands.
    ///
    /// # Errors
    ///
    /// [`StoreError::Down`], saying why not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.query::<String>(&redis::cmd("PING")).await.map(drop)
    }
}

/// What finds out that the other side is gone without a word.
fn tcp(timeout: Duration) -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(target_os = "linux")]
    let settings = settings.set_user_timeout(timeout * 2);
    #[cfg(not(target_os = "linux"))]
    let _ = timeout;
    settings
}

/// Shows the prefix alone: the address may hold a password.
impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
