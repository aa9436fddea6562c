//! Clients that can say what no well-behaved client says, and servers of a test's own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use mcp_server::{Server, Tool};
use serde_json::{Value, json};

use crate::common::{Demo, Http, Response, SOON, modern};

/// The names of the modern era's keys in `_meta`.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The revisions that open with a handshake.
pub(crate) const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// `INIT(version)` of the cases.
pub(crate) fn init(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "probe", "version": "0"}}})
}

pub(crate) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

pub(crate) fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

pub(crate) fn pong(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

pub(crate) fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A call of the legacy era that wants progress.
pub(crate) fn call_with_token(id: u64, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}}))
}

/// Opening brackets and as many closing ones: `levels` arrays, one in the other.
pub(crate) fn nested(levels: usize) -> String {
    ["[".repeat(levels), "]".repeat(levels)].concat()
}

/// The code of an error, 0 for a result.
pub(crate) fn code(message: &Value) -> i64 {
    message["error"]["code"].as_i64().unwrap_or_default()
}

/// The text of the first block of a result.
pub(crate) fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {message}"))
}

/// The demo's standard input and output, byte by byte.
pub(crate) struct Wire {
    demo: Demo,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
}

impl Wire {
    pub(crate) fn open() -> Self {
        let mut demo = Demo::spawn(Demo::command().arg("--stdio"));
        let input = demo.child.stdin.take();
        let mut output = BufReader::new(demo.child.stdout.take().expect("stdout"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 && sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        Self { demo, input, lines }
    }

    /// The same, after the handshake of that revision.
    pub(crate) fn opened(version: &str) -> Self {
        let mut wire = Self::open();
        assert_eq!(wire.ask(&init(version))["result"]["protocolVersion"], version);
        wire.send(&initialized());
        wire
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("the input is open").write_all(bytes).expect("the demo reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// The next line, its end included.
    pub(crate) fn line(&self) -> Vec<u8> {
        self.lines.recv_timeout(SOON).expect("the demo answers in time")
    }

    pub(crate) fn next(&self) -> Value {
        let line = self.line();
        serde_json::from_slice(&line).unwrap_or_else(|error| panic!("{error} in {}", String::from_utf8_lossy(&line)))
    }

    /// Sends a request; its answer is what must come next.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.next();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// The demo lives and has said nothing that was not taken: messages are read in order, so an answer to anything before
    /// would come before.
    pub(crate) fn stays_silent(&mut self) {
        const ID: u64 = 4711;
        self.send(&ping(ID));
        assert_eq!(self.next(), pong(ID));
    }

    /// Ends the input; what is left to be said, and the exit code.
    pub(crate) fn end(mut self) -> (Vec<Value>, Option<i32>) {
        self.input = None;
        let code = self.demo.code();
        // The reader's end of the channel closes once the demo's output has ended.
        let rest = self.lines.iter().map(|line| serde_json::from_slice(&line).expect("JSON")).collect();
        (rest, code)
    }
}

/// A server over HTTP: the demo, or one of the test's own.
pub(crate) struct Site {
    pub(crate) address: String,
    pub(crate) demo: Option<Http>,
}

impl Site {
    pub(crate) fn demo() -> Self {
        let demo = Http::open();
        Self { address: demo.address.clone(), demo: Some(demo) }
    }

    /// Serves until the tests end.
    pub(crate) fn of(server: Server) -> Self {
        let app = server.build().expect("the server can be built");
        let (sender, address) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let server = app.bind_http("127.0.0.1:0").await.expect("a free port");
                sender.send(server.local_addr().expect("an address")).expect("the test waits");
                server.serve_until(std::future::pending()).await
            })
        });
        Self { address: address.recv_timeout(SOON).expect("the server listens").to_string(), demo: None }
    }

