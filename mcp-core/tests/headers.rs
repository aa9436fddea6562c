//! Headers that mirror the body: read, decoded, compared.

use bytes::Bytes;
use mcp_core::catalog::{Mirror, MirrorKind};
use mcp_core::headers::{self, Accept, Field, Head, HeadBuf};
use mcp_core::policy::Limits;
use mcp_core::wire::{self, Message};
use mcp_core::{Code, Fault};

type Pairs<'a> = &'a [(&'a str, &'a [u8])];

fn head<'a>(pairs: Pairs<'a>) -> Head<'a> {
    Head::read(pairs.iter().copied())
}

fn message(method: &str, params: &str) -> Message {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    wire::read(Bytes::from(text), &Limits::default()).unwrap()
}

/// The fault of a mismatch, checked for what all of them share (HDR-8).
fn mismatch(result: Result<(), Fault>) -> String {
    let fault = result.unwrap_err();
    assert_eq!((fault.code(), fault.status(), fault.data()), (Code::HEADER_MISMATCH, 400, None), "{fault}");
    fault.message().to_owned()
}

#[test]
fn names_compare_without_case_and_values_lose_their_blanks_http_14() {
    let head = head(&[
        ("MCP-SESSION-ID", b"s"),
        ("mcp-Method", b" \t tools/list \t"),
        ("MCP-Protocol-Version", b"2026-07-28"),
        ("Mcp-Name", b"  "),
        ("Last-Event-ID", b"e"),
        ("MCP-PARAM-Region", b" us "),
        ("Mcp-Param-", b"x"),
        ("X-Mcp-Name", b"no"),
        ("h\u{e9}ader-long", b"no"),
    ]);
    assert_eq!(head.session, Field::One(b"s"));
    assert_eq!(head.method.as_str(), Some("tools/list"));
    assert_eq!(head.version.as_str(), Some("2026-07-28"));
    assert_eq!(head.name, Field::One(b""));
    assert_eq!(head.last_event, Field::One(b"e"));
    assert_eq!(head.params, [("Region", &b"us"[..]), ("", b"x")]);
    assert_eq!(head.param("rEGION"), Field::One(b"us"));
    assert_eq!(head.accept, Accept::ANY);
    assert!(headers::check_method(&head, "tools/list").is_ok());
}

#[test]
fn copies_count_as_one_if_they_are_the_same_hdr_7_case_108() {
    let same = head(&[("Mcp-Method", b"a"), ("mcp-method", b" a")]);
    assert_eq!(same.method, Field::One(b"a"));
    let differ = head(&[("Mcp-Method", b"a"), ("Mcp-Method", b"b"), ("Mcp-Method", b"b")]);
    assert_eq!(differ.method, Field::Many);
    assert!(mismatch(headers::check_method(&differ, "a")).contains("more than once"));
}

#[test]
fn text_of_a_field_is_plain_ascii_hdr_7() {
    let cases: [(&[u8], Option<&str>); 6] = [
        (b"a b", Some("a b")),
        (b"", Some("")),
        (b"a\tb", Some("a\tb")),
        (b"a\x01", None),
        (b"\x7F", None),
        (b"\xC3\xA9", None),
    ];
    for (value, text) in cases {
        assert_eq!(Field::One(value).as_str(), text);
    }
    assert_eq!(Field::Absent.as_str(), None);
    assert_eq!(Field::Many.as_str(), None);
    assert!(Field::Absent.is_absent() && !Field::Many.is_absent());
}

#[test]
fn version_and_method_are_the_bodys_byte_for_byte_hdr_1_hdr_2() {
    let sent = head(&[("mcp-protocol-version", b"2026-07-28"), ("mcp-method", b"tools/list")]);
    assert!(headers::check_version(&sent, "2026-07-28").is_ok());
    assert!(headers::check_method(&sent, "tools/list").is_ok());
    let differs = mismatch(headers::check_version(&sent, "v9"));
    assert_eq!(differs, "MCP-Protocol-Version header says `2026-07-28`, the body says `v9`");
    let differs = mismatch(headers::check_method(&sent, "Tools/list"));
    assert_eq!(differs, "Mcp-Method header says `tools/list`, the body says `Tools/list`");
    let absent = head(&[]);
    assert!(
        mismatch(headers::check_version(&absent, "2026-07-28")).starts_with("MCP-Protocol-Version header is missing")
    );
    assert!(mismatch(headers::check_method(&absent, "ping")).starts_with("Mcp-Method header is missing"));
    // The sentinel is not for these.
    let coded = head(&[("mcp-method", b"=?base64?cGluZw==?=")]);
    mismatch(headers::check_method(&coded, "ping"));
}

