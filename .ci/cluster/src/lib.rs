//! What the node and the one who kills it both speak of.

#![allow(clippy::multiple_crate_versions)]

pub mod point;
