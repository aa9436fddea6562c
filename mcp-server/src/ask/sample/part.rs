//! What messages to and from a model are made of (SAMP-2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use mcp_core::Revision;
use serde_json::{Map, Value, json};

/// One block of a message to or from the client's model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// The raw bytes.
        data: Bytes,
        /// Its media type.
        mime: String,
    },
    /// Sound. From 2025-03-26 on; before that a text says so.
    Audio {
        /// The raw bytes.
        data: Bytes,
        /// Its media type.
        mime: String,
    },
    /// The model wants a tool to be used. From 2025-11-25 on.
    ToolUse(ToolUse),
    /// What came of a tool's use. From 2025-11-25 on.
    ToolResult(ToolResult),
    /// Something that this library does not know: JSON.
    Other(Value),
}

/// A tool that the model wants to be used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolUse {
    /// Names this use.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments: a JSON object, as the model wrote it. To be checked before it is used.
    pub input: Value,
}

/// What came of a tool's use.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a result is given to the model with `Sample::used`"]
pub struct ToolResult {
    id: String,
    content: Vec<Part>,
    structured: Option<Value>,
    is_error: bool,
}

impl ToolUse {
    /// What came of it: a text, or [`Part`]s.
    pub fn result(&self, content: impl IntoParts) -> ToolResult {
        ToolResult { id: self.id.clone(), content: content.into_parts(), structured: None, is_error: false }
    }

    /// That it failed, and why.
    pub fn error(&self, text: impl Into<String>) -> ToolResult {
        ToolResult { is_error: true, ..self.result(text.into()) }
    }
}

impl ToolResult {
    /// The same with a structured result: a JSON object.
    pub fn structured(mut self, json: Value) -> Self {
        self.structured = Some(json);
        self
    }
}

impl Part {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// An image from its bytes.
    pub fn image(data: impl Into<Bytes>, mime: impl Into<String>) -> Self {
        Self::Image { data: data.into(), mime: mime.into() }
    }

    /// Sound from its bytes.
    pub fn audio(data: impl Into<Bytes>, mime: impl Into<String>) -> Self {
        Self::Audio { data: data.into(), mime: mime.into() }
    }

    /// The id of the use that this is the result of.
    pub(super) fn result_of(&self) -> Option<&str> {
        match self {
            Self::ToolResult(result) => Some(&result.id),
            _ => None,
        }
    }

    /// The id of the use that this is.
    pub(super) fn used_id(&self) -> Option<&str> {
        match self {
            Self::ToolUse(used) => Some(&used.id),
            _ => None,
        }
    }

    pub(super) fn json(&self, revision: Revision) -> Value {
        let media = |kind: &str, data: &Bytes, mime: &str| json!({"type": kind, "data": STANDARD.encode(data), "mimeType": mime});
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Image { data, mime } => media("image", data, mime),
            Self::Audio { mime, .. } if revision < Revision::V2025_03_26 => {
                json!({"type": "text", "text": format!("(sound, {mime}, which this client does not take)")})
            }
            Self::Audio { data, mime } => media("audio", data, mime),
            Self::ToolUse(ToolUse { id, name, input }) => {
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
            Self::ToolResult(ToolResult { id, content, structured, is_error }) => {
                let content: Vec<Value> = content.iter().map(|part| part.json(revision)).collect();
                let mut json = Map::from_iter([
                    ("type".to_owned(), "tool_result".into()),
                    ("toolUseId".to_owned(), id.as_str().into()),
                    ("content".to_owned(), content.into()),
                ]);
                json.extend(structured.clone().map(|structured| ("structuredContent".to_owned(), structured)));
                json.extend(is_error.then(|| ("isError".to_owned(), true.into())));
                json.into()
            }
            Self::Other(json) => json.clone(),
        }
    }

    /// `None` if it is no block, or says that it is one that it is not.
    pub(super) fn read(json: &Value) -> Option<Self> {
        let text = |key: &str| Some(json.get(key)?.as_str()?.to_owned());
        let data = || STANDARD.decode(json.get("data")?.as_str()?).ok().map(Bytes::from);
        Some(match json.get("type")?.as_str()? {
            "text" => Self::Text(text("text")?),
            "image" => Self::Image { data: data()?, mime: text("mimeType")? },
            "audio" => Self::Audio { data: data()?, mime: text("mimeType")? },
            "tool_use" => {
                let input = json.get("input").filter(|input| input.is_object())?.clone();
                Self::ToolUse(ToolUse { id: text("id")?, name: text("name")?, input })
            }
            "tool_result" => Self::ToolResult(ToolResult {
                id: text("toolUseId")?,
                content: json.get("content")?.as_array()?.iter().map(Self::read).collect::<Option<_>>()?,
                structured: json.get("structuredContent").cloned(),
                is_error: json.get("isError").and_then(Value::as_bool).unwrap_or_default(),
            }),
            _ => Self::Other(json.clone()),
        })
    }
}

/// What a message's content can be made of: a text, a [`Part`], or several.
pub trait IntoParts {
    /// The parts, in order.
    fn into_parts(self) -> Vec<Part>;
}

macro_rules! parts {
    ($($content:ty: $read:expr),* $(,)?) => {$(
        impl IntoParts for $content {
            fn into_parts(self) -> Vec<Part> {
                $read(self)
            }
        }
    )*};
}

parts! {
    &str: |text| vec![Part::text(text)],
    String: |text| vec![Part::Text(text)],
    Part: |part| vec![part],
    Vec<Part>: |parts| parts,
}

impl<const N: usize> IntoParts for [Part; N] {
    fn into_parts(self) -> Vec<Part> {
        self.into()
    }
}
