//! What `wire::read` takes, what it refuses, and how (BASE-1 to BASE-11, BASE-24, BASE-26; cases B1 and B3).

use bytes::Bytes;
use mcp_core::policy::Limits;
use mcp_core::wire::{self, Id, Message, Meta, Param, Shape, Unread};
use proptest::prelude::*;

fn read(text: impl Into<Vec<u8>>) -> Result<Message, Unread> {
    wire::read(Bytes::from(text.into()), &Limits::default())
}

fn good(text: &str) -> Message {
    read(text).unwrap_or_else(|unread| panic!("{text}: {unread:?}"))
}

fn bad(text: impl AsRef<[u8]>) -> Unread {
    let text = text.as_ref();
    read(text).err().unwrap_or_else(|| panic!("was read: {}", String::from_utf8_lossy(text)))
}

fn id(raw: &str) -> Id {
    Id::parse(raw, 1024).unwrap()
}

fn token(id: &Id) -> String {
    let mut out = Vec::new();
    id.write(&mut out);
    String::from_utf8(out).unwrap()
}

/// Code, HTTP status, id as a token or `-`, and whether a byte stream keeps silent.
fn verdict(unread: &Unread) -> String {
    let id = unread.id.as_ref().map_or("-".into(), token);
    let silent = if unread.silent { " silent" } else { "" };
    format!("{} {} {id}{silent}", unread.fault.code().get(), unread.fault.status())
}

