//! What a schema asks of a value of each kind.

use serde_json::{Map, Value};

use super::{ARRAY, Compiler, OBJECT, union};
use crate::check::node::{
    Array, Id, Kinds, Limit, Names, Null, Number, Object, Others, Pattern, Property, Side, Size, Text,
};
use crate::check::number::Num;
use crate::schema::NULLABLE;

/// Bytes of a compiled pattern: a peer's text meets it, and each character costs as much time as the pattern is large.
const PATTERN: usize = 1 << 18;

const LIMITS: [(&str, Side); 4] = [
    ("minimum", Side::AtLeast),
    ("maximum", Side::AtMost),
    ("exclusiveMinimum", Side::MoreThan),
    ("exclusiveMaximum", Side::LessThan),
];

impl<'a> Compiler<'a> {
    pub(super) fn kinds(&mut self, map: &Map<String, Value>) -> Kinds {
        let names = match map.get("type") {
            None => return Kinds::ALL,
            Some(Value::Array(names)) => names.as_slice(),
            Some(name) => std::slice::from_ref(name),
        };
        let kinds = names.iter().filter_map(Value::as_str).filter_map(Kinds::named).fold(Kinds::NONE, Kinds::or);
        if names.iter().any(|name| name.as_str().and_then(Kinds::named).is_none()) || kinds == Kinds::NONE {
            self.fault(format!("`type` is {}, which names no type of JSON", map["type"]));
            return Kinds::ALL;
        }
        kinds
    }

    pub(super) fn allowed(&mut self, map: &Map<String, Value>) -> Box<[Box<[Value]>]> {
        let mut lists = Vec::new();
        match map.get("enum") {
            None => {}
            Some(Value::Array(values)) if !values.is_empty() => lists.push(values.clone().into()),
            Some(_) => self.fault("`enum` must be a list with at least one value"),
        }
        if let Some(only) = map.get("const") {
            lists.push([only.clone()].into());
        }
        lists.extend(union::constants(map));
        lists.into()
    }

    pub(super) fn text(&mut self, map: &Map<String, Value>) -> Text {
        let size = self.size(map, "minLength", "maxLength");
        let pattern = match map.get("pattern") {
            None => None,
            Some(Value::String(source)) => self.pattern(source),
            Some(_) => {
                self.fault("`pattern` must be a string");
                None
            }
        };
        Text { size, pattern }
    }

    fn pattern(&mut self, source: &str) -> Option<Pattern> {
        match regex_lite::RegexBuilder::new(source).size_limit(PATTERN).build() {
            Ok(regex) => Some(Pattern { regex, source: source.into() }),
            Err(error) => {
                self.fault(format!(
                    "the pattern `{source}` cannot be enforced ({error}): write it without look-around, back references \
                     and Unicode classes, or give the schema as data with `input_schema` and the feature `validate`"
                ));
                None
            }
        }
    }

    fn size(&mut self, map: &Map<String, Value>, least: &str, most: &str) -> Size {
        let size = Size { least: self.count(map, least), most: self.count(map, most) };
        if size.least.zip(size.most).is_some_and(|(least, most)| least > most) {
            self.fault(format!("`{least}` is more than `{most}`, so that nothing fits"));
        }
        size
    }

