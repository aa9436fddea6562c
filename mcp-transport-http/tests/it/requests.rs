//! What a request must be before a machine sees it.

use http::request::Parts;
use http::{Request, Response};
use mcp_core::{Caller, Scopes};
use mcp_transport_http::{Body, Builder, McpService, Rejection, TokioRuntime};
use serde_json::json;

use crate::support::*;

fn list() -> Request<http_body_util::Full<bytes::Bytes>> {
    modern("tools/list", json!({}))
}

fn with_header(name: &'static str, value: &str) -> Request<http_body_util::Full<bytes::Bytes>> {
    let mut request = list();
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

#[tokio::test]
async fn foreign_hosts_and_origins_get_403_with_an_error_that_says_what_to_do_http_2_case_89() {
    let service = service();
    for (name, value) in [
        ("host", "evil.example"),
        ("host", "localhost.evil.example"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
    ] {
        let got = send(&service, with_header(name, value)).await;
        assert_eq!(got.status, 403, "{name}: {value}");
        assert_eq!(got.header("content-type"), Some("application/json"));
        let error = got.json();
        assert_eq!(error.get("id"), None);
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains("allow_host") || message.contains("allow_origin"), "{message}");
    }
    for host in ["[::1]:8000", "LOCALHOST:8000", "127.0.0.1", "localhost"] {
        assert_eq!(send(&service, with_header("host", host)).await.status, 200, "{host}");
    }
    for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173"] {
        assert_eq!(send(&service, with_header("origin", origin)).await.status, 200, "{origin}");
    }
}

#[tokio::test]
async fn duplicate_hosts_and_origins_are_refused() {
    let service = service();
    let mut request = list();
    request.headers_mut().append("host", "localhost".parse().unwrap());
    assert_eq!(send(&service, request).await.status, 400);
    let mut request = with_header("origin", "http://localhost");
    request.headers_mut().append("origin", "http://localhost".parse().unwrap());
    assert_eq!(send(&service, request).await.status, 403);
}

#[tokio::test]
async fn a_missing_host_is_a_bad_request_in_http_1_1_only_case_89() {
    let service = service();
    let mut request = list();
    request.headers_mut().remove("host");
    assert_eq!(send(&service, request).await.status, 400);
    let mut request = list();
    request.headers_mut().remove("host");
    *request.version_mut() = http::Version::HTTP_10;
    assert_eq!(send(&service, request).await.status, 200);
}

#[tokio::test]
async fn public_hosts_and_origins_are_allowed_by_name() {
    let builder = McpService::builder(Tools::new()).allow_host("mcp.example.com");
    let service = build(builder.allow_origin("https://app.example.com"));
    let mut request = with_header("host", "MCP.example.com:443");
    request.headers_mut().insert("origin", "https://app.example.com".parse().unwrap());
    assert_eq!(send(&service, request).await.status, 200);
    assert_eq!(send(&service, with_header("host", "other.example.com")).await.status, 403);
    let open = build(McpService::builder(Tools::new()).allow_any_host());
    assert_eq!(send(&open, with_header("host", "evil.example")).await.status, 200);
    assert_eq!(send(&open, with_header("origin", "http://evil.example")).await.status, 403);
}

#[tokio::test]
async fn what_cannot_be_a_host_or_origin_or_path_is_an_error_when_the_service_is_built() {
    let builder = McpService::builder(Tools::new()).allow_host("https://mcp.example.com").allow_origin("x").path("mcp");
    let error = builder.build(TokioRuntime).unwrap_err();
    // Each can be found out about before there is a handler.
    let remedy = |checked: Result<(), &'static str>| checked.unwrap_err();
    let right = [
        format!("allow_host(\"https://mcp.example.com\"): {}", remedy(Builder::check_host("https://mcp.example.com"))),
        format!("allow_origin(\"x\"): {}", remedy(Builder::check_origin("x"))),
        format!("path(\"mcp\"): {}", remedy(Builder::check_path("mcp"))),
    ];
    assert_eq!(error.mistakes().collect::<Vec<_>>(), right);
    assert_eq!(Builder::check_host("mcp.example.com:8443"), Ok(()));
    assert_eq!(Builder::check_origin("https://app.example.com"), Ok(()));
    assert_eq!(Builder::check_path("/"), Ok(()));
}

