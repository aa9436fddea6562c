//! A schema as it is looked at on every call: compiled once, with every number, pattern and reference at hand.

use std::fmt;

use serde_json::Value;

use super::number::Num;
use super::words;
use crate::schema::Check;

/// The place of a node in its [`Tree`].
pub(super) type Id = usize;

/// All nodes of one schema. They refer to one another by place, so a schema may lead to itself.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Box<[Node]>,
    pub(super) root: Id,
}

impl Tree {
    /// Never a [`Node::Same`].
    pub(super) fn get(&self, id: Id) -> &Node {
        match &self.nodes[id] {
            Node::Same(target) => &self.nodes[*target],
            node => node,
        }
    }

    pub(super) fn has_checks(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Rule(rule) if rule.check.is_some()))
    }

    pub(super) fn forget_default(&mut self, id: Id) {
        if let Node::Rule(rule) = &mut self.nodes[id] {
            rule.default = None;
        }
    }
}

/// A schema.
#[derive(Debug)]
pub(super) enum Node {
    Any,
    Never,
    /// Another one, which is none of these.
    Same(Id),
    Rule(Box<Rule>),
}

/// A schema that asks for something. What concerns another kind of value than the one at hand is without effect.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kinds: Kinds,
    /// The value is in each of these lists.
    pub(super) allowed: Box<[Box<[Value]>]>,
    pub(super) text: Text,
    pub(super) number: Number,
    pub(super) array: Option<Box<Array>>,
    pub(super) object: Option<Box<Object>>,
    pub(super) more: Box<[More]>,
    pub(super) check: Option<Custom>,
    /// Whether values are turned into the kind that is asked for, here and below; `None` is as above.
    pub(super) coerce: Option<bool>,
    /// What a property gets that is absent.
    pub(super) default: Option<Value>,
    /// Whether one pass over the text can tell that a value fits.
    pub(super) plain: bool,
}

impl Rule {
    pub(super) fn says_nothing(&self) -> bool {
        self.plain
            && self.kinds == Kinds::ALL
            && self.allowed.is_empty()
            && self.text.is_free()
            && self.number.limits.is_empty()
            && self.number.multiple_of.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && self.coerce.is_none()
            && self.default.is_none()
    }

    /// What [`Rule::plain`] is to be: each member and item is looked at once, in any order, and then forgotten.
    pub(super) fn is_plain(&self) -> bool {
        let array = self.array.as_ref().is_none_or(|array| !array.unique && array.contains.is_none());
        let object = self.object.as_ref().is_none_or(|object| {
            object.properties.len() <= 64
                && object.patterns.is_empty()
                && object.names.is_none()
                && object.required.is_empty()
                && object.dependent.is_empty()
                && object.dependent_schemas.is_empty()
        });
        self.more.is_empty() && self.check.is_none() && array && object
    }
}

/// A check of the author's own.
#[derive(Clone)]
pub(super) struct Custom(pub(super) Check);

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom(..)")
    }
}

/// Of strings; lengths in characters.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) size: Size,
    pub(super) pattern: Option<Pattern>,
}

impl Text {
    pub(super) const fn is_free(&self) -> bool {
        self.size.is_free() && self.pattern.is_none()
    }

    /// Whether its length is right, and its pattern is found in it. A text that is too long is not searched.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.size.fits_characters(text) && self.pattern.as_ref().is_none_or(|pattern| pattern.regex.is_match(text))
    }
}

/// How many characters, items or members.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) least: Option<usize>,
    pub(super) most: Option<usize>,
}

impl Size {
    pub(super) const fn is_free(self) -> bool {
        self.least.is_none() && self.most.is_none()
    }

    fn fits_characters(self, text: &str) -> bool {
        // A character has one to four bytes: mostly there is nothing to count.
        let (least, most) = (text.len() / 4, text.len());
        self.is_free() || (self.fits(least) && self.fits(most)) || self.fits(text.chars().count())
    }

    pub(super) fn fits(self, size: usize) -> bool {
        self.least.is_none_or(|least| size >= least) && self.most.is_none_or(|most| size <= most)
    }
}

#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) regex: regex_lite::Regex,
    pub(super) source: Box<str>,
}

/// Of numbers.
#[derive(Debug, Default)]
pub(super) struct Number {
    pub(super) limits: Box<[Limit]>,
    pub(super) multiple_of: Option<(Num, serde_json::Number)>,
}

