//! A server of its own, on tokio and hyper.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::task::JoinSet;

use crate::body::Body;
use crate::head::PeerAddr;
use crate::linger::Lingering;
use crate::responding::Responding;
use crate::service::McpService;
use crate::sync::lock;

/// How long the head of a request may take, and how long a connection may stay without one: 30 s, hyper's own default.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long a peer may take no byte of what is written to it: 60 s, as other servers have it. One that reads at all takes
/// its share sooner, and whoever waits for events has nothing to take.
const WRITE_TIME: Duration = Duration::from_secs(60);
/// Bytes of the head of a request: 64 KiB, four times what others take, since arguments are repeated in it (HDR-9).
const HEAD: usize = 64 << 10;
/// How long running calls are waited for when the server goes down: 5 s, half of what a container gets before it is
/// killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long connections get after that to carry what was said last: 1 s.
const FLUSH: Duration = Duration::from_secs(1);
/// The most connections: 20,000, two for each of the sessions that there may be, at about 10 KB each 200 MB.
const CONNECTIONS: usize = 20_000;
/// How long to wait when the system has no room for one more connection: 100 ms. Some end meanwhile.
const RETRY: Duration = Duration::from_millis(100);
/// What a connection gets that is one too many.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Serves a [`McpService`] on a TCP port.
///
/// ```no_run
/// # async fn example(handler: impl mcp_core::drive::Handler) -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_transport_http::{McpService, Server, TokioRuntime};
///
/// let service = McpService::builder(handler).build(TokioRuntime)?;
/// let server = Server::bind("127.0.0.1:8000", service).await?;
/// server.run_until(async { drop(tokio::time::sleep(std::time::Duration::from_secs(3600)).await) }).await?;
/// # Ok(()) }
/// ```
pub struct Server {
    listener: TcpListener,
    service: McpService,
    head_time: Duration,
    write_time: Duration,
    grace: Duration,
    connections: usize,
}

/// Serves on that address until the process ends.
///
/// # Errors
///
/// If the address cannot be listened on.
pub async fn serve(address: impl ToSocketAddrs + fmt::Display, service: McpService) -> io::Result<()> {
    Server::bind(address, service).await?.run().await
}

impl Server {
    /// Listens on that address. `127.0.0.1` reaches this machine only, `0.0.0.0` all there are (HTTP-3); port 0 is any
    /// free one, which [`Server::local_addr`] tells.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on; the text says what to do.
    pub async fn bind(address: impl ToSocketAddrs + fmt::Display, service: McpService) -> io::Result<Self> {
        let name = address.to_string();
        let listener = TcpListener::bind(address).await.map_err(|error| explain(&name, &error))?;
        Ok(Self::new(listener, service))
    }

    /// Serves what connects to that listener.
    #[must_use]
    pub const fn new(listener: TcpListener, service: McpService) -> Self {
        Self { listener, service, head_time: HEAD_TIME, write_time: WRITE_TIME, grace: GRACE, connections: CONNECTIONS }
    }

    /// How long the head of a request may take, and how long a connection may stay without one; 30 s by default.
    #[must_use]
    pub const fn head_time(mut self, span: Duration) -> Self {
        self.head_time = span;
        self
    }

    /// How long a peer may take no byte of what is written to it; 60 s by default. Then its connection is cut, and its
    /// answers are dropped: that cancels a modern request (HTTP-46), and lets a legacy one go on (HTTP-28).
    #[must_use]
    pub const fn write_time(mut self, span: Duration) -> Self {
        self.write_time = span;
        self
    }

    /// How long running calls are waited for when the server goes down; 5 s by default.
    #[must_use]
    pub const fn grace(mut self, span: Duration) -> Self {
        self.grace = span;
        self
    }

    /// The most connections at once; 20,000 by default. One more is answered with 503.
    #[must_use]
    pub const fn max_connections(mut self, most: usize) -> Self {
        self.connections = most;
        self
    }

    /// Where it listens.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    ///
    /// None at present.
    pub async fn run(self) -> io::Result<()> {
        self.run_until(pending()).await
    }

