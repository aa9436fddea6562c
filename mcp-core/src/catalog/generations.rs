//! Which state each list of a catalogue is in, in twelve bytes.

use crate::listen::Lists;
use crate::machine::Change;
use crate::snapshot::{Reader, Writer};

/// A digest of each list of a catalogue, 32 bits each: what a sleeper compares when it wakes, to learn what has changed.
///
/// Stable over restarts and machines, as [`Catalog::generation`](crate::Catalog::generation) is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Generations([u32; Change::ALL.len()]);

impl Generations {
    /// Those of lists that somebody else keeps.
    #[must_use]
    pub const fn new(tools: u32, prompts: u32, resources: u32) -> Self {
        Self([tools, prompts, resources])
    }

    /// That of one list; resources and their templates are one.
    #[must_use]
    pub const fn of(self, what: Change) -> u32 {
        self.0[what as usize]
    }

    /// The lists that differ from those of `later`.
    pub(crate) fn changed(self, later: Self) -> Lists {
        let mut lists = Lists::default();
        Change::ALL.into_iter().filter(|what| self.of(*what) != later.of(*what)).for_each(|what| lists.add(what));
        lists
    }

    pub(crate) fn save(self, out: &mut Writer) {
        self.0.iter().for_each(|digest| out.raw(&digest.to_le_bytes()));
    }

    pub(crate) fn load(from: &mut Reader<'_>) -> Option<Self> {
        let mut read = || from.array().map(u32::from_le_bytes);
        Some(Self([read()?, read()?, read()?]))
    }
}
