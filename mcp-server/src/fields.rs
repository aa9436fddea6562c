//! What other crates find wrong with fields, in the words of this one.

use std::any::Any;
use std::fmt::Display;

use crate::call_error::CallError;

/// Faults listed in one answer.
const LISTED: usize = 32;

/// What the model may read of an error that is made of faults of fields; `None` of all others.
///
/// `?` turns every error into a [`CallError`] by one `From`, which cannot have another beside it.
pub(crate) fn told(error: &dyn Any) -> Option<CallError> {
    #[cfg(feature = "validator")]
    if let Some(errors) = error.downcast_ref::<validator::ValidationErrors>() {
        return Some(by_validator::told(errors));
    }
    #[cfg(feature = "garde")]
    if let Some(report) = error.downcast_ref::<garde::Report>() {
        return Some(by_garde::told(report));
    }
    let _ = error;
    None
}

/// `age: must be 18 or more, name: is taken`. What has no field is said alone.
pub(crate) fn list<F: Display, M: Display>(fields: impl IntoIterator<Item = (F, M)>) -> CallError {
    let mut fields = fields.into_iter().map(|(field, message)| match field.to_string() {
        field if field.is_empty() => message.to_string(),
        field => format!("{field}: {message}"),
    });
    let mut told: Vec<String> = fields.by_ref().take(LISTED).collect();
    match fields.count() {
        0 => {}
        more => told.push(format!("and {more} more")),
    }
    CallError::new(told.join(", "))
}

#[cfg(feature = "validator")]
mod by_validator {
    use std::borrow::Cow;
    use std::collections::HashMap;

    use serde_json::Value;
    use validator::{ValidationError, ValidationErrors, ValidationErrorsKind};

    use crate::CallError;
    use crate::call_error::IntoCallError;
    use crate::check::{clean, push_step, quote};
    use crate::validators::{EMAIL, URL};

    /// Sorted by field: the crate keeps them in no order.
    pub(super) fn told(errors: &ValidationErrors) -> CallError {
        let mut found = Vec::new();
        collect(errors, &mut String::new(), &mut found);
        super::list(found)
    }

    #[diagnostic::do_not_recommend]
    impl IntoCallError for ValidationErrors {
        fn into_call_error(self) -> CallError {
            told(&self)
        }
    }

    fn collect(errors: &ValidationErrors, path: &mut String, found: &mut Vec<(String, String)>) {
        let mut fields: Vec<_> = errors.errors().iter().collect();
        fields.sort_unstable_by_key(|(name, _)| *name);
        let length = path.len();
        for (name, kind) in fields {
            // Where the crate puts what is wrong with a struct as a whole.
            if name != "__all__" {
                push_step(path, name);
            }
            match kind {
                ValidationErrorsKind::Field(errors) => {
                    found.extend(errors.iter().map(|error| (path.clone(), words(error))));
                }
                ValidationErrorsKind::Struct(errors) => collect(errors, path, found),
                ValidationErrorsKind::List(items) => {
                    let length = path.len();
                    for (index, errors) in items {
                        path.push_str(&format!("[{index}]"));
                        collect(errors, path, found);
                        path.truncate(length);
                    }
                }
            }
            path.truncate(length);
        }
    }

    /// As the validators of this library would say it, or as the author does.
    fn words(error: &ValidationError) -> String {
        if let Some(message) = &error.message {
            return clean(message);
        }
        let params = &error.params;
        let quoted = |name: &str| params.get(name).map(quote).unwrap_or_default();
        match &*error.code {
            "email" => EMAIL.into(),
            "url" => URL.into(),
            "length" => length(params),
            "range" => range(params),
            "required" | "required_nested" => "is required, and missing".into(),
            "contains" => format!("must contain {}", quoted("needle")),
            "does_not_contain" => format!("must not contain {}", quoted("needle")),
            "credit_card" => "must be the number of a credit card".into(),
            "non_control_character" => "must not contain control characters".into(),
            code => format!("fails the check `{}`", clean(code)),
        }
    }

    type Params = HashMap<Cow<'static, str>, Value>;

    fn length(params: &Params) -> String {
        let (unit, length) = match params.get("value") {
            Some(Value::String(text)) => ("character", Some(text.chars().count())),
            Some(Value::Array(items)) => ("item", Some(items.len())),
            Some(Value::Object(members)) => ("member", Some(members.len())),
            _ => ("character", None),
        };
        let bound = |name: &str| params.get(name).and_then(Value::as_u64);
        let has = length.map_or_else(String::new, |length| format!(", has {length}"));
        let say = |words: &str, bound: u64| {
            format!("must have {words} {bound} {unit}{}{has}", if bound == 1 { "" } else { "s" })
        };
        let length = length.map(|length| length as u64);
        match (bound("equal"), bound("min"), bound("max")) {
            (Some(equal), ..) => say("exactly", equal),
            (_, Some(min), max) if max.is_none() || length.is_some_and(|length| length < min) => say("at least", min),
            (_, _, Some(max)) => say("at most", max),
            _ => "has the wrong length".into(),
        }
    }

    fn range(params: &Params) -> String {
        let bounds =
            [("min", "at least"), ("exclusive_min", "more than"), ("max", "at most"), ("exclusive_max", "less than")];
        let told = bounds.iter().filter_map(|(name, words)| Some(format!("{words} {}", quote(params.get(*name)?))));
        let told: Vec<String> = told.collect();
        let is = params.get("value").map_or_else(String::new, |value| format!(", is {}", quote(value)));
        format!("must be {}{is}", told.join(" and "))
    }
}

#[cfg(feature = "garde")]
mod by_garde {
    use garde::Report;

    use crate::CallError;
    use crate::call_error::IntoCallError;
    use crate::check::clean;

    /// In the order of the fields, which the crate keeps, and in its words: it has nothing else.
    pub(super) fn told(report: &Report) -> CallError {
        super::list(report.iter().map(|(path, error)| (clean(&path.to_string()), clean(error.message()))))
    }

    #[diagnostic::do_not_recommend]
    impl IntoCallError for Report {
        fn into_call_error(self) -> CallError {
            told(&self)
        }
    }
}
