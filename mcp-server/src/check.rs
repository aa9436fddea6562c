//! Arguments against the schema that was published for them (TOOL-9).
//!
//! A schema is compiled once, when the server is built, into a tree of rules ([`node`]); what the tree cannot enforce is not
//! published. Every call is judged by it before the code runs:
//!
//! ```text
//!  text ──► stream: does it fit as it is?  ── yes ─────────────────────────────► AsSent
//!               │ not sure
//!               ▼
//!           read into a Value ─► normal: nulls, 5.0, "5" ─► walk ─► defaults ─► AsSent, Changed, Broken
//! ```
//!
//! Defaults come last, and fit by themselves: what was sent is judged as it was sent, also where members are counted or
//! exclude one another. Checks of the author's own are asked after that, of what the code will see.
//!
//! So what is published is what is enforced, also where the type that reads the arguments would be content with less.

mod compile;
mod node;
mod normal;
mod number;
mod stream;
mod unique;
mod walk;
mod words;

use std::fmt::Write as _;

use serde_json::{Map, Value};

use self::node::{Id, Tree};
use self::normal::{Settled, Settling};
use self::walk::{Asked, Walk};
use crate::schema::{self, Check};
use crate::validate::Validator;

pub(crate) use self::node::same;
pub(crate) use self::number::Num;
pub(crate) use self::unique::twice;
use self::unique::{Unread, read};
#[cfg(any(feature = "validate", feature = "validator", feature = "toml"))]
pub(crate) use self::words::push_step;
pub(crate) use self::words::{clean, expected, kind, nearest, place, quote, without_place};

/// Violations listed in one answer: a model corrects a dozen, and 10,000 wrong items need not be named.
const LISTED: usize = 32;
/// Violations kept: more are found in nothing but an attack.
pub(crate) const KEPT: usize = 200;
/// Schemas, members and items looked at for one call, in any case: alternatives within alternatives multiply, and the
/// thread that judges is the one that serves.
const STEPS: usize = 50_000;
/// The same for each byte of the arguments: without alternatives, one is more than enough.
const STEPS_PER_BYTE: usize = 4;
/// Letters that are looked at in the time of one step.
const LETTERS: usize = 32;

/// One thing that is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where: `address.lines[2]`, or nothing for the arguments as a whole.
    pub(crate) path: String,
    /// What: a clause that follows the path.
    pub(crate) fault: String,
}

/// What came of arguments.
#[derive(Debug, PartialEq)]
pub(crate) enum Judged {
    /// They fit as they are: read them from the text.
    AsSent,
    /// They fit in this form. It is the one that was checked, so it is the one to be read.
    Changed(Value),
    Broken(Vec<Violation>),
}

/// How arguments are judged, beside their schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Whether texts are taken for numbers and booleans, where no property says otherwise.
    pub(crate) coerce: bool,
    /// Whether absent properties get the default of their schema: where it is data, and no type has a default of its own.
    pub(crate) defaults: bool,
    /// Whether the code takes a `Value`, and may as well have the one that was checked.
    pub(crate) whole: bool,
}

/// What decides whether arguments fit.
#[derive(Debug)]
enum Enforced {
    ByTree,
    /// A schema that was given as data, which may have keywords that no tree knows. The tree settles what is sent, and if it
    /// is `whole`, tells what is wrong.
    By {
        validator: Validator,
        whole: bool,
    },
}

/// The schema of a tool's arguments, compiled.
#[derive(Debug)]
pub(crate) struct Rules {
    tree: Tree,
    options: Options,
    enforced: Enforced,
    /// Whether nothing but an empty object fits.
    nothing: bool,
    /// Whether there are checks of the author's own.
    checked: bool,
}

impl Rules {
    /// Compiles the schema of a type or of parameters, markers included: all of it is enforced.
    ///
    /// # Errors
    ///
    /// Everything in it that cannot be enforced, and its contradictions: sentences, each with its place.
    pub(crate) fn compile(schema: &Value, checks: &[Check], options: Options) -> Result<Self, Vec<String>> {
        let compile::Compiled { tree, mut faults, defaults } = compile::compile(schema, checks);
        faults.extend(defaults.iter().filter_map(|(place, id, default)| unfit(&tree, place, *id, default)));
        if !faults.is_empty() {
            return Err(faults);
        }
        let options = Options { defaults: options.defaults && !defaults.is_empty(), ..options };
        let (nothing, checked) = (schema::is_nothing(schema), tree.has_checks());
        Ok(Self { tree, options, enforced: Enforced::ByTree, nothing, checked })
    }

    /// Of a tool that takes no arguments.
    pub(crate) fn nothing() -> Self {
        let compile::Compiled { tree, .. } = compile::compile(&schema::nothing(), &[]);
        Self { tree, options: Options::default(), enforced: Enforced::ByTree, nothing: true, checked: false }
    }

