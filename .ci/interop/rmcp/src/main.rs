//! The checks of `../../operations.mjs` with rmcp's client. Takes the row as JSON, prints one JSON line for each check.

#![allow(deprecated)] // logging, sampling and roots are deprecated by 2026-07-28, and tested

macro_rules! want {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).chars().take(500).collect());
        }
    };
}

mod answers;
mod entries;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use rmcp::{
    ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, Implementation,
        LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams, ProtocolVersion, RequestMetaObject,
        ServerResult, SetLevelRequestParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RoleClient, RunningService},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use answers::Handler;

type Check<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + 'a>>;

const TOOLS: &[&str] = &[
    "echo",
    "add",
    "sleep",
    "panic",
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "json_schema_2020_12_tool",
    "test_custom_header",
    "test_missing_capability",
    "test_logging_tool",
    "test_sampling",
    "test_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "touch",
];

struct Client {
    service: RunningService<RoleClient, Handler>,
    handler: Handler,
    revision: String,
    modern: bool,
}

fn request(name: &str, arguments: Value, level: Option<LoggingLevel>) -> CallToolRequestParams {
    let mut params = CallToolRequestParams::new(name.to_owned());
    if let Value::Object(arguments) = arguments {
        params = params.with_arguments(arguments);
    }
    if let Some(level) = level {
        let mut meta = RequestMetaObject::default();
        meta.set_log_level(level);
        params.meta = Some(meta);
    }
    params
}

fn texts(result: &Value) -> Vec<&str> {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect()
}

fn failed(result: &Value) -> bool {
    result["isError"] == true
}

