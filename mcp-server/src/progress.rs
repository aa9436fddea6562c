//! How far the work is.

use mcp_core::Note;
use mcp_core::drive::Link;

use crate::call_error::CallError;
use crate::ctx::Ctx;
use crate::extract::Extract;
use crate::sent::Sent;

/// Tells the client how far the work is.
///
/// ```
/// use mcp_server::{Progress, Tool};
///
/// async fn count(progress: Progress) -> &'static str {
///     for step in 1..=3 {
///         tokio::task::yield_now().await; // the work
///         progress.say(step, 3, "counting");
///     }
///     "done"
/// }
///
/// let tool = Tool::new("count").description("Counts to three.").run(count);
/// ```
///
/// What it says is on its way at once, and a client that reads slowly gets the latest only. Each method returns a [`Sent`]: awaited, it
/// holds the work back until the client has taken it, so that each report arrives.
#[doc(alias = "report")]
#[derive(Clone, Debug)]
pub struct Progress {
    link: Link,
    wanted: bool,
}

impl Progress {
    pub(crate) const fn new(link: Link, wanted: bool) -> Self {
        Self { link, wanted }
    }

    /// `done` of `total`. Sent if the client asked for it and `done` has grown (PROG-2); a slow client gets the latest only (PROG-6).
    pub fn send(&self, done: impl Amount, total: impl Amount) -> Sent<'_> {
        self.note(done.amount(), Some(total.amount()), None)
    }

    /// The same, and in words what is being done.
    pub fn say(&self, done: impl Amount, total: impl Amount, message: impl AsRef<str>) -> Sent<'_> {
        self.note(done.amount(), Some(total.amount()), Some(message.as_ref()))
    }

    /// How much is done, where nobody knows of how much.
    pub fn count(&self, done: impl Amount) -> Sent<'_> {
        self.note(done.amount(), None, None)
    }

    /// Whether anybody waits for it.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.wanted
    }

    fn note(&self, progress: f64, total: Option<f64>, message: Option<&str>) -> Sent<'_> {
        // Nobody listens in most calls, and those pay nothing.
        if !self.wanted {
            return Sent::nowhere();
        }
        self.link.note(Note::Progress { progress, total, message: message.map(Into::into) });
        Sent::by(&self.link)
    }
}

impl Extract for Progress {
    fn extract(ctx: &Ctx) -> Result<Self, CallError> {
        Ok(ctx.progress())
    }
}

/// How much, as [`Progress`] takes it: any integer of up to 64 bits, or a float.
pub trait Amount: sealed::Sealed {
    #[doc(hidden)]
    fn amount(self) -> f64;
}

mod sealed {
    #[allow(unnameable_types)]
    pub trait Sealed {}
}

macro_rules! amounts {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}

        impl Amount for $number {
            // Beyond 2^53 the last digits are lost, and nobody counts that far.
            fn amount(self) -> f64 {
                self as f64
            }
        }
    )*};
}

amounts!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);
