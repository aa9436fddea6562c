//! RFC 6570 templates, read backwards: which values a URI gives to a template's variables.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

mod expand;
mod matching;
mod parse;
mod unit;

use unit::{Unit, Values};

/// The usual spelling of a URI, if that is another: `%65` is `e`, and `%2f` is `%2F` (RFC 3986, 6.2.2). `None` also if an escape is none.
pub(crate) fn respelled(uri: &str) -> Option<String> {
    if !uri.contains('%') {
        return None;
    }
    let mut usual = String::with_capacity(uri.len());
    for unit in unit::Units(uri.as_bytes()) {
        unit::write(unit?, &mut usual);
    }
    (usual != uri).then_some(usual)
}

/// The longest template, in bytes. An author writes it, and what a match costs grows with it.
pub const TEMPLATE_LIMIT: usize = 1024;

/// The most variables of one template. A match keeps a row of the URI's length for each that stands in the path.
pub const VARIABLE_LIMIT: usize = 32;

/// The longest URI that is matched, in bytes. RFC 9110 asks for 8000 at least; a longer one matches nothing.
pub const URI_LIMIT: usize = 8192;

/// A template of URIs, compiled: `users://{id}/profile`.
///
/// | expression | matches | its value |
/// |---|---|---|
/// | `{v}` | one segment: it ends at `/`, `?` and `#` (and at `&` within a query) | one character or more |
/// | `{+v}` | any number of segments | one character or more |
/// | `{#v}` | `#` and the rest; nothing may follow it | one character or more |
/// | `{.v}` `{/v}` `{;v}` | `.value`, `/value`, `;v=value` | one character or more |
/// | `{?a,b}` `{&a,b}` | a query's pairs: any of them, in any order, besides others; no more path may follow | may be empty |
///
/// An expression may name several variables: `{x,y}` is `value,value`, `{/a,b}` is `/value/value`.
///
/// * Values are percent-decoded, once: `a%2Fb` is `a/b` (RES-11). An escape that is none, or that decodes to something other than
///   UTF-8, matches nothing.
/// * Literals match as they stand and percent-encoded, so `doc:///my files/{n}` matches `doc:///my%20files/a` too. A reserved
///   character (`/`, `?`, `:` and so on) is another one when it is encoded, as RFC 3986 has it, and matches only as it stands.
/// * Where values could be split in several ways, the first variable takes as much as it can: `{name}.{ext}` reads `a.tar.gz` as
///   `a.tar` and `gz`.
/// * **No value has `..` as a segment** (between `/` or `\`), nor a NUL, however encoded: such a URI matches nothing, so that a
///   value joined to a directory stays below it, symbolic links aside (RES-9).
/// * A match takes at most (length of the template × length of the URI) steps, whatever they are: nothing is tried twice.
///
/// # Examples
///
/// ```
/// use mcp_core::uri_template::UriTemplate;
///
/// let template = UriTemplate::parse("repo://{owner}/{+path}{?line}")?;
/// let found = template.matches("repo://ann/src/my%20lib.rs?line=7").unwrap();
/// let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
/// assert_eq!(found, [("owner", "ann"), ("path", "src/my lib.rs"), ("line", "7")]);
///
/// assert_eq!(template.expand(&found)?, "repo://ann/src/my%20lib.rs?line=7");
/// assert!(template.matches("repo://ann/../../etc/passwd").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct UriTemplate {
    text: Box<str>,
    /// No two variables stand side by side.
    head: Box<[Part]>,
    query: Option<Query>,
    /// Of `{#..}`: what follows the URI's first `#`.
    fragment: Option<Box<[Part]>>,
}

/// A piece of a template outside of its query.
#[derive(Clone, PartialEq, Eq)]
enum Part {
    Literal(Box<[Unit]>),
    Variable { name: Box<str>, values: Values },
}

/// The pairs that `{?..}` and `{&..}` name.
#[derive(Clone, PartialEq, Eq)]
struct Query {
    /// `?`, or `&` where the template's own text has begun the query.
    lead: u8,
    names: Vec<Box<str>>,
}

/// Why a text is not a template that this library can match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplateError {
    at: usize,
    why: Cow<'static, str>,
}

/// Why a template makes no URI of some values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandError(Cow<'static, str>);

impl UriTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    ///
    /// What is wrong with it, where, and what to write instead. Besides what RFC 6570 refuses, these are refused, since no match of
    /// them is sound: `{v*}` and `{v:3}`, a variable directly after another, a variable named twice, and an expression after `{?..}`
    /// or `{#..}` that cannot follow it.
    pub fn parse(template: &str) -> Result<Self, UriTemplateError> {
        parse::parse(template)
    }

    /// The template as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the variables, in the order of the template.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let fragment = self.fragment.iter().flatten();
        let query = self.query.iter().flat_map(|query| &query.names);
        self.head.iter().filter_map(Part::name).chain(query.map(|name| &**name)).chain(fragment.filter_map(Part::name))
    }

    /// The variables that a URI gives, each with its decoded value, in the order of the template; `None` if it does not match.
    ///
    /// A variable of a query is absent if the URI has no such pair. A URI that names one twice does not match.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Vec<(Box<str>, Box<str>)>> {
        matching::matches(self, uri)
    }

    /// The URI that [`matches`](Self::matches) reads as these values.
    ///
    /// Variables of a query may be left out. Unlike RFC 6570, which would make another URI of a value that looks encoded, `%` is
    /// encoded in `{+v}` too.
    ///
    /// # Errors
    ///
    /// If a name is not the template's or is missing, or if the URI would not be read as these values: one is empty or has `..` as a
    /// segment, one holds the literal that ends it (`a-b` in `{x}-{y}`), or the URI is longer than [`URI_LIMIT`].
    pub fn expand<N: AsRef<str>, V: AsRef<str>>(&self, variables: &[(N, V)]) -> Result<String, ExpandError> {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        expand::expand(self, &variables)
    }
}

impl Part {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Variable { name, .. } => Some(name),
        }
    }
}

impl UriTemplateError {
    /// Where it is wrong: a byte's index in the template.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }
}

/// Shows the text alone.
impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UriTemplate").field(&self.text).finish()
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for UriTemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.why)
    }
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for UriTemplateError {}

impl core::error::Error for ExpandError {}
