//! A change of what a server offers, and the table that comes of it.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use mcp_core::Change;
use mcp_core::catalog::{self, Catalog, Defect, Found, Handle, View};
use mcp_core::fault::reflect;

use super::Offers;
use super::table::{Slots, Table};
use crate::extract::States;
use crate::facts::{Parts, Workshop};
use crate::into_entry::{IntoPrompt, IntoResource, IntoResourceTemplate};
use crate::into_tool::{Entries, IntoTool, IntoTools};
use crate::module::{Flat, Home, Module};
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::tool::Tool;
use crate::ui::{self, IntoApp, MIME};

/// What is to be changed about what a server offers: see [`App::edit`](crate::App::edit).
pub struct Edit {
    tools: Shelf<Tool>,
    resources: Shelf<Resource>,
    templates: Shelf<ResourceTemplate>,
    prompts: Shelf<Prompt>,
    slots: Slots,
    changes: Vec<Change>,
    /// URIs of pages that are taken away.
    lost: Vec<Box<str>>,
    /// What is wrong with the modules that are added.
    wrong: Vec<Defect>,
    /// Whether there is no table before it.
    first: bool,
    /// The tool that calls others.
    focus: Option<Handle>,
}

impl Edit {
    pub(crate) fn new() -> Self {
        Self {
            tools: Shelf::new(),
            resources: Shelf::new(),
            templates: Shelf::new(),
            prompts: Shelf::new(),
            slots: Slots::default(),
            changes: Vec::new(),
            lost: Vec::new(),
            wrong: Vec::new(),
            first: true,
            focus: None,
        }
    }

    pub(super) fn of(table: &Table) -> Self {
        Self {
            tools: Shelf::of(table.view.tools()),
            resources: Shelf::of(table.view.resources()),
            templates: Shelf::of(table.view.templates()),
            prompts: Shelf::of(table.view.prompts()),
            slots: table.slots.clone(),
            changes: Vec::new(),
            lost: Vec::new(),
            wrong: Vec::new(),
            first: false,
            focus: table.focus,
        }
    }

    /// One more tool, after the others.
    pub fn add(&mut self, tool: impl IntoTool) {
        self.tools.added.push(tool.into_tool());
        self.change(Change::Tools);
    }

    /// Several more: a value whose `impl` block has [`#[tools]`](macro@crate::tools), with all that it has; or a list.
    pub fn add_all(&mut self, tools: impl IntoTools) {
        let mut entries = tools.into_tools();
        if let Some(module) = Module::of(&mut entries) {
            return self.add_module(module);
        }
        let Entries { tools, apps, resources, resource_templates, prompts, .. } = entries;
        tools.into_iter().for_each(|tool| self.add(tool));
        apps.into_iter().for_each(|app| self.add_app(app));
        resources.into_iter().for_each(|resource| self.add_resource(resource));
        resource_templates.into_iter().for_each(|template| self.add_resource_template(template));
        prompts.into_iter().for_each(|prompt| self.add_prompt(prompt));
    }

