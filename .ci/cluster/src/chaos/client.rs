//! A client of one legacy session that believes nothing: every byte that comes is held against what it knows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::flow::Flow;
use crate::sse::{Failed, Sse};
use crate::world::{PATIENCE, World, count};

/// What must not have happened.
pub type Fault = String;

/// How long to wait before something is tried again.
pub const RETRY: Duration = Duration::from_millis(100);

pub struct Client {
    pub world: Arc<World>,
    /// The principal, and in everything that is sent: what comes must have it, and no other.
    pub mark: String,
    pub revision: &'static str,
    session: String,
    requests: AtomicU64,
    /// What it did last, to be told if something goes wrong.
    log: Mutex<Vec<String>>,
    /// Listening streams that broke before they could be named: after eight of them the server may let older ones go.
    pub nameless: AtomicU64,
}

/// What a request came to.
pub enum Begun {
    /// Its answer, at once.
    Answer(Answer),
    /// A stream of events that will have it.
    Flow(Flow),
}

/// How a request ended.
#[derive(Debug)]
pub enum Answer {
    Result(Value),
    /// -32603 with `interrupted`: its node died.
    Interrupted,
    /// The connection broke before there was an event to come back to.
    Unknown,
    /// 503: the server did nothing.
    Busy,
    /// 404: there is no such session.
    Missing,
    /// The stream ended without one: it was cancelled.
    Nothing,
}

/// The answer to what is no request.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Accepted,
    Broken,
    Busy,
    Missing,
}

