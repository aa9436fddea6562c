//! The examples of the three libraries that this one came from, as they are written here. Each of theirs is a test.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
mod conduit;
mod conduit_entries;
mod nexus;
// Its sessions are opened over HTTP.
#[cfg(feature = "http")]
mod nexus_server;
// Its definitions are data.
#[cfg(feature = "validate")]
mod raxol;
