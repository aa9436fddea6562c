//! A session that goes to sleep, and wakes as if it never had.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Session, SessionKind};
use crate::catalog::Generations;
use crate::desk::Desk;
use crate::endpoint::Endpoint;
use crate::keep_alives::KeepAlives;
use crate::legacy::Ready;
use crate::listen::Lists;
use crate::machine::{MachineId, StreamId};
use crate::peer::{Era, Peer, Principal};
use crate::policy::Clock;
use crate::roster::SessionId;
use crate::snapshot::{Asleep, Extent, Reader, Snapshot, SnapshotError, Writer};
use crate::subscriptions::Subscriptions;
use crate::time::{Span, Time};
use crate::timers::Timer;
use crate::wire::Id;

impl Session {
    /// Whether [`Session::sleep`] would succeed. Cheap: it looks, and writes nothing.
    #[must_use]
    pub fn can_sleep(&self) -> bool {
        matches!(self.kind, SessionKind::Kept(_)) && self.desk.phase.ready().is_some() && self.desk.is_quiet()
    }

    /// Whether it has slept, or [may](crate::Output::Hibernate), and its client and its calls have done nothing since: one that
    /// was woken by a mere timer goes back to sleep at once.
    #[must_use]
    pub const fn is_drowsy(&self) -> bool {
        self.drowsy
    }

    /// Turns a quiet session into a snapshot. Questions to the client may be open, and so may streams that carry nothing now.
    /// Pull every stream before that was said to be [ready](crate::Output::Ready), also one that has gone: its reader waits for
    /// the end.
    ///
    /// `listed` is the state of the lists that it was last told of with [`Input::Changed`](crate::Input::Changed), or that it
    /// opened under: what differs from it at its wake is told then.
    ///
    /// # Errors
    ///
    /// The session itself, unchanged: it is still opening, has closed or is [sessionless](Session::sessionless), a handler
    /// runs, an output was not taken, or bytes (or the end) of a stream were not pulled.
    pub fn sleep(mut self, listed: Generations) -> Result<Asleep, Box<Self>> {
        if !self.can_sleep() {
            return Err(Box::new(self));
        }
        // Nobody says any more that it may.
        self.drowsy = true;
        let keep_alives = self.take_keep_alives();
        let (SessionKind::Kept(id), Some(ready)) = (self.kind, self.desk.phase.ready()) else {
            return Err(Box::new(self));
        };
        let mut out = Writer::default();
        self.save(id, ready, listed, Extent::All, &mut out);
        let follows = ready.subscriptions.uris().map(Box::from).collect();
        let wake_at = self.desk.timers.next().into_iter().chain(self.quiet()).min();
        Ok(Asleep { snapshot: Snapshot::seal(out), wake_at, keep_alives, follows })
    }

    /// Wakes a session: from now on its bytes are those of one that never slept.
    ///
    /// `keep_alives` are those that it fell asleep with, or none where its readers have gone. `listed` is the state of the lists
    /// now: of those that changed meanwhile, a client that was promised word gets it, at once if a stream listens. So
    /// [`Input::Changed`](crate::Input::Changed) is not to be handed in for them again.
    ///
    /// A snapshot should wake once: two that wake are one session twice. `endpoint` need not be the one that it slept under, but
    /// should serve what that one did.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a snapshot, or of one that nobody here can continue.
    pub fn wake(
        machine: MachineId,
        snapshot: &Snapshot,
        keep_alives: KeepAlives,
        endpoint: Arc<Endpoint>,
        listed: Generations,
        now: Time,
    ) -> Result<Self, SnapshotError> {
        let Loaded { mut session, slept, lived, .. } = Self::read(snapshot, machine, endpoint)?;
        if lived {
            return Err(SnapshotError::Lived);
        }
        session.desk.clock.advance(keep_alives.now());
        session.desk.clock.advance(now);
        for (at, stream) in keep_alives.into_streams() {
            let reads = session.desk.streams.read().any(|read| read == stream);
            session.desk.timers.set(Timer::KeepAlive(stream), (reads && at < Time::MAX).then_some(at));
        }
        session.desk.changed_since(slept, listed);
        Ok(session)
    }

