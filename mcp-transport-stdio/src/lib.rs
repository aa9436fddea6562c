//! The Model Context Protocol over standard input and output, or over any other byte stream.
//!
//! One message a line: JSON without line breaks, then `\n` (STDIO-1). The same holds for a Unix socket, a TCP connection, or a
//! pipe in memory (STDIO-10). Connect, speak; to cancel a request, send `notifications/cancelled`; to end, close the stream.
//!
//! - [`stdio`] serves standard input and output within tokio, and ends on the end of input, SIGTERM and Ctrl-C.
//! - [`Connection`] is for every other stream and runtime: it needs `futures-io` streams and a [`Clock`].
//! - [`threads`] makes streams of blocking ones, standard input and output among them, for runtimes that have none.
//!
//! The protocol itself is `mcp_core`'s [`Pipe`](mcp_core::Pipe). This crate moves bytes: it reads and writes in large chunks,
//! runs calls within its own future, reads no more while too much is unsent, and spawns nothing per call.
//!
//! # Custom streams
//!
//! A stream is anything that implements [`AsyncRead`](futures_io::AsyncRead) and [`AsyncWrite`](futures_io::AsyncWrite), or
//! tokio's traits in a [`Compat`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod calls;
mod clock;
mod connection;
mod driver;
mod incoming;
mod outgoing;
mod runner;
mod shared;
pub mod threads;
#[cfg(feature = "tokio")]
mod with_tokio;

pub use clock::{Clock, SystemClock};
pub use connection::{Connection, Ended};
pub use shared::Control;
#[cfg(feature = "tokio")]
pub use with_tokio::{Compat, TokioClock, stdio};
