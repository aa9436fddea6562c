//! What a session and a pipe have in common: requests that run, ask, listen and end, on one stream or on many.
//!
//! It never decides what a message means; [`Session`](crate::Session) and [`Pipe`](crate::Pipe) do.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::calls::{Admission, Asking, Calls, Phase, Slot};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::legacy;
use crate::machine::{CallId, Event, Gate, MachineId, Note, Outcome, Output, StreamId, Ticket};
use crate::modern::Step;
use crate::outbox::FrameKind;
use crate::outputs::Outputs;
use crate::peer::{Caller, Era};
use crate::policy::Clock;
use crate::question::{Question, Response, Resume};
use crate::reply::Reply;
use crate::settle::{self, Settled};
use crate::stream::Stream;
use crate::streams::Streams;
use crate::time::Time;
use crate::timers::{Timer, Timers};
use crate::wire::{Id, Message, Param, write};
use crate::{ask, question};

mod init;
mod listen;
mod snapshot;

pub(crate) use listen::Listens;

/// The working part of a session or pipe.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) clock: Clock,
    pub(crate) phase: legacy::Phase,
    pub(crate) calls: Calls,
    pub(crate) listens: Listens,
    pub(crate) streams: Streams,
    pub(crate) timers: Timers,
    pub(crate) outputs: Outputs,
    /// Whether a client can be asked at all: not without a session, nor after its input has ended.
    pub(crate) can_ask: bool,
    /// Questions that came up before `initialized`: they wait for it (LIFE-5). As bounded as calls and questions are.
    held: Vec<Held>,
    /// The next id of a request to the client.
    next_question: u64,
    /// The ping that the client has not answered, and the stream that it went out on.
    pinged: Option<(u64, StreamId)>,
}

/// A question that was not sent yet.
#[derive(Debug)]
struct Held {
    stream: StreamId,
    id: u64,
    request: Vec<u8>,
}

impl Desk {
    pub(crate) fn new(machine: MachineId, endpoint: Arc<Endpoint>, clock: Clock, phase: legacy::Phase) -> Self {
        Self {
            endpoint,
            clock,
            phase,
            calls: Calls::new(machine),
            listens: Listens::default(),
            streams: Streams::default(),
            timers: Timers::default(),
            outputs: Outputs::default(),
            can_ask: true,
            held: Vec::new(),
            next_question: 1,
            pinged: None,
        }
    }

    /// Carries out what was decided about a request.
    pub(crate) fn proceed(&mut self, step: Result<Step, Fault>, id: &Id, from: &Caller, stream: StreamId, era: Era) {
        let fault = match step {
            Ok(Step::Answer(response)) => return self.answer(stream, response, Reply::json(200)),
            Ok(Step::Open(opening)) => return self.open(*opening, stream),
            Ok(Step::Run(admission)) if self.calls.len() < self.endpoint.limits().calls => {
                return self.start(admission, from, stream, self.deadline());
            }
            Ok(Step::Init(admission, then)) if self.calls.len() < self.endpoint.limits().calls => {
                return self.initialize(admission, then, from, stream);
            }
            Ok(Step::Run(_) | Step::Init(..)) => Fault::busy(),
            Ok(Step::Listen(listen)) => return self.listen(listen, stream),
            Err(fault) => fault,
        };
        self.refuse(fault, id, stream, era);
    }

    fn refuse(&mut self, fault: Fault, id: &Id, stream: StreamId, era: Era) {
        let status = if era == Era::Legacy { settle::legacy_status(&fault) } else { fault.status() };
        let head = Reply::refusal_of(&self.endpoint, &fault, status);
        self.answer(stream, settle::error(Some(id), &fault), head);
        self.outputs.event(Event::Refused(fault));
    }

