//! Both eras on one byte stream, interleaved: stdio, a socket, a pair of queues (STDIO).
//!
//! | message | before the handshake | after it |
//! |---|---|---|
//! | request with a meta-version | modern | modern |
//! | `initialize` | legacy handshake; -32600 while one is under way | -32600 |
//! | `ping` | `{}` | `{}` |
//! | other request | -32602, naming the missing `_meta` | legacy |
//! | `notifications/cancelled` | by id, in either era | the same |
//! | `subscriptions/listen` | told here, until it is cancelled or the stream ends | the same, beside what the legacy client is told |
//! | array | -32600 | in 2025-03-26, each member answered on its own line; else -32600 |

use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::desk::Desk;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::legacy::{self, Phase, Reach};
use crate::machine::{CallId, Close, Event, Gate, Input, Machine, MachineId, Output, Pull, StreamId, sealed};
use crate::modern::{self, Court};
use crate::peer::{Caller, Era};
use crate::policy::Clock;
use crate::reply::Reply;
use crate::session::refuse_batch;
use crate::settle;
use crate::stream::Stream;
use crate::time::Time;
use crate::timers::Timer;
use crate::wire::{Id, Message, Meta, Shape, Unread};
use crate::{Peer, View};

/// One byte stream and everybody who speaks on it.
///
/// Its only stream is [`StreamId::ONLY`], framed as lines; no [`Output::Open`] is said for it. After
/// [`Close::EndOfInput`] it finishes what runs, then says [`Output::Closed`].
#[derive(Debug)]
pub struct Pipe {
    desk: Desk,
    life: Life,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Live,
    /// The input has ended: what runs is finished.
    Ending,
    Closed,
}

/// Who sent a message, and what it may see.
#[derive(Clone, Copy)]
struct Sender<'a> {
    from: &'a Caller,
    view: &'a View,
}

impl Pipe {
    /// A machine for one byte stream.
    #[must_use]
    pub fn new(machine: MachineId, endpoint: Arc<Endpoint>, now: Time) -> Self {
        let mut desk = Desk::new(machine, endpoint, Clock::new(now), Phase::Opening);
        let only = desk.streams.insert(Stream::lines());
        debug_assert_eq!(only, StreamId::ONLY);
        Self { desk, life: Life::Live }
    }

