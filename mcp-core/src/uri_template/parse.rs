//! Reading a template's text.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::unit::{Unit, Units, Values};
use super::{Part, Query, TEMPLATE_LIMIT, UriTemplate, UriTemplateError, VARIABLE_LIMIT};

type Result<T> = core::result::Result<T, UriTemplateError>;

fn refuse<T>(at: usize, why: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(UriTemplateError { at, why: why.into() })
}

pub(super) fn parse(text: &str) -> Result<UriTemplate> {
    if text.len() > TEMPLATE_LIMIT {
        return refuse(TEMPLATE_LIMIT, format!("a template has at most {TEMPLATE_LIMIT} bytes"));
    }
    let mut parser = Parser::default();
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|offset| at + offset) {
        parser.literal(at, &text[at..open])?;
        let Some(close) = text[open..].find('}').map(|offset| open + offset) else {
            return refuse(open, "the expression is not closed: write `}` after its last variable");
        };
        parser.expression(open + 1, &text[open + 1..close])?;
        at = close + 1;
    }
    parser.literal(at, &text[at..])?;
    parser.flush();

    let Parser { mut head, query, fragment, .. } = parser;
    // A fragment's parts were read as the head's: it has no other place to end.
    let fragment = fragment.map(|from| head.split_off(from).into());
    let mut template = UriTemplate { text: text.into(), head: head.into(), query, fragment };
    template.settle();
    Ok(template)
}

impl UriTemplate {
    /// A value that any character may be part of still ends where the query or the fragment begins.
    fn settle(&mut self) {
        let mut ends = Vec::new();
        ends.extend(self.query.as_ref().map(|query| query.lead));
        ends.extend(self.fragment.as_ref().map(|_| b'#'));
        for part in &mut self.head {
            if let Part::Variable { values, .. } = part {
                *values = values.ending_at(&ends);
            }
        }
    }
}

#[derive(Default)]
struct Parser {
    head: Vec<Part>,
    /// What has been read since the last variable.
    literal: Vec<Unit>,
    query: Option<Query>,
    /// Where in `head` the parts after `{#` begin.
    fragment: Option<usize>,
    names: Vec<Box<str>>,
}

impl Parser {
    fn literal(&mut self, at: usize, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.path_may_go_on(at)?;
        if let Some(offset) = text.find('}') {
            return refuse(at + offset, "`}` closes nothing: write `%7D` for a brace");
        }
        if let Some(offset) = text.find(|c: char| c.is_control()) {
            return refuse(at + offset, "a URI has no control characters");
        }
        let mut units = Units(text.as_bytes());
        loop {
            let left = units.0.len();
            match units.next() {
                None => return Ok(()),
                Some(Some(unit)) => self.literal.push(unit),
                Some(None) => {
                    return refuse(
                        at + text.len() - left,
                        "two hexadecimal digits must follow `%`: write `%25` for a percent sign",
                    );
                }
            }
        }
    }

    /// What is between the braces.
    fn expression(&mut self, at: usize, text: &str) -> Result<()> {
        let (operator, names) = match text.as_bytes().first() {
            None => return refuse(at, "the expression is empty: name a variable, as in `{id}`"),
            Some(b'=' | b',' | b'!' | b'@' | b'|') => return refuse(at, "RFC 6570 reserves this operator"),
            Some(operator @ (b'+' | b'#' | b'.' | b'/' | b';' | b'?' | b'&')) => (Some(*operator), &text[1..]),
            Some(_) => (None, text),
        };
        let start = at + text.len() - names.len();
        match operator {
            Some(lead @ (b'?' | b'&')) => self.open_query(at, lead)?,
            Some(b'#') if self.fragment.is_none() => {}
            _ => self.path_may_go_on(at)?,
        }
        if operator == Some(b'#') {
            if self.has_raw(b'#') {
                return refuse(at, "the fragment has begun before this: write `{+v}` instead of `{#v}`");
            }
            self.flush();
            self.fragment = Some(self.head.len());
        }
        let several = names.contains(',');
        let mut at = start;
        for (index, name) in names.split(',').enumerate() {
            self.variable(at, name)?;
            self.place(at, operator, index, several)?;
            at += name.len() + 1;
        }
        Ok(())
    }

