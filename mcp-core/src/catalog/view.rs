//! What one caller may see of a catalogue.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;

use super::list::List;
use super::shelf::{self, Audience, Entry, Shelf};
use super::{Catalog, Prompt, Resource, Template, Tool, digest, digest_on};
use crate::caching::{CacheHint, ListHint};
use crate::fault::Fault;
use crate::peer::{Revision, Scopes};
use crate::wire::write;

/// All of a catalogue, or a part of it. Cheap to clone; a list and a call that use the same view agree.
///
/// What is hidden is as good as not there: looked up, listed and named in a cursor, it is unknown.
#[derive(Clone, Debug)]
pub struct View {
    catalog: Arc<Catalog>,
    rule: Rule,
    /// Whether nothing of it asks for scopes: for a caller that can have none.
    unscoped: bool,
}

/// What of the catalogue is shown.
#[derive(Clone, Debug)]
enum Rule {
    All,
    /// Settled when the view was made.
    Only(Arc<Shown>),
    /// Asked when it is looked at.
    By(Arc<By>),
}

/// A rule that is asked of each entry that is looked at.
#[derive(Debug)]
struct By {
    sight: Arc<dyn Sight>,
    assigns: Bytes,
}

/// Says which entries somebody may see, of a [`View::by`].
///
/// ```
/// # use std::sync::Arc;
/// use bytes::Bytes;
/// use mcp_core::catalog::{Catalog, Handle, Item, Sight, Tool, View};
///
/// /// Whoever was let in as an administrator sees what is for administrators.
/// #[derive(Debug)]
/// struct ByRole;
///
/// impl Sight for ByRole {
///     fn shows(&self, item: Item<'_>, assigns: &Bytes) -> bool {
///         !item.key().starts_with("admin-") || **assigns == *b"admin"
///     }
/// }
///
/// # fn main() -> Result<(), Vec<mcp_core::catalog::Defect>> {
/// let tool = |name| Tool::new(name, Handle(1), r#"{"type":"object"}"#);
/// let catalog = Catalog::builder().tool(tool("search")).tool(tool("admin-purge")).build()?;
/// let view = View::by(catalog, Arc::new(ByRole));
/// assert!(view.tool("search").is_some() && view.tool("admin-purge").is_none());
/// assert!(view.with_assigns("admin".into()).tool("admin-purge").is_some());
/// # Ok(()) }
/// ```
pub trait Sight: Send + Sync + fmt::Debug {
    /// Whether this entry is shown to who was let in with these assigns: what the server's own code
    /// [keeps](crate::Call::assigns) of the session, or of the request where there is none; empty if there is nothing.
    ///
    /// It is asked by the machine, in whatever it does: it must neither block nor panic, and must not come back to the machine.
    fn shows(&self, item: Item<'_>, assigns: &Bytes) -> bool;
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

    /// The scopes that a caller must have to use it.
    #[must_use]
    pub const fn scopes(&self) -> &Scopes {
        match self {
            Self::Tool(tool) => tool.scopes(),
            Self::Resource(resource) => resource.scopes(),
            Self::Template(template) => template.scopes(),
            Self::Prompt(prompt) => prompt.scopes(),
        }
    }
}

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

/// What answers for a URI.
#[derive(Clone, Debug)]
pub enum Found<'a> {
    /// A resource of that URI.
    Resource(&'a Resource),
    /// A template that matches, and what its variables stand for, in its order.
    Template(&'a Template, Vec<(Box<str>, Box<str>)>),
}

impl<'a> Found<'a> {
    /// The scopes that a caller must have.
    pub(crate) const fn scopes(&self) -> &'a Scopes {
        match self {
            Self::Resource(resource) => resource.scopes(),
            Self::Template(template, _) => template.scopes(),
        }
    }

    /// For how long what is read may be kept, and by whom.
    pub(crate) const fn caching(&self) -> CacheHint {
        match self {
            Self::Resource(resource) => resource.caching(),
            Self::Template(template, _) => template.caching(),
        }
    }
}

#[derive(Debug)]
struct Shown {
    tools: Option<Part>,
    resources: Option<Part>,
    templates: Option<Part>,
    prompts: Option<Part>,
}

/// What is shown of one list, if not all of it is.
#[derive(Debug)]
struct Part {
    /// One bit for each entry.
    bits: Box<[u64]>,
    /// Of the keys that are shown. Never of those that are hidden: they could be guessed from it.
    fingerprint: [u8; 4],
}

impl Part {
    /// `None`: nothing is hidden.
    fn of<T: Entry>(shelf: &Shelf<T>, mut visible: impl FnMut(usize, &T) -> bool) -> Option<Self> {
        let mut bits = alloc::vec![0_u64; shelf.items.len().div_ceil(64)].into_boxed_slice();
        let (mut keys, mut hidden) = (digest(b""), false);
        for (index, item) in shelf.items.iter().enumerate() {
            if visible(index, item) {
                bits[index / 64] |= 1 << (index % 64);
                keys = digest_on(digest_on(keys, item.key().as_bytes()), b"\0");
            } else {
                hidden = true;
            }
        }
        let [a, b, c, d, ..] = keys.to_be_bytes();
        hidden.then_some(Self { bits, fingerprint: [a, b, c, d] })
    }

