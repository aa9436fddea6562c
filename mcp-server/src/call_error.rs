//! Why a tool failed, and who may know: what the model can mend and what it must not read are kept apart by type.

use std::borrow::Cow;
use std::fmt;
use std::mem::take;

use bytes::Bytes;
use mcp_core::Outcome;
use mcp_core::answer::{Block, Content, ToolAnswer};
use mcp_core::fault::{Code, Fault};
use mcp_core::question::Question;
use serde_json::json;

use crate::ask::Page;
use crate::code::not_let_in;
use crate::fields;

/// Why a tool failed, and who may know.
///
/// What the model reads is decided by type:
///
/// | the code returns | the model reads |
/// |---|---|
/// | `Result<_, String>`, or another text | **the text** |
/// | `Result<_, CallError>`, and the error came by `?` | that the tool failed; the error's text goes to the log |
/// | the same, where the error is `validator::ValidationErrors` or `garde::Report`, with the features `validator` and `garde` | each field and what is wrong with it |
/// | the same by [`CallError::hidden`], for what `?` does not take: `anyhow::Error`, `Box<dyn Error + Send + Sync>`, a text | that the tool failed; the error's text goes to the log |
/// | the same by [`CallError::new`], [`CallError::fields`] or [`CallError::blocks`] | what was given |
/// | the same by `?` from a text | does not compile, as `?` hides and a text is meant to be read: `.ok_or_else(\|\| CallError::new("..."))?`, `.map_err(CallError::new)?` |
/// | the same by [`CallError::fault`] | nothing: it is an error of the protocol, for clients and not for models |
///
/// Other errors cannot stand in the `Result`, so none is shown by accident: see [`IntoCallError`].
///
/// ```
/// use std::error::Error;
/// use mcp_server::{Tool, CallError};
///
/// // Shown: the error is a text, and the model reads it.
/// fn shown() -> Result<String, &'static str> {
///     std::fs::read_to_string("notes.txt").map_err(|_| "There are no notes yet: write one first.")
/// }
///
/// // Hidden: the error comes by `?` into a `CallError`.
/// fn hidden() -> Result<String, CallError> {
///     let notes = std::fs::read_to_string("notes.txt")?;
///     if notes.is_empty() {
///         return Err(CallError::new("There are no notes yet: write one first."));
///     }
///     Ok(notes)
/// }
///
/// // Hidden, where the error is of `anyhow` or a boxed one.
/// fn hidden_too() -> Result<String, CallError> {
///     let notes = load().map_err(CallError::hidden)?;
///     let first = parse(&notes).map_err(CallError::hidden)?;
///     Ok(first)
/// }
///
/// fn load() -> anyhow::Result<String> {
///     Ok(std::fs::read_to_string("notes.txt")?)
/// }
///
/// fn parse(notes: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
///     Ok(notes.lines().next().ok_or("no line")?.to_owned())
/// }
///
/// # let describe = |name| Tool::new(name).description("Reads notes.");
/// # let tools = [describe("a").run(shown), describe("b").run(hidden), describe("c").run(hidden_too)];
/// ```
pub struct CallError(Reason);

enum Reason {
    Shown(ToolAnswer),
    Hidden(Box<dyn std::error::Error + Send + Sync>),
    Fault(Fault),
    NotFound,
    Ask(Asking),
}

/// A question on its way to the client.
struct Asking {
    /// None once they are sent.
    questions: Vec<(Box<str>, Question)>,
    state: Bytes,
}

impl Asking {
    fn into_outcome(mut self) -> Outcome {
        Outcome::Ask { questions: take(&mut self.questions), state: take(&mut self.state) }
    }
}

/// Code that looks at the error, or makes another one of it, goes on as if it had been refused an answer, and nobody was asked.
impl Drop for Asking {
    fn drop(&mut self) {
        if !self.questions.is_empty() {
            let keys: Vec<&str> = self.questions.iter().map(|(key, _)| &**key).collect();
            tracing::warn!(
                ?keys,
                "a question was not asked: the error that asks it was dropped; hand it on as it is, with `?`"
            );
        }
    }
}

