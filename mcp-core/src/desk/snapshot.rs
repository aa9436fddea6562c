//! A desk at which nothing happens, as data.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Desk, Listens};
use crate::calls::{Calls, Phase};
use crate::endpoint::Endpoint;
use crate::legacy::{self, Ready};
use crate::machine::{MachineId, StreamId};
use crate::outputs::Outputs;
use crate::peer::Principal;
use crate::policy::Clock;
use crate::snapshot::{Reader, Writer};
use crate::streams::Streams;
use crate::timers::Timers;

impl Desk {
    /// Whether nobody has to come back to it: no call runs, nothing waits to be taken or sent.
    pub(crate) fn is_quiet(&self) -> bool {
        let unsent = || !self.streams.are_quiet();
        self.can_ask && self.held.is_empty() && self.outputs.is_empty() && !self.calls.any_running() && !unsent()
    }

    /// All but the handshake and the time, which are its session's to write.
    pub(crate) fn save(&self, out: &mut Writer) {
        let Self {
            endpoint: _,
            clock: _,
            phase: _,
            // Only a byte stream has them, and that does not sleep.
            listens: _,
            calls,
            streams,
            timers,
            outputs: _,
            can_ask: _,
            // Nobody sleeps while there are any.
            held: _,
            next_question,
            pinged,
        } = self;
        calls.save(out);
        streams.save(out);
        timers.save(out);
        out.number(*next_question);
        out.option(*pinged, |out, (ping, stream)| {
            out.number(ping);
            out.number(stream.0);
        });
    }

    pub(crate) fn load(
        from: &mut Reader<'_>,
        machine: MachineId,
        endpoint: Arc<Endpoint>,
        clock: Clock,
        ready: Ready,
        principal: Option<&Principal>,
    ) -> Option<Self> {
        let calls = Calls::load(from, machine, &ready.peer, principal)?;
        let streams = Streams::load(from)?;
        let timers = Timers::load(from)?;
        let next_question = from.counter().filter(|next| *next > 0)?;
        let pinged = from.option(|from| Some((from.number()?, StreamId(from.number()?))))?;
        // Nothing that will be minted may have the name of something that lives.
        let minted = |question: u64, stream: StreamId| question < next_question && streams.minted(stream);
        let sound = calls.iter().all(|slot| match &slot.phase {
            Phase::Asking(asking) => asking.open.iter().all(|(id, _)| minted(*id, slot.stream)),
            Phase::Running | Phase::Initializing(_) => false,
        });
        if !sound || !pinged.is_none_or(|(ping, stream)| minted(ping, stream)) {
            return None;
        }
        let (phase, outputs) = (legacy::Phase::Ready(ready), Outputs::default());
        Some(Self {
            endpoint,
            clock,
            phase,
            calls,
            listens: Listens::default(),
            streams,
            timers,
            outputs,
            can_ask: true,
            held: Vec::new(),
            next_question,
            pinged,
        })
    }
}
