//! Extensions of the protocol: an id, settings, and methods.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::catalog::Defect;
use mcp_core::fault::{Fault, reflect};
use mcp_core::{ExtensionDecl, Kind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::Json;
use crate::call_error::{CallError, IntoCallError};
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::{Code, Entry, ExtensionFn, Place, Work};
use crate::ctx::Ctx;
use crate::extract::{Needs, States};

/// An extension of the protocol to be declared with [`Server::extension`](crate::Server::extension): its id, its settings, and
/// the methods that it adds.
///
/// A server declares none by itself (EXT-3). One that is declared is active for clients that declare it too, and for nobody else
/// (EXT-2): a client of 2026-07-28 without it gets -32021, which names it, an older one -32601. Older clients are not told of it at
/// all, unless it says [`legacy`](Extension::legacy).
///
/// ```
/// use mcp_server::testing::{Client, block_on};
/// use mcp_server::{Extension, Json, Server, json};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize)]
/// struct Spin {
///     times: u32,
/// }
///
/// #[derive(Serialize)]
/// struct Spun {
///     degrees: u32,
/// }
///
/// let wheel = Extension::new("com.example/wheel")
///     .settings(json!({"fastest": 10}))
///     .method("wheel/spin", |spin: Spin| Json(Spun { degrees: 360 * spin.times }));
/// let app = Server::new("my-app", "1.0.0").extension(wheel).build()?;
///
/// # block_on(async {
/// let able = json!({"extensions": {"com.example/wheel": {}}});
/// let mut client = Client::builder(&app).modern().capabilities(able).connect();
/// client.request("wheel/spin", json!({"times": 2})).await.assert_at("/result/degrees", 720);
///
/// let mut client = Client::builder(&app).modern().connect();
/// client.request("wheel/spin", json!({"times": 2})).await.assert_fault(-32021);
/// # });
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// What the client said of it is in [`Ctx::peer`](crate::Ctx::peer): `ctx.peer().capabilities.extension("com.example/wheel")`. Methods
/// run as tools do: extractors, plain or asynchronous code, time limits, progress, cancellation. They cannot ask the client, and an
/// extension's notifications reach no code.
///
/// A change that would break clients takes new settings or a new id (EXT-3).
#[must_use = "an extension does nothing until it is declared with `Server::extension`"]
pub struct Extension {
    id: Box<str>,
    settings: Value,
    legacy: bool,
    methods: Vec<Method>,
    place: &'static Location<'static>,
}

/// What runs the methods of all extensions.
pub(crate) type Methods = HashMap<Box<str>, Arc<Entry>>;

struct Method {
    name: Box<str>,
    needs: Needs,
    code: Code,
}

impl Extension {
    /// An extension of that id, `prefix/name`; the prefix is a domain of yours, as in `com.example/wheel` (EXT-1).
    #[track_caller]
    pub fn new(id: impl AsRef<str>) -> Self {
        Self {
            id: id.as_ref().into(),
            settings: Value::Object(Map::new()),
            legacy: false,
            methods: Vec::new(),
            place: Location::caller(),
        }
    }

    /// Its settings, for clients to see: a JSON object. Default: `{}`, there are none.
    pub fn settings(mut self, settings: Value) -> Self {
        self.settings = settings;
        self
    }

    /// Declares it in sessions of 2025-11-25 too, where the schema has no place for it but some clients look for it (SHIM-12).
    pub const fn legacy(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// One more method: see [`ExtensionFn`]. The type of a closure's `params` must be written out, as in `|spin: Spin|`.
    ///
    /// It runs where the request is handled and is polled there at once; it must not block a thread for long.
    pub fn method<F, M>(self, name: impl AsRef<str>, code: F) -> Self
    where
        F: ExtensionFn<M>,
    {
        self.with(name.as_ref(), code, Place::Here)
    }

    /// One more method, whose plain code blocks: it runs on tokio's pool of blocking threads.
    #[cfg(feature = "tokio")]
    pub fn method_blocking<F, M>(self, name: impl AsRef<str>, code: F) -> Self
    where
        F: ExtensionFn<Plain<M>>,
    {
        self.with(name.as_ref(), code, Place::Pool)
    }

    fn with<F: ExtensionFn<M>, M>(mut self, name: &str, code: F, place: Place) -> Self {
        let mut needs = Needs::default();
        F::needs(&mut needs);
        self.methods.push(Method { name: name.into(), needs, code: code.into_code(place) });
        self
    }

    pub(crate) fn wants_logging(&self) -> bool {
        self.methods.iter().any(|method| method.needs.logging)
    }

    /// What is declared; what runs goes to the methods of the server.
    pub(crate) fn split(self, states: &Arc<States>, methods: &mut Methods, defects: &mut Vec<Defect>) -> ExtensionDecl {
        let mut declared = ExtensionDecl::new(&self.id).with_settings(&self.settings.to_string());
        if self.legacy {
            declared = declared.with_legacy();
        }
        for Method { name, needs, code } in self.methods {
            for lacks in needs.states.iter().filter_map(|wanted| states.lacks(wanted)) {
                let message = format!("the method `{}`, declared at {}: {lacks}", reflect(&name), self.place);
                defects.push(Defect { entry: reflect(&self.id).into(), rule: "EXT-4", message: message.into() });
            }
            declared = declared.with_method(&name);
            let entry = Entry {
                name: name.clone(),
                tags: Map::new(),
                states: Arc::clone(states),
                cancelling: needs.cancelling || states.wraps.needs().cancelling,
                wraps: states.wraps.clone(),
                code,
                work: Work::Method,
            };
            methods.insert(name, Arc::new(entry));
        }
        declared
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods: Vec<&str> = self.methods.iter().map(|method| &*method.name).collect();
        f.debug_struct("Extension").field("id", &self.id).field("methods", &methods).finish_non_exhaustive()
    }
}

/// What the code of an extension's method may take as its last parameter: any type that owns its data and derives
/// `serde::Deserialize`. It is read from `params` without `_meta`, which [`Ctx::meta`](crate::Ctx::meta) has. What it does not take is
/// told to the client: -32602.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `params` of an extension's method",
    label = "no type that owns its data and derives `serde::Deserialize`"
)]
pub trait Params: DeserializeOwned + Send + 'static {}

