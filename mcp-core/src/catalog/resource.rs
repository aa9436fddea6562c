//! The neutral definitions of a resource and of a template of resources.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::about::{About, about};
use super::guard::{Guard, guard};
use super::shelf::{Audience, Entry};
use super::{Defect, Handle, completes_on};
use crate::answer::Annotations;
use crate::encode::{self, json::Object};
use crate::fault::reflect;
use crate::peer::Revision;
use crate::uri_template::UriTemplate;
use crate::wire::write;

/// A resource as it is registered (RES-2). Nothing is checked before [`Builder::build`](super::Builder::build).
#[derive(Clone, Debug)]
pub struct Resource {
    uri: Arc<str>,
    name: Box<str>,
    handle: Handle,
    about: About,
    guard: Guard,
    hints: Hints,
    size: Option<u64>,
}

/// A template of resources as it is registered (RES-3). Nothing is checked before [`Builder::build`](super::Builder::build).
#[derive(Clone, Debug)]
pub struct Template {
    uri: Arc<str>,
    /// Known once the catalogue is built.
    compiled: Option<Arc<UriTemplate>>,
    name: Box<str>,
    handle: Handle,
    about: About,
    guard: Guard,
    hints: Hints,
    completes: Vec<Box<str>>,
}

/// What both have.
#[derive(Clone, Debug, Default)]
struct Hints {
    mime: Option<Box<str>>,
    annotations: Annotations,
}

impl Resource {
    /// A resource under that URI, which is compared as it stands (RES-12), with that programmatic name.
    #[must_use]
    pub fn new(uri: &str, name: &str, handle: Handle) -> Self {
        let (about, guard, hints) = (About::default(), Guard::default(), Hints::default());
        Self { uri: uri.into(), name: name.into(), handle, about, guard, hints, size: None }
    }

    /// With its media type.
    #[must_use]
    pub fn with_mime(mut self, mime: &str) -> Self {
        self.hints.mime = Some(mime.into());
        self
    }

    /// With hints for the client.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.hints.annotations = annotations;
        self
    }

    /// With its size in raw bytes, before base64.
    #[must_use]
    pub const fn with_size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Its URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its programmatic name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its media type.
    #[must_use]
    pub fn mime(&self) -> Option<&str> {
        self.hints.mime.as_deref()
    }

    about!("resource");
    guard!();
}

impl Template {
    /// A template by RFC 6570, see [`UriTemplate`], with that programmatic name. Blanks and letters beyond ASCII in its text are
    /// percent-encoded: clients get a template that they may expand by the letter of the RFC, and it matches the same URIs.
    #[must_use]
    pub fn new(uri: &str, name: &str, handle: Handle) -> Self {
        let (about, guard, hints) = (About::default(), Guard::default(), Hints::default());
        Self {
            uri: listed(uri).into(),
            compiled: None,
            name: name.into(),
            handle,
            about,
            guard,
            hints,
            completes: Vec::new(),
        }
    }

    /// With the media type that all its instances have.
    #[must_use]
    pub fn with_mime(mut self, mime: &str) -> Self {
        self.hints.mime = Some(mime.into());
        self
    }

    /// With hints for the client.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.hints.annotations = annotations;
        self
    }

    /// The server proposes values for that variable (COMP-1): a completion of it is a call. One of any other variable is
    /// answered empty.
    #[must_use]
    pub fn completes(mut self, variable: &str) -> Self {
        self.completes.push(variable.into());
        self
    }

    /// The template.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The template, to keep beyond the catalogue.
    #[must_use]
    pub fn shared_uri(&self) -> Arc<str> {
        Arc::clone(&self.uri)
    }

    /// Its programmatic name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The media type that all its instances have.
    #[must_use]
    pub fn mime(&self) -> Option<&str> {
        self.hints.mime.as_deref()
    }

    /// The template, compiled. Known once the catalogue is built.
    #[must_use]
    pub fn compiled(&self) -> Option<&UriTemplate> {
        self.compiled.as_deref()
    }

    /// Whether the server proposes values for that variable.
    #[must_use]
    pub fn is_completed(&self, variable: &str) -> bool {
        self.completes.iter().any(|own| &**own == variable)
    }

    about!("resources");
    guard!();
}

impl Hints {
    fn check(&self, entry: &str, uri: &str, defects: &mut Vec<Defect>) {
        let mut defect = |rule: &'static str, message: &str| defects.push(Defect::new(&reflect(entry), rule, message));
        if self.annotations.priority.is_some_and(|priority| !(0.0..=1.0).contains(&priority)) {
            defect("TOOL-19", "`priority` must be between 0 and 1");
        }
        if self.mime.as_deref().is_some_and(|mime| !mime.contains('/')) {
            defect("RES-2", "the media type must be like `text/plain`");
        }
        if uri.starts_with("ui://") && self.mime.as_deref() != Some(APP) {
            defect("APP-2", "a `ui://` resource must have the media type `text/html;profile=mcp-app`");
        }
    }

