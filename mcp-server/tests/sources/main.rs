//! The tools of the three libraries that this one came from, as they are written here. Each example of theirs is a test.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod conduit;
mod nexus;
// Its definitions are data.
#[cfg(feature = "validate")]
mod raxol;
