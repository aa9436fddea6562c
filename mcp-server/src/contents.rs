//! What a resource's code may return, and how it becomes contents.

use std::borrow::Cow;

use bytes::Bytes;
use mcp_core::answer::{Contents, ResourceAnswer};
use mcp_core::fault::Fault;
use serde::Serialize;
use serde_json::Value;

use crate::answer::Json;
use crate::call_error::{CallError, IntoCallError};
use crate::code::JSON;

/// What the code of a resource or template may return: a text, bytes, [`Json`], [`Contents`], several of them, an `Option` or
/// a `Result` of these.
///
/// | type | what the client gets |
/// |---|---|
/// | `String`, `&str` | text |
/// | `Vec<u8>`, `Bytes`, `&[u8]` | a blob, in base64 (RES-4) |
/// | [`Json`], [`Value`] | text of the media type `application/json` |
/// | [`Contents`] | text or a blob, with a media type, URI and `_meta` of its own |
/// | `Vec<Contents>` | several: what a directory holds |
/// | `None`, [`CallError::not_found`] | that there is no such resource, with its URI (RES-5) |
/// | an error | -32603, with the text of one that is [meant to be read](CallError) (RES-6) |
///
/// Contents that name no media type get the one that was registered.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a resource may return",
    label = "neither text, bytes, `Contents`, `Json<T>`, nor an `Option` or `Result` of these",
    note = "to return a value of your own as JSON, derive `serde::Serialize` for it and wrap it: `Json(value)`",
    note = "the error in a `Result` is a text, which the client reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait IntoContents {
    /// The contents, or why there are none.
    ///
    /// # Errors
    ///
    /// What the code failed with.
    fn into_contents(self) -> Result<ResourceAnswer, CallError>;
}

impl IntoContents for ResourceAnswer {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        Ok(self)
    }
}

impl IntoContents for Contents {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        vec![self].into_contents()
    }
}

impl IntoContents for Vec<Contents> {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        Ok(ResourceAnswer::new(self))
    }
}

impl<const N: usize> IntoContents for [Contents; N] {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        Vec::from(self).into_contents()
    }
}

macro_rules! made_by {
    ($($make:ident: $($type:ty),*;)*) => {$($(
        impl IntoContents for $type {
            fn into_contents(self) -> Result<ResourceAnswer, CallError> {
                Contents::$make(self).into_contents()
            }
        }
    )*)*};
}

made_by! {
    text: String, &str, Box<str>, Cow<'_, str>;
    bytes: Vec<u8>, Bytes, &'static [u8];
}

impl<const N: usize> IntoContents for &'static [u8; N] {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        self.as_slice().into_contents()
    }
}

impl<T: Serialize> IntoContents for Json<T> {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        match crate::json::write(&self.0) {
            Ok(json) => Contents::text(String::from_utf8_lossy(&json)).with_mime(JSON).into_contents(),
            Err(error) => {
                tracing::error!(%error, "a resource could not be written as JSON");
                Err(CallError::fault(Fault::internal("Internal error: the resource could not be written")))
            }
        }
    }
}

impl IntoContents for Value {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        Json(self).into_contents()
    }
}

/// `None` is a resource that is not there.
impl<T: IntoContents> IntoContents for Option<T> {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        self.ok_or_else(CallError::not_found)?.into_contents()
    }
}

impl<T: IntoContents, E: IntoCallError> IntoContents for Result<T, E> {
    fn into_contents(self) -> Result<ResourceAnswer, CallError> {
        self.map_err(IntoCallError::into_call_error)?.into_contents()
    }
}
