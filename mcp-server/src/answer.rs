//! What a tool's code may return, and how it becomes an answer.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use mcp_core::answer::{Content, ToolAnswer};
use mcp_core::fault::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::schema;

/// What a tool's code may return: text, numbers, `()`, content blocks, [`Json`], a whole [`ToolAnswer`], an `Option` or a
/// `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a tool may return",
    label = "neither text, a number, content, `Json<T>`, nor a `Result` of these",
    note = "to return a value of your own as a structured result, derive `serde::Serialize` and `schemars::JsonSchema` for it and wrap it: `Json(value)`",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`",
    note = "the error in a `Result` must implement `std::fmt::Display`, which the model then reads, or be `ToolError`"
)]
pub trait IntoAnswer {
    /// The answer, or why there is none.
    ///
    /// # Errors
    ///
    /// What the tool's code failed with.
    fn into_answer(self) -> Result<ToolAnswer, ToolError>;

    /// The schema of the structured result, where the type has one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }
}

impl IntoAnswer for ToolAnswer {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        Ok(self)
    }
}

impl IntoAnswer for Content {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::blocks(vec![self]))
    }
}

impl IntoAnswer for Vec<Content> {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::blocks(self))
    }
}

/// No content at all (TOOL-7).
impl IntoAnswer for () {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::default())
    }
}

impl IntoAnswer for String {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        Ok(ToolAnswer::text(self))
    }
}

macro_rules! by_display {
    ($($type:ty),*) => {$(
        impl IntoAnswer for $type {
            fn into_answer(self) -> Result<ToolAnswer, ToolError> {
                Ok(ToolAnswer::text(self.to_string()))
            }
        }
    )*};
}

by_display!(&str, Box<str>, Cow<'_, str>, char, bool);
by_display!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

/// `None` is no content.
impl<T: IntoAnswer> IntoAnswer for Option<T> {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        self.map_or_else(|| Ok(ToolAnswer::default()), IntoAnswer::into_answer)
    }
}

/// An error becomes a failed answer that the model can read and react to (TOOL-10); see [`IntoToolError`].
impl<T: IntoAnswer, E: IntoToolError> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        self.map_err(IntoToolError::into_tool_error)?.into_answer()
    }

    fn output_schema() -> Option<Value> {
        T::output_schema()
    }
}

/// A structured result, with the schema of its type (TOOL-11, TOOL-13). Clients that know no structured results get the
/// same JSON as text.
///
/// ```
/// use mcp_server::{Json, Tool};
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     /// In degrees Celsius
///     temperature: f64,
///     rain: bool,
/// }
///
/// let weather = Tool::new("weather")
///     .description("Tells the weather.")
///     .run(|| Json(Weather { temperature: 21.5, rain: false }));
///
/// // What is published as the tool's `outputSchema`:
/// # use mcp_server::IntoAnswer as _;
/// # use serde_json::json;
/// let schema = Json::<Weather>::output_schema();
/// assert_eq!(schema, Some(json!({
///     "type": "object",
///     "properties": {
///         "temperature": {"type": "number", "description": "In degrees Celsius"},
///         "rain": {"type": "boolean"},
///     },
///     "required": ["temperature", "rain"],
/// })));
/// ```
///
/// The type must be written as a JSON object: to return a list, put it into a struct. A number that JSON has no word for (NaN,
/// infinity) would break the schema, so the call fails with -32603 and the cause goes to the log (TOOL-11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema> IntoAnswer for Json<T> {
    fn into_answer(self) -> Result<ToolAnswer, ToolError> {
        match crate::json::write(&self.0) {
            Ok(json) => Ok(ToolAnswer::structured(Bytes::from(json))),
            Err(error) => {
                tracing::error!(%error, "a structured result could not be written as JSON");
                Err(ToolError::fault(Fault::internal("Internal error: the tool's result could not be written")))
            }
        }
    }

    fn output_schema() -> Option<Value> {
        schema::output::<T>()
    }
}

