//! A prompt: what clients see of it, and the code that writes its messages.

mod typed;

use std::fmt;

use mcp_core::catalog::{self, Handle, PromptArgument};

use crate::arguments::Arguments;
use crate::check::{Options, Rules};
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::{Place, PromptFn, Work};
use crate::complete::Completer;
use crate::extract::Needs;
use crate::facts::{Facts, Parts, Run, Terms, Workshop, completes, facts, told};
use crate::schema::{self, Derived};

/// A prompt to be registered with [`Server::prompt`](crate::Server::prompt): a name, arguments, and code that writes messages.
///
/// ```
/// use mcp_server::{Prompt, PromptMessage, Server};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Review {
///     code: String,
///     language: Option<String>,
/// }
///
/// let review = Prompt::new("review")
///     .description("Reviews code.")
///     .required("code", "The code")
///     .argument("language", "What it is written in")
///     .complete_from("language", ["c", "java", "python", "rust"])
///     .run(|args: Review| {
///         let language = args.language.as_deref().unwrap_or("some language");
///         [
///             PromptMessage::system("You review code, and are brief."),
///             PromptMessage::user(format!("Review this, written in {language}:\n{}", args.code)),
///         ]
///     });
///
/// Server::new("my-app", "1.0.0").prompt(review).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// Arguments are texts on the wire; the code takes them as a type of its own, see [`FromTexts`](crate::FromTexts). A call that
/// lacks a required one never reaches the code, and one that the type does not take is told by name: -32602 (PROMPT-3).
#[must_use = "a prompt does nothing until it is registered with `Server::prompt`"]
pub struct Prompt {
    facts: Facts,
    arguments: Vec<PromptArg>,
    /// The schema of its arguments, if a type says what they are.
    typed: Option<Derived>,
}

/// An argument of a [`Prompt`]: a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an argument belongs to a prompt: give it to `Prompt::arg`"]
pub struct PromptArg {
    name: Box<str>,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
    required: bool,
}

