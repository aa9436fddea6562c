//! Who sees what: rules about the entries of a server, asked whenever one is looked up or listed.

mod sight;

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use mcp_core::catalog::Item;
use mcp_core::{Caller, Endpoint, Scopes};
use serde_json::{Map, Value};

pub(crate) use self::sight::{Facings, Rules, view};
use crate::assigns::{Assignable, Kept};
use crate::extract::States;
use crate::guard::Guards;
use crate::server::Server;

/// One entry of a server, as a rule of [`Server::visible`] looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    item: Item<'a>,
    facing: &'a Facing,
}

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A tool.
    Tool,
    /// A resource.
    Resource,
    /// A template of resources.
    ResourceTemplate,
    /// A prompt.
    Prompt,
}

impl<'a> Shown<'a> {
    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> EntryKind {
        match self.item {
            Item::Tool(_) => EntryKind::Tool,
            Item::Resource(_) => EntryKind::Resource,
            Item::Template(_) => EntryKind::ResourceTemplate,
            Item::Prompt(_) => EntryKind::Prompt,
        }
    }

    /// Its name, its URI, or the template.
    #[must_use]
    pub fn name(&self) -> &'a str {
        match self.item {
            Item::Tool(tool) => tool.name(),
            Item::Resource(resource) => resource.uri(),
            Item::Template(template) => template.uri(),
            Item::Prompt(prompt) => prompt.name(),
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(&self) -> Option<&'a str> {
        match self.item {
            Item::Tool(tool) => tool.title(),
            Item::Resource(resource) => resource.title(),
            Item::Template(template) => template.title(),
            Item::Prompt(prompt) => prompt.title(),
        }
    }

    /// The server's private words about it.
    #[must_use]
    pub const fn tags(&self) -> &'a Map<String, Value> {
        &self.facing.tags
    }

    /// One of them; `null` if there is none of that name, so that `entry.tag("admin") == true` is a whole test.
    #[must_use]
    pub fn tag(&self, name: &str) -> &'a Value {
        self.facing.tags.get(name).unwrap_or(&Value::Null)
    }

    /// Its `_meta`, as clients see it. Read anew each time.
    #[must_use]
    pub fn meta(&self) -> Option<Value> {
        let meta = match self.item {
            Item::Tool(tool) => tool.meta(),
            Item::Resource(resource) => resource.meta(),
            Item::Template(template) => template.meta(),
            Item::Prompt(prompt) => prompt.meta(),
        };
        serde_json::from_str(meta?).ok()
    }

    /// Whether it is a [sensitive](crate::Tool::is_sensitive) tool.
    #[must_use]
    pub const fn is_sensitive(&self) -> bool {
        self.facing.sensitive
    }

    /// The scopes that a caller must have to use it.
    pub fn scopes(&self) -> impl Iterator<Item = &'a str> {
        self.facing.scopes.iter().map(|scope| &**scope)
    }
}

/// Who looks, as a rule of [`Server::visible`] sees them.
pub struct Viewer {
    caller: Caller,
    endpoint: Arc<Endpoint>,
    states: Arc<States>,
    assigns: Bytes,
    /// Of the type that init makes, if it can be read.
    decoded: OnceLock<Option<Box<dyn Any + Send + Sync>>>,
}

impl Viewer {
    /// Principal and scopes.
    #[must_use]
    pub const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Who it is, if that is known.
    #[must_use]
    pub fn principal(&self) -> Option<&str> {
        self.caller.principal.as_ref().map(mcp_core::Principal::as_str)
    }

