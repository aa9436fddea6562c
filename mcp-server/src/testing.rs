//! Tests of a server, in memory: a client, a clock that jumps, and conversations kept in files.
//!
//! A whole test:
//!
//! ```
//! use mcp_server::testing::{Client, block_on};
//! use mcp_server::{Server, json, tool};
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(#[arg(desc = "One")] a: i64, #[arg(desc = "Another")] b: i64) -> i64 {
//!     a + b
//! }
//!
//! # /*
//! #[test]
//! # */
//! fn it_adds() {
//!     block_on(async {
//!         let mut client = Client::new(Server::new("my-app", "1.0.0").tool(add));
//!         client.call("add", json!({"a": 1, "b": 2})).await.assert_text("3");
//!         client.call("add", json!({"a": 1, "b": "x"})).await.assert_error_contains("`b`");
//!     });
//! }
//! # it_adds();
//! ```
//!
//! With a runtime it is `#[tokio::test] async fn it_adds()`, and no [`block_on`]. The [`Client`] speaks to the server as a real
//! one does, with every check on the way, in any of the five revisions. [`Client::builder`] says which, and who asks;
//! [`Answer`] has what is to be said of answers.
//!
//! # Several calls at once
//!
//! [`Client::start`] does not wait; what was started goes on whenever the client waits for something.
//!
//! ```
//! use mcp_server::testing::{Client, block_on};
//! use mcp_server::{Progress, Server, Tool};
//!
//! async fn copy(progress: Progress) -> &'static str {
//!     progress.send(1, 2);
//!     std::future::pending::<()>().await; // a long time
//!     "copied"
//! }
//!
//! # block_on(async {
//! # let app = Server::new("my-app", "1.0.0").tool(Tool::new("copy").description("Copies.").run(copy)).build().unwrap();
//! let mut client = Client::new(&app);
//! let call = client.start("copy", ());
//! assert_eq!(client.next_progress(&call).await.progress, 1.0);
//! client.cancel(call); // and with it all that the code holds
//! # });
//! ```
//!
//! A call that can never end, as nothing is left that could wake its code, fails the test and says why. Where something is
//! left, and does not do it, only time can tell: a runtime's `timeout`.
//!
//! # The clock
//!
//! [`Client::advance`] moves the clock of the protocol, and a test of hours takes no time:
//!
//! ```
//! use std::time::Duration;
//! use mcp_server::testing::{Client, block_on};
//! use mcp_server::{Policy, Server, Span, Tool};
//!
//! # block_on(async {
//! let mut policy = Policy::default();
//! policy.timing.call = Some(Span::secs(3600));
//! let stuck = Tool::new("stuck").description("Never ends.").run(std::future::pending::<()>);
//! let mut client = Client::new(Server::new("my-app", "1.0.0").policy(policy).tool(stuck));
//!
//! let call = client.start("stuck", ());
//! client.advance(Duration::from_secs(3599)).await;
//! assert!(!client.is_answered(&call));
//! client.advance(Duration::from_secs(1)).await;
//! client.finish(call).await.assert_fault_contains("longer than");
//! # });
//! ```
//!
//! # Conversations in files
//!
//! What a test says and hears can be kept, as text that is made to be read. A change then shows as a difference in it:
//!
//! ```no_run
//! # use mcp_server::testing::{Client, block_on};
//! # let app = mcp_server::Server::new("my-app", "1.0.0").build().unwrap();
//! # block_on(async {
//! let mut client = Client::new(&app);
//! client.call("greet", ()).await.assert_ok();
//! client.transcript().assert_file("tests/conversations/greet.txt");
//! # });
//! ```
//!
//! The first time, and whenever the server is meant to say something else, run it with `MCP_BLESS=1 cargo test`: that writes the
//! file. A file alone is a test, too, also one that was written by hand:
//!
//! ```no_run
//! # use mcp_server::testing::{Transcript, block_on};
//! # let app = mcp_server::Server::new("my-app", "1.0.0").build().unwrap();
//! # block_on(async {
//! let transcript = Transcript::read_file("tests/conversations/greet.txt")?;
//! transcript.replay(&app).await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # });
//! ```
//!
//! [`Transcript`] tells of the format, and [`Transcript::ignore`] leaves out what differs from run to run.
//!
//! # What it is not
//!
//! It speaks as over stdio. A tool that looks at the HTTP request can be shown one (`Builder::header`); for tests of HTTP itself,
//! hand `http::Request`s to `App::http_service`.

mod answer;
mod block_on;
mod builder;
mod calling;
mod client;
mod compare;
mod driver;
mod following;
mod inbox;
mod listed;
mod listening;
mod notice;
mod outgoing;
mod reading;
mod replay;
mod transcript;

pub use answer::Answer;
pub use block_on::block_on;
pub use builder::{Builder, IntoHandler};
pub use calling::{Call, Calling};
pub use client::Client;
pub use following::Listening;
pub use inbox::Reply;
pub use listed::{ListedPrompt, ListedResource, ListedTemplate, ListedTool};
pub use notice::{LogNotice, Notice, ProgressNotice};
pub use replay::Difference;
pub use transcript::{Transcript, TranscriptError};
