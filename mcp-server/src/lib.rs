//! Model Context Protocol servers in a few lines.
//!
//! ```no_run
//! use mcp_server::{Server, Tool};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Hello {
//!     /// Person's name
//!     name: String,
//! }
//!
//! # #[cfg(feature = "http")]
//! #[tokio::main]
//! async fn main() -> mcp_server::Result<()> {
//!     let hello = Tool::new("hello").description("Say hello.").run(async |args: Hello| format!("Hello, {}!", args.name));
//!     Server::new("my-app", "1.0.0").tool(hello).serve_http("127.0.0.1:8000").await
//! }
//! # #[cfg(not(feature = "http"))]
//! # fn main() {}
//! ```
//!
//! One server speaks all five revisions of the protocol, over Streamable HTTP and stdio.
//!
//! - [`Server`] collects, checks and serves; [`App`] is what it builds, a [`Handler`](mcp_core::drive::Handler) for any
//!   adapter of `mcp-core`.
//! - [`Tool`] is a name, what clients see, and code. Its arguments are a type, and the schema is derived from it; or a schema
//!   as data.
//! - [`Ctx`] reports progress, logs to the client, and knows who asks.
//! - [`Json`] returns a structured result; [`ToolError`] tells what a model may read of an error, and has the two rules
//!   of that side by side.
//!
//! Logs go to `tracing`. The library installs no subscriber, so nothing is printed until you do: with the crate
//! `tracing-subscriber` it is `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. What a message says is never
//! logged.

#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod cancel;
mod check;
mod code;
mod ctx;
mod error;
mod extract;
#[cfg(feature = "http")]
pub mod http;
mod into_tool;
mod json;
mod param;
mod private;
mod schema;
mod seal;
mod serve;
mod server;
#[cfg(feature = "stdio")]
mod stdio;
pub mod testing;
mod tool;
mod tool_error;
mod validate;

pub use answer::{IntoAnswer, Json, Structured};
pub use arguments::{Args, Arguments};
pub use cancel::Cancelled;
pub use code::ToolFn;
pub use ctx::Ctx;
pub use error::{BuildError, Error, Result};
pub use extract::{Amount, Extract, Log, Needs, Progress, State};
pub use into_tool::{IntoTool, IntoTools, ToolSet};
pub use param::Param;
pub use private::Verdict;
pub use seal::Keys;
pub use serve::{App, Edit};
pub use server::Server;
pub use tool::{IntoIcon, Tool};
pub use tool_error::{IntoToolError, ToolError};

pub use mcp_core::answer::{Annotations, Content, Icon, Link, Role, Theme, ToolAnswer};
pub use mcp_core::catalog::Defect;
pub use mcp_core::policy::{Limits, Policy, Seal, Timing};
pub use mcp_core::{Ability, Caller, Code, Fault, Level, Peer, Revision, Span};
#[doc = include_str!("docs/arguments.md")]
pub use mcp_server_macros::Arguments;
#[doc = include_str!("docs/tool.md")]
pub use mcp_server_macros::tool;
#[doc = include_str!("docs/tools.md")]
pub use mcp_server_macros::tools;
pub use schemars;
pub use serde_json::{Value, json};

/// What the code that the macros write stands on, and no part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::private::*;
}

/// The README's examples are compiled by the tests.
#[cfg(all(doctest, feature = "http", feature = "stdio"))]
#[doc = include_str!("../../README.md")]
struct Readme;
