//! Modern over HTTP: one request, from its `_meta` to its answer. Nothing outlives it and nothing is shared.
//!
//! ```text
//!            refused, or answered at once
//!   Fresh ──────────────────────────────────────► Closed
//!      │ Output::Call          Done: answer           ▲
//!      └───────────► Running ─────────────────────────┤
//!                      │  ▲     Detach, Close: abandoned
//!                      └──┘
//!            Done: it cannot ask, or its sender is let in; run again
//! ```
//!
//! One that listens is in `listen.rs`.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::calls::{self, Slot};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::headers::{Accept, Head};
use crate::legacy;
use crate::listen::Listen;
use crate::machine::{
    Call, CallId, Close, Event, Gate, Input, Machine, MachineId, Note, Outcome, Output, Pull, StreamId, Ticket, sealed,
};
use crate::modern::{self, Court, Step};
use crate::outbox::FrameKind;
use crate::outputs::Outputs;
use crate::peer::Caller;
use crate::policy::Clock;
use crate::question::Resume;
use crate::settle::{self, Settled};
use crate::stream::Stream;
use crate::time::Time;
use crate::timers::Timer;
use crate::unjudged::Then;
use crate::wire::{Id, Message, Shape};
use crate::{Code, Reply, View};

mod listen;

/// One modern request and its answer, for HTTP.
///
/// Its only stream is [`StreamId::ONLY`]. The first [`Input::Message`] is its request; a second one is ignored.
#[derive(Debug)]
pub struct Exchange {
    machine: MachineId,
    endpoint: Arc<Endpoint>,
    clock: Clock,
    phase: Phase,
    stream: Stream,
    /// When a silence is broken.
    keep_alive: Option<Time>,
    outputs: Outputs,
    next_call: u64,
}

#[derive(Debug)]
enum Phase {
    Fresh,
    Running(Box<Slot>),
    /// It wants to listen, and its driver has not said yet whether there is room.
    Claiming(Box<Listen>),
    Listening(Box<Listen>),
    Closed,
}

impl Exchange {
    /// A machine for one request.
    #[must_use]
    pub fn new(machine: MachineId, endpoint: Arc<Endpoint>, now: Time) -> Self {
        Self {
            machine,
            endpoint,
            clock: Clock::new(now),
            phase: Phase::Fresh,
            stream: Stream::owing_one(Accept { json: true, events: true }),
            keep_alive: None,
            outputs: Outputs::default(),
            next_call: 1,
        }
    }

    fn message(&mut self, message: &Message, head: Option<&Head<'_>>, from: &Caller, view: &View) {
        if !matches!(self.phase, Phase::Fresh) {
            return;
        }
        if let Some(head) = head {
            self.stream = Stream::owing_one(head.accept);
        }
        let id = match (message.shape(), message.id()) {
            (Shape::Request, Some(id)) => id,
            // HTTP-49: the protocol has none that a client sends so, and nobody waits for word of it (BASE-7).
            (Shape::Notification, _) => {
                self.outputs.event(Event::Dropped("a notification that means nothing here"));
                return self.accept();
            }
            _ => {
                let fault =
                    Fault::invalid_request("A 2026-07-28 body is one request or notification, not an answer or array");
                return self.refuse(None, fault);
            }
        };
        let endpoint = Arc::clone(&self.endpoint);
        let court = Court { endpoint: &endpoint, message, head, from, view, now: self.clock.now() };
        let step = modern::admit(&court, id);
        let deadline = endpoint.timing().call.map(|span| self.clock.now().after(span));
        self.proceed(step, id, from, deadline);
    }

    /// Carries out what was decided about the request.
    fn proceed(&mut self, step: Result<Step, Fault>, id: &Id, from: &Caller, deadline: Option<Time>) {
        match step {
            Ok(Step::Answer(response)) => self.finish(response, Reply::json(200)),
            Ok(Step::Run(admission)) => {
                let (slot, resume) = Slot::new(admission, from, StreamId::ONLY, deadline);
                self.rearm();
                self.run(Box::new(slot), resume);
            }
            Ok(Step::Init(admission, then)) => {
                let (mut slot, _) = Slot::new(admission, from, StreamId::ONLY, deadline);
                slot.phase = calls::Phase::Initializing(then);
                self.rearm();
                self.run(Box::new(slot), None);
            }
            Ok(Step::Listen(listen)) => self.claim(listen),
            // Unreachable by construction: only legacy has conversations.
            Ok(Step::Open(_)) => self.refuse(Some(id), Fault::internal("A modern request opens nothing")),
            Err(fault) => self.refuse(Some(id), fault),
        }
    }

    /// The server's own code has said whether who sent the request is let in.
    fn initialized(&mut self, slot: Slot, then: Then, outcome: Outcome) {
        match settle::let_in(outcome, &self.endpoint) {
            Ok(assigns) => {
                let endpoint = Arc::clone(&self.endpoint);
                let step = then.decide(assigns, &slot, &endpoint, self.clock.now(), &mut legacy::Phase::Closed);
                self.proceed(step, &slot.id, &slot.caller, slot.deadline);
            }
            Err(fault) => {
                self.outputs.event(Event::Refused(fault.clone()));
                if let Settled::Answered(response, head) = settle::refuse(&slot, fault, &self.endpoint) {
                    self.finish(response, head);
                }
            }
        }
    }

