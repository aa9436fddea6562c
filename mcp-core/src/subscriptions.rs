//! The resources that a legacy client follows, by `resources/subscribe` (RES-7).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::fault::Fault;
use crate::listen;
use crate::peer::{Caller, Principal, Scopes};
use crate::policy::Limits;
use crate::snapshot::{Reader, Writer};

/// What one client follows. Most follow nothing, and then this is a null pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscriptions(Option<Box<Followed>>);

#[derive(Clone, Debug)]
struct Followed {
    /// Who subscribed last: what they may see is asked again before they are told (SUB-9).
    caller: Caller,
    /// Each URI, and whether its contents have changed since the client was told.
    uris: BTreeMap<Box<str>, bool>,
    bytes: usize,
}

impl Subscriptions {
    /// Follows one more. Doing so twice changes nothing.
    ///
    /// # Errors
    ///
    /// -32602 at the limits.
    pub(crate) fn add(&mut self, uri: &str, from: &Caller, limits: &Limits) -> Result<(), Fault> {
        if let Some(followed) = self.0.as_mut().filter(|followed| followed.uris.contains_key(uri)) {
            followed.caller = from.clone();
            return Ok(());
        }
        let (number, bytes) = self.0.as_ref().map_or((0, 0), |followed| (followed.uris.len(), followed.bytes));
        let bytes = bytes + uri.len();
        if number >= limits.subscriptions || bytes > limits.subscription_bytes {
            return Err(listen::too_many_uris(limits.subscriptions, limits.subscription_bytes));
        }
        let new = || Box::new(Followed { caller: from.clone(), uris: BTreeMap::new(), bytes: 0 });
        let followed = self.0.get_or_insert_with(new);
        followed.caller = from.clone();
        followed.uris.insert(uri.into(), false);
        followed.bytes = bytes;
        Ok(())
    }

    /// Follows it no longer, and says nothing more of it, also of what it has not been told yet.
    pub(crate) fn remove(&mut self, uri: &str) {
        let Some(followed) = &mut self.0 else { return };
        if followed.uris.remove(uri).is_some() {
            followed.bytes -= uri.len();
        }
        if followed.uris.is_empty() {
            self.0 = None;
        }
    }

    /// Who follows that resource.
    pub(crate) fn subscriber(&self, uri: &str) -> Option<&Caller> {
        self.0.as_ref().filter(|followed| followed.uris.contains_key(uri)).map(|followed| &followed.caller)
    }

    /// All of them.
    pub(crate) fn uris(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|followed| followed.uris.keys()).map(|uri| &**uri)
    }

    /// Its contents have changed.
    pub(crate) fn updated(&mut self, uri: &str) {
        if let Some(untold) = self.0.as_mut().and_then(|followed| followed.uris.get_mut(uri)) {
            *untold = true;
        }
    }

    /// Those of which the client was not told after all.
    pub(crate) fn take_back(&mut self, is_untold: impl Fn(&str) -> bool) {
        for (uri, untold) in self.0.iter_mut().flat_map(|followed| &mut followed.uris) {
            *untold |= is_untold(uri);
        }
    }

    /// Those whose change was not told, which they are now.
    pub(crate) fn take_untold(&mut self) -> Vec<Box<str>> {
        let uris = self.0.iter_mut().flat_map(|followed| &mut followed.uris);
        uris.filter_map(|(uri, untold)| core::mem::take(untold).then(|| uri.clone())).collect()
    }

    pub(crate) fn save(&self, out: &mut Writer) {
        let Self(followed) = self;
        out.option(followed.as_ref(), |out, followed| {
            let Followed { caller: Caller { principal: _, scopes }, uris, bytes: _ } = &**followed;
            out.text(&scopes.iter().collect::<Vec<&str>>().join(" "));
            out.length(uris.len());
            for (uri, untold) in uris {
                out.text(uri);
                out.byte((*untold).into());
            }
        });
    }

    pub(crate) fn load(from: &mut Reader<'_>, principal: Option<&Principal>) -> Option<Self> {
        let followed = from.option(|from| {
            let scopes = Scopes::parse(from.str()?);
            let listed = from.list(2, |from| Some((from.text()?, from.flag()?)))?;
            // Written in order, each once, and never empty.
            let sound = !listed.is_empty() && listed.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let bytes = listed.iter().map(|(uri, _)| uri.len()).sum();
            let caller = Caller { principal: principal.cloned(), scopes };
            sound.then(|| Box::new(Followed { caller, uris: listed.into_iter().collect(), bytes }))
        })?;
        Some(Self(followed))
    }
}