    fn path_may_go_on(&self, at: usize) -> Result<()> {
        if self.fragment.is_some() {
            return refuse(at, "nothing may follow `{#..}`: a fragment is the end of a URI");
        }
        if self.query.is_some() {
            return refuse(at, "only `{&..}` or `{#..}` may follow `{?..}` or `{&..}`: put the query at the end");
        }
        Ok(())
    }

    fn open_query(&mut self, at: usize, lead: u8) -> Result<()> {
        if self.fragment.is_some() {
            return refuse(at, "nothing may follow `{#..}`: put the query before the fragment");
        }
        match (&self.query, lead, self.has_raw(b'?')) {
            (Some(_), b'?', _) | (None, b'?', true) => {
                refuse(at, "the query has begun before this: write `{&..}` instead of `{?..}`")
            }
            (None, b'&', false) => refuse(at, "no query has begun before this: write `{?..}` instead of `{&..}`"),
            (Some(_), ..) => Ok(()),
            (None, ..) => {
                self.query = Some(Query { lead, names: Vec::new() });
                Ok(())
            }
        }
    }

    /// Whether the literals so far have this byte as it is.
    fn has_raw(&self, byte: u8) -> bool {
        let flushed = self.head.iter().filter_map(|part| match part {
            Part::Literal(units) => Some(&**units),
            Part::Variable { .. } => None,
        });
        flushed.chain([&*self.literal]).flatten().any(|unit| *unit == Unit::from(byte))
    }

    /// Checks a variable's name and keeps it.
    fn variable(&mut self, at: usize, name: &str) -> Result<()> {
        let wrong = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        match name.char_indices().find(|(_, c)| wrong(*c)) {
            Some((offset, '*')) => {
                return refuse(at + offset, "`*` is not supported: write `{+path}` for a value of many segments");
            }
            Some((offset, ':')) => {
                return refuse(at + offset, "a prefix (`:3`) is not supported: name the variable alone");
            }
            Some((offset, _)) => {
                return refuse(at + offset, "a variable's name has ASCII letters, digits, `_` and inner dots only");
            }
            None => {}
        }
        if name.is_empty() || name.starts_with('.') || name.ends_with('.') || name.contains("..") {
            return refuse(at, "a variable's name has ASCII letters, digits, `_` and inner dots only, one at least");
        }
        if self.names.iter().any(|known| **known == *name) {
            return refuse(at, format!("the variable `{name}` is named twice: give each a name of its own"));
        }
        if self.names.len() == VARIABLE_LIMIT {
            return refuse(at, format!("a template has at most {VARIABLE_LIMIT} variables"));
        }
        self.names.push(name.into());
        Ok(())
    }

    /// Puts a variable where its operator says.
    fn place(&mut self, at: usize, operator: Option<u8>, index: usize, several: bool) -> Result<()> {
        let Some(name) = self.names.last().cloned() else { return Ok(()) };
        if let Some(query) = &mut self.query
            && matches!(operator, Some(b'?' | b'&'))
        {
            query.names.push(name);
            return Ok(());
        }
        let in_query = self.has_raw(b'?');
        let (separator, mut values) = match operator {
            Some(b'+' | b'#') => (b',', Values::ANY),
            Some(other) => (other, Values::SEGMENT),
            None => (b',', Values::SEGMENT),
        };
        if operator.is_none_or(|operator| !matches!(operator, b'+' | b'#')) && in_query {
            values = values.ending_at(b"&");
        }
        if several {
            values = values.ending_at(&[separator]);
        }
        if index > 0 || matches!(operator, Some(b'.' | b'/' | b';')) {
            self.literal.push(Unit::from(separator));
        }
        if operator == Some(b';') {
            self.literal.extend(name.bytes().map(Unit::from));
            self.literal.push(Unit::from(b'='));
        }
        let after = self.head.get(self.fragment.unwrap_or(0)..).and_then(<[_]>::last).and_then(Part::name);
        if let (true, Some(before)) = (self.literal.is_empty(), after) {
            return refuse(
                at,
                format!("nothing says where `{before}` ends and `{name}` begins: put a `/` or other text between them"),
            );
        }
        self.flush();
        self.head.push(Part::Variable { name, values });
        Ok(())
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            let literal = core::mem::take(&mut self.literal);
            self.head.push(Part::Literal(literal.into()));
        }
    }
}
