//! What one caller may see of a catalogue.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::shelf::{Audience, Entry, Shelf};
use super::{Catalog, Prompt, Resource, Template, Tool, digest, digest_on};
use crate::fault::Fault;
use crate::peer::Revision;
use crate::wire::write;

/// All of a catalogue, or a part of it. Cheap to clone; a list and a call that use the same view agree.
///
/// What is hidden is as good as not there: looked up, listed and named in a cursor, it is unknown.
#[derive(Clone, Debug)]
pub struct View {
    catalog: Arc<Catalog>,
    /// `None`: everything.
    shown: Option<Arc<Shown>>,
    /// Whether somebody chose what is shown, also if that is everything.
    chosen: bool,
}

/// One entry of a catalogue, of any kind.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A tool.
    Tool(&'a Tool),
    /// A resource.
    Resource(&'a Resource),
    /// A template of resources.
    Template(&'a Template),
    /// A prompt.
    Prompt(&'a Prompt),
}

impl Item<'_> {
    /// Its name, its URI, or the template.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Tool(tool) => tool.name(),
            Self::Resource(resource) => resource.uri(),
            Self::Template(template) => template.uri(),
            Self::Prompt(prompt) => prompt.name(),
        }
    }
}

/// What answers for a URI.
#[derive(Clone, Debug)]
pub enum Found<'a> {
    /// A resource of that URI.
    Resource(&'a Resource),
    /// A template that matches, and what its variables stand for, in its order.
    Template(&'a Template, Vec<(Box<str>, Box<str>)>),
}

#[derive(Debug)]
struct Shown {
    tools: Part,
    resources: Part,
    templates: Part,
    prompts: Part,
}

/// What is shown of one list.
#[derive(Debug)]
struct Part {
    /// One bit for each entry.
    bits: Box<[u64]>,
    /// Of the keys that are shown. Never of those that are hidden: they could be guessed from it.
    fingerprint: [u8; 4],
}

impl Part {
    fn of<'a, T: Entry>(shelf: &'a Shelf<T>, hidden: &mut bool, mut visible: impl FnMut(&'a T) -> bool) -> Self {
        let mut bits = alloc::vec![0_u64; shelf.items.len().div_ceil(64)].into_boxed_slice();
        let mut keys = digest(b"");
        for (index, item) in shelf.items.iter().enumerate() {
            if visible(item) {
                bits[index / 64] |= 1 << (index % 64);
                keys = digest_on(digest_on(keys, item.key().as_bytes()), b"\0");
            } else {
                *hidden = true;
            }
        }
        let [a, b, c, d, ..] = keys.to_be_bytes();
        Self { bits, fingerprint: [a, b, c, d] }
    }

    fn shows(&self, index: usize) -> bool {
        self.bits[index / 64] >> (index % 64) & 1 == 1
    }
}

impl View {
    /// Everything.
    #[must_use]
    pub const fn all(catalog: Arc<Catalog>) -> Self {
        Self { catalog, shown: None, chosen: false }
    }

    /// The entries for which `visible` says so.
    #[must_use]
    pub fn only(catalog: Arc<Catalog>, mut visible: impl FnMut(Item<'_>) -> bool) -> Self {
        let mut hidden = false;
        let shown = Shown {
            tools: Part::of(&catalog.tools, &mut hidden, |tool| visible(Item::Tool(tool))),
            resources: Part::of(&catalog.resources, &mut hidden, |resource| visible(Item::Resource(resource))),
            templates: Part::of(&catalog.templates, &mut hidden, |template| visible(Item::Template(template))),
            prompts: Part::of(&catalog.prompts, &mut hidden, |prompt| visible(Item::Prompt(prompt))),
        };
        Self { catalog, shown: hidden.then(|| Arc::new(shown)), chosen: true }
    }

    /// The catalogue that it is of.
    #[must_use]
    pub const fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Whether it was made by [`View::only`]. Its lists are private to its caller (CACHE-4), also if nothing is hidden from this
    /// one: a cache that everybody shares would give them to those from whom something is.
    #[must_use]
    pub const fn is_filtered(&self) -> bool {
        self.chosen
    }

    /// The tool of that name. A hidden one is not there.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        find(&self.catalog.tools, self.tool_part(), name)
    }

    /// The prompt of that name. A hidden one is not there.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        find(&self.catalog.prompts, self.shown.as_ref().map(|shown| &shown.prompts), name)
    }

    /// The template of that text, which is not looked for among URIs. A hidden one is not there.
    #[must_use]
    pub fn template(&self, uri: &str) -> Option<&Template> {
        find(&self.catalog.templates, self.shown.as_ref().map(|shown| &shown.templates), uri)
    }

    /// What answers for a URI: the resource that has it, else the first template that matches (RES-11).
    ///
    /// The first of the whole catalogue decides: if that is hidden, nothing answers, as a rule about who may see it holds for
    /// every URI that it serves.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<Found<'_>> {
        if uri.len() > MAX_READ {
            return None;
        }
        let shown = self.shown.as_deref();
        if let Some(index) = self.catalog.resources.position(uri) {
            let visible = shown.is_none_or(|shown| shown.resources.shows(index));
            return visible.then(|| Found::Resource(&self.catalog.resources.items[index]));
        }
        let matching = |(index, template): (usize, &'_ Template)| Some((index, template.compiled()?.matches(uri)?));
        let (index, variables) = self.catalog.templates.items.iter().enumerate().find_map(matching)?;
        let visible = shown.is_none_or(|shown| shown.templates.shows(index));
        visible.then(|| Found::Template(&self.catalog.templates.items[index], variables))
    }

    /// The tools that it shows, in the order of registration.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        items(&self.catalog.tools, self.tool_part())
    }

    /// The resources that it shows, in the order of registration.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        items(&self.catalog.resources, self.shown.as_ref().map(|shown| &shown.resources))
    }

    /// The templates that it shows, in the order of registration.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        items(&self.catalog.templates, self.shown.as_ref().map(|shown| &shown.templates))
    }

    /// The prompts that it shows, in the order of registration.
    pub fn prompts(&self) -> impl Iterator<Item = &Prompt> {
        items(&self.catalog.prompts, self.shown.as_ref().map(|shown| &shown.prompts))
    }

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
        self.write_tools_for(Audience::All, revision, cursor, page, out)
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
        self.write_tools_for(Audience::Pageless, revision, cursor, page, out)
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
        let part = self.shown.as_ref().map(|shown| &shown.resources);
        write_list(&self.catalog.resources, part, Audience::All, revision, cursor, page, out)
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
        let part = self.shown.as_ref().map(|shown| &shown.templates);
        write_list(&self.catalog.templates, part, Audience::All, revision, cursor, page, out)
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
        let part = self.shown.as_ref().map(|shown| &shown.prompts);
        write_list(&self.catalog.prompts, part, Audience::All, revision, cursor, page, out)
    }

    /// Whether clients that show no pages get another list of tools.
    pub(crate) fn has_pages(&self) -> bool {
        self.catalog.tools.has_pages()
    }

    fn write_tools_for(
        &self,
        audience: Audience,
        revision: Revision,
        cursor: Option<&str>,
        page: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        write_list(&self.catalog.tools, self.tool_part(), audience, revision, cursor, page, out)
    }

    fn tool_part(&self) -> Option<&Part> {
        self.shown.as_ref().map(|shown| &shown.tools)
    }
}

