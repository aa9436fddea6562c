//! Resources and templates of resources: what clients see of them, and the code that reads them.

mod files;
mod template;

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;

use bytes::Bytes;
use mcp_core::answer::Annotations;
use mcp_core::catalog::{self, Handle};

pub use self::template::ResourceTemplate;
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::{Place, ResourceFn, Work};
use crate::extract::Needs;
use crate::facts::{Facts, Parts, Run, Terms, Workshop, facts, told};
use crate::guard::Guards;
use crate::middleware::Wraps;
use crate::tool::Tool;
use crate::ui::{self, Ui};

/// A resource to be registered with [`Server::resource`](crate::Server::resource): a URI, what clients see, and what it holds.
///
/// ```
/// use mcp_server::{Json, Resource, Server};
/// use serde_json::json;
///
/// # fn main() -> Result<(), mcp_server::BuildError> {
/// Server::new("my-app", "1.0.0")
///     .resource(Resource::new("app://greeting").mime("text/plain").text("Good morning!"))
///     .resource(Resource::new("app://logo").mime("image/png").bytes(&b"\x89PNG"[..]))
///     .resource(Resource::new("app://readme").mime("text/markdown").file("README.md"))
///     .resource(Resource::new("app://status").description("How it goes.").run(|| Json(json!({"users": 3}))))
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// URIs are compared as they stand, without any normalisation (RES-12). Nothing is checked before the server is built.
#[must_use = "a resource does nothing until it is registered with `Server::resource`"]
pub struct Resource {
    facts: Facts,
    hints: Hints,
    size: Option<u64>,
    /// The file that holds it, if it is one.
    file: Option<PathBuf>,
    /// Whether each content says what the list says of it: its `_meta`.
    repeats_meta: bool,
}

/// What resources and templates have beside their [`Facts`].
#[derive(Default)]
struct Hints {
    name: Option<Box<str>>,
    mime: Option<Box<str>>,
    annotations: Annotations,
}

/// The methods of a builder that say what it holds; it has a field `hints`.
macro_rules! hints {
    () => {
        /// Its name for programs. Default: the last part of its URI.
        pub fn name(mut self, name: impl AsRef<str>) -> Self {
            self.hints.name = Some(name.as_ref().into());
            self
        }

        /// Its media type, also of contents that name none.
        pub fn mime(mut self, mime: impl AsRef<str>) -> Self {
            self.hints.mime = Some(mime.as_ref().into());
            self
        }

        /// Hints for the client, all at once.
        pub fn annotations(mut self, annotations: $crate::Annotations) -> Self {
            self.hints.annotations = annotations;
            self
        }

        /// Hints whom it is for.
        pub fn audience(mut self, audience: impl IntoIterator<Item = $crate::Role>) -> Self {
            self.hints.annotations.audience = audience.into_iter().collect();
            self
        }

        /// Hints how important it is, 0 to 1.
        pub const fn priority(mut self, priority: f64) -> Self {
            self.hints.annotations.priority = Some(priority);
            self
        }

        /// Hints when it was last changed: ISO 8601.
        pub fn last_modified(mut self, time: impl AsRef<str>) -> Self {
            self.hints.annotations.last_modified = Some(time.as_ref().into());
            self
        }
    };
}

use hints;

impl Resource {
    /// A resource of that URI: with a scheme of your own, or `file:`; `https:` only if clients can fetch it themselves (RES-10).
    #[track_caller]
    pub fn new(uri: impl AsRef<str>) -> Self {
        Self { facts: Facts::new(uri.as_ref()), hints: Hints::default(), size: None, file: None, repeats_meta: false }
    }

    /// A page that shows the results of tools to people, under a `ui://` URI: MCP Apps (APP-2). Tools name it with
    /// [`Tool::ui`](crate::Tool::ui).
    #[track_caller]
    pub fn app(uri: impl AsRef<str>) -> Self {
        let mut page = Self::new(uri).mime(ui::MIME);
        page.repeats_meta = true;
        if !page.facts.key.starts_with("ui://") {
            page.facts.wrong.push(("APP-2", "a page's URI begins with `ui://`".into()));
        }
        page
    }

    /// The same, made for what was made elsewhere.
    pub(crate) fn made_at(mut self, place: &'static Location<'static>) -> Self {
        self.facts.place = place;
        self
    }

    /// The same for those alone who may use that tool, whatever decides it: its guards, or a rule that goes by its tags. What runs around
    /// the tool's calls stays there.
    pub(crate) fn guarded_as(mut self, tool: &Tool) -> Self {
        self.facts.guards = Guards { wraps: Wraps::new(), ..tool.guards.clone() };
        self.facts.tags.clone_from(&tool.tags);
        self
    }

