//! What is done to arguments before they are checked: nulls that mean nothing, integers written as floats, texts where a
//! tool takes them for numbers, and defaults.

use serde_json::{Map, Number, Value};

use super::node::{Array, Id, Kinds, More, Node, Null, Object, Others, Rule, Tree, Union, same};
use super::unique::weight;
use super::walk::Walk;

/// How arguments are settled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settling {
    /// Whether texts are taken for numbers and booleans, where no schema says otherwise.
    pub(super) coerce: bool,
    /// Whether a property that is absent gets its default.
    pub(super) defaults: bool,
    /// Whether the tree is all of the schema, so that it can tell which of several alternatives is meant.
    pub(super) whole: bool,
}

/// One pass over one value.
struct Normal<'a> {
    tree: &'a Tree,
    settling: Settling,
    steps: usize,
    depth: usize,
    changed: bool,
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    AsItWas,
    Changed,
    /// There were too many alternatives within one another to settle all of it.
    Spent,
}

impl Settled {
    /// What this pass and one before it came to.
    pub(super) fn and(self, before: Self) -> Self {
        if self == Self::AsItWas { before } else { self }
    }
}

/// Schemas within one another.
const DEPTH: usize = 400;

/// Brings a value into the form in which it is checked, and then read.
pub(super) fn settle(tree: &Tree, id: Id, settling: Settling, steps: usize, value: &mut Value) -> Settled {
    let mut normal = Normal { tree, settling, steps, depth: DEPTH, changed: false };
    normal.value(id, value, settling.coerce);
    match normal.changed {
        _ if normal.steps == 0 => Settled::Spent,
        true => Settled::Changed,
        false => Settled::AsItWas,
    }
}

impl<'a> Normal<'a> {
    fn value(&mut self, id: Id, value: &mut Value, coerce: bool) {
        let tree = self.tree;
        let Node::Rule(rule) = tree.get(id) else { return };
        self.spend(1);
        if self.depth == 0 {
            self.steps = 0;
        }
        if self.steps == 0 {
            return;
        }
        self.depth -= 1;
        self.rule(rule, value, rule.coerce.unwrap_or(coerce));
        self.depth += 1;
    }

