//! A client that is made by hand: lines of JSON over a pipe in memory.

#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;
use std::time::Duration;

use mcp_server::{App, Server};
use mcp_transport_stdio::Connection;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// A modern client (2026-07-28) at one end, the server at the other.
pub(crate) struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    next: u64,
}

impl Client {
    pub(crate) fn of(server: Server) -> Self {
        Self::to(server.build().expect("the server can be built"))
    }

    pub(crate) fn to(app: App) -> Self {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        tokio::spawn(Connection::tokio(Arc::new(app)).run_tokio(reader, writer));
        let (reader, writer) = tokio::io::split(near);
        Self { reader: BufReader::new(reader), writer, next: 0 }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
    }

    /// The next message, which must come soon.
    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(10), self.reader.read_line(&mut line));
        read.await.expect("the server answers in time").expect("the server writes");
        serde_json::from_str(&line).expect("the server writes JSON")
    }

    /// Sends a modern request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.request_with(method, params, json!({})).await
    }

    /// The same with more members of `_meta`.
    pub(crate) async fn request_with(&mut self, method: &str, mut params: Value, meta: Value) -> u64 {
        self.next += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for (key, value) in meta.as_object().expect("an object") {
            params["_meta"][key] = value.clone();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})).await;
        self.next
    }

    /// Calls a tool and waits for its response.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let response = self.next().await;
        assert_eq!(response["id"], id, "{response}");
        response
    }

    /// The same with arguments as text: what no `Value` can hold.
    pub(crate) async fn call_text(&mut self, tool: &str, arguments: &str) -> Value {
        self.next += 1;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let head = format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"_meta":{meta},"#, self.next);
        let line = format!("{head}\"name\":{},\"arguments\":{arguments}}}}}\n", json!(tool));
        self.writer.write_all(line.as_bytes()).await.expect("the server reads");
        let response = self.next().await;
        assert_eq!(response["id"], self.next, "{response}");
        response
    }

    /// The listed tool of that name.
    pub(crate) async fn listed(&mut self, tool: &str) -> Value {
        self.request("tools/list", json!({})).await;
        let response = self.next().await;
        let tools = response["result"]["tools"].as_array().expect("a list of tools");
        tools.iter().find(|listed| listed["name"] == tool).expect("the tool is listed").clone()
    }
}

/// The text of the first block of a response.
pub(crate) fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {response}"))
}
