//! The server that is measured, and its clients in the same process.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::Body as _;
use mcp_core::policy::Policy;
use mcp_core::{Caller, Scopes, Span};
use mcp_server::tool;
use mcp_transport_http::{Body, McpService, Runtime};

use crate::clock::Movable;

/// The handshake of the reference client: what it says of itself has 40 bytes.
pub(crate) const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"reference-client-of-benchmarks","version":"2026.11.30"}}}"#
);
/// Its second message.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
/// A call that is answered at once.
pub(crate) const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello, world"}}}"#;
/// A call that is answered with a megabyte.
pub(crate) const LARGE: &str =
    r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"large","arguments":{}}}"#;

/// The header that says who asks.
pub(crate) const PRINCIPAL: &str = "x-principal";
/// The header of a session's id.
pub(crate) const SESSION: &str = "mcp-session-id";
/// The quiet time after which a session sleeps here: shorter than by default, so that a thousand waves fit into the idle time.
pub(crate) const QUIET: Duration = Duration::from_secs(2);
/// The idle time after which one ends, as it is by default.
pub(crate) const IDLE: Duration = Duration::from_secs(7200);
/// How long events are kept after their stream has ended, and a little more.
pub(crate) const RESUME: Duration = Duration::from_secs(310);
/// The most that are made together of those that are to sleep: what lives at once leaves its mark on the heap.
const WAVE: usize = 1000;
/// Rounds of the watch that are waited for.
const PATIENCE: usize = 100_000;

const MEGABYTE: usize = 1 << 20;

/// Say it again.
#[tool]
fn echo(#[arg(desc = "What to say")] message: String) -> String {
    message
}

/// Say very much.
#[tool]
fn large() -> String {
    "x".repeat(MEGABYTE)
}

/// A policy under which that many sessions may live, and as many sleep beside them.
pub(crate) fn policy(sessions: usize) -> Policy {
    let mut policy = Policy::default();
    // A tenth of the seats is kept for those who wake.
    policy.limits.sessions = sessions + sessions / 5 + WAVE;
    policy.limits.sessions_asleep = 2 * policy.limits.sessions;
    policy.limits.sessions_asleep_bytes = usize::MAX;
    policy.timing.hibernate_after = Some(Span::secs(QUIET.as_secs()));
    policy.timing.idle = Span::secs(IDLE.as_secs());
    policy
}

/// A service on that runtime whose callers name themselves.
pub(crate) fn service(policy: Policy, runtime: impl Runtime) -> McpService {
    let server = mcp_server::Server::new("bench", "1.0.0").policy(policy).tool(echo).tool(large);
    let app = server.build().expect("the definitions are valid");
    McpService::builder(app)
        .authenticate(|head: &http::request::Parts| {
            let principal = head.headers.get(PRINCIPAL).and_then(|name| name.to_str().ok());
            principal.map_or_else(Caller::anonymous, |name| Caller::new(name, Scopes::default()))
        })
        .build(runtime)
        .expect("the settings are valid")
}

/// A service, its clock, and how clients talk to it without a socket.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) service: McpService,
    pub(crate) clock: Movable,
}

impl World {
    pub(crate) fn new(policy: Policy) -> Self {
        let clock = Movable::default();
        Self { service: service(policy, clock.clone()), clock }
    }

    /// Lets time pass until so many sleep.
    pub(crate) fn settle(&self, asleep: usize) {
        self.clock.advance(QUIET + Duration::from_millis(100));
        self.watch_until(|| self.service.sleeping() == asleep);
    }

    /// Lets the watch look until that holds.
    pub(crate) fn watch_until(&self, done: impl Fn() -> bool) {
        for _ in 0..PATIENCE {
            self.clock.turn();
            if done() {
                return;
            }
        }
        panic!(
            "it does not come about: {} sessions, {} of them asleep",
            self.service.sessions(),
            self.service.sleeping()
        );
    }

