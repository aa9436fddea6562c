//! A tool: what clients see of it, and the code that runs.

pub(crate) mod compose;
mod define;
mod divide;
mod inherit;
mod schemas;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use mcp_core::answer::Icon;
use mcp_core::catalog::{Defect, TaskSupport, ToolAnnotations};
use mcp_core::{Ability, Capabilities};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use self::divide::Report;
pub(crate) use self::schemas::Promise;
use self::schemas::{Given, Promised};
#[cfg(feature = "tokio")]
use crate::code::Plain;
use crate::code::{Code, Place, ToolFn};
use crate::defaults::Defaults;
use crate::extract::Needs;
use crate::guard::{Guards, guards};
use crate::into_icon::IntoIcon;
use crate::module::Home;
use crate::param::Param;
use crate::schema;
use crate::ui::Page;

/// A tool to be registered with [`Server::tool`](crate::Server::tool): a name, what clients see, and code.
///
/// ```
/// use mcp_server::Tool;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greet {
///     /// Person's name
///     name: String,
/// }
///
/// let greet = Tool::new("greet").description("Say hello.").run(|args: Greet| format!("Hello, {}!", args.name));
/// ```
///
/// Nothing is checked before the server is built; then everything is, at once.
#[must_use = "a tool does nothing until it is registered with `Server::tool`"]
pub struct Tool {
    name: Box<str>,
    title: Option<Box<str>>,
    description: Option<Box<str>>,
    annotations: ToolAnnotations,
    icons: Vec<Icon>,
    meta: Option<Value>,
    pub(crate) tags: Map<String, Value>,
    needs: Capabilities,
    logs: bool,
    input: Option<Given>,
    params: Vec<Param>,
    open: bool,
    coerce: Option<bool>,
    pub(crate) guards: Guards,
    /// The module that it belongs to; `None`: the server itself.
    home: Option<Arc<Home>>,
    sensitive: Option<bool>,
    task_support: TaskSupport,
    /// It is in no list, and can be called all the same.
    unlisted: bool,
    /// What all tools of its manifest have.
    shared: Option<Arc<Defaults>>,
    /// Default params of its module that it does without.
    skipped: Vec<Box<str>>,
    output: Option<Promised>,
    any_output: bool,
    unchecked_output: bool,
    run: Option<Run>,
    /// Where it was made, for telling two of one name apart.
    place: &'static Location<'static>,
    /// What was wrong with what it was told, by rule.
    pub(crate) wrong: Vec<(&'static str, Box<str>)>,
    /// Why there is nothing of it: its definition cannot be read.
    unreadable: Option<Box<str>>,
    /// The page that shows its results.
    pub(crate) page: Option<Page>,
    /// Whether it is from a definition that is data, and not from a builder.
    defined: bool,
    /// The manifest that it is from.
    origin: Option<Origin>,
}

/// What a tool has to do with a manifest.
pub(crate) enum Origin {
    /// It is defined there.
    At(Box<str>),
    /// It stands for what is wrong with the manifest, and there is no tool.
    Faults(Vec<Defect>),
}

/// The code, what it cannot do without, and the schemas that its types imply.
struct Run {
    input: fn() -> Value,
    output: fn() -> Option<Value>,
    needs: Needs,
    code: Code,
}

impl Tool {
    /// A tool of that name: letters, digits, `_`, `-`, `.` and `/`, at most 128 of them (TOOL-5). Many clients take no more
    /// than 64, and neither `.` nor `/`.
    #[track_caller]
    pub fn new(name: impl AsRef<str>) -> Self {
        Self {
            name: name.as_ref().into(),
            title: None,
            description: None,
            annotations: ToolAnnotations::default(),
            icons: Vec::new(),
            meta: None,
            tags: Map::new(),
            needs: Capabilities::none(),
            logs: false,
            input: None,
            params: Vec::new(),
            open: false,
            coerce: None,
            guards: Guards::default(),
            home: None,
            sensitive: None,
            task_support: TaskSupport::None,
            unlisted: false,
            shared: None,
            skipped: Vec::new(),
            output: None,
            any_output: false,
            unchecked_output: false,
            run: None,
            place: Location::caller(),
            wrong: Vec::new(),
            unreadable: None,
            page: None,
            defined: false,
            origin: None,
        }
    }

    /// The same tool under another name.
    pub fn renamed(mut self, name: impl AsRef<str>) -> Self {
        self.name = name.as_ref().into();
        self
    }

    /// A name for people.
    pub fn title(mut self, title: impl AsRef<str>) -> Self {
        self.title = Some(title.as_ref().into());
        self
    }

    /// What it does, for the model.
    pub fn description(mut self, description: impl AsRef<str>) -> Self {
        self.description = Some(description.as_ref().into());
        self
    }

    /// Hints that it changes nothing (TOOL-15). Clients assume `false`.
    pub fn read_only(mut self, hint: bool) -> Self {
        self.annotations.read_only = Some(hint);
        self
    }

