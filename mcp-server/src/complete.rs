//! Proposals for an argument that is being typed.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_core::Kind;
use mcp_core::answer::Completion;

use crate::call_error::{CallError, IntoCallError};
use crate::code::{Code, CompleteFn, Entry, Place, Work};
use crate::ctx::Ctx;
use crate::extract::{Needs, States};
use crate::middleware::Wraps;

/// What is being completed: what was typed, and what is known of the other arguments.
///
/// ```
/// use mcp_server::{Completing, Prompt};
///
/// let cities = |typed: Completing| match typed.get("country") {
///     Some("fr") => vec!["Lyon", "Paris"],
///     _ => vec!["Bern", "Lyon", "Oslo", "Paris"],
/// };
/// let prompt = Prompt::new("trip")
///     .description("Plans a trip.")
///     .required("country", "Where to")
///     .required("city", "Which city")
///     .run(|(country, city): (String, String)| format!("Plan a trip to {city} in {country}."))
///     .complete("city", cities);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completing {
    /// The name of the argument or variable.
    pub argument: String,
    /// What was typed so far; may be empty.
    pub value: String,
    /// The other arguments, where the client says what they are: from 2025-06-18 on (COMP-1).
    pub arguments: BTreeMap<String, String>,
}

impl Completing {
    /// What is known of another argument.
    #[must_use]
    pub fn get(&self, argument: &str) -> Option<&str> {
        self.arguments.get(argument).map(String::as_str)
    }
}

/// What the code of a completion may take as its last parameter: `String`, what was typed so far, or [`Completing`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a completion may take",
    label = "neither `String` nor `Completing`",
    note = "a completion takes what was typed so far, as `String`, or `Completing`, which knows the other arguments too"
)]
pub trait Typed: Sized + Send + 'static {
    #[doc(hidden)]
    fn typed(completing: Completing) -> Self;
}

impl Typed for Completing {
    fn typed(completing: Completing) -> Self {
        completing
    }
}

impl Typed for String {
    fn typed(completing: Completing) -> Self {
        completing.value
    }
}

pub(crate) fn typed<T: Typed>(ctx: &Ctx) -> Result<T, CallError> {
    let completing = match ctx.kind() {
        Kind::Complete { argument, value, context, .. } => Completing {
            argument: String::from(&**argument),
            value: String::from(&**value),
            arguments: serde_json::from_slice(context)?,
        },
        _ => Completing::default(),
    };
    Ok(T::typed(completing))
}

/// What the code of a completion may return: a list of texts, the best first, a [`Completion`], or a `Result` of these.
///
/// The client gets the first hundred, and how many there are (COMP-3).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a completion may return",
    label = "neither a `Vec` of texts, a `Completion`, nor a `Result` of these",
    note = "collect an iterator into a `Vec`"
)]
pub trait IntoCompletion {
    /// The proposals, or why there are none.
    ///
    /// # Errors
    ///
    /// What the code failed with.
    fn into_completion(self) -> Result<Completion, CallError>;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Result<Completion, CallError> {
        Ok(self)
    }
}

impl<T: Into<String>> IntoCompletion for Vec<T> {
    fn into_completion(self) -> Result<Completion, CallError> {
        Ok(Completion::new(self.into_iter().map(Into::into).collect()))
    }
}

impl<T: Into<String>, const N: usize> IntoCompletion for [T; N] {
    fn into_completion(self) -> Result<Completion, CallError> {
        Vec::from(self).into_completion()
    }
}

impl IntoCompletion for &'static [&'static str] {
    fn into_completion(self) -> Result<Completion, CallError> {
        self.to_vec().into_completion()
    }
}

impl<T: IntoCompletion, E: IntoCallError> IntoCompletion for Result<T, E> {
    fn into_completion(self) -> Result<Completion, CallError> {
        self.map_err(IntoCallError::into_call_error)?.into_completion()
    }
}

/// The code that completes one argument.
pub(crate) struct Completer {
    pub(crate) argument: Box<str>,
    pub(crate) needs: Needs,
    /// Whether nobody asked for it: a type says what the argument may be.
    pub(crate) implied: bool,
    pub(crate) code: Code,
}

impl Completer {
    pub(crate) fn new<F: CompleteFn<M>, M>(argument: &str, code: F) -> Self {
        let mut needs = Needs::default();
        F::needs(&mut needs);
        Self { argument: argument.into(), needs, implied: false, code: code.into_code(Place::Here) }
    }

    /// Proposes those of a list that begin with what was typed, in either case.
    pub(crate) fn of_list<T: Into<String>>(argument: &str, values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        Self::new(argument, move |typed: String| {
            let typed = typed.to_lowercase();
            let fits = |value: &&String| value.to_lowercase().starts_with(&typed);
            values.iter().filter(fits).cloned().collect::<Vec<String>>()
        })
    }

    /// As it is called: the entry of the prompt or template that it belongs to has that name and these tags.
    pub(crate) fn into_entry(
        self,
        name: &str,
        tags: serde_json::Map<String, serde_json::Value>,
        states: &Arc<States>,
        wraps: &Wraps,
    ) -> (Box<str>, Arc<Entry>) {
        let entry = Entry {
            name: name.into(),
            tags,
            states: Arc::clone(states),
            cancelling: self.needs.cancelling || wraps.needs().cancelling,
            wraps: wraps.clone(),
            code: self.code,
            work: Work::Completion,
        };
        (self.argument, Arc::new(entry))
    }
}
