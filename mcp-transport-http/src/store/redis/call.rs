//! One operation: a connection that is there or is made, a time limit, and what an error means.

use std::sync::Mutex;
use std::time::Duration;

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError, RedisResult, ScriptInvocation, ServerErrorKind};

use super::Redis;
use crate::store::StoreError;
use crate::sync::lock;

/// The longest span that is handed to Redis: a hundred years.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The connection that all operations share but receiving.
#[derive(Default)]
pub(super) struct Link(Mutex<Slot>);

#[derive(Default)]
struct Slot {
    connection: Option<ConnectionManager>,
    /// Which connection it is.
    generation: u64,
}

impl Link {
    fn get(&self, store: &Redis) -> RedisResult<(ConnectionManager, u64)> {
        let mut slot = lock(&self.0);
        if let Some(connection) = &slot.connection {
            return Ok((connection.clone(), slot.generation));
        }
        // Who waits tries again by itself, in its own time.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(store.timeout))
            .set_response_timeout(Some(store.timeout));
        let connection = ConnectionManager::new_lazy_with_config(store.client.clone(), config)?;
        slot.generation += 1;
        slot.connection = Some(connection.clone());
        Ok((connection, slot.generation))
    }

    /// The next operation makes a new one. A connection that did not answer may never again, and one that was refused stays so.
    fn drop_connection(&self, generation: u64) {
        let mut slot = lock(&self.0);
        if slot.generation == generation {
            slot.connection = None;
        }
    }
}

impl Redis {
    /// Runs one script.
    pub(super) async fn run<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        self.on_link(async |mut connection| script.invoke_async(&mut connection).await).await
    }

    /// Runs one command.
    pub(super) async fn query<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        self.on_link(async |mut connection| command.query_async(&mut connection).await).await
    }

    /// Does something within the time limit.
    pub(super) async fn on_link<T>(
        &self,
        act: impl AsyncFnOnce(ConnectionManager) -> RedisResult<T>,
    ) -> Result<T, StoreError> {
        let (connection, generation) = self.link.get(self).map_err(|error| meaning(&error))?;
        let done = match tokio::time::timeout(self.timeout, act(connection)).await {
            Ok(done) => done.map_err(|error| meaning(&error)),
            Err(_) => Err(late(self.timeout)),
        };
        if let Err(StoreError::Down(_)) = &done {
            self.link.drop_connection(generation);
        }
        done
    }

    /// The same on another connection, for a command that waits for so long at most.
    pub(super) async fn run_on<T: FromRedisValue>(
        &self,
        connection: &mut impl ConnectionLike,
        command: &Cmd,
        waits: Duration,
    ) -> Result<T, StoreError> {
        within(self.timeout + waits, command.query_async(connection)).await
    }
}

/// What comes of it in that time.
pub(super) async fn within<T>(limit: Duration, act: impl Future<Output = RedisResult<T>>) -> Result<T, StoreError> {
    match tokio::time::timeout(limit, act).await {
        Ok(done) => done.map_err(|error| meaning(&error)),
        Err(_) => Err(late(limit)),
    }
}

/// Milliseconds, at least one, as a lease has.
pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.min(LONGEST).as_millis()).unwrap_or(u64::MAX).max(1)
}

pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.into())
}

fn late(limit: Duration) -> StoreError {
    StoreError::Down(format!("it did not answer within {limit:?}").into())
}

/// What an error means. Redis' own texts may quote keys, which are secrets, so only its codes are told.
pub(super) fn meaning(error: &RedisError) -> StoreError {
    let is =
        |code: &str, text: &str| error.code() == Some(code) || error.detail().is_some_and(|all| all.contains(text));
    if is("OOM", "OOM command not allowed") {
        return StoreError::Full("its maxmemory is reached".into());
    }
    if is("WRONGTYPE", "WRONGTYPE Operation") {
        return damaged("a key has another type");
    }
    match error.kind() {
        ErrorKind::Io => StoreError::Down(error.to_string().into()),
        ErrorKind::AuthenticationFailed => StoreError::Down("it refuses the user or password".into()),
        ErrorKind::UnexpectedReturnType | ErrorKind::Parse => damaged("an answer is not of the expected form"),
        // A script that fails found something that it cannot work with.
        ErrorKind::Server(ServerErrorKind::ResponseError) => damaged("a script could not go on"),
        _ => StoreError::Down(format!("it says {}", error.code().unwrap_or(error.category())).into()),
    }
}
