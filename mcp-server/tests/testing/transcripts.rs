//! Conversations as text: written, read, kept in files, and had again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_server::testing::{Client, Transcript, TranscriptError, block_on};
use mcp_server::{Json, Policy, Revision, Server, Span};
use proptest::prelude::*;
use serde_json::json;

use super::{failure, server, tool};

/// A conversation that has everything in it.
fn whole(server: Server, revision: Revision) -> Transcript {
    block_on(async {
        let mut policy = Policy::default();
        policy.timing.call = Some(Span::secs(60));
        let mut client =
            Client::builder(server.policy(policy)).revision(revision).principal("ada").scopes("a b").connect();
        client.remark("Ada adds.\nAnd waits.");
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
        client.call("count", json!({"steps": 3})).await.assert_ok();
        let stuck = client.start("stuck", ());
        client.advance(Duration::from_secs(90)).await;
        client.finish(stuck).await.assert_fault(-32603);
        let stuck = client.start("stuck", ());
        client.cancel(stuck);
        client.send_raw("\u{1b}[1m").await;
        client.send_raw(b"\xff").await;
        client.close().await;
        client.transcript()
    })
}

#[test]
fn a_conversation_is_text_for_people() {
    let mut client = Client::new(server());
    client.remark("Nothing is wrong.");
    block_on(client.call("add", json!({"a": 1, "b": 2})).without_progress()).assert_ok();
    let text = client.transcript().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    assert_eq!(lines[0], "mcp-conversation 2025-11-25");
    assert!(lines[1].starts_with(r#"> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"#), "{text}");
    assert!(lines[2].starts_with(r#"< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","#), "{text}");
    assert_eq!(lines[3], r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(lines[4], "# Nothing is wrong.");
    assert_eq!(
        lines[5],
        r#"> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}"#
    );
    assert!(lines[6].starts_with(r#"< {"jsonrpc":"2.0","id":2,"result":{"content":["#), "{text}");
}

#[test]
fn every_kind_of_line_is_read_as_it_was_written_and_can_be_had_again() {
    for revision in Revision::ALL {
        let transcript = whole(server(), revision).ignore("/result/_meta/x").ignore("/a/*/b~1c");
        let text = transcript.to_string();
        for begins in
            ["mcp-conversation ", "caller ", "ignore ", "# And", "> {", "< {", "@ 90000", ">> \"", ">= /w==", "end"]
        {
            assert!(text.lines().any(|line| line.starts_with(begins)), "{begins:?} is in: {text}");
        }
        assert_eq!(text.parse(), Ok(transcript.clone()), "{text}");
        let spread = text.replace('\n', "\r\n\r\n  \r\n");
        assert_eq!(spread.parse(), Ok(transcript.clone()), "empty lines and line ends do not count");
        let mut policy = Policy::default();
        policy.timing.call = Some(Span::secs(60));
        block_on(transcript.replay(server().policy(policy))).expect("nothing has changed");
    }
}

#[test]
fn a_conversation_of_many_calls_at_once_can_be_had_again() {
    let mut client = Client::new(server());
    block_on(async {
        let calls: Vec<_> = [3, 1, 2].map(|steps| client.start("count", json!({"steps": steps}))).into();
        client.call("add", json!({"a": 1, "b": 2})).await.assert_ok();
        let late = client.start("count", json!({"steps": 2}));
        for call in calls {
            client.finish(call).await.assert_ok();
        }
        let stopped = client.start("count", json!({"steps": 9}));
        client.next_progress(&stopped).await;
        client.settle().await;
        client.finish(stopped).await.assert_ok();
        client.finish(late).await.assert_ok();
        let stopped = client.start("count", json!({"steps": 9}));
        assert_eq!(client.take_progress_of(&stopped).len(), 1);
        client.cancel(stopped);
    });
    let transcript = client.transcript();
    assert!(transcript.to_string().contains("\n@ 0\n"), "that it settled is part of it: {transcript}");
    for _ in 0..3 {
        block_on(transcript.replay(server())).expect("calls go on where they did");
    }
}

#[test]
fn what_is_no_transcript_is_told_with_its_line() {
    let head = "mcp-conversation 2025-11-25\n";
    for (text, line, told) in [
        ("", 1, "must begin with `mcp-conversation`"),
        ("# only\n# remarks", 1, "must begin with"),
        ("> {}", 1, "the first line is `mcp-conversation` and one of 2024-11-05,"),
        ("mcp-conversation", 1, "the first line"),
        ("mcp-conversation2025-11-25", 1, "the first line"),
        ("\n\nmcp-conversation 2025-11-26", 3, "the first line"),
        (&format!("{head}\nhello \u{202e}"), 3, "`hello \u{fffd}` begins with none of"),
        (&format!("{head}>{{}}"), 2, "begins with none of"),
        (&format!("{head}>> {{}}"), 2, "after `>>` comes a JSON string"),
        (&format!("{head}>= ??"), 2, "after `>=` comes base64"),
        (&format!("{head}< {{\"a\":}}"), 2, "after `<` comes JSON"),
        (&format!("{head}< {}", "[".repeat(100_000)), 2, "after `<` comes JSON"),
        (&format!("{head}@ 1s"), 2, "after `@` come milliseconds"),
        (&format!("{head}@ 99999999999999999999"), 2, "after `@` come milliseconds"),
        (&format!("{head}ignore x"), 2, "after `ignore` comes a JSON pointer"),
        (&format!("{head}{}", "ignore /x\n".repeat(257)), 258, "there are more than 256 places"),
        (&format!("{head}caller ada"), 2, "after `caller` comes"),
        (&format!("{head}caller {{\"scopes\":[\"a b\"]}}"), 2, "after `caller` comes"),
        (&format!("{head}caller {{\"name\":\"ada\"}}"), 2, "after `caller` comes"),
        (&format!("{head}end\nignore /x"), 3, "begins with none of"),
        (&format!("{head}end\ncaller {{}}"), 3, "begins with none of"),
        (&format!("{head}# {}", "x".repeat(16 << 20)), 1, "longer than 16 MiB"),
    ] {
        let error: TranscriptError = text.parse::<Transcript>().expect_err(told);
        assert_eq!(error.line(), line, "{error}");
        assert!(
            error.to_string().starts_with(&format!("line {line}: ")) && error.to_string().contains(told),
            "{error}"
        );
        assert!(error.to_string().len() < 400, "{error}");
    }
}

#[test]
fn a_server_that_says_something_else_is_found_with_line_and_place() {
    let transcript = whole(server(), Revision::NEWEST_LEGACY);
    let text = transcript.to_string();
    let line_of = |part: &str| 1 + text.lines().position(|line| line.contains(part)).expect("it is there");
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(60));

    let other = |name: &'static str| {
        let said = tool(name).run(|_: std::collections::HashMap<String, u32>| "something else");
        let app = server().policy(policy.clone()).build().unwrap();
        app.edit(|tools| {
            tools.remove(name);
            tools.add(said);
        })
        .unwrap();
        block_on(transcript.replay(&app)).expect_err("it says something else")
    };
    let difference = other("add");
    assert_eq!(difference.line(), line_of(r#"{"sum":3}"#));
    let told = difference.to_string();
    assert!(told.starts_with(&format!("the conversation is another from line {} on\n", difference.line())), "{told}");
    assert!(told.contains("\n  expected: < {\"jsonrpc\"") && told.contains("\n       got: < {\"jsonrpc\""), "{told}");
    assert!(told.ends_with("\n  /result/structuredContent: expected {\"sum\":3}, got nothing"), "{told}");
    assert!(told.contains("/result/content/0/text: expected"), "{told}");
    // It says no progress, so what comes is the answer.
    assert_eq!(other("count").line(), line_of("step 1"));

    let impatient = block_on(transcript.replay(server())).expect_err("nothing limits its calls");
    assert_eq!(impatient.line(), line_of("took longer"));
    assert!(impatient.to_string().contains("\n       got: nothing more"), "{impatient}");
    let ends = text.lines().count();
    let less: Transcript = text.lines().take(ends - 1).collect::<Vec<_>>().join("\n").parse().unwrap();
    block_on(less.replay(server().policy(policy.clone())))
        .expect("a conversation may stop anywhere but before an answer");
    let cut = text.lines().filter(|line| !line.contains("step 3")).collect::<Vec<_>>().join("\n");
    let more = block_on(cut.parse::<Transcript>().unwrap().replay(server().policy(policy.clone())));
    assert!(more.expect_err("it says more").to_string().contains("step 3"));
    let cut = text.lines().take(line_of("counted to 3") - 1).collect::<Vec<_>>().join("\n");
    let more = block_on(cut.parse::<Transcript>().unwrap().replay(server().policy(policy)));
    more.expect("what was not waited for is not looked for");
}

#[test]
fn what_is_said_beyond_the_end_is_a_difference() {
    let transcript: Transcript =
        "mcp-conversation 2025-11-25\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".parse().unwrap();
    let difference = block_on(transcript.replay(server())).expect_err("it is answered");
    assert_eq!(difference.line(), 3);
    assert!(difference.to_string().contains("expected: nothing more\n       got: < {"), "{difference}");
}

/// Also what such a file looks like. If the server says something else on purpose: `MCP_BLESS=1 cargo test`.
#[test]
fn a_conversation_of_this_repository_is_as_it_was() {
    const FILE: &str = "tests/conversations/counting.txt";
    let mut client = Client::builder(server()).revision(Revision::V2025_06_18).connect();
    block_on(async {
        client.call("count", json!({"steps": 2})).await.assert_text("counted to 2");
        client.remark("A model can mend this.");
        client.call("count", json!({"steps": "two"})).await.assert_error_contains("`steps`");
    });
    client.transcript().assert_file(FILE);
    block_on(Transcript::read_file(FILE).unwrap().replay(server())).expect("it says the same");
}

/// A file of a test that is not there yet.
fn file() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conversations").join(name);
    drop(std::fs::remove_dir_all(&folder));
    folder.join("greet.txt")
}

/// A conversation with a server that tells the time, which is always another.
fn timed(zone: &str) -> Transcript {
    static NOW: AtomicU64 = AtomicU64::new(1);
    let now =
        tool("now").run(|| Json(std::collections::BTreeMap::from([("time", NOW.fetch_add(1, Ordering::Relaxed))])));
    let mut client = Client::new(server().tool(now).tool(tool("zone").run({
        let zone = zone.to_owned();
        move || zone.clone()
    })));
    block_on(async {
        client.call("now", ()).await.assert_ok();
        client.call("zone", ()).await.assert_ok();
    });
    client.transcript().ignore("/result/structuredContent/time").ignore("/result/content/0/text")
}

/// Has the first test below hold that conversation against the file, with `MCP_BLESS` set so: in a process of its own, as the
/// environment is of a whole process. An error is what it printed.
fn hold(file: &Path, zone: &str, bless: &str) -> Result<(), String> {
    let mut test = Command::new(std::env::current_exe().expect("this test's own program"));
    test.args(["--exact", "transcripts::a_file_is_written_when_it_is_blessed_and_compared_otherwise"]);
    test.env("MCP_BLESS", bless).env("MCP_TEST_FILE", file).env("MCP_TEST_ZONE", zone);
    let output = test.output().expect("it runs");
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stdout).into_owned()) }
}

#[test]
fn a_file_is_written_when_it_is_blessed_and_compared_otherwise() {
    if let (Ok(file), Ok(zone)) = (std::env::var("MCP_TEST_FILE"), std::env::var("MCP_TEST_ZONE")) {
        return match &*zone {
            "ada" => Client::builder(server()).principal("ada").connect().transcript().assert_file(file),
            _ => timed(&zone).assert_file(file),
        };
    }
    let file = file();
    for unasked in ["", "0"] {
        let missing = hold(&file, "utc", unasked).expect_err("there is none");
        let told = format!("{}: there is no such file; it would say:\nmcp-conversation 2025-11-25\n", file.display());
        assert!(missing.contains(&told), "{missing}");
        assert!(missing.contains("run the test once with MCP_BLESS=1, which writes the file"), "{missing}");
        assert!(!file.exists(), "nothing is written unasked");
    }
    hold(&file, "utc", "1").expect("it is written");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.contains(r#""structuredContent":{"time":"(ignored)"}"#), "{written}");
    hold(&file, "utc", "").expect("it is the same");
    hold(&file, "cet", "").expect("what differs is ignored");

    // People write into it.
    let edited = written.replacen("mcp-", "# What the clock says.\n\nmcp-", 1);
    let edited = edited.replace("ignore /result/content", "ignore /result/_meta\nignore /result/content");
    std::fs::write(&file, &edited).unwrap();
    hold(&file, "utc", "1").expect("it is right");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), edited, "one that is right is left alone");
}

#[test]
fn a_file_that_says_something_else_is_told_of_and_blessed_anew_with_its_remarks() {
    let file = file();
    hold(&file, "utc", "1").expect("it is written");
    let written = std::fs::read_to_string(&file).unwrap();
    let edited = written.replacen("ignore", "# What the clock says.\nignore /a/b\nignore", 1);
    let edited = edited.replace(r#""name":"zone""#, r#""name":"zones""#);
    std::fs::write(&file, &edited).unwrap();
    let told = hold(&file, "utc", "").expect_err("it says something else");
    assert!(told.contains("greet.txt: the conversation is another from line "), "{told}");
    assert!(told.contains("\n  /params/name: expected \"zones\", got \"zone\"\nif it is to be so,"), "{told}");
    hold(&file, "utc", "1").expect("it is written anew");
    hold(&file, "utc", "").expect("it is the same");
    let anew = std::fs::read_to_string(&file).unwrap();
    assert!(anew.contains("# What the clock says.\n") && anew.contains("ignore /a/b\n"), "{anew}");
    assert_eq!(anew.lines().count(), edited.lines().count());

    let other = hold(&file, "ada", "").expect_err("it is another client's");
    assert!(other.contains("principal: Some(Principal(\"ada\"))"), "{other}");

    std::fs::write(&file, vec![b'#'; (16 << 20) + 1]).unwrap();
    assert!(Transcript::read_file(&file).unwrap_err().to_string().contains("longer than 16 MiB"));
    std::fs::write(&file, "hello").unwrap();
    let wrong = hold(&file, "utc", "").expect_err("it is no conversation");
    assert!(wrong.contains("greet.txt: line 1: the first line is"), "{wrong}");
    assert_eq!(Transcript::read_file(&file).unwrap_err().kind(), std::io::ErrorKind::InvalidData);
    hold(&file, "utc", "1").expect("it is written anew");
    hold(&file, "utc", "").expect("it is the same");
}

#[test]
fn a_replay_ignores_what_the_file_ignores() {
    let file = file();
    hold(&file, "utc", "1").expect("it is written");
    let app = |zone: &'static str| {
        let now = tool("now").run(|| Json(std::collections::BTreeMap::from([("time", 0_u64)])));
        server().tool(now).tool(tool("zone").run(move || zone))
    };
    let kept = Transcript::read_file(&file).unwrap();
    block_on(kept.replay(app("cet"))).expect("the text is ignored");
    let strict: Transcript =
        std::fs::read_to_string(&file).unwrap().replace("ignore /result/content/0/text\n", "").parse().unwrap();
    assert!(block_on(strict.replay(app("cet"))).is_err());
}

#[test]
#[should_panic(expected = "`result` is no JSON pointer")]
fn a_place_that_is_no_pointer_is_told_of() {
    drop(Client::new(server()).transcript().ignore("result"));
}

#[test]
fn a_conversation_of_more_than_16_mib_is_no_transcript() {
    let mut client = Client::new(server());
    for _ in 0..3 {
        drop(block_on(client.send_raw(vec![b'x'; 8 << 20])));
    }
    assert!(failure(|| _ = client.transcript()).contains("longer than 16 MiB"));
}

proptest! {
    #[test]
    fn whatever_a_client_sends_survives_its_file(
        sent in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..20),
            "\\PC{0,20}".prop_map(String::into_bytes),
            "[ \t\r\n\u{85}\u{2028}>=<@#a]{0,8}".prop_map(String::into_bytes),
        ], 0..6),
        remark in "\\PC{0,20}",
        principal in "\\PC{0,20}",
        scopes in ".{0,20}",
    ) {
        let builder = Client::builder(server()).principal(principal).scopes(scopes);
        let mut client = builder.connect_silently();
        client.remark(remark);
        for bytes in &sent {
            drop(block_on(client.send_raw(bytes)));
        }
        let transcript = client.transcript();
        let text = transcript.to_string();
        let read = text.parse::<Transcript>();
        prop_assert_eq!(&read, &Ok(transcript), "{}", text);
        prop_assert_eq!(read.unwrap().to_string(), text);
    }

    #[test]
    fn no_text_is_read_with_a_panic(text in "(mcp-conversation 2025-11-25\n)?((>|>>|>=|<|@|#|end|ignore|caller) ?\\PC{0,10}\n){0,5}") {
        drop(text.parse::<Transcript>());
    }
}