    /// Ends a run. A ticket that is too late is an event, not an error (ARCHITECTURE, rule 4).
    pub(crate) fn done(&mut self, ticket: &Ticket, mut outcome: Outcome) {
        let Some(index) = self.calls.redeem(ticket) else { return self.outputs.event(Event::Late(ticket.call)) };
        if self.calls.get(index).is_some_and(|slot| matches!(slot.phase, Phase::Initializing(_))) {
            return self.initialized(index, outcome);
        }
        let now = self.clock.now();
        let Some(slot) = self.calls.get_mut(index) else { return };
        if let Some(event) = settle::sift(slot, &mut outcome, &self.endpoint) {
            self.outputs.event(event);
        }
        match settle::settle(slot, outcome, now, &self.endpoint) {
            Settled::Answered(response, head) => self.finish(index, response, head),
            Settled::Again(resume) => self.run(index, Some(resume)),
            Settled::Ask(questions, state) => self.ask(index, questions, state),
        }
    }

    /// Sends on what a running call says.
    pub(crate) fn note(&mut self, call: CallId, note: &Note) {
        let Some(slot) = self.calls.running(call).and_then(|index| self.calls.get_mut(index)) else { return };
        let (stream, origin) = (slot.stream, slot.origin);
        let frame = match note {
            Note::HangUp => return self.hang_up(stream),
            Note::Assigns(assigns) => return self.assign(call, assigns),
            Note::Progress { .. } => settle::progress(slot, note).map(|json| (FrameKind::Progress(origin), json)),
            Note::PageDone { .. } => settle::page_done(slot, note).map(|json| (FrameKind::Log, json)),
            Note::Log { level, .. } => {
                // LOG-3 on modern, LOG-2 on legacy; LOG-1 on both.
                let least = match slot.era() {
                    Era::Modern => slot.level,
                    Era::Legacy => self.phase.ready().map(|ready| ready.level),
                };
                let wanted = self.endpoint.has_logging() && least.is_some_and(|least| *level >= least);
                wanted.then(|| settle::log(note)).flatten().map(|json| (FrameKind::Log, json))
            }
        };
        slot.queued = frame.is_some();
        if let Some((kind, json)) = frame {
            self.push(stream, kind, json);
        }
    }

    /// As [`Machine::has_room`](crate::Machine::has_room).
    pub(crate) fn has_room(&self, call: CallId) -> bool {
        let Some(slot) = self.calls.running(call).and_then(|index| self.calls.get(index)) else { return true };
        let Some(stream) = self.streams.get(slot.stream) else { return true };
        !slot.queued || stream.has_room(self.calls.speakers(slot.stream), slot.origin, self.endpoint.limits())
    }

    /// A call wants its client to come back later (HTTP-30).
    fn hang_up(&mut self, stream: StreamId) {
        let Some(target) = self.streams.get_mut(stream) else { return };
        let reply = target.hang_up();
        self.said(stream, reply);
    }

    /// A notification of the client's, in either era (BASE-7).
    pub(crate) fn notification(&mut self, message: &Message) {
        match (message.method(), &mut self.phase) {
            ("notifications/cancelled", _) => self.cancel(message),
            ("notifications/initialized", legacy::Phase::Ready(ready)) => {
                if !core::mem::replace(&mut ready.initialized, true) {
                    self.start_pinging();
                    for Held { stream, id, request } in core::mem::take(&mut self.held) {
                        self.push(stream, FrameKind::Question(id), request);
                    }
                }
                self.tell();
            }
            ("notifications/initialized", legacy::Phase::Initializing { initialized }) => *initialized = true,
            _ => self.outputs.event(Event::Dropped("a notification that means nothing here")),
        }
    }

    /// The peer gives up a request of its own (CANC-2). On HTTP two may have the id, and both end.
    fn cancel(&mut self, message: &Message) {
        let id = message.param(Param::RequestId).and_then(|raw| Id::parse(raw, self.endpoint.limits().id));
        let Some(id) = id else { return self.outputs.event(Event::Dropped("a cancellation without a request id")) };
        let mut found = self.unlisten(&id);
        // CANC-2: `initialize` cannot be cancelled.
        while let Some(index) = self.calls.find(|slot| slot.id == id && !slot.opens()) {
            found = true;
            self.abandon(index);
        }
        if !found {
            self.outputs.event(Event::Dropped("a cancellation of a request that does not run"));
        }
    }

