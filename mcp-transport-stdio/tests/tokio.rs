//! Within tokio: its streams, its clock, calls on other threads.
#![allow(missing_docs)]
#![cfg(feature = "tokio")]

mod support;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_transport_stdio::{Connection, Ended, TokioClock, threads};
use support::{INITIALIZE, INITIALIZED, Tools, call, cancel, ids, legacy, messages, modern, ping};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// A client at the other end of a stream in memory.
struct Client {
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    task: JoinHandle<io::Result<Ended>>,
}

impl Client {
    async fn new(tools: &Arc<Tools>) -> Self {
        let (to, input) = duplex(64 << 10);
        let (output, from) = duplex(64 << 10);
        let task = tokio::spawn(Connection::tokio(Arc::clone(tools)).run_tokio(input, output));
        let mut client = Self { to, from: BufReader::new(from), task };
        client.send(INITIALIZE).await;
        client.send(INITIALIZED).await;
        assert_eq!(client.next().await["id"], 0);
        client
    }

    async fn send(&mut self, line: impl AsRef<str>) {
        self.to.write_all(format!("{}\n", line.as_ref()).as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.from.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn end(mut self) -> Vec<u8> {
        drop(self.to);
        let mut rest = Vec::new();
        self.from.read_to_end(&mut rest).await.unwrap();
        assert_eq!(self.task.await.unwrap().unwrap(), Ended::EndOfInput);
        rest
    }
}

#[tokio::test]
async fn slow_and_blocking_tools_hold_back_nobody_case_45() {
    let tools = Tools::new();
    let mut client = Client::new(&tools).await;
    client.send(call(1, "sleep", 600)).await;
    client.send(call(2, "block", 600)).await;
    client.send(modern(3, "sleep", 600)).await;
    for id in 4..=6 {
        client.send(ping(id)).await;
        assert_eq!(client.next().await["id"], id);
    }
    client.send(call(7, "echo", 1)).await;
    assert_eq!(client.next().await["id"], 7);
    let mut rest = ids(&client.end().await);
    rest.sort_unstable();
    assert_eq!(rest, [1, 2, 3]);
}

#[tokio::test]
async fn code_that_cannot_be_dropped_learns_that_nobody_waits() {
    let tools = Tools::new();
    let mut client = Client::new(&tools).await;
    client.send(call(1, "block", 100)).await;
    client.send(call(2, "block", 100)).await;
    client.send(cancel(1)).await;
    client.send(ping(3)).await;
    assert_eq!(client.next().await["id"], 3);
    assert_eq!(ids(&client.end().await), [2]);
    // The end of input does not wait for the thread of a call that was cancelled.
    let told = async {
        while tools.seen.told.load(SeqCst) != 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("it learns that nobody waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_from_another_thread_comes_before_the_answer_and_grows_prog_2() {
    let tools = Tools::new();
    for round in 0..20 {
        let mut client = Client::new(&tools).await;
        client.send(call(1, "work", 2000)).await;
        let mut last = 0.0;
        loop {
            let message = client.next().await;
            let Some(progress) = message["params"]["progress"].as_f64() else {
                assert_eq!(message["id"], 1);
                break;
            };
            assert!(progress > last, "round {round}: {progress} after {last}");
            last = progress;
        }
        assert!(last > 0.0);
        assert!(client.end().await.is_empty());
    }
}

#[tokio::test]
async fn thousands_of_calls_are_answered_once_each_in_any_order() {
    let tools = Tools::new();
    let mut client = Client::new(&tools).await;
    let (mut sent, mut seen) = (0, Vec::new());
    while seen.len() < 3000 {
        while sent < 3000 && sent - seen.len() < 100 {
            sent += 1;
            let id = u64::try_from(sent).unwrap();
            let tool = ["echo", "sleep", "progress"][sent % 3];
            client.send(call(id, tool, u64::from(tool == "sleep"))).await;
        }
        let message = client.next().await;
        seen.extend(message["id"].as_u64());
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=3000).collect::<Vec<_>>());
    assert!(client.end().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancellations_race_with_answers_and_no_id_is_answered_twice_canc_8() {
    let tools = Tools::new();
    let mut client = Client::new(&tools).await;
    for id in 1..=1000 {
        let tool = ["echo", "work", "sleep", "progress"][usize::try_from(id % 4).unwrap()];
        client.send(call(id, tool, id % 3)).await;
        if id % 7 < 3 {
            tokio::task::yield_now().await;
        }
        client.send(cancel(id)).await;
    }
    client.send(ping(1001)).await;
    let output = client.end().await;
    let mut answered = ids(&output);
    assert!(answered.contains(&1001));
    answered.sort_unstable();
    let all = answered.len();
    answered.dedup();
    assert_eq!(answered.len(), all);
    for message in messages(&output) {
        // What was cancelled before it ended is never heard of again; the rest was answered without an error.
        assert!(message.get("error").is_none(), "{message}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_unix_socket_gives_the_same_transcript_stdio_10() {
    let input = legacy([call(1, "echo", 5), "{oops".into(), modern(2, "echo", 1), ping(3)]);
    let (mut ours, theirs) = tokio::net::UnixStream::pair().unwrap();
    let (reader, writer) = theirs.into_split();
    let task = tokio::spawn(Connection::tokio(Tools::new()).run_tokio(reader, writer));
    ours.write_all(input.as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    let mut output = Vec::new();
    ours.read_to_end(&mut output).await.unwrap();
    assert_eq!(task.await.unwrap().unwrap(), Ended::EndOfInput);
    assert_eq!(ids(&output), [0, 1, -1, 2, 3]);
}

#[tokio::test]
async fn threads_make_any_blocking_stream_do() {
    let input = legacy((1..=500).map(|id| call(id, "big", 1000)));
    let (from, to) = io::pipe().unwrap();
    let reader = threads::ThreadReader::new("in", io::Cursor::new(input.into_bytes())).unwrap();
    let writer = threads::ThreadWriter::new("out", to).unwrap();
    let output = tokio::task::spawn_blocking(move || io::read_to_string(from).unwrap());
    let ended = Connection::new(Tools::new(), TokioClock::default()).run(reader, writer).await.unwrap();
    assert_eq!(ended, Ended::EndOfInput);
    let output = output.await.unwrap();
    assert_eq!(messages(output.as_bytes()).len(), 501);
}

#[tokio::test]
async fn a_thread_tells_of_errors_and_of_a_broken_pipe() {
    struct Fails;
    impl io::Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("no such luck"))
        }
    }
    let reader = threads::ThreadReader::new("in", Fails).unwrap();
    let writer = threads::ThreadWriter::new("out", io::sink()).unwrap();
    let error = Connection::tokio(Tools::new()).run(reader, writer).await.unwrap_err();
    assert_eq!(error.to_string(), "no such luck");

    let (from, to) = io::pipe().unwrap();
    drop(from);
    let reader = threads::ThreadReader::new("in", io::Cursor::new(legacy([ping(1)]).into_bytes())).unwrap();
    let writer = threads::ThreadWriter::new("out", to).unwrap();
    assert_eq!(Connection::tokio(Tools::new()).run(reader, writer).await.unwrap(), Ended::Gone);
}
