//! The names in a template of URIs: enough to tell parameters apart. All else of RFC 6570 is the library's to check.

use syn::LitStr;

use crate::errors::Errors;

/// The variables of a template, in its order, each once. `None` if its braces are not closed.
pub(crate) fn names(template: &LitStr, errors: &mut Errors) -> Option<Vec<String>> {
    let text = template.value();
    let mut rest = &*text;
    let mut names: Vec<String> = Vec::new();
    while let Some((_, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else {
            errors.at(template, "the template has a `{` without its `}`");
            return None;
        };
        rest = after;
        let list = expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression);
        for variable in list.split(',') {
            // `*` and `:3` say how it is written.
            let name = variable.split([':', '*']).next().unwrap_or_default().trim();
            if !name.is_empty() && !names.iter().any(|other| other == name) {
                names.push(name.into());
            }
        }
    }
    Some(names)
}

/// As they are told to an author.
pub(crate) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn found(template: &LitStr) -> Option<Vec<String>> {
        names(template, &mut Errors::default())
    }

    #[test]
    fn variables_are_found_in_every_kind_of_expression() {
        let template = parse_quote!("a://{id}/{+path*}{?q,limit:3}{&id}{/a.b}");
        assert_eq!(found(&template).expect("it is closed"), ["id", "path", "q", "limit", "a.b"]);
        assert_eq!(found(&parse_quote!("a://b")), Some(Vec::new()));
        assert_eq!(found(&parse_quote!("a://{}")), Some(Vec::new()));
        assert_eq!(found(&parse_quote!("a://{id")), None);
    }
}
