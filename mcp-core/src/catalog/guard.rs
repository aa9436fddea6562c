//! Who may use an entry, and who may keep its answers.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Defect, digest_on};
use crate::caching::CacheHint;
use crate::fault::reflect;
use crate::peer::Scopes;

/// What may be said of any entry; none of it is shown to clients.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// As they were registered: an empty text would let everybody in.
    text: Option<Box<str>>,
    pub(super) scopes: Scopes,
    pub(super) hint: CacheHint,
}

impl Guard {
    pub(super) fn require(&mut self, scopes: &str) {
        self.text = Some(scopes.into());
        self.scopes = Scopes::parse(scopes);
    }

    pub(super) fn is_scoped(&self) -> bool {
        !self.scopes.is_empty()
    }

    pub(super) fn says_anything(&self) -> bool {
        self.is_scoped() || self.hint != CacheHint::default()
    }

    pub(super) fn digest_on(&self, state: u64) -> u64 {
        let CacheHint { ttl, public } = self.hint;
        let state = self.scopes.iter().fold(state, |state, scope| digest_on(digest_on(state, b" "), scope.as_bytes()));
        let state = digest_on(state, &ttl.map_or([0xFF; 8], |ttl| ttl.0.to_le_bytes()));
        digest_on(state, &[public.map_or(2, u8::from)])
    }

    pub(super) fn check(&self, entry: &str, defects: &mut Vec<Defect>) {
        let mut defect = |rule, message: &str| defects.push(Defect::new(&reflect(entry), rule, message));
        let Some(text) = &self.text else { return };
        if self.scopes.is_empty() {
            defect("AUTH-6", "its scopes are an empty text, which would let everybody in: name one, or leave them out");
        }
        for scope in self.scopes.iter() {
            if !Scopes::is_token(scope) {
                let message = alloc::format!(
                    "the scope `{}` has characters that no token can hold: use visible ASCII without quotes and \
                     backslashes, and separate scopes by spaces",
                    reflect(scope)
                );
                defect("AUTH-6", &message);
            } else if scope.contains('*') {
                let message = alloc::format!(
                    "the scope `{}` is a wildcard: name what is needed; a broader scope that includes it is declared to the \
                     endpoint",
                    reflect(scope)
                );
                defect("SEC-4", &message);
            }
        }
        if self.hint.public == Some(true) && self.is_scoped() {
            let message = alloc::format!(
                "its cache hint is `public`, and its scopes are `{}`: a shared cache would give it to those who lack them. Make it \
                 private, or leave the scopes out",
                reflect(text)
            );
            defect("CACHE-4", &message);
        }
    }
}

/// The methods that set and show them; the entry has a field `guard`.
macro_rules! guard {
    () => {
        /// With scopes that a caller must have, separated by spaces: all of them. A caller without a
        /// [principal](crate::Caller::principal) has none (AUTH-6).
        ///
        /// On HTTP whoever lacks one is answered with 403 and what to ask for; the entry is listed all the same. On a byte
        /// stream it is not there for callers without a principal.
        #[must_use]
        pub fn with_scopes(mut self, scopes: &str) -> Self {
            self.guard.require(scopes);
            self
        }

        /// With a hint for how long what is answered may be kept, and by whom (CACHE-1). A list is kept no longer than any of its
        /// items.
        #[must_use]
        pub const fn with_caching(mut self, hint: $crate::CacheHint) -> Self {
            self.guard.hint = hint;
            self
        }

        /// The scopes that a caller must have; empty if it needs none.
        #[must_use]
        pub const fn scopes(&self) -> &$crate::Scopes {
            &self.guard.scopes
        }

        /// For how long what is answered may be kept, and by whom.
        #[must_use]
        pub const fn caching(&self) -> $crate::CacheHint {
            self.guard.hint
        }
    };
}

pub(super) use guard;