/// What the model is told of an error that is not for it.
pub(crate) const HIDDEN: &str = "The tool failed with an internal error.";

const NOT_FOUND: &str = "Not found.";

impl CallError {
    /// A failure that the model may read: say what was wrong, and what would help.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(Reason::Shown(ToolAnswer::error(text.to_string())))
    }

    /// A failure whose text goes to the log; the model is told that the tool failed, and nothing more.
    ///
    /// `?` does the same for every type that implements [`std::error::Error`]. This is for those that do not:
    /// `.map_err(CallError::hidden)` takes `anyhow::Error`, `Box<dyn Error + Send + Sync>` and texts as well.
    #[must_use]
    pub fn hidden(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Reason::Hidden(error.into()))
    }

    /// A failure in what was sent, field by field: `age: must be 18 or more, name: is taken`. For rules that no schema can
    /// tell, such as what a database knows. With the features `validator` and `garde`, `args.validate()?` says the same of what these
    /// crates find. At most 32 are listed.
    ///
    /// ```
    /// use mcp_server::CallError;
    ///
    /// let error = CallError::fields([("age", "must be 18 or more"), ("name", "is taken")]);
    /// assert_eq!(error.to_string(), "age: must be 18 or more, name: is taken");
    /// ```
    pub fn fields<F: fmt::Display, M: fmt::Display>(fields: impl IntoIterator<Item = (F, M)>) -> Self {
        fields::list(fields)
    }

    /// A failure in content of more kinds than text.
    #[must_use]
    pub fn blocks(content: Vec<Content>) -> Self {
        Self(Reason::Shown(ToolAnswer::blocks(content)))
    }

    /// An error of the protocol in place of an answer.
    #[must_use]
    pub const fn fault(fault: Fault) -> Self {
        Self(Reason::Fault(fault))
    }

    /// There is no such thing: the error of the protocol for a resource that is not there, with its URI (RES-5), and for an
    /// unknown prompt (PROMPT-3). A tool's model reads that it was not found.
    #[must_use]
    pub const fn not_found() -> Self {
        Self(Reason::NotFound)
    }

    /// Not a failure yet: the client is asked first, and the tool is run again with what it says. The second run finds the
    /// replies, by the same keys, and `state`, opaque bytes, in [`Ctx::resume`](crate::Ctx::resume).
    ///
    /// [`Ctx::ask`](crate::Ctx::ask) stands on this, and is what code wants. Both in the same code do not go together.
    ///
    /// Works in both eras (MRTR-1): the run ends here, and nothing waits for a person. A tool that asks is run more than once, so what it
    /// does before it asks, it does again. A client that cannot be asked, refuses or does not answer is told by the reply.
    ///
    /// ```
    /// use mcp_server::question::{Question, Response};
    /// use mcp_server::{Ctx, Tool, CallError, Value};
    ///
    /// fn deploy(ctx: Ctx) -> Result<&'static str, CallError> {
    ///     let Some(resume) = ctx.resume() else {
    ///         let schema = r#"{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}"#;
    ///         let question = Question::Form { message: "Approve deploy?".into(), schema: schema.into() };
    ///         return Err(CallError::ask([("approval", question)], "step 1"));
    ///     };
    ///     match resume.reply("approval") {
    ///         Some(Response::Result(reply)) if serde_json::from_slice::<Value>(reply)?["action"] == "accept" => Ok("Deployed."),
    ///         _ => Ok("Cancelled."),
    ///     }
    /// }
    ///
    /// let tool = Tool::new("deploy").description("Deploys.").run(deploy);
    /// ```
    #[must_use]
    pub fn ask<K: Into<Box<str>>>(questions: impl IntoIterator<Item = (K, Question)>, state: impl Into<Bytes>) -> Self {
        let questions = questions.into_iter().map(|(key, question)| (key.into(), question)).collect();
        Self(Reason::Ask(Asking { questions, state: state.into() }))
    }

    /// That nothing can be done before the person has been to these pages (ELIC-7): the error -32042 of 2025-11-25, from which a client
    /// that takes pages shows them, and calls again when they are done. All others are sent the text alone.
    ///
    /// [`Ctx::ask`](crate::Ctx::ask) with [`elicit_url`](crate::ask::elicit_url) does more, in all revisions that know pages: prefer
    /// that. Each page is given with the id under which the client knows it, unique and not to be guessed.
    ///
    /// ```
    /// use mcp_server::CallError;
    /// use mcp_server::ask::elicit_url;
    ///
    /// let page = elicit_url("Sign in.", "https://example.com/login/17");
    /// let error = CallError::url_required("Sign in first.", [("e7b0", page)]);
    /// ```
    pub fn url_required<I: AsRef<str>>(text: impl fmt::Display, pages: impl IntoIterator<Item = (I, Page)>) -> Self {
        let mut elicitations = Vec::new();
        for (id, page) in pages {
            if let Some(fault) = page.fault() {
                return Self::hidden(fault);
            }
            let (message, url) = page.parts();
            elicitations.push(json!({"mode": "url", "message": message, "url": url, "elicitationId": id.as_ref()}));
        }
        if elicitations.is_empty() {
            return Self::hidden("ELIC-7: an error that asks for pages names at least one");
        }
        let data = json!({"elicitations": elicitations}).to_string();
        Self::fault(Fault::new(Code::URL_REQUIRED, text.to_string()).with_data(data))
    }

    /// The error that it hides, if that is of this type: one that came by `?` or by [`CallError::hidden`]. For
    /// [middleware](crate::middleware), which may put it into words.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.0 {
            Reason::Hidden(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Whether it hides an error of this type.
    #[must_use]
    pub fn is<E: std::error::Error + 'static>(&self) -> bool {
        self.downcast_ref::<E>().is_some()
    }

    /// Whether the server failed, and not who asked: an error that is hidden, a panic, or another of the protocol's that says -32603.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        match &self.0 {
            Reason::Hidden(_) => true,
            Reason::Fault(fault) => fault.code().get() == Code::INTERNAL.get(),
            Reason::Shown(_) | Reason::NotFound | Reason::Ask(_) => false,
        }
    }

    /// Whether its text is for the log alone.
    pub(crate) const fn is_hidden(&self) -> bool {
        matches!(self.0, Reason::Hidden(_))
    }

    /// Whether it is no failure, but a question on its way to the client ([`Ctx::ask`](crate::Ctx::ask)): to be handed on as it is.
    #[must_use]
    pub const fn is_question(&self) -> bool {
        matches!(self.0, Reason::Ask(_))
    }

    /// A question with another state; the error takes its place.
    pub(crate) fn with_state(mut self, change: impl FnOnce(Bytes) -> Result<Bytes, Self>) -> Self {
        if let Reason::Ask(asking) = &mut self.0 {
            match change(take(&mut asking.state)) {
                Ok(state) => asking.state = state,
                Err(error) => return error,
            }
        }
        self
    }

    /// What is sent, or how else the run ends. The text of what is not sent goes to the log.
    pub(crate) fn settle(self, tool: &str) -> Result<ToolAnswer, Outcome> {
        match self.0 {
            Reason::Shown(mut answer) => {
                // An error never carries a structured result (TOOL-11).
                answer.structured = None;
                answer.is_error = true;
                Ok(answer)
            }
            Reason::Hidden(error) => {
                tracing::error!(tool, error = &*error, "a tool failed");
                Ok(ToolAnswer::error(HIDDEN))
            }
            Reason::Fault(fault) => Err(Outcome::Fail(fault)),
            Reason::NotFound => Ok(ToolAnswer::error(NOT_FOUND)),
            Reason::Ask(asking) => Err(asking.into_outcome()),
        }
    }

    /// What a client is told that is not let in.
    pub(crate) fn refuse(self) -> Fault {
        match self.0 {
            Reason::Shown(_) | Reason::NotFound => Fault::init_failed(&self.to_string()),
            Reason::Hidden(error) => {
                tracing::error!(error = &*error, "an init failed");
                not_let_in()
            }
            Reason::Fault(fault) => fault,
            Reason::Ask(_) => {
                tracing::error!("an init cannot ask the client");
                not_let_in()
            }
        }
    }

    /// How the call of something else than a tool ends: there, nothing but an error of the protocol can say it (RES-6).
    pub(crate) fn fail(self, name: &str, noun: &'static str, missing: impl FnOnce() -> Fault) -> Outcome {
        match self.0 {
            Reason::Shown(_) => Outcome::Fail(Fault::internal(self.to_string())),
            Reason::Hidden(error) => {
                tracing::error!(entry = name, error = &*error, "a {noun} failed");
                Outcome::Fail(Fault::internal(format!("Internal error: the {noun} failed")))
            }
            Reason::Fault(fault) => Outcome::Fail(fault),
            Reason::NotFound => Outcome::Fail(missing()),
            Reason::Ask(asking) => asking.into_outcome(),
        }
    }
}

