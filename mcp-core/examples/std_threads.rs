//! A whole MCP server on plain `std` threads, from `mcp-core` alone: no async, no runtime, no framework.
//!
//! One thread owns the machine and the output, one reads the input, and each call has one of its own. Try it:
//!
//! ```text
//! echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run -p mcp-core --example std_threads
//! ```

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_core::answer::{Answer, Implementation, ToolAnswer};
use mcp_core::catalog::{Catalog, Tool};
use mcp_core::wire::lines::{Line, Splitter};
use mcp_core::wire::{self, Message, Unread};
use mcp_core::{
    Call, CallId, Caller, Close, Endpoint, Fault, Handle, Input, Kind, Machine, MachineId, Note, Outcome, Output, Pipe,
    Pull, StreamId, Ticket, Time, View,
};

const SHOUT: Handle = Handle(1);
const COUNT: Handle = Handle(2);

/// What the other threads tell the one that owns the machine.
enum News {
    Message(Message),
    Unread(Unread),
    EndOfInput,
    Note(CallId, Note),
    Done(Ticket, Outcome),
}

/// Serves one peer until its input ends and everything is answered.
///
/// # Errors
///
/// If the output cannot be written.
pub(crate) fn serve(input: impl Read + Send + 'static, mut output: impl Write) -> io::Result<()> {
    let (endpoint, view, caller) = server();
    let clock = Clock::start();
    // Bounded: a reader that is ahead of the machine waits, and so does the peer.
    let (tell, news) = sync_channel(64);
    let limits = endpoint.limits().clone();
    let reader = tell.clone();
    thread::spawn(move || read(input, &limits, &reader));

    let mut pipe = Pipe::new(MachineId(1), endpoint, clock.now());
    loop {
        let input = match next(&news, &pipe, &clock) {
            Some(News::Message(message)) => Input::Message { message, head: None, from: &caller, view: &view },
            Some(News::Unread(unread)) => Input::Unread(unread),
            Some(News::EndOfInput) => Input::Close(Close::EndOfInput),
            Some(News::Note(call, note)) => Input::Note { call, note },
            Some(News::Done(ticket, outcome)) => Input::Done { ticket, outcome },
            None => Input::Tick,
        };
        pipe.handle(clock.now(), input);
        if obey(&mut pipe, &tell, &mut output)? {
            return Ok(());
        }
    }
}

/// Does what the machine says; true once it has closed.
fn obey(pipe: &mut Pipe, tell: &SyncSender<News>, output: &mut impl Write) -> io::Result<bool> {
    let mut closed = false;
    while let Some(said) = pipe.poll_output() {
        match said {
            Output::Call(ticket, call) => {
                let tell = tell.clone();
                thread::spawn(move || {
                    // The ticket stays here, so that a panic is answered too.
                    let ended = catch_unwind(AssertUnwindSafe(|| run(&call, &tell)));
                    let outcome = ended.unwrap_or_else(|_| Outcome::Fail(Fault::internal("The tool panicked")));
                    drop(tell.send(News::Done(ticket, outcome)));
                });
            }
            Output::Ready(stream) => write(pipe, stream, output)?,
            Output::Closed => closed = true,
            // A thread cannot be stopped from outside; its late answer is ignored by the machine.
            Output::Abandon(_) => {}
            // Nothing of HTTP or of sleeping sessions concerns a byte stream.
            Output::Expect(_) | Output::Resume(_) | Output::Open { .. } | Output::Listen(_) => {}
            Output::Hibernate | Output::Event(_) => {}
        }
    }
    Ok(closed)
}

fn write(pipe: &mut Pipe, stream: StreamId, output: &mut impl Write) -> io::Result<()> {
    let mut buffer = Vec::new();
    while pipe.pull(stream, &mut buffer, 64 << 10) == Pull::More {
        output.write_all(&buffer)?;
        buffer.clear();
    }
    output.write_all(&buffer)?;
    output.flush()
}

/// The tools. This runs on a thread of its own, so it may block.
fn run(call: &Call, tell: &SyncSender<News>) -> Outcome {
    let Kind::Tool { tool, arguments, .. } = &call.kind else {
        return Outcome::Fail(Fault::internal("This server has tools only"));
    };
    let arguments: serde_json::Value = serde_json::from_slice(arguments).unwrap_or_default();
    let answer = match *tool {
        SHOUT => match arguments["message"].as_str() {
            Some(message) => ToolAnswer::text(message.to_uppercase()),
            None => ToolAnswer::error("`message` must be a string"),
        },
        COUNT => {
            let up_to = arguments["to"].as_u64().unwrap_or(3).min(100);
            for n in 1..=up_to {
                thread::sleep(Duration::from_millis(10));
                #[allow(clippy::cast_precision_loss)]
                let note = Note::Progress { progress: n as f64, total: Some(up_to as f64), message: None };
                drop(tell.send(News::Note(call.id, note)));
            }
            ToolAnswer::text(format!("counted to {up_to}"))
        }
        _ => ToolAnswer::error("no such tool"),
    };
    Outcome::Complete(Answer::Tool(answer))
}

fn read(mut input: impl Read, limits: &mcp_core::policy::Limits, tell: &SyncSender<News>) {
    let mut splitter = Splitter::new(limits.line);
    let mut buffer = [0; 16 << 10];
    let news = |line| match line {
        Line::Text(body) => match wire::read(body, limits) {
            Ok(message) => News::Message(message),
            Err(unread) => News::Unread(unread),
        },
        Line::TooLong => News::Unread(Unread::too_long(limits.line)),
    };
    loop {
        let mut chunk: &[u8] = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => &buffer[..read],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        while let Some(line) = splitter.next(&mut chunk) {
            if tell.send(news(line)).is_err() {
                return;
            }
        }
    }
    if let Some(line) = splitter.finish() {
        drop(tell.send(news(line)));
    }
    drop(tell.send(News::EndOfInput));
}

/// The next piece of news; `None` when the machine's deadline comes first.
fn next(news: &Receiver<News>, pipe: &Pipe, clock: &Clock) -> Option<News> {
    let Some((at, _why)) = pipe.deadline() else { return news.recv().ok() };
    news.recv_timeout(at.since(clock.now()).into()).ok()
}

fn server() -> (Arc<Endpoint>, View, Caller) {
    let shout = r#"{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}"#;
    let count = r#"{"type":"object","properties":{"to":{"type":"integer","minimum":1,"maximum":100}}}"#;
    let catalog = Catalog::builder()
        .tool(Tool::new("shout", SHOUT, shout).with_description("Say it loudly"))
        .tool(Tool::new("count", COUNT, count).with_description("Count, with progress"))
        .build()
        .expect("the tools are defined right");
    let endpoint = Endpoint::builder(Implementation::new("std-threads", env!("CARGO_PKG_VERSION")))
        .tools(false)
        .build()
        .expect("the server is described right");
    (endpoint, View::all(catalog), Caller::anonymous())
}

/// Unix time, read once and advanced by a clock that never runs back.
struct Clock {
    unix: u64,
    start: Instant,
}

impl Clock {
    fn start() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { unix: u64::try_from(unix.as_millis()).unwrap_or(u64::MAX), start: Instant::now() }
    }

    fn now(&self) -> Time {
        Time(self.unix.saturating_add(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)))
    }
}

#[allow(dead_code, reason = "the test includes this file and calls `serve`")]
fn main() -> io::Result<()> {
    serve(io::stdin(), io::stdout().lock())
}
