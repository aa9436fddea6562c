//! The example as its clients see it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// The example, with its address. Killed when the test ends.
struct Example {
    process: Child,
    address: String,
}

impl Example {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_on-smol"));
        command.arg("127.0.0.1:0").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
        Self { process, address }
    }

    /// One request on a connection of its own.
    fn ask(&self, method: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}",
            self.address
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn modern_call() -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "echo", "arguments": {"text": "hi"}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn initialize() -> Value {
    let info = json!({"name": "probe", "version": "0"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn text(message: &str) -> String {
    let message: Value = serde_json::from_str(message).unwrap();
    message["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{message}")).to_owned()
}

#[test]
fn it_answers_both_eras_over_http() {
    let example = Example::start();
    let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n";
    let (head, body) = example.ask("POST", headers, &modern_call().to_string());
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(text(&body), "hi");

    let (head, _) = example.ask("POST", "", &initialize().to_string());
    let session = head.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap_or_else(|| panic!("{head}"));
    assert_eq!(session.len(), "mcp-session-id: ".len() + 22);
    let (head, _) = example.ask("POST", "origin: http://evil.example\r\n", &initialize().to_string());
    assert!(head.starts_with("http/1.1 403"), "{head}");
    let (head, _) = example.ask("PUT", "", "");
    assert!(head.starts_with("http/1.1 405"), "{head}");
}

#[test]
fn it_refuses_what_is_too_long() {
    let example = Example::start();
    let (head, _) = example.ask("POST", "", &" ".repeat((4 << 20) + 1));
    assert!(head.starts_with("http/1.1 413"), "{head}");
}

#[test]
fn it_talks_over_standard_input_and_output_and_ends_with_them() {
    let mut example = Example::start();
    let mut input = example.process.stdin.take().unwrap();
    let mut output = BufReader::new(example.process.stdout.take().unwrap());
    let mut ask = |message: Value| {
        writeln!(input, "{message}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(text(&ask(modern_call())), "hi");
    assert!(ask(initialize()).contains("2025-11-25"));
    drop(input);
    assert!(example.process.wait().unwrap().success());
}