    /// Ends a request without an answer, and its open questions with it (CANC-3).
    pub(crate) fn abandon(&mut self, index: u32) {
        let Some(slot) = self.calls.take(index) else { return };
        self.stop_timers(slot.call);
        self.shut(&slot);
        match slot.phase {
            Phase::Running | Phase::Initializing(_) => self.outputs.push(Output::Abandon(slot.call)),
            Phase::Asking(asking) => self.withdraw(slot.stream, &asking.open, "The request was cancelled"),
        }
        let Some(stream) = self.streams.get_mut(slot.stream) else { return };
        let reply = stream.forget(slot.origin);
        self.said(slot.stream, reply);
    }

    /// The client answered a question, or a ping. Returns whether anybody had asked.
    pub(crate) fn response(&mut self, message: &Message) -> bool {
        let Some(asked) = message.id().and_then(Id::as_i64).and_then(|id| u64::try_from(id).ok()) else { return false };
        if self.pinged.is_some_and(|(ping, _)| ping == asked) {
            self.pinged = None;
            return true;
        }
        let open = |slot: &Slot| match &slot.phase {
            Phase::Asking(asking) => asking.open.iter().any(|(id, _)| *id == asked),
            Phase::Running | Phase::Initializing(_) => false,
        };
        let Some(index) = self.calls.find(open) else { return false };
        let response = match (message.error(), message.result_bytes()) {
            (Some(error), _) => Response::Error { code: error.code, message: error.message },
            // Kept while other questions are open, so at its exact size.
            (None, result) if result.starts_with(b"{") => Response::Result(Bytes::copy_from_slice(&result)),
            (None, _) => Response::Error { code: -32603, message: "The client's result is not an object".into() },
        };
        self.replied(index, asked, response);
        true
    }

    /// A deadline of a call, a question or a ping has passed. Returns whether the client is to be taken for gone.
    pub(crate) fn tick(&mut self, timer: Timer) -> bool {
        match timer {
            Timer::Call(call) => self.call_timed_out(call),
            Timer::Question(call) => self.questions_timed_out(call),
            Timer::KeepAlive(stream) => self.keep_alive(stream),
            Timer::Orphan(stream) => self.give_up(stream),
            Timer::Ping => return self.ping(),
            Timer::Opening | Timer::Hibernate | Timer::Idle => {}
        }
        false
    }

    /// The client has said something, so it is there, whatever became of a ping (LIFE-10).
    pub(crate) fn heard(&mut self) {
        self.pinged = None;
    }

    /// Forgets a stream, and a ping that it may not have carried.
    pub(crate) fn forget(&mut self, stream: StreamId) {
        self.timers.stop(Timer::KeepAlive(stream));
        self.timers.stop(Timer::Orphan(stream));
        self.streams.remove(stream);
        self.unping(stream);
    }

    /// Nobody reads a stream any more. Its calls go on (HTTP-28), but not for ever.
    pub(crate) fn orphan(&mut self, stream: StreamId) {
        self.timers.stop(Timer::KeepAlive(stream));
        self.unping(stream);
        if self.calls.iter().any(|slot| slot.stream == stream) {
            let at = self.endpoint.timing().orphan.map(|span| self.clock.now().after(span));
            self.timers.set(Timer::Orphan(stream), at);
        }
    }

    /// A ping may not have been received that went out on this stream.
    fn unping(&mut self, stream: StreamId) {
        if self.pinged.is_some_and(|(_, on)| on == stream) {
            self.pinged = None;
        }
    }

    /// Ends the calls that have gone on without a reader for as long as they may.
    fn give_up(&mut self, stream: StreamId) {
        let calls: Vec<CallId> = self.calls.iter().filter(|slot| slot.stream == stream).map(|slot| slot.call).collect();
        calls.into_iter().for_each(|call| self.call_timed_out(call));
    }

