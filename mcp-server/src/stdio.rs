//! Serving standard input and output.

use std::sync::Arc;

use mcp_core::{Caller, Event};
use mcp_transport_stdio::{Connection, Ended, TokioClock};

use crate::error::{Error, Result};
use crate::serve::App;
use crate::server::Server;

impl Server {
    /// Who is at the other end of standard input and output: whoever starts the server knows (AUTH-1). By default nobody in
    /// particular, and then what needs a scope does not exist there: it is neither listed nor found.
    ///
    /// ```
    /// use mcp_server::{Caller, Scopes, Server};
    ///
    /// let user = std::env::var("USER").unwrap_or_default();
    /// let server = Server::new("notes", "1.0.0").caller(Caller::new(format!("os:{user}"), Scopes::parse("notes:read notes:write")));
    /// ```
    ///
    /// Over HTTP it means nothing: see `Server::authenticate`.
    pub fn caller(mut self, caller: Caller) -> Self {
        self.transports.caller = caller;
        self
    }

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
        match connection(self).stdio().await {
            Ok(Ended::EndOfInput | Ended::Shutdown) => tracing::debug!("stdio ended"),
            Ok(ended) => tracing::debug!(?ended, "stdio ended early"),
            Err(error) => return Err(Error::io("cannot go on over stdio", error)),
        }
        Ok(())
    }
}

fn connection(app: App) -> Connection<App, TokioClock> {
    let caller = app.stdio_caller();
    Connection::tokio(Arc::new(app)).caller(caller).on_event(log)
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

#[cfg(test)]
mod tests {
    use mcp_core::Scopes;

    use super::*;
    use crate::tool::Tool;

    async fn said(server: Server, scope: Option<&str>) -> Option<String> {
        let who = Tool::new("who").description("A tool of a test.").run(|caller: Caller| format!("{caller:?}"));
        let who = scope.into_iter().fold(who, Tool::scope);
        let app = server.tool(who).build().unwrap();
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"who","_meta":{meta}}}}}{}"#,
            '\n'
        );
        let mut output = Vec::new();
        connection(app).run_tokio(call.as_bytes(), &mut output).await.unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output).unwrap();
        answer["result"]["content"][0]["text"].as_str().map(ToOwned::to_owned)
    }

    #[tokio::test]
    async fn who_is_at_the_other_end_is_what_the_server_was_told() {
        let server = || Server::new("test", "1");
        assert_eq!(said(server(), None).await, Some(format!("{:?}", Caller::anonymous())));
        assert_eq!(said(server(), Some("read")).await, None, "what needs a scope is not there");
        let caller = Caller::new("os:ada", Scopes::parse("read"));
        for scope in [None, Some("read")] {
            assert_eq!(said(server().caller(caller.clone()), scope).await, Some(format!("{caller:?}")));
        }
        assert_eq!(said(server().caller(caller), Some("write")).await, None);
    }
}
