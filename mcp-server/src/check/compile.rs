//! From a schema to its [`Tree`]: every keyword is enforced, or without effect by the standard, or refused.

mod audit;
mod parts;
mod union;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{Custom, Id, Kinds, Node, Null, Rule, Tree};
use super::words::nearest;
use crate::schema::{CHECK, COERCE, Check};

/// A compiled schema, and what is wrong with it: sentences, each with its place.
pub(super) struct Compiled {
    pub(super) tree: Tree,
    pub(super) faults: Vec<String>,
    /// The defaults, by what they are the default of.
    pub(super) defaults: Vec<(String, Id, Value)>,
}

/// Compiles a schema. What cannot be enforced is a fault, and lets everything in.
pub(super) fn compile(schema: &Value, checks: &[Check]) -> Compiled {
    let mut compiler = Compiler {
        root: schema,
        checks,
        nodes: Vec::new(),
        kinds: Vec::new(),
        known: HashMap::new(),
        at: String::new(),
        faults: Vec::new(),
        defaults: Vec::new(),
    };
    let root = compiler.reference("#").unwrap_or_default();
    compiler.finish(root)
}

struct Compiler<'a> {
    root: &'a Value,
    checks: &'a [Check],
    nodes: Vec<Node>,
    /// What each node lets in, as far as kinds tell.
    kinds: Vec<Kinds>,
    /// By reference.
    known: HashMap<&'a str, Id>,
    /// The path of what is being compiled, as a violation would have it.
    at: String,
    faults: Vec<String>,
    defaults: Vec<(String, Id, Value)>,
}

impl<'a> Compiler<'a> {
    fn schema(&mut self, schema: &'a Value) -> Id {
        match schema {
            Value::Bool(true) => self.add(Node::Any, Kinds::ALL),
            Value::Bool(false) => self.add(Node::Never, Kinds::NONE),
            Value::Object(map) => match alias(map) {
                Some(reference) => self.reference(reference).unwrap_or_else(|| self.add(Node::Any, Kinds::ALL)),
                None => self.rule(map),
            },
            _ => {
                self.fault("a schema must be an object or a boolean");
                self.add(Node::Any, Kinds::ALL)
            }
        }
    }

    fn rule(&mut self, map: &'a Map<String, Value>) -> Id {
        map.keys().for_each(|key| self.known_keyword(key));
        let mut rule = Rule {
            kinds: self.kinds(map),
            allowed: self.allowed(map),
            text: self.text(map),
            number: self.number(map),
            array: self.array(map),
            object: self.object(map),
            more: self.more(map),
            check: self.check(map),
            coerce: map.get(COERCE).and_then(Value::as_bool),
            default: map.get("default").cloned(),
            plain: false,
        };
        rule.plain = rule.is_plain();
        let kinds = self.let_in(&rule);
        self.misplaced(map, kinds);
        let default = rule.default.clone();
        let id = self.add(if rule.says_nothing() { Node::Any } else { Node::Rule(Box::new(rule)) }, kinds);
        if let Some(default) = default {
            self.defaults.push((self.place(), id, default));
        }
        id
    }

    fn add(&mut self, node: Node, kinds: Kinds) -> Id {
        self.nodes.push(node);
        self.kinds.push(kinds);
        self.nodes.len() - 1
    }

