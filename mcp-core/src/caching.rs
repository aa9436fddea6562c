//! How long an answer may be kept, and by whom.

use alloc::vec::Vec;

use crate::time::Span;
use crate::wire::write;

/// For how long an answer of 2026-07-28 may be kept, and by whom (CACHE-1). Older revisions do not hear of it.
///
/// It is a hint, no access control: a cache that everybody shares may give a public answer to anybody, whoever asked for it first
/// (CACHE-4). Not to be kept at all, and private, unless something else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    ttl: Span,
    public: bool,
}

impl Caching {
    /// Kept by nobody: stale at once.
    pub const NONE: Self = Self::private(Span(0));

    /// Kept for that long by who asked.
    #[must_use]
    pub const fn private(ttl: Span) -> Self {
        Self { ttl, public: false }
    }

    /// Kept for that long by anybody, and given to anybody.
    #[must_use]
    pub const fn public(ttl: Span) -> Self {
        Self { ttl, public: true }
    }

    /// For how long.
    #[must_use]
    pub const fn ttl(self) -> Span {
        self.ttl
    }

    /// Whether by anybody.
    #[must_use]
    pub const fn is_public(self) -> bool {
        self.public
    }

    /// The same, but private if it is about what one caller sees.
    pub(crate) const fn seen_by_one(self, one: bool) -> Self {
        Self { ttl: self.ttl, public: self.public && !one }
    }

    /// Appends both members of a result, without a comma before them.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"ttlMs\":");
        write::integer(out, i64::try_from(self.ttl.0).unwrap_or(i64::MAX));
        out.extend_from_slice(match self.public {
            true => b",\"cacheScope\":\"public\"",
            false => b",\"cacheScope\":\"private\"",
        });
    }
}
