//! The client that a test holds.

use std::fmt::Write as _;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use mcp_core::{Caller, Era, Level, Revision, Span, Time};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Answer;
use super::builder::{Builder, IntoHandler};
use super::calling::{Call, Calling};
use super::driver::{Driver, START};
use super::inbox::Inbox;
use super::listed::ListedTool;
use super::outgoing::Outgoing;
use super::transcript::Transcript;

/// The most pages of a list.
const PAGES: usize = 1000;

/// Lines of the conversation that are shown when it has come to a standstill.
const SHOWN: usize = 10;

/// A client of a server in the same process: no socket, no thread, no runtime.
///
/// What it sends goes through the protocol's own machine, so the server is met as a real client meets it: handshake,
/// capabilities, limits, schemas. Calls run while the client waits for something, in the task that awaits it, on any executor.
/// See the [module](super) for how to write tests with it.
///
/// Two clocks are at work. That of the protocol is the client's own: it stands still until [`advance`](Client::advance) moves
/// it. What a tool sleeps on is its runtime's; under `#[tokio::test(start_paused = true)]`, which needs tokio's feature
/// `test-util`, that one jumps by itself whenever everything waits for it.
#[derive(Debug)]
pub struct Client {
    pub(super) driver: Driver,
    pub(super) inbox: Inbox,
    pub(super) server: Value,
}

impl Client {
    /// A client that has made its handshake in 2025-11-25, or in the newest revision that the server serves before 2026-07-28,
    /// or else in that. Others are had with [`Client::builder`].
    ///
    /// # Panics
    ///
    /// If given a [`Server`](crate::Server) that cannot be built: with everything that is wrong.
    #[must_use]
    #[track_caller]
    pub fn new(app: impl IntoHandler) -> Self {
        Self::builder(app).connect()
    }

    /// Says what kind of client it is, before it connects.
    ///
    /// # Panics
    ///
    /// As [`Client::new`].
    #[track_caller]
    pub fn builder(app: impl IntoHandler) -> Builder {
        Builder::new(app.into_handler())
    }

    pub(super) const fn new_with(driver: Driver, inbox: Inbox) -> Self {
        Self { driver, inbox, server: Value::Null }
    }

