//! What a tool's code may return, and how it becomes an answer.

use std::borrow::Cow;

use bytes::Bytes;
use mcp_core::answer::{Block, Content, Link, ToolAnswer};
use mcp_core::fault::Fault;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::call_error::{CallError, IntoCallError};
use crate::schema;

/// What a tool's code may return: text, numbers, `()`, content blocks, [`Json`], a whole [`ToolAnswer`], an `Option` or a
/// `Result` of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a tool may return",
    label = "neither text, a number, content, `Json<T>`, nor a `Result` of these",
    note = "to return a value of your own as a structured result, derive `serde::Serialize` and `schemars::JsonSchema` for it and wrap it: `Json(value)`",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`",
    note = "the error in a `Result` is a text, which the model reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait IntoAnswer {
    /// The answer, or why there is none.
    ///
    /// # Errors
    ///
    /// What the tool's code failed with.
    fn into_answer(self) -> Result<ToolAnswer, CallError>;

    /// The schema of the structured result, where the type has one.
    #[must_use]
    fn output_schema() -> Option<Value> {
        None
    }
}

impl IntoAnswer for ToolAnswer {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Ok(self)
    }
}

impl IntoAnswer for Content {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Ok(ToolAnswer::blocks(vec![self]))
    }
}

/// A pointer to a resource. Its target need not be listed (TOOL-18).
impl IntoAnswer for Link {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Content::from(Block::Link(Box::new(self))).into_answer()
    }
}

impl<const N: usize> IntoAnswer for [Content; N] {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Vec::from(self).into_answer()
    }
}

impl IntoAnswer for Vec<Content> {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Ok(ToolAnswer::blocks(self))
    }
}

/// No content at all (TOOL-7).
impl IntoAnswer for () {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Ok(ToolAnswer::default())
    }
}

impl IntoAnswer for String {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        Ok(ToolAnswer::text(self))
    }
}

macro_rules! by_display {
    ($($type:ty),*) => {$(
        impl IntoAnswer for $type {
            fn into_answer(self) -> Result<ToolAnswer, CallError> {
                Ok(ToolAnswer::text(self.to_string()))
            }
        }
    )*};
}

by_display!(&str, Box<str>, Cow<'_, str>, char, bool);
by_display!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

/// `None` is no content.
impl<T: IntoAnswer> IntoAnswer for Option<T> {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        self.map_or_else(|| Ok(ToolAnswer::default()), IntoAnswer::into_answer)
    }
}

/// An error becomes a failed answer that the model can read and react to (TOOL-10); see [`IntoCallError`].
impl<T: IntoAnswer, E: IntoCallError> IntoAnswer for Result<T, E> {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        self.map_err(IntoCallError::into_call_error)?.into_answer()
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

impl<T> Json<T> {
    /// The same result, and this text in place of its JSON for whoever reads texts.
    pub fn with_text(self, text: impl Into<String>) -> Structured<T> {
        self.with_content([Content::text(text)])
    }

    /// The same result, and these blocks in place of its JSON as text: an image beside the numbers, say.
    pub fn with_content(self, content: impl IntoIterator<Item = Content>) -> Structured<T> {
        Structured { value: self, content: content.into_iter().collect() }
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> IntoAnswer for Json<T> {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        match crate::json::write(&self.0) {
            Ok(json) => Ok(ToolAnswer::structured(Bytes::from(json))),
            Err(error) => {
                tracing::error!(%error, "a structured result could not be written as JSON");
                Err(CallError::fault(Fault::internal("Internal error: the tool's result could not be written")))
            }
        }
    }

    fn output_schema() -> Option<Value> {
        schema::output::<T>()
    }
}

/// A structured result with content of its own beside it: see [`Json::with_text`] and [`Json::with_content`].
///
/// ```
/// use mcp_server::{Json, Tool};
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     temperature: f64,
/// }
///
/// let weather = Tool::new("weather")
///     .description("Tells the weather.")
///     .run(|| Json(Weather { temperature: 21.5 }).with_text("It is warm."));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Structured<T> {
    value: Json<T>,
    content: Vec<Content>,
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> IntoAnswer for Structured<T> {
    fn into_answer(self) -> Result<ToolAnswer, CallError> {
        let mut answer = self.value.into_answer()?;
        answer.content = self.content;
        Ok(answer)
    }

    fn output_schema() -> Option<Value> {
        schema::output::<T>()
    }
}
