//! Model Context Protocol servers in a few lines.
//!
//! ```no_run
//! use mcp_server::{Server, tool};
//!
//! /// Say hello.
//! #[tool]
//! async fn hello(#[arg(desc = "Person's name")] name: String) -> String {
//!     format!("Hello, {name}!")
//! }
//!
//! # #[cfg(feature = "http")]
//! #[tokio::main]
//! async fn main() -> mcp_server::Result<()> {
//!     Server::new("my-app", "1.0.0").tool(hello).serve_http("127.0.0.1:8000").await
//! }
//! # #[cfg(not(feature = "http"))]
//! # fn main() {}
//! ```
//!
//! One server speaks all five revisions of the protocol, over Streamable HTTP and stdio.
//!
//! # Tools, in three equal ways
//!
//! - [`#[tool]`](macro@tool) makes a tool of a function, [`#[tools]`](macro@tools) of the methods of a value.
//! - [`Tool`] is the builder: a name, what clients see, and a closure. Its arguments are a type, or [`Param`]s.
//! - [`Tool::from_value`] takes a definition as JSON; [`Tool::input_schema`] a schema alone.
//!
//! The macros write what the builder could say, so all three can do the same, and [`App::add_tool`] takes any of them while the
//! server serves.
//!
//! | | macro | builder | data |
//! |---|---|---|---|
//! | name | the function's, `name = ".."` | [`Tool::new`] | `name` |
//! | description | doc comment, `description = ..` | [`Tool::description`] | `description` |
//! | one argument | parameter with `#[arg(..)]` | [`Tool::param`] with a [`Param`] | a property of `inputSchema` |
//! | all arguments | [`Args<T>`](Args), or the parameters | the closure's last parameter | the closure's `Value` |
//! | required, optional | `T`, `Option<T>` | [`Param::required`] | `required` |
//! | hints | `read_only`, `destructive`, .. | [`Tool::read_only`], .. | `annotations` |
//! | structured result | [`Json<T>`](Json), `output = T` | the same, [`Tool::output`] | `outputSchema` |
//! | public, private extras | `meta = ..`, `tags(..)` | [`Tool::meta`], [`Tool::tag`] | `_meta`, [`Tool::tag`] |
//! | blocking code | `blocking` | [`Tool::run_blocking`] | the same |
//!
//! # Resources and prompts
//!
//! They are made as tools are, by a macro or a builder, and their code takes what a tool's takes and fails as a tool's does.
//!
//! ```
//! use mcp_server::{Prompt, Resource, Server, prompt, resource_template};
//!
//! /// A user.
//! #[resource_template("users://{id}", mime = "text/plain")]
//! fn user(id: u64) -> Option<String> {
//!     (id < 3).then(|| format!("User {id}"))
//! }
//!
//! /// Greets somebody.
//! #[prompt]
//! fn greet(#[arg(desc = "Whom", complete = ["Ada", "Grace"])] name: String) -> String {
//!     format!("Greet {name}.")
//! }
//!
//! Server::new("my-app", "1.0.0")
//!     .resource(Resource::new("app://motto").mime("text/plain").text("Keep it short."))
//!     .resource_template(user)
//!     .prompt(greet)
//!     .prompt(Prompt::new("part").required("name", "From whom").run(|name: String| format!("Take leave of {name}.")))
//!     .build()?;
//! # Ok::<(), mcp_server::BuildError>(())
//! ```
//!
//! | | resource | template | prompt |
//! |---|---|---|---|
//! | macro | [`#[resource]`](macro@resource) | [`#[resource_template]`](macro@resource_template) | [`#[prompt]`](macro@prompt) |
//! | builder | [`Resource`] | [`ResourceTemplate`] | [`Prompt`] |
//! | known by | URI | [URI template](mcp_core::uri_template::UriTemplate) | name |
//! | code takes, last | nothing | variables: [`FromTexts`] | arguments: [`FromTexts`] |
//! | code returns | [`IntoContents`] | the same | [`IntoMessages`] |
//! | without code | [`Resource::text`], [`bytes`](Resource::bytes), [`file`](Resource::file) | [`ResourceTemplate::files`] | |
//! | described by a type | | | [`Prompt::arguments`] |
//! | proposes values | | [`complete`](ResourceTemplate::complete) | [`complete`](Prompt::complete), [`complete_from`](Prompt::complete_from) |
//! | added later | [`App::add_resource`] | [`App::add_resource_template`] | [`App::add_prompt`] |
//!
//! [`App::resource_updated`] tells subscribers that a resource holds something else now. [`#[app]`](macro@app) and
//! [`UiApp`] are a tool with a page that shows its results: MCP Apps.
//!
//! # What a tool takes
//!
//! Its arguments, and before them what it needs:
//!
//! - [`Arguments`](derive@Arguments) are read, checked and described by their type: required and optional ones, defaults, bounds,
//!   patterns, checks of your own, at any depth. What is published is what is enforced, and a call that breaks it is told
//!   everything that is wrong at once.
//! - [`State`] is shared by all calls; [`Ctx`] is all that is known of one; [`Caller`], [`Progress`], [`Log`] and [`Cancelled`] are
//!   parts of it. [`Extract`] is for one of your own.
//! - [`Ctx::ask`] asks the client while the call runs: a form, a page to open, its model, its folders. Code that asks runs more
//!   than once: see [`ask`].
//!
//! # What it returns
//!
//! [`IntoAnswer`] lists it: text, numbers, [`Content`], and [`Json`] for a structured result. [`CallError`] tells what a model may read
//! of an error, and what stays in the log.
//!
//! # Extensions of the protocol
//!
//! [`Extension`] declares one by id and settings, and gives code to its methods; it is active for clients that declare it too.
//! [`Ctx::trace`] has the trace context of a request, [`Ctx::meta`] all of its `_meta`.
//!
//! # Serving, and testing
//!
//! [`Server`] collects and checks; everything that is wrong is said by [`Server::build`], at once. [`App`] serves over HTTP and stdio, is
//! a tower service, and a [`Handler`](mcp_core::drive::Handler) for any adapter of `mcp-core`. [`testing`] has a client in memory.
//!
//! Ids such as TOOL-11, here and in errors, name rules of the protocol; `RULES.md` of `mcp-core` says each in one line.
//!
//! Logs go to `tracing`. The library installs no subscriber, so nothing is printed until you do: with the crate
//! `tracing-subscriber` it is `tracing_subscriber::fmt().with_writer(std::io::stderr).init()`. What a message says is never
//! logged.