impl Client {
    async fn call_with(&self, params: CallToolRequestParams) -> Result<Value, ServiceError> {
        let result = self.service.call_tool(params).await?;
        Ok(serde_json::to_value(result).expect("a result is JSON"))
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value, String> {
        let result = self.call_with(request(name, arguments, None)).await;
        result.map_err(|error| format!("{name}: {error:?}"))
    }

    async fn error(&self, name: &str, code: i32) -> Result<String, String> {
        match self.call_with(request(name, json!({}), None)).await {
            Err(ServiceError::McpError(error)) => {
                want!(error.code.0 == code, "expected {code}, got {} {}", error.code.0, error.message);
                Ok(error.message.into_owned())
            }
            other => Err(format!("expected error {code}, got {other:?}")),
        }
    }

    async fn echo(&self, message: &str) -> Result<(), String> {
        let result = self.call("echo", json!({ "message": message })).await?;
        want!(!failed(&result) && texts(&result) == [message], "echo: expected {message:?}, got {result}");
        Ok(())
    }

    async fn list(&self) -> Result<(), String> {
        let mut tools = Vec::new();
        let mut cursor = None;
        loop {
            let params = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = self.service.list_tools(params).await.map_err(|error| format!("{error:?}"))?;
            tools.extend(page.tools);
            want!(tools.len() < 1000, "tools/list never ends");
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let mut names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        want!(names.len() == count, "duplicate tools");
        for name in TOOLS {
            want!(names.iter().any(|other| other == name), "tool missing: {name}");
        }
        for tool in &tools {
            let described = tool.description.as_ref().is_some_and(|text| !text.is_empty());
            want!(described && tool.input_schema.get("type") == Some(&json!("object")), "bad tool: {tool:?}");
        }
        let add = tools.iter().find(|tool| tool.name == "add").expect("checked above");
        let schema = add.output_schema.as_ref().map(|schema| schema.get("type"));
        if self.revision.as_str() >= "2025-06-18" {
            want!(schema == Some(Some(&json!("object"))), "add has no outputSchema: {add:?}");
        } else {
            want!(schema.is_none(), "outputSchema is not part of {}: {add:?}", self.revision);
        }
        Ok(())
    }

    async fn call_echo(&self) -> Result<(), String> {
        let unicode = "Grüße, 世界 🦀 \"q\" \\ \n\t\u{1}\u{2028} </script>";
        for message in ["hello", "", unicode, &"x".repeat(200_000)] {
            self.echo(message).await?;
        }
        Ok(())
    }

    async fn structured(&self) -> Result<(), String> {
        let result = self.call("add", json!({ "a": 2, "b": 3.5 })).await?;
        let text = texts(&result).iter().any(|text| text.contains("5.5"));
        want!(!failed(&result) && text, "expected a text block with 5.5, got {result}");
        let got = &result["structuredContent"];
        if self.revision.as_str() >= "2025-06-18" {
            want!(got["sum"] == 5.5, "expected structuredContent {{\"sum\":5.5}}, got {result}");
        } else {
            want!(got.is_null(), "structuredContent is not part of {}, got {result}", self.revision);
        }
        Ok(())
    }

    async fn types(&self, name: &str, expected: &[&str]) -> Result<Value, String> {
        let result = self.call(name, json!({})).await?;
        let blocks = result["content"].as_array().into_iter().flatten();
        let got: Vec<_> = blocks.map(|block| block["type"].as_str().unwrap_or_default()).collect();
        want!(!failed(&result) && got == expected, "{name}: expected {expected:?}, got {result}");
        Ok(result["content"][0].clone())
    }

    async fn content(&self) -> Result<(), String> {
        let text = self.types("test_simple_text", &["text"]).await?;
        want!(text["text"] == "This is a simple text response for testing.", "test_simple_text: got {text}");
        let image = self.types("test_image_content", &["image"]).await?;
        let png = image["data"].as_str().is_some_and(|data| data.starts_with("iVBORw0KGgo"));
        want!(image["mimeType"] == "image/png" && png, "not a PNG: {image}");
        if self.revision.as_str() >= "2025-03-26" {
            let audio = self.types("test_audio_content", &["audio"]).await?;
            let wav = audio["data"].as_str().is_some_and(|data| data.starts_with("UklGR"));
            want!(audio["mimeType"] == "audio/wav" && wav, "not a WAV: {audio}");
        } else {
            let result = self.call("test_audio_content", json!({})).await?;
            let mut blocks = result["content"].as_array().into_iter().flatten();
            want!(blocks.all(|block| block["type"] != "audio"), "audio is not part of {}, got {result}", self.revision);
        }
        let embedded = self.types("test_embedded_resource", &["resource"]).await?;
        want!(embedded["resource"]["uri"] == "test://embedded-resource", "test_embedded_resource: got {embedded}");
        self.types("test_multiple_content_types", &["text", "image", "resource"]).await?;
        let error = self.call("test_error_handling", json!({})).await?;
        let expected = ["This tool intentionally returns an error for testing"];
        want!(failed(&error) && texts(&error) == expected, "test_error_handling: got {error}");
        Ok(())
    }

    fn tool_request(name: &str, arguments: Value) -> ClientRequest {
        ClientRequest::CallToolRequest(CallToolRequest::new(request(name, arguments, None)))
    }

    async fn progress(&self) -> Result<(), String> {
        let request = Self::tool_request("sleep", json!({ "ms": 600 }));
        let options = PeerRequestOptions::no_options();
        let handle =
            self.service.send_cancellable_request(request, options).await.map_err(|error| error.to_string())?;
        let token = handle.progress_token.clone();
        let result = handle.await_response().await.map_err(|error| format!("{error:?}"))?;
        want!(
            matches!(&result, ServerResult::CallToolResult(result) if result.is_error != Some(true)),
            "sleep: got {result:?}"
        );
        sleep(Duration::from_millis(50)).await;
        let seen: Vec<f64> = self
            .handler
            .progress
            .lock()
            .unwrap()
            .iter()
            .filter(|(of, _)| *of == token)
            .map(|(_, value)| *value)
            .collect();
        want!(!seen.is_empty(), "no progress arrived");
        want!(seen.windows(2).all(|pair| pair[1] > pair[0]), "progress does not increase: {seen:?}");
        Ok(())
    }

    async fn cancel(&self) -> Result<(), String> {
        let request = Self::tool_request("sleep", json!({ "ms": 30_000 }));
        let options = PeerRequestOptions::no_options();
        let handle =
            self.service.send_cancellable_request(request, options).await.map_err(|error| error.to_string())?;
        sleep(Duration::from_millis(300)).await;
        let start = Instant::now();
        timeout(Duration::from_secs(2), handle.cancel(Some("not needed any more".into())))
            .await
            .map_err(|_| "cancel: nothing within 2 s")?
            .map_err(|error| format!("cancel: {error:?}"))?;
        self.echo("after cancel").await?;
        want!(start.elapsed() < Duration::from_secs(2), "cancelling and the next echo took {:?}", start.elapsed());
        sleep(Duration::from_millis(300)).await;
        let before = self.handler.progress.lock().unwrap().len();
        sleep(Duration::from_millis(500)).await;
        want!(self.handler.progress.lock().unwrap().len() == before, "the cancelled sleep still reports progress");
        Ok(())
    }

    async fn parallel(&self) -> Result<(), String> {
        let start = Instant::now();
        let sleeper = async {
            let result = self.call("sleep", json!({ "ms": 1500 })).await;
            (result, start.elapsed())
        };
        let echoes = async {
            let (a, b, c, d, e, f, g, h) = tokio::join!(
                self.echo("1"),
                self.echo("2"),
                self.echo("3"),
                self.echo("4"),
                self.echo("5"),
                self.echo("6"),
                self.echo("7"),
                self.echo("8"),
            );
            ([a, b, c, d, e, f, g, h], start.elapsed())
        };
        let ((slept, sleep_took), (echoes, echoes_took)) = tokio::join!(sleeper, echoes);
        slept?;
        echoes.into_iter().collect::<Result<Vec<_>, _>>()?;
        want!(echoes_took < sleep_took, "the calls were only answered after the sleep");
        Ok(())
    }

    async fn unknown(&self) -> Result<(), String> {
        let message = self.error("no_such_tool", -32602).await?;
        want!(message.contains("no_such_tool"), "the message does not name the tool: {message}");
        Ok(())
    }

    async fn invalid(&self) -> Result<(), String> {
        for (name, arguments) in [("echo", json!({ "message": 5 })), ("add", json!({ "a": 1 }))] {
            let result = self.call(name, arguments).await?;
            want!(failed(&result) && !texts(&result).is_empty(), "{name}: expected isError with a text, got {result}");
        }
        Ok(())
    }

    async fn panic(&self) -> Result<(), String> {
        self.error("panic", -32603).await?;
        self.echo("after panic").await
    }

    async fn logged(&self, level: Option<LoggingLevel>) -> Result<Vec<LoggingMessageNotificationParam>, String> {
        self.handler.logs.lock().unwrap().clear();
        if let (false, Some(level)) = (self.modern, level) {
            let params = SetLevelRequestParams::new(level);
            self.service.set_level(params).await.map_err(|error| format!("{error:?}"))?;
        }
        let level = level.filter(|_| self.modern);
        let params = request("test_tool_with_logging", json!({}), level);
        self.call_with(params).await.map_err(|error| format!("{error:?}"))?;
        sleep(Duration::from_millis(200)).await;
        Ok(self.handler.logs.lock().unwrap().clone())
    }

    async fn logging(&self) -> Result<(), String> {
        let logs = self.logged(Some(LoggingLevel::Debug)).await?;
        let info = logs.iter().all(|log| log.level == LoggingLevel::Info);
        want!(logs.len() == 3 && info, "expected 3 info messages, got {logs:?}");
        let logs = self.logged(Some(LoggingLevel::Error)).await?;
        want!(logs.is_empty(), "level error: expected no messages, got {logs:?}");
        if self.modern {
            let logs = self.logged(None).await?;
            want!(logs.is_empty(), "no level: expected no messages, got {logs:?}");
        }
        Ok(())
    }

    async fn header(&self) -> Result<(), String> {
        for value in ["plain", "Grüße, 世界", " padded ", "=?base64?"] {
            let result = self.call("test_custom_header", json!({ "value": value })).await?;
            want!(!failed(&result) && !texts(&result).is_empty(), "value {value:?}: got {result}");
        }
        Ok(())
    }

    async fn ping(&self) -> Result<(), String> {
        let request = ClientRequest::PingRequest(Default::default());
        self.service.send_request(request).await.map(drop).map_err(|error| format!("{error:?}"))
    }
}

async fn connect(row: &Value) -> Result<Client, String> {
    let revision = row["revision"].as_str().expect("a revision").to_owned();
    let version: ProtocolVersion = serde_json::from_value(row["revision"].clone()).expect("a revision");
    let lifecycle = match row["mode"].as_str() {
        Some("legacy") => ClientLifecycleMode::Initialize,
        Some("pin") => ClientLifecycleMode::Discover { preferred_versions: vec![version.clone()] },
        _ => ClientLifecycleMode::Auto { preferred_versions: vec![version.clone()], legacy_version: None },
    };
    let able: ClientCapabilities = serde_json::from_value(
        json!({ "sampling": {}, "elicitation": { "form": {} }, "roots": { "listChanged": true } }),
    )
    .expect("capabilities");
    let config = ClientConfig::new(able, Implementation::new("interop", "1.0.0"));
    let handler = Handler {
        config: if row["mode"] == "legacy" { config.with_protocol_version(version) } else { config },
        logs: Arc::default(),
        progress: Arc::default(),
        heard: Arc::default(),
    };
    let service = if let Some(url) = row["url"].as_str() {
        handler.clone().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await
    } else {
        let words: Vec<_> = row["command"].as_array().expect("a command").iter().filter_map(Value::as_str).collect();
        let mut command = tokio::process::Command::new(words[0]);
        command.args(&words[1..]);
        let transport = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
        handler.clone().serve_with_lifecycle(transport, lifecycle).await
    };
    let service = service.map_err(|error| format!("{error:?}"))?;
    let info = service.peer_info().ok_or("no answer of the server is known")?;
    let agreed = info.protocol_version.to_string();
    want!(agreed == revision, "expected revision {revision}, got {agreed}");
    want!(
        info.server_info.as_ref().is_some_and(|server| !server.name.is_empty()),
        "expected a server name, got {info:?}"
    );
    Ok(Client { service, handler, modern: revision.as_str() >= "2026-07-28", revision })
}

fn say(operation: &str, outcome: Result<(), String>) {
    println!("{}", json!({ "operation": operation, "ok": outcome.is_ok(), "reason": outcome.err() }));
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let row = std::env::args().nth(1).expect("usage: interop-rmcp ROW");
    let row: Value = serde_json::from_str(&row).expect("a row is JSON");
    let limit = Duration::from_secs(20);
    let late = |_| Err(format!("nothing within {limit:?}"));
    let client = match timeout(limit, connect(&row)).await.unwrap_or_else(|_| Err("nothing within 20 s".into())) {
        Ok(client) => client,
        Err(reason) => return say("connect", Err(reason)),
    };
    say("connect", Ok(()));
    let checks: [(&str, Check<'_>); 22] = [
        ("list", Box::pin(client.list())),
        ("call", Box::pin(client.call_echo())),
        ("structured", Box::pin(client.structured())),
        ("content", Box::pin(client.content())),
        ("progress", Box::pin(client.progress())),
        ("cancel", Box::pin(client.cancel())),
        ("parallel", Box::pin(client.parallel())),
        ("unknown", Box::pin(client.unknown())),
        ("invalid", Box::pin(client.invalid())),
        ("panic", Box::pin(client.panic())),
        ("logging", Box::pin(client.logging())),
        ("header", Box::pin(client.header())),
        ("resources", Box::pin(client.resources())),
        ("read", Box::pin(client.read())),
        ("prompts", Box::pin(client.prompts())),
        ("complete", Box::pin(client.complete())),
        ("subscribe", Box::pin(client.subscribe())),
        ("changes", Box::pin(client.changes())),
        ("elicit", Box::pin(client.elicit())),
        ("sample", Box::pin(client.sample())),
        ("roots", Box::pin(client.roots())),
        ("ping", Box::pin(client.ping())),
    ];
    for (operation, check) in checks {
        if !row["holes"].as_array().is_some_and(|holes| holes.contains(&json!(operation))) {
            say(operation, timeout(limit, check).await.unwrap_or_else(late));
        }
    }
    let closed = match timeout(Duration::from_secs(5), client.service.cancel()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("closing took more than 5 s".into()),
    };
    say("close", closed);
}
