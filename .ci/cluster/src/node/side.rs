//! The side channel: what really ran, counted where no machine of the server can see it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, AsyncConnectionConfig};

/// Counts in Redis, under names of its own.
#[derive(Clone)]
pub struct Side {
    redis: MultiplexedConnection,
    hanging: Arc<Mutex<HashMap<String, u32>>>,
}

/// As long as it lives, a call hangs.
pub struct Hanging(Side, String);

impl Side {
    pub async fn connect(url: &str) -> redis::RedisResult<Self> {
        // A node that was frozen has its answer late, and counts once all the same.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let redis = redis::Client::open(url)?.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(Self { redis, hanging: Arc::default() })
    }

    /// One more run of that name.
    pub async fn ran(&self, name: &str) {
        let counted: redis::RedisResult<u64> = self.redis.clone().incr(format!("runs:{name}"), 1).await;
        counted.expect("the side channel is there");
    }

    pub fn hang(&self, name: &str) -> Hanging {
        *self.hanging.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        Hanging(self.clone(), name.to_owned())
    }

    /// The names of the calls that hang now.
    pub fn hanging(&self) -> Vec<String> {
        self.hanging.lock().unwrap().keys().cloned().collect()
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.hanging.lock().unwrap().remove(&self.1);
    }
}
