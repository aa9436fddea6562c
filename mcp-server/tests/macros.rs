//! The macros: what they make of functions, methods, structs and enums, seen from outside.

#![cfg(all(feature = "tokio", feature = "http"))]

mod common;

#[path = "macros/apps.rs"]
mod apps;
#[path = "macros/arguments.rs"]
mod arguments;
#[path = "macros/by_hand.rs"]
mod by_hand;
#[path = "macros/entries.rs"]
mod entries;
#[path = "macros/functions.rs"]
mod functions;
#[path = "macros/guards.rs"]
mod guards;
#[path = "macros/lints.rs"]
pub mod lints;
#[path = "macros/methods.rs"]
mod methods;
#[path = "macros/options.rs"]
mod options;
