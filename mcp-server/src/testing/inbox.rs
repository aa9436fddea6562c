//! What the client has asked, and what has come: sorted as it is heard.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use mcp_core::{Era, Level, Revision};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::compare::clipped;
use super::driver::Driver;
use super::notice::Notice;
use super::outgoing::{Outgoing, error_response, response};

/// The most things that nobody has taken.
const UNTAKEN: usize = 100_000;

/// Characters of what cannot be read that are shown.
const SHOWN: usize = 2000;

/// The most times that one request is sent again because the server asked something first.
const ROUNDS: u32 = 32;

/// What the client answers to a request of the server's: see [`Builder::on_request`](super::Builder::on_request).
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// With a result.
    Result(Value),
    /// With an error. 2026-07-28 has no way to say that, and the [`Answer`] is the question itself.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// Not at all: for what happens when nobody answers in time.
    Silence,
}

/// The answers of people, models and clients to what servers [ask](crate::ask).
///
/// ```
/// use mcp_server::testing::{Client, Reply, block_on};
/// use mcp_server::{Ability, json};
/// # use mcp_server::ask::{Field, elicit};
/// # use mcp_server::{CallError, Ctx, Server, Tool};
/// # fn greet(ctx: Ctx) -> Result<String, CallError> {
/// #     let who = ctx.ask("who", elicit("Who?").field("name", Field::text()))?.required()?;
/// #     Ok(format!("Hello, {}!", who.text("name").unwrap_or_default()))
/// # }
/// # let app = Server::new("my-app", "1.0.0").tool(Tool::new("greet").description("Greets.").run(greet)).build().unwrap();
/// # block_on(async {
/// let mut client = Client::builder(&app)
///     .can(Ability::ElicitationForm)
///     .on_request(|method, params| match (method, params["message"].as_str()) {
///         ("elicitation/create", Some("Who?")) => Reply::accept(json!({"name": "Ada"})),
///         _ => Reply::decline(),
///     })
///     .connect();
/// client.call("greet", ()).await.assert_text("Hello, Ada!");
/// # });
/// ```
impl Reply {
    /// The person fills in the form so: a JSON object. For a page to open, `()`.
    ///
    /// # Panics
    ///
    /// If the content cannot be written as JSON.
    #[track_caller]
    pub fn accept(content: impl Serialize) -> Self {
        Self::Result(match serde_json::to_value(content) {
            Ok(Value::Null) => json!({"action": "accept"}),
            Ok(content) => json!({"action": "accept", "content": content}),
            Err(error) => panic!("the content cannot be written as JSON: {error}"),
        })
    }

    /// The person says no.
    #[must_use]
    pub fn decline() -> Self {
        Self::Result(json!({"action": "decline"}))
    }

    /// The person closes the question.
    #[must_use]
    pub fn cancel() -> Self {
        Self::Result(json!({"action": "cancel"}))
    }

    /// The client's model says that.
    #[must_use]
    pub fn says(text: impl AsRef<str>) -> Self {
        let content = json!({"type": "text", "text": text.as_ref()});
        Self::Result(json!({"role": "assistant", "content": content, "model": "test", "stopReason": "endTurn"}))
    }

    /// The person rejects what the model was asked (SAMP-5). 2026-07-28 has no way to say that.
    #[must_use]
    pub fn reject() -> Self {
        Self::Error { code: -1, message: "User rejected sampling request".into() }
    }

    /// The client's roots are these URIs.
    #[must_use]
    pub fn roots<U: AsRef<str>>(uris: impl IntoIterator<Item = U>) -> Self {
        let roots: Vec<Value> = uris.into_iter().map(|uri| json!({"uri": uri.as_ref()})).collect();
        Self::Result(json!({"roots": roots}))
    }
}

impl From<Value> for Reply {
    fn from(result: Value) -> Self {
        Self::Result(result)
    }
}

pub(super) type OnRequest = Box<dyn FnMut(&str, &Value) -> Reply + Send>;

/// The client's desk.
pub(super) struct Inbox {
    /// Tells this client from others, whose calls have the same ids.
    pub(super) client: u64,
    pub(super) revision: Revision,
    /// What every request of the modern era carries (BASE-18).
    pub(super) envelope: Map<String, Value>,
    pub(super) on_request: Option<OnRequest>,
    /// The level that modern requests ask logs from (LOG-3).
    pub(super) level: Option<Level>,
    /// Answers that nobody has taken, by the id of their call.
    pub(super) answers: BTreeMap<u64, Answer>,
    pub(super) notices: VecDeque<Notice>,
    /// Answers to what no request of this client was.
    pub(super) strays: Vec<Answer>,
    /// Requests that were not answered, by the id on the wire.
    asked: BTreeMap<u64, Asked>,
    /// The last id that was given away.
    last: u64,
}