    /// Without the tool of that name; false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        self.tools.remove(name, &mut self.slots) && self.change(Change::Tools)
    }

    /// One more resource, after the others.
    pub fn add_resource(&mut self, resource: impl IntoResource) {
        self.resources.added.push(resource.into_resource());
        self.change(Change::Resources);
    }

    /// Without the resource of that URI; false if there is none.
    pub fn remove_resource(&mut self, uri: &str) -> bool {
        if uri.starts_with("ui://") {
            self.lost.push(uri.into());
        }
        self.resources.remove(uri, &mut self.slots) && self.change(Change::Resources)
    }

    /// One more template of resources, after the others.
    pub fn add_resource_template(&mut self, template: impl IntoResourceTemplate) {
        self.templates.added.push(template.into_resource_template());
        self.change(Change::Resources);
    }

    /// Without that template of resources; false if there is none.
    pub fn remove_resource_template(&mut self, template: &str) -> bool {
        self.templates.remove(template, &mut self.slots) && self.change(Change::Resources)
    }

    /// One more prompt, after the others.
    pub fn add_prompt(&mut self, prompt: impl IntoPrompt) {
        self.prompts.added.push(prompt.into_prompt());
        self.change(Change::Prompts);
    }

    /// Without the prompt of that name; false if there is none.
    pub fn remove_prompt(&mut self, name: &str) -> bool {
        self.prompts.remove(name, &mut self.slots) && self.change(Change::Prompts)
    }

    /// A tool together with its page, after the others.
    pub fn add_app(&mut self, app: impl IntoApp) {
        let (tool, page) = app.into_app().split();
        self.add(tool);
        if let Some(page) = page {
            self.add_resource(page);
        }
    }

    /// All entries of a module, after the others.
    pub fn add_module(&mut self, module: Module) {
        self.add_flat(module.flat());
    }

    pub(crate) fn add_flat(&mut self, flat: Flat) {
        let Flat { tools, resources, templates, prompts, defects, .. } = flat;
        tools.into_iter().for_each(|tool| self.add(tool));
        resources.into_iter().for_each(|resource| self.add_resource(resource));
        templates.into_iter().for_each(|template| self.add_resource_template(template));
        prompts.into_iter().for_each(|prompt| self.add_prompt(prompt));
        self.wrong.extend(defects);
    }

    /// Which lists it changes, each once.
    pub(super) fn changes(&self) -> Vec<Change> {
        self.changes.clone()
    }

    /// What a server must offer for what is added.
    pub(crate) fn wants(&self) -> Offers {
        let completing = self.templates.added.iter().any(ResourceTemplate::completes);
        Offers {
            resources: !self.resources.added.is_empty() || !self.templates.added.is_empty(),
            prompts: !self.prompts.added.is_empty(),
            completions: completing || self.prompts.added.iter().any(Prompt::completes),
            logging: false,
        }
    }

    /// Whether there are pages among what is added.
    pub(crate) fn has_pages(&self) -> bool {
        self.tools.added.iter().any(Tool::has_page) || self.resources.added.iter().any(Resource::is_page)
    }

    fn change(&mut self, what: Change) -> bool {
        if !self.changes.contains(&what) {
            self.changes.push(what);
        }
        true
    }

    /// The table with all changes, or everything that is wrong with them.
    pub(crate) fn build(self, states: &Arc<States>, coerce: bool, offers: Offers) -> Result<Table, Vec<Defect>> {
        let Self { tools, resources, templates, prompts, mut slots, lost, wrong, first, focus, .. } = self;
        let mut workshop = Workshop { states, coerce, defects: wrong, linked: Vec::new() };
        offers.check(&tools.added, &mut workshop);
        let origins: Vec<_> = tools.added.iter().filter_map(Tool::place_in_manifest).collect();
        let builder = tools.build(&mut slots, &mut workshop).fold(Catalog::builder(), catalog::Builder::tool);
        offers.check(&resources.added, &mut workshop);
        let builder = resources.build(&mut slots, &mut workshop).fold(builder, catalog::Builder::resource);
        offers.check(&templates.added, &mut workshop);
        let builder = templates.build(&mut slots, &mut workshop).fold(builder, catalog::Builder::template);
        offers.check(&prompts.added, &mut workshop);
        let builder = prompts.build(&mut slots, &mut workshop).fold(builder, catalog::Builder::prompt);
        match builder.build() {
            Ok(catalog) => {
                let view = View::all(catalog);
                workshop.check_pages(&view);
                if !workshop.defects.is_empty() {
                    return Err(workshop.defects);
                }
                view.tools().for_each(|tool| warn_of_name(tool.name()));
                lost.iter().filter(|page| view.resource(page).is_none()).for_each(|page| warn_of_page(&view, page));
                // Later another tool may have its name.
                let named = || view.tool(states.focus.as_ref()?.call()).map(catalog::Tool::handle);
                let focus = if first { named() } else { focus };
                Ok(Table { facings: slots.facings(), focus, view, slots })
            }
            Err(mut found) => {
                for defect in &mut found {
                    if let Some((_, place)) = origins.iter().find(|(name, _)| *name == defect.entry) {
                        defect.message = format!("{place}: {}", defect.message).into();
                    }
                }
                Err(workshop.defects.into_iter().chain(found).collect())
            }
        }
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit")
            .field("tools", &self.tools.added)
            .field("resources", &self.resources.added)
            .field("templates", &self.templates.added)
            .field("prompts", &self.prompts.added)
            .finish_non_exhaustive()
    }
}

