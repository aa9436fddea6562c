//! A session that outlives its node: what another needs to go on with it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::snapshot::Loaded;
use super::{Session, SessionKind};
use crate::catalog::Generations;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::machine::{EventId, MachineId, StreamId};
use crate::reply::Reply;
use crate::settle;
use crate::snapshot::{Checkpoint, Extent, Snapshot, SnapshotError, Writer};
use crate::stream::Stream;
use crate::time::Time;
use crate::timers::Timer;

impl Session {
    /// What another node needs to go on with the session if this one dies, also while calls run: what its client can have been
    /// told of. That is the handshake, the level, what it follows and has not been told, the assigns; the open event streams that
    /// it has an event of to come back after; and the requests that are answered on those, with their questions. It is not
    /// what nobody could come back to: streams that wait for their shape, plain JSON ones, and the calls that they answer.
    ///
    /// Take it after every output was taken and every stream pulled: what waits to be sent is not in it. `listed` is as with
    /// [`Session::sleep`]. `None` for a session that is opening, has closed or is [sessionless](Session::sessionless).
    #[must_use]
    pub fn checkpoint(&self, listed: Generations) -> Option<Checkpoint> {
        let (SessionKind::Kept(id), Some(ready)) = (self.kind, self.desk.phase.ready()) else { return None };
        let mut out = Writer::digesting();
        self.save(id, ready, listed, Extent::Told, &mut out);
        let digest = out.digest();
        Some(Checkpoint { snapshot: Snapshot::seal(out), digest })
    }

    /// Goes on with a session whose node has died or let it go, from a [checkpoint](Session::checkpoint) or a
    /// [sleeper's](Session::sleep) snapshot. Its readers are gone, as if each had been [detached](crate::Input::Detach) now.
    /// Calls that ran are answered once, as [interrupted](Fault::interrupted), on their streams, and are never run again; open
    /// questions stay open. It counts as active now, since what it did after its last checkpoint is not known.
    ///
    /// Streams that it opens are counted from higher numbers than the other node can have reached, so that none is mistaken for
    /// one of which a log may still hold events that were never sent. So what was taken over has a new
    /// [digest](Checkpoint::digest), and is to be stored before anything is sent.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a snapshot, or of one that nobody here can continue.
    pub fn take_over(
        machine: MachineId,
        snapshot: &Snapshot,
        endpoint: Arc<Endpoint>,
        listed: Generations,
        now: Time,
    ) -> Result<Self, SnapshotError> {
        let Loaded { mut session, slept, ran, lived: _ } = Self::read(snapshot, machine, endpoint)?;
        session.desk.clock.advance(now);
        session.acted();
        for stream in session.desk.streams.ids() {
            if !session.desk.streams.get(stream).is_some_and(Stream::is_unread) {
                session.leave(stream);
            } else if session.desk.timers.at(Timer::Orphan(stream)).is_none() {
                session.desk.orphan(stream);
            }
        }
        session.bound_left();
        session.desk.streams.count_anew();
        session.desk.changed_since(slept, listed);
        for (id, stream) in ran {
            session.desk.answer(stream, settle::error(Some(&id), &Fault::interrupted()), Reply::json(200));
        }
        Ok(session)
    }

    /// The stream that it opens next: what a log has of it and of later ones was never sent, either.
    #[must_use]
    pub const fn next_stream(&self) -> StreamId {
        self.desk.streams.next_id()
    }

    /// The last event of each stream whose events carry ids, with the number 0 where there was none yet. After
    /// [`Session::take_over`], and before anything is pulled: what a log has of those streams beyond was never sent.
    #[must_use]
    pub fn last_events(&self) -> Vec<EventId> {
        self.desk.streams.last_events()
    }
}
