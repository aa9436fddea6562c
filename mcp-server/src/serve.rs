//! What a server is once it is built: what it offers, which may come and go while it serves.

mod edit;
mod focus;
mod table;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use arc_swap::ArcSwap;
use mcp_core::catalog::View;
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::fault::{Fault, reflect};
use mcp_core::{Call, Caller, Change, Endpoint, Kind, Outcome};

pub use self::edit::Edit;
pub(crate) use self::table::Table;
use crate::code::Entry;
use crate::error::BuildError;
use crate::extension::Methods;
use crate::extract::States;
#[cfg(feature = "http")]
use crate::http::Http;
use crate::into_entry::{IntoPrompt, IntoResource, IntoResourceTemplate};
use crate::into_tool::IntoTool;
use crate::module::Module;
use crate::ui::IntoApp;
use crate::visible::{self, Rules, VisibleRule};

/// A server that was built: what adapters drive, and what serves over stdio and HTTP. Cheap to clone, and every clone is the
/// same server.
///
/// Its tools, resources, templates and prompts may come and go while it serves:
///
/// ```
/// use mcp_server::{Server, Tool};
///
/// let app = Server::new("my-app", "1.0.0").build()?;
/// app.add_tool(Tool::new("hello").description("Say hello.").run(|| "Hello!"))?;
/// assert!(app.remove_tool("hello"));
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// Code that runs in it has it as [`Ctx::app`](crate::Ctx::app).
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// A server that may be gone.
#[derive(Clone)]
pub(crate) struct WeakApp(Weak<Inner>);

impl WeakApp {
    pub(crate) fn get(&self) -> Option<App> {
        self.0.upgrade().map(App)
    }
}

struct Inner {
    endpoint: Arc<Endpoint>,
    states: Arc<States>,
    /// Whether arguments are coerced, where no tool says otherwise.
    coerce: bool,
    offers: Offers,
    own: Own,
    table: ArcSwap<Table>,
    turns: Turns,
    watchers: Mutex<Watchers>,
    #[cfg_attr(not(any(feature = "http", feature = "stdio")), allow(dead_code, reason = "no transport looks"))]
    transports: Transports,
}

/// What was said of the transports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transports {
    #[cfg(feature = "http")]
    pub(crate) http: Http,
    /// Who is at the other end of standard input and output.
    #[cfg(feature = "stdio")]
    pub(crate) caller: Caller,
}

/// What runs that is in no list. Settled when the server is built (EXT-2).
pub(crate) struct Own {
    /// The methods of extensions.
    pub(crate) methods: Methods,
    /// What says who is let in.
    pub(crate) init: Option<Arc<Entry>>,
    /// Who sees what, of all entries.
    pub(crate) visible: Arc<[VisibleRule]>,
}

/// What a server offers besides tools. Settled when it is built (LIFE-12).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offers {
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    pub(crate) logging: bool,
}

impl Offers {
    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            resources: self.resources || other.resources,
            prompts: self.prompts || other.prompts,
            completions: self.completions || other.completions,
            logging: self.logging || other.logging,
        }
    }
}

