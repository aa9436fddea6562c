//! What a form's schema may say (ELIC-4), and what a filled-in form says (ELIC-5, ELIC-6).

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Said;
use crate::check::{Judged, Rules};

/// The content of a form that keeps its schema.
pub(super) enum Filled {
    AsSent(Bytes),
    Changed(Value),
}

/// Reads an answer to a form, and its content by its rules: only what keeps them is handed on.
pub(super) fn read<T>(result: &[u8], rules: &Rules, accept: impl FnOnce(Filled) -> Result<T, String>) -> Said<T> {
    let members: BTreeMap<String, &RawValue> = match serde_json::from_slice(result) {
        Ok(members) => members,
        Err(error) => return Said::Wrong(format!("the answer cannot be read: {error}")),
    };
    match action(&members) {
        Ok(Action::Accept) => {}
        Ok(Action::Decline) => return Said::Declined,
        Ok(Action::Cancel) => return Said::Cancelled,
        Err(why) => return Said::Wrong(why),
    }
    // A form that was left empty may come without content.
    let content = members.get("content").map_or("{}", |content| content.get());
    let content = if content == "null" { "{}" } else { content };
    if !content.starts_with('{') {
        return Said::Wrong("`content` is not an object".into());
    }
    let filled = match rules.judge(content.as_bytes()) {
        Judged::AsSent => Filled::AsSent(Bytes::copy_from_slice(content.as_bytes())),
        Judged::Changed(value) => Filled::Changed(value),
        Judged::Broken(found) => {
            let fault =
                |path: &str, fault: &str| if path.is_empty() { fault.to_owned() } else { format!("`{path}` {fault}") };
            let faults: Vec<String> = found.iter().take(SHOWN).map(|one| fault(&one.path, &one.fault)).collect();
            return Said::Wrong(faults.join("; "));
        }
    };
    match accept(filled) {
        Ok(answer) => Said::Accepted(answer),
        Err(why) => Said::Wrong(why),
    }
}

/// Faults that are told.
const SHOWN: usize = 8;

pub(super) enum Action {
    Accept,
    Decline,
    Cancel,
}

/// What the person did (ELIC-5).
pub(super) fn action(members: &BTreeMap<String, &RawValue>) -> Result<Action, String> {
    match members.get("action").map(|action| action.get()) {
        Some("\"accept\"") => Ok(Action::Accept),
        Some("\"decline\"") => Ok(Action::Decline),
        Some("\"cancel\"") => Ok(Action::Cancel),
        _ => Err("`action` is neither `accept`, `decline` nor `cancel`".into()),
    }
}

pub(super) fn object(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// A field whose name says that it is asked for what must not be asked in a form (ELIC-1).
pub(super) fn secret(name: &str) -> Option<String> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    SECRETS.contains(&&*plain).then(|| not_in_a_form(name))
}

fn not_in_a_form(name: &str) -> String {
    format!(
        "`{name}`: ELIC-1: a form must not ask for passwords, keys, tokens or payment data: send the person to a page of yours, with \
         `elicit_url`"
    )
}

/// Names, without what separates their words.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pin",
    "secret",
    "clientsecret",
    "apikey",
    "privatekey",
    "secretkey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "bearertoken",
    "creditcard",
    "creditcardnumber",
    "cardnumber",
    "cvv",
    "cvc",
    "iban",
];

