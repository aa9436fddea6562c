//! Legacy over HTTP: one session, opened by `initialize`, with a stream for each request and for each listener.
//!
//! Each [`Input::Message`] and [`Input::Attach`] is answered by [`Output::Expect`], which names the stream that answers it.
//! A request goes on when its reader leaves (HTTP-28). What it would have sent is dropped, unless the session is
//! [resumable](Session::resumable) and the reader has the id of an event to come back after.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::desk::Desk;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::headers::{Accept, Field, Head};
use crate::legacy::{self, Phase, Reach};
use crate::machine::{CallId, Close, Event, EventId, Gate, Input, Machine, MachineId, Output, Pull, StreamId, sealed};
use crate::modern::Court;
use crate::peer::{Caller, Era, Principal, Revision};
use crate::policy::Clock;
use crate::reply::Reply;
use crate::roster::SessionId;
use crate::route;
use crate::settle;
use crate::stream::Stream;
use crate::time::Time;
use crate::timers::Timer;
use crate::wire::{Id, Message, Shape, Unread};
use crate::{Peer, View};

mod checkpoint;
mod snapshot;

/// One legacy session over HTTP.
#[derive(Debug)]
pub struct Session {
    desk: Desk,
    kind: SessionKind,
    /// Who opened it; for anyone else it does not exist (HTTP-21).
    principal: Option<Principal>,
    /// The last time that the client or a call did something.
    active: Time,
    /// Whether it was said, since then, that the session may sleep.
    drowsy: bool,
    /// Whether what is sent is kept in an event log.
    resumable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionKind {
    /// It has an id, and lives until it is ended.
    Kept(SessionId),
    /// It has none, and lives for one POST.
    Sessionless,
}

/// What one message of a POST is handled with.
#[derive(Clone, Copy)]
struct Sender<'a> {
    head: Option<&'a Head<'a>>,
    from: &'a Caller,
    view: &'a View,
}

impl Session {
    /// A session under a new id, which must come from 16 random bytes. Its first message should be `initialize`; if that is
    /// refused, the session says [`Output::Closed`].
    #[must_use]
    pub fn new(machine: MachineId, endpoint: Arc<Endpoint>, id: SessionId, now: Time) -> Self {
        Self::with_kind(machine, endpoint, SessionKind::Kept(id), Phase::Opening, now)
    }

    /// A session for one POST to a server that keeps none: nobody can be asked, nothing is remembered.
    #[must_use]
    pub fn sessionless(machine: MachineId, endpoint: Arc<Endpoint>, revision: Revision, now: Time) -> Self {
        let mut session = Self::with_kind(machine, endpoint, SessionKind::Sessionless, Phase::assumed(revision), now);
        session.desk.can_ask = false;
        session
    }

    fn with_kind(machine: MachineId, endpoint: Arc<Endpoint>, kind: SessionKind, phase: Phase, now: Time) -> Self {
        let desk = Desk::new(machine, endpoint, Clock::new(now), phase);
        Self { desk, kind, principal: None, active: now, drowsy: false, resumable: false }
    }

    /// The same, of a driver that keeps what it sends in an [`EventLog`](crate::EventLog): it pulls with a limit of 0, appends
    /// what it pulled, and then sends it. Then events carry ids, and a client that lost its connection can go on after any of
    /// them (HTTP-29). Not by default: an id promises a client that it can come back.
    ///
    /// A stream that nobody reads any more may still be said to be [ready](Output::Ready). Then pull it into the log.
    #[must_use]
    pub fn resumable(mut self) -> Self {
        self.resumable = self.kind != SessionKind::Sessionless;
        self
    }

    /// Whether the caller is who opened the session. For anyone else it does not exist (HTTP-21).
    #[must_use]
    pub fn belongs_to(&self, caller: &Caller) -> bool {
        self.principal == caller.principal
    }

