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

    /// A compiled schema.
    #[derive(Debug)]
    pub(crate) struct Validator(jsonschema::Validator);

    impl Validator {
        /// Everything that is wrong with the schema, each with its place: clauses that follow its name.
        pub(crate) fn compile(schema: &Value) -> Result<Self, Vec<String>> {
            let compiled = jsonschema::options()
                .offline()
                // A peer's text meets these patterns: an engine that backtracks would let it choose how long that takes.
                .with_pattern_options(PatternOptions::regex())
                .build(schema);
            compiled.map(Self).map_err(|first| {
                // The compiler stops at the first; what the schema's own schema tells is all of it.
                let found: Vec<String> = match jsonschema::meta::validator_for(schema) {
                    Ok(rules) => rules.iter_errors(schema).map(|error| misplaced(&error)).collect(),
                    Err(_) => Vec::new(),
                };
                if found.is_empty() { vec![misplaced(&first)] } else { found }
            })
        }

        pub(crate) fn violations(&self, value: &Value) -> Vec<Violation> {
            if self.0.is_valid(value) {
                return Vec::new();
            }
            self.0.iter_errors(value).take(check::KEPT).flat_map(|error| told(&error, value)).collect()
        }
    }

    /// What is wrong with a schema, and where in it.
    fn misplaced(error: &ValidationError<'_>) -> String {
        let said = check::clean(&error.to_string());
        match error.instance_path().as_str() {
            "" => format!("is not valid: {said}"),
            place => format!("is not valid at `{}`: {said}", check::clean(place)),
        }
    }

    /// In the words of [`check`], where a violation has a path of its own; else in those of the validator.
    fn told(error: &ValidationError<'_>, root: &Value) -> Vec<Violation> {
        let path = dotted(error.instance_path().as_str(), root);
        let member = |name: &str, fault: &str| Violation { path: check::step(&path, name), fault: fault.into() };
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
                    path = check::step(&path, &step);
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
            let why = "is given as data, which needs the feature `validate` of `mcp-server` to enforce it: turn it on, or take \
                       and return types that derive `schemars::JsonSchema`";
            Err(vec![why.into()])
        }

        pub(crate) fn violations(&self, _: &Value) -> Vec<Violation> {
            match *self {}
        }
    }
}
