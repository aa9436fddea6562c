//! Serving Streamable HTTP: on a port of its own, or as a service within another server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::task::Poll;

use mcp_core::catalog::Defect;
use mcp_core::fault::reflect;
use mcp_transport_http::{Builder, TokioRuntime};
use tokio::net::ToSocketAddrs;

use crate::error::{BuildError, Result};
use crate::rate_limit::RateLimit;
use crate::serve::App;
use crate::server::Server;

mod access;
mod head;

pub use head::Head;
pub use http::HeaderMap;
pub use http::request::Parts;
#[cfg(feature = "redis")]
pub use mcp_transport_http::store::Redis;
pub use mcp_transport_http::{
    Authenticating, Authenticator, Body, Cluster, McpService, PeerAddr, Rejection, RequestHead, Responding, bearer,
    store,
};

/// The path of the endpoint where none was given: the adapter's own default.
const PATH: &str = "/mcp";

/// What was said about HTTP, to be repeated to the adapter's builder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Http(Vec<Setting>);

#[derive(Clone, Debug)]
enum Setting {
    Path(Box<str>),
    Host(Box<str>),
    AnyHost,
    Origin(Box<str>),
    AnyOrigin,
    Cors,
    Resumable(bool),
    Cluster(Cluster),
    Authenticate(access::Shared),
    ResourceMetadata(Box<str>),
    RateLimit(RateLimit),
    #[cfg(feature = "http-sse")]
    HttpSse {
        stream: Box<str>,
        messages: Box<str>,
    },
}

impl Setting {
    fn defect(&self) -> Option<Defect> {
        let (rule, method, given, checked) = match self {
            Self::Path(path) => ("HTTP-1", "http_path", path, Builder::check_path(path)),
            Self::Host(host) => ("HTTP-2", "allow_host", host, Builder::check_host(host)),
            Self::Origin(origin) => ("HTTP-2", "allow_origin", origin, Builder::check_origin(origin)),
            Self::RateLimit(limit) => {
                let message = format!("rate_limit({limit:?}): {}", limit.mistake()?);
                return Some(Defect { entry: "http".into(), rule: "SEC-2", message: message.into() });
            }
            Self::AnyHost
            | Self::AnyOrigin
            | Self::Cors
            | Self::Resumable(_)
            | Self::Cluster(_)
            | Self::ResourceMetadata(_)
            | Self::Authenticate(_) => return None,
            #[cfg(feature = "http-sse")]
            Self::HttpSse { stream, messages } => {
                let is_fine = Builder::check_http_sse_path(stream).is_ok();
                let path = if is_fine { messages } else { stream };
                ("HTTP-60", "http_sse_at", path, Builder::check_http_sse_path(path))
            }
        };
        Some(defect(rule, method, given, checked.err()?))
    }
}

fn defect(rule: &'static str, method: &str, given: &str, remedy: &str) -> Defect {
    let message = format!("{method}(\"{}\"): {remedy}", reflect(given));
    Defect { entry: "http".into(), rule, message: message.into() }
}

impl Http {
    /// What is wrong with the settings.
    pub(crate) fn defects(&self) -> Vec<Defect> {
        let mut defects: Vec<Defect> = self.0.iter().filter_map(Setting::defect).collect();
        if self.0.iter().filter(|setting| matches!(setting, Setting::Authenticate(_))).count() > 1 {
            let message = "authenticate(..) was given more than once: give one that tries one way after the other";
            defects.push(Defect { entry: "http".into(), rule: "AUTH-11", message: message.into() });
        }
        #[cfg(feature = "http-sse")]
        let defects = if defects.is_empty() { self.clash().into_iter().collect() } else { defects };
        defects
    }

    /// Two things at one path.
    #[cfg(feature = "http-sse")]
    fn clash(&self) -> Option<Defect> {
        let (stream, messages) = self.0.iter().rev().find_map(|setting| match setting {
            Setting::HttpSse { stream, messages } => Some((stream, messages)),
            _ => None,
        })?;
        let remedy = Builder::check_http_sse(self.path(), stream, messages).err()?;
        Some(defect("HTTP-60", "http_sse_at", &format!("{stream}, {messages}"), remedy))
    }

    /// The path of the endpoint.
    fn path(&self) -> &str {
        let given = self.0.iter().rev().find_map(|setting| match setting {
            Setting::Path(path) => Some(&**path),
            _ => None,
        });
        given.unwrap_or(PATH)
    }

    /// Where the document is that challenges name.
    pub(crate) fn resource_metadata(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|setting| match setting {
            Setting::ResourceMetadata(url) => Some(&**url),
            _ => None,
        })
    }

    fn apply(&self, builder: Builder) -> Builder {
        let limits = self.0.iter().filter_map(|setting| match setting {
            Setting::RateLimit(limit) => Some(limit.clone()),
            _ => None,
        });
        let builder = access::limit(builder, limits.collect());
        self.0.iter().fold(builder, |builder, setting| match setting {
            Setting::RateLimit(_) | Setting::ResourceMetadata(_) => builder,
            Setting::Authenticate(authenticator) => authenticator.apply(builder),
            Setting::Path(path) => builder.path(path),
            Setting::Host(host) => builder.allow_host(host),
            Setting::AnyHost => builder.allow_any_host(),
            Setting::Origin(origin) => builder.allow_origin(origin),
            Setting::AnyOrigin => builder.allow_any_origin(),
            Setting::Cors => builder.cors(),
            Setting::Resumable(resumable) => builder.resumable(*resumable),
            Setting::Cluster(cluster) => builder.cluster(cluster.clone()),
            #[cfg(feature = "http-sse")]
            Setting::HttpSse { stream, messages } => builder.http_sse_at(stream, messages),
        })
    }
}

