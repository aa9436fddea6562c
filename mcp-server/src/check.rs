//! What is wrong with arguments, all of it at once, each with its path (TOOL-9).
//!
//! A typed tool's arguments are judged by their own type: serde reads them, and stops at the first thing it cannot read.
//! Only then they are compared with the schema that was published for the type, to say everything that is wrong. So this
//! file knows the keywords that a derived schema has, no call that succeeds pays for it, and where it finds nothing, what
//! serde said is told.

use std::fmt::Write as _;

use mcp_core::fault::reflect;
use serde_json::{Map, Value};

/// Violations listed in one answer: a model corrects a dozen, and 10,000 wrong items need not be named.
const LISTED: usize = 32;
/// Members, items and schemas looked at for one explanation: alternatives within alternatives multiply, and the thread that
/// explains is the one that serves.
const STEPS: usize = 50_000;
/// Names listed of what would have been right.
const NAMES: usize = 50;
/// Schemas within one another: a reference may lead to itself without reading anything.
const DEPTH: usize = 256;

/// Characters of one explanation.
const LONG: usize = 500;
/// Violations kept: more are found in nothing but an attack.
pub(crate) const KEPT: usize = 1000;

/// One thing that is wrong with an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Where: `address.lines[2]`, or nothing for the arguments as a whole.
    pub(crate) path: String,
    /// What: a clause that follows the path.
    pub(crate) fault: String,
}

/// Everything in which `value` breaks `schema`, in the order of the schema.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<Violation> {
    let mut check = Check { root: schema, found: Vec::new(), path: String::new(), steps: STEPS, depth: DEPTH };
    check.apply(schema, value);
    check.found
}

/// The text that tells a model how to do better.
pub(crate) fn report(tool: &str, violations: &[Violation]) -> String {
    let mut text = format!("Invalid arguments for tool `{tool}`:");
    for Violation { path, fault } in violations.iter().take(LISTED) {
        // Writing to a String cannot fail.
        let _ = if path.is_empty() { write!(text, "\n- {fault}") } else { write!(text, "\n- `{path}`: {fault}") };
    }
    if violations.len() > LISTED {
        let _ = write!(text, "\n- and {} more", violations.len() - LISTED);
    }
    text
}

struct Check<'a> {
    root: &'a Value,
    found: Vec<Violation>,
    path: String,
    steps: usize,
    depth: usize,
}

impl<'a> Check<'a> {
    fn apply(&mut self, schema: &'a Value, value: &Value) {
        let Value::Object(rules) = schema else {
            if *schema == Value::Bool(false) {
                self.say("is not allowed".into());
            }
            return;
        };
        if self.depth == 0 || !self.may_go_on() {
            return;
        }
        self.depth -= 1;
        // One wrong type explains everything else that would be said of the value.
        if self.kind(rules, value) {
            self.choice(rules, value);
            match value {
                Value::Object(members) => self.object(rules, members),
                Value::Array(items) => self.array(rules, items),
                Value::String(text) => self.length(rules, "minLength", "maxLength", text.chars().count(), "character"),
                Value::Number(number) => self.number(rules, number.as_f64().unwrap_or_default()),
                _ => {}
            }
            self.combined(rules, value);
        }
        self.depth += 1;
    }

    fn may_go_on(&mut self) -> bool {
        self.steps = self.steps.saturating_sub(1);
        self.steps > 0
    }

    fn say(&mut self, fault: String) {
        if self.found.len() < KEPT {
            self.found.push(Violation { path: self.path.clone(), fault });
        }
    }

    fn kind(&mut self, rules: &Map<String, Value>, value: &Value) -> bool {
        let kinds: Vec<&str> = match rules.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let fits = kinds.iter().any(|kind| is_of_kind(kind, value));
        if !fits {
            let wanted: Vec<&str> = kinds.iter().map(|kind| with_article(kind)).collect();
            self.say(format!("expected {}, got {}", wanted.join(" or "), kind(value)));
        }
        fits
    }

    fn choice(&mut self, rules: &Map<String, Value>, value: &Value) {
        if let Some(Value::Array(allowed)) = rules.get("enum") {
            self.one_of(&allowed.iter().collect::<Vec<_>>(), value);
        }
        if let Some(only) = rules.get("const") {
            self.one_of(&[only], value);
        }
    }