    /// The other end, once the handshake was made.
    #[must_use]
    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.desk.phase.ready().map(|ready| &ready.peer)
    }

    /// What the server's own code keeps of it: opaque bytes, at most [`Limits::assigns`](crate::policy::Limits::assigns) of them.
    #[must_use]
    pub fn assigns(&self) -> &[u8] {
        self.desk.phase.ready().map_or(&[], |ready| &ready.assigns)
    }

    /// The stream that a running call speaks on: for a driver that holds back what was pulled.
    #[must_use]
    pub fn stream_of(&self, call: CallId) -> Option<StreamId> {
        let running = self.desk.calls.running(call)?;
        self.desk.calls.get(running).map(|slot| slot.stream)
    }

    fn message(&mut self, message: Message, sender: Sender<'_>) {
        let alone = self.is_spent();
        if alone && message.method() == "initialize" {
            self.desk.phase = Phase::Opening;
        }
        // HTTP-21: a session is whose handshake opened it; one of a single POST is whose POST it is.
        if alone || matches!(self.desk.phase, Phase::Opening) {
            self.principal = sender.from.principal.clone();
        }
        if !self.belongs_to(sender.from) {
            let (reply, body) = route::unknown_session(Some(&message));
            return self.reply(reply, body);
        }
        self.touch();
        match message.shape() {
            Shape::Request => self.request(&message, sender),
            Shape::Notification => {
                self.accepted();
                self.desk.notification(&message);
            }
            Shape::Response => {
                self.accepted();
                self.response(&message);
            }
            Shape::Batch => self.batch(message, sender),
        }
        self.desk.heard();
        let refused = matches!(self.desk.phase, Phase::Opening);
        if refused || self.is_spent() {
            self.desk.abandon_all();
            self.end();
        }
    }

    fn request(&mut self, message: &Message, sender: Sender<'_>) {
        let stream = self.expect(Stream::owing_one(accept(sender.head)));
        self.admit(message, sender, stream);
    }

    fn admit(&mut self, message: &Message, sender: Sender<'_>, stream: StreamId) {
        let Some(id) = message.id() else { return };
        let Sender { head, from, view } = sender;
        let endpoint = Arc::clone(&self.desk.endpoint);
        let view = view.through(self.desk.phase.assigns());
        let court = Court { endpoint: &endpoint, message, head, from, view: &view, now: self.desk.clock.now() };
        let before = matches!(self.desk.phase, Phase::Opening);
        let reach = match self.kind {
            SessionKind::Kept(_) => Reach::Conversation,
            SessionKind::Sessionless => Reach::Answers,
        };
        let step = legacy::admit(&mut self.desk.phase, &court, id, reach);
        self.desk.proceed(step, id, from, stream, Era::Legacy);
        if before && self.peer().is_some() {
            self.opened(stream);
        }
    }

    /// The handshake was made: its answer carries the session's id (HTTP-20).
    fn opened(&mut self, stream: StreamId) {
        if let SessionKind::Kept(session) = self.kind {
            if let Some(reply) = self.desk.outputs.head_of(stream) {
                reply.session = Some(session);
            }
            self.desk.timers.set(Timer::Opening, self.desk.clock.now().after(self.desk.endpoint.timing().opening));
        }
        if let Some(revision) = self.peer().map(|peer| peer.revision) {
            self.desk.outputs.event(Event::Opened(revision));
        }
    }

    /// What has become of the `initialize` that the server's own code was asked about, if it has been answered.
    fn settle_opening(&mut self, opening: Option<StreamId>) {
        let Some(stream) = opening else { return };
        match self.desk.phase {
            Phase::Ready(_) => self.opened(stream),
            // It never began.
            Phase::Opening => {
                self.desk.abandon_all();
                self.end();
            }
            Phase::Initializing { .. } | Phase::Closed => {}
        }
    }

    fn response(&mut self, message: &Message) {
        if !self.desk.response(message) {
            self.desk.outputs.event(Event::Dropped("an answer that nobody waits for"));
        }
    }

    /// BATCH-1 to BATCH-5. Whole batches are refused before anything of them runs.
    fn batch(&mut self, message: Message, sender: Sender<'_>) {
        let members = message.into_batch();
        if let Some(fault) = refuse_batch(&members, self.peer().map(|peer| peer.revision)) {
            let (reply, body) = route::refusal(None, &fault);
            return self.reply(reply, body);
        }
        let owed = members.iter().filter(|member| is_owed(member)).count();
        let stream = match u32::try_from(owed) {
            Ok(owed @ 1..) => Some(self.expect(Stream::owing_batch(accept(sender.head), owed))),
            _ => {
                self.accepted();
                None
            }
        };
        for member in members {
            match (member, stream) {
                (Ok(message), stream) => match message.shape() {
                    Shape::Request => stream.into_iter().for_each(|stream| self.admit(&message, sender, stream)),
                    Shape::Notification => self.desk.notification(&message),
                    Shape::Response => self.response(&message),
                    Shape::Batch => {}
                },
                (Err(unread), Some(stream)) if !unread.silent => {
                    let error = settle::error(unread.id.as_ref(), &unread.fault);
                    self.desk.answer(stream, error, Reply::json(200));
                }
                (Err(_), _) => {}
            }
        }
    }

    fn attach(&mut self, head: &Head<'_>, from: &Caller) {
        if !self.belongs_to(from) || self.peer().is_none() {
            let (reply, body) = route::unknown_session(None);
            return self.reply(reply, body);
        }
        self.touch();
        if head.last_event != Field::Absent {
            return self.resume(head.last_event);
        }
        if self.listens_enough() {
            return self.too_many();
        }
        let stream = self.expect(Stream::listening(head.accept));
        self.attached(stream);
    }

    /// Reads a stream on after an event that was received (HTTP-29). What has become of an ended stream, the log knows.
    fn resume(&mut self, after: Field<'_>) {
        let known = after.as_str().filter(|_| self.resumable).and_then(EventId::parse).filter(|after| {
            let streams = &self.desk.streams;
            after.number > 0
                && match streams.get(after.stream) {
                    Some(stream) => stream.has_sent(*after),
                    None => streams.minted(after.stream),
                }
        });
        let Some(after) = known else {
            let (reply, body) = route::not_resumable();
            return self.reply(reply, body);
        };
        if self.listens_enough() && self.desk.streams.left_listening().contains(&after.stream) {
            return self.too_many();
        }
        if let Some(stream) = self.desk.streams.get_mut(after.stream) {
            stream.come_back();
        }
        self.desk.timers.stop(Timer::Orphan(after.stream));
        self.desk.outputs.push(Output::Expect(after.stream));
        self.desk.outputs.push(Output::Resume(after));
        self.attached(after.stream);
    }

    fn listens_enough(&self) -> bool {
        self.desk.streams.listening() >= self.desk.endpoint.limits().listening
    }

    fn too_many(&mut self) {
        let fault = Fault::invalid_request("Too many open GET streams in this session: close one first");
        let (reply, body) = route::refusal(None, &fault.with_status(409));
        self.reply(reply, body);
    }

    /// Somebody reads this stream of events from now on.
    fn attached(&mut self, stream: StreamId) {
        self.desk.outputs.opened(stream, Some(Reply::EVENTS));
        self.desk.outputs.ready(stream);
        self.desk.rearm(stream);
        self.desk.tell();
    }

    fn detach(&mut self, stream: StreamId) {
        if self.desk.streams.get(stream).is_some_and(|gone| !gone.is_left()) {
            self.desk.take_back_news(stream);
            self.leave(stream);
            self.desk.tell();
        }
    }

    fn leave(&mut self, stream: StreamId) {
        let Some(gone) = self.desk.streams.get_mut(stream) else { return };
        if gone.leave() {
            // What waits goes into the log.
            self.desk.outputs.ready(stream);
            self.desk.orphan(stream);
            return self.bound_left();
        }
        if gone.is_listening() || gone.is_settled() {
            return self.desk.forget(stream);
        }
        gone.park();
        self.desk.orphan(stream);
        if self.kind == SessionKind::Sessionless {
            // Nothing of it could ever be read again.
            self.close(Close::Peer);
        }
    }

    /// Lets the oldest listening streams end whose readers have not come back, so that there are not ever more of them.
    fn bound_left(&mut self) {
        let left = self.desk.streams.left_listening();
        let too_many = left.len().saturating_sub(self.desk.endpoint.limits().listening);
        for stream in left.into_iter().take(too_many) {
            let _ = self.desk.streams.get_mut(stream).and_then(Stream::end);
            self.desk.outputs.ready(stream);
        }
    }

    fn tick(&mut self) {
        while let Some(timer) = self.desk.timers.pop_due(self.desk.clock.now()) {
            match timer {
                Timer::Opening => return self.expire(),
                timer => {
                    if matches!(timer, Timer::Call(_) | Timer::Question(_) | Timer::Orphan(_)) {
                        self.acted();
                    }
                    if self.desk.tick(timer) {
                        return self.close(Close::Peer);
                    }
                }
            }
        }
        if self.is_spent() {
            return self.end();
        }
        while let Some((_, timer)) = self.quiet().filter(|(at, _)| *at <= self.desk.clock.now()) {
            if timer == Timer::Idle {
                return self.expire();
            }
            self.drowsy = true;
            self.desk.outputs.push(Output::Hibernate);
        }
    }

    /// When the session counts as quiet, and then as idle. A running call defers both; an open question defers the end
    /// only.
    fn quiet(&self) -> Option<(Time, Timer)> {
        if matches!(self.kind, SessionKind::Sessionless)
            || self.desk.phase.ready().is_none()
            || self.desk.calls.any_running()
        {
            return None;
        }
        let timing = self.desk.endpoint.timing();
        let idle = self.desk.calls.is_empty().then(|| (self.active.after(timing.idle), Timer::Idle));
        let hibernate =
            timing.hibernate_after.filter(|_| !self.drowsy).map(|span| (self.active.after(span), Timer::Hibernate));
        idle.into_iter().chain(hibernate).min()
    }

    /// Whether the one POST of a session that is none has been answered.
    fn is_spent(&self) -> bool {
        self.kind == SessionKind::Sessionless && self.desk.calls.is_empty()
    }

    fn touch(&mut self) {
        self.acted();
        self.desk.timers.stop(Timer::Opening);
    }

    fn acted(&mut self) {
        self.active = self.desk.clock.now();
        self.drowsy = false;
    }

    fn expire(&mut self) {
        self.desk.outputs.event(Event::Expired);
        self.desk.abandon_all();
        self.end();
    }

    fn close(&mut self, why: Close) {
        if matches!(self.desk.phase, Phase::Closed) {
            return;
        }
        match why {
            Close::Shutdown => self.desk.refuse_all("The server is shutting down"),
            Close::Peer => self.desk.abandon_all(),
            // HTTP has no such end: connections come and go.
            Close::EndOfInput => return,
        }
        self.desk.outputs.event(Event::Ended(why));
        self.end();
    }

    /// Ends every stream after what is queued on it.
    fn end(&mut self) {
        self.desk.phase = Phase::Closed;
        self.desk.timers.clear();
        for id in self.desk.streams.ids() {
            let reply = self.desk.streams.get_mut(id).and_then(Stream::end);
            self.desk.outputs.opened(id, reply);
            self.desk.outputs.ready(id);
        }
        self.desk.outputs.push(Output::Closed);
    }

    fn unread(&mut self, unread: &Unread) {
        let (reply, body) = route::unread(unread);
        self.reply(reply, body);
    }

    fn expect(&mut self, stream: Stream) -> StreamId {
        let id = self.desk.streams.insert(stream);
        if self.resumable {
            // A18: older clients take an event without data for a message.
            let primes = self.peer().is_some_and(|peer| peer.revision >= Revision::V2025_11_25);
            let retry = primes.then(|| self.desk.endpoint.timing().retry);
            if let Some(stream) = self.desk.streams.get_mut(id) {
                stream.number_events(id, retry);
            }
        }
        self.desk.outputs.push(Output::Expect(id));
        id
    }

    /// HTTP-8: 202, and no body.
    fn accepted(&mut self) {
        self.reply(Reply::ACCEPTED, Vec::new());
    }

    fn reply(&mut self, reply: Reply, body: Vec<u8>) {
        let stream = self.expect(Stream::whole(body));
        self.desk.outputs.opened(stream, Some(reply));
        self.desk.outputs.ready(stream);
    }
}

