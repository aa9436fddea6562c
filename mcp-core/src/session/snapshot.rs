//! A session that goes to sleep, and wakes as if it never had.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::{Session, SessionKind};
use crate::desk::Desk;
use crate::endpoint::Endpoint;
use crate::legacy::Ready;
use crate::listen::Lists;
use crate::peer::{Era, Peer, Principal};
use crate::policy::Clock;
use crate::roster::SessionId;
use crate::snapshot::{Reader, Snapshot, SnapshotError, Writer};
use crate::subscriptions::Subscriptions;
use crate::time::{Span, Time};

impl Session {
    /// Whether [`Session::sleep`] would succeed. Cheap: it looks, and writes nothing.
    #[must_use]
    pub fn can_sleep(&self) -> bool {
        matches!(self.kind, SessionKind::Kept(_)) && self.desk.phase.ready().is_some() && self.desk.is_quiet()
    }

    /// Turns a quiet session into a snapshot. Questions to the client may be open, and so may streams that carry nothing now.
    ///
    /// Look at its [`deadline`](crate::Machine::deadline) before: a sleeper must be woken for it, as for any other input.
    ///
    /// # Errors
    ///
    /// The session itself, unchanged: it is still opening, has closed or is [sessionless](Session::sessionless), a handler
    /// runs, an output was not taken, or bytes (or the end) of a stream were not pulled.
    pub fn sleep(self) -> Result<Snapshot, Box<Self>> {
        match (self.kind, self.desk.phase.ready()) {
            (SessionKind::Kept(id), Some(ready)) if self.desk.is_quiet() => {
                let mut out = Writer::default();
                self.save(id, ready, &mut out);
                Ok(Snapshot::seal(out))
            }
            _ => Err(Box::new(self)),
        }
    }

    /// Wakes a session: from now on its bytes are those of one that never slept.
    ///
    /// It has the [`MachineId`](crate::MachineId) that it had. A snapshot should wake once: two that wake are one session twice.
    /// `endpoint` need not be the one that it slept under, but should serve what that one did.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a snapshot, or of one that nobody here can continue.
    pub fn wake(snapshot: &Snapshot, endpoint: Arc<Endpoint>, now: Time) -> Result<Self, SnapshotError> {
        let mut from = snapshot.open()?;
        let session = Self::load(&mut from, endpoint, now).filter(|_| from.is_done()).ok_or(SnapshotError::Damaged)?;
        match session.peer().map(|peer| peer.revision) {
            Some(revision) if !session.desk.endpoint.serves(revision) => Err(SnapshotError::Unserved(revision)),
            _ => Ok(session),
        }
    }

    fn save(&self, id: SessionId, ready: &Ready, out: &mut Writer) {
        let Self { desk, kind: _, principal, active, drowsy, resumable } = self;
        let Ready { peer, level, initialized, untold, subscriptions } = ready;
        out.raw(&id.bytes());
        out.option(principal.as_ref(), |out, principal| out.text(principal.as_str()));
        peer.save(out);
        out.byte(*level as u8);
        out.byte((*initialized).into());
        out.byte((*drowsy).into());
        out.byte((*resumable).into());
        out.byte(untold.bits());
        subscriptions.save(out);
        out.time(*active);
        out.number(desk.clock.now().since(*active).0);
        desk.save(out);
    }

    fn load(from: &mut Reader<'_>, endpoint: Arc<Endpoint>, now: Time) -> Option<Self> {
        let kind = SessionKind::Kept(SessionId::new(from.array()?));
        let principal = from.option(|from| from.str().map(Principal::from))?;
        let peer = Peer::load(from).filter(|peer| peer.revision.era() == Era::Legacy)?;
        let (level, initialized) = (from.level()?, from.flag()?);
        let (drowsy, resumable) = (from.flag()?, from.flag()?);
        let untold = Lists::from_bits(from.byte()?)?;
        let subscriptions = Subscriptions::load(from, principal.as_ref())?;
        let active = from.time()?;
        let mut clock = Clock::new(active.after(Span(from.number()?)));
        clock.advance(now);
        let ready = Ready { peer: Arc::new(peer), level, initialized, untold, subscriptions };
        let desk = Desk::load(from, endpoint, clock, ready, principal.as_ref())?;
        Some(Self { desk, kind, principal, active, drowsy, resumable })
    }
}
