//! Entries that belong together.

#![allow(dead_code, reason = "what it is for comes with the modules")]

/// Where an entry belongs.
#[derive(Debug)]
pub(crate) struct Home {
    /// What the module is called, those around it first.
    pub(crate) name: Box<str>,
}
