//! Who is served over HTTP, and how often.

use std::sync::Arc;

use http::request::Parts;
use mcp_core::Caller;
use mcp_transport_http::{Authenticating, Authenticator, Builder, PeerAddr};

use super::Setting;
use crate::rate_limit::{RateKeyInput, RateLimit};
use crate::server::Server;

impl Server {
    /// Finds out who sends each HTTP request, from its head, before anything of its body is read. What it says is the
    /// [`Caller`] of tools, resources and prompts, and what their scopes are held against. Without it everybody is nobody in
    /// particular, unless a layer of the host around it has put a `Caller` into the request's extensions.
    ///
    /// A closure says it at once, or [later](Authenticating::later): see [`Authenticator`]. Here, by keys that are known when the
    /// server starts; their digests are compared, which tells no clock how much of a key was right:
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use mcp_server::http::{Parts, Rejection, bearer};
    /// use mcp_server::{Caller, Scopes, Server};
    /// use sha2::{Digest, Sha256};
    ///
    /// let digest = |key: &str| -> [u8; 32] { Sha256::digest(key).into() };
    /// let keys = HashMap::from([(digest("a long random key"), ("key:reports", "notes:read"))]);
    ///
    /// let server = Server::new("notes", "1.0.0").authenticate(move |head: &Parts| {
    ///     let key = bearer(head)?.ok_or_else(|| Rejection::unauthorized().scope("notes:read"))?;
    ///     let found = keys.get(&digest(key)).map(|(name, scopes)| Caller::new(*name, Scopes::parse(scopes)));
    ///     found.ok_or_else(|| Rejection::invalid_token("it is unknown"))
    /// });
    /// ```
    ///
    /// And by tokens that another server knows:
    ///
    /// ```
    /// use mcp_server::http::{Authenticating, Parts, Rejection, bearer};
    /// use mcp_server::{Caller, Scopes, Server};
    ///
    /// # #[derive(Clone)] struct Tokens;
    /// # impl Tokens { async fn owner(&self, _: String) -> Option<String> { None } }
    /// # fn example(tokens: Tokens) -> Server {
    /// Server::new("notes", "1.0.0").authenticate(move |head: &Parts| {
    ///     let token = bearer(head)?.ok_or_else(Rejection::unauthorized)?.to_owned();
    ///     let tokens = tokens.clone();
    ///     Ok(Authenticating::later(async move {
    ///         let owner = tokens.owner(token).await.ok_or_else(|| Rejection::invalid_token("it is unknown or has expired"))?;
    ///         Ok(Caller::new(format!("sub:{owner}"), Scopes::parse("notes:read")))
    ///     }))
    /// })
    /// # }
    /// ```
    ///
    /// It may take 10 s, and is given up with 503 after that. One authenticator: two are an error when the server is built.
    pub fn authenticate(self, authenticator: impl Authenticator) -> Self {
        self.http(Setting::Authenticate(Shared(Arc::new(authenticator))))
    }

    /// Where the OAuth metadata of this server is (RFC 9728), as
    /// `https://mcp.example.com/.well-known/oauth-protected-resource/mcp`: each challenge of the HTTP side names it (AUTH-3). The
    /// document is not served by the server itself.
    pub fn resource_metadata(self, url: impl AsRef<str>) -> Self {
        self.http(Setting::ResourceMetadata(url.as_ref().into()))
    }

    /// Limits how often clients send HTTP requests, of whatever kind, once it is known who sends them. One too many is answered
    /// with 429 and `Retry-After`, and reaches nothing of the protocol (SEC-2). Several limits hold together: a few a second, and
    /// not too many a day.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mcp_server::{RateLimit, Server};
    ///
    /// let server = Server::new("my-app", "1.0.0").rate_limit(RateLimit::new(100, Duration::from_secs(60)));
    /// ```
    ///
    /// The answer to a question of the server is a request of its own, and counts as one (MRTR-14).
    pub fn rate_limit(self, limit: RateLimit) -> Self {
        self.http(Setting::RateLimit(limit))
    }
}

/// An authenticator that is shared by what is built of one server.
#[derive(Clone)]
pub(super) struct Shared(Arc<dyn Authenticator>);

impl Shared {
    pub(super) fn apply(&self, builder: Builder) -> Builder {
        let Self(authenticator) = self.clone();
        builder.authenticate(move |head: &Parts| -> Authenticating { authenticator.authenticate(head) })
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authenticator")
    }
}

/// Has all the limits asked, in the order in which they were given.
pub(super) fn limit(builder: Builder, limits: Vec<RateLimit>) -> Builder {
    if limits.is_empty() {
        return builder;
    }
    builder.limit(move |head: &Parts, caller: &Caller| {
        let peer = head.extensions.get().map(|PeerAddr(address)| *address);
        let who = RateKeyInput::of_http(caller, peer, &head.headers);
        limits.iter().try_for_each(|limit| limit.check(&who))
    })
}
