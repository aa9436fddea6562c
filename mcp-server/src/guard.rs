//! What stands between a caller and an entry: scopes, who may keep what is answered, what runs around it, who sees it.

use std::time::Duration;

use mcp_core::Span;

use crate::middleware::Wraps;
use crate::visible::VisibleRule;

/// For how long an answer may be kept, and by whom (CACHE-1). What is left unsaid is as the server says it.
///
/// ```
/// use std::time::Duration;
/// use mcp_server::{CacheHint, Resource};
///
/// let motto = Resource::new("app://motto")
///     .text("Keep it short.")
///     .cache(CacheHint::new().ttl(Duration::from_secs(60)).public());
/// ```
///
/// A resource may say it of each answer, which goes before what its entry says:
///
/// ```
/// # use std::time::Duration;
/// # use mcp_server::{CacheHint, Contents, ResourceAnswer, resource};
/// /// How the oven is
/// #[resource("app://oven", cache(ttl_ms = 60_000, public))]
/// fn oven() -> ResourceAnswer {
///     let mut answer = ResourceAnswer::new(vec![Contents::text("It is warming up")]);
///     answer.caching = CacheHint::new().ttl(Duration::ZERO).into();
///     answer
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "a hint does nothing until it is given to an entry or a server"]
pub struct CacheHint {
    ttl: Option<Duration>,
    public: Option<bool>,
}

impl CacheHint {
    /// Nothing is said yet.
    pub const fn new() -> Self {
        Self { ttl: None, public: None }
    }

    /// For that long, in whole milliseconds.
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// By anybody, who may give it to anybody (CACHE-4): nothing that depends on who asks.
    ///
    /// It stays private where something depends on who asks all the same: the entry needs a [scope](crate::Tool::scope), which is an
    /// error, or the server has an [init](crate::Server::init) or any [rule](crate::Server::visible) about who sees what, which is none.
    pub const fn public(mut self) -> Self {
        self.public = Some(true);
        self
    }

    /// By who asked.
    pub const fn private(mut self) -> Self {
        self.public = Some(false);
        self
    }
}

/// The guards of one entry, of whatever kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guards {
    /// All of them are required.
    pub(crate) scopes: Vec<Box<str>>,
    pub(crate) cache: CacheHint,
    /// What runs around it, the outermost first.
    pub(crate) wraps: Wraps,
    /// All of them must show it.
    pub(crate) visible: Vec<VisibleRule>,
}

impl CacheHint {
    /// What is left unsaid is as the other says.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self {
            ttl: if self.ttl.is_some() { self.ttl } else { other.ttl },
            public: if self.public.is_some() { self.public } else { other.public },
        }
    }
}

impl From<CacheHint> for mcp_core::CacheHint {
    fn from(CacheHint { ttl, public }: CacheHint) -> Self {
        let mut hint = Self::default();
        hint.ttl = ttl.map(|ttl| Span::millis(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)));
        hint.public = public;
        hint
    }
}

impl Guards {
    /// Adds those of the module around it.
    pub(crate) fn add(&mut self, outer: &Self) {
        let own = std::mem::replace(&mut self.scopes, outer.scopes.clone());
        for scope in own {
            if !self.scopes.contains(&scope) {
                self.scopes.push(scope);
            }
        }
        self.cache = self.cache.or(outer.cache);
        self.wraps = outer.wraps.around(&self.wraps);
        self.visible.extend(outer.visible.iter().cloned());
    }

    /// For how long what it answers may be kept, and by whom. What [conflicts](Guards::conflict) is told as such, once.
    pub(crate) fn hint(&self) -> mcp_core::CacheHint {
        let mut hint = mcp_core::CacheHint::from(self.cache);
        hint.public = self.cache.public.filter(|_| self.conflict().is_none());
        hint
    }

    /// What is said of it that cannot be kept: a rule, and why.
    pub(crate) fn conflict(&self) -> Option<(&'static str, String)> {
        (self.cache.public == Some(true) && !self.scopes.is_empty()).then(|| {
            let scopes = self.scopes.join(" ");
            let what = format!(
                "it is for callers with the scope `{scopes}`, and its cache hint lets anybody keep and pass on what it \
                 answers: make the hint private, or take the scope away"
            );
            ("CACHE-4", what)
        })
    }
}

/// The methods of a builder whose entry has guards.
macro_rules! guards {
    ($($guards:ident).+, $($wrong:ident).+) => {
        /// Scopes that a caller must have, separated by spaces: all of them. A caller without a principal has none.
        pub fn scope(mut self, scopes: impl AsRef<str>) -> Self {
            let before = self.$($guards).+.scopes.len();
            self.$($guards).+.scopes.extend(scopes.as_ref().split_whitespace().map(Into::into));
            if self.$($guards).+.scopes.len() == before {
                self.$($wrong).+.push(("AUTH-6", $crate::guard::NO_SCOPE.into()));
            }
            self
        }

        /// For how long what is answered may be kept, and by whom: see [`CacheHint`](crate::CacheHint).
        pub const fn cache(mut self, hint: $crate::CacheHint) -> Self {
            self.$($guards).+.cache = hint;
            self
        }

        /// Runs code around each of its calls, within what the [server](crate::Server::wrap) runs around all: see
        /// [`IntoMiddleware`](crate::middleware::IntoMiddleware). Of several, the first is the outermost.
        pub fn wrap<M>(mut self, middleware: impl $crate::middleware::IntoMiddleware<M>) -> Self {
            middleware.add_to(&mut self.$($guards).+.wraps);
            self
        }
        /// Hides it from whom the rule does not show it to: see [`Server::visible`](crate::Server::visible), which is for all entries. Of
        /// several rules all must agree.
        pub fn visible(
            mut self,
            rule: impl Fn(&$crate::Shown<'_>, &$crate::Viewer) -> bool + Send + Sync + 'static,
        ) -> Self {
            self.$($guards).+.visible.push($crate::visible::VisibleRule::new(rule));
            self
        }
    };
}

/// The entry as clients see it, with the guards that the protocol itself looks at.
macro_rules! guarded {
    ($guards:expr, $shown:expr) => {{
        let (guards, mut shown) = (&$guards, $shown);
        if !guards.scopes.is_empty() {
            shown = shown.with_scopes(&guards.scopes.join(" "));
        }
        shown.with_caching(guards.hint())
    }};
}

/// What is wrong with an empty text of scopes.
pub(crate) const NO_SCOPE: &str =
    "its scope is empty, which would let everybody in: name one, as in `.scope(\"notes:read\")`, or leave it out";

pub(crate) use {guarded, guards};
