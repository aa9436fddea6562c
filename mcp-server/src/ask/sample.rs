//! Asking the client's model (SAMP-1 to SAMP-6).

mod part;

use std::collections::BTreeSet;

use mcp_core::answer::Role;
use mcp_core::question::Question;
use mcp_core::{Ability, Peer, Revision};
use serde_json::{Map, Value, json};

pub use self::part::{IntoParts, Part, ToolResult, ToolUse};
use super::{Ask, Said, sealed};

/// Asks the client's model, for at most so many tokens. Deprecated by 2026-07-28, which still has it.
///
/// ```
/// use mcp_server::ask::sample;
///
/// let question = sample(200)
///     .system("You answer in one sentence.")
///     .user("What is the capital of France?")
///     .temperature(0.2)
///     .hint("claude");
/// ```
///
/// What it is asked comes from a server and what it answers from a model: a person at the client may read both, change them, and
/// refuse, which is [`Asked::Declined`](super::Asked::Declined) (SAMP-5). On 2026-07-28 a refusal has no form, and is most likely an
/// answer that never comes.
pub fn sample(max_tokens: u32) -> Sample {
    Sample {
        max_tokens,
        messages: Vec::new(),
        params: Map::new(),
        preferences: Map::new(),
        hints: Vec::new(),
        stops: Vec::new(),
        context: IncludeContext::None,
        tools: Vec::new(),
        choice: None,
        faults: Vec::new(),
    }
}

/// A question to the client's model: see [`sample`].
#[derive(Clone, Debug)]
#[must_use = "a question is asked with `Ctx::ask`"]
pub struct Sample {
    max_tokens: u32,
    messages: Vec<(Role, Vec<Part>)>,
    params: Map<String, Value>,
    preferences: Map<String, Value>,
    hints: Vec<String>,
    stops: Vec<String>,
    context: IncludeContext,
    tools: Vec<SamplingTool>,
    choice: Option<ToolChoice>,
    faults: Vec<String>,
}

/// Whose context the client adds to the messages. Deprecated but for [`IncludeContext::None`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IncludeContext {
    /// Nobody's.
    #[default]
    None,
    /// That of its conversation with this server.
    ThisServer,
    /// That of its conversations with all servers.
    AllServers,
}

/// Whether the model uses tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolChoice {
    /// As it thinks right.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
}

/// A tool that the model may use. It is not called by the client: its use comes back as [`ToolUse`], and the server runs it and
/// asks again with a [`ToolResult`].
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingTool(Value);

impl SamplingTool {
    /// A tool of that name, what it is for, and the schema of its arguments: an object.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self(json!({"name": name.into(), "description": description.into(), "inputSchema": input_schema}))
    }
}

impl Sample {
    /// What the person says: a text, or [`Part`]s.
    pub fn user(self, parts: impl IntoParts) -> Self {
        self.message(Role::User, parts)
    }

    /// What the model has said.
    pub fn assistant(self, parts: impl IntoParts) -> Self {
        self.message(Role::Assistant, parts)
    }

    /// One more message.
    pub fn message(mut self, role: Role, parts: impl IntoParts) -> Self {
        self.messages.push((role, parts.into_parts()));
        self
    }

    /// Goes on where the model wants tools to be used: what it said, and then what came of them.
    pub fn used(self, said: &Sampled, results: impl IntoIterator<Item = ToolResult>) -> Self {
        let results: Vec<Part> = results.into_iter().map(Part::ToolResult).collect();
        self.assistant(said.content.clone()).user(results)
    }