    fn object(&mut self, rules: &'a Map<String, Value>, members: &Map<String, Value>) {
        let required = rules.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for name in required.iter().filter_map(Value::as_str).filter(|name| !members.contains_key(*name)) {
            self.at_member(name, |check| check.say("is required, and missing".into()));
        }
        let properties = rules.get("properties").and_then(Value::as_object);
        for (name, value) in members {
            if !self.may_go_on() {
                break;
            }
            match (properties.and_then(|properties| properties.get(name)), rules.get("additionalProperties")) {
                // What may be left out may be null; whether this one may, its type has said already.
                (Some(_), _) if value.is_null() && !required.iter().any(|needed| needed == name) => {}
                (Some(schema), _) => self.at_member(name, |check| check.apply(schema, value)),
                (None, Some(Value::Bool(false))) => {
                    self.at_member(name, |check| check.say("is not a known parameter".into()))
                }
                (None, Some(others)) => self.at_member(name, |check| check.apply(others, value)),
                (None, None) => {}
            }
        }
        self.length(rules, "minProperties", "maxProperties", members.len(), "member");
    }

    fn array(&mut self, rules: &'a Map<String, Value>, items: &[Value]) {
        let first = rules.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            if !self.may_go_on() {
                break;
            }
            if let Some(schema) = first.get(index).or_else(|| rules.get("items")) {
                self.at(&format!("[{index}]"), |check| check.apply(schema, item));
            }
        }
        self.length(rules, "minItems", "maxItems", items.len(), "item");
        let unique = rules.get("uniqueItems") == Some(&Value::Bool(true));
        // Quadratic, so only where it is cheap; the type itself has refused or merged the others.
        if unique && items.len() <= 100 && (1..items.len()).any(|index| items[..index].contains(&items[index])) {
            self.say("holds the same item twice".into());
        }
    }

    fn length(&mut self, rules: &Map<String, Value>, least: &str, most: &str, length: usize, unit: &str) {
        let bound = |key| rules.get(key).and_then(Value::as_u64);
        let plural = |bound: u64| if bound == 1 { "" } else { "s" };
        if let Some(least) = bound(least).filter(|least| (length as u64) < *least) {
            self.say(format!("must have at least {least} {unit}{}, has {length}", plural(least)));
        }
        if let Some(most) = bound(most).filter(|most| (length as u64) > *most) {
            self.say(format!("must have at most {most} {unit}{}, has {length}", plural(most)));
        }
    }

    fn number(&mut self, rules: &Map<String, Value>, number: f64) {
        type Breaks = fn(f64, f64) -> bool;
        let bounds: [(&str, &str, Breaks); 4] = [
            ("minimum", "at least", |number, bound| number < bound),
            ("maximum", "at most", |number, bound| number > bound),
            ("exclusiveMinimum", "more than", |number, bound| number <= bound),
            ("exclusiveMaximum", "less than", |number, bound| number >= bound),
        ];
        for (key, words, breaks) in bounds {
            let Some(rule) = rules.get(key) else { continue };
            if rule.as_f64().is_some_and(|bound| breaks(number, bound)) {
                self.say(format!("must be {words} {rule}, is {number}"));
            }
        }
    }

    fn combined(&mut self, rules: &'a Map<String, Value>, value: &Value) {
        if let Some(target) = rules.get("$ref").and_then(Value::as_str).and_then(|reference| self.target(reference)) {
            self.apply(target, value);
        }
        for schema in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.apply(schema, value);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(forms) = rules.get(key).and_then(Value::as_array) {
                self.any(forms, value);
            }
        }
    }

    /// The value must have one of these forms. If it has none, what is told is what it breaks of the form that it is
    /// nearest to: the one that its tag names, or else one of the same kind, with the fewest violations.
    fn any(&mut self, forms: &'a [Value], value: &Value) {
        let consts: Option<Vec<&Value>> = forms.iter().map(|form| form.get("const")).collect();
        if let Some(allowed) = consts {
            return self.one_of(&allowed, value);
        }
        if let (Some(tag), Value::Object(members)) = (tag_of(forms), value) {
            return self.tagged(tag, forms, members, value);
        }
        let start = self.found.len();
        let mut nearest: Option<((bool, usize), Vec<Violation>)> = None;
        for form in forms {
            self.apply(form, value);
            let broken = self.found.split_off(start);
            if broken.is_empty() {
                return;
            }
            let as_a_whole = broken.iter().any(|violation| violation.path == self.path);
            let rank = (as_a_whole, broken.len());
            if nearest.as_ref().is_none_or(|(best, _)| rank < *best) {
                nearest = Some((rank, broken));
            }
        }
        let Some(((as_a_whole, _), mut broken)) = nearest else { return };
        if as_a_whole {
            broken[0].fault.push_str(&format!(" (or another of its {} forms)", forms.len()));
        }
        self.found.extend(broken);
    }

    fn tagged(&mut self, tag: &str, forms: &'a [Value], members: &Map<String, Value>, value: &Value) {
        let named = |form: &&'a Value| members.get(tag).is_some_and(|name| form["properties"][tag]["const"] == *name);
        match (forms.iter().find(named), members.get(tag)) {
            (Some(form), _) => self.apply(form, value),
            (None, Some(name)) => {
                let names: Vec<&Value> = forms.iter().map(|form| &form["properties"][tag]["const"]).collect();
                self.at_member(tag, |check| check.one_of(&names, name));
            }
            (None, None) => self.at_member(tag, |check| check.say("is required, and missing".into())),
        }
    }

    fn one_of(&mut self, allowed: &[&Value], value: &Value) {
        if !allowed.contains(&value) {
            let names: Vec<String> = allowed.iter().take(NAMES).map(ToString::to_string).collect();
            let one_of = if allowed.len() == 1 { "" } else { "one of " };
            let more = if allowed.len() > NAMES { ", .." } else { "" };
            self.say(format!("expected {one_of}{}{more}, got {}", names.join(", "), quote(value)));
        }
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    fn at_member(&mut self, name: &str, then: impl FnOnce(&mut Self)) {
        let path = step(&self.path, name);
        let before = std::mem::replace(&mut self.path, path);
        then(self);
        self.path = before;
    }

    fn at(&mut self, step: &str, then: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        then(self);
        self.path.truncate(length);
    }
}

