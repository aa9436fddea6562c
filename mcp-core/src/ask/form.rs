//! Forms in the words of 2025-06-18, which has fewer of them (ELIC-4): no titles of choices but `enumNames`, no defaults but those
//! of booleans, no lists.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::value::RawValue;

use crate::encode::json::members;
use crate::wire::write;

/// Whether a form asks for a list, which 2025-06-18 cannot.
pub(crate) fn has_lists(schema: &str) -> bool {
    let list = |property: &str| member(property, "type").is_some_and(|kind| kind.contains("\"array\""));
    let properties = member(schema, "properties").and_then(members);
    properties.is_some_and(|properties| properties.iter().any(|(_, property)| list(property)))
}

/// The same form in the words of 2025-06-18.
pub(super) fn older(schema: &str) -> String {
    let mut out = Vec::with_capacity(schema.len());
    out.push(b'{');
    for (key, value) in members(schema).unwrap_or_default().iter().filter(|(key, _)| key != "$schema") {
        begin(&mut out, key);
        match members(value).filter(|_| key == "properties") {
            None => out.extend_from_slice(value.as_bytes()),
            Some(properties) => {
                out.push(b'{');
                for (name, property) in properties {
                    begin(&mut out, &name);
                    older_property(&mut out, property);
                }
                out.push(b'}');
            }
        }
    }
    out.push(b'}');
    // What was written is what was read, and that is text.
    String::from_utf8(out).unwrap_or_default()
}

fn older_property(out: &mut Vec<u8>, property: &str) {
    let Some(all) = members(property) else { return out.extend_from_slice(property.as_bytes()) };
    let is_boolean = member(property, "type") == Some("\"boolean\"");
    out.push(b'{');
    for (key, value) in &all {
        match &**key {
            "default" if !is_boolean => {}
            "oneOf" => {
                let forms: Vec<&RawValue> = serde_json::from_str(value).unwrap_or_default();
                for (name, part) in [("enum", "const"), ("enumNames", "title")] {
                    begin(out, name);
                    out.push(b'[');
                    for form in &forms {
                        let said = member(form.get(), part).or_else(|| member(form.get(), "const"));
                        separate(out);
                        out.extend_from_slice(said.unwrap_or("null").as_bytes());
                    }
                    out.push(b']');
                }
            }
            _ => {
                begin(out, key);
                out.extend_from_slice(value.as_bytes());
            }
        }
    }
    out.push(b'}');
}

fn member<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    members(json)?.into_iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

fn begin(out: &mut Vec<u8>, key: &str) {
    separate(out);
    write::string(out, key);
    out.push(b':');
}

fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b'[')) {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_for_2025_06_18_has_its_words_elic_3_elic_4() {
        let schema = r#"{"$schema":"x","type":"object","properties":{
            "plan":{"type":"string","title":"Plan","oneOf":[{"const":"s","title":"Small"},{"const":"l"}],"default":"s"},
            "kind":{"type":"string","enum":["a","b"],"default":"a"},
            "n":{"type":"integer","minimum":1,"default":3},
            "sure":{"type":"boolean","default":true}},"required":["plan"]}"#;
        assert_eq!(
            older(schema),
            concat!(
                r#"{"type":"object","properties":{"#,
                r#""plan":{"type":"string","title":"Plan","enum":["s","l"],"enumNames":["Small","l"]},"#,
                r#""kind":{"type":"string","enum":["a","b"]},"n":{"type":"integer","minimum":1},"#,
                r#""sure":{"type":"boolean","default":true}},"required":["plan"]}"#
            )
        );
        assert!(!has_lists(schema));
    }

    #[test]
    fn a_list_is_seen_wherever_it_stands_elic_4() {
        assert!(has_lists(r#"{"properties":{"a":{"type":"string"},"b":{"items":{"enum":["x"]},"type":"array"}}}"#));
        for without in ["{}", "[]", "", r#"{"properties":{"array":{"type":"string"}}}"#, r#"{"properties":5}"#] {
            assert!(!has_lists(without), "{without}");
        }
        for odd in ["{}", r#"{"properties":{}}"#, r#"{"properties":{"a":true}}"#, r#"{"properties":[]}"#] {
            assert_eq!(older(odd), odd);
        }
    }
}