#[derive(Debug)]
pub(super) struct Limit {
    pub(super) side: Side,
    pub(super) bound: Num,
    /// As the schema writes it.
    pub(super) told: serde_json::Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    AtLeast,
    AtMost,
    MoreThan,
    LessThan,
}

impl Side {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::MoreThan => "more than",
            Self::LessThan => "less than",
        }
    }
}

impl Limit {
    pub(super) fn holds(&self, number: Num) -> bool {
        let order = number.order(self.bound);
        match self.side {
            Side::AtLeast => order.is_ge(),
            Side::AtMost => order.is_le(),
            Side::MoreThan => order.is_gt(),
            Side::LessThan => order.is_lt(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Array {
    pub(super) first: Box<[Id]>,
    pub(super) items: Option<Id>,
    pub(super) size: Size,
    pub(super) unique: bool,
    pub(super) contains: Option<(Id, Size)>,
}

#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) properties: Box<[Property]>,
    /// Places in `properties`, by name.
    pub(super) by_name: Box<[usize]>,
    pub(super) patterns: Box<[(Pattern, Id)]>,
    pub(super) others: Others,
    pub(super) names: Option<Id>,
    /// Required, and not among `properties`.
    pub(super) required: Names,
    pub(super) size: Size,
    /// Which members call for which others.
    pub(super) dependent: Box<[(Box<str>, Names)]>,
    /// Which members call for which schema.
    pub(super) dependent_schemas: Box<[(Box<str>, Id)]>,
}

/// Names of members.
pub(super) type Names = Box<[Box<str>]>;

impl Object {
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|&place| (*self.properties[place].name).cmp(name));
        found.ok().map(|index| self.by_name[index])
    }
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: Box<str>,
    pub(super) node: Id,
    pub(super) required: bool,
    pub(super) null: Null,
}

/// What a null is to a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Null {
    /// A value like others: the schema or the type that reads it takes one.
    Value,
    /// As good as nothing, where the property may be left out; or else wrong.
    Absent,
}

/// Members that are not declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Others {
    #[default]
    Open,
    Closed,
    Each(Id),
}

/// What is asked of the same value, beside its own rules.
#[derive(Debug)]
pub(super) enum More {
    All(Id),
    /// At least one of them, or exactly one.
    Union(Union),
    Not(Id),
    If {
        condition: Id,
        then: Option<Id>,
        otherwise: Option<Id>,
    },
}

#[derive(Debug)]
pub(super) struct Union {
    pub(super) forms: Box<[Id]>,
    pub(super) exactly_one: bool,
    /// By what they are told apart, as serde's tagged enums are: a constant in each of them, which no other has.
    pub(super) tag: Option<Tag>,
}

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) name: Box<str>,
    /// In the order of the forms.
    pub(super) values: Box<[Value]>,
}

/// A set of kinds of values. An integer is a number without a fraction, however it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Numbers that are no integers.
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const NUMBER: Self = Self(4 | 8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ALL: Self = Self(127);

    pub(super) fn named(name: &str) -> Option<Self> {
        NAMED.iter().find(|(_, _, named)| *named == name).map(|(kinds, ..)| *kinds)
    }

    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if Num::of(number).is_integral() => Self::INTEGER,
            Value::Number(_) => Self::FRACTION,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Whether they have one in common.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `a string or null`.
    pub(super) fn words(self) -> String {
        let mut left = self;
        let mut words = Vec::new();
        for (kinds, told, _) in NAMED {
            if left.and(kinds) == kinds {
                words.push(told);
                left = Self(left.0 & !kinds.0);
            }
        }
        words.join(" or ")
    }
}

/// A number before an integer: it is both.
const NAMED: [(Kinds, &str, &str); 7] = [
    (Kinds::NUMBER, "a number", "number"),
    (Kinds::INTEGER, "an integer", "integer"),
    (Kinds::STRING, "a string", "string"),
    (Kinds::BOOLEAN, "a boolean", "boolean"),
    (Kinds::OBJECT, "an object", "object"),
    (Kinds::ARRAY, "an array", "array"),
    (Kinds::NULL, "null", "null"),
];

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

/// Equal as JSON Schema has it: numbers by what they say, members in any order.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Num::of(left).order(Num::of(right)).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}

/// `expected a string, got null`.
pub(super) fn wrong_kind(kinds: Kinds, value: &Value) -> String {
    format!("expected {}, got {}", kinds.words(), words::kind(value))
}
