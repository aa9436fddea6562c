//! Every way to write an authorizer: which extractors it takes, and whether it answers at once or as a future.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Authorizer, Deciding, IntoAuthorization, Judge};
use crate::code::{Later, Plain};
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs};

/// The code of an [authorizer](crate::Server::authorize): a closure or function that takes up to eight [extractors](Extract) and returns
/// what [`IntoAuthorization`] knows, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an authorizer",
    label = "takes or returns something that an authorizer cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Assigns<T>`, at most eight), and no arguments: `Ctx::arguments` has them",
    note = "it returns `Authorization`, or a `Result` of one; an `async` function may"
)]
pub trait AuthorizeFn<M> {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "nobody else calls it")]
    fn into_authorizer(self, needs: &mut Needs) -> Authorizer;
}

/// A function, and what it takes.
struct Function<F, M> {
    code: F,
    takes: PhantomData<fn() -> M>,
}

macro_rules! form {
    ($([$($extractor:ident)*])*) => {$(
        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, R, $($extractor,)*> Judge for Function<F, Plain<($($extractor,)*)>>
        where
            F: Fn($($extractor,)*) -> R + Send + Sync + 'static,
            R: IntoAuthorization + 'static,
            $($extractor: Extract + 'static,)*
        {
            fn judge(&self, ctx: &Ctx) -> Deciding {
                $(let $extractor = match $extractor::extract(ctx) {
                    Ok(value) => value,
                    Err(error) => return Deciding::Now(Err(error)),
                };)*
                Deciding::Now((self.code)($($extractor,)*).into_authorization())
            }
        }

        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, T, $($extractor,)*> Judge for Function<F, Later<($($extractor,)*)>>
        where
            F: Fn($($extractor,)*) -> T + Send + Sync + 'static,
            T: Future<Output: IntoAuthorization> + Send + 'static,
            $($extractor: Extract + 'static,)*
        {
            fn judge(&self, ctx: &Ctx) -> Deciding {
                $(let $extractor = match $extractor::extract(ctx) {
                    Ok(value) => value,
                    Err(error) => return Deciding::Now(Err(error)),
                };)*
                let future = (self.code)($($extractor,)*);
                Deciding::Later(Box::pin(async move { future.await.into_authorization() }))
            }
        }

        #[allow(unused_variables, reason = "some need nothing")]
        impl<F, R, $($extractor,)*> AuthorizeFn<Plain<($($extractor,)*)>> for F
        where
            F: Fn($($extractor,)*) -> R + Send + Sync + 'static,
            R: IntoAuthorization + 'static,
            $($extractor: Extract + 'static,)*
        {
            #[allow(private_interfaces, reason = "nobody else calls it")]
            fn into_authorizer(self, needs: &mut Needs) -> Authorizer {
                $($extractor::needs(needs);)*
                Authorizer(Arc::new(Function::<F, Plain<($($extractor,)*)>> { code: self, takes: PhantomData }))
            }
        }

        #[allow(unused_variables, reason = "some need nothing")]
        impl<F, T, $($extractor,)*> AuthorizeFn<Later<($($extractor,)*)>> for F
        where
            F: Fn($($extractor,)*) -> T + Send + Sync + 'static,
            T: Future<Output: IntoAuthorization> + Send + 'static,
            $($extractor: Extract + 'static,)*
        {
            #[allow(private_interfaces, reason = "nobody else calls it")]
            fn into_authorizer(self, needs: &mut Needs) -> Authorizer {
                $($extractor::needs(needs);)*
                Authorizer(Arc::new(Function::<F, Later<($($extractor,)*)>> { code: self, takes: PhantomData }))
            }
        }
    )*};
}

form! {
    [] [E1] [E1 E2] [E1 E2 E3] [E1 E2 E3 E4] [E1 E2 E3 E4 E5] [E1 E2 E3 E4 E5 E6] [E1 E2 E3 E4 E5 E6 E7]
    [E1 E2 E3 E4 E5 E6 E7 E8]
}