impl Server {
    /// The path of the HTTP endpoint. Default: `/mcp`.
    pub fn http_path(self, path: impl AsRef<str>) -> Self {
        self.http(Setting::Path(path.as_ref().into()))
    }

    /// Answers to one more host over HTTP, as `mcp.example.com` or `mcp.example.com:8443`. Other than loopback names are
    /// refused otherwise, so that no web page can reach a local server by a name of its own (HTTP-2).
    pub fn allow_host(self, host: impl AsRef<str>) -> Self {
        self.http(Setting::Host(host.as_ref().into()))
    }

    /// Answers to any host: for a server behind a proxy that checks it.
    pub fn allow_any_host(self) -> Self {
        self.http(Setting::AnyHost)
    }

    /// Answers to web pages of one more origin, as `https://app.example.com`. Others than those of loopback hosts are refused
    /// otherwise (HTTP-2).
    pub fn allow_origin(self, origin: impl AsRef<str>) -> Self {
        self.http(Setting::Origin(origin.as_ref().into()))
    }

    /// Answers to web pages of any origin.
    pub fn allow_any_origin(self) -> Self {
        self.http(Setting::AnyOrigin)
    }

    /// Lets web pages of the allowed origins read the answers (HTTP-13). Off by default.
    pub fn cors(self) -> Self {
        self.http(Setting::Cors)
    }

    /// Whether what is sent to sessions is kept for a while, so that a client whose connection broke goes on after the last event that it
    /// has (HTTP-29). On by default; off, it takes no memory, and what was under way when a connection breaks is lost to its client.
    pub fn resumable(self, resumable: bool) -> Self {
        self.http(Setting::Resumable(resumable))
    }

    /// Keeps the sessions of the handshake revisions in a store over HTTP: they outlive this process, and other nodes that have the
    /// same store serve them too, so that a plain round-robin proxy will do. What was acknowledged to a client is stored before.
    /// Clients of 2026-07-28 have no sessions, and need none of it.
    ///
    /// On Redis that is (feature `redis`):
    ///
    #[cfg_attr(feature = "redis", doc = "```no_run")]
    #[cfg_attr(not(feature = "redis"), doc = "```ignore")]
    /// use mcp_server::Server;
    /// use mcp_server::http::Redis;
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// Server::new("my-app", "1.0.0").cluster(Redis::new("redis://127.0.0.1/")?).serve_http("0.0.0.0:8000").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// Nodes that hand a sealed state of one client to another need the same key: see [`Server::seal`](crate::Server::seal). Stores
    /// of your own: see [`store`]. A graceful stop lets all sessions go, so that others go on with them at once; those of a
    /// process that was killed wait until its [lease](Cluster::lease) is over.
    pub fn cluster(self, cluster: impl Into<Cluster>) -> Self {
        self.http(Setting::Cluster(cluster.into()))
    }

    /// Serves the HTTP+SSE transport of 2024-11-05 as well, at `/sse` and `/messages`: for clients that know no other. It is
    /// deprecated, and off by default (DEP-1); clients since 2025-03-26 do without.
    ///
    /// ```no_run
    /// # async fn example(server: mcp_server::Server) -> mcp_server::Result<()> {
    /// server.http_sse().serve_http("127.0.0.1:8000").await
    /// # }
    /// ```
    ///
    /// What holds for the endpoint holds there: hosts, origins, limits, and how it shuts down. A conversation lives as long as
    /// its stream, and its calls with it.
    #[cfg(feature = "http-sse")]
    pub fn http_sse(self) -> Self {
        self.http_sse_at("/sse", "/messages")
    }

    /// The same at other paths. Clients are told the second as it is: within another framework both must be routed without
    /// being stripped, as `route_service` does.
    #[cfg(feature = "http-sse")]
    pub fn http_sse_at(self, stream: impl AsRef<str>, messages: impl AsRef<str>) -> Self {
        self.http(Setting::HttpSse { stream: stream.as_ref().into(), messages: messages.as_ref().into() })
    }

    /// Builds the server and serves HTTP: see [`App::serve_http`].
    ///
    /// Nothing is printed. What happens is logged with `tracing`, at `info` also the address: to see it, add the crate
    /// `tracing-subscriber` and call `tracing_subscriber::fmt::init()` first.
    ///
    /// # Errors
    ///
    /// If the server cannot be built, or the address cannot be listened on.
    pub async fn serve_http(self, address: impl ToSocketAddrs + fmt::Display) -> Result<()> {
        self.build()?.serve_http(address).await
    }