    fn run(&mut self, mut slot: Box<Slot>, resume: Option<Box<Resume>>) {
        let ticket = Ticket { machine: self.machine, call: CallId(self.next_call), slot: 0 };
        self.next_call += 1;
        let assigns = slot.assigns.clone().unwrap_or_default();
        let call: Box<Call> = slot.run(ticket.call, self.stream.carries_notes(), resume, assigns);
        self.phase = Phase::Running(slot);
        self.outputs.push(Output::Call(ticket, call));
    }

    fn done(&mut self, ticket: &Ticket, mut outcome: Outcome) {
        let current = matches!(&self.phase, Phase::Running(slot) if slot.call == ticket.call);
        if ticket.machine != self.machine || !current {
            return self.outputs.event(Event::Late(ticket.call));
        }
        let Phase::Running(mut slot) = core::mem::replace(&mut self.phase, Phase::Closed) else { return };
        if let calls::Phase::Initializing(then) = core::mem::replace(&mut slot.phase, calls::Phase::Running) {
            return self.initialized(*slot, *then, outcome);
        }
        if let Some(event) = settle::sift(&slot, &mut outcome, &self.endpoint) {
            self.outputs.event(event);
        }
        match settle::settle(&mut slot, outcome, self.clock.now(), &self.endpoint) {
            Settled::Answered(response, head) => self.finish(response, head),
            Settled::Again(resume) => self.run(slot, Some(resume)),
            // Unreachable by construction: only a legacy slot asks so.
            Settled::Ask(..) => {
                let fault = Fault::internal("A modern request cannot ask while it runs");
                self.finish(settle::error(Some(&slot.id), &fault), Reply::refusal(&fault));
            }
        }
    }

    fn note(&mut self, call: CallId, note: &Note) {
        let Phase::Running(slot) = &mut self.phase else { return };
        if slot.call != call || !matches!(slot.phase, calls::Phase::Running) {
            return;
        }
        let frame = match note {
            // HTTP-47: nobody comes back to a modern stream.
            Note::HangUp => return,
            Note::Assigns(assigns) => return self.assign(assigns),
            _ if !self.stream.carries_notes() => return,
            Note::Progress { .. } => settle::progress(slot, note).map(|json| (FrameKind::Progress(slot.origin), json)),
            // LOG-3: only if this request asked, and only from the level that it asked for.
            Note::Log { level, .. }
                if self.endpoint.has_logging() && slot.level.is_some_and(|least| *level >= least) =>
            {
                settle::log(note).map(|json| (FrameKind::Log, json))
            }
            // ELIC-7: 2025-11-25 alone has pages that are done.
            Note::Log { .. } | Note::PageDone { .. } => None,
        };
        slot.queued = frame.is_some();
        let Some((kind, json)) = frame else { return };
        let dropped = self.stream.outbox().dropped_logs();
        let reply = self.stream.note(kind, json, self.endpoint.limits());
        self.outputs.opened(StreamId::ONLY, reply);
        let dropped_now = self.stream.outbox().dropped_logs();
        if dropped_now > dropped {
            self.outputs.logs_dropped(dropped_now);
        }
        self.outputs.ready(StreamId::ONLY);
        self.rearm();
    }

    /// Kept for the next run of the request, if there is one.
    fn assign(&mut self, assigns: &Bytes) {
        let fits = assigns.len() <= self.endpoint.limits().assigns;
        match &mut self.phase {
            Phase::Running(slot) if fits => slot.assigns = Some(Bytes::copy_from_slice(assigns)),
            _ => self.outputs.event(Event::Dropped("assigns that are too large")),
        }
    }

    fn tick(&mut self) {
        let now = self.clock.now();
        if let Phase::Running(slot) = &self.phase
            && slot.deadline.is_some_and(|at| at <= now)
        {
            let call = slot.call;
            let fault = Fault::too_slow();
            let response = settle::error(Some(&slot.id), &fault);
            self.outputs.push(Output::Abandon(call));
            self.outputs.event(Event::TimedOut(call));
            return self.finish(response, Reply::refusal(&fault));
        }
        if self.keep_alive.is_some_and(|at| at <= now) {
            let reply = self.stream.keep_alive();
            self.outputs.opened(StreamId::ONLY, reply);
            self.outputs.ready(StreamId::ONLY);
            self.rearm();
        }
    }

    /// HTTP-46: nobody reads any more, so the work stops and nothing more is sent.
    fn abandon(&mut self) {
        if let Phase::Running(slot) = core::mem::replace(&mut self.phase, Phase::Closed) {
            self.outputs.push(Output::Abandon(slot.call));
        }
        self.keep_alive = None;
        self.stream.park();
        self.outputs.push(Output::Closed);
    }