/// Hidden; but what `validator` and `garde` find wrong with fields is shown, with the features of these names.
impl<E: std::error::Error + Send + Sync + 'static> From<E> for CallError {
    fn from(error: E) -> Self {
        fields::told(&error).unwrap_or_else(|| Self::hidden(error))
    }
}

/// What the model is told.
impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Shown(answer) => {
                let texts = answer.content.iter().filter_map(|content| match &content.block {
                    Block::Text(text) => Some(&**text),
                    _ => None,
                });
                f.write_str(&texts.collect::<Vec<_>>().join("\n"))
            }
            Reason::Hidden(_) => f.write_str(HIDDEN),
            Reason::Fault(fault) => f.write_str(fault.message()),
            Reason::NotFound => f.write_str(NOT_FOUND),
            Reason::Ask(_) => f.write_str("the client is to be asked"),
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Shown(answer) => f.debug_tuple("CallError").field(&answer.content).finish(),
            Reason::Hidden(error) => f.debug_tuple("CallError").field(error).finish(),
            Reason::Fault(fault) => f.debug_tuple("CallError").field(fault).finish(),
            Reason::NotFound => f.debug_tuple("CallError").field(&NOT_FOUND).finish(),
            Reason::Ask(asking) => f.debug_tuple("CallError").field(&asking.questions).finish(),
        }
    }
}

