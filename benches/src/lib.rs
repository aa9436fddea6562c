//! What the benchmarks share: one `tools/call` in each era, from bytes to bytes, and the yardstick beside it.
//!
//! The yardstick is what a hand-written server could not do without: `serde_json` reads the envelope into a borrowed
//! struct and writes the same answer. Everything above it is the price of the checks.

mod framework;

use std::sync::Arc;

pub use framework::Framework;

use bytes::Bytes;
use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Tool};
use mcp_core::{
    Caller, Endpoint, Exchange, Handle, Head, Input, Machine, MachineId, Outcome, Output, Pipe, Time, View, wire,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A modern `tools/call` of `echo`, as a client sends it.
pub const MODERN: &str = concat!(
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello, world"},"#,
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"}}}}"#
);

/// The same on legacy, after a handshake.
pub const LEGACY: &str = concat!(
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","#,
    r#""arguments":{"message":"hello, world"}}}"#
);

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"bench","version":"1.0.0"}}}"#
);

/// The headers of [`MODERN`] over HTTP.
const MODERN_HEADERS: [(&str, &[u8]); 6] = [
    ("content-type", b"application/json"),
    ("accept", b"application/json, text/event-stream"),
    ("mcp-protocol-version", b"2026-07-28"),
    ("mcp-method", b"tools/call"),
    ("mcp-name", b"echo"),
    ("host", b"127.0.0.1:8000"),
];

const SCHEMA: &str = r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;

/// A server with that many tools, one of them `echo`, and everything that its machines are handed.
#[derive(Debug)]
pub struct Server {
    endpoint: Arc<Endpoint>,
    view: View,
    caller: Caller,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    message: &'a str,
}

impl Server {
    /// A server with `tools` tools.
    ///
    /// # Panics
    ///
    /// Never: the definitions are fixed.
    #[must_use]
    pub fn new(tools: u64) -> Self {
        let mut builder =
            Catalog::builder().tool(Tool::new("echo", Handle(0), SCHEMA).with_description("Say it again"));
        for n in 1..tools {
            builder = builder.tool(Tool::new(&format!("tool_{n}"), Handle(n), SCHEMA));
        }
        let catalog = builder.build().expect("the definitions are valid");
        let endpoint = Endpoint::builder(Implementation::new("bench", "1.0.0")).tools(false).build();
        let endpoint = endpoint.expect("the description is valid");
        Self { endpoint, view: View::all(catalog), caller: Caller::anonymous() }
    }

    /// One modern request over HTTP: a new machine, its headers checked, its answer in `out`.
    pub fn exchange(&self, body: &Bytes, out: &mut Vec<u8>) {
        let head = Head::read(MODERN_HEADERS);
        let mut exchange = Exchange::new(MachineId(1), Arc::clone(&self.endpoint), Time(0));
        self.drive(&mut exchange, body, Some(&head), out);
    }

    /// A byte stream whose legacy handshake is made.
    #[must_use]
    pub fn pipe(&self) -> Pipe {
        let mut pipe = Pipe::new(MachineId(1), Arc::clone(&self.endpoint), Time(0));
        let mut out = Vec::new();
        self.drive(&mut pipe, &Bytes::from_static(INITIALIZE.as_bytes()), None, &mut out);
        pipe
    }

    /// One message to a machine, until its answer is in `out`.
    ///
    /// # Panics
    ///
    /// If `body` is no message.
    pub fn drive(&self, machine: &mut impl Machine, body: &Bytes, head: Option<&Head<'_>>, out: &mut Vec<u8>) {
        let message = wire::read(body.clone(), self.endpoint.limits()).expect("a valid message");
        machine.handle(Time(1), Input::Message { message, head, from: &self.caller, view: &self.view });
        while let Some(output) = machine.poll_output() {
            match output {
                Output::Call(ticket, call) => {
                    let outcome = echo(&call.kind);
                    machine.handle(Time(1), Input::Done { ticket, outcome });
                }
                Output::Ready(stream) => drop(machine.pull(stream, out, usize::MAX)),
                _ => {}
            }
        }
    }
}

fn echo(kind: &mcp_core::Kind) -> Outcome {
    let mcp_core::Kind::Tool { arguments, .. } = kind else { return fail() };
    match serde_json::from_slice::<Arguments<'_>>(arguments) {
        Ok(arguments) => Outcome::Complete(Answer::Tool(ToolAnswer::text(arguments.message))),
        Err(_) => fail(),
    }
}

fn fail() -> Outcome {
    Outcome::Fail(mcp_core::Fault::internal("no such tool"))
}

#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Arguments<'a>,
    #[serde(borrow, default)]
    _meta: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Result<'a>,
}

#[derive(Serialize)]
struct Result<'a> {
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// The yardstick: reads the same request into borrowed structs and writes the same answer, with no checks at all.
///
/// # Panics
///
/// If `body` is no `tools/call` of `echo`.
pub fn yardstick(body: &[u8], out: &mut Vec<u8>) {
    let request: Envelope<'_> = serde_json::from_slice(body).expect("a valid message");
    assert!(request.jsonrpc == "2.0" && request.method == "tools/call" && request.params.name == "echo");
    let content = [Text { r#type: "text", text: request.params.arguments.message }];
    let response = Response { jsonrpc: "2.0", id: request.id, result: Result { content } };
    serde_json::to_writer(out, &response).expect("writing to memory");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_answer_what_they_measure() {
        let server = Server::new(50);
        let mut modern = Vec::new();
        server.exchange(&Bytes::from_static(MODERN.as_bytes()), &mut modern);
        let mut legacy = Vec::new();
        let mut pipe = server.pipe();
        server.drive(&mut pipe, &Bytes::from_static(LEGACY.as_bytes()), None, &mut legacy);
        let mut floor = Vec::new();
        yardstick(LEGACY.as_bytes(), &mut floor);
        let framework = Framework::new(50);
        let mut modern_framework = Vec::new();
        framework.exchange(&Bytes::from_static(MODERN.as_bytes()), &mut modern_framework);
        let mut legacy_framework = Vec::new();
        let mut pipe = framework.pipe();
        framework.drive(&mut pipe, &Bytes::from_static(LEGACY.as_bytes()), None, &mut legacy_framework);
        for answer in [&modern, &legacy, &floor, &modern_framework, &legacy_framework] {
            let answer: serde_json::Value = serde_json::from_slice(answer).unwrap();
            assert_eq!(answer["id"], 7);
            assert_eq!(answer["result"]["content"][0]["text"], "hello, world");
        }
    }
}
