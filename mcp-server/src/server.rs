//! The builder of a server.

use std::any::type_name;
use std::sync::Arc;
use std::time::Duration;

use mcp_core::answer::{Icon, Implementation};
use mcp_core::catalog::Defect;
use mcp_core::policy::{Policy, Seal};
use mcp_core::{Caching, Endpoint, EndpointBuilder, ExtensionDecl, Revision, Span};
use serde_json::Value;

use crate::ask::{self, UsedStates};
use crate::defaults::Defaults;
use crate::error::BuildError;
use crate::extension::{Extension, Methods};
use crate::extract::States;
use crate::facts::Facts;
use crate::guard::CacheHint;
use crate::init::{self, Init};
use crate::into_entry::{IntoPrompt, IntoResource, IntoResourceTemplate};
use crate::into_tool::{Entries, IntoTool, IntoTools};
use crate::middleware::IntoMiddleware;
use crate::module::{Home, Module};
use crate::redact::Redact;
use crate::seal::Keys;
use crate::serve::{App, Edit, Offers, Own, Transports};
use crate::ui::{self, IntoApp};
use crate::visible::VisibleRule;

/// Collects what a server is and offers; then it is built, or served at once.
///
/// ```
/// use mcp_server::{Server, Tool};
///
/// # fn main() -> mcp_server::Result<()> {
/// let app = Server::new("my-app", "1.0.0")
///     .tool(Tool::new("hello").description("Say hello.").run(|| "Hello!"))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a server does nothing until it is built or served"]
pub struct Server {
    who: Implementation,
    instructions: Option<Box<str>>,
    policy: Policy,
    revisions: Option<Vec<Revision>>,
    sessions: bool,
    logging: bool,
    coerce: bool,
    cache: CacheHint,
    seal: Option<Arc<dyn Seal>>,
    used: Option<Arc<dyn UsedStates>>,
    entries: Edit,
    offers: Offers,
    /// Whether clients that show no pages hear nothing of them.
    pages_apart: bool,
    extensions: Vec<Extension>,
    experimental: Vec<(Box<str>, Value)>,
    /// One at most, or the server cannot be built.
    pub(crate) inits: Vec<Init>,
    pub(crate) visible: Vec<VisibleRule>,
    /// In place of what the policy says.
    hibernate_after: Option<Option<Span>>,
    idle_timeout: Option<Span>,
    pub(crate) states: States,
    defaults: Defaults,
    /// Types of which more than one state was given.
    twice: Vec<&'static str>,
    pub(crate) transports: Transports,
    /// Scopes, each with those that it includes.
    implied: Vec<(Box<str>, Box<str>)>,
}

impl Server {
    /// A server of that name and version. Both are shown to clients (BASE-27).
    pub fn new(name: impl AsRef<str>, version: impl AsRef<str>) -> Self {
        Self {
            who: Implementation::new(name.as_ref(), version.as_ref()),
            instructions: None,
            policy: Policy::default(),
            revisions: None,
            sessions: true,
            logging: false,
            coerce: false,
            cache: CacheHint::new(),
            seal: None,
            used: None,
            entries: Edit::new(),
            offers: Offers::default(),
            pages_apart: false,
            extensions: Vec::new(),
            experimental: Vec::new(),
            inits: Vec::new(),
            visible: Vec::new(),
            hibernate_after: None,
            idle_timeout: None,
            states: States::default(),
            defaults: Defaults::new(),
            twice: Vec::new(),
            transports: Transports::default(),
            implied: Vec::new(),
        }
    }

    /// A name for people.
    pub fn title(mut self, title: impl AsRef<str>) -> Self {
        self.who.title = Some(title.as_ref().into());
        self
    }

    /// What it is.
    pub fn description(mut self, description: impl AsRef<str>) -> Self {
        self.who.description = Some(description.as_ref().into());
        self
    }

    /// Where to read more about it.
    pub fn website(mut self, url: impl AsRef<str>) -> Self {
        self.who.website = Some(url.as_ref().into());
        self
    }

