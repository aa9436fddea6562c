//! From a closure to a call that runs: reading arguments, containing panics, settling what is returned.

mod forms;
mod subject;

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

pub use self::forms::{CompleteFn, ExtensionFn, InitFn, PromptFn, ResourceFn, TemplateFn};
pub(crate) use self::subject::{JSON, not_let_in};
use self::subject::{OfAny, Subject};
use crate::arguments::{self, Arguments, Given};
use crate::authorize::Authorizer;
use crate::call_error::CallError;
use crate::cancel::AtEnd;
use crate::check::{self, Judged, Rules};
use crate::common::Taken;
use crate::ctx::Ctx;
use crate::extract::{Extract, Needs, States};
use crate::middleware::{Around, CallResult, Left, Wraps};
use crate::tool::Promise;

/// The code of a tool: a closure or function that takes up to eight [extractors](Extract), then at most one value with all the
/// [arguments](Arguments), and returns what [`IntoAnswer`](crate::IntoAnswer) knows, at once or as a future.
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

/// Code whose types are erased.
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
            None => Running::Done(Outcome::Fail(Fault::internal("Internal error: its code is gone"))),
        }
    }
}

/// What the code owns goes with it, and the last to hold an entry that was removed is a call that ends: a panic then is no
/// reason to lose that call's answer.
impl Drop for Code {
    fn drop(&mut self) {
        if let Err(panic) = contain(|| drop(self.0.take())) {
            tracing::error!(panic = said(&*panic), "what an entry's code owns panicked as it was dropped");
            discard(panic);
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// A tool, resource, template, prompt or completion as it is called.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Its name, URI or template.
    pub(crate) name: Box<str>,
    pub(crate) tags: Map<String, Value>,
    pub(crate) states: Arc<States>,
    /// Whether the code, or what runs around it, may want to hear of the call's end.
    pub(crate) cancelling: bool,
    /// What runs around it.
    pub(crate) wraps: Wraps,
    pub(crate) code: Code,
    pub(crate) work: Work,
}

/// What is special to each kind.
#[derive(Debug)]
pub(crate) enum Work {
    Tool {
        /// What arguments are judged by.
        rules: Rules,
        /// What a result is held against, where its type does not keep to the output schema by itself.
        promise: Option<Promise>,
        /// What its module takes of the arguments.
        taken: Option<Box<Taken>>,
        /// What says who may call it, if it is sensitive.
        authorizer: Option<Authorizer>,
    },
    Resource {
        /// Of contents that name none.
        mime: Option<Box<str>>,
        /// The same of `_meta`.
        meta: Option<Box<str>>,
        /// The names of a template's variables, in order.
        variables: Box<[Box<str>]>,
    },
    Prompt {
        description: Option<Box<str>>,
        /// The names of its arguments, in order.
        arguments: Box<[Box<str>]>,
        /// What they are judged by, if a type says it.
        rules: Option<Rules>,
    },
    Completion,
    /// Of an extension.
    Method,
    /// Whether a client is let in.
    Init,
}

impl Entry {
    /// Runs the code once, as far as it goes without waiting.
    pub(crate) fn call(self: &Arc<Self>, call: Call, link: Link) -> Running {
        let wrapped = !self.wraps.is_empty() || self.authorizer().is_some();
        contain(|| {
            let ctx = Ctx::new(call, link, self, wrapped);
            if wrapped { self.wrapped(ctx) } else { self.run(ctx) }
        })
        .unwrap_or_else(|panic| Running::Done(self.panicked(panic)))
    }

    fn run(self: &Arc<Self>, ctx: Ctx) -> Running {
        match self.judge(&ctx) {
            Ok(given) => self.enter(ctx, given),
            Err(ended) => ended,
        }
    }

    fn enter(self: &Arc<Self>, mut ctx: Ctx, given: Given) -> Running {
        let given = self.part(&mut ctx, given);
        self.code.run(ctx, given, self)
    }

    fn authorizer(&self) -> Option<&Authorizer> {
        match &self.work {
            Work::Tool { authorizer, .. } => authorizer.as_ref(),
            _ => None,
        }
    }

    /// The same with what runs around it.
    fn wrapped(self: &Arc<Self>, ctx: Ctx) -> Running {
        let (memo, end) = (OfAny::memo(&ctx), AtEnd::of_call(&ctx));
        let future = Around { entry: Arc::clone(self), ctx, passed: 0 }.run();
        let reply = Replied { reply: |result| result, ending: Ending { memo, left: None } };
        Running::Later(Box::pin(Contained::<_, _, OfAny> { future: Some(future), reply, entry: Arc::clone(self), end }))
    }

    /// What comes of the code, for those around it: not put into words yet.
    pub(crate) async fn raw(self: Arc<Self>, ctx: Ctx) -> CallResult {
        match contain(|| self.judge(&ctx)) {
            // Judged once: what is asked about is what the code gets.
            Ok(Ok(given)) => match self.authorizer() {
                Some(authorizer) => {
                    let shown = ctx.clone().with_arguments(&given);
                    let enter = |ctx: Ctx| self.left_by(ctx.left(), contain(|| self.enter(ctx, given)));
                    authorizer.before(&shown, ctx, enter).await
                }
                None => self.left_by(ctx.left(), contain(|| self.enter(ctx, given))).await,
            },
            // What the schema refuses is told so, and nobody is asked about it.
            Ok(Err(refused)) => {
                let left = ctx.left();
                left.iter().for_each(|left| left.not_entered());
                self.left_by(left, Ok(refused)).await
            }
            Err(panic) => self.left_by(None, Err(panic)).await,
        }
    }

    async fn left_by(&self, left: Option<Arc<Left>>, begun: Result<Running, Box<dyn Any + Send>>) -> CallResult {
        let outcome = match begun {
            Ok(Running::Done(outcome)) => outcome,
            Ok(Running::Later(future)) => future.await,
            Err(panic) => self.panicked(panic),
        };
        left.and_then(|left| left.take()).unwrap_or_else(|| match outcome {
            Outcome::Complete(answer) => Ok(answer),
            Outcome::Fail(fault) => Err(CallError::fault(fault)),
            Outcome::Ask { questions, state } => Err(CallError::ask(questions, state)),
            _ => Err(CallError::hidden("the call ended in a way that is not known here")),
        })
    }

    /// Arguments without those that are the module's, which the context has from then on.
    fn part(&self, ctx: &mut Ctx, mut given: Given) -> Given {
        if let Some(taken) = self.taken() {
            ctx.set_common(match &mut given {
                Given::Changed(arguments) => taken.split(arguments),
                // The tool skips all of them: where it has some, its arguments are judged as a value.
                Given::AsSent(_) => Map::new(),
            });
        }
        given
    }

    pub(crate) fn taken(&self) -> Option<&Taken> {
        match &self.work {
            Work::Tool { taken, .. } => taken.as_deref(),
            _ => None,
        }
    }

    /// What it is, in a word.
    pub(crate) const fn noun(&self) -> &'static str {
        match self.work {
            Work::Tool { .. } => "tool",
            Work::Resource { .. } => "resource",
            Work::Prompt { .. } => "prompt",
            Work::Completion => "completion",
            Work::Method => "method",
            Work::Init => "init",
        }
    }

    /// A tool's arguments as the code may read them, or the answer to arguments that the schema does not let in.
    fn judge(&self, ctx: &Ctx) -> Result<Given, Running> {
        let rules = match &self.work {
            Work::Tool { rules, .. } => rules,
            Work::Prompt { rules: Some(rules), .. } => rules,
            // They are read from the call.
            _ => return Ok(Given::AsSent(Bytes::new())),
        };
        let sent = ctx.arguments();
        match rules.judge(sent) {
            Judged::AsSent => Ok(Given::AsSent(sent.clone())),
            Judged::Changed(value) => Ok(Given::Changed(value)),
            Judged::Broken(mut found) => {
                if let Work::Prompt { .. } = self.work {
                    // All of its arguments are texts: what is wrong is what this one spells.
                    for one in &mut found {
                        if let Some(expected) = one.fault.strip_suffix(", got a string") {
                            one.fault = format!("{expected}, written as a text");
                        }
                    }
                }
                let text = check::report(self.noun(), &self.name, &found);
                Err(match self.work {
                    Work::Tool { .. } => complete(ToolAnswer::error(text)),
                    _ => Running::Done(Outcome::Fail(Fault::invalid_params(text))),
                })
            }
        }
    }

    /// What a tool's code takes, or why it is not entered.
    fn read<A: Arguments>(&self, given: &Given) -> Result<A, Running> {
        A::read(given).map_err(|_| complete(arguments::refused::<A>(&self.name, given)))
    }

    fn extract<S: Subject, E: Extract>(&self, ctx: &Ctx) -> Result<E, Running> {
        self.or_end::<S, E>(ctx, E::extract(ctx))
    }

    /// What was read, or the end of the call without it.
    fn or_end<S: Subject, T>(&self, ctx: &Ctx, read: Result<T, CallError>) -> Result<T, Running> {
        read.map_err(|error| Running::Done(Ending::<S>::of(ctx).settle(self, Err(error))))
    }

    /// To the log goes what the panic said; to the peer, that there was one (TOOL-10).
    fn panicked(&self, panic: Box<dyn Any + Send>) -> Outcome {
        let noun = self.noun();
        match self.work {
            Work::Tool { .. } => tracing::error!(tool = &*self.name, panic = said(&*panic), "a tool panicked"),
            _ => tracing::error!(entry = &*self.name, panic = said(&*panic), "a {noun} panicked"),
        }
        discard(panic);
        if matches!(self.work, Work::Init) {
            return Outcome::Fail(not_let_in());
        }
        Outcome::Fail(Fault::internal(format!("Internal error: the {noun} panicked")))
    }

    /// The same for what runs around it.
    pub(crate) fn broken(&self, panic: Box<dyn Any + Send>) -> CallError {
        match self.panicked(panic) {
            Outcome::Fail(fault) => CallError::fault(fault),
            _ => CallError::hidden("what runs around the code panicked"),
        }
    }

    fn now<S: Subject>(&self, ending: &Ending<S>, result: Result<S::Answer, CallError>) -> Running {
        Running::Done(ending.settle(self, result))
    }

    fn later<S, F, C>(self: &Arc<Self>, end: AtEnd, ending: Ending<S>, future: F, reply: C) -> Running
    where
        S: Subject + 'static,
        F: Future + Send + 'static,
        C: Fn(F::Output) -> Result<S::Answer, CallError> + Send + 'static,
    {
        let entry = Arc::clone(self);
        let reply = Replied { reply, ending };
        Running::Later(Box::pin(Contained::<F, C, S> { future: Some(future), reply, entry, end }))
    }

    /// Runs plain code elsewhere. Once it has begun it cannot be dropped, only asked to stop ([`Ctx::is_cancelled`]).
    #[cfg(feature = "tokio")]
    fn on_pool<S: Subject + 'static>(
        self: &Arc<Self>,
        end: AtEnd,
        ending: Ending<S>,
        run: impl FnOnce() -> Result<S::Answer, CallError> + Send + 'static,
    ) -> Running {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::error!(
                tool = &*self.name,
                "blocking code needs a tokio runtime around the server, and there is none"
            );
            let message = format!("Internal error: the {} could not be run", self.noun());
            return Running::Done(Outcome::Fail(Fault::internal(message)));
        };
        let entry = Arc::clone(self);
        // It cannot be dropped once it runs, so what is held for it stays so until it has ended.
        let held = ending.left.as_ref().map(|left| left.take_held());
        let task = runtime.spawn_blocking(move || {
            let _held = held;
            contain(|| ending.settle(&entry, run())).unwrap_or_else(|panic| entry.panicked(panic))
        });
        Running::Later(Box::pin(OnPool { task, end }))
    }
}

