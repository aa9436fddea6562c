//! Who of a desk's clients hears of changes: the legacy one, and modern ones that listen on the same byte stream.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::Desk;
use crate::catalog::{Generations, View};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::legacy;
use crate::listen::Listen;
use crate::listeners::full;
use crate::machine::{Change, Event, StreamId};
use crate::outbox::FrameKind;
use crate::peer::Caller;
use crate::reply::Reply;
use crate::settle;
use crate::wire::Id;

/// The subscriptions of modern clients on a byte stream. Over HTTP each is an exchange of its own.
#[derive(Debug, Default)]
pub(crate) struct Listens {
    open: Vec<(u64, Box<Listen>)>,
    next: u64,
}

impl Listens {
    pub(crate) fn has(&self, id: &Id) -> bool {
        self.open.iter().any(|(_, listen)| listen.id == *id)
    }

    /// SUB-14: one peer is one client here, whoever it speaks for.
    fn admit(&mut self, listen: Box<Listen>, endpoint: &Endpoint) -> Result<u64, Fault> {
        let limits = endpoint.limits();
        let bytes: usize = self.open.iter().map(|(_, open)| open.claim().bytes).sum();
        if self.open.len() >= limits.listens || bytes.saturating_add(listen.claim().bytes) > limits.listen_bytes {
            return Err(full("Too many subscriptions are open: cancel one of them first"));
        }
        let name = self.next;
        self.next += 1;
        self.open.push((name, listen));
        Ok(name)
    }

    fn subscriber(&self, uri: &str) -> Option<&Caller> {
        self.open.iter().find_map(|(_, listen)| listen.subscriber(uri))
    }
}

impl Desk {
    /// Begins a subscription, with its acknowledgement (SUB-2).
    pub(crate) fn listen(&mut self, listen: Box<Listen>, stream: StreamId) {
        let (id, acknowledgement) = (listen.id.clone(), listen.acknowledgement());
        match self.listens.admit(listen, &self.endpoint) {
            Ok(name) => self.push(stream, FrameKind::Listen(name), acknowledgement),
            Err(fault) => {
                self.answer(stream, settle::error(Some(&id), &fault), Reply::refusal(&fault));
                self.outputs.event(Event::Refused(fault));
            }
        }
    }

    /// A list has changed. Whoever has not opened yet will list anew; who was not promised word of it gets none (LIFE-12).
    pub(crate) fn changed(&mut self, what: Change) {
        if let legacy::Phase::Ready(ready) = &mut self.phase
            && self.endpoint.tells_of(what)
        {
            ready.untold.add(what);
            self.tell();
        }
        self.tell_listens(|listen| listen.changed(what));
    }

    /// Lists have changed while nobody was here to be told one by one.
    pub(crate) fn changed_since(&mut self, before: Generations, listed: Generations) {
        let changed = before.changed(listed);
        if let legacy::Phase::Ready(ready) = &mut self.phase {
            changed.iter().filter(|what| self.endpoint.tells_of(*what)).for_each(|what| ready.untold.add(what));
            self.tell();
        }
    }

    /// What a resource holds has changed: who follows it is told (RES-7, SUB-9).
    pub(crate) fn updated(&mut self, uri: &str, view: &View) {
        if let legacy::Phase::Ready(ready) = &mut self.phase
            && let Some(caller) = ready.subscriptions.subscriber(uri)
            && view
                .through(&ready.assigns)
                .resource(uri)
                .is_some_and(|found| self.endpoint.permits(caller, found.scopes()))
        {
            ready.subscriptions.updated(uri);
            self.tell();
        }
        let endpoint = Arc::clone(&self.endpoint);
        self.tell_listens(|listen| listen.updated(uri, view, &endpoint));
    }

    /// Who follows that resource: one of them, as all of a byte stream are one caller's.
    pub(crate) fn subscriber(&self, uri: &str) -> Option<&Caller> {
        let legacy = self.phase.ready().and_then(|ready| ready.subscriptions.subscriber(uri));
        legacy.or_else(|| self.listens.subscriber(uri))
    }

    /// The assigns that views are looked at with: for a message, or for word of that resource.
    pub(crate) fn lenses(&self, uri: Option<&str>) -> Vec<Bytes> {
        let Some(uri) = uri else { return alloc::vec![self.phase.assigns().clone(), Bytes::new()] };
        let follows = |ready: &&legacy::Ready| ready.subscriptions.subscriber(uri).is_some();
        let legacy = self.phase.ready().filter(follows).map(|ready| ready.assigns.clone());
        let modern = self.listens.open.iter().filter(|(_, listen)| listen.subscriber(uri).is_some());
        legacy.into_iter().chain(modern.map(|(_, listen)| listen.assigns.clone())).collect()
    }

    /// Tells the legacy client what it was not told, once, when there is somebody to tell: after `initialized` (LIFE-5), on one
    /// stream (HTTP-26).
    pub(crate) fn tell(&mut self) {
        let Some(stream) = self.streams.newest_listening() else { return };
        let legacy::Phase::Ready(ready) = &mut self.phase else { return };
        if !ready.initialized {
            return;
        }
        let (lists, uris) = (core::mem::take(&mut ready.untold), ready.subscriptions.take_untold());
        for what in lists.iter() {
            self.push(stream, FrameKind::ListChanged(what), settle::list_changed(what));
        }
        for uri in uris {
            self.push(stream, FrameKind::Updated, settle::updated(&uri));
        }
    }

    /// Takes back what was not sent of changes on a stream whose reader has gone: the next reader is told.
    pub(crate) fn take_back_news(&mut self, stream: StreamId) {
        let legacy::Phase::Ready(ready) = &mut self.phase else { return };
        let Some(left) = self.streams.get_mut(stream).filter(|left| left.listens()) else { return };
        let outbox = left.outbox();
        for what in Change::ALL {
            if outbox.holds(FrameKind::ListChanged(what), &settle::list_changed(what)) {
                ready.untold.add(what);
            }
        }
        ready.subscriptions.take_back(|uri| outbox.holds(FrameKind::Updated, &settle::updated(uri)));
        left.forget_news();
    }

    /// The client gives up a subscription: nothing more is said for it, not even what waits (SUB-10). False if there is none.
    pub(crate) fn unlisten(&mut self, id: &Id) -> bool {
        let Some(at) = self.listens.open.iter().position(|(_, listen)| listen.id == *id) else { return false };
        let (name, _) = self.listens.open.swap_remove(at);
        if let Some(stream) = self.streams.get_mut(StreamId::ONLY) {
            stream.forget_listen(name);
        }
        true
    }

    /// Ends every subscription with its result (SUB-11). That can always be sent where anything can, so the notification of
    /// SUB-12 is never needed (A1).
    pub(crate) fn end_listens(&mut self) {
        for (_, listen) in core::mem::take(&mut self.listens.open) {
            let result = listen.result(&self.endpoint);
            self.answer(StreamId::ONLY, result, Reply::json(200));
        }
    }

    /// Forgets every subscription: nobody is there to be told, and a call may outlive that.
    pub(crate) fn forget_listens(&mut self) {
        self.listens.open = Vec::new();
    }

    fn tell_listens(&mut self, told: impl Fn(&Listen) -> Option<Vec<u8>>) {
        // Told on the only stream there is: sessions have no such listeners.
        let told: Vec<(u64, Vec<u8>)> =
            self.listens.open.iter().filter_map(|(name, listen)| Some((*name, told(listen)?))).collect();
        for (name, json) in told {
            self.push(StreamId::ONLY, FrameKind::Listen(name), json);
        }
    }
}
