//! What a server is once it is built: its tools, which may come and go while it serves.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};

use arc_swap::ArcSwap;
use mcp_core::catalog::{self, Catalog, Defect, Handle, View};
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::fault::{Fault, reflect};
use mcp_core::{Call, Caller, Change, Endpoint, Kind, Outcome};

use crate::code::Entry;
use crate::error::BuildError;
use crate::extract::States;
#[cfg(feature = "http")]
use crate::http::Http;
use crate::into_tool::{IntoTool, IntoTools};
use crate::tool::Tool;

/// A server that was built: what adapters drive, and what serves over stdio and HTTP. Cheap to clone, and every clone is the
/// same server.
///
/// Its tools may come and go while it serves:
///
/// ```
/// use mcp_server::{Server, Tool};
///
/// let app = Server::new("my-app", "1.0.0").build()?;
/// app.add_tool(Tool::new("hello").description("Say hello.").run(|| "Hello!"))?;
/// assert!(app.remove_tool("hello"));
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    endpoint: Arc<Endpoint>,
    states: Arc<States>,
    /// Whether arguments are coerced, where no tool says otherwise.
    coerce: bool,
    table: ArcSwap<Table>,
    turns: Turns,
    watchers: Mutex<Watchers>,
    #[cfg(feature = "http")]
    http: Http,
}

/// All tools at one moment.
pub(crate) struct Table {
    view: View,
    slots: Vec<Slot>,
}

/// Where a tool's code is found. A slot is used again once its tool is gone, under another serial: a call that names the
/// former tool never runs the next one.
#[derive(Clone)]
struct Slot {
    serial: u32,
    tool: Option<(Arc<Entry>, &'static Location<'static>)>,
}

impl App {
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        states: Arc<States>,
        coerce: bool,
        table: Table,
        #[cfg(feature = "http")] http: Http,
    ) -> Self {
        Self(Arc::new(Inner {
            endpoint,
            states,
            coerce,
            table: ArcSwap::from_pointee(table),
            turns: Turns::default(),
            watchers: Mutex::new(Watchers::new()),
            #[cfg(feature = "http")]
            http,
        }))
    }

    #[cfg(feature = "http")]
    pub(crate) fn http(&self) -> &Http {
        &self.0.http
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
        let mut found = false;
        // Taking away breaks no rule.
        let _ = self.edit(|edit| found = edit.remove(name));
        found
    }

    /// Changes several tools at once: clients see all of it or nothing, and are told once.
    ///
    /// ```
    /// use mcp_server::{Server, Tool};
    ///
    /// # let app = Server::new("my-app", "1.0.0").build()?;
    /// let greet = Tool::new("greet").description("Greets.").run(|| "Good morning!");
    /// app.edit(|tools| {
    ///     tools.remove("hello");
    ///     tools.add(greet);
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
    /// If the closure changes the tools of this server by other means than the [`Edit`] that it is given.
    pub fn edit(&self, change: impl FnOnce(&mut Edit)) -> Result<(), BuildError> {
        let turn = self.0.turns.take();
        let mut edit = Edit::of(&self.0.table.load());
        change(&mut edit);
        if !edit.changed {
            return Ok(());
        }
        let table = edit.build(&self.0.states, self.0.coerce).map_err(BuildError::of_change)?;
        let before = self.0.table.swap(Arc::new(table));
        drop(turn);
        self.tell();
        // With a tool goes what its code owns, and that may run anything: change tools again, or panic.
        drop(before);
        Ok(())
    }

    /// The names of its tools, in the order in which clients see them.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.0.table.load().view.tools().map(|tool| tool.name().to_owned()).collect()
    }

    /// Adapters are told without a lock, as that may wake and so run anything. Another change may come in between: whoever
    /// finds that the table is not the one that it told of tells again, so the last word is always of the last table.
    fn tell(&self) {
        let watchers = self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner).alive();
        loop {
            let table = self.0.table.load_full();
            watchers.iter().for_each(|watcher| watcher.changed(table.view.catalog(), Change::Tools));
            if Arc::ptr_eq(&table, &self.0.table.load()) {
                return;
            }
        }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("tools", &self.tool_names()).finish_non_exhaustive()
    }
}