fn accept(head: Option<&Head<'_>>) -> Accept {
    head.map_or(Accept { json: true, events: true }, |head| head.accept)
}

/// Whether a member of a batch will be answered.
fn is_owed(member: &Result<Message, Unread>) -> bool {
    match member {
        Ok(message) => message.shape() == Shape::Request,
        Err(unread) => !unread.silent,
    }
}

/// Why a batch is refused whole.
pub(crate) fn refuse_batch(members: &[Result<Message, Unread>], revision: Option<Revision>) -> Option<Fault> {
    if revision != Some(Revision::V2025_03_26) {
        return Some(route::no_batch());
    }
    if members.is_empty() {
        return Some(Fault::invalid_request("The batch is empty: send at least one message"));
    }
    let messages = || members.iter().flatten();
    if messages().any(|message| message.method() == "initialize") {
        return Some(Fault::invalid_request("`initialize` cannot be part of a batch"));
    }
    if messages().any(|message| message.meta_member(crate::wire::Meta::ProtocolVersion).is_some()) {
        return Some(route::no_batch());
    }
    let mut ids: Vec<&Id> =
        messages().filter(|message| message.shape() == Shape::Request).filter_map(Message::id).collect();
    ids.sort_unstable();
    let twice = ids.windows(2).any(|pair| pair[0] == pair[1]);
    twice.then(|| Fault::invalid_request("Two requests of the batch have the same id: give each its own"))
}

