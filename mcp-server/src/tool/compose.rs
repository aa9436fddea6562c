//! The schema of a tool's arguments together with the default params of its module.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::defaults::{CommonParam, Group};
use crate::schema::{CHECK, Check};

/// A schema with markers, and what they refer to.
pub(crate) struct Composed {
    pub(crate) marked: Value,
    pub(crate) checks: Vec<Check>,
    /// The default params that are in it.
    pub(crate) common: Vec<CommonParam>,
}

impl Composed {
    const fn of(marked: Value, checks: Vec<Check>) -> Self {
        Self { marked, checks, common: Vec::new() }
    }
}

/// The default params by themselves.
pub(crate) fn alone(common: &[CommonParam]) -> Composed {
    let own = json!({"type": "object", "properties": {}});
    compose(own.clone(), Vec::new(), common.to_vec()).unwrap_or_else(|| Composed::of(own, Vec::new()))
}

/// Puts the default params before the tool's own, but for those that it has itself.
///
/// `None` if its schema is a reference, into which nothing can be written.
pub(crate) fn compose(own: Value, checks: Vec<Check>, mut common: Vec<CommonParam>) -> Option<Composed> {
    let Value::Object(mut schema) = own else { return Some(Composed::of(own, checks)) };
    common.retain(|param| !declares(&schema, &param.name));
    let is_legible =
        schema.get("properties").is_none_or(Value::is_object) && schema.get("required").is_none_or(Value::is_array);
    // What is wrong with the schema is told of it as it is.
    if common.is_empty() || !is_legible {
        return Some(Composed::of(schema.into(), checks));
    }
    admit(&mut schema, &common)?;
    let mut writer = Writer { checks, groups: Vec::new(), definitions: definitions(&schema) };
    let mut properties: Map<String, Value> = common.iter().map(|param| writer.written(param)).collect();
    let mut required: Vec<Value> =
        common.iter().filter(|param| param.required).map(|param| Value::from(&*param.name)).collect();
    if let Some(Value::Object(own)) = schema.get("properties") {
        properties.extend(own.clone());
    }
    if let Some(Value::Array(own)) = schema.get("required") {
        required.extend(own.iter().cloned());
    }
    schema.shift_remove("required");
    if !schema.contains_key("properties") {
        schema.insert("properties".into(), Value::Null);
    }
    let mut composed = Map::new();
    for (key, value) in schema {
        match key.as_str() {
            "properties" => {
                composed.insert(key, std::mem::take(&mut properties).into());
                if !required.is_empty() {
                    composed.insert("required".into(), std::mem::take(&mut required).into());
                }
            }
            "$defs" => {}
            _ => drop(composed.insert(key, value)),
        }
    }
    if !writer.definitions.is_empty() {
        composed.insert(DEFS.into(), writer.definitions.into());
    }
    Some(Composed { marked: composed.into(), checks: writer.checks, common })
}

const DEFS: &str = "$defs";
const ALTERNATIVES: [&str; 3] = ["oneOf", "anyOf", "allOf"];

fn definitions(schema: &Map<String, Value>) -> Map<String, Value> {
    schema.get(DEFS).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn forms(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    ALTERNATIVES.iter().filter_map(|key| schema.get(*key)?.as_array()).flatten()
}

/// Whether the tool has a param of that name itself.
pub(super) fn declares(schema: &Map<String, Value>, name: &str) -> bool {
    let has = |schema: &Map<String, Value>| schema.get("properties").is_some_and(|own| own.get(name).is_some());
    has(schema) || forms(schema).filter_map(Value::as_object).any(has)
}

/// Lets the default params into alternatives that are closed.
fn admit(schema: &mut Map<String, Value>, common: &[CommonParam]) -> Option<()> {
    let refers = |form: &Value| form.get("$ref").is_some();
    if schema.contains_key("$ref") || forms(schema).any(refers) {
        return None;
    }
    let forms = ALTERNATIVES.iter().filter(|key| schema.get(**key).is_some_and(Value::is_array)).collect::<Vec<_>>();
    for key in forms {
        for form in schema[*key].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            if form.get("additionalProperties").is_none_or(|others| *others == Value::Bool(true)) {
                continue;
            }
            if let Value::Object(properties) = form.entry("properties").or_insert_with(|| json!({})) {
                properties.extend(common.iter().map(|param| (param.name.to_string(), json!({}))));
            }
        }
    }
    Some(())
}

/// Puts what the params refer to where the schema has its own.
struct Writer {
    checks: Vec<Check>,
    groups: Vec<Placed>,
    definitions: Map<String, Value>,
}

/// A group whose checks and definitions are in the schema.
struct Placed {
    group: Arc<Group>,
    /// The place of its first check.
    first: u64,
    /// Its definitions that have another name here.
    renamed: Vec<(String, String)>,
}

impl Writer {
    fn written(&mut self, param: &CommonParam) -> (String, Value) {
        let known = self.groups.iter().position(|placed| Arc::ptr_eq(&placed.group, &param.group));
        let index = known.unwrap_or_else(|| self.place(&param.group));
        let mut schema = param.schema.clone();
        self.groups[index].rewrite(&mut schema);
        (param.name.to_string(), schema)
    }

    fn place(&mut self, group: &Arc<Group>) -> usize {
        let mut placed = Placed { group: Arc::clone(group), first: self.checks.len() as u64, renamed: Vec::new() };
        self.checks.extend(group.checks.iter().cloned());
        for name in group.definitions.keys().filter(|name| self.definitions.contains_key(*name)) {
            let mut other = format!("{name}_");
            while self.definitions.contains_key(&other) || group.definitions.contains_key(&other) {
                other.push('_');
            }
            placed.renamed.push((name.clone(), other));
        }
        for (name, definition) in &group.definitions {
            let mut definition = definition.clone();
            placed.rewrite(&mut definition);
            let renamed = placed.renamed.iter().find(|(before, _)| before == name);
            self.definitions.insert(renamed.map_or(name, |(_, after)| after).clone(), definition);
        }
        self.groups.push(placed);
        self.groups.len() - 1
    }
}

impl Placed {
    fn rewrite(&self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), &mut *member) {
                        (CHECK, Value::Number(place)) => {
                            *member = (place.as_u64().unwrap_or_default() + self.first).into();
                        }
                        ("$ref", Value::String(target)) => {
                            let name = target.strip_prefix("#/$defs/").unwrap_or_default();
                            if let Some((_, other)) = self.renamed.iter().find(|(before, _)| before == name) {
                                *target = format!("#/{DEFS}/{other}");
                            }
                        }
                        _ => self.rewrite(member),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite(item)),
            _ => {}
        }
    }
}
