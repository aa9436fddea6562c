//! Recordings: what went into a machine, owned and serialisable, and the same run once more (ARCHITECTURE, rule 5).
//!
//! A [`Recorder`] stands where the machine stood and keeps every input and every pull. [`replay`] feeds them to a machine in
//! the state that the recorded one began in, made with the same names, endpoint and time. What it writes is the same, byte
//! for byte, so a run that went wrong in production can be stepped through at a desk, and one that a fuzzer found can be
//! kept as a test.
//!
//! ```
//! # use mcp_core::answer::Implementation;
//! # use mcp_core::{wire, Caller, Catalog, Endpoint, Input, Machine, MachineId, Pipe, StreamId, Time, View};
//! use mcp_core::record::{Record, Recorder, replay};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let catalog = Catalog::builder().build().map_err(|d| format!("{d:?}"))?;
//! # let endpoint = Endpoint::builder(Implementation::new("demo", "1.0.0")).build().map_err(|d| format!("{d:?}"))?;
//! # let (view, caller) = (View::all(catalog.clone()), Caller::anonymous());
//! let fresh = || Pipe::new(MachineId(1), endpoint.clone(), Time(0));
//! let mut pipe = Recorder::new(fresh());
//! let message = wire::read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into(), endpoint.limits()).map_err(|u| u.fault)?;
//! pipe.handle(Time(1), Input::Message { message, head: None, from: &caller, view: &view });
//! let mut written = Vec::new();
//! let _ = pipe.pull(StreamId::ONLY, &mut written, 4096);
//!
//! let lines: Vec<String> = pipe.records().iter().map(Record::to_json).collect();
//! let records = lines.iter().map(|line| Record::from_json(line)).collect::<Result<Vec<_>, _>>()?;
//! let replayed = replay(&mut fresh(), &records, &[catalog], endpoint.limits())?;
//! assert_eq!(replayed.pulled, [(StreamId::ONLY, written)]);
//! # Ok(()) }
//! ```
//!
//! What a recording does not hold: the endpoint and the catalogues, which the replay is given; and what a
//! [`Seal`](crate::policy::Seal) drew at random. Sealed states come out the same only if sealing the same gives the same.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use bytes::Bytes;

use crate::answer::Answer;
use crate::catalog::{Catalog, Item, Sight, View};
use crate::fault::Fault;
use crate::headers::HeadBuf;
use crate::machine::{
    CallId, Change, Close, Gate, Input, Machine, MachineId, Note, Outcome, Output, Pull, StreamId, sealed,
};
use crate::peer::Caller;
use crate::time::Time;
use crate::timers::Timer;
use crate::wire::Unread;

mod read;
mod replay;
mod write;

pub use replay::{ReplayError, Replayed, replay};

/// One thing that was done to a machine.
///
/// It holds what the peer sent, whole: session ids, arguments and personal data among it. Keep it as safe as those.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When, as the driver said it; for a pull, the last time that it had said.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What was done: an [`Input`] without its borrows and tickets, or a pull, which decides what is still there to coalesce.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// [`Input::Message`]
    Message {
        /// The bytes that it was read from.
        body: Bytes,
        /// The headers beside it.
        head: Option<HeadBuf>,
        /// Who sent it.
        from: Caller,
        /// What this caller could see.
        view: RecordedView,
    },
    /// [`Input::Unread`]
    Unread(Unread),
    /// [`Input::Attach`]
    Attach {
        /// The headers of the GET.
        head: HeadBuf,
        /// Who asked.
        from: Caller,
    },
    /// [`Input::Detach`]
    Detach(StreamId),
    /// [`Input::Note`]
    Note {
        /// Which call.
        call: CallId,
        /// What it said.
        note: Note,
    },
    /// Of what is done next: what could be seen by who sent the request, once that call had let them in. Only of those whose
    /// view is a [`View::by`].
    Sees {
        /// The call that let them in.
        call: CallId,
        /// What they could see.
        view: RecordedView,
    },
    /// [`Input::Done`]
    Done {
        /// The call that the ticket was for.
        call: CallId,
        /// How it ended.
        outcome: Outcome,
    },
    /// [`Input::Done`] with a ticket that the machine had not minted: whatever the outcome, it comes too late.
    Stray(CallId),
    /// [`Input::Changed`]
    Changed {
        /// The [generation](crate::Catalog::generation) of the new catalogue.
        generation: u64,
        /// What of it differs.
        what: Change,
    },
    /// [`Input::Updated`]
    Updated {
        /// Which resource.
        uri: Box<str>,
        /// What who follows it could see.
        view: RecordedView,
    },
    /// [`Input::Listen`]
    Listen(Result<(), Fault>),
    /// [`Input::Tick`]
    Tick,
    /// [`Input::Close`]
    Close(Close),
    /// [`Machine::pull`]
    Pull {
        /// Of which stream.
        stream: StreamId,
        /// How many bytes there was room for.
        limit: usize,
    },
}

