//! The servers that run in processes of their own. Each prints its port, and then, for each line that comes in, how many sleep.
#![allow(clippy::print_stdout)]

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, BufRead as _, Write as _};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mcp_core::Span;
use mcp_transport_http::{McpService, Server, TokioRuntime};
use tokio::net::TcpListener;

use crate::world::{self, World};

/// What `Server` sets hyper to.
const HEAD_TIME: Duration = Duration::from_secs(30);
const HEAD: usize = 64 << 10;
/// The quiet time after which sessions sleep where nobody moves the clock.
const QUIET: Span = Span::millis(200);

/// Ours, to which so many listen.
pub(crate) fn ours(connections: usize) -> io::Result<()> {
    run(async move {
        let mut policy = world::policy(connections);
        policy.timing.hibernate_after = Some(QUIET);
        let service = world::service(policy, TokioRuntime);
        serve(service, connections).await
    })
}

/// Ours, in which so many sleep already.
pub(crate) fn with_sleepers(sessions: usize) -> io::Result<()> {
    let mut policy = world::policy(sessions);
    // Whoever is served stays awake.
    policy.timing.idle = Span::secs(24 * 3600);
    let world = World::new(policy);
    world.put_to_sleep(0..sessions, |_, _| {});
    run(async move {
        world.clock.hand_over();
        serve(world.service, 100).await
    })
}

async fn serve(service: McpService, connections: usize) -> io::Result<()> {
    let server = Server::bind("127.0.0.1:0", service.clone()).await?.max_connections(connections + 100);
    say(server.local_addr()?.port(), move || service.sleeping());
    server.run().await
}

/// Bare hyper, set up as ours, that says the same to the reference client: a constant to each POST, and to a GET a comment and
/// no more. As its guide has it, or as lean as we could make it.
pub(crate) fn hyper(lean: bool) -> io::Result<()> {
    run(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let open = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&open);
        say(listener.local_addr()?.port(), move || counted.load(Ordering::SeqCst));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_header_size(HEAD);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (http, open) = (http.clone(), Arc::clone(&open));
            if lean {
                // The connection is the task, and nothing is around it.
                let service = service_fn(move |request| answer_in_box(request, &open));
                drop(tokio::spawn(http.serve_connection(TokioIo::new(stream), service)));
            } else {
                drop(tokio::spawn(async move {
                    let service = service_fn(|request| answer(request, Arc::clone(&open)));
                    drop(http.serve_connection(TokioIo::new(stream), service).await);
                }));
            }
        }
    })
}

/// The body of bare hyper's answers.
enum Plain {
    Full(Bytes),
    /// A stream that never ends, before and after its only event.
    Fresh,
    Quiet,
}

impl http_body::Body for Plain {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Fresh => {
                *self = Self::Quiet;
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": \n\n")))))
            }
            Self::Quiet => Poll::Pending,
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Full(bytes) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Self::Fresh | Self::Quiet => http_body::SizeHint::default(),
        }
    }
}

async fn answer(request: Request<Incoming>, open: Arc<AtomicUsize>) -> Result<Response<Plain>, hyper::Error> {
    if request.method() == Method::GET {
        return Ok(events(&open));
    }
    let body = request.into_body().collect().await?.to_bytes();
    Ok(constant(&body))
}

/// A connection holds no room for the reading of a body once that was read.
enum Answering {
    Now(Option<Response<Plain>>),
    Reading(Pin<Box<dyn Future<Output = Result<Response<Plain>, hyper::Error>> + Send>>),
}

impl Future for Answering {
    type Output = Result<Response<Plain>, hyper::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Now(response) => Poll::Ready(Ok(response.take().expect("polled once"))),
            Self::Reading(reading) => reading.as_mut().poll(cx),
        }
    }
}

fn answer_in_box(request: Request<Incoming>, open: &AtomicUsize) -> Answering {
    if request.method() == Method::GET {
        return Answering::Now(Some(events(open)));
    }
    Answering::Reading(Box::pin(async move {
        let body = request.into_body().collect().await?.to_bytes();
        Ok(constant(&body))
    }))
}

fn events(open: &AtomicUsize) -> Response<Plain> {
    open.fetch_add(1, Ordering::SeqCst);
    let response = Response::builder().header("content-type", "text/event-stream").header("cache-control", "no-cache");
    response.body(Plain::Fresh).expect("the head is valid")
}

fn constant(body: &[u8]) -> Response<Plain> {
    let response = Response::builder().header(world::SESSION, "AAAAAAAAAAAAAAAAAAAAAA");
    let answer = match body.len() > world::INITIALIZED.len() {
        true => response.header("content-type", "application/json").body(Plain::Full(Bytes::from_static(RESULT))),
        false => response.status(202).body(Plain::Full(Bytes::new())),
    };
    answer.expect("the head is valid")
}

/// An answer to `initialize`.
const RESULT: &[u8] = concat!(
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"#,
    r#""serverInfo":{"name":"bench","version":"1.0.0"}}}"#
)
.as_bytes();

/// Two workers, so that connections meet two arenas of the allocator, as they do in a server.
fn run(server: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(server)
}

/// Tells the port, and then, line by line, what is asked for.
fn say(port: u16, count: impl Fn() -> usize + Send + 'static) {
    println!("{port}");
    drop(io::stdout().flush());
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_err() {
                break;
            }
            println!("{}", count());
            drop(io::stdout().flush());
        }
        // Whoever started it has gone.
        std::process::exit(0);
    });
}