/// The member by which forms of objects are told apart, as serde's tagged enums are: a constant in every one of them.
fn tag_of(forms: &[Value]) -> Option<&str> {
    let properties = forms.first()?.get("properties")?.as_object()?;
    let tells_apart =
        |name: &&String| forms.iter().all(|form| form["properties"][name.as_str()].get("const").is_some());
    properties.keys().find(tells_apart).map(String::as_str)
}

fn is_of_kind(kind: &str, value: &Value) -> bool {
    match (kind, value) {
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        ("number", Value::Number(_)) => true,
        _ => kind == kind_of(value),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a value is: `an array`.
pub(crate) fn kind(value: &Value) -> &'static str {
    with_article(kind_of(value))
}

fn with_article(kind: &str) -> &str {
    match kind {
        "boolean" => "a boolean",
        "number" => "a number",
        "integer" => "an integer",
        "string" => "a string",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

/// The path of a member of what is at `path`.
pub(crate) fn step(path: &str, name: &str) -> String {
    let name = reflect(name);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// A text with something of the peer's in it, as an answer may say it: longer than a quotation, and bounded all the same.
pub(crate) fn clean(text: &str) -> String {
    let text: Vec<char> = text.chars().take(LONG).collect();
    text.chunks(100).map(|part| reflect(&part.iter().collect::<String>())).collect()
}

/// A value of the peer's, as an answer may quote it.
fn quote(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => kind(value).into(),
        scalar => reflect(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn alternatives_within_alternatives_are_explained_in_bounded_steps() {
        // Three ways to read each of 60 levels: without `STEPS` this would look at 3^60 schemas, and never end.
        let list = json!({"type": "array", "items": {"$ref": "#/$defs/Nested"}});
        let form = |more: &str| json!({"type": "object", "properties": {"a": list, more: {"type": "boolean"}}, "required": ["a"]});
        let schema = json!({
            "$ref": "#/$defs/Nested",
            "$defs": {"Nested": {"anyOf": [{"type": "boolean"}, form("b"), form("c"), form("d")]}},
        });
        let mut value = json!(1);
        for _ in 0..60 {
            value = json!({"a": [value]});
        }
        let found = violations(&schema, &value);
        assert!(found.len() <= KEPT);
        assert!(report("t", &found).len() < 20_000);
    }
}
