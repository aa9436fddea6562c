//! Records as JSON: each survives it, and nothing that is no record panics.

use bytes::Bytes;
use mcp_core::answer::{
    Annotations, Answer, Block, Completion, Content, Contents, Embedded, Icon, Link, PromptAnswer, PromptMessage,
    ResourceAnswer, ResourceBody, Role, Theme, ToolAnswer,
};
use mcp_core::headers::HeadBuf;
use mcp_core::question::Question;
use mcp_core::record::{Record, RecordedView, What};
use mcp_core::wire::{Id, Unread};
use mcp_core::{
    CacheHint, Caching, CallId, Caller, Change, Close, Code, Fault, Level, Note, Outcome, Scopes, Span, StreamId, Time,
};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};

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

/// Every kind of answer but a tool's, with and without what is optional.
fn answers() -> Vec<Answer> {
    let mut contents = ResourceAnswer::new(vec![
        Contents::text("").with_uri("u\n").with_mime("m").with_meta("{ }"),
        Contents::bytes(vec![0xFF]),
        Contents::bytes(Bytes::new()),
    ]);
    contents.meta = Some("no json".into());
    contents.caching = Caching::public(Span(u64::MAX)).into();
    let kept = [Caching::NONE.into(), CacheHint::ttl(Span(1)), CacheHint::default().private()].map(|caching| {
        let mut kept = ResourceAnswer::default();
        kept.caching = caching;
        Answer::Resource(kept)
    });
    let says = |role, content| PromptMessage { role, content };
    let mut prompt = PromptAnswer::new(vec![says(Role::Assistant, Content::text("\u{1}"))]);
    prompt.messages.extend(answer().content.into_iter().map(|content| says(Role::User, content)));
    prompt.description = Some("".into());
    prompt.meta = Some("{}".into());
    let mut completion = Completion::new(vec!["".into(), "\"é".into()]);
    (completion.total, completion.has_more) = (Some(u64::MAX), true);
    let mut answers = vec![
        Answer::Resource(ResourceAnswer::default()),
        Answer::Resource(contents),
        Answer::Prompt(PromptAnswer::default()),
        Answer::Prompt(prompt),
        Answer::Complete(Completion::default()),
        Answer::Complete(completion),
    ];
    answers.extend(kept);
    answers
}

fn whats() -> Vec<What> {
    let done = |outcome| What::Done { call: CallId(u64::MAX), outcome };
    let caller = Caller::new("a\u{1}b", Scopes::parse(" a  b:c "));
    let unread = |id, silent| {
        let fault = Fault::parse("x\u{202E}").with_data("[1,\n 2]").with_status(413);
        What::Unread(Unread { id, fault, silent })
    };
    let binary: HeadBuf = [("X".into(), vec![0xE9, 0x00]), ("x".into(), Vec::new())].into_iter().collect();
    let view = |only| RecordedView { generation: u64::MAX, only, by: Vec::new() };
    let by = |by| RecordedView { generation: 0, only: None, by };
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
            head: Some(HeadBuf::default()),
            from: caller.clone(),
            view: view(Some(vec!["a".into()])),
        },
        What::Attach { head: binary, from: caller },
        What::Detach(StreamId(3)),
        What::Note { call: CallId(1), note: Note::PageDone { id: "e\"1".into() } },
        What::Note { call: CallId(1), note: Note::HangUp },
        What::Note { call: CallId(1), note: Note::Log { level: Level::Emergency, logger: None, data: "1".into() } },
        What::Note {
            call: CallId(1),
            note: Note::Log { level: Level::Debug, logger: Some("l".into()), data: "no json".into() },
        },
        What::Stray(CallId(0)),
        What::Changed { generation: 0, what: Change::Tools },
        What::Changed { generation: 1, what: Change::Prompts },
        What::Changed { generation: 2, what: Change::Resources },
        What::Updated { uri: "a:\u{7f}\"".into(), view: view(None) },
        What::Updated { uri: "".into(), view: view(Some(vec!["resource a:".into()])) },
        What::Updated { uri: "".into(), view: by(vec![("".into(), vec![]), ("\u{1}".into(), vec!["tool a".into()])]) },
        What::Sees { call: CallId(7), view: by(vec![(Bytes::from_static(&[0xFF]), vec!["prompt \"".into()])]) },
        What::Listen(Ok(())),
        What::Listen(Err(Fault::busy())),
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
                ("form".into(), Question::Form { message: "m".into(), schema: "{ }".into() }),
                ("url".into(), Question::Url { message: "m".into(), url: "https://a".into(), id: "1".into() }),
                ("".into(), Question::Sample { params: "{}".into(), tools: true }),
                ("s".into(), Question::Sample { params: "".into(), tools: false }),
                ("r".into(), Question::Roots),
            ],
            state: Bytes::from_static(&[0, 255]),
        }),
    ];
    whats.extend(answers().into_iter().map(|answer| done(Outcome::Complete(answer))));
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
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_bytes_and_number_survive_json(text: String, bytes: Vec<u8>, bits: u64, token in "[0-9]{1,30}") {
        let number = f64::from_bits(bits);
        let unread = Unread { id: Id::parse(&token, 99), fault: Fault::parse(text.clone()), silent: true };
        let head: HeadBuf = [(text.clone(), bytes.clone())].into_iter().collect();
        let state = Bytes::from(bytes);
        let key = (text.clone().into(), Question::Sample { params: text.clone().into(), tools: false });
        for what in [
            What::Note { call: CallId(bits), note: Note::Progress { progress: number, total: None, message: None } },
            What::Unread(unread),
            What::Attach { head, from: Caller::new(&*text, Scopes::parse(&text)) },
            What::Done { call: CallId(bits), outcome: Outcome::Ask { questions: vec![key], state } },
        ] {
            let record = Record { at: Time(bits), what };
            let json = record.to_json();
            let read = Record::from_json(&json).unwrap();
            assert_eq!(read.to_json(), json);
            assert!(read == record || number.is_nan());
        }
    }

    #[test]
    fn any_change_to_a_line_is_a_record_or_an_error(which: usize, changes in vec((any::<usize>(), any::<char>()), 1..5)) {
        let whats = whats();
        let what = whats[which % whats.len()].clone();
        let mut line: Vec<char> = Record { at: Time(1), what }.to_json().chars().collect();
        for (at, change) in changes {
            let at = at % line.len();
            line[at] = change;
        }
        let line: String = line.into_iter().collect();
        if let Ok(record) = Record::from_json(&line) {
            assert!(Record::from_json(&record.to_json()).is_ok());
        }
    }
}