    fn spend(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps);
    }

    fn put(&mut self, place: &mut Value, value: Value) {
        *place = value;
        self.changed = true;
    }

    fn rule(&mut self, rule: &'a Rule, value: &mut Value, coerce: bool) {
        if coerce
            && !rule.kinds.meets(Kinds::of(value))
            && let Some(coerced) = coerced(rule.kinds, value)
        {
            self.put(value, coerced);
        }
        if rule.kinds.meets(Kinds::INTEGER)
            && !rule.kinds.meets(Kinds::FRACTION)
            && let Some(integer) = integer(value)
        {
            self.put(value, integer);
        }
        // The type that reads it may know one spelling of a number.
        for allowed in &rule.allowed {
            if let Some(meant) = allowed.iter().find(|other| same(other, value)).filter(|other| *other != value) {
                self.put(value, meant.clone());
            }
        }
        match value {
            Value::Object(members) => {
                if let Some(object) = &rule.object {
                    self.object(object, members, coerce);
                }
            }
            Value::Array(items) => {
                if let Some(array) = &rule.array {
                    self.array(array, items, coerce);
                }
            }
            _ => {}
        }
        for more in &rule.more {
            self.more(more, value, coerce);
        }
    }

    fn object(&mut self, object: &'a Object, members: &mut Map<String, Value>, coerce: bool) {
        let is_nothing = |name: &str, value: &Value| {
            let property = || object.place(name).map(|place| &object.properties[place]);
            value.is_null() && property().is_some_and(|property| !property.required && property.null == Null::Absent)
        };
        // All at once: to take out one moves all behind it.
        if members.iter().any(|(name, value)| is_nothing(name, value)) {
            members.retain(|name, value| !is_nothing(name, value));
            self.changed = true;
        }
        for property in &object.properties {
            let name = &*property.name;
            match members.get_mut(name) {
                Some(value) => self.value(property.node, value, coerce),
                None if self.settling.defaults => {
                    let Node::Rule(rule) = self.tree.get(property.node) else { continue };
                    if let Some(mut default) = rule.default.clone() {
                        self.value(property.node, &mut default, coerce);
                        members.insert(name.to_owned(), default);
                        self.changed = true;
                    }
                }
                None => {}
            }
        }
        if object.patterns.is_empty() && !matches!(object.others, Others::Each(_)) {
            return;
        }
        for (name, value) in members.iter_mut() {
            self.spend(1);
            let mut known = object.place(name).is_some();
            for (_, id) in object.patterns.iter().filter(|(pattern, _)| pattern.regex.is_match(name)) {
                known = true;
                self.value(*id, value, coerce);
            }
            match object.others {
                Others::Each(id) if !known => self.value(id, value, coerce),
                _ => {}
            }
        }
    }

    fn array(&mut self, array: &'a Array, items: &mut [Value], coerce: bool) {
        let looked_at = if array.items.is_some() { items.len() } else { array.first.len() };
        for (index, item) in items.iter_mut().enumerate().take(looked_at) {
            self.spend(1);
            if let Some(id) = array.first.get(index).copied().or(array.items) {
                self.value(id, item, coerce);
            }
        }
    }

    fn more(&mut self, more: &'a More, value: &mut Value, coerce: bool) {
        match more {
            More::All(id) => self.value(*id, value, coerce),
            More::Union(union) if self.settling.whole => self.union(union, value, coerce),
            More::If { condition, then, otherwise } if self.settling.whole => {
                let chosen = if self.fits(*condition, value) { then } else { otherwise };
                if let Some(id) = chosen {
                    self.value(*id, value, coerce);
                }
            }
            _ => {}
        }
    }

    /// What it becomes in the first form that it fits: as it is, if it can, before a text is taken for a number.
    fn union(&mut self, union: &'a Union, value: &mut Value, coerce: bool) {
        if let Some(form) = self.form_of(union, value) {
            return self.value(form, value, coerce && union.tag.is_some());
        }
        for &form in union.forms.iter().filter(|_| coerce) {
            // Each trial has a copy of its own.
            self.spend(weight(value));
            if self.steps == 0 {
                return;
            }
            let mut trial = value.clone();
            let before = self.changed;
            self.value(form, &mut trial, true);
            if self.fits(form, &trial) {
                *value = trial;
                return;
            }
            self.changed = before;
        }
    }

    /// The form that is meant by a value as it is.
    fn form_of(&mut self, union: &'a Union, value: &Value) -> Option<Id> {
        if let (Some(tag), Value::Object(members)) = (&union.tag, value) {
            let said = members.get(&*tag.name)?;
            return tag.values.iter().position(|value| same(value, said)).map(|index| union.forms[index]);
        }
        let mut walk = Walk::new(self.tree, self.steps);
        let form = union.forms.iter().copied().find(|form| walk.fits(*form, value));
        self.steps = if walk.is_spent() { 0 } else { walk.steps() };
        form
    }

    fn fits(&mut self, id: Id, value: &Value) -> bool {
        let mut walk = Walk::new(self.tree, self.steps);
        let fits = walk.fits(id, value);
        self.steps = if walk.is_spent() { 0 } else { walk.steps() };
        fits
    }
}

/// A float that is an integer by the standard, and that no type of Rust would read as one.
fn integer(value: &Value) -> Option<Value> {
    // Beyond 2^53 a float may be next to what was written, and not that.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = value.as_number().filter(|number| number.is_f64())?.as_f64()?;
    (float.fract() == 0.0 && float.abs() < EXACT).then(|| (float as i64).into())
}

fn whole(number: Value) -> Option<Value> {
    if number.is_f64() { integer(&number) } else { Some(number) }
}

/// What was meant by a value of the wrong kind, where a tool takes it for that: the text of a number, the text of a
/// boolean, and 1 and 0 for a boolean.
fn coerced(kinds: Kinds, value: &Value) -> Option<Value> {
    match value {
        Value::String(text) if kinds.meets(Kinds::NUMBER) || kinds.meets(Kinds::BOOLEAN) => {
            // As JSON writes it: no `+5`, no ` 5`, no `inf`.
            let number = text.parse::<Number>().ok().map(Value::from).filter(|_| kinds.meets(Kinds::NUMBER));
            let number = if kinds.meets(Kinds::FRACTION) { number } else { number.and_then(whole) };
            number.or_else(|| boolean(text).filter(|_| kinds.meets(Kinds::BOOLEAN)).map(Value::from))
        }
        Value::Number(number) if kinds.meets(Kinds::BOOLEAN) => match number.as_u64() {
            Some(0) => Some(false.into()),
            Some(1) => Some(true.into()),
            _ => None,
        },
        _ => None,
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}
