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

    /// The same for no longer than that, and private if that is.
    const fn at_most(self, other: Self) -> Self {
        let ttl = if self.ttl.0 < other.ttl.0 { self.ttl } else { other.ttl };
        Self { ttl, public: self.public && other.public }
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

/// What an entry says of how long its answers may be kept, and by whom, or what is read says of itself. What it leaves unsaid is as
/// the entry of what is read says it, or the [endpoint](crate::EndpointBuilder::caching).
///
/// ```
/// use mcp_core::{CacheHint, Caching, Span};
///
/// let fallback = Caching::public(Span::secs(300));
/// assert_eq!(CacheHint::ttl(Span::secs(5)).or(fallback), Caching::public(Span::secs(5)));
/// assert_eq!(CacheHint::default().private().or(fallback), Caching::private(Span::secs(300)));
/// assert_eq!(CacheHint::from(Caching::NONE).or(fallback), Caching::NONE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheHint {
    /// For how long.
    pub ttl: Option<Span>,
    /// Whether by anybody, or by who asked alone.
    pub public: Option<bool>,
}

impl CacheHint {
    /// For that long.
    #[must_use]
    pub const fn ttl(ttl: Span) -> Self {
        Self { ttl: Some(ttl), public: None }
    }

    /// The same, by anybody, who may give it to anybody (CACHE-4).
    #[must_use]
    pub const fn public(self) -> Self {
        Self { public: Some(true), ..self }
    }

    /// The same, by who asked.
    #[must_use]
    pub const fn private(self) -> Self {
        Self { public: Some(false), ..self }
    }

    /// What holds where `fallback` is said for all.
    #[must_use]
    pub const fn or(self, fallback: Caching) -> Caching {
        Caching {
            ttl: match self.ttl {
                Some(ttl) => ttl,
                None => fallback.ttl,
            },
            public: match self.public {
                Some(public) => public,
                None => fallback.public,
            },
        }
    }
}

/// Everything is said.
impl From<Caching> for CacheHint {
    fn from(Caching { ttl, public }: Caching) -> Self {
        Self { ttl: Some(ttl), public: Some(public) }
    }
}

/// What the entries of one list say together: enough to know what holds of the list, whatever is said for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListHint {
    entries: usize,
    /// The least time that any of them says, and how many say one.
    ttl: Option<Span>,
    timed: usize,
    /// How many may be kept by anybody whatever is said for all.
    public: usize,
    /// Whether one may not.
    private: bool,
}

impl ListHint {
    /// With one more entry.
    pub(crate) fn add(&mut self, hint: CacheHint, scoped: bool) {
        self.entries += 1;
        self.timed += usize::from(hint.ttl.is_some());
        self.ttl = self.ttl.into_iter().chain(hint.ttl).min();
        self.public += usize::from(hint.public == Some(true));
        self.private |= scoped || hint.public == Some(false);
    }

    /// Whether any entry says for how long.
    pub(crate) const fn says_times(self) -> bool {
        self.timed > 0
    }

    /// What holds of the list: the least time of all of it, private if one entry is (CACHE-3, CACHE-4). An empty one is private:
    /// somebody else's may hold something.
    pub(crate) fn or(self, fallback: Caching) -> Caching {
        let said = Caching { ttl: self.ttl.unwrap_or(fallback.ttl), public: !self.private && self.entries > 0 };
        let all_timed = self.entries > 0 && self.timed == self.entries;
        let rest = Caching {
            ttl: if all_timed { said.ttl } else { fallback.ttl },
            public: fallback.public || self.public == self.entries,
        };
        said.at_most(rest)
    }
}
