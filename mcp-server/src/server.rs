//! The builder of a server, and what it builds.

use std::sync::Arc;

use mcp_core::answer::{Icon, Implementation};
use mcp_core::catalog::{Catalog, Handle, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::fault::Fault;
use mcp_core::policy::{Policy, Seal};
use mcp_core::{Call, Caller, Endpoint, Kind, Outcome, Revision};

use crate::code::Entry;
use crate::ctx::Ctx;
use crate::error::BuildError;
#[cfg(feature = "http")]
use crate::http::Http;
use crate::seal::Keys;
use crate::tool::Tool;

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
    seal: Option<Arc<dyn Seal>>,
    tools: Vec<Tool>,
    #[cfg(feature = "http")]
    pub(crate) http: Http,
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
            seal: None,
            tools: Vec::new(),
            #[cfg(feature = "http")]
            http: Http::default(),
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

    /// Whether clients of the handshake revisions get sessions over HTTP. On by default.
    pub const fn sessions(mut self, sessions: bool) -> Self {
        self.sessions = sessions;
        self
    }

    /// Offers to log to clients, also if no tool says that it [logs](Tool::logs).
    pub const fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// What seals state that travels through clients (MRTR-8). Default: [`Keys::random`], which is right for one process;
    /// servers that answer for one another need the same [`Keys`].
    pub fn seal(mut self, seal: impl Seal + 'static) -> Self {
        self.seal = Some(Arc::new(seal));
        self
    }

    /// One more tool. Clients see them in the order in which they were registered.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at once: each defect names the tool, the rule and the remedy. Also if the operating system
    /// gives no random bytes for the default key.
    pub fn build(self) -> Result<App, BuildError> {
        let mut defects = Vec::new();
        let mut entries = Vec::with_capacity(self.tools.len());
        let mut catalog = Catalog::builder();
        let logging = self.logging || self.tools.iter().any(Tool::wants_logging);
        for (index, tool) in self.tools.into_iter().enumerate() {
            if let Some((shown, entry)) = tool.split(index, Handle(entries.len() as u64), &mut defects) {
                catalog = catalog.tool(shown);
                entries.push(Arc::new(entry));
            }
        }
        let seal = self.seal.or_else(|| match Keys::random() {
            Ok(keys) => Some(Arc::new(keys)),
            Err(error) => {
                let message = format!("no random bytes for a key ({error}): give the server keys with `.seal(..)`");
                defects.push(mcp_core::catalog::Defect {
                    entry: "server".into(),
                    rule: "MRTR-8",
                    message: message.into(),
                });
                None
            }
        });
        let mut endpoint =
            Endpoint::builder(self.who).policy(self.policy).tools(false).logging(logging).sessions(self.sessions);
        endpoint = seal.into_iter().fold(endpoint, mcp_core::EndpointBuilder::seal);
        if let Some(instructions) = &self.instructions {
            endpoint = endpoint.instructions(instructions);
        }
        if let Some(revisions) = &self.revisions {
            endpoint = endpoint.revisions(revisions);
        }
        let endpoint = endpoint.build().map_err(|found| defects.extend(found));
        let catalog = catalog.build().map_err(|found| defects.extend(found));
        #[cfg(feature = "http")]
        defects.extend(self.http.defects());
        match (endpoint, catalog) {
            (Ok(endpoint), Ok(catalog)) if defects.is_empty() => {
                catalog.tools().for_each(|tool| warn_of_name(tool.name()));
                Ok(App(Arc::new(Inner {
                    endpoint,
                    view: View::all(catalog),
                    entries: entries.into(),
                    #[cfg(feature = "http")]
                    http: self.http,
                })))
            }
            _ => Err(BuildError::new(defects)),
        }
    }
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

/// A server that was built: what adapters drive, and what serves over stdio and HTTP. Cheap to clone.
#[derive(Clone, Debug)]
pub struct App(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    endpoint: Arc<Endpoint>,
    view: View,
    /// Indexed by handle.
    entries: Box<[Arc<Entry>]>,
    #[cfg(feature = "http")]
    http: Http,
}

impl App {
    #[cfg(feature = "http")]
    pub(crate) fn http(&self) -> &Http {
        &self.0.http
    }
}

impl Handler for App {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.0.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.0.view.clone()
    }

    fn call(&self, call: Call, link: Link) -> Running {
        let entry = match &call.kind {
            Kind::Tool { tool, .. } => usize::try_from(tool.0).ok().and_then(|index| self.0.entries.get(index)),
            _ => None,
        };
        match entry {
            Some(entry) => entry.call(Ctx::new(call, link)),
            // The catalogue holds no entry that was not registered here, and no extension is declared.
            None => Running::Done(Outcome::Fail(Fault::internal("Internal error: the server cannot run this"))),
        }
    }
}

/// Characters of a tool's name that every client takes: the APIs of models have this limit.
const USUAL: usize = 64;
