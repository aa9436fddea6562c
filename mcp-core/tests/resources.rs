//! Resources and their templates: lists, reads, what is not there, asking. Over byte streams and HTTP, in every revision.

use mcp_core::answer::{Annotations, Answer, Content, Contents, Icon, PromptAnswer, ResourceAnswer};
use mcp_core::catalog::{Catalog, Defect, Found, Item, Resource, Template};
use mcp_core::question::Question;
use mcp_core::{Caching, Call, Code, Endpoint, Fault, Handle, Kind, Outcome, Revision, Span, View};
use serde_json::{Value, json};
use testkit::{Talk, Web, fixture};

#[path = "resources/lists.rs"]
mod lists;
#[path = "resources/reads.rs"]
mod reads;
#[path = "resources/registration.rs"]
mod registration;

fn read(contents: Vec<Contents>) -> Outcome {
    Outcome::Complete(Answer::Resource(ResourceAnswer::new(contents)))
}

/// The members of an object, sorted.
fn members(object: &Value) -> Vec<&str> {
    let mut members: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    members.sort_unstable();
    members
}

/// What a fixture client is told of a read.
fn not_found(revision: Revision) -> i64 {
    if revision == Revision::MODERN { -32602 } else { -32002 }
}

/// What a modern result has besides.
fn modern_members(revision: Revision, cached: bool) -> &'static [&'static str] {
    match (revision, cached) {
        (Revision::MODERN, true) => &["_meta", "cacheScope", "resultType", "ttlMs"],
        (Revision::MODERN, false) => &["_meta", "resultType"],
        _ => &[],
    }
}

fn with(revision: Revision, cached: bool, own: &[&'static str]) -> Vec<&'static str> {
    let mut all = [modern_members(revision, cached), own].concat();
    all.sort_unstable();
    all
}