impl Handler for App {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.0.table.load().view.clone()
    }

    fn call(&self, call: Call, link: Link) -> Running {
        let entry = match &call.kind {
            Kind::Tool { tool, .. } => self.0.table.load().entry(*tool),
            _ => None,
        };
        match (entry, &call.kind) {
            (Some(entry), _) => entry.call(call, link),
            // It was taken away between the look at the catalogue and this one.
            (None, Kind::Tool { name, .. }) => {
                Running::Done(Outcome::Fail(Fault::invalid_params(format!("Unknown tool: {}", reflect(name)))))
            }
            // No extension is declared.
            (None, _) => Running::Done(Outcome::Fail(Fault::internal("Internal error: the server cannot run this"))),
        }
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        self.0.watchers.lock().unwrap_or_else(PoisonError::into_inner).add(watcher);
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
        assert!(!nested, "tools are changed within a change of tools: use the `Edit` that `App::edit` gives");
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

/// What is to be changed about a server's tools: see [`App::edit`].
pub struct Edit {
    shown: Vec<catalog::Tool>,
    slots: Vec<Slot>,
    added: Vec<Tool>,
    changed: bool,
}

impl Edit {
    pub(crate) const fn new() -> Self {
        Self { shown: Vec::new(), slots: Vec::new(), added: Vec::new(), changed: false }
    }

    fn of(table: &Table) -> Self {
        Self { shown: table.view.tools().cloned().collect(), slots: table.slots.clone(), ..Self::new() }
    }

    /// One more tool, after the others.
    pub fn add(&mut self, tool: impl IntoTool) {
        self.added.push(tool.into_tool());
        self.changed = true;
    }

    /// Several more.
    pub fn add_all(&mut self, tools: impl IntoTools) {
        tools.into_tools().into_iter().for_each(|tool| self.add(tool));
    }

    /// Without the tool of that name; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.added.len();
        self.added.retain(|tool| tool.name() != name);
        let mut found = self.added.len() < before;
        if let Some(index) = self.shown.iter().position(|tool| tool.name() == name) {
            let (slot, _) = split(self.shown.remove(index).handle());
            self.slots[slot].tool = None;
            found = true;
        }
        self.changed |= found;
        found
    }

    /// The table with all changes, or everything that is wrong with them.
    pub(crate) fn build(mut self, states: &Arc<States>, coerce: bool) -> Result<Table, Vec<Defect>> {
        let mut defects = Vec::new();
        for tool in std::mem::take(&mut self.added) {
            if let Some(twin) = self.place_of(tool.name()) {
                defects.push(registered_twice(&tool, twin));
                continue;
            }
            let (slot, handle) = self.free_slot();
            let place = tool.place();
            if let Some((shown, entry)) = tool.split(handle, states, coerce, &mut defects) {
                self.shown.push(shown);
                self.slots[slot].tool = Some((Arc::new(entry), place));
            }
        }
        let builder = self.shown.into_iter().fold(Catalog::builder(), catalog::Builder::tool);
        match builder.build() {
            Ok(catalog) if defects.is_empty() => {
                catalog.tools().for_each(|tool| warn_of_name(tool.name()));
                Ok(Table { view: View::all(catalog), slots: self.slots })
            }
            Ok(_) => Err(defects),
            Err(found) => Err(defects.into_iter().chain(found).collect()),
        }
    }

    fn place_of(&self, name: &str) -> Option<&'static Location<'static>> {
        let shown = self.shown.iter().find(|tool| tool.name() == name)?;
        let (slot, _) = split(shown.handle());
        self.slots[slot].tool.as_ref().map(|(_, place)| *place)
    }

    fn free_slot(&mut self) -> (usize, Handle) {
        let slot = self.slots.iter().position(|slot| slot.tool.is_none()).unwrap_or_else(|| {
            self.slots.push(Slot { serial: 0, tool: None });
            self.slots.len() - 1
        });
        let serial = &mut self.slots[slot].serial;
        *serial = serial.wrapping_add(1);
        (slot, Handle(u64::from(*serial) << 32 | slot as u64))
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit").field("added", &self.added).finish_non_exhaustive()
    }
}

impl Table {
    fn entry(&self, handle: Handle) -> Option<Arc<Entry>> {
        let (slot, serial) = split(handle);
        let slot = self.slots.get(slot).filter(|slot| slot.serial == serial)?;
        slot.tool.as_ref().map(|(entry, _)| Arc::clone(entry))
    }
}

/// A handle's slot and serial.
fn split(handle: Handle) -> (usize, u32) {
    ((handle.0 & u64::from(u32::MAX)) as usize, (handle.0 >> 32) as u32)
}

fn registered_twice(tool: &Tool, first: &Location<'_>) -> Defect {
    let message = format!(
        "registered twice, at {first} and at {}: names are unique in a server, so rename one (`.renamed(..)`), or take the \
         first away in the same `App::edit`",
        tool.place()
    );
    Defect { entry: reflect(tool.name()).into(), rule: "TOOL-5", message: message.into() }
}

/// The protocol lets more names pass than clients do (TOOL-5).
fn warn_of_name(name: &str) {
    let usual = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if name.len() > USUAL || !name.bytes().all(usual) {
        tracing::warn!(
            tool = name,
            "many clients take no such tool name: safe are letters, digits, `_` and `-`, at most {USUAL} of them"
        );
    }
}

/// Characters of a tool's name that every client takes: the APIs of models have this limit.
const USUAL: usize = 64;
