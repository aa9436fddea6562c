//! Schemas given as data: compiled once, enforced on every call, and nothing is ever fetched for them (SCHEMA-3).

use serde_json::Value;

use crate::check::Violation;

#[cfg(feature = "validate")]
pub(crate) use with::Validator;
#[cfg(not(feature = "validate"))]
pub(crate) use without::Validator;

#[cfg(feature = "validate")]
mod with {
    use jsonschema::error::ValidationErrorKind as Kind;
    use jsonschema::{PatternOptions, ValidationError};

    use super::{Value, Violation};
    use crate::check;

    /// Bytes of a compiled pattern, and of what is kept of it while it is looked for: a peer's text meets it.
    const PATTERN: usize = 1 << 20;
    /// Values within one another up to which each violation is told, where a schema has alternatives: the errors of all of
    /// them are collected at each level, which multiplies.
    const DEEP: usize = 6;

    /// What the keyword `type` may say.
    const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

    /// A compiled schema.
    #[derive(Debug)]
    pub(crate) struct Validator {
        schema: jsonschema::Validator,
        has_alternatives: bool,
    }

    impl Validator {
        /// Everything that is wrong with the schema, each with its place: clauses that follow its name.
        pub(crate) fn compile(schema: &Value) -> Result<Self, Vec<String>> {
            let compiled = jsonschema::options()
                .offline()
                // A peer's text meets these patterns: an engine that backtracks would let it choose how long that takes.
                .with_pattern_options(PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN))
                .build(schema);
            let text = schema.to_string();
            let has_alternatives = ["\"anyOf\"", "\"oneOf\""].iter().any(|keyword| text.contains(keyword));
            compiled.map(|schema| Self { schema, has_alternatives }).map_err(|first| {
                // The compiler stops at the first; what the schema's own schema tells is all of it.
                let mut found = Vec::new();
                let rules = jsonschema::meta::validator_for(schema);
                let errors = rules.iter().flat_map(|rules| rules.iter_errors(schema));
                for why in errors.flat_map(|error| misplaced(&error)) {
                    // What is no schema at all is found by each of the vocabularies.
                    if !found.contains(&why) {
                        found.push(why);
                    }
                }
                if found.is_empty() { misplaced(&first) } else { found }
            })
        }

        /// In time in proportion to the value: what was found once of a schema that leads to itself is remembered.
        pub(crate) fn is_valid(&self, value: &Value) -> bool {
            self.schema.is_valid(value)
        }

        pub(crate) fn violations(&self, value: &Value) -> Vec<Violation> {
            if self.is_valid(value) {
                return Vec::new();
            }
            if self.has_alternatives && is_deeper(value, DEEP) {
                let fault = "does not fit the schema, which has too many alternatives within one another to tell where";
                return vec![Violation { path: String::new(), fault: fault.into() }];
            }
            self.schema.iter_errors(value).take(check::KEPT).flat_map(|error| told(&error, value)).collect()
        }
    }

    fn is_deeper(value: &Value, than: usize) -> bool {
        match value {
            Value::Array(items) => than == 0 || items.iter().any(|item| is_deeper(item, than - 1)),
            Value::Object(members) => than == 0 || members.values().any(|member| is_deeper(member, than - 1)),
            _ => false,
        }
    }

    /// What is wrong with a schema, and where in it.
    fn misplaced(error: &ValidationError<'_>) -> Vec<String> {
        let untyped = untyped(error);
        if let (None, Kind::AnyOf { context }) = (&untyped, error.kind()) {
            // Where one schema or a list of them may stand, it is the one that is wrong further in.
            let place = error.instance_path();
            let is_within = |inner: &ValidationError<'_>| inner.instance_path() != place;
            let form = context.iter().find(|form| !form.is_empty() && form.iter().all(is_within));
            if let Some(form) = form {
                return form.iter().flat_map(misplaced).collect();
            }
        }
        let said = untyped.unwrap_or_else(|| check::clean(&error.to_string()));
        vec![match error.instance_path().as_str() {
            "" => format!("is not valid: {said}"),
            place => format!("is not valid at `{}`: {said}", check::clean(place)),
        }]
    }

    /// What is wrong with the value of a keyword `type`, the only one of that name with alternatives.
    fn untyped(error: &ValidationError<'_>) -> Option<String> {
        let place = error.instance_path();
        if !matches!(error.kind(), Kind::AnyOf { .. }) || !place.as_str().ends_with("/type") {
            return None;
        }
        let all = TYPES.join(", ");
        let given: &Value = error.instance();
        let named = given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice);
        let is_known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
        Some(match named.iter().find(|name| !is_known(name)) {
            Some(Value::String(name)) => {
                let meant = check::nearest(name, TYPES);
                let meant = meant.map_or_else(|| format!("it has {all}"), |meant| format!("did you mean `{meant}`?"));
                format!("`{}` is no type of JSON: {meant}", check::clean(name))
            }
            Some(other) => {
                format!("a type is a text or a list of different ones, not {}: JSON has {all}", check::kind(other))
            }
            None => format!("a type is a text or a list of different ones: JSON has {all}"),
        })
    }

    /// In the words of [`check`], where a violation has a path of its own; else in those of the validator.
    fn told(error: &ValidationError<'_>, root: &Value) -> Vec<Violation> {
        let path = dotted(error.instance_path().as_str(), root);
        let member = |name: &str, fault: &str| {
            let mut path = path.clone();
            check::push_step(&mut path, name);
            Violation { path, fault: fault.into() }
        };
        match error.kind() {
            Kind::Required { property } => {
                vec![member(property.as_str().unwrap_or_default(), "is required, and missing")]
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                unexpected.iter().map(|name| member(name, "is not a known parameter")).collect()
            }
            _ => vec![Violation { path, fault: check::clean(&error.to_string()) }],
        }
    }

    /// `/items/0/name` as `items[0].name`.
    fn dotted(pointer: &str, root: &Value) -> String {
        let mut path = String::new();
        let mut at = Some(root);
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            match at {
                Some(Value::Array(items)) => {
                    path = format!("{path}[{step}]");
                    at = step.parse().ok().and_then(|index: usize| items.get(index));
                }
                _ => {
                    check::push_step(&mut path, &step);
                    at = at.and_then(|value| value.get(&step));
                }
            }
        }
        path
    }
}

#[cfg(not(feature = "validate"))]
mod without {
    use super::{Value, Violation};

    /// There is none.
    #[derive(Debug)]
    pub(crate) enum Validator {}

    impl Validator {
        /// A schema that nothing enforces would promise what is not kept.
        pub(crate) fn compile(_: &Value) -> Result<Self, Vec<String>> {
            let why = "is given as data, which needs the feature `validate` of `mcp-server` to enforce it: turn it on, \
                       as in `mcp-server = { features = [\"validate\"], .. }`, or describe it with `Param`s or take and return types that derive `schemars::JsonSchema`";
            Err(vec![why.into()])
        }

        pub(crate) fn is_valid(&self, _: &Value) -> bool {
            match *self {}
        }

        pub(crate) fn violations(&self, _: &Value) -> Vec<Violation> {
            match *self {}
        }
    }
}