impl<T: DeserializeOwned + Send + 'static> Params for T {}

pub(crate) fn params<P: Params>(ctx: &Ctx) -> Result<P, CallError> {
    let sent: &[u8] = match ctx.kind() {
        Kind::Extension { params, .. } if !params.is_empty() => params,
        _ => b"{}",
    };
    let read = || {
        let mut object: Map<String, Value> = serde_json::from_slice(sent)?;
        object.remove("_meta");
        P::deserialize(Value::Object(object))
    };
    read().map_err(|error: serde_json::Error| {
        CallError::fault(Fault::invalid_params(format!("`params`: {}", reflect(&error.to_string()))))
    })
}

/// What the code of an extension's method may return: [`Json`] of anything that is written as a JSON object, a [`Value`] that is
/// one, `()` for an empty one, or a `Result` of these.
///
/// A `resultType` in it is the extension's own (EXT-4), and sent to clients of 2026-07-28 only; without one it is `complete`. In its
/// `_meta` go keys of your own prefix, as everywhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an extension's method may return",
    label = "neither `Json<T>`, a `Value`, `()`, nor a `Result` of these",
    note = "to return a value of your own, derive `serde::Serialize` for it and wrap it: `Json(value)`"
)]
pub trait IntoMembers {
    /// The text of a JSON object.
    ///
    /// # Errors
    ///
    /// What the code failed with.
    fn into_members(self) -> Result<Bytes, CallError>;
}

impl IntoMembers for () {
    fn into_members(self) -> Result<Bytes, CallError> {
        Ok(Bytes::from_static(b"{}"))
    }
}

impl IntoMembers for Value {
    fn into_members(self) -> Result<Bytes, CallError> {
        Json(self).into_members()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> IntoMembers for Json<T> {
    fn into_members(self) -> Result<Bytes, CallError> {
        let json = crate::json::write(&self.0)?;
        if json.first() == Some(&b'{') {
            return Ok(json.into());
        }
        Err(CallError::hidden("the result of an extension's method must be written as a JSON object"))
    }
}

impl<T: IntoMembers, E: IntoCallError> IntoMembers for Result<T, E> {
    fn into_members(self) -> Result<Bytes, CallError> {
        self.map_err(IntoCallError::into_call_error)?.into_members()
    }
}
