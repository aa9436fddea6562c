//! What the code that the macros write stands on. It follows them from version to version and is no part of the API.
//!
//! As much as can be is here and not in what is written out, so that an author's crate compiles fast.

mod describe;
mod read;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
pub use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
pub use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess};
pub use serde_json::{Error as Fault, Value};

use crate::arguments::Arguments;
pub use crate::arguments::Given;
use crate::texts::FromTexts;
pub use crate::texts::{Needed, Refused, Text};
pub use describe::{
    Number, Object, Probe, Property, Spelled, Spelling, Unwritten, Verdict, Written, id, json, named, names_schema,
    values,
};
pub use read::{Members, Record, read_name, read_record};

/// The attributes of methods.
pub mod attributes {
    pub use mcp_server_macros::{app, prompt, resource, resource_template, tool};
}

/// A schema's name.
pub type Name = std::borrow::Cow<'static, str>;

/// A type that can be an argument, or a field of one.
///
/// The macros ask for it and for nothing else, so that a type which lacks something is told of once, where it stands.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument",
    label = "cannot be read from JSON, or has no JSON Schema",
    note = "for a type of your own, derive `mcp_server::Arguments`, or `serde::Deserialize` and `schemars::JsonSchema`",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread",
    note = "what comes from the server and not from the caller is taken as `State<T>`, or has `#[extract]` before it",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`"
)]
pub trait Argument: Sized {
    /// Reads it, if it has not been read.
    fn once<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error>;

    /// The same where `null` stands for the default.
    fn or_null<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error>;

    /// What was read, or what the type makes of nothing: an `Option` is `None`.
    fn or_missing<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E>;

    /// Reads all members that have no field.
    fn rest<'de, A: MapAccess<'de>>(members: &mut Members<A>) -> Result<Self, A::Error>;

    /// Adds it to the schema of an object.
    fn property<'a>(object: &'a mut Object<'_>, name: &'static str, field: &'static str) -> Property<'a>;

    /// Lets members that have no field into the schema of an object.
    fn others(object: &mut Object<'_>, field: &'static str);

    /// What its schema is called.
    fn name() -> Name;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Argument for T {
    fn once<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error> {
        *slot = Some(members.value(slot.is_some())?);
        Ok(())
    }

    fn or_null<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error> {
        *slot = members.value(slot.is_some())?;
        Ok(())
    }

    fn or_missing<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E> {
        slot.map_or_else(|| read::missing(name), Ok)
    }

    fn rest<'de, A: MapAccess<'de>>(members: &mut Members<A>) -> Result<Self, A::Error> {
        Self::deserialize(members.rest()).map_err(A::Error::custom)
    }

    fn property<'a>(object: &'a mut Object<'_>, name: &'static str, field: &'static str) -> Property<'a> {
        let is_required = read::missing::<Self, serde::de::value::Error>(name).is_err();
        object.property::<Self>(name, field, is_required)
    }

    fn others(object: &mut Object<'_>, field: &'static str) {
        object.others::<Self>(field);
    }

    fn name() -> Name {
        Self::schema_name()
    }
}

/// A type that can be a variable of a template.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a variable of a template",
    label = "cannot be read from a text",
    note = "a variable is a `String`, a number, a `bool`, an `Option` of one, or a type of your own that derives `mcp_server::Arguments` or `serde::Deserialize`",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread",
    note = "what comes from the server and not from the URI is taken as `State<T>`, or has `#[extract]` before it"
)]
pub trait Variable: Sized {
    /// See [`Argument`].
    fn once<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error>;

    /// See [`Argument`].
    fn or_null<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error>;

    /// See [`Argument`].
    fn or_missing<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E>;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + Send + 'static> Variable for T {
    fn once<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error> {
        *slot = Some(members.value(slot.is_some())?);
        Ok(())
    }

    fn or_null<'de, A: MapAccess<'de>>(members: &mut Members<A>, slot: &mut Option<Self>) -> Result<(), A::Error> {
        *slot = members.value(slot.is_some())?;
        Ok(())
    }

    fn or_missing<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E> {
        slot.map_or_else(|| read::missing(name), Ok)
    }
}

/// A type that can be all arguments of a tool: [`Arguments`], asked for by another name so that a type which lacks something is
/// told of once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    label = "cannot be read from JSON, or has no JSON Schema",
    note = "derive `mcp_server::Arguments` for it, or `serde::Deserialize` and `schemars::JsonSchema`",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`"
)]
pub trait Whole: Sized {
    /// See [`Arguments`].
    fn schema() -> Value;

    /// See [`Arguments`].
    fn read(given: &Given) -> Result<Self, serde_json::Error>;

    /// See [`Arguments`].
    fn locate(sent: &[u8]) -> Option<(String, String)>;
}

#[diagnostic::do_not_recommend]
impl<T: Arguments> Whole for T {
    fn schema() -> Value {
        T::schema()
    }

    fn read(given: &Given) -> Result<Self, serde_json::Error> {
        T::read(given)
    }

    fn locate(sent: &[u8]) -> Option<(String, String)> {
        T::locate(sent)
    }
}

/// A type that can be all arguments of a prompt: [`Arguments`] that are read from texts, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a prompt",
    label = "cannot be read from texts, or has no JSON Schema",
    note = "derive `mcp_server::Arguments` for it, or `serde::Deserialize` and `schemars::JsonSchema`",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`"
)]
pub trait WholePrompt: Sized {
    /// See [`Arguments`].
    fn schema() -> Value;

    /// See [`Arguments`].
    fn read(given: &Given) -> Result<Self, serde_json::Error>;

    /// See [`Arguments`].
    fn locate(sent: &[u8]) -> Option<(String, String)>;

    /// See [`FromTexts`].
    fn from_texts(texts: &[Text<'_>]) -> Result<Self, Refused>;
}

#[diagnostic::do_not_recommend]
impl<T: Arguments + FromTexts> WholePrompt for T {
    fn schema() -> Value {
        T::schema()
    }

    fn read(given: &Given) -> Result<Self, serde_json::Error> {
        T::read(given)
    }

    fn locate(sent: &[u8]) -> Option<(String, String)> {
        T::locate(sent)
    }

    fn from_texts(texts: &[Text<'_>]) -> Result<Self, Refused> {
        <T as FromTexts>::from_texts(texts)
    }
}

/// The future with another output.
pub const fn map<F, T, M>(future: F, map: M) -> Mapped<F, M>
where
    F: Future,
    M: Fn(F::Output) -> T,
{
    Mapped { future, map }
}

pin_project! {
    /// See [`map`].
    #[derive(Debug)]
    pub struct Mapped<F, M> {
        #[pin]
        future: F,
        map: M,
    }
}

impl<F: Future, T, M: Fn(F::Output) -> T> Future for Mapped<F, M> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        this.future.poll(cx).map(this.map)
    }
}

/// A text that is known while compiling.
#[must_use]
pub const fn text(text: &'static str) -> &'static str {
    text
}

/// A list of texts that is known while compiling.
pub fn words<T: AsRef<str>>(words: &[T]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().to_owned()).collect()
}

/// A file of a package, which is where `Cargo.toml` is; from elsewhere, where the program runs.
#[must_use]
pub fn beside(package: Option<&str>, path: &str) -> PathBuf {
    package.map_or_else(|| path.into(), |package| Path::new(package).join(path))
}
