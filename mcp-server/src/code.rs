//! From a closure to a call that runs: reading arguments, containing panics, settling what is returned.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use mcp_core::answer::{Answer, ToolAnswer};
use mcp_core::drive::{Link, Running};
use mcp_core::fault::Fault;
use mcp_core::{Call, Outcome};
use pin_project_lite::pin_project;
use serde_json::{Map, Value};

use crate::answer::IntoAnswer;
use crate::arguments::{self, Arguments, Given};
use crate::call_error::CallError;
use crate::cancel::AtEnd;
use crate::check::{self, Judged, Rules};
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs, States};
use crate::schema;
use crate::tool::Promise;

/// The code of a tool: a closure or function that takes up to eight [extractors](Extract), then at most one value with all the
/// [arguments](Arguments), and returns what [`IntoAnswer`] knows, at once or as a future.
///
/// The type of a closure's arguments must be written out, as in `|args: Echo|`. It derives [`Arguments`](derive@crate::Arguments), or
/// `serde::Deserialize` and `schemars::JsonSchema`, and owns its data: `String`, not `&str`.
///
/// `M` says which of these it is, and is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the code of a tool",
    label = "takes or returns something that a tool cannot",
    note = "it takes extractors by value (`Ctx`, `State<T>`, `Caller`, `Progress`, `Log`, `Cancelled`, at most eight), then its arguments, last; name the types, as in `|arguments: Echo|`",
    note = "arguments are a type that owns its data and derives `mcp_server::Arguments`, or `serde::Deserialize` and `schemars::JsonSchema`",
    note = "schemars must be of version 1, the same that this library uses: it is `mcp_server::schemars`",
    note = "it returns text, a number, `()`, content, a type of your own wrapped as `Json(value)`, or a `Result` of these",
    note = "the error in a `Result` is a text, which the model reads, or `CallError`, into which `?` turns any other and hides it",
    note = "`run` also takes code that returns a `Send` future of these, such as an `async` function; `run_blocking` does not"
)]
pub trait ToolFn<M>: Send + Sync + 'static {
    /// The schema of its arguments.
    #[doc(hidden)]
    fn input() -> Value;

    /// The schema of its structured result.
    #[doc(hidden)]
    fn output() -> Option<Value>;

    #[doc(hidden)]
    fn needs(needs: &mut Needs);

    #[doc(hidden)]
    fn into_code(self, place: Place) -> Code;
}

/// Marks code that returns its answer at once.
#[derive(Debug)]
pub struct Plain<M>(std::marker::PhantomData<M>);

/// Marks code that returns a future.
#[derive(Debug)]
pub struct Later<M>(std::marker::PhantomData<M>);

/// Marks code whose parameters are extractors alone.
#[derive(Debug)]
pub struct Bare<M>(std::marker::PhantomData<M>);

/// Marks code whose last parameter takes the arguments.
#[derive(Debug)]
pub struct Full<M>(std::marker::PhantomData<M>);

/// Where plain code runs.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where the request is handled: for code that does not block.
    Here,
    /// On a pool of threads.
    #[cfg(feature = "tokio")]
    Pool,
}

/// A tool's code, its types erased.
#[doc(hidden)]
pub struct Code(
    /// There until it is dropped.
    Option<Box<Erased>>,
);

type Erased = dyn Fn(Ctx, Given, &Arc<Entry>) -> Running + Send + Sync;

impl Code {
    fn new(run: impl Fn(Ctx, Given, &Arc<Entry>) -> Running + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(run)))
    }

    fn run(&self, ctx: Ctx, given: Given, entry: &Arc<Entry>) -> Running {
        match &self.0 {
            Some(run) => run(ctx, given, entry),
            None => Running::Done(Outcome::Fail(Fault::internal("Internal error: the tool could not be run"))),
        }
    }
}

