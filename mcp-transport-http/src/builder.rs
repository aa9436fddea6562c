//! What a service is made of.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
#[cfg(feature = "sse")]
use std::sync::Weak;
use std::time::Duration;

use mcp_core::drive::Handler;

use crate::authenticate::Authenticator;
use crate::cluster::{Cluster, Node};
use crate::guard::Guard;
#[cfg(feature = "sse")]
use crate::http_sse::{HttpSse, Resource};
use crate::limit::Limiter;
use crate::runtime::Runtime;
use crate::service::McpService;
use crate::shared::Shared;

/// The default path of the endpoint.
const PATH: &str = "/mcp";
/// How long the body of a request may take: 30 s, in which 4 MiB come through 1.1 Mbit/s.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long it may take to find out who asks: 10 s, in which an identity provider that lives has answered.
const AUTHENTICATION_TIME: Duration = Duration::from_secs(10);

pub(crate) struct Config {
    /// Without the slash at its end.
    pub(crate) path: Box<str>,
    pub(crate) guard: Guard,
    pub(crate) cors: bool,
    pub(crate) body_time: Duration,
    pub(crate) resumable: bool,
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    pub(crate) authentication_time: Duration,
    pub(crate) limiter: Option<Arc<dyn Limiter>>,
    #[cfg(feature = "sse")]
    pub(crate) http_sse: Option<Arc<HttpSse>>,
}

/// What is served at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Streamable HTTP.
    Endpoint,
    #[cfg(feature = "sse")]
    HttpSse(Resource),
}

impl Config {
    /// What is served at that path: with or without a slash at the end, and never by a redirect, which would lose the
    /// body (HTTP-1).
    pub(crate) fn place(&self, path: &str) -> Option<Place> {
        let path = without_slash(path);
        if path == &*self.path {
            return Some(Place::Endpoint);
        }
        #[cfg(feature = "sse")]
        if let Some(resource) = self.http_sse.as_ref().and_then(|http_sse| http_sse.resource(path)) {
            return Some(Place::HttpSse(resource));
        }
        None
    }
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("path", &self.path)
            .field("guard", &self.guard)
            .field("cors", &self.cors)
            .field("body_time", &self.body_time)
            .field("resumable", &self.resumable)
            .field("authenticator", &self.authenticator.is_some())
            .field("limiter", &self.limiter.is_some())
            .finish()
    }
}

/// Collects what an [`McpService`] is made of. The defaults are safe for a server on a loopback address.
pub struct Builder {
    handler: Box<dyn Handler>,
    config: Config,
    cluster: Option<Cluster>,
    mistakes: Vec<String>,
}

impl Builder {
    pub(crate) fn new(handler: impl Handler) -> Self {
        let config = Config {
            path: PATH.into(),
            guard: Guard::default(),
            cors: false,
            body_time: BODY_TIME,
            resumable: true,
            authenticator: None,
            authentication_time: AUTHENTICATION_TIME,
            limiter: None,
            #[cfg(feature = "sse")]
            http_sse: None,
        };
        Self { handler: Box::new(handler), config, cluster: None, mistakes: Vec::new() }
    }