fn write_list<T: Entry>(
    shelf: &Shelf<T>,
    part: Option<&Part>,
    audience: Audience,
    revision: Revision,
    cursor: Option<&str>,
    page: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let list = shelf.list(revision, audience);
    let page = page.max(1);
    let start = match cursor {
        Some(cursor) => after(shelf, part, cursor)?,
        None => 0,
    };
    out.push(b'"');
    out.extend_from_slice(T::LIST.as_bytes());
    out.extend_from_slice(b"\":[");
    if start == 0 && part.is_none() && shelf.items.len() <= page {
        out.extend_from_slice(list.text());
        out.push(b']');
        return Ok(());
    }
    let mut positions = positions(shelf, part, start).filter(|&index| list.has(index));
    let mut last = None;
    for index in positions.by_ref().take(page) {
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
        position(shelf, part, core::str::from_utf8(key).ok()?)
    };
    read().map(|last| last + 1).ok_or_else(|| {
        Fault::invalid_params("Invalid cursor: it is not one that this list gave out to you; start again without one")
    })
}

fn fingerprint(part: Option<&Part>) -> [u8; 4] {
    part.map_or([0; 4], |part| part.fingerprint)
}

fn position<T: Entry>(shelf: &Shelf<T>, part: Option<&Part>, key: &str) -> Option<usize> {
    shelf.position(key).filter(|&index| part.is_none_or(|part| part.shows(index)))
}

fn find<'a, T: Entry>(shelf: &'a Shelf<T>, part: Option<&Part>, key: &str) -> Option<&'a T> {
    position(shelf, part, key).map(|index| &shelf.items[index])
}

fn positions<T>(shelf: &Shelf<T>, part: Option<&Part>, start: usize) -> impl Iterator<Item = usize> {
    (start..shelf.items.len()).filter(move |&index| part.is_none_or(|part| part.shows(index)))
}

fn items<'a, T>(shelf: &'a Shelf<T>, part: Option<&'a Part>) -> impl Iterator<Item = &'a T> {
    positions(shelf, part, 0).map(|index| &shelf.items[index])
}

/// The format of the cursors.
const FORMAT: u8 = 1;

/// Characters of a cursor: the longest key is a URI of 2,048 bytes, and base64 makes 4 characters of 3 bytes.
const MAX_CURSOR: usize = (super::resource::MAX_URI + 6).div_ceil(3) * 4;

/// Bytes of a URI that is looked up: each template reads it once.
const MAX_READ: usize = 8192;
