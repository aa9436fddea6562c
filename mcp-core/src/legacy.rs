//! The legacy era: a handshake, and then requests under what was agreed in it (LIFE).
//!
//! ```text
//!             initialize                      Close, DELETE, idle
//!   Opening ─────────────► Ready(peer, level) ───────────────────► Closed
//!    │ ▲ ping: answered       ▲ second initialize: -32600
//!    │ │ else: -32600         │
//!    │ │ refused              │ let in
//!    ▼ │                      │
//!   Initializing ─────────────┘
//!      as in Opening, but second initialize: -32600
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::answer::{Answer, ToolAnswer};
use crate::caching::Caching;
use crate::calls::{Admission, Slot};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::listen::Lists;
use crate::machine::{Kind, Level, Outcome, StreamId};
use crate::methods::{self, Method};
use crate::modern::{self, Court, Opening, Step};
use crate::peer::{Peer, Revision};
use crate::settle::{self, Settled};
use crate::subscriptions::Subscriptions;
use crate::unjudged::{Then, Unjudged};
use crate::wire::{self, Id, Message, Param, write};

/// Where a legacy conversation is.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// Before `initialize` was answered.
    Opening,
    /// Before it was answered, while the server's own code says whether the client is let in.
    Initializing {
        /// As [`Ready::initialized`]: some clients do not wait for the answer.
        initialized: bool,
    },
    /// After it.
    Ready(Ready),
    /// It has ended.
    Closed,
}

/// What the handshake agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) peer: Arc<Peer>,
    /// The least level of logs that is sent (LOG-2).
    pub(crate) level: Level,
    /// Whether `notifications/initialized` has come: list changes wait for it (LIFE-5).
    pub(crate) initialized: bool,
    /// What the client has not been told of the catalogue.
    pub(crate) untold: Lists,
    /// The resources that it follows (RES-7).
    pub(crate) subscriptions: Subscriptions,
    /// What the server's own code keeps of it.
    pub(crate) assigns: Bytes,
}

/// Until the client sets one, logs from this level on are sent: the server's choice (LOG-2).
const DEFAULT_LEVEL: Level = Level::Info;

impl Ready {
    fn new(peer: Peer) -> Self {
        Self {
            peer: Arc::new(peer),
            level: DEFAULT_LEVEL,
            initialized: false,
            untold: Lists::default(),
            subscriptions: Subscriptions::default(),
            assigns: Bytes::new(),
        }
    }
}

impl Phase {
    /// A conversation whose revision is known without a handshake (session-less HTTP, rows 14 and 15 of 2.4).
    pub(crate) fn assumed(revision: Revision) -> Self {
        let peer = Peer { revision, capabilities: crate::Capabilities::none(), info: None };
        Self::Ready(Ready { initialized: true, ..Ready::new(peer) })
    }

    /// What the server's own code keeps of it.
    pub(crate) fn assigns(&self) -> &Bytes {
        static NOTHING: Bytes = Bytes::new();
        self.ready().map_or(&NOTHING, |ready| &ready.assigns)
    }

    pub(crate) const fn ready(&self) -> Option<&Ready> {
        match self {
            Self::Ready(ready) => Some(ready),
            Self::Opening | Self::Initializing { .. } | Self::Closed => None,
        }
    }
}

/// What can reach a legacy client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Whatever is said, also later.
    Conversation,
    /// The answers of one POST: it can be told of no change, so none is promised (LIFE-12).
    Answers,
}

/// Judges a legacy request.
///
/// # Errors
///
/// A fault with the status that fits it; [`settle::legacy_status`] maps 404 away (HTTP-11).
pub(crate) fn admit(phase: &mut Phase, court: &Court<'_>, id: &Id, reach: Reach) -> Result<Step, Fault> {
    // Without a session, each request is from somebody new.
    let anew = reach == Reach::Answers && court.message.method() != "ping";
    if !court.endpoint.has_init() {
        return judge(phase, court, id, reach);
    }
    if let Phase::Ready(ready) = &*phase
        && anew
        && court.view.is_by_rule()
    {
        let peer = Arc::clone(&ready.peer);
        return Ok(Step::after_init(Then::Judge(Unjudged::legacy(court)), court, &peer, id));
    }
    match (judge(phase, court, id, reach), phase) {
        (Ok(Step::Open(opening)), _) => {
            let peer = Arc::clone(&opening.ready.peer);
            Ok(Step::after_init(Then::Do(Ok(Step::Open(opening))), court, &peer, id))
        }
        (step, Phase::Ready(ready)) if anew => Ok(Step::after_init(Then::Do(step), court, &ready.peer, id)),
        (step, _) => step,
    }
}