impl PromptArg {
    /// An optional argument of that name.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self { name: name.as_ref().into(), title: None, description: None, required: false }
    }

    /// A name for people.
    pub fn title(mut self, title: impl AsRef<str>) -> Self {
        self.title = Some(title.as_ref().into());
        self
    }

    /// What it is.
    pub fn description(mut self, description: impl AsRef<str>) -> Self {
        self.description = Some(description.as_ref().into());
        self
    }

    /// The prompt is not run without it.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl Prompt {
    /// A prompt of that name, at most 128 bytes (PROMPT-1).
    #[track_caller]
    pub fn new(name: impl AsRef<str>) -> Self {
        Self { facts: Facts::new(name.as_ref()), arguments: Vec::new(), typed: None }
    }

    /// The same prompt under another name.
    pub fn renamed(mut self, name: impl AsRef<str>) -> Self {
        self.facts.key = name.as_ref().into();
        self
    }

    facts!("Prompt");

    /// One more argument, which may be missing, and what it is.
    pub fn argument(self, name: impl AsRef<str>, description: impl AsRef<str>) -> Self {
        self.arg(PromptArg::new(name).description(description))
    }

    /// One more argument, without which the prompt is not run, and what it is.
    pub fn required(self, name: impl AsRef<str>, description: impl AsRef<str>) -> Self {
        self.arg(PromptArg::new(name).description(description).required())
    }

    /// One more argument.
    pub fn arg(mut self, argument: PromptArg) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Its arguments as a type has them, one for each field: name, description, whether it is required. All that its schema
    /// says is enforced before the code runs, which takes the same type; what a field of a few words may be is proposed.
    ///
    /// ```
    /// use mcp_server::{Arguments, Prompt, Server};
    ///
    /// #[derive(Arguments)]
    /// struct Review {
    ///     /// The code
    ///     code: String,
    ///     #[arg(desc = "How hard", min = 1, max = 5, default = 3)]
    ///     level: u8,
    /// }
    ///
    /// let review = Prompt::new("review")
    ///     .description("Reviews code.")
    ///     .arguments::<Review>()
    ///     .run(|args: Review| format!("Review at level {}:\n{}", args.level, args.code));
    /// Server::new("my-app", "1.0.0").prompt(review).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    pub fn arguments<A: Arguments>(mut self) -> Self {
        let derived = schema::derive(A::schema);
        match typed::arguments(&derived.published) {
            Ok(arguments) => {
                for (argument, values) in arguments {
                    if !values.is_empty() {
                        let completer = Completer { implied: true, ..Completer::of_list(&argument.name, values) };
                        self.facts.complete(completer);
                    }
                    self.arguments.push(argument);
                }
                self.typed = Some(derived);
            }
            Err(faults) => self.facts.wrong.extend(faults.into_iter().map(|fault| ("PROMPT-2", fault.into()))),
        }
        self
    }

    completes!("prompt", "arguments");

    /// The code, plain or asynchronous: see [`PromptFn`]. The type of a closure's arguments must be written out, as in
    /// `|args: Review|`; it owns its data.
    ///
    /// It runs where the request is handled and is polled there at once; it must not block a thread for long. A panic becomes
    /// an error to this caller alone.
    pub fn run<F, M>(mut self, code: F) -> Self
    where
        F: PromptFn<M>,
    {
        self.facts.run = Some(run(code, Place::Here));
        self
    }

    /// Plain code that blocks: it runs on tokio's pool of blocking threads. See [`Tool::run_blocking`](crate::Tool::run_blocking).
    #[cfg(feature = "tokio")]
    pub fn run_blocking<F, M>(mut self, code: F) -> Self
    where
        F: PromptFn<Plain<M>>,
    {
        self.facts.run = Some(run(code, Place::Pool));
        self
    }

    /// Whether it completes an argument.
    pub(crate) fn completes(&self) -> bool {
        !self.facts.completers.is_empty()
    }

    /// Its two halves: what the catalogue shows, and what runs. `None` if they cannot be had, and then there are defects.
    pub(crate) fn split(self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(catalog::Prompt, Parts)> {
        let Self { mut facts, arguments, typed } = self;
        facts.inherit(workshop);
        let rules = typed.and_then(|Derived { marked, checks, .. }| {
            let options = Options { coerce: true, ..Options::default() };
            let faults = |fault: String| workshop.add(&facts.key, "PROMPT-2", fault);
            Rules::compile(&marked, &checks, options).map_err(|found| found.into_iter().for_each(faults)).ok()
        });
        let mut shown = catalog::Prompt::new(&facts.key, handle);
        for argument in &arguments {
            let completed = facts.completers.iter().any(|completer| completer.argument == argument.name);
            shown = shown.with_argument(argument.shown(completed));
        }
        let names = || arguments.iter().map(|argument| &*argument.name);
        let terms = Terms {
            rule: "PROMPT-2",
            texts_rule: "PROMPT-3",
            texts: "arguments",
            names: Some(names().collect()),
            optional: arguments.iter().filter(|argument| !argument.required).map(|argument| &*argument.name).collect(),
        };
        let declared = names().map(Into::into).collect();
        let work = Work::Prompt { description: facts.description.clone(), arguments: declared, rules };
        let parts = workshop.ready(&mut facts, &terms, work);
        let shown = told!(&mut facts, shown);
        Some((shown, parts?))
    }
}

impl PromptArg {
    fn shown(&self, completed: bool) -> PromptArgument {
        let mut shown = PromptArgument::new(&self.name);
        if let Some(title) = &self.title {
            shown = shown.with_title(title);
        }
        if let Some(description) = &self.description {
            shown = shown.with_description(description);
        }
        if self.required {
            shown = shown.required();
        }
        if completed { shown.completes() } else { shown }
    }
}

fn run<F: PromptFn<M>, M>(code: F, place: Place) -> Run {
    let mut needs = Needs::default();
    F::needs(&mut needs);
    Run { needs, code: code.into_code(place), needed: F::needed() }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("name", &self.facts.key)
            .field("has_code", &self.facts.run.is_some())
            .finish_non_exhaustive()
    }
}
