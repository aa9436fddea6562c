//! What a modern client asked to hear of, by `subscriptions/listen`, and what it is told (SUB).
//!
//! It holds no state that a client could lose: what was changed is told by name alone, and nothing survives the stream
//! (SUB-13). What waits to be sent is merged in the [`Outbox`](crate::outbox::Outbox), so a reader that stalls costs at most
//! [`Claim::bytes`].

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::catalog::View;
use crate::encode::SERVER_INFO;
use crate::encode::json::{self, Object};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::listeners::Claim;
use crate::machine::Change;
use crate::modern::Court;
use crate::peer::{Caller, Scopes};
use crate::settle;
use crate::wire::{Id, Param, decode, write};

/// One subscription of a modern client.
#[derive(Clone, Debug)]
pub(crate) struct Listen {
    /// The id of the request: everything that is sent for it carries it (SUB-3).
    pub(crate) id: Id,
    caller: Caller,
    /// What is kept of who asked, if that matters to what they may see.
    pub(crate) assigns: Bytes,
    lists: Lists,
    /// The resources whose contents it follows, sorted; `None` if it did not ask, or nobody may.
    uris: Option<Box<[Box<str>]>>,
    bytes: usize,
}

/// Some of the lists of a catalogue: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lists(u8);

impl Lists {
    pub(crate) const fn add(&mut self, what: Change) {
        self.0 |= 1 << what as u8;
    }

    pub(crate) const fn has(self, what: Change) -> bool {
        self.0 >> what as u8 & 1 == 1
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Change> {
        Change::ALL.into_iter().filter(move |what| self.has(*what))
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// `None` for bits that name no list.
    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (bits >> Change::ALL.len() == 0).then_some(Self(bits))
    }
}

impl Listen {
    /// What of a `subscriptions/listen` is honoured: what the server promises, and this caller may see (SUB-1, SUB-2, SUB-9).
    ///
    /// # Errors
    ///
    /// -32602 for parameters of another shape, and for more URIs than one client may follow (SUB-14); 403 if scopes are missing for any
    /// of them, naming those of all (AUTH-6).
    pub(crate) fn admit(court: &Court<'_>, id: &Id) -> Result<Self, Fault> {
        let Court { endpoint, message, from, .. } = *court;
        let asked = message.param(Param::Notifications).and_then(json::members);
        let asked = asked.ok_or_else(|| wrong("notifications", "must be an object: `{}` asks for nothing"))?;
        let (mut lists, mut uris) = (Lists::default(), None);
        for (name, value) in asked {
            let what = Change::ALL.into_iter().find(|what| kind(*what) == name);
            match (&*name, what) {
                // Omitted; some clients write that so.
                _ if value == "null" => {}
                (_, Some(what)) => match value {
                    "true" if endpoint.tells_of(what) => lists.add(what),
                    "true" | "false" => {}
                    _ => return Err(wrong(&alloc::format!("notifications.{name}"), "must be a boolean")),
                },
                (URIS, None) => {
                    let asked = strings(value, endpoint)?;
                    uris = if endpoint.has_subscriptions() { Some(visible(asked, court)?) } else { None };
                }
                // SUB-2: what is not known here is not honoured, which the acknowledgement shows.
                (_, None) => {}
            }
        }
        let (caller, assigns) = (from.clone(), court.view.assigns());
        let mut listen = Self { id: id.clone(), caller, assigns, lists, uris, bytes: 0 };
        listen.bytes = listen.most_bytes(endpoint);
        Ok(listen)
    }

    /// The room that it needs.
    pub(crate) fn claim(&self) -> Claim {
        Claim { principal: self.caller.principal.clone(), bytes: self.bytes }
    }

    /// The first message: what is honoured (SUB-2).
    pub(crate) fn acknowledgement(&self) -> Vec<u8> {
        self.notification("notifications/subscriptions/acknowledged", |params| {
            let mut honoured = Object::open(params.key("notifications"));
            self.lists.iter().for_each(|what| honoured.boolean(kind(what), true));
            if let Some(uris) = &self.uris {
                crate::encode::strings(honoured.key(URIS), uris.iter().map(|uri| &**uri));
            }
            honoured.close();
        })
    }

    /// Word of a changed list, if that was asked for (SUB-4, SUB-5).
    pub(crate) fn changed(&self, what: Change) -> Option<Vec<u8>> {
        self.lists.has(what).then(|| self.notification(settle::list_method(what), |_| {}))
    }

    /// Who follows that resource.
    pub(crate) fn subscriber(&self, uri: &str) -> Option<&Caller> {
        self.follows(uri).then_some(&self.caller)
    }