#[test]
fn the_name_is_what_the_body_names_hdr_3_hdr_4() {
    let named = |name: &'static [u8]| Head::read([("mcp-name", name)]);
    let cases = [
        ("tools/call", r#"{"name":"add"}"#),
        ("prompts/get", r#"{"name":"add"}"#),
        ("resources/read", r#"{"uri":"add"}"#),
        ("tasks/get", r#"{"taskId":"add"}"#),
        ("tasks/update", r#"{"taskId":"add"}"#),
        ("tasks/cancel", r#"{"taskId":"add"}"#),
    ];
    for (method, params) in cases {
        let message = message(method, params);
        assert!(headers::check_name(&named(b"add"), &message).is_ok(), "{method}");
        assert_eq!(
            mismatch(headers::check_name(&named(b"b"), &message)),
            "Mcp-Name header says `b`, the body says `add`",
            "{method}"
        );
        assert!(mismatch(headers::check_name(&head(&[]), &message)).contains("Mcp-Name header is missing"), "{method}");
        let absent = self::message(method, "{}");
        assert!(mismatch(headers::check_name(&named(b"add"), &absent)).contains("no such value"), "{method}");
        assert!(headers::check_name(&head(&[]), &absent).is_ok(), "{method}: -32602 is for who reads the parameters");
        let number = self::message(method, r#"{"name":1,"uri":1,"taskId":1}"#);
        mismatch(headers::check_name(&named(b"1"), &number));
    }
    let list = message("tools/list", r#"{"name":"add"}"#);
    assert!(headers::check_name(&named(b"x"), &list).is_ok());
    assert!(headers::check_name(&head(&[]), &list).is_ok());
    let twice = head(&[("mcp-name", b"add"), ("mcp-name", b"b")]);
    mismatch(headers::check_name(&twice, &message("tools/call", r#"{"name":"add"}"#)));
}

#[test]
fn coded_names_are_decoded_before_they_are_compared_hdr_5_hdr_6() {
    let cases: [(&str, &[u8], bool); 18] = [
        ("us-west1", b"us-west1", true),
        ("us-west1", b"=?base64?dXMtd2VzdDE=?=", true),
        ("Hello, 世界", b"=?base64?SGVsbG8sIOS4lueVjA==?=", true),
        (" padded ", b"=?base64?IHBhZGRlZCA=?=", true),
        ("line1\\nline2", b"=?base64?bGluZTEKbGluZTI=?=", true),
        ("=?base64?literal?=", b"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", true),
        ("", b"", true),
        ("", b"=?base64??=", true),
        ("Hello", b"=?base64?SGVsbG8?=", false),
        ("Hello", b"=?base64?SGVs-G8=?=", false),
        ("Hello", b"=?BASE64?SGVsbG8=?=", false),
        ("=?BASE64?SGVsbG8=?=", b"=?BASE64?SGVsbG8=?=", true),
        ("=?base64?=", b"=?base64?=", true),
        ("=?base64?x", b"=?base64?x", true),
        ("\\u0001", b"\x01", false),
        ("é", "é".as_bytes(), false),
        ("\u{FFFD}", b"=?base64?/w==?=", false),
        ("Hello", b"hello", false),
    ];
    for (name, value, equal) in cases {
        let message = message("tools/call", &format!(r#"{{"name":"{name}"}}"#));
        let result = headers::check_name(&head(&[("mcp-name", value)]), &message);
        assert_eq!(result.is_ok(), equal, "{name} {value:?}");
        if !equal {
            mismatch(result);
        }
    }
}

#[test]
fn encoding_is_what_decoding_reads_hdr_5() {
    let cases = [
        ("us-west1", "us-west1"),
        ("a b", "a b"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("a\tb", "=?base64?YQli?="),
        ("=?base64?x", "=?base64?x"),
    ];
    for (value, header) in cases {
        assert_eq!(headers::encode(value), header);
        assert_eq!(headers::decode(header.as_bytes()).unwrap(), value);
    }
}

#[test]
fn messages_quote_nothing_that_is_long_or_hostile() {
    let long = "x".repeat(100_000);
    let sent = [("mcp-method", long.as_bytes())];
    assert!(mismatch(headers::check_method(&head(&sent), "a\u{202E}\u{1b}b")).len() < 600);
    let hostile = mismatch(headers::check_method(&head(&[("mcp-method", b"\x1b[1m\xFF")]), "a\u{202E}b"));
    assert_eq!(hostile, "Mcp-Method header says `\u{FFFD}[1m\u{FFFD}`, the body says `a\u{FFFD}b`");
}

fn mirror(header: &str, path: &[&str], kind: MirrorKind) -> Mirror {
    Mirror { header: header.into(), path: path.iter().map(|step| (*step).into()).collect(), kind }
}

#[test]
fn repeated_arguments_agree_with_the_body_hdr_10_a13_a15_case_109() {
    use MirrorKind::{Boolean, Integer, String};
    let cases: &[(MirrorKind, &str, Option<&str>, bool)] = &[
        (String, r#""us""#, Some("us"), true),
        (String, r#""us""#, Some("US"), false),
        (String, r#""us""#, None, false),
        (String, r#""caf\u00e9""#, Some("=?base64?Y2Fmw6k=?="), true),
        (String, r#""a""#, Some("=?base64?YQ?="), false),
        (String, r#""""#, Some(""), true),
        (String, "null", None, true),
        (String, "null", Some("null"), false),
        (String, "null", Some(""), false),
        (String, r#""42""#, Some("42.0"), false),
        (Integer, "42", Some("42"), true),
        (Integer, "42", Some("42.0"), true),
        (Integer, "42.0", Some("42"), true),
        (Integer, "4.2e1", Some("42"), true),
        (Integer, "42", Some("420e-1"), true),
        (Integer, "42", Some("4200E-2"), true),
        (Integer, "42", Some("43"), false),
        (Integer, "42", Some("042"), false),
        (Integer, "42", Some("+42"), false),
        (Integer, "42", Some("42."), false),
        (Integer, "42", Some("42e"), false),
        (Integer, "42", Some("0x2a"), false),
        (Integer, "42", Some(""), false),
        (Integer, "42", Some("-42"), false),
        (Integer, "-42", Some("-42.00"), true),
        (Integer, "0", Some("-0"), true),
        (Integer, "0", Some("0e999999999999999999999"), true),
        (Integer, "1", Some("1e999999999999999999999"), false),
        (Integer, "1", Some("1e-999999999999999999999"), false),
        (Integer, "9007199254740991", Some("9007199254740991"), true),
        (Integer, "-9007199254740991", Some("-9007199254740991"), true),
        (Integer, "9007199254740992", Some("9007199254740992"), false),
        (Integer, "-9007199254740992", Some("-9007199254740992"), false),
        (Integer, "1e400", Some("1e400"), false),
        (Integer, "10000000000000000000000", Some("10000000000000000000000"), false),
        (Integer, "null", None, true),
        // Of another type than the tool asked for: as text, and validation says the rest.
        (Integer, r#""42""#, Some("42"), true),
        (Integer, "42.5", Some("42.5"), true),
        (Integer, "42.5", Some("42.50"), false),
        (Integer, "true", Some("true"), true),
        (String, "42", Some("42"), true),
        (String, "42", Some("42.0"), false),
        (String, "[1]", Some("[1]"), true),
        (String, "{}", Some("x"), false),
        (Boolean, "true", Some("true"), true),
        (Boolean, "false", Some("false"), true),
        (Boolean, "true", Some("True"), false),
        (Boolean, "true", Some("1"), false),
        (Boolean, "true", None, false),
    ];
    for (kind, body, header, right) in cases {
        for (path, arguments) in [
            (&["a"][..], format!(r#"{{"z":[{{"a":0}}], "a" : {body} }}"#)),
            (&["o", "a"], format!(r#"{{"a":"decoy","o":{{"x":1,"\u0061":{body}}}}}"#)),
        ] {
            let mirrors = [mirror("P", path, *kind)];
            let sent: Vec<(&str, &[u8])> = header.iter().map(|value| ("mcp-param-p", value.as_bytes())).collect();
            let result = headers::check_params(&head(&sent), &mirrors, &arguments);
            assert_eq!(result.is_ok(), *right, "{kind:?} {arguments} {header:?}");
            if !right {
                assert!(mismatch(result).contains("Mcp-Param-P"));
            }
        }
    }
}

#[test]
fn absent_arguments_expect_no_header_hdr_10_a13() {
    let mirrors = [mirror("P", &["o", "a"], MirrorKind::String)];
    for arguments in ["{}", r#"{"o":{}}"#, r#"{"o":null}"#, r#"{"o":5}"#, r#"{"o":[{"a":"x"}]}"#, r#"{"a":"x"}"#] {
        assert!(headers::check_params(&head(&[]), &mirrors, arguments).is_ok(), "{arguments}");
        let sent = head(&[("mcp-param-p", b"x")]);
        mismatch(headers::check_params(&sent, &mirrors, arguments));
    }
}

#[test]
fn only_the_headers_that_the_tool_asks_for_count_hdr_11() {
    let mirrors = [mirror("Method", &["m"], MirrorKind::String)];
    let sent = head(&[("mcp-param-unknown", b"\xFF"), ("mcp-method", b"tools/call"), ("mcp-param-method", b"x")]);
    assert!(headers::check_params(&sent, &mirrors, r#"{"m":"x"}"#).is_ok());
    assert!(headers::check_params(&sent, &[], "not even JSON").is_ok());
    let twice = head(&[("mcp-param-method", b"x"), ("mcp-param-METHOD", b"y")]);
    assert!(mismatch(headers::check_params(&twice, &mirrors, r#"{"m":"x"}"#)).contains("more than once"));
    let bytes = head(&[("mcp-param-method", b"\x80")]);
    mismatch(headers::check_params(&bytes, &mirrors, r#"{"m":"x"}"#));
}

#[test]
fn several_arguments_may_share_a_way_hdr_10() {
    let mirrors = [
        mirror("A", &["o", "a"], MirrorKind::Integer),
        mirror("B", &["o", "b"], MirrorKind::Boolean),
        mirror("O", &["o"], MirrorKind::String),
        mirror("C", &["c"], MirrorKind::String),
    ];
    let arguments = r#"{"c":"x","o":{"b":true,"a":7}}"#;
    let good: Pairs = &[
        ("mcp-param-a", b"7"),
        ("mcp-param-b", b"true"),
        ("mcp-param-c", b"x"),
        ("mcp-param-o", br#"{"b":true,"a":7}"#),
    ];
    assert!(headers::check_params(&head(good), &mirrors, arguments).is_ok());
    for missing in 0..good.len() {
        let rest: Vec<_> = good.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, pair)| *pair).collect();
        mismatch(headers::check_params(&head(&rest), &mirrors, arguments));
    }
}

#[test]
fn a_member_twice_on_the_way_to_a_repeated_argument_is_refused() {
    let mirrors = [mirror("P", &["o", "a"], MirrorKind::String)];
    let sent = head(&[("mcp-param-p", b"x")]);
    for arguments in [
        r#"{"o":{"a":"x","a":"y"}}"#,
        r#"{"o":{"a":"x","\u0061":"x"}}"#,
        r#"{"o":{"a":"x"},"o":{"a":"x"}}"#,
        r#"{"z":1,"o":{"a":"x"},"z":2}"#,
        "[]",
        "{",
        r#"{"\ud800":1}"#,
    ] {
        let fault = headers::check_params(&sent, &mirrors, arguments).unwrap_err();
        assert_eq!((fault.code(), fault.status()), (Code::INVALID_PARAMS, 400), "{arguments}");
    }
    let elsewhere = r#"{"o":{"a":"x","n":{"k":1,"k":2}},"A":1}"#;
    assert!(headers::check_params(&sent, &mirrors, elsewhere).is_ok());
}

#[test]
fn odd_mirrors_and_deep_or_long_arguments_do_no_harm() {
    let empty = [mirror("P", &[], MirrorKind::String)];
    assert!(headers::check_params(&head(&[]), &empty, r#"{"a":1}"#).is_ok());
    let mirrors = [mirror("P", &["o", "a"], MirrorKind::Integer)];
    let deep = format!(r#"{{"o":{{"a":{}{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    mismatch(headers::check_params(&head(&[("mcp-param-p", b"1")]), &mirrors, &deep));
    let long = format!(r#"{{"o":{{"a":{}}}}}"#, "1".repeat(1_000_000));
    mismatch(headers::check_params(&head(&[("mcp-param-p", b"1")]), &mirrors, &long));
}

#[test]
fn an_owned_head_says_what_the_borrowed_one_said() {
    let heads: [Pairs; 6] = [
        &[],
        &[("Accept", b"application/json")],
        &[("Accept", b"text/html")],
        &[("mcp-method", b"a"), ("mcp-method", b"b"), ("mcp-session-id", b"s"), ("accept", b"text/event-stream")],
        &[("MCP-Protocol-Version", b"2026-07-28"), ("Last-Event-ID", b"7"), ("Mcp-Name", b"\xFF")],
        &[("Mcp-Param-A", b"1"), ("mcp-param-a", b"2"), ("Mcp-Param-B", b"=?base64?YQ==?=")],
    ];
    for pairs in heads {
        let head = head(pairs);
        let owned = HeadBuf::from(&head);
        assert_eq!(owned.head(), head);
        assert_eq!(owned.fields().iter().cloned().collect::<HeadBuf>(), owned);
    }
}

#[test]
fn a_head_is_shown_without_its_session() {
    let shown = format!("{:?}", head(&[("mcp-session-id", b"secret"), ("mcp-method", b"ping")]));
    assert!(shown.contains("ping") && !shown.contains("secret"), "{shown}");
}