    /// Hints that it may destroy something. Clients assume `true`. If it says so it is [sensitive](Tool::is_sensitive), and its server needs
    /// an [authorizer](crate::Server::authorize) or allows it [by name](crate::Server::allow_unguarded).
    pub fn destructive(mut self, hint: bool) -> Self {
        self.annotations.destructive = Some(hint);
        self
    }

    /// Hints that calling it again with the same arguments changes nothing more. Clients assume `false`.
    pub fn idempotent(mut self, hint: bool) -> Self {
        self.annotations.idempotent = Some(hint);
        self
    }

    /// Hints that it meets the outside world. Clients assume `true`.
    pub fn open_world(mut self, hint: bool) -> Self {
        self.annotations.open_world = Some(hint);
        self
    }

    /// Says whether it is sensitive: each of its calls must be allowed by the server's [authorizer](crate::Server::authorize). One that
    /// [destroys](Tool::destructive) something is in any case.
    pub const fn sensitive(mut self, sensitive: bool) -> Self {
        self.sensitive = Some(sensitive);
        self
    }

    /// Whether it is: it says so, or that it is [destructive](Tool::destructive), or the `defaults` of its
    /// [manifest](crate::Manifest) do. No other hint takes that back, and a module can only add to it.
    #[must_use]
    pub fn is_sensitive(&self) -> bool {
        let shared = self.shared.as_ref().is_some_and(|shared| shared.are_sensitive());
        shared || self.sensitive == Some(true) || self.annotations.destructive == Some(true)
    }

    /// Whether it can be run as a task (TASK-2). It is checked, and told to nobody yet.
    pub const fn task_support(mut self, support: TaskSupport) -> Self {
        self.task_support = support;
        self
    }

    /// Leaves it out of the list of tools. Who knows its name can call it.
    pub const fn unlisted(mut self) -> Self {
        self.unlisted = true;
        self
    }

    /// Does without these default params of its module.
    pub fn skip_default_params<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.skipped.extend(names.into_iter().map(|name| name.as_ref().into()));
        self
    }

    guards!(guards, wrong);

    /// One more icon: an [`Icon`], or just the address of one, `https:`, `http:` or `data:` (BASE-28).
    pub fn icon(mut self, icon: impl IntoIcon) -> Self {
        match icon.into_icon() {
            Ok(icon) => self.icons.push(icon),
            Err(fault) => self.wrong.push(("BASE-28", fault.message().into())),
        }
        self
    }

    /// Its `_meta` in the list of tools, which clients see: a JSON object. For what they must not see there are
    /// [tags](Tool::tag).
    pub fn meta(mut self, meta: Value) -> Self {
        self.meta = Some(meta);
        self
    }

