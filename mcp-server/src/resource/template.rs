//! A template of resources.

use std::fmt;
use std::path::PathBuf;

use mcp_core::catalog::{self, Handle};
use mcp_core::uri_template::UriTemplate;

use super::{Hints, default_name, files, hints};
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::{Place, TemplateFn, Work};
use crate::extract::Needs;
use crate::facts::{Facts, Parts, Run, Terms, Workshop, completes, facts, told};

/// Resources whose URIs are made by a template (RFC 6570), to be registered with
/// [`Server::resource_template`](crate::Server::resource_template).
///
/// ```
/// use mcp_server::{ResourceTemplate, Server};
///
/// // `{id}` is one segment, and `{+path}` would be many. A URI whose `id` is no number names nothing.
/// let profile = ResourceTemplate::new("users://{id}/profile")
///     .description("The profile of a user.")
///     .mime("text/plain")
///     .complete_from("id", ["1", "2"])
///     .run(|id: u64| (id < 3).then(|| format!("User {id}")));
///
/// Server::new("my-app", "1.0.0").resource_template(profile).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// What the variables stand for is percent-decoded once, and read into what the code's last parameter wants: see
/// [`FromTexts`](crate::FromTexts). The whole URI is [`Ctx::uri`](crate::Ctx::uri).
///
/// A [`Resource`](crate::Resource) of the same URI goes first, and among templates the one that was registered first (RES-11).
#[must_use = "a template does nothing until it is registered with `Server::resource_template`"]
pub struct ResourceTemplate {
    facts: Facts,
    hints: Hints,
}

impl ResourceTemplate {
    /// A template of URIs: see [`UriTemplate`].
    #[track_caller]
    pub fn new(uri: impl AsRef<str>) -> Self {
        Self { facts: Facts::new(uri.as_ref()), hints: Hints::default() }
    }

    /// The files of a directory, at any depth, under a URI that stands for the directory: `file:///project` makes
    /// `file:///project/src/main.rs` of `src/main.rs` in it. Read at the time, as [`Resource::file`](crate::Resource::file) does.
    ///
    /// What lies outside is not found, by whatever way: `..`, an absolute path, a link that leads out (RES-9). Directories and
    /// what is no plain file are not found either. Who may write to the directory could exchange a file for a link between the
    /// check and the reading, so it should be nobody but the server's own people.
    ///
    /// ```no_run
    /// use mcp_server::{ResourceTemplate, Server};
    ///
    /// let docs = ResourceTemplate::files("file:///docs", "docs").name("docs").description("The documentation.");
    /// Server::new("my-app", "1.0.0").resource_template(docs).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    #[track_caller]
    pub fn files(uri: impl AsRef<str>, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        let template = Self::new(format!("{}/{{+path}}", uri.as_ref().trim_end_matches('/')));
        let read = move |path: String| files::read_within(&directory, &path);
        #[cfg(feature = "tokio")]
        return template.run_blocking(read);
        #[cfg(not(feature = "tokio"))]
        template.run(read)
    }

    facts!("ResourceTemplate");
    hints!();
    completes!("template", "variables");

    /// The code, plain or asynchronous: see [`TemplateFn`]. The type of a closure's variables must be written out, as in
    /// `|id: u64|`.
    ///
    /// It runs where the request is handled and is polled there at once; it must not block a thread for long. A panic becomes
    /// an error to this caller alone.
    pub fn run<F, M>(mut self, code: F) -> Self
    where
        F: TemplateFn<M>,
    {
        self.facts.run = Some(run(code, Place::Here));
        self
    }

    /// Plain code that blocks: it runs on tokio's pool of blocking threads. See [`Tool::run_blocking`](crate::Tool::run_blocking).
    #[cfg(feature = "tokio")]
    pub fn run_blocking<F, M>(mut self, code: F) -> Self
    where
        F: TemplateFn<Plain<M>>,
    {
        self.facts.run = Some(run(code, Place::Pool));
        self
    }

    /// Whether it completes a variable.
    pub(crate) fn completes(&self) -> bool {
        !self.facts.completers.is_empty()
    }

    /// Its two halves: what the catalogue shows, and what runs. `None` if they cannot be had, and then there are defects.
    pub(crate) fn split(self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(catalog::Template, Parts)> {
        let Self { mut facts, hints } = self;
        facts.inherit(workshop);
        let compiled = UriTemplate::parse(&facts.key).ok();
        // If it is none, the catalogue says why.
        let names: Option<Vec<&str>> = compiled.as_ref().map(|compiled| compiled.variables().collect());
        let name = hints.name.unwrap_or_else(|| default_name(&facts.key).into());
        let mut shown = catalog::Template::new(&facts.key, &name, handle).with_annotations(hints.annotations);
        if let Some(mime) = &hints.mime {
            shown = shown.with_mime(mime);
        }
        let completed: Vec<_> = facts.completers.iter().map(|completer| completer.argument.clone()).collect();
        for variable in &completed {
            // What the template does not have is told below.
            if names.as_ref().is_some_and(|names| names.contains(&&**variable)) {
                shown = shown.completes(variable);
            }
        }
        let variables = names.iter().flatten().map(|name| Box::from(*name)).collect();
        let terms = Terms { names, ..Terms::of_resource() };
        let work = Work::Resource { mime: hints.mime, meta: None, variables };
        let parts = workshop.ready(&mut facts, &terms, work);
        let shown = told!(&mut facts, shown);
        Some((shown, parts?))
    }
}

fn run<F: TemplateFn<M>, M>(code: F, place: Place) -> Run {
    let mut needs = Needs::default();
    F::needs(&mut needs);
    Run { needs, code: code.into_code(place), needed: F::needed() }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceTemplate")
            .field("uri", &self.facts.key)
            .field("has_code", &self.facts.run.is_some())
            .finish_non_exhaustive()
    }
}
