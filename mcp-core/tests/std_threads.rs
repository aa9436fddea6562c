//! The example on plain threads, talked to over pipes: a driver that is not ours by habit proves the contract.

use std::io::{BufRead as _, BufReader, Write as _};
use std::thread;

use serde_json::{Value, json};

#[path = "../examples/std_threads.rs"]
mod example;

/// Sends all lines, closes the input, and returns every line that came back.
fn talk(lines: &[Value]) -> Vec<Value> {
    let (input, mut to_server) = std::io::pipe().unwrap();
    let (from_server, output) = std::io::pipe().unwrap();
    let server = thread::spawn(move || example::serve(input, output));
    for line in lines {
        writeln!(to_server, "{line}").unwrap();
    }
    drop(to_server);
    let answers =
        BufReader::new(from_server).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    server.join().unwrap().unwrap();
    answers
}

#[test]
fn a_server_on_plain_threads_speaks_both_eras_and_finishes_what_it_owes_stdio_4_stdio_6() {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    });
    let answers = talk(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "count", "arguments": {"to": 3}, "_meta": meta}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "shout", "arguments": {"message": "hello"}}}),
    ]);
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id).expect("each request is answered");
    assert_eq!(answer(1)["result"]["content"][0]["text"], "counted to 3");
    assert_eq!(answer(1)["result"]["resultType"], "complete");
    assert_eq!(answer(2)["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answer(3)["result"], json!({"content": [{"type": "text", "text": "HELLO"}]}));
    let progress: Vec<_> = answers.iter().filter(|line| line["method"] == "notifications/progress").collect();
    assert_eq!(progress.last().unwrap()["params"], json!({"progressToken": "p", "progress": 3, "total": 3}));
    assert_eq!(answers.last().unwrap()["id"], 1, "the slow call is answered last, after the end of the input");
}

#[test]
fn a_bad_line_does_not_end_the_conversation_stdio_9() {
    let answers = talk(&[json!("not a message"), json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})]);
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}
