//! The Model Context Protocol for servers, as pure state machines: bytes and time go in; bytes, calls and deadlines come out.
//!
//! There is no IO here, no clock, no entropy, no lock and no `std`. A *driver* owns a machine, tells it what happened with
//! [`Machine::handle`], and does what it says with [`Machine::poll_output`] and [`Machine::pull`]:
//!
//! ```text
//!    peer's bytes ──► wire::read ──► Input ─┐                      ┌─► Output::Call ──► your tool
//!                                           ▼                      │                       │
//!    clock ──────────────► Time ──►  Machine::handle ──► poll_output ─► Output::Open, Ready, Event, …
//!                                           ▲                      │                       │
//!    your tool's outcome ──► Input::Done ───┘                      └─► pull ──► bytes for the peer
//! ```
//!
//! | machine | what it serves | how long it lives |
//! |---|---|---|
//! | [`Exchange`] | one request of 2026-07-28 over HTTP | one request |
//! | [`Session`] | one session of 2024-11-05 to 2025-11-25 over HTTP | until DELETE, idleness or shutdown |
//! | [`Pipe`] | both eras, interleaved, on one byte stream | until the stream ends |
//!
//! Which of them an HTTP request is for, [`route`] says. Most people never meet this crate: `mcp-server` wraps it, and
//! `mcp-transport-http` and `mcp-transport-stdio` drive it. It is for custom transports, other runtimes, tests and fuzzers.
//!
//! # The run loop, whole
//!
//! A driver for one byte stream. It answers `tools/call` with what the tool returns; a real one runs the call elsewhere
//! and goes on meanwhile.
//!
//! ```
//! use std::sync::Arc;
//! use mcp_core::answer::{Answer, Implementation, ToolAnswer};
//! use mcp_core::catalog::{Catalog, Tool};
//! use mcp_core::wire::{self, lines::{Line, Splitter}};
//! use mcp_core::{Caller, Endpoint, Handle, Input, Machine, MachineId, Outcome, Output, Pipe, StreamId, Time, View};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
//! let catalog = Catalog::builder().tool(Tool::new("hello", Handle(1), schema)).build().map_err(|d| format!("{d:?}"))?;
//! let endpoint = Endpoint::builder(Implementation::new("demo", "1.0.0")).tools(false).build().map_err(|d| format!("{d:?}"))?;
//! let (view, caller) = (View::all(catalog), Caller::anonymous());
//!
//! let mut pipe = Pipe::new(MachineId(1), endpoint.clone(), Time(0));
//! let mut splitter = Splitter::new(endpoint.limits().line);
//! let mut written = Vec::new();
//!
//! let mut input: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","_meta":{
//! "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! # let one_line = input.iter().copied().filter(|b| *b != b'\n').chain(*b"\n").collect::<Vec<u8>>(); input = &one_line;
//! let now = Time(1); // Unix milliseconds, from the driver's clock
//! while let Some(line) = splitter.next(&mut input) {
//!     match line {
//!         Line::Text(body) => match wire::read(body, endpoint.limits()) {
//!             Ok(message) => pipe.handle(now, Input::Message { message, head: None, from: &caller, view: &view }),
//!             Err(unread) => pipe.handle(now, Input::Unread(unread)),
//!         },
//!         Line::TooLong => pipe.handle(now, Input::Unread(wire::Unread::too_long(endpoint.limits().line))),
//!     }
//!     while let Some(output) = pipe.poll_output() {
//!         match output {
//!             Output::Call(ticket, _call) => {
//!                 let outcome = Outcome::Complete(Answer::Tool(ToolAnswer::text("Hello!")));
//!                 pipe.handle(now, Input::Done { ticket, outcome });
//!             }
//!             Output::Ready(stream) => drop(pipe.pull(stream, &mut written, 64 << 10)),
//!             Output::Abandon(_) | Output::Expect(_) | Output::Open { .. } => {}
//!             Output::Hibernate | Output::Event(_) | Output::Closed => {}
//!         }
//!     }
//! }
//! assert!(String::from_utf8(written)?.contains(r#""text":"Hello!""#));
//! # Ok(()) }
//! ```
//!
//! # What holds
//!
//! * Only `handle` advances a machine. The other methods pop or look, in any order.
//! * Nothing that a peer sends panics, hangs or grows memory without bound; [`policy::Limits`] names every bound.
//! * A call is answered once: its [`Ticket`] is not `Clone`, and late news is ignored.
//! * Any run can be [recorded and replayed](record) to the same bytes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod answer;
mod ask;
mod calls;
pub mod catalog;
mod desk;
pub mod drive;
mod encode;
mod endpoint;
mod exchange;
pub mod fault;
pub mod headers;
mod legacy;
mod machine;
mod modern;
mod outbox;
mod outputs;
mod peer;
mod pipe;
pub mod policy;
pub mod question;
pub mod record;
mod reply;
mod roster;
pub mod route;
mod session;
mod settle;
mod stream;
mod time;
mod timers;
pub mod wire;

pub use catalog::{Catalog, Handle, View};
pub use endpoint::{Endpoint, EndpointBuilder, ExtensionDecl};
pub use exchange::Exchange;
pub use fault::{Code, Fault};
pub use headers::Head;
pub use machine::*;
pub use peer::*;
pub use pipe::Pipe;
pub use reply::{Form, Reply};
pub use roster::{Roster, SessionId};
pub use session::Session;
pub use time::{Span, Time};
pub use timers::Timer;
