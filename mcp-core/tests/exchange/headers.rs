//! Mirrored headers, through the machine (HDR-1 to HDR-12); each rule in depth is tested where it is written.

use super::*;

/// `ok`, or what the answer's error is, for a call of that tool with those headers beside the right version.
fn with(message: &Value, headers: &[(&str, &[u8])]) -> (u16, i64) {
    let mut all: Vec<(&str, &[u8])> = vec![("mcp-protocol-version", b"2026-07-28")];
    all.extend(headers);
    let mut site = Site::new(fixture::endpoint());
    let sent = site.post_bytes(message.to_string().as_bytes(), &all);
    verdict(&sent)
}

const OK: (u16, i64) = (200, 0);
const MISMATCH: (u16, i64) = (400, -32020);

#[test]
fn the_version_header_is_the_bodys_hdr_1() {
    let message = fixture::modern(1, "tools/list", &json!({}), &json!({}));
    let check = |headers: &[(String, String)]| verdict(&exchange(&fixture::endpoint()).send_with(&message, headers));
    let method = ("mcp-method".to_owned(), "tools/list".to_owned());
    let version = |value: &str| ("MCP-Protocol-Version".to_owned(), value.to_owned());
    assert_eq!(check(std::slice::from_ref(&method)), MISMATCH);
    assert_eq!(check(&[method.clone(), version("2025-11-25")]), MISMATCH);
    assert_eq!(check(&[method.clone(), version("2026-07-28")]), OK);
    assert_eq!(check(&[method.clone(), version("2026-07-28"), version("2026-07-28")]), OK);
    assert_eq!(check(&[method, version("2026-07-28"), version("2025-11-25")]), MISMATCH);
}

#[test]
fn the_method_header_is_the_bodys_byte_for_byte_hdr_2() {
    let message = fixture::modern(1, "tools/list", &json!({}), &json!({}));
    assert_eq!(with(&message, &[("mcp-method", b"tools/list")]), OK);
    assert_eq!(with(&message, &[("MCP-METHOD", b"\ttools/list ")]), OK);
    for wrong in
        [&b"TOOLS/LIST"[..], b"Tools/list", b"tools/call", b"", b"=?base64?dG9vbHMvbGlzdA==?=", b"tools/list\xFF"]
    {
        assert_eq!(with(&message, &[("mcp-method", wrong)]), MISMATCH);
    }
    assert_eq!(with(&message, &[]), MISMATCH);
    assert_eq!(with(&message, &[("mcp-method", b"tools/list"), ("mcp-method", b"tools/call")]), MISMATCH);
    // Also where the method is one that nobody knows.
    let unknown = fixture::modern(1, "nope", &json!({}), &json!({}));
    assert_eq!(with(&unknown, &[("mcp-method", b"nope!")]), MISMATCH);
    assert_eq!(with(&unknown, &[]), MISMATCH);
    assert_eq!(with(&unknown, &[("mcp-method", b"nope")]), (404, -32601));
}

#[test]
fn the_name_header_is_what_the_body_names_hdr_3_hdr_4() {
    let method = |message: &Value| message["method"].as_str().unwrap().to_owned();
    let named = |message: &Value, name: Option<&[u8]>| {
        let method = method(message);
        let mut headers: Vec<(&str, &[u8])> = vec![("mcp-method", method.as_bytes())];
        headers.extend(name.map(|name| ("mcp-name", name)));
        with(message, &headers)
    };
    let request = |method: &str, params: Value| fixture::modern(1, method, &params, &json!({}));
    assert_eq!(named(&echo(&json!({})), Some(b"echo")), OK);
    assert_eq!(named(&echo(&json!({})), Some(b"Echo")), MISMATCH);
    assert_eq!(named(&echo(&json!({})), None), MISMATCH);
    let prompt = request("prompts/get", json!({"name": "p"}));
    assert_eq!(named(&prompt, Some(b"q")), MISMATCH);
    assert_eq!(named(&prompt, None), MISMATCH);
    assert_eq!(named(&prompt, Some(b"p")), (200, -32602), "an unknown one");
    let read = request("resources/read", json!({"uri": "a://b"}));
    assert_eq!(named(&read, Some(b"a://c")), MISMATCH);
    assert_eq!(named(&read, Some(b"a://b")), (200, -32602), "an unknown one");
    // Without the extension there is no such method, whatever the header says (A29).
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let task = request(method, json!({"taskId": "t"}));
        for name in [None, Some(&b"t"[..]), Some(b"u")] {
            assert_eq!(named(&task, name), (404, -32601));
        }
    }
    // Nothing to mirror.
    assert_eq!(named(&request("tools/list", json!({})), Some(b"x")), OK);
    assert_eq!(named(&request("server/discover", json!({"name": "a"})), Some(b"x")), OK);
    let nameless = request("tools/call", json!({}));
    assert_eq!(named(&nameless, Some(b"x")), MISMATCH);
    assert_eq!(named(&nameless, None), (200, -32602));
    assert_eq!(named(&request("tools/call", json!({"name": 5})), Some(b"5")), MISMATCH);
}

