//! What a definition says to the server alone: who may call the tool, for how long its answers are kept, and its tags.

use std::time::Duration;

use mcp_core::catalog::TaskSupport;
use serde_json::Value;

use super::{Reader, Tool, kind};
use crate::guard::CacheHint;

const CACHE: [&str; 2] = ["ttlMs", "scope"];

impl Reader {
    pub(super) fn guards(&mut self) {
        self.scope();
        self.cache();
        if let Some(support) = self.take("taskSupport") {
            self.task_support("taskSupport", &support);
        }
        self.sensitivity();
        self.tool.tags = self.object("tags", "TOOL-3");
    }

    pub(super) fn sensitivity(&mut self) {
        if let Some(says) = self.take("sensitive") {
            self.sensitive("sensitive", &says);
        }
    }

    /// A text as OAuth has it, or a list.
    pub(super) fn scope(&mut self) {
        let scopes = match self.take("scope") {
            None => return,
            Some(Value::String(scopes)) => Some(scopes),
            Some(Value::Array(scopes)) => {
                scopes.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|scopes| scopes.join(" "))
            }
            Some(_) => None,
        };
        match scopes {
            Some(scopes) if scopes.trim().is_empty() => self.wrong(
                "AUTH-6",
                format!(
                    "the `scope` of {} is empty, which would let everybody in: name one, such as \"notes:read\", or leave it \
                     out",
                    self.whose
                ),
            ),
            Some(scopes) => self.change(|tool| tool.scope(scopes)),
            None => self.wrong(
                "AUTH-6",
                format!("the `scope` of {} must be a text with scopes between blanks, or a list of texts", self.whose),
            ),
        }
    }

    pub(super) fn cache(&mut self) {
        let mut hint = CacheHint::new();
        for (name, value) in self.object("cache", "CACHE-1") {
            match (name.as_str(), &value) {
                ("ttlMs", Value::Number(number)) if number.is_u64() => {
                    hint = hint.ttl(Duration::from_millis(number.as_u64().unwrap_or_default()));
                }
                ("ttlMs", _) => self.wrong(
                    "CACHE-1",
                    format!("`cache.ttlMs` of {} must be a number of milliseconds, whole and not negative", self.whose),
                ),
                ("scope", Value::String(scope)) if scope == "public" => hint = hint.public(),
                ("scope", Value::String(scope)) if scope == "private" => hint = hint.private(),
                ("scope", _) => {
                    let what = format!("`cache.scope` of {} must be \"public\" or \"private\"", self.whose);
                    self.wrong("CACHE-1", what);
                }
                ("public" | "private", _) => {
                    let scope = if (name == "public") == (value != false) { "public" } else { "private" };
                    self.wrong(
                        "TOOL-3",
                        format!(
                            "`cache` of {} has a member `{name}`, which nobody reads: did you mean `scope = \"{scope}\"`?",
                            self.whose
                        ),
                    );
                }
                _ => self.unknown(&format!("`cache` of {} has", self.whose), &name, &CACHE),
            }
        }
        self.change(|tool| tool.cache(hint));
    }

    /// In the words of a list of tools, or in those of the builder.
    pub(super) fn task_support(&mut self, member: &str, says: &Value) {
        let support = match says.as_str() {
            Some("forbidden" | "none") => TaskSupport::None,
            Some("optional" | "supported") => TaskSupport::Supported,
            Some("required") => TaskSupport::Required,
            _ => {
                let what = format!(
                    "`{member}` of its definition must be \"none\" or \"forbidden\", \"supported\" or \"optional\", or \
                     \"required\""
                );
                return self.wrong("TASK-2", what);
            }
        };
        self.change(|tool| tool.task_support(support));
    }

    /// Can only add an obligation: what says that it is not sensitive, takes nothing back that says it is.
    pub(super) fn sensitive(&mut self, member: &str, says: &Value) {
        match says {
            Value::Bool(true) => self.change(|tool| tool.sensitive(true)),
            Value::Bool(false) => {}
            other => {
                let what = format!("`{member}` of {} must be true or false, not {}", self.whose, kind(other));
                self.wrong("TOOL-15", what);
            }
        }
    }

    pub(super) fn change(&mut self, how: impl FnOnce(Tool) -> Tool) {
        self.tool = how(std::mem::replace(&mut self.tool, Tool::new("")));
    }
}
