//! What a server says of itself: encoded once, the same for every conversation.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::answer::Implementation;
use crate::caching::Caching;
use crate::catalog::Defect;
use crate::encode::json::{self, Object};
use crate::encode::{self, SERVER_INFO};
use crate::extension::ExtensionDecl;
use crate::fault::{Code, Fault, reflect};
use crate::machine::Change;
use crate::peer::{Capabilities, Era, Peer, Revision, Scopes};
use crate::policy::{Limits, Policy, Seal, Timing};

mod scopes;

use scopes::Implied;

/// The server's name, capabilities and bounds. Immutable; every machine of a server shares one.
#[derive(Debug)]
pub struct Endpoint {
    policy: Policy,
    served: Box<[Revision]>,
    sessions: bool,
    offers: Offers,
    caching: Caching,
    logging: bool,
    extensions: Box<[ExtensionDecl]>,
    seal: Option<Arc<dyn Seal>>,
    pages: Option<ShownBy>,
    init: bool,
    implied: Implied,
    resource_metadata: Option<Box<str>>,
    /// Indexed by legacy revision.
    initialize: [Bytes; LEGACY],
    /// The same for a client that cannot be told of changes.
    initialize_alone: [Bytes; LEGACY],
    discover: Bytes,
    server_info: Bytes,
    result_meta: Bytes,
    supported_text: Box<str>,
    supported_data: Box<str>,
}

/// Whether a client of these capabilities shows pages.
type ShownBy = fn(&Capabilities) -> bool;

/// What is offered besides the protocol itself.
#[derive(Clone, Copy, Debug, Default)]
struct Offers {
    tools: Option<Listed>,
    prompts: Option<Listed>,
    resources: Option<Listed>,
    /// Whether word of a resource's new contents is promised (RES-7).
    subscribe: bool,
    completions: bool,
}

impl Offers {
    /// What is left of it for a client that nobody could tell of a change (LIFE-12).
    fn without_changes(self) -> Self {
        let unchanging = |listed: Option<Listed>| listed.map(|_| Listed { changes: false });
        let Self { tools, prompts, resources, subscribe: _, completions } = self;
        let [tools, prompts, resources] = [tools, prompts, resources].map(unchanging);
        Self { tools, prompts, resources, subscribe: false, completions }
    }
}

/// A list that is offered.
#[derive(Clone, Copy, Debug)]
struct Listed {
    /// Whether word of its changes is promised.
    changes: bool,
}

/// Collects what an [`Endpoint`] says.
#[derive(Debug)]
pub struct EndpointBuilder {
    who: Implementation,
    instructions: Option<Box<str>>,
    policy: Policy,
    served: Vec<Revision>,
    sessions: bool,
    offers: Offers,
    caching: Caching,
    logging: bool,
    extensions: Vec<ExtensionDecl>,
    /// Names and settings.
    experimental: Vec<(Box<str>, Box<str>)>,
    seal: Option<Arc<dyn Seal>>,
    pages: Option<ShownBy>,
    init: bool,
    /// Each scope, and those that it includes, as they were declared.
    implied: Vec<(Box<str>, Scopes)>,
    resource_metadata: Option<Box<str>>,
}

impl EndpointBuilder {
    /// With instructions for the client's model.
    #[must_use]
    pub fn instructions(mut self, instructions: &str) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// With other bounds and delays than the default ones.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Offers tools; `list_changed` promises word of every change of their list (TOOL-1, TOOL-16): to legacy clients without
    /// being asked, to modern ones that ask for it with `subscriptions/listen`.
    #[must_use]
    pub const fn tools(mut self, list_changed: bool) -> Self {
        self.offers.tools = Some(Listed { changes: list_changed });
        self
    }

    /// Offers prompts; `list_changed` as of [`tools`](EndpointBuilder::tools) (PROMPT-1, PROMPT-5).
    #[must_use]
    pub const fn prompts(mut self, list_changed: bool) -> Self {
        self.offers.prompts = Some(Listed { changes: list_changed });
        self
    }

