//! Asking, and what makes it safe that code runs again: the methods of [`Ctx`] that speak to earlier runs.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::fault::Fault;
use mcp_core::policy::Policy;
use mcp_core::question::{Question, Response, Resume};
use mcp_core::{Era, Kind, Note};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use super::memory::{Answered, Digest, Memory, Open, digest};
use super::used::{RecentStates, UsedStates};
use super::{Ask, Asked, Lacking, Said, sealed};
use crate::call_error::{CallError, IntoCallError};
use crate::ctx::Ctx;

/// How often a question is asked whose answer is not what was asked for: a person may mend it once (MRTR-7).
const WRONG: u8 = 2;
/// How often a question is asked that the client comes back without an answer to (MRTR-7).
const MISSING: u8 = 3;

/// What the server says of asking.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Bytes that a request may keep.
    pub(crate) state: usize,
    /// How long a sealed state is good.
    pub(crate) lives: Duration,
    pub(crate) used: Arc<dyn UsedStates>,
}

impl Settings {
    pub(crate) fn new(policy: &Policy, used: Option<Arc<dyn UsedStates>>) -> Self {
        let used = used.unwrap_or_else(|| Arc::new(RecentStates::default()));
        Self { state: policy.limits.state, lives: policy.timing.state.into(), used }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(&Policy::default(), None)
    }
}

impl Ctx {
    /// Asks the client, under a key of your choice. The first time, this returns an error that ends the run: hand it on with
    /// `?`. Once the answer is there the code is **run again from its beginning**, and the same line returns the answer.
    ///
    /// Works in both eras, in tools, prompts and resources (MRTR-1, MRTR-15). See [`ask`](crate::ask) for what can be asked and
    /// how to write code that may run again.
    ///
    /// ```
    /// use mcp_server::ask::elicit_as;
    /// use mcp_server::{Arguments, CallError, Ctx, Tool};
    ///
    /// #[derive(Arguments)]
    /// struct Approval {
    ///     /// Really deploy?
    ///     sure: bool,
    /// }
    ///
    /// fn deploy(ctx: Ctx) -> Result<&'static str, CallError> {
    ///     let approval = ctx.ask("approval", elicit_as::<Approval>("Approve the deploy?"))?.required()?;
    ///     Ok(if approval.sure { "Deployed." } else { "Not deployed." })
    /// }
    ///
    /// let tool = Tool::new("deploy").description("Deploys.").run(deploy);
    /// ```
    ///
    /// # Errors
    ///
    /// For the caller to hand on, and never to look into: the question that is to be asked, or, for the log, what is wrong
    /// with it. Two different questions under one key are wrong, also if the first was asked by an earlier run.
    pub fn ask<Q: Ask>(&self, key: &str, question: Q) -> Result<Asked<Q::Answer>, CallError> {
        let (answer,) = self.ask_all(((key, question),))?;
        Ok(answer)
    }

    /// Asks several questions at once, each under its key: a tuple of `(key, question)`, at most six; or a `Vec` of them.
    ///
    /// ```
    /// use mcp_server::ask::{elicit, roots, sample};
    /// use mcp_server::{CallError, Ctx};
    ///
    /// fn greet(ctx: Ctx) -> Result<String, CallError> {
    ///     let (wish, greeting, folders) = ctx.ask_all((
    ///         ("wish", elicit("Do you want to be greeted?")),
    ///         ("greeting", sample(100).user("Write a greeting.")),
    ///         ("folders", roots()),
    ///     ))?;
    ///     wish.required()?;
    ///     let folders = folders.accepted().map_or(0, |roots| roots.len());
    ///     Ok(format!("{} You have {folders} folders.", greeting.required()?.text()))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ask`](Ctx::ask).
    pub fn ask_all<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, CallError> {
        let settings = self.asking();
        self.with_memory(|memory| {
            let mut round = Round { ctx: self, memory, pending: Vec::new(), open: Vec::new() };
            let answers = questions.ask(&mut round)?;
            match answers.filter(|_| round.pending.is_empty()) {
                Some(answers) => Ok(answers),
                None => Err(round.end(settings)),
            }
        })
    }

