//! What a server's code may say in `_meta`, and in the result of an extension.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::json::members;
use super::object;
use crate::answer::{Answer, Block, Content, Embedded};
use crate::catalog::meta_key;
use crate::endpoint::Endpoint;
use crate::fault::{Fault, reflect};
use crate::peer::{Era, Peer};
use crate::trace;

/// Takes out of an answer the keys of `_meta` that may not be sent, wherever they are in it, and returns their names:
///
/// - what the protocol keeps for itself, and what breaks the grammar (BASE-21);
/// - the id of an extension that is not active, while one that is may be reserved (EXT-4);
/// - trace context that is malformed (BASE-23).
pub(crate) fn sift(answer: &mut Answer, peer: &Peer, endpoint: &Endpoint) -> Vec<Box<str>> {
    let mut sieve = Sieve { peer, endpoint, taken: Vec::new() };
    match answer {
        Answer::Tool(answer) => {
            sieve.meta(&mut answer.meta);
            answer.content.iter_mut().for_each(|content| sieve.content(content));
        }
        Answer::Resource(answer) => {
            sieve.meta(&mut answer.meta);
            answer.contents.iter_mut().for_each(|contents| sieve.meta(&mut contents.meta));
        }
        Answer::Prompt(answer) => {
            sieve.meta(&mut answer.meta);
            answer.messages.iter_mut().for_each(|message| sieve.content(&mut message.content));
        }
        Answer::Extension(result) => sieve.extension(result),
        Answer::Complete(_) | Answer::Init(_) => {}
    }
    sieve.taken
}

/// Whether the result of an extension is one: an object whose `resultType`, if it has one, is a text of its own (BASE-12), and
/// where nothing that is looked at is there a second time, which a client might read in its place.
///
/// # Errors
///
/// What is wrong with it, for the server's operator.
pub(crate) fn check_extension(result: &[u8]) -> Result<(), Fault> {
    let text = core::str::from_utf8(result).unwrap_or_default();
    let Some(members) = members(text) else {
        return Err(Fault::internal("The extension's result is not a JSON object"));
    };
    let is_twice = |own: &&str| members.iter().filter(|(name, _)| name == own).count() > 1;
    if let Some(name) = ["resultType", "_meta"].into_iter().find(is_twice) {
        return Err(Fault::internal(alloc::format!("The extension's result has `{name}` twice")));
    }
    let named =
        members.iter().find(|(name, _)| name == "resultType").map(|(_, value)| serde_json::from_str::<String>(value));
    match named {
        Some(Err(_)) => Err(Fault::internal("The extension's `resultType` is not a string")),
        // MRTR-2: a call that may ask says so by its outcome, which is sealed and checked.
        Some(Ok(name)) if name == "input_required" => {
            Err(Fault::internal("The extension's `resultType` belongs to the protocol"))
        }
        _ => Ok(()),
    }
}

struct Sieve<'a> {
    peer: &'a Peer,
    endpoint: &'a Endpoint,
    taken: Vec<Box<str>>,
}

impl Sieve<'_> {
    fn content(&mut self, content: &mut Content) {
        self.meta(&mut content.meta);
        if let Block::Resource(embedded) = &mut content.block {
            let Embedded { meta, .. } = &mut **embedded;
            self.meta(meta);
        }
    }

    /// Text that is no object is left for those who write it.
    fn meta(&mut self, meta: &mut Option<Box<str>>) {
        let Some(text) = meta else { return };
        if let Some(kept) = self.kept(text) {
            *meta = kept;
        }
    }

    /// What is left of it, if that is not all.
    fn kept(&mut self, text: &str) -> Option<Option<Box<str>>> {
        let all = members(text)?;
        if all.iter().all(|(key, value)| self.may_be_sent(key, value)) {
            return None;
        }
        let (kept, taken): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, value)| self.may_be_sent(key, value));
        self.taken.extend(taken.iter().map(|(key, _)| Box::from(reflect(key))));
        let text = String::from_utf8(object(kept.iter().map(|(key, value)| (&**key, *value)))).ok();
        Some(text.filter(|_| !kept.is_empty()).map(String::into_boxed_str))
    }

    fn extension(&mut self, result: &mut Bytes) {
        let Some(all) = core::str::from_utf8(result).ok().and_then(members) else { return };
        // SHIM-4, SHIM-10: no legacy result has a type.
        let legacy = self.peer.revision.era() == Era::Legacy;
        let untyped = legacy && all.iter().any(|(name, _)| name == "resultType");
        let meta = all.iter().find(|(name, _)| name == "_meta").and_then(|(_, value)| self.kept(value));
        if !untyped && meta.is_none() {
            return;
        }
        let sent = all.iter().filter_map(|(name, value)| match (&**name, &meta) {
            ("resultType", _) if legacy => None,
            ("_meta", Some(kept)) => kept.as_deref().map(|kept| ("_meta", kept)),
            (name, _) => Some((name, *value)),
        });
        *result = object(sent).into();
    }

    fn may_be_sent(&self, key: &str, value: &str) -> bool {
        let allowed = match self.endpoint.extension(key) {
            Some(extension) => extension.is_active(self.peer),
            None => meta_key(key).is_ok(),
        };
        allowed && trace::may_be_sent(key, value)
    }
}
