//! What a call answers, in one neutral model; `wire::write` encodes it for the revision of the request.
//!
//! Any `_meta` in it is JSON text of an object. Keys that [`meta_key`](crate::catalog::meta_key) refuses are not sent, and
//! [told](crate::Event::MetaDropped) (BASE-21).

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::caching::CacheHint;
use crate::fault::Fault;

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Of a tool.
    Tool(ToolAnswer),
    /// Of a resource.
    Resource(ResourceAnswer),
    /// Of a prompt.
    Prompt(PromptAnswer),
    /// Of a completion.
    Complete(Completion),
    /// Of an extension's method: the members of the result, as JSON text of an object.
    Extension(Bytes),
    /// Of [`Kind::Init`](crate::Kind::Init): that the client is let in, and what is kept of it. Opaque bytes, at most
    /// [`Limits::assigns`](crate::policy::Limits); every later [`Call`](crate::Call) is handed them.
    Init(Bytes),
}

/// The result of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolAnswer {
    /// Content for the model, in order.
    pub content: Vec<Content>,
    /// The structured result: JSON text. Revisions before 2025-06-18 do not get it; the two after it only if it is an
    /// object (SHIM-2). If `content` is empty, a text block with the same JSON is added (TOOL-12).
    pub structured: Option<Bytes>,
    /// Whether the tool failed in a way that the model can react to.
    pub is_error: bool,
    /// `_meta` of the result: JSON text of an object.
    pub meta: Option<Box<str>>,
}

impl ToolAnswer {
    /// One block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: alloc::vec![Content::text(text)], ..Self::default() }
    }

    /// A failure that the model can react to, in words (TOOL-10).
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Content blocks.
    #[must_use]
    pub fn blocks(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A structured result: JSON text.
    pub fn structured(json: impl Into<Bytes>) -> Self {
        Self { structured: Some(json.into()), ..Self::default() }
    }
}

/// What a resource holds (RES-4).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ResourceAnswer {
    /// One or more: a directory may yield many. None at all is the server's fault (-32603): a resource that is not there is
    /// [`Fault::resource_not_found`].
    pub contents: Vec<Contents>,
    /// For how long, and by whom, it may be kept. What it leaves unsaid is as its entry says, or as the endpoint says for all; that
    /// it is not to be kept is said by [`Caching::NONE`](crate::Caching::NONE).
    ///
    /// Whatever is said, one for which scopes are needed is kept by its reader alone, and so is one that is read through
    /// [`View::only`](crate::View::only) (CACHE-4); one that is read with answers of the client is kept by nobody (MRTR-16).
    pub caching: CacheHint,
    /// `_meta` of the result: JSON text of an object.
    pub meta: Option<Box<str>>,
}

impl ResourceAnswer {
    /// The contents of one resource or several.
    #[must_use]
    pub const fn new(contents: Vec<Contents>) -> Self {
        Self { contents, caching: CacheHint { ttl: None, public: None }, meta: None }
    }
}

/// The contents of one resource.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contents {
    /// Whose they are; `None` for the URI that was read.
    pub uri: Option<Box<str>>,
    /// Their media type.
    pub mime: Option<Box<str>>,
    /// Text or bytes.
    pub body: ResourceBody,
    /// `_meta`: JSON text of an object. From 2025-06-18 on.
    pub meta: Option<Box<str>>,
}

impl Contents {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { uri: None, mime: None, body: ResourceBody::Text(text.into()), meta: None }
    }

    /// Raw bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self { uri: None, mime: None, body: ResourceBody::Bytes(bytes.into()), meta: None }
    }

    /// The same with its media type.
    #[must_use]
    pub fn with_mime(mut self, mime: &str) -> Self {
        self.mime = Some(mime.into());
        self
    }

    /// The same, of another URI than the one that was read.
    #[must_use]
    pub fn with_uri(mut self, uri: &str) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// The same with `_meta`: JSON text of an object.
    #[must_use]
    pub fn with_meta(mut self, meta: &str) -> Self {
        self.meta = Some(meta.into());
        self
    }
}

