//! What is asked at one point of the code: looked up in what is known, and otherwise asked.

use std::fmt;

use mcp_core::Kind;
use mcp_core::question::{Question, Response};
use sha2::{Digest as _, Sha256};

use super::memory::{Answered, Digest, Memory, Open, digest};
use super::run::Settings;
use super::{Ask, Asked, Lacking, Said, sealed};
use crate::call_error::CallError;
use crate::check;
use crate::ctx::Ctx;

/// How often a question is asked whose answer is not what was asked for: a person may mend it once (MRTR-7).
const WRONG: u8 = 2;
/// How often a question is asked that the client comes back without an answer to (MRTR-7).
const MISSING: u8 = 3;

/// Questions that are asked at once: see [`Ctx::ask_all`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of questions with their keys",
    note = "as in `ctx.ask_all(((\"name\", elicit(\"Who?\")), (\"roots\", roots())))?`: at most six, or a `Vec` of them"
)]
pub trait Questions: sealed::Sealed {
    /// What is answered: as many, in the same order.
    type Answers;

    /// The answers, if all are known.
    #[doc(hidden)]
    fn ask(self, round: &mut Round<'_>) -> Result<Option<Self::Answers>, CallError>;
}

/// What is asked at one point of the code.
#[doc(hidden)]
pub struct Round<'a> {
    ctx: &'a Ctx,
    memory: &'a mut Memory,
    pending: Vec<(Box<str>, Question)>,
    open: Vec<Open>,
}

impl<'a> Round<'a> {
    pub(super) const fn new(ctx: &'a Ctx, memory: &'a mut Memory) -> Self {
        Self { ctx, memory, pending: Vec::new(), open: Vec::new() }
    }

    /// Whether nothing has to be asked.
    pub(super) const fn is_answered(&self) -> bool {
        self.pending.is_empty()
    }

    /// The answer; `None` if it has to be asked.
    pub(super) fn one<Q: Ask>(&mut self, key: &str, question: &Q) -> Result<Option<Asked<Q::Answer>>, CallError> {
        let wrong = |why: String| CallError::hidden(format!("the question `{key}` cannot be asked: {why}"));
        let full = question.question(None).map_err(wrong)?;
        let digest = digest(&full);
        if self.pending.iter().any(|(other, _)| **other == *key) {
            return Err(wrong("another one is asked under the same key".into()));
        }
        let answered = self.memory.answers.iter().find(|answered| *answered.key == *key);
        let before = self.memory.open.iter().position(|open| *open.key == *key);
        let known = answered.map(|answered| answered.digest).or_else(|| Some(self.memory.open[before?].digest));
        if known.is_some_and(|known| known != digest) {
            return Err(wrong(
                "another one was asked under the same key: each question has a key of its own. If it is the same question, it \
                 has to be the same in each run: what differs from run to run, such as the time, is kept with `Ctx::once` or \
                 `Ctx::keep`"
                    .into(),
            ));
        }
        let missing = self.ctx.peer().capabilities.missing(&full.needs());
        if let Some(answered) = answered {
            return Ok(Some(settled(question, &answered.reply, missing).unwrap_or_else(unfit)));
        }
        let tries = match before.map(|at| self.memory.open.swap_remove(at)) {
            None => 1,
            Some(open) => match self.reply(question, &open, missing.clone()) {
                Some(asked) => return Ok(Some(asked)),
                None => open.tries.saturating_add(1),
            },
        };
        // It would only be told so in another run; and what is no tool, prompt or resource asks nobody (MRTR-1).
        let asks = matches!(self.ctx.kind(), Kind::Tool { .. } | Kind::Prompt { .. } | Kind::Resource { .. });
        if missing.is_some() || !asks {
            return Ok(Some(Asked::Unsupported(Lacking(missing.map(Into::into)))));
        }
        let asked = question.question(Some(self.ctx.peer())).map_err(wrong)?;
        self.pending.push((key.into(), asked));
        self.open.push(Open { key: key.into(), digest, tries, now: true });
        Ok(None)
    }

    /// What came of a question that the run before asked; `None` if it has to be asked again. What nobody asked for is not
    /// looked at (MRTR-7).
    fn reply<Q: Ask>(&mut self, question: &Q, open: &Open, missing: Option<String>) -> Option<Asked<Q::Answer>> {
        let reply = reply_to(self.ctx, open);
        let (reply, asked) = match reply {
            Some(reply) => match settled(question, &reply, missing) {
                Ok(asked) => (reply, asked),
                Err(_) if open.tries < WRONG => return None,
                Err(why) => (Response::Error { code: WRONG_ANSWER, message: why.as_str().into() }, unfit(why)),
            },
            None if open.tries < MISSING => return None,
            None => (Response::TimedOut, Asked::TimedOut),
        };
        self.memory.answers.push(Answered { key: open.key.clone(), digest: open.digest, reply });
        Some(asked)
    }

