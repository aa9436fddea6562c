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
//! Which of them an HTTP request is for, [`route`] says. A framework is a [`drive::Handler`], which the adapters run: they
//! ask it what each caller may see, hand it calls with a [`drive::Link`] back, and [subscribe](drive::Handler::subscribe) to
//! hear of a swapped catalogue. Most people never meet this crate: `mcp-server` wraps it, and
//! `mcp-transport-http` and `mcp-transport-stdio` drive it. It is for custom transports, other runtimes, tests and fuzzers.
//!
//! # The run loop, whole
//!
//! A driver for one byte stream: it reads, hands in, does what is said, and writes. This one runs its only tool where it
//! stands and reads from memory, so nothing ever waits; where something can, wait no longer than [`Machine::deadline`] and
//! then hand in [`Input::Tick`]; where writing can block, stop reading while [`Machine::gate`] is full. `examples/std_threads.rs`
//! runs its calls on threads, and writes where it stands.
//!
//! ```
//! use std::io::{self, Read, Write};
//!
//! use mcp_core::answer::{Answer, Implementation, ToolAnswer};
//! use mcp_core::catalog::{Catalog, Tool};
//! use mcp_core::wire::lines::{Line, Splitter};
//! use mcp_core::wire::{self, Unread};
//! use mcp_core::{Caller, Close, Endpoint, Handle, Input, Machine, MachineId, Outcome, Output, Pipe, Pull, Time, View};
//!
//! /// Does what the machine says until it says no more. True once it has closed.
//! fn obey(pipe: &mut Pipe, now: Time, output: &mut impl Write) -> io::Result<bool> {
//!     let mut closed = false;
//!     while let Some(said) = pipe.poll_output() {
//!         match said {
//!             Output::Call(ticket, _call) => {
//!                 let outcome = Outcome::Complete(Answer::Tool(ToolAnswer::text("Hello!")));
//!                 pipe.handle(now, Input::Done { ticket, outcome });
//!             }
//!             // Said once, however much there is: pull until there is no more.
//!             Output::Ready(stream) => loop {
//!                 let mut bytes = Vec::new();
//!                 let pulled = pipe.pull(stream, &mut bytes, 64 << 10);
//!                 output.write_all(&bytes)?;
//!                 if pulled != Pull::More {
//!                     break;
//!                 }
//!             },
//!             Output::Closed => closed = true,
//!             Output::Abandon(_) | Output::Hibernate | Output::Event(_) => {}
//!             Output::Expect(_) | Output::Resume(_) | Output::Open { .. } | Output::Listen(_) => {} // of HTTP
//!         }
//!     }
//!     Ok(closed)
//! }
//!
//! fn serve(mut input: impl Read, mut output: impl Write) -> Result<(), Box<dyn std::error::Error>> {
//!     let schema = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
//!     let catalog = Catalog::builder().tool(Tool::new("hello", Handle(1), schema)).build().map_err(|d| format!("{d:?}"))?;
//!     let endpoint = Endpoint::builder(Implementation::new("demo", "1.0.0")).tools(false).build().map_err(|d| format!("{d:?}"))?;
//!     let limits = endpoint.limits().clone();
//!     let (view, caller) = (View::all(catalog), Caller::anonymous());
//!     let now = Time(1); // Unix milliseconds, from your clock
//!
//!     let mut pipe = Pipe::new(MachineId(1), endpoint, now);
//!     let mut splitter = Splitter::new(limits.line);
//!     let mut buffer = [0; 16 << 10];
//!     loop {
//!         let read = input.read(&mut buffer)?;
//!         let mut chunk = &buffer[..read];
//!         while let Some(line) = if read == 0 { splitter.finish() } else { splitter.next(&mut chunk) } {
//!             let read = match line {
//!                 Line::Text(body) => wire::read(body, &limits),
//!                 Line::TooLong => Err(Unread::too_long(limits.line)),
//!             };
//!             pipe.handle(now, match read {
//!                 Ok(message) => Input::Message { message, head: None, from: &caller, view: &view },
//!                 Err(unread) => Input::Unread(unread),
//!             });
//!             obey(&mut pipe, now, &mut output)?;
//!         }
//!         if read == 0 {
//!             pipe.handle(now, Input::Close(Close::EndOfInput));
//!         }
//!         if obey(&mut pipe, now, &mut output)? {
//!             return Ok(());
//!         }
//!     }
//! }
//!
//! let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
//! let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"hello","_meta":{meta}}}}}"#);
//! let mut written = Vec::new();
//! serve(call.as_bytes(), &mut written).unwrap();
//! assert!(String::from_utf8(written).unwrap().contains(r#""text":"Hello!""#));
//! ```
//!
//! # What is served
//!
//! A [`Catalog`] holds tools, resources, templates of resources and prompts; an [`Endpoint`] says which of them are offered. Lists
//! are answered here. What takes code of yours is an [`Output::Call`], and each kind has its answer:
//!
//! | [`Kind`] | method | [`Answer`](answer::Answer) |
//! |---|---|---|
//! | `Tool` | `tools/call` | [`ToolAnswer`](answer::ToolAnswer) |
//! | `Resource` | `resources/read`, of a resource or a template | [`ResourceAnswer`](answer::ResourceAnswer) |
//! | `Prompt` | `prompts/get` | [`PromptAnswer`](answer::PromptAnswer) |
//! | `Complete` | `completion/complete` | [`Completion`](answer::Completion) |
//! | `Extension` | a method of an [`ExtensionDecl`] | the result's members, as JSON text |
//!
//! A call of any kind may end in [`Outcome::Fail`] instead; the first three may [ask](Outcome::Ask) the client.
//!
//! # What holds
//!
//! * Only `handle` advances a machine. The other methods pop or look, in any order.
//! * Nothing that a peer sends panics, hangs or grows memory without bound; [`policy::Limits`] names every bound.
//! * A call is answered once: its [`Ticket`] is not `Clone`, and late news is ignored.
//! * A quiet session [sleeps](snapshot) as about a hundred bytes, and wakes as if it never had.
//! * Any run can be [recorded and replayed](record) to the same bytes.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod answer;
mod ask;
mod caching;
mod calls;
pub mod catalog;
mod challenge;
mod desk;
pub mod drive;
mod encode;
mod endpoint;
mod event_log;
mod exchange;
mod extension;
pub mod fault;
pub mod headers;
mod keep_alives;
mod legacy;
mod listen;
mod listeners;
mod machine;
mod methods;
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
pub mod snapshot;
mod stream;
mod streams;
mod subscriptions;
mod time;
mod timers;
pub mod trace;
mod unjudged;
pub mod uri_template;
pub mod wire;

pub use caching::{CacheHint, Caching};
pub use catalog::{Catalog, Generations, Handle, View};
pub use challenge::Challenge;
pub use endpoint::{Endpoint, EndpointBuilder};
pub use event_log::EventLog;
pub use exchange::Exchange;
pub use extension::ExtensionDecl;
pub use fault::{Code, Fault};
pub use headers::Head;
pub use keep_alives::KeepAlives;
pub use listeners::{Claim, Listeners};
pub use machine::*;
pub use peer::*;
pub use pipe::Pipe;
pub use reply::{Form, Reply};
pub use roster::{Contact, Due, Roster, SessionId, Sleeper};
pub use session::Session;
pub use snapshot::{Asleep, Checkpoint, Snapshot, SnapshotError};
pub use time::{Span, Time};
pub use timers::Timer;