    fn http(mut self, setting: Setting) -> Self {
        self.transports.http.0.push(setting);
        self
    }
}

impl App {
    /// Serves `http://<address>/mcp` until SIGTERM or Ctrl-C; see [`HttpServer::serve`]. Logs what it serves at `info`.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on; the text says what to do.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with IO and time.
    pub async fn serve_http(self, address: impl ToSocketAddrs + fmt::Display) -> Result<()> {
        self.bind_http(address).await?.serve().await
    }

    /// Listens on that address. Clients can connect from then on, and are served once [`HttpServer::serve`] runs.
    ///
    /// `127.0.0.1` reaches this machine only, `0.0.0.0` all there are (HTTP-3); port 0 is any free one, which
    /// [`HttpServer::local_addr`] tells.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on; the text says what to do.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with IO.
    pub async fn bind_http(self, address: impl ToSocketAddrs + fmt::Display) -> Result<HttpServer> {
        let server = mcp_transport_http::Server::bind(address, self.http_service()?).await?;
        if let Ok(address) = server.local_addr() {
            tracing::info!(%address, path = self.http().path(), "serving MCP over HTTP");
        }
        Ok(HttpServer(server))
    }

    /// The server as a service for axum, hyper and whatever else takes a `tower::Service`, within a tokio runtime;
    /// [`McpService::handle`] answers an `http::Request` without any of them.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use axum::Router;
    /// use mcp_server::{Server, Tool};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let hello = Tool::new("hello").description("Say hello.").run(|| "Hello!");
    /// let mcp = Server::new("my-app", "1.0.0").tool(hello).build()?.http_service()?;
    ///
    /// let router = Router::new().route_service("/mcp", mcp.clone());
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
    /// let stop = async move {
    ///     tokio::signal::ctrl_c().await.unwrap_or_default();
    ///     // Running calls have 5 s to end; then sessions and their open streams end, for which axum would wait forever.
    ///     mcp.shutdown(Duration::from_secs(5)).await;
    /// };
    /// axum::serve(listener, router).with_graceful_shutdown(stop).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// It looks at the path itself, and answers to no other than [`Server::http_path`], `/mcp` by default. `route_service`
    /// leaves the path as it is, so both must be the same. `nest_service("/mcp", ..)` strips it, so the server needs
    /// `.http_path("/")` there. The host's own middleware comes before it, and does not replace
    /// [`Server::allow_host`]: behind a public name, allow that name.
    ///
    /// # Errors
    ///
    /// None that [`Server::build`] would not have found.
    pub fn http_service(&self) -> Result<McpService, BuildError> {
        let builder = self.http().apply(McpService::builder(self.clone()));
        builder.build(TokioRuntime).map_err(|_| BuildError::new(self.http().defects()))
    }
}

/// A server that listens.
#[derive(Debug)]
#[must_use = "nobody is served before `serve`"]
pub struct HttpServer(mcp_transport_http::Server);

impl HttpServer {
    /// Where it listens.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn local_addr(&self) -> Result<SocketAddr> {
        Ok(self.0.local_addr()?)
    }

    /// Serves until SIGTERM or Ctrl-C. Running calls have 5 s to end then, and open streams end; a second signal cuts that
    /// short.
    ///
    /// # Errors
    ///
    /// None at present.
    pub async fn serve(self) -> Result<()> {
        let mut signals = Signals::listen();
        let (stopped, stop) = tokio::sync::oneshot::channel::<()>();
        let serving = self.serve_until(async {
            // An error is the sender's end, and so the end of this future as well.
            let _ = stop.await;
        });
        let mut serving = std::pin::pin!(serving);
        let mut stopped = Some(stopped);
        poll_fn(|cx| {
            while signals.poll(cx).is_ready() {
                match stopped.take() {
                    Some(stopped) => drop(stopped),
                    None => return Poll::Ready(Ok(())),
                }
            }
            serving.as_mut().poll(cx)
        })
        .await
    }

    /// Serves until the signal is ready. Running calls have 5 s to end then, and open streams end.
    ///
    /// # Errors
    ///
    /// None at present.
    pub async fn serve_until(self, signal: impl Future<Output = ()>) -> Result<()> {
        Ok(self.0.run_until(signal).await?)
    }
}

/// Being asked to stop. A signal that cannot be listened to keeps its usual effect.
struct Signals {
    #[cfg(unix)]
    kinds: Vec<tokio::signal::unix::Signal>,
    #[cfg(windows)]
    kinds: Vec<tokio::signal::windows::CtrlC>,
}

impl Signals {
    #[cfg(unix)]
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
        Self { kinds: kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect() }
    }

    #[cfg(windows)]
    fn listen() -> Self {
        Self { kinds: tokio::signal::windows::ctrl_c().into_iter().collect() }
    }

    #[cfg(not(any(unix, windows)))]
    const fn listen() -> Self {
        Self {}
    }

    #[cfg(any(unix, windows))]
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<()> {
        match self.kinds.iter_mut().any(|kind| kind.poll_recv(cx).is_ready()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    #[cfg(not(any(unix, windows)))]
    fn poll(&mut self, _: &mut std::task::Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}
