//! The head of a request, for the code of its calls.

use std::fmt;
use std::net::SocketAddr;

use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri, Version};

/// The head of the HTTP request that started a run of a call: what of it is not the body. The code of a call finds it as
/// the [context](mcp_core::drive::Link::context) of its link.
///
/// * **Modern**, and legacy without a session: the request itself.
/// * **In a legacy session**: the POST whose message started this run. Where the call had asked its client, the next run is
///   started by the answer, so it is the POST that carried the answer; where the question was given up by a timer, no request
///   started it, and there is no head. A call may outlive its connection (HTTP-28), and its head with it.
///
/// Secrets are readable in it, as `Authorization` is; `Debug` shows no value of a header, and no query. Its headers may hold
/// on to the whole buffer that they were read into, so what outlives the call is better copied out of it.
///
/// ```
/// use mcp_core::drive::Link;
/// use mcp_transport_http::RequestHead;
///
/// /// What a middleware of the host has put into the extensions of the request.
/// #[derive(Clone)]
/// struct Tenant(String);
///
/// fn tenant(link: &Link) -> Option<&str> {
///     let head = link.context::<RequestHead>()?;
///     Some(&head.extensions().get::<Tenant>()?.0)
/// }
/// ```
pub struct RequestHead(Parts);

impl RequestHead {
    /// The method: `POST`, always, at present.
    #[must_use]
    pub const fn method(&self) -> &Method {
        &self.0.method
    }

    /// The URI, as the service got it: a host that strips the path which it routes by has done so.
    #[must_use]
    pub const fn uri(&self) -> &Uri {
        &self.0.uri
    }

    /// The version of HTTP.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.0.version
    }

    /// The headers.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// What the host and its middleware have put there.
    #[must_use]
    pub const fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }
}

impl RequestHead {
    /// The address of the other end of the connection: see [`PeerAddr`]. `None` where nobody has told it, as in a run that another
    /// node of a cluster has handed on.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.0.extensions.get().map(|PeerAddr(address)| *address)
    }
}

/// The address of the other end of a connection, in the extensions of its requests. `Server` puts it there; another host says it
/// to the service in the same way.
///
/// With axum that is a layer around the route, where the router is served by `into_make_service_with_connect_info::<SocketAddr>()`:
///
/// ```
/// use std::net::SocketAddr;
/// use mcp_transport_http::PeerAddr;
///
/// // let peer = request.extensions().get::<axum::extract::ConnectInfo<SocketAddr>>().map(|info| info.0);
/// fn tell<B>(request: &mut http::Request<B>, peer: Option<SocketAddr>) {
///     if let Some(peer) = peer {
///         request.extensions_mut().insert(PeerAddr(peer));
///     }
/// }
/// ```
///
/// Behind a proxy every connection is the proxy's. Whoever is to be told apart there is in a header that the proxy sets, as
/// `X-Forwarded-For`: a layer may put that in place of the address, if the proxy overwrites what clients send in it, and nobody
/// reaches the server but through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub SocketAddr);

impl From<Parts> for RequestHead {
    fn from(parts: Parts) -> Self {
        Self(parts)
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.headers.keys().map(http::HeaderName::as_str).collect();
        f.debug_struct("RequestHead")
            .field("method", &self.0.method)
            .field("path", &self.0.uri.path())
            .field("version", &self.0.version)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let request = http::Request::post("http://user:word@h/mcp?token=query").header("authorization", "Bearer key");
        let head = RequestHead::from(request.body(()).unwrap().into_parts().0);
        let text = format!("{head:?}");
        assert!(text.contains("/mcp") && text.contains("authorization"), "{text}");
        assert!(["word", "query", "Bearer", "key"].iter().all(|secret| !text.contains(secret)), "{text}");
    }
}
