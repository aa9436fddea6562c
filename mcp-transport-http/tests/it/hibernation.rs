//! Sessions that sleep while they are quiet: their clients notice nothing, and memory does.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use mcp_core::catalog::{Catalog, Handle, Resource, Tool, View};
use mcp_core::drive::{Handler, Link, Running, Watcher, Watchers};
use mcp_core::policy::Policy;
use mcp_core::{Call, Caller, Change, Endpoint, Span};
use mcp_transport_http::{Body, McpService};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::*;

/// The tools of the tests, with a document, and a list of tools that grows.
struct House {
    tools: Tools,
    catalog: Mutex<Arc<Catalog>>,
    watchers: Mutex<Watchers>,
    views: Mutex<usize>,
}

const DOC: &str = "doc://house";
const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn catalog(more: usize) -> Arc<Catalog> {
    let named = [("echo", 1), ("slow", 2), ("steps", 3), ("hang", 4), ("ask", 5)];
    let tools = named.iter().map(|(name, handle)| Tool::new(name, Handle(*handle), r#"{"type":"object"}"#));
    let more = (0..more).map(|at| Tool::new(&format!("more{at}"), Handle(1), r#"{"type":"object"}"#));
    let builder = tools.chain(more).fold(Catalog::builder(), mcp_core::catalog::Builder::tool);
    builder.resource(Resource::new(DOC, "house", Handle(9))).build().unwrap()
}

impl House {
    fn new(policy: Policy) -> Arc<Self> {
        let tools = Tools::with(|endpoint| endpoint.resources(true, true).policy(policy));
        Arc::new(Self { tools, catalog: Mutex::new(catalog(0)), watchers: Mutex::default(), views: Mutex::default() })
    }

    fn watchers(&self) -> Vec<Arc<dyn Watcher>> {
        self.watchers.lock().unwrap().alive()
    }

    fn grow(&self, more: usize) {
        let catalog = catalog(more);
        *self.catalog.lock().unwrap() = Arc::clone(&catalog);
        self.watchers().iter().for_each(|watcher| watcher.changed(&catalog, Change::Tools));
    }

    fn update(&self) {
        self.watchers().iter().for_each(|watcher| watcher.updated(DOC));
    }
}

impl Handler for House {
    fn endpoint(&self) -> &Arc<Endpoint> {
        self.tools.endpoint()
    }

    fn view(&self, _: &Caller) -> View {
        *self.views.lock().unwrap() += 1;
        View::all(Arc::clone(&self.catalog.lock().unwrap()))
    }

    fn call(&self, call: Call, link: Link) -> Running {
        self.tools.call(call, link)
    }

    fn subscribe(&self, watcher: Weak<dyn Watcher>) {
        self.watchers.lock().unwrap().add(watcher);
    }
}

fn house_with(set: impl FnOnce(&mut Policy)) -> (Arc<House>, McpService) {
    let mut policy = Policy::default();
    set(&mut policy);
    let house = House::new(policy);
    let service = build(McpService::builder(Arc::clone(&house)));
    (house, service)
}

fn house() -> (Arc<House>, McpService) {
    house_with(|_| {})
}

async fn secs(secs: u64) {
    sleep(Duration::from_secs(secs)).await;
}

/// Opens a session, and has it sleep.
async fn asleep(service: &McpService) -> String {
    let session = open(service).await;
    secs(61).await;
    assert_eq!(service.sleeping(), service.sessions());
    session
}

async fn pings(service: &McpService, session: &str) -> u16 {
    send(service, legacy(Some(session), &ping(7))).await.status
}

/// A body that is read as it comes, as a connection does: what nobody has read keeps its session awake.
struct Reading {
    pieces: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl Reading {
    fn new(response: Response<Body>) -> Self {
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        let (said, pieces) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(piece) = frame(&mut body).await {
                said.send(piece).unwrap();
            }
        });
        Self { pieces, task }
    }

    /// The next piece; `None` at the end.
    async fn piece(&mut self) -> Option<String> {
        self.pieces.recv().await
    }

    /// The message that comes next, after whatever breaks the silence.
    async fn message(&mut self) -> Value {
        loop {
            let text = self.piece().await.expect("the stream goes on");
            if let Some(message) = events(&text).pop() {
                return message;
            }
        }
    }

    /// All that there is to come.
    async fn rest(&mut self) -> String {
        let mut text = String::new();
        while let Some(piece) = self.piece().await {
            text.push_str(&piece);
        }
        text
    }

    async fn is_silent(&mut self, secs: u64) -> bool {
        tokio::time::timeout(Duration::from_secs(secs), self.piece()).await.is_err()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(service: &McpService, session: &str) -> Reading {
    let mut reading = Reading::new(service.handle(bare("GET", session)).await);
    assert!(is_priming(&reading.piece().await.unwrap()));
    reading
}

async fn call(service: &McpService, session: &str, id: u64, tool: &str) -> Reading {
    Reading::new(service.handle(legacy_call(session, id, tool, json!({"ms": 900_000}))).await)
}

fn is_comments(text: &str) -> bool {
    text.split_inclusive("\n\n").all(is_comment)
}

fn subscribe(session: &str) -> Request<Full<Bytes>> {
    let params = json!({"uri": DOC});
    legacy(Some(session), &json!({"jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": params}))
}

fn answer_to(question: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}})
}

fn resume(session: &str, after: &str) -> Request<Full<Bytes>> {
    let mut request = bare("GET", session);
    request.headers_mut().insert("last-event-id", after.parse().unwrap());
    request
}

fn as_caller(mut request: Request<Full<Bytes>>, name: &str) -> Request<Full<Bytes>> {
    request.extensions_mut().insert(Caller { principal: Some(name.into()), ..Caller::anonymous() });
    request
}

#[tokio::test(start_paused = true)]
async fn a_quiet_session_sleeps_and_wakes_for_its_client() {
    let service = service();
    let session = open(&service).await;
    secs(59).await;
    assert_eq!((service.sessions(), service.sleeping()), (1, 0));
    secs(2).await;
    assert_eq!((service.sessions(), service.sleeping()), (1, 1));
    assert_eq!(send(&service, legacy_call(&session, 1, "echo", json!({"text": 1}))).await.text(), "echo 1");
    assert_eq!((service.sessions(), service.sleeping()), (1, 0));
    for _ in 0..10 {
        secs(40).await;
        assert_eq!((pings(&service, &session).await, service.sleeping()), (200, 0), "each request puts it off");
    }
    secs(61).await;
    assert_eq!(service.sleeping(), 1);
}

#[tokio::test(start_paused = true)]
async fn where_sleep_is_switched_off_nobody_sleeps_and_nobody_is_put_to_sleep() {
    let (_, service) = house_with(|policy| {
        policy.timing.hibernate_after = None;
        policy.limits.sessions = 1;
    });
    let session = open(&service).await;
    secs(7000).await;
    assert_eq!((service.sessions(), service.sleeping()), (1, 0));
    assert_eq!(send(&service, legacy(None, &initialize("2025-11-25"))).await.status, 503);
    assert_eq!(pings(&service, &session).await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_running_call_keeps_its_session_awake() {
    let service = service();
    let session = open(&service).await;
    let mut body = call(&service, &session, 1, "slow").await;
    secs(800).await;
    assert_eq!(service.sleeping(), 0);
    assert_eq!(result_text(&body.message().await), "slow null");
    secs(61).await;
    assert_eq!(service.sleeping(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_open_get_stream_keeps_nobody_awake_and_its_silence_is_broken_all_the_same_http_45() {
    let (_, service) = house();
    let session = open(&service).await;
    let mut body = listen(&service, &session).await;
    let start = Instant::now();
    for count in 1..=40 {
        assert!(is_comment(&body.piece().await.unwrap()));
        assert_eq!(start.elapsed().as_secs(), count * 15);
        assert_eq!(service.sleeping(), usize::from(count >= 4), "{count}");
    }
    assert_eq!(send(&service, legacy_call(&session, 1, "echo", json!({"text": 1}))).await.text(), "echo 1");
    assert_eq!(service.sleeping(), 0);
    for count in 41..=60 {
        assert!(is_comment(&body.piece().await.unwrap()));
        assert_eq!(start.elapsed().as_secs(), count * 15, "the times are those of one that never slept");
    }
    assert_eq!(service.sleeping(), 1);
}

#[tokio::test(start_paused = true)]
async fn news_wake_a_sleeper_that_listens_and_it_sleeps_on_at_once_tool_16_res_7() {
    let (house, service) = house();
    let session = open(&service).await;
    assert_eq!(send(&service, subscribe(&session)).await.status, 200);
    let mut body = listen(&service, &session).await;
    secs(61).await;
    for more in 1..4 {
        assert_eq!(service.sleeping(), 1);
        house.grow(more);
        assert_eq!(body.message().await["method"], LIST_CHANGED);
        house.update();
        let told = body.message().await;
        assert_eq!((&told["method"], &told["params"]["uri"]), (&json!(UPDATED), &json!(DOC)));
        assert!(body.is_silent(5).await);
        assert_eq!(service.sleeping(), 1, "{more}");
        secs(10).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleeper_that_does_not_listen_is_told_once_when_it_does_tool_16_res_7() {
    let (house, service) = house();
    let session = open(&service).await;
    assert_eq!(send(&service, subscribe(&session)).await.status, 200);
    secs(61).await;
    (1..4).for_each(|more| house.grow(more));
    (0..3).for_each(|_| house.update());
    secs(60).await;
    assert_eq!(service.sleeping(), 1, "nobody is there to be told");
    let mut body = Reading::new(service.handle(bare("GET", &session)).await);
    secs(5).await;
    assert_eq!(send(&service, bare("DELETE", &session)).await.status, 204);
    let methods: Vec<Value> = events(&body.rest().await).iter().map(|event| event["method"].clone()).collect();
    assert_eq!(methods, [LIST_CHANGED, UPDATED]);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_taken_back_while_it_slept_is_none() {
    let (house, service) = house();
    let session = asleep(&service).await;
    house.grow(3);
    house.grow(0);
    let mut body = listen(&service, &session).await;
    assert!(is_comment(&body.piece().await.unwrap()));
}

#[tokio::test(start_paused = true)]
async fn for_strangers_a_sleeper_does_not_exist_and_they_do_not_wake_it_http_21() {
    let service = service();
    let got = send(&service, as_caller(legacy(None, &initialize("2025-11-25")), "ann")).await;
    let session = got.session();
    send(&service, as_caller(legacy(Some(&session), &initialized()), "ann")).await;
    let mut body = Some(Reading::new(service.handle(as_caller(bare("GET", &session), "ann")).await));
    for _ in 0..2 {
        secs(61).await;
        assert_eq!(service.sleeping(), 1);
        let requests = || [legacy(Some(&session), &ping(1)), bare("GET", &session), bare("DELETE", &session)];
        for request in requests().into_iter().chain(requests().map(|request| as_caller(request, "bob"))) {
            assert_eq!(send(&service, request).await.status, 404);
            assert_eq!((service.sessions(), service.sleeping()), (1, 1));
        }
        assert_eq!(send(&service, as_caller(legacy(Some(&session), &ping(1)), "ann")).await.status, 200);
        body = None;
    }
    assert!(body.is_none());
    secs(61).await;
    assert_eq!(send(&service, as_caller(bare("DELETE", &session), "ann")).await.status, 204);
    assert_eq!((service.sessions(), service.sleeping()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_sleeper_is_deleted_with_its_streams_and_its_log_http_23() {
    let service = service();
    let session = open(&service).await;
    let mut body = Reading::new(service.handle(bare("GET", &session)).await);
    let primed = body.piece().await.unwrap();
    let event = primed.lines().next().and_then(|line| line.strip_prefix("id: ")).unwrap();
    secs(61).await;
    assert_eq!(send(&service, bare("DELETE", &session)).await.status, 204);
    assert!(is_comments(&body.rest().await));
    assert_eq!((service.sessions(), service.sleeping()), (0, 0));
    for request in [legacy(Some(&session), &ping(1)), resume(&session, event), bare("DELETE", &session)] {
        assert_eq!(send(&service, request).await.status, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sleeper_ends_after_its_idle_time_without_waking_and_so_do_its_streams_http_24() {
    let (_, service) = house_with(|policy| policy.timing.idle = Span::secs(600));
    let session = open(&service).await;
    let mut body = listen(&service, &session).await;
    let start = Instant::now();
    assert!(is_comments(&body.rest().await));
    assert_eq!(start.elapsed().as_secs(), 600, "sleep prolongs nothing");
    assert_eq!((service.sessions(), service.sleeping(), pings(&service, &session).await), (0, 0, 404));
    let session = asleep(&service).await;
    secs(540).await;
    assert_eq!((service.sessions(), service.sleeping(), pings(&service, &session).await), (0, 0, 404));
    open(&service).await;
    assert_eq!(service.sessions(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_stays_open_while_its_session_sleeps_and_is_answered_http_27() {
    let (house, service) = house();
    let session = open(&service).await;
    let mut body = call(&service, &session, 1, "ask").await;
    let question = body.message().await;
    assert_eq!(question["method"], "elicitation/create");
    secs(100).await;
    assert_eq!(service.sleeping(), 1);
    let views = *house.views.lock().unwrap();
    assert_eq!(send(&service, legacy(Some(&session), &answer_to(&question))).await.status, 202);
    assert_eq!(*house.views.lock().unwrap(), views + 1, "the handler is asked once for each message");
    let said = body.message().await;
    assert!(result_text(&said).contains("accept"), "{said}");
    assert_eq!(body.rest().await, "");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_answers_wakes_its_session_when_its_time_is_over_base_25() {
    let (_, service) = house();
    let session = open(&service).await;
    let mut body = call(&service, &session, 1, "ask").await;
    let start = Instant::now();
    body.message().await;
    secs(100).await;
    assert_eq!(service.sleeping(), 1);
    loop {
        let message = body.message().await;
        if message["result"].is_object() {
            assert!(result_text(&message).contains("TimedOut"), "{message}");
            break;
        }
    }
    assert_eq!(start.elapsed().as_secs(), 300);
    assert_eq!((service.sessions(), service.sleeping()), (1, 0), "a call has run");
    secs(61).await;
    assert_eq!(service.sleeping(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_pinged_sleeps_in_between_life_10() {
    let (_, service) = house_with(|policy| {
        policy.timing.ping = Some(Span::secs(100));
        policy.timing.keep_alive = Span::millis(0);
    });
    let session = open(&service).await;
    let mut body = listen(&service, &session).await;
    let start = Instant::now();
    let asked = body.message().await;
    assert_eq!((&asked["method"], start.elapsed().as_secs()), (&json!("ping"), 100));
    assert!(body.is_silent(5).await);
    assert_eq!(service.sleeping(), 1, "it was woken by a timer alone, and sleeps at once");
    let pong = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}});
    assert_eq!(send(&service, legacy(Some(&session), &pong)).await.status, 202);
    assert_eq!(body.message().await["method"], "ping");
    assert_eq!(body.piece().await, None, "who does not answer is taken for gone");
    assert_eq!(service.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_a_sleep_can_be_read_on_after_it_http_29() {
    let (house, service) = house();
    let session = open(&service).await;
    let uncut = send(&service, legacy_call(&session, 1, "steps", json!({"ms": 10}))).await.body;
    let first = uncut.lines().next().and_then(|line| line.strip_prefix("id: ")).unwrap();
    let mut body = Reading::new(service.handle(bare("GET", &session)).await);
    let primed = body.piece().await.unwrap();
    let listened = primed.lines().next().and_then(|line| line.strip_prefix("id: ")).unwrap();
    secs(61).await;
    assert_eq!(service.sleeping(), 1);
    let rest = uncut.split_once("\n\n").unwrap().1;
    assert_eq!(send(&service, resume(&session, first)).await.body, rest);
    // The reader goes while its session sleeps, and what happens then waits for the next one.
    secs(61).await;
    drop(body);
    secs(20).await;
    assert_eq!(service.sleeping(), 1);
    house.grow(1);
    secs(20).await;
    let mut body = Reading::new(service.handle(resume(&session, listened)).await);
    assert_eq!(body.message().await["method"], LIST_CHANGED);
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_room_the_quietest_sleeps_and_the_busy_are_left_alone() {
    let (_, service) = house_with(|policy| policy.limits.sessions = 2);
    let sessions = [open(&service).await, open(&service).await, open(&service).await];
    assert_eq!((service.sessions(), service.sleeping()), (3, 1));
    for _ in 0..3 {
        for session in &sessions {
            assert_eq!((pings(&service, session).await, service.sleeping()), (200, 1));
        }
    }
    let mut calls = Vec::new();
    for session in &sessions[..2] {
        calls.push(call(&service, session, 1, "steps").await);
    }
    let got = send(&service, legacy(Some(&sessions[2]), &ping(3))).await;
    assert_eq!((got.status, got.error_code(), got.header("retry-after")), (503, -32603, Some("1")));
    assert_eq!(got.json()["id"], 3);
    assert!(got.body.contains("yours is kept"), "{got:?}");
    let got = send(&service, bare("GET", &sessions[2])).await;
    assert_eq!((got.status, got.header("retry-after")), (503, Some("1")));
    let got = send(&service, legacy(None, &initialize("2025-11-25"))).await;
    assert_eq!((got.status, got.header("retry-after")), (503, Some("1")));
    assert_eq!((service.sessions(), service.sleeping()), (3, 1));
    assert_eq!(send(&service, bare("DELETE", &sessions[2])).await.status, 204, "that needs no seat");
    assert_eq!((service.sessions(), service.sleeping()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn sleepers_are_limited_in_number_and_who_finds_no_room_stays_awake() {
    let (_, service) = house_with(|policy| policy.limits.sessions_asleep = 1);
    let sessions = [open(&service).await, open(&service).await];
    secs(61).await;
    assert_eq!((service.sessions(), service.sleeping()), (2, 1));
    for session in &sessions {
        assert_eq!(pings(&service, session).await, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn many_that_call_a_sleeper_at_once_wake_it_once() {
    let service = service();
    let session = asleep(&service).await;
    let calls: Vec<_> = (0..50)
        .map(|id| {
            let (service, request) = (service.clone(), legacy_call(&session, id, "slow", json!({"text": id})));
            tokio::spawn(async move { send(&service, request).await })
        })
        .collect();
    for (id, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().text(), format!("slow {id}"));
    }
    assert_eq!((service.sessions(), service.sleeping()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_those_who_sleep_too_and_answers_those_who_wait() {
    let (_, service) = house();
    let asks = open(&service).await;
    let mut asking = call(&service, &asks, 1, "ask").await;
    asking.message().await;
    let listens = open(&service).await;
    let mut listening = listen(&service, &listens).await;
    asleep(&service).await;
    assert_eq!(service.sleeping(), 3);
    service.shutdown(Duration::from_secs(1)).await;
    assert_eq!((service.sessions(), service.sleeping()), (0, 0));
    let answer = events(&asking.rest().await).into_iter().find(|event| event["error"].is_object()).expect("an answer");
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)));
    assert!(is_comments(&listening.rest().await));
    assert_eq!(pings(&service, &asks).await, 503);
}

/// Everything that a client does here, and what came of it: once with sessions that sleep, and once with one that does not.
async fn history(hibernate_after: Option<Span>) -> (String, usize) {
    let (house, service) = house_with(|policy| {
        policy.timing.hibernate_after = hibernate_after;
        policy.timing.ping = Some(Span::secs(170));
    });
    let session = open(&service).await;
    let mut text = String::new();
    let mut slept = 0;
    let mut listening = listen(&service, &session).await;
    for round in 0..12_u64 {
        match round % 6 {
            0 => text += &send(&service, subscribe(&session)).await.body,
            1 => house.grow(round as usize),
            2 => text += &send(&service, legacy_call(&session, round, "steps", json!({"ms": 7000}))).await.body,
            3 => house.update(),
            4 => {
                let mut asking = call(&service, &session, round, "ask").await;
                let question = asking.message().await;
                secs(35).await;
                slept += service.sleeping();
                text += &send(&service, legacy(Some(&session), &answer_to(&question))).await.body;
                text += &asking.rest().await;
            }
            _ => {
                let messages = [json!({"jsonrpc": "2.0", "id": round, "method": "tools/list"}), ping(round)];
                for message in messages {
                    text += &send(&service, legacy(Some(&session), &message)).await.body;
                }
            }
        }
        // Each time is noted to the millisecond.
        let start = Instant::now();
        while let Ok(Some(more)) = tokio::time::timeout(Duration::from_secs(40), listening.piece()).await {
            text += &format!("{} {more}", start.elapsed().as_millis());
            for asked in events(&more).into_iter().filter(|event| event["method"] == "ping") {
                let pong = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}});
                text += &send(&service, legacy(Some(&session), &pong)).await.body;
            }
            if start.elapsed() >= Duration::from_secs(100) {
                break;
            }
        }
        slept += service.sleeping();
    }
    (text, slept)
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_the_same_bytes_at_the_same_times_whether_its_session_sleeps_or_not() {
    let (awake, never) = history(None).await;
    assert_eq!(never, 0);
    for after in [Span::millis(1), Span::secs(1), Span::secs(20)] {
        let (sleepy, slept) = history(Some(after)).await;
        assert!(slept >= 8, "{after:?}: {slept}");
        assert_eq!(sleepy, awake, "{after:?}");
    }
}