impl Workshop<'_> {
    /// A page is there when a tool names it (APP-2).
    fn check_pages(&mut self, view: &View) {
        for (tool, page) in std::mem::take(&mut self.linked) {
            let fits = match view.resource(&page) {
                Some(Found::Resource(resource)) => resource.mime() == Some(MIME),
                Some(Found::Template(template, _)) => template.mime() == Some(MIME),
                None => false,
            };
            if !fits {
                let page = reflect(&page);
                let message = format!(
                    "it names the page `{page}`, which the server does not have: add `Resource::app(\"{page}\")`"
                );
                self.add(&tool, "APP-2", message);
            }
        }
    }
}

/// The entries of one kind: those that are there, and those that come.
struct Shelf<A: Addition> {
    shown: Vec<A::Shown>,
    added: Vec<A>,
}

/// What can be added.
trait Addition: Sized {
    /// As the catalogue has it.
    type Shown: Shown;

    /// The rule that says that its key is unique.
    const UNIQUE: &'static str;

    fn key(&self) -> &str;

    /// Where it was made.
    fn place(&self) -> &'static Location<'static>;

    /// The module that it belongs to.
    fn home(&self) -> Option<&Home>;

    /// Whether it logs to clients.
    fn logs(&self) -> bool;

    /// What its server must offer, with the rule that says so, as `.offers_…()`.
    fn lacks(&self, offers: Offers) -> Option<(&'static str, &'static str)>;

    fn split(self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(Self::Shown, Parts)>;
}

/// An entry of the catalogue.
trait Shown: Clone {
    fn key(&self) -> &str;

    fn handle(&self) -> Handle;
}

impl<A: Addition> Shelf<A> {
    const fn new() -> Self {
        Self { shown: Vec::new(), added: Vec::new() }
    }

    fn of<'a>(shown: impl Iterator<Item = &'a A::Shown>) -> Self
    where
        A::Shown: 'a,
    {
        Self { shown: shown.cloned().collect(), added: Vec::new() }
    }

    fn remove(&mut self, key: &str, slots: &mut Slots) -> bool {
        let before = self.added.len();
        self.added.retain(|entry| entry.key() != key);
        let mut found = self.added.len() < before;
        if let Some(index) = self.shown.iter().position(|entry| entry.key() == key) {
            slots.clear(self.shown.remove(index).handle());
            found = true;
        }
        found
    }

    fn build(mut self, slots: &mut Slots, workshop: &mut Workshop<'_>) -> std::vec::IntoIter<A::Shown> {
        // The server's own go first.
        self.added.sort_by_key(|entry| entry.home().is_some());
        for entry in self.added {
            let twin = self.shown.iter().find(|shown| shown.key() == entry.key());
            if let Some(twin) = twin.and_then(|twin| slots.place_of(twin.handle())) {
                workshop.add(entry.key(), A::UNIQUE, registered_twice(twin, (entry.place(), entry.home())));
                continue;
            }
            let handle = slots.reserve();
            if let Some((shown, parts)) = entry.split(handle, workshop) {
                self.shown.push(shown);
                slots.fill(handle, parts);
            }
        }
        self.shown.into_iter()
    }
}

impl Offers {
    /// What is added to a server that does not offer its kind would never be seen (LIFE-12).
    fn check<A: Addition>(self, added: &[A], workshop: &mut Workshop<'_>) {
        for entry in added {
            if entry.logs() && !self.logging {
                // It works all the same.
                tracing::warn!(
                    entry = entry.key(),
                    "it logs to clients, who hear nothing of it, since the server was built without: call `.logging()` on it"
                );
            }
            if let Some((rule, what)) = entry.lacks(self) {
                let message = format!(
                    "the server offers no {what}, and what it offers is settled when it is built: call `.offers_{what}()` \
                     on it, or register one before it is built"
                );
                workshop.add(entry.key(), rule, message);
            }
        }
    }
}