    /// Serves until `signal` is ready. Then nothing more is accepted, running calls have the grace time to end, open
    /// streams end, and it returns.
    ///
    /// # Errors
    ///
    /// None at present.
    pub async fn run_until(self, signal: impl Future<Output = ()>) -> io::Result<()> {
        self.warn_of_names();
        let open = Arc::new(Open::default());
        let mut tasks = JoinSet::new();
        let mut http = http1::Builder::new();
        // Without `pipeline_flush`: it keeps an answer back for as long as anything lies unread behind its request.
        http.timer(TokioTimer::new()).header_read_timeout(self.head_time).max_header_size(HEAD);
        {
            let mut signal = pin!(signal);
            let mut key = 0;
            while let Some((stream, peer)) = self.accept(signal.as_mut()).await {
                while tasks.try_join_next().is_some() {}
                if tasks.len() >= self.connections {
                    turn_away(&stream);
                    continue;
                }
                key += 1;
                let io = Lingering::new(stream, self.write_time, Arc::clone(&open.closing));
                let service = Boxed { service: self.service.clone(), peer: PeerAddr(peer) };
                let connection = http.serve_connection(TokioIo::new(io), service);
                tasks.spawn(Connection { connection, open: Arc::clone(&open), key, state: State::Fresh });
            }
        }
        drop(self.listener);
        open.close();
        self.service.shutdown(self.grace).await;
        let flushed = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(FLUSH, flushed).await.is_err() {
            tracing::debug!(connections = tasks.len(), "connections that did not end in time are cut");
        }
        tasks.shutdown().await;
        Ok(())
    }

    /// Whoever opens a server to others should hear at once that none of them will be answered.
    fn warn_of_names(&self) {
        match self.listener.local_addr() {
            Ok(address) if !address.ip().is_loopback() && self.service.is_local() => tracing::warn!(
                %address,
                "this server answers to loopback names only: say by which host others reach it, with allow_host"
            ),
            _ => {}
        }
    }

    /// The next connection; `None` once the signal has come.
    async fn accept(&self, mut signal: Pin<&mut impl Future<Output = ()>>) -> Option<(TcpStream, SocketAddr)> {
        loop {
            let accepted = poll_fn(|cx| match signal.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => self.listener.poll_accept(cx).map(Some),
            });
            match accepted.await? {
                Ok((stream, peer)) => {
                    // Without it an answer waits for the peer's delayed acknowledgement of the one before.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "TCP_NODELAY could not be set");
                    }
                    return Some((stream, peer));
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted for now");
                    if tokio::time::timeout(RETRY, signal.as_mut()).await.is_ok() {
                        return None;
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("listener", &self.listener)
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// The service of one connection. hyper keeps room for a response that is made for as long as a connection lives, and most of
/// them wait or listen: so it is made in a box, which goes when it was made.
struct Boxed {
    service: McpService,
    peer: PeerAddr,
}

impl hyper::service::Service<Request<Incoming>> for Boxed {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<Responding<Incoming>>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        Box::pin(hyper::service::Service::call(&self.service, request))
    }
}

/// The connections that are open, to be told when the server goes down.
#[derive(Debug, Default)]
struct Open {
    closing: Arc<AtomicBool>,
    wakers: Mutex<HashMap<u64, Waker>>,
}

impl Open {
    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *lock(&self.wakers));
        wakers.into_values().for_each(Waker::wake);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fresh,
    Known,
    Closing,
}

pin_project_lite::pin_project! {
    /// One connection's task.
    struct Connection {
        #[pin]
        connection: http1::Connection<TokioIo<Lingering>, Boxed>,
        open: Arc<Open>,
        key: u64,
        state: State,
    }

    impl PinnedDrop for Connection {
        fn drop(this: Pin<&mut Self>) {
            lock(&this.open.wakers).remove(&this.key);
        }
    }
}

impl Future for Connection {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if *this.state == State::Fresh {
            // The waker of a task stays the same, so once is enough.
            lock(&this.open.wakers).insert(*this.key, cx.waker().clone());
            *this.state = State::Known;
        }
        if *this.state == State::Known && this.open.closing.load(Ordering::SeqCst) {
            *this.state = State::Closing;
            this.connection.as_mut().graceful_shutdown();
        }
        this.connection.poll(cx).map(|ended| {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke off");
            }
        })
    }
}

/// Whether the error is of a connection that broke off before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn turn_away(stream: &TcpStream) {
    // Its buffer is empty, so this goes out whole or the peer has gone.
    let written = stream.try_write(BUSY);
    tracing::warn!(?written, "too many connections: one was turned away");
}

fn explain(address: &str, error: &io::Error) -> io::Error {
    let what = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use: stop the server that uses it, or choose another port (0 takes any that is free)"
        }
        io::ErrorKind::PermissionDenied => "this user may not listen there: choose a port from 1024 on",
        io::ErrorKind::AddrNotAvailable => {
            "the address is not of this machine: choose 127.0.0.1 for this machine only, or 0.0.0.0 for all networks"
        }
        io::ErrorKind::InvalidInput => "give an address and a port, as in 127.0.0.1:8000",
        _ => return io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")),
    };
    io::Error::new(error.kind(), format!("cannot listen on {address}: {what}"))
}
