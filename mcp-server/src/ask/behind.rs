//! Code that asks by itself, with [`CallError::ask`], behind a question that is asked before it runs: each has a state of its own.

use mcp_core::question::Resume;

use super::memory::Memory;
use crate::call_error::CallError;
use crate::ctx::Ctx;

impl Ctx {
    /// The same call as it is to code behind the question of that key, once that was answered: what is resumed is what the code asked.
    pub(crate) fn behind(mut self, key: &str) -> Self {
        let state = self.with_memory(|memory| {
            Ok(match &memory.behind {
                _ if !memory.has_answer(key) => None,
                Some(state) => Some(Some(state.clone())),
                None => memory.open.is_empty().then_some(None),
            })
        });
        let Ok(Some(state)) = state else { return self };
        let resume = state.zip(self.resume()).map(|(state, resume)| Resume { state, replies: resume.replies.clone() });
        self.set_resume(resume);
        self
    }

    /// The error with which such code ended: if it asks by itself, the answer to the question of that key goes along.
    pub(crate) fn ended_behind(&self, key: &str, error: CallError) -> CallError {
        error.with_state(|state| {
            if Memory::wrote(&state) {
                return Ok(state);
            }
            let settings = self.asking();
            self.with_memory(|memory| {
                if !memory.has_answer(key) {
                    return Ok(state);
                }
                memory.behind = Some(state);
                settings.check(memory).map(Into::into)
            })
        })
    }
}