    /// Serves that path, with and without a slash at its end; `/mcp` by default. Under a framework that strips the path
    /// which it routes by, say `/`.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.note("path", path, Self::check_path(path));
        self.config.path = without_slash(path).into();
        self
    }

    /// Answers to one more host, as `mcp.example.com`, on any port, or as `mcp.example.com:8443`. Loopback names are
    /// always answered to; for any other a request is refused with 403, so that no web page can reach a local server by
    /// a name of its own (HTTP-2).
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        let allowed = self.config.guard.allow_host(host);
        self.note("allow_host", host, allowed);
        self
    }

    /// Answers to any host: for a server behind a proxy that checks it, or without anything that a page could misuse.
    #[must_use]
    pub const fn allow_any_host(mut self) -> Self {
        self.config.guard.allow_any_host();
        self
    }

    /// Answers to web pages of one more origin, as `https://app.example.com`. Pages of a loopback host always are; for
    /// any other a request is refused with 403 (HTTP-2). See also [`Builder::cors`].
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        let allowed = self.config.guard.allow_origin(origin);
        self.note("allow_origin", origin, allowed);
        self
    }

    /// Answers to web pages of any origin.
    #[must_use]
    pub const fn allow_any_origin(mut self) -> Self {
        self.config.guard.allow_any_origin();
        self
    }

    /// Lets web pages of the allowed origins read the answers (HTTP-13). Off by default.
    #[must_use]
    pub const fn cors(mut self) -> Self {
        self.config.cors = true;
        self
    }

    /// Finds out who asks, on each request, before anything of its body is read: see [`Authenticator`]. By default that is the
    /// [`Caller`](mcp_core::Caller) that an outer layer has put into the request's extensions, and else an anonymous one.
    ///
    /// The [`Rejection`](crate::Rejection) that is returned instead sends the client away: 401 with `WWW-Authenticate`, say
    /// (AUTH-4). Challenges name the [`resource_metadata`](mcp_core::EndpointBuilder::resource_metadata) of the endpoint, if it has
    /// any (AUTH-3).
    #[must_use]
    pub fn authenticate(mut self, authenticator: impl Authenticator) -> Self {
        self.config.authenticator = Some(Arc::new(authenticator));
        self
    }

    /// How long it may take to find out who asks; 10 s by default. After that the request is refused with 503.
    #[must_use]
    pub const fn authentication_time(mut self, span: Duration) -> Self {
        self.config.authentication_time = span;
        self
    }

    /// Asks that for each request whether it may go on, once it is known who sends it: see [`Limiter`]. Whoever asks too often gets
    /// 429 with `Retry-After` (SEC-2). No limit by default.
    #[must_use]
    pub fn limit(mut self, limiter: impl Limiter) -> Self {
        self.config.limiter = Some(Arc::new(limiter));
        self
    }

    /// Serves the HTTP+SSE transport of 2024-11-05 as well, for clients that know no other: a GET of `/sse` opens the
    /// stream of one conversation, whose messages are POSTed to `/messages`. The transport is deprecated (DEP-1), and off by
    /// default; clients since 2025-03-26 do without.
    ///
    /// All that holds for the endpoint holds there: hosts, origins, authentication, limits. There are as many conversations
    /// at most as sessions ([`Limits::sessions`](mcp_core::policy::Limits)), counted by themselves.
    #[cfg(feature = "sse")]
    #[must_use]
    pub fn http_sse(self) -> Self {
        self.http_sse_at("/sse", "/messages")
    }

    /// The same at other paths. Clients are told `messages` as it is, so a framework that strips the path which it routes
    /// by cannot be in between.
    #[cfg(feature = "sse")]
    #[must_use]
    pub fn http_sse_at(mut self, stream: &str, messages: &str) -> Self {
        self.note("http_sse_at", stream, Self::check_http_sse_path(stream));
        self.note("http_sse_at", messages, Self::check_http_sse_path(messages));
        self.config.http_sse = Some(Arc::new(HttpSse::new(without_slash(stream), without_slash(messages))));
        self
    }

    /// How long the body of a request may take; 30 s by default. After that it is refused with 408.
    #[must_use]
    pub const fn body_time(mut self, span: Duration) -> Self {
        self.config.body_time = span;
        self
    }

    /// Whether the clients of legacy sessions can go on with a stream of events after their connection broke (HTTP-29), and calls
    /// can [send them away](mcp_core::Note::HangUp) meanwhile. On by default. What was sent is kept in memory, within
    /// [`Limits::log`](mcp_core::policy::Limits), until [`Timing::resume`](mcp_core::policy::Timing) after its stream has ended.
    #[must_use]
    pub const fn resumable(mut self, resumable: bool) -> Self {
        self.config.resumable = resumable;
        self
    }

    /// Keeps legacy sessions in a store that outlives this process, and serves them together with the other nodes that have the
    /// same: requests may land at any of them. What was acknowledged to a client is stored before. Sessions are resumable then,
    /// whatever [`Builder::resumable`] says; conversations over HTTP+SSE stay with the process.
    ///
    /// Awaiting [`McpService::shutdown`] lets the sessions go, so that the other nodes, or the next start of this one, go on with them
    /// at once; those of a process that was killed wait until its [lease](Cluster::lease) is over.
    ///
    /// A request for a session that another node holds is handed on to it. Code that it runs sees who asks and the request's
    /// headers, but for `Authorization`, `Cookie` and the like, and none of the extensions that middleware has set.
    #[must_use]
    pub fn cluster(mut self, cluster: impl Into<Cluster>) -> Self {
        self.cluster = Some(cluster.into());
        self
    }

    /// Makes the service.
    ///
    /// # Errors
    ///
    /// Every host, origin and path above that cannot be one; and with a [cluster](Builder::cluster), if the system has no random
    /// numbers.
    // Without the feature nothing is added to the mistakes.
    #[cfg_attr(not(feature = "sse"), allow(unused_mut))]
    pub fn build(mut self, runtime: impl Runtime) -> Result<McpService, BuildError> {
        #[cfg(feature = "sse")]
        if let Some(http_sse) = &self.config.http_sse {
            let checked = Self::check_http_sse(&self.config.path, http_sse.stream(), http_sse.messages());
            let at = format!("{}, {}", http_sse.stream(), http_sse.messages());
            self.note("http_sse_at", &at, checked);
        }
        if !self.mistakes.is_empty() {
            return Err(BuildError(self.mistakes));
        }
        let node = self.cluster.map(|cluster| Node::new(cluster, self.handler.endpoint().limits())).transpose();
        let node =
            node.map_err(|error| BuildError(vec![format!("cluster: no random numbers for a node's name: {error}")]))?;
        let shared = Shared::new(self.handler, Box::new(runtime), self.config, node);
        #[cfg(feature = "sse")]
        if let Some(http_sse) = &shared.config.http_sse {
            let watcher: Weak<HttpSse> = Arc::downgrade(http_sse);
            shared.handler.subscribe(watcher);
        }
        Ok(McpService::new(shared))
    }

    /// Whether [`Builder::path`] takes that, to be asked before there is a handler.
    ///
    /// # Errors
    ///
    /// What to give instead.
    pub fn check_path(path: &str) -> Result<(), &'static str> {
        match path.starts_with('/') && !path.contains(['?', '#', '{', '*']) {
            true => Ok(()),
            false => Err("give the path of one endpoint, as in `/mcp`"),
        }
    }

    /// Whether [`Builder::http_sse_at`] takes that as one of its paths.
    ///
    /// # Errors
    ///
    /// What to give instead.
    #[cfg(feature = "sse")]
    pub fn check_http_sse_path(path: &str) -> Result<(), &'static str> {
        // It becomes a line of an event, and a reference that must not lead to another host.
        let tellable = path.len() > 1 && path.bytes().all(|byte| byte.is_ascii_graphic()) && !path.starts_with("//");
        match tellable && Self::check_path(path).is_ok() {
            true => Ok(()),
            false => Err("give a path as it stands in a URL, as in `/sse`"),
        }
    }

    /// Whether [`Builder::http_sse_at`] takes these two beside the endpoint's own path.
    ///
    /// # Errors
    ///
    /// What to give instead.
    #[cfg(feature = "sse")]
    pub fn check_http_sse(endpoint: &str, stream: &str, messages: &str) -> Result<(), &'static str> {
        let [endpoint, stream, messages] = [endpoint, stream, messages].map(without_slash);
        match endpoint != stream && endpoint != messages && stream != messages {
            true => Ok(()),
            false => Err("give the endpoint, the stream and the messages a path each"),
        }
    }

    /// Whether [`Builder::allow_host`] takes that.
    ///
    /// # Errors
    ///
    /// What to give instead.
    pub fn check_host(host: &str) -> Result<(), &'static str> {
        Guard::default().allow_host(host)
    }

    /// Whether [`Builder::allow_origin`] takes that.
    ///
    /// # Errors
    ///
    /// What to give instead.
    pub fn check_origin(origin: &str) -> Result<(), &'static str> {
        Guard::default().allow_origin(origin)
    }

    fn note(&mut self, method: &str, given: &str, checked: Result<(), &'static str>) {
        self.mistakes.extend(checked.err().map(|remedy| format!("{method}({given:?}): {remedy}")));
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("config", &self.config)
            .field("cluster", &self.cluster)
            .field("mistakes", &self.mistakes)
            .finish_non_exhaustive()
    }
}

/// What is wrong with the parts of a service: one mistake a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(Vec<String>);

impl BuildError {
    /// Each mistake, in the order it was made.
    pub fn mistakes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl Error for BuildError {}