/// What the code owns goes with it, and the last to hold a tool that was removed is a call that ends: a panic then is no
/// reason to lose that call's answer.
impl Drop for Code {
    fn drop(&mut self) {
        if let Err(panic) = contain(|| drop(self.0.take())) {
            tracing::error!(panic = said(&*panic), "what a tool's code owns panicked as it was dropped");
            discard(panic);
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// A tool as it is called.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Box<str>,
    /// What arguments are judged by.
    pub(crate) rules: Rules,
    /// What a result is held against, where its type does not keep to the output schema by itself.
    pub(crate) promise: Option<Promise>,
    pub(crate) tags: Map<String, Value>,
    pub(crate) states: Arc<States>,
    /// Whether the code may want to hear of the call's end.
    pub(crate) cancelling: bool,
    pub(crate) code: Code,
}

impl Entry {
    /// Runs the code once, as far as it goes without waiting.
    pub(crate) fn call(self: &Arc<Self>, call: Call, link: Link) -> Running {
        contain(|| {
            let ctx = Ctx::new(call, link, self);
            match self.judge(ctx.arguments()) {
                Ok(given) => self.code.run(ctx, given, self),
                Err(answer) => complete(answer),
            }
        })
        .unwrap_or_else(|panic| Running::Done(self.panicked(panic)))
    }

    /// The arguments as the code may read them, or the answer to arguments that the published schema does not let in.
    fn judge(&self, sent: &Bytes) -> Result<Given, ToolAnswer> {
        match self.rules.judge(sent) {
            Judged::AsSent => Ok(Given::AsSent(sent.clone())),
            Judged::Changed(value) => Ok(Given::Changed(value)),
            Judged::Broken(found) => Err(ToolAnswer::error(check::report(&self.name, &found))),
        }
    }

    /// What the code takes, or why it is not entered.
    fn read<A: Arguments>(&self, given: &Given) -> Result<A, Running> {
        A::read(given).map_err(|_| complete(arguments::refused::<A>(&self.name, given)))
    }

    fn extract<E: Extract>(&self, ctx: &Ctx) -> Result<E, Running> {
        E::extract(ctx).map_err(|error| Running::Done(self.settle(Err(error))))
    }

    fn settle(&self, result: Result<ToolAnswer, CallError>) -> Outcome {
        match result.or_else(|error| error.settle(&self.name)) {
            Ok(answer) => match self.broken_promise(&answer) {
                Some(fault) => Outcome::Fail(fault),
                None => Outcome::Complete(Answer::Tool(answer)),
            },
            Err(outcome) => outcome,
        }
    }

    /// What is sent in place of an answer that the output schema does not allow (TOOL-11). A typed result keeps its promise
    /// by derivation, and an error promises nothing.
    fn broken_promise(&self, answer: &ToolAnswer) -> Option<Fault> {
        let promise = self.promise.as_ref().filter(|_| !answer.is_error)?;
        let violations = match answer.structured.as_deref() {
            Some(result) => promise.violations(result),
            None => vec![check::Violation { path: String::new(), fault: "there is no structured result".into() }],
        };
        if violations.is_empty() {
            return None;
        }
        tracing::error!(tool = &*self.name, ?violations, "a result breaks the tool's output schema");
        Some(Fault::internal("Internal error: the tool's result does not match its output schema"))
    }

    /// To the log goes what the panic said; to the peer, that there was one (TOOL-10).
    fn panicked(&self, panic: Box<dyn Any + Send>) -> Outcome {
        tracing::error!(tool = &*self.name, panic = said(&*panic), "a tool panicked");
        discard(panic);
        Outcome::Fail(Fault::internal("Internal error: the tool panicked"))
    }

    fn now<R: IntoAnswer>(&self, result: R) -> Running {
        Running::Done(self.settle(result.into_answer()))
    }

    fn later<F>(self: &Arc<Self>, end: AtEnd, future: F) -> Running
    where
        F: Future<Output: IntoAnswer> + Send + 'static,
    {
        Running::Later(Box::pin(Contained { future: Some(future), entry: Arc::clone(self), end }))
    }

    /// Runs plain code elsewhere. Once it has begun it cannot be dropped, only asked to stop ([`Ctx::is_cancelled`]).
    #[cfg(feature = "tokio")]
    fn on_pool<R: IntoAnswer>(self: &Arc<Self>, end: AtEnd, run: impl FnOnce() -> R + Send + 'static) -> Running {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::error!(
                tool = &*self.name,
                "blocking code needs a tokio runtime around the server, and there is none"
            );
            return Running::Done(Outcome::Fail(Fault::internal("Internal error: the tool could not be run")));
        };
        let entry = Arc::clone(self);
        let task = runtime.spawn_blocking(move || {
            contain(|| entry.settle(run().into_answer())).unwrap_or_else(|panic| entry.panicked(panic))
        });
        Running::Later(Box::pin(OnPool { task, end }))
    }
}

fn complete(answer: ToolAnswer) -> Running {
    Running::Done(Outcome::Complete(Answer::Tool(answer)))
}

/// What a panic said, if it said a text.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    check::clean(text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)"))
}

/// What was thrown may panic as it is dropped; what that throws is not looked at any more.
fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = contain(move || drop(panic)) {
        std::mem::forget(again);
    }
}

/// Foreign code shares nothing with the library but its arguments, so a panic of it leaves nothing half done here.
fn contain<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(run))
}

pin_project! {
    /// A tool's future whose panics stay within: also those of its destructors, when it ends or is cancelled.
    struct Contained<F> {
        #[pin]
        future: Option<F>,
        entry: Arc<Entry>,
        end: AtEnd,
    }

    impl<F> PinnedDrop for Contained<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Err(panic) = contain(|| this.future.set(None)) {
                this.entry.panicked(panic);
            }
        }
    }
}