    fn count(&mut self, map: &Map<String, Value>, key: &str) -> Option<usize> {
        let value = map.get(key)?;
        let whole = value.as_u64().or_else(|| {
            // `3.0` is an integer, too.
            let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float))?;
            Some(float as u64)
        });
        if whole.is_none() {
            self.fault(format!("`{key}` must be a whole number from 0, and is {value}"));
        }
        whole.and_then(|count| usize::try_from(count).ok())
    }

    pub(super) fn number(&mut self, map: &Map<String, Value>) -> Number {
        let mut limits: Vec<Limit> = Vec::new();
        for (key, side) in LIMITS {
            match map.get(key) {
                None => {}
                Some(Value::Number(bound)) => limits.push(Limit { side, bound: Num::of(bound), told: bound.clone() }),
                Some(other) => self.fault(format!("`{key}` must be a number, and is {other}")),
            }
        }
        let excludes = |low: &Limit, high: &Limit| {
            let strict = low.side == Side::MoreThan || high.side == Side::LessThan;
            let order = low.bound.order(high.bound);
            order.is_gt() || (strict && order.is_eq())
        };
        let is_low = |limit: &&Limit| matches!(limit.side, Side::AtLeast | Side::MoreThan);
        let (low, high): (Vec<&Limit>, Vec<&Limit>) = limits.iter().partition(is_low);
        if low.iter().any(|low| high.iter().any(|high| excludes(low, high))) {
            self.fault("its smallest number is above its largest, so that nothing fits");
        }
        let multiple_of = match map.get("multipleOf") {
            None => None,
            Some(Value::Number(of)) if of.as_f64().is_some_and(|of| of > 0.0) => Some((Num::of(of), of.clone())),
            Some(other) => {
                self.fault(format!("`multipleOf` must be a number above 0, and is {other}"));
                None
            }
        };
        Number { limits: limits.into(), multiple_of }
    }

    pub(super) fn array(&mut self, map: &'a Map<String, Value>) -> Option<Box<Array>> {
        if !ARRAY.iter().any(|key| map.contains_key(*key)) {
            return None;
        }
        let first = self.list(map, "prefixItems", "[]");
        let items = map.get("items").map(|items| self.below("[]", items));
        let contains = map.get("contains").map(|schema| {
            let size = self.size(map, "minContains", "maxContains");
            (self.below("[]", schema), Size { least: size.least.or(Some(1)), ..size })
        });
        let unique = self.flag(map, "uniqueItems");
        let size = self.size(map, "minItems", "maxItems");
        Some(Box::new(Array { first, items, size, unique, contains }))
    }

    fn flag(&mut self, map: &Map<String, Value>, key: &str) -> bool {
        match map.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.fault(format!("`{key}` must be true or false, and is {other}"));
                false
            }
        }
    }

    pub(super) fn list(&mut self, map: &'a Map<String, Value>, key: &str, step: &str) -> Box<[Id]> {
        match map.get(key) {
            None => Box::default(),
            Some(Value::Array(schemas)) => schemas.iter().map(|schema| self.below(step, schema)).collect(),
            Some(_) => {
                self.fault(format!("`{key}` must be a list of schemas"));
                Box::default()
            }
        }
    }

    pub(super) fn object(&mut self, map: &'a Map<String, Value>) -> Option<Box<Object>> {
        if !OBJECT.iter().any(|key| map.contains_key(*key)) {
            return None;
        }
        let required = self.names(map.get("required"), "required");
        let properties: Vec<Property> = self
            .named(map, "properties")
            .into_iter()
            .map(|(name, schema)| {
                let node = self.member(name, schema);
                // Others follow when all that they refer to is known.
                let null = if schema.get(NULLABLE).is_some() { Null::Value } else { Null::Absent };
                Property { name: name.into(), node, required: required.iter().any(|needed| **needed == *name), null }
            })
            .collect();
        let mut patterns = Vec::new();
        for (source, schema) in self.named(map, "patternProperties") {
            let pattern = self.pattern(source);
            let node = self.member("*", schema);
            patterns.extend(pattern.map(|pattern| (pattern, node)));
        }
        let others = match map.get("additionalProperties") {
            None | Some(Value::Bool(true)) => Others::Open,
            Some(Value::Bool(false)) => Others::Closed,
            Some(schema) => Others::Each(self.member("*", schema)),
        };
        let declared = |name: &str| properties.iter().any(|property| *property.name == *name);
        let required: Names = required.into_iter().filter(|name| !declared(name)).collect();
        if let (Others::Closed, true, Some(name)) = (others, patterns.is_empty(), required.first()) {
            self.fault(format!("requires `{name}`, which it does not let in: declare it under `properties`"));
        }
        let mut by_name: Vec<usize> = (0..properties.len()).collect();
        by_name.sort_unstable_by(|left, right| properties[*left].name.cmp(&properties[*right].name));
        Some(Box::new(Object {
            properties: properties.into(),
            by_name: by_name.into(),
            patterns: patterns.into(),
            others,
            names: map.get("propertyNames").map(|schema| self.member("*", schema)),
            required,
            size: self.size(map, "minProperties", "maxProperties"),
            dependent: self.dependent(map),
            dependent_schemas: self
                .named(map, "dependentSchemas")
                .into_iter()
                .map(|(name, schema)| (name.into(), self.schema(schema)))
                .collect(),
        }))
    }

    fn dependent(&mut self, map: &'a Map<String, Value>) -> Box<[(Box<str>, Names)]> {
        self.named(map, "dependentRequired")
            .into_iter()
            .map(|(name, others)| (name.into(), self.names(Some(others), "dependentRequired").into()))
            .collect()
    }

    fn named(&mut self, map: &'a Map<String, Value>, key: &str) -> Vec<(&'a str, &'a Value)> {
        match map.get(key) {
            None => Vec::new(),
            Some(Value::Object(members)) => members.iter().map(|(name, schema)| (name.as_str(), schema)).collect(),
            Some(_) => {
                self.fault(format!("`{key}` must be an object"));
                Vec::new()
            }
        }
    }

    fn names(&mut self, names: Option<&Value>, key: &str) -> Vec<Box<str>> {
        match names {
            None => Vec::new(),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                names.iter().filter_map(Value::as_str).map(Into::into).collect()
            }
            Some(_) => {
                self.fault(format!("`{key}` must be a list of names"));
                Vec::new()
            }
        }
    }
}