#[test]
fn a_name_may_be_sent_as_base64_hdr_5_hdr_6_hdr_7() {
    let named = |name: &str, header: &[u8]| {
        let message = call(name, &json!({}), &json!({}));
        with(&message, &[("mcp-method", b"tools/call"), ("mcp-name", header)])
    };
    // No such tool: the header was right.
    const UNKNOWN: (u16, i64) = (200, -32602);
    assert_eq!(named("echo", b"=?base64?ZWNobw==?="), OK);
    for (name, header) in [
        ("us-west1", &b"us-west1"[..]),
        ("Hello, 世界", b"=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", b"=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", b"=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", b"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", b""),
        ("=?BASE64?SGVsbG8=?=", b"=?BASE64?SGVsbG8=?="),
    ] {
        assert_eq!(named(name, header), UNKNOWN, "{name:?}");
    }
    for (name, header) in [
        ("echo", &b"=?base64?ZWNobw?="[..]),
        ("echo", b"=?base64?ZWN*bw==?="),
        ("echo", b"=?base64?/w==?="),
        ("Hello", b"=?BASE64?SGVsbG8=?="),
        ("echo", b"=?base64?ZWNobw=="),
        ("e\u{1}cho", b"e\x01cho"),
        ("é", "é".as_bytes()),
    ] {
        assert_eq!(named(name, header), MISMATCH, "{name:?}");
    }
    let twice = [("mcp-method", &b"tools/call"[..]), ("mcp-name", b"echo"), ("mcp-name", b"route")];
    assert_eq!(with(&echo(&json!({})), &twice), MISMATCH);
    let same = [("mcp-method", &b"tools/call"[..]), ("mcp-name", b"echo"), ("mcp-name", b"echo")];
    assert_eq!(with(&echo(&json!({})), &same), OK);
}

#[test]
fn a_mismatch_names_the_header_and_both_values_hdr_8() {
    let mut script = exchange(&fixture::endpoint());
    let mut headers = fixture::headers(&echo(&json!({})));
    headers.retain(|(name, _)| name != "mcp-name");
    headers.push(("Mcp-Name".into(), "other".into()));
    let sent = script.send_with(&echo(&json!({})), &headers);
    let error = sent.one()["error"].clone();
    assert_eq!(error, json!({"code": -32020, "message": "Mcp-Name header says `other`, the body says `echo`"}));
}

#[test]
fn a_mirrored_argument_is_in_its_header_and_no_other_is_looked_at_hdr_9_to_hdr_12_case_109() {
    let routed = |arguments: Value, headers: &[(&str, &[u8])]| {
        let message = call("route", &json!({"arguments": arguments}), &json!({}));
        let mut all: Vec<(&str, &[u8])> = vec![("mcp-method", b"tools/call"), ("mcp-name", b"route")];
        all.extend(headers);
        with(&message, &all)
    };
    let eu = json!({"region": "eu"});
    assert_eq!(routed(eu.clone(), &[("Mcp-Param-Region", b"eu")]), OK);
    assert_eq!(routed(eu.clone(), &[("mcp-param-region", b"=?base64?ZXU=?=")]), OK);
    assert_eq!(routed(eu.clone(), &[]), MISMATCH);
    assert_eq!(routed(eu.clone(), &[("mcp-param-region", b"us")]), MISMATCH);
    assert_eq!(routed(eu.clone(), &[("mcp-param-region", b"eu"), ("mcp-param-region", b"us")]), MISMATCH);
    for nothing in [json!({}), json!({"region": null})] {
        assert_eq!(routed(nothing.clone(), &[]), OK);
        assert_eq!(routed(nothing, &[("mcp-param-region", b"eu")]), MISMATCH, "A13");
    }
    // HDR-11: any other is somebody else's.
    assert_eq!(routed(eu, &[("mcp-param-region", b"eu"), ("mcp-param-unknown", b"1"), ("mcp-param-method", b"x")]), OK);
    let twice = call("route", &json!({"arguments": {"region": "R"}}), &json!({})).to_string();
    let twice = twice.replace(r#""region":"R""#, r#""region":"eu","region":"us""#);
    let headers: [(&str, &[u8]); 4] = [
        ("mcp-protocol-version", b"2026-07-28"),
        ("mcp-method", b"tools/call"),
        ("mcp-name", b"route"),
        ("mcp-param-region", b"eu"),
    ];
    let sent = Site::new(fixture::endpoint()).post_bytes(twice.as_bytes(), &headers);
    assert_eq!(verdict(&sent), (400, -32602), "two readers might take different ones");
}