pub(crate) fn judge(phase: &mut Phase, court: &Court<'_>, id: &Id, reach: Reach) -> Result<Step, Fault> {
    let Court { endpoint, message, .. } = *court;
    let follows = reach == Reach::Conversation && endpoint.has_subscriptions();
    match (message.method(), &mut *phase) {
        ("ping", _) => Ok(Step::Answer(modern::answer(id, b"{}"))),
        ("initialize", Phase::Opening) => {
            let peer = handshake(message, endpoint)?;
            let result = match reach {
                Reach::Conversation => endpoint.initialize_result(peer.revision),
                Reach::Answers => endpoint.initialize_result_alone(peer.revision),
            };
            let answer = modern::answer(id, result);
            Ok(Step::Open(Box::new(Opening { ready: Ready::new(peer), answer })))
        }
        ("initialize", _) => Err(Fault::invalid_request("The session is initialized already: `initialize` comes once")),
        (_, Phase::Opening | Phase::Initializing { .. } | Phase::Closed) => Err(unopened(endpoint)),
        ("logging/setLevel", Phase::Ready(ready)) if endpoint.has_logging() => {
            ready.level = message
                .param_str(Param::Level)
                .as_deref()
                .and_then(Level::parse)
                .ok_or_else(|| modern::unknown_level("`params.level`"))?;
            Ok(Step::Answer(modern::answer(id, b"{}")))
        }
        ("resources/subscribe", Phase::Ready(ready)) if follows => {
            let uri = methods::uri(court)?;
            methods::resource(court, &uri)?;
            ready.subscriptions.add(&uri, court.from, endpoint.limits())?;
            Ok(Step::Answer(modern::answer(id, b"{}")))
        }
        ("resources/unsubscribe", Phase::Ready(ready)) if follows => {
            // RES-7: also of one that is not followed, or not there any more.
            ready.subscriptions.remove(&methods::uri(court)?);
            Ok(Step::Answer(modern::answer(id, b"{}")))
        }
        (method, Phase::Ready(ready)) => match (Method::of(method, endpoint), endpoint.extension_of(method)) {
            (Some(method), _) => run(court, method, ready, id),
            // SHIM-12, EXT-2: an extension answers whom it was declared to, by whom it was declared.
            (None, Some(extension)) if extension.is_active(&ready.peer) => {
                let kind = Kind::Extension { method: method.into(), params: modern::kept(&message.params_bytes()) };
                Ok(Step::Run(admission(court, ready, id, kind)?))
            }
            _ => Err(Fault::method_not_found(method)),
        },
    }
}

/// LIFE-1, LIFE-2: what the client said, and the revision that it gets.
fn handshake(message: &Message, endpoint: &Endpoint) -> Result<Peer, Fault> {
    let wrong = |what: &str| Fault::invalid_params(alloc::format!("`initialize`: {what}"));
    let Some(asked) = message.param_str(Param::ProtocolVersion) else {
        return Err(wrong("`protocolVersion` must be a string"));
    };
    let Some(declared) = message.param(Param::Capabilities) else {
        return Err(wrong("`capabilities` must be an object"));
    };
    let capabilities =
        wire::read_capabilities(declared).map_err(|why| wrong(&alloc::format!("`capabilities`: {why}")))?;
    let Some(info) = message.param(Param::ClientInfo) else {
        return Err(wrong("`clientInfo` must be an object with `name` and `version`"));
    };
    let info = wire::read_client_info(info).map_err(|why| wrong(&alloc::format!("`clientInfo`: {why}")))?;
    let served = |revision: &Revision| revision.era() == crate::Era::Legacy && endpoint.serves(*revision);
    let revision = Revision::parse(&asked).filter(served).or(endpoint.newest_legacy());
    let Some(revision) = revision else { return Err(modern::no_handshake(endpoint)) };
    Ok(Peer { revision, capabilities, info: Some(info) })
}

fn run(court: &Court<'_>, method: Method, ready: &Ready, id: &Id) -> Result<Step, Fault> {
    let kind = match method {
        Method::List(list) => {
            let mut out = Vec::with_capacity(512);
            write::result_open(&mut out, id);
            out.push(b'{');
            methods::write_page(&mut out, list, court, &ready.peer)?;
            out.extend_from_slice(b"}}");
            return Ok(Step::Answer(out));
        }
        Method::Tool => return call_tool(court, ready, id),
        Method::Resource => methods::read_resource(court)?.kind,
        Method::Prompt => methods::get_prompt(court)?,
        Method::Complete => match methods::complete(court)? {
            Some(kind) => kind,
            None => return Ok(Step::Answer(settle::nothing_to_propose(id, ready.peer.revision, court.endpoint))),
        },
    };
    Ok(Step::Run(admission(court, ready, id, kind)?))
}

fn call_tool(court: &Court<'_>, ready: &Ready, id: &Id) -> Result<Step, Fault> {
    let tool = methods::tool(court)?;
    let admission = admission(court, ready, id, methods::call_tool(court, tool)?)?;
    match ready.peer.capabilities.missing(tool.needs()) {
        None => Ok(Step::Run(admission)),
        // SHIM-4: -32021 is not legacy's; a model can make something of a text.
        Some(missing) => {
            let text = alloc::format!("This tool needs client capabilities that were not declared: {missing}");
            let (mut slot, _) = Slot::new(admission, court.from, StreamId::ONLY, None);
            let outcome = Outcome::Complete(Answer::Tool(ToolAnswer::error(text)));
            match settle::settle(&mut slot, outcome, court.now, court.endpoint) {
                Settled::Answered(response, _) => Ok(Step::Answer(response)),
                Settled::Ask(..) | Settled::Again(_) => Err(Fault::internal("A refusal cannot ask")),
            }
        }
    }
}

fn admission(court: &Court<'_>, ready: &Ready, id: &Id, kind: Kind) -> Result<Admission, Fault> {
    Ok(Admission {
        id: id.clone(),
        peer: Arc::clone(&ready.peer),
        kind,
        meta: modern::kept(&court.message.meta_bytes()),
        token: modern::token(court.message, court.endpoint)?,
        level: None,
        resume: None,
        rounds: 0,
        hint: Caching::NONE,
        chosen: false,
        assigns: None,
    })
}

/// LIFE-6: what came before `initialize`.
pub(crate) fn unopened(endpoint: &Endpoint) -> Fault {
    let message = alloc::format!(
        "The session is not initialized: send `initialize` first. Versions served: {}",
        endpoint.supported_text()
    );
    Fault::invalid_request(message).with_data(endpoint.supported_data())
}
