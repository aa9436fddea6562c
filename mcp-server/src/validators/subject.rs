//! What validators look at: values of whatever type, as JSON would have them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

/// A value as a validator sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(Number),
    /// True or false.
    Bool(bool),
    /// A list of so many items.
    List(usize),
    /// An object of so many members.
    Object(usize),
    /// Nothing.
    Null,
}

impl Seen<'_> {
    /// For comparing and quoting: what lists and objects hold is left out.
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Number(number) => number.into(),
            Self::Bool(flag) => flag.into(),
            Self::List(_) => Value::Array(Vec::new()),
            Self::Object(_) => Map::new().into(),
            Self::Null => Value::Null,
        }
    }
}

/// A type whose values the [validators](super) can look at. For one of your own, say what it holds:
///
/// ```
/// use mcp_server::validators::{self, Seen, Subject, Textual};
///
/// struct Address(String);
///
/// impl Subject for Address {
///     fn seen(&self) -> Seen<'_> {
///         self.0.seen()
///     }
/// }
///
/// // Its values are texts.
/// impl Textual for Address {}
///
/// assert_eq!(validators::email(&Address("ada@example.com".into())), Ok(()));
/// ```
#[diagnostic::on_unimplemented(
    message = "the validators do not know what `{Self}` holds",
    label = "neither a text, a number, a boolean, a list, a map, nor a `Value`",
    note = "for a type of your own, implement `mcp_server::validators::Subject`: `fn seen(&self) -> Seen<'_> {{ self.0.seen() }}`",
    note = "or write a function of your own: `fn(&{Self}) -> bool`"
)]
pub trait Subject {
    /// What it is.
    fn seen(&self) -> Seen<'_>;
}

/// A [`Subject`] whose values may be texts: what the validators of texts take. An argument of another type could never fit.
#[diagnostic::on_unimplemented(
    message = "a validator of texts cannot look at `{Self}`, which is never a text",
    label = "no text",
    note = "for a type of your own that holds one, implement `mcp_server::validators::Textual`: `impl Textual for {Self} {{}}`"
)]
pub trait Textual: Subject {}

/// A [`Subject`] whose values may be numbers: what the validators of numbers take.
#[diagnostic::on_unimplemented(
    message = "a validator of numbers cannot look at `{Self}`, which is never a number",
    label = "no number",
    note = "for a type of your own that holds one, implement `mcp_server::validators::Numeric`: `impl Numeric for {Self} {{}}`"
)]
pub trait Numeric: Subject {}

impl Textual for str {}

impl Textual for String {}

impl Textual for Value {}

impl Numeric for Value {}

impl<T: Textual> Textual for Option<T> {}

impl<T: Numeric> Numeric for Option<T> {}

impl<B: Textual + ToOwned + ?Sized> Textual for Cow<'_, B> {}

impl Subject for str {
    fn seen(&self) -> Seen<'_> {
        Seen::Text(self)
    }
}

impl Subject for String {
    fn seen(&self) -> Seen<'_> {
        Seen::Text(self)
    }
}

impl<B: Subject + ToOwned + ?Sized> Subject for Cow<'_, B> {
    fn seen(&self) -> Seen<'_> {
        B::seen(self)
    }
}

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<T: Subject + ?Sized> Subject for $pointer {
            fn seen(&self) -> Seen<'_> {
                T::seen(self)
            }
        }

        impl<T: Textual + ?Sized> Textual for $pointer {}

        impl<T: Numeric + ?Sized> Numeric for $pointer {}
    )*};
}

pointers!(&T, Box<T>, Arc<T>, Rc<T>);

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Subject for $integer {
            fn seen(&self) -> Seen<'_> {
                Seen::Number((*self).into())
            }
        }

        impl Numeric for $integer {}
    )*};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

impl Numeric for f64 {}

impl Numeric for f32 {}

impl Subject for f64 {
    fn seen(&self) -> Seen<'_> {
        Number::from_f64(*self).map_or(Seen::Null, Seen::Number)
    }
}

impl Subject for f32 {
    fn seen(&self) -> Seen<'_> {
        // By its shortest decimal: 0.1, and not what is nearest to it in 32 bits.
        self.to_string().parse().ok().and_then(Number::from_f64).map_or(Seen::Null, Seen::Number)
    }
}

impl Subject for bool {
    fn seen(&self) -> Seen<'_> {
        Seen::Bool(*self)
    }
}

impl<T: Subject> Subject for Option<T> {
    fn seen(&self) -> Seen<'_> {
        self.as_ref().map_or(Seen::Null, T::seen)
    }
}

impl Subject for Value {
    fn seen(&self) -> Seen<'_> {
        match self {
            Self::Null => Seen::Null,
            Self::Bool(flag) => Seen::Bool(*flag),
            Self::Number(number) => Seen::Number(number.clone()),
            Self::String(text) => Seen::Text(text),
            Self::Array(items) => Seen::List(items.len()),
            Self::Object(members) => Seen::Object(members.len()),
        }
    }
}

/// A list whose items [`list_of`](super::list_of) looks at.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list",
    label = "`validators::list_of` needs a list or a `Value`"
)]
pub trait List {
    /// What each item is.
    type Item;

    /// The items; `None` of a [`Value`] that is no list.
    fn items(&self) -> Option<impl Iterator<Item = &Self::Item>>;
}

impl List for Value {
    type Item = Self;

    fn items(&self) -> Option<impl Iterator<Item = &Self>> {
        self.as_array().map(|items| items.iter())
    }
}

macro_rules! holders {
    ($seen:ident: $([$($generics:tt)*] $holder:ty),*) => {$(
        impl<$($generics)*> Subject for $holder {
            fn seen(&self) -> Seen<'_> {
                Seen::$seen(self.len())
            }
        }
    )*};
}

holders!(List: [T] Vec<T>, [T] [T], [T, const N: usize] [T; N], [T, S] HashSet<T, S>, [T] BTreeSet<T>);
holders!(Object: [V, S] HashMap<String, V, S>, [V] BTreeMap<String, V>, [] Map<String, Value>);

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty),*) => {$(
        impl<$($generics)*> List for $list {
            type Item = T;

            fn items(&self) -> Option<impl Iterator<Item = &T>> {
                Some(self.iter())
            }
        }
    )*};
}

lists!([T] Vec<T>, [T] [T], [T, const N: usize] [T; N], [T, S] HashSet<T, S>, [T] BTreeSet<T>);
