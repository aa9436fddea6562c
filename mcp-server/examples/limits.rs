//! Limits: of time, of calls at once, of calls a minute, and a circuit that opens while a service fails.

use std::time::Duration;

use mcp_server::middleware::{CircuitBreaker, ConcurrencyLimit, TimeLimit};
use mcp_server::{CallError, RateLimit, Server, State, tool};

/// Some service elsewhere.
struct Quotes {
    delay: Duration,
    fails: bool,
}

impl Quotes {
    async fn fetch(&self) -> Result<u32, std::io::Error> {
        tokio::time::sleep(self.delay).await;
        if self.fails { Err(std::io::Error::other("connection refused")) } else { Ok(42) }
    }
}

/// Asks for a quote
// After five failures in a row it is not asked for 30 seconds, and then once, to see. The limit of time is within, so that being
// late is a failure.
#[tool(wrap = CircuitBreaker::new(), wrap = TimeLimit::new(Duration::from_secs(5)))]
async fn quote(State(quotes): State<Quotes>) -> Result<u32, CallError> {
    Ok(quotes.fetch().await?)
}

fn server(quotes: Quotes, rate: RateLimit) -> Server {
    Server::new("quotes", "1.0.0").state(quotes).wrap(rate).wrap(ConcurrencyLimit::new(64)).tool(quote)
}

#[tokio::main]
async fn main() -> mcp_server::Result<()> {
    let rate = RateLimit::new(100, Duration::from_secs(60));
    server(Quotes { delay: Duration::from_millis(10), fails: false }, rate).serve_stdio().await
}

#[cfg(test)]
#[path = "../tests/examples/limits.rs"]
mod tests;
