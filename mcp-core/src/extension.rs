//! What a server says of an extension (EXT-1 to EXT-4).

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::catalog::{Defect, extension_id};
use crate::encode::json;
use crate::fault::reflect;
use crate::peer::{Peer, Revision};

/// An extension that the server declares (EXT-1, EXT-2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionDecl {
    /// Its id, `prefix/name`.
    pub id: Box<str>,
    /// Its settings: JSON text of an object. `{}` says that there are none.
    pub settings: Box<str>,
    /// The methods that it adds.
    pub methods: Vec<Box<str>>,
    /// Whether it is declared in 2025-11-25 sessions too, where the schema has no place for it but clients look for it
    /// (SHIM-12).
    pub legacy: bool,
}

impl ExtensionDecl {
    /// An extension without settings or methods.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { id: id.into(), settings: "{}".into(), methods: Vec::new(), legacy: false }
    }

    /// With settings: JSON text of an object.
    #[must_use]
    pub fn with_settings(mut self, settings: &str) -> Self {
        self.settings = settings.into();
        self
    }

    /// With one more method.
    #[must_use]
    pub fn with_method(mut self, method: &str) -> Self {
        self.methods.push(method.into());
        self
    }

    /// Declared in 2025-11-25 sessions too.
    #[must_use]
    pub fn with_legacy(mut self) -> Self {
        self.legacy = true;
        self
    }
}

impl ExtensionDecl {
    /// Whether clients of that revision are told of it (SHIM-12).
    pub(crate) fn is_declared(&self, revision: Revision) -> bool {
        match revision {
            Revision::V2026_07_28 => true,
            Revision::V2025_11_25 => self.legacy,
            _ => false,
        }
    }

    /// Whether both sides have declared it (EXT-2).
    #[must_use]
    pub fn is_active(&self, peer: &Peer) -> bool {
        self.is_declared(peer.revision) && peer.capabilities.extension(&self.id).is_some()
    }

    pub(crate) fn check(&self, before: &[Self], defects: &mut Vec<Defect>) {
        let entry = reflect(&self.id);
        if let Err(why) = extension_id(&self.id) {
            defects.push(Defect::new(&entry, "EXT-1", why));
        }
        if self.legacy && &*self.id == TASKS {
            let why = "must not be declared in legacy sessions: 2025-11-25 has tasks of its own";
            defects.push(Defect::new(&entry, "SHIM-12", why));
        }
        if before.iter().any(|other| other.id == self.id) {
            defects.push(Defect::new(&entry, "EXT-1", "declared twice: declare it once, with all its methods"));
        }
        if json::members(&self.settings).is_none() {
            defects.push(Defect::new(&entry, "EXT-1", "the settings must be the text of a JSON object; `{}` for none"));
        }
        for (index, method) in self.methods.iter().enumerate() {
            let core = CORE_METHODS.contains(&&**method) || method.starts_with("notifications/");
            let twice =
                self.methods[..index].contains(method) || before.iter().any(|other| other.methods.contains(method));
            if core || twice || method.is_empty() {
                let why = if core { "belongs to the protocol" } else { "is empty or declared twice" };
                let message = alloc::format!("the method `{}` {why}: choose another name", reflect(method));
                defects.push(Defect::new(&entry, "EXT-4", message));
            }
        }
    }
}

/// Methods that no extension may take (21.1). Those of `tasks/` are an extension's.
const CORE_METHODS: [&str; 16] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "roots/list",
];

/// The tasks of 2026-07-28 (SHIM-10).
const TASKS: &str = "io.modelcontextprotocol/tasks";
