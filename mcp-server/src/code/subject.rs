//! What code is for: how what it returns becomes the end of a call.

use bytes::Bytes;
use mcp_core::answer::{Answer, Completion, PromptAnswer, ResourceAnswer, ToolAnswer};
use mcp_core::fault::{Fault, reflect};
use mcp_core::{Kind, Outcome};

use super::{Entry, Work};
use crate::assigns;
use crate::call_error::CallError;
use crate::check;
use crate::ctx::Ctx;

/// What code is for.
pub(crate) trait Subject {
    /// What it answers.
    type Answer;

    /// What has to be known of the call at its end.
    type Memo: Send + 'static;

    fn memo(ctx: &Ctx) -> Self::Memo;

    fn settle(entry: &Entry, memo: &Self::Memo, result: Result<Self::Answer, CallError>) -> Outcome;

    /// Its answer as one of any kind.
    fn answer(answer: Self::Answer) -> Answer;
}

/// A tool.
#[derive(Debug)]
pub(crate) struct OfTool;

/// A resource, or the instances of a template.
#[derive(Debug)]
pub(crate) struct OfResource;

/// A prompt.
#[derive(Debug)]
pub(crate) struct OfPrompt;

/// A method of an extension.
#[derive(Debug)]
pub(crate) struct OfExtension;

/// Whether a client is let in, and what is kept of it.
#[derive(Debug)]
pub(crate) struct OfInit;

/// Proposals for an argument or a variable.
#[derive(Debug)]
pub(crate) struct OfCompletion;

impl Subject for OfTool {
    type Answer = ToolAnswer;
    type Memo = ();

    fn memo(_: &Ctx) {}

    fn settle(entry: &Entry, (): &(), result: Result<ToolAnswer, CallError>) -> Outcome {
        match result.or_else(|error| error.settle(&entry.name)) {
            Ok(answer) => match broken_promise(entry, &answer) {
                Some(fault) => Outcome::Fail(fault),
                None => Outcome::Complete(Answer::Tool(answer)),
            },
            Err(outcome) => outcome,
        }
    }

    fn answer(answer: Self::Answer) -> Answer {
        Answer::Tool(answer)
    }
}

/// What is sent in place of an answer that the output schema does not allow (TOOL-11). A typed result keeps its promise
/// by derivation, and an error promises nothing.
fn broken_promise(entry: &Entry, answer: &ToolAnswer) -> Option<Fault> {
    let Work::Tool { promise: Some(promise), .. } = &entry.work else { return None };
    if answer.is_error {
        return None;
    }
    let violations = match answer.structured.as_deref() {
        Some(result) => promise.violations(result),
        None => vec![check::Violation { path: String::new(), fault: "there is no structured result".into() }],
    };
    if violations.is_empty() {
        return None;
    }
    tracing::error!(tool = &*entry.name, ?violations, "a result breaks the tool's output schema");
    Some(Fault::internal("Internal error: the tool's result does not match its output schema"))
}

impl Subject for OfResource {
    type Answer = ResourceAnswer;
    type Memo = Box<str>;

    fn memo(ctx: &Ctx) -> Box<str> {
        ctx.uri().unwrap_or_default().into()
    }

    fn settle(entry: &Entry, uri: &Box<str>, result: Result<ResourceAnswer, CallError>) -> Outcome {
        let mut answer = match result {
            Ok(answer) => answer,
            Err(error) => return error.fail(&entry.name, entry.noun(), || Fault::resource_not_found(uri)),
        };
        if let Work::Resource { mime, meta, .. } = &entry.work {
            for contents in answer.contents.iter_mut().filter(|contents| contents.uri.is_none()) {
                let own = contents.mime.as_deref();
                // A more telling name of the same: `application/geo+json` for JSON.
                let telling = own == Some(JSON) && mime.as_ref().is_some_and(|mime| mime.ends_with("+json"));
                if own.is_none() || telling {
                    contents.mime.clone_from(mime);
                }
                if contents.meta.is_none() {
                    contents.meta.clone_from(meta);
                }
            }
        }
        Outcome::Complete(Answer::Resource(answer))
    }

    fn answer(answer: Self::Answer) -> Answer {
        Answer::Resource(answer)
    }
}

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

impl Subject for OfPrompt {
    type Answer = PromptAnswer;
    type Memo = ();

    fn memo(_: &Ctx) {}

    fn settle(entry: &Entry, (): &(), result: Result<PromptAnswer, CallError>) -> Outcome {
        let missing = || Fault::invalid_params(format!("Unknown prompt: {}", reflect(&entry.name)));
        match result {
            Ok(mut answer) => {
                if let (None, Work::Prompt { description, .. }) = (&answer.description, &entry.work) {
                    answer.description.clone_from(description);
                }
                Outcome::Complete(Answer::Prompt(answer))
            }
            Err(error) => error.fail(&entry.name, entry.noun(), missing),
        }
    }

    fn answer(answer: Self::Answer) -> Answer {
        Answer::Prompt(answer)
    }
}

impl Subject for OfExtension {
    type Answer = Bytes;
    type Memo = ();

    fn memo(_: &Ctx) {}

