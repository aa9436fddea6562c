//! A server with a handful of tools, and streams in memory to speak to it.
#![allow(
    dead_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    reason = "each test crate uses a part of it"
)]

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_io::{AsyncRead, AsyncWrite};
use mcp_core::answer::{Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Handle, Tool, View};
use mcp_core::drive::{Handler, Link, Running};
use mcp_core::policy::Policy;
use mcp_core::{Call, Caller, Endpoint, Fault, Kind, Level, Note, Outcome, Span, Time};
use mcp_transport_stdio::Clock;

/// What the tools are called, and what they do.
const TOOLS: [&str; 11] =
    ["echo", "never", "sleep", "block", "progress", "work", "big", "logs", "flood", "pour", "wait"];

/// The server.
#[derive(Debug)]
pub struct Tools {
    endpoint: Arc<Endpoint>,
    view: View,
    pub seen: Arc<Seen>,
}

/// What happened in the tools.
#[derive(Debug, Default)]
pub struct Seen {
    pub entered: AtomicUsize,
    /// Calls of `never` that were dropped.
    pub dropped: AtomicUsize,
    /// Whether a call that could not be dropped was told that nobody waits.
    pub told: AtomicUsize,
    /// Calls whose link had a context.
    pub contexts: AtomicUsize,
    /// Messages that `flood` and `pour` have logged.
    pub said: AtomicUsize,
    /// How `flood` speaks.
    pub link: Mutex<Option<Link>>,
    /// Times that `wait` was polled.
    pub polled: AtomicUsize,
    pub release: Mutex<Option<Waker>>,
    pub released: AtomicUsize,
}

struct CountDrop(Arc<Seen>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

impl Tools {
    pub fn new() -> Arc<Self> {
        Self::with_policy(Policy::default())
    }

    pub fn with_policy(policy: Policy) -> Arc<Self> {
        let endpoint =
            Endpoint::builder(Implementation::new("probe", "1.0.0")).tools(true).logging(true).policy(policy);
        let tools = (0..).zip(TOOLS).map(|(at, name)| Tool::new(name, Handle(at), r#"{"type":"object"}"#));
        let catalog = tools.fold(Catalog::builder(), |catalog, tool| catalog.tool(tool)).build().unwrap();
        Arc::new(Self {
            endpoint: endpoint.build().unwrap(),
            view: View::all(catalog),
            seen: Arc::new(Seen::default()),
        })
    }
}

impl Handler for Tools {
    fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    fn view(&self, _: &Caller) -> View {
        self.view.clone()
    }

    fn call(&self, call: Call, link: Link) -> Running {
        let Kind::Tool { tool, arguments, .. } = call.kind else {
            return Running::Done(Outcome::Fail(Fault::internal("no such thing")));
        };
        self.seen.entered.fetch_add(1, Ordering::SeqCst);
        self.seen.contexts.fetch_add(usize::from(!format!("{link:?}").contains("context: None")), Ordering::SeqCst);
        let seen = Arc::clone(&self.seen);
        match TOOLS[usize::try_from(tool.0).unwrap()] {
            "echo" => Running::Done(text(String::from_utf8(arguments.to_vec()).unwrap())),
            "never" => Running::Later(Box::pin(async move {
                let _count = CountDrop(seen);
                std::future::pending().await
            })),
            "sleep" => Running::Later(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(number(&arguments))).await;
                text("slept")
            })),
            "block" => Running::Later(Box::pin(async move {
                let work = move || {
                    std::thread::sleep(Duration::from_millis(number(&arguments)));
                    seen.told.fetch_add(usize::from(link.is_abandoned()), Ordering::SeqCst);
                };
                tokio::task::spawn_blocking(work).await.unwrap();
                text("blocked")
            })),
            "progress" => Running::Later(Box::pin(async move {
                for n in 1..=number(&arguments) {
                    link.note(Note::Progress { progress: n as f64, total: None, message: None });
                }
                text("progressed")
            })),
            "work" => Running::Later(Box::pin(async move {
                let work = move || {
                    for n in 1..=number(&arguments) {
                        link.note(Note::Progress { progress: n as f64, total: None, message: None });
                    }
                };
                tokio::task::spawn_blocking(work).await.unwrap();
                text("worked")
            })),
            "big" => Running::Done(text("x".repeat(usize::try_from(number(&arguments)).unwrap()))),
            "logs" => {
                for _ in 0..number(&arguments) {
                    link.note(Note::Log { level: Level::Error, logger: None, data: "\"\"".into() });
                }
                Running::Done(text("logged"))
            }
            // The one waits for room, the other does not.
            name @ ("flood" | "pour") => Running::Later(Box::pin(async move {
                let _count = CountDrop(Arc::clone(&seen));
                *seen.link.lock().unwrap() = Some(link.clone());
                for n in 0..number(&arguments) {
                    let data = format!("\"{}\"", "x".repeat(1022)).into();
                    link.note(Note::Log { level: Level::Error, logger: Some(n.to_string().into()), data });
                    seen.said.fetch_add(1, Ordering::SeqCst);
                    if name == "flood" {
                        poll_fn(|cx| link.poll_room(cx)).await;
                    }
                }
                text("flooded")
            })),
            _ => Running::Later(Box::pin(poll_fn(move |cx| {
                seen.polled.fetch_add(1, Ordering::SeqCst);
                *seen.release.lock().unwrap() = Some(cx.waker().clone());
                if seen.released.load(Ordering::SeqCst) > 0 { Poll::Ready(text("waited")) } else { Poll::Pending }
            }))),
        }
    }
}

