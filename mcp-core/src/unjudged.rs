//! A request that is judged once its sender is let in: what they may see depends on what the server's own code keeps of them.
//!
//! Everybody else's is judged before, and only what was found is kept while the server's code is asked.

use alloc::sync::Arc;

use bytes::Bytes;

use crate::calls::Slot;
use crate::catalog::View;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::headers::HeadBuf;
use crate::legacy::{self, Phase, Reach};
use crate::machine::Level;
use crate::modern::{self, Court, Requested, Step};
use crate::peer::Peer;
use crate::time::Time;
use crate::wire::{Id, Message};

/// What is done with a request once who sent it is let in.
#[derive(Clone, Debug)]
pub(crate) enum Then {
    /// What was found of it.
    Do(Result<Step, Fault>),
    /// It is yet to be judged.
    Judge(Unjudged),
}

/// Such a request, as large as it came: there are no more of them than calls.
#[derive(Clone, Debug)]
pub(crate) struct Unjudged {
    message: Message,
    head: Option<HeadBuf>,
    pub(crate) view: View,
    era: Era,
}

/// What is known of it.
#[derive(Clone, Debug)]
enum Era {
    Modern {
        peer: Arc<Peer>,
        token: Option<Id>,
        level: Option<Level>,
    },
    /// One of a single POST: its peer is in the phase of its machine.
    Legacy,
}

impl Then {
    /// What is to be done, now that the sender is let in with these assigns. A modern request needs no phase.
    pub(crate) fn decide(
        self,
        assigns: Bytes,
        slot: &Slot,
        endpoint: &Endpoint,
        now: Time,
        phase: &mut Phase,
    ) -> Result<Step, Fault> {
        let step = match self {
            Self::Do(step) => step,
            Self::Judge(unjudged) => unjudged.judge(&assigns, slot, endpoint, now, phase),
        };
        step.map(|step| step.with_assigns(assigns))
    }
}

impl Unjudged {
    pub(crate) fn modern(court: &Court<'_>, request: Requested<'_>) -> Self {
        let Requested { id: _, peer, token, level } = request;
        Self::new(court, Era::Modern { peer, token, level })
    }

    pub(crate) fn legacy(court: &Court<'_>) -> Self {
        Self::new(court, Era::Legacy)
    }

    fn new(court: &Court<'_>, era: Era) -> Self {
        Self { message: court.message.kept(), head: court.head.map(HeadBuf::from), view: court.view.clone(), era }
    }

    #[cold]
    fn judge(
        self,
        assigns: &Bytes,
        slot: &Slot,
        endpoint: &Endpoint,
        now: Time,
        phase: &mut Phase,
    ) -> Result<Step, Fault> {
        let Self { message, head, view, era } = self;
        let (head, view) = (head.as_ref().map(HeadBuf::head), view.through(assigns));
        let court = Court { endpoint, message: &message, head: head.as_ref(), from: &slot.caller, view: &view, now };
        match era {
            Era::Modern { peer, token, level } => {
                modern::offered(&court, Requested { id: &slot.id, peer, token, level })
            }
            Era::Legacy => legacy::judge(phase, &court, &slot.id, Reach::Answers),
        }
    }
}
