//! What one caller may see of a catalogue.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use super::shelf::{Entry, Shelf};
use super::{Catalog, Prompt, Resource, Template, Tool, digest, digest_on};
use crate::caching::CacheHint;
use crate::peer::Scopes;
use crate::uri_template;

mod page;

pub(crate) use page::{Listing, Page};

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

    /// What answers for a URI: the resource that has it, also if it is spelled with escapes that need not be, as templates take them;
    /// else the first template that matches (RES-11).
    ///
    /// The first of the whole catalogue decides: if that is hidden, nothing answers, as a rule about who may see it holds for
    /// every URI that it serves.
    #[must_use]
    pub fn resource(&self, uri: &str) -> Option<Found<'_>> {
        if uri.len() > MAX_READ {
            return None;
        }
        let Catalog { resources, templates, .. } = &*self.catalog;
        let respelled = || resources.position(&uri_template::respelled(uri)?);
        if let Some(index) = resources.position(uri).or_else(respelled) {
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
}

impl By {
    fn shows(&self, item: Item<'_>) -> bool {
        self.sight.shows(item, &self.assigns)
    }
}

/// Bytes of a URI that is looked up: each template reads it once.
const MAX_READ: usize = 8192;
