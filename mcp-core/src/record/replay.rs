//! The same inputs into another machine.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Record, RecordedView, What};
use crate::catalog::{Catalog, View};
use crate::fault::Fault;
use crate::machine::{CallId, Input, Machine, MachineId, Outcome, Output, StreamId, Ticket};
use crate::policy::Limits;
use crate::wire::{self, Unread};

/// What came of a replay.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Replayed {
    /// What each pull gave, in order.
    pub pulled: Vec<(StreamId, Vec<u8>)>,
    /// What the machine said, in order, each with the index of the record that made it say so.
    ///
    /// The ticket of a call that was not answered is good: the run can go on from here. The other tickets are spent.
    pub outputs: Vec<(usize, Output)>,
}

/// Why a recording cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// A message cannot be read again: other limits, or a changed recording.
    Unread {
        /// The index of the record.
        record: usize,
        /// What is wrong with its body.
        unread: Unread,
    },
    /// No catalogue of that generation was given.
    Catalog {
        /// The index of the record.
        record: usize,
        /// The generation that it names.
        generation: u64,
    },
}

/// Feeds a recording to a machine, and collects what it says and writes.
///
/// The machine must be made as the recorded one was: kind, [`MachineId`], endpoint, session id and time. Of `catalogs` the
/// first of each generation counts; `limits` are those that the messages were read with. Outputs are taken after each record.
/// A driver that took them later had fewer of [`Output::Ready`], which is not repeated while it waits.
///
/// A [`What::Done`] of a call that the machine did not ask for comes too late, as it would from a driver.
///
/// # Errors
///
/// At the first record whose message or catalogue cannot be had. The machine has taken in what came before it.
pub fn replay<M: Machine>(
    machine: &mut M,
    records: &[Record],
    catalogs: &[Arc<Catalog>],
    limits: &Limits,
) -> Result<Replayed, ReplayError> {
    let mut player = Player { machine, catalogs, limits, minted: BTreeMap::new(), replayed: Replayed::default() };
    for (index, record) in records.iter().enumerate() {
        player.play(index, record)?;
        player.listen(index);
    }
    Ok(player.replayed)
}

struct Player<'a, M> {
    machine: &'a mut M,
    catalogs: &'a [Arc<Catalog>],
    limits: &'a Limits,
    /// Which output holds the ticket of each call.
    minted: BTreeMap<CallId, usize>,
    replayed: Replayed,
}

impl<M: Machine> Player<'_, M> {
    fn play(&mut self, index: usize, record: &Record) -> Result<(), ReplayError> {
        let now = record.at;
        let input = match &record.what {
            What::Message { body, head, from, view } => {
                let view = self.view(index, view)?;
                let message = wire::read(body.clone(), self.limits)
                    .map_err(|unread| ReplayError::Unread { record: index, unread })?;
                let head = head.as_ref().map(|head| head.head());
                self.machine.handle(now, Input::Message { message, head: head.as_ref(), from, view: &view });
                return Ok(());
            }
            What::Attach { head, from } => {
                self.machine.handle(now, Input::Attach { head: &head.head(), from });
                return Ok(());
            }
            What::Pull { stream, limit } => {
                self.pull(*stream, *limit);
                return Ok(());
            }
            What::Unread(unread) => Input::Unread(unread.clone()),
            What::Detach(stream) => Input::Detach { stream: *stream },
            What::Note { call, note } => Input::Note { call: *call, note: note.clone() },
            What::Done { call, outcome } => Input::Done { ticket: self.ticket(*call), outcome: outcome.clone() },
            What::Stray(call) => Input::Done { ticket: self.stray(*call), outcome: Outcome::Fail(Fault::internal("")) },
            What::Changed { generation, what } => {
                Input::Changed { catalog: Arc::clone(self.catalog(index, *generation)?), what: *what }
            }
            What::Updated { uri, view } => {
                let view = self.view(index, view)?;
                self.machine.handle(now, Input::Updated { uri, view: &view });
                return Ok(());
            }
            What::Sees { call, view } => {
                let seen = self.view(index, view)?;
                if let Some(view) = self.machine.unjudged(*call) {
                    *view = seen;
                }
                return Ok(());
            }
            What::Listen(seat) => Input::Listen(seat.clone()),
            What::Tick => Input::Tick,
            What::Close(why) => Input::Close(*why),
        };
        self.machine.handle(now, input);
        Ok(())
    }

    fn listen(&mut self, index: usize) {
        while let Some(output) = self.machine.poll_output() {
            if let Output::Call(ticket, _) = &output {
                self.minted.insert(ticket.call, self.replayed.outputs.len());
            }
            self.replayed.outputs.push((index, output));
        }
    }

    fn pull(&mut self, stream: StreamId, limit: usize) {
        let mut buf = Vec::new();
        let _ = self.machine.pull(stream, &mut buf, limit);
        self.replayed.pulled.push((stream, buf));
    }

    fn view(&self, index: usize, recorded: &RecordedView) -> Result<View, ReplayError> {
        Ok(recorded.view(Arc::clone(self.catalog(index, recorded.generation)?), None))
    }

    fn catalog(&self, record: usize, generation: u64) -> Result<&Arc<Catalog>, ReplayError> {
        let catalog = self.catalogs.iter().find(|catalog| catalog.generation() == generation);
        catalog.ok_or(ReplayError::Catalog { record, generation })
    }

    /// The ticket that this machine minted for the call. The output keeps another: whichever comes second is late.
    fn ticket(&self, call: CallId) -> Ticket {
        match self.minted(call) {
            Some(ticket) => Ticket { machine: ticket.machine, call, slot: ticket.slot },
            None => self.stray(call),
        }
    }

    /// A ticket that this machine did not mint.
    fn stray(&self, call: CallId) -> Ticket {
        // While it has minted none it has no call, and every ticket is stray.
        let own = self.minted.keys().next().and_then(|call| self.minted(*call)).map_or(0, |ticket| ticket.machine.0);
        Ticket { machine: MachineId(own.wrapping_add(1)), call, slot: u32::MAX }
    }

    fn minted(&self, call: CallId) -> Option<&Ticket> {
        match self.replayed.outputs.get(*self.minted.get(&call)?) {
            Some((_, Output::Call(ticket, _))) => Some(ticket),
            _ => None,
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread { record, unread } => {
                write!(f, "record {record}: its message cannot be read: {}", unread.fault)
            }
            Self::Catalog { record, generation } => {
                write!(f, "record {record}: no catalogue of generation {generation} was given")
            }
        }
    }
}

impl core::error::Error for ReplayError {}
