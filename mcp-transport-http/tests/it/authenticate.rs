//! Who asks, found out at once or later, and how often they may.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_body_util::Full;
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::policy::Seal;
use mcp_core::{Call, Caller, Endpoint, Scopes, View};
use mcp_transport_http::{Authenticating, Authenticator, McpService, PeerAddr, Rejection, RequestHead, bearer};
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::support::*;

/// Knows two tokens.
fn by_token(head: &Parts) -> Result<Caller, Rejection> {
    match bearer(head)? {
        Some("ada") => Ok(Caller::new("sub:ada", Scopes::parse("read"))),
        Some("bob") => Ok(Caller::new("sub:bob", Scopes::default())),
        Some(_) => Err(Rejection::invalid_token("it has expired")),
        None => Err(Rejection::unauthorized().scope("read write")),
    }
}

/// The same, told a moment later.
fn by_token_later(head: &Parts) -> Authenticating {
    let found = by_token(head);
    Authenticating::later(async {
        tokio::task::yield_now().await;
        found
    })
}

const METADATA: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/// Seals nothing, but tells what it is bound to.
#[derive(Debug)]
struct Hex;

impl Seal for Hex {
    fn seal(&self, bound: &[u8], plain: &[u8]) -> String {
        format!("{}.{}", hex(bound), hex(plain))
    }

