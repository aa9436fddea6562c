//! A scripted client in simulated time.
//!
//! [`Script`] drives one machine: it sends what a test says, runs no call by itself, and collects what comes out. Time moves
//! only by [`Script::advance`], which sends a tick at every deadline on the way. Whatever a machine sends is parsed, held
//! against [somebody else's types](types) where it is of the newest revision, and, if `MCP_TRANSCRIPT` names a folder,
//! written there for the schema checker ([`transcript`]). What a test proves is told by its name, or by [`proves`].

pub mod fixture;
mod proofs;
mod script;
mod site;
mod talk;
pub mod transcript;
pub mod types;

pub use proofs::proves;
pub use script::{Script, Sent};
pub use site::{Site, done};
pub use talk::{Talk, Web};
