//! A value against a schema: whether it fits, or everything in which it does not.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Map, Value};

use super::node::{
    Array, Custom, Id, Kinds, More, Node, Number, Object, Others, Rule, Size, Tag, Text, Tree, Union, same, wrong_kind,
};
use super::number::Num;
use super::unique::{repeated, weight};
use super::words::{self, clean, expected, nearest, quote};
use super::{KEPT, LETTERS, Violation};

/// Schemas within one another: more than the values within one another that are read, each with several.
const DEPTH: usize = 400;
/// Scores that are kept: enough for values within one another, and no second copy of a large list.
const SCORES: usize = 4096;
/// Violations up to which it is told which of several forms is the nearest.
const NEAR: usize = 8;

/// Pairs of letters that are compared to find the names that were meant: with a dozen mistakes, no tool comes near.
const COMPARED: usize = 1 << 20;
/// Bytes of a text that is too long or too short up to which it is told whether its pattern is broken, too.
const SEARCHED: usize = 1000;

/// One look at one value.
pub(super) struct Walk<'a> {
    tree: &'a Tree,
    path: Vec<Step<'a>>,
    mode: Mode,
    /// Of each form that was tried on a list or an object, by the place of that in memory: without them, alternatives within
    /// alternatives would be looked at again and again.
    scores: HashMap<(Id, usize, usize), Score>,
    steps: usize,
    depth: usize,
    /// Whether steps or depth were too few, so that nothing is known of what was not looked at.
    spent: bool,
    asked: Asked,
    /// Violations of the schema that are not told.
    untold: usize,
    /// Pairs of letters that may still be compared.
    compared: usize,
}

/// What a value is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    All,
    /// All but the checks of the author's own.
    Schema,
    /// These alone, where the value keeps all else: everywhere, if it is known that it `fits`.
    Checks {
        fits: bool,
    },
}

enum Mode {
    /// Every violation is told.
    Tell(Vec<Violation>),
    /// They are counted, up to `most`; `at` is the length of the path of what they are counted for.
    Count { most: usize, at: usize, score: Score },
}

