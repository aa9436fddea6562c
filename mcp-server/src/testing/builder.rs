//! What kind of client it is.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mcp_core::drive::Handler;
#[cfg(feature = "http")]
use mcp_core::fault::reflect;
use mcp_core::{Ability, Caller, Capabilities, Era, Level, Principal, Revision, Scopes};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::client::Client;
use super::driver::{Context, Driver};
use super::inbox::{Inbox, OnRequest, Reply};
use super::outgoing::Outgoing;
use crate::serve::App;
use crate::server::Server;

/// What a [`Client`] can be connected to: an [`App`], a [`Server`] that is built on the spot, or any
/// [`Handler`] in an `Arc`.
pub trait IntoHandler {
    /// The handler.
    ///
    /// # Panics
    ///
    /// If it is a server that cannot be built: with everything that is wrong.
    #[track_caller]
    fn into_handler(self) -> Arc<dyn Handler>;
}

impl IntoHandler for App {
    fn into_handler(self) -> Arc<dyn Handler> {
        Arc::new(self)
    }
}

impl IntoHandler for &App {
    fn into_handler(self) -> Arc<dyn Handler> {
        self.clone().into_handler()
    }
}

impl IntoHandler for Server {
    #[track_caller]
    fn into_handler(self) -> Arc<dyn Handler> {
        match self.build() {
            Ok(app) => app.into_handler(),
            Err(error) => panic!("{error}"),
        }
    }
}

impl<H: Handler + ?Sized> IntoHandler for Arc<H> {
    fn into_handler(self) -> Arc<dyn Handler> {
        Arc::new(self)
    }
}

/// Says what kind of client [connects](Builder::connect).
///
/// ```
/// use mcp_server::testing::Client;
/// use mcp_server::{Ability, Revision, Server};
/// use serde_json::json;
///
/// let app = Server::new("my-app", "1.0.0").build()?;
/// let client = Client::builder(&app)
///     .revision(Revision::V2025_06_18)
///     .principal("ada")
///     .scopes("read write")
///     .can(Ability::ElicitationForm)
///     .on_request(|_, _| json!({"action": "accept", "content": {"sure": true}}))
///     .connect();
/// # Ok::<(), mcp_server::BuildError>(())
/// ```
#[must_use = "a client that does not connect does nothing"]
pub struct Builder {
    handler: Arc<dyn Handler>,
    revision: Option<Revision>,
    capabilities: Value,
    info: Value,
    caller: Caller,
    level: Option<Level>,
    on_request: Option<OnRequest>,
    context: Option<Context>,
    #[cfg(feature = "http")]
    headers: crate::http::HeaderMap,
}

impl Builder {
    pub(super) fn new(handler: Arc<dyn Handler>) -> Self {
        Self {
            handler,
            revision: None,
            capabilities: json!({}),
            info: json!({"name": "test-client", "version": "1.0.0"}),
            caller: Caller::anonymous(),
            level: None,
            on_request: None,
            context: None,
            #[cfg(feature = "http")]
            headers: crate::http::HeaderMap::new(),
        }
    }

    /// Speaks that revision. Default: the newest that has a handshake, 2025-11-25, if the server serves it.
    pub const fn revision(mut self, revision: Revision) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Speaks the stateless revision, 2026-07-28.
    pub const fn modern(self) -> Self {
        self.revision(Revision::MODERN)
    }

    /// Declares one more thing that it can do. None by default.
    pub fn can(mut self, ability: Ability) -> Self {
        let declared = Capabilities::none().missing(&Capabilities::none().with(ability)).unwrap_or_default();
        merge(&mut self.capabilities, serde_json::from_str(&declared).unwrap_or_default());
        self
    }

