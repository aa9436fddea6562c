//! What a server offers: checked once, encoded once per revision, looked up by name, shown in parts.
//!
//! A [`Catalog`] is immutable and swapped whole. A [`View`] is what one caller may see of one catalogue.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

mod about;
mod generations;
mod guard;
mod list;
mod meta;
mod prompt;
mod resource;
mod schema;
mod shelf;
mod tool;
mod view;

pub use generations::Generations;
use meta::check_meta;
pub(crate) use meta::extension_id;
pub use meta::meta_key;
pub use prompt::{Prompt, PromptArgument};
pub use resource::{Resource, Template};
pub use schema::{Mirror, MirrorKind};
use shelf::Shelf;
pub use tool::{TaskSupport, Tool, ToolAnnotations};
pub use view::{Found, Item, Sight, View};
pub(crate) use view::{Listing, Page};

/// The registrant's own name for an entry. A call names its entry by it, so that a swapped catalogue harms nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// Everything a server offers, each kind in the order of registration.
pub struct Catalog {
    tools: Shelf<Tool>,
    resources: Shelf<Resource>,
    templates: Shelf<Template>,
    prompts: Shelf<Prompt>,
    generation: u64,
    generations: Generations,
}

impl Catalog {
    /// A catalogue to fill.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A digest of what the newest revision shows of it, and of all else that a machine goes by: tools that are not listed, what tools
    /// need, what is completed, scopes and hints. The same for the same entries, also after a restart; handles do not count.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The same for each list, as clients hear of their changes one by one.
    #[must_use]
    pub const fn generations(&self) -> Generations {
        self.generations
    }

    /// Whether any entry asks for scopes.
    pub(crate) const fn has_scopes(&self) -> bool {
        self.tools.has_scopes()
            || self.resources.has_scopes()
            || self.templates.has_scopes()
            || self.prompts.has_scopes()
    }

    /// The tools, in the order of registration.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.tools.items.iter()
    }

    /// The resources, in the order of registration.
    pub fn resources(&self) -> impl ExactSizeIterator<Item = &Resource> {
        self.resources.items.iter()
    }

    /// The templates of resources, in the order of registration.
    pub fn templates(&self) -> impl ExactSizeIterator<Item = &Template> {
        self.templates.items.iter()
    }

    /// The prompts, in the order of registration.
    pub fn prompts(&self) -> impl ExactSizeIterator<Item = &Prompt> {
        self.prompts.items.iter()
    }
}

/// Shows names only: schemas are long.
impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("generation", &self.generation)
            .field("tools", &self.tools.names())
            .field("resources", &self.resources.names())
            .field("templates", &self.templates.names())
            .field("prompts", &self.prompts.names())
            .finish()
    }
}

/// Collects entries for a [`Catalog`].
#[derive(Debug, Default)]
pub struct Builder {
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    templates: Vec<Template>,
    prompts: Vec<Prompt>,
}

impl Builder {
    /// With one more tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// With one more resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// With one more template of resources. Those before it go first (RES-11).
    #[must_use]
    pub fn template(mut self, template: Template) -> Self {
        self.templates.push(template);
        self
    }

    /// With one more prompt.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Checks and encodes everything.
    ///
    /// # Errors
    ///
    /// Every defect of every entry, at once, each kind in the order of registration.
    pub fn build(self) -> Result<Arc<Catalog>, Vec<Defect>> {
        let mut defects = Vec::new();
        let tools = Shelf::new(self.tools, &mut defects);
        let resources = Shelf::new(self.resources, &mut defects);
        let templates = Shelf::new(self.templates, &mut defects);
        let prompts = Shelf::new(self.prompts, &mut defects);
        if !defects.is_empty() {
            return Err(defects);
        }
        let generation = tools.digest_on(digest(b""));
        let generation = prompts.digest_on(templates.digest_on(resources.digest_on(generation)));
        // Lists show nothing of it, but a machine that is handed another one does otherwise.
        let generation = tools.unseen_on(generation);
        let generation = prompts.unseen_on(templates.unseen_on(resources.unseen_on(generation)));
        let resource_lists = templates.digest_on(resources.digest_on(digest(b"")));
        let generations = Generations::new(
            folded(tools.digest_on(digest(b""))),
            folded(prompts.digest_on(digest(b""))),
            folded(resource_lists),
        );
        Ok(Arc::new(Catalog { tools, resources, templates, prompts, generation, generations }))
    }
}

/// Something that is wrong with what was registered, found before anything is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The entry: a name, a URI, a template, an extension's id, or `server`.
    pub entry: Box<str>,
    /// The rule that it breaks.
    pub rule: &'static str,
    /// What is wrong, and what to do.
    pub message: Box<str>,
}

impl Defect {
    pub(crate) fn new(entry: &str, rule: &'static str, message: impl Into<Box<str>>) -> Self {
        Self { entry: entry.into(), rule, message: message.into() }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {} ({})", self.entry, self.message, self.rule)
    }
}

impl core::error::Error for Defect {}

/// FNV-1a, 64 bits: stable over restarts and machines. What is hashed was registered by the server itself, so nobody
/// outside can make names collide.
fn digest(bytes: &[u8]) -> u64 {
    digest_on(0xcbf2_9ce4_8422_2325, bytes)
}

/// Half of it, with all of its bits.
const fn folded(digest: u64) -> u32 {
    (digest ^ digest >> 32) as u32
}

/// Goes on with what is completed of an entry.
fn completes_on(state: u64, key: &str, argument: &str) -> u64 {
    [b"completes ", key.as_bytes(), b"\0", argument.as_bytes()].into_iter().fold(state, digest_on)
}

fn digest_on(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
