//! Every way to write code: which parameters it has, and whether it answers at once or as a future.

use std::future::Future;
#[cfg(feature = "tokio")]
use std::sync::Arc;

use serde_json::Value;

use super::subject::{OfCompletion, OfExtension, OfInit, OfPrompt, OfResource, OfTool};
use super::{Bare, Code, Ending, Full, Later, Place, Plain, ToolFn};
use crate::answer::IntoAnswer;
use crate::arguments::Arguments;
use crate::assigns::{IntoAssigns, Kept};
use crate::cancel::AtEnd;
use crate::complete::{self, IntoCompletion, Typed};
use crate::contents::IntoContents;
use crate::extension::{self, IntoMembers, Params};
use crate::extract::{Extract, Needs};
use crate::messages::IntoMessages;
use crate::schema;
use crate::texts::{self, FromTexts, Needed};

/// The code of a [`Resource`](crate::Resource): a closure or function that takes up to eight [extractors](Extract) and returns
/// what [`IntoContents`] knows, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the code of a resource",
    label = "takes or returns something that a resource cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Progress`, `Log`, `Cancelled`, at most eight) and nothing else: a resource has no variables, a `ResourceTemplate` has",
    note = "it returns text, bytes, `Contents`, a value wrapped as `Json(value)`, an `Option`, which is not found, or a `Result` of these",
    note = "the error in a `Result` is a text, which the client reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait ResourceFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// The code of a [`ResourceTemplate`](crate::ResourceTemplate): that of a [resource](ResourceFn), and its last parameter may
/// take the [variables](FromTexts).
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the code of a resource template",
    label = "takes or returns something that a template cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Progress`, `Log`, `Cancelled`, at most eight), then its variables, last; name the types, as in `|id: u64|`",
    note = "the variables are a type that owns its data and derives `serde::Deserialize`, a tuple in their order, or a single value",
    note = "it returns text, bytes, `Contents`, a value wrapped as `Json(value)`, an `Option`, which is not found, or a `Result` of these",
    note = "the error in a `Result` is a text, which the client reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait TemplateFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    /// A variable that it cannot do without.
    #[doc(hidden)]
    fn needed() -> Option<Needed>;

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// The code of a [`Prompt`](crate::Prompt): a closure or function that takes up to eight [extractors](Extract), then at most
/// one value with all the [arguments](FromTexts), and returns what [`IntoMessages`] knows, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the code of a prompt",
    label = "takes or returns something that a prompt cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Progress`, `Log`, `Cancelled`, at most eight), then its arguments, last; name the types, as in `|args: Review|`",
    note = "the arguments are a type that owns its data and derives `serde::Deserialize`, a tuple in their order, or a single value",
    note = "it returns text, `PromptMessage`s, a `PromptAnswer`, or a `Result` of these",
    note = "the error in a `Result` is a text, which the client reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait PromptFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    /// An argument that it cannot do without.
    #[doc(hidden)]
    fn needed() -> Option<Needed>;

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// Code that completes an argument of a prompt or a variable of a template: a closure or function that takes up to eight
/// [extractors](Extract), then [what was typed](Typed), and returns what [`IntoCompletion`] knows, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot complete an argument",
    label = "takes or returns something that a completion cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, at most eight), then what was typed so far, last: `String`, or `Completing`, which knows the other arguments too",
    note = "it returns a `Vec` of texts, a `Completion`, or a `Result` of these"
)]
pub trait CompleteFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// The code of a method of an [`Extension`](crate::Extension): a closure or function that takes up to eight [extractors](Extract),
/// then at most one value with all its [`params`](Params), and returns what [`IntoMembers`] knows, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the code of an extension's method",
    label = "takes or returns something that such a method cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Progress`, `Log`, `Cancelled`, at most eight), then its `params`, last; name the types, as in `|spin: Spin|`",
    note = "the `params` are a type that owns its data and derives `serde::Deserialize`",
    note = "it returns `Json(value)`, a `Value`, `()`, or a `Result` of these",
    note = "the error in a `Result` is a text, which the client reads, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait ExtensionFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// The code of an [init](crate::Server::init): a closure or function that takes up to eight [extractors](Extract) and returns what
