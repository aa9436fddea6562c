//! Bodies that are too long, too slow, or cut off, through the service.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use mcp_core::policy::Policy;
use mcp_transport_http::McpService;
use serde_json::json;

use crate::support::*;

type Part<E> = Result<Frame<Box<dyn Buf + Send + Unpin>>, E>;

/// A body that gives its parts one by one, and says of its length what it likes.
struct Parts<E> {
    /// `None`: it is not there yet.
    parts: Vec<Option<Part<E>>>,
    claimed: u64,
}

impl<E: Unpin> http_body::Body for Parts<E> {
    type Data = Box<dyn Buf + Send + Unpin>;
    type Error = E;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Part<E>>> {
        if self.parts.is_empty() {
            return Poll::Ready(None);
        }
        match self.parts.remove(0) {
            None => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            part => Poll::Ready(part),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(self.claimed);
        hint
    }
}

fn part<E>(bytes: &[u8]) -> Option<Part<E>> {
    // A buffer in two pieces, as some are.
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let buf: Box<dyn Buf + Send + Unpin> = Box::new(Bytes::copy_from_slice(a).chain(Bytes::copy_from_slice(b)));
    Some(Ok(Frame::data(buf)))
}

fn small() -> McpService {
    let mut policy = Policy::default();
    policy.limits.body = 1_000;
    build(McpService::builder(Tools::with_policy(policy)))
}

async fn upload<E>(service: &McpService, parts: Parts<E>) -> Got
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + Unpin,
{
    let (head, _) = modern("tools/list", json!({})).into_parts();
    read(service.handle(http::Request::from_parts(head, parts)).await).await
}

#[tokio::test]
async fn a_body_may_come_in_any_pieces() {
    let text = modern_body("tools/list", json!({})).to_string();
    let bytes = text.as_bytes();
    let (a, b) = bytes.split_at(10);
    let (b, c) = b.split_at(50);
    for claimed in [0, 1, bytes.len() as u64] {
        let parts = vec![part::<Infallible>(a), None, part(b""), part(b), None, part(c)];
        let got = upload(&small(), Parts { parts, claimed }).await;
        assert_eq!(got.status, 200, "{got:?}");
    }
    let parts = bytes.iter().map(|byte| part::<Infallible>(&[*byte])).collect();
    assert_eq!(upload(&small(), Parts { parts, claimed: 0 }).await.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_gets_413_by_what_came_and_by_what_is_claimed_base_26_case_95() {
    let service = small();
    let parts = (0..100).map(|_| part::<Infallible>(&[b' '; 100])).collect();
    let got = upload(&service, Parts { parts, claimed: 0 }).await;
    assert_eq!((got.status, got.error_code()), (413, -32600));
    let parts = vec![part::<Infallible>(b"{}")];
    let got = upload(&service, Parts { parts, claimed: 1_001 }).await;
    assert_eq!(got.status, 413, "it was not read");
    let body = modern_body("tools/list", json!({})).to_string();
    let padded = format!("{body}{}", " ".repeat(1_000 - body.len()));
    let parts = vec![part::<Infallible>(padded.as_bytes())];
    assert_eq!(upload(&service, Parts { parts, claimed: 1_000 }).await.status, 200);
    let parts = vec![part::<Infallible>(padded.as_bytes()), part(b" ")];
    assert_eq!(upload(&service, Parts { parts, claimed: 1_000 }).await.status, 413);
}

#[tokio::test]
async fn a_body_that_breaks_off_gets_400_case_95() {
    let parts = vec![part(b"{\"jsonrpc\""), Some(Err("the peer has gone"))];
    assert_eq!(upload(&small(), Parts { parts, claimed: 0 }).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_takes_too_long_gets_408() {
    let (head, _) = modern("tools/list", json!({})).into_parts();
    let service = build(McpService::builder(Tools::new()).body_time(Duration::from_secs(7)));
    let start = tokio::time::Instant::now();
    let got = read(service.handle(http::Request::from_parts(head, Never)).await).await;
    assert_eq!((got.status, got.error_code()), (408, -32600));
    assert_eq!(start.elapsed().as_secs(), 7);
}

/// A body that gives nothing, ever.
struct Never;

impl http_body::Body for Never {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}