    /// Asks once more what was answered: the error that ends the run, for `return Err(..)`. For a page that the person agreed to
    /// open and where they are not done yet (ELIC-10).
    ///
    /// ```
    /// use mcp_server::ask::elicit_url;
    /// use mcp_server::{CallError, Ctx};
    ///
    /// async fn import(ctx: Ctx) -> Result<String, CallError> {
    ///     let login = ctx.once("login", async { begin_login() }).await?;
    ///     let page = || elicit_url("Sign in to import.", format!("https://example.com/login/{login}"));
    ///     ctx.ask("login", page())?.required()?;
    ///     match done(&login) {
    ///         Some(user) => Ok(format!("Imported what {user} has.")),
    ///         None => Err(ctx.ask_again("login", page())),
    ///     }
    /// }
    /// # fn begin_login() -> String { "1".into() }
    /// # fn done(_: &str) -> Option<String> { None }
    /// ```
    #[must_use]
    pub fn ask_again<Q: Ask>(&self, key: &str, question: Q) -> CallError {
        let settings = self.asking();
        let asked = self.with_memory(|memory| {
            memory.answers.retain(|answered| *answered.key != *key);
            memory.open.retain(|open| *open.key != *key);
            let mut round = Round { ctx: self, memory, pending: Vec::new(), open: Vec::new() };
            match round.one(key, &question)? {
                // A client that can no longer be asked: nothing was gained since.
                Some(asked) => asked.required().map(drop),
                None => Err(round.end(settings)),
            }
        });
        asked.err().unwrap_or_else(|| CallError::hidden("a question was answered before it was asked"))
    }

    /// Tells the client that the person is done at the page that was asked for under that key, so that it need not be asked whether
    /// they are (ELIC-7). Clients of 2025-11-25 that take pages hear it; for all others it does nothing.
    pub fn page_done(&self, key: &str) {
        if let Some(id) = self.elicitation_id(key) {
            self.note(Note::PageDone { id: id.into() });
        }
    }

    /// The name under which the client of 2025-11-25 knows the page that was asked for under that key. `None` before it was asked.
    #[must_use]
    pub fn elicitation_id(&self, key: &str) -> Option<String> {
        let id = self.with_memory(|memory| {
            let asked = memory.open.iter().any(|open| *open.key == *key);
            let asked = asked || memory.answers.iter().any(|answered| *answered.key == *key);
            Ok(memory.chain.filter(|_| asked).map(|chain| elicitation_id(&chain, key)))
        });
        id.ok().flatten()
    }

    /// Runs something whose effect must not happen again when the code runs again, and keeps what it returned under that key:
    /// later runs of the same request get that, and the future is dropped unpolled.
    ///
    /// ```
    /// use mcp_server::ask::elicit;
    /// use mcp_server::{CallError, Ctx};
    ///
    /// async fn order(ctx: Ctx) -> Result<String, CallError> {
    ///     let number: u64 = ctx.once("reserve", reserve()).await?;
    ///     ctx.ask("pay", elicit(format!("Pay for order {number}?")))?.required()?;
    ///     Ok(format!("Order {number} is on its way."))
    /// }
    /// # async fn reserve() -> u64 { 7 }
    /// ```
    ///
    /// It is kept once the code asks. On 2026-07-28 it travels through the client, who can read it and not change it, and who may
    /// send the same state twice: see [`one_time`](Ctx::one_time).
    ///
    /// # Errors
    ///
    /// For the log: if what is kept is of another type, or all together larger than [`Limits::state`](crate::Limits).
    pub async fn once<T, F>(&self, key: &str, effect: F) -> Result<T, CallError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        self.try_once(key, async { Ok::<_, CallError>(effect.await) }).await
    }

    /// The same for what may fail. A failure is not kept, so the next run tries again.
    ///
    /// # Errors
    ///
    /// Those of the future, and as [`once`](Ctx::once).
    pub async fn try_once<T, E, F>(&self, key: &str, effect: F) -> Result<T, CallError>
    where
        T: Serialize + DeserializeOwned,
        E: IntoCallError,
        F: Future<Output = Result<T, E>>,
    {
        let known = self.with_kept(|memory| {
            let json = memory.effects.iter().find(|(known, _)| **known == *key).map(|(_, json)| &**json);
            json.map(|json| unkept(&format!("under `{key}`"), json)).transpose()
        })?;
        if let Some(result) = known {
            return Ok(result);
        }
        let result = effect.await.map_err(IntoCallError::into_call_error)?;
        let json = serde_json::to_string(&result).map_err(CallError::hidden)?;
        self.with_kept(|memory| {
            memory.effects.push((key.into(), json.into()));
            self.asking().check(memory.write()).map(drop)
        })?;
        Ok(result)
    }

    /// Keeps data for later runs of the same request, in place of what was kept before. It is kept once the code asks; the rest is
    /// as with [`once`](Ctx::once).
    ///
    /// # Errors
    ///
    /// For the log: if it cannot be written as JSON, or all that is kept is larger than [`Limits::state`](crate::Limits).
    pub fn keep<T: Serialize + ?Sized>(&self, data: &T) -> Result<(), CallError> {
        let json = serde_json::to_string(data).map_err(CallError::hidden)?;
        self.with_kept(|memory| {
            memory.kept = Some(json.into());
            self.asking().check(memory.write()).map(drop)
        })
    }

    /// What was [kept](Ctx::keep), by this run or an earlier one. `None` if nothing was.
    ///
    /// # Errors
    ///
    /// For the log: if it is of another type.
    pub fn kept<T: DeserializeOwned>(&self) -> Result<Option<T>, CallError> {
        self.with_kept(|memory| memory.kept.as_deref().map(|json| unkept("with `keep`", json)).transpose())
    }

    /// Makes sure that what follows happens once, however often a client sends the same answers (MRTR-10): put it after the last
    /// question and before what must not happen twice.
    ///
    /// On 2026-07-28 the state of a question travels through the client, and sealing alone does not keep it from being sent
    /// twice. What was used up is kept in the server's [`UsedStates`]. In the other revisions nothing can be sent twice, and this
    /// does nothing; nor before anything was asked.
    ///
    /// ```
    /// use mcp_server::ask::elicit;
    /// use mcp_server::{CallError, Ctx};
    ///
    /// async fn pay(ctx: Ctx) -> Result<&'static str, CallError> {
    ///     ctx.ask("pay", elicit("Pay 10 Euro?"))?.required()?;
    ///     ctx.one_time().await?;
    ///     Ok("Paid.")
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// -32602 if it was used before. For the log: if that cannot be found out.
    pub async fn one_time(&self) -> Result<(), CallError> {
        if self.peer().revision.era() == Era::Legacy || self.resume().is_none() {
            return Ok(());
        }
        let name = self.with_kept(|memory| {
            let chain = memory.chain.filter(|_| !memory.claimed);
            Ok(chain.map(|chain| format!("{}-{}", hex(&chain), memory.used)))
        })?;
        let Some(name) = name else { return Ok(()) };
        let settings = self.asking();
        if !settings.used.claim(&name, settings.lives).await.map_err(CallError::hidden)? {
            return Err(CallError::fault(Fault::invalid_params(
                "`requestState` was used before, and is good for one use: call again without it",
            )));
        }
        self.with_kept(|memory| {
            memory.used = memory.used.saturating_add(1);
            memory.claimed = true;
            Ok(())
        })
    }

    /// What is known from earlier runs, for what must be known to later ones.
    fn with_kept<T>(&self, look: impl FnOnce(&mut Memory) -> Result<T, CallError>) -> Result<T, CallError> {
        if !self.has_memory() {
            return Err(CallError::hidden(
                "an extractor keeps data over runs without saying so: call `Needs::cancellation` in its `needs`",
            ));
        }
        self.with_memory(look)
    }
}

