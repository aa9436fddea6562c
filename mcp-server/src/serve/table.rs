//! All that a server offers at one moment, and where its code is found.

use std::panic::Location;
use std::sync::Arc;

use mcp_core::catalog::{Handle, View};
use mcp_core::{Completes, Kind};

use crate::code::Entry;
use crate::facts::Parts;
use crate::module::Home;
use crate::visible::Facings;

/// All entries at one moment.
pub(crate) struct Table {
    pub(super) view: View,
    pub(super) slots: Slots,
    pub(super) facings: Facings,
    /// The tool that calls others, if there is one.
    pub(super) focus: Option<Handle>,
}

/// Where the code of entries is found, of all kinds.
#[derive(Clone, Default)]
pub(super) struct Slots(Vec<Slot>);

/// Where an entry's code is found. A slot is used again once its entry is gone, under another serial: a call that names the
/// former entry never runs the next one.
#[derive(Clone)]
struct Slot {
    serial: u32,
    parts: Option<Parts>,
}

impl Table {
    /// The code that a call runs. `None` if it was taken away, or there is none for such a call.
    pub(super) fn entry(&self, kind: &Kind) -> Option<Arc<Entry>> {
        let (handle, argument) = match kind {
            Kind::Tool { tool, .. } => (*tool, None),
            Kind::Resource { resource, .. } => (*resource, None),
            Kind::Prompt { prompt, .. } => (*prompt, None),
            Kind::Complete { of: Completes::Prompt { prompt, .. }, argument, .. } => (*prompt, Some(argument)),
            Kind::Complete { of: Completes::Template { template, .. }, argument, .. } => (*template, Some(argument)),
            _ => return None,
        };
        let parts = self.slots.get(handle)?;
        let Some(argument) = argument else { return Some(Arc::clone(&parts.entry)) };
        parts.completions.iter().find(|(name, _)| name == argument).map(|(_, entry)| Arc::clone(entry))
    }
}

impl Table {
    /// Whether the tool may be told of to who looks for one.
    pub(super) fn is_findable(&self, tool: Handle) -> bool {
        self.slots.get(tool).is_some_and(|parts| parts.findable)
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.view.tool(name).is_some()
    }
}

impl Slots {
    fn get(&self, handle: Handle) -> Option<&Parts> {
        let (slot, serial) = split(handle);
        self.0.get(slot).filter(|slot| slot.serial == serial)?.parts.as_ref()
    }

    /// Where it was made, and the module that it belongs to.
    pub(super) fn place_of(&self, handle: Handle) -> Option<(&'static Location<'static>, Option<&Home>)> {
        self.get(handle).map(|parts| (parts.place, parts.home.as_deref()))
    }

    /// What is known of each entry to who decides who sees it.
    pub(super) fn facings(&self) -> Facings {
        self.0.iter().map(|slot| slot.parts.as_ref().map(|parts| Arc::clone(&parts.facing))).collect()
    }

    pub(super) fn clear(&mut self, handle: Handle) {
        self.0[split(handle).0].parts = None;
    }

    /// A handle that was never given out before; it is to be filled before the next is asked for.
    pub(super) fn reserve(&mut self) -> Handle {
        let slot = self.0.iter().position(|slot| slot.parts.is_none()).unwrap_or_else(|| {
            self.0.push(Slot { serial: 0, parts: None });
            self.0.len() - 1
        });
        let serial = &mut self.0[slot].serial;
        *serial = serial.wrapping_add(1);
        Handle(u64::from(*serial) << 32 | slot as u64)
    }

    pub(super) fn fill(&mut self, handle: Handle, parts: Parts) {
        self.0[split(handle).0].parts = Some(parts);
    }
}

/// A handle's slot and serial.
fn split(handle: Handle) -> (usize, u32) {
    ((handle.0 & u64::from(u32::MAX)) as usize, (handle.0 >> 32) as u32)
}