/// What a prompt says (PROMPT-2).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PromptAnswer {
    /// What this instance of the prompt is.
    pub description: Option<Box<str>>,
    /// The messages, in order.
    pub messages: Vec<PromptMessage>,
    /// `_meta` of the result: JSON text of an object.
    pub meta: Option<Box<str>>,
}

impl PromptAnswer {
    /// Messages.
    #[must_use]
    pub const fn new(messages: Vec<PromptMessage>) -> Self {
        Self { description: None, messages, meta: None }
    }
}

/// One message of a prompt: one block of content, not several (PROMPT-2).
#[derive(Clone, Debug, PartialEq)]
pub struct PromptMessage {
    /// Who says it.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

impl PromptMessage {
    /// The user says that: a text, or content of any other kind.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// The model says that.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }

    /// Instructions: the protocol has no role for them, so the user says them (PROMPT-2).
    pub fn system(content: impl Into<Content>) -> Self {
        Self::user(content)
    }
}

/// Proposals for one argument, the best first (COMP-1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completion {
    /// The proposals. The first 100 are sent (COMP-3).
    pub values: Vec<String>,
    /// How many there are in all, at least as many as `values` holds. `None`: as many as that, unless `has_more` says that there are
    /// more, and then it is not known.
    pub total: Option<u64>,
    /// Whether there are more than `values` holds. Said by itself where `total` is more than what is sent.
    pub has_more: bool,
}

impl Completion {
    /// All proposals.
    #[must_use]
    pub const fn new(values: Vec<String>) -> Self {
        Self { values, total: None, has_more: false }
    }
}

/// One block of content (TOOL-18).
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// What it is.
    pub block: Block,
    /// Hints for the client.
    pub annotations: Option<Annotations>,
    /// `_meta` of the block: JSON text of an object. From 2025-06-18 on.
    pub meta: Option<Box<str>>,
}

/// What a block of content is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// The raw bytes; base64 is made when it is written.
        data: Bytes,
        /// Its media type.
        mime: Box<str>,
    },
    /// Sound. From 2025-03-26 on; before that a text says so.
    Audio {
        /// The raw bytes.
        data: Bytes,
        /// Its media type.
        mime: Box<str>,
    },
    /// A pointer to a resource. From 2025-06-18 on; before that its URI as text.
    Link(Box<Link>),
    /// A resource itself.
    Resource(Box<Embedded>),
}

impl Content {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text(text.into()).into()
    }

    /// An image from its bytes.
    pub fn image(data: impl Into<Bytes>, mime: &str) -> Self {
        Block::Image { data: data.into(), mime: mime.into() }.into()
    }

    /// Sound from its bytes.
    pub fn audio(data: impl Into<Bytes>, mime: &str) -> Self {
        Block::Audio { data: data.into(), mime: mime.into() }.into()
    }

    /// An embedded text resource.
    pub fn resource_text(uri: &str, mime: &str, text: impl Into<String>) -> Self {
        let body = ResourceBody::Text(text.into());
        Block::Resource(Box::new(Embedded { uri: uri.into(), mime: Some(mime.into()), body, meta: None })).into()
    }

    /// An embedded binary resource.
    pub fn resource_bytes(uri: &str, mime: &str, bytes: impl Into<Bytes>) -> Self {
        let body = ResourceBody::Bytes(bytes.into());
        Block::Resource(Box::new(Embedded { uri: uri.into(), mime: Some(mime.into()), body, meta: None })).into()
    }

    /// The same block with hints for the client.
    #[must_use]
    pub fn annotated(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }
}

impl From<Block> for Content {
    fn from(block: Block) -> Self {
        Self { block, annotations: None, meta: None }
    }
}

macro_rules! texts {
    ($($text:ty),*) => {$(
        impl From<$text> for Content {
            fn from(text: $text) -> Self {
                Self::text(text)
            }
        }
    )*};
}

texts!(String, &str, Box<str>, Cow<'_, str>);

impl From<Link> for Content {
    fn from(link: Link) -> Self {
        Block::Link(Box::new(link)).into()
    }
}

/// A pointer to a resource.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Link {
    /// Where it is.
    pub uri: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its display name.
    pub title: Option<Box<str>>,
    /// What it is.
    pub description: Option<Box<str>>,
    /// Its media type.
    pub mime: Option<Box<str>>,
    /// Its size in raw bytes.
    pub size: Option<u64>,
    /// Icons. From 2025-11-25 on.
    pub icons: Vec<Icon>,
}