/// [`IntoAssigns`] knows, at once or as a future.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an init",
    label = "takes or returns something that an init cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `HeaderMap`, at most eight), and no arguments: name the types, as in `|headers: HeaderMap|`",
    note = "it returns `Result<T, CallError>`, or `Assigns<T>` if it refuses nobody; an `async` function may",
    note = "`T` is what is kept of the session: a type that derives `serde::Serialize` and `serde::Deserialize`, or `()`",
    note = "the error in a `Result` is a text, which the client is told, or `CallError`, into which `?` turns any other and hides it"
)]
pub trait InitFn<M>: Send + Sync + 'static {
    #[doc(hidden)]
    fn keeps() -> Kept;

    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// One way to write code, plain and as a future: extractors, and then the last parameter or none.
macro_rules! form {
    (
        $kind:ident $code:ident $subject:ident $reply:ident::$settle:ident $taken:ident;
        $marker:ident, [$($extractor:ident)*], [$($last:ident)?]
    ) => {
        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, R, $($extractor,)* $($last)?> $code<Plain<$marker<($($extractor,)* $($last,)?)>>> for F
        where
            F: Fn($($extractor,)* $($last)?) -> R + Send + Sync + 'static,
            R: $reply,
            $($extractor: Extract + Send + 'static,)*
            $($last: $taken,)?
        {
            form!(@about $kind R, [$($last)?]);

            fn needs(needs: &mut Needs) {
                $($extractor::needs(needs);)*
            }

            fn into_code(self, place: Place) -> Code {
                match place {
                    Place::Here => Code::new(move |ctx, given, entry| {
                        let end = AtEnd::of_code(&ctx);
                        let ending = Ending::<$subject>::of(&ctx);
                        form!(@read $kind $subject ctx, given, entry, [$($extractor)*], [$($last)?]);
                        entry.now::<$subject>(&ending, self($($extractor,)* $($last)?).$settle())
                    }),
                    #[cfg(feature = "tokio")]
                    Place::Pool => {
                        let code = Arc::new(self);
                        Code::new(move |ctx, given, entry| {
                            let end = AtEnd::of_code(&ctx);
                            let ending = Ending::<$subject>::of(&ctx);
                            form!(@read $kind $subject ctx, given, entry, [$($extractor)*], [$($last)?]);
                            let code = Arc::clone(&code);
                            entry.on_pool::<$subject>(end, ending, move || code($($extractor,)* $($last)?).$settle())
                        })
                    }
                }
            }
        }

        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, T, $($extractor,)* $($last)?> $code<Later<$marker<($($extractor,)* $($last,)?)>>> for F
        where
            F: Fn($($extractor,)* $($last)?) -> T + Send + Sync + 'static,
            T: Future<Output: $reply> + Send + 'static,
            $($extractor: Extract,)*
            $($last: $taken,)?
        {
            form!(@about $kind T::Output, [$($last)?]);

            fn needs(needs: &mut Needs) {
                $($extractor::needs(needs);)*
            }

            fn into_code(self, _: Place) -> Code {
                Code::new(move |ctx, given, entry| {
                    let end = AtEnd::of_code(&ctx);
                    let ending = Ending::<$subject>::of(&ctx);
                    form!(@read $kind $subject ctx, given, entry, [$($extractor)*], [$($last)?]);
                    entry.later::<$subject, _, _>(end, ending, self($($extractor,)* $($last)?), $reply::$settle)
                })
            }
        }
    };
    (@about tool $result:ty, [$($last:ident)?]) => {
        fn input() -> Value {
            form!(@schema $($last)?)
        }

        fn output() -> Option<Value> {
            <$result as IntoAnswer>::output_schema()
        }
    };
    (@about init $result:ty, []) => {
        fn keeps() -> Kept {
            Kept::of::<<$result as IntoAssigns>::Kept>()
        }
    };
    (@about variables $result:ty, [$($last:ident)?]) => { form!(@needed $($last)?); };
    (@about arguments $result:ty, [$($last:ident)?]) => { form!(@needed $($last)?); };
    (@about $kind:ident $result:ty, [$($last:ident)?]) => {};
    (@needed $($last:ident)?) => {
        fn needed() -> Option<Needed> {
            form!(@first $($last)?)
        }
    };
    (@first) => { None };
    (@first $last:ident) => { texts::first_needed::<$last>() };
    (@schema) => { schema::nothing() };
    (@schema $last:ident) => { $last::schema() };
    (@read $kind:ident $subject:ident $ctx:ident, $given:ident, $entry:ident, [$($extractor:ident)*], [$($last:ident)?]) => {
        $(let $extractor = match $entry.extract::<$subject, $extractor>(&$ctx) {
            Ok(value) => value,
            Err(ended) => return ended,
        };)*
        $(let $last = match form!(@last $kind $subject $ctx, $given, $entry, $last) {
            Ok(value) => value,
            Err(ended) => return ended,
        };)?
    };
    (@last tool $subject:ident $ctx:ident, $given:ident, $entry:ident, $last:ident) => {
        $entry.read::<$last>(&$given)
    };
    (@last variables $subject:ident $ctx:ident, $given:ident, $entry:ident, $last:ident) => {
        $entry.or_end::<$subject, _>(&$ctx, texts::variables::<$last>(&$ctx))
    };
    (@last arguments $subject:ident $ctx:ident, $given:ident, $entry:ident, $last:ident) => {
        $entry.or_end::<$subject, _>(&$ctx, texts::arguments::<$last>(&$ctx, &$given))
    };
    (@last typed $subject:ident $ctx:ident, $given:ident, $entry:ident, $last:ident) => {
        $entry.or_end::<$subject, _>(&$ctx, complete::typed::<$last>(&$ctx))
    };
    (@last params $subject:ident $ctx:ident, $given:ident, $entry:ident, $last:ident) => {
        $entry.or_end::<$subject, _>(&$ctx, extension::params::<$last>(&$ctx))
    };
}

macro_rules! forms {
    ($([$($extractor:ident)*])*) => {$(
        form!(tool ToolFn OfTool IntoAnswer::into_answer Arguments; Bare, [$($extractor)*], []);
        form!(tool ToolFn OfTool IntoAnswer::into_answer Arguments; Full, [$($extractor)*], [A]);
        form!(nothing ResourceFn OfResource IntoContents::into_contents FromTexts; Bare, [$($extractor)*], []);
        form!(variables TemplateFn OfResource IntoContents::into_contents FromTexts; Bare, [$($extractor)*], []);
        form!(variables TemplateFn OfResource IntoContents::into_contents FromTexts; Full, [$($extractor)*], [A]);
        form!(arguments PromptFn OfPrompt IntoMessages::into_messages FromTexts; Bare, [$($extractor)*], []);
        form!(arguments PromptFn OfPrompt IntoMessages::into_messages FromTexts; Full, [$($extractor)*], [A]);
        form!(typed CompleteFn OfCompletion IntoCompletion::into_completion Typed; Bare, [$($extractor)*], []);
        form!(typed CompleteFn OfCompletion IntoCompletion::into_completion Typed; Full, [$($extractor)*], [A]);
        form!(init InitFn OfInit IntoAssigns::into_assigns Params; Bare, [$($extractor)*], []);
        form!(params ExtensionFn OfExtension IntoMembers::into_members Params; Bare, [$($extractor)*], []);
        form!(params ExtensionFn OfExtension IntoMembers::into_members Params; Full, [$($extractor)*], [A]);
    )*};
}

forms! {
    [] [E1] [E1 E2] [E1 E2 E3] [E1 E2 E3 E4] [E1 E2 E3 E4 E5] [E1 E2 E3 E4 E5 E6] [E1 E2 E3 E4 E5 E6 E7]
    [E1 E2 E3 E4 E5 E6 E7 E8]
}
