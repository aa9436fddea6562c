//! Cases from the field, each reduced to a small input, and what is right: each test is named by its number.

mod common;

#[path = "cases/client.rs"]
mod client;
#[path = "cases/envelope.rs"]
mod envelope;
#[path = "cases/framing.rs"]
mod framing;
#[path = "cases/opening.rs"]
mod opening;
#[path = "cases/tools.rs"]
mod tools;
