//! Entries that belong together.

use std::fmt;

use std::sync::Arc;

use mcp_core::catalog::Defect;

use crate::check::{Options, Rules};
use crate::defaults::{Defaults, defaulting};
use crate::guard::guards;
use crate::into_entry::{IntoPrompt, IntoResource, IntoResourceTemplate};
use crate::into_tool::{Entries, IntoTool, IntoTools};
use crate::prompt::Prompt;
use crate::resource::{Resource, ResourceTemplate};
use crate::tool::{Tool, compose};
use crate::ui::{IntoApp, UiApp};

/// Entries that belong together and have the same [`Defaults`]: to be registered with
/// [`Server::module`](crate::Server::module).
///
/// ```
/// use mcp_server::{Module, Param, Server, Tool, Value};
///
/// let pages = Module::new("pages")
///     .param(Param::string("account_id").description("Account ID").required())
///     .tag("team", "content")
///     .tool(
///         Tool::new("get_page")
///             .description("Gets a page.")
///             .param(Param::string("id").required())
///             .run(|args: Value| format!("page {} of {}", args["id"], args["account_id"])),
///     );
/// let admin = Module::new("admin")
///     .scope("admin")
///     .tool(Tool::new("purge").description("Deletes all that is old.").run(|| "done"));
///
/// Server::new("my-app", "1.0.0").module(pages).module(admin).build()?;
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
///
/// Clients see the server's own entries first, then those of each module in the order in which they were registered, and find
/// no module. A block with [`#[tools]`](macro@crate::tools) is a module, named as its type.
#[must_use = "a module does nothing until it is registered with `Server::module`"]
pub struct Module {
    name: Box<str>,
    defaults: Defaults,
    entries: Entries,
    modules: Vec<Self>,
}

impl Module {
    /// An empty module. Its name stands in errors.
    pub fn new(name: impl AsRef<str>) -> Self {
        Self { name: name.as_ref().into(), defaults: Defaults::new(), entries: Entries::default(), modules: Vec::new() }
    }

    /// What its entries have unless they say otherwise, in place of what was said of that before.
    pub fn defaults(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// One more tool.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.entries.tools.push(tool.into_tool());
        self
    }

    /// Several more: a list, or a value whose `impl` block has [`#[tools]`](macro@crate::tools), which is a module within this
    /// one.
    pub fn tools(mut self, tools: impl IntoTools) -> Self {
        let mut entries = tools.into_tools();
        match Self::of(&mut entries) {
            Some(module) => self.modules.push(module),
            None => {
                let Entries { tools, apps, resources, resource_templates, prompts, .. } = entries;
                self.entries.tools.extend(tools);
                self.entries.apps.extend(apps);
                self.entries.resources.extend(resources);
                self.entries.resource_templates.extend(resource_templates);
                self.entries.prompts.extend(prompts);
            }
        }
        self
    }

    /// A tool together with its page.
    pub fn app(mut self, app: impl IntoApp) -> Self {
        self.entries.apps.push(app.into_app());
        self
    }

    /// One more resource.
    pub fn resource(mut self, resource: impl IntoResource) -> Self {
        self.entries.resources.push(resource.into_resource());
        self
    }

    /// One more template of resources.
    pub fn resource_template(mut self, template: impl IntoResourceTemplate) -> Self {
        self.entries.resource_templates.push(template.into_resource_template());
        self
    }

    /// One more prompt.
    pub fn prompt(mut self, prompt: impl IntoPrompt) -> Self {
        self.entries.prompts.push(prompt.into_prompt());
        self
    }

    /// A module within this one: what it says wins over what this one says, and both ask for what they ask.
    pub fn module(mut self, module: Self) -> Self {
        self.modules.push(module);
        self
    }

    defaulting!(defaults.);
    guards!(defaults.guards, defaults.wrong);

    /// Takes the module that they are, if they are one.
    pub(crate) fn of(entries: &mut Entries) -> Option<Self> {
        let (name, defaults) = entries.module.take()?;
        Some(Self { name, defaults, entries: std::mem::take(entries), modules: Vec::new() })
    }

    /// All that it has, each with where it belongs.
    pub(crate) fn flat(self) -> Flat {
        let mut flat = Flat::default();
        self.unpack(None, &mut flat);
        flat
    }