    /// That many sessions, made in waves, all asleep. Whoever wants to hear of each while it lives is called.
    pub(crate) fn put_to_sleep(&self, numbers: std::ops::Range<usize>, mut each: impl FnMut(usize, &HeaderValue)) {
        let before = self.service.sleeping();
        let all = numbers.clone();
        let together = (numbers.len() / 10).clamp(1, WAVE);
        for first in numbers.step_by(together) {
            let wave = first..(first + together).min(all.end);
            let end = wave.end;
            for number in wave {
                let id = self.open(number);
                each(number, &id);
            }
            self.settle(before + end - all.start);
        }
    }

    /// Has each part of the code run once, so that its own pages are there before anything is measured.
    pub(crate) fn warm_up(&self) {
        let ids: Vec<HeaderValue> = (0..64).map(|number| self.open(number)).collect();
        self.settle(ids.len());
        for (number, id) in ids.iter().enumerate() {
            self.call(number, id, CALL);
        }
        self.settle(ids.len());
        self.clock.advance(IDLE + QUIET);
        self.watch_until(|| self.service.sessions() == 0);
    }

    /// Opens the session of one more principal, as the reference client does.
    pub(crate) fn open(&self, number: usize) -> HeaderValue {
        let (response, _) = self.post(number, None, INITIALIZE);
        assert_eq!(response.status(), 200, "a session must open");
        let id = response.headers().get(SESSION).expect("a session has an id").clone();
        let (accepted, _) = self.post(number, Some(&id), INITIALIZED);
        assert_eq!(accepted.status(), 202, "the second message must be taken");
        id
    }

    /// One request in that session, and the bytes of its answer.
    pub(crate) fn call(&self, number: usize, session: &HeaderValue, body: &'static str) -> usize {
        let (response, bytes) = self.post(number, Some(session), body);
        assert_eq!(response.status(), 200, "the call must be answered");
        bytes
    }

    /// The same by a client that takes events alone: they are kept for it in case that it comes back.
    pub(crate) fn stream(&self, number: usize, session: &HeaderValue, body: &'static str) -> usize {
        let mut request = request(number, Some(session), body);
        request.headers_mut().insert("accept", HeaderValue::from_static("text/event-stream"));
        let (response, bytes) = self.answer(request);
        assert_eq!(response.headers().get("content-type").map(HeaderValue::as_bytes), Some(&b"text/event-stream"[..]));
        bytes
    }

    fn post(&self, number: usize, session: Option<&HeaderValue>, body: &'static str) -> (Response<()>, usize) {
        self.answer(request(number, session, body))
    }

    fn answer(&self, request: Request<Bytes>) -> (Response<()>, usize) {
        let response = self.wait(self.service.handle_bytes(request));
        let (head, mut body) = response.into_parts();
        let bytes = self.read(&mut body);
        (Response::from_parts(head, ()), bytes)
    }

    fn read(&self, body: &mut Body) -> usize {
        let mut bytes = 0;
        let mut body = pin!(body);
        while let Some(frame) = self.wait(std::future::poll_fn(|cx| body.as_mut().poll_frame(cx))) {
            let Ok(frame) = frame;
            bytes += frame.into_data().map_or(0, |data| data.len());
        }
        bytes
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..1000 {
            if let Poll::Ready(done) = future.as_mut().poll(&mut cx) {
                return done;
            }
            self.clock.turn();
        }
        panic!("an answer does not come");
    }
}

/// A POST as a client sends it.
fn request(number: usize, session: Option<&HeaderValue>, body: &'static str) -> Request<Bytes> {
    let mut request = Request::post("/mcp")
        .header("host", "127.0.0.1:8000")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header(PRINCIPAL, principal(number));
    if let Some(session) = session {
        request = request.header(SESSION, session).header("mcp-protocol-version", "2025-11-25");
    }
    request.body(Bytes::from_static(body.as_bytes())).expect("a valid request")
}

/// A principal of 16 bytes.
pub(crate) fn principal(number: usize) -> String {
    format!("user-{number:011}")
}
