//! Rules 4 and 5: a peer's mistake is a value, and any run can be replayed.

use mcp_core::record::{Record, Recorder, replay};
use mcp_core::{Close, Output, wire};
use proptest::prelude::*;

use super::*;

#[test]
fn rule_4_what_a_peer_does_wrong_is_answered_and_nothing_ends() {
    let mut script = opened_pipe(&fixture::endpoint(), &json!({}));
    for (line, code) in [
        (&b"{oops"[..], -32700),
        (b"\xFF\xFE", -32700),
        (br#"{"jsonrpc":"2.0","id":3,"method":12}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (br#"{"id":99,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#, -32601),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#, -32602),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#, -32602),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
    ] {
        let sent = script.send_bytes(line.into(), None);
        assert_eq!(sent.code(), code, "{}", String::from_utf8_lossy(line));
        assert_eq!(script.send(&fixture::request("alive", "ping", &json!({}))).one()["result"], json!({}));
    }
    let mut deep = String::from(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":"#);
    deep.push_str(&"[".repeat(10_000));
    deep.push_str(&"]".repeat(10_000));
    deep.push_str("}}}");
    assert_eq!(script.send_bytes(deep.into(), None).code(), -32600, "case 35");
    for silent in [
        json!({"jsonrpc": "2.0", "method": "ping"}),
        json!({"jsonrpc": "2.0", "method": "notifications/foo"}),
        json!({"jsonrpc": "2.0", "id": 99, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}),
        cancel(&json!(404)),
        cancel(&json!(null)),
    ] {
        assert_eq!(script.send(&silent).text, "", "{silent}");
    }
    assert!(!script.closed);
}

#[test]
fn rule_4_late_news_from_the_driver_is_ignored() {
    let mut script = exchange(&fixture::endpoint(), 1);
    script.send(&modern_echo(1, &json!({"progressToken": 1})));
    let (ticket, call) = script.calls.pop_front().unwrap();
    script.input(Input::Detach { stream: StreamId::ONLY });
    script.input(Input::Note { call: call.id, note: at(1.0) });
    script.input(Input::Done { ticket, outcome: text("late") });
    for _ in 0..2 {
        script.input(Input::Tick);
        script.input(Input::Detach { stream: StreamId(9) });
        script.input(Input::Changed { catalog: fixture::catalog(), what: mcp_core::Change::Tools });
        script.close(Close::Peer);
        script.close(Close::Shutdown);
    }
    assert_eq!((&*script.received().text, &*script.events), ("", &[Event::Late(call.id)][..]));
}

/// One byte of a good message becomes another.
fn damaged(message: &Value, at: usize, byte: u8) -> Vec<u8> {
    let mut body = message.to_string().into_bytes();
    let at = at % body.len();
    body[at] = byte;
    body
}

/// How many answers are owed for a body, by what was read of it.
fn owed(body: &[u8]) -> usize {
    match wire::read(Bytes::copy_from_slice(body), fixture::endpoint().limits()) {
        Ok(message) => usize::from(message.shape() == wire::Shape::Request),
        Err(unread) => usize::from(!unread.silent),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn rule_4_whatever_is_sent_each_request_has_one_answer(kind in 0..6_usize, at in any::<usize>(), byte in any::<u8>()) {
        let meta = json!({"progressToken": 7, "io.modelcontextprotocol/logLevel": "info"});
        let messages = [
            modern_echo(1, &meta),
            echo(1, &meta),
            fixture::initialize("2025-11-25", &json!({"sampling": {"tools": {}}})),
            fixture::request("x", "tools/list", &json!({"cursor": "AAAA"})),
            cancel(&json!(1)),
            fixture::modern(5, "server/discover", &json!({}), &json!({"extensions": {"com.acme/work": {}}})),
        ];
        let body = damaged(&messages[kind], at, byte);
        for mut script in [pipe(&fixture::endpoint()), opened_pipe(&fixture::endpoint(), &json!({}))] {
            let mut answers = script.send_bytes(body.clone().into(), None).messages.len();
            while !script.calls.is_empty() {
                script.done(text("done"));
            }
            answers += script.received().messages.len();
            prop_assert_eq!(answers, owed(&body), "{}", String::from_utf8_lossy(&body));
        }
    }

    #[test]
    fn rule_5_a_run_is_the_same_again(steps in prop::collection::vec((0..9_u8, any::<u8>()), 1..40)) {
        let fresh = || Pipe::new(MachineId(3), fixture::endpoint(), Time(1_000_000));
        let mut script = Script::new(Recorder::new(fresh()));
        let mut written = script.send(&fixture::initialize("2025-11-25", &json!({"roots": {}}))).text;
        script.send(&fixture::initialized());
        for (step, number) in steps {
            let token = json!({"progressToken": number});
            let answer = json!({"jsonrpc": "2.0", "id": number % 4, "result": {"roots": []}});
            match step {
                0 => written += &script.send(&echo(number, &token)).text,
                1 => written += &script.send(&modern_echo(format!("m{number}"), &token)).text,
                2 => written += &script.send(&cancel(&json!(number))).text,
                3 => written += &script.send(&answer).text,
                4 => script.advance(Span::secs(number.into())),
                5 if !script.calls.is_empty() => script.note(at(number.into())),
                6 if !script.calls.is_empty() => script.done(text("x")),
                7 if !script.calls.is_empty() => {
                    script.done(Outcome::Ask { questions: vec![("k".into(), Question::Roots)], state: Bytes::new() });
                }
                _ => script.hold(number % 2 == 0),
            }
        }
        script.hold(false);
        written += &script.received().text;
        let records: Vec<Record> = script.machine.take_records();
        let again = || replay(&mut fresh(), &records, &[fixture::catalog()], fixture::endpoint().limits()).unwrap();
        let pulled: Vec<u8> = again().pulled.into_iter().flat_map(|(_, bytes)| bytes).collect();
        prop_assert_eq!(String::from_utf8(pulled).unwrap(), written);
        let said = |outputs: &[(usize, Output)]| outputs.iter().map(|output| format!("{output:?}")).collect::<Vec<_>>();
        prop_assert_eq!(said(&again().outputs), said(&again().outputs));
    }
}