/// How what a future gives becomes the end of its call.
struct Replied<C, S: Subject> {
    reply: C,
    ending: Ending<S>,
}

/// Where what came of the code goes: into words, or to those around it, who may think of something else.
struct Ending<S: Subject> {
    memo: S::Memo,
    left: Option<Arc<Left>>,
}

impl<S: Subject> Ending<S> {
    fn of(ctx: &Ctx) -> Self {
        Self { memo: S::memo(ctx), left: ctx.left() }
    }

    fn settle(&self, entry: &Entry, result: Result<S::Answer, CallError>) -> Outcome {
        match &self.left {
            None => S::settle(entry, &self.memo, result),
            Some(left) => {
                left.put(result.map(S::answer));
                // Nobody looks at it.
                Outcome::Fail(Fault::internal("Internal error: a result was left behind"))
            }
        }
    }
}

fn complete(answer: ToolAnswer) -> Running {
    Running::Done(Outcome::Complete(Answer::Tool(answer)))
}

/// What a panic said, if it said a text.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    check::clean(text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)"))
}

/// What was thrown may panic as it is dropped; what that throws is not looked at any more.
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(again) = contain(move || drop(panic)) {
        std::mem::forget(again);
    }
}

/// Foreign code shares nothing with the library but its arguments, so a panic of it leaves nothing half done here.
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(run))
}

pin_project! {
    /// A future whose panics stay within: also those of its destructors, when it ends or is cancelled.
    struct Contained<F, C, S: Subject> {
        #[pin]
        future: Option<F>,
        reply: Replied<C, S>,
        entry: Arc<Entry>,
        end: AtEnd,
    }

    impl<F, C, S: Subject> PinnedDrop for Contained<F, C, S> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Err(panic) = contain(|| this.future.set(None)) {
                this.entry.panicked(panic);
            }
        }
    }
}

impl<F, C, S> Future for Contained<F, C, S>
where
    F: Future,
    C: Fn(F::Output) -> Result<S::Answer, CallError>,
    S: Subject,
{
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut this = self.project();
        let (entry, reply) = (&**this.entry, &*this.reply);
        let polled = contain(|| match this.future.as_mut().as_pin_mut() {
            Some(future) => future.poll(cx).map(|result| reply.ending.settle(entry, (reply.reply)(result))),
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
