//! A server to test with, and clients for it: in memory and over a socket.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::policy::Policy;
use mcp_core::question::{Question, Response as Said};
use mcp_core::{Call, Caller, Endpoint, Kind, Level, Note, Outcome};
use mcp_transport_http::{Body, Builder, McpService, Server, TokioRuntime};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What became of the calls of a server.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) started: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    waiting: AtomicUsize,
    said: AtomicUsize,
}

impl Log {
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let load = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        (load(&self.started), load(&self.finished), load(&self.dropped))
    }

    /// How many of the calls had to wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// How many messages `flood` has logged.
    pub(crate) fn said(&self) -> usize {
        self.said.load(Ordering::SeqCst)
    }

    /// Waits for real time to bring those counts.
    pub(crate) async fn reaches(&self, counts: (usize, usize, usize)) {
        for _ in 0..400 {
            if self.counts() == counts {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.counts(), counts);
    }
}

/// Counts a future that is dropped before its end.
struct Watched<F> {
    future: F,
    log: Arc<Log>,
    ended: bool,
}

impl<F: Future<Output = Outcome> + Unpin> Future for Watched<F> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let outcome = std::task::ready!(Pin::new(&mut self.future).poll(cx));
        self.ended = true;
        self.log.finished.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(outcome)
    }
}

