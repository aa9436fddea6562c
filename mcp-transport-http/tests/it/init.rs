//! Whether a client is let in, as it is told over HTTP.

use std::sync::Arc;

use http::HeaderMap;
use mcp_core::answer::Answer;
use mcp_core::catalog::View;
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::{Call, Caller, Endpoint, Fault, Kind, Outcome};
use mcp_transport_http::{McpService, RequestHead};
use serde_json::json;

use crate::support::*;

/// [`Tools`] for who says a password, after a while if it is told to.
struct Guarded(Tools);

impl Handler for Guarded {
    fn endpoint(&self) -> &Arc<Endpoint> {
        self.0.endpoint()
    }

    fn view(&self, caller: &Caller) -> View {
        self.0.view(caller)
    }

    fn call(&self, call: Call, link: Link) -> Running {
        if call.kind != Kind::Init {
            assert_eq!(call.assigns, "let in");
            return self.0.call(call, link);
        }
        let none = HeaderMap::new();
        let headers = link.context::<RequestHead>().map_or(&none, RequestHead::headers);
        let outcome = match headers.contains_key("x-password") {
            true => Outcome::Complete(Answer::Init("let in".into())),
            false => Outcome::Fail(Fault::init_failed("say the password")),
        };
        if !headers.contains_key("x-slow") {
            return Running::Done(outcome);
        }
        Running::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            outcome
        }))
    }
}

fn guarded() -> McpService {
    build(McpService::builder(Guarded(Tools::with(|endpoint| endpoint.init(true)))))
}

fn saying(
    mut request: http::Request<http_body_util::Full<bytes::Bytes>>,
    headers: &[&'static str],
) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    headers.iter().for_each(|name| drop(request.headers_mut().insert(*name, http::HeaderValue::from_static("x"))));
    request
}

#[tokio::test]
async fn a_refused_client_gets_32603_with_status_200_and_no_session_which_is_gone() {
    let service = guarded();
    for headers in [&[][..], &["x-slow"]] {
        let got = send(&service, saying(legacy(None, &initialize("2025-11-25")), headers)).await;
        assert_eq!((got.status, got.error_code(), got.header("mcp-session-id")), (200, -32603, None));
        assert_eq!(got.json()["error"]["message"], "Initialization failed: say the password");
        assert_eq!(service.sessions(), 0);
    }
}

#[tokio::test]
async fn a_client_that_is_let_in_has_a_session_and_is_not_asked_again_http_20() {
    let service = guarded();
    for headers in [&["x-password"][..], &["x-password", "x-slow"]] {
        let got = send(&service, saying(legacy(None, &initialize("2025-11-25")), headers)).await;
        let session = got.session();
        assert_eq!(send(&service, legacy(Some(&session), &initialized())).await.status, 202);
        let got = send(&service, legacy_call(&session, 1, "echo", json!({"message": "hi"}))).await;
        assert_eq!(got.status, 200, "{got:?}");
    }
    assert_eq!(service.sessions(), 2);
}

#[tokio::test]
async fn each_modern_request_is_let_in_by_its_own_headers() {
    let service = guarded();
    let list = || modern("tools/list", json!({}));
    for slow in [&[][..], &["x-slow"]] {
        let refused = send(&service, saying(list(), slow)).await;
        assert_eq!((refused.status, refused.error_code()), (200, -32603));
        let refused = send(&service, saying(modern("no/method", json!({})), slow)).await;
        assert_eq!((refused.status, refused.error_code()), (200, -32603));
        let slow_too = [&["x-password"], slow].concat();
        let got = send(&service, saying(list(), &slow_too)).await;
        assert!(got.json()["result"]["tools"].is_array(), "{got:?}");
        let got = send(&service, saying(modern_call("echo", json!({"message": "hi"})), &slow_too)).await;
        assert!(got.json()["error"].is_null(), "{got:?}");
        let unknown = send(&service, saying(modern("no/method", json!({})), &slow_too)).await;
        assert_eq!((unknown.status, unknown.error_code()), (404, -32601));
    }
    assert_eq!(send(&service, modern("server/discover", json!({}))).await.status, 200);
}
