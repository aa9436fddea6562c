//! What the client hears, and what the user, the model and the file system behind it say.

use std::sync::{Arc, Mutex};

use rmcp::{
    ClientHandler, ErrorData,
    model::{
        ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
        ResourceUpdatedNotificationParam,
    },
    service::{NotificationContext, RequestContext, RoleClient},
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) config: ClientConfig,
    pub(crate) logs: Arc<Mutex<Vec<LoggingMessageNotificationParam>>>,
    pub(crate) progress: Arc<Mutex<Vec<(ProgressToken, f64)>>>,
    /// Other notifications, by the last parts of their methods; an update with the URI.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

impl Handler {
    fn hear(&self, what: impl Into<String>) {
        self.heard.lock().unwrap().push(what.into());
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push((params.progress_token, params.progress));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.logs.lock().unwrap().push(params);
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(params.uri);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear("tools/list_changed");
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear("prompts/list_changed");
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(request).expect("a request is JSON");
        if request["message"] == "Say no" {
            return result(json!({ "action": "decline" }));
        }
        let fields = request["requestedSchema"]["properties"].as_object().into_iter().flat_map(Map::keys);
        let content: Map<String, Value> = fields.map(|field| (field.clone(), filled(field))).collect();
        result(json!({ "action": "accept", "content": content }))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = serde_json::to_value(params).expect("a request is JSON");
        let content = &request["messages"][0]["content"];
        let text = content.get(0).unwrap_or(content)["text"].as_str().unwrap_or_default();
        let said = format!("{text} ({})", request["maxTokens"]);
        let content = json!({ "type": "text", "text": said });
        result(json!({ "role": "assistant", "model": "none", "stopReason": "endTurn", "content": content }))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let notes = json!({ "uri": "file:///home/ada/notes", "name": "notes" });
        result(json!({ "roots": [notes, { "uri": "file:///home/ada/music" }] }))
    }
}

fn result<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn filled(field: &str) -> Value {
    match field {
        "username" => "ada",
        "email" => "ada@example.org",
        "name" => "Ada",
        "color" => "blue",
        "context" => "cats",
        _ => return Value::Null,
    }
    .into()
}