#[test]
fn a_modern_call_is_read_in_one_pass() {
    let text = r#" { "jsonrpc" : "2.0", "id":"a-1", "method":"tools/call", "params" : {"name":"h\u00e9llo", "arguments" : {"x":[1, 2]},
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},
        "io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"},"progressToken":7,"com.example/x":{"a":1} } , "requestState":"s" } } "#;
    let message = good(text);
    assert_eq!(message.shape(), Shape::Request);
    assert_eq!(message.id(), Some(&id("\"a-1\"")));
    assert_eq!(message.method(), "tools/call");
    assert_eq!(message.param(Param::Name), Some(r#""h\u00e9llo""#));
    assert_eq!(message.param_str(Param::Name).as_deref(), Some("héllo"));
    assert_eq!(message.param(Param::Arguments), Some(r#"{"x":[1, 2]}"#));
    assert_eq!(message.param_bytes(Param::Arguments).unwrap(), &br#"{"x":[1, 2]}"#[..]);
    assert_eq!(message.param_str(Param::Arguments), None);
    assert_eq!(message.param(Param::RequestState), Some("\"s\""));
    assert_eq!(message.param(Param::Cursor), None);
    assert_eq!(message.param_bytes(Param::Cursor), None);
    assert_eq!(message.meta_str(Meta::ProtocolVersion).as_deref(), Some("2026-07-28"));
    assert_eq!(message.meta_member(Meta::ClientCapabilities), Some("{}"));
    assert_eq!(message.meta_member(Meta::ClientInfo), Some(r#"{"name":"n","version":"1"}"#));
    assert_eq!(message.meta_member(Meta::ProgressToken), Some("7"));
    assert_eq!(message.meta_member(Meta::LogLevel), None);
    let params = &text[text.find(r#"{"name""#).unwrap()..text.rfind(" } ").unwrap()];
    assert_eq!(message.params(), Some(params));
    assert_eq!(message.params_bytes(), params);
    // Unknown `_meta` goes on untouched (BASE-22).
    let meta = message.meta().unwrap();
    assert!(meta.starts_with('{') && meta.ends_with(r#""com.example/x":{"a":1} }"#), "{meta}");
    assert_eq!(message.meta_bytes(), meta);
    assert_eq!(message.into_batch(), []);
}

#[test]
fn every_known_key_is_found_by_its_own_name() {
    let member = |(at, name): (usize, &str)| format!("\"{name}\":{at}");
    let list = |names: Vec<&str>| names.into_iter().enumerate().map(member).collect::<Vec<_>>().join(" , ");
    let params = list(Param::ALL.iter().map(|param| param.as_str()).collect());
    let meta = list(Meta::ALL.iter().map(|meta| meta.as_str()).collect());
    let message = good(&format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{{params},"_meta":{{{meta}}}}}}}"#));
    for param in Param::ALL {
        assert_eq!(message.param(param), Some(&*(param as usize).to_string()), "{param:?}");
    }
    for meta in Meta::ALL {
        assert_eq!(message.meta_member(meta), Some(&*(meta as usize).to_string()), "{meta:?}");
    }
}

#[test]
fn escaped_keys_and_methods_mean_what_they_stand_for() {
    let message = good(
        r#"{"jsonrpc":"2\u002e0","i\u0064":5,"\u006dethod":"to\u006fls/call","p\u0061rams": {"n\u0061me":"x","_m\u0065ta" :{"progress\u0054oken":"t"}}}"#,
    );
    assert_eq!((message.shape(), message.method()), (Shape::Request, "tools/call"));
    assert_eq!(message.params(), Some(r#"{"n\u0061me":"x","_m\u0065ta" :{"progress\u0054oken":"t"}}"#));
    assert_eq!(message.param(Param::Name), Some("\"x\""));
    assert_eq!(message.meta(), Some(r#"{"progress\u0054oken":"t"}"#));
    assert_eq!(message.meta_member(Meta::ProgressToken), Some("\"t\""));
    // Keys are case-sensitive.
    let message = good(r#"{"jsonrpc":"2.0","id":1,"Id":2,"method":"m","params":{"name":"a","Name":"b"}}"#);
    assert_eq!((message.id(), message.param(Param::Name)), (Some(&id("1")), Some("\"a\"")));
}

#[test]
fn null_counts_as_absent_where_the_design_says_so() {
    for params in ["null", "{}", "{ }", r#"{"arguments":null,"cursor":null,"_meta":null}"#] {
        let message = good(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params": {params} }}"#));
        assert_eq!(message.params(), (params != "null").then_some(params));
        assert_eq!(message.params_bytes(), if params == "null" { "{}" } else { params });
        assert_eq!((message.param(Param::Arguments), message.param(Param::Cursor), message.meta()), (None, None, None));
        assert_eq!(message.meta_bytes(), "");
    }
    let message = good(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":null,"name":null,"uri":"u"}}"#);
    assert_eq!((message.param(Param::Name), message.param(Param::Uri)), (Some("null"), Some("\"u\"")));
    assert_eq!(good(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).params_bytes(), "{}");
}

#[test]
fn shapes_follow_the_members_base_7_base_24() {
    let table = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Shape::Request),
        (r#"{"id":1,"params":{"a":1},"method":"","x":[],"jsonrpc":"2.0"}"#, Shape::Request),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, Shape::Notification),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Shape::Response),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#, Shape::Response),
        ("[]", Shape::Batch),
        (" [1] ", Shape::Batch),
    ];
    for (text, shape) in table {
        assert_eq!(good(text).shape(), shape, "{text}");
    }
}

#[test]
fn responses_are_read_whatever_their_id_base_24() {
    let message = good(r#"{"jsonrpc":"2.0","id":3,"result": {"roots":[]} , "params":5}"#);
    assert_eq!((message.id(), message.method()), (Some(&id("3")), ""));
    assert_eq!((message.result(), message.error()), (Some(r#"{"roots":[]}"#), None));
    assert_eq!(message.result_bytes(), r#"{"roots":[]}"#);
    for unreadable in ["null", "true", "1.5", "[]", "{}"] {
        let message = good(&format!(r#"{{"jsonrpc":"2.0","id":{unreadable},"result":{{}}}}"#));
        assert_eq!((message.shape(), message.id()), (Shape::Response, None));
    }
    assert_eq!(good(r#"{"jsonrpc":"2.0","error":{}}"#).id(), None);
}

#[test]
fn errors_of_a_peer_are_made_safe() {
    let error = |raw: &str| {
        let error = good(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{raw}}}"#)).error().unwrap();
        (error.code, String::from(error.message))
    };
    assert_eq!(error(r#"{"message":"no\u001b[1m\u202e","code":-1,"data":{}}"#), (-1, "no\u{FFFD}[1m\u{FFFD}".into()));
    for defect in ["{}", "null", "[]", r#"{"code":1.5,"message":7}"#, r#"{"code":"1","message":"\ud800"}"#] {
        assert_eq!(error(defect), (-32603, String::new()), "{defect}");
    }
    assert_eq!(good(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).result_bytes(), "{}");
}

#[test]
fn defects_of_the_envelope_echo_the_id_base_1_base_2_base_6() {
    let table = [
        (r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#, "-32600 400 1"),
        (r#"{"id":99,"method":"ping"}"#, "-32600 400 99"),
        (r#"{"jsonrpc":2.0,"id":99,"method":"ping"}"#, "-32600 400 99"),
        (r#"{"jsonrpc":null,"method":"ping"}"#, "-32600 400 - silent"),
        (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, "-32600 400 1 silent"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":[],"method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":1e3,"method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":"m"}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":3,"method":12}"#, "-32600 400 3"),
        (r#"{"jsonrpc":"2.0","id":3,"method":null}"#, "-32600 400 3"),
        (r#"{"jsonrpc":"2.0","method":["a"]}"#, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":"x"}"#, "-32600 400 \"x\""),
        (r#"{"jsonrpc":"2.0","id":"x","params":{}}"#, "-32600 400 \"x\""),
        ("{}", "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","id":4,"method":"m","result":{}}"#, "-32600 400 4"),
        (r#"{"jsonrpc":"2.0","method":"m","error":{}}"#, "-32600 400 - silent"),
        (r#"{"jsonrpc":"2.0","id":4,"result":{},"error":{}}"#, "-32600 400 4 silent"),
        (r#"{"jsonrpc":"2.0","id":4,"result":{},"error":null}"#, "-32600 400 4 silent"),
        ("1", "-32600 400 -"),
        (r#""{}""#, "-32600 400 -"),
        ("null", "-32600 400 -"),
    ];
    for (text, right) in table {
        assert_eq!(verdict(&bad(text)), right, "{text}");
    }
}

#[test]
fn params_and_meta_are_objects_base_10() {
    for wrong in ["[]", "1", "true", "\"{}\"", "1e999", "\"\\ud800\"", "[{\"_meta\":{}}]"] {
        let unread = bad(format!(r#"{{"jsonrpc":"2.0","params":{wrong},"id":1,"method":"m"}}"#));
        assert_eq!(verdict(&unread), "-32602 400 1", "{wrong}");
        assert_eq!(unread.fault.message(), "`params` must be an object");
        let unread = bad(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{wrong},"name":"n"}}}}"#));
        assert_eq!(verdict(&unread), "-32602 400 1", "{wrong}");
        assert_eq!(unread.fault.message(), "`_meta` must be an object");
    }
    let unread = bad(r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#);
    assert_eq!(verdict(&unread), "-32602 400 - silent");
}

#[test]
fn duplicate_keys_are_refused_and_compared_decoded() {
    let table = [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, "-32600 400 1", "method"),
        (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"a"}"#, "-32600 400 1", "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null,"params":{}}"#, "-32600 400 1", "params"),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}"#, "-32600 400 -", "id"),
        (r#"{"jsonrpc":"2.0","x":0,"x":0,"id":1,"i\u0064":2,"method":"a"}"#, "-32600 400 -", "x"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#, "-32600 400 1 silent", "result"),
        (r#"{"jsonrpc":"2.0","method":"a","x":1,"\u0078":1}"#, "-32600 400 - silent", "x"),
        (r#"{"jsonrpc":"2.0","params":{"name":"a","\u006eame":"b"},"id":1,"method":"a"}"#, "-32602 400 1", "name"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"y":1,"y":2}}"#, "-32602 400 1", "y"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":null,"_meta":{}}}"#, "-32602 400 1", "_meta"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"z":1,"a":1,"z":1}}}"#, "-32602 400 1", "z"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":1,"progressToken":1}}}"#,
            "-32602 400 1",
            "progressToken",
        ),
    ];
    for (text, right, key) in table {
        let unread = bad(text);
        assert_eq!(verdict(&unread), right, "{text}");
        assert!(unread.fault.message().contains(&format!("`{key}`")), "{:?}", unread.fault);
    }
    // The same key in different objects is no duplicate, and deeper objects belong to their readers.
    good(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"id":1,"name":"x","arguments":{"a":1,"a":2},"_meta":{"name":1}}}"#,
    );
}

#[test]
fn many_unknown_members_stay_cheap_and_bounded() {
    let members = |names: &mut dyn Iterator<Item = String>| names.map(|n| format!("\"{n}\":0,")).collect::<String>();
    let call = |extra: &str, place: &str| match place {
        "top" => format!(r#"{{{extra}"jsonrpc":"2.0","id":1,"method":"m"}}"#),
        "params" => format!(r#"{{"jsonrpc":"2.0","params":{{{extra}"name":"n"}},"id":1,"method":"m"}}"#),
        _ => format!(r#"{{"jsonrpc":"2.0","params":{{"_meta":{{{extra}"baggage":""}}}},"id":1,"method":"m"}}"#),
    };
    for (place, code) in [("top", -32600), ("params", -32602), ("meta", -32602)] {
        let some = members(&mut (0..1000).map(|n| format!("k{n}")));
        good(&call(&some, place));
        for twice in ["k3", "k15", "k16", "k999"] {
            let unread = bad(call(&format!("{some}\"{twice}\":0,"), place));
            assert_eq!(verdict(&unread), format!("{code} 400 1"), "{place} {twice}");
            assert!(unread.fault.message().contains(twice));
        }
        let unread = bad(call(&members(&mut (0..5000).map(|n| format!("k{n}"))), place));
        assert_eq!(verdict(&unread), format!("{code} 400 1"), "{place}");
        assert!(unread.fault.message().contains("1024 members"), "{:?}", unread.fault);
    }
}

#[test]
fn depth_is_bounded_for_every_value_base_26() {
    let nest = |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    let places = [
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"arguments":{"x":@}}}"#, 3, "-32600 400 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","unknown":@}"#, 1, "-32600 400 7"),
        (r#"{"unknown":@,"jsonrpc":"2.0","id":7,"method":"m"}"#, 1, "-32600 400 7"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{"x":@}}}"#, 3, "-32600 400 7"),
        (r#"{"jsonrpc":"2.0","id":@,"method":"m"}"#, 1, "-32600 400 -"),
        (r#"{"jsonrpc":"2.0","method":"m","params":@}"#, 1, "-32600 400 - silent"),
        (r#"{"jsonrpc":"2.0","id":7,"result":@}"#, 1, "-32600 400 7 silent"),
        (r#"[{"jsonrpc":"2.0","id":7,"method":"m","x":@}]"#, 2, "-32600 400 -"),
        ("[@]", 1, "-32600 400 -"),
    ];
    for (text, above, right) in places {
        for (open, close) in [("[", "]"), ("{\"\\\"[\":", "}")] {
            let filled = |depth: usize| {
                let inner =
                    if open == "[" { nest(open, close, depth) } else { nest(open, close, depth).replace(":}", ":0}") };
                text.replace('@', &inner)
            };
            for depth in [129, 200, 100_000] {
                assert_eq!(verdict(&bad(filled(depth - above))), right, "{text} {open} {depth}");
            }
            // At the limit depth is no defect, though the id or params may be one.
            if let Err(unread) = read(filled(128 - above)) {
                assert!(!unread.fault.message().contains("deep"), "{text} {open}");
            }
        }
    }
    assert_eq!(verdict(&bad("[".repeat(100_000))), "-32700 400 -");
    // Brackets in strings are no structure.
    let text = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"name":"\\{}"}}}}"#, "[\\\"{".repeat(500));
    good(&text);
    let mut limits = Limits::default();
    limits.depth = 2;
    wire::read(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"name":1}}"#.into(), &limits).unwrap();
    wire::read(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{"name":[]}}"#.into(), &limits).unwrap_err();
}

#[test]
fn what_is_not_json_says_where_and_what_base_6() {
    let table: &[(&[u8], &str)] = &[
        (b"", "EOF while parsing a value near byte 0"),
        (b" \t", "EOF while parsing a value near byte 2"),
        (b"{oops", "key must be a string near byte 1"),
        (b"{bad", "key must be a string near byte 1"),
        (b"\xFF\xFE", "not UTF-8 at byte 0"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"x\":\"\xB0\xA1\"}", "not UTF-8 at byte 42"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"", "EOF while parsing an object near byte 36"),
        (b"{\"a\":1}{\"b\":2}", "trailing characters near byte 7"),
        (b"{\"a\":1} x", "trailing characters near byte 8"),
        (b"[1] [2]", "trailing characters near byte 4"),
        (b"[1,]", "trailing comma near byte 3"),
        (b"{\"a\":1,}", "trailing comma near byte 7"),
        (b"{\"a\" 1}", "expected `:` near byte 5"),
        (b"{\n\"a\"\n:\n  01}", "invalid number near byte 11"),
        (b"{\"a\":nul}", "expected ident near byte 8"),
        (b"{\"a\":\"\x01\"}", "control character (\\u0000-\\u001F) found while parsing a string near byte 5"),
        (b"{\"params\":{\"_meta\":{\"a\":}}}", "expected value near byte 24"),
        (b"\xEF\xBB\xBF{\"a\":}", "expected value near byte 8"),
        (b"'a'", "expected value near byte 0"),
    ];
    for (text, message) in table {
        let unread = bad(text);
        assert_eq!(unread.fault.message(), *message);
        assert_eq!(verdict(&unread), "-32700 400 -", "{message}");
    }
}

#[test]
fn half_a_surrogate_pair_never_panics() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"m","\ud800":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"\udc00":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"\ud800x":1}}}"#,
    ] {
        assert_eq!(verdict(&bad(text)), "-32700 400 -", "{text}");
    }
    assert_eq!(verdict(&bad(r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#)), "-32700 400 1");
    assert_eq!(verdict(&bad(r#"{"jsonrpc":"2.0","method":"\ud800"}"#)), "-32700 400 - silent");
    let message =
        good(r#"{"jsonrpc":"2.0","id":1,"method":"m","x":"\ud800","params":{"name":"\ud800","uri":"\ud83d\ude00"}}"#);
    assert_eq!(message.param(Param::Name), Some(r#""\ud800""#));
    assert_eq!(message.param_str(Param::Name), None);
    assert_eq!(message.param_str(Param::Uri).as_deref(), Some("😀"));
}

#[test]
fn a_byte_order_mark_is_dropped_stdio_9() {
    let message = read(*b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1}}").unwrap();
    assert_eq!((message.method(), message.params()), ("m", Some("{\"a\":1}")));
    assert_eq!(message.body()[0], b'{');
}

#[test]
fn batches_are_split_and_read_one_by_one_base_11() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":"x"}}, {"jsonrpc":"2.0","method":"b"} ,
        1, {"id":5}, [], {"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"method":"c","params":[]}]"#;
    let batch = good(text);
    assert_eq!((batch.batch_len(), batch.id(), batch.method()), (7, None, ""));
    let members: Vec<String> = batch
        .into_batch()
        .iter()
        .map(|member| match member {
            Ok(message) => format!("{:?} {}", message.shape(), message.method()),
            Err(unread) => verdict(unread),
        })
        .collect();
    let right =
        ["Request a", "Notification b", "-32600 400 -", "-32600 400 5", "-32600 400 -", "Response ", "-32602 400 3"];
    assert_eq!(members, right);
    assert_eq!(good("[ ]").into_batch(), []);
    let full = format!("[{}]", vec!["{}"; 64].join(","));
    assert_eq!(good(&full).batch_len(), 64);
    let unread = bad(format!("[{}]", vec!["{}"; 65].join(",")));
    assert_eq!(verdict(&unread), "-32600 400 -");
    assert_eq!(unread.fault.message(), "A batch holds at most 64 messages");
    // The limits of the batch hold for its members.
    let mut limits = Limits::default();
    limits.id = 2;
    let batch = wire::read(r#"[{"jsonrpc":"2.0","id":123,"method":"a"}]"#.into(), &limits).unwrap();
    assert_eq!(verdict(batch.into_batch()[0].as_ref().unwrap_err()), "-32600 400 -");
}

#[test]
fn too_long_has_status_413_and_no_id_base_26() {
    let unread = Unread::too_long(4 << 20);
    assert_eq!(verdict(&unread), "-32600 413 -");
    assert_eq!(unread.fault.message(), "A message holds at most 4194304 bytes");
}

/// Bytes that are nearly a message, so that the deeper checks are reached.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u0061",
        "\\ud800",
        " ",
        "\n",
        "null",
        "true",
        "1",
        "-0",
        "1e5",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":1",
        "\"id\":\"a\"",
        "\"method\":\"m\"",
        "\"params\":{",
        "\"_meta\":{",
        "\"result\":{}",
        "\"error\":{}",
        "\"name\":\"x\"",
        "\"x\":",
        "\u{FEFF}",
        "é",
    ]);
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat().into_bytes()),
    ]
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        ".{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let key = prop_oneof!["name|uri|_meta|cursor|id|progressToken", ".{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_never_panics_and_agrees_with_serde_json_on_what_is_json(bytes in nearly()) {
        match read(bytes.clone()) {
            Ok(message) => {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(message.body()).is_ok());
                let _ = message.into_batch();
            }
            Err(unread) if unread.fault.code().get() == -32700 && unread.id.is_none() => {
                let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
                // Only half a surrogate pair in a key is refused though it is JSON by the grammar.
                let is_json = core::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
                prop_assert!(!is_json || text.windows(2).any(|pair| pair == b"\\u"), "{unread:?}");
            }
            Err(_) => {}
        }
    }

    #[test]
    fn spans_hold_what_serde_json_finds(params in json(), pretty: bool) {
        let whole = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": params});
        let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        match read(text) {
            Ok(message) => {
                let object = params.as_object();
                prop_assert_eq!(message.params().map(parsed), object.map(|object| object.clone().into()));
                let member = |key: &str| object.and_then(|object| object.get(key).cloned());
                prop_assert_eq!(message.param(Param::Name).map(parsed), member("name"));
                prop_assert_eq!(message.param(Param::Cursor).map(parsed), member("cursor").filter(|value| !value.is_null()));
                let meta = member("_meta").filter(|value| !value.is_null());
                prop_assert_eq!(message.meta().map(parsed), meta.clone());
                let token = meta.and_then(|meta| meta.get("progressToken").cloned());
                prop_assert_eq!(message.meta_member(Meta::ProgressToken).map(parsed), token);
            }
            Err(unread) => {
                prop_assert_eq!(verdict(&unread), "-32602 400 1");
                let wrong = |value: &serde_json::Value| !value.is_object() && !value.is_null();
                prop_assert!(wrong(&params) || params.get("_meta").is_some_and(wrong));
            }
        }
    }
}
