//! The checks of resources, prompts, completions, changes, and of what the server asks.

use std::time::{Duration, Instant};

use rmcp::{
    ServiceError,
    model::{
        GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams, ServerNotification,
        SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
    },
    service::Subscription,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{Client, failed, texts};

const WATCHED: &str = "test://watched-resource";

fn value(result: Result<impl Serialize, ServiceError>, what: &str) -> Result<Value, String> {
    let result = result.map_err(|error| format!("{what}: {error:?}"))?;
    Ok(serde_json::to_value(result).expect("a result is JSON"))
}

fn refused(result: Result<impl Serialize, ServiceError>, code: i32, named: &str) -> Result<(), String> {
    match result {
        Err(ServiceError::McpError(error)) => {
            let fits = error.code.0 == code && error.message.contains(named);
            want!(fits, "expected {code} that names {named}, got {} {}", error.code.0, error.message);
            Ok(())
        }
        Err(other) => Err(format!("expected error {code}, got {other:?}")),
        Ok(result) => Err(format!("expected error {code}, got {}", json!(result))),
    }
}

/// All items of a list.
macro_rules! pages {
    ($client:expr, $list:ident, $items:ident) => {{
        let (mut items, mut cursor) = (Vec::new(), None);
        loop {
            let params = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = $client.service.$list(params).await.map_err(|error| format!("{error:?}"))?;
            items.extend(page.$items);
            want!(items.len() < 1000, "the list never ends");
            cursor = page.next_cursor;
            if cursor.is_none() {
                break serde_json::to_value(items).expect("a list is JSON");
            }
        }
    }};
}

fn has(list: &Value, expected: &Value) -> bool {
    let expected = expected.as_object().expect("an object");
    let items = list.as_array().into_iter().flatten();
    items.into_iter().any(|item| expected.iter().all(|(key, value)| item[key] == *value))
}

impl Client {
    pub(crate) async fn resources(&self) -> Result<(), String> {
        let resources = pages!(self, list_resources, resources);
        for (uri, kind) in
            [("test://static-text", "text/plain"), ("test://static-binary", "image/png"), (WATCHED, "text/plain")]
        {
            want!(has(&resources, &json!({ "uri": uri, "mimeType": kind })), "{uri} of {kind}: got {resources}");
        }
        let templates = pages!(self, list_resource_templates, resource_templates);
        let expected = json!({ "uriTemplate": "test://template/{id}/data", "mimeType": "application/json" });
        want!(has(&templates, &expected), "templates: got {templates}");
        Ok(())
    }

    async fn one(&self, uri: &str, kind: &str) -> Result<Value, String> {
        let result = value(self.service.read_resource(ReadResourceRequestParams::new(uri)).await, uri)?;
        let contents = &result["contents"];
        let one = contents.as_array().is_some_and(|contents| contents.len() == 1);
        want!(one && has(contents, &json!({ "uri": uri, "mimeType": kind })), "{uri}: got {result}");
        Ok(contents[0].clone())
    }

    pub(crate) async fn read(&self) -> Result<(), String> {
        let text = self.one("test://static-text", "text/plain").await?;
        want!(text["text"] == "This is the content of the static text resource.", "static-text: got {text}");
        let image = self.one("test://static-binary", "image/png").await?;
        let png = image["blob"].as_str().is_some_and(|blob| blob.starts_with("iVBORw0KGgo"));
        want!(png, "static-binary is not a PNG: {image}");
        let data = self.one("test://template/a%20b/data", "application/json").await?;
        let read: Value = serde_json::from_str(data["text"].as_str().unwrap_or_default()).unwrap_or_default();
        want!(read["id"] == "a b" && read["templateTest"] == true, "template: got {data}");
        let code = if self.modern { -32602 } else { -32002 };
        refused(
            self.service.read_resource(ReadResourceRequestParams::new("test://nowhere")).await,
            code,
            "test://nowhere",
        )
    }

    async fn messages(&self, name: &str, arguments: Value) -> Result<Value, ServiceError> {
        let mut params = GetPromptRequestParams::new(name);
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        let result = self.service.get_prompt(params).await?;
        Ok(serde_json::to_value(result.messages).expect("messages are JSON"))
    }

    async fn prompt(&self, name: &str, arguments: Value, expected: &[&str]) -> Result<Value, String> {
        let messages = value(self.messages(name, arguments).await, name)?;
        let types = messages.as_array().into_iter().flatten();
        let types: Vec<_> = types.map(|message| message["content"]["type"].as_str().unwrap_or_default()).collect();
        want!(types == expected, "{name}: got {messages}");
        Ok(messages[0]["content"].clone())
    }

    pub(crate) async fn prompts(&self) -> Result<(), String> {
        let prompts = pages!(self, list_prompts, prompts);
        let all = prompts.as_array().into_iter().flatten();
        let two = all.into_iter().find(|prompt| prompt["name"] == "test_prompt_with_arguments");
        let arguments = two.and_then(|two| two["arguments"].as_array()).into_iter().flatten();
        let arguments: Vec<_> = arguments.map(|argument| (&argument["name"], &argument["required"])).collect();
        want!(
            json!(arguments) == json!([["arg1", true], ["arg2", true]]),
            "prompts/list: expected arg1 and arg2, got {prompts}"
        );
        let simple = self.prompt("test_simple_prompt", Value::Null, &["text"]).await?;
        want!(simple["text"] == "This is a simple prompt for testing.", "test_simple_prompt: got {simple}");
        let two = json!({ "arg1": "Grüße", "arg2": "b" });
        let said = self.prompt("test_prompt_with_arguments", two, &["text"]).await?;
        want!(said["text"] == "Prompt with arguments: arg1='Grüße', arg2='b'", "two arguments: got {said}");
        let uri = json!({ "resourceUri": "test://x" });
        let embedded = self.prompt("test_prompt_with_embedded_resource", uri, &["resource", "text"]).await?;
        want!(embedded["resource"]["uri"] == "test://x", "embedded: got {embedded}");
        let image = self.prompt("test_prompt_with_image", Value::Null, &["image", "text"]).await?;
        want!(image["mimeType"] == "image/png", "image: got {image}");
        let one = json!({ "arg1": "a" });
        refused(self.messages("test_prompt_with_arguments", one).await, -32602, "arg2")?;
        refused(self.messages("no_such_prompt", json!({})).await, -32602, "no_such_prompt")
    }

    pub(crate) async fn complete(&self) -> Result<(), String> {
        let prompt = "test_prompt_with_arguments";
        let paris = self.service.complete_prompt_simple(prompt, "arg1", "par").await;
        let nothing = self.service.complete_prompt_simple(prompt, "arg2", "x").await;
        let ids = self.service.complete_resource_simple("test://template/{id}/data", "id", "12").await;
        for (values, expected) in
            [(paris, json!(["paris", "party"])), (nothing, json!([])), (ids, json!(["123", "124"]))]
        {
            let values = value(values, "complete")?;
            want!(values == expected, "expected {expected}, got {values}");
        }
        refused(self.service.complete_prompt_simple("none", "a", "").await, -32602, "none")
    }

    /// Opens a stream of changes; one that the client routes into it, not to its handler.
    async fn listen(&self, filter: Value) -> Result<Subscription, String> {
        let filter: SubscriptionFilter = serde_json::from_value(filter).expect("a filter");
        self.service.listen(filter).await.map_err(|error| format!("listen: {error:?}"))
    }

    /// Waits for a change: on the stream, or where there is none, from the handler.
    async fn hears(&self, stream: Option<&mut Subscription>, what: &str) -> Result<(), String> {
        let wait = async {
            let Some(stream) = stream else {
                while !self.handler.heard.lock().unwrap().iter().any(|heard| heard == what) {
                    sleep(Duration::from_millis(20)).await;
                }
                return Ok(());
            };
            loop {
                let told = match stream.next().await {
                    Ok(Some(ServerNotification::ResourceUpdatedNotification(update))) => update.params.uri,
                    Ok(Some(ServerNotification::ToolListChangedNotification(_))) => "tools/list_changed".to_owned(),
                    Ok(Some(ServerNotification::PromptListChangedNotification(_))) => "prompts/list_changed".to_owned(),
                    other => return Err(format!("{what}: got {other:?}")),
                };
                if told == what {
                    return Ok(());
                }
            }
        };
        timeout(Duration::from_secs(5), wait).await.unwrap_or_else(|_| Err(format!("{what}: nothing within 5 s")))
    }

    pub(crate) async fn subscribe(&self) -> Result<(), String> {
        let heard = || self.handler.heard.lock().unwrap().iter().filter(|heard| *heard == WATCHED).count();
        if self.modern {
            let mut stream = self.listen(json!({ "resourceSubscriptions": [WATCHED] })).await?;
            let honoured = stream.acknowledged().resource_subscriptions.clone();
            want!(honoured.as_deref() == Some(&[WATCHED.to_owned()]), "honoured: {honoured:?}");
            self.call("touch", json!({})).await?;
            self.hears(Some(&mut stream), WATCHED).await?;
            stream.cancel().await.map_err(|error| format!("{error:?}"))?;
        } else {
            value(self.service.subscribe(SubscribeRequestParams::new(WATCHED)).await, "subscribe")?;
            self.call("touch", json!({})).await?;
            self.hears(None, WATCHED).await?;
            want!(heard() == 1, "expected one update, got {}", heard());
            value(self.service.unsubscribe(UnsubscribeRequestParams::new(WATCHED)).await, "unsubscribe")?;
        }
        // A stream that its client closes has ended a moment later.
        let last = Instant::now() + Duration::from_secs(if self.modern { 5 } else { 0 });
        loop {
            self.handler.heard.lock().unwrap().clear();
            self.call("touch", json!({})).await?;
            sleep(Duration::from_millis(300)).await;
            if heard() == 0 {
                return Ok(());
            }
            want!(Instant::now() < last, "updates still come after the end");
        }
    }

    pub(crate) async fn changes(&self) -> Result<(), String> {
        let filter = json!({ "toolsListChanged": true, "promptsListChanged": true });
        let mut stream = if self.modern { Some(self.listen(filter).await?) } else { None };
        for kind in ["tool", "prompt"] {
            for there in [true, false] {
                self.handler.heard.lock().unwrap().clear();
                self.call(&format!("test_trigger_{kind}_change"), json!({})).await?;
                self.hears(stream.as_mut(), &format!("{kind}s/list_changed")).await?;
                let list =
                    if kind == "tool" { pages!(self, list_tools, tools) } else { pages!(self, list_prompts, prompts) };
                let name = format!("test_dynamic_{kind}");
                want!(has(&list, &json!({ "name": name })) == there, "{name}: expected {there}, got {list}");
            }
        }
        match stream.as_mut() {
            Some(stream) => stream.cancel().await.map_err(|error| format!("{error:?}")),
            None => Ok(()),
        }
    }

    async fn says(&self, name: &str, arguments: Value, expected: &str) -> Result<(), String> {
        let result = self.call(name, arguments).await?;
        want!(!failed(&result) && texts(&result) == [expected], "{name}: expected {expected}, got {result}");
        Ok(())
    }

    pub(crate) async fn elicit(&self) -> Result<(), String> {
        if self.revision.as_str() < "2025-06-18" {
            let result = self.call("test_elicitation", json!({ "message": "Who?" })).await?;
            want!(failed(&result), "elicitation is not part of {}, got {result}", self.revision);
            return Ok(());
        }
        let user = self.call("test_elicitation", json!({ "message": "Who are you?" })).await?;
        let said = texts(&user).concat();
        let content = said.strip_prefix("User response: action=accept, content=").unwrap_or_default();
        let content: Value = serde_json::from_str(content).unwrap_or_default();
        want!(content == json!({ "username": "ada", "email": "ada@example.org" }), "accepted: got {user}");
        let declined = self.call("test_elicitation", json!({ "message": "Say no" })).await?;
        want!(texts(&declined).concat().starts_with("User response: action=decline"), "declined: got {declined}");
        self.says("test_input_required_result_multi_round", json!({}), "Ada likes blue.").await?;
        let context = self.prompt("test_input_required_result_prompt", Value::Null, &["text"]).await?;
        want!(context["text"] == "Use this context: cats", "a prompt that asks: got {context}");
        Ok(())
    }

    pub(crate) async fn sample(&self) -> Result<(), String> {
        let asked = json!({ "prompt": "What is 2 + 2?" });
        self.says("test_sampling", asked, "LLM response: What is 2 + 2? (100)").await
    }

    pub(crate) async fn roots(&self) -> Result<(), String> {
        let expected = "The client's roots: file:///home/ada/notes, file:///home/ada/music";
        self.says("test_input_required_result_list_roots", json!({}), expected).await
    }
}
