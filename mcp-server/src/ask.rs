#![doc = include_str!("docs/asking.md")]

mod asked;
mod behind;
mod flat;
mod form;
mod form_of;
mod memory;
mod roots;
mod round;
mod run;
mod sample;
mod url;
mod used;

use std::fmt;

use mcp_core::Peer;
use mcp_core::question::Question;

pub use self::asked::{Asked, Lacking};
pub use self::form::{
    BooleanField, Choice, ChoiceField, ChoicesField, Field, Form, FormValues, IntegerField, NumberField, TextField,
    elicit,
};
pub use self::form_of::{FormOf, elicit_as};
pub(crate) use self::memory::Memory;
pub use self::roots::{ClientRoots, Root, Roots, roots};
pub use self::round::{Questions, Round};
pub(crate) use self::run::Settings;
pub use self::sample::{
    IncludeContext, IntoParts, Part, Sample, Sampled, SamplingTool, StopReason, ToolChoice, ToolResult, ToolUse, sample,
};
pub use self::url::{Page, elicit_url};
pub use self::used::{Claim, RecentStates, UsedStates};

/// A question to the client: made by [`elicit`], [`elicit_as`], [`elicit_url`], [`sample`] or [`roots`], and asked with
/// [`Ctx::ask`](crate::Ctx::ask).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no question to a client",
    label = "neither a form, a page, a sample nor a question for roots",
    note = "make one with `elicit`, `elicit_as`, `elicit_url`, `sample` or `roots` of `mcp_server::ask`"
)]
pub trait Ask: sealed::Sealed + fmt::Debug {
    /// What the client answers.
    type Answer;

    /// As it is asked that client; in full if there is none. The error says what is wrong with it.
    #[doc(hidden)]
    fn question(&self, peer: Option<&Peer>) -> Result<Question, String>;

    /// What the client's result says.
    #[doc(hidden)]
    fn read(&self, result: &[u8]) -> Said<Self::Answer>;

    /// Whether an error of that code is a person's refusal.
    #[doc(hidden)]
    fn is_refusal(&self, code: i64) -> bool {
        let _ = code;
        false
    }
}

/// What the client's result says.
#[doc(hidden)]
#[derive(Debug)]
pub enum Said<T> {
    Accepted(T),
    Declined,
    Cancelled,
    /// It is not what was asked for: why.
    Wrong(String),
}

mod sealed {
    #[allow(unnameable_types)]
    pub trait Sealed {}
}