    /// Declares these capabilities as well: the JSON object of the protocol.
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        merge(&mut self.capabilities, capabilities);
        self
    }

    /// Gives itself that name and version.
    pub fn client_info(mut self, name: impl AsRef<str>, version: impl AsRef<str>) -> Self {
        self.info = json!({"name": name.as_ref(), "version": version.as_ref()});
        self
    }

    /// Is that caller, as an authenticator would have found. Anonymous by default.
    pub fn caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Is the caller of that identity.
    pub fn principal(mut self, id: impl AsRef<str>) -> Self {
        self.caller.principal = Some(Principal::from(id.as_ref()));
        self
    }

    /// Has these scopes, with blanks between them. Who is nobody in particular has none, so it is the principal `tester` then, unless
    /// it is [another](Builder::principal).
    pub fn scopes(mut self, scopes: impl AsRef<str>) -> Self {
        self.caller.scopes = Scopes::parse(scopes.as_ref());
        self.caller.principal.get_or_insert_with(|| Principal::from("tester"));
        self
    }

    /// Asks for log messages from that level on. Otherwise 2026-07-28 sends none, and the others what the server thinks right.
    pub const fn log_level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Answers what the server asks its client: it is given the method and `params`, and returns the result, or a [`Reply`].
    /// What it is asked must be [declared](Builder::can), or it is not asked.
    ///
    /// In 2026-07-28, where the server's question is the result of a request, the request is then sent again with the answers,
    /// as a client does. Without this, `ping` is answered, and everything else is refused with -32601.
    pub fn on_request<R: Into<Reply>>(mut self, mut reply: impl FnMut(&str, &Value) -> R + Send + 'static) -> Self {
        self.on_request = Some(Box::new(move |method, params| reply(method, params).into()));
        self
    }

    /// Shows that to all calls, as what the transport knows of their requests: for extractors of your own that ask for it
    /// ([`Link::context`](mcp_core::drive::Link::context)).
    pub fn context<T: Any + Send + Sync>(mut self, context: T) -> Self {
        self.context = Some(Arc::new(context));
        self
    }

    /// Shows tools an HTTP request with one more header: a POST to `/mcp`, which is all of HTTP that there is to it. For more
    /// of a request, hand a [`RequestHead`](crate::http::RequestHead) to [`context`](Builder::context).
    ///
    /// # Panics
    ///
    /// If it is no header.
    #[cfg(feature = "http")]
    #[track_caller]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (http::HeaderName::try_from(name), http::HeaderValue::try_from(value)) {
            (Ok(name), Ok(value)) => drop(self.headers.append(name, value)),
            _ => panic!("`{}: {}` is no header", reflect(name), reflect(value)),
        }
        self
    }

    /// Connects, and makes the handshake of its revision; in 2026-07-28, which has none, it asks what the server is.
    ///
    /// # Panics
    ///
    /// If the server does not serve the revision, refuses, or has an [init](Server::init) that waits for something: for these there
    /// is [`try_connect`](Builder::try_connect).
    #[track_caller]
    pub fn connect(self) -> Client {
        let level = self.level;
        let (mut client, method, params) = self.greeting();
        let answer = client.at_once(method, &params);
        client.greeted(answer.assert_ok());
        if let Some(level) = level.filter(|_| client.revision().era() == Era::Legacy) {
            client.at_once("logging/setLevel", &json!({"level": level.as_str()})).assert_ok();
        }
        client
    }

    /// The same with a server whose [init](Server::init) takes its time, or may refuse.
    ///
    /// ```
    /// use mcp_server::testing::{Client, block_on};
    /// use mcp_server::{Caller, Server};
    ///
    /// let app = Server::new("my-app", "1.0.0")
    ///     .init(async |caller: Caller| match caller.principal {
    ///         Some(_) => Ok(()),
    ///         None => Err("sign in first"),
    ///     })
    ///     .build()?;
    ///
    /// # block_on(async {
    /// assert!(Client::builder(&app).principal("ada").try_connect().await.is_ok());
    /// let refusal = Client::builder(&app).try_connect().await.expect_err("it is refused");
    /// refusal.assert_fault(-32603).assert_fault_contains("Initialization failed: sign in first");
    /// # });
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// In 2026-07-28 everybody can ask what the server is: there each request is refused instead.
    ///
    /// # Errors
    ///
    /// The answer that refuses.
    ///
    /// # Panics
    ///
    /// If the server does not serve the revision; when it is awaited, if it can never be answered.
    pub fn try_connect(self) -> impl Future<Output = Result<Client, Answer>> + Send {
        let level = self.level;
        let (mut client, method, params) = self.greeting();
        async move {
            let answer = client.request(method, params).without_progress().await;
            if answer.result().is_none() {
                return Err(answer);
            }
            client.greeted(&answer);
            if let Some(level) = level.filter(|_| client.revision().era() == Era::Legacy) {
                client.log_level(level).await;
            }
            Ok(client)
        }
    }

    /// The client that it will be, and what it says first.
    fn greeting(self) -> (Client, &'static str, Value) {
        let (capabilities, info) = (self.capabilities.clone(), self.info.clone());
        let client = self.connect_silently();
        let revision = client.revision();
        if revision.era() == Era::Modern {
            return (client, "server/discover", Value::Null);
        }
        let hello = json!({"protocolVersion": revision.as_str(), "capabilities": capabilities, "clientInfo": info});
        (client, "initialize", hello)
    }

    /// Connects and says nothing: for tests of the handshake itself, with [`Client::request`] and [`Client::send_raw`].
    pub fn connect_silently(self) -> Client {
        let endpoint = self.handler.endpoint();
        let preferred = || endpoint.newest_legacy().unwrap_or(Revision::MODERN);
        let revision = self.revision.unwrap_or_else(preferred);
        let mut inbox = Inbox::new(revision, self.on_request);
        if revision.era() == Era::Modern {
            inbox.level = self.level;
            inbox.envelope = envelope(revision, self.capabilities, self.info);
        }
        #[cfg(feature = "http")]
        let context = self.context.or_else(|| request_head(self.headers));
        #[cfg(not(feature = "http"))]
        let context = self.context;
        Client::new_with(Driver::new(self.handler, self.caller).with_context(context), inbox)
    }

    /// The server as a client of this kind meets it, for a caller of another time.
    pub(super) fn into_driver(self, caller: Caller) -> Driver {
        self.caller(caller).connect_silently().driver
    }
}

