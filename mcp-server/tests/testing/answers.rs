//! Assertions on answers.

use mcp_server::testing::{Answer, Client, block_on};
use mcp_server::{Content, Json, Revision};
use serde_json::{Value, json};

use super::{Sum, failure, server, tool};

fn answer(name: &str, arguments: Value) -> Answer {
    block_on(Client::new(server()).call(name, arguments))
}

#[test]
fn what_is_as_expected_passes() {
    let sum = answer("add", json!({"a": 1, "b": 2}));
    sum.assert_ok()
        .assert_structured(json!({"sum": 3}))
        .assert_structured(json!({"sum": 3.0}))
        .assert_structured(Sum { sum: 3 })
        .assert_text(r#"{"sum":3}"#)
        .assert_text_contains("sum")
        .assert_content(json!([{"type": "text", "text": r#"{"sum":3}"#}]))
        .assert_at("/result/structuredContent/sum", 3);
    assert_eq!(sum.structured::<Sum>(), Sum { sum: 3 });
    assert_eq!(sum.structured_json()["sum"], 3);
    assert_eq!((sum.is_ok(), sum.is_error(), sum.fault()), (true, false, None));
    assert_eq!(sum.result(), sum.json().get("result"));

    let failed = answer("fail", json!({}));
    failed.assert_error().assert_error_text("no such city").assert_error_contains("city");
    assert_eq!((failed.is_ok(), failed.is_error(), failed.fault()), (false, true, None));
    assert_eq!(failed.text(), "no such city");

    let unknown = answer("nowhere", json!({}));
    unknown.assert_fault(-32602).assert_fault_contains("Unknown tool: nowhere");
    assert_eq!((unknown.is_ok(), unknown.is_error(), unknown.fault()), (false, false, Some(-32602)));
    assert_eq!(unknown.result(), None);
}

#[test]
fn what_is_not_fails_and_shows_the_whole_answer() {
    let sum = answer("add", json!({"a": 1, "b": 2}));
    let error = answer("fail", json!({}));
    let fault = answer("nowhere", json!({}));
    let wrong: [(&dyn Fn(), &str, &Answer); 21] = [
        (&|| _ = error.assert_ok(), "expected a success, got an error", &error),
        (&|| _ = fault.assert_ok(), "expected a success, got the fault -32602", &fault),
        (&|| _ = sum.assert_text("3"), "the text is another\n  expected: \"3\"\n       got: \"{\\\"sum\\\":3}\"", &sum),
        (&|| _ = error.assert_text("no such city"), "expected a success, got an error", &error),
        (&|| _ = fault.text(), "there is no content", &fault),
        (&|| _ = sum.assert_text_contains("product"), "the text does not contain", &sum),
        (&|| _ = error.assert_text_contains("city"), "expected a success, got an error", &error),
        (&|| _ = sum.assert_structured(json!({"sum": 4})), "another\n  /sum: expected 4, got 3\n", &sum),
        (&|| _ = error.assert_structured(json!({})), "expected a success", &error),
        (&|| _ = sum.structured::<Vec<u8>>(), "the structured result is no `alloc::vec::Vec<u8>`", &sum),
        (&|| _ = sum.assert_content(json!([])), "the content is another\n  /0: expected nothing, got {", &sum),
        (&|| _ = sum.assert_at("/result/x", 1), "there is nothing at `/result/x`", &sum),
        (&|| _ = sum.assert_at("/jsonrpc", 1), "expected 1, got \"2.0\"", &sum),
        (&|| _ = sum.assert_error(), "expected an error of the tool, got a success", &sum),
        (&|| _ = fault.assert_error(), "expected an error of the tool, got the fault -32602", &fault),
        (&|| _ = error.assert_error_text("no such"), "the text is another", &error),
        (&|| _ = error.assert_error_contains("street"), "the error does not contain", &error),
        (&|| _ = sum.assert_fault(-32602), "expected the fault -32602, got a success", &sum),
        (&|| _ = error.assert_fault(-32602), "expected the fault -32602, got an error of the tool", &error),
        (&|| _ = fault.assert_fault(-32603), "expected the fault -32603, got the fault -32602", &fault),
        (&|| _ = fault.assert_fault_contains("nothing"), "fault's message does not contain", &fault),
    ];
    for (test, told, answer) in wrong {
        let text = failure(test);
        assert!(text.contains(told), "{told:?} is not in: {text}");
        assert!(text.ends_with(&answer.to_string()), "the whole answer is shown: {text}");
    }
    assert!(error.to_string().starts_with("the answer to `fail` (2025-11-25):\n{\n"), "{error}");
    assert!(failure(|| _ = sum.assert_fault_contains("x")).contains("expected a fault"));
    let no_json = failure(|| _ = sum.assert_structured(std::collections::BTreeMap::from([(vec![1], 1)])));
    assert!(no_json.starts_with("what is expected is no JSON: key must be a string"), "{no_json}");
}

#[test]
fn a_failure_is_at_the_line_of_the_test() {
    use std::sync::{Arc, Mutex};

    let sum = answer("add", json!({"a": 1, "b": 2}));
    let place = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&place);
    // The hook is that of all tests.
    let own = std::thread::current().id();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(place) = panic.location().filter(|_| std::thread::current().id() == own) {
            *seen.lock().unwrap() = Some((place.file().to_owned(), place.line()));
        }
    }));
    let line = line!() + 1;
    failure(|| _ = sum.assert_text_contains("product"));
    std::panic::set_hook(before);
    assert_eq!(*place.lock().unwrap(), Some((file!().to_owned(), line)));
}

#[test]
fn blocks_of_text_are_one_text_and_others_are_content() {
    let blocks = || vec![Content::text("a"), Content::image(&b"png"[..], "image/png"), Content::text("b")];
    let answer = block_on(Client::new(server().tool(tool("blocks").run(blocks))).call("blocks", ()));
    answer.assert_text("a\nb").assert_at("/result/content/1/mimeType", "image/png");
    assert_eq!(answer.content().len(), 3);
}

#[test]
fn a_structured_result_that_is_not_there_is_told_of() {
    let plain = answer("count", json!({"steps": 0}));
    assert!(failure(|| _ = plain.structured::<Value>()).starts_with("there is no structured result\n"));
    let mut old = Client::builder(server()).revision(Revision::V2025_03_26).connect();
    let sum = block_on(old.call("add", json!({"a": 1, "b": 2})));
    sum.assert_text(r#"{"sum":3}"#);
    assert!(failure(|| _ = sum.structured::<Sum>()).contains("it came with revision 2025-06-18"));
}

#[test]
fn an_answer_of_megabytes_is_not_shown_to_its_end() {
    let large = tool("large").run(|| Json(std::collections::BTreeMap::from([("text", "ä".repeat(1 << 20))])));
    let answer = block_on(Client::new(server().tool(large)).call("large", ()));
    let text = failure(|| _ = answer.assert_error());
    assert!(text.len() < 64 << 10 && text.ends_with('…'), "{} bytes", text.len());
}