    /// One more icon.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.who.icons.push(icon);
        self
    }

    /// Instructions for the client's model: how the tools belong together.
    pub fn instructions(mut self, instructions: impl AsRef<str>) -> Self {
        self.instructions = Some(instructions.as_ref().into());
        self
    }

    /// Other bounds and delays than the default ones.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Serves these revisions of the protocol only. All five by default.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = Some(revisions.into_iter().collect());
        self
    }

    /// How long a session over HTTP is quiet before it goes to sleep and gives its memory back. 60 s by default; `None`: never.
    ///
    /// Each request begins it anew, so a busy session pays nothing; the next message wakes a sleeper. What is kept of it
    /// ([`Assigns`](crate::Assigns)) sleeps with it. In place of [`Timing::hibernate_after`](crate::Timing) of a
    /// [`policy`](Server::policy).
    pub fn hibernate_after(mut self, span: impl Into<Option<Duration>>) -> Self {
        self.hibernate_after = Some(span.into().map(in_millis));
        self
    }

    /// How long a session over HTTP is idle before it ends, asleep or awake. 2 h by default. Its client is then told 404, and
    /// begins another.
    ///
    /// Counted from the last thing that the client or a call did; a call that runs defers it. In place of
    /// [`Timing::idle`](crate::Timing) of a [`policy`](Server::policy).
    pub fn idle_timeout(mut self, span: Duration) -> Self {
        self.idle_timeout = Some(in_millis(span));
        self
    }

    /// Whether clients of the handshake revisions get sessions over HTTP. On by default.
    pub const fn sessions(mut self, sessions: bool) -> Self {
        self.sessions = sessions;
        self
    }

    /// Offers to log to clients, also if no tool takes [`Log`](crate::Log) or says that it [logs](crate::Tool::logs).
    pub const fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// Whether arguments that are texts are taken for the numbers and booleans that they spell, where no tool and no argument
    /// says otherwise: see [`Tool::coerce`](crate::Tool::coerce). Off by default.
    pub const fn coerce(mut self, coerce: bool) -> Self {
        self.coerce = coerce;
        self
    }

    /// For how long answers may be kept, and by whom, where an entry says nothing of it: see [`CacheHint`]. What is left unsaid
    /// here, too: not at all, and by who asked alone (CACHE-1).
    pub const fn cache(mut self, hint: CacheHint) -> Self {
        self.cache = hint;
        self
    }

    /// What seals state that travels through clients (MRTR-8). Default: [`Keys::random`], which is right for one process;
    /// servers that answer for one another need the same [`Keys`].
    /// It is the state of code that [asks](crate::ask).
    pub fn seal(mut self, seal: impl Seal + 'static) -> Self {
        self.seal = Some(Arc::new(seal));
        self
    }

    /// Looks over what tools log to clients before it is sent, and may change it: the place to take out tokens, addresses and
    /// whatever else is for nobody outside (LOG-5). By default everything is sent as it was logged.
    ///
    /// It sees the message's `data`, as JSON, on the thread of whoever logs. The server's own log does not come here.
    ///
    /// ```
    /// use mcp_server::{Server, Value};
    ///
    /// let server = Server::new("my-app", "1.0.0").redact_logs(|data: &mut Value| {
    ///     if let Some(token) = data.get_mut("token") {
    ///         *token = "(not shown)".into();
    ///     }
    /// });
    /// ```
    pub fn redact_logs(mut self, look: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        self.states.redact = Redact::new(look);
        self
    }

    /// What remembers which states were used up, for code that lets each be used [once](crate::Ctx::one_time) (MRTR-10). Default:
    /// [`RecentStates`](crate::ask::RecentStates), which is right for one process; servers that answer for one another need one
    /// that they share.
    pub fn used_states(mut self, states: impl UsedStates) -> Self {
        self.used = Some(Arc::new(states));
        self
    }

    /// One more tool: a [`Tool`](crate::Tool), or a function with [`#[tool]`](macro@crate::tool). Clients see them in the order in which they
    /// were registered.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        let tool = tool.into_tool();
        self.logging |= tool.wants_logging();
        self.entries.add(tool);
        self
    }

    /// Several more: a value whose `impl` block has [`#[tools]`](macro@crate::tools), with all resources and prompts that the
    /// block has beside its tools; or a list of tools.
    pub fn tools(self, tools: impl IntoTools) -> Self {
        let mut entries = tools.into_tools();
        if let Some(module) = Module::of(&mut entries) {
            return self.module(module);
        }
        let Entries { tools, apps, resources, resource_templates, prompts, .. } = entries;
        let server = tools.into_iter().fold(self, Self::tool);
        let server = apps.into_iter().fold(server, Self::app);
        server.resources(resources).resource_templates(resource_templates).prompts(prompts)
    }

    /// One more module: entries that belong together. Clients see them after the server's own.
    pub fn module(mut self, module: Module) -> Self {
        let flat = module.flat();
        self.logging |= flat.wants_logging();
        self.entries.add_flat(flat);
        self
    }

    /// What the entries that are registered with the server itself have unless they say otherwise: before this or after it, and
    /// those that are [added](App::add_tool) while it serves. A [`Module`], which a block with [`#[tools]`](macro@crate::tools) is too,
    /// has its own; for all of them, put them into one module.
    pub fn defaults(mut self, defaults: Defaults) -> Self {
        self.defaults = defaults;
        self
    }

    /// One more resource. Clients see them in the order in which they were registered.
    pub fn resource(mut self, resource: impl IntoResource) -> Self {
        let resource = resource.into_resource();
        self.listen_to(resource.facts());
        self.entries.add_resource(resource);
        self
    }

    /// Several more.
    pub fn resources<R: IntoResource>(self, resources: impl IntoIterator<Item = R>) -> Self {
        resources.into_iter().fold(self, Self::resource)
    }

    /// One more template of resources. Those that were registered before go first, and resources before all (RES-11).
    pub fn resource_template(mut self, template: impl IntoResourceTemplate) -> Self {
        let template = template.into_resource_template();
        self.listen_to(template.facts());
        self.entries.add_resource_template(template);
        self
    }

    /// Several more.
    pub fn resource_templates<T: IntoResourceTemplate>(self, templates: impl IntoIterator<Item = T>) -> Self {
        templates.into_iter().fold(self, Self::resource_template)
    }

    /// One more prompt. Clients see them in the order in which they were registered.
    pub fn prompt(mut self, prompt: impl IntoPrompt) -> Self {
        let prompt = prompt.into_prompt();
        self.listen_to(prompt.facts());
        self.entries.add_prompt(prompt);
        self
    }

    /// Several more.
    pub fn prompts<P: IntoPrompt>(self, prompts: impl IntoIterator<Item = P>) -> Self {
        prompts.into_iter().fold(self, Self::prompt)
    }

    /// A tool together with its page: MCP Apps.
    pub fn app(self, app: impl IntoApp) -> Self {
        let (tool, page) = app.into_app().split();
        let server = self.tool(tool);
        match page {
            Some(page) => server.resource(page),
            None => server,
        }
    }

    /// Links tools to their pages only for clients that declare that they show pages (APP-1): the others find the tools without
    /// the link, and without those that [only a page calls](crate::Visibility). By default all clients find the same, and ignore what
    /// they do not know.
    ///
    /// On 2026-07-28 no cache between them and the server may then give the list of one client to another (CACHE-4).
    pub const fn ui_only_where_shown(mut self) -> Self {
        self.pages_apart = true;
        self
    }

    /// Offers resources also if none is registered yet, so that [`App::add_resource`] can add some: what a server offers is
    /// settled when it is built (LIFE-12). Tools are always offered.
    pub const fn offers_resources(mut self) -> Self {
        self.offers.resources = true;
        self
    }

    /// Offers prompts also if none is registered yet, so that [`App::add_prompt`] can add some.
    pub const fn offers_prompts(mut self) -> Self {
        self.offers.prompts = true;
        self
    }

    /// Offers completions also if nothing that is registered completes its arguments yet (COMP-2).
    pub const fn offers_completions(mut self) -> Self {
        self.offers.completions = true;
        self
    }

    /// Declares one more extension of the protocol, with its methods. None is declared by default (EXT-3).
    pub fn extension(mut self, extension: Extension) -> Self {
        self.logging |= extension.wants_logging();
        self.extensions.push(extension);
        self
    }

    /// Declares a capability under `experimental`, with its settings: a JSON object. Nothing is done for it, and unlike an
    /// [extension](Server::extension) it is told to clients of every revision (EXT-4).
    pub fn experimental(mut self, name: impl AsRef<str>, settings: Value) -> Self {
        self.experimental.push((name.as_ref().into(), settings));
        self
    }

    fn listen_to(&mut self, facts: &Facts) {
        self.logging |= facts.wants_logging();
    }

    /// Runs code around every call of a tool, resource, prompt, completion or method of an extension: see
    /// [`IntoMiddleware`]. Of several, the first is the outermost; what an entry [has itself](crate::Tool::wrap)
    /// is within all of them.
    ///
    /// What is looked up comes before: a name that is not there, or hidden from who asks, or for which scopes are missing, reaches none.
    /// An [init](Server::init) is not wrapped.
    ///
    /// ```
    /// use mcp_server::middleware::{CallResult, Next};
    /// use mcp_server::{Caller, Server};
    ///
    /// tokio::task_local! {
    ///     static USER: String;
    /// }
    ///
    /// /// Whatever runs below finds the user there.
    /// async fn with_user(caller: Caller, next: Next) -> CallResult {
    ///     let user = caller.principal.map_or_else(String::new, |principal| principal.as_str().to_owned());
    ///     USER.scope(user, next.run()).await
    /// }
    ///
    /// Server::new("my-app", "1.0.0").wrap(with_user).build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    pub fn wrap<M>(mut self, middleware: impl IntoMiddleware<M>) -> Self {
        middleware.add_to(&mut self.states.wraps);
        self
    }

    /// Declares that a scope includes others, separated by spaces, and what they include: a caller with the first needs none of the
    /// others (AUTH-7). Said twice, it includes both.
    ///
    /// ```
    /// use mcp_server::Server;
    ///
    /// let server = Server::new("notes", "1.0.0")
    ///     .scope_implies("notes:write", "notes:read")
    ///     .scope_implies("admin", "notes:write users:write");
    /// ```
    pub fn scope_implies(mut self, broad: impl AsRef<str>, narrow: impl AsRef<str>) -> Self {
        self.implied.push((broad.as_ref().into(), narrow.as_ref().into()));
        self
    }

    /// Shares a value with its tools, which take it as [`State<T>`](crate::State). One of a type.
    pub fn state<T: Send + Sync + 'static>(self, state: T) -> Self {
        self.shared_state(Arc::new(state))
    }

    /// The same with a value that is shared already, as with the routes of the application around it.
    pub fn shared_state<T: Send + Sync + 'static>(mut self, state: Arc<T>) -> Self {
        if !self.states.put(state) {
            self.twice.push(type_name::<T>());
        }
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once: each defect names the tool, the rule and the remedy. Also if the operating system
    /// gives no random bytes for the default key.
    pub fn build(self) -> Result<App, BuildError> {
        let twice = self.twice.iter().map(|name| given_twice(name));
        let mut defects: Vec<Defect> = twice.chain(init::given_again(&self.inits)).collect();
        let mut policy = self.policy;
        policy.timing.hibernate_after = self.hibernate_after.unwrap_or(policy.timing.hibernate_after);
        policy.timing.idle = self.idle_timeout.unwrap_or(policy.timing.idle);
        let init = self.inits.into_iter().next();
        let seal = self.seal.or_else(|| match Keys::random() {
            Ok(keys) => Some(Arc::new(keys)),
            Err(error) => {
                let message = format!("no random bytes for a key ({error}): give the server keys with `.seal(..)`");
                defects.push(Defect { entry: "server".into(), rule: "MRTR-8", message: message.into() });
                None
            }
        });
        let mut states = self.states;
        states.own = Home::new(None, self.defaults, None, &mut defects);
        let logging = self.logging || wants_logging(&states);
        states.asking = ask::Settings::new(&policy, self.used);
        (states.init, states.assigns) = (init.as_ref().map(|init| init.keeps), policy.limits.assigns);
        let mut endpoint = Endpoint::builder(self.who)
            .policy(policy)
            .tools(true)
            .logging(logging)
            .sessions(self.sessions)
            .caching(mcp_core::CacheHint::from(self.cache).or(Caching::NONE))
            .init(init.is_some());
        endpoint = seal.into_iter().fold(endpoint, mcp_core::EndpointBuilder::seal);
        endpoint =
            self.implied.iter().fold(endpoint, |endpoint, (broad, narrow)| endpoint.scope_implies(broad, narrow));
        #[cfg(feature = "http")]
        if let Some(url) = self.transports.http.resource_metadata() {
            endpoint = endpoint.resource_metadata(url);
        }
        if let Some(instructions) = &self.instructions {
            endpoint = endpoint.instructions(instructions);
        }
        if let Some(revisions) = &self.revisions {
            endpoint = endpoint.revisions(revisions);
        }
        let mut offers = self.offers.and(self.entries.wants());
        offers.logging |= logging;
        if self.entries.has_pages() || self.pages_apart {
            endpoint = endpoint.extension(ExtensionDecl::new(ui::EXTENSION).with_legacy());
        }
        if self.pages_apart {
            endpoint = endpoint.pages(ui::are_shown_by);
        }
        endpoint = offering(endpoint, offers);
        for (name, settings) in &self.experimental {
            endpoint = endpoint.experimental(name, &settings.to_string());
        }
        defects.extend(lacks_around(&states).chain(states.guarding.defects(&states)));
        let states = Arc::new(states);
        let mut methods = Methods::new();
        for extension in self.extensions {
            endpoint = endpoint.extension(extension.split(&states, &mut methods, &mut defects));
        }
        let init = init.map(|init| init.into_entry(&states, &mut defects));
        let own = Own { methods, init, visible: self.visible.into() };
        let table = self.entries.build(&states, self.coerce, offers).map_err(|found| defects.extend(found));
        if let (Ok(table), Some(focus)) = (&table, &states.focus) {
            defects.extend(focus.check(|name| table.has_tool(name)));
        }
        defects.extend(states.guarding.unused());
        let endpoint = endpoint.build().map_err(|found| defects.extend(found));
        #[cfg(feature = "http")]
        defects.extend(self.transports.http.defects());
        match (endpoint, table) {
            (Ok(endpoint), Ok(table)) if defects.is_empty() => {
                Ok(App::new(endpoint, states, self.coerce, offers, own, table, self.transports))
            }
            _ => Err(BuildError::new(defects)),
        }
    }
}

