//! Lines (STDIO-1, STDIO-9), event streams (HTTP-9) and the writing primitives.

use mcp_core::fault::{Code, Fault};
use mcp_core::wire::lines::{self, Line, Splitter};
use mcp_core::wire::sse::{self, Event, Frame, Parser};
use mcp_core::wire::{Id, write};
use proptest::prelude::*;

/// The lines of chunks; `None` stands for one that is too long.
fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Option<String>> {
    let mut splitter = Splitter::new(limit);
    let mut found = Vec::new();
    for mut chunk in chunks {
        while let Some(line) = splitter.next(&mut chunk) {
            found.push(line);
        }
        assert!(chunk.is_empty() && splitter.held() <= limit + 4);
    }
    found.extend(splitter.finish());
    let text = |line| match line {
        Line::Text(text) => Some(String::from_utf8_lossy(&text).into_owned()),
        Line::TooLong => None,
    };
    found.into_iter().map(text).collect()
}

fn texts(lines: &[&str]) -> Vec<Option<String>> {
    lines.iter().map(|line| (*line != "TOO LONG").then(|| line.to_string())).collect()
}

#[test]
fn lines_are_split_and_trimmed_stdio_1() {
    let table: &[(&[u8], &[&str])] = &[
        (b"", &[]),
        (b"a\nb\n", &["a", "b"]),
        (b"a\r\nb", &["a", "b"]),
        (b"\n\r\n \t\r\n\r\r\na\n\n", &["a"]),
        (b"a \t\r\n  b  ", &["a", "  b"]),
        (b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb\n", &["a", "\u{FEFF}b"]),
        (b"\xEF\xBB\xBF\r\na", &["a"]),
        (b"\xEF\xBB", &["\u{FFFD}"]),
        (b"\xFF\xFE\nping\n", &["\u{FFFD}\u{FFFD}", "ping"]),
    ];
    for (bytes, right) in table {
        assert_eq!(split(100, [*bytes]), texts(right), "{bytes:?}");
        assert_eq!(split(100, bytes.chunks(1)), texts(right), "{bytes:?} byte by byte");
    }
}

#[test]
fn a_line_over_the_limit_is_said_once_and_skipped_stdio_9() {
    let table: &[(&[u8], &[&str])] = &[
        (b"abcd\nabcde\nx\n", &["abcd", "TOO LONG", "x"]),
        (b"abcd\r\nabcde\r\nx\r\n", &["abcd", "TOO LONG", "x"]),
        (b"\xEF\xBB\xBFabcd\r\nx", &["abcd", "x"]),
        (b"\xEF\xBB\xBFabcde\r\nx", &["TOO LONG", "x"]),
        (b"abcdefghijklmnopqrstuvwxyz", &["TOO LONG"]),
        (b"abcdefghijklmnopqrstuvwxyz\n\nabcdefghijklmnopqrstuvwxyz\ny", &["TOO LONG", "TOO LONG", "y"]),
        (b"abcde", &["TOO LONG"]),
        (b"a        \nb", &["TOO LONG", "b"]),
    ];
    for (bytes, right) in table {
        for size in [1, 2, 3, 7, 100] {
            assert_eq!(split(4, bytes.chunks(size)), texts(right), "{bytes:?} by {size}");
        }
    }
}

#[test]
fn a_line_over_the_limit_is_said_before_it_ends() {
    let mut splitter = Splitter::new(10);
    assert_eq!(splitter.next(&mut &[b'x'; 15][..]), Some(Line::TooLong));
    assert_eq!((splitter.next(&mut &[b'x'; 1000][..]), splitter.held()), (None, 0));
    let mut chunk: &[u8] = b"end\nnext\nrest";
    assert_eq!(splitter.next(&mut chunk), Some(Line::Text("next".into())));
    assert_eq!((splitter.next(&mut chunk), splitter.held()), (None, 4));
}

#[test]
fn a_limit_that_is_no_limit_does_not_overflow() {
    assert_eq!(split(usize::MAX - 8, [&b"a\nb"[..], b"c"]), texts(&["a", "bc"]));
    let mut splitter = Splitter::new(usize::MAX);
    assert_eq!(splitter.next(&mut &b"a\n"[..]), Some(Line::Text("a".into())));
}

#[test]
fn long_lines_come_whole_and_at_their_exact_size() {
    let long = "x".repeat(5 << 20);
    let bytes = format!("{long}\r\nshort\n\u{FEFF}");
    assert_eq!(split(16 << 20, bytes.as_bytes().chunks(65_536)), texts(&[&long, "short", "\u{FEFF}"]));
    let bytes = format!("\u{FEFF}{long} \n");
    assert_eq!(split(16 << 20, bytes.as_bytes().chunks(65_536)), texts(&[&long]));
}

#[test]
fn a_written_line_is_one_line_stdio_1() {
    let mut out = Vec::new();
    lines::write(&mut out, b"{\r\n\"a\":1}");
    lines::write(&mut out, b"{}");
    assert_eq!(out, b"{  \"a\":1}\n{}\n");
}

/// The frames of chunks.
fn parse<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Frame>, String) {
    let mut parser = Parser::new(limit);
    let mut frames = Vec::new();
    for mut chunk in chunks {
        while let Some(frame) = parser.next(&mut chunk) {
            frames.push(frame);
        }
        assert!(chunk.is_empty());
    }
    (frames, parser.last_event_id().to_owned())
}