    fn reference(&mut self, reference: &'a str) -> Option<Id> {
        if let Some(&id) = self.known.get(reference) {
            return Some(id);
        }
        let Some(schema) = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(&decoded(pointer))) else {
            self.fault(format!("refers to `{reference}`, which is not in the schema"));
            return None;
        };
        // It may refer to itself, so its place is known before it is looked at.
        let id = self.add(Node::Any, Kinds::ALL);
        self.known.insert(reference, id);
        let target = self.schema(schema);
        self.nodes[id] = Node::Same(target);
        self.kinds[id] = self.kinds[target];
        Some(id)
    }

    fn below(&mut self, step: &str, schema: &'a Value) -> Id {
        let length = self.at.len();
        self.at.push_str(step);
        let id = self.schema(schema);
        self.at.truncate(length);
        id
    }

    fn member(&mut self, name: &str, schema: &'a Value) -> Id {
        let step = if self.at.is_empty() { name.to_owned() } else { format!(".{name}") };
        self.below(&step, schema)
    }

    fn known_keyword(&mut self, key: &str) {
        if is_enforced(key) || ANNOTATIONS.contains(&key) || key.starts_with("x-") {
            return;
        }
        if UNENFORCED.contains(&key) {
            return self.fault(format!(
                "`{key}` is published and cannot be enforced for a type: leave it out, or give the schema as data with \
                 `input_schema` and the feature `validate`"
            ));
        }
        let known = [STRING, NUMBER, ARRAY, OBJECT, ANY, ANNOTATIONS].concat();
        match nearest(key, known) {
            Some(meant) => self.fault(format!("`{key}` is not a keyword of JSON Schema: did you mean `{meant}`?")),
            None => self.fault(format!(
                "`{key}` is not a keyword of JSON Schema: leave it out, or begin the name of one of your own with `x-`"
            )),
        }
    }

    fn check(&mut self, map: &Map<String, Value>) -> Option<Custom> {
        let place = usize::try_from(map.get(CHECK)?.as_u64()?).ok()?;
        let check = self.checks.get(place).cloned().map(Custom);
        if check.is_none() {
            self.fault("its custom check is not there: register it while the schema is made");
        }
        check
    }

    fn place(&self) -> String {
        if self.at.is_empty() { "the arguments".into() } else { format!("`{}`", self.at) }
    }

    fn fault(&mut self, what: impl AsRef<str>) {
        let fault = format!("{}: {}", self.place(), what.as_ref());
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// What a null is to a property can be told only when all that it refers to is known.
    fn settle_nulls(&mut self) {
        for node in &mut self.nodes {
            let Node::Rule(rule) = node else { continue };
            for property in rule.object.iter_mut().flat_map(|object| &mut object.properties) {
                if self.kinds[property.node].meets(Kinds::NULL) {
                    property.null = Null::Value;
                }
            }
        }
    }

    /// Every [`Node::Same`] leads to its end in one step.
    fn finish(mut self, root: Id) -> Compiled {
        for id in 0..self.nodes.len() {
            let mut target = id;
            // As many steps as there are nodes lead to the end, or round in a circle.
            for _ in 0..self.nodes.len() {
                match self.nodes[target] {
                    Node::Same(next) => target = next,
                    _ => break,
                }
            }
            match self.nodes[target] {
                Node::Same(_) => {
                    self.fault("a definition is nothing but a reference to itself");
                    self.nodes[id] = Node::Any;
                }
                _ if target != id => self.nodes[id] = Node::Same(target),
                _ => {}
            }
        }
        self.settle_nulls();
        let tree = Tree { nodes: self.nodes.into(), root };
        if audit::has_circle(&tree) {
            self.faults.push("the arguments: a definition asks itself for the same value, without end".into());
            // Nor would a look at these end.
            self.defaults.clear();
        }
        Compiled { tree, faults: self.faults, defaults: self.defaults }
    }
}

/// A reference is a URI, and has in percent what a URI cannot have.
fn decoded(pointer: &str) -> Cow<'_, str> {
    let Some((before, rest)) = pointer.split_once('%') else { return pointer.into() };
    let mut bytes = before.as_bytes().to_vec();
    for part in rest.split('%') {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => bytes.push(byte),
            None => return pointer.into(),
        }
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_or_else(|_| pointer.into(), Cow::Owned)
}

/// A reference with nothing beside it that is enforced.
fn alias(map: &Map<String, Value>) -> Option<&str> {
    let silent = |key: &str| {
        (ANNOTATIONS.contains(&key) && key != "default") || (key.starts_with("x-") && key != CHECK && key != COERCE)
    };
    let reference = map.get("$ref")?.as_str()?;
    map.keys().all(|key| key == "$ref" || silent(key)).then_some(reference)
}

const STRING: &[&str] = &["minLength", "maxLength", "pattern"];
const NUMBER: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const ARRAY: &[&str] =
    &["prefixItems", "items", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"];
const OBJECT: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
];
const ANY: &[&str] = &["type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// Without effect by the standard, or by what everybody takes them for.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "example",
    "examples",
    "format",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "$comment",
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
];

const UNENFORCED: &[&str] = &[
    "unevaluatedItems",
    "unevaluatedProperties",
    "additionalItems",
    "dependencies",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
];

fn is_enforced(key: &str) -> bool {
    [STRING, NUMBER, ARRAY, OBJECT, ANY].iter().any(|keys| keys.contains(&key))
}