fn offering(mut endpoint: EndpointBuilder, offers: Offers) -> EndpointBuilder {
    if offers.resources {
        endpoint = endpoint.resources(true, true);
    }
    if offers.prompts {
        endpoint = endpoint.prompts(true);
    }
    if offers.completions {
        endpoint = endpoint.completions();
    }
    endpoint
}

/// Spans of the protocol are of whole milliseconds; one that is longer than can be said is as good as for ever.
fn in_millis(span: Duration) -> Span {
    Span::millis(span.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Whether what runs around calls logs to clients.
fn wants_logging(states: &States) -> bool {
    let around = states.wraps.needs().logging || states.own.defaults.guards.wraps.needs().logging;
    around || states.guarding.wants_logging()
}

/// What is wrong with what runs around all calls.
fn lacks_around(states: &States) -> impl Iterator<Item = Defect> {
    let lacks = states.wraps.needs().states.into_iter().filter_map(|wanted| states.lacks(&wanted));
    lacks.map(|lacks| Defect {
        entry: "server".into(),
        rule: "TOOL-6",
        message: format!("what is wrapped around its calls: {lacks}").into(),
    })
}

fn given_twice(name: &str) -> Defect {
    let message = format!(
        "the state `{name}` was given twice, and a tool could not tell them apart: wrap one in a type of its own, as in \
         `struct Readers(Pool)`"
    );
    Defect { entry: "server".into(), rule: "TOOL-6", message: message.into() }
}