fn event(id: Option<&str>, kind: &str, data: &str) -> Frame {
    Frame::Event(Event { id: id.map(Into::into), kind: kind.into(), data: data.into() })
}

#[test]
fn events_are_written_as_one_data_line_http_9() {
    let mut out = Vec::new();
    sse::priming(&mut out, "s-0", 750);
    sse::retry(&mut out, 500);
    sse::event(&mut out, Some("s-1"), b"{\"a\":1}");
    sse::event(&mut out, None, b"{}");
    sse::comment(&mut out, "");
    sse::comment(&mut out, "keep\nalive");
    let text = "id: s-0\nretry: 750\ndata: \n\nretry: 500\n\nid: s-1\ndata: {\"a\":1}\n\ndata: {}\n\n: \n\n: keep\n: alive\n\n";
    assert_eq!(String::from_utf8_lossy(&out), text);
    let frames = vec![
        Frame::Retry(750),
        event(Some("s-0"), "message", ""),
        Frame::Retry(500),
        event(Some("s-1"), "message", "{\"a\":1}"),
        event(None, "message", "{}"),
        Frame::Comment("".into()),
        Frame::Comment("keep".into()),
        Frame::Comment("alive".into()),
    ];
    assert_eq!(parse(100, [&out[..]]), (frames, "s-1".into()));
}

#[test]
fn an_event_id_cannot_break_out_of_its_field() {
    let mut out = Vec::new();
    sse::priming(&mut out, "a\ndata: x\r\0b", 1);
    assert_eq!(out, b"id: adata: xb\nretry: 1\ndata: \n\n");
}

#[test]
fn streams_are_parsed_as_the_standard_says() {
    let message = |data: &str| event(None, "message", data);
    let table: &[(&[u8], Vec<Frame>)] = &[
        (b"data: a\n\n", vec![message("a")]),
        (b"data:a\rdata:  b\r\r", vec![message("a\n b")]),
        (b"data\r\ndata\r\n\r\n", vec![message("\n")]),
        (b"data:\n\ndata\n\n", vec![message(""), message("")]),
        (b"\xEF\xBB\xBFdata: a\n\n", vec![message("a")]),
        (b"\n\xEF\xBB\xBFdata: a\n\n", vec![]),
        (b"event: endpoint\ndata: /x\n\ndata: y\n\n", vec![event(None, "endpoint", "/x"), message("y")]),
        (b"event: x\n\ndata: y\n\n", vec![message("y")]),
        (
            b": hi\n:there\n:\n\n",
            vec![Frame::Comment("hi".into()), Frame::Comment("there".into()), Frame::Comment("".into())],
        ),
        (b"retry: 10\nretry: x\nretry:\nretry: -1\nretry: 99999999999999999999999\n", vec![Frame::Retry(10)]),
        (b"Data: a\nid2: b\nunknown\n\n", vec![]),
        (
            b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            vec![event(Some("1"), "message", "a"), message("b"), event(Some(""), "message", "c")],
        ),
        (b"id: 1\nid: a\0b\ndata: a\n\n", vec![event(Some("1"), "message", "a")]),
        (b"data: \xFFa\n\n", vec![message("\u{FFFD}a")]),
        (b"data: unfinished\n", vec![]),
        (b"data: a:b: c\n\n", vec![message("a:b: c")]),
    ];
    for (bytes, right) in table {
        for size in [1, 2, 3, 100] {
            assert_eq!(parse(100, bytes.chunks(size)).0, *right, "{} by {size}", String::from_utf8_lossy(bytes));
        }
    }
    assert_eq!(parse(100, [&b"id: 7\n\ndata: b\n\n"[..]]).1, "7");
}