    /// Word of a resource's new contents, if that was asked for and the caller may still see and use it (SUB-9).
    pub(crate) fn updated(&self, uri: &str, view: &View, endpoint: &Endpoint) -> Option<Vec<u8>> {
        if !self.follows(uri) {
            return None;
        }
        let view = view.through(&self.assigns);
        let permitted = view.resource(uri).is_some_and(|found| endpoint.permits(&self.caller, found.scopes()));
        permitted.then(|| self.update(uri))
    }

    /// The answer, with which it ends (SUB-11).
    pub(crate) fn result(&self, endpoint: &Endpoint) -> Vec<u8> {
        let mut out = Vec::with_capacity(192);
        write::result_open(&mut out, &self.id);
        let mut result = Object::open(&mut out);
        result.string("resultType", "complete");
        let mut meta = Object::open(result.key("_meta"));
        meta.key(SERVER_INFO).extend_from_slice(endpoint.server_info());
        self.id.write(meta.key(SUBSCRIPTION));
        meta.close();
        result.close();
        out.push(b'}');
        out
    }

    fn follows(&self, uri: &str) -> bool {
        self.uris.as_ref().is_some_and(|uris| uris.binary_search_by(|own| (**own).cmp(uri)).is_ok())
    }

    fn update(&self, uri: &str) -> Vec<u8> {
        self.notification("notifications/resources/updated", |params| params.string("uri", uri))
    }

    fn notification(&self, method: &str, params: impl FnOnce(&mut Object<'_>)) -> Vec<u8> {
        let mut out = Vec::with_capacity(192);
        write::notification_open(&mut out, method);
        let mut object = Object::open(&mut out);
        params(&mut object);
        let mut meta = Object::open(object.key("_meta"));
        self.id.write(meta.key(SUBSCRIPTION));
        meta.close();
        object.close();
        out.push(b'}');
        out
    }

    /// The most bytes that it ever holds: each message that can wait, once, and itself.
    fn most_bytes(&self, endpoint: &Endpoint) -> usize {
        let uris = self.uris.iter().flatten().map(|uri| uri.len() + self.update(uri).len());
        let lists = self.lists.iter().filter_map(|what| self.changed(what)).map(|told| told.len());
        let told = self.acknowledgement().len() + self.result(endpoint).len();
        self.assigns.len() + told + uris.chain(lists).sum::<usize>()
    }
}

/// The key of a subscription's id in `_meta` (SUB-3).
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

const URIS: &str = "resourceSubscriptions";

/// The member of `notifications` that asks for word of a list.
const fn kind(what: Change) -> &'static str {
    match what {
        Change::Tools => "toolsListChanged",
        Change::Prompts => "promptsListChanged",
        Change::Resources => "resourcesListChanged",
    }
}

/// The URIs of an array of strings, each once, in order.
fn strings(array: &str, endpoint: &Endpoint) -> Result<Vec<Box<str>>, Fault> {
    let limits = endpoint.limits();
    let items = json::items(array).and_then(|items| items.into_iter().map(decode).collect::<Option<Vec<_>>>());
    let items = items.ok_or_else(|| wrong("notifications.resourceSubscriptions", "must be an array of strings"))?;
    let bytes: usize = items.iter().map(|uri| uri.len()).sum();
    if items.len() > limits.subscriptions || bytes > limits.subscription_bytes {
        return Err(too_many_uris(limits.subscriptions, limits.subscription_bytes));
    }
    let mut uris: Vec<Box<str>> = items.into_iter().map(Into::into).collect();
    uris.sort_unstable();
    uris.dedup();
    Ok(uris)
}

/// Those that are there for the caller.
fn visible(mut uris: Vec<Box<str>>, court: &Court<'_>) -> Result<Box<[Box<str>]>, Fault> {
    let mut missing = Vec::new();
    uris.retain(|uri| {
        let Some(found) = court.view.resource(uri) else { return false };
        let admitted = court.admits(found.scopes());
        if admitted.is_err() {
            missing.extend(found.scopes().iter().filter(|scope| !missing.contains(scope)).collect::<Vec<_>>());
        }
        admitted.unwrap_or(false)
    });
    if missing.is_empty() {
        return Ok(uris.into());
    }
    Err(Fault::insufficient_scope(&Scopes::parse(&missing.join(" "))))
}

fn wrong(place: &str, problem: &str) -> Fault {
    Fault::invalid_params(alloc::format!("`params.{place}` {problem}"))
}

/// More URIs than one client may follow, in number or in bytes.
pub(crate) fn too_many_uris(most: usize, bytes: usize) -> Fault {
    let message = alloc::format!(
        "Too many resources are followed: {most} URIs of {bytes} bytes in all are allowed; leave some out, or read them when needed"
    );
    Fault::invalid_params(message)
}