    pub(super) fn read(
        snapshot: &Snapshot,
        machine: MachineId,
        endpoint: Arc<Endpoint>,
    ) -> Result<Loaded, SnapshotError> {
        let mut from = snapshot.open()?;
        let loaded = Self::load(&mut from, machine, endpoint).filter(|_| from.is_done());
        let loaded = loaded.ok_or(SnapshotError::Damaged)?;
        match loaded.session.peer().map(|peer| peer.revision) {
            Some(revision) if !loaded.session.desk.endpoint.serves(revision) => Err(SnapshotError::Unserved(revision)),
            _ => Ok(loaded),
        }
    }

    /// Takes the timers out that the driver sees to.
    fn take_keep_alives(&mut self) -> KeepAlives {
        let streams: Vec<_> = self.desk.streams.read().collect();
        let timers = &mut self.desk.timers;
        let streams = streams.into_iter().map(|stream| {
            let timer = Timer::KeepAlive(stream);
            let at = timers.at(timer).unwrap_or(Time::MAX);
            timers.stop(timer);
            (at, stream)
        });
        KeepAlives::new(self.desk.endpoint.timing().keep_alive, self.desk.clock.now(), streams.collect())
    }

    pub(super) fn save(&self, id: SessionId, ready: &Ready, listed: Generations, extent: Extent, out: &mut Writer) {
        let Self { desk, kind: _, principal, active, drowsy: _, resumable } = self;
        let Ready { peer, level, initialized, untold, subscriptions, assigns } = ready;
        out.raw(&id.bytes());
        out.option(principal.as_ref(), |out, principal| out.text(principal.as_str()));
        peer.save(out);
        out.byte(*level as u8);
        let lived = extent == Extent::Told;
        out.byte(u8::from(*initialized) | u8::from(*resumable) << 1 | u8::from(lived) << 2);
        out.byte(untold.bits());
        subscriptions.save(out);
        out.bytes(assigns);
        listed.save(out);
        out.time(*active);
        out.loosely(|out| out.number(desk.clock.now().since(*active).0));
        desk.save(extent, out);
    }

    fn load(from: &mut Reader<'_>, machine: MachineId, endpoint: Arc<Endpoint>) -> Option<Loaded> {
        let kind = SessionKind::Kept(SessionId::new(from.array()?));
        let principal = from.option(|from| from.str().map(Principal::from))?;
        let peer = Peer::load(from).filter(|peer| peer.revision.era() == Era::Legacy)?;
        let level = from.level()?;
        let flags = from.byte().filter(|flags| flags >> 3 == 0)?;
        let [initialized, resumable, lived] = [0, 1, 2].map(|bit| flags >> bit & 1 == 1);
        let untold = Lists::from_bits(from.byte()?)?;
        let subscriptions = Subscriptions::load(from, principal.as_ref())?;
        let assigns = from.bytes()?;
        let listed = Generations::load(from)?;
        let active = from.time()?;
        let clock = Clock::new(active.after(Span(from.number()?)));
        let ready = Ready { peer: Arc::new(peer), level, initialized, untold, subscriptions, assigns };
        let mut desk = Desk::load(from, machine, endpoint, clock, ready, principal.as_ref())?;
        let ran = if lived { desk.load_told(from)? } else { Vec::new() };
        let session = Self { desk, kind, principal, active, drowsy: true, resumable };
        Some(Loaded { session, slept: listed, ran, lived })
    }
}

/// A session as it was read.
pub(super) struct Loaded {
    pub(super) session: Session,
    /// The lists as it knew them.
    pub(super) slept: Generations,
    /// The requests whose calls ran, and the streams that are to answer them.
    pub(super) ran: Vec<(Id, StreamId)>,
    /// Whether it was a checkpoint.
    pub(super) lived: bool,
}