/// What may stand in a tool's `Result` as its error: a text, which **the model reads**, or [`CallError`], which says who may
/// know what.
///
/// No other error type may stand there, so that nothing internal gets out by accident: `?` turns any error into a
/// [`CallError`] whose text goes to the log, `.map_err(CallError::new)?` into one that the model reads. An error type that was made for
/// models can say so once:
///
/// ```
/// use mcp_server::{IntoCallError, Tool, CallError};
///
/// enum Refusal {
///     SoldOut,
/// }
///
/// impl IntoCallError for Refusal {
///     fn into_call_error(self) -> CallError {
///         match self {
///             Self::SoldOut => CallError::new("Sold out: try another date."),
///         }
///     }
/// }
///
/// let book = Tool::new("book").description("Books a seat.").run(|| Err::<(), _>(Refusal::SoldOut));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool: would a model be meant to read it?",
    label = "neither a text nor `CallError`",
    note = "return `Result<_, CallError>`: `?` turns any error into one whose text goes to the log",
    note = "to let the model read it: `.map_err(CallError::new)?`, or implement `IntoCallError` for the type",
    note = "for `anyhow::Error` and boxed errors: `.map_err(CallError::hidden)?`",
    note = "if it is `mcp_server::Error`: a `Result` with one parameter is `mcp_server::Result` here, so name the error too"
)]
pub trait IntoCallError {
    /// The error, and who may know.
    fn into_call_error(self) -> CallError;
}

impl IntoCallError for CallError {
    fn into_call_error(self) -> CallError {
        self
    }
}

macro_rules! shown {
    ($($text:ty),*) => {$(
        impl IntoCallError for $text {
            fn into_call_error(self) -> CallError {
                CallError::new(self)
            }
        }
    )*};
}

shown!(String, &str, Box<str>, Cow<'_, str>);