    /// For a schema that was given as data: `validator` enforces it. Coercion, defaults and nulls follow what it says of
    /// its properties, at any depth, outside alternatives. A default that does not fit where it stands is never put in: what
    /// lacks it fits all the same.
    pub(crate) fn given(schema: &Value, checks: &[Check], validator: Validator, options: Options) -> Self {
        let compile::Compiled { mut tree, faults, defaults } = compile::compile(schema, checks);
        for (place, id, default) in &defaults {
            if unfit(&tree, place, *id, default).is_some() {
                tree.forget_default(*id);
            }
        }
        let enforced = Enforced::By { validator, whole: faults.is_empty() };
        let checked = tree.has_checks();
        Self { tree, options, enforced, nothing: false, checked }
    }

    /// Adds the defaults of what is absent.
    pub(crate) fn fill(&self, members: Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::from(members);
        let settling = Settling { coerce: false, defaults: true, whole: true };
        // Bounded by what was judged before.
        normal::settle(&self.tree, self.tree.root, settling, usize::MAX, &mut value);
        match value {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    /// Judges the JSON text of the arguments. Bounded: in time by its length, but for alternatives within alternatives, and
    /// there by a number of steps, beyond which it is refused.
    pub(crate) fn judge(&self, sent: &[u8]) -> Judged {
        if self.nothing && sent == b"{}" {
            return Judged::AsSent;
        }
        let Options { coerce, defaults, whole } = self.options;
        let by_tree = matches!(self.enforced, Enforced::ByTree);
        if by_tree && !whole && !defaults && stream::fits(&self.tree, sent) {
            return Judged::AsSent;
        }
        let mut value = match read(sent) {
            Ok(value) => value,
            Err(Unread::Json(error)) => return Judged::Broken(vec![unreadable(sent, &error)]),
            Err(Unread::Members(found)) => return Judged::Broken(found),
        };
        let steps = STEPS + STEPS_PER_BYTE * sent.len();
        let settling = Settling { coerce, defaults: false, whole: by_tree };
        let settled = normal::settle(&self.tree, self.tree.root, settling, steps, &mut value);
        let waiting = defaults && self.checked;
        let mut found = self.broken(&value, steps, if waiting { Asked::Schema } else { Asked::All });
        let settling = Settling { defaults, ..settling };
        let filled = match settled {
            Settled::AsItWas | Settled::Changed if defaults => {
                normal::settle(&self.tree, self.tree.root, settling, steps, &mut value).and(settled)
            }
            settled => settled,
        };
        if waiting {
            let asked = Asked::Checks { fits: found.is_empty() };
            found.extend(Walk::new(&self.tree, steps).asking(asked).violations(self.tree.root, &value));
        }
        match filled {
            _ if !found.is_empty() => Judged::Broken(found),
            Settled::Spent => Judged::Broken(vec![Violation {
                path: String::new(),
                fault: "the arguments are too large, or have too many alternatives within one another".into(),
            }]),
            Settled::AsItWas if !whole => Judged::AsSent,
            _ => Judged::Changed(value),
        }
    }

    fn broken(&self, value: &Value, steps: usize, asked: Asked) -> Vec<Violation> {
        let by_tree = || Walk::new(&self.tree, steps).asking(asked).violations(self.tree.root, value);
        match &self.enforced {
            Enforced::ByTree => by_tree(),
            Enforced::By { validator, .. } if validator.is_valid(value) => Vec::new(),
            Enforced::By { validator, whole } => {
                let found = if *whole { by_tree() } else { Vec::new() };
                if found.is_empty() { validator.violations(value) } else { found }
            }
        }
    }
}

/// The text that tells a model how to do better.
pub(crate) fn report(noun: &str, name: &str, violations: &[Violation]) -> String {
    let mut text = format!("Invalid arguments for {noun} `{name}`:");
    for Violation { path, fault } in violations.iter().take(LISTED) {
        // Writing to a String cannot fail.
        let _ = if path.is_empty() { write!(text, "\n- {fault}") } else { write!(text, "\n- `{path}`: {fault}") };
    }
    if violations.len() > LISTED {
        let more = if violations.len() < KEPT { "" } else { "at least " };
        let _ = write!(text, "\n- and {more}{} more", violations.len() - LISTED);
    }
    text
}

/// What is wrong with a default, by the rules of what it is the default of.
fn unfit(tree: &Tree, place: &str, id: Id, default: &Value) -> Option<String> {
    let mut settled = default.clone();
    normal::settle(tree, id, Settling { coerce: false, defaults: false, whole: true }, STEPS, &mut settled);
    let found = Walk::new(tree, STEPS).violations(id, &settled);
    let Violation { path, fault } = found.first()?;
    let within = if path.is_empty() { String::new() } else { format!("`{path}` ") };
    Some(format!("{place}: its default {default} does not fit: {within}{fault}"))
}

/// What is JSON and cannot be read: a number that is too large for any type.
fn unreadable(sent: &[u8], error: &serde_json::Error) -> Violation {
    let located = serde_path_to_error::deserialize::<_, Value>(&mut serde_json::Deserializer::from_slice(sent));
    let path = located.err().map(|error| place(error.path())).unwrap_or_default();
    Violation { path, fault: without_place(&error.to_string()) }
}

#[cfg(test)]
mod tests;
