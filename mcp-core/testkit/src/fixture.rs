//! What nearly every test needs: an endpoint, a catalogue, and the messages that open a conversation.

use std::sync::Arc;

use mcp_core::answer::{Annotations, Icon, Implementation, Role};
use mcp_core::catalog::{Catalog, Prompt, PromptArgument, Resource, Template, Tool};
use mcp_core::policy::Policy;
use mcp_core::question::Response;
use mcp_core::{Ability, Capabilities, Endpoint, EndpointBuilder, ExtensionDecl, Handle, Revision, View};
use serde_json::{Value, json};

/// The handle of the tool `echo`.
pub const ECHO: Handle = Handle(1);
/// The handle of the tool `route`, whose argument `region` is mirrored in `Mcp-Param-Region`.
pub const ROUTE: Handle = Handle(2);
/// The handle of the tool `sampler`, which needs a client that can sample.
pub const SAMPLER: Handle = Handle(3);
/// The handle of the resource `notes://today`, which has every member that a resource can have.
pub const TODAY: Handle = Handle(11);
/// The handle of the resource `notes://logo.png`, which has none that is optional.
pub const LOGO: Handle = Handle(12);
/// The handle of the template `notes://{id}`, which has every member, and completes `id`.
pub const NOTES: Handle = Handle(21);
/// The handle of the template `files:///{+path}`, which completes nothing.
pub const FILES: Handle = Handle(22);
/// The handle of the prompt `greet`: `who` and `tone` are required, `who` is completed, `lang` is neither.
pub const GREET: Handle = Handle(31);
/// The handle of the prompt `plain`, which has no arguments.
pub const PLAIN: Handle = Handle(32);
/// The extension that [`builder`] declares, with the method `acme/do`.
pub const EXTENSION: &str = "com.acme/work";

/// The catalogue of [`view`]: three tools, two resources, two templates, two prompts.
///
/// # Panics
///
/// Never: the definitions are fixed.
#[must_use]
pub fn catalog() -> Arc<Catalog> {
    filled().build().expect("the fixture's definitions are valid")
}

/// What [`catalog`] holds, to be added to.
///
/// # Panics
///
/// Never: the definitions are fixed.
#[must_use]
pub fn filled() -> mcp_core::catalog::Builder {
    let text = r#"{"type":"object","properties":{"message":{"type":"string"}}}"#;
    let region = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#;
    Catalog::builder()
        .tool(Tool::new("echo", ECHO, text).with_description("Say it again"))
        .tool(Tool::new("route", ROUTE, region).with_description("Go there"))
        .tool(Tool::new("sampler", SAMPLER, text).with_needs(Capabilities::none().with(Ability::Sampling)))
        .resource(
            Resource::new("notes://today", "today", TODAY)
                .with_title("Today")
                .with_description("What is to be done")
                .with_mime("text/plain")
                .with_size(5)
                .with_annotations(hints())
                .with_icon(icon())
                .with_meta(META),
        )
        .resource(Resource::new("notes://logo.png", "logo", LOGO))
        .template(
            Template::new("notes://{id}", "note", NOTES)
                .with_title("A note")
                .with_description("Any note")
                .with_mime("text/plain")
                .with_annotations(hints())
                .with_icon(icon())
                .with_meta(META)
                .completes("id"),
        )
        .template(Template::new("files:///{+path}", "file", FILES))
        .prompt(
            Prompt::new("greet", GREET)
                .with_title("Greet")
                .with_description("Say hello")
                .with_icon(icon())
                .with_meta(META)
                .with_argument(
                    PromptArgument::new("who").with_title("Who").with_description("A name").required().completes(),
                )
                .with_argument(PromptArgument::new("tone").required())
                .with_argument(PromptArgument::new("lang")),
        )
        .prompt(Prompt::new("plain", PLAIN))
}

const META: &str = r#"{"com.example/a":1}"#;

