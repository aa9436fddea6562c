//! What resources, templates and prompts say of themselves.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Defect, check_meta};
use crate::answer::Icon;
use crate::encode::json::Object;
use crate::peer::Revision;

/// What may be said of any entry.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) title: Option<Box<str>>,
    pub(super) description: Option<Box<str>>,
    pub(super) icons: Vec<Icon>,
    pub(super) meta: Option<Box<str>>,
}

impl About {
    pub(super) fn check(&mut self, entry: &str, defects: &mut Vec<Defect>) {
        check_meta(entry, &mut self.meta, defects);
    }

    /// `title` and `description`.
    pub(super) fn words(&self, object: &mut Object<'_>, revision: Revision) {
        if revision >= Revision::V2025_06_18 {
            object.optional("title", self.title.as_deref());
        }
        object.optional("description", self.description.as_deref());
    }

    /// `icons` and `_meta`.
    pub(super) fn extras(&self, object: &mut Object<'_>, revision: Revision) {
        if revision >= Revision::V2025_11_25 && !self.icons.is_empty() {
            crate::encode::icons(object.key("icons"), &self.icons);
        }
        if revision >= Revision::V2025_06_18
            && let Some(meta) = &self.meta
        {
            object.json("_meta", meta);
        }
    }
}

/// The methods that set and show what an entry says of itself; the entry has a field `about`.
macro_rules! about {
    ($what:literal) => {
        /// With a display name. From 2025-06-18 on.
        #[must_use]
        pub fn with_title(mut self, title: &str) -> Self {
            self.about.title = Some(title.into());
            self
        }

        #[doc = concat!("With a description of the ", $what, ".")]
        #[must_use]
        pub fn with_description(mut self, description: &str) -> Self {
            self.about.description = Some(description.into());
            self
        }

        /// With one more icon. From 2025-11-25 on.
        #[must_use]
        pub fn with_icon(mut self, icon: $crate::answer::Icon) -> Self {
            self.about.icons.push(icon);
            self
        }

        /// With public `_meta`: JSON text of an object, keys by [`meta_key`](super::meta_key). An empty object is not sent.
        #[must_use]
        pub fn with_meta(mut self, meta: &str) -> Self {
            self.about.meta = Some(meta.into());
            self
        }

        /// The registrant's name for it.
        #[must_use]
        pub const fn handle(&self) -> super::Handle {
            self.handle
        }

        /// Its display name.
        #[must_use]
        pub fn title(&self) -> Option<&str> {
            self.about.title.as_deref()
        }

        /// Its description.
        #[must_use]
        pub fn description(&self) -> Option<&str> {
            self.about.description.as_deref()
        }

        /// Its public `_meta`: JSON text of an object.
        #[must_use]
        pub fn meta(&self) -> Option<&str> {
            self.about.meta.as_deref()
        }
    };
}

pub(super) use about;