/// A [`View`], by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedView {
    /// The [generation](crate::Catalog::generation) of its catalogue.
    pub generation: u64,
    /// The entries that it shows, each as its kind and its name: `tool add`, `resource a://b`, `template a://{c}`, `prompt d`. `None`:
    /// all of them.
    pub only: Option<Vec<Box<str>>>,
    /// Of a [`View::by`]: the same for each of the assigns that the machine could have it look with. Else empty.
    pub by: Vec<(Bytes, Vec<Box<str>>)>,
}

impl Record {
    /// One line of JSON, without the line break, that [`Record::from_json`] reads back as an equal record.
    ///
    /// Bytes are a string where they are UTF-8, else `{"base64":"…"}`.
    #[must_use]
    pub fn to_json(&self) -> String {
        write::record(self)
    }

    /// The record that was written so.
    ///
    /// # Errors
    ///
    /// If the line is anything else than a whole record. No line panics, and time and memory are linear in it.
    pub fn from_json(line: &str) -> Result<Self, RecordError> {
        read::record(line)
    }
}

/// An entry's name among those of all kinds.
fn tag(item: Item<'_>) -> Box<str> {
    let kind = match item {
        Item::Tool(_) => "tool",
        Item::Resource(_) => "resource",
        Item::Template(_) => "template",
        Item::Prompt(_) => "prompt",
    };
    alloc::format!("{kind} {}", item.key()).into()
}

impl RecordedView {
    fn of(view: &View, mut lenses: Vec<Bytes>) -> Self {
        let generation = view.catalog().generation();
        if !view.is_by_rule() {
            return Self { generation, only: view.is_filtered().then(|| shown(view)), by: Vec::new() };
        }
        lenses.push(view.assigns());
        lenses.sort_unstable();
        lenses.dedup();
        let by = lenses.into_iter().map(|lens| (lens.clone(), shown(&view.with_assigns(lens)))).collect();
        Self { generation, only: None, by }
    }

    /// What it shows, in a catalogue of its generation. With other assigns than it knows, what `rest` says.
    fn view(&self, catalog: Arc<Catalog>, rest: Option<Arc<dyn Sight>>) -> View {
        let names = |names: &[Box<str>]| names.iter().cloned().collect::<BTreeSet<_>>();
        match &self.only {
            _ if !self.by.is_empty() => {
                let by = self.by.iter().map(|(assigns, shown)| (assigns.clone(), names(shown))).collect();
                View::by(catalog, Arc::new(Seen { by, rest }))
            }
            None => View::all(catalog),
            Some(only) => {
                let names = names(only);
                View::only(catalog, |item| names.contains(&tag(item)))
            }
        }
    }
}

fn shown(view: &View) -> Vec<Box<str>> {
    let tools = view.tools().map(Item::Tool);
    let resources = view.resources().map(Item::Resource).chain(view.templates().map(Item::Template));
    tools.chain(resources).chain(view.prompts().map(Item::Prompt)).map(tag).collect()
}

/// What a [`View::by`] showed when it was recorded: the machine is shown the same, whatever its rule goes by.
#[derive(Debug)]
struct Seen {
    by: BTreeMap<Bytes, BTreeSet<Box<str>>>,
    rest: Option<Arc<dyn Sight>>,
}

impl Sight for Seen {
    fn shows(&self, item: Item<'_>, assigns: &Bytes) -> bool {
        match (self.by.get(assigns), &self.rest) {
            (Some(shown), _) => shown.contains(&tag(item)),
            (None, Some(rest)) => rest.shows(item, assigns),
            (None, None) => false,
        }
    }
}

/// A machine whose inputs are kept. It does what the machine in it does.
///
/// The records grow with the run, at about the size of its messages: take them out now and then. Copies are made at their
/// exact size, so no read buffer is pinned; what a handler answers is shared with it.
#[derive(Debug)]
pub struct Recorder<M: Machine> {
    machine: M,
    records: Vec<Record>,
    now: Time,
    /// The name of the machine, once a ticket has said it.
    id: Option<MachineId>,
}

impl<M: Machine> Recorder<M> {
    /// Records what goes into a machine. It must not have been used before, or the replay has no beginning.
    pub const fn new(machine: M) -> Self {
        Self { machine, records: Vec::new(), now: Time(0), id: None }
    }

    /// Takes the records that were made since the last time, oldest first: for a file that is written as the run goes on.
    #[must_use]
    pub fn take_records(&mut self) -> Vec<Record> {
        core::mem::take(&mut self.records)
    }