impl<F> Drop for Watched<F> {
    fn drop(&mut self) {
        if !self.ended {
            self.log.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The tools of the tests.
pub(crate) struct Tools {
    endpoint: Arc<Endpoint>,
    catalog: Arc<Catalog>,
    log: Arc<Log>,
}

const ANY: &str = r#"{"type":"object"}"#;
const MIRRORED: &str = r#"{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}}"#;

impl Tools {
    pub(crate) fn new() -> Self {
        Self::with_policy(Policy::default())
    }

    pub(crate) fn with_policy(policy: Policy) -> Self {
        Self::with(|endpoint| endpoint.policy(policy))
    }

    pub(crate) fn with(describe: impl FnOnce(mcp_core::EndpointBuilder) -> mcp_core::EndpointBuilder) -> Self {
        let names = [
            "echo",
            "slow",
            "steps",
            "hang",
            "ask",
            "panic",
            "thread",
            "big",
            "panic_at_once",
            "hang_up",
            "big_steps",
            "flood",
        ];
        let tools = names.iter().zip(1..).map(|(name, handle)| Tool::new(name, Handle(handle), ANY));
        let builder = tools.fold(Catalog::builder(), mcp_core::catalog::Builder::tool);
        let catalog = builder.tool(Tool::new("mirrored", Handle(1), MIRRORED)).build().unwrap();
        let endpoint = Endpoint::builder(Implementation::new("test", "1.0.0")).tools(true).logging(true);
        Self { endpoint: describe(endpoint).build().unwrap(), catalog, log: Arc::default() }
    }

    /// The same, where every tool asks for these scopes.
    pub(crate) fn asking_for(mut self, scopes: &str) -> Self {
        let tools = self.catalog.tools().cloned().map(|tool| tool.with_scopes(scopes));
        self.catalog = tools.fold(Catalog::builder(), mcp_core::catalog::Builder::tool).build().unwrap();
        self
    }

    pub(crate) fn log(&self) -> Arc<Log> {
        Arc::clone(&self.log)
    }

    fn watch(&self, future: impl Future<Output = Outcome> + Send + 'static) -> Running {
        self.log.waiting.fetch_add(1, Ordering::SeqCst);
        Running::Later(Box::pin(Watched { future: Box::pin(future), log: self.log(), ended: false }))
    }
}

impl Handler for Tools {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        View::all(Arc::clone(&self.catalog))
    }

    fn call(&self, call: Call, link: Link) -> Running {
        let Kind::Tool { tool, arguments, .. } = &call.kind else { return Running::Done(text("?")) };
        self.log.started.fetch_add(1, Ordering::SeqCst);
        let arguments: Value = serde_json::from_slice(arguments).unwrap();
        let ms = arguments["ms"].as_u64().unwrap_or(50);
        match tool.0 {
            1 => Running::Done(text(&format!("echo {}", arguments["text"]))),
            2 => self.watch(async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                text(&format!("slow {}", arguments["text"]))
            }),
            3 => self.watch(async move {
                for step in 1..=3_u32 {
                    let message = Some(format!("step {step}").into());
                    link.note(Note::Progress { progress: step.into(), total: Some(3.0), message });
                    link.note(Note::Log { level: Level::Error, logger: None, data: format!("\"log {step}\"").into() });
                    tokio::time::sleep(Duration::from_millis(ms)).await;
                }
                text("stepped")
            }),
            4 => self.watch(std::future::pending()),
            5 => Running::Done(ask(&call)),
            6 => self.watch(async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                panic!("a tool panics, as the test wants");
            }),
            7 => {
                let (said, heard) = oneshot::channel();
                std::thread::spawn(move || {
                    let message = None;
                    link.note(Note::Progress { progress: 1.0, total: None, message });
                    std::thread::sleep(Duration::from_millis(ms));
                    said.send(()).unwrap_or_default();
                });
                self.watch(async move {
                    drop(heard.await);
                    text("from a thread")
                })
            }
            9 => panic!("a tool panics at once, as the test wants"),
            10 => self.watch(async move {
                link.note(Note::HangUp);
                tokio::time::sleep(Duration::from_millis(ms)).await;
                link.note(Note::Progress { progress: 1.0, total: None, message: None });
                text("hung up")
            }),
            11 => self.watch(async move {
                for step in 1..=20_u32 {
                    let message = Some("x".repeat(10 << 10).into());
                    link.note(Note::Progress { progress: step.into(), total: None, message });
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                text("stepped far")
            }),
            12 => {
                let (count, waits) = (arguments["count"].as_u64().unwrap(), arguments["waits"] == true);
                let log = self.log();
                self.watch(async move {
                    for n in 0..count {
                        let data = format!("\"{}\"", "x".repeat(1022)).into();
                        link.note(Note::Log { level: Level::Error, logger: Some(n.to_string().into()), data });
                        log.said.fetch_add(1, Ordering::SeqCst);
                        if waits {
                            std::future::poll_fn(|cx| link.poll_room(cx)).await;
                        }
                    }
                    text("flooded")
                })
            }
            _ => Running::Done(text(&"x".repeat(arguments["size"].as_u64().unwrap_or(1) as usize))),
        }
    }
}

fn ask(call: &Call) -> Outcome {
    match &call.resume {
        None => {
            let schema = r#"{"type":"object","properties":{"ok":{"type":"boolean"}}}"#.into();
            let question = Question::Form { message: "Sure?".into(), schema };
            Outcome::Ask { questions: vec![("sure".into(), question)], state: Bytes::from_static(b"asked") }
        }
        Some(resume) => match resume.reply("sure") {
            Some(Said::Result(result)) => text(&format!("said {}", String::from_utf8_lossy(result))),
            other => text(&format!("said {other:?}")),
        },
    }
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

/// A service of the test tools, on tokio.
pub(crate) fn service() -> McpService {
    build(McpService::builder(Tools::new()))
}

pub(crate) fn build(builder: Builder) -> McpService {
    builder.build(TokioRuntime).unwrap()
}

/// A response that was read to its end.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        events(&self.body)
    }

    /// The messages of a modern stream, which carries nothing else.
    pub(crate) fn modern_events(&self) -> Vec<Value> {
        for line in self.body.lines() {
            assert!(!line.starts_with("id:") && !line.starts_with("retry:"), "HTTP-9: {line:?}");
        }
        self.events()
    }

    pub(crate) fn error_code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    /// The text of a tool's result.
    pub(crate) fn text(&self) -> String {
        result_text(&self.json())
    }