#![forbid(unsafe_code)]

mod answer;
mod arguments;
pub mod ask;
mod assigns;
mod authorize;
mod call_error;
mod cancel;
mod check;
mod code;
mod common;
mod complete;
mod contents;
mod ctx;
mod defaults;
mod error;
mod extension;
mod extract;
mod facts;
mod fields;
mod focus;
mod guard;
#[cfg(feature = "http")]
pub mod http;
mod init;
mod into_entry;
mod into_icon;
mod into_tool;
mod json;
mod log;
mod manifest;
mod messages;
pub mod middleware;
mod module;
mod param;
mod private;
mod progress;
mod prompt;
mod rate_limit;
mod redact;
mod resource;
mod schema;
mod seal;
mod sent;
mod serve;
mod server;
#[cfg(feature = "stdio")]
mod stdio;
pub mod testing;
mod texts;
mod tool;
mod ui;
mod validate;
pub mod validators;
mod visible;

pub use answer::{IntoAnswer, Json, Structured};
pub use arguments::{Args, Arguments};
pub use assigns::{Assignable, Assigns, IntoAssigns};
pub use authorize::{Authorization, AuthorizeFn, IntoAuthorization};
pub use call_error::{CallError, IntoCallError};
pub use cancel::Cancelled;
pub use code::{CompleteFn, ExtensionFn, InitFn, PromptFn, ResourceFn, TemplateFn, ToolFn};
pub use common::Common;
pub use complete::{Completing, IntoCompletion, Typed};
pub use contents::IntoContents;
pub use ctx::Ctx;
pub use defaults::Defaults;
pub use error::{BuildError, Error, Result};
pub use extension::{Extension, IntoMembers, Params};
pub use extract::{Extract, Needs, State};
pub use focus::Focus;
pub use guard::CacheHint;
pub use into_entry::{IntoPrompt, IntoResource, IntoResourceTemplate};
pub use into_icon::IntoIcon;
pub use into_tool::{Entries, IntoTool, IntoTools, ToolSet};
pub use log::Log;
pub use manifest::Manifest;
pub use messages::IntoMessages;
pub use module::Module;
pub use param::Param;
pub use private::Verdict;
pub use progress::{Amount, Progress};
pub use prompt::{Prompt, PromptArg};
pub use rate_limit::{RateKeyInput, RateLimit};
pub use resource::{Resource, ResourceTemplate};
pub use seal::Keys;
pub use sent::Sent;
pub use serve::{App, Edit};
pub use server::Server;
pub use texts::FromTexts;
pub use tool::Tool;
pub use ui::{IntoApp, Permission, Ui, UiApp, Visibility};

pub use mcp_core::answer::{
    Annotations, Completion, Content, Contents, Icon, Link, PromptAnswer, PromptMessage, ResourceAnswer, Role, Theme,
    ToolAnswer,
};
pub use mcp_core::catalog::{Defect, TaskSupport};
pub use mcp_core::policy::{Limits, Policy, Seal, Timing};
pub use mcp_core::question;
pub use mcp_core::trace::TraceContext;
pub use mcp_core::{Ability, Caller, Code, Fault, Level, Peer, Principal, Revision, Scopes, Span};
#[doc = include_str!("docs/arguments.md")]
pub use mcp_server_macros::Arguments;
#[doc = include_str!("docs/app.md")]
pub use mcp_server_macros::app;
#[doc = include_str!("docs/prompt.md")]
pub use mcp_server_macros::prompt;
#[doc = include_str!("docs/resource.md")]
pub use mcp_server_macros::resource;
#[doc = include_str!("docs/resource_template.md")]
pub use mcp_server_macros::resource_template;
#[doc = include_str!("docs/tool.md")]
pub use mcp_server_macros::tool;
#[doc = include_str!("docs/tools.md")]
pub use mcp_server_macros::tools;
pub use schemars;
pub use serde_json::{Value, json};
pub use visible::{EntryKind, Shown, Viewer};

#[doc = include_str!("docs/guide.md")]
pub mod guide {}

/// What the code that the macros write stands on, and no part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::private::*;
}

/// The README's examples are compiled by the tests.
#[cfg(all(doctest, feature = "http", feature = "stdio"))]
#[doc = include_str!("../../README.md")]
struct Readme;