    /// Calls a tool. The arguments are JSON, or whatever serde makes a JSON object of; `()` are none.
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # use mcp_server::{Server, Tool, json};
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Args { a: i64, b: i64 }
    /// # let add = Tool::new("add").description("Adds.").run(|Args { a, b }: Args| a + b);
    /// # let app = Server::new("my-app", "1.0.0").tool(add).build()?;
    /// #[derive(serde::Serialize)]
    /// struct Add { a: i64, b: i64 }
    ///
    /// # block_on(async {
    /// let mut client = Client::new(&app);
    /// client.call("add", Add { a: 1, b: 2 }).await.assert_text("3");
    /// client.call("add", json!({"a": 1})).await.assert_error_contains("`b`");
    /// client.call("subtract", ()).await.assert_fault(-32602);
    /// # });
    /// # Ok::<(), mcp_server::BuildError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the arguments cannot be written as JSON; when it is awaited, if it can never be answered.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: impl Serialize) -> Calling<'_> {
        match Outgoing::call(tool, &arguments) {
            Ok(outgoing) => Calling::new(self, outgoing, Location::caller()),
            Err(error) => panic!("the arguments of `{tool}` cannot be written as JSON: {error}"),
        }
    }

    /// Sends any request. `params` are an object, or `()` for none; what the revision demands in `_meta` is added.
    ///
    /// # Panics
    ///
    /// As [`Client::call`].
    #[track_caller]
    pub fn request(&mut self, method: &str, params: impl Serialize) -> Calling<'_> {
        match Outgoing::any(method, &params) {
            Ok(outgoing) => Calling::new(self, outgoing, Location::caller()),
            Err(error) => panic!("the params of `{method}` cannot be written as JSON: {error}"),
        }
    }

    /// Starts to call a tool, and does not wait: it goes as far as it goes, and on whenever the client waits for something.
    ///
    /// # Panics
    ///
    /// If the arguments cannot be written as JSON.
    #[track_caller]
    pub fn start(&mut self, tool: &str, arguments: impl Serialize) -> Call {
        self.call(tool, arguments).start()
    }

    /// Waits for the answer of a call. The others go on meanwhile.
    ///
    /// # Panics
    ///
    /// If it can never be answered, as nothing is left that could wake its code; or if it is another client's.
    #[track_caller]
    pub fn finish(&mut self, call: Call) -> impl Future<Output = Answer> + Send {
        self.check(&call);
        self.answer(call)
    }

    /// Cancels a call: its code is dropped where it waits. Returns its answer if that had come before.
    ///
    /// # Panics
    ///
    /// If it is another client's.
    #[allow(clippy::must_use_candidate, reason = "mostly there is none")]
    #[track_caller]
    pub fn cancel(&mut self, call: Call) -> Option<Answer> {
        self.check(&call);
        self.sort();
        if let Some(id) = self.inbox.forget(call.id) {
            self.notify("notifications/cancelled", json!({"requestId": id}));
        }
        self.inbox.answers.remove(&call.id)
    }

    /// Whether the answer of a call has come.
    ///
    /// # Panics
    ///
    /// If it is another client's.
    #[must_use]
    #[track_caller]
    pub fn is_answered(&mut self, call: &Call) -> bool {
        self.check(call);
        self.sort();
        self.inbox.answers.contains_key(&call.id)
    }

    /// Sends a notification.
    ///
    /// # Panics
    ///
    /// If `params` cannot be written as JSON.
    #[track_caller]
    pub fn notify(&mut self, method: &str, params: impl Serialize) {
        match Outgoing::any(method, &params) {
            Ok(outgoing) => self.driver.send(outgoing.notification().as_bytes()),
            Err(error) => panic!("the params of `{method}` cannot be written as JSON: {error}"),
        }
    }

    /// Sends bytes as they are, and a line break: whatever a hostile client may send. Returns the answers that have come to
    /// nothing that this client asked with its other methods.
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # let app = mcp_server::Server::new("my-app", "1.0.0").build().unwrap();
    /// # block_on(async {
    /// let answers = Client::new(&app).send_raw("{\"jsonrpc\": 2.0").await;
    /// answers[0].assert_fault(-32700);
    /// # });
    /// ```
    pub async fn send_raw(&mut self, bytes: impl AsRef<[u8]>) -> Vec<Answer> {
        self.driver.send(bytes.as_ref());
        self.settle().await;
        std::mem::take(&mut self.inbox.strays)
    }

    /// All tools that it may see, in the order of the server.
    ///
    /// # Panics
    ///
    /// If the server refuses.
    #[track_caller]
    pub fn list_tools(&mut self) -> impl Future<Output = Vec<ListedTool>> + Send {
        let listed = self.list("tools/list", "tools");
        async move { listed.await.into_iter().map(ListedTool::read).collect() }
    }

    /// All items of a list, from all pages.
    #[track_caller]
    pub(super) fn list(
        &mut self,
        method: &'static str,
        member: &'static str,
    ) -> impl Future<Output = Vec<Value>> + Send {
        let place = Location::caller();
        async move {
            let (mut items, mut cursor) = (Vec::new(), json!({}));
            for _ in 0..PAGES {
                let answer = self.request(method, &cursor).await;
                let listed = answer.json().pointer(&format!("/result/{member}")).and_then(Value::as_array);
                let Some(listed) = listed else { panic!("the {member} are not listed, asked at {place}\n{answer}") };
                items.extend(listed.iter().cloned());
                match answer.json().pointer("/result/nextCursor") {
                    Some(next) => cursor = json!({"cursor": next}),
                    None => return items,
                }
            }
            panic!("the list of {member} has more than {PAGES} pages, asked at {place}")
        }
    }

    /// The listed tool of that name.
    ///
    /// # Panics
    ///
    /// If it may see none of that name: with the names of those that it does see.
    #[track_caller]
    pub fn tool(&mut self, name: &str) -> impl Future<Output = ListedTool> + Send {
        let place = Location::caller();
        let listed = self.list_tools();
        async move {
            let mut tools = listed.await;
            match tools.iter().position(|tool| tool.name == name) {
                Some(at) => tools.swap_remove(at),
                None => {
                    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
                    panic!("no tool `{name}` is listed, asked at {place}; there are: {}", names.join(", "))
                }
            }
        }
    }

    /// Wants log messages from that level on.
    ///
    /// # Panics
    ///
    /// If the server does not offer to log (LOG-1).
    #[track_caller]
    pub fn log_level(&mut self, level: Level) -> impl Future<Output = ()> + Send {
        let place = Location::caller();
        async move {
            match self.revision().era() {
                Era::Modern => self.inbox.level = Some(level),
                Era::Legacy => {
                    let answer = self.request("logging/setLevel", json!({"level": level.as_str()})).await;
                    assert!(answer.is_ok(), "the log level cannot be set, asked at {place}\n{answer}");
                }
            }
        }
    }

    /// Moves the clock of the protocol: time limits of calls and questions, pings, and whatever else falls due on the way.
    /// Counts whole milliseconds. Calls go on as far as they go without waiting.
    ///
    /// It moves no other clock: what a tool sleeps on is its runtime's. Where that stands still, as under
    /// `#[tokio::test(start_paused = true)]` (which needs tokio's feature `test-util`), `tokio::time::advance` moves it.
    pub async fn advance(&mut self, span: Duration) {
        let span = Span::millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        let Self { driver, inbox, .. } = self;
        driver.advance(span, |driver| inbox.sort(driver)).await;
    }

    /// Lets the calls go as far as they go without waiting for time or the outside world, other threads included.
    pub async fn settle(&mut self) {
        let Self { driver, inbox, .. } = self;
        if driver.parked().next().is_some() {
            driver.advance(Span(0), |driver| inbox.sort(driver)).await;
        }
        self.sort();
    }

    /// The revision that it speaks.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.inbox.revision
    }

    /// What the server said of itself: the result of `initialize`, or of `server/discover`.
    #[must_use]
    pub const fn server(&self) -> &Value {
        &self.server
    }

    /// How far the clock of the protocol was moved.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.driver.now().since(START).into()
    }

    /// Ends its input, and waits for what runs to end (STDIO-4).
    ///
    /// # Panics
    ///
    /// If a call that runs can never end.
    #[track_caller]
    pub fn close(&mut self) -> impl Future<Output = ()> + Send {
        let place = Location::caller();
        async move {
            self.driver.end();
            let Self { driver, inbox, .. } = self;
            let closed = driver.until(|driver| {
                inbox.sort(driver);
                driver.is_closed().then_some(())
            });
            closed.await.unwrap_or_else(|| self.stand("the end of what runs, awaited", place));
        }
    }

    /// Whether the conversation has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.driver.is_closed()
    }

    /// Writes a remark into the [transcript](Client::transcript).
    pub fn remark(&mut self, text: impl AsRef<str>) {
        self.driver.remark(text.as_ref());
    }

    /// The conversation so far, from the handshake on, word for word.
    ///
    /// What differs from run to run is left out of comparisons with [`Transcript::ignore`]. A structured result is there twice:
    ///
    /// ```
    /// # use mcp_server::testing::{Client, block_on};
    /// # use mcp_server::{Server, Tool};
    /// # let app = Server::new("my-app", "1.0.0").tool(Tool::new("now").description("Tells the time.").run(|| "noon")).build().unwrap();
    /// # block_on(async {
    /// # let mut client = Client::new(&app);
    /// # client.call("now", ()).await.assert_ok();
    /// let transcript = client
    ///     .transcript()
    ///     .ignore("/result/structuredContent/time")
    ///     .ignore("/result/content/0/text");
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If it is longer than 16 MiB.
    #[must_use]
    #[track_caller]
    pub fn transcript(&self) -> Transcript {
        let steps = self.driver.with_record(|record| (!record.is_full()).then(|| record.steps.clone()));
        match steps {
            Some(steps) => Transcript::new(self.revision(), self.caller().clone(), steps),
            None => panic!("the conversation is longer than 16 MiB, and a transcript of it was not kept"),
        }
    }

    /// Who it is.
    #[must_use]
    pub const fn caller(&self) -> &Caller {
        &self.driver.caller
    }

    pub(super) fn sort(&mut self) {
        self.inbox.sort(&mut self.driver);
    }

    /// Ids are counted by each client for itself.
    #[track_caller]
    pub(super) fn check(&self, call: &Call) {
        assert_eq!(call.client, self.inbox.client, "the call of {} at {} is another client's", call.asked, call.place);
    }

    /// Fails, as something can never come.
    pub(super) fn stand(&self, what: &str, place: &Location<'_>) -> ! {
        let away = |time: Time| Duration::from(time.since(self.driver.now()));
        let mut text = format!("{what} at {place}, can never come");
        if self.driver.is_closed() {
            text.push_str("\nthe conversation has ended");
        }
        for (name, deadline) in self.driver.parked() {
            let _ = write!(text, "\n`{name}` runs, and waits for nothing that could wake it");
            if let Some(deadline) = deadline {
                let _ = write!(text, "; its time limit is {:?} of `Client::advance` away", away(deadline));
            }
        }
        if let (None, Some(deadline)) = (self.driver.parked().next(), self.driver.deadline()) {
            let _ =
                write!(text, "\nnothing runs; what falls due next is {:?} of `Client::advance` away", away(deadline));
        }
        let tail = self.driver.with_record(|record| record.tail(SHOWN));
        panic!("{text}\nlast was said:\n{tail}")
    }
}