    /// The records that were not taken, oldest first.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The machine, for what only its type has.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// The machine, and the records that were not taken.
    pub fn into_parts(self) -> (M, Vec<Record>) {
        (self.machine, self.records)
    }

    /// Records what may be seen by who is let in now, and settles it.
    fn see(&mut self, input: &Input<'_>) {
        let Input::Done { ticket, outcome: Outcome::Complete(Answer::Init(assigns)) } = input else { return };
        let call = ticket.call();
        if self.id == Some(ticket.machine())
            && let Some(view) = self.machine.unjudged(call)
        {
            let recorded = RecordedView::of(view, alloc::vec![assigns.clone()]);
            *view = recorded.view(Arc::clone(view.catalog()), None);
            self.records.push(Record { at: self.now, what: What::Sees { call, view: recorded } });
        }
    }

    fn what(&self, input: &Input<'_>) -> What {
        match input {
            Input::Message { message, head, from, view } => What::Message {
                body: Bytes::copy_from_slice(message.body()),
                head: head.map(HeadBuf::from),
                from: (*from).clone(),
                view: RecordedView::of(view, self.machine.lenses(None)),
            },
            Input::Unread(unread) => What::Unread(unread.clone()),
            Input::Attach { head, from } => What::Attach { head: HeadBuf::from(*head), from: (*from).clone() },
            Input::Detach { stream } => What::Detach(*stream),
            Input::Note { call, note } => What::Note { call: *call, note: note.clone() },
            Input::Done { ticket, outcome } if self.id == Some(ticket.machine()) => {
                What::Done { call: ticket.call(), outcome: outcome.clone() }
            }
            Input::Done { ticket, .. } => What::Stray(ticket.call()),
            Input::Changed { catalog, what } => What::Changed { generation: catalog.generation(), what: *what },
            Input::Updated { uri, view } => {
                What::Updated { uri: (*uri).into(), view: RecordedView::of(view, self.machine.lenses(Some(uri))) }
            }
            Input::Listen(seat) => What::Listen(seat.clone()),
            Input::Tick => What::Tick,
            Input::Close(why) => What::Close(*why),
        }
    }
}

impl<M: Machine> sealed::Sealed for Recorder<M> {
    fn lenses(&self, uri: Option<&str>) -> Vec<Bytes> {
        self.machine.lenses(uri)
    }

    fn unjudged(&mut self, call: CallId) -> Option<&mut View> {
        self.machine.unjudged(call)
    }
}

impl<M: Machine> Machine for Recorder<M> {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.now = now;
        self.see(&input);
        let what = self.what(&input);
        // A rule that says another thing each time it is asked is recorded all the same.
        let seen = match (&input, &what) {
            (Input::Message { view, .. }, What::Message { view: recorded, .. })
            | (Input::Updated { view, .. }, What::Updated { view: recorded, .. })
                if view.is_by_rule() =>
            {
                Some(recorded.view(Arc::clone(view.catalog()), view.sight().cloned()))
            }
            _ => None,
        };
        self.records.push(Record { at: now, what });
        let input = match (input, &seen) {
            (Input::Message { message, head, from, .. }, Some(view)) => Input::Message { message, head, from, view },
            (Input::Updated { uri, .. }, Some(view)) => Input::Updated { uri, view },
            (input, _) => input,
        };
        self.machine.handle(now, input);
    }

    fn poll_output(&mut self) -> Option<Output> {
        let output = self.machine.poll_output();
        if let Some(Output::Call(ticket, _)) = &output {
            self.id = Some(ticket.machine());
        }
        output
    }

    fn pull(&mut self, stream: StreamId, buf: &mut Vec<u8>, limit: usize) -> Pull {
        // What the buffer holds counts against the limit, and is not recorded.
        let limit_when_empty = limit.saturating_sub(buf.len());
        self.records.push(Record { at: self.now, what: What::Pull { stream, limit: limit_when_empty } });
        self.machine.pull(stream, buf, limit)
    }

    fn deadline(&self) -> Option<(Time, Timer)> {
        self.machine.deadline()
    }

    fn has_room(&self, call: CallId) -> bool {
        self.machine.has_room(call)
    }

    fn subscriber(&self, uri: &str) -> Option<&Caller> {
        self.machine.subscriber(uri)
    }

    fn gate(&self) -> Gate {
        self.machine.gate()
    }
}

/// Why a line is no [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// The member that is wrong.
    place: &'static str,
    problem: &'static str,
}

impl RecordError {
    const fn new(place: &'static str, problem: &'static str) -> Self {
        Self { place, problem }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a record: `{}` {}", self.place, self.problem)
    }
}

impl core::error::Error for RecordError {}
