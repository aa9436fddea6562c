//! What a server says of itself, as it is collected, checked and encoded.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use super::{Endpoint, Listed, Offers, ShownBy, scopes};
use crate::answer::Implementation;
use crate::caching::Caching;
use crate::catalog::Defect;
use crate::encode::json::{self, Object};
use crate::encode::{self, SERVER_INFO};
use crate::extension::ExtensionDecl;
use crate::fault::reflect;
use crate::peer::{Capabilities, Revision, Scopes};
use crate::policy::{Policy, Seal};

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
    pub(super) implied: Vec<(Box<str>, Scopes)>,
    pub(super) resource_metadata: Option<Box<str>>,
}

impl EndpointBuilder {
    pub(super) fn new(who: Implementation) -> Self {
        Self {
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

fn encoded(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut out = Vec::new();
    write(&mut out);
    out.into_boxed_slice().into()
}
