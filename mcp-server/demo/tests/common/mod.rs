//! The demo as a process, and clients made by hand: nothing of this project answers for itself here.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take that should be over at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A demo that runs; killed when it is dropped.
pub(crate) struct Demo {
    pub(crate) child: Child,
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Demo {
    pub(crate) fn command() -> Command {
        Command::new(env!("CARGO_BIN_EXE_demo"))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Self { child: child.expect("the demo starts") }
    }

    /// Its exit code, which must come soon.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the demo can be waited for") {
                return status.code();
            }
            assert!(start.elapsed() < SOON, "the demo does not end");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Runs the demo to its end: exit code, stdout, stderr.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Demo::command().args(arguments).stdin(Stdio::null()).output().expect("the demo runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A client over stdio.
pub(crate) struct Pipe {
    pub(crate) demo: Demo,
    writer: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    next: u64,
}

impl Pipe {
    /// The demo's stderr is a pipe that nobody reads.
    pub(crate) fn open() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(more: &[&str]) -> Self {
        let mut demo = Demo::spawn(Demo::command().arg("--stdio").args(more));
        let writer = demo.child.stdin.take();
        let mut reader = BufReader::new(demo.child.stdout.take().expect("stdout"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match reader.read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 && sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        Self { demo, writer, lines, next: 0 }
    }

    /// The same, after the handshake of 2025-11-25.
    pub(crate) fn legacy() -> Self {
        let mut pipe = Self::open();
        let id = pipe.request("initialize", initialize());
        assert_eq!(pipe.response(id)["result"]["protocolVersion"], "2025-11-25");
        pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        pipe
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let writer = self.writer.as_mut().expect("the input is open");
        writer.write_all(format!("{message}\n").as_bytes()).expect("the demo reads");
    }

    pub(crate) fn close(&mut self) {
        self.writer = None;
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The next line as it came.
    pub(crate) fn line(&mut self) -> Vec<u8> {
        self.lines.recv_timeout(SOON).expect("the demo answers in time")
    }

    /// The next message: one line, ended by one line feed.
    pub(crate) fn next(&mut self) -> Value {
        let line = self.line();
        assert!(line.ends_with(b"\n") && !line.ends_with(b"\r\n"), "{line:?}");
        serde_json::from_slice(&line).expect("JSON and nothing else on stdout")
    }

    /// The response to that request; what comes before it is passed over.
    pub(crate) fn response(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        self.response(id)
    }

    /// Whether nothing was to come: the next thing is the answer to a ping, or the end once the input has ended.
    pub(crate) fn is_silent(&mut self) -> bool {
        if self.writer.is_none() {
            return self.lines.recv_timeout(SOON) == Err(RecvTimeoutError::Disconnected);
        }
        let ping = self.request("ping", json!({}));
        self.next() == json!({"jsonrpc": "2.0", "id": ping, "result": {}})
    }
}

/// A demo that serves HTTP on a free port.
pub(crate) struct Http {
    pub(crate) demo: Demo,
    pub(crate) address: String,
    /// The line after `try: `.
    pub(crate) example: String,
    stderr: BufReader<std::process::ChildStderr>,
}

/// A response that came whole.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The messages: one, or those of an event stream.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.header("content-type") == Some("application/json") {
            return vec![self.json()];
        }
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
        data.map(|data| serde_json::from_str(data).expect("one message a line")).collect()
    }
}

impl Http {
    pub(crate) fn open() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(more: &[&str]) -> Self {
        let mut demo = Demo::spawn(Demo::command().args(["--http", "127.0.0.1:0"]).args(more));
        let mut stderr = BufReader::new(demo.child.stderr.take().expect("stderr"));
        let mut line = || {
            let mut line = String::new();
            stderr.read_line(&mut line).expect("the demo says something");
            line
        };
        let listening = line();
        let address =
            listening.strip_prefix("listening on http://").and_then(|rest| rest.trim_end().strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{listening}")).to_owned();
        let example = line().strip_prefix("try: ").expect("something to try").trim_end().to_owned();
        Self { demo, address, example, stderr }
    }

    /// The next line of its log.
    pub(crate) fn log(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("the demo logs");
        line
    }

    /// A connection with a request on it, the body being whole.
    pub(crate) fn begin(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the demo listens");
        stream.set_read_timeout(Some(SOON)).expect("a time limit");
        let mut head = format!("{verb} /mcp HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        for (name, value) in [
            ("host", &*self.address),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ] {
            if !has(name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("the demo reads");
        stream
    }

    pub(crate) fn send(&self, verb: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut bytes = Vec::new();
        self.begin(verb, headers, body).read_to_end(&mut bytes).expect("the demo answers in time");
        parse(&bytes)
    }

    /// A call of 2026-07-28.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Response {
        self.call_with(tool, arguments, json!({}), &[])
    }

    /// The same with more members of `_meta`, and more headers.
    pub(crate) fn call_with(&self, tool: &str, arguments: Value, meta: Value, headers: &[(&str, &str)]) -> Response {
        let params = json!({"name": tool, "arguments": arguments, "_meta": modern(meta)});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let own = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
        self.send("POST", &[&own[..], headers].concat(), &body)
    }
}

/// `_meta` of a modern request.
pub(crate) fn modern(more: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (key, value) in more.as_object().expect("an object") {
        meta[key] = value.clone();
    }
    meta
}

/// The params of a handshake.
pub(crate) fn initialize() -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "probe", "version": "0"}})
}

fn parse(bytes: &[u8]) -> Response {
    let split = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..split].to_vec()).expect("a head of text");
    let mut lines = head.split("\r\n");
    let status =
        lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok()).expect("a status");
    let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
    let body = &bytes[split + 4..];
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { unchunk(body) } else { body.to_vec() };
    Response { status, headers, body: String::from_utf8(body).expect("a body of text") }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").expect("the size of a chunk");
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("the size of a chunk in hexadecimal");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}