    fn unpack(self, outer: Option<&Home>, flat: &mut Flat) {
        let Self { name, defaults, entries, modules } = self;
        let name = match outer {
            Some(outer) => format!("{}/{name}", outer.name.as_deref().unwrap_or_default()).into(),
            None => name,
        };
        let home = Home::new(Some(name), defaults, outer, &mut flat.defects);
        flat.logging |= home.defaults.guards.wraps.needs().logging;
        let Entries { tools, apps, resources, resource_templates, prompts, .. } = entries;
        let (apps, pages): (Vec<Tool>, Vec<Option<Resource>>) = apps.into_iter().map(UiApp::split).unzip();
        flat.tools.extend(tools.into_iter().chain(apps).map(|tool| tool.at_home(&home)));
        let pages = pages.into_iter().flatten();
        flat.resources.extend(resources.into_iter().chain(pages).map(|resource| resource.at_home(&home)));
        flat.templates.extend(resource_templates.into_iter().map(|template| template.at_home(&home)));
        flat.prompts.extend(prompts.into_iter().map(|prompt| prompt.at_home(&home)));
        modules.into_iter().for_each(|module| module.unpack(Some(&home), flat));
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.name)
            .field("defaults", &self.defaults)
            .field("entries", &self.entries)
            .field("modules", &self.modules)
            .finish()
    }
}

/// All entries of a module and of those within it.
#[derive(Default)]
pub(crate) struct Flat {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) defects: Vec<Defect>,
    /// Whether something that runs around their calls logs to clients.
    logging: bool,
}

impl Flat {
    /// Whether one of them logs to clients.
    pub(crate) fn wants_logging(&self) -> bool {
        self.logging
            || self.tools.iter().any(Tool::wants_logging)
            || self.resources.iter().any(|resource| resource.facts().wants_logging())
            || self.templates.iter().any(|template| template.facts().wants_logging())
            || self.prompts.iter().any(|prompt| prompt.facts().wants_logging())
    }
}

/// Where an entry belongs: a module, or the server itself.
#[derive(Debug, Default)]
pub(crate) struct Home {
    /// What the module is called, those around it first.
    pub(crate) name: Option<Box<str>>,
    /// With those of the modules around it.
    pub(crate) defaults: Defaults,
    /// Whether those of a manifest are among them.
    of_manifest: bool,
}

impl Home {
    /// What is wrong with the defaults is told once, and not of each entry.
    pub(crate) fn new(
        name: Option<Box<str>>,
        mut defaults: Defaults,
        outer: Option<&Self>,
        defects: &mut Vec<Defect>,
    ) -> Arc<Self> {
        let entry = || name.clone().unwrap_or_else(|| "server".into());
        let mut wrong = std::mem::take(&mut defaults.wrong);
        if let Some(meta) = defaults.meta.take_if(|meta| !meta.is_object()) {
            let what = format!("its default `_meta` must be a JSON object, not {}", crate::check::kind(&meta));
            wrong.push(("BASE-21", what.into()));
        }
        let composed = compose::alone(&defaults.params);
        if let Err(faults) = Rules::compile(&composed.marked, &composed.checks, Options::default()) {
            wrong.extend(faults.into_iter().map(|fault| ("TOOL-4", fault.into())));
            // Each tool would tell it again.
            defaults.params.clear();
            defaults.types.clear();
            defaults.unfit = true;
        }
        defects.extend(wrong.into_iter().map(|(rule, message)| Defect { entry: entry(), rule, message }));
        if let Some(outer) = outer {
            defaults = defaults.within(&outer.defaults);
        }
        Arc::new(Self { name, defaults, of_manifest: false })
    }

    /// The same for tools of a manifest with those defaults.
    pub(crate) fn with_manifest(&self, defaults: &Defaults) -> Arc<Self> {
        let defaults = defaults.clone().within(&self.defaults);
        Arc::new(Self { name: self.name.clone(), defaults, of_manifest: true })
    }

    /// That it has no such default param, as a clause; and who has others.
    pub(crate) fn has_none(&self) -> (String, &'static str) {
        match self.of_manifest {
            true => (format!("neither `defaults` of its manifest nor {} has such a param", self.noun()), "they have"),
            false => (format!("{} has no such param", self.noun()), "it has"),
        }
    }

    /// Who has default params, in a sentence.
    pub(crate) fn givers(&self) -> String {
        if self.of_manifest { format!("its manifest or {}", self.noun()) } else { self.noun() }
    }

    /// How a tool skips one.
    pub(crate) const fn skips(&self) -> &'static str {
        if self.of_manifest { "skipDefaultParams" } else { ".skip_default_params(..)" }
    }

    /// What gives it default params: a method.
    pub(crate) const fn giver(&self) -> &'static str {
        if self.name.is_some() { "param" } else { "defaults" }
    }

    /// What it is called in a sentence.
    pub(crate) fn noun(&self) -> String {
        match &self.name {
            Some(name) => format!("the module `{}`", mcp_core::fault::reflect(name)),
            None => "the server".into(),
        }
    }
}