impl Client {
    /// Opens a session, however often it takes.
    pub async fn open(world: &Arc<World>, mark: String, revision: &'static str) -> Result<Self, Fault> {
        let mut client = Self {
            world: Arc::clone(world),
            mark,
            revision,
            session: String::new(),
            requests: AtomicU64::new(0),
            log: Mutex::default(),
            nameless: AtomicU64::new(0),
        };
        let end = Instant::now() + PATIENCE;
        loop {
            if Instant::now() > end {
                return Err(client.fault("no session could be opened for a minute"));
            }
            if client.initialize().await? {
                break;
            }
            sleep(RETRY).await;
        }
        count(&world.stats.opened);
        client.note(&format!("session {}", client.session));
        client.tell_until_accepted(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok(client)
    }

    async fn initialize(&mut self) -> Result<bool, Fault> {
        let id = self.id();
        let capabilities = if self.revision > "2025-03-26" { json!({"elicitation": {}}) } else { json!({}) };
        let info = json!({"name": self.mark, "version": "1"});
        let params = json!({"protocolVersion": self.revision, "capabilities": capabilities, "clientInfo": info});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
        let Some(response) = self.post(&body).await? else { return Ok(false) };
        match response.status() {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => return Ok(false),
            status => return Err(self.fault(&format!("initialize: {status}"))),
        }
        let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let Some(text) = self.text(response).await? else { return Ok(false) };
        let value = self.read(&text)?;
        if value["id"] != id || value["result"]["protocolVersion"] != self.revision {
            return Err(self.fault(&format!("initialize was answered with {text}")));
        }
        self.session = session.ok_or_else(|| self.fault("initialize was answered without a session id"))?;
        Ok(true)
    }

    pub fn fault(&self, text: &str) -> Fault {
        let log = self.log.lock().unwrap();
        let last = log.iter().rev().take(16).rev().cloned().collect::<Vec<_>>().join("\n    ");
        format!("{} ({}, session {}): {text}\n    {last}", self.mark, self.revision, self.session)
    }

    pub fn note(&self, text: &str) {
        static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        let mut log = self.log.lock().unwrap();
        if log.len() > 64 {
            log.drain(..32);
        }
        log.push(format!("{:.3} {text}", BEGIN.elapsed().as_secs_f64()));
    }

    /// A request id that nobody else has.
    pub fn id(&self) -> String {
        format!("{}#{}", self.mark, self.requests.fetch_add(1, Ordering::Relaxed))
    }

    /// Begins a request.
    pub async fn begin(&self, id: &str, method: &str, params: Value) -> Result<Begun, Fault> {
        count(&self.world.stats.requests);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = |answer| Ok(Begun::Answer(answer));
        let Some(response) = self.post(&body).await? else { return answer(Answer::Unknown) };
        match response.status() {
            StatusCode::SERVICE_UNAVAILABLE => {
                self.note(&format!("{id}: 503"));
                count(&self.world.stats.busy);
                return answer(Answer::Busy);
            }
            StatusCode::NOT_FOUND => return answer(Answer::Missing),
            StatusCode::OK => {}
            status => {
                let text = self.text(response).await?.unwrap_or_default();
                return Err(self.fault(&format!("{id} ({method}) was answered with {status}: {text}")));
            }
        }
        if is_events(&response) {
            self.note(&format!("{id}: events"));
            return Ok(Begun::Flow(Flow::new(id, Sse::new(response.into_body(), PATIENCE))));
        }
        let Some(text) = self.text(response).await? else { return answer(Answer::Unknown) };
        let value = self.read(&text)?;
        answer(self.answer(id, &value)?)
    }

    /// A request that needs nothing but its answer.
    pub async fn request(&self, method: &str, params: Value) -> Result<Answer, Fault> {
        let id = self.id();
        match self.begin(&id, method, params).await? {
            Begun::Answer(answer) => Ok(answer),
            Begun::Flow(mut flow) => flow.end(self).await,
        }
    }

    /// One that may be done again, until it is answered with a result.
    pub async fn request_until_answered(&self, method: &str, params: Value) -> Result<Value, Fault> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match self.request(method, params.clone()).await? {
                Answer::Result(result) => return Ok(result),
                Answer::Missing => return Err(self.fault(&format!("LOST: {method} was answered with 404"))),
                _ => sleep(RETRY).await,
            }
        }
        Err(self.fault(&format!("{method} got no result for a minute")))
    }

    /// What a JSON-RPC response says.
    pub fn answer(&self, id: &str, value: &Value) -> Result<Answer, Fault> {
        self.note(&format!("{id}: {}", value.to_string().chars().take(160).collect::<String>()));
        if value["id"] != id {
            return Err(self.fault(&format!("{id} was answered with {value}")));
        }
        if let Some(error) = value.get("error") {
            if error["code"] == -32603 && error["data"]["reason"] == "interrupted" {
                return Ok(Answer::Interrupted);
            }
            return Err(self.fault(&format!("{id} was answered with {value}")));
        }
        value.get("result").cloned().map(Answer::Result).ok_or_else(|| self.fault(&format!("{id}: {value}")))
    }

    /// Sends what is no request: a notification, or the answer to a question.
    pub async fn tell(&self, message: &Value) -> Result<Said, Fault> {
        let Some(response) = self.post(message).await? else { return Ok(Said::Broken) };
        match response.status() {
            StatusCode::ACCEPTED => Ok(Said::Accepted),
            StatusCode::SERVICE_UNAVAILABLE => Ok(Said::Busy),
            StatusCode::NOT_FOUND => Ok(Said::Missing),
            status => {
                let text = self.text(response).await?.unwrap_or_default();
                // A node that dies may take a message with it that is no request; it is known by its status.
                if status == StatusCode::INTERNAL_SERVER_ERROR && text.contains("interrupted") {
                    return Ok(Said::Broken);
                }
                Err(self.fault(&format!("{message} was answered with {status}: {text}")))
            }
        }
    }

    pub async fn tell_until_accepted(&self, message: &Value) -> Result<(), Fault> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match self.tell(message).await? {
                Said::Accepted => {
                    self.note(&format!("202 for {}", message.to_string().chars().take(120).collect::<String>()));
                    return Ok(());
                }
                Said::Missing => return Err(self.fault(&format!("LOST: {message} was answered with 404"))),
                Said::Broken | Said::Busy => sleep(RETRY).await,
            }
        }
        Err(self.fault(&format!("{message} was not accepted for a minute")))
    }

    /// Opens a stream of events, or one again after an event.
    pub async fn get(&self, after: Option<&str>) -> Result<Got, Fault> {
        let mut request = self.head(Method::GET).header("accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let Some(response) = self.send(request.body(Full::default())).await? else { return Ok(Got::Nothing) };
        match response.status() {
            StatusCode::OK if is_events(&response) => Ok(Got::Events(Sse::new(response.into_body(), PATIENCE))),
            StatusCode::SERVICE_UNAVAILABLE => Ok(Got::Nothing),
            StatusCode::BAD_REQUEST => Ok(Got::Refused),
            status => {
                let text = self.text(response).await?.unwrap_or_default();
                let lost = if status == StatusCode::NOT_FOUND { "LOST: " } else { "" };
                Err(self.fault(&format!("{lost}GET after {after:?} was answered with {status}: {text}")))
            }
        }
    }

    /// Ends the session; returns whether it is sure.
    pub async fn delete(&self) -> Result<Said, Fault> {
        let request = self.head(Method::DELETE).body(Full::default());
        let Some(response) = self.send(request).await? else { return Ok(Said::Broken) };
        match response.status() {
            StatusCode::OK | StatusCode::NO_CONTENT => Ok(Said::Accepted),
            StatusCode::NOT_FOUND => Ok(Said::Missing),
            StatusCode::SERVICE_UNAVAILABLE => Ok(Said::Busy),
            status => Err(self.fault(&format!("DELETE was answered with {status}"))),
        }
    }

    /// Whether somebody else who knows the session's id is sent away. `None`: nobody answered.
    pub async fn is_closed_to(&self, stranger: &str) -> Result<Option<bool>, Fault> {
        let body = json!({"jsonrpc": "2.0", "id": self.id(), "method": "ping"});
        let mut request = self.with_body(&body);
        let headers = request.headers_mut().expect("a request");
        headers.insert("authorization", format!("Bearer {stranger}").parse().expect("a header"));
        let Some(response) = self.send(request.body(Full::from(body.to_string()))).await? else { return Ok(None) };
        match response.status() {
            StatusCode::NOT_FOUND => Ok(Some(true)),
            StatusCode::SERVICE_UNAVAILABLE => Ok(None),
            // Forwarded to a node that died: no answer of the session's.
            StatusCode::OK => {
                let text = self.text(response).await?.unwrap_or_default();
                Ok(if text.contains("interrupted") { None } else { Some(false) })
            }
            _ => Ok(Some(false)),
        }
    }

    async fn post(&self, body: &Value) -> Result<Option<Response<Incoming>>, Fault> {
        self.send(self.with_body(body).body(Full::from(body.to_string()))).await
    }

    fn with_body(&self, body: &Value) -> http::request::Builder {
        let mut request = self.head(Method::POST).header("content-type", "application/json");
        request = request.header("accept", "application/json, text/event-stream");
        if body["method"] == "initialize" {
            request.headers_mut().expect("a request").remove("mcp-session-id");
        }
        request
    }

    fn head(&self, method: Method) -> http::request::Builder {
        let mut request = Request::builder().method(method).uri("/mcp").header("host", self.world.proxy.to_string());
        request = request.header("authorization", format!("Bearer {}", self.mark));
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
            if self.revision > "2025-03-26" {
                request = request.header("mcp-protocol-version", self.revision);
            }
        }
        request
    }

    /// One request on a connection of its own; `None` if that broke before the head of a response had come.
    async fn send(&self, request: http::Result<Request<Full<Bytes>>>) -> Result<Option<Response<Incoming>>, Fault> {
        let request = request.map_err(|error| self.fault(&error.to_string()))?;
        let what = format!("{} {:?}", request.method(), request.headers().get("last-event-id"));
        let exchange = async {
            let stream = TcpStream::connect(self.world.proxy).await.map_err(|error| error.to_string())?;
            let _ = stream.set_nodelay(true);
            let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
            tokio::spawn(connection);
            sender.send_request(request).await.map_err(|error| error.to_string())
        };
        match timeout(PATIENCE, exchange).await {
            Err(_) => Err(self.fault(&format!("HUNG: {what} was neither answered nor broken off for a minute"))),
            Ok(Ok(response)) => Ok(Some(response)),
            Ok(Err(_)) => {
                count(&self.world.stats.broken);
                Ok(None)
            }
        }
    }

    /// A body, whole; `None` if the connection broke.
    async fn text(&self, response: Response<Incoming>) -> Result<Option<String>, Fault> {
        match timeout(PATIENCE, response.into_body().collect()).await {
            Err(_) => Err(self.fault("HUNG: a response that never ended")),
            Ok(Ok(body)) => Ok(Some(String::from_utf8_lossy(&body.to_bytes()).into_owned())),
            Ok(Err(_)) => {
                count(&self.world.stats.broken);
                Ok(None)
            }
        }
    }

    /// JSON that is for this client.
    pub fn read(&self, text: &str) -> Result<Value, Fault> {
        let mut marks = text.match_indices("mk-").map(|(at, _)| text.get(at..at + self.mark.len()));
        if !marks.clone().any(|mark| mark == Some(&self.mark)) || marks.any(|mark| mark != Some(&self.mark)) {
            return Err(self.fault(&format!("WRONG CLIENT: {text}")));
        }
        serde_json::from_str(text).map_err(|error| self.fault(&format!("{error}: {text}")))
    }

    pub fn broke(&self, failed: &Failed) -> Result<(), Fault> {
        match failed {
            Failed::Broken => {
                count(&self.world.stats.broken);
                Ok(())
            }
            Failed::Hung => Err(self.fault("HUNG: an open stream without even a comment for a minute")),
        }
    }
}

/// What a GET came to.
pub enum Got {
    Events(Sse),
    /// 400: it cannot be resumed after that event.
    Refused,
    /// Broken, or 503.
    Nothing,
}

fn is_events(response: &Response<Incoming>) -> bool {
    response.headers().get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