#[test]
fn an_event_over_the_limit_is_said_once_and_skipped() {
    let message = |data: &str| event(None, "message", data);
    let table: &[(&[u8], Vec<Frame>)] = &[
        (b"data: 456789\ndata: x\n\ndata: y\n\n", vec![Frame::TooLong, message("y")]),
        (b"data: 456789abcdef\r\n\r\ndata: y\r\n\r\n", vec![Frame::TooLong, message("y")]),
        (b"data: 456789abcdef\r\rdata: y\r\r", vec![Frame::TooLong, message("y")]),
        (b"data: 456\ndata: 456\ndata: 456\n\ndata: y\n\n", vec![Frame::TooLong, message("y")]),
        (b"id: 7\nevent: abc\ndata: 456789\nid: 8\n\ndata: y\n\n", vec![Frame::TooLong, message("y")]),
        (b"data: 4567\n\ndata: y\n\n", vec![message("4567"), message("y")]),
    ];
    for (bytes, right) in table {
        for size in [1, 2, 5, 100] {
            assert_eq!(parse(11, bytes.chunks(size)).0, *right, "{} by {size}", String::from_utf8_lossy(bytes));
        }
    }
    let (frames, last_id) = parse(20, [&b"data\n".repeat(100)[..], b"\ndata\n\n"]);
    assert_eq!((frames, &*last_id), (vec![Frame::TooLong, message("")], ""));
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"<".to_vec();
    write(&mut out);
    String::from_utf8(out).unwrap()[1..].to_owned()
}

#[test]
fn strings_escape_only_what_they_must() {
    let text = "a\"b\\c/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}é\u{2028}😀";
    let right = "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}é\u{2028}😀\"";
    assert_eq!(written(|out| write::string(out, text)), right);
    assert_eq!(written(|out| write::string(out, "")), "\"\"");
}

#[test]
fn numbers_are_short_and_exact() {
    for number in [0, 7, -1, 10, i64::MAX, i64::MIN] {
        assert_eq!(written(|out| write::integer(out, number)), number.to_string());
    }
    let table = [
        (0.0, "0"),
        (-0.0, "0"),
        (3.0, "3"),
        (-2.0, "-2"),
        (0.5, "0.5"),
        (1e15, "1000000000000000"),
        (9_007_199_254_740_992.0, "9007199254740992"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
        (f64::NAN, "null"),
        (f64::INFINITY, "null"),
        (f64::NEG_INFINITY, "null"),
    ];
    for (number, right) in table {
        assert_eq!(written(|out| write::number(out, number)), right);
    }
}

#[test]
fn bytes_are_standard_base64_with_padding() {
    for (bytes, right) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("fooba", "Zm9vYmE=")] {
        assert_eq!(written(|out| write::base64(out, bytes.as_bytes())), format!("\"{right}\""));
    }
    assert_eq!(written(|out| write::base64(out, &[0xFB, 0xFF])), "\"+/8=\"");
}