    /// A connection on which those bytes were sent.
    pub(crate) fn raw(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(SOON)).expect("a time limit");
        stream.write_all(bytes).expect("the server reads");
        stream
    }

    /// The head of a request, but for its last line break. Headers given replace the usual ones of that name.
    pub(crate) fn head(&self, verb: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let has = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let usual = [
            ("host", &*self.address),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
            ("connection", "close"),
        ];
        let all = usual.into_iter().filter(|(name, _)| !has(name)).chain(headers.iter().copied());
        all.fold(format!("{verb} {path} HTTP/1.1\r\n"), |head, (name, value)| format!("{head}{name}: {value}\r\n"))
    }

    pub(crate) fn begin_at(&self, path: &str, verb: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        let head = self.head(verb, path, headers);
        Stream::open(self.raw(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()))
    }

    pub(crate) fn begin(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        self.begin_at("/mcp", verb, headers, body)
    }

    pub(crate) fn send(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.begin(verb, headers, body).whole()
    }

    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &Value) -> Response {
        self.send("POST", headers, &body.to_string())
    }

    /// A modern request with the headers that belong to it.
    pub(crate) fn modern(&self, method: &str, params: Value) -> Response {
        self.modern_with(method, params, json!({}), &[])
    }

    /// The same with more members of `_meta`, and more headers.
    pub(crate) fn modern_with(
        &self,
        method: &str,
        mut params: Value,
        meta: Value,
        headers: &[(&str, &str)],
    ) -> Response {
        let name = params["name"].as_str().map(ToOwned::to_owned);
        params["_meta"] = modern(meta);
        let mut all = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        all.extend(name.as_deref().map(|name| ("mcp-name", name)));
        all.extend(headers);
        self.post(&all, &request(1, method, params))
    }

    /// A modern call of a tool.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Response {
        self.modern("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// A session of that revision.
    pub(crate) fn session(&self, version: &str) -> Session<'_> {
        let opened = self.post(&[], &init(version));
        assert_eq!(opened.json()["result"]["protocolVersion"], version);
        let id = opened.header("mcp-session-id").expect("a session").to_owned();
        let session = Session { site: self, id };
        assert_eq!(session.post(&initialized()).status, 202);
        session
    }

    /// It lives.
    pub(crate) fn still_answers(&self) {
        assert_eq!(self.modern("server/discover", json!({})).status, 200);
    }
}

/// A session over HTTP.
pub(crate) struct Session<'a> {
    site: &'a Site,
    pub(crate) id: String,
}

impl Session<'_> {
    pub(crate) fn send(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.begin(verb, headers, body).whole()
    }

    pub(crate) fn begin(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        self.site.begin(verb, &[headers, &[("mcp-session-id", &*self.id)]].concat(), body)
    }

    pub(crate) fn post(&self, message: &Value) -> Response {
        self.send("POST", &[], &message.to_string())
    }

    /// A call that has begun, as its first progress tells, and what will come of it.
    pub(crate) fn start(&self, message: &Value) -> Stream {
        let mut stream = self.begin("POST", &[], &message.to_string());
        assert_eq!(stream.next().expect("progress")["method"], "notifications/progress");
        stream
    }

    /// An open listening stream.
    pub(crate) fn listen(&self) -> Stream {
        let stream = self.begin("GET", &[], "");
        assert_eq!((stream.status, stream.header("content-type")), (200, Some("text/event-stream")));
        stream
    }
}

/// A response that is coming.
pub(crate) struct Stream {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
}

impl Stream {
    pub(crate) fn open(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let status = line(&mut reader).split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let mut headers = Vec::new();
        loop {
            let line = line(&mut reader);
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Self { status, headers, reader }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The next message of an event stream; `None` at its end. No message begins like the size of a chunk.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            let line = line(&mut self.reader);
            match line.strip_prefix("data: ") {
                Some(data) => return Some(serde_json::from_str(data).expect("one message in one line")),
                // The size of the last chunk.
                None if line == "0" => return None,
                None => {}
            }
        }
    }

    pub(crate) fn whole(mut self) -> Response {
        let mut body = Vec::new();
        if self.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(&line(&mut self.reader), 16).expect("the size of a chunk");
                if size == 0 {
                    break;
                }
                let from = body.len();
                body.resize(from + size, 0);
                self.reader.read_exact(&mut body[from..]).expect("a whole chunk");
                line(&mut self.reader);
            }
        } else {
            self.reader.read_to_end(&mut body).expect("the server answers in time");
        }
        let body = String::from_utf8(body).expect("a body of text");
        Response { status: self.status, headers: self.headers, body }
    }
}

/// The next line, without its end.
fn line(reader: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    let read = reader.read_line(&mut line).expect("the server answers in time");
    assert!(read > 0, "the connection broke off");
    line.trim_end().to_owned()
}

/// A server of the test's own.
pub(crate) fn server() -> Server {
    Server::new("own", "1")
}

/// A tool of the test's own.
pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name).description("A tool of a test.")
}