impl sealed::Sealed for Session {
    fn lenses(&self, uri: Option<&str>) -> Vec<Bytes> {
        self.desk.lenses(uri)
    }

    fn unjudged(&mut self, call: CallId) -> Option<&mut View> {
        self.desk.unjudged(call)
    }
}

impl Machine for Session {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.desk.clock.advance(now);
        if matches!(self.desk.phase, Phase::Closed) {
            return self.handle_closed(input);
        }
        let opening = self.desk.opening();
        match input {
            Input::Message { message, head, from, view } => self.message(message, Sender { head, from, view }),
            Input::Unread(unread) => self.unread(&unread),
            Input::Attach { head, from } => self.attach(head, from),
            // Nobody could ever use a session whose id nobody was told.
            Input::Detach { stream } if opening == Some(stream) => self.close(Close::Peer),
            Input::Detach { stream } => self.detach(stream),
            Input::Note { call, note } => self.desk.note(call, &note),
            Input::Done { ticket, outcome } => {
                if self.desk.calls.redeem(&ticket).is_some() {
                    self.acted();
                }
                self.desk.done(&ticket, outcome);
                self.settle_opening(opening);
                if self.is_spent() && !matches!(self.desk.phase, Phase::Closed) {
                    self.end();
                }
            }
            Input::Changed { what, .. } => self.desk.changed(what),
            Input::Updated { uri, view } => self.desk.updated(uri, view),
            // No session asks for room to listen.
            Input::Listen(_) => {}
            Input::Tick => {
                self.tick();
                self.settle_opening(opening);
            }
            Input::Close(why) => self.close(why),
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.desk.outputs.pop()
    }

