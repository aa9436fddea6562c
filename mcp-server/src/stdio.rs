//! Serving standard input and output.

use std::sync::Arc;

use mcp_core::Event;
use mcp_transport_stdio::{Connection, Ended};

use crate::error::{Error, Result};
use crate::serve::App;
use crate::server::Server;

impl Server {
    /// Builds the server and serves standard input and output: see [`App::serve_stdio`].
    ///
    /// # Errors
    ///
    /// If the server cannot be built, or reading or writing fails.
    pub async fn serve_stdio(self) -> Result<()> {
        self.build()?.serve_stdio().await
    }
}

impl App {
    /// Serves standard input and output until the input ends, SIGTERM or Ctrl-C.
    ///
    /// Standard output belongs to the protocol then: no `println!`, and a log that goes to stderr (STDIO-1), as
    /// `tracing_subscriber::fmt().with_writer(std::io::stderr).init()` has it.
    ///
    /// # Errors
    ///
    /// If reading or writing fails for another reason than that the client has gone.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn serve_stdio(self) -> Result<()> {
        let connection = Connection::tokio(Arc::new(self)).on_event(log);
        match connection.stdio().await {
            Ok(Ended::EndOfInput | Ended::Shutdown) => tracing::debug!("stdio ended"),
            Ok(ended) => tracing::debug!(?ended, "stdio ended early"),
            Err(error) => return Err(Error::io("cannot go on over stdio", error)),
        }
        Ok(())
    }
}

/// What an operator may want to know. A peer can cause any number of these, so none is louder than `debug`, but for what
/// the server's own code is late with.
fn log(event: Event) {
    match event {
        Event::TimedOut(call) => tracing::warn!(?call, "a call ran for too long"),
        Event::MetaDropped(call, keys) => tracing::warn!(
            ?call,
            ?keys,
            "keys of `_meta` were left out of an answer: use a prefix of a domain of your own, such as `com.example/`"
        ),
        event => tracing::debug!(?event, "stdio"),
    }
}