    /// Offers resources and templates; `list_changed` as of [`tools`](EndpointBuilder::tools), `subscribe` promises word of new
    /// contents to who asks for it (RES-1, RES-7).
    #[must_use]
    pub const fn resources(mut self, list_changed: bool, subscribe: bool) -> Self {
        self.offers.resources = Some(Listed { changes: list_changed });
        self.offers.subscribe = subscribe;
        self
    }

    /// Offers completions of the arguments of prompts and templates (COMP-2).
    #[must_use]
    pub const fn completions(mut self) -> Self {
        self.offers.completions = true;
        self
    }

    /// For how long, and by whom, what is said to all may be kept (CACHE-1): `server/discover`, and lists and resources as far as the
    /// [entries](crate::CacheHint) say nothing else. [`Caching::NONE`] by default.
    ///
    /// A list is kept no longer than its items, and by its caller alone if that holds of one of them, if one asks for scopes, or if
    /// something is hidden from its caller (CACHE-4). What a resource says [in its answer](crate::answer::ResourceAnswer) goes first.
    #[must_use]
    pub const fn caching(mut self, caching: Caching) -> Self {
        self.caching = caching;
        self
    }

    /// Whether log messages are sent to clients that ask for them (LOG-1). Off by default: deprecated (DEP-1).
    #[must_use]
    pub const fn logging(mut self, logging: bool) -> Self {
        self.logging = logging;
        self
    }

    /// Declares one more extension.
    #[must_use]
    pub fn extension(mut self, extension: ExtensionDecl) -> Self {
        self.extensions.push(extension);
        self
    }

    /// Declares one more `experimental` capability, with settings: JSON text of an object (21.4). The core does nothing for it.
    #[must_use]
    pub fn experimental(mut self, name: &str, settings: &str) -> Self {
        self.experimental.push((name.into(), settings.into()));
        self
    }

    /// With what seals the state of modern calls that ask their client (MRTR-8). Without it they cannot ask.
    #[must_use]
    pub fn seal(mut self, seal: Arc<dyn Seal>) -> Self {
        self.seal = Some(seal);
        self
    }

    /// Tells apart which clients show pages: the others find no tool linked to one, and none that only its page calls (APP-1).
    /// Without it, all find the same.
    #[must_use]
    pub fn pages(mut self, shown_by: fn(&Capabilities) -> bool) -> Self {
        self.pages = Some(shown_by);
        self
    }

    /// Whether the server's own code is asked before a client is served: see [`Kind::Init`](crate::Kind::Init). What a modern
    /// client is given is then for no shared cache (CACHE-4). Off by default.
    #[must_use]
    pub const fn init(mut self, init: bool) -> Self {
        self.init = init;
        self
    }

    /// Serves these revisions only. All by default.
    #[must_use]
    pub fn revisions(mut self, revisions: &[Revision]) -> Self {
        self.served = revisions.into();
        self
    }

    /// Whether legacy HTTP has sessions. Without them nothing can be asked or pushed there. On by default.
    #[must_use]
    pub const fn sessions(mut self, sessions: bool) -> Self {
        self.sessions = sessions;
        self
    }

    /// Checks and encodes everything.
    ///
    /// # Errors
    ///
    /// Every defect, at once.
    pub fn build(mut self) -> Result<Arc<Endpoint>, Vec<Defect>> {
        // Newest first, each once (VER-8).
        self.served.sort_unstable_by(|a, b| b.cmp(a));
        self.served.dedup();
        let defects = self.defects();
        if !defects.is_empty() {
            return Err(defects);
        }
        let server_info = encoded(|out| encode::implementation(out, Revision::MODERN, &self.who));
        let meta = encoded(|out| {
            let mut object = Object::open(out);
            object.key(SERVER_INFO).extend_from_slice(&server_info);
            object.close();
        });
        let result_meta = [b"\"_meta\":", &*meta].concat().into();
        let names: Vec<&str> = self.served.iter().map(|revision| revision.as_str()).collect();
        let supported = alloc::format!("[\"{}\"]", names.join("\",\""));
        let [initialize, initialize_alone] = [self.offers, self.offers.without_changes()]
            .map(|offers| core::array::from_fn(|index| self.initialize(Revision::ALL[index], offers)));
        let discover = self.discover(&supported, &meta);
        Ok(Arc::new(Endpoint {
            initialize,
            initialize_alone,
            discover,
            server_info,
            result_meta,
            supported_text: names.join(", ").into(),
            supported_data: alloc::format!("{{\"supported\":{supported}}}").into(),
            policy: self.policy,
            served: self.served.into(),
            sessions: self.sessions,
            offers: self.offers,
            caching: self.caching,
            logging: self.logging,
            extensions: self.extensions.into(),
            seal: self.seal,
            pages: self.pages,
            init: self.init,
            implied: scopes::closure(&self.implied),
            resource_metadata: self.resource_metadata,
        }))
    }