    /// Begins to ping, if that is wanted.
    fn start_pinging(&mut self) {
        if let Some(span) = self.endpoint.timing().ping {
            let at = self.clock.now().after(span);
            self.timers.set(Timer::Ping, (at > self.clock.now()).then_some(at));
        }
    }

    /// Answers everything that waits: the server goes down.
    pub(crate) fn refuse_all(&mut self, why: &'static str) {
        while let Some(index) = self.calls.find(|_| true) {
            let Some(slot) = self.calls.get(index) else { return };
            let response = settle::error(Some(&slot.id), &Fault::internal(why));
            match &slot.phase {
                Phase::Running | Phase::Initializing(_) => self.outputs.push(Output::Abandon(slot.call)),
                Phase::Asking(asking) => self.withdraw(slot.stream, &asking.open.clone(), why),
            }
            self.finish(index, response, Reply::json(200));
        }
    }

    /// Abandons everything that waits: nobody is there to be answered.
    pub(crate) fn abandon_all(&mut self) {
        while let Some(index) = self.calls.find(|_| true) {
            self.abandon(index);
        }
    }

    /// Nobody will answer the open questions any more.
    pub(crate) fn give_up_asking(&mut self) {
        self.can_ask = false;
        self.timers.stop(Timer::Ping);
        while let Some(index) = self.calls.find(|slot| matches!(slot.phase, Phase::Asking(_))) {
            self.reply_to_rest(index, &Response::Unsupported, "The input has ended: the question cannot be answered");
        }
    }

    /// Queues an answer on a stream.
    pub(crate) fn answer(&mut self, stream: StreamId, json: Vec<u8>, head: Reply) {
        let Some(target) = self.streams.get_mut(stream) else { return };
        let reply = target.answer(json, head, self.endpoint.limits());
        self.said(stream, reply);
    }

    /// Queues a notification or question on a stream.
    pub(crate) fn push(&mut self, stream: StreamId, kind: FrameKind, json: Vec<u8>) {
        let Some(target) = self.streams.get_mut(stream) else { return };
        let dropped = target.outbox().dropped_logs();
        let reply = target.note(kind, json, self.endpoint.limits());
        let dropped_now = target.outbox().dropped_logs();
        self.said(stream, reply);
        if dropped_now > dropped {
            self.outputs.logs_dropped(dropped_now);
        }
    }

    pub(crate) fn gate(&self) -> Gate {
        if self.streams.bytes() > self.endpoint.limits().unsent { Gate::Full } else { Gate::Open }
    }

    /// Sets the time at which a silence on a stream is broken. A byte stream needs no such comments.
    pub(crate) fn rearm(&mut self, id: StreamId) {
        let at = self.clock.now().after(self.endpoint.timing().keep_alive);
        let wants = self.streams.get(id).is_some_and(|stream| stream.wants_keep_alive() && !stream.is_lines());
        // A span of nothing would fall due for ever.
        self.timers.set(Timer::KeepAlive(id), (wants && at > self.clock.now()).then_some(at));
    }

    /// Tells the driver what happened on a stream, and forgets one that nobody reads and nothing is owed on.
    fn said(&mut self, id: StreamId, reply: Option<Reply>) {
        if self.streams.get(id).is_some_and(Stream::is_over) {
            return self.forget(id);
        }
        self.outputs.opened(id, reply);
        if self.streams.get(id).is_some_and(Stream::is_open) {
            self.outputs.ready(id);
        }
        self.rearm(id);
    }

    /// When a request that begins now is answered for.
    fn deadline(&self) -> Option<Time> {
        self.endpoint.timing().call.map(|span| self.clock.now().after(span))
    }

    fn start(&mut self, admission: Admission, from: &Caller, stream: StreamId, deadline: Option<Time>) {
        let (slot, resume) = Slot::new(admission, from, stream, deadline);
        let index = self.calls.insert(slot);
        self.rearm(stream);
        self.run(index, resume);
    }

