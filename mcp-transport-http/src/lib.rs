//! The Model Context Protocol over Streamable HTTP: one service for every revision, on any runtime and in any
//! framework, and a server on tokio and hyper.
//!
//! ```text
//!   http::Request ─► Host, Origin ─► path, OPTIONS ─► authenticate, limit ─► body ─► route ─┐
//!                                                                                           │
//!   http::Response ◄─ JSON, or an event stream, as the first frame decides ◄────────────────┼─► Exchange
//!                                                                                           └─► Session
//!
//!   Exchange   a modern request: driven by the response's future and then its body; dropped with them
//!   Session    a legacy session: in a table, behind a lock of its own; its calls go on as tasks
//! ```
//!
//! All rules of the protocol are [`mcp_core`]'s; what is decided here is HTTP's: who may talk to this server through a
//! browser, how long a body may be and take, and who waits for whom.
//!
//! * [`McpService`] takes requests with any body. One that is answered at once costs no task and no timer.
//! * [`Authenticator`] finds out who asks, [`Limiter`] says how often they may, and [`Rejection`] is what others are told.
//! * [`RequestHead`] is what the code of a call can learn of the request that started it.
//! * The HTTP+SSE transport of 2024-11-05, deprecated, may be served beside it (feature `sse`, and `Builder::http_sse`).
//! * [`Runtime`] is what it needs of an async runtime: to start a task and to sleep.
//! * [`store`] is where sessions outlive their process, and what several nodes share.
//! * `Server` listens on a TCP port, with limits in number, size and time (feature `tokio`, on by default).
//!
//! Without the feature `tokio` no runtime is linked; with the feature `hyper`, any pair of `hyper::rt`'s executor and
//! timer is a [`Runtime`].

mod answer;
mod authenticate;
mod bell;
mod body;
mod builder;
mod clock;
mod cluster;
mod cors;
mod guard;
mod head;
#[cfg(feature = "sse")]
mod http_sse;
mod limit;
#[cfg(feature = "tokio")]
mod linger;
mod listens;
mod log;
mod parked;
mod rejection;
mod responding;
mod run;
mod runtime;
#[cfg(feature = "tokio")]
mod server;
mod service;
mod session;
mod sessions;
mod shared;
mod solo;
mod source;
mod spawned;
pub mod store;
mod sync;
mod upload;

pub use authenticate::{Authenticating, Authenticator, bearer};
pub use body::Body;
pub use builder::{BuildError, Builder};
pub use cluster::Cluster;
pub use head::{PeerAddr, RequestHead};
pub use limit::Limiter;
pub use rejection::Rejection;
pub use responding::Responding;
#[cfg(feature = "hyper")]
pub use runtime::HyperRuntime;
#[cfg(feature = "tokio")]
pub use runtime::TokioRuntime;
pub use runtime::{Runtime, Task};
#[cfg(feature = "tokio")]
pub use server::{Server, serve};
pub use service::McpService;
