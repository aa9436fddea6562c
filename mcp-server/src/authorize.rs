//! Who says whether a sensitive tool may run.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;

use mcp_core::catalog::Defect;

use crate::ask::{Asked, Field, elicit};
use crate::call_error::{CallError, IntoCallError};
use crate::code::{Later, Plain};
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs, States};
use crate::server::Server;

/// Whether a sensitive tool may run: what the code of [`Server::authorize`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorization {
    /// It runs.
    Allow,
    /// It does not: the model reads why.
    Deny(String),
    /// It runs if the person at the client agrees to this.
    Ask(String),
}

impl Authorization {
    /// It does not run, and the model reads why.
    pub fn deny(why: impl Into<String>) -> Self {
        Self::Deny(why.into())
    }

    /// It runs if the person at the client agrees: `question` is what they read. It must be the same each time that it is
    /// asked about the same call.
    pub fn ask(question: impl Into<String>) -> Self {
        Self::Ask(question.into())
    }
}

impl Server {
    /// Decides about each call of a [sensitive](crate::Tool::is_sensitive) tool, once its arguments were found right and before
    /// anything of it runs: it may run, it may not, or the person at the client is asked.
    ///
    /// ```
    /// use mcp_server::{Authorization, Caller, Ctx, Server, Tool};
    ///
    /// fn authorize(ctx: Ctx, caller: Caller) -> Authorization {
    ///     match caller.principal {
    ///         None => Authorization::deny("sign in first"),
    ///         Some(_) if caller.scopes.has("admin") => Authorization::Allow,
    ///         Some(_) => Authorization::ask(format!("Run `{}`?", ctx.name())),
    ///     }
    /// }
    ///
    /// let purge = Tool::new("purge").description("Deletes everything.").destructive(true).run(|| "gone");
    /// Server::new("my-app", "1.0.0").authorize(authorize).tool(purge).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// It is a closure or function that takes up to eight [extractors](crate::Extract) and returns an [`Authorization`], or a `Result` of
    /// one, at once or as a future: [`AuthorizeFn`]. What the tool is called with is in [`Ctx::arguments`].
    ///
    /// Asking works as [`Ctx::ask`] does, in both eras. Only who accepts, and says `approve`, has the tool run; a refusal, no answer, and
    /// a client that cannot be asked are told to the model. An approval is good for one run, for these arguments, and for who was asked.
    /// It stands for the rest of the call, if the tool asks something by itself. An error or a panic is a refusal.
    ///
    /// A server with a sensitive tool and nobody to decide is not built: see also [`Server::allow_unguarded`].
    #[track_caller]
    pub fn authorize<F: AuthorizeFn<M>, M>(mut self, code: F) -> Self {
        let mut needs = Needs::default();
        F::needs(&mut needs);
        let guard = Guard { needs, decide: code.into_decide(), place: Location::caller() };
        self.guards.push(guard);
        self
    }

    /// Lets the [sensitive](crate::Tool::is_sensitive) tools of these names run without being decided about.
    ///
    /// ```
    /// use mcp_server::{Server, Tool};
    ///
    /// let forget = Tool::new("forget").description("Forgets.").destructive(true).run(|| ());
    /// Server::new("my-app", "1.0.0").allow_unguarded(["forget"]).tool(forget).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    pub fn allow_unguarded<N: AsRef<str>>(mut self, tools: impl IntoIterator<Item = N>) -> Self {
        self.states.unguarded.extend(tools.into_iter().map(|name| name.as_ref().into()));
        self
    }
}

type Deciding = Pin<Box<dyn Future<Output = Result<Authorization, CallError>> + Send>>;

/// Code whose types are erased.
#[doc(hidden)]
pub struct Decide(Box<dyn Fn(&Ctx) -> Deciding + Send + Sync>);

impl fmt::Debug for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decide(..)")
    }
}

/// Who decides about the sensitive tools of a server.
#[derive(Debug)]
pub(crate) struct Guard {
    needs: Needs,
    decide: Decide,
    place: &'static Location<'static>,
}

impl Guard {
    /// The one that was given, and what is wrong with it.
    pub(crate) fn of(given: Vec<Self>, states: &States, defects: &mut Vec<Defect>) -> Option<Arc<Self>> {
        if let [first, second, ..] = &*given {
            let (first, second) = (first.place, second.place);
            defects.push(defect(format!(
                "two authorizers were given, at {first} and {second}: give one, which may call other code"
            )));
        }
        let guard = given.into_iter().next()?;
        for lacks in guard.needs.states.iter().filter_map(|wanted| states.lacks(wanted)) {
            defects.push(defect(format!("the authorizer given at {}: {lacks}", guard.place)));
        }
        Some(Arc::new(guard))
    }

    pub(crate) const fn wants_logging(&self) -> bool {
        self.needs.logging
    }

    /// Nobody asks it: for what is only looked at.
    #[track_caller]
    pub(crate) fn nobody() -> Arc<Self> {
        let decide = Decide(Box::new(|_| Box::pin(async { Ok(Authorization::Deny(String::new())) })));
        Arc::new(Self { needs: Needs::default(), decide, place: Location::caller() })
    }

