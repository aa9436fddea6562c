//! What a server says of itself: encoded once, the same for every conversation.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::answer::Implementation;
use crate::caching::Caching;
use crate::encode;
use crate::encode::json::Object;
use crate::extension::ExtensionDecl;
use crate::fault::{Code, Fault, reflect};
use crate::machine::Change;
use crate::peer::{Capabilities, Era, Peer, Revision};
use crate::policy::{Limits, Policy, Seal, Timing};

mod builder;
mod scopes;

pub use builder::EndpointBuilder;
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

impl Endpoint {
    /// An endpoint to describe.
    #[must_use]
    pub fn builder(who: Implementation) -> EndpointBuilder {
        EndpointBuilder::new(who)
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

/// How many revisions begin with a handshake; they come first in [`Revision::ALL`].
const LEGACY: usize = Revision::NEWEST_LEGACY as usize + 1;

/// Characters of a refused version that are echoed as they came. A version has ten.
const MAX_ECHO: usize = 64;
