//! The pages of a list as a caller sees it, and the cursors between them.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::list::List;
use super::super::resource::MAX_URI;
use super::super::shelf::{self, Audience, Entry, Shelf};
use super::{Catalog, Listed, Part, Rule, View};
use crate::caching::ListHint;
use crate::fault::Fault;
use crate::peer::Revision;
use crate::wire::write;

/// One of the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// Which page of a list is written, and for whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) revision: Revision,
    /// For a client that shows no pages (APP-1), which has a list of tools of its own.
    pub(crate) pageless: bool,
    pub(crate) cursor: Option<&'a str>,
    /// The most items; 0 counts as 1.
    pub(crate) most: usize,
}

impl View {
    /// Appends `"tools":[…]` as the revision has it and, if there is more, `,"nextCursor":"…"` (TOOL-2, PAGE-1).
    ///
    /// `page` is the most items to write; 0 counts as 1.
    ///
    /// # Errors
    ///
    /// -32602 if the cursor was not made by this list for this caller (PAGE-2, PAGE-3). Nothing is appended then.
    pub fn write_tools(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.write_page(Listing::Tools, Page { revision, pageless: false, cursor, most: page }, out).map(drop)
    }

    /// The same for a client that shows no pages (APP-1). A cursor of one list goes on in the other.
    ///
    /// # Errors
    ///
    /// As [`View::write_tools`].
    pub fn write_pageless_tools(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.write_page(Listing::Tools, Page { revision, pageless: true, cursor, most: page }, out).map(drop)
    }

    /// The same of `"resources":[…]` (RES-2).
    ///
    /// # Errors
    ///
    /// As [`View::write_tools`].
    pub fn write_resources(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.write_page(Listing::Resources, Page { revision, pageless: false, cursor, most: page }, out).map(drop)
    }

    /// The same of `"resourceTemplates":[…]` (RES-3).
    ///
    /// # Errors
    ///
    /// As [`View::write_tools`].
    pub fn write_templates(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.write_page(Listing::Templates, Page { revision, pageless: false, cursor, most: page }, out).map(drop)
    }

    /// The same of `"prompts":[…]` (PROMPT-1).
    ///
    /// # Errors
    ///
    /// As [`View::write_tools`].
    pub fn write_prompts(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        self.write_page(Listing::Prompts, Page { revision, pageless: false, cursor, most: page }, out).map(drop)
    }

    /// One page of a list, and what all that is shown of it says of how long it may be kept, and by whom.
    pub(crate) fn write_page(&self, list: Listing, page: Page<'_>, out: &mut Vec<u8>) -> Result<ListHint, Fault> {
        let Catalog { tools, resources, templates, prompts, .. } = &*self.catalog;
        match list {
            Listing::Tools if page.pageless => self.write_list(tools, Audience::Pageless, page, out),
            Listing::Tools => self.write_list(tools, Audience::All, page, out),
            Listing::Resources => self.write_list(resources, Audience::All, page, out),
            Listing::Templates => self.write_list(templates, Audience::All, page, out),
            Listing::Prompts => self.write_list(prompts, Audience::All, page, out),
        }
    }

    fn write_list<T: Listed>(
        &self,
        shelf: &Shelf<T>,
        audience: Audience,
        page: Page<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ListHint, Fault> {
        let asked;
        let part = match &self.rule {
            Rule::All if !(self.unscoped && shelf.has_scopes()) => None,
            Rule::Only(shown) if !(self.unscoped && shelf.has_scopes()) => T::part(shown),
            // Once for all of it: what the cursor says, what is shown and what is said of it agree, whatever the rule goes by.
            Rule::All | Rule::Only(_) | Rule::By(_) => {
                asked = Part::of(shelf, |index, _| self.shows(shelf, index));
                asked.as_ref()
            }
        };
        write_list(shelf, part, shelf.list(page.revision, audience), page, out)?;
        let all = shelf.hint(audience);
        Ok(match part {
            // A part is private anyway (CACHE-4), so that there only times matter.
            Some(part) if all.says_times() => {
                shelf::hint(positions(shelf, Some(part), 0).map(|index| &shelf.items[index]), audience)
            }
            _ => all,
        })
    }
}

fn write_list<T: Entry>(
    shelf: &Shelf<T>,
    part: Option<&Part>,
    list: &List,
    Page { cursor, most, .. }: Page<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let most = most.max(1);
    let start = match cursor {
        Some(cursor) => after(shelf, part, cursor)?,
        None => 0,
    };
    out.push(b'"');
    out.extend_from_slice(T::LIST.as_bytes());
    out.extend_from_slice(b"\":[");
    if start == 0 && part.is_none() && shelf.items.len() <= most {
        out.extend_from_slice(list.text());
        out.push(b']');
        return Ok(());
    }
    let mut positions = positions(shelf, part, start).filter(|&index| list.has(index));
    let mut last = None;
    for index in positions.by_ref().take(most) {
        if last.is_some() {
            out.push(b',');
        }
        out.extend_from_slice(list.item(index));
        last = Some(index);
    }
    out.push(b']');
    if let (Some(last), Some(_)) = (last, positions.next()) {
        out.extend_from_slice(b",\"nextCursor\":");
        write::string(out, &cursor_after(shelf.items[last].key(), T::MARK, part));
    }
    Ok(())
}

/// The cursor for what comes after that entry: version, list, who may see what, and the key. No count or offset, so that it
/// survives a restart and a change of the list.
fn cursor_after(key: &str, mark: u8, part: Option<&Part>) -> String {
    let mut plain = Vec::with_capacity(6 + key.len());
    plain.extend_from_slice(&[FORMAT, mark]);
    plain.extend_from_slice(&fingerprint(part));
    plain.extend_from_slice(key.as_bytes());
    URL_SAFE_NO_PAD.encode(plain)
}

/// The position after the entry that a cursor names, which must be one that is shown: a made-up cursor tells nothing.
fn after<T: Entry>(shelf: &Shelf<T>, part: Option<&Part>, cursor: &str) -> Result<usize, Fault> {
    let read = || {
        if cursor.len() > MAX_CURSOR {
            return None;
        }
        let plain = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let key = plain.strip_prefix(&[FORMAT, T::MARK])?.strip_prefix(&fingerprint(part))?;
        let last = shelf.position(core::str::from_utf8(key).ok()?)?;
        part.is_none_or(|part| part.shows(last)).then_some(last)
    };
    read().map(|last| last + 1).ok_or_else(|| {
        Fault::invalid_params("Invalid cursor: it is not one that this list gave out to you; start again without one")
    })
}

fn fingerprint(part: Option<&Part>) -> [u8; 4] {
    part.map_or([0; 4], |part| part.fingerprint)
}

fn positions<T>(shelf: &Shelf<T>, part: Option<&Part>, start: usize) -> impl Iterator<Item = usize> {
    (start..shelf.items.len()).filter(move |&index| part.is_none_or(|part| part.shows(index)))
}

/// The format of the cursors.
const FORMAT: u8 = 1;

/// Characters of a cursor: the longest key is a URI of 2,048 bytes, and base64 makes 4 characters of 3 bytes.
const MAX_CURSOR: usize = (MAX_URI + 6).div_ceil(3) * 4;