    fn defects(&self) -> Vec<Defect> {
        let mut defects = Vec::new();
        for (what, text) in [("name", &self.who.name), ("version", &self.who.version)] {
            if text.is_empty() {
                defects.push(Defect::new(
                    "server",
                    "BASE-27",
                    alloc::format!("the server's {what} is empty: give it one"),
                ));
            }
        }
        if self.served.is_empty() {
            defects.push(Defect::new("server", "VER-2", "no protocol revision is served: name at least one"));
        }
        for (index, (name, settings)) in self.experimental.iter().enumerate() {
            let mut defect = |why: &str| defects.push(Defect::new(&reflect(name), "EXT-4", why));
            if json::members(settings).is_none() {
                defect("the settings must be the text of a JSON object; `{}` for none");
            }
            if self.experimental[..index].iter().any(|(other, _)| other == name) {
                defect("declared twice: declare it once");
            }
        }
        for (index, extension) in self.extensions.iter().enumerate() {
            let before = &self.extensions[..index];
            extension.check(before, &mut defects);
        }
        self.check_authorization(&mut defects);
        defects
    }

    /// The result of `initialize` (LIFE-1).
    fn initialize(&self, revision: Revision, offers: Offers) -> Bytes {
        encoded(|out| {
            let mut object = Object::open(out);
            object.string("protocolVersion", revision.as_str());
            self.capabilities(object.key("capabilities"), revision, offers);
            encode::implementation(object.key("serverInfo"), revision, &self.who);
            object.optional("instructions", self.instructions.as_deref());
            object.close();
        })
    }

    /// The result of `server/discover` (VER-3, CACHE-1).
    fn discover(&self, supported: &str, meta: &[u8]) -> Bytes {
        encoded(|out| {
            let mut object = Object::open(out);
            object.string("resultType", "complete");
            object.json("supportedVersions", supported);
            self.capabilities(object.key("capabilities"), Revision::MODERN, self.offers);
            object.optional("instructions", self.instructions.as_deref());
            self.caching.write(object.place());
            object.key("_meta").extend_from_slice(meta);
            object.close();
        })
    }

    /// What is served, and nothing else (LIFE-12, 21.4). `listChanged: false` says nothing and is left out (A39). To modern
    /// clients it says what they may ask for with `subscriptions/listen`.
    fn capabilities(&self, out: &mut Vec<u8>, revision: Revision, offers: Offers) {
        let Offers { tools, prompts, resources, subscribe, completions } = offers;
        let mut object = Object::open(out);
        // COMP-2: 2024-11-05 has no name for it.
        if completions && revision > Revision::V2024_11_05 {
            object.json("completions", "{}");
        }
        if self.logging {
            object.json("logging", "{}");
        }
        for (name, listed, subscribe) in
            [("prompts", prompts, false), ("resources", resources, subscribe), ("tools", tools, false)]
        {
            let Some(Listed { changes }) = listed else { continue };
            let mut object = Object::open(object.key(name));
            if changes {
                object.boolean("listChanged", true);
            }
            if subscribe {
                object.boolean("subscribe", true);
            }
            object.close();
        }
        if !self.experimental.is_empty() {
            let members = self.experimental.iter().map(|(name, settings)| (&**name, &**settings));
            object.key("experimental").extend_from_slice(&encode::object(members));
        }
        let mut extensions = self.extensions.iter().filter(|extension| extension.is_declared(revision)).peekable();
        if extensions.peek().is_some() {
            let mut object = Object::open(object.key("extensions"));
            extensions.for_each(|extension| object.json(&extension.id, &extension.settings));
            object.close();
        }
        object.close();
    }
}

