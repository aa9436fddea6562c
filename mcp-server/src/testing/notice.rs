//! What a server says without being asked.

use mcp_core::Level;
use serde_json::Value;

/// One thing that the server said on its own.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// How far a call is.
    Progress(ProgressNotice),
    /// A log message.
    Log(LogNotice),
    /// The list of tools has changed.
    ToolsChanged,
    /// The list of resources has changed, or that of their templates.
    ResourcesChanged,
    /// The list of prompts has changed.
    PromptsChanged,
    /// What the resource of that URI holds has changed.
    ResourceUpdated(String),
    /// Anything else: the whole notification.
    Other(Value),
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProgressNotice {
    /// The token of the request. That of a request of [`Client`](super::Client) is its [id](super::Call::id).
    pub token: Value,
    /// How much is done.
    pub progress: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// In words. Not before 2025-03-26.
    pub message: Option<String>,
}

/// A log message for the client.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LogNotice {
    /// How serious it is.
    pub level: Level,
    /// Which part of the server says it.
    pub logger: Option<String>,
    /// What it says.
    pub data: Value,
}

impl Notice {
    pub(super) fn read(message: Value) -> Self {
        let params = &message["params"];
        let text = |key: &str| params[key].as_str().map(ToOwned::to_owned);
        let read = match message["method"].as_str() {
            Some("notifications/progress") => params["progress"].as_f64().map(|progress| {
                Self::Progress(ProgressNotice {
                    token: params["progressToken"].clone(),
                    progress,
                    total: params["total"].as_f64(),
                    message: text("message"),
                })
            }),
            Some("notifications/message") => params["level"]
                .as_str()
                .and_then(Level::parse)
                .map(|level| Self::Log(LogNotice { level, logger: text("logger"), data: params["data"].clone() })),
            Some("notifications/tools/list_changed") => Some(Self::ToolsChanged),
            Some("notifications/resources/list_changed") => Some(Self::ResourcesChanged),
            Some("notifications/prompts/list_changed") => Some(Self::PromptsChanged),
            Some("notifications/resources/updated") => text("uri").map(Self::ResourceUpdated),
            _ => None,
        };
        read.unwrap_or(Self::Other(message))
    }
}