    fn run(&mut self, index: u32, resume: Option<Box<Resume>>) {
        let ticket = self.calls.ticket(index);
        let Some(slot) = self.calls.get_mut(index) else { return };
        let before = slot.call;
        let carries = self.streams.get(slot.stream).is_some_and(Stream::carries_notes);
        let assigns = match (&slot.assigns, slot.era(), self.phase.ready()) {
            (Some(own), ..) => own.clone(),
            (None, Era::Legacy, Some(ready)) => ready.assigns.clone(),
            (None, ..) => Bytes::new(),
        };
        let mut call = slot.run(ticket.call, carries, resume, assigns);
        let deadline = slot.deadline;
        call.byte_stream = self.streams.get(slot.stream).is_some_and(Stream::is_lines);
        if let Some(orphan) = self.timers.at(Timer::Orphan(slot.stream)) {
            call.deadline = Some(call.deadline.map_or(orphan, |at| at.min(orphan)));
        }
        self.stop_timers(before);
        self.timers.set(Timer::Call(ticket.call), deadline);
        self.outputs.push(Output::Call(ticket, call));
    }

    fn finish(&mut self, index: u32, response: Vec<u8>, head: Reply) {
        let Some(slot) = self.calls.take(index) else { return };
        self.stop_timers(slot.call);
        self.shut(&slot);
        self.answer(slot.stream, response, head);
    }

    fn stop_timers(&mut self, call: CallId) {
        self.timers.stop(Timer::Call(call));
        self.timers.stop(Timer::Question(call));
    }

    /// Sends the questions of a legacy run as requests on its stream (SHIM-5, HTTP-27).
    fn ask(&mut self, index: u32, questions: Vec<(Box<str>, Question)>, state: Bytes) {
        let Some(slot) = self.calls.get_mut(index) else { return };
        let (call, stream, peer) = (slot.call, slot.stream, Arc::clone(&slot.peer));
        let reaches = self.can_ask && self.streams.get(stream).is_some_and(Stream::carries_notes);
        let mut asking = Asking { state, open: Vec::new(), replies: Vec::new() };
        let mut requests = Vec::new();
        for (key, question) in questions {
            if !reaches || peer.capabilities.missing(&question.needs()).is_some() || !exists(&question, peer.revision) {
                asking.replies.push((key, Response::Unsupported));
                continue;
            }
            let id = self.next_question;
            let mut out = Vec::with_capacity(256);
            write::request_open(&mut out, &Id::from_u64(id), question.method());
            if let Err(fault) = ask::params(&mut out, &question, peer.revision) {
                let response = settle::error(self.calls.get(index).map(|slot| &slot.id), &fault);
                return self.finish(index, response, Reply::refusal_of(&self.endpoint, &fault, fault.status()));
            }
            out.push(b'}');
            self.next_question += 1;
            asking.open.push((id, key));
            requests.push((id, out));
        }
        let all_known = asking.open.is_empty();
        if let Some(slot) = self.calls.get_mut(index) {
            slot.phase = Phase::Asking(asking);
            // The run is over; the next one has said nothing yet.
            slot.queued = false;
        }
        if all_known {
            return self.resume(index);
        }
        for (id, request) in requests {
            if self.phase.ready().is_some_and(|ready| !ready.initialized) {
                self.held.push(Held { stream, id, request });
            } else {
                self.push(stream, FrameKind::Question(id), request);
            }
        }
        self.timers.set(Timer::Question(call), self.clock.now().after(self.endpoint.timing().question));
    }

    fn replied(&mut self, index: u32, asked: u64, response: Response) {
        let Some(Slot { phase: Phase::Asking(asking), .. }) = self.calls.get_mut(index) else { return };
        let Some(at) = asking.open.iter().position(|(id, _)| *id == asked) else { return };
        let (_, key) = asking.open.remove(at);
        asking.replies.push((key, response));
        // One that was answered before it was sent is not sent any more.
        self.held.retain(|held| held.id != asked);
        if asking.open.is_empty() {
            self.resume(index);
        }
    }

