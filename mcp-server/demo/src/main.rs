//! A server to try: `cargo run -p demo`, then what it prints.

mod args;
mod fixtures;
mod log;
mod tools;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use mcp_server::{Server, http::HttpServer};
use tokio::runtime::{Builder, Runtime};

use args::Task;

/// What programs answer to a command line that they do not understand.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let task = match args::read(std::env::args_os().skip(1)) {
        Ok(task) => task,
        Err(mistake) => {
            say(&format!("demo: {mistake}\n`demo --help` lists what there is\n"));
            return ExitCode::from(USAGE);
        }
    };
    let ended = match task {
        Task::Help => print(args::HELP),
        Task::Version => print(concat!("demo ", env!("CARGO_PKG_VERSION"), "\n")),
        Task::Stdio { log } => {
            log::install(log);
            stdio()
        }
        Task::Http { address, hosts, sse, log } => {
            log::install(log);
            http(&address, &hosts, sse)
        }
    };
    log::flush();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("demo: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn server() -> Server {
    let server = Server::new("demo", env!("CARGO_PKG_VERSION"))
        .title("Demo")
        .instructions("Try `echo` and `add`; `sleep` shows progress and can be cancelled; `panic` harms nobody.");
    fixtures::register(tools::register(server))
}

/// One client and no parallel work of its own: a second thread would only pass messages to and fro.
fn stdio() -> mcp_server::Result<()> {
    let app = server().build()?;
    finish(Builder::new_current_thread().enable_all().build()?, app.serve_stdio())
}

fn http(address: &str, hosts: &[String], sse: bool) -> mcp_server::Result<()> {
    let server = hosts.iter().fold(server(), Server::allow_host);
    let app = if sse { server.http_sse() } else { server }.build()?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    finish(runtime, async {
        let server = app.bind_http(address).await?;
        announce(&server, hosts, sse)?;
        server.serve().await
    })
}

/// Does not wait for threads that a tool may still block.
fn finish(runtime: Runtime, serving: impl Future<Output = mcp_server::Result<()>>) -> mcp_server::Result<()> {
    let ended = runtime.block_on(serving);
    runtime.shutdown_background();
    ended
}

fn announce(server: &HttpServer, hosts: &[String], sse: bool) -> mcp_server::Result<()> {
    let address = server.local_addr()?;
    let url = format!("http://{address}/mcp");
    let mut text = format!("listening on {url}\n");
    if sse {
        text.push_str(&format!("and on http://{address}/sse, for clients of 2024-11-05\n"));
    }
    if !address.ip().is_loopback() && hosts.is_empty() {
        text.push_str("only requests for a loopback host are answered: name others with --allow-host HOST\n");
    }
    text.push_str(&format!("try: {}\n", example(address)));
    say(&text);
    Ok(())
}

/// One line for a shell: a call of `echo`, as a client of 2026-07-28 makes it.
fn example(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"Hello!"},"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
    );
    format!(
        "curl -sS 'http://{address}/mcp' -H 'Content-Type: application/json' \
         -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
         -H 'Mcp-Method: tools/call' -H 'Mcp-Name: echo' -d '{body}'"
    )
}

fn print(text: &str) -> mcp_server::Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

/// To stderr, if anybody listens.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
