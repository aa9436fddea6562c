//! What became of a question: refusal, silence and a client that cannot be asked are answers, not errors.

use std::fmt;

use mcp_core::fault::{Code, Fault, reflect};

use crate::call_error::CallError;

/// What became of a question. A refusal, a client that does not answer and one that cannot be asked are answers as well.
///
/// ```
/// use mcp_server::ask::{Asked, elicit};
/// use mcp_server::{CallError, Ctx};
///
/// fn deploy(ctx: Ctx) -> Result<&'static str, CallError> {
///     Ok(match ctx.ask("approval", elicit("Deploy?"))? {
///         Asked::Accepted(_) => "Deployed.",
///         Asked::Declined | Asked::Cancelled => "Not deployed.",
///         Asked::Unsupported(_) => "Deploy by hand: this client cannot ask.",
///         _ => "Not deployed: nobody answered.",
///     })
/// }
/// ```
///
/// Where there is nothing to do without an answer, [`required`](Asked::required) is enough.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use = "the client may have refused"]
pub enum Asked<T> {
    /// It was answered, and the answer is what was asked for (ELIC-6).
    Accepted(T),
    /// The person said no (ELIC-5); or, of a sample, rejected it (SAMP-5).
    Declined,
    /// The person closed the question without an answer (ELIC-5).
    Cancelled,
    /// No answer came in time ([`Timing::question`](crate::Timing)); on 2026-07-28, where nobody waits, the client came back
    /// three times without one.
    TimedOut,
    /// The client cannot be asked that: it did not declare the capability, its revision has no such question, or nothing
    /// connects it to the server that could carry one.
    Unsupported(Lacking),
    /// The client could not ask, and says why; or it sent, twice, something that was not asked for.
    Failed {
        /// The code of its error; -32602 if its answer was wrong.
        code: i64,
        /// What it says, shortened and without control characters; not to be trusted.
        message: String,
    },
}

/// What a client lacks that cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking(pub(super) Option<Box<str>>);

impl Lacking {
    /// The capabilities that it did not declare: JSON text of an object, such as `{"elicitation":{"url":{}}}`. `None` if that
    /// is not the reason.
    #[must_use]
    pub fn capabilities(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(missing) => write!(f, "Missing required client capability: {missing}"),
            None => f.write_str("The client cannot be asked over this connection, or in this revision of the protocol"),
        }
    }
}

impl<T> Asked<T> {
    /// The answer, if there is one.
    #[must_use]
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            _ => None,
        }
    }

    /// The answer, or an error that says why there is none.
    ///
    /// ```
    /// use mcp_server::ask::elicit;
    /// use mcp_server::{CallError, Ctx};
    ///
    /// fn deploy(ctx: Ctx) -> Result<&'static str, CallError> {
    ///     ctx.ask("approval", elicit("Deploy?"))?.required()?;
    ///     Ok("Deployed.")
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// For the model to read, in words. A capability that the client lacks is the error -32021 of the protocol on 2026-07-28,
    /// which names it (VER-6), and words before that (SHIM-4).
    pub fn required(self) -> Result<T, CallError> {
        Err(match self {
            Self::Accepted(answer) => return Ok(answer),
            Self::Declined => CallError::new("The user declined."),
            Self::Cancelled => CallError::new("The user dismissed the question."),
            Self::TimedOut => CallError::new("The user did not answer in time."),
            Self::Unsupported(lacking) => match lacking.capabilities() {
                Some(missing) => {
                    let data = format!("{{\"requiredCapabilities\":{missing}}}");
                    CallError::fault(Fault::new(Code::MISSING_CAPABILITY, lacking.to_string()).with_data(data))
                }
                None => CallError::new(lacking),
            },
            Self::Failed { code, message } => {
                CallError::new(format_args!("The client could not ask: {} ({code})", reflect(&message)))
            }
        })
    }

    /// The same with another answer.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Asked<U> {
        match self {
            Self::Accepted(answer) => Asked::Accepted(change(answer)),
            Self::Declined => Asked::Declined,
            Self::Cancelled => Asked::Cancelled,
            Self::TimedOut => Asked::TimedOut,
            Self::Unsupported(lacking) => Asked::Unsupported(lacking),
            Self::Failed { code, message } => Asked::Failed { code, message },
        }
    }
}
