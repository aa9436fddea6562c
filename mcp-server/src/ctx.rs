//! What a running tool knows of its call, and how it speaks meanwhile.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::drive::Link;
use mcp_core::question::Resume;
use mcp_core::trace::TraceContext;
use mcp_core::{Ability, Call, CallId, Caller, Kind, Note, Peer, Time};
use serde_json::{Map, Value};

use crate::arguments::Given;
use crate::ask::{self, Memory};
use crate::call_error::CallError;
use crate::cancel::{Cancelled, Signal};
use crate::code::Entry;
use crate::common::Taken;
use crate::log::Log;
use crate::middleware::Left;
use crate::progress::Progress;
use crate::serve::App;
use crate::ui;

/// One run of one tool: who asks, what was sent, and a way to report on it. Cheap to clone.
///
/// Code takes it by value, before its arguments; a function with [`#[tool]`](macro@crate::tool) anywhere.
///
/// ```
/// use std::path::PathBuf;
/// use mcp_server::{Ctx, Tool, CallError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Files {
///     /// What to count
///     files: Vec<PathBuf>,
/// }
///
/// // If the call is cancelled, the future is dropped where it waits, and with it all that it holds.
/// async fn count(ctx: Ctx, args: Files) -> Result<String, CallError> {
///     let mut bytes = 0;
///     for (done, file) in args.files.iter().enumerate() {
///         ctx.progress().say(done, args.files.len(), "counting");
///         bytes += tokio::fs::read(file).await?.len();
///     }
///     Ok(format!("{bytes} bytes in {} files", args.files.len()))
/// }
///
/// // What blocks cannot be dropped, and asks.
/// fn count_blocking(ctx: Ctx, args: Files) -> Result<String, CallError> {
///     let mut bytes = 0;
///     for file in &args.files {
///         if ctx.is_cancelled() {
///             return Err(CallError::new("cancelled"));
///         }
///         bytes += std::fs::read(file)?.len();
///     }
///     Ok(format!("{bytes} bytes in {} files", args.files.len()))
/// }
///
/// let tool = Tool::new("count").description("Counts bytes.").run(count);
/// # #[cfg(feature = "tokio")]
/// let tool = Tool::new("count").description("Counts bytes.").run_blocking(count_blocking);
/// ```
#[derive(Clone)]
pub struct Ctx {
    call: Call,
    link: Link,
    entry: Arc<Entry>,
    /// There if the tool's code may want to hear of its end.
    signal: Option<Arc<Signal>>,
    /// There if something runs around the code.
    left: Option<Arc<Left>>,
    /// The default params of the tool's module.
    common: Option<Arc<Map<String, Value>>>,
}

impl Ctx {
    pub(crate) fn new(call: Call, link: Link, entry: &Arc<Entry>, wrapped: bool) -> Self {
        let signal = (entry.cancelling || call.resume.is_some()).then(Arc::default);
        Self { call, link, entry: Arc::clone(entry), signal, left: wrapped.then(Arc::default), common: None }
    }

    /// Where what comes of the code is left, if not to be sent as it is.
    pub(crate) fn left(&self) -> Option<Arc<Left>> {
        self.left.clone()
    }

    /// Whether something runs around the code.
    pub(crate) const fn is_wrapped(&self) -> bool {
        self.left.is_some()
    }

    pub(crate) fn set_resume(&mut self, resume: Option<Resume>) {
        self.call.resume = resume.map(Box::new);
    }

    /// The same with the arguments as a tool's code gets them: with what its schema adds or turns into another type.
    pub(crate) fn with_arguments(mut self, given: &Given) -> Self {
        if let (Kind::Tool { arguments, .. }, Given::Changed(value)) = (&mut self.call.kind, given) {
            *arguments = value.to_string().into();
        }
        self
    }

    pub(crate) fn set_common(&mut self, members: Map<String, Value>) {
        self.common = Some(Arc::new(members));
    }

    pub(crate) fn common(&self) -> Option<(&Taken, &Map<String, Value>)> {
        Some((self.entry.taken()?, self.common.as_ref()?))
    }

    pub(crate) const fn signal(&self) -> Option<&Arc<Signal>> {
        self.signal.as_ref()
    }

    pub(crate) fn asking(&self) -> &ask::Settings {
        &self.entry.states.asking
    }

    /// Whether all that is taken of the call shares what the run knows of others.
    pub(crate) const fn has_memory(&self) -> bool {
        self.signal.is_some()
    }

    /// Looks at what the run knows of earlier ones.
    pub(crate) fn with_memory<T>(
        &self,
        look: impl FnOnce(&mut Memory) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let read = || self.resume().map(|resume| Memory::read(&resume.state)).unwrap_or_default();
        match &self.signal {
            Some(signal) => look(signal.memory().get_or_insert_with(|| Box::new(read()))),
            // The first run, of code that keeps nothing: all that is known comes from the client.
            None => look(&mut read()),
        }
    }

    /// What is kept of the session: nothing, or JSON.
    pub(crate) const fn raw_assigns(&self) -> &Bytes {
        &self.call.assigns
    }

    pub(crate) const fn call(&self) -> &Call {
        &self.call
    }

    pub(crate) fn note(&self, note: Note) {
        self.link.note(note);
    }

