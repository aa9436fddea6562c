//! Forms derived from a type.

use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use mcp_core::Peer;
use mcp_core::question::Question;

use super::flat::{self, Filled};
use super::{Ask, Said, sealed};
use crate::arguments::{Arguments, Given};
use crate::check::{Options, Rules};
use crate::schema;

/// A form for a type of yours: a struct whose fields are texts, numbers, booleans, and enums without data, alone or in a list.
/// `Option`s may be left empty. The answer is the struct, and keeps all that its schema says (ELIC-6).
///
/// ```
/// use mcp_server::Arguments;
/// use mcp_server::ask::elicit_as;
///
/// #[derive(Arguments)]
/// struct Order {
///     /// How many?
///     #[arg(min = 1, max = 10)]
///     pieces: u32,
///     /// Where to?
///     address: Option<String>,
/// }
///
/// let question = elicit_as::<Order>("What may it be?");
/// # question.schema().unwrap();
/// ```
///
/// A type that a form cannot ask for is found when it is first asked, or by [`FormOf::schema`] in a test.
pub fn elicit_as<T: Arguments>(message: impl Into<String>) -> FormOf<T> {
    FormOf { message: message.into(), answer: PhantomData }
}

/// A form that was derived from a type: see [`elicit_as`].
#[must_use = "a question is asked with `Ctx::ask`"]
pub struct FormOf<T> {
    message: String,
    answer: PhantomData<fn() -> T>,
}

impl<T: Arguments> FormOf<T> {
    /// The schema that clients get (ELIC-4).
    ///
    /// # Errors
    ///
    /// Everything in the type that a form cannot ask for, each with its field.
    pub fn schema(&self) -> Result<crate::Value, String> {
        let shape = shape::<T>();
        shape
            .published
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|text| serde_json::from_str(text).map_err(|e| e.to_string()))
    }
}

impl<T> Clone for FormOf<T> {
    fn clone(&self) -> Self {
        Self { message: self.message.clone(), answer: PhantomData }
    }
}

impl<T> fmt::Debug for FormOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormOf").field("message", &self.message).field("answer", &type_name::<T>()).finish()
    }
}

impl<T> sealed::Sealed for FormOf<T> {}

impl<T: Arguments> Ask for FormOf<T> {
    type Answer = T;

    fn question(&self, _: Option<&Peer>) -> Result<Question, String> {
        let schema = shape::<T>().published.clone()?;
        Ok(Question::Form { message: self.message.as_str().into(), schema: schema.into() })
    }

    fn read(&self, result: &[u8]) -> Said<T> {
        let shape = shape::<T>();
        let rules = match &shape.rules {
            Ok(rules) => rules,
            Err(why) => return Said::Wrong(why.clone()),
        };
        flat::read(result, rules, |filled| {
            let given = match filled {
                Filled::AsSent(text) => Given::AsSent(text),
                Filled::Changed(value) => Given::Changed(value),
            };
            T::read(&given).map_err(|error| error.to_string())
        })
    }
}

/// What a type's form is, made once.
struct Shape {
    published: Result<String, String>,
    rules: Result<Rules, String>,
}

fn shape<T: Arguments>() -> Arc<Shape> {
    /// As many as there are types in the program.
    static SHAPES: LazyLock<Mutex<HashMap<TypeId, Arc<Shape>>>> = LazyLock::new(Mutex::default);
    let known = || SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shape) = known().get(&TypeId::of::<T>()) {
        return Arc::clone(shape);
    }
    // Without the lock: what makes a schema is foreign code.
    let derived = schema::derive(T::schema);
    let rules = Rules::compile(&derived.marked, &derived.checks, Options::default());
    let rules = rules.map_err(|faults| format!("`{}`: {}", type_name::<T>(), faults.join("; ")));
    let published = flat::flatten(&derived.published).map_err(|faults| format!("`{}`: {faults}", type_name::<T>()));
    let published = published.and_then(|schema| rules.as_ref().map(|_| schema.to_string()).map_err(Clone::clone));
    Arc::clone(known().entry(TypeId::of::<T>()).or_insert(Arc::new(Shape { published, rules })))
}