impl App {
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        states: Arc<States>,
        coerce: bool,
        offers: Offers,
        own: Own,
        table: Table,
        transports: Transports,
    ) -> Self {
        let app = Self(Arc::new(Inner {
            endpoint,
            states,
            coerce,
            offers,
            own,
            table: ArcSwap::from_pointee(table),
            turns: Turns::default(),
            watchers: Mutex::new(Watchers::new()),
            transports,
        }));
        // A server is built once, and its states are its own.
        let _ = app.0.states.app.set(WeakApp(Arc::downgrade(&app.0)));
        app
    }

    #[cfg(feature = "http")]
    pub(crate) fn http(&self) -> &Http {
        &self.0.transports.http
    }

    #[cfg(feature = "stdio")]
    pub(crate) fn stdio_caller(&self) -> Caller {
        self.0.transports.caller.clone()
    }

    /// Adds a tool. Clients that listen are told that the list has changed (TOOL-16).
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, at once, also if there is one of its name already: then nothing has changed.
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    pub fn add_tool(&self, tool: impl IntoTool) -> Result<(), BuildError> {
        self.edit(|edit| edit.add(tool))
    }

    /// Takes a tool away; false if there is none of that name. Calls of it that run go on to their end.
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    #[allow(clippy::must_use_candidate, reason = "whether it was there is often of no interest")]
    pub fn remove_tool(&self, name: &str) -> bool {
        self.removed(|edit| edit.remove(name))
    }

    /// Adds a resource. Clients that listen are told that the list has changed (RES-8).
    ///
    /// # Errors
    ///
    /// As [`App::add_tool`]; also if the server offers no resources: see [`Server::offers_resources`](crate::Server::offers_resources).
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    pub fn add_resource(&self, resource: impl IntoResource) -> Result<(), BuildError> {
        self.edit(|edit| edit.add_resource(resource))
    }

    /// Takes a resource away; false if there is none of that URI. Calls that read it go on to their end.
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    #[allow(clippy::must_use_candidate, reason = "whether it was there is often of no interest")]
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.removed(|edit| edit.remove_resource(uri))
    }

    /// Adds a template of resources. Clients that listen are told that the list of resources has changed (RES-8).
    ///
    /// # Errors
    ///
    /// As [`App::add_resource`].
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    pub fn add_resource_template(&self, template: impl IntoResourceTemplate) -> Result<(), BuildError> {
        self.edit(|edit| edit.add_resource_template(template))
    }

    /// Takes a template of resources away; false if there is no such template.
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    #[allow(clippy::must_use_candidate, reason = "whether it was there is often of no interest")]
    pub fn remove_resource_template(&self, template: &str) -> bool {
        self.removed(|edit| edit.remove_resource_template(template))
    }

    /// Adds a prompt. Clients that listen are told that the list has changed (PROMPT-5).
    ///
    /// # Errors
    ///
    /// As [`App::add_tool`]; also if the server offers no prompts: see [`Server::offers_prompts`](crate::Server::offers_prompts).
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    pub fn add_prompt(&self, prompt: impl IntoPrompt) -> Result<(), BuildError> {
        self.edit(|edit| edit.add_prompt(prompt))
    }

    /// Takes a prompt away; false if there is none of that name.
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    #[allow(clippy::must_use_candidate, reason = "whether it was there is often of no interest")]
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.removed(|edit| edit.remove_prompt(name))
    }

    /// Adds a tool together with its page.
    ///
    /// # Errors
    ///
    /// As [`App::add_resource`].
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    pub fn add_app(&self, app: impl IntoApp) -> Result<(), BuildError> {
        self.edit(|edit| edit.add_app(app))
    }

    /// Adds all entries of a module. Clients see them after those that are there.
    ///
    /// # Errors
    ///
    /// As [`App::add_resource`].
    ///
    /// # Panics
    ///
    /// Within the closure of [`App::edit`]: use the [`Edit`] there.
    pub fn add_module(&self, module: Module) -> Result<(), BuildError> {
        self.edit(|edit| edit.add_module(module))
    }

    /// Says that what the resource of that URI holds has changed: clients that subscribed to it are told (RES-7). The URI may
    /// be that of an instance of a template. Nobody is told of one that there is not.
    ///
    /// May be called from any thread; it waits for no client.
    pub fn resource_updated(&self, uri: &str) {
        visible::assert_not_asked();
        self.watchers().iter().for_each(|watcher| watcher.updated(uri));
    }

    /// Changes several things at once, of any kind: clients see all of it or nothing, and are told once of each list.
    ///
    /// ```
    /// use mcp_server::{Resource, Server, Tool};
    ///
    /// # let app = Server::new("my-app", "1.0.0").offers_resources().build()?;
    /// let greet = Tool::new("greet").description("Greets.").run(|| "Good morning!");
    /// app.edit(|edit| {
    ///     edit.remove("hello");
    ///     edit.add(greet);
    ///     edit.add_resource(Resource::new("app://greeting").text("Good morning!"));
    /// })?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Everything that is wrong with what was added, at once; then nothing has changed.
    ///
    /// # Panics
    ///
    /// If the closure changes what this server offers by other means than the [`Edit`] that it is given.
    pub fn edit(&self, change: impl FnOnce(&mut Edit)) -> Result<(), BuildError> {
        visible::assert_not_asked();
        let turn = self.0.turns.take();
        let mut edit = Edit::of(&self.0.table.load());
        change(&mut edit);
        let changes = edit.changes();
        if changes.is_empty() {
            return Ok(());
        }
        let table = edit.build(&self.0.states, self.0.coerce, self.0.offers).map_err(BuildError::of_change)?;
        let before = self.0.table.swap(Arc::new(table));
        drop(turn);
        self.tell(&changes);
        // With an entry goes what its code owns, and that may run anything: change the server again, or panic.
        drop(before);
        Ok(())
    }

    fn removed(&self, remove: impl FnOnce(&mut Edit) -> bool) -> bool {
        let mut found = false;
        // Taking away breaks no rule.
        let _ = self.edit(|edit| found = remove(edit));
        found
    }

    /// The names of its tools, in the order in which clients see them.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.0.table.load().view.tools().map(|tool| tool.name().to_owned()).collect()
    }

    /// The URIs of its resources, in the order in which clients see them.
    #[must_use]
    pub fn resource_uris(&self) -> Vec<String> {
        self.0.table.load().view.resources().map(|resource| resource.uri().to_owned()).collect()
    }

    /// Its templates of resources, in the order in which they are tried.
    #[must_use]
    pub fn resource_templates(&self) -> Vec<String> {
        self.0.table.load().view.templates().map(|template| template.uri().to_owned()).collect()
    }

    /// The names of its prompts, in the order in which clients see them.
    #[must_use]
    pub fn prompt_names(&self) -> Vec<String> {
        self.0.table.load().view.prompts().map(|prompt| prompt.name().to_owned()).collect()
    }

    fn view_of(&self, table: &Table, caller: &Caller) -> View {
        let rules = Rules { own: &self.0.own.visible, endpoint: &self.0.endpoint, states: &self.0.states };
        visible::view(&table.view, &table.facings, &rules, caller)
    }

    fn watchers(&self) -> Vec<Arc<dyn Watcher>> {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner).alive()
    }

    /// Adapters are told without a lock, as that may wake and so run anything. Another change may come in between: whoever
    /// finds that the table is not the one that it told of tells again, so the last word is always of the last table.
    fn tell(&self, changes: &[Change]) {
        let watchers = self.watchers();
        loop {
            let table = self.0.table.load_full();
            for what in changes {
                watchers.iter().for_each(|watcher| watcher.changed(table.view.catalog(), *what));
            }
            if Arc::ptr_eq(&table, &self.0.table.load()) {
                return;
            }
        }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("catalog", self.0.table.load().view.catalog()).finish_non_exhaustive()
    }
}

