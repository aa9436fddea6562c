//! Who may call a sensitive tool: code that allows it, denies it, or has the client's person decide.

mod form;
mod guarding;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

pub use self::form::AuthorizeFn;
pub(crate) use self::guarding::Guarding;
use crate::ask::{Asked, Field, elicit};
use crate::call_error::{CallError, IntoCallError};
use crate::code::{contain, discard, said};
use crate::ctx::Ctx;
use crate::middleware::CallResult;

/// What an [authorizer](crate::Server::authorize) says of one call.
///
/// ```
/// use mcp_server::Authorization;
///
/// assert_eq!(Authorization::deny("not on Sundays"), Authorization::Deny("not on Sundays".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// It may be called.
    Allow,
    /// It may not, for that reason, which the model reads.
    Deny(String),
    /// The person at the client is to say, who is shown this: "Delete the note `shopping`?". It has to be the same in each run of a
    /// call, as with every [question](crate::ask). The form has one field, `approve`, so that a test's client agrees with
    /// `{"action": "accept", "content": {"approve": true}}`.
    Ask(String),
}

impl Authorization {
    /// It may not, for that reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny(reason.into())
    }

    /// The person at the client is to say.
    pub fn ask(prompt: impl Into<String>) -> Self {
        Self::Ask(prompt.into())
    }

    /// An authorizer that allows everything: `Server::authorize(Authorization::allow_all)`.
    #[must_use]
    pub const fn allow_all() -> Self {
        Self::Allow
    }

    /// An authorizer that allows nothing.
    #[must_use]
    pub fn deny_all() -> Self {
        Self::deny("this server lets nobody call its sensitive tools")
    }
}

/// What an [authorizer](AuthorizeFn) returns: an [`Authorization`], or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an authorizer returns",
    label = "neither an `Authorization` nor a `Result` of one",
    note = "it returns `Authorization::Allow`, `Authorization::deny(\"why\")` or `Authorization::ask(\"Delete it?\")`"
)]
pub trait IntoAuthorization {
    /// What it says; an error denies.
    ///
    /// # Errors
    ///
    /// Why it says nothing.
    fn into_authorization(self) -> Result<Authorization, CallError>;
}

impl IntoAuthorization for Authorization {
    fn into_authorization(self) -> Result<Authorization, CallError> {
        Ok(self)
    }
}

impl<E: IntoCallError> IntoAuthorization for Result<Authorization, E> {
    fn into_authorization(self) -> Result<Authorization, CallError> {
        self.map_err(IntoCallError::into_call_error)
    }
}

/// What an authorizer comes to, at once or later.
pub(crate) enum Deciding {
    Now(Result<Authorization, CallError>),
    Later(Pin<Box<dyn Future<Output = Result<Authorization, CallError>> + Send>>),
}

/// An authorizer of whatever type.
pub(crate) trait Judge: Send + Sync + 'static {
    fn judge(&self, ctx: &Ctx) -> Deciding;
}

/// Stands between the arguments of each sensitive tool, once they were found right, and its code.
#[derive(Clone)]
pub(crate) struct Authorizer(Arc<dyn Judge>);

/// The key of its question.
const KEY: &str = "mcp-server/approval";

const UNKNOWN: &str = "Not allowed: it could not be found out whether it may be called.";

impl Authorizer {
    /// Enters the code, if this call of it is allowed, as it is shown to who decides.
    pub(crate) async fn before<F: Future<Output = CallResult>>(
        &self,
        shown: &Ctx,
        ctx: Ctx,
        enter: impl FnOnce(Ctx) -> F,
    ) -> CallResult {
        if let Err(error) = self.permit(shown).await {
            ctx.left().iter().for_each(|left| left.not_entered());
            return Err(error);
        }
        let result = enter(ctx.clone().behind(KEY)).await;
        result.map_err(|error| ctx.ended_behind(KEY, error))
    }

    async fn permit(&self, ctx: &Ctx) -> Result<(), CallError> {
        match self.decide(ctx).await? {
            Authorization::Allow => Ok(()),
            Authorization::Deny(reason) => Err(CallError::new(format_args!("Not allowed: {reason}"))),
            Authorization::Ask(prompt) => {
                approved(ctx, prompt)?;
                // An approval is for one call, and sealing alone does not keep it from being sent twice (MRTR-10).
                ctx.one_time().await
            }
        }
    }

    /// What the authorizer says. If it fails, it denies.
    async fn decide(&self, ctx: &Ctx) -> Result<Authorization, CallError> {
        let decided = match contain(|| self.0.judge(ctx)) {
            Ok(Deciding::Now(decided)) => Ok(decided),
            Ok(Deciding::Later(mut future)) => {
                poll_fn(|cx| match contain(|| future.as_mut().poll(cx)) {
                    Ok(polled) => polled.map(Ok),
                    Err(panic) => Poll::Ready(Err(panic)),
                })
                .await
            }
            Err(panic) => Err(panic),
        };
        match decided {
            Ok(Err(error)) if error.is_hidden() => {
                tracing::error!(tool = ctx.tool(), ?error, "the authorizer failed, so the call was denied");
                Err(CallError::new(UNKNOWN))
            }
            Ok(decided) => decided,
            Err(panic) => {
                tracing::error!(
                    tool = ctx.tool(),
                    panic = said(&*panic),
                    "the authorizer panicked, so the call was denied"
                );
                discard(panic);
                Err(CallError::new(UNKNOWN))
            }
        }
    }
}

/// Whether the person at the client approved: nothing but a clear yes does.
fn approved(ctx: &Ctx, prompt: String) -> Result<(), CallError> {
    let form = elicit(prompt).field("approve", Field::boolean().title("Approve").required());
    let why = match ctx.ask(KEY, form)? {
        Asked::Accepted(said) if said.boolean("approve") == Some(true) => return Ok(()),
        Asked::Accepted(_) | Asked::Declined => "the user did not approve it.".into(),
        Asked::Cancelled => "the user dismissed the question whether to approve it.".into(),
        Asked::TimedOut => "the user did not say in time whether to approve it.".into(),
        Asked::Unsupported(lacking) => {
            format!("the user has to approve it, and the client cannot ask. {lacking}")
        }
        Asked::Failed { code, message } => {
            let message = mcp_core::fault::reflect(&message);
            format!("the user has to approve it, and the client could not ask: {message} ({code})")
        }
    };
    Err(CallError::new(format_args!("Not allowed: {why}")))
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorizer(..)")
    }
}
