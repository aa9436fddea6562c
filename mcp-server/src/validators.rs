//! Checks that many arguments need, in words that a model can act upon.
//!
//! Each is given to [`Param::validate`](crate::Param::validate) or to `#[arg(validate = ..)]`, and goes for typed arguments and for
//! [`Value`]s alike. What it is asked of has its type and keeps its other rules already, and is neither left out nor null.
//!
//! ```
//! use mcp_server::{Param, Server, Tool, Value, tool, validators};
//!
//! /// Invites somebody.
//! #[tool]
//! fn invite(
//!     #[arg(validate = validators::email)] address: String,
//!     #[arg(validate = validators::range(1..=10))] seats: Option<u8>,
//! ) -> String {
//!     format!("{address} may bring {}.", seats.unwrap_or(1))
//! }
//!
//! let remind = Tool::new("remind")
//!     .description("Reminds people.")
//!     .param(Param::string("day").validate(validators::iso_date).required())
//!     .param(Param::array("to", Param::string("address")).validate(validators::list_of(validators::email)))
//!     .run(|args: Value| format!("On {}.", args["day"]));
//! Server::new("my-app", "1.0.0").tool(invite).tool(remind).build()?;
//! # Ok::<(), mcp_server::BuildError>(())
//! ```
//!
//! | validator | what fits |
//! |---|---|
//! | [`email`] | an address, as HTML's `<input type=email>` takes it |
//! | [`url`] | an absolute URI with a host (RFC 3986) |
//! | [`uuid`] | a UUID of 32 hexadecimal digits, with its four hyphens or without |
//! | [`iso_date`] | a day of the calendar, `2024-02-29` |
//! | [`alphanumeric`] | a text of letters and digits of ASCII |
//! | [`non_empty`] | a text that is not blank; a list or object with something in it |
//! | [`positive`], [`non_negative`], [`range`] | a number |
//! | [`one_of`] | one of some texts, numbers or booleans |
//! | [`regex`] | a text in which a pattern is found |
//! | [`list_of`] | a list whose items all fit |
//! | [`all`], [`any`] | what fits all of several validators, or one of them |
//!
//! A schema tells a model more than a check does, before it calls: where `min`, `max`, `one_of` and `pattern` of an argument can say it,
//! they are better than [`range`], [`one_of`] and [`regex`], which are for items of lists and for [`all`] and [`any`].
//!
//! The texts are looked through once, so a hostile one costs time in proportion to its length, and no memory.

mod subject;
mod texts;

use std::ops::{Bound, RangeBounds};

use serde_json::{Number, Value};

use crate::check::{Num, expected, quote, same};
use crate::private::{self, Verdict};

pub use subject::{List, Numeric, Seen, Subject, Textual};

pub(crate) const EMAIL: &str = "must be an email address";
pub(crate) const URL: &str = "must be an absolute URL with a host, as in https://example.com/path";

/// An email address, by the rule of HTML: `local@host.name`. Whether anybody reads it is not asked.
///
/// # Errors
///
/// What it must be.
pub fn email<T: Textual + ?Sized>(value: &T) -> Result<(), &'static str> {
    text_that(value, texts::is_email, EMAIL)
}

/// An absolute URI that names a host (RFC 3986), of whatever scheme: [`all`] with [`regex`] takes `^https:` alone.
///
/// # Errors
///
/// What it must be.
pub fn url<T: Textual + ?Sized>(value: &T) -> Result<(), &'static str> {
    text_that(value, texts::is_url, URL)
}

/// A UUID in hexadecimal, with hyphens (8-4-4-4-12) or without any; of whatever version.
///
/// # Errors
///
/// What it must be.
pub fn uuid<T: Textual + ?Sized>(value: &T) -> Result<(), &'static str> {
    text_that(value, texts::is_uuid, "must be a UUID, as in 123e4567-e89b-12d3-a456-426614174000")
}

/// A day of the Gregorian calendar as `YYYY-MM-DD` (ISO 8601, and `full-date` of RFC 3339): years 0000 to 9999.
///
/// # Errors
///
/// What it must be.
pub fn iso_date<T: Textual + ?Sized>(value: &T) -> Result<(), &'static str> {
    text_that(value, texts::is_date, "must be a date that exists, as YYYY-MM-DD")
}

/// A text of at least one character, all of them letters and digits of ASCII.
///
/// # Errors
///
/// What it must be.
pub fn alphanumeric<T: Textual + ?Sized>(value: &T) -> Result<(), &'static str> {
    let fits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    text_that(value, fits, "must be letters and digits alone: a-z, A-Z, 0-9")
}

/// A text with something in it besides white space, or a list or object that is not empty.
///
/// # Errors
///
/// What it must not be.
pub fn non_empty<T: Subject + ?Sized>(value: &T) -> Result<(), &'static str> {
    match value.seen() {
        Seen::Text(text) if text.trim().is_empty() => Err("must not be blank"),
        Seen::List(0) | Seen::Object(0) | Seen::Null => Err("must not be empty"),
        _ => Ok(()),
    }
}