impl Endpoint {
    /// An endpoint to describe.
    #[must_use]
    pub fn builder(who: Implementation) -> EndpointBuilder {
        EndpointBuilder {
            who,
            instructions: None,
            policy: Policy::default(),
            served: Revision::ALL.into(),
            sessions: true,
            offers: Offers::default(),
            caching: Caching::NONE,
            logging: false,
            extensions: Vec::new(),
            experimental: Vec::new(),
            seal: None,
            pages: None,
            init: false,
            implied: Vec::new(),
            resource_metadata: None,
        }
    }

    /// Bounds and delays.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is bounded in number or size.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.policy.limits
    }

    /// What is bounded in time.
    #[must_use]
    pub const fn timing(&self) -> &Timing {
        &self.policy.timing
    }

    /// Whether the revision is served.
    #[must_use]
    pub fn serves(&self, revision: Revision) -> bool {
        self.served.contains(&revision)
    }

    /// The revisions that are served, newest first.
    #[must_use]
    pub fn revisions(&self) -> &[Revision] {
        &self.served
    }

    /// Whether the stateless revision is served.
    #[must_use]
    pub fn modern(&self) -> bool {
        self.serves(Revision::MODERN)
    }

    /// Whether any handshake revision is served.
    #[must_use]
    pub fn legacy(&self) -> bool {
        self.newest_legacy().is_some()
    }

    /// The newest handshake revision that is served: the answer to an `initialize` that asks for another (LIFE-2).
    #[must_use]
    pub fn newest_legacy(&self) -> Option<Revision> {
        self.served.iter().copied().find(|revision| revision.era() == Era::Legacy)
    }

    /// Whether the server's own code is asked before a client is served.
    #[must_use]
    pub const fn has_init(&self) -> bool {
        self.init
    }

    /// Whether legacy HTTP has sessions.
    #[must_use]
    pub const fn sessions(&self) -> bool {
        self.sessions
    }

    /// For how long, and by whom, what is listed or read may be kept where the entries say nothing else.
    #[must_use]
    pub const fn caching(&self) -> Caching {
        self.caching
    }

    /// Whether tools are offered.
    #[must_use]
    pub const fn has_tools(&self) -> bool {
        self.offers.tools.is_some()
    }

    /// Whether resources and templates are offered.
    #[must_use]
    pub const fn has_resources(&self) -> bool {
        self.offers.resources.is_some()
    }

    /// Whether prompts are offered.
    #[must_use]
    pub const fn has_prompts(&self) -> bool {
        self.offers.prompts.is_some()
    }

    /// Whether completions are offered.
    #[must_use]
    pub const fn has_completions(&self) -> bool {
        self.offers.completions
    }

    /// Whether word of a resource's new contents is promised (RES-7).
    #[must_use]
    pub const fn has_subscriptions(&self) -> bool {
        self.offers.subscribe
    }

    /// Whether word of a change of that list is promised.
    #[must_use]
    pub fn tells_of(&self, what: Change) -> bool {
        let listed = match what {
            Change::Tools => self.offers.tools,
            Change::Prompts => self.offers.prompts,
            Change::Resources => self.offers.resources,
        };
        listed.is_some_and(|listed| listed.changes)
    }

    /// Whether log messages are sent to clients.
    #[must_use]
    pub const fn has_logging(&self) -> bool {
        self.logging
    }

    /// The extension of that id, if it is declared.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&ExtensionDecl> {
        self.extensions.iter().find(|extension| &*extension.id == id)
    }

    /// The extension whose method that is.
    #[must_use]
    pub fn extension_of(&self, method: &str) -> Option<&ExtensionDecl> {
        self.extensions.iter().find(|extension| extension.methods.iter().any(|own| &**own == method))
    }

    /// Whether tools are linked to their pages for that client.
    pub(crate) fn shows_pages(&self, peer: &Peer) -> bool {
        self.pages.is_none_or(|shown_by| shown_by(&peer.capabilities))
    }

    /// Whether that depends on the client.
    pub(crate) const fn tells_pages_apart(&self) -> bool {
        self.pages.is_some()
    }

    /// What seals the state of modern calls.
    #[must_use]
    pub const fn seal(&self) -> Option<&Arc<dyn Seal>> {
        self.seal.as_ref()
    }

    /// The result of `initialize` in that revision: the text of an object (LIFE-1).
    ///
    /// A handshake never ends in the stateless revision: asked for it, this is the newest legacy one's (LIFE-2).
    #[must_use]
    pub fn initialize_result(&self, revision: Revision) -> &Bytes {
        &self.initialize[self.legacy_of(revision) as usize]
    }

    /// The same for a client that can be told nothing but answers, since it has no session: it promises no word of changes
    /// (LIFE-12).
    #[must_use]
    pub fn initialize_result_alone(&self, revision: Revision) -> &Bytes {
        &self.initialize_alone[self.legacy_of(revision) as usize]
    }

    fn legacy_of(&self, revision: Revision) -> Revision {
        match revision.era() {
            Era::Legacy => revision,
            Era::Modern => self.newest_legacy().unwrap_or(Revision::NEWEST_LEGACY),
        }
    }

    /// The result of `server/discover`: the text of an object (VER-3).
    #[must_use]
    pub const fn discover_result(&self) -> &Bytes {
        &self.discover
    }

    /// The member `"_meta":{…}` of a modern result to which the application adds nothing (BASE-16).
    #[must_use]
    pub const fn result_meta(&self) -> &Bytes {
        &self.result_meta
    }

    /// The server's name as modern peers get it: the text of an object (BASE-27).
    #[must_use]
    pub const fn server_info(&self) -> &Bytes {
        &self.server_info
    }

    /// The revisions that are served, newest first, for a message: `2026-07-28, 2025-11-25`.
    #[must_use]
    pub fn supported_text(&self) -> &str {
        &self.supported_text
    }

    /// The same for the `data` of a fault: `{"supported":["2026-07-28","2025-11-25"]}`.
    #[must_use]
    pub fn supported_data(&self) -> &str {
        &self.supported_data
    }

    /// -32022 for a modern request of another version (VER-2).
    ///
    /// `data.supported` leaves out the version that was refused: a legacy one is served, but not without a handshake,
    /// and
    /// a client that found it in the list would ask for it again (VER-8, A2).
    #[must_use]
    pub fn unsupported_version(&self, requested: &str) -> Fault {
        let opened = if self.served.iter().any(|revision| revision.as_str() == requested) {
            ", and this one only after `initialize`"
        } else {
            ""
        };
        let message = alloc::format!(
            "Unsupported protocol version: {}; this server speaks {}{opened}",
            reflect(requested),
            self.supported_text
        );
        let others: Vec<&str> =
            self.served.iter().map(|revision| revision.as_str()).filter(|name| *name != requested).collect();
        let mut data = Vec::new();
        let mut object = Object::open(&mut data);
        encode::strings(object.key("supported"), others.into_iter());
        match requested.char_indices().nth(MAX_ECHO) {
            None => object.string("requested", requested),
            Some((end, _)) => object.string("requested", &reflect(&requested[..end])),
        }
        object.close();
        Fault::new(Code::UNSUPPORTED_VERSION, message).with_data(String::from_utf8_lossy(&data))
    }
}

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut out = Vec::new();
    write(&mut out);
    out.into_boxed_slice().into()
}

/// How many revisions begin with a handshake; they come first in [`Revision::ALL`].
const LEGACY: usize = Revision::NEWEST_LEGACY as usize + 1;

/// Characters of a refused version that are echoed as they came. A version has ten.
const MAX_ECHO: usize = 64;
