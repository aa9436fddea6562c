//! Who is let in: the server's own code is asked before a conversation, or a request, is served.

use alloc::boxed::Box;

use bytes::Bytes;

use super::Desk;
use crate::calls::{Admission, Phase, Slot};
use crate::catalog::View;
use crate::legacy;
use crate::machine::{CallId, Event, Outcome, StreamId};
use crate::modern::{Opening, Step};
use crate::peer::{Caller, Era};
use crate::reply::Reply;
use crate::settle::{self, Settled};
use crate::unjudged::Then;

impl Desk {
    /// The legacy conversation begins.
    pub(super) fn open(&mut self, opening: Opening, stream: StreamId) {
        let Opening { mut ready, answer } = opening;
        let hasty = matches!(self.phase, legacy::Phase::Initializing { initialized: true });
        ready.initialized = hasty;
        self.phase = legacy::Phase::Ready(ready);
        self.answer(stream, answer, Reply::json(200));
        if hasty {
            self.start_pinging();
        }
    }

    /// Has the server's own code say whether who sent the request is let in.
    pub(super) fn initialize(&mut self, admission: Admission, then: Box<Then>, from: &Caller, stream: StreamId) {
        let (mut slot, _) = Slot::new(admission, from, stream, self.deadline());
        slot.phase = Phase::Initializing(then);
        let opens = slot.opens();
        let index = self.calls.insert(slot);
        if opens {
            self.phase = legacy::Phase::Initializing { initialized: false };
        } else {
            // HTTP-20: the head of an answer to `initialize` names a session, which is not there yet: it must not be sent to break
            // a silence.
            self.rearm(stream);
        }
        self.run(index, None);
    }

    /// The server's own code has said it.
    pub(super) fn initialized(&mut self, index: u32, outcome: Outcome) {
        let Some(mut slot) = self.calls.take(index) else { return };
        self.stop_timers(slot.call);
        let let_in = settle::let_in(outcome, &self.endpoint);
        if let_in.is_err() {
            self.shut(&slot);
        }
        let (stream, era, deadline) = (slot.stream, slot.era(), slot.deadline);
        match let_in {
            Err(fault) => {
                self.outputs.event(Event::Refused(fault.clone()));
                if let Settled::Answered(response, head) = settle::refuse(&slot, fault, &self.endpoint) {
                    self.answer(stream, response, head);
                }
            }
            Ok(assigns) => {
                let running = core::mem::replace(&mut slot.phase, Phase::Running);
                let Phase::Initializing(then) = running else { return };
                let now = self.clock.now();
                match then.decide(assigns, &slot, &self.endpoint, now, &mut self.phase) {
                    // The time that the request may take has begun before.
                    Ok(Step::Run(admission)) => self.start(admission, &slot.caller, stream, deadline),
                    step => self.proceed(step, &slot.id, &slot.caller, stream, era),
                }
            }
        }
    }

    /// A call replaces what is kept of its session, or of its request where there is none.
    pub(super) fn assign(&mut self, call: CallId, assigns: &Bytes) {
        if assigns.len() > self.endpoint.limits().assigns {
            return self.outputs.event(Event::Dropped("assigns that are too large"));
        }
        let Some(slot) = self.calls.running(call).and_then(|index| self.calls.get_mut(index)) else { return };
        // It outlives the call.
        let assigns = Bytes::copy_from_slice(assigns);
        match (&slot.assigns, slot.era(), &mut self.phase) {
            (None, Era::Legacy, legacy::Phase::Ready(ready)) => ready.assigns = assigns,
            _ => slot.assigns = Some(assigns),
        }
    }

    /// What may be seen by who sent the request that this call is asked about, if it is judged afterwards.
    pub(crate) fn unjudged(&mut self, call: CallId) -> Option<&mut View> {
        let index = self.calls.find(|slot| slot.call == call)?;
        self.calls.get_mut(index)?.unjudged()
    }

    /// The stream on which `initialize` is answered once the server's own code has said so.
    pub(crate) fn opening(&self) -> Option<StreamId> {
        if !matches!(self.phase, legacy::Phase::Initializing { .. }) {
            return None;
        }
        self.calls.iter().find(|slot| slot.opens()).map(|slot| slot.stream)
    }

    /// A conversation does not begin whose `initialize` has come to its end without.
    pub(super) fn shut(&mut self, slot: &Slot) {
        if slot.opens() {
            self.phase = legacy::Phase::Opening;
        }
    }
}
