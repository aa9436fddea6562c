//! What a server offers: checked once, encoded once per revision, looked up by name, shown in parts.
//!
//! A [`Catalog`] is immutable and swapped whole. A [`View`] is what one caller may see of one catalogue.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hashbrown::HashTable;

use crate::peer::Revision;

mod list;
mod meta;
mod schema;
mod tool;
mod view;

use list::List;
pub(crate) use meta::extension_id;
pub use meta::meta_key;
pub use schema::{Mirror, MirrorKind};
pub use tool::{Tool, ToolAnnotations};
pub use view::View;

/// The registrant's own name for an entry. A call names its entry by it, so that a swapped catalogue harms nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// Everything a server offers, in the order of registration.
pub struct Catalog {
    tools: Box<[Tool]>,
    /// From name to index in `tools`.
    names: HashTable<usize>,
    /// Indexed by revision. Revisions with the same text share it.
    lists: [Arc<List>; Revision::ALL.len()],
    generation: u64,
}

impl Catalog {
    /// A catalogue to fill.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A digest of what the newest revision shows of it: the same for the same entries, also after a restart.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The tools, in the order of registration.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.tools.iter()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.names.find(digest(name.as_bytes()), |&index| self.tools[index].name() == name).copied()
    }

    fn list(&self, revision: Revision) -> &List {
        &self.lists[revision as usize]
    }
}

/// Shows names only: schemas are long.
impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools().map(Tool::name).collect();
        f.debug_struct("Catalog").field("generation", &self.generation).field("tools", &names).finish_non_exhaustive()
    }
}

/// Collects entries for a [`Catalog`].
#[derive(Debug, Default)]
pub struct Builder {
    tools: Vec<Tool>,
}

impl Builder {
    /// With one more tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Checks and encodes everything.
    ///
    /// # Errors
    ///
    /// Every defect of every entry, at once, in the order of registration.
    pub fn build(mut self) -> Result<Arc<Catalog>, Vec<Defect>> {
        let mut defects = Vec::new();
        let mut names = HashTable::with_capacity(self.tools.len());
        for index in 0..self.tools.len() {
            self.tools[index].check(&mut defects);
            let name = self.tools[index].name();
            let hash = |name: &str| digest(name.as_bytes());
            match names.find(hash(name), |&other: &usize| self.tools[other].name() == name) {
                Some(&first) => defects.push(Defect::new(
                    name,
                    "TOOL-5",
                    alloc::format!(
                        "registered twice, as entry {} and as entry {}: names are unique in a server, so rename one",
                        first + 1,
                        index + 1
                    ),
                )),
                None => {
                    names.insert_unique(hash(name), index, |&other| hash(self.tools[other].name()));
                }
            }
        }
        if !defects.is_empty() {
            return Err(defects);
        }
        let tools = self.tools.into_boxed_slice();
        let lists = list::every_revision(&tools);
        let generation = digest(lists[Revision::MODERN as usize].text());
        Ok(Arc::new(Catalog { tools, names, lists, generation }))
    }
}

/// Something that is wrong with what was registered, found before anything is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The entry: a tool's name, an extension's id, or `server`.
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

fn digest_on(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