    fn pull(&mut self, stream: StreamId, buf: &mut Vec<u8>, limit: usize) -> Pull {
        let Some(pulled) = self.desk.streams.pull(stream, buf, limit) else { return Pull::End };
        if pulled == Pull::End {
            self.desk.forget(stream);
        }
        pulled
    }

    fn deadline(&self) -> Option<(Time, Timer)> {
        self.desk.timers.next().into_iter().chain(self.quiet()).min()
    }

    fn has_room(&self, call: CallId) -> bool {
        self.desk.has_room(call)
    }

    fn subscriber(&self, uri: &str) -> Option<&Caller> {
        self.desk.subscriber(uri)
    }

    fn gate(&self) -> Gate {
        self.desk.gate()
    }
}

impl Session {
    /// A message that crossed the end of its session gets what the next one would: 404.
    fn handle_closed(&mut self, input: Input<'_>) {
        match input {
            Input::Message { message, .. } => {
                let (reply, body) = route::unknown_session(Some(&message));
                self.reply(reply, body);
            }
            Input::Attach { .. } | Input::Unread(_) => {
                let (reply, body) = route::unknown_session(None);
                self.reply(reply, body);
            }
            Input::Detach { stream } => self.desk.streams.remove(stream),
            Input::Done { ticket, .. } => self.desk.outputs.event(Event::Late(ticket.call())),
            Input::Note { .. }
            | Input::Changed { .. }
            | Input::Updated { .. }
            | Input::Listen(_)
            | Input::Tick
            | Input::Close(_) => {}
        }
    }
}