    fn close(&mut self, why: Close) {
        match &self.phase {
            Phase::Running(slot) if why == Close::Shutdown => {
                let fault = Fault::shutting_down();
                let response = settle::error(Some(&slot.id), &fault);
                self.outputs.push(Output::Abandon(slot.call));
                self.finish(response, Reply::refusal(&fault));
            }
            // SUB-11: what was told is told, and the client learns that no more will come.
            Phase::Listening(listen) if why == Close::Shutdown => {
                let result = listen.result(&self.endpoint);
                self.finish(result, Reply::json(200));
            }
            Phase::Claiming(listen) if why == Close::Shutdown => {
                let id = listen.id.clone();
                self.refuse(Some(&id), Fault::shutting_down().with_status(503));
            }
            // The request has been read whole: the end of its input changes nothing.
            Phase::Running(_) | Phase::Claiming(_) | Phase::Listening(_) if why == Close::EndOfInput => {}
            Phase::Closed => {}
            Phase::Fresh | Phase::Running(_) | Phase::Claiming(_) | Phase::Listening(_) => self.abandon(),
        }
    }

    fn refuse(&mut self, id: Option<&Id>, fault: Fault) {
        let head = Reply::refusal_of(&self.endpoint, &fault, fault.status());
        let response = settle::error(id, &fault);
        self.outputs.event(Event::Refused(fault));
        self.finish(response, head);
    }

    fn finish(&mut self, response: Vec<u8>, head: Reply) {
        let reply = self.stream.answer(response, head, self.endpoint.limits());
        self.end(reply);
    }

    /// HTTP-8: 202, and no body.
    fn accept(&mut self) {
        self.stream = Stream::whole(Vec::new());
        self.end(Some(Reply::ACCEPTED));
    }

    fn end(&mut self, reply: Option<Reply>) {
        self.phase = Phase::Closed;
        self.keep_alive = None;
        self.outputs.opened(StreamId::ONLY, reply);
        self.outputs.ready(StreamId::ONLY);
        self.outputs.push(Output::Closed);
    }

    fn rearm(&mut self) {
        let now = self.clock.now();
        let at = now.after(self.endpoint.timing().keep_alive);
        // A deadline that is due as soon as it is set would be ticked for ever.
        self.keep_alive = (self.stream.wants_keep_alive() && at > now).then_some(at);
    }
}

impl sealed::Sealed for Exchange {
    fn lenses(&self, _: Option<&str>) -> Vec<Bytes> {
        match &self.phase {
            Phase::Listening(listen) => alloc::vec![listen.assigns.clone()],
            _ => alloc::vec![Bytes::new()],
        }
    }

    fn unjudged(&mut self, call: CallId) -> Option<&mut View> {
        match &mut self.phase {
            Phase::Running(slot) if slot.call == call => slot.unjudged(),
            _ => None,
        }
    }
}

impl Machine for Exchange {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.clock.advance(now);
        match input {
            Input::Message { message, head, from, view } => self.message(&message, head, from, view),
            Input::Unread(unread) if matches!(self.phase, Phase::Fresh) => {
                self.refuse(unread.id.as_ref(), unread.fault)
            }
            Input::Note { call, note } => self.note(call, &note),
            Input::Done { ticket, outcome } => self.done(&ticket, outcome),
            Input::Tick => self.tick(),
            Input::Detach { stream: StreamId::ONLY } if !matches!(self.phase, Phase::Closed) => self.abandon(),
            Input::Close(why) => self.close(why),
            Input::Attach { .. } if matches!(self.phase, Phase::Fresh) => {
                let fault = Fault::new(Code::INVALID_REQUEST, "A 2026-07-28 request is a POST").with_status(405);
                self.refuse(None, fault);
            }
            Input::Listen(seat) => self.seated(seat),
            Input::Changed { what, .. } => self.changed(what),
            Input::Updated { uri, view } => self.updated(uri, view),
            Input::Unread(_) | Input::Detach { .. } | Input::Attach { .. } => {}
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop()
    }

    fn pull(&mut self, stream: StreamId, buf: &mut Vec<u8>, limit: usize) -> Pull {
        if stream == StreamId::ONLY { self.stream.pull(buf, limit) } else { Pull::End }
    }

    fn deadline(&self) -> Option<(Time, Timer)> {
        let call = match &self.phase {
            Phase::Running(slot) => slot.deadline.map(|at| (at, Timer::Call(slot.call))),
            // Nobody listens for too long.
            Phase::Fresh | Phase::Claiming(_) | Phase::Listening(_) | Phase::Closed => None,
        };
        let keep_alive = self.keep_alive.map(|at| (at, Timer::KeepAlive(StreamId::ONLY)));
        call.into_iter().chain(keep_alive).min()
    }

    fn has_room(&self, call: CallId) -> bool {
        let Phase::Running(slot) = &self.phase else { return true };
        slot.call != call || !slot.queued || self.stream.has_room(1, slot.origin, self.endpoint.limits())
    }

    fn subscriber(&self, uri: &str) -> Option<&Caller> {
        self.subscriber_of(uri)
    }

    fn gate(&self) -> Gate {
        if self.stream.outbox().bytes() > self.endpoint.limits().unsent { Gate::Full } else { Gate::Open }
    }
}