impl Handler for App {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }

    fn view(&self, caller: &Caller) -> View {
        self.view_of(&self.0.table.load(), caller)
    }

    fn call(&self, mut call: Call, link: Link) -> Running {
        // Most servers have none, and look for nothing.
        if self.0.states.focus.is_some() {
            match self.redirected(&self.0.table.load(), &mut call) {
                Ok(Some(entry)) => return entry.call(call, link),
                Ok(None) => {}
                Err(fault) => return Running::Done(Outcome::Fail(fault)),
            }
        }
        let entry = match &call.kind {
            Kind::Extension { method, .. } => self.0.own.methods.get(method).cloned(),
            Kind::Init => self.0.own.init.clone(),
            kind => self.0.table.load().entry(kind),
        };
        match entry {
            Some(entry) => entry.call(call, link),
            None => Running::Done(Outcome::Fail(gone(&call.kind))),
        }
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner).add(watcher);
    }
}

/// It was taken away between the look at the catalogue and this one.
fn gone(kind: &Kind) -> Fault {
    match kind {
        Kind::Tool { name, .. } => Fault::invalid_params(format!("Unknown tool: {}", reflect(name))),
        Kind::Resource { uri, .. } => Fault::resource_not_found(uri),
        Kind::Prompt { name, .. } => Fault::invalid_params(format!("Unknown prompt: {}", reflect(name))),
        Kind::Complete { argument, .. } => Fault::invalid_params(format!("Unknown argument: {}", reflect(argument))),
        // No such extension is declared.
        _ => Fault::internal("Internal error: the server cannot run this"),
    }
}

/// One change at a time, each on top of the one before.
#[derive(Default)]
struct Turns {
    lock: Mutex<()>,
    /// The thread whose turn it is: a change within a change would wait for itself.
    holder: Mutex<Option<ThreadId>>,
}

struct Turn<'a> {
    turns: &'a Turns,
    #[allow(dead_code, reason = "it acts when it is dropped, after the holder is forgotten")]
    lock: MutexGuard<'a, ()>,
}

impl Turns {
    fn take(&self) -> Turn<'_> {
        let this = Some(thread::current().id());
        let nested = *self.holder() == this;
        assert!(!nested, "the server is changed within a change of it: use the `Edit` that `App::edit` gives");
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        *self.holder() = this;
        Turn { turns: self, lock }
    }

    fn holder(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.turns.holder() = None;
    }
}
