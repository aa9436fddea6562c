//! Matching, by a table of what can still be matched from where: nothing is tried twice.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::unit::{Unit, Units, Values, decode};
use super::{Part, Query, URI_LIMIT, UriTemplate};

type Found = Vec<(Box<str>, Box<str>)>;

pub(super) fn matches(template: &UriTemplate, uri: &str) -> Option<Found> {
    if uri.len() > URI_LIMIT {
        return None;
    }
    let mut units = Units(uri.as_bytes());
    let mut parts = &*template.head;
    // Of many templates most are told apart by how they begin, before anything is allocated.
    if let [Part::Literal(prefix), rest @ ..] = parts {
        if !prefix.iter().all(|unit| units.next() == Some(Some(*unit))) {
            return None;
        }
        parts = rest;
    }
    let units: Vec<Unit> = units.collect::<Option<_>>()?;
    let (units, fragment) = match &template.fragment {
        None => (&*units, None),
        Some(parts) => {
            let at = units.iter().position(|unit| *unit == Unit::from(b'#'))?;
            (&units[..at], Some((&**parts, &units[at + 1..])))
        }
    };

    let mut found = Vec::new();
    let lead = template.query.as_ref().map(|query| Unit::from(query.lead));
    let end = walk(parts, units, |at| at == units.len() || lead == Some(units[at]), &mut found)?;
    if let Some(query) = &template.query {
        pairs(query, &units[end..], &mut found)?;
    }
    if let Some((parts, units)) = fragment {
        walk(parts, units, |at| at == units.len(), &mut found)?;
    }
    Some(found)
}

/// Matches parts one by one up to a place that `may_end`, the first variables as long as can be.
fn walk(parts: &[Part], units: &[Unit], may_end: impl Fn(usize) -> bool, found: &mut Found) -> Option<usize> {
    let width = units.len() + 1;
    // A row for each number of parts that are matched, the last first; in it, whether the parts after them match from there.
    let mut table: Vec<bool> = (0..width).map(may_end).collect();
    for part in parts.iter().rev() {
        let after = &table[table.len() - width..];
        let row = match part {
            Part::Literal(literal) => literals(literal, units, after),
            Part::Variable { values, .. } => variables(*values, units, after),
        };
        table.extend_from_slice(&row);
    }

    let mut at = 0;
    for (index, part) in parts.iter().enumerate() {
        let row = (parts.len() - index) * width;
        if !table[row + at] {
            return None;
        }
        let after = &table[row - width..row];
        match part {
            Part::Literal(literal) => at += literal.len(),
            Part::Variable { name, values } => {
                let Range { start, end } = longest(*values, units, after, at)?;
                found.push((name.clone(), decode(&units[start..end])?));
                at = end;
            }
        }
    }
    table[at].then_some(at)
}

fn literals(literal: &[Unit], units: &[Unit], after: &[bool]) -> Vec<bool> {
    let mut row = vec![false; after.len()];
    for (at, can) in row.iter_mut().enumerate() {
        *can = after.get(at + literal.len()) == Some(&true) && units[at..].starts_with(literal);
    }
    row
}

fn variables(values: Values, units: &[Unit], after: &[bool]) -> Vec<bool> {
    let mut row = vec![false; after.len()];
    for at in (0..units.len()).rev() {
        row[at] = values.holds(units[at]) && (after[at + 1] || row[at + 1]);
    }
    row
}

/// The longest value from there after which the rest matches.
fn longest(values: Values, units: &[Unit], after: &[bool], at: usize) -> Option<Range<usize>> {
    let run = units[at..].iter().take_while(|unit| values.holds(**unit)).count();
    (at + 1..=at + run).rev().find(|end| after[*end]).map(|end| at..end)
}

/// The pairs of a query that the template names, in its order.
fn pairs(query: &Query, units: &[Unit], found: &mut Found) -> Option<()> {
    let is = |byte: u8| move |unit: &Unit| *unit == Unit::from(byte);
    let units = units.get(1..).unwrap_or_default();
    // A fragment that the template does not have.
    if units.iter().any(is(b'#')) {
        return None;
    }
    let mut values: Vec<Option<Box<str>>> = vec![None; query.names.len()];
    for pair in units.split(is(b'&')) {
        let mut sides = pair.splitn(2, is(b'='));
        let name = sides.next().unwrap_or_default();
        let is_it = |known: &str| known.bytes().map(Unit::from).eq(name.iter().copied());
        let Some(index) = query.names.iter().position(|known| is_it(known)) else { continue };
        let value = decode(sides.next().unwrap_or_default())?;
        if values[index].replace(value).is_some() {
            return None;
        }
    }
    found.extend(query.names.iter().cloned().zip(values).filter_map(|(name, value)| Some((name, value?))));
    Some(())
}
