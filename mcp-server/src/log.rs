//! Log messages for the client.

use mcp_core::drive::Link;
use mcp_core::{Level, Note};
use serde::Serialize;

use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs};
use crate::redact::Redact;
use crate::sent::Sent;

/// Logs to the client, if it wants messages of that level. A tool that takes it makes the server offer the `logging`
/// capability (LOG-1). For the server's own log use `tracing`. Secrets do not belong here: see
/// [`Server::redact_logs`](crate::Server::redact_logs).
///
/// ```
/// use mcp_server::{Log, Tool};
/// use serde_json::json;
///
/// let tool = Tool::new("buy").description("Buys one.").run(|log: Log| {
///     log.info("buying");
///     log.warning(json!({"left": 1}));
///     "bought"
/// });
/// ```
///
/// What it says is on its way at once; of a client that reads slowly the oldest messages are dropped, over
/// [`Limits::logs`](mcp_core::policy::Limits::logs) of them. Each method returns a [`Sent`]: awaited, it holds the work back instead.
#[derive(Clone, Debug)]
pub struct Log {
    link: Link,
    logger: Option<Box<str>>,
    redact: Redact,
}

impl Log {
    pub(crate) const fn new(link: Link, redact: Redact) -> Self {
        Self { link, logger: None, redact }
    }

    /// The same under the name of a part of the server.
    #[must_use]
    pub fn named(mut self, logger: impl AsRef<str>) -> Self {
        self.logger = Some(logger.as_ref().into());
        self
    }

    /// Any value that serde can write, most simply a text.
    pub fn send(&self, level: Level, data: impl Serialize) -> Sent<'_> {
        match self.redact.written(&data) {
            Ok(data) => {
                self.link.note(Note::Log { level, logger: self.logger.clone(), data: data.into() });
                Sent::by(&self.link)
            }
            // A defect of the tool, and no reason to fail its call.
            Err(error) => {
                tracing::warn!(%error, "a log message for the client could not be written as JSON");
                Sent::nowhere()
            }
        }
    }

    /// At [`Level::Debug`].
    pub fn debug(&self, data: impl Serialize) -> Sent<'_> {
        self.send(Level::Debug, data)
    }

    /// At [`Level::Info`].
    pub fn info(&self, data: impl Serialize) -> Sent<'_> {
        self.send(Level::Info, data)
    }

    /// At [`Level::Warning`].
    pub fn warning(&self, data: impl Serialize) -> Sent<'_> {
        self.send(Level::Warning, data)
    }

    /// At [`Level::Error`].
    pub fn error(&self, data: impl Serialize) -> Sent<'_> {
        self.send(Level::Error, data)
    }
}

impl Extract for Log {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(ctx.log())
    }

    fn needs(needs: &mut Needs) {
        needs.logging();
    }
}
