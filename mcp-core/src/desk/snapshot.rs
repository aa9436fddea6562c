//! A desk at which nothing happens, as data.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Desk, Held, Listens};
use crate::calls::{Calls, Phase, Slot, load_id, save_id};
use crate::endpoint::Endpoint;
use crate::legacy::{self, Ready};
use crate::machine::{MachineId, StreamId};
use crate::outputs::Outputs;
use crate::peer::Principal;
use crate::policy::Clock;
use crate::snapshot::{Extent, Reader, Writer};
use crate::stream::Stream;
use crate::streams::Streams;
use crate::timers::{Timer, Timers};
use crate::wire::Id;

impl Desk {
    /// Whether nobody has to come back to it: no call runs, nothing waits to be taken or sent.
    pub(crate) fn is_quiet(&self) -> bool {
        let unsent = || !self.streams.are_quiet();
        self.can_ask && self.held.is_empty() && self.outputs.is_empty() && !self.calls.any_running() && !unsent()
    }

    /// All but the handshake and the time, which are its session's to write.
    pub(crate) fn save(&self, extent: Extent, out: &mut Writer) {
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
            held,
            next_question,
            pinged,
        } = self;
        let is_told = |stream: StreamId| streams.get(stream).is_some_and(Stream::is_told);
        match extent {
            Extent::All => calls.save(out),
            Extent::Told => calls.save_told(is_told, out),
        }
        streams.save(extent, out);
        let asks = |call| calls.iter().any(|slot| slot.call == call && slot.asking().is_some() && is_told(slot.stream));
        timers.save(
            |timer| match timer {
                Timer::Call(call) | Timer::Question(call) => extent == Extent::All || asks(call),
                Timer::KeepAlive(_) | Timer::Orphan(_) => extent == Extent::All,
                Timer::Opening | Timer::Hibernate | Timer::Idle | Timer::Ping => true,
            },
            out,
        );
        out.number(*next_question);
        // Nobody knows whether a reader that is gone got its ping.
        out.option(pinged.filter(|_| extent == Extent::All), |out, (ping, stream)| {
            out.number(ping);
            out.number(stream.0);
        });
        if extent == Extent::All {
            // Nobody sleeps while a call runs or a question is held.
            return;
        }
        let ran: Vec<_> = calls.iter().filter(|slot| slot.asking().is_none() && is_told(slot.stream)).collect();
        out.length(ran.len());
        for slot in ran {
            save_id(&slot.id, out);
            out.number(slot.stream.0);
        }
        let held: Vec<_> = held.iter().filter(|held| is_told(held.stream)).collect();
        out.length(held.len());
        for Held { stream, id, request } in held {
            out.number(stream.0);
            out.number(*id);
            out.bytes(request);
        }
    }

    /// What a checkpoint has beside: the requests that ran and who was to answer them, and the questions that were held.
    pub(crate) fn load_told(&mut self, from: &mut Reader<'_>) -> Option<Vec<(Id, StreamId)>> {
        let ran = from.list(2, |from| Some((load_id(from)?, StreamId(from.number()?))))?;
        let held = from.list(3, |from| {
            let (stream, id) = (StreamId(from.number()?), from.number()?);
            Some(Held { stream, id, request: from.slice()?.into() })
        })?;
        let is_open = |held: &Held| {
            let asks =
                |slot: &Slot| slot.asking().is_some_and(|(_, asking)| asking.open.iter().any(|open| open.0 == held.id));
            self.calls.iter().any(|slot| slot.stream == held.stream && asks(slot))
        };
        let owed = |stream| self.streams.get(stream).is_some_and(|stream| !stream.listens());
        if !held.iter().all(is_open) || !ran.iter().all(|(_, stream)| owed(*stream)) {
            return None;
        }
        self.held = held;
        Some(ran)
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
