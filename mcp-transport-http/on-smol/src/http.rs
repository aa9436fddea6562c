//! The bridge between the service and `trillium-http`, an HTTP library for any runtime.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_io::AsyncRead;
use http::{HeaderMap, Request, Response};
use http_body::Body as _;
use http_body_util::Full;
use mcp_transport_http::{Body, McpService};
use smol::io::AsyncReadExt;
use smol::net::{TcpListener, TcpStream};
use trillium_http::{Conn, HttpContext};

/// One byte more than the service takes by default: what is longer it shall see to be so.
const MOST: u64 = (4 << 20) + 1;

/// Serves what connects, each connection as a task.
pub(crate) async fn serve(listener: TcpListener, service: McpService) {
    let context = Arc::new(HttpContext::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (context, service) = (Arc::clone(&context), service.clone());
        smol::spawn(async move {
            // Without it an answer waits for the peer's delayed acknowledgement of the one before.
            let _ = stream.set_nodelay(true);
            // A connection that breaks off is no failure of the server's.
            let _ = context.run(stream, |conn| answer(conn, service.clone())).await;
        })
        .detach();
    }
}

async fn answer(mut conn: Conn<TcpStream>, service: McpService) -> Conn<TcpStream> {
    match request(&mut conn).await {
        Ok(request) => {
            // Nobody is there any more: the call is dropped, and so cancelled (HTTP-46).
            if let Some(response) = conn.cancel_on_disconnect(service.handle(request)).await {
                respond(&mut conn, response);
            }
        }
        Err(_) => drop(conn.set_status(400)),
    }
    conn
}

async fn request(conn: &mut Conn<TcpStream>) -> Result<Request<Full<Bytes>>, Box<dyn std::error::Error + Send + Sync>> {
    let mut request = Request::builder()
        .method(conn.method().as_ref())
        .uri(conn.path_and_query())
        .version(conn.http_version().into())
        .body(())?;
    *request.headers_mut() = HeaderMap::try_from(conn.request_headers().clone())?;
    let mut body = Vec::new();
    conn.request_body().take(MOST).read_to_end(&mut body).await?;
    Ok(request.map(|()| Full::new(body.into())))
}

fn respond(conn: &mut Conn<TcpStream>, response: Response<Body>) {
    let (head, body) = response.into_parts();
    conn.set_status(head.status.as_u16());
    conn.response_headers_mut().append_all(head.headers.into());
    let length = body.size_hint().exact();
    conn.set_response_body(trillium_http::Body::new_streaming(Reader { body, rest: Bytes::new() }, length));
}

/// The frames of a body as bytes to read.
struct Reader {
    body: Body,
    rest: Bytes,
}

impl AsyncRead for Reader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        while self.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                None => return Poll::Ready(Ok(0)),
            }
        }
        let length = buf.len().min(self.rest.len());
        self.rest.copy_to_slice(&mut buf[..length]);
        Poll::Ready(Ok(length))
    }
}
