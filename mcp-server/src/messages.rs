//! What a prompt's code may return, and how it becomes messages.

use std::borrow::Cow;

use mcp_core::answer::{Content, PromptAnswer, PromptMessage};

use crate::call_error::{CallError, IntoCallError};

/// What the code of a prompt may return: a text or [`Content`], which the user says, [`PromptMessage`]s, a whole
/// [`PromptAnswer`], or a `Result` of these.
///
/// An answer without a description gets the prompt's own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a prompt may return",
    label = "neither text, `PromptMessage`s, a `PromptAnswer`, nor a `Result` of these",
    note = "messages are made by `PromptMessage::user(..)` and `PromptMessage::assistant(..)`, of text or `Content`",
    note = "the error in a `Result` is a text, which the client reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait IntoMessages {
    /// The messages, or why there are none.
    ///
    /// # Errors
    ///
    /// What the code failed with.
    fn into_messages(self) -> Result<PromptAnswer, CallError>;
}

impl IntoMessages for PromptAnswer {
    fn into_messages(self) -> Result<PromptAnswer, CallError> {
        Ok(self)
    }
}

impl IntoMessages for Vec<PromptMessage> {
    fn into_messages(self) -> Result<PromptAnswer, CallError> {
        Ok(PromptAnswer::new(self))
    }
}

impl<const N: usize> IntoMessages for [PromptMessage; N] {
    fn into_messages(self) -> Result<PromptAnswer, CallError> {
        Vec::from(self).into_messages()
    }
}

impl IntoMessages for PromptMessage {
    fn into_messages(self) -> Result<PromptAnswer, CallError> {
        vec![self].into_messages()
    }
}

macro_rules! said_by_the_user {
    ($($type:ty),*) => {$(
        impl IntoMessages for $type {
            fn into_messages(self) -> Result<PromptAnswer, CallError> {
                PromptMessage::user(self).into_messages()
            }
        }
    )*};
}

said_by_the_user!(String, &str, Box<str>, Cow<'_, str>, Content);

impl<T: IntoMessages, E: IntoCallError> IntoMessages for Result<T, E> {
    fn into_messages(self) -> Result<PromptAnswer, CallError> {
        self.map_err(IntoCallError::into_call_error)?.into_messages()
    }
}