    pub(crate) fn session(&self) -> String {
        self.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {self:?}")).to_owned()
    }
}

pub(crate) fn result_text(message: &Value) -> String {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {message}")).to_owned()
}

/// The messages of an event stream. Strict: what is no comment, blank line, id, `retry:` or `data:` is a failure (HTTP-9).
pub(crate) fn events(body: &str) -> Vec<Value> {
    let mut events = Vec::new();
    for line in body.lines() {
        match line.split_once(": ") {
            Some(("data", "")) => {}
            Some(("data", data)) => events.push(serde_json::from_str(data).unwrap()),
            Some(("id", id)) => assert!(mcp_core::EventId::parse(id).is_some(), "{line:?}"),
            Some(("retry", span)) => assert!(span.parse::<u64>().is_ok(), "{line:?}"),
            _ => assert!(line.is_empty() || line.starts_with(':'), "not an event: {line:?}"),
        }
    }
    events
}

/// Whether that is one comment and nothing else.
pub(crate) fn is_comment(bytes: &str) -> bool {
    bytes.starts_with(':') && bytes.ends_with("\n\n") && bytes.trim_end().lines().count() == 1
}

/// Whether that is one event without data, as streams of 2025-11-25 begin with (HTTP-30).
pub(crate) fn is_priming(bytes: &str) -> bool {
    bytes.starts_with("id: ") && bytes.ends_with("\nretry: 1000\ndata: \n\n") && bytes.matches('\n').count() == 4
}

/// A POST with the headers that every client sends.
pub(crate) fn post() -> http::request::Builder {
    Request::post("/mcp")
        .header("host", "localhost:8000")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
}

pub(crate) fn with_body(builder: http::request::Builder, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    builder.body(Full::new(body.into())).unwrap()
}

/// A well-formed modern request.
pub(crate) fn modern(method: &str, params: Value) -> Request<Full<Bytes>> {
    let body = modern_body(method, params);
    let mut builder = post().header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
    if let Some(name) = body["params"]["name"].as_str() {
        builder = builder.header("mcp-name", name);
    }
    with_body(builder, body.to_string())
}

