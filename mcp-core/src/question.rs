//! Questions to the client, and what came back: data, in both eras.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::peer::{Ability, Capabilities};

/// One question to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Ask the person to fill in a form (ELIC-3).
    Form {
        /// What to say.
        message: Box<str>,
        /// What to fill in: JSON text of a flat object schema (ELIC-4).
        schema: Box<str>,
    },
    /// Ask the person to open a page (ELIC-3).
    Url {
        /// What to say.
        message: Box<str>,
        /// Where to go.
        url: Box<str>,
        /// Correlates the two channels on 2025-11-25.
        id: Box<str>,
    },
    /// Ask the client's model: JSON text of the `sampling/createMessage` params (SAMP-1).
    Sample {
        /// The params.
        params: Box<str>,
        /// Whether they hold `tools` or `toolChoice`.
        tools: bool,
    },
    /// Ask for the client's roots (ROOT-1).
    Roots,
}

impl Question {
    /// The method on the wire.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::Form { .. } | Self::Url { .. } => "elicitation/create",
            Self::Sample { .. } => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// What the client must be able to do (MRTR-4).
    #[must_use]
    pub fn needs(&self) -> Capabilities {
        Capabilities::none().with(match self {
            Self::Form { .. } => Ability::ElicitationForm,
            Self::Url { .. } => Ability::ElicitationUrl,
            Self::Sample { tools: false, .. } => Ability::Sampling,
            Self::Sample { tools: true, .. } => Ability::SamplingTools,
            Self::Roots => Ability::Roots,
        })
    }
}

/// What an earlier run of a request left behind, handed to its next run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Its state, as [`Outcome::Ask`](crate::Outcome::Ask) gave it.
    pub state: Bytes,
    /// What the client said, by the handler's keys. A key without an entry was not answered.
    pub replies: Vec<(Box<str>, Response)>,
}

impl Resume {
    /// The reply to the question of that key.
    #[must_use]
    pub fn reply(&self, key: &str) -> Option<&Response> {
        self.replies.iter().find(|(name, _)| &**name == key).map(|(_, reply)| reply)
    }
}

/// What became of a question. Refusal, time-out and a client that cannot be asked are answers, not errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The client's result: JSON text of an object.
    Result(Bytes),
    /// The client answered with a JSON-RPC error.
    Error {
        /// Its code.
        code: i64,
        /// Its message, clamped.
        message: Box<str>,
    },
    /// The client did not answer in time.
    TimedOut,
    /// The client cannot be asked: it lacks the capability, or the transport cannot carry a question.
    Unsupported,
}
