//! MCP Apps: tools that come with a page, which shows their results to people.

mod app;

use mcp_core::Capabilities;
use serde_json::{Map, Value, json};

pub use self::app::{IntoApp, UiApp};
use crate::tool::Tool;

/// The id of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The media type of a page (APP-2).
pub(crate) const MIME: &str = "text/html;profile=mcp-app";

/// The key of a tool's link that older hosts know (APP-3).
const OLDER_LINK: &str = "ui/resourceUri";

/// Who calls a tool that belongs to a page (APP-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// The model.
    Model,
    /// The page.
    App,
}

impl Visibility {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::App => "app",
        }
    }
}

impl Tool {
    /// The page that shows its results to people, a `ui://` [resource](crate::Resource::app) of the same server: MCP Apps
    /// (APP-3).
    ///
    /// The server must have it, and a tool still has to say in its content what a client without pages needs (APP-5).
    pub fn ui(mut self, uri: impl AsRef<str>) -> Self {
        self.page.get_or_insert_default().uri = Some(uri.as_ref().into());
        self
    }

    /// Who calls it, if it belongs to a page: the model and the page by default (APP-3).
    ///
    /// ```
    /// use mcp_server::{Resource, Server, Tool, Visibility};
    ///
    /// // Only the page has a button for it, and no model sees it.
    /// let refresh = Tool::new("refresh")
    ///     .description("Draws the chart anew.")
    ///     .ui("ui://chart/chart.html")
    ///     .visibility([Visibility::App])
    ///     .run(|| "done");
    /// let page = Resource::app("ui://chart/chart.html").text("<!doctype html>");
    /// Server::new("my-app", "1.0.0").tool(refresh).resource(page).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    pub fn visibility(mut self, visibility: impl IntoIterator<Item = Visibility>) -> Self {
        self.page.get_or_insert_default().visibility = visibility.into_iter().collect();
        self
    }
}

/// The page of a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) uri: Option<Box<str>>,
    pub(crate) visibility: Vec<Visibility>,
}

impl Page {
    /// Writes the link in both spellings, the older one for hosts that know no other (APP-3), and returns it.
    pub(crate) fn link(self, meta: &mut Option<Value>) -> Result<Box<str>, String> {
        let Some(uri) = self.uri else {
            return Err("it says who calls it, but belongs to no page: give it one with `.ui(..)`".into());
        };
        if !uri.starts_with("ui://") {
            let uri = mcp_core::fault::reflect(&uri);
            return Err(format!("a page's URI begins with `ui://`, and `{uri}` does not"));
        }
        let mut ui = Map::from_iter([("resourceUri".to_owned(), Value::from(&*uri))]);
        if !self.visibility.is_empty() {
            let visibility = self.visibility.iter().map(|who| Value::from(who.as_str()));
            ui.insert("visibility".into(), visibility.collect());
        }
        merge(meta, &json!({"ui": ui, OLDER_LINK: uri}));
        Ok(uri)
    }
}

/// What a page may do, and how it is shown: for [`Resource::ui`](crate::Resource::ui) (APP-4).
///
/// What is not said is denied: without domains the page connects to nothing and loads nothing from elsewhere.
///
/// ```
/// use mcp_server::{Permission, Resource, Ui};
///
/// let page = Resource::app("ui://map/map.html")
///     .text("<!doctype html>")
///     .ui(Ui::new().connect_domains(["https://api.example.com"]).permission(Permission::Geolocation).prefers_border(true));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "what a page may do is said with `Resource::ui`"]
pub struct Ui {
    csp: Map<String, Value>,
    permissions: Map<String, Value>,
    more: Map<String, Value>,
}

/// Something that a page asks to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Permission {
    /// To use the camera.
    Camera,
    /// To use the microphone.
    Microphone,
    /// To know where the person is.
    Geolocation,
    /// To write to the clipboard.
    ClipboardWrite,
}

impl Ui {
    /// Nothing is allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Where it may connect to: origins, as `https://api.example.com`.
    pub fn connect_domains<D: Into<String>>(self, domains: impl IntoIterator<Item = D>) -> Self {
        self.domains("connectDomains", domains)
    }