    fn settle(entry: &Entry, (): &(), result: Result<Bytes, CallError>) -> Outcome {
        match result {
            Ok(members) => Outcome::Complete(Answer::Extension(members)),
            Err(error) => match error.fail(&entry.name, entry.noun(), || Fault::invalid_params("Not found")) {
                // MRTR-1 names the methods that may.
                Outcome::Ask { .. } => {
                    tracing::error!(entry = &*entry.name, "a method of an extension cannot ask the client");
                    Outcome::Fail(Fault::internal("Internal error: the method failed"))
                }
                outcome => outcome,
            },
        }
    }

    fn answer(answer: Self::Answer) -> Answer {
        Answer::Extension(answer)
    }
}

/// What a client is told that is not let in for a reason that is nothing to others.
pub(crate) fn not_let_in() -> Fault {
    Fault::init_failed("internal error")
}

impl Subject for OfInit {
    type Answer = Bytes;
    type Memo = ();

    fn memo(_: &Ctx) {}

    fn settle(entry: &Entry, (): &(), result: Result<Bytes, CallError>) -> Outcome {
        let kept = result.and_then(|assigns| match assigns::fits(&assigns, entry.states.assigns) {
            Ok(()) => Ok(assigns),
            Err(error) => Err(CallError::hidden(error)),
        });
        match kept {
            Ok(assigns) => Outcome::Complete(Answer::Init(assigns)),
            Err(error) => Outcome::Fail(error.refuse()),
        }
    }

    fn answer(answer: Self::Answer) -> Answer {
        Answer::Init(answer)
    }
}

impl Subject for OfCompletion {
    type Answer = Completion;
    type Memo = Option<Box<str>>;

    fn memo(ctx: &Ctx) -> Option<Box<str>> {
        match ctx.kind() {
            Kind::Complete { argument, .. } => Some(argument.clone()),
            _ => None,
        }
    }

    fn settle(entry: &Entry, argument: &Self::Memo, result: Result<Completion, CallError>) -> Outcome {
        let missing = || {
            let argument = reflect(argument.as_deref().unwrap_or_default());
            Fault::invalid_params(format!("Nothing is known of `{argument}` of {}", reflect(&entry.name)))
        };
        match result {
            Ok(answer) => Outcome::Complete(Answer::Complete(answer)),
            Err(error) => match error.fail(&entry.name, entry.noun(), missing) {
                // COMP-1 knows no questions.
                Outcome::Ask { .. } => {
                    tracing::error!(entry = &*entry.name, "a completion cannot ask the client");
                    Outcome::Fail(Fault::internal("Internal error: the completion failed"))
                }
                outcome => outcome,
            },
        }
    }

    fn answer(answer: Self::Answer) -> Answer {
        Answer::Complete(answer)
    }
}

/// Whatever it is, once all that runs around it has had its say.
#[derive(Debug)]
pub(crate) struct OfAny;

/// What the kinds have to know of a call at its end.
pub(crate) struct Memos {
    uri: Box<str>,
    argument: Option<Box<str>>,
}

impl Subject for OfAny {
    type Answer = Answer;
    type Memo = Memos;

    fn memo(ctx: &Ctx) -> Memos {
        Memos { uri: OfResource::memo(ctx), argument: OfCompletion::memo(ctx) }
    }

    fn settle(entry: &Entry, memo: &Memos, result: Result<Answer, CallError>) -> Outcome {
        match (&entry.work, result) {
            (Work::Tool { .. }, Ok(Answer::Tool(answer))) => OfTool::settle(entry, &(), Ok(answer)),
            (Work::Tool { .. }, Err(error)) => OfTool::settle(entry, &(), Err(error)),
            (Work::Resource { .. }, Ok(Answer::Resource(answer))) => OfResource::settle(entry, &memo.uri, Ok(answer)),
            (Work::Resource { .. }, Err(error)) => OfResource::settle(entry, &memo.uri, Err(error)),
            (Work::Prompt { .. }, Ok(Answer::Prompt(answer))) => OfPrompt::settle(entry, &(), Ok(answer)),
            (Work::Prompt { .. }, Err(error)) => OfPrompt::settle(entry, &(), Err(error)),
            (Work::Completion, Ok(Answer::Complete(answer))) => OfCompletion::settle(entry, &memo.argument, Ok(answer)),
            (Work::Completion, Err(error)) => OfCompletion::settle(entry, &memo.argument, Err(error)),
            (Work::Method, Ok(Answer::Extension(answer))) => OfExtension::settle(entry, &(), Ok(answer)),
            (Work::Method, Err(error)) => OfExtension::settle(entry, &(), Err(error)),
            (Work::Init, Ok(Answer::Init(answer))) => OfInit::settle(entry, &(), Ok(answer)),
            (Work::Init, Err(error)) => OfInit::settle(entry, &(), Err(error)),
            (_, Ok(_)) => {
                let noun = entry.noun();
                tracing::error!(entry = &*entry.name, "a middleware gave an answer that is none of a {noun}");
                Outcome::Fail(Fault::internal(format!("Internal error: the {noun} failed")))
            }
        }
    }

    fn answer(answer: Answer) -> Answer {
        answer
    }
}