impl<F: Future<Output: IntoAnswer>> Future for Contained<F> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut this = self.project();
        let entry = &*this.entry;
        let polled = contain(|| match this.future.as_mut().as_pin_mut() {
            Some(future) => future.poll(cx).map(|result| entry.settle(result.into_answer())),
            None => Poll::Pending,
        });
        let outcome = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => entry.panicked(panic),
        };
        if let Err(panic) = contain(|| this.future.set(None)) {
            entry.panicked(panic);
        }
        Poll::Ready(outcome)
    }
}

/// A task on the pool. Dropped before a thread took it up, it never runs.
#[cfg(feature = "tokio")]
struct OnPool {
    task: tokio::task::JoinHandle<Outcome>,
    #[allow(dead_code, reason = "it acts when it is dropped")]
    end: AtEnd,
}

#[cfg(feature = "tokio")]
impl Future for OnPool {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        // Panics are contained in the task, so what ends it early is the end of its runtime.
        let ended = || Outcome::Fail(Fault::internal("Internal error: the server is shutting down"));
        Pin::new(&mut self.task).poll(cx).map(|joined| joined.unwrap_or_else(|_| ended()))
    }
}

#[cfg(feature = "tokio")]
impl Drop for OnPool {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One way to write a tool's code, plain and as a future: extractors, and then the arguments or none.
macro_rules! form {
    ($marker:ident, [$($extractor:ident)*], [$($arguments:ident)?]) => {
        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, R, $($extractor,)* $($arguments)?> ToolFn<Plain<$marker<($($extractor,)* $($arguments,)?)>>> for F
        where
            F: Fn($($extractor,)* $($arguments)?) -> R + Send + Sync + 'static,
            R: IntoAnswer,
            $($extractor: Extract + Send + 'static,)*
            $($arguments: Arguments,)?
        {
            form!(@about R, [$($extractor)*], [$($arguments)?]);

            fn into_code(self, place: Place) -> Code {
                match place {
                    Place::Here => Code::new(move |ctx, given, entry| {
                        let end = AtEnd(ctx.signal().cloned());
                        form!(@read ctx, given, entry, [$($extractor)*], [$($arguments)?]);
                        entry.now(self($($extractor,)* $($arguments)?))
                    }),
                    #[cfg(feature = "tokio")]
                    Place::Pool => {
                        let code = Arc::new(self);
                        Code::new(move |ctx, given, entry| {
                            let end = AtEnd(ctx.signal().cloned());
                            form!(@read ctx, given, entry, [$($extractor)*], [$($arguments)?]);
                            let code = Arc::clone(&code);
                            entry.on_pool(end, move || code($($extractor,)* $($arguments)?))
                        })
                    }
                }
            }
        }

        #[allow(non_snake_case, unused_variables, reason = "a type parameter's name is that of its value")]
        impl<F, T, $($extractor,)* $($arguments)?> ToolFn<Later<$marker<($($extractor,)* $($arguments,)?)>>> for F
        where
            F: Fn($($extractor,)* $($arguments)?) -> T + Send + Sync + 'static,
            T: Future<Output: IntoAnswer> + Send + 'static,
            $($extractor: Extract,)*
            $($arguments: Arguments,)?
        {
            form!(@about T::Output, [$($extractor)*], [$($arguments)?]);

            fn into_code(self, _: Place) -> Code {
                Code::new(move |ctx, given, entry| {
                    let end = AtEnd(ctx.signal().cloned());
                    form!(@read ctx, given, entry, [$($extractor)*], [$($arguments)?]);
                    entry.later(end, self($($extractor,)* $($arguments)?))
                })
            }
        }
    };
    (@about $result:ty, [$($extractor:ident)*], [$($arguments:ident)?]) => {
        fn input() -> Value {
            form!(@schema $($arguments)?)
        }

        fn output() -> Option<Value> {
            <$result as IntoAnswer>::output_schema()
        }

        fn needs(needs: &mut Needs) {
            $($extractor::needs(needs);)*
        }
    };
    (@schema) => { schema::nothing() };
    (@schema $arguments:ident) => { $arguments::schema() };
    (@read $ctx:ident, $given:ident, $entry:ident, [$($extractor:ident)*], [$($arguments:ident)?]) => {
        $(let $extractor = match $entry.extract::<$extractor>(&$ctx) {
            Ok(value) => value,
            Err(answer) => return answer,
        };)*
        $(let $arguments = match $entry.read::<$arguments>(&$given) {
            Ok(value) => value,
            Err(answer) => return answer,
        };)?
    };
}

macro_rules! forms {
    ($([$($extractor:ident)*])*) => {$(
        form!(Bare, [$($extractor)*], []);
        form!(Full, [$($extractor)*], [A]);
    )*};
}

forms! {
    [] [E1] [E1 E2] [E1 E2 E3] [E1 E2 E3 E4] [E1 E2 E3 E4 E5] [E1 E2 E3 E4 E5 E6] [E1 E2 E3 E4 E5 E6 E7]
    [E1 E2 E3 E4 E5 E6 E7 E8]
}
