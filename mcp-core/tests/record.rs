//! Any run can be replayed (design 3, rule 5): records survive JSON, and the replay says and writes the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use mcp_core::answer::{
    Annotations, Answer, Block, Content, Embedded, Icon, Implementation, Link, ResourceBody, Role, Theme, ToolAnswer,
};
use mcp_core::catalog::Tool;
use mcp_core::headers::HeadBuf;
use mcp_core::policy::{Limits, Policy, Seal};
use mcp_core::question::Question;
use mcp_core::record::{Record, RecordedView, Recorder, ReplayError, Replayed, What, replay};
use mcp_core::wire::{self, Id, Unread};
use mcp_core::{
    CallId, Caller, Catalog, Change, Close, Code, Endpoint, Exchange, Fault, Handle, Input, Level, Machine, MachineId,
    Note, Outcome, Output, Pipe, Pull, Scopes, Session, SessionId, StreamId, Ticket, Time, View,
};

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
        let json: Vec<String> = self.machine.records().iter().map(Record::to_json).collect();
        assert!(json.iter().all(|line| !line.contains('\n')));
        let records: Vec<Record> = json.iter().map(|line| Record::from_json(line).unwrap()).collect();
        assert_eq!(records, self.machine.records());
        let run = |records: &[Record]| {
            let replayed = replay(&mut fresh(), records, &[catalog()], &Limits::default()).unwrap();
            (said(&replayed), replayed.pulled)
        };
        assert_eq!(run(&records), (self.outputs.clone(), self.pulled.clone()));
        for length in 0..records.len() {
            let (outputs, pulled) = run(&records[..length]);
            assert!(self.outputs.starts_with(&outputs) && self.pulled.starts_with(&pulled), "{length} records");
        }
    }
}

fn said(replayed: &Replayed) -> Vec<String> {
    replayed.outputs.iter().map(|(_, output)| format!("{output:?}")).collect()
}

fn catalog() -> Arc<Catalog> {
    let schema = r#"{"type":"object","properties":{}}"#;
    let tool = |name, handle| Tool::new(name, Handle(handle), schema);
    Catalog::builder().tool(tool("add", 1)).tool(tool("ask", 2)).tool(tool("rm", 3)).build().unwrap()
}

