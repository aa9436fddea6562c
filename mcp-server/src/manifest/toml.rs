//! Manifests in TOML.

use serde::Deserialize as _;
use serde_json::{Map, Number, Value};
use toml::Value as Toml;
use toml::de::{DeTable, DeValue, Deserializer, Error};

use super::read::{Read, definitions};
use crate::check::push_step;

/// # Errors
///
/// The text is no TOML, with line and column.
pub(super) fn read(text: &str) -> Result<Read, String> {
    let wrong = |error: &Error| {
        let at = error.span().map_or_else(String::new, |span| place(text, span.start));
        format!("it is not TOML: {}{at}", error.message().trim().replace('\n', ", "))
    };
    let parsed = DeTable::parse(text).map_err(|error| wrong(&error))?;
    if is_deep(parsed.get_ref(), DEPTH) {
        return Err(format!("it has more than {DEPTH} tables and lists within one another"));
    }
    let table = toml::Table::deserialize(Deserializer::from(parsed)).map_err(|error| wrong(&error))?;
    let mut faults = Vec::new();
    let value = value(Toml::Table(table), &mut String::new(), &mut faults);
    let mut read = definitions(value);
    read.faults.extend(faults);
    Ok(read)
}

/// As deep as JSON may be. The parser bounds tables within tables, and the steps of each key, and so no more than the product of both;
/// all else goes down one by one.
const DEPTH: usize = 128;

fn is_deep(table: &DeTable<'_>, left: usize) -> bool {
    table.values().any(|member| is_deep_within(member.get_ref(), left))
}

fn is_deep_within(value: &DeValue<'_>, left: usize) -> bool {
    match (value, left.checked_sub(1)) {
        (DeValue::Table(_) | DeValue::Array(_), None) => true,
        (DeValue::Table(table), Some(left)) => is_deep(table, left),
        (DeValue::Array(items), Some(left)) => items.iter().any(|item| is_deep_within(item.get_ref(), left)),
        _ => false,
    }
}

/// As an error of JSON says it.
fn place(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!(" at line {line} column {column}")
}

/// The same in JSON.
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
