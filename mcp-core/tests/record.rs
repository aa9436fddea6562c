//! Any run can be replayed: the same outputs and bytes, from records that went through JSON (design 3, rule 5).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::answer::{Answer, Completion, Contents, Implementation, PromptAnswer, ResourceAnswer, ToolAnswer};
use mcp_core::catalog::{Item, Prompt, PromptArgument, Resource, Template, Tool};
use mcp_core::headers::HeadBuf;
use mcp_core::policy::{Limits, Policy, Seal};
use mcp_core::question::Question;
use mcp_core::record::{Record, Recorder, ReplayError, Replayed, What, replay};
use mcp_core::wire::{self, Unread};
use mcp_core::{
    CallId, Caller, Catalog, Change, Close, Endpoint, Exchange, Fault, Handle, Input, Level, Machine, MachineId, Note,
    Outcome, Output, Pipe, Pull, Scopes, Session, SessionId, Span, StreamId, Ticket, Time, View,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};

/// A driver that takes outputs at once, and keeps what it saw.
struct Live<M: Machine> {
    machine: Recorder<M>,
    now: u64,
    view: View,
    caller: Caller,
    tickets: BTreeMap<CallId, Ticket>,
    outputs: Vec<String>,
    pulled: Vec<(StreamId, Vec<u8>)>,
}

impl<M: Machine> Live<M> {
    fn new(machine: M) -> Self {
        Self {
            machine: Recorder::new(machine),
            now: 1000,
            view: View::all(catalog()),
            caller: Caller::new("ann", Scopes::parse("read write")),
            tickets: BTreeMap::new(),
            outputs: Vec::new(),
            pulled: Vec::new(),
        }
    }

    fn input(&mut self, input: Input<'_>) {
        self.now += 7;
        self.machine.handle(Time(self.now), input);
        while let Some(output) = self.machine.poll_output() {
            self.outputs.push(format!("{output:?}"));
            if let Output::Call(ticket, _) = output {
                self.tickets.insert(ticket.call(), ticket);
            }
        }
    }

    fn message(&mut self, head: Option<&HeadBuf>, body: &str) {
        let message = wire::read(Bytes::copy_from_slice(body.as_bytes()), &Limits::default()).unwrap();
        let (view, caller) = (self.view.clone(), self.caller.clone());
        let head = head.map(HeadBuf::head);
        self.input(Input::Message { message, head: head.as_ref(), from: &caller, view: &view });
    }

    fn note(&mut self, call: u64, note: Note) {
        self.input(Input::Note { call: CallId(call), note });
    }

    fn done(&mut self, call: u64, outcome: Outcome) {
        let ticket = self.tickets.remove(&CallId(call)).expect("the call was said");
        self.input(Input::Done { ticket, outcome });
    }

    fn pull(&mut self, stream: u64, limit: usize) -> String {
        let mut buf = Vec::new();
        let _ = self.machine.pull(StreamId(stream), &mut buf, limit);
        self.pulled.push((StreamId(stream), buf.clone()));
        String::from_utf8(buf).unwrap()
    }

    /// Replays the run and each beginning of it, out of JSON, on a machine of `fresh`.
    fn check(&self, fresh: impl Fn() -> M) {
        self.replayed(&fresh);
        for length in 0..self.machine.records().len() {
            let (outputs, pulled) = run(&mut fresh(), &self.machine.records()[..length]);
            assert!(self.outputs.starts_with(&outputs) && self.pulled.starts_with(&pulled), "{length} records");
        }
    }

    fn replayed(&self, fresh: impl Fn() -> M) {
        let json: Vec<String> = self.machine.records().iter().map(Record::to_json).collect();
        let records: Vec<Record> = json.iter().map(|line| Record::from_json(line).unwrap()).collect();
        assert_eq!(records, self.machine.records());
        assert_eq!(run(&mut fresh(), &records), (self.outputs.clone(), self.pulled.clone()));
    }
}