/// A number above zero.
///
/// # Errors
///
/// What it must be, and what it is.
pub fn positive<T: Numeric + ?Sized>(value: &T) -> Result<(), String> {
    Limits::new((Bound::Excluded(0), Bound::Unbounded)).judge(value)
}

/// A number that is zero or more.
///
/// # Errors
///
/// What it must be, and what it is.
pub fn non_negative<T: Numeric + ?Sized>(value: &T) -> Result<(), String> {
    Limits::new(0..).judge(value)
}

/// A number in that range, whole or not: `range(1..=10)`, `range(0.0..1.0)`, `range(..100)`.
///
/// # Panics
///
/// Here, where it is made, if a bound is no finite number or no number is in the range.
#[track_caller]
pub fn range<T, N>(range: impl RangeBounds<N>) -> impl Fn(&T) -> Result<(), String> + Clone + Send + Sync + 'static
where
    T: Numeric + ?Sized,
    N: private::Number + Clone,
{
    let limits = Limits::new(range);
    move |value: &T| limits.judge(value)
}

/// A text in which the pattern is found; `^` and `$` bind it to the ends. As in [`Param::pattern`](crate::Param::pattern), there are no
/// look-around, back references and Unicode classes.
///
/// It is compiled once, here, and looks through a text in time in proportion to its length: give the text a `max_length`, too.
///
/// # Panics
///
/// Here, where it is made, if the pattern is none.
#[track_caller]
pub fn regex<T>(pattern: impl AsRef<str>) -> impl Fn(&T) -> Result<(), String> + Clone + Send + Sync + 'static
where
    T: Textual + ?Sized,
{
    let pattern = pattern.as_ref().to_owned();
    let regex = match regex_lite::Regex::new(&pattern) {
        Ok(regex) => regex,
        Err(error) => panic!("`validators::regex` cannot read the pattern `{pattern}`: {error}"),
    };
    move |value: &T| match value.seen() {
        Seen::Text(text) if regex.is_match(text) => Ok(()),
        seen => Err(format!("must match the pattern `{pattern}`, is {}", quote(&seen.into_value()))),
    }
}

/// One of these texts, numbers or booleans; 1 and 1.0 are the same.
///
/// # Panics
///
/// Here, where it is made, if there are none.
#[track_caller]
pub fn one_of<T, V>(
    values: impl IntoIterator<Item = V>,
) -> impl Fn(&T) -> Result<(), String> + Clone + Send + Sync + 'static
where
    T: Subject + ?Sized,
    V: Into<Value>,
{
    let values: Vec<Value> = values.into_iter().map(Into::into).collect();
    assert!(!values.is_empty(), "`validators::one_of` has no values, so nothing would fit: name some");
    move |value: &T| {
        let seen = value.seen();
        let is_one = !matches!(seen, Seen::List(_) | Seen::Object(_));
        let value = seen.into_value();
        if is_one && values.iter().any(|one| same(one, &value)) { Ok(()) } else { Err(expected(&values, &value)) }
    }
}

/// A list whose items all fit. The first few that do not are told by their index.
pub fn list_of<L, C>(check: C) -> impl Fn(&L) -> Result<(), String> + Clone + Send + Sync + 'static
where
    L: List + ?Sized,
    C: Validator<L::Item> + Clone + 'static,
{
    move |list: &L| {
        let Some(items) = list.items() else { return Err("must be a list".into()) };
        let wrong = items.enumerate().filter_map(|(index, item)| {
            let fault = check.check(item).err()?;
            // What is wrong within an item that is a list itself has its index first, too.
            Some(if fault.starts_with('[') { format!("[{index}]{fault}") } else { format!("[{index}] {fault}") })
        });
        // One more than are told.
        let wrong: Vec<String> = wrong.take(TOLD + 1).collect();
        match wrong.len() {
            0 => Ok(()),
            count if count > TOLD => Err(format!("{}; and more", wrong[..TOLD].join("; "))),
            _ => Err(wrong.join("; ")),
        }
    }
}

/// Wrong items of a list that are told.
const TOLD: usize = 5;

/// What fits all of several validators: a tuple of up to eight, or an array. The first that fails tells why.
///
/// A function of your own among them takes the type itself: of a `String`, `&String`. One that takes `&str` asks the others by `?`:
/// `validators::url(page)?`.
///
/// ```
/// use mcp_server::{Param, validators};
///
/// let page = Param::string("page").validate(validators::all((validators::url, validators::regex("^https:"))));
/// ```
pub fn all<T, C>(checks: C) -> impl Fn(&T) -> Result<(), String> + Clone + Send + Sync + 'static
where
    T: ?Sized,
    C: Validators<T> + Clone + 'static,
{
    move |value: &T| checks.first_fault(value).map_or(Ok(()), Err)
}