/// The schema of a type's data, in the words of a form.
///
/// # Errors
///
/// Everything that a form cannot ask for, each with its field. What only restricts more, such as a pattern, is left out: it is
/// enforced all the same.
pub(super) fn flatten(schema: &Value) -> Result<Value, String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Err("ELIC-4: a form is a struct with named fields".into());
    };
    let (mut flat, mut faults) = (Map::new(), Vec::new());
    for (name, property) in properties {
        match secret(name).map_or_else(|| primitive(name, property), Err) {
            Ok(primitive) => drop(flat.insert(name.clone(), primitive)),
            Err(fault) => faults.push(fault),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if faults.is_empty() { Ok(object(flat, required)) } else { Err(faults.join("; ")) }
}

fn primitive(name: &str, property: &Value) -> Result<Value, String> {
    let kind = property.get("type").and_then(Value::as_str).unwrap_or_default();
    let format = property.get("format").and_then(Value::as_str);
    if format == Some("password") || property.get("writeOnly") == Some(&true.into()) {
        return Err(not_in_a_form(name));
    }
    let mut flat = Map::new();
    let mut take = |keys: &[&str]| {
        for key in keys {
            flat.extend(property.get(*key).map(|value| ((*key).to_owned(), value.clone())));
        }
    };
    if let Some(choices) = choices(property) {
        take(&["title", "description", "default"]);
        flat.insert("type".into(), "string".into());
        flat.extend(said(&choices, "oneOf"));
        return Ok(flat.into());
    }
    take(&["type", "title", "description", "default"]);
    match kind {
        "string" => {
            take(&["minLength", "maxLength"]);
            let format = format.filter(|format| FORMATS.contains(format));
            flat.extend(format.map(|format| ("format".to_owned(), format.into())));
        }
        "number" => take(&["minimum", "maximum"]),
        "integer" => {
            take(&["minimum", "maximum"]);
            let bound = |key: &str, step: i64| property.get(key)?.as_i64()?.checked_add(step);
            flat.extend(bound("exclusiveMinimum", 1).map(|least| ("minimum".to_owned(), least.into())));
            flat.extend(bound("exclusiveMaximum", -1).map(|most| ("maximum".to_owned(), most.into())));
        }
        "boolean" => {}
        "array" => {
            let choices =
                property.get("items").and_then(choices).ok_or_else(|| format!("`{name}`: {ONLY}, not a list"))?;
            take(&["minItems", "maxItems"]);
            let mut items = Map::from_iter(said(&choices, "anyOf"));
            if items.contains_key("enum") {
                items.insert("type".into(), "string".into());
            }
            flat.insert("items".into(), items.into());
        }
        "object" => return Err(format!("`{name}`: {ONLY}: ask for its parts one by one")),
        _ => return Err(format!("`{name}`: {ONLY}")),
    }
    Ok(flat.into())
}

const ONLY: &str = "ELIC-4: a form asks for texts, numbers, booleans and choices of texts only";

/// The formats that a form may ask for.
const FORMATS: &[&str] = &["email", "uri", "date", "date-time"];

/// The values of a choice, and their titles.
fn choices(schema: &Value) -> Option<Vec<(&Value, Option<&Value>)>> {
    if let Some(Value::Array(values)) = schema.get("enum") {
        return values.iter().all(Value::is_string).then(|| values.iter().map(|value| (value, None)).collect());
    }
    if let Some(value) = schema.get("const").filter(|value| value.is_string()) {
        return Some(vec![(value, schema.get("title").or_else(|| schema.get("description")))]);
    }
    let forms = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    forms.iter().map(choices).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
}

/// A choice, with titles if there are any.
fn said(choices: &[(&Value, Option<&Value>)], titled: &str) -> Option<(String, Value)> {
    Some(if choices.iter().any(|(_, title)| title.is_some()) {
        let one = |(value, title): &(&Value, Option<&Value>)| json!({"const": value, "title": title.unwrap_or(value)});
        (titled.to_owned(), choices.iter().map(one).collect())
    } else {
        ("enum".to_owned(), choices.iter().map(|(value, _)| (*value).clone()).collect())
    })
}

/// What is wrong with a text of that format. Looks at its shape: whether an address exists only a letter can tell.
pub(super) fn misfit(format: &str, text: &str) -> Option<&'static str> {
    let fits = match format {
        "email" => text.rsplit_once('@').is_some_and(|(who, at)| {
            !who.is_empty()
                && !at.is_empty()
                && !at.starts_with('.')
                && !at.ends_with('.')
                && !text.contains(char::is_whitespace)
        }),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(letter)
                && !rest.is_empty()
                && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
        }),
        "date" => is_date(text),
        "date-time" => text.split_once(['T', 't', ' ']).is_some_and(|(date, time)| is_date(date) && is_time(time)),
        _ => true,
    };
    let why = match format {
        "email" => "must be an e-mail address",
        "uri" => "must be a URI",
        "date" => "must be a date, such as 2026-07-28",
        _ => "must be a date and a time, such as 2026-07-28T12:00:00Z",
    };
    (!fits).then_some(why)
}

fn is_date(text: &str) -> bool {
    let number = |at: std::ops::Range<usize>| {
        text.get(at).filter(|t| t.bytes().all(|b| b.is_ascii_digit()))?.parse::<u32>().ok()
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else { return false };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    text.len() == 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-' && (1..=days).contains(&day)
}

/// RFC 3339: `12:00:00`, perhaps a fraction, and `Z` or an offset.
fn is_time(text: &str) -> bool {
    let clock = |text: &str| {
        let parts: Vec<&str> = text.split(':').collect();
        let number = |part: &&str| {
            (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse::<u32>().ok())?
        };
        let parts: Option<Vec<u32>> = parts.iter().map(number).collect();
        parts.filter(|parts| parts.iter().zip([23, 59, 60]).all(|(part, most)| *part <= most)).map(|parts| parts.len())
    };
    let Some(at) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (time, zone) = text.split_at(at);
    let (time, fraction) = time.split_once('.').map_or((time, None), |(time, fraction)| (time, Some(fraction)));
    let fraction = fraction.is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    let zone = zone.eq_ignore_ascii_case("z") || clock(&zone[1..]) == Some(2);
    clock(time) == Some(3) && fraction && zone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_look_at_the_shape_elic_4() {
        for (format, good, bad) in [
            ("email", &["a@b", "a.b+c@d.example"][..], &["", "@", "a@", "@b", "a b@c", "a@.b"][..]),
            ("uri", &["https://example.com/a?b", "mailto:a@b", "urn:x:y"], &["", "example.com", "1a:b", ":x", "a: b"]),
            (
                "date",
                &["2026-07-28", "2024-02-29"],
                &["2026-7-28", "2026-02-29", "2026-13-01", "2026-07-00", "2026/07/28", "é026-07-28"],
            ),
            (
                "date-time",
                &["2026-07-28T12:00:00Z", "2026-07-28T12:00:00.25+02:00", "2026-12-31t23:59:60z"],
                &[
                    "2026-07-28",
                    "2026-07-28T12:00Z",
                    "2026-07-28T12:00:00",
                    "2026-07-28T25:00:00Z",
                    "2026-07-28T12:00:00.Z",
                    "xT12:00:00Z",
                    "2026-07-28T12:00:00+é0:0",
                ],
            ),
        ] {
            for text in good {
                assert_eq!(misfit(format, text), None, "{text}");
            }
            for text in bad {
                assert!(misfit(format, text).is_some(), "{format} {text}");
            }
        }
    }
}