/// Every annotation.
#[must_use]
pub fn hints() -> Annotations {
    let mut hints = Annotations::default();
    hints.audience = vec![Role::User, Role::Assistant];
    hints.priority = Some(0.5);
    hints.last_modified = Some("2026-01-02T03:04:05Z".into());
    hints
}

fn icon() -> Icon {
    Icon::new("https://example.com/i.png").expect("a web address is an icon's").mime("image/png").size(48, 48)
}

/// Everything of [`catalog`].
#[must_use]
pub fn view() -> View {
    View::all(catalog())
}

/// An endpoint that serves all revisions, with everything of [`catalog`], completions, logging, one extension and a seal.
#[must_use]
pub fn builder() -> EndpointBuilder {
    Endpoint::builder(Implementation::new("fixture", "1.0.0"))
        .tools(true)
        .resources(true, false)
        .prompts(true)
        .completions()
        .logging(true)
        .extension(ExtensionDecl::new(EXTENSION).with_method("acme/do").with_legacy())
        .seal(Arc::new(Xor))
        .policy(Policy::default())
}

/// [`builder`], built.
///
/// # Panics
///
/// Never: the description is fixed.
#[must_use]
pub fn endpoint() -> Arc<Endpoint> {
    builder().build().expect("the fixture's description is valid")
}

/// An `initialize` request with id 0.
#[must_use]
pub fn initialize(revision: &str, capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": {"name": "script", "version": "0"},
    }})
}

/// `notifications/initialized`.
#[must_use]
pub fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// A request of any era without `_meta`.
#[must_use]
pub fn request(id: impl Into<Value>, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

/// A modern request: `params` with the two required members of `_meta` added to whatever `_meta` it has.
///
/// # Panics
///
/// If `params` is no object.
#[must_use]
pub fn modern(id: impl Into<Value>, method: &str, params: &Value, capabilities: &Value) -> Value {
    let mut params = params.clone();
    let meta = &mut params["_meta"];
    if meta.is_null() {
        *meta = json!({});
    }
    meta["io.modelcontextprotocol/protocolVersion"] = json!(Revision::MODERN.as_str());
    meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    request(id, method, &params)
}

/// The headers that belong to a modern request.
#[must_use]
pub fn headers(message: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let params = &message["params"];
    let mut headers = vec![("accept".to_owned(), "application/json, text/event-stream".to_owned())];
    let version = text(&params["_meta"]["io.modelcontextprotocol/protocolVersion"]);
    headers.extend(version.map(|version| ("mcp-protocol-version".to_owned(), version)));
    headers.extend(text(&message["method"]).map(|method| ("mcp-method".to_owned(), method)));
    let name = text(&params["name"]).or_else(|| text(&params["uri"]));
    headers.extend(name.map(|name| ("mcp-name".to_owned(), mcp_core::headers::encode(&name))));
    headers
}

/// The text of a reply to a question, for assertions.
#[must_use]
pub fn reply(response: Option<&Response>) -> String {
    match response {
        Some(Response::Result(json)) => String::from_utf8_lossy(json).into_owned(),
        other => format!("{other:?}"),
    }
}

/// A seal for tests: reversible, bound, and refusing what was changed. It hides nothing; `mcp-server` has a true one.
#[derive(Debug)]
pub struct Xor;

impl mcp_core::policy::Seal for Xor {
    fn seal(&self, bound: &[u8], plain: &[u8]) -> String {
        use base64::Engine as _;
        let mut sealed = digest(bound, plain).to_le_bytes().to_vec();
        sealed.extend_from_slice(plain);
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sealed)
    }

    fn open(&self, bound: &[u8], sealed: &str) -> Option<Vec<u8>> {
        use base64::Engine as _;
        let sealed = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (tag, plain) = sealed.split_first_chunk::<8>()?;
        (u64::from_le_bytes(*tag) == digest(bound, plain)).then(|| plain.to_vec())
    }
}

/// FNV-1a over both parts.
fn digest(bound: &[u8], plain: &[u8]) -> u64 {
    let parts = bound.iter().chain(b"|").chain(plain);
    parts.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
