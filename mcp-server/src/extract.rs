//! What a tool's code may take before its arguments.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use mcp_core::Caller;

use crate::ask;
use crate::assigns::{Assignable, Kept};
use crate::authorize::Guarding;
use crate::call_error::CallError;
use crate::cancel::Cancelled;
use crate::ctx::Ctx;
use crate::focus::Focus;
use crate::middleware::Wraps;
use crate::module::Home;
use crate::redact::Redact;
use crate::serve::WeakApp;

/// What a tool's code may take before its arguments: the [`State`] of the server, the [`Ctx`] of the call, and whatever can
/// be had from these. Up to eight of them, in any order, by value.
///
/// | type | what it is |
/// |---|---|
/// | [`Ctx`] | everything known of the call |
/// | [`State<T>`] | what the server was given with [`Server::state`](crate::Server::state) |
/// | [`Caller`] | who asks: principal and scopes |
/// | [`Assigns<T>`](crate::Assigns) | what the server's [init](crate::Server::init) made of the session |
/// | [`Common<P>`](crate::Common) | the default params of the tool's module |
/// | [`Progress`](crate::Progress) | tells how far the work is |
/// | [`Log`](crate::Log) | logs to the client |
/// | [`Cancelled`] | ready when the call has ended |
#[cfg_attr(
    feature = "http",
    doc = "| [`HeaderMap`](crate::http::HeaderMap), [`Head`](crate::http::Head) | the HTTP request |"
)]
/// | `Option<E>` | one of these, or `None` where it cannot be had |
///
/// One of your own:
///
/// ```
/// use mcp_server::{Ctx, Extract, Needs, Server, State, Tool, CallError};
///
/// struct Users(Vec<String>);
///
/// /// The user that asks.
/// struct User(String);
///
/// impl Extract for User {
///     fn extract(ctx: &Ctx) -> Result<Self, CallError> {
///         let State(users) = State::<Users>::extract(ctx)?;
///         let known = ctx.caller().principal.as_ref().and_then(|id| users.0.iter().find(|user| **user == id.as_str()));
///         known.map(|user| Self(user.clone())).ok_or_else(|| CallError::new("Sign in first."))
///     }
///
///     // Asked when the server is built, so that a state that is missing is found then.
///     fn needs(needs: &mut Needs) {
///         State::<Users>::needs(needs);
///     }
/// }
///
/// let me = Tool::new("me").description("Tells who you are.").run(|User(name): User| name);
/// Server::new("my-app", "1.0.0").state(Users(vec!["ada".into()])).tool(me).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken by a tool before its arguments",
    label = "neither `Ctx`, `State<..>`, `Assigns<..>`, `Caller`, `Progress`, `Log`, `Cancelled`, nor a type that implements `Extract`",
    note = "to share a value of your own with tools, give it to the server with `.state(value)` and take `State<T>`",
    note = "arguments come last"
)]
pub trait Extract: Sized {
    /// Comes by it; runs before the code, where the call is handled, and must not block.
    ///
    /// # Errors
    ///
    /// What the call is answered with in place of running the code.
    fn extract(ctx: &Ctx) -> Result<Self, CallError>;

    /// Says what it cannot do without. Asked once, when the server is built.
    fn needs(needs: &mut Needs) {
        let _ = needs;
    }
}

/// What an extractor cannot do without, told to the server that is built.
#[derive(Debug, Default)]
pub struct Needs {
    pub(crate) states: Vec<Wanted>,
    pub(crate) logging: bool,
    pub(crate) cancelling: bool,
}

impl Needs {
    /// A state of that type: see [`Server::state`](crate::Server::state).
    pub fn state<T: Send + Sync + 'static>(&mut self) {
        let shared = TypeId::of::<Arc<T>>();
        self.states.push(Wanted::State { kind: TypeId::of::<T>(), shared, name: type_name::<T>() });
    }

    /// What the server's [init](crate::Server::init) makes, of that type: see [`Assigns`](crate::Assigns).
    pub fn assigns<T: Assignable>(&mut self) {
        self.states.push(Wanted::Assigns(Kept::of::<T>()));
    }

    /// Default params of the module: see [`Common`](crate::Common).
    pub(crate) fn common<P: 'static>(&mut self) {
        self.states.push(Wanted::Common { id: TypeId::of::<P>(), name: type_name::<P>() });
    }

    /// The capability to log to clients (LOG-1).
    pub const fn logging(&mut self) {
        self.logging = true;
    }

    /// [`Ctx::cancelled`], [`Ctx::once`] and [`Ctx::keep`], which cost a call an allocation.
    pub const fn cancellation(&mut self) {
        self.cancelling = true;
    }
}