/// The head of an HTTP request with these headers, if there are any.
#[cfg(feature = "http")]
fn request_head(headers: crate::http::HeaderMap) -> Option<Context> {
    let request = http::Request::post("/mcp").body(()).ok().filter(|_| !headers.is_empty())?;
    let (mut parts, ()) = request.into_parts();
    parts.headers = headers;
    Some(Arc::new(crate::http::RequestHead::from(parts)))
}

/// What every request of the modern era carries (BASE-18).
fn envelope(revision: Revision, capabilities: Value, info: Value) -> Map<String, Value> {
    let member = |name: &str, value: Value| (format!("io.modelcontextprotocol/{name}"), value);
    Map::from_iter([
        member("protocolVersion", revision.as_str().into()),
        member("clientCapabilities", capabilities),
        member("clientInfo", info),
    ])
}

/// Adds what is in `more`, at any depth.
fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert_with(|| json!({})), value);
            }
        }
        (into, more) => *into = more,
    }
}

impl Client {
    /// The server has said what it is.
    #[track_caller]
    fn greeted(&mut self, answer: &Answer) {
        let revision = self.revision();
        if revision.era() == Era::Legacy {
            let spoken = &answer.json()["result"]["protocolVersion"];
            if *spoken != revision.as_str() {
                panic!("the server does not serve {revision}; it offers {spoken}");
            }
            self.notify("notifications/initialized", ());
        }
        self.server = answer.result().cloned().unwrap_or_default();
    }

    /// Asks something that the server itself answers, and at once.
    #[track_caller]
    fn at_once(&mut self, method: &str, params: &Value) -> Answer {
        let Ok(outgoing) = Outgoing::any(method, params) else { panic!("`{method}` cannot be written") };
        let id = self.inbox.ask(&mut self.driver, outgoing);
        self.inbox.sort(&mut self.driver);
        let answer = self.inbox.answers.remove(&id);
        answer.unwrap_or_else(|| panic!("the server does not answer `{method}` at once"))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("revision", &self.revision)
            .field("capabilities", &self.capabilities)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
    }
}