macro_rules! addition {
    ($entry:ident($this:ident, $offers:ident), $key:ident, $unique:literal, $place:expr, $home:expr, $own:expr, $logs:expr, $lacks:expr) => {
        impl Addition for $entry {
            type Shown = catalog::$key;

            const UNIQUE: &'static str = $unique;

            fn key(&self) -> &str {
                let $this = self;
                $own
            }

            fn place(&self) -> &'static Location<'static> {
                let $this = self;
                $place
            }

            fn home(&self) -> Option<&Home> {
                let $this = self;
                $home
            }

            fn logs(&self) -> bool {
                let $this = self;
                $logs
            }

            #[allow(unused_variables, reason = "tools are always offered")]
            fn lacks(&self, $offers: Offers) -> Option<(&'static str, &'static str)> {
                let $this = self;
                $lacks
            }

            fn split(self, handle: Handle, workshop: &mut Workshop<'_>) -> Option<(Self::Shown, Parts)> {
                Self::split(self, handle, workshop)
            }
        }
    };
}

fn lacks_completions(completes: bool, offers: Offers) -> Option<(&'static str, &'static str)> {
    (completes && !offers.completions).then_some(("COMP-2", "completions"))
}

addition!(Tool(this, offers), Tool, "TOOL-5", this.place(), this.home(), this.name(), this.wants_logging(), None);
addition!(
    Resource(this, offers),
    Resource,
    "RES-2",
    this.facts().place,
    this.facts().home.as_deref(),
    &this.facts().key,
    this.facts().wants_logging(),
    (!offers.resources).then_some(("RES-1", "resources"))
);
addition!(
    ResourceTemplate(this, offers),
    Template,
    "RES-3",
    this.facts().place,
    this.facts().home.as_deref(),
    &this.facts().key,
    this.facts().wants_logging(),
    {
        let resources = (!offers.resources).then_some(("RES-1", "resources"));
        resources.or_else(|| lacks_completions(this.completes(), offers))
    }
);
addition!(
    Prompt(this, offers),
    Prompt,
    "PROMPT-1",
    this.facts().place,
    this.facts().home.as_deref(),
    &this.facts().key,
    this.facts().wants_logging(),
    {
        let prompts = (!offers.prompts).then_some(("PROMPT-1", "prompts"));
        prompts.or_else(|| lacks_completions(this.completes(), offers))
    }
);

macro_rules! shown {
    ($($entry:ident $key:ident)*) => {$(
        impl Shown for catalog::$entry {
            fn key(&self) -> &str {
                self.$key()
            }

            fn handle(&self) -> Handle {
                self.handle()
            }
        }
    )*};
}

shown!(Tool name Resource uri Template uri Prompt name);

/// Where an entry was made, and the module that it belongs to.
type Origin<'a> = (&'a Location<'a>, Option<&'a Home>);

fn registered_twice((first, outer): Origin<'_>, (second, inner): Origin<'_>) -> String {
    let within = |home: Option<&Home>| match home.and_then(|home| home.name.as_deref()) {
        Some(module) => format!(" in the module `{}`", reflect(module)),
        None => String::new(),
    };
    let (outer, inner) = (within(outer), within(inner));
    // What a macro made has one place, however often it is registered.
    let places = if first != second {
        format!("at {first}{outer} and at {second}{inner}")
    } else if outer == inner {
        format!("and made at {first}{outer}")
    } else {
        let own = |within: String| if within.is_empty() { " by itself".into() } else { within };
        format!("made at {first},{} and{}", own(outer), own(inner))
    };
    format!(
        "registered twice, {places}: each may be there once in a server, so rename one, or take the first \
         away in the same `App::edit`"
    )
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

/// A tool whose page is gone shows an error where its results should be (APP-2).
fn warn_of_page(view: &View, page: &str) {
    for tool in view.tools().filter(|tool| tool.meta().and_then(ui::page_of).is_some_and(|linked| linked == page)) {
        tracing::warn!(
            tool = tool.name(),
            page,
            "it names a page that was taken away: take the tool away in the same `App::edit`, or add another page"
        );
    }
}

/// Characters of a tool's name that every client takes: the APIs of models have this limit.
const USUAL: usize = 64;