    /// The other end of the legacy conversation, once its handshake was made.
    #[must_use]
    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.desk.phase.ready().map(|ready| &ready.peer)
    }

    /// Bytes that wait to be pulled: for a driver of many pipes, which bounds what all of them hold together. One of them is
    /// bounded by its [gate](Machine::gate).
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.desk.streams.bytes()
    }

    fn message(&mut self, message: Message, sender: Sender<'_>) {
        match message.shape() {
            Shape::Request => self.request(&message, sender),
            Shape::Notification => {
                self.desk.notification(&message);
                self.settle();
            }
            Shape::Response => {
                if !self.desk.response(&message) {
                    self.desk.outputs.event(Event::Dropped("an answer that nobody waits for"));
                }
            }
            Shape::Batch => self.batch(message, sender),
        }
        self.desk.heard();
    }

    fn request(&mut self, message: &Message, sender: Sender<'_>) {
        let Some(id) = message.id() else { return };
        if self.desk.calls.find(|slot| slot.id == *id).is_some() || self.desk.listens.has(id) {
            // On one stream nothing but the id tells answers apart.
            let fault = Fault::invalid_request("A request with this id is in flight: wait for its answer");
            return self.refuse(Some(id), fault);
        }
        let endpoint = Arc::clone(&self.desk.endpoint);
        let Sender { from, view } = sender;
        let court = Court { endpoint: &endpoint, message, head: None, from, view, now: self.desk.clock.now() };
        if endpoint.modern() && message.meta_member(Meta::ProtocolVersion).is_some() {
            let step = modern::admit(&court, id);
            return self.desk.proceed(step, id, from, StreamId::ONLY, Era::Modern);
        }
        let view = view.through(self.desk.phase.assigns());
        let court = Court { view: &view, ..court };
        let step = match (&self.desk.phase, message.method()) {
            (Phase::Opening | Phase::Initializing { .. }, "initialize" | "ping") if endpoint.legacy() => {
                legacy::admit(&mut self.desk.phase, &court, id, Reach::Conversation)
            }
            (Phase::Ready(_), _) => legacy::admit(&mut self.desk.phase, &court, id, Reach::Conversation),
            (_, "initialize") => Err(modern::no_handshake(&endpoint)),
            _ if endpoint.modern() => Err(modern::missing_version(&court)),
            _ => Err(legacy::unopened(&endpoint)),
        };
        let before = self.peer().is_some();
        self.desk.proceed(step, id, from, StreamId::ONLY, Era::Legacy);
        self.tell_opened(before);
    }

    /// Says that the legacy conversation has begun, if it had not before.
    fn tell_opened(&mut self, before: bool) {
        if let Some(peer) = self.peer().filter(|_| !before) {
            let revision = peer.revision;
            self.desk.outputs.event(Event::Opened(revision));
        }
    }

    fn batch(&mut self, message: Message, sender: Sender<'_>) {
        let members = message.into_batch();
        if let Some(fault) = refuse_batch(&members, self.peer().map(|peer| peer.revision)) {
            return self.refuse(None, fault);
        }
        for member in members {
            match member {
                Ok(message) if message.shape() == Shape::Batch => {}
                Ok(message) => self.message(message, sender),
                Err(unread) => self.unread(unread),
            }
        }
    }

    fn unread(&mut self, unread: Unread) {
        if unread.silent {
            return self.desk.outputs.event(Event::Refused(unread.fault));
        }
        self.refuse(unread.id.as_ref(), unread.fault);
    }

    fn refuse(&mut self, id: Option<&Id>, fault: Fault) {
        self.desk.answer(StreamId::ONLY, settle::error(id, &fault), Reply::refusal(&fault));
        self.desk.outputs.event(Event::Refused(fault));
    }

    fn tick(&mut self) {
        while let Some(timer) = self.desk.timers.pop_due(self.desk.clock.now()) {
            if self.desk.tick(timer) {
                return self.close(Close::Peer);
            }
        }
        self.settle();
    }

    fn close(&mut self, why: Close) {
        match why {
            Close::Peer => self.desk.forget_listens(),
            Close::EndOfInput | Close::Shutdown => self.desk.end_listens(),
        }
        match why {
            Close::EndOfInput => {
                self.life = Life::Ending;
                // Nobody can answer a question any more.
                self.desk.give_up_asking();
            }
            Close::Shutdown => {
                self.desk.refuse_all("The server is shutting down");
                self.life = Life::Ending;
            }
            Close::Peer => {
                self.desk.abandon_all();
                self.life = Life::Ending;
            }
        }
        self.desk.outputs.event(Event::Ended(why));
        self.settle();
    }

    /// Closes once the input has ended and nothing runs.
    fn settle(&mut self) {
        if self.life != Life::Ending || !self.desk.calls.is_empty() {
            return;
        }
        self.life = Life::Closed;
        self.desk.phase = Phase::Closed;
        self.desk.timers.clear();
        if let Some(stream) = self.desk.streams.get_mut(StreamId::ONLY) {
            let _ = stream.end();
        }
        self.desk.outputs.ready(StreamId::ONLY);
        self.desk.outputs.push(Output::Closed);
    }
}

impl sealed::Sealed for Pipe {
    fn lenses(&self, uri: Option<&str>) -> Vec<Bytes> {
        self.desk.lenses(uri)
    }

    fn unjudged(&mut self, call: CallId) -> Option<&mut View> {
        self.desk.unjudged(call)
    }
}

impl Machine for Pipe {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        self.desk.clock.advance(now);
        match input {
            Input::Message { message, from, view, .. } if self.life == Life::Live => {
                self.message(message, Sender { from, view });
            }
            Input::Unread(unread) if self.life == Life::Live => self.unread(unread),
            Input::Note { call, note } => self.desk.note(call, &note),
            Input::Done { ticket, outcome } => {
                let before = self.peer().is_some();
                self.desk.done(&ticket, outcome);
                self.tell_opened(before);
                if self.life == Life::Ending {
                    // What began only now is told nothing either.
                    self.desk.end_listens();
                }
                self.settle();
            }
            Input::Changed { what, .. } if self.life == Life::Live => self.desk.changed(what),
            Input::Updated { uri, view } if self.life == Life::Live => self.desk.updated(uri, view),
            Input::Tick => self.tick(),
            Input::Detach { .. } if self.life != Life::Closed => self.close(Close::Peer),
            Input::Close(why) if self.life != Life::Closed => self.close(why),
            // A byte stream has no GET; and nothing is read after its end.
            Input::Message { .. }
            | Input::Unread(_)
            | Input::Attach { .. }
            | Input::Changed { .. }
            | Input::Updated { .. }
            | Input::Listen(_)
            | Input::Detach { .. }
            | Input::Close(_) => {}
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.desk.outputs.pop()
    }

    fn pull(&mut self, stream: StreamId, buf: &mut Vec<u8>, limit: usize) -> Pull {
        match self.desk.streams.get_mut(stream) {
            Some(target) => target.pull(buf, limit),
            None => Pull::End,
        }
    }

    fn deadline(&self) -> Option<(Time, Timer)> {
        self.desk.timers.next()
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
