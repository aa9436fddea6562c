//! A server with one tool on smol: over standard input and output, and over HTTP on the address that is given.
//!
//! ```text
//! cargo run -p on-smol -- 127.0.0.1:8000
//! ```
//!
//! It shows what embedding takes where there is neither tokio nor hyper: a [`Runtime`] of
//! two methods, and a bridge of [one file](http) between the service and an HTTP library of your choice.

mod echo;
mod http;

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use mcp_transport_http::{McpService, Runtime, Task};
use mcp_transport_stdio::{Connection, SystemClock, threads};
use smol::Timer;
use smol::net::TcpListener;

use echo::Echo;

/// smol, as the HTTP service sees it.
#[derive(Clone, Copy, Debug)]
struct Smol;

impl Runtime for Smol {
    fn spawn(&self, task: Task) {
        smol::spawn(task).detach();
    }

    fn sleep(&self, span: Duration) -> Task {
        Box::pin(sleep(span))
    }
}

async fn sleep(span: Duration) {
    Timer::after(span).await;
}

fn main() -> Result<(), Box<dyn Error>> {
    let echo = Echo::new()?;
    smol::block_on(async {
        if let Some(address) = std::env::args().nth(1) {
            let service = McpService::builder(echo.clone()).build(Smol)?;
            let listener = TcpListener::bind(&address).await?;
            // Standard output is the protocol's (STDIO-1).
            writeln!(std::io::stderr(), "listening on http://{}/mcp", listener.local_addr()?)?;
            smol::spawn(http::serve(listener, service)).detach();
        }
        let clock = SystemClock::new(sleep);
        Connection::new(Arc::new(echo), clock).run(threads::stdin()?, threads::stdout()?).await?;
        Ok(())
    })
}