    fn open(&self, bound: &[u8], sealed: &str) -> Option<Vec<u8>> {
        let plain = sealed.strip_prefix(&format!("{}.", hex(bound)))?;
        (0..plain.len() / 2).map(|at| u8::from_str_radix(plain.get(2 * at..2 * at + 2)?, 16).ok()).collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn guarded(authenticator: impl Authenticator) -> McpService {
    let tools = Tools::with(|endpoint| endpoint.seal(Arc::new(Hex)).resource_metadata(METADATA));
    build(McpService::builder(tools).authenticate(authenticator))
}

/// One service that knows at once, and one that takes a while: nothing else differs.
fn both() -> [McpService; 2] {
    [guarded(by_token), guarded(by_token_later)]
}

fn of(token: &str, mut request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

fn list() -> Request<Full<Bytes>> {
    modern("tools/list", json!({}))
}

#[tokio::test]
async fn tokens_that_are_missing_or_expired_are_challenged_with_401_auth_4_auth_5() {
    for service in both() {
        let got = send(&service, list()).await;
        let challenge = format!("Bearer scope=\"read write\", resource_metadata=\"{METADATA}\"");
        assert_eq!((got.status, got.header("www-authenticate")), (401, Some(&*challenge)));
        assert_eq!(got.header("content-type"), Some("application/json"));
        let body = json!({"jsonrpc": "2.0", "error": {
            "code": 401, "message": "Authentication is required: send `Authorization: Bearer <token>`"}});
        assert_eq!(got.json(), body, "small, and of no request");
        let got = send(&service, of("old", list())).await;
        let challenge = format!(
            "Bearer error=\"invalid_token\", resource_metadata=\"{METADATA}\", error_description=\"it has expired\""
        );
        assert_eq!((got.status, got.header("www-authenticate")), (401, Some(&*challenge)));
        assert_eq!(got.json()["error"]["message"], "The token is not valid: it has expired");
        assert_eq!(send(&service, of("ada", list())).await.status, 200);
    }
}

#[tokio::test]
async fn malformed_credentials_get_400_and_few_scopes_403_auth_4() {
    for service in both() {
        let mut request = list();
        request.headers_mut().insert("authorization", "garbage".parse().unwrap());
        let got = send(&service, request).await;
        assert_eq!(got.status, 400);
        assert!(got.header("www-authenticate").unwrap().starts_with("Bearer error=\"invalid_request\""));
        let mut request = of("ada", list());
        request.headers_mut().append("authorization", "Bearer ada".parse().unwrap());
        assert_eq!(send(&service, request).await.status, 400);
    }
    let narrow = guarded(|_: &Parts| -> Result<Caller, _> { Err(Rejection::forbidden("Not yours").scope("admin")) });
    let got = send(&narrow, list()).await;
    assert_eq!(got.status, 403);
    assert!(
        got.header("www-authenticate").unwrap().starts_with("Bearer error=\"insufficient_scope\", scope=\"admin\"")
    );
    let blocked = guarded(|_: &Parts| -> Result<Caller, _> { Err(Rejection::forbidden("Blocked")) });
    let got = send(&blocked, list()).await;
    assert_eq!((got.status, got.header("www-authenticate")), (403, None));
    assert_eq!(got.json()["error"]["message"], "Blocked");
}

#[tokio::test]
async fn each_request_is_authenticated_whatever_its_method_and_session_auth_11_auth_16() {
    for service in both() {
        let session = send(&service, of("ada", legacy(None, &initialize("2025-11-25")))).await.session();
        let asked = send(
            &service,
            of(
                "ada",
                modern(
                    "tools/call",
                    json!({"name": "ask", "_meta": {
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}),
                ),
            ),
        )
        .await;
        let state = asked.json()["result"]["requestState"].clone();
        assert!(state.is_string(), "{asked:?}");
        let retry = json!({"name": "ask", "requestState": state, "inputResponses": {"sure": {"action": "accept"}}});
        let requests = || {
            let mut in_uri = list();
            *in_uri.uri_mut() = "/mcp?access_token=ada".parse().unwrap();
            [
                legacy(Some(&session), &ping(1)),
                bare("GET", &session),
                bare("DELETE", &session),
                bare("PUT", &session),
                modern("tools/call", retry.clone()),
                in_uri,
            ]
        };
        for request in requests() {
            let what = format!("{} {}", request.method(), request.uri());
            assert_eq!(send(&service, request).await.status, 401, "{what}");
        }
        for request in requests().into_iter().take(3) {
            assert_eq!(send(&service, of("bob", request)).await.status, 404, "it is not theirs");
        }
        let stolen = send(&service, of("bob", modern("tools/call", retry.clone()))).await;
        assert_eq!(stolen.error_code(), -32602, "it is bound to who asked: {stolen:?}");
        let own = send(&service, of("ada", modern("tools/call", retry.clone()))).await;
        assert!(own.text().starts_with("said "), "{own:?}");
        assert_eq!(send(&service, of("ada", legacy(Some(&session), &ping(1)))).await.status, 200);
        assert_eq!(send(&service, of("ada", bare("DELETE", &session))).await.status, 204);
        assert_eq!(send(&service, bare("OPTIONS", &session)).await.status, 204, "a preflight carries no token");
    }
}

#[cfg(feature = "sse")]
#[tokio::test]
async fn both_halves_of_http_sse_are_authenticated_auth_11() {
    use crate::http_sse::{Stream, get, post_to};
    for later in [false, true] {
        let authenticate = move |head: &Parts| match later {
            true => by_token_later(head),
            false => by_token(head).into(),
        };
        let service = build(McpService::builder(Tools::new()).http_sse().authenticate(authenticate));
        assert_eq!(send(&service, with_body(get(), "")).await.status, 401);
        assert_eq!(service.sessions(), 0);
        let (_stream, uri) = Stream::of(service.handle(of("ada", with_body(get(), ""))).await).await;
        let post = || with_body(post_to(&uri), ping(1).to_string());
        assert_eq!(send(&service, post()).await.status, 401);
        assert_eq!(send(&service, of("bob", post())).await.status, 404);
        assert_eq!(send(&service, of("ada", post())).await.status, 202);
    }
}

#[tokio::test]
async fn without_an_authenticator_nobody_is_asked_for_a_token_auth_1() {
    let service = service();
    for request in [list(), of("whatever", list())] {
        let got = send(&service, request).await;
        assert_eq!((got.status, got.header("www-authenticate")), (200, None));
    }
    let mut request = bare("GET", "x");
    *request.uri_mut() = "/.well-known/oauth-protected-resource/mcp".parse().unwrap();
    assert_eq!(send(&service, request).await.status, 404);
}

#[tokio::test]
async fn other_schemes_than_bearer_are_a_matter_of_the_authenticator_auth_32() {
    let proof = |head: &Parts| match head.headers.get("authorization").map(http::HeaderValue::as_bytes) {
        Some(b"DPoP key-bound") if head.headers.contains_key("dpop") => Ok(Caller::new("sub:ada", Scopes::default())),
        _ => {
            let mut response = http::Response::new(mcp_transport_http::Body::empty());
            *response.status_mut() = http::StatusCode::UNAUTHORIZED;
            response.headers_mut().insert("www-authenticate", "DPoP algs=\"ES256\"".parse().unwrap());
            Err(Rejection::response(response))
        }
    };
    let service = guarded(proof);
    let got = send(&service, of("ada", list())).await;
    assert_eq!((got.status, got.header("www-authenticate")), (401, Some("DPoP algs=\"ES256\"")));
    let mut request = list();
    request.headers_mut().insert("authorization", "DPoP key-bound".parse().unwrap());
    request.headers_mut().insert("dpop", "proof".parse().unwrap());
    assert_eq!(send(&service, request).await.status, 200);
}

/// A body that says whether anybody has looked at it.
struct Watched(Arc<AtomicUsize>, Full<Bytes>);

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::pin::Pin::new(&mut self.1).poll_frame(cx)
    }
}

#[tokio::test]
async fn nothing_of_the_body_is_read_before_it_is_known_who_asks_ver_20_auth_4() {
    let (known, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let service = guarded({
        let (known, told) = (Arc::clone(&known), Arc::clone(&told));
        move |_: &Parts| {
            let (known, told) = (Arc::clone(&known), Arc::clone(&told));
            Authenticating::later(async move {
                told.notify_one();
                known.notified().await;
                Ok(Caller::anonymous())
            })
        }
    });
    let looks = Arc::new(AtomicUsize::new(0));
    let request = list().map(|body| Watched(Arc::clone(&looks), body));
    let running = tokio::spawn(service.handle(request));
    told.notified().await;
    assert_eq!(looks.load(Ordering::SeqCst), 0);
    known.notify_one();
    assert_eq!(running.await.unwrap().status(), 200);
    assert!(looks.load(Ordering::SeqCst) > 0);
    for authenticated in [by_token as fn(&Parts) -> Result<Caller, Rejection>, |_| panic!("as the test wants")] {
        let looks = Arc::new(AtomicUsize::new(0));
        let mut request = list().map(|body| Watched(Arc::clone(&looks), body));
        request.headers_mut().insert("content-type", "text/plain".parse().unwrap());
        let status = guarded(authenticated).handle(request).await.status();
        assert!(status == 401 || status == 500, "{status}: before the type of the body");
        assert_eq!(looks.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_request_that_is_dropped_drops_its_authentication() {
    struct Tell(Option<oneshot::Sender<()>>);
    impl Drop for Tell {
        fn drop(&mut self) {
            drop(self.0.take());
        }
    }
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Mutex::new(None)));
    let service = guarded({
        let (begun, dropped) = (Arc::clone(&begun), Arc::clone(&dropped));
        move |_: &Parts| {
            let (tell, told) = oneshot::channel();
            *dropped.lock().unwrap() = Some(told);
            let (begun, tell) = (Arc::clone(&begun), Tell(Some(tell)));
            Authenticating::later(async move {
                let _tell = tell;
                begun.notify_one();
                pending().await
            })
        }
    });
    let running = tokio::spawn(service.handle(list()));
    begun.notified().await;
    running.abort();
    let told = dropped.lock().unwrap().take().unwrap();
    assert!(told.await.is_err(), "its sender is gone");
}

#[tokio::test]
async fn an_authenticator_that_panics_lets_nobody_in_and_says_nothing() {
    let at_once = guarded(|_: &Parts| -> Caller { panic!("secret of a panic, as the test wants") });
    let later = guarded(|_: &Parts| Authenticating::later(async { panic!("secret of a panic, as the test wants") }));
    for service in [at_once, later] {
        for _ in 0..2 {
            let got = send(&service, list()).await;
            assert_eq!((got.status, got.error_code(), got.json().get("id")), (500, -32603, None));
            assert!(!got.body.contains("secret"), "{got:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_authentication_that_never_ends_is_given_up_after_10_s() {
    let never = |_: &Parts| Authenticating::later(pending());
    let start = Instant::now();
    let got = send(&guarded(never), list()).await;
    assert_eq!((got.status, got.header("retry-after"), start.elapsed().as_secs()), (503, Some("1"), 10));
    let service =
        build(McpService::builder(Tools::new()).authenticate(never).authentication_time(Duration::from_secs(2)));
    let start = Instant::now();
    assert_eq!(send(&service, bare("GET", "x")).await.status, 503);
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test]
async fn web_pages_may_read_rejections_and_challenges_http_13() {
    let service = build(
        McpService::builder(Tools::new())
            .authenticate(by_token_later)
            .limit(|_: &Parts, _: &Caller| Err(Duration::from_millis(1_500)))
            .cors()
            .allow_origin("https://app.example.com"),
    );
    for (request, status) in [(list(), 401), (of("ada", list()), 429)] {
        let mut request = request;
        request.headers_mut().insert("origin", "https://app.example.com".parse().unwrap());
        let got = send(&service, request).await;
        assert_eq!((got.status, got.header("access-control-allow-origin")), (status, Some("https://app.example.com")));
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back_sec_2() {
    let left = Arc::new(AtomicUsize::new(2));
    let service = build(McpService::builder(Tools::new()).authenticate(by_token).limit({
        let left = Arc::clone(&left);
        move |_: &Parts, caller: &Caller| {
            assert!(caller.principal.is_some(), "it is known who asks");
            let spent = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            spent.map(drop).map_err(|_| Duration::from_millis(1_234))
        }
    }));
    let session = send(&service, of("ada", legacy(None, &initialize("2025-11-25")))).await.session();
    assert_eq!(send(&service, of("ada", list())).await.status, 200);
    let requests = || {
        [
            legacy(Some(&session), &ping(1)),
            bare("GET", &session),
            bare("DELETE", &session),
            list(),
            with_body(post(), "{"),
        ]
    };
    for request in requests() {
        let got = send(&service, of("ada", request)).await;
        assert_eq!((got.status, got.header("retry-after")), (429, Some("2")));
        let error =
            json!({"code": -32603, "message": "Too many requests: try again in 2 s", "data": {"retryAfterMs": 1234}});
        assert_eq!(got.json(), json!({"jsonrpc": "2.0", "error": error}));
    }
    assert_eq!(send(&service, list()).await.status, 401, "who is not known is not counted");
    left.store(1, Ordering::SeqCst);
    let got = send(&service, of("ada", legacy(Some(&session), &ping(1)))).await;
    assert_eq!(got.status, 200, "the session lives, and so does the service");
}

#[tokio::test]
async fn a_limiter_that_panics_lets_nobody_in() {
    let panics = |_: &Parts, _: &Caller| -> Result<(), Duration> { panic!("as the test wants") };
    let service = build(McpService::builder(Tools::new()).limit(panics));
    for _ in 0..2 {
        assert_eq!(send(&service, list()).await.status, 500);
    }
}

/// Says what it is told of the request that calls it.
struct Told(Tools);

impl Handler for Told {
    fn endpoint(&self) -> &Arc<Endpoint> {
        self.0.endpoint()
    }

    fn view(&self, caller: &Caller) -> View {
        self.0.view(caller)
    }

    fn call(&self, mut call: Call, link: Link) -> Running {
        let head = link.context::<RequestHead>().unwrap();
        if let mcp_core::Kind::Tool { arguments, .. } = &mut call.kind {
            let header = |name| head.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            let told = [head.peer_addr().map(|peer| peer.to_string()), header("authorization"), header("x-trace")];
            *arguments = json!({"text": told}).to_string().into();
        }
        self.0.call(call, link)
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_handed_on_to_nobody_auth_10() {
    let memory = mcp_transport_http::store::Memory::with_clock(&mcp_core::policy::Policy::default(), || {
        Instant::now().into_std()
    });
    let nodes = [(); 2].map(|()| {
        let all = Arc::new(memory.clone());
        let cluster = mcp_transport_http::Cluster::new(all.clone(), all.clone(), all);
        build(McpService::builder(Told(Tools::new())).authenticate(by_token).cluster(cluster))
    });
    let session = send(&nodes[0], of("ada", legacy(None, &initialize("2025-11-25")))).await.session();
    let ask = || {
        let mut request = of("ada", legacy_call(&session, 1, "echo", json!({})));
        request.headers_mut().insert("x-trace", "7".parse().unwrap());
        request
    };
    assert_eq!(send(&nodes[0], ask()).await.text(), r#"echo [null,"Bearer ada","7"]"#);
    assert_eq!(
        send(&nodes[1], ask()).await.text(),
        r#"echo [null,null,"7"]"#,
        "the node that runs it trusts the one that asks"
    );
    let mut stolen = ask();
    stolen.headers_mut().remove("authorization");
    assert_eq!(send(&nodes[1], stolen).await.status, 401);
}

#[tokio::test]
async fn the_server_tells_the_address_of_the_other_end() {
    let limited = Arc::new(Mutex::new(None));
    let service = build(McpService::builder(Told(Tools::new())).limit({
        let limited = Arc::clone(&limited);
        move |head: &Parts, _: &Caller| {
            *limited.lock().unwrap() = head.extensions.get::<PeerAddr>().copied();
            Ok(())
        }
    }));
    let got = send(&service, modern_call("echo", json!({}))).await;
    assert_eq!((got.text(), *limited.lock().unwrap()), ("echo [null,null,null]".into(), None));
    let served = Served::new(service).await;
    let mut client = served.client().await;
    let own = client.io.get_ref().local_addr().unwrap();
    for _ in 0..2 {
        let got = client.ask(modern_call("echo", json!({}))).await;
        assert_eq!(
            (got.text(), *limited.lock().unwrap()),
            (format!("echo [\"{own}\",null,null]"), Some(PeerAddr(own)))
        );
    }
}