    /// Tells the client how far the work is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::new(self.link.clone(), self.call.progress)
    }

    /// Logs to the client. The server must offer that: see [`Tool::logs`](crate::Tool::logs). Code that takes [`Log`] in place of this
    /// says so by itself.
    #[must_use]
    pub fn log(&self) -> Log {
        Log::new(self.link.clone(), self.entry.states.redact.clone())
    }

    /// Lets the client's connection end here, and the client come back for the rest: for work that takes long, which need not
    /// hold a connection open. The call goes on. What it says meanwhile, and its answer, wait for the client, which is told to
    /// return after [`Timing::retry`](crate::Timing) (HTTP-30).
    ///
    /// Does nothing where the client could not come back: over stdio, before 2025-11-25 and from 2026-07-28 on, and over HTTP
    /// where streams are not resumable.
    ///
    /// ```
    /// use mcp_server::{Ctx, Tool};
    ///
    /// let report = Tool::new("report").description("Writes the yearly report.").run(|ctx: Ctx| async move {
    ///     ctx.hang_up();
    ///     // Minutes of work.
    ///     "done"
    /// });
    /// ```
    pub fn hang_up(&self) {
        self.link.note(Note::HangUp);
    }

    /// What an earlier run of this call asked the client, and what came back, for code that asks with
    /// [`CallError::ask`](crate::CallError::ask). `None` in the first run.
    #[must_use]
    pub fn resume(&self) -> Option<&Resume> {
        self.call.resume.as_deref()
    }

    /// Whether nobody waits for the answer any more. Asynchronous code is dropped then and need not ask; code that blocks
    /// should ask now and then, and return.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.link.is_abandoned() || self.signal.as_ref().is_some_and(|signal| signal.has_fired())
    }

    /// A future that is ready when the call has ended. For an extractor of your own to have it, its
    /// [`needs`](crate::Extract::needs) must say so; without, it never is ready.
    #[must_use]
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(self.link.clone(), self.signal.clone().unwrap_or_default())
    }

    /// What the server was given with [`Server::state`](crate::Server::state) of that type.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.entry.states.get()
    }

    /// The server that runs this, to change what it offers or to say that a resource has changed. `None` once nobody serves or
    /// holds it any more.
    ///
    /// ```
    /// use mcp_server::{CallError, Ctx, tool};
    ///
    /// /// Lends a book.
    /// #[tool]
    /// fn lend(ctx: Ctx, id: u32) -> Result<&'static str, CallError> {
    ///     // .. and then, for who subscribed to it:
    ///     ctx.app().ok_or_else(|| CallError::new("The library closes."))?.resource_updated(&format!("book://{id}"));
    ///     Ok("Lent.")
    /// }
    /// ```
    #[must_use]
    pub fn app(&self) -> Option<App> {
        self.entry.states.app.get()?.get()
    }

    /// What the transport knows of the request, if it says so by that type: over HTTP a `RequestHead`, over a transport of
    /// your own what it gave [`Link::with_context`].
    #[must_use]
    pub fn transport<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.link.shared_context()
    }

    /// The name of the tool; of anything else, what [`name`](Ctx::name) says.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.entry.name
    }

    /// The name of the tool or prompt, the URI of the resource, the template, or the method of an extension, as it was registered.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The URI that is read, as it was sent (RES-12). `None` if this is no call of a resource.
    #[must_use]
    pub fn uri(&self) -> Option<&str> {
        match &self.call.kind {
            Kind::Resource { uri, .. } => Some(uri),
            _ => None,
        }
    }

    pub(crate) const fn kind(&self) -> &Kind {
        &self.call.kind
    }

    /// What it is that runs, in a word.
    pub(crate) fn noun(&self) -> &'static str {
        self.entry.noun()
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The private [tags](crate::Tool::tag) of the tool, resource, template or prompt.
    #[must_use]
    pub fn tags(&self) -> &Map<String, Value> {
        &self.entry.tags
    }

    /// Who asks.
    #[must_use]
    pub const fn caller(&self) -> &Caller {
        &self.call.caller
    }

    /// What the client is and can do.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.call.peer
    }

    /// Whether the client declared that it can do this.
    #[must_use]
    pub fn client_can(&self, ability: Ability) -> bool {
        self.call.peer.capabilities.has(ability)
    }

    /// Whether the client shows the pages of tools: MCP Apps (APP-1). A tool with a page need not ask: what it says in its
    /// content is for clients that do not.
    #[must_use]
    pub fn client_has_ui(&self) -> bool {
        ui::are_shown_by(&self.call.peer.capabilities)
    }

    /// The request's `_meta`: JSON text of an object, or empty.
    #[must_use]
    pub const fn meta(&self) -> &Bytes {
        &self.call.meta
    }

    /// The request's trace context, for telemetry; empty where the client sent none that is valid (BASE-23).
    #[must_use]
    pub fn trace(&self) -> TraceContext {
        TraceContext::read(&self.call.meta)
    }

    /// The arguments of a tool or prompt as they were sent: JSON text of an object.
    #[must_use]
    pub fn arguments(&self) -> &Bytes {
        static NONE: Bytes = Bytes::from_static(b"{}");
        match &self.call.kind {
            Kind::Tool { arguments, .. } | Kind::Prompt { arguments, .. } => arguments,
            _ => &NONE,
        }
    }

    /// The call's name, unique within its conversation.
    #[must_use]
    pub const fn id(&self) -> CallId {
        self.call.id
    }

    /// When the call will be given up, if ever.
    #[must_use]
    pub const fn deadline(&self) -> Option<Time> {
        self.call.deadline
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("tool", &self.tool()).field("call", &self.call).finish_non_exhaustive()
    }
}
