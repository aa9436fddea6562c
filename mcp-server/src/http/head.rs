//! The head of the HTTP request, as a tool takes it.

use std::ops::Deref;
use std::sync::Arc;

use http::HeaderMap;
use mcp_transport_http::RequestHead;

use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::Extract;

/// The head of the HTTP request that brought the call: method, URI, headers, and the extensions that the host's middleware has
/// put there.
///
/// ```
/// use mcp_server::Tool;
/// use mcp_server::http::Head;
///
/// // Over stdio there is none: a tool for both takes `Option<Head>`.
/// let agent = Tool::new("agent").description("Tells what asks.").run(|head: Option<Head>| match head {
///     Some(head) => format!("{:?}", head.headers().get("user-agent")),
///     None => "not over HTTP".to_owned(),
/// });
/// ```
///
/// In a legacy session it is the request whose message made the tool run, however many there were before it. It holds what
/// the client sent, credentials too: do not log it whole.
#[derive(Clone, Debug)]
pub struct Head(pub Arc<RequestHead>);

impl Deref for Head {
    type Target = RequestHead;

    fn deref(&self) -> &RequestHead {
        &self.0
    }
}

impl Extract for Head {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        ctx.transport().map(Self).ok_or_else(|| CallError::new("This tool works over HTTP only."))
    }
}

/// The headers of the HTTP request; none where there is no HTTP.
impl Extract for HeaderMap {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(ctx.transport::<RequestHead>().map(|head| head.headers().clone()).unwrap_or_default())
    }
}