fn endpoint() -> Arc<Endpoint> {
    let who = Implementation::new("demo", "1.0.0");
    let mut policy = Policy::default();
    policy.timing.call = Some(mcp_core::Span::secs(60));
    Endpoint::builder(who).tools(true).logging(true).seal(Arc::new(Plain)).policy(policy).build().unwrap()
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
    live.view = View::only(catalog(), |tool| tool.name() != "rm");
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

/// Every block, hint and icon, with and without what is optional.
fn answer() -> ToolAnswer {
    let mut hints = Annotations::default();
    hints.audience = vec![Role::User, Role::Assistant];
    hints.priority = Some(0.1 + 0.2);
    hints.last_modified = Some("2025-01-01".into());
    let mut icon = Icon::new("https://a/b.png").unwrap().mime("image/png").size(48, 48);
    icon.theme = Some(Theme::Dark);
    let mut link = Link::new("file:///\"a\"", "a\u{2028}");
    link.title = Some("".into());
    link.description = Some("d".into());
    link.mime = Some("text/plain".into());
    link.size = Some(u64::MAX);
    link.icons = vec![icon, Icon::new("http://a").unwrap()];
    let embedded =
        Embedded { uri: "u".into(), mime: None, body: ResourceBody::Text("\0".into()), meta: Some("{}".into()) };
    let mut answer = ToolAnswer::error("it\nfailed");
    answer.content.extend([
        Content::image(vec![0xFF, 0xD8, 0x00], "image/jpeg").annotated(hints),
        Content::audio(&b"RIFF"[..], "audio/wav").annotated(Annotations::default()),
        Content::resource_bytes("u", "m", vec![0x80]),
        Content { block: Block::Link(Box::new(link)), annotations: None, meta: Some(r#"{"a" : 1}"#.into()) },
        Block::Link(Box::default()).into(),
        Block::Resource(Box::new(embedded)).into(),
    ]);
    answer.structured = Some(Bytes::from_static(b"{\"n\": 1.0e1}"));
    answer.meta = Some("{ }".into());
    answer
}

fn whats() -> Vec<What> {
    let done = |outcome| What::Done { call: CallId(u64::MAX), outcome };
    let caller = Caller::new("a\u{1}b", Scopes::parse(" a  b:c "));
    let unread = |id, silent| {
        let fault = Fault::parse("x\u{202E}").with_data("[1,\n 2]").with_status(413);
        What::Unread(Unread { id, fault, silent })
    };
    let binary: HeadBuf = [("X".into(), vec![0xE9, 0x00]), ("x".into(), Vec::new())].into_iter().collect();
    let view = |only| RecordedView { generation: u64::MAX, only };
    let mut whats = vec![
        What::Message { body: "{}".into(), head: None, from: Caller::anonymous(), view: view(None) },
        What::Message {
            body: "\"\\u0000é".into(),
            head: Some(binary.clone()),
            from: caller.clone(),
            view: view(Some(vec![])),
        },
        What::Message {
            body: "".into(),
            head: Some(head(&[])),
            from: caller.clone(),
            view: view(Some(vec!["a".into()])),
        },
        What::Attach { head: binary, from: caller },
        What::Detach(StreamId(3)),
        What::Note { call: CallId(1), note: log(Level::Emergency) },
        What::Note {
            call: CallId(1),
            note: Note::Log { level: Level::Debug, logger: Some("l".into()), data: "no json".into() },
        },
        What::Stray(CallId(0)),
        What::Changed { generation: 0, what: Change::Tools },
        What::Tick,
        What::Close(Close::EndOfInput),
        What::Close(Close::Peer),
        What::Close(Close::Shutdown),
        What::Pull { stream: StreamId(1), limit: usize::MAX },
        done(Outcome::Complete(Answer::Tool(ToolAnswer::default()))),
        done(Outcome::Complete(Answer::Tool(answer()))),
        done(Outcome::Complete(Answer::Extension(Bytes::from_static(b"{\"base64\":\"\"}")))),
        done(Outcome::Fail(Fault::new(Code::application(i64::MIN).unwrap(), "e"))),
        done(Outcome::Fail(Fault::method_not_found("m"))),
        done(Outcome::Ask { questions: Vec::new(), state: Bytes::new() }),
        done(Outcome::Ask {
            questions: vec![
                ("form".into(), form()),
                ("url".into(), Question::Url { message: "m".into(), url: "https://a".into(), id: "1".into() }),
                ("".into(), Question::Sample { params: "{}".into(), tools: true }),
                ("s".into(), Question::Sample { params: "".into(), tools: false }),
                ("r".into(), Question::Roots),
            ],
            state: Bytes::from_static(&[0, 255]),
        }),
    ];
    for token in ["1", "-0", "9999999999999999999999", r#""\u0061""#, r#""""#] {
        whats.push(unread(Id::parse(token, 99), true));
    }
    whats.push(unread(None, false));
    for number in [0.1, 5e-324, f64::MAX, 1e16, -1.5, f64::INFINITY, f64::NEG_INFINITY, 123_456_789.123_456_79] {
        let total = (number > 0.0).then_some(-number);
        whats.push(What::Note { call: CallId(1), note: Note::Progress { progress: number, total, message: None } });
    }
    whats
}

#[test]
fn every_record_survives_json() {
    for (at, what) in whats().into_iter().enumerate() {
        let record = Record { at: Time(u64::MAX - at as u64), what };
        let json = record.to_json();
        assert!(!json.contains(['\n', '\r']), "{json}");
        let read = Record::from_json(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(read, record, "{json}");
        // What equality does not tell: the spelling of ids, `-0.0`.
        assert_eq!(read.to_json(), json);
    }
    let line = r#"{"at":1,"note":{"call":1,"progress":{"progress":"NaN","total":-0.0}}}"#;
    assert_eq!(Record::from_json(line).unwrap().to_json(), line);
}

#[test]
fn a_line_that_is_no_record_is_an_error_and_never_a_panic() {
    for bad in [
        "",
        "null",
        "[]",
        "{}",
        r#"{"at":1}"#,
        r#"{"at":-1,"tick":true}"#,
        r#"{"at":1,"tick":false}"#,
        r#"{"at":1,"tick":true,"x":1}"#,
        r#"{"at":1,"at":1,"tick":true}"#,
        r#"{"at":1,"tick":true,"tick":true}"#,
        r#"{"at":1,"tick":true} x"#,
        r#"{"at":18446744073709551616,"tick":true}"#,
        r#"{"at":1,"close":"never"}"#,
        r#"{"at":1,"detach":1.5}"#,
        r#"{"at":1,"message":{"body":"\ud800","from":{},"view":{"generation":1}}}"#,
        r#"{"at":1,"message":{"body":{"base64":"A"},"from":{},"view":{"generation":1}}}"#,
        r#"{"at":1,"attach":{"head":[["a"]],"from":{}}}"#,
        r#"{"at":1,"attach":{"head":[["a","b","c"]],"from":{}}}"#,
        r#"{"at":1,"done":{"call":1,"fail":{"code":1,"message":"","status":70000}}}"#,
    ] {
        assert!(Record::from_json(bad).is_err(), "{bad}");
    }
    // What a handler gave, or a hand wrote, may be no JSON: it is carried, not judged.
    let odd = r#"{"at":1,"done":{"call":1,"fail":{"code":-32050,"message":"","data":"no json","status":1}}}"#;
    assert_eq!(Record::from_json(odd).unwrap().to_json(), odd);
    let deep = format!(r#"{{"at":1,"tick":{}true{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    assert!(Record::from_json(&deep).is_err());
    for what in whats() {
        let json = Record { at: Time(1), what }.to_json();
        for at in (0..json.len()).filter(|at| json.is_char_boundary(*at)) {
            assert!(Record::from_json(&json[..at]).is_err());
            for byte in "\"\\{[,0 é".chars() {
                let rest: String = json[at..].chars().skip(1).collect();
                let _ = Record::from_json(&format!("{}{byte}{rest}", &json[..at]));
            }
        }
    }
}