    /// Runs a request again with everything that came back.
    fn resume(&mut self, index: u32) {
        let Some(slot) = self.calls.get_mut(index) else { return };
        let Phase::Asking(asking) = core::mem::replace(&mut slot.phase, Phase::Running) else { return };
        self.run(index, Some(Box::new(question::Resume { state: asking.state, replies: asking.replies })));
    }

    fn reply_to_rest(&mut self, index: u32, response: &Response, why: &str) {
        let Some(Slot { stream, phase: Phase::Asking(asking), .. }) = self.calls.get_mut(index) else { return };
        let (stream, open) = (*stream, core::mem::take(&mut asking.open));
        asking.replies.extend(open.iter().map(|(_, key)| (key.clone(), response.clone())));
        self.withdraw(stream, &open, why);
        self.resume(index);
    }

    /// Tells the client that questions need no answer any more (CANC-3).
    fn withdraw(&mut self, stream: StreamId, open: &[(u64, Box<str>)], why: &str) {
        for (id, _) in open {
            let held = self.held.len();
            self.held.retain(|question| question.id != *id);
            let unsent =
                self.held.len() < held || self.streams.get_mut(stream).is_some_and(|stream| stream.take_back(*id));
            if unsent {
                continue;
            }
            let mut out = Vec::with_capacity(128);
            write::notification_open(&mut out, "notifications/cancelled");
            out.extend_from_slice(b"{\"requestId\":");
            Id::from_u64(*id).write(&mut out);
            out.extend_from_slice(b",\"reason\":");
            write::string(&mut out, why);
            out.extend_from_slice(b"}}");
            self.push(stream, FrameKind::Withdrawal, out);
        }
    }

    fn call_timed_out(&mut self, call: CallId) {
        let Some(index) = self.calls.find(|slot| slot.call == call) else { return };
        let Some(slot) = self.calls.get_mut(index) else { return };
        let fault = Fault::too_slow();
        let (response, stream) = (settle::error(Some(&slot.id), &fault), slot.stream);
        match &mut slot.phase {
            Phase::Running | Phase::Initializing(_) => self.outputs.push(Output::Abandon(call)),
            Phase::Asking(asking) => {
                let open = core::mem::take(&mut asking.open);
                self.withdraw(stream, &open, "The request took too long");
            }
        }
        self.outputs.event(Event::TimedOut(call));
        self.finish(index, response, Reply::refusal_of(&self.endpoint, &fault, fault.status()));
    }

    fn questions_timed_out(&mut self, call: CallId) {
        if let Some(index) = self.calls.find(|slot| slot.call == call && matches!(slot.phase, Phase::Asking(_))) {
            self.reply_to_rest(index, &Response::TimedOut, "The question was not answered in time");
        }
    }

    fn keep_alive(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let reply = stream.keep_alive();
        self.said(id, reply);
    }

    fn ping(&mut self) -> bool {
        if self.pinged.is_some() {
            return true;
        }
        if let Some(stream) = self.streams.newest_listening() {
            let id = self.next_question;
            self.next_question += 1;
            self.pinged = Some((id, stream));
            let mut out = Vec::with_capacity(64);
            write::request_open(&mut out, &Id::from_u64(id), "ping");
            out.extend_from_slice(b"{}}");
            self.push(stream, FrameKind::Question(id), out);
        }
        self.start_pinging();
        false
    }
}

/// Whether a revision has that kind of question: elicitation came with 2025-06-18, its URL mode and its lists with 2025-11-25.
fn exists(question: &Question, revision: crate::Revision) -> bool {
    match question {
        Question::Form { schema, .. } => match revision {
            crate::Revision::V2025_06_18 => !ask::has_lists(schema),
            _ => revision > crate::Revision::V2025_06_18,
        },
        Question::Url { .. } => revision >= crate::Revision::V2025_11_25,
        Question::Sample { tools: true, .. } => revision >= crate::Revision::V2025_11_25,
        Question::Sample { tools: false, .. } | Question::Roots => true,
    }
}
