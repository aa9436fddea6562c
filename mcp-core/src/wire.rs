//! JSON-RPC, read in one pass and borrowed; line and event framing; writing.
//!
//! Nothing here knows whether it serves a server or a client.
//!
//! ```text
//! bytes ── lines::Splitter ──► one line ──┐
//! bytes ── sse::Parser ──────► one event ─┼─► read ──► Message: spans of id, method, params, _meta, result, error
//! bytes of an HTTP body ──────────────────┘       └──► Unread: what is wrong, whose answer it is, and whether one is owed
//! ```

use alloc::borrow::Cow;
use alloc::string::String;

mod client;
mod id;
pub mod lines;
mod message;
mod read;
pub mod sse;
pub mod write;

pub use client::{read_capabilities, read_client_info};
pub use id::Id;
pub use message::{ErrorObject, Message, Meta, Param, Shape, Unread};
pub use read::read;

/// The bytes of a byte order mark, which is tolerated where a text starts (STDIO-9; RFC 8259 section 8.1).
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The text that a JSON string token stands for; borrowed if nothing in it is escaped.
///
/// `raw` must be JSON text. `None` if it is not a string, or if it escapes half a surrogate pair.
#[must_use]
pub fn decode(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
}