/// Why a tool failed, and who may know.
///
/// What the model reads is decided by the error type of the code's `Result`:
///
/// | the code returns | the model reads |
/// |---|---|
/// | `Result<_, E>`, where `E` implements `Display`: a text, an error of yours, `io::Error`, `anyhow::Error` | **the error's text** |
/// | `Result<_, ToolError>`, and the error came by `?` | that the tool failed; the error's text goes to the log |
/// | the same by [`ToolError::hidden`], for what `?` does not take: `anyhow::Error`, `Box<dyn Error + Send + Sync>`, a text | that the tool failed; the error's text goes to the log |
/// | the same by [`ToolError::new`] or [`ToolError::blocks`] | what was given |
/// | the same by [`ToolError::fault`] | nothing: it is an error of the protocol, for clients and not for models |
///
/// So an error that may tell too much belongs into a `Result<_, ToolError>`.
///
/// ```
/// use std::error::Error;
/// use mcp_server::{Tool, ToolError};
///
/// // Shown: the error is a text, and the model reads it.
/// fn shown() -> Result<String, std::io::Error> {
///     std::fs::read_to_string("notes.txt")
/// }
///
/// // Hidden: the same error, by `?` into a `ToolError`.
/// fn hidden() -> Result<String, ToolError> {
///     let notes = std::fs::read_to_string("notes.txt")?;
///     if notes.is_empty() {
///         return Err(ToolError::new("There are no notes yet: write one first."));
///     }
///     Ok(notes)
/// }
///
/// // Hidden, where the error is of `anyhow` or a boxed one.
/// fn hidden_too() -> Result<String, ToolError> {
///     let notes = load().map_err(ToolError::hidden)?;
///     let first = parse(&notes).map_err(ToolError::hidden)?;
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
pub struct ToolError(Reason);

enum Reason {
    Shown(ToolAnswer),
    Hidden(Box<dyn std::error::Error + Send + Sync>),
    Fault(Fault),
}

/// What the model is told of an error that is not for it.
const HIDDEN: &str = "The tool failed with an internal error.";

impl ToolError {
    /// A failure that the model may read: say what was wrong, and what would help.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(Reason::Shown(ToolAnswer::error(text.to_string())))
    }

    /// A failure whose text goes to the log; the model is told that the tool failed, and nothing more.
    ///
    /// `?` does the same for every type that implements [`std::error::Error`]. This is for those that do not:
    /// `.map_err(ToolError::hidden)` takes `anyhow::Error`, `Box<dyn Error + Send + Sync>` and texts as well.
    #[must_use]
    pub fn hidden(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Reason::Hidden(error.into()))
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

    /// What is sent. The text of what is not goes to the log.
    pub(crate) fn settle(self, tool: &str) -> Result<ToolAnswer, Fault> {
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
            Reason::Fault(fault) => Err(fault),
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::hidden(error)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Shown(answer) => f.debug_tuple("ToolError").field(&answer.content).finish(),
            Reason::Hidden(error) => f.debug_tuple("ToolError").field(error).finish(),
            Reason::Fault(fault) => f.debug_tuple("ToolError").field(fault).finish(),
        }
    }
}

/// What may stand in a tool's `Result` as its error. There are two rules:
///
/// - `Result<_, E>`, where `E` implements [`Display`](fmt::Display): the model **reads the error's text**.
/// - `Result<_, ToolError>`: what came by `?` or [`ToolError::hidden`] stays in the log, and what came by
///   [`ToolError::new`] is read by the model.
///
/// [`ToolError`] has an example of both.
pub trait IntoToolError {
    /// The error, and who may know.
    fn into_tool_error(self) -> ToolError;
}

impl IntoToolError for ToolError {
    fn into_tool_error(self) -> ToolError {
        self
    }
}

impl<E: fmt::Display> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        ToolError::new(self)
    }
}
