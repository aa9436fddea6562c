//! The rules of a server as the core asks them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use mcp_core::catalog::{Handle, Item, Sight, View};
use mcp_core::{Caller, Endpoint};

use super::{Asking, Facing, Shown, Viewer, VisibleRule};
use crate::code::{discard, said};
use crate::extract::States;

/// What rules know of all entries at one moment, by slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facings {
    slots: Arc<[Option<Arc<Facing>>]>,
    ruled: bool,
}

impl FromIterator<Option<Arc<Facing>>> for Facings {
    fn from_iter<I: IntoIterator<Item = Option<Arc<Facing>>>>(facings: I) -> Self {
        let slots: Arc<[_]> = facings.into_iter().collect();
        let ruled = slots.iter().flatten().any(|facing| !facing.rules.is_empty());
        Self { slots, ruled }
    }
}

/// What a server has its rules look with.
pub(crate) struct Rules<'a> {
    /// Those about all entries.
    pub(crate) own: &'a Arc<[VisibleRule]>,
    pub(crate) endpoint: &'a Arc<Endpoint>,
    pub(crate) states: &'a Arc<States>,
}

/// What that caller sees of `all`: everything, at no cost, where there is no rule.
pub(crate) fn view(all: &View, facings: &Facings, rules: &Rules<'_>, caller: &Caller) -> View {
    if rules.own.is_empty() && !facings.ruled {
        return all.clone();
    }
    let sight = Ruled {
        rules: Arc::clone(rules.own),
        facings: facings.clone(),
        caller: caller.clone(),
        endpoint: Arc::clone(rules.endpoint),
        states: Arc::clone(rules.states),
        viewer: Mutex::new(None),
    };
    View::by(Arc::clone(all.catalog()), Arc::new(sight))
}

/// One look of one caller.
struct Ruled {
    rules: Arc<[VisibleRule]>,
    facings: Facings,
    caller: Caller,
    endpoint: Arc<Endpoint>,
    states: Arc<States>,
    /// Who looked last: all of a list is looked at with the same assigns, which are read once.
    viewer: Mutex<Option<Arc<Viewer>>>,
}

impl Ruled {
    fn viewer(&self, assigns: &Bytes) -> Arc<Viewer> {
        let mut last = self.viewer.lock().unwrap_or_else(PoisonError::into_inner);
        // The same bytes, not equal ones: there may be thousands of them, for each entry.
        let same = |viewer: &&Arc<Viewer>| {
            (viewer.assigns.as_ptr(), viewer.assigns.len()) == (assigns.as_ptr(), assigns.len())
        };
        if let Some(viewer) = last.as_ref().filter(same) {
            return Arc::clone(viewer);
        }
        let viewer = Arc::new(Viewer {
            caller: self.caller.clone(),
            endpoint: Arc::clone(&self.endpoint),
            states: Arc::clone(&self.states),
            assigns: assigns.clone(),
            decoded: OnceLock::new(),
        });
        *last = Some(Arc::clone(&viewer));
        viewer
    }
}

impl Sight for Ruled {
    fn shows(&self, item: Item<'_>, assigns: &Bytes) -> bool {
        let Some(facing) = self.facings.slots.get(slot(item)).and_then(Option::as_ref) else { return false };
        let (viewer, shown) = (self.viewer(assigns), Shown { item, facing });
        let _asking = Asking::begin();
        self.rules.iter().chain(&facing.rules).all(|rule| allows(rule, &shown, &viewer))
    }
}

/// A rule that panics hides: who wrote it meant to hide something.
fn allows(VisibleRule(rule): &VisibleRule, shown: &Shown<'_>, viewer: &Viewer) -> bool {
    // Foreign code shares nothing with the library but its arguments.
    catch_unwind(AssertUnwindSafe(|| rule(shown, viewer))).unwrap_or_else(|panic| {
        let entry = shown.name();
        tracing::error!(
            entry,
            panic = said(&*panic),
            "a rule about who sees what panicked, and so the entry is hidden"
        );
        discard(panic);
        false
    })
}

/// Its handle's slot: its serial is that of the catalogue that is looked at.
fn slot(item: Item<'_>) -> usize {
    let Handle(handle) = match item {
        Item::Tool(tool) => tool.handle(),
        Item::Resource(resource) => resource.handle(),
        Item::Template(template) => template.handle(),
        Item::Prompt(prompt) => prompt.handle(),
    };
    (handle & u64::from(u32::MAX)) as usize
}

impl fmt::Debug for Ruled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ruled").field("caller", &self.caller).finish_non_exhaustive()
    }
}
