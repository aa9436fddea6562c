//! Manifests in TOML.

use serde_json::{Map, Number, Value};
use toml::Value as Toml;

use super::read::{Read, definitions};
use crate::check::push_step;

/// # Errors
///
/// The text is no TOML, with line and column.
pub(super) fn read(text: &str) -> Result<Read, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or_else(String::new, |span| place(text, span.start));
        format!("it is not TOML: {}{at}", error.message().trim().replace('\n', ", "))
    })?;
    let mut faults = Vec::new();
    let value = value(Toml::Table(table), &mut String::new(), &mut faults);
    let mut read = definitions(value);
    read.faults.extend(faults);
    Ok(read)
}

/// As an error of JSON says it.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(" at line {line} column {column}")
}

/// The same in JSON; how deep it goes is bounded by the parser.
fn value(toml: Toml, path: &mut String, faults: &mut Vec<String>) -> Value {
    match toml {
        Toml::String(text) => text.into(),
        Toml::Integer(integer) => integer.into(),
        Toml::Float(float) => Number::from_f64(float).map_or_else(
            || {
                faults.push(format!("`{path}` is {float}, which JSON has no number for"));
                Value::Null
            },
            Value::Number,
        ),
        Toml::Boolean(flag) => flag.into(),
        Toml::Datetime(date) => date.to_string().into(),
        Toml::Array(items) => {
            let length = path.len();
            let items = items.into_iter().enumerate().map(|(index, item)| {
                path.push_str(&format!("[{index}]"));
                let item = value(item, path, faults);
                path.truncate(length);
                item
            });
            Value::Array(items.collect())
        }
        Toml::Table(members) => {
            let length = path.len();
            let members = members.into_iter().map(|(name, member)| {
                push_step(path, &name);
                let member = value(member, path, faults);
                path.truncate(length);
                (name, member)
            });
            members.collect::<Map<_, _>>().into()
        }
    }
}