/// What fits one of several validators: a tuple of up to eight, or an array. If none fits, all of them tell why.
///
/// ```
/// use mcp_server::{Param, validators};
///
/// let contact = Param::string("contact").validate(validators::any((validators::email, validators::regex(r"^\+[0-9]{5,15}$"))));
/// ```
pub fn any<T, C>(checks: C) -> impl Fn(&T) -> Result<(), String> + Clone + Send + Sync + 'static
where
    T: ?Sized,
    C: Validators<T> + Clone + 'static,
{
    move |value: &T| checks.all_faults(value).map_or(Ok(()), |faults| Err(faults.join(", or ")))
}

/// Judges values of a type: any function or closure that [`Param::validate`](crate::Param::validate) takes.
pub trait Validator<T: ?Sized>: Send + Sync {
    /// Whether the value fits.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words that follow its name.
    fn check(&self, value: &T) -> Result<(), String>;
}

impl<T: ?Sized, R: Verdict, F: Fn(&T) -> R + Send + Sync> Validator<T> for F {
    fn check(&self, value: &T) -> Result<(), String> {
        self(value).told("")
    }
}

/// Several validators, for [`all`] and [`any`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no group of validators",
    label = "neither a tuple nor an array of validators",
    note = "write `all((first, second))`, with two pairs of parentheses"
)]
pub trait Validators<T: ?Sized>: Send + Sync {
    /// What is wrong by the first that finds something.
    fn first_fault(&self, value: &T) -> Option<String>;

    /// What is wrong by all of them; `None` as soon as one finds nothing.
    fn all_faults(&self, value: &T) -> Option<Vec<String>>;
}

impl<T: ?Sized, C: Validator<T>, const N: usize> Validators<T> for [C; N] {
    fn first_fault(&self, value: &T) -> Option<String> {
        self.iter().find_map(|check| check.check(value).err())
    }

    fn all_faults(&self, value: &T) -> Option<Vec<String>> {
        const { assert!(N > 0, "name at least one validator") };
        self.iter().map(|check| check.check(value).err()).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+))+) => {$(
        impl<T: ?Sized, $($name: Validator<T>),+> Validators<T> for ($($name,)+) {
            fn first_fault(&self, value: &T) -> Option<String> {
                $(
                    if let Err(fault) = self.$index.check(value) {
                        return Some(fault);
                    }
                )+
                None
            }

            fn all_faults(&self, value: &T) -> Option<Vec<String>> {
                Some(vec![$(self.$index.check(value).err()?),+])
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

fn text_that<T: Subject + ?Sized>(
    value: &T,
    fits: impl FnOnce(&str) -> bool,
    must: &'static str,
) -> Result<(), &'static str> {
    match value.seen() {
        Seen::Text(text) if fits(text) => Ok(()),
        _ => Err(must),
    }
}

/// The ends of a range.
#[derive(Clone, Debug)]
struct Limits {
    least: Bound<Number>,
    most: Bound<Number>,
}

impl Limits {
    #[track_caller]
    fn new<N: private::Number + Clone>(range: impl RangeBounds<N>) -> Self {
        let limits = Self { least: number(range.start_bound()), most: number(range.end_bound()) };
        if let (Bound::Included(least) | Bound::Excluded(least), Bound::Included(most) | Bound::Excluded(most)) =
            (&limits.least, &limits.most)
        {
            let order = Num::of(least).order(Num::of(most));
            let closed = matches!((&limits.least, &limits.most), (Bound::Included(_), Bound::Included(_)));
            assert!(
                order.is_lt() || (order.is_eq() && closed),
                "`validators::range` from {least} to {most} holds no number: exchange its bounds"
            );
        }
        limits
    }

    fn judge<T: Subject + ?Sized>(&self, value: &T) -> Result<(), String> {
        let Seen::Number(number) = value.seen() else { return Err("must be a number".into()) };
        let to = |bound: &Number| Num::of(&number).order(Num::of(bound));
        let (words, bound) = match (&self.least, &self.most) {
            (Bound::Included(least), _) if to(least).is_lt() => ("at least", least),
            (Bound::Excluded(least), _) if to(least).is_le() => ("more than", least),
            (_, Bound::Included(most)) if to(most).is_gt() => ("at most", most),
            (_, Bound::Excluded(most)) if to(most).is_ge() => ("less than", most),
            _ => return Ok(()),
        };
        Err(format!("must be {words} {bound}, is {number}"))
    }
}

#[track_caller]
fn number<N: private::Number + Clone>(bound: Bound<&N>) -> Bound<Number> {
    let read = |bound: &N| match bound.clone().into() {
        Value::Number(number) => number,
        _ => panic!("a bound of `validators::range` is no finite number: leave it out, as in `range(1.0..)`"),
    };
    match bound {
        Bound::Included(bound) => Bound::Included(read(bound)),
        Bound::Excluded(bound) => Bound::Excluded(read(bound)),
        Bound::Unbounded => Bound::Unbounded,
    }
}
