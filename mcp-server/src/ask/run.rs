//! Asking, and what makes it safe that code runs again: the methods of [`Ctx`] that speak to earlier runs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::fault::Fault;
use mcp_core::policy::Policy;
use mcp_core::{Era, Note};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::memory::Memory;
use super::round::{Questions, Round, elicitation_id, hex};
use super::used::{RecentStates, UsedStates};
use super::{Ask, Asked};
use crate::call_error::{CallError, IntoCallError};
use crate::ctx::Ctx;

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
            let mut round = Round::new(self, memory);
            let answers = questions.ask(&mut round)?;
            match answers.filter(|_| round.is_answered()) {
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
            let mut round = Round::new(self, memory);
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
        match self.known_effect(key)? {
            Some(result) => Ok(result),
            None => self.keep_effect(key, effect.await.map_err(IntoCallError::into_call_error)?),
        }
    }

    /// The same for code that is not asynchronous.
    ///
    /// # Errors
    ///
    /// As [`once`](Ctx::once).
    pub fn once_blocking<T, F>(&self, key: &str, effect: F) -> Result<T, CallError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce() -> T,
    {
        match self.known_effect(key)? {
            Some(result) => Ok(result),
            None => self.keep_effect(key, effect()),
        }
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
            self.asking().check(memory).map(drop)
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

    fn known_effect<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, CallError> {
        self.with_kept(|memory| {
            let json = memory.effects.iter().find(|(known, _)| **known == *key).map(|(_, json)| &**json);
            json.map(|json| unkept(&format!("under `{key}`"), json)).transpose()
        })
    }

    fn keep_effect<T: Serialize>(&self, key: &str, result: T) -> Result<T, CallError> {
        let json = serde_json::to_string(&result).map_err(CallError::hidden)?;
        self.with_kept(|memory| {
            if memory.effects.iter().any(|(known, _)| **known == *key) {
                return Err(CallError::hidden(format!(
                    "two effects under the key `{key}` ran at the same time: one of them is kept, and both have happened"
                )));
            }
            memory.effects.push((key.into(), json.into()));
            self.asking().check(memory).map(drop)
        })?;
        Ok(result)
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
    pub(super) fn check(&self, memory: &Memory) -> Result<Vec<u8>, CallError> {
        let state = memory.write();
        if state.len() <= self.state {
            return Ok(state);
        }
        // Whoever answers may answer at any length, which is no defect of the code.
        let answers = memory.answer_bytes();
        if state.len() - answers <= self.state && answers > self.state / 2 {
            return Err(CallError::new(format_args!(
                "The answers to the questions so far are too long to be kept until the last: they are {answers} bytes, and all \
                 that is kept may be {}. Call again, and answer more briefly.",
                self.state
            )));
        }
        Err(CallError::hidden(format!(
            "the answers and data that this request keeps over its runs are {} bytes, and `Limits::state` allows {}: keep less, \
             or keep it on the server under a short name",
            state.len(),
            self.state
        )))
    }
}
