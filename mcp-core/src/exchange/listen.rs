//! An exchange that listens: `subscriptions/listen` over HTTP.
//!
//! ```text
//!   Fresh ──► Claiming ─────────────────► Listening ──────────────────────► Closed
//!      Output::Listen │ Input::Listen(Ok):  │ ▲   Shutdown: the result
//!                     │ acknowledgement     └─┘   Detach, Peer: silence
//!                     └─ Err: a plain error       Changed, Updated: told, if asked for
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Exchange, Phase};
use crate::catalog::View;
use crate::fault::Fault;
use crate::listen::Listen;
use crate::machine::{Change, Output, StreamId};
use crate::outbox::FrameKind;
use crate::peer::Caller;

impl Exchange {
    /// Asks the driver for room, before anything is sent: so a refusal is a plain error (SUB-14).
    pub(super) fn claim(&mut self, listen: Box<Listen>) {
        if !self.stream.carries_notes() {
            // SUB-6: nobody who takes JSON alone can be told anything.
            let fault = Fault::invalid_request(
                "`Accept` must list text/event-stream: subscriptions/listen is answered by a stream",
            );
            return self.refuse(Some(&listen.id), fault.with_status(406));
        }
        self.outputs.push(Output::Listen(listen.claim()));
        self.phase = Phase::Claiming(listen);
    }

    /// The driver has room, or has none.
    pub(super) fn seated(&mut self, seat: Result<(), Fault>) {
        let listen = match core::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Claiming(listen) => listen,
            other => {
                self.phase = other;
                return;
            }
        };
        match seat {
            Ok(()) => {
                let acknowledgement = listen.acknowledgement();
                self.phase = Phase::Listening(listen);
                self.tell(Some(acknowledgement));
            }
            Err(fault) => self.refuse(Some(&listen.id), fault),
        }
    }

    pub(super) fn changed(&mut self, what: Change) {
        if let Phase::Listening(listen) = &self.phase {
            let told = listen.changed(what);
            self.tell(told);
        }
    }

    pub(super) fn updated(&mut self, uri: &str, view: &View) {
        if let Phase::Listening(listen) = &self.phase {
            let told = listen.updated(uri, view, &self.endpoint);
            self.tell(told);
        }
    }

    pub(super) fn subscriber_of(&self, uri: &str) -> Option<&Caller> {
        match &self.phase {
            Phase::Listening(listen) => listen.subscriber(uri),
            _ => None,
        }
    }

    fn tell(&mut self, json: Option<Vec<u8>>) {
        let Some(json) = json else { return };
        let reply = self.stream.note(FrameKind::Listen(0), json, self.endpoint.limits());
        self.outputs.opened(StreamId::ONLY, reply);
        self.outputs.ready(StreamId::ONLY);
        self.rearm();
    }
}
