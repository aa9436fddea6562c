//! Every way to write a middleware: a type of its own, or a function that takes extractors and then the rest of the call.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use super::erased::Wraps;
use super::{CallResult, Middleware, Next};
use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs};

/// What runs around calls: a [`Middleware`], or an asynchronous function or closure that takes up to eight
/// [extractors](Extract), then [`Next`], and returns a [`CallResult`].
///
/// ```
/// use mcp_server::middleware::{CallResult, Next};
/// use mcp_server::{CallError, Ctx, Server, State};
///
/// struct Closed(bool);
///
/// /// Around each call, of whatever kind.
/// async fn log(ctx: Ctx, State(closed): State<Closed>, next: Next) -> CallResult {
///     if closed.0 {
///         return Err(CallError::new("We are closed."));
///     }
///     let result = next.run().await;
///     println!("{} of {} bytes: {}", ctx.name(), ctx.arguments().len(), result.is_ok());
///     result
/// }
///
/// Server::new("my-app", "1.0.0").state(Closed(false)).wrap(log).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run around calls",
    label = "neither a `Middleware` nor a function that takes `Next` last",
    note = "it is asynchronous, takes extractors by value (`Ctx`, `State<T>`, `Caller`, at most eight), then `Next`, last, and returns `CallResult`",
    note = "a closure is written `|ctx: Ctx, next: Next| async move {{ next.run().await }}`"
)]
pub trait IntoMiddleware<M> {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "nobody else calls it")]
    fn add_to(self, wraps: &mut Wraps);
}

/// Marks a type of its own.
#[derive(Debug)]
pub struct Own;

impl<T: Middleware> IntoMiddleware<Own> for T {
    #[allow(private_interfaces, reason = "nobody else calls it")]
    fn add_to(self, wraps: &mut Wraps) {
        wraps.push(Arc::new(self));
    }
}

/// A function, and what it takes.
struct Function<F, E> {
    code: F,
    takes: PhantomData<fn() -> E>,
}

macro_rules! form {
    ($([$($extractor:ident)*])*) => {$(
        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, T, $($extractor,)*> Middleware for Function<F, ($($extractor,)*)>
        where
            F: Fn($($extractor,)* Next) -> T + Send + Sync + 'static,
            T: Future<Output = CallResult> + Send + 'static,
            $($extractor: Extract + Send + 'static,)*
        {
            fn call(&self, ctx: Ctx, next: Next) -> impl Future<Output = CallResult> + Send {
                // The code runs with all it takes, or not at all.
                let begin = || -> Result<T, CallError> {
                    $(let $extractor = $extractor::extract(&ctx)?;)*
                    Ok((self.code)($($extractor,)* next))
                };
                let begun = begin();
                async move {
                    match begun {
                        Ok(future) => future.await,
                        Err(error) => Err(error),
                    }
                }
            }

            fn needs(&self, needs: &mut Needs) {
                $($extractor::needs(needs);)*
            }
        }

        impl<F, T, $($extractor,)*> IntoMiddleware<($($extractor,)*)> for F
        where
            F: Fn($($extractor,)* Next) -> T + Send + Sync + 'static,
            T: Future<Output = CallResult> + Send + 'static,
            $($extractor: Extract + Send + 'static,)*
        {
            #[allow(private_interfaces, reason = "nobody else calls it")]
            fn add_to(self, wraps: &mut Wraps) {
                wraps.push(Arc::new(Function { code: self, takes: PhantomData }));
            }
        }
    )*};
}

form! {
    [] [E1] [E1 E2] [E1 E2 E3] [E1 E2 E3 E4] [E1 E2 E3 E4 E5] [E1 E2 E3 E4 E5 E6] [E1 E2 E3 E4 E5 E6 E7]
    [E1 E2 E3 E4 E5 E6 E7 E8]
}
