//! Which scopes include which, and where clients learn who grants them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{Endpoint, EndpointBuilder};
use crate::catalog::Defect;
use crate::encode;
use crate::fault::reflect;
use crate::peer::{Caller, Scopes};

/// What each scope includes, all the way down (AUTH-7).
pub(super) type Implied = BTreeMap<Box<str>, BTreeSet<Box<str>>>;

impl EndpointBuilder {
    /// Declares that a scope includes others, separated by spaces, and what they include (AUTH-7): a caller with `broad` needs none
    /// of `narrow`. Said twice, it includes both.
    #[must_use]
    pub fn scope_implies(mut self, broad: &str, narrow: &str) -> Self {
        self.implied.push((broad.into(), Scopes::parse(narrow)));
        self
    }

    /// The URL of the document that says which authorization server issues tokens for this one (RFC 9728): each challenge names it
    /// (AUTH-6).
    #[must_use]
    pub fn resource_metadata(mut self, url: &str) -> Self {
        self.resource_metadata = Some(url.into());
        self
    }

    pub(super) fn check_authorization(&self, defects: &mut Vec<Defect>) {
        for (broad, narrow) in &self.implied {
            let wrong = core::iter::once(&**broad).chain(narrow.iter()).find(|scope| !Scopes::is_token(scope));
            let message = match wrong {
                Some(scope) => alloc::format!(
                    "`{}` is no scope: use visible ASCII without quotes and backslashes, one broad scope at a time",
                    reflect(scope)
                ),
                None if narrow.is_empty() => "it is said to include others, and none is named: name them".into(),
                None => continue,
            };
            defects.push(Defect::new(&reflect(broad), "AUTH-7", message));
        }
        if let Some(url) = &self.resource_metadata {
            let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            let sound = host.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
            if !sound || !url.bytes().all(encode::is_uri_character) {
                let message = "the URL of the resource metadata must be an absolute `https:` or `http:` URL in ASCII";
                defects.push(Defect::new(&reflect(url), "AUTH-3", message));
            }
        }
    }
}

impl Endpoint {
    /// Whether the caller has all of these scopes, or broader ones. Without a principal it has none, and no more than an empty set
    /// is permitted.
    #[must_use]
    pub fn permits(&self, caller: &Caller, scopes: &Scopes) -> bool {
        let granted = |scope: &str| {
            let has = |own: &str| own == scope || self.implied.get(own).is_some_and(|narrow| narrow.contains(scope));
            caller.principal.is_some() && caller.scopes.iter().any(has)
        };
        scopes.iter().all(granted)
    }

    /// The URL of the document that says who issues tokens for this server.
    #[must_use]
    pub fn resource_metadata(&self) -> Option<&str> {
        self.resource_metadata.as_deref()
    }
}

/// What was declared, and what follows from it.
pub(super) fn closure(implied: &[(Box<str>, Scopes)]) -> Implied {
    let mut direct: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (broad, narrow) in implied {
        direct.entry(broad).or_default().extend(narrow.iter());
    }
    let mut closure = Implied::new();
    for broad in direct.keys() {
        let mut all: BTreeSet<&str> = BTreeSet::new();
        let mut open = alloc::vec![*broad];
        while let Some(scope) = open.pop() {
            // A circle comes back to what is there already.
            open.extend(direct.get(scope).into_iter().flatten().filter(|narrow| all.insert(**narrow)));
        }
        closure.insert((*broad).into(), all.into_iter().map(Into::into).collect());
    }
    closure
}