impl Link {
    /// A link to that URI, with that name.
    #[must_use]
    pub fn new(uri: &str, name: &str) -> Self {
        Self { uri: uri.into(), name: name.into(), ..Self::default() }
    }
}

/// A resource within a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// Its URI.
    pub uri: Box<str>,
    /// Its media type.
    pub mime: Option<Box<str>>,
    /// Its contents.
    pub body: ResourceBody,
    /// `_meta` of the contents: JSON text of an object. From 2025-06-18 on.
    pub meta: Option<Box<str>>,
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Raw bytes; base64 is made when they are written.
    Bytes(Bytes),
}

/// Hints for the client about a block (TOOL-19).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Annotations {
    /// Whom it is for.
    pub audience: Vec<Role>,
    /// How important, 0 to 1.
    pub priority: Option<f64>,
    /// When it was last changed: ISO 8601. From 2025-06-18 on.
    pub last_modified: Option<Box<str>>,
}

impl Annotations {
    /// The same hints with that priority: 0 for what is optional, 1 for what is as good as required.
    ///
    /// # Errors
    ///
    /// If it is not between 0 and 1 (TOOL-19). In the field itself such a value is moved to the nearer end when it is sent.
    pub fn with_priority(mut self, priority: f64) -> Result<Self, Fault> {
        if !(0.0..=1.0).contains(&priority) {
            return Err(Fault::internal(alloc::format!("priority {priority}: use a number between 0 and 1")));
        }
        self.priority = Some(priority);
        Ok(self)
    }
}

/// Whom something is from or for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A picture for a server, a tool or a resource (BASE-28).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Icon {
    /// An `https:`, `http:` or `data:` URI.
    pub src: Box<str>,
    /// Its media type.
    pub mime: Option<Box<str>>,
    /// Sizes it is good for: `48x48`, or `any`.
    pub sizes: Vec<Box<str>>,
    /// The theme that it is made for.
    pub theme: Option<Theme>,
}

/// The theme that an icon is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

impl Icon {
    /// An icon from a URI.
    ///
    /// # Errors
    ///
    /// If the scheme is not `https`, `http` or `data` with base64 (BASE-28).
    pub fn new(src: &str) -> Result<Self, Fault> {
        let lower = src.get(..8.min(src.len())).unwrap_or_default().to_ascii_lowercase();
        let known = lower.starts_with("https://")
            || lower.starts_with("http://")
            || (lower.starts_with("data:") && src.contains(";base64,"));
        if !known {
            return Err(Fault::internal(alloc::format!(
                "icon `{}`: use an https:, http: or base64 data: URI",
                crate::fault::reflect(src)
            )));
        }
        Ok(Self { src: src.into(), mime: None, sizes: Vec::new(), theme: None })
    }

    /// The same icon with its media type.
    #[must_use]
    pub fn mime(mut self, mime: &str) -> Self {
        self.mime = Some(mime.into());
        self
    }

    /// The same icon, good for one more size, in pixels.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.sizes.push(alloc::format!("{width}x{height}").into());
        self
    }
}

/// What a server or client calls itself (BASE-27).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Implementation {
    /// Programmatic name.
    pub name: Box<str>,
    /// Version.
    pub version: Box<str>,
    /// Display name. From 2025-06-18 on.
    pub title: Option<Box<str>>,
    /// What it is. From 2025-11-25 on.
    pub description: Option<Box<str>>,
    /// Where to read more. From 2025-11-25 on.
    pub website: Option<Box<str>>,
    /// Icons. From 2025-11-25 on.
    pub icons: Vec<Icon>,
}

impl Implementation {
    /// A name and a version.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn icons_take_web_and_data_uris_only_base_28() {
        assert!(Icon::new("https://example.com/i.png").is_ok());
        assert!(Icon::new("HTTPS://example.com/i.png").is_ok());
        assert!(Icon::new("data:image/png;base64,AAAA").is_ok());
        assert!(Icon::new("data:image/svg+xml,<svg/>").is_err());
        assert!(Icon::new("javascript:1").is_err());
        assert!(Icon::new("é").is_err());
    }
}
