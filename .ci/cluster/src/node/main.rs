//! One server process of the cluster. It says on stdout where it listens, and does on stdin's word what a process that is tested
//! to the end must: `arm POINT PASSES` has it killed at a point, `hanging` tells which calls hang, `sessions` how many it
//! has. The end of stdin is its end.

mod armed;
mod faulty;
mod side;
mod tools;
mod wire;

use std::convert::Infallible;
use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http::header::AUTHORIZATION;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcp_core::{Caller, Scopes, Span};
use mcp_server::Policy;
use mcp_server::http::store::{EventLog, Memory, Redis, Relay, SessionStore};
use mcp_server::http::{Cluster, McpService};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use faulty::Faulty;
use side::Side;
use wire::Wire;

/// How long calls have to end once the node was told to.
const GRACE: Duration = Duration::from_millis(500);
/// How long connections have after that to carry what was said last.
const FLUSH: Duration = Duration::from_secs(1);

struct Args {
    redis: String,
    lease: Duration,
    hibernate: Span,
    memory: bool,
}

fn args() -> Result<Args, lexopt::Error> {
    use lexopt::prelude::*;
    let mut args =
        Args { redis: String::new(), lease: Duration::from_secs(1), hibernate: Span::secs(1), memory: false };
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Long("redis") => args.redis = parser.value()?.string()?,
            Long("lease-ms") => args.lease = Duration::from_millis(parser.value()?.parse()?),
            Long("hibernate-ms") => args.hibernate = Span::millis(parser.value()?.parse()?),
            // Two servers in one process, which forgets everything: what the suite must find wanting.
            Long("memory") => args.memory = true,
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(args)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let args = args()?;
    let side = Side::connect(&args.redis).await?;
    let mut policy = Policy::default();
    policy.timing.hibernate_after = Some(args.hibernate);
    policy.timing.keep_alive = Span::secs(3);
    policy.timing.retry = Span::millis(100);
    let cluster = if args.memory {
        cluster(Memory::new(&policy))
    } else {
        cluster(Redis::new(&args.redis)?.policy(&policy).liveness(args.lease))
    };
    let cluster = cluster.lease(args.lease);
    let mut nodes = JoinSet::new();
    let mut addresses = String::new();
    let mut services = Vec::new();
    for _ in 0..if args.memory { 2 } else { 1 } {
        let server = tools::server(side.clone()).policy(policy.clone()).cluster(cluster.clone());
        let service = server.build()?.http_service()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        addresses.push_str(&format!(" {}", listener.local_addr()?));
        // From here on it stops as it should, and nobody knows of it before.
        nodes.spawn(serve(listener, service.clone(), signal(SignalKind::terminate())?));
        services.push(service);
    }
    say(&format!("listening on{addresses}"));
    tokio::spawn(obey(side, services));
    while nodes.join_next().await.is_some() {}
    // The runtime would wait for the thread that reads stdin.
    std::process::exit(0)
}

fn cluster(store: impl SessionStore + EventLog + Relay) -> Cluster {
    let store = Arc::new(store);
    let faulty = Arc::new(Faulty(Arc::clone(&store)));
    Cluster::new(faulty.clone(), faulty, store)
}

/// Not by `println!`, whose lock another thread could hold when the process is stopped.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
}

async fn obey(side: Side, services: Vec<McpService>) {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["arm", point, passes] => {
                armed::arm(point.parse().expect("a point"), passes.parse().expect("a number"));
                say("armed");
            }
            ["hanging"] => say(&format!("hanging {}", side.hanging().join(" "))),
            ["sessions"] => say(&format!("sessions {}", services.iter().map(McpService::sessions).sum::<usize>())),
            _ => say("what?"),
        }
    }
    // Whoever started it is gone.
    std::process::exit(3);
}

async fn serve(listener: TcpListener, service: McpService, mut terminate: Signal) {
    let (closing, closes) = watch::channel(false);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = terminate.recv() => break,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else { continue };
        let _ = stream.set_nodelay(true);
        connections.spawn(connection(Wire(stream), service.clone(), closes.clone()));
    }
    drop(listener);
    let _ = closing.send(true);
    service.shutdown(GRACE).await;
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FLUSH, all).await;
}

async fn connection(wire: Wire, service: McpService, mut closes: watch::Receiver<bool>) {
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let caller = token.map_or_else(Caller::anonymous, |token| Caller::new(token, Scopes::default()));
        request.extensions_mut().insert(caller);
        let answered = service.handle(request);
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(wire), answer);
    tokio::pin!(connection);
    tokio::select! {
        _ = &mut connection => return,
        _ = closes.wait_for(|closing| *closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