    /// A private word about it, for the server's own code: [`Ctx::tags`](crate::Ctx::tags) has them. Never sent.
    ///
    /// ```
    /// use mcp_server::{Ctx, Tool};
    ///
    /// let tool = Tool::new("purge")
    ///     .description("Deletes everything.")
    ///     .tag("admin", true)
    ///     .tag("team", "storage")
    ///     .run(|ctx: Ctx| ctx.tags()["team"].as_str().unwrap_or_default().to_owned());
    /// ```
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.tags.insert(name.into(), value.into());
        self
    }

    /// Something that the client must be able to do, or the call is refused (VER-6).
    pub fn needs(mut self, ability: Ability) -> Self {
        self.needs = self.needs.with(ability);
        self
    }

    /// Says that it logs to the client: the server then offers the `logging` capability.
    pub fn logs(mut self) -> Self {
        self.logs = true;
        self
    }

    /// The schema of its arguments as data, in place of the one that is derived from its code's types. It is published as it
    /// is and enforced before the code runs; a property that is left out has the default which the schema gives it. Needs the
    /// feature `validate`: without it the server cannot be built.
    ///
    /// ```
    /// use mcp_server::{Server, Tool};
    /// use serde_json::{Value, json};
    ///
    /// let schema = json!({
    ///     "type": "object",
    ///     "properties": {"city": {"type": "string", "description": "Name of a city", "minLength": 1}},
    ///     "required": ["city"],
    /// });
    /// let weather = Tool::new("weather")
    ///     .description("Tells the weather.")
    ///     .input_schema(schema)
    ///     .run(|args: Value| format!("It rains in {}.", args["city"]));
    /// # #[cfg(feature = "validate")]
    /// Server::new("my-app", "1.0.0").tool(weather).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// Code with a typed argument reads it by its own type all the same, and nothing compares the two: what the schema lets in
    /// and the type does not is refused by the type, in words that the schema does not explain. Use `serde_json::Value`, or
    /// keep both in step.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input = Some(Given::Value(schema));
        self
    }

    /// The same as JSON text, whose order is kept.
    pub fn input_schema_text(mut self, schema: impl Into<String>) -> Self {
        self.input = Some(Given::Text(schema.into()));
        self
    }

    /// One more argument, described at run time: the code takes them as one `serde_json::Value` or `Map`, with what is absent
    /// filled in by its default. What is not declared is refused, unless the tool is [open](Tool::open).
    ///
    /// ```
    /// use mcp_server::{Param, Server, Tool, Value};
    ///
    /// let weather = Tool::new("weather")
    ///     .description("Tells the weather.")
    ///     .param(Param::string("city").description("Name of a city").min_length(1).required())
    ///     .param(Param::integer("days").min(1).max(14).default(3))
    ///     .run(|args: Value| format!("It rains in {} for {} days.", args["city"], args["days"]));
    /// Server::new("my-app", "1.0.0").tool(weather).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    pub fn param(mut self, param: Param) -> Self {
        self.params.push(param);
        self
    }

    /// Several more.
    pub fn params(mut self, params: impl IntoIterator<Item = Param>) -> Self {
        self.params.extend(params);
        self
    }

    /// Lets arguments through that no [`Param`] declares.
    pub fn open(mut self) -> Self {
        self.open = true;
        self
    }

    /// Whether texts are taken for the numbers and booleans that they spell, where that is what an argument is to be: `"25"`
    /// for 25, `"true"` for true. Models write that now and then. What an argument says of itself wins over the tool, and
    /// the tool over [`Server::coerce`](crate::Server::coerce).
    pub fn coerce(mut self, coerce: bool) -> Self {
        self.coerce = Some(coerce);
        self
    }

    /// The schema of its structured result as data. Results that break it are not sent: the client gets -32603, the log says
    /// why (TOOL-11). Needs the feature `validate`.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = Some(Promised::Data(Given::Value(schema)));
        self
    }

    /// The schema of its structured result, derived from a type: for code that returns a [`ToolAnswer`](crate::ToolAnswer), of which
    /// no schema can be derived. Results are held against it, as against one given as data.
    pub fn output<T: Serialize + JsonSchema>(mut self) -> Self {
        self.output = Some(Promised::Type(schema::output::<T>));
        self
    }

    /// Lets the schema of its result be any schema, that of a list or a number too. Clients of revisions before 2026-07-28 take objects
    /// only: they are not shown the schema, and get such a result as text (SHIM-2).
    pub fn any_output(mut self) -> Self {
        self.any_output = true;
        self
    }

    /// Sends results without holding them against an output schema that was given as data or by [`Tool::output`]: the tool keeps
    /// that promise by itself, to clients that may check it (TOOL-11).
    pub fn unchecked_output(mut self) -> Self {
        self.unchecked_output = true;
        self
    }

    /// The code, plain or asynchronous: see [`ToolFn`]. The type of a closure's arguments must be written out, as in
    /// `|args: Greet|`; it owns its data.
    ///
    /// It runs where the request is handled and is polled there at once, so it costs no task; it must not block a thread for
    /// long. A panic becomes an error to this caller alone.
    pub fn run<F, M>(mut self, code: F) -> Self
    where
        F: ToolFn<M>,
    {
        self.run = Some(Run::new(code, Place::Here));
        self
    }

    /// Plain code that blocks: it runs on tokio's pool of blocking threads, and holds up nobody else.
    ///
    /// Once it has begun, it runs to its end: ask [`Ctx::is_cancelled`](crate::Ctx::is_cancelled) where it takes long. An
    /// `async` function is for [`Tool::run`].
    ///
    /// ```
    /// use mcp_server::{Tool, CallError};
    ///
    /// // `?` hides the error's text: see `CallError`.
    /// let notes = Tool::new("notes")
    ///     .description("Reads the notes.")
    ///     .run_blocking(|| -> Result<String, CallError> { Ok(std::fs::read_to_string("notes.txt")?) });
    /// ```
    #[cfg(feature = "tokio")]
    pub fn run_blocking<F, M>(mut self, code: F) -> Self
    where
        F: ToolFn<Plain<M>>,
    {
        self.run = Some(Run::new(code, Place::Pool));
        self
    }

    pub(crate) fn wants_logging(&self) -> bool {
        self.logs || self.guards.wraps.needs().logging || self.run.as_ref().is_some_and(|run| run.needs.logging)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it belongs to a page.
    pub(crate) const fn has_page(&self) -> bool {
        self.page.is_some()
    }

    /// Adds something that is wrong with it.
    pub(crate) fn wrong(&mut self, rule: &'static str, what: impl Into<Box<str>>) {
        self.wrong.push((rule, what.into()));
    }

    /// Where it was made.
    pub(crate) const fn place(&self) -> &'static Location<'static> {
        self.place
    }

    /// `place` is where the manifest was made.
    pub(crate) fn with_origin(self, origin: Origin, place: &'static Location<'static>) -> Self {
        Self { origin: Some(origin), place, ..self }
    }

    /// Its name and its place in a manifest, if it is from one.
    pub(crate) fn place_in_manifest(&self) -> Option<(Box<str>, Box<str>)> {
        match &self.origin {
            Some(Origin::At(place)) => Some((self.name.clone(), place.clone())),
            _ => None,
        }
    }

    pub(crate) const fn has_code(&self) -> bool {
        self.run.is_some()
    }
}

impl Run {
    fn new<F: ToolFn<M>, M>(code: F, place: Place) -> Self {
        let mut needs = Needs::default();
        F::needs(&mut needs);
        Self { input: F::input, output: F::output, needs, code: code.into_code(place) }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).field("has_code", &self.run.is_some()).finish_non_exhaustive()
    }
}
