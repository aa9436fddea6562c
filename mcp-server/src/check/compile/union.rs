//! Schemas within a schema that are asked of the same value.

use serde_json::{Map, Value};

use super::{ANNOTATIONS, Compiler};
use crate::check::node::{Id, Kinds, More, Node, Object, Tag, Union, same};

/// Keywords with alternatives, and whether exactly one must fit.
const UNIONS: [(&str, bool); 2] = [("anyOf", false), ("oneOf", true)];

/// Alternatives that are constants are one list of values: it is what a derived enum with documented variants says.
pub(super) fn constants(map: &Map<String, Value>) -> impl Iterator<Item = Box<[Value]>> {
    UNIONS.iter().filter_map(|(key, exactly_one)| listed(map.get(*key)?, *exactly_one))
}

fn listed(forms: &Value, exactly_one: bool) -> Option<Box<[Value]>> {
    let mut values: Vec<Value> = Vec::new();
    for form in forms.as_array()? {
        let form = form.as_object()?;
        let known = |key: &String| matches!(key.as_str(), "const" | "enum" | "type") || ANNOTATIONS.contains(&&**key);
        let of_form = match (form.get("const"), form.get("enum")) {
            (Some(only), None) => std::slice::from_ref(only),
            (None, Some(Value::Array(values))) => values,
            _ => return None,
        };
        let kinds = form.get("type").map(|kind| kind.as_str().and_then(Kinds::named));
        let fits = |value: &Value| kinds.is_none_or(|kinds| kinds.is_some_and(|kinds| kinds.meets(Kinds::of(value))));
        let twice = |value: &Value| exactly_one && values.iter().any(|other| same(other, value));
        if !form.keys().all(known) || !of_form.iter().all(|value| fits(value) && !twice(value)) {
            return None;
        }
        values.extend(of_form.iter().cloned());
    }
    (!values.is_empty()).then(|| values.into())
}

impl<'a> Compiler<'a> {
    pub(super) fn more(&mut self, map: &'a Map<String, Value>) -> Box<[More]> {
        let mut more = Vec::new();
        if let Some(reference) = map.get("$ref") {
            match reference.as_str() {
                Some(reference) => more.extend(self.reference(reference).map(More::All)),
                None => self.fault("`$ref` must be a string"),
            }
        }
        more.extend(self.list(map, "allOf", "").into_iter().map(More::All));
        for (key, exactly_one) in UNIONS {
            if map.get(key).and_then(|forms| listed(forms, exactly_one)).is_some() {
                continue;
            }
            let forms = self.list(map, key, "");
            match *forms {
                [] if map.contains_key(key) => self.fault(format!("`{key}` must have at least one schema")),
                [] => {}
                [only] => more.push(More::All(only)),
                _ => more.push(More::Union(Union { tag: self.tag(&forms), forms, exactly_one })),
            }
        }
        more.extend(map.get("not").map(|schema| More::Not(self.schema(schema))));
        if let Some(condition) = map.get("if") {
            let condition = self.schema(condition);
            let [then, otherwise] = ["then", "else"].map(|key| map.get(key).map(|schema| self.schema(schema)));
            more.push(More::If { condition, then, otherwise });
        }
        more.into()
    }

    /// The member whose constant tells the forms apart, if there is one. A value without it fits none of them.
    fn tag(&self, forms: &[Id]) -> Option<Tag> {
        let objects: Option<Vec<&Object>> = forms.iter().map(|form| self.object_of(*form)).collect();
        let objects = objects?;
        objects.first()?.properties.iter().find_map(|property| {
            let values: Option<Vec<Value>> =
                objects.iter().map(|object| self.constant(object, &property.name)).collect();
            let values = values?;
            let distinct =
                (1..values.len()).all(|index| !values[..index].iter().any(|other| same(other, &values[index])));
            distinct.then(|| Tag { name: property.name.clone(), values: values.into() })
        })
    }

    /// The rules of a node that lets in objects alone.
    fn object_of(&self, id: Id) -> Option<&Object> {
        match self.node(id)? {
            Node::Rule(rule) if rule.kinds == Kinds::OBJECT => rule.object.as_deref(),
            _ => None,
        }
    }

    fn constant(&self, object: &Object, name: &str) -> Option<Value> {
        let property = object.properties.iter().find(|property| *property.name == *name && property.required)?;
        match self.node(property.node)? {
            Node::Rule(rule) => match &*rule.allowed {
                [only] if only.len() == 1 => only.first().cloned(),
                _ => None,
            },
            _ => None,
        }
    }

    fn node(&self, id: Id) -> Option<&Node> {
        match &self.nodes[id] {
            Node::Same(target) => self.nodes.get(*target),
            node => Some(node),
        }
    }
}