/// A value that a tool takes and that its server has to have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// A state.
    State {
        kind: TypeId,
        /// The same in an `Arc`, as it is given by mistake.
        shared: TypeId,
        name: &'static str,
    },
    /// What its init makes.
    Assigns(Kept),
    /// Default params of its module.
    Common { id: TypeId, name: &'static str },
    /// Other settings than it was made with: what is wrong with them, and what to do.
    Settings(&'static str),
}

impl Wanted {
    pub(crate) const fn is_assigns(&self) -> bool {
        matches!(self, Self::Assigns(_))
    }
}

/// The values that a server shares with its tools, one of a type; and what it says of asking.
#[derive(Clone, Default)]
pub(crate) struct States {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
    pub(crate) asking: ask::Settings,
    pub(crate) redact: Redact,
    /// What its init makes, if it has one.
    pub(crate) init: Option<Kept>,
    /// How many bytes of it may be kept.
    pub(crate) assigns: usize,
    /// What runs around every call.
    pub(crate) wraps: Wraps,
    /// Which tools are listed, if not all.
    pub(crate) focus: Option<Focus>,
    /// Who may call its sensitive tools.
    pub(crate) guarding: Guarding,
    /// What its own entries have by default.
    pub(crate) own: Arc<Home>,
    /// The server itself, once it is built. Weak: it owns this.
    pub(crate) app: OnceLock<WeakApp>,
}

impl States {
    /// Of definitions that are looked at, and not served.
    pub(crate) fn moot() -> Self {
        Self { guarding: Guarding::moot(), ..Self::default() }
    }

    /// False if there was one of the type: two of them would be told apart by nothing.
    pub(crate) fn put<T: Send + Sync + 'static>(&mut self, state: Arc<T>) -> bool {
        self.values.insert(TypeId::of::<T>(), state).is_none()
    }

    /// What is wrong if a state is not there: a clause, and what to do.
    pub(crate) fn lacks(&self, wanted: &Wanted) -> Option<String> {
        let (kind, shared, name) = match wanted {
            Wanted::State { kind, shared, name } => (kind, shared, name),
            Wanted::Assigns(wanted) => return wanted.differs(self.init.as_ref()),
            Wanted::Common { name, .. } => {
                return Some(format!(
                    "it takes `Common<{name}>`, default params of a module, which the code of a tool alone has"
                ));
            }
            Wanted::Settings(remedy) => return Some((*remedy).to_owned()),
        };
        if self.values.contains_key(kind) {
            None
        } else if self.values.contains_key(shared) {
            Some(format!(
                "it takes the state `{name}`, which the server was given as an `Arc`: give it with `.shared_state(..)`"
            ))
        } else {
            Some(format!("it takes the state `{name}`, which the server was not given: give it with `.state(..)`"))
        }
    }

    pub(crate) fn borrow<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.values.get(&TypeId::of::<T>())?.downcast_ref()
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.values.get(&TypeId::of::<T>())?).downcast().ok()
    }
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("States").field(&self.values.len()).finish()
    }
}

/// What the server was given with [`Server::state`](crate::Server::state): one value, shared by all calls.
///
/// It holds an `Arc`, so the value need not be `Clone`; what changes in it goes behind a lock or an atomic.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use mcp_server::{Server, State, Tool};
///
/// struct Visits(AtomicU64);
///
/// let visit = Tool::new("visit")
///     .description("Counts visits.")
///     .run(|visits: State<Visits>| visits.0.0.fetch_add(1, Ordering::Relaxed) + 1);
///
/// Server::new("my-app", "1.0.0").state(Visits(AtomicU64::new(0))).tool(visit).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// A server that was not given the state which one of its tools takes cannot be built, and the error names both.
#[derive(Debug)]
pub struct State<T>(pub Arc<T>);

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + Sync + 'static> Extract for State<T> {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        let missing = || CallError::hidden(format!("the server has no state of type `{}`", type_name::<T>()));
        ctx.state().map(Self).ok_or_else(missing)
    }

    fn needs(needs: &mut Needs) {
        needs.state::<T>();
    }
}

impl Extract for Ctx {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(ctx.clone())
    }

    fn needs(needs: &mut Needs) {
        needs.cancellation();
    }
}

impl Extract for Caller {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(ctx.caller().clone())
    }
}

impl Extract for Cancelled {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(ctx.cancelled())
    }

    fn needs(needs: &mut Needs) {
        needs.cancellation();
    }
}

/// `None` where it cannot be had. What the model would not have been told goes to the log, at `debug`: it is no failure.
impl<E: Extract> Extract for Option<E> {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        let extracted = E::extract(ctx);
        if let Err(error) = &extracted {
            tracing::debug!(tool = ctx.tool(), ?error, "an optional extractor had nothing to give");
        }
        Ok(extracted.ok())
    }

    // A state that may be missing is not needed, nor are assigns; what costs something is.
    fn needs(needs: &mut Needs) {
        let before = needs.states.len();
        E::needs(needs);
        needs.states.truncate(before);
    }
}