    /// Whether this call may go on; the error says why not, or asks.
    pub(crate) async fn check(&self, ctx: &Ctx) -> Result<(), CallError> {
        match (self.decide.0)(ctx).await? {
            Authorization::Allow => Ok(()),
            Authorization::Deny(why) => Err(CallError::new(format_args!("This call was not authorized: {why}"))),
            Authorization::Ask(question) => {
                let form = elicit(question).field(APPROVE, Field::boolean().title("Approve"));
                match ctx.ask(KEY, form)? {
                    // On 2026-07-28 the answer and its state could be sent again, and would run the tool again.
                    Asked::Accepted(said) if said.boolean(APPROVE) == Some(true) => ctx.one_time().await,
                    Asked::Accepted(_) | Asked::Declined | Asked::Cancelled => {
                        Err(CallError::new("This call was not approved: do not try again unless you are told to."))
                    }
                    Asked::TimedOut => Err(CallError::new("This call needs approval, and nobody answered in time.")),
                    Asked::Unsupported(_) => Err(CallError::new(
                        "This call needs the approval of a person, and this client cannot ask for it: it does not declare \
                         `elicitation` with forms.",
                    )),
                    _ => Err(CallError::new("This call needs approval, and the client gave no answer that says so.")),
                }
            }
        }
    }
}

fn defect(message: String) -> Defect {
    Defect { entry: "server".into(), rule: "TOOL-17", message: message.into() }
}

/// The key of the question. Tools have keys of their own.
const KEY: &str = "approval-of-call";

/// The field that says yes.
const APPROVE: &str = "approve";

/// The code of [`Server::authorize`]: a closure or function that takes up to eight [extractors](Extract) and returns an
/// [`Authorization`], or a `Result` of one, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot authorize calls",
    label = "takes or returns something that an authorizer cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Assigns<T>`, at most eight) and no arguments, which are in `ctx.arguments()`: name the types, as in `|ctx: Ctx|`",
    note = "it returns `Authorization`, or a `Result` of it; an `async` function may"
)]
pub trait AuthorizeFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    #[doc(hidden)]
    fn into_decide(self) -> Decide;
}

/// What the code of [`Server::authorize`] may return.
pub trait IntoAuthorization: Send + 'static {
    /// What was decided.
    ///
    /// # Errors
    ///
    /// Why nothing was: the call is refused.
    fn into_authorization(self) -> Result<Authorization, CallError>;
}

impl IntoAuthorization for Authorization {
    fn into_authorization(self) -> Result<Authorization, CallError> {
        Ok(self)
    }
}

impl<E: IntoCallError + Send + 'static> IntoAuthorization for Result<Authorization, E> {
    fn into_authorization(self) -> Result<Authorization, CallError> {
        self.map_err(IntoCallError::into_call_error)
    }
}

macro_rules! forms {
    ($([$($extractor:ident)*])*) => {$(
        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, R, $($extractor,)*> AuthorizeFn<Plain<($($extractor,)*)>> for F
        where
            F: Fn($($extractor,)*) -> R + Send + Sync + 'static,
            R: IntoAuthorization,
            $($extractor: Extract,)*
        {
            fn needs(needs: &mut Needs) {
                $($extractor::needs(needs);)*
            }

            fn into_decide(self) -> Decide {
                let decide = move |ctx: &Ctx| -> Result<Authorization, CallError> {
                    $(let $extractor = $extractor::extract(ctx)?;)*
                    self($($extractor,)*).into_authorization()
                };
                Decide(Box::new(move |ctx| Box::pin(std::future::ready(decide(ctx)))))
            }
        }

        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, T, $($extractor,)*> AuthorizeFn<Later<($($extractor,)*)>> for F
        where
            F: Fn($($extractor,)*) -> T + Send + Sync + 'static,
            T: Future<Output: IntoAuthorization> + Send + 'static,
            $($extractor: Extract,)*
        {
            fn needs(needs: &mut Needs) {
                $($extractor::needs(needs);)*
            }

            fn into_decide(self) -> Decide {
                let begin = move |ctx: &Ctx| -> Result<T, CallError> {
                    $(let $extractor = $extractor::extract(ctx)?;)*
                    Ok(self($($extractor,)*))
                };
                Decide(Box::new(move |ctx| {
                    let begun = begin(ctx);
                    Box::pin(async move {
                        match begun {
                            Ok(deciding) => deciding.await.into_authorization(),
                            Err(error) => Err(error),
                        }
                    })
                }))
            }
        }
    )*};
}

forms! {
    [] [E1] [E1 E2] [E1 E2 E3] [E1 E2 E3 E4] [E1 E2 E3 E4 E5] [E1 E2 E3 E4 E5 E6] [E1 E2 E3 E4 E5 E6 E7]
    [E1 E2 E3 E4 E5 E6 E7 E8]
}