pub(crate) fn modern_body(method: &str, mut params: Value) -> Value {
    params["_meta"][VERSION] = "2026-07-28".into();
    if params["_meta"][CAPABILITIES].is_null() {
        params["_meta"][CAPABILITIES] = json!({});
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(crate) fn modern_call(tool: &str, arguments: Value) -> Request<Full<Bytes>> {
    modern("tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A modern call that wants progress.
pub(crate) fn modern_call_with_progress(tool: &str, arguments: Value) -> Request<Full<Bytes>> {
    let meta = json!({"progressToken": "t", "io.modelcontextprotocol/logLevel": "info"});
    modern("tools/call", json!({"name": tool, "arguments": arguments, "_meta": meta}))
}

/// A legacy message, in a session or without one.
pub(crate) fn legacy(session: Option<&str>, body: &Value) -> Request<Full<Bytes>> {
    let builder = match session {
        Some(session) => post().header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25"),
        None => post(),
    };
    with_body(builder, body.to_string())
}

pub(crate) fn initialize(version: &str) -> Value {
    let info = json!({"name": "probe", "version": "0"});
    let capabilities = json!({"elicitation": {}});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

pub(crate) fn legacy_call(session: &str, id: u64, tool: &str, arguments: Value) -> Request<Full<Bytes>> {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
    legacy(Some(session), &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

pub(crate) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

pub(crate) fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

/// A GET or DELETE in a session.
pub(crate) fn bare(method: &str, session: &str) -> Request<Full<Bytes>> {
    let builder = Request::builder().method(method).uri("/mcp").header("host", "localhost");
    let builder = builder.header("accept", "text/event-stream").header("mcp-protocol-version", "2025-11-25");
    with_body(builder.header("mcp-session-id", session), "")
}

pub(crate) async fn send(service: &McpService, request: Request<Full<Bytes>>) -> Got {
    read(service.handle(request).await).await
}

pub(crate) async fn read(response: Response<Body>) -> Got {
    let (head, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    Got { status: head.status.as_u16(), headers: head.headers, body }
}

/// The next bytes of a body; `None` at its end.
pub(crate) async fn frame(body: &mut Body) -> Option<String> {
    let frame = body.frame().await?.unwrap().into_data().unwrap();
    Some(String::from_utf8(frame.to_vec()).unwrap())
}

/// Opens a session and makes the handshake.
pub(crate) async fn open(service: &McpService) -> String {
    let got = send(service, legacy(None, &initialize("2025-11-25"))).await;
    assert_eq!(got.status, 200, "{got:?}");
    let session = got.session();
    assert_eq!(send(service, legacy(Some(&session), &initialized())).await.status, 202);
    session
}

/// A server on a free port.
pub(crate) struct Served {
    pub(crate) address: std::net::SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Served {
    pub(crate) async fn new(service: McpService) -> Self {
        Self::with(service, |server| server).await
    }

    pub(crate) async fn with(service: McpService, set: impl FnOnce(Server) -> Server) -> Self {
        let server = set(Server::bind("127.0.0.1:0", service).await.unwrap());
        let address = server.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(server.run_until(async { drop(stopped.await) }));
        Self { address, stop: Some(stop), task }
    }

    pub(crate) async fn client(&self) -> Client {
        Client { io: BufReader::new(TcpStream::connect(self.address).await.unwrap()) }
    }

    /// Shuts it down, and says how long that took.
    pub(crate) async fn stop(mut self) -> Duration {
        let start = std::time::Instant::now();
        drop(self.stop.take());
        self.task.await.unwrap().unwrap();
        start.elapsed()
    }
}

/// A client with one connection.
pub(crate) struct Client {
    pub(crate) io: BufReader<TcpStream>,
}

/// The head of a response.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
}

impl Client {
    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.io.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends a request that was made for the service.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mut text = format!("{} {} HTTP/1.1\r\n", head.method, head.uri);
        for (name, value) in &head.headers {
            text.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
        }
        if head.method == "POST" {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        self.write([text.as_bytes(), &body].concat()).await;
    }

    pub(crate) async fn head(&mut self) -> Head {
        let mut line = String::new();
        self.io.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {line:?}")).parse().unwrap();
        let mut headers = HeaderMap::new();
        loop {
            line.clear();
            self.io.read_line(&mut line).await.unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        Head { status, headers }
    }

    /// The next chunk of a chunked body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let mut line = String::new();
        self.io.read_line(&mut line).await.ok()?;
        let length = usize::from_str_radix(line.trim_end(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        self.io.read_exact(&mut chunk).await.ok()?;
        chunk.truncate(length);
        (length > 0).then(|| String::from_utf8(chunk).unwrap())
    }

    pub(crate) async fn answer(&mut self) -> Got {
        let head = self.head().await;
        let mut body = String::new();
        if let Some(length) = head.headers.get("content-length") {
            let mut bytes = vec![0; length.to_str().unwrap().parse().unwrap()];
            self.io.read_exact(&mut bytes).await.unwrap();
            body = String::from_utf8(bytes).unwrap();
        } else if head.headers.contains_key("transfer-encoding") {
            while let Some(chunk) = self.chunk().await {
                body.push_str(&chunk);
            }
        }
        Got { status: head.status, headers: head.headers, body }
    }

    pub(crate) async fn ask(&mut self, request: Request<Full<Bytes>>) -> Got {
        self.send(request).await;
        self.answer().await
    }

    /// Whether the server has closed the connection, after what is still to be read.
    pub(crate) async fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(5), self.io.read_to_end(&mut rest)).await;
        read.is_ok()
    }
}
