//! What a server keeps of a session, or of a request where there is none: a value of the user's own type.

use std::any::{TypeId, type_name};
use std::ops::Deref;

use bytes::Bytes;
use mcp_core::Note;
use mcp_core::fault::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call_error::{CallError, IntoCallError};
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs};

/// What the server's [init](crate::Server::init) made of this session, or what a call [put in its place](Ctx::assign) since.
///
/// Each call has a copy of its own, as it was when it began. Where there are no sessions, as with clients of 2026-07-28, it is
/// what init made of this request.
///
/// ```
/// use mcp_server::{Assigns, CallError, Server, Tool};
/// use mcp_server::testing::{Client, block_on};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Visit {
///     language: String,
/// }
///
/// let hello = Tool::new("hello").description("Says hello.").run(|visit: Assigns<Visit>| match &*visit.language {
///     "fr" => "Bonjour !",
///     _ => "Hello!",
/// });
/// let app = Server::new("my-app", "1.0.0")
///     .init(|| Ok::<_, CallError>(Visit { language: "fr".into() }))
///     .tool(hello)
///     .build()?;
///
/// # block_on(async {
/// let mut client = Client::new(&app);
/// client.call("hello", ()).await.assert_text("Bonjour !");
/// # });
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// A server whose init makes another type, or that has none, cannot be built, and the error names both. Code that does with either
/// takes `Option<Assigns<T>>`.
///
/// It is also what an init returns that refuses nobody: `Assigns(value)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assigns<T>(pub T);

impl<T> Deref for Assigns<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Assignable> Extract for Assigns<T> {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        ctx.assigns().map(Self)
    }

    fn needs(needs: &mut Needs) {
        needs.assigns::<T>();
    }
}

/// A type that can be kept of a session: it is written as JSON and read again, perhaps by another process, and so owns its data and
/// derives `serde::Serialize` and `serde::Deserialize`.
///
/// What was kept by an older release of a server is read by a newer one: give new fields `#[serde(default)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be kept of a session",
    label = "cannot be written as JSON and read again",
    note = "derive `serde::Serialize` and `serde::Deserialize` for it",
    note = "it owns its data (`String`, not `&str`) and can be sent to another thread"
)]
pub trait Assignable: Serialize + DeserializeOwned + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Assignable for T {}

/// What an [init](crate::Server::init) may return: a `Result`, whose error refuses the client, or [`Assigns`] if it refuses nobody.
///
/// The error is a text, which **the client is told**, or [`CallError`], which says who may know what.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an init may return",
    label = "neither a `Result` nor `Assigns`",
    note = "return `Result<T, CallError>`, or `Assigns<T>` if it refuses nobody",
    note = "`T` is what is kept of the session: a type that derives `serde::Serialize` and `serde::Deserialize`, or `()`"
)]
pub trait IntoAssigns {
    /// What is kept.
    #[doc(hidden)]
    type Kept: Assignable;

    /// What is kept, or why the client is refused.
    ///
    /// # Errors
    ///
    /// What the code failed with.
    fn into_assigns(self) -> Result<Bytes, CallError>;
}

impl<T: Assignable> IntoAssigns for Assigns<T> {
    type Kept = T;

    fn into_assigns(self) -> Result<Bytes, CallError> {
        written(&self.0)
    }
}

impl<T: Assignable, E: IntoCallError> IntoAssigns for Result<T, E> {
    type Kept = T;

    fn into_assigns(self) -> Result<Bytes, CallError> {
        written(&self.map_err(IntoCallError::into_call_error)?)
    }
}

/// A type that is kept, by name.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    kind: TypeId,
    pub(crate) name: &'static str,
}

impl Kept {
    pub(crate) fn of<T: 'static>() -> Self {
        Self { kind: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// What is wrong if code takes this where that is kept: a clause, and what to do.
    pub(crate) fn differs(&self, kept: Option<&Self>) -> Option<String> {
        let name = self.name;
        match kept {
            None => Some(format!(
                "it takes `Assigns<{name}>`, and the server has no init that makes one: give it one with `.init(..)`"
            )),
            Some(kept) if kept.kind != self.kind => Some(format!(
                "it takes `Assigns<{name}>`, and the server's init makes `{}`: take that, or have init make the other",
                kept.name
            )),
            Some(_) => None,
        }
    }
}

/// JSON at its exact size: it is kept for as long as the session.
fn written<T: Serialize>(value: &T) -> Result<Bytes, CallError> {
    Ok(Bytes::from(crate::json::write(value)?.into_boxed_slice()))
}

impl Ctx {
    /// What is kept of this session, or of this request where there is none, as it was when this run began: see [`Assigns`].
    ///
    /// # Errors
    ///
    /// If nothing is kept, or nothing of that type: what a call is best answered with. What cannot be read goes to the log, as
    /// after a release of yours that reads what an older one wrote in another way.
    pub fn assigns<T: Assignable>(&self) -> Result<T, CallError> {
        let kept = self.raw_assigns();
        if kept.is_empty() {
            return Err(CallError::hidden("nothing is kept of this session: the server has no init"));
        }
        serde_json::from_slice(kept).map_err(|error| {
            let wanted = type_name::<T>();
            tracing::error!(entry = self.name(), wanted, %error, "what is kept of a session cannot be read");
            CallError::fault(Fault::internal("Internal error: what the server keeps of this session cannot be read"))
        })
    }

    /// Keeps that in place of what was kept of this session. Later calls of the session have it; this one and those that run go on with
    /// what they were handed. The last one counts.
    ///
    /// Where there are no sessions it is good for what is left of this request, and gone with it.
    ///
    /// ```
    /// use mcp_server::{Assigns, CallError, Ctx, tool};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Visit {
    ///     language: String,
    /// }
    ///
    /// /// Changes the language.
    /// #[tool]
    /// fn speak(ctx: Ctx, visit: Assigns<Visit>, language: String) -> Result<(), CallError> {
    ///     ctx.assign(&Visit { language, ..visit.0 })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// If it is of another type than the server's init makes, cannot be written as JSON, or is larger than
    /// [`Limits::assigns`](crate::Limits), 16 KiB by default: then nothing has changed.
    pub fn assign<T: Assignable>(&self, value: &T) -> Result<(), CallError> {
        let states = &self.entry().states;
        if let Some(init) = states.init.filter(|init| Kept::of::<T>().differs(Some(init)).is_some()) {
            let error = format!("`{}` cannot be kept: the server's init makes `{}`", type_name::<T>(), init.name);
            return Err(CallError::hidden(error));
        }
        let assigns = written(value)?;
        fits(&assigns, states.assigns).map_err(CallError::hidden)?;
        self.note(Note::Assigns(assigns));
        Ok(())
    }
}

/// Whether no more is to be kept than may be.
pub(crate) fn fits(assigns: &Bytes, most: usize) -> Result<(), String> {
    let bytes = assigns.len();
    if bytes <= most {
        return Ok(());
    }
    Err(format!(
        "what is to be kept of a session has {bytes} bytes, and may have {most}: keep less, or raise `Limits::assigns`"
    ))
}