    fn encode(&self, object: &mut Object<'_>, revision: Revision) {
        object.optional("mimeType", self.mime.as_deref());
        encode::annotations(object, revision, &self.annotations);
    }
}

/// The media type of an app's page (APP-2).
const APP: &str = "text/html;profile=mcp-app";

impl Entry for Resource {
    const LIST: &'static str = "resources";
    const MARK: u8 = b'r';
    const UNIQUE: &'static str = "RES-2";

    fn key(&self) -> &str {
        &self.uri
    }

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn check(&mut self, defects: &mut Vec<Defect>) {
        if let Err(why) = checked_uri(&self.uri) {
            defects.push(Defect::new(&reflect(&self.uri), "RES-9", why));
        }
        check_name(&self.uri, &self.name, defects);
        self.hints.check(&self.uri, &self.uri, defects);
        self.guard.check(&self.uri, defects);
        self.about.check(&self.uri, defects);
    }

    fn encode(&self, out: &mut Vec<u8>, revision: Revision, _: Audience) {
        let mut object = Object::open(out);
        object.string("uri", &self.uri);
        object.string("name", &self.name);
        self.about.words(&mut object, revision);
        self.hints.encode(&mut object, revision);
        if let Some(size) = self.size.and_then(|size| i64::try_from(size).ok()) {
            write::integer(object.key("size"), size);
        }
        self.about.extras(&mut object, revision);
        object.close();
    }
}

impl Entry for Template {
    const LIST: &'static str = "resourceTemplates";
    const MARK: u8 = b'e';
    const UNIQUE: &'static str = "RES-3";

    fn key(&self) -> &str {
        &self.uri
    }

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn unseen_on(&self, state: u64) -> u64 {
        self.completes.iter().fold(state, |state, variable| completes_on(state, &self.uri, variable))
    }

    fn check(&mut self, defects: &mut Vec<Defect>) {
        let mut defect = |rule, message: String| defects.push(Defect::new(&reflect(&self.uri), rule, message));
        match UriTemplate::parse(&self.uri) {
            Err(why) => defect("RES-3", alloc::format!("{why}")),
            Ok(compiled) => {
                if let Some(unknown) =
                    self.completes.iter().find(|own| !compiled.variables().any(|name| name == &***own))
                {
                    let message =
                        alloc::format!("`{}` is completed, but no variable of the template", reflect(unknown));
                    defect("COMP-3", message);
                }
                self.compiled = Some(Arc::new(compiled));
            }
        }
        check_name(&self.uri, &self.name, defects);
        self.hints.check(&self.uri, &self.uri, defects);
        self.guard.check(&self.uri, defects);
        self.about.check(&self.uri, defects);
    }

    fn encode(&self, out: &mut Vec<u8>, revision: Revision, _: Audience) {
        let mut object = Object::open(out);
        object.string("uriTemplate", &self.uri);
        object.string("name", &self.name);
        self.about.words(&mut object, revision);
        self.hints.encode(&mut object, revision);
        self.about.extras(&mut object, revision);
        object.close();
    }
}

/// A template as clients get it. What stands in braces is left as it is.
fn listed(template: &str) -> String {
    let mut listed = String::with_capacity(template.len());
    let mut named = false;
    for c in template.chars() {
        named = c == '{' || (named && c != '}');
        if named || (c.is_ascii() && c != ' ') {
            listed.push(c);
        } else {
            encode::percent(&mut listed, c);
        }
    }
    listed
}

fn check_name(entry: &str, name: &str, defects: &mut Vec<Defect>) {
    if name.is_empty() {
        defects.push(Defect::new(&reflect(entry), "RES-2", "the name is empty: give it one"));
    }
}

/// What a URI that names a resource must be (RES-9, RFC 3986).
fn checked_uri(uri: &str) -> Result<(), &'static str> {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    if !scheme.bytes().next().is_some_and(|b| b.is_ascii_alphabetic()) || !scheme.bytes().all(inside) {
        return Err("a resource's URI begins with a scheme, such as `notes://`");
    }
    if uri.contains(['{', '}']) {
        return Err("braces belong to templates: register it as one");
    }
    if !uri.bytes().all(encode::is_uri_character) {
        return Err(
            "a resource's URI has no blanks, quotes, control characters or letters beyond ASCII: percent-encode them",
        );
    }
    if uri.len() > MAX_URI {
        return Err("a resource's URI has at most 2,048 bytes");
    }
    Ok(())
}

/// Bytes of a resource's URI: what every client and proxy passes on.
pub(super) const MAX_URI: usize = 2048;