    /// Whether they have that scope, or one that includes it; of several, separated by spaces, whether they have
    /// all. As with the scopes of entries, who has no principal has none.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.endpoint.permits(&self.caller, &Scopes::parse(scope))
    }

    /// What the server's [init](Server::init) made of the session, or a call put in its place since: of 2026-07-28, of this very
    /// request. Read once, however many entries are looked at. `None` if the server has no init, or one that makes another type,
    /// or if it cannot be read; the log says so of the latter two.
    #[must_use]
    pub fn assigns<T: Assignable>(&self) -> Option<&T> {
        let init = self.states.init.as_ref()?;
        if let Some(differs) = Kept::of::<T>().differs(Some(init)) {
            tracing::error!("a rule about who sees what looks for the wrong assigns: {differs}");
            return None;
        }
        self.decoded.get_or_init(|| self.decode::<T>()).as_ref()?.downcast_ref()
    }

    /// What the server was given with [`Server::state`].
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.states.borrow()
    }

    fn decode<T: Assignable>(&self) -> Option<Box<dyn Any + Send + Sync>> {
        if self.assigns.is_empty() {
            // Nothing is kept yet.
            return None;
        }
        match serde_json::from_slice::<T>(&self.assigns) {
            Ok(assigns) => Some(Box::new(assigns)),
            Err(error) => {
                let wanted = std::any::type_name::<T>();
                tracing::error!(wanted, %error, "what is kept of a session cannot be read by a rule about who sees what");
                None
            }
        }
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Viewer").field("caller", &self.caller).finish_non_exhaustive()
    }
}

impl Server {
    /// Hides what a rule does not show: tools, resources, templates and prompts. It is asked of each entry whenever one is looked
    /// up or listed. Of several rules, and of those of [modules and entries](crate::Tool::visible), all must agree.
    ///
    /// ```
    /// use mcp_server::{Server, Shown, Tool, Viewer};
    ///
    /// let purge = Tool::new("purge").description("Deletes everything.").tag("admin", true).run(|| "gone");
    /// Server::new("my-app", "1.0.0")
    ///     .tool(purge)
    ///     .visible(|entry: &Shown, viewer: &Viewer| entry.tag("admin") != true || viewer.has_scope("admin"))
    ///     .build()?;
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// What is hidden is as good as not there: it is in no list, its name is answered as an unknown one is, by whatever it is called, read,
    /// completed or followed, and a client that follows it is told nothing while it is hidden. A resource that is hidden hides its
    /// URI, also from templates. It is for showing each client what is of use to it; what must be kept from somebody needs
    /// a [scope](crate::Tool::scope) as well.
    ///
    /// A rule answers from what it is given, at once: it runs while the session waits. It must not block and cannot change the server.
    /// One that panics hides the entry, and the log says why. What a server with rules answers, lists and
    /// resources alike, is for no shared cache, whatever [hints](crate::CacheHint::public) say (CACHE-4).
    ///
    /// Clients are not told when what a rule goes by changes: they find out with the next list or use. So
    /// [`Ctx::assign`](crate::Ctx::assign) changes what its session sees from its next request on.
    pub fn visible(mut self, rule: impl Fn(&Shown<'_>, &Viewer) -> bool + Send + Sync + 'static) -> Self {
        self.visible.push(VisibleRule::new(rule));
        self
    }
}

/// One rule.
#[derive(Clone)]
pub(crate) struct VisibleRule(Arc<Rule>);

type Rule = dyn Fn(&Shown<'_>, &Viewer) -> bool + Send + Sync;

impl VisibleRule {
    pub(crate) fn new(rule: impl Fn(&Shown<'_>, &Viewer) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }
}

impl fmt::Debug for VisibleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisibleRule(..)")
    }
}

/// What rules know of an entry beside what is listed. It owns none of the entry's code: who looks last at an entry that was
/// taken away may hold a lock.
#[derive(Debug)]
pub(crate) struct Facing {
    rules: Box<[VisibleRule]>,
    tags: Map<String, Value>,
    scopes: Box<[Box<str>]>,
    sensitive: bool,
}

impl Facing {
    pub(crate) fn new(guards: &Guards, tags: &Map<String, Value>, sensitive: bool) -> Arc<Self> {
        let (rules, scopes) = (guards.visible.clone().into(), guards.scopes.clone().into());
        Arc::new(Self { rules, tags: tags.clone(), scopes, sensitive })
    }
}

thread_local! {
    /// Whether a rule is asked on this thread.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, a rule is asked.
struct Asking {
    before: bool,
}

impl Asking {
    fn begin() -> Self {
        Self { before: ASKING.replace(true) }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.set(self.before);
    }
}

/// A rule is asked under the lock of a session, which whoever changes the server waits for.
///
/// # Panics
///
/// On a thread that asks a rule.
pub(crate) fn assert_not_asked() {
    assert!(
        !ASKING.get(),
        "a rule about who sees what cannot change the server, nor say that a resource has: it is asked while a session waits"
    );
}
