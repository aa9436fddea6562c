//! The types of the newest revision as somebody else wrote them: every modern message that a [`Script`](crate::Script)
//! receives must be one of theirs. So a plain clone has an oracle that is not ours, without the published schemas.
//!
//! Their `RequestId` holds an `i64`; a message with a larger id is checked with a small one in its place.

use rust_mcp_schema as theirs;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Holds one modern message against their types.
///
/// # Panics
///
/// If it is none of them; the text says why.
pub fn check(answers: Option<&str>, message: &Value) {
    let mut message = message.clone();
    if message["id"].is_number() && message["id"].as_i64().is_none() {
        message["id"] = json!(0);
    }
    let checked = match message["method"].as_str() {
        Some("notifications/progress") => read::<theirs::ProgressNotification>(&message),
        Some("notifications/message") => read::<theirs::LoggingMessageNotification>(&message),
        Some("notifications/cancelled") => read::<theirs::CancelledNotification>(&message),
        Some("notifications/tools/list_changed") => read::<theirs::ToolListChangedNotification>(&message),
        Some("notifications/prompts/list_changed") => read::<theirs::PromptListChangedNotification>(&message),
        Some("notifications/resources/list_changed") => read::<theirs::ResourceListChangedNotification>(&message),
        Some("notifications/resources/updated") => read::<theirs::ResourceUpdatedNotification>(&message),
        Some("notifications/subscriptions/acknowledged") => {
            read::<theirs::SubscriptionsAcknowledgedNotification>(&message)
        }
        Some(method) => Err(format!("a server sends no {method}")),
        None if message.get("error").is_some() => error(&message),
        None => read::<theirs::JsonrpcResultResponse>(&message).and_then(|()| result(answers, &message["result"])),
    };
    if let Err(why) = checked {
        panic!("not a message of 2026-07-28: {why}\n{message}");
    }
}

fn error(message: &Value) -> Result<(), String> {
    read::<theirs::JsonrpcErrorResponse>(message)?;
    match message["error"]["code"].as_i64() {
        Some(-32020) => read::<theirs::HeaderMismatchError>(message),
        Some(-32021) => read::<theirs::MissingRequiredClientCapabilityError>(message),
        Some(-32022) => read::<theirs::UnsupportedProtocolVersionError>(message),
        Some(-32700 | -32603..=-32600) => Ok(()),
        // ERR-1: of the codes that are reserved, only those; ERR-2: none of an older revision.
        Some(code @ -32768..=-32000) => Err(format!("no error of this revision has the code {code}")),
        _ => Ok(()),
    }
}

fn result(answers: Option<&str>, result: &Value) -> Result<(), String> {
    if result["resultType"] == "input_required" {
        return read::<theirs::InputRequiredResult>(result);
    }
    match answers {
        Some("server/discover") => read::<theirs::DiscoverResult>(result),
        Some("tools/list") => read::<theirs::ListToolsResult>(result),
        Some("tools/call") => read::<theirs::CallToolResult>(result),
        Some("prompts/list") => read::<theirs::ListPromptsResult>(result),
        Some("prompts/get") => read::<theirs::GetPromptResult>(result),
        Some("resources/list") => read::<theirs::ListResourcesResult>(result),
        Some("resources/templates/list") => read::<theirs::ListResourceTemplatesResult>(result),
        Some("resources/read") => read::<theirs::ReadResourceResult>(result),
        Some("completion/complete") => read::<theirs::CompleteResult>(result),
        Some("subscriptions/listen") => read::<theirs::SubscriptionsListenResult>(result),
        // An extension's result is its own affair, as far as it has a type.
        _ => read::<theirs::Result>(result),
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    T::deserialize(value).map(drop).map_err(|error| format!("{}: {error}", std::any::type_name::<T>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_can_say_no() {
        let answer = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
        let whole = json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"});
        check(Some("tools/list"), &answer(whole.clone()));
        for member in ["resultType", "tools", "ttlMs", "cacheScope"] {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(member);
            let checked = std::panic::catch_unwind(|| check(Some("tools/list"), &answer(part)));
            assert!(checked.is_err(), "{member} is required");
        }
    }
}