fn run<M: Machine>(machine: &mut M, records: &[Record]) -> (Vec<String>, Vec<(StreamId, Vec<u8>)>) {
    let replayed = replay(machine, records, &[catalog()], &Limits::default()).unwrap();
    (said(&replayed), replayed.pulled)
}

fn said(replayed: &Replayed) -> Vec<String> {
    replayed.outputs.iter().map(|(_, output)| format!("{output:?}")).collect()
}

fn catalog() -> Arc<Catalog> {
    let schema = r#"{"type":"object","properties":{}}"#;
    let tool = |name, handle| Tool::new(name, Handle(handle), schema);
    Catalog::builder()
        .tool(tool("add", 1))
        .tool(tool("ask", 2))
        .tool(tool("rm", 3))
        .resource(Resource::new("a:add", "add", Handle(4)))
        .template(Template::new("a:{+x}", "any", Handle(5)).completes("x"))
        .prompt(Prompt::new("add", Handle(6)).with_argument(PromptArgument::new("x").completes()))
        .build()
        .unwrap()
}

fn endpoint() -> Arc<Endpoint> {
    let who = Implementation::new("demo", "1.0.0");
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(60));
    let builder = Endpoint::builder(who).tools(true).resources(true, false).prompts(true).completions();
    builder.logging(true).seal(Arc::new(Plain)).policy(policy).build().unwrap()
}

/// Seals nothing, and always the same.
#[derive(Debug)]
struct Plain;

