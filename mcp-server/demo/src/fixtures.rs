//! The tools that the official conformance suite calls by name, with the texts that it wants.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_server::{Ability, Content, Ctx, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/// One sample of silence, mono, 8 kHz.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

/// Between two messages of a tool that speaks while it runs.
const PAUSE: Duration = Duration::from_millis(50);

/// The server with the tools.
pub(crate) fn register(server: Server) -> Server {
    [contents(), notes(), checks()].into_iter().flatten().fold(server, Server::tool)
}

/// One for each kind of content.
fn contents() -> Vec<Tool> {
    vec![
        Tool::new("test_simple_text")
            .description("Returns one text.")
            .run(|| "This is a simple text response for testing."),
        Tool::new("test_image_content").description("Returns one image.").run(image),
        Tool::new("test_audio_content")
            .description("Returns one sound.")
            .run(|| Content::audio(bytes(WAV), "audio/wav")),
        Tool::new("test_embedded_resource").description("Returns one resource.").run(|| {
            Content::resource_text("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        }),
        Tool::new("test_multiple_content_types").description("Returns a text, an image and a resource.").run(|| {
            vec![
                Content::text("Multiple content types test:"),
                image(),
                Content::resource_text(
                    "test://mixed-content-resource",
                    "application/json",
                    r#"{"test":"data","value":123}"#,
                ),
            ]
        }),
        Tool::new("test_error_handling")
            .description("Always fails.")
            .run(|| Err::<(), _>("This tool intentionally returns an error for testing")),
    ]
}

/// Those that speak while they run.
fn notes() -> Vec<Tool> {
    vec![
        Tool::new("test_tool_with_logging").description("Logs three messages, 50 ms apart.").logs().run(
            |ctx: Ctx| async move {
                ctx.log().info("Tool execution started");
                sleep(PAUSE).await;
                ctx.log().info("Tool processing data");
                sleep(PAUSE).await;
                ctx.log().info("Tool execution completed");
                "Logged three messages."
            },
        ),
        Tool::new("test_tool_with_progress").description("Reports progress at 0, 50 and 100 of 100.").run(
            |ctx: Ctx| async move {
                ctx.progress().send(0, 100);
                sleep(PAUSE).await;
                ctx.progress().send(50, 100);
                sleep(PAUSE).await;
                ctx.progress().send(100, 100);
                "Reported progress three times."
            },
        ),
        Tool::new("test_logging_tool").description("Logs one message, for clients that ask for it.").logs().run(
            |ctx: Ctx| {
                ctx.log().info("test log");
                "Logged one message."
            },
        ),
    ]
}

/// Those that show a check of the server.
fn checks() -> Vec<Tool> {
    vec![
        Tool::new("json_schema_2020_12_tool")
            .description("Tool with JSON Schema 2020-12 features")
            .input_schema_text(SCHEMA_2020_12)
            .run(|ctx: Ctx| String::from_utf8_lossy(ctx.arguments()).into_owned()),
        Tool::new("test_custom_header")
            .description("Says the value again, which modern clients repeat in the header Mcp-Param-Value.")
            .run(|args: CustomHeader| args.value),
        Tool::new("test_missing_capability")
            .description("Is refused to clients that did not declare sampling.")
            .needs(Ability::Sampling)
            .run(|| "The client declared sampling."),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct CustomHeader {
    /// What to say
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

fn image() -> Content {
    Content::image(bytes(PNG), "image/png")
}

fn bytes(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_default()
}

const SCHEMA_2020_12: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {
    "address": {
      "$anchor": "addressDef",
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
    }
  },
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}
  },
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}"##;