#[tokio::test]
async fn both_spellings_of_the_path_are_served_without_redirect_and_others_are_plain_404_http_1_case_94() {
    let service = service();
    let at = |path: &str| {
        let mut request = list();
        *request.uri_mut() = path.parse().unwrap();
        request
    };
    for path in ["/mcp", "/mcp/", "/mcp?x=1"] {
        assert_eq!(send(&service, at(path)).await.status, 200, "{path}");
    }
    for path in ["/", "/other", "/mcp//", "/mcp/x", "/MCP", "/mcpx"] {
        let got = send(&service, at(path)).await;
        assert_eq!(got.status, 404, "{path}");
        assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    let nested = build(McpService::builder(Tools::new()).path("/api/mcp/"));
    assert_eq!(send(&nested, at("/api/mcp")).await.status, 200);
    assert_eq!(send(&nested, at("/api/mcp/")).await.status, 200);
    assert_eq!(send(&nested, at("/mcp")).await.status, 404);
    let root = build(McpService::builder(Tools::new()).path("/"));
    assert_eq!(send(&root, at("/")).await.status, 200);
}

#[tokio::test]
async fn content_types_match_by_media_type_only_http_6_case_85() {
    let service = service();
    for good in
        ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8", "application/json ;x"]
    {
        assert_eq!(send(&service, with_header("content-type", good)).await.status, 200, "{good}");
    }
    for bad in
        ["text/plain", "application/jsonx", "application/x-www-form-urlencoded", "", "application/json, text/plain"]
    {
        let got = send(&service, with_header("content-type", bad)).await;
        assert_eq!((got.status, got.error_code()), (415, -32600), "{bad}");
    }
    let mut request = list();
    request.headers_mut().remove("content-type");
    assert_eq!(send(&service, request).await.status, 415);
    assert_eq!(send(&service, with_header("content-encoding", "gzip")).await.status, 415);
    assert_eq!(send(&service, with_header("content-encoding", "identity")).await.status, 200);
}

#[tokio::test]
async fn other_methods_get_405_with_allow() {
    let service = service();
    for method in ["PUT", "PATCH", "HEAD", "TRACE", "BREW"] {
        let got = send(&service, bare(method, "x")).await;
        assert_eq!(got.status, 405, "{method}");
        assert_eq!(got.header("allow"), Some("POST, GET, DELETE, OPTIONS"));
    }
}

#[tokio::test]
async fn a_preflight_allows_nothing_unless_cors_is_on_http_13() {
    let preflight = || {
        let builder = Request::options("/mcp").header("host", "localhost").header("origin", "https://app.example.com");
        let builder = builder.header("access-control-request-method", "POST");
        with_body(builder.header("access-control-request-headers", "content-type, mcp-param-region, x-evil"), "")
    };
    let off = build(McpService::builder(Tools::new()).allow_origin("https://app.example.com"));
    let got = send(&off, preflight()).await;
    assert_eq!((got.status, got.header("allow")), (204, Some("POST, GET, DELETE, OPTIONS")));
    assert!(got.headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{got:?}");

    let on = build(McpService::builder(Tools::new()).allow_origin("https://app.example.com").cors());
    let got = send(&on, preflight()).await;
    assert_eq!(got.status, 204);
    assert_eq!(got.header("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(got.header("access-control-allow-methods"), Some("POST, GET, DELETE, OPTIONS"));
    let allowed = got.header("access-control-allow-headers").unwrap();
    for name in [
        "Content-Type",
        "Accept",
        "Authorization",
        "MCP-Protocol-Version",
        "Mcp-Session-Id",
        "Last-Event-ID",
        "Mcp-Method",
        "Mcp-Name",
        "mcp-param-region",
    ] {
        assert!(allowed.split(", ").any(|listed| listed == name), "{name}: {allowed}");
    }
    assert!(!allowed.contains("evil"), "{allowed}");
    let got = send(&on, {
        let mut request = list();
        request.headers_mut().insert("origin", "https://app.example.com".parse().unwrap());
        request
    })
    .await;
    assert_eq!(got.header("access-control-allow-origin"), Some("https://app.example.com"));
    assert_eq!(got.header("vary"), Some("Origin"));
    let exposed: Vec<&str> = got.header("access-control-expose-headers").unwrap().split(", ").collect();
    assert_eq!(exposed, ["Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate", "Retry-After"]);
    let got = send(&on, with_header("origin", "http://evil.example")).await;
    assert_eq!((got.status, got.header("access-control-allow-origin")), (403, None));
}

fn guarded() -> McpService {
    build(McpService::builder(Tools::new()).authenticate(|head: &Parts| match head.headers.get("authorization") {
        Some(token) => Ok(Caller::new(token.to_str().unwrap(), Scopes::default())),
        None => {
            let challenge = Response::builder().status(401).header("www-authenticate", "Bearer");
            Err(Rejection::response(challenge.body(Body::from("no")).unwrap()))
        }
    }))
}

#[tokio::test]
async fn the_order_is_origin_preflight_authentication_body_ver_20_http_4() {
    let service = guarded();
    let hostile = send(&service, with_header("origin", "http://evil.example")).await;
    assert_eq!(hostile.status, 403, "the origin is checked before the token");
    let mut request = bare("OPTIONS", "x");
    assert_eq!(send(&service, request).await.status, 204, "a preflight carries no token");
    request = with_header("content-type", "text/plain");
    let got = send(&service, request).await;
    assert_eq!((got.status, got.header("www-authenticate")), (401, Some("Bearer")));
    request = list();
    *request.uri_mut() = "/mcp/".parse().unwrap();
    assert_eq!(send(&service, request).await.status, 401);
    assert_eq!(send(&service, bare("GET", "x")).await.status, 401);
    assert_eq!(send(&service, with_header("authorization", "alice")).await.status, 200);
}

#[tokio::test]
async fn a_session_does_not_exist_for_another_principal_http_21() {
    let service = guarded();
    let of = |who: &str, mut request: Request<_>| {
        request.headers_mut().insert("authorization", who.parse().unwrap());
        request
    };
    let session = send(&service, of("alice", legacy(None, &initialize("2025-11-25")))).await.session();
    for request in [legacy(Some(&session), &ping(1)), bare("GET", &session), bare("DELETE", &session)] {
        assert_eq!(send(&service, of("bob", request)).await.status, 404);
    }
    assert_eq!(send(&service, of("alice", legacy(Some(&session), &ping(1)))).await.status, 200);
    assert_eq!(send(&service, of("alice", bare("DELETE", &session))).await.status, 204);
}

#[tokio::test]
async fn an_outer_layer_may_say_who_asks() {
    let service = service();
    let of = |who: &str, mut request: Request<_>| {
        request.extensions_mut().insert(Caller::new(who, Scopes::default()));
        request
    };
    let session = send(&service, of("alice", legacy(None, &initialize("2025-11-25")))).await.session();
    assert_eq!(send(&service, of("bob", legacy(Some(&session), &ping(1)))).await.status, 404);
    assert_eq!(send(&service, of("alice", legacy(Some(&session), &ping(1)))).await.status, 200);
}

#[tokio::test]
async fn bad_json_and_bad_envelopes_get_400_base_6_http_12() {
    let service = service();
    let got = send(&service, with_body(post(), "{")).await;
    assert_eq!((got.status, got.error_code(), got.json().get("id")), (400, -32700, None));
    let got = send(&service, with_body(post(), r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#)).await;
    assert_eq!((got.status, got.error_code()), (400, -32600));
    let got = send(&service, with_body(post(), "")).await;
    assert_eq!((got.status, got.error_code()), (400, -32700));
}