/// How well a value fits.
#[derive(Clone, Copy, Default)]
struct Score {
    /// Whether the value as a whole is wrong, and not only something in it.
    as_a_whole: bool,
    count: usize,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl<'a> Walk<'a> {
    /// `steps` are schemas and members that are looked at, at most.
    pub(super) fn new(tree: &'a Tree, steps: usize) -> Self {
        let mode = Mode::Tell(Vec::new());
        let scores = HashMap::new();
        Self {
            tree,
            path: Vec::new(),
            mode,
            scores,
            steps,
            depth: DEPTH,
            spent: false,
            asked: Asked::All,
            untold: 0,
            compared: COMPARED,
        }
    }

    pub(super) const fn asking(mut self, asked: Asked) -> Self {
        self.asked = asked;
        self
    }

    /// Everything in which the value breaks the schema, in the order of the schema. Nothing only if it is known to fit.
    pub(super) fn violations(mut self, id: Id, value: &'a Value) -> Vec<Violation> {
        self.apply(id, value);
        if self.spent && self.count() == self.untold {
            self.tell(|| "is too large, or has too many alternatives within one another, to be checked".into());
        }
        match self.mode {
            Mode::Tell(found) => found,
            Mode::Count { .. } => Vec::new(),
        }
    }

    /// Whether the value fits; no if steps or depth were too few to tell.
    pub(super) fn fits(&mut self, id: Id, value: &'a Value) -> bool {
        self.score(id, value, 1).count == 0 && !self.spent
    }

    pub(super) const fn is_spent(&self) -> bool {
        self.spent
    }

    pub(super) const fn steps(&self) -> usize {
        self.steps
    }

    fn score(&mut self, id: Id, value: &'a Value, most: usize) -> Score {
        let key = (id, std::ptr::from_ref(value) as usize, most);
        if let Some(score) = self.scores.get(&key) {
            return *score;
        }
        let counting = Mode::Count { most, at: self.path.len(), score: Score::default() };
        let before = std::mem::replace(&mut self.mode, counting);
        self.apply(id, value);
        let score = match std::mem::replace(&mut self.mode, before) {
            Mode::Count { score, .. } => score,
            Mode::Tell(_) => Score::default(),
        };
        // A scalar is looked at faster than remembered.
        let is_large = value.as_array().is_some_and(|items| !items.is_empty()) || value.is_object();
        if is_large && !self.spent && self.scores.len() < SCORES {
            self.scores.insert(key, score);
        }
        score
    }

    /// How many violations there are so far.
    const fn count(&self) -> usize {
        match &self.mode {
            Mode::Tell(found) => found.len() + self.untold,
            Mode::Count { score, .. } => score.count,
        }
    }

    const fn has_enough(&self) -> bool {
        match &self.mode {
            Mode::Tell(found) => found.len() >= KEPT,
            Mode::Count { most, score, .. } => score.count >= *most,
        }
    }

    /// Something that breaks the schema.
    fn say(&mut self, fault: impl FnOnce() -> String) {
        match (self.asked, &self.mode) {
            (Asked::Checks { .. }, Mode::Tell(_)) => self.untold += 1,
            _ => self.tell(fault),
        }
    }

    fn tell(&mut self, fault: impl FnOnce() -> String) {
        if !self.has_enough() {
            let path = matches!(self.mode, Mode::Tell(_)).then(|| self.path());
            match (&mut self.mode, path) {
                (Mode::Tell(found), Some(path)) => found.push(Violation { path, fault: fault() }),
                _ => self.add(Score { as_a_whole: true, count: 1 }),
            }
        }
    }

    /// Counts what is wrong with the value at hand.
    fn add(&mut self, more: Score) {
        let here = self.path.len();
        if let Mode::Count { at, score, .. } = &mut self.mode {
            score.as_a_whole |= more.as_a_whole && *at == here;
            score.count += more.count;
        }
    }

    fn apply(&mut self, id: Id, value: &'a Value) {
        let tree = self.tree;
        match tree.get(id) {
            Node::Any | Node::Same(_) => {}
            Node::Never => self.say(|| "is not allowed".into()),
            Node::Rule(rule) => {
                if self.depth == 0 {
                    self.spent = true;
                }
                if self.goes_on() {
                    self.depth -= 1;
                    self.rule(rule, value);
                    self.depth += 1;
                }
            }
        }
    }

    fn rule(&mut self, rule: &'a Rule, value: &'a Value) {
        let before = self.count();
        // One wrong kind explains everything else that would be said of the value.
        if !rule.kinds.meets(Kinds::of(value)) {
            return self.say(|| wrong_kind(rule.kinds, value));
        }
        for allowed in &rule.allowed {
            if !allowed.iter().any(|other| same(other, value)) {
                self.say(|| expected(allowed, value));
            }
        }
        match value {
            Value::Object(members) => {
                if let Some(object) = &rule.object {
                    self.object(object, members, value);
                }
            }
            Value::Array(items) => {
                if let Some(array) = &rule.array {
                    self.array(array, items);
                }
            }
            Value::String(text) => self.text(&rule.text, text),
            Value::Number(number) => self.number(&rule.number, number),
            Value::Null | Value::Bool(_) => {}
        }
        for more in &rule.more {
            self.more(more, value);
        }
        // It is the author's, and may take for granted what the rest of the schema says.
        if let Some(check) = &rule.check
            && self.asked != Asked::Schema
            && (self.count() == before || self.asked == Asked::Checks { fits: true })
            && !self.spent
            && !value.is_null()
        {
            self.custom(check, value);
        }
    }

    fn goes_on(&mut self) -> bool {
        self.affords(1) && !self.has_enough()
    }

    fn affords(&mut self, steps: usize) -> bool {
        match self.steps.checked_sub(steps) {
            Some(steps) => self.steps = steps,
            None => self.spent = true,
        }
        !self.spent
    }

    fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Member(name) => words::push_step(&mut path, name),
                Step::Item(index) => words::push_index(&mut path, *index),
            }
        }
        words::end_of(path)
    }

    fn at(&mut self, step: Step<'a>, then: impl FnOnce(&mut Self)) {
        self.path.push(step);
        then(self);
        self.path.pop();
    }

    fn at_member(&mut self, name: &'a str, then: impl FnOnce(&mut Self)) {
        self.at(Step::Member(name), then);
    }

    fn text(&mut self, rules: &'a Text, text: &str) {
        if rules.is_free() || !self.affords(text.len() / LETTERS) || rules.fits(text) {
            return;
        }
        let length = text.chars().count();
        self.size(rules.size, length, "character");
        if let Some(pattern) = &rules.pattern
            && (rules.size.fits(length) || (text.len() <= SEARCHED && !pattern.regex.is_match(text)))
        {
            self.say(|| format!("must match the pattern `{}`, is {}", pattern.source, quote(&text.into())));
        }
    }

    fn number(&mut self, rules: &'a Number, number: &serde_json::Number) {
        let value = Num::of(number);
        for limit in rules.limits.iter().filter(|limit| !limit.holds(value)) {
            self.say(|| format!("must be {} {}, is {number}", limit.side.words(), limit.told));
        }
        if let Some((_, told)) = rules.multiple_of.as_ref().filter(|(of, _)| !value.is_multiple_of(*of)) {
            self.say(|| format!("must be a multiple of {told}, is {number}"));
        }
    }

    fn size(&mut self, allowed: Size, size: usize, unit: &str) {
        let plural = |bound: usize| if bound == 1 { "" } else { "s" };
        if let Some(least) = allowed.least.filter(|least| size < *least) {
            self.say(|| format!("must have at least {least} {unit}{}, has {size}", plural(least)));
        }
        if let Some(most) = allowed.most.filter(|most| size > *most) {
            self.say(|| format!("must have at most {most} {unit}{}, has {size}", plural(most)));
        }
    }

    fn object(&mut self, object: &'a Object, members: &'a Map<String, Value>, value: &'a Value) {
        // Who only counts is mostly told by the names alone which form is not meant.
        if matches!(self.mode, Mode::Count { .. }) {
            let missing = object.properties.iter().filter(|property| property.required);
            for property in missing.filter(|property| !members.contains_key(&*property.name)) {
                self.missing(&property.name);
            }
            if self.has_enough() {
                return;
            }
        }
        for property in &object.properties {
            let name: &'a str = &property.name;
            match members.get(name) {
                None if property.required && matches!(self.mode, Mode::Tell(_)) => self.missing(name),
                None => {}
                // What may be left out may be null.
                Some(Value::Null) if !property.required => {}
                Some(value) => self.at_member(name, |walk| walk.apply(property.node, value)),
            }
        }
        for name in object.required.iter().filter(|name| !members.contains_key(&***name)) {
            self.missing(name);
        }
        // Where each member is declared, and nothing else is asked of it, all of them have been seen.
        let others = !object.patterns.is_empty() || object.names.is_some() || object.others != Others::Open;
        for (name, value) in members.iter().filter(|_| others) {
            if !self.goes_on() {
                break;
            }
            self.other(object, name, value, object.place(name).is_some());
        }
        self.size(object.size, members.len(), "member");
        for (name, others) in object.dependent.iter().filter(|(name, _)| members.contains_key(&**name)) {
            for other in others.iter().filter(|other| !members.contains_key(&***other)) {
                self.at_member(other, |walk| walk.say(|| format!("is required beside `{name}`, and missing")));
            }
        }
        for (_, id) in object.dependent_schemas.iter().filter(|(name, _)| members.contains_key(&**name)) {
            self.apply(*id, value);
        }
    }

    fn missing(&mut self, name: &'a str) {
        self.at_member(name, |walk| walk.say(|| "is required, and missing".into()));
    }

    /// What is asked of a member that need not be declared.
    fn other(&mut self, object: &'a Object, name: &'a str, value: &'a Value, declared: bool) {
        let mut known = declared;
        for (pattern, id) in &object.patterns {
            if pattern.regex.is_match(name) {
                known = true;
                self.at_member(name, |walk| walk.apply(*id, value));
            }
        }
        match object.others {
            Others::Each(id) if !known => self.at_member(name, |walk| walk.apply(id, value)),
            Others::Closed if !known => {
                let guesses = self.guesses(object, name);
                self.at_member(name, |walk| walk.say(|| unknown(object, name, guesses)));
            }
            _ => {}
        }
        if let Some(id) = object.names {
            let name_of = Value::from(name);
            let mut walk = Walk::new(self.tree, self.steps);
            walk.apply(id, &name_of);
            (self.steps, self.spent) = (walk.steps, self.spent || walk.spent);
            if let Mode::Tell(found) = walk.mode
                && let Some(Violation { fault, .. }) = found.into_iter().next()
            {
                self.at_member(name, |walk| walk.say(|| format!("its name {fault}")));
            }
        }
    }

    /// Whether it is looked for the name that was meant.
    fn guesses(&mut self, object: &Object, name: &str) -> bool {
        let known: usize = object.properties.iter().map(|property| property.name.len()).sum();
        let left = self.compared.checked_sub(name.len().saturating_mul(known));
        let tells = matches!(self.mode, Mode::Tell(_)) && !self.has_enough();
        if let (Some(left), true) = (left, tells) {
            self.compared = left;
        }
        left.is_some() && tells
    }

    fn array(&mut self, array: &'a Array, items: &'a [Value]) {
        let looked_at = if array.items.is_some() { items.len() } else { array.first.len() };
        for (index, item) in items.iter().enumerate().take(looked_at) {
            if !self.goes_on() {
                break;
            }
            if let Some(id) = array.first.get(index).copied().or(array.items) {
                self.at(Step::Item(index), |walk| walk.apply(id, item));
            }
        }
        self.size(array.size, items.len(), "item");
        if let Some((id, size)) = array.contains {
            let count = items.iter().filter(|item| self.fits(id, item)).count();
            if !size.fits(count) && !self.spent {
                self.say(|| contains(size, count));
            }
        }
        if array.unique
            && self.affords(items.iter().map(weight).sum())
            && let Some((first, second)) = repeated(items)
        {
            self.say(|| format!("must not hold the same item twice: [{first}] and [{second}] are the same"));
        }
    }

    fn more(&mut self, more: &'a More, value: &'a Value) {
        match more {
            More::All(id) => self.apply(*id, value),
            More::Union(union) => self.union(union, value),
            More::Not(id) => {
                if self.fits(*id, value) {
                    self.say(|| "is of a form that is not allowed".into());
                }
            }
            More::If { condition, then, otherwise } => {
                let chosen = if self.fits(*condition, value) { then } else { otherwise };
                if let Some(id) = chosen.filter(|_| !self.spent) {
                    self.apply(id, value);
                }
            }
        }
    }

    /// The value must have one of these forms. If it has none, what is told is what it breaks of the form that it is
    /// nearest to: the one that its tag names, or else one of the same kind, with the fewest violations.
    fn union(&mut self, union: &'a Union, value: &'a Value) {
        if let (Some(tag), Value::Object(members)) = (&union.tag, value) {
            return self.tagged(tag, &union.forms, members, value);
        }
        let enough = if union.exactly_one { 2 } else { 1 };
        let mut fitting = 0;
        for &form in &union.forms {
            fitting += usize::from(self.fits(form, value));
            if fitting == enough || self.spent {
                break;
            }
        }
        match fitting {
            _ if self.spent => {}
            1 => {}
            0 => self.nearest(&union.forms, value),
            _ => self.say(|| "fits more than one of its forms, and must fit exactly one".into()),
        }
    }

    fn nearest(&mut self, forms: &'a [Id], value: &'a Value) {
        let scores = forms.iter().map(|form| (self.score(*form, value, NEAR), *form));
        // Two that are as near: the first.
        let best = scores.min_by_key(|(score, _)| (score.as_a_whole, score.count));
        match (best, &self.mode) {
            // None fits, whatever a check says when it is asked again.
            (Some((score, _)), Mode::Count { .. }) => self.add(Score { count: score.count.max(1), ..score }),
            (Some((score, form)), Mode::Tell(found)) if score.count > 0 => {
                let start = found.len();
                self.apply(form, value);
                if let Mode::Tell(found) = &mut self.mode
                    && let Some(first) = found.get_mut(start).filter(|_| score.as_a_whole)
                {
                    let _ = write!(first.fault, " (or another of its {} forms)", forms.len());
                }
            }
            _ => self.say(|| format!("has none of its {} forms", forms.len())),
        }
    }

    fn tagged(&mut self, tag: &'a Tag, forms: &'a [Id], members: &'a Map<String, Value>, value: &'a Value) {
        let name: &'a str = &tag.name;
        match members.get(name) {
            None => self.missing(name),
            Some(said) => match tag.values.iter().position(|value| same(value, said)) {
                Some(index) => self.apply(forms[index], value),
                None => self.at_member(name, |walk| walk.say(|| expected(&tag.values, said))),
            },
        }
    }

    /// A check is foreign code: its panic is told to the log, and it shares nothing that could be left half done.
    fn custom(&mut self, check: &'a Custom, value: &'a Value) {
        match catch_unwind(AssertUnwindSafe(|| (check.0)(value))) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => self.tell(|| clean(&why)),
            Err(panic) => {
                tracing::error!(path = self.path(), panic = panicked(&*panic), "the check of an argument panicked");
                self.tell(|| "could not be checked: its check failed".into());
            }
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied();
    clean(said.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)"))
}

fn unknown(object: &Object, name: &str, guesses: bool) -> String {
    let names = object.properties.iter().filter(|_| guesses).map(|property| &*property.name);
    match nearest(name, names) {
        Some(meant) => format!("is not a known parameter (did you mean `{meant}`?)"),
        None => "is not a known parameter".into(),
    }
}

fn contains(size: Size, count: usize) -> String {
    match (size.least, size.most) {
        (Some(least), _) if count < least => {
            format!("must hold at least {least} items of a certain form, holds {count}")
        }
        (_, most) => format!("must hold at most {} items of a certain form, holds {count}", most.unwrap_or_default()),
    }
}