    /// What a [page](Resource::app) may do, and how it is shown.
    pub fn ui(mut self, ui: Ui) -> Self {
        ui.put(&mut self.facts.meta);
        self.repeats_meta = true;
        self
    }

    /// Whether it is a page.
    pub(crate) fn is_page(&self) -> bool {
        self.facts.key.starts_with("ui://")
    }

    facts!("Resource");
    hints!();

    /// Its size in raw bytes (RES-2). That of a [text](Resource::text) and of [bytes](Resource::bytes) is known.
    pub const fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// It holds that text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.size.get_or_insert(text.len() as u64);
        self.run(move || text.clone())
    }

    /// It holds these bytes.
    pub fn bytes(mut self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        self.size.get_or_insert(bytes.len() as u64);
        self.run(move || bytes.clone())
    }

    /// It holds what that file holds at the time, read anew each time: as text if it is UTF-8 and its media type is that of a
    /// text or unknown, else as bytes. Is the file not there, the resource is not (RES-5).
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Gives it the code that reads its file.
    fn read_file(mut self, path: PathBuf) -> Self {
        self.hints.mime = self.hints.mime.or_else(|| files::mime_of(&path).map(Into::into));
        let mime = self.hints.mime.clone();
        let read = move || files::read(&path, mime.as_deref());
        #[cfg(feature = "tokio")]
        return self.run_blocking(read);
        #[cfg(not(feature = "tokio"))]
        self.run(read)
    }

    /// The code, plain or asynchronous: see [`ResourceFn`].
    ///
    /// It runs where the request is handled and is polled there at once; it must not block a thread for long. A panic becomes
    /// an error to this caller alone.
    ///
    /// ```
    /// use mcp_server::{CallError, Contents, Resource};
    ///
    /// async fn notes() -> Result<Vec<Contents>, CallError> {
    ///     let first = tokio::fs::read_to_string("first.txt").await?; // a client never reads why it failed
    ///     Ok(vec![Contents::text(first).with_uri("notes://first"), Contents::text("-").with_uri("notes://second")])
    /// }
    ///
    /// let notes = Resource::new("notes://").name("notes").mime("text/plain").run(notes);
    /// ```
    pub fn run<F, M>(mut self, code: F) -> Self
    where
        F: ResourceFn<M>,
    {
        self.facts.run = Some(run(code, Place::Here));
        self
    }

    /// Plain code that blocks: it runs on tokio's pool of blocking threads. See [`Tool::run_blocking`](crate::Tool::run_blocking).
    #[cfg(feature = "tokio")]
    pub fn run_blocking<F, M>(mut self, code: F) -> Self
    where
        F: ResourceFn<Plain<M>>,
    {
        self.facts.run = Some(run(code, Place::Pool));
        self
    }

    /// Its two halves: what the catalogue shows, and what runs. `None` if they cannot be had, and then there are defects.
    pub(crate) fn split(mut self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(catalog::Resource, Parts)> {
        if let Some(path) = self.file.take() {
            self = self.read_file(path);
        }
        let Self { mut facts, hints, size, repeats_meta, .. } = self;
        facts.inherit(workshop);
        if facts.key.starts_with("https://") {
            tracing::info!(
                uri = &*facts.key,
                "clients may fetch an `https:` resource by themselves: give it a scheme of its own if they cannot (RES-10)"
            );
        }
        let name = hints.name.clone().unwrap_or_else(|| default_name(&facts.key).into());
        let mut shown = catalog::Resource::new(&facts.key, &name, handle).with_annotations(hints.annotations);
        if let Some(mime) = &hints.mime {
            shown = shown.with_mime(mime);
        }
        if let Some(size) = size {
            shown = shown.with_size(size);
        }
        let meta = if repeats_meta { facts.meta_text().map(Into::into) } else { None };
        let work = Work::Resource { mime: hints.mime, meta, variables: Box::default() };
        let parts = workshop.ready(&mut facts, &Terms::of_resource(), work);
        let shown = told!(&mut facts, shown);
        Some((shown, parts?))
    }
}

impl Terms<'_> {
    fn of_resource() -> Self {
        Self { rule: "RES-4", texts_rule: "RES-3", texts: "variables", names: None, optional: Vec::new() }
    }
}

/// What a URI or template without a name is called: its last part that says something.
fn default_name(uri: &str) -> &str {
    let path = uri.split_once(':').map_or(uri, |(_, rest)| rest);
    let last = path.rsplit('/').find(|part| !part.is_empty() && !part.contains('{'));
    last.unwrap_or(uri)
}

fn run<F: ResourceFn<M>, M>(code: F, place: Place) -> Run {
    let mut needs = Needs::default();
    F::needs(&mut needs);
    Run { needs, code: code.into_code(place), needed: None }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("uri", &self.facts.key)
            .field("has_code", &self.facts.run.is_some())
            .finish_non_exhaustive()
    }
}
