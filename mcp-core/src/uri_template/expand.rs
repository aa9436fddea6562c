//! Making a URI of values.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;

use super::unit::{self, Values};
use super::{ExpandError, Part, URI_LIMIT, UriTemplate};

pub(super) fn expand(template: &UriTemplate, variables: &[(&str, &str)]) -> Result<String, ExpandError> {
    if let Some((name, _)) = variables.iter().find(|(name, _)| template.variables().all(|known| known != *name)) {
        return Err(ExpandError(format!("`{template}` has no variable `{name}`").into()));
    }
    let value = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| *value);

    let mut uri = String::new();
    parts(&template.head, value, &mut uri)?;
    if let Some(query) = &template.query {
        let mut lead = char::from(query.lead);
        for name in &query.names {
            let Some(value) = value(name) else { continue };
            uri.push(lead);
            uri.push_str(name);
            uri.push('=');
            Values::SEGMENT.write(value, &mut uri);
            lead = '&';
        }
    }
    if let Some(fragment) = &template.fragment {
        uri.push('#');
        parts(fragment, value, &mut uri)?;
    }

    let read = template.matches(&uri);
    if let Some(read) = read
        && read.len() == variables.len()
        && read.iter().all(|(name, read)| value(name) == Some(read))
    {
        return Ok(uri);
    }
    Err(ExpandError(match variables.iter().find(|(_, value)| value.is_empty()) {
        _ if uri.len() > URI_LIMIT => format!("the URI would be longer than {URI_LIMIT} bytes").into(),
        Some((name, _)) => format!("the value of `{name}` is empty").into(),
        None => Cow::from(
            "the URI would not be read as these values: no value may have `..` as a segment, or a NUL, or the literal text \
             that ends its variable in the template, and none is given twice",
        ),
    }))
}

fn parts<'v>(parts: &[Part], value: impl Fn(&str) -> Option<&'v str>, uri: &mut String) -> Result<(), ExpandError> {
    for part in parts {
        match part {
            Part::Literal(literal) => literal.iter().for_each(|unit| unit::write(*unit, uri)),
            Part::Variable { name, values } => {
                let Some(value) = value(name) else {
                    return Err(ExpandError(format!("the variable `{name}` has no value").into()));
                };
                values.write(value, uri);
            }
        }
    }
    Ok(())
}