    /// The error that ends the run.
    pub(super) fn end(self, settings: &Settings) -> CallError {
        let Self { ctx, memory, mut pending, open } = self;
        let chain = match memory.chain {
            Some(chain) => chain,
            None => {
                let mut chain = [0; 16];
                if let Err(error) = getrandom::fill(&mut chain) {
                    return CallError::hidden(error);
                }
                *memory.chain.insert(chain)
            }
        };
        for (key, question) in &mut pending {
            if let Question::Url { id, .. } = question {
                *id = elicitation_id(&chain, key).into();
            }
        }
        // What was answered and not looked at yet, since code asks in another order now, need not be asked again.
        for other in std::mem::replace(&mut memory.open, open) {
            if let Some(reply) = reply_to(ctx, &other) {
                memory.answers.push(Answered { key: other.key, digest: other.digest, reply });
            }
        }
        match settings.check(memory) {
            Ok(state) => CallError::ask(pending, state),
            Err(error) => error,
        }
    }
}

impl fmt::Debug for Round<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Round").field("pending", &self.pending).finish_non_exhaustive()
    }
}

/// The reply to a question that the run before asked.
fn reply_to(ctx: &Ctx, open: &Open) -> Option<Response> {
    ctx.resume().filter(|_| !open.now)?.reply(&open.key).cloned()
}

/// What stands in for the code of an error where the client's answer was wrong.
const WRONG_ANSWER: i64 = -32602;

fn unfit<T>(why: String) -> Asked<T> {
    Asked::Failed { code: WRONG_ANSWER, message: check::clean(&why) }
}

/// What a reply says; the error says why it is not what was asked for.
fn settled<Q: Ask>(question: &Q, reply: &Response, missing: Option<String>) -> Result<Asked<Q::Answer>, String> {
    Ok(match reply {
        Response::Result(result) => match question.read(result) {
            Said::Accepted(answer) => Asked::Accepted(answer),
            Said::Declined => Asked::Declined,
            Said::Cancelled => Asked::Cancelled,
            Said::Wrong(why) => return Err(why),
        },
        Response::Error { code, .. } if question.is_refusal(*code) => Asked::Declined,
        Response::Error { code, message } => Asked::Failed { code: *code, message: message.to_string() },
        Response::TimedOut => Asked::TimedOut,
        Response::Unsupported => Asked::Unsupported(Lacking(missing.map(Into::into))),
    })
}

/// What the client calls a page (ELIC-3): the same whenever it is asked again (ELIC-10), and nobody can guess it.
pub(super) fn elicitation_id(chain: &[u8], key: &str) -> String {
    let hash = Sha256::new().chain_update(chain).chain_update(key).finalize();
    hex(&hash[..size_of::<Digest>()])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl<K: AsRef<str>, Q: Ask> sealed::Sealed for Vec<(K, Q)> {}

impl<K: AsRef<str>, Q: Ask> Questions for Vec<(K, Q)> {
    type Answers = Vec<Asked<Q::Answer>>;

    fn ask(self, round: &mut Round<'_>) -> Result<Option<Self::Answers>, CallError> {
        let answers: Vec<_> =
            self.iter().map(|(key, question)| round.one(key.as_ref(), question)).collect::<Result<_, _>>()?;
        Ok(answers.into_iter().collect())
    }
}

macro_rules! several {
    ($($key:ident $question:ident $place:tt),+) => {
        impl<$($key: AsRef<str>, $question: Ask),+> sealed::Sealed for ($(($key, $question),)+) {}

        impl<$($key: AsRef<str>, $question: Ask),+> Questions for ($(($key, $question),)+) {
            type Answers = ($(Asked<$question::Answer>,)+);

            fn ask(self, round: &mut Round<'_>) -> Result<Option<Self::Answers>, CallError> {
                let answers = ($(round.one(self.$place.0.as_ref(), &self.$place.1)?,)+);
                // All of them, before any is missed: they are asked at once.
                Ok((|| Some(($(answers.$place?,)+)))())
            }
        }
    };
}

several!(K0 Q0 0);
several!(K0 Q0 0, K1 Q1 1);
several!(K0 Q0 0, K1 Q1 1, K2 Q2 2);
several!(K0 Q0 0, K1 Q1 1, K2 Q2 2, K3 Q3 3);
several!(K0 Q0 0, K1 Q1 1, K2 Q2 2, K3 Q3 3, K4 Q4 4);
several!(K0 Q0 0, K1 Q1 1, K2 Q2 2, K3 Q3 3, K4 Q4 4, K5 Q5 5);