    /// Where it may load scripts, images, styles and fonts from.
    pub fn resource_domains<D: Into<String>>(self, domains: impl IntoIterator<Item = D>) -> Self {
        self.domains("resourceDomains", domains)
    }

    /// What it may show in frames.
    pub fn frame_domains<D: Into<String>>(self, domains: impl IntoIterator<Item = D>) -> Self {
        self.domains("frameDomains", domains)
    }

    /// What its base URI may be.
    pub fn base_uri_domains<D: Into<String>>(self, domains: impl IntoIterator<Item = D>) -> Self {
        self.domains("baseUriDomains", domains)
    }

    /// Something that it asks to be allowed.
    pub fn permission(mut self, permission: Permission) -> Self {
        let name = match permission {
            Permission::Camera => "camera",
            Permission::Microphone => "microphone",
            Permission::Geolocation => "geolocation",
            Permission::ClipboardWrite => "clipboardWrite",
        };
        self.permissions.insert(name.into(), json!({}));
        self
    }

    /// The origin of its own that it asks for.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.more.insert("domain".into(), domain.into().into());
        self
    }

    /// Whether it wants a border around it.
    pub fn prefers_border(mut self, border: bool) -> Self {
        self.more.insert("prefersBorder".into(), border.into());
        self
    }

    /// Adds it to a resource's `_meta`.
    pub(crate) fn put(self, meta: &mut Option<Value>) {
        let mut ui = Map::new();
        for (name, members) in [("csp", self.csp), ("permissions", self.permissions)] {
            if !members.is_empty() {
                ui.insert(name.into(), members.into());
            }
        }
        ui.extend(self.more);
        merge(meta, &json!({"ui": ui}));
    }

    fn domains<D: Into<String>>(mut self, name: &str, domains: impl IntoIterator<Item = D>) -> Self {
        let domains: Vec<Value> = domains.into_iter().map(|domain| Value::from(domain.into())).collect();
        self.csp.insert(name.into(), domains.into());
        self
    }
}

/// Adds members, and those of `ui` to what is there of it.
fn merge(meta: &mut Option<Value>, more: &Value) {
    // What is no object is told as such.
    let Some(members) = meta.get_or_insert_with(|| json!({})).as_object_mut() else { return };
    for (key, value) in more.as_object().into_iter().flatten() {
        match (members.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
            (Some(own), Some(value)) => own.extend(value.clone()),
            _ => drop(members.insert(key.clone(), value.clone())),
        }
    }
}

/// What a tool is to clients that show no pages.
pub(crate) enum Pageless {
    /// The same: it belongs to none.
    Same,
    /// A tool with this `_meta`.
    Unlinked(Option<Value>),
    /// Nothing: only the page calls it.
    Nothing,
}

/// What a tool with that `_meta` is to them, however it came by its link.
pub(crate) fn where_no_pages_are(meta: &Value) -> Pageless {
    let Some(members) = meta.as_object() else { return Pageless::Same };
    if !["ui", OLDER_LINK].iter().any(|key| members.contains_key(*key)) {
        return Pageless::Same;
    }
    let visibility = members.get("ui").and_then(|ui| ui.get("visibility")?.as_array());
    if visibility.is_some_and(|who| !who.is_empty() && who.iter().all(|who| who == Visibility::App.as_str())) {
        return Pageless::Nothing;
    }
    let mut members = members.clone();
    members.retain(|key, _| key != "ui" && key != OLDER_LINK);
    Pageless::Unlinked((!members.is_empty()).then_some(members.into()))
}

/// The page that a tool with that `_meta`, JSON text, links to.
pub(crate) fn page_of(meta: &str) -> Option<String> {
    let meta: Value = serde_json::from_str(meta).ok()?;
    Some(meta.get("ui")?.get("resourceUri")?.as_str()?.to_owned())
}

/// Whether a client shows pages (APP-1).
pub(crate) fn are_shown_by(capabilities: &Capabilities) -> bool {
    capabilities.extension(EXTENSION).is_some_and(accepts)
}

/// Whether these settings of the extension take the media type of a page.
fn accepts(settings: &str) -> bool {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    match settings.get("mimeTypes").and_then(Value::as_array) {
        Some(types) => types.iter().any(|mime| mime == MIME),
        None => true,
    }
}