#[test]
fn errors_leave_out_an_unknown_id_base_5_base_6() {
    let fault = Fault::parse("no\n\"JSON\"");
    assert_eq!(
        written(|out| write::error(out, None, &fault)),
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no\n\"JSON\""}}"#
    );
    let fault = Fault::new(Code::INVALID_PARAMS, "x").with_data("{\n\"uri\":\"a\"}");
    assert_eq!(
        written(|out| write::error(out, Some(&Id::string("7")), &fault)),
        r#"{"jsonrpc":"2.0","id":"7","error":{"code":-32602,"message":"x","data":{ "uri":"a"}}}"#
    );
}

#[test]
fn envelopes_open_with_the_id_as_it_was_sent_base_2() {
    let id = Id::parse("\"\\u0061\"", 100).unwrap();
    assert_eq!(written(|out| write::result_open(out, &id)), r#"{"jsonrpc":"2.0","id":"\u0061","result":"#);
    assert_eq!(written(|out| write::notification_open(out, "a/\"")), r#"{"jsonrpc":"2.0","method":"a/\"","params":"#);
    assert_eq!(
        written(|out| write::request_open(out, &Id::from_u64(4), "roots/list")),
        r#"{"jsonrpc":"2.0","id":4,"method":"roots/list","params":"#
    );
}

/// Bytes, and the places to cut them at.
fn cut(alphabet: &'static [u8]) -> impl Strategy<Value = (Vec<u8>, Vec<usize>)> {
    let bytes = prop::collection::vec(prop_oneof![4 => prop::sample::select(alphabet), 1 => any::<u8>()], 0..80);
    (bytes, prop::collection::vec(0_usize..80, 0..8))
}

fn pieces<'a>(mut bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for cut in cuts {
        let (piece, rest) = bytes.split_at((*cut).min(bytes.len()) / 2);
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

proptest! {
    #[test]
    fn chunking_does_not_change_lines((bytes, cuts) in cut(b"ab \t\r\n\n\xEF\xBB\xBF"), limit in 0_usize..12) {
        let whole = split(limit, [&bytes[..]]);
        prop_assert_eq!(&split(limit, pieces(&bytes, &cuts)), &whole);
        prop_assert_eq!(&split(limit, bytes.chunks(1)), &whole);
    }

    #[test]
    fn chunking_does_not_change_events((bytes, cuts) in cut(b"datid:: \r\n\n\0\xEF\xBB\xBF1"), limit in 0_usize..30) {
        let whole = parse(limit, [&bytes[..]]);
        prop_assert_eq!(&parse(limit, pieces(&bytes, &cuts)), &whole);
        prop_assert_eq!(&parse(limit, bytes.chunks(1)), &whole);
    }

    #[test]
    fn written_lines_come_back(bodies in prop::collection::vec("[!-~][ -~]{0,20}[!-~]", 0..6), size in 1_usize..9) {
        let mut out = Vec::new();
        bodies.iter().for_each(|body| lines::write(&mut out, body.as_bytes()));
        let right: Vec<Option<String>> = bodies.into_iter().map(Some).collect();
        prop_assert_eq!(split(100, out.chunks(size)), right);
    }

    #[test]
    fn written_events_come_back(
        events in prop::collection::vec((prop::option::of("[!-~]{1,6}"), "[^\r\n]{0,20}"), 0..6),
        size in 1_usize..9,
    ) {
        let mut out = Vec::new();
        for (id, data) in &events {
            sse::event(&mut out, id.as_deref(), data.as_bytes());
        }
        let right: Vec<Frame> = events.iter().map(|(id, data)| event(id.as_deref(), "message", data)).collect();
        prop_assert_eq!(parse(200, out.chunks(size)).0, right);
    }

    #[test]
    fn written_strings_and_numbers_come_back(text in ".*", number: f64, integer: i64) {
        let string = written(|out| write::string(out, &text));
        prop_assert_eq!(serde_json::from_str::<String>(&string).unwrap(), text);
        prop_assert!(!string.contains('\n'));
        let text = written(|out| write::number(out, number));
        if number.is_finite() {
            prop_assert_eq!(text.parse::<f64>().unwrap(), number);
        }
        prop_assert_eq!(written(|out| write::integer(out, integer)), integer.to_string());
    }
}