    fn shows(&self, index: usize) -> bool {
        self.bits[index / 64] >> (index % 64) & 1 == 1
    }
}

/// An entry, and where a view keeps what it shows of its list.
trait Listed: Entry {
    fn item(&self) -> Item<'_>;

    fn part(shown: &Shown) -> Option<&Part>;
}

macro_rules! listed {
    ($($entry:ident $list:ident)*) => {$(
        impl Listed for $entry {
            fn item(&self) -> Item<'_> {
                Item::$entry(self)
            }

            fn part(shown: &Shown) -> Option<&Part> {
                shown.$list.as_ref()
            }
        }
    )*};
}

listed!(Tool tools Resource resources Template templates Prompt prompts);

impl View {
    /// Everything.
    #[must_use]
    pub const fn all(catalog: Arc<Catalog>) -> Self {
        Self { catalog, rule: Rule::All, unscoped: false }
    }

    /// The entries for which `visible` says so, which is asked of each at once.
    #[must_use]
    pub fn only(catalog: Arc<Catalog>, mut visible: impl FnMut(Item<'_>) -> bool) -> Self {
        let shown = Shown {
            tools: Part::of(&catalog.tools, |_, tool| visible(tool.item())),
            resources: Part::of(&catalog.resources, |_, resource| visible(resource.item())),
            templates: Part::of(&catalog.templates, |_, template| visible(template.item())),
            prompts: Part::of(&catalog.prompts, |_, prompt| visible(prompt.item())),
        };
        Self { catalog, rule: Rule::Only(Arc::new(shown)), unscoped: false }
    }

    /// The entries that `sight` shows, which is asked when it matters: of the one entry that is looked up, or of all of a list
    /// when that is written.
    ///
    /// A machine has it look with the assigns of the session, or with those of the request where there is none: a request whose
    /// sender is yet to be [let in](crate::Kind::Init) is judged once that is done. Its lists are private, as of [`View::only`].
    #[must_use]
    pub fn by(catalog: Arc<Catalog>, sight: Arc<dyn Sight>) -> Self {
        Self { catalog, rule: Rule::By(Arc::new(By { sight, assigns: Bytes::new() })), unscoped: false }
    }

    /// The same for who was let in with these assigns. It makes a difference only to a [`View::by`].
    #[must_use]
    pub fn with_assigns(&self, assigns: Bytes) -> Self {
        let rule = match &self.rule {
            Rule::By(by) => Rule::By(Arc::new(By { sight: Arc::clone(&by.sight), assigns })),
            rule => rule.clone(),
        };
        Self { catalog: Arc::clone(&self.catalog), rule, unscoped: self.unscoped }
    }

    /// As [`View::with_assigns`], at no cost where that makes no difference.
    pub(crate) fn through(&self, assigns: &Bytes) -> Cow<'_, Self> {
        match &self.rule {
            Rule::By(_) => Cow::Owned(self.with_assigns(assigns.clone())),
            Rule::All | Rule::Only(_) => Cow::Borrowed(self),
        }
    }