fn unkept<T: DeserializeOwned>(place: &str, json: &str) -> Result<T, CallError> {
    let wrong =
        |error| CallError::hidden(format!("what was kept {place} is no `{}`: {error}", std::any::type_name::<T>()));
    serde_json::from_str(json).map_err(wrong)
}

impl Settings {
    fn check(&self, state: Vec<u8>) -> Result<Vec<u8>, CallError> {
        if state.len() <= self.state {
            return Ok(state);
        }
        Err(CallError::hidden(format!(
            "the answers and data that this request keeps over its runs are {} bytes, and `Limits::state` allows {}: keep less, \
             or keep it on the server under a short name",
            state.len(),
            self.state
        )))
    }
}

/// Questions that are asked at once: see [`Ctx::ask_all`].
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

impl Round<'_> {
    /// The answer; `None` if it has to be asked.
    fn one<Q: Ask>(&mut self, key: &str, question: &Q) -> Result<Option<Asked<Q::Answer>>, CallError> {
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
                "an earlier run asked another one under the same key. A question is the same in each run: what differs from \
                 run to run, such as the time, is kept with `Ctx::once` or `Ctx::keep`"
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
        self.open.push(Open { key: key.into(), digest, tries });
        Ok(None)
    }

    /// What came of a question that the run before asked; `None` if it has to be asked again. What nobody asked for is not
    /// looked at (MRTR-7).
    fn reply<Q: Ask>(&mut self, question: &Q, open: &Open, missing: Option<String>) -> Option<Asked<Q::Answer>> {
        let reply = self.ctx.resume().and_then(|resume: &Resume| resume.reply(&open.key)).cloned();
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
    fn end(self, settings: &Settings) -> CallError {
        let Self { memory, mut pending, open, .. } = self;
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
        memory.open = open;
        match settings.check(memory.write()) {
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

/// What stands in for the code of an error where the client's answer was wrong.
const WRONG_ANSWER: i64 = -32602;

fn unfit<T>(why: String) -> Asked<T> {
    Asked::Failed { code: WRONG_ANSWER, message: why }
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
fn elicitation_id(chain: &[u8], key: &str) -> String {
    let hash = Sha256::new().chain_update(chain).chain_update(key).finalize();
    hex(&hash[..size_of::<Digest>()])
}

fn hex(bytes: &[u8]) -> String {
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