    /// The system prompt.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.params.insert("systemPrompt".into(), text.into().into());
        self
    }

    /// How freely it answers.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.number("temperature", temperature, |_| true);
        self.params.insert("temperature".into(), temperature.into());
        self
    }

    /// One more text at which it stops.
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stops.push(text.into());
        self
    }

    /// Data for the provider of the model: a JSON object.
    pub fn metadata(mut self, metadata: Value) -> Self {
        if !metadata.is_object() {
            self.faults.push("its metadata is not a JSON object".into());
        }
        self.params.insert("metadata".into(), metadata);
        self
    }

    /// Part of the name of a model that would do: the first is liked best.
    pub fn hint(mut self, model: impl Into<String>) -> Self {
        self.hints.push(model.into());
        self
    }

    /// How much a low price matters, 0 to 1.
    pub fn cost_priority(self, priority: f64) -> Self {
        self.prefer("costPriority", priority)
    }

    /// How much speed matters, 0 to 1.
    pub fn speed_priority(self, priority: f64) -> Self {
        self.prefer("speedPriority", priority)
    }

    /// How much the model's powers matter, 0 to 1.
    pub fn intelligence_priority(self, priority: f64) -> Self {
        self.prefer("intelligencePriority", priority)
    }

    /// Whose context is added. Left out for a client that did not declare it (SAMP-3).
    pub const fn include_context(mut self, context: IncludeContext) -> Self {
        self.context = context;
        self
    }

    /// One more tool that the model may use. The client must have [`Ability::SamplingTools`] then, from 2025-11-25 on.
    pub fn tool(mut self, tool: SamplingTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Whether it uses them.
    pub const fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.choice = Some(choice);
        self
    }

    fn prefer(mut self, key: &str, priority: f64) -> Self {
        self.number(key, priority, |priority| (0.0..=1.0).contains(&priority));
        self.preferences.insert(key.into(), priority.into());
        self
    }

    fn number(&mut self, what: &str, number: f64, fits: impl FnOnce(f64) -> bool) {
        if !number.is_finite() || !fits(number) {
            self.faults.push(format!("`{what}` cannot be {number}"));
        }
    }

    /// What is wrong with it (SAMP-1, SAMP-4).
    fn check(&self) -> Result<(), String> {
        let mut faults = self.faults.clone();
        if self.max_tokens == 0 {
            faults.push("SAMP-1: `maxTokens` must be at least 1".into());
        }
        if self.messages.is_empty() || self.messages.iter().any(|(_, parts)| parts.is_empty()) {
            faults.push("SAMP-1: there is no message, or one without content".into());
        }
        if self.tools.iter().any(|tool| tool.0.pointer("/inputSchema/type") != Some(&"object".into())) {
            faults.push("SAMP-1: the `inputSchema` of a tool must be of type `object`".into());
        }
        let mut wanted = BTreeSet::new();
        for (role, parts) in &self.messages {
            let results: Vec<&str> = parts.iter().filter_map(Part::result_of).collect();
            if !results.is_empty() && (*role != Role::User || results.len() < parts.len()) {
                faults
                    .push("SAMP-4: a tool's result stands in a message of the user's, among nothing but others".into());
            }
            let given: BTreeSet<&str> = results.iter().copied().collect();
            if given != wanted || given.len() < results.len() {
                faults.push("SAMP-4: each use of a tool is followed by a message with its result, once".into());
            }
            wanted = parts.iter().filter_map(Part::used_id).collect();
            if !wanted.is_empty() && *role != Role::Assistant {
                faults.push("SAMP-4: only the assistant uses tools".into());
            }
        }
        if !wanted.is_empty() {
            faults.push("SAMP-4: the last message uses tools, and has no results after it".into());
        }
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    /// Whether it is only for clients that know tools in sampling.
    fn needs_tools(&self) -> bool {
        let of_tools = |part: &Part| part.used_id().is_some() || part.result_of().is_some();
        !self.tools.is_empty()
            || self.choice.is_some()
            || self.messages.iter().any(|(_, parts)| parts.iter().any(of_tools))
    }

    fn write_messages(&self, revision: Revision) -> Vec<Value> {
        let one = |role: Role, content: Value| json!({"role": role.as_str(), "content": content});
        let mut messages = Vec::new();
        for (role, parts) in &self.messages {
            match parts.as_slice() {
                [part] => messages.push(one(*role, part.json(revision))),
                // Before 2025-11-25 a message is one block (SAMP-2).
                parts if revision < Revision::V2025_11_25 => {
                    messages.extend(parts.iter().map(|part| one(*role, part.json(revision))));
                }
                parts => messages.push(one(*role, parts.iter().map(|part| part.json(revision)).collect())),
            }
        }
        messages
    }
}