struct Asked {
    /// The id that its call has: that of the first round.
    call: u64,
    outgoing: Outgoing,
    rounds: u32,
}

impl Inbox {
    pub(super) fn new(revision: Revision, on_request: Option<OnRequest>) -> Self {
        static CLIENTS: AtomicU64 = AtomicU64::new(0);
        Self {
            client: CLIENTS.fetch_add(1, Ordering::Relaxed),
            revision,
            envelope: Map::new(),
            on_request,
            level: None,
            answers: BTreeMap::new(),
            notices: VecDeque::new(),
            strays: Vec::new(),
            asked: BTreeMap::new(),
            last: 0,
        }
    }

    /// Sends a request, and returns the id of its call.
    pub(super) fn ask(&mut self, driver: &mut Driver, outgoing: Outgoing) -> u64 {
        let call = self.last + 1;
        self.send(driver, Asked { call, outgoing, rounds: 0 });
        call
    }

    /// Looks at all that has come.
    pub(super) fn sort(&mut self, driver: &mut Driver) {
        while let Some(text) = driver.hear() {
            let message: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
                panic!("what the server said cannot be read: {error}\n{}", clipped(&text, SHOWN))
            });
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (Some(method), Some(id)) => self.answer(driver, method, id, &message["params"]),
                (Some(_), None) => self.notices.push_back(Notice::read(message)),
                (None, _) => self.take(driver, message),
            }
            let untaken = self.notices.len() + self.strays.len();
            assert!(untaken <= UNTAKEN, "the server has said more than {UNTAKEN} things that the test did not take");
        }
    }

    /// Forgets a request, and returns the id that it has on the wire; `None` if it does not wait.
    pub(super) fn forget(&mut self, call: u64) -> Option<u64> {
        let id = self.asked.iter().find(|(_, asked)| asked.call == call).map(|(id, _)| *id)?;
        self.asked.remove(&id);
        Some(id)
    }

    fn send(&mut self, driver: &mut Driver, asked: Asked) {
        self.last += 1;
        let mut meta = self.envelope.clone();
        if let Some(level) = asked.outgoing.level.or(self.level).filter(|_| self.revision.era() == Era::Modern) {
            meta.insert("io.modelcontextprotocol/logLevel".into(), level.as_str().into());
        }
        if asked.outgoing.progress {
            meta.insert("progressToken".into(), asked.call.into());
        }
        let text = asked.outgoing.request(self.last, meta);
        self.asked.insert(self.last, asked);
        driver.send(text.as_bytes());
    }

    /// Takes an answer in: to a request, or to whatever else was sent.
    fn take(&mut self, driver: &mut Driver, response: Value) {
        let id = response.get("id").and_then(Value::as_u64);
        let Some(asked) = id.and_then(|id| self.asked.remove(&id)) else {
            return self.strays.push(Answer::new("what was sent", self.revision, response));
        };
        if response.pointer("/result/resultType") == Some(&json!("input_required"))
            && asked.rounds < ROUNDS
            && let Some(answers) = self.answer_all(&response["result"])
        {
            let outgoing = asked.outgoing.again(&answers, response.pointer("/result/requestState"));
            return self.send(driver, Asked { call: asked.call, outgoing, rounds: asked.rounds + 1 });
        }
        self.answers.insert(asked.call, Answer::new(&asked.outgoing.asked(), self.revision, response));
    }

    /// Answers a question of the server's (SHIM-5).
    fn answer(&mut self, driver: &mut Driver, method: &str, id: &Value, params: &Value) {
        let reply = match &mut self.on_request {
            Some(reply) => reply(method, params),
            None if method == "ping" => Reply::Result(json!({})),
            None => Reply::Error { code: -32601, message: "this test client answers no requests".into() },
        };
        let text = match reply {
            Reply::Result(result) => response(id, &result),
            Reply::Error { code, message } => error_response(id, code, &message),
            Reply::Silence => return,
        };
        driver.send(text.as_bytes());
    }

    /// The answers to all questions of an `input_required` result (MRTR-2); `None` if the test does not answer them.
    fn answer_all(&mut self, result: &Value) -> Option<Value> {
        let reply = self.on_request.as_mut()?;
        let mut answers = Map::new();
        for (key, question) in result["inputRequests"].as_object().into_iter().flatten() {
            match reply(question["method"].as_str().unwrap_or_default(), &question["params"]) {
                Reply::Result(result) => answers.insert(key.clone(), result),
                Reply::Error { .. } | Reply::Silence => return None,
            };
        }
        Some(answers.into())
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("revision", &self.revision)
            .field("answers", &self.answers.len())
            .field("notices", &self.notices.len())
            .finish_non_exhaustive()
    }
}