    /// Whether it may depend on assigns.
    pub(crate) fn is_by_rule(&self) -> bool {
        matches!(self.rule, Rule::By(_))
    }

    /// The assigns that it looks with; empty if they make no difference.
    pub(crate) fn assigns(&self) -> Bytes {
        if let Rule::By(by) = &self.rule { by.assigns.clone() } else { Bytes::new() }
    }

    /// What is asked what it shows.
    pub(crate) fn sight(&self) -> Option<&Arc<dyn Sight>> {
        if let Rule::By(by) = &self.rule { Some(&by.sight) } else { None }
    }

    /// The catalogue that it is of.
    #[must_use]
    pub const fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Whether it was made by [`View::only`] or [`View::by`]. Its lists are private to its caller (CACHE-4), also if nothing is
    /// hidden from this one: a cache that everybody shares would give them to those from whom something is.
    #[must_use]
    pub const fn is_filtered(&self) -> bool {
        self.unscoped || !matches!(self.rule, Rule::All)
    }

    /// The tool of that name. A hidden one is not there.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.find(&self.catalog.tools, name)
    }

    /// The prompt of that name. A hidden one is not there.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Prompt> {
        self.find(&self.catalog.prompts, name)
    }

    /// The template of that text, which is not looked for among URIs. A hidden one is not there.
    #[must_use]
    pub fn template(&self, uri: &str) -> Option<&Template> {
        self.find(&self.catalog.templates, uri)
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
        let Catalog { resources, templates, .. } = &*self.catalog;
        if let Some(index) = resources.position(uri) {
            return self.shows(resources, index).then(|| Found::Resource(&resources.items[index]));
        }
        let matching = |(index, template): (usize, &'_ Template)| Some((index, template.compiled()?.matches(uri)?));
        let (index, variables) = templates.items.iter().enumerate().find_map(matching)?;
        self.shows(templates, index).then(|| Found::Template(&templates.items[index], variables))
    }

    /// The tools that it shows, in the order of registration.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.items(&self.catalog.tools)
    }

    /// The resources that it shows, in the order of registration.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.items(&self.catalog.resources)
    }

    /// The templates that it shows, in the order of registration.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.items(&self.catalog.templates)
    }

    /// The prompts that it shows, in the order of registration.
    pub fn prompts(&self) -> impl Iterator<Item = &Prompt> {
        self.items(&self.catalog.prompts)
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

    /// Whether clients that show no pages get another list of tools.
    pub(crate) fn has_pages(&self) -> bool {
        self.catalog.tools.has_pages()
    }

    /// The same without what asks for scopes.
    pub(crate) fn unscoped(&self) -> Cow<'_, Self> {
        match self.catalog.has_scopes() {
            true => Cow::Owned(Self { unscoped: true, ..self.clone() }),
            false => Cow::Borrowed(self),
        }
    }

    fn shows<T: Listed>(&self, shelf: &Shelf<T>, index: usize) -> bool {
        let item = &shelf.items[index];
        if self.unscoped && item.guard().is_scoped() {
            return false;
        }
        match &self.rule {
            Rule::All => true,
            Rule::Only(shown) => T::part(shown).is_none_or(|part| part.shows(index)),
            Rule::By(by) => by.shows(item.item()),
        }
    }

    fn find<'a, T: Listed>(&self, shelf: &'a Shelf<T>, key: &str) -> Option<&'a T> {
        shelf.position(key).filter(|&index| self.shows(shelf, index)).map(|index| &shelf.items[index])
    }

    fn items<'a, T: Listed>(&'a self, shelf: &'a Shelf<T>) -> impl Iterator<Item = &'a T> {
        let shown = shelf.items.iter().enumerate().filter(|(index, _)| self.shows(shelf, *index));
        shown.map(|(_, item)| item)
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

impl By {
    fn shows(&self, item: Item<'_>) -> bool {
        self.sight.shows(item, &self.assigns)
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
const MAX_CURSOR: usize = (super::resource::MAX_URI + 6).div_ceil(3) * 4;

/// Bytes of a URI that is looked up: each template reads it once.
const MAX_READ: usize = 8192;