impl Seal for Plain {
    fn seal(&self, _: &[u8], plain: &[u8]) -> String {
        plain.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn open(&self, _: &[u8], sealed: &str) -> Option<Vec<u8>> {
        (0..sealed.len() / 2).map(|at| u8::from_str_radix(sealed.get(at * 2..at * 2 + 2)?, 16).ok()).collect()
    }
}

fn session() -> Session {
    Session::new(MachineId(3), endpoint(), SessionId::new([7; 16]), Time(1000))
}

fn head(fields: &[(&str, &str)]) -> HeadBuf {
    fields.iter().map(|(name, value)| (String::from(*name), value.as_bytes().to_vec())).collect()
}

fn initialize(revision: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"i","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

fn call(id: &str, tool: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":1}},"_meta":{{{meta}}}}}}}"#
    )
}

const MODERN: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;

fn progress(progress: f64) -> Note {
    Note::Progress { progress, total: Some(1.0), message: Some("on\nit".into()) }
}

fn log(level: Level) -> Note {
    Note::Log { level, logger: None, data: r#"{"a":[1]}"#.into() }
}

fn text(text: &str) -> Outcome {
    Outcome::Complete(Answer::Tool(ToolAnswer::text(text)))
}

fn form() -> Question {
    Question::Form { message: "sure?".into(), schema: r#"{"type":"object","properties":{}}"#.into() }
}

fn ask(keys: &[&str]) -> Outcome {
    let questions = keys.iter().map(|key| ((*key).into(), form())).collect();
    Outcome::Ask { questions, state: Bytes::from_static(b"\xFFstate") }
}

#[test]
fn a_legacy_session_is_replayed_to_the_same_bytes_with_progress_cancellation_and_a_question() {
    let mut live = Live::new(session());
    let post = head(&[("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", "2025-11-25")]);
    live.message(Some(&post), &initialize("2025-11-25", r#"{"elicitation":{}}"#));
    assert!(live.pull(0, 9999).contains("serverInfo"));
    live.message(Some(&post), INITIALIZED);
    assert_eq!(live.pull(1, 9999), "");
    live.view = View::only(catalog(), |item| item.key() != "rm");
    live.message(Some(&post), r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    assert!(!live.pull(2, 9999).contains("rm"));

    live.message(Some(&post), &call("3", "add", r#""progressToken":"t""#));
    live.note(1, progress(0.25));
    live.note(1, progress(0.5));
    assert!(live.pull(3, 10).contains("0.5"));
    live.note(1, log(Level::Debug));
    live.note(1, log(Level::Error));
    live.done(1, text("four"));
    assert!(live.pull(3, 10).contains("notifications/message"));
    assert!(live.pull(3, 10).contains("four"));

    live.message(Some(&post), &call("4", "add", ""));
    live.message(Some(&post), r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}"#);
    live.done(2, text("late"));
    live.pull(4, 10);
    live.pull(5, 10);

    live.message(Some(&post), &call("6", "ask", ""));
    live.done(3, ask(&["a", "b"]));
    assert!(live.pull(6, 9999).contains("elicitation/create"));
    live.message(Some(&post), r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{}}}"#);
    live.message(Some(&post), r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}"#);
    assert!(live.outputs.last().unwrap().contains(r#"message: "no""#));
    live.done(4, Outcome::Fail(Fault::internal("no")));
    assert!(live.pull(6, 9999).contains("-32603"));
    live.check(session);
}

/// A request that is no call of a tool, chosen by a number.
fn other(id: &str, n: u8, meta: &str) -> String {
    let (method, params) = match n % 7 {
        0 => ("resources/read", r#""uri":"a:add""#),
        1 => ("resources/read", r#""uri":"a:%C3%A9/b""#),
        2 => ("prompts/get", r#""name":"add","arguments":{"x":"\u0000","y":null}"#),
        3 => ("completion/complete", r#""ref":{"type":"ref/prompt","name":"add"},"argument":{"name":"x","value":"v"}"#),
        4 => ("completion/complete", r#""ref":{"type":"ref/resource","uri":"a:b"},"argument":{"name":"x","value":""}"#),
        5 => ("prompts/list", r#""x":1"#),
        _ => ("resources/read", r#""uri":"b:""#),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{{meta}}}}}}}"#)
}

#[test]
fn resources_prompts_and_completions_are_replayed_also_out_of_a_part_of_the_catalogue() {
    let fresh = || Pipe::new(MachineId(9), endpoint(), Time(1000));
    let mut live = Live::new(fresh());
    live.message(None, &initialize("2025-11-25", r#"{"elicitation":{}}"#));
    live.message(None, INITIALIZED);
    // A prompt, a tool and a resource of one name: one of the prompts is hidden, the others are not.
    live.view = View::only(catalog(), |item| !matches!(item, Item::Prompt(_)));
    live.message(None, &other("1", 2, ""));
    assert!(live.pull(0, 9999).contains("Unknown prompt"));
    live.message(None, &call("2", "add", ""));
    live.view = View::all(catalog());
    (0..7).for_each(|n| live.message(None, &other(&(10 + n).to_string(), n, "")));
    let meta = format!(r#"{MODERN},"progressToken":1"#);
    (0..7).for_each(|n| live.message(None, &other(&(20 + n).to_string(), n, &meta)));
    assert_eq!(live.tickets.len(), 11);
    live.pull(0, 9999);
    live.done(2, ask(&["a"]));
    live.done(7, ask(&["b"]));
    let tickets: Vec<u64> = live.tickets.keys().map(|call| call.0).collect();
    for call in tickets {
        let mut completion = Completion::new(vec!["é".into(); 101]);
        completion.has_more = true;
        let answer = match call {
            3 | 8 => Answer::Resource(ResourceAnswer::new(vec![Contents::bytes(vec![0xFF]).with_uri("a:c")])),
            5 | 6 | 10 | 11 => Answer::Complete(completion),
            // Of the two prompts; and of the tool, which it does not fit.
            _ => Answer::Prompt(PromptAnswer::new(Vec::new())),
        };
        live.done(call, Outcome::Complete(answer));
    }
    let sent = live.pull(0, usize::MAX);
    for (part, times) in [("contents", 2), ("messages", 2), ("values", 4), ("-32603", 1)] {
        assert_eq!(sent.matches(part).count(), times, "{part}: {sent}");
    }
    live.input(Input::Changed { catalog: catalog(), what: Change::Resources });
    live.input(Input::Changed { catalog: catalog(), what: Change::Prompts });
    assert_eq!(live.pull(0, 9999).matches("list_changed").count(), 2);
    live.check(fresh);
}

#[test]
fn listening_ticks_detaching_and_the_end_of_a_session_are_replayed() {
    let mut live = Live::new(session());
    let post = head(&[("accept", "application/json, text/event-stream")]);
    live.message(Some(&post), &initialize("2025-06-18", "{}"));
    live.message(None, INITIALIZED);
    let caller = live.caller.clone();
    let get = head(&[("mcp-session-id", "BwcHBwcHBwcHBwcHBwcHBw"), ("accept", "text/event-stream")]);
    live.input(Input::Attach { head: &get.head(), from: &caller });
    live.input(Input::Attach { head: &get.head(), from: &Caller::anonymous() });
    live.input(Input::Changed { catalog: catalog(), what: Change::Tools });
    assert!(live.pull(2, 9999).contains("list_changed"));
    live.message(Some(&post), &call("1", "add", ""));
    live.message(Some(&post), &call("2", "add", ""));
    live.input(Input::Detach { stream: StreamId(4) });
    live.input(Input::Unread(wire::read("{".into(), &Limits::default()).unwrap_err()));
    live.input(Input::Tick);
    live.now += 16_000;
    live.input(Input::Tick);
    assert!(live.pull(2, 9999).starts_with(':'));
    live.now += 60_000;
    live.input(Input::Tick);
    assert!(live.outputs.iter().any(|output| output.contains("TimedOut")));
    live.input(Input::Close(Close::EndOfInput));
    live.input(Input::Close(Close::Shutdown));
    assert_eq!(live.outputs.last().unwrap(), "Closed");
    live.message(Some(&post), &call("3", "add", ""));
    (0..8).for_each(|stream| drop(live.pull(stream, 9999)));
    live.check(session);
}

#[test]
fn a_batch_of_2025_03_26_is_replayed_to_one_array() {
    let mut live = Live::new(session());
    live.message(None, &initialize("2025-03-26", "{}"));
    live.message(None, INITIALIZED);
    let (first, second) = (call("1", "add", ""), call("\"\\u0062\"", "ask", ""));
    live.message(None, &format!(r#"[{first},{INITIALIZED},{{"jsonrpc":"2.0","id":9}},{second}]"#));
    live.done(2, text("b"));
    assert_eq!(live.pull(2, 9999), "");
    live.done(1, text("a"));
    let array = live.pull(2, 9999);
    assert!(array.starts_with('[') && array.ends_with(']') && array.contains(r#""id":"\u0062""#), "{array}");
    live.check(session);
}

#[test]
fn an_exchange_is_replayed_with_its_headers_and_its_sealed_state() {
    let fresh = || Exchange::new(MachineId(1), endpoint(), Time(0));
    let post = head(&[
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "ask"),
        ("Mcp-Param-Who", "=?base64?w6k=?="),
    ]);
    let body = call("1", "ask", &format!(r#"{MODERN},"progressToken":1"#));
    let mut live = Live::new(fresh());
    live.message(Some(&post), &body);
    live.note(1, progress(0.1));
    live.done(1, ask(&["ok"]));
    assert_eq!(live.pull(0, 1).matches("data: ").count(), 1);
    assert!(live.pull(0, 1).contains("inputRequests"));
    live.check(fresh);

    let refused = head(&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "a"), ("mcp-method", "b")]);
    let mut live = Live::new(fresh());
    live.message(Some(&refused), &body);
    assert!(live.pull(0, 9999).contains("-32020"));
    live.check(fresh);
}

#[test]
fn a_pipe_with_both_eras_interleaved_is_replayed() {
    let fresh = || Pipe::new(MachineId(9), endpoint(), Time(1000));
    let mut live = Live::new(fresh());
    live.message(None, &call("1", "add", MODERN));
    live.message(None, &initialize("2025-11-25", r#"{"elicitation":{"url":{}}}"#));
    live.message(None, INITIALIZED);
    live.message(None, &call("2", "ask", r#""progressToken":2"#));
    live.message(None, &call("2", "add", MODERN));
    live.message(None, &call("3", "ask", MODERN));
    live.note(2, progress(1.0));
    live.pull(0, 200);
    live.done(3, ask(&["k"]));
    live.done(2, ask(&["cannot be asked"]));
    live.done(1, text("\u{1F600}"));
    live.pull(0, 1);
    live.input(Input::Unread(Unread::too_long(5)));
    live.input(Input::Close(Close::EndOfInput));
    live.done(4, text("the last"));
    assert_eq!(live.outputs.last().unwrap(), "Closed");
    assert!(live.pull(0, usize::MAX).ends_with("\n"));
    live.check(fresh);
}

#[test]
fn a_buffer_that_holds_something_is_replayed_like_an_empty_one() {
    let fresh = || Pipe::new(MachineId(9), endpoint(), Time(1000));
    let mut live = Live::new(fresh());
    (0..9).for_each(|_| live.message(None, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
    let mut buf = b"before".to_vec();
    for limit in [0, 3, 90, 150, 170] {
        let before = buf.len();
        let _ = live.machine.pull(StreamId::ONLY, &mut buf, limit);
        live.pulled.push((StreamId::ONLY, buf[before..].to_vec()));
    }
    live.check(fresh);
}

#[test]
fn outputs_taken_late_replay_to_the_same_but_for_repeated_ready() {
    let mut machine = Recorder::new(session());
    let (view, caller) = (View::all(catalog()), Caller::anonymous());
    for body in [&*initialize("2025-11-25", "{}"), INITIALIZED, &call("1", "add", ""), &call("2", "add", "")] {
        let message = wire::read(Bytes::copy_from_slice(body.as_bytes()), &Limits::default()).unwrap();
        machine.handle(Time(1001), Input::Message { message, head: None, from: &caller, view: &view });
    }
    let mut outputs = Vec::new();
    while let Some(output) = machine.poll_output() {
        outputs.push(format!("{output:?}"));
        if let Output::Call(ticket, call) = output {
            machine.handle(Time(1002), Input::Note { call: call.id, note: progress(1.0) });
            machine.handle(Time(1002), Input::Done { ticket, outcome: text("x") });
        }
    }
    let mut replayed = said(&replay(&mut session(), machine.records(), &[catalog()], &Limits::default()).unwrap());
    replayed.dedup_by(|a, b| a == b && a.starts_with("Ready"));
    assert_eq!(replayed, outputs);
}

#[test]
fn a_ticket_of_another_machine_is_late_again() {
    let mut other = Live::new(Exchange::new(MachineId(2), endpoint(), Time(0)));
    other.message(None, &call("1", "add", MODERN));
    let fresh = || Exchange::new(MachineId(1), endpoint(), Time(0));
    let mut live = Live::new(fresh());
    live.message(None, &call("1", "add", MODERN));
    let ticket = other.tickets.remove(&CallId(1)).unwrap();
    live.input(Input::Done { ticket, outcome: text("of another") });
    live.done(1, text("its own"));
    assert!(live.pull(0, 9999).contains("its own"));
    live.check(fresh);
    assert!(live.machine.records().iter().any(|record| record.what == What::Stray(CallId(1))));
}

#[test]
fn a_replay_can_be_gone_on_from() {
    let fresh = || Pipe::new(MachineId(9), endpoint(), Time(1000));
    let mut live = Live::new(fresh());
    live.message(None, &call("1", "add", MODERN));
    live.message(None, &call("2", "add", MODERN));
    live.done(1, text("one"));
    let mut pipe = fresh();
    let replayed = replay(&mut pipe, &live.machine.take_records(), &[catalog()], &Limits::default()).unwrap();
    for (_, output) in replayed.outputs {
        if let Output::Call(ticket, _) = output {
            pipe.handle(Time(5000), Input::Done { ticket, outcome: text("two") });
        }
    }
    let (mut live_bytes, mut bytes) = (Vec::new(), Vec::new());
    live.done(2, text("two"));
    assert_eq!(live.machine.pull(StreamId::ONLY, &mut live_bytes, 9999), Pull::Wait);
    assert_eq!(pipe.pull(StreamId::ONLY, &mut bytes, 9999), Pull::Wait);
    assert_eq!(bytes, live_bytes);
}

#[test]
fn rule_5_a_run_is_replayed_with_its_own_catalogue_though_lists_show_no_difference() {
    let schema = r#"{"type":"object"}"#;
    let tool = |name| Tool::new(name, Handle(1), schema);
    let needs = mcp_core::Capabilities::none().with(mcp_core::Ability::Sampling);
    let with_prompt =
        |argument| Catalog::builder().tool(tool("add")).prompt(Prompt::new("p", Handle(2)).with_argument(argument));
    let with_template = |template| Catalog::builder().tool(tool("add")).template(template);
    let template = || Template::new("a:{x}", "any", Handle(3));
    let complete = |reference: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{{"ref":{reference},"argument":{{"name":"x","value":""}},"_meta":{{{MODERN}}}}}}}"#
        )
    };
    let argument = || PromptArgument::new("x");
    let pairs = [
        // It is called, and in no list.
        (
            Catalog::builder().tool(tool("add")),
            Catalog::builder().tool(tool("add")).tool(tool("rm").with_unlisted()),
            call("1", "rm", MODERN),
        ),
        (
            Catalog::builder().tool(tool("add")),
            Catalog::builder().tool(tool("add").with_needs(needs)),
            call("1", "add", MODERN),
        ),
        (with_prompt(argument()), with_prompt(argument().completes()), complete(r#"{"type":"ref/prompt","name":"p"}"#)),
        (
            with_template(template()),
            with_template(template().completes("x")),
            complete(r#"{"type":"ref/resource","uri":"a:{x}"}"#),
        ),
    ];
    for (one, other, message) in pairs {
        let catalogs = [one.build().unwrap(), other.build().unwrap()];
        assert_eq!(catalogs[0].generations(), catalogs[1].generations(), "lists show no difference");
        let fresh = || Pipe::new(MachineId(9), endpoint(), Time(1000));
        for catalog in &catalogs {
            let mut live = Live::new(fresh());
            live.view = View::all(Arc::clone(catalog));
            live.message(None, &message);
            live.pull(0, 9999);
            let records = live.machine.records();
            let replayed = replay(&mut fresh(), records, &catalogs, &Limits::default()).unwrap();
            assert_eq!((said(&replayed), &replayed.pulled), (live.outputs.clone(), &live.pulled), "{message}");
        }
    }
}

#[test]
fn what_cannot_be_replayed_is_an_error_that_names_the_record() {
    let fresh = || Pipe::new(MachineId(9), endpoint(), Time(1000));
    let mut live = Live::new(fresh());
    live.input(Input::Tick);
    live.message(None, INITIALIZED);
    let records = live.machine.records();
    let missing = replay(&mut fresh(), records, &[], &Limits::default()).unwrap_err();
    assert_eq!(missing, ReplayError::Catalog { record: 1, generation: catalog().generation() });
    let mut narrow = Limits::default();
    narrow.members = 1;
    let unread = replay(&mut fresh(), records, &[catalog()], &narrow).unwrap_err();
    assert!(matches!(unread, ReplayError::Unread { record: 1, .. }));
    let (_, records) = live.machine.into_parts();
    assert_eq!(records.len(), 2);
}

/// An answer, which may be that of another kind of call.
fn answer(n: u8) -> Outcome {
    Outcome::Complete(match n % 5 {
        0 => Answer::Resource(ResourceAnswer::new(vec![Contents::text("x")])),
        1 => Answer::Prompt(PromptAnswer::default()),
        2 => Answer::Complete(Completion::new(vec!["x".into()])),
        _ => return text("x"),
    })
}

/// One step of a run, chosen by two numbers.
fn step<M: Machine>(live: &mut Live<M>, kind: u8, n: u8) {
    let id = ["1", "2", "\"a\""][usize::from(n) % 3];
    let post = head(&[("accept", ["application/json", "text/event-stream", "*/*"][usize::from(n / 3) % 3])]);
    let stream = StreamId(u64::from(n) % 12);
    let number = u64::from(n) % 6 + 1;
    match kind {
        0 => live.message(Some(&post), &initialize("2025-03-26", r#"{"elicitation":{}}"#)),
        1 => live.message(None, INITIALIZED),
        2 => live.message(Some(&post), &call(id, "ask", r#""progressToken":1"#)),
        3 => live.message(Some(&post), &format!("[{},{INITIALIZED},{}]", call(id, "add", ""), call("9", "rm", ""))),
        4 => live.message(None, &call(id, "ask", &format!(r#"{MODERN},"progressToken":{id}"#))),
        5 => live.message(None, &format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#)),
        6 => {
            let params = format!(r#"{{"requestId":{id}}}"#);
            let body = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
            live.message(Some(&post), &body);
        }
        7 => live.note(number, progress(f64::from(n))),
        8 => live.note(number, log(Level::ALL[usize::from(n) % 8])),
        9 | 10 => {
            if let Some((_, ticket)) = live.tickets.pop_first() {
                let outcome = if kind == 9 { answer(n) } else { ask(&["k", "l"][..usize::from(n) % 3]) };
                live.input(Input::Done { ticket, outcome });
            }
        }
        11 => live.input(Input::Detach { stream }),
        12 => live.input(Input::Attach { head: &post.head(), from: &live.caller.clone() }),
        13 => live.input(Input::Changed { catalog: catalog(), what: Change::ALL[usize::from(n) % 3] }),
        14 => {
            live.now += u64::from(n) * 500;
            live.input(Input::Tick);
        }
        16 => live.message(Some(&post), &other(id, n / 3, r#""progressToken":1"#)),
        17 => live.message(None, &other(id, n / 3, MODERN)),
        18 => {
            let wanted = r#""notifications":{"toolsListChanged":true}"#;
            let params = format!(r#"{{{wanted},"_meta":{{{MODERN}}}}}"#);
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#);
            live.message(None, &body);
        }
        19 => live.input(Input::Listen(if n < 200 { Ok(()) } else { Err(Fault::busy()) })),
        20 => live.input(Input::Updated { uri: "a:", view: &View::all(catalog()) }),
        15 if n < 10 => live.input(Input::Close([Close::EndOfInput, Close::Shutdown][usize::from(n) % 2])),
        _ => drop(live.pull(stream.0, usize::from(n))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_run_of_any_machine_is_replayed(steps in vec((0..25_u8, any::<u8>()), 1..60)) {
        let pipe = || Pipe::new(MachineId(9), endpoint(), Time(1000));
        let exchange = || Exchange::new(MachineId(1), endpoint(), Time(1000));
        let (mut of_session, mut of_pipe) = (Live::new(session()), Live::new(pipe()));
        let mut of_exchange = Live::new(exchange());
        step(&mut of_session, 0, steps[0].1);
        for (kind, n) in steps {
            step(&mut of_session, kind, n);
            step(&mut of_pipe, kind, n);
            step(&mut of_exchange, kind, n);
        }
        of_session.replayed(session);
        of_pipe.replayed(pipe);
        of_exchange.replayed(exchange);
    }
}
