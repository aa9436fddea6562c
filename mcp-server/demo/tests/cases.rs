//! Cases from the field: what broke other servers, each reduced to a small input, and what is right instead. A test is named
//! by the number of its case, so `cargo test case_` runs them all, wherever they are; `probe_` tests go beyond the numbers.
//! `mcp-core/CASES.md` lists them, and `.ci/rules` finds those without a test. Not here are those that a smaller test proves better.
//!
//! Chosen where the protocol leaves it open: case 24 is lenient, and there is no strict option; in case 60 `/` in a name is taken,
//! as the official suite does.

mod common;

#[path = "cases/client.rs"]
mod client;
#[path = "cases/endpoint.rs"]
mod endpoint;
#[path = "cases/envelope.rs"]
mod envelope;
#[path = "cases/framing.rs"]
mod framing;
#[path = "cases/modern.rs"]
mod modern;
#[path = "cases/opening.rs"]
mod opening;
#[path = "cases/running.rs"]
mod running;
#[path = "cases/sessions.rs"]
mod sessions;
#[path = "cases/tools.rs"]
mod tools;