impl sealed::Sealed for Sample {}

impl Ask for Sample {
    type Answer = Sampled;

    fn question(&self, peer: Option<&Peer>) -> Result<Question, String> {
        self.check()?;
        let revision = peer.map_or(Revision::MODERN, |peer| peer.revision);
        let mut params = Map::new();
        params.insert("messages".into(), self.write_messages(revision).into());
        params.insert("maxTokens".into(), self.max_tokens.into());
        let mut preferences = self.preferences.clone();
        if !self.hints.is_empty() {
            preferences.insert("hints".into(), self.hints.iter().map(|name| json!({"name": name})).collect());
        }
        if !preferences.is_empty() {
            params.insert("modelPreferences".into(), preferences.into());
        }
        params.extend(self.params.clone());
        if !self.stops.is_empty() {
            params.insert("stopSequences".into(), self.stops.clone().into());
        }
        let context = match self.context {
            IncludeContext::None => None,
            IncludeContext::ThisServer => Some("thisServer"),
            IncludeContext::AllServers => Some("allServers"),
        };
        // Before 2025-11-25 nobody could declare it.
        let known =
            |peer: &Peer| peer.revision < Revision::V2025_11_25 || peer.capabilities.has(Ability::SamplingContext);
        if let Some(context) = context.filter(|_| peer.is_none_or(known)) {
            params.insert("includeContext".into(), context.into());
        }
        if !self.tools.is_empty() {
            params.insert("tools".into(), self.tools.iter().map(|tool| tool.0.clone()).collect());
        }
        if let Some(choice) = self.choice {
            let mode = match choice {
                ToolChoice::Auto => "auto",
                ToolChoice::Required => "required",
                ToolChoice::None => "none",
            };
            params.insert("toolChoice".into(), json!({"mode": mode}));
        }
        Ok(Question::Sample { params: Value::from(params).to_string().into(), tools: self.needs_tools() })
    }

    fn read(&self, result: &[u8]) -> Said<Sampled> {
        match serde_json::from_slice(result).map_err(|error| error.to_string()).and_then(Sampled::read) {
            Ok(sampled) => Said::Accepted(sampled),
            Err(why) => Said::Wrong(why),
        }
    }

    fn is_refusal(&self, code: i64) -> bool {
        code == -1
    }
}

/// What the client's model said (SAMP-2).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sampled {
    /// Who says it: mostly the assistant.
    pub role: Role,
    /// What it says.
    pub content: Vec<Part>,
    /// Which model it is.
    pub model: String,
    /// Why it stopped.
    pub stop_reason: Option<StopReason>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It had said what it had to say.
    EndTurn,
    /// At a text at which it was to stop.
    StopSequence,
    /// At the most tokens that it may use.
    MaxTokens,
    /// It wants tools to be used.
    ToolUse,
    /// Something else.
    Other(String),
}

impl Sampled {
    /// All its text, with line breaks between blocks.
    #[must_use]
    pub fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// The tools that it wants to be used.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|part| match part {
            Part::ToolUse(used) => Some(used),
            _ => None,
        })
    }

    fn read(result: Value) -> Result<Self, String> {
        let role = match result.get("role").and_then(Value::as_str) {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return Err("`role` is neither `user` nor `assistant`".into()),
        };
        let text = |key: &str| result.get(key).and_then(Value::as_str);
        let model = text("model").ok_or("`model` is no text")?.to_owned();
        let stop_reason = text("stopReason").map(|reason| match reason {
            "endTurn" => StopReason::EndTurn,
            "stopSequence" => StopReason::StopSequence,
            "maxTokens" => StopReason::MaxTokens,
            "toolUse" => StopReason::ToolUse,
            other => StopReason::Other(other.to_owned()),
        });
        let content = match result.get("content") {
            Some(Value::Array(blocks)) => blocks.iter().map(Part::read).collect(),
            Some(block @ Value::Object(_)) => Part::read(block).map(|part| vec![part]),
            _ => None,
        };
        let content = content.ok_or("`content` is no block of content and no list of blocks")?;
        Ok(Self { role, content, model, stop_reason })
    }
}