impl Seen {
    /// Lets `wait` end.
    pub fn release(&self) {
        self.released.store(1, Ordering::SeqCst);
        if let Some(waker) = self.release.lock().unwrap().take() {
            waker.wake();
        }
    }
}

fn text(text: impl Into<String>) -> Outcome {
    Outcome::Complete(mcp_core::answer::Answer::Tool(ToolAnswer::text(text)))
}

/// The first number in the arguments.
fn number(arguments: &Bytes) -> u64 {
    let digits: String = arguments.iter().map(|&byte| byte as char).filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

pub const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"#,
    r#""clientInfo":{"name":"probe","version":"0"}}}"#
);
pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub fn ping(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

pub fn call(id: u64, tool: &str, n: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":{n}}},"_meta":{{"progressToken":"t{id}"}}}}}}"#
    )
}

pub fn modern(id: u64, tool: &str, n: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":{n}}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

pub fn cancel(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
}

/// The handshake, then these lines.
pub fn legacy<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> String {
    let mut input = format!("{INITIALIZE}\n{INITIALIZED}\n");
    for line in lines {
        input.push_str(line.as_ref());
        input.push('\n');
    }
    input
}

/// What the server wrote: whole lines of JSON and nothing else (STDIO-1).
pub fn messages(output: &[u8]) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(output).expect("output is UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line has its end");
    assert!(!text.contains('\r'), "no CR is written");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// The ids of the answers, in order; `null` for an answer without one.
pub fn ids(output: &[u8]) -> Vec<i64> {
    let answers = messages(output).into_iter().filter(|message| message.get("method").is_none());
    answers.map(|message| message.get("id").and_then(serde_json::Value::as_i64).unwrap_or(-1)).collect()
}

/// A clock that a test sets; its sleepers wake when it does.
#[derive(Clone, Debug, Default)]
pub struct TestClock(Arc<TestTime>);

#[derive(Debug, Default)]
struct TestTime {
    now: AtomicU64,
    wakers: Mutex<Vec<Waker>>,
}

impl TestClock {
    pub fn advance(&self, millis: u64) {
        self.0.now.fetch_add(millis, Ordering::SeqCst);
        for waker in self.0.wakers.lock().unwrap().drain(..) {
            waker.wake();
        }
    }
}

impl Clock for TestClock {
    type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

    fn now(&self) -> Time {
        Time(1_000_000 + self.0.now.load(Ordering::SeqCst))
    }

    fn sleep(&self, span: Span) -> Self::Sleep {
        let until = self.0.now.load(Ordering::SeqCst) + span.0;
        let time = Arc::clone(&self.0);
        Box::pin(poll_fn(move |cx| {
            if time.now.load(Ordering::SeqCst) >= until {
                return Poll::Ready(());
            }
            time.wakers.lock().unwrap().push(cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// One direction of a stream in memory.
#[derive(Clone, Debug)]
pub struct Channel(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    bytes: VecDeque<u8>,
    /// Most that one read or write moves.
    step: usize,
    /// Most that is held.
    room: usize,
    ended: bool,
    broken: bool,
    /// How often a read or write was tried.
    tries: usize,
    waker: Option<Waker>,
}

impl Channel {
    pub fn new() -> Self {
        Self::bounded(usize::MAX, usize::MAX)
    }

    pub fn bounded(step: usize, room: usize) -> Self {
        let inner = Inner { bytes: VecDeque::new(), step, room, ended: false, broken: false, tries: 0, waker: None };
        Self(Arc::new(Mutex::new(inner)))
    }

    pub fn put(&self, bytes: impl AsRef<[u8]>) {
        self.change(|inner| inner.bytes.extend(bytes.as_ref()));
    }

    pub fn take(&self) -> Vec<u8> {
        let mut taken = Vec::new();
        self.change(|inner| taken.extend(inner.bytes.drain(..)));
        taken
    }

    pub fn end(&self) {
        self.change(|inner| inner.ended = true);
    }

    pub fn break_off(&self) {
        self.change(|inner| inner.broken = true);
    }

    pub fn has_ended(&self) -> bool {
        self.0.lock().unwrap().ended
    }

    pub fn tries(&self) -> usize {
        self.0.lock().unwrap().tries
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.0.lock().unwrap();
        change(&mut inner);
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl AsyncRead for Channel {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock().unwrap();
        inner.tries += 1;
        // Every third try is interrupted: it is to be tried again, not to be taken for an end.
        if inner.tries.is_multiple_of(3) {
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        let n = buf.len().min(inner.step).min(inner.bytes.len());
        if n == 0 && !inner.ended {
            inner.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        for (to, from) in buf.iter_mut().zip(inner.bytes.drain(..n)) {
            *to = from;
        }
        Poll::Ready(Ok(n))
    }
}

impl AsyncWrite for Channel {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.0.lock().unwrap();
        inner.tries += 1;
        if inner.broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if inner.tries.is_multiple_of(3) {
            return Poll::Ready(Err(io::ErrorKind::Interrupted.into()));
        }
        let n = buf.len().min(inner.step).min(inner.room - inner.bytes.len());
        if n == 0 {
            inner.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        inner.bytes.extend(&buf[..n]);
        Poll::Ready(Ok(n))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end();
        Poll::Ready(Ok(()))
    }
}

/// A future that a test polls by hand, but only when it was woken, so that a lost wake-up shows.
pub struct Task<F> {
    future: Pin<Box<F>>,
    woken: Arc<Woken>,
}

#[derive(Debug)]
struct Woken(AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<F: Future> Task<F> {
    pub fn new(future: F) -> Self {
        Self { future: Box::pin(future), woken: Arc::new(Woken(AtomicUsize::new(1))) }
    }

    /// Polls until it sleeps.
    pub fn run(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        let mut polls = 0;
        while self.woken.0.swap(0, Ordering::SeqCst) > 0 {
            polls += 1;
            assert!(polls < 100_000, "it never sleeps");
            if let Poll::Ready(output) = self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(output);
            }
        }
        Poll::Pending
    }

    pub fn finish(&mut self) -> F::Output {
        match self.run() {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("it waits"),
        }
    }

    pub fn waits(&mut self) {
        assert!(self.run().is_pending(), "it has ended");
    }
}
