//! The run loop on streams in memory, polled by hand under a clock that jumps: no runtime.
#![allow(missing_docs)]

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use mcp_core::catalog::{Catalog, Handle, Tool};
use mcp_core::policy::Policy;
use mcp_core::{Change, Event, Span};
use mcp_transport_stdio::{Connection, Ended};
use support::{Channel, INITIALIZE, Task, TestClock, Tools, call, cancel, ids, legacy, messages, modern, ping};

/// Serves one whole input, and returns what was written.
fn serve(input: impl AsRef<[u8]>) -> Vec<u8> {
    serve_in_steps(input, usize::MAX)
}

fn serve_in_steps(input: impl AsRef<[u8]>, step: usize) -> Vec<u8> {
    let (to, from) = (Channel::bounded(step, usize::MAX), Channel::bounded(step, usize::MAX));
    to.put(input);
    to.end();
    let run = Connection::new(Tools::new(), TestClock::default()).run(to, from.clone());
    assert_eq!(Task::new(run).finish().unwrap(), Ended::EndOfInput);
    assert!(from.has_ended(), "the output is closed at the end");
    from.take()
}

#[test]
fn both_eras_are_answered_on_one_stream_ver_21() {
    let output = serve(legacy([call(1, "echo", 5), modern(2, "echo", 6), ping(3)]));
    let messages = messages(&output);
    assert_eq!(messages.len(), 4);
    assert!(messages[1]["result"].get("resultType").is_none());
    assert_eq!(messages[2]["result"]["resultType"], "complete");
    assert_eq!(messages[3]["result"], serde_json::json!({}));
}

#[test]
fn the_transcript_does_not_depend_on_how_bytes_are_cut_stdio_1() {
    let input = legacy([call(1, "echo", 5), "{oops".into(), call(2, "progress", 3), call(3, "big", 3000), ping(4)]);
    let whole = serve(&input);
    assert_eq!(ids(&whole), [0, 1, -1, 2, 3, 4]);
    for step in [1, 2, 3, 7, 64, 1000] {
        assert_eq!(serve_in_steps(&input, step), whole, "{step} bytes at once");
    }
}

#[test]
fn cr_lf_bom_and_blank_lines_do_no_harm_and_the_last_line_needs_no_end_stdio_9() {
    let input = format!("\u{feff}{INITIALIZE}\r\n\r\n  \n\n{}\r\n{}", ping(1), ping(2));
    let output = serve(input);
    assert_eq!(ids(&output), [0, 1, 2]);
}

#[test]
fn bad_lines_are_answered_and_skipped_stdio_9() {
    let mut input = legacy(["{oops"]).into_bytes();
    input.extend_from_slice(b"\xff\xfe\n");
    input.extend_from_slice(b"[]\n\"text\"\n12\n");
    input.extend_from_slice(format!("{}\n", ping(7)).as_bytes());
    let output = serve(input);
    let messages = messages(&output);
    let codes: Vec<_> = messages.iter().filter_map(|message| message.get("error")?.get("code")?.as_i64()).collect();
    assert_eq!(codes, [-32700, -32700, -32600, -32600, -32600]);
    assert_eq!(ids(&output), [0, -1, -1, -1, -1, -1, 7]);
}

#[test]
fn a_line_over_the_limit_is_refused_and_skipped_and_memory_stays_bounded_base_26() {
    let mut policy = Policy::default();
    policy.limits.line = 1000;
    let (to, from) = (Channel::new(), Channel::new());
    to.put(legacy([call(1, "echo", 1), "x".repeat(1 << 20), ping(2)]));
    to.end();
    let mut task =
        Task::new(Connection::new(Tools::with_policy(policy), TestClock::default()).chunk(512).run(to, from.clone()));
    assert_eq!(task.finish().unwrap(), Ended::EndOfInput);
    let messages = messages(&from.take());
    assert_eq!(messages[2]["error"]["code"], -32600);
    assert_eq!(messages[3]["id"], 2);
    assert_eq!(messages.len(), 4);
}

#[test]
fn a_line_of_five_megabytes_is_served_case_10() {
    let long = "y".repeat(5 << 20);
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"n":"{long}"}}}}}}"#
    );
    let output = serve(legacy([request, ping(2)]));
    assert_eq!(ids(&output), [0, 1, 2]);
    assert!(output.len() > 5 << 20);
}

#[test]
fn end_of_input_ends_at_once_when_nothing_runs_stdio_4() {
    let (to, from) = (Channel::new(), Channel::new());
    let mut task = Task::new(Connection::new(Tools::new(), TestClock::default()).run(to.clone(), from));
    task.waits();
    to.end();
    assert_eq!(task.finish().unwrap(), Ended::EndOfInput);
}

#[test]
fn end_of_input_lets_running_calls_finish_stdio_4() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([call(1, "wait", 0)]));
    to.end();
    let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to, from.clone()));
    task.waits();
    assert_eq!(ids(&from.take()), [0]);
    tools.seen.release();
    assert_eq!(task.finish().unwrap(), Ended::EndOfInput);
    assert_eq!(ids(&from.take()), [1]);
}

#[test]
fn calls_that_outrun_the_grace_time_are_cancelled_and_answered_stdio_4() {
    let (to, from, tools, clock) = (Channel::new(), Channel::new(), Tools::new(), TestClock::default());
    to.put(legacy([call(1, "never", 0)]));
    to.end();
    let run = Connection::new(Arc::clone(&tools), clock.clone()).grace(Duration::from_secs(3)).run(to, from.clone());
    let mut task = Task::new(run);
    task.waits();
    clock.advance(2_999);
    task.waits();
    assert_eq!(tools.seen.dropped.load(SeqCst), 0);
    clock.advance(1);
    assert_eq!(task.finish().unwrap(), Ended::EndOfInput);
    assert_eq!(tools.seen.dropped.load(SeqCst), 1);
    assert_eq!(ids(&from.take()), [0, 1]);
}

#[test]
fn a_cancelled_call_is_dropped_at_once_and_never_answered_canc_2() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([call(1, "never", 0), modern(2, "never", 0), call(3, "never", 0)]));
    let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to.clone(), from.clone()));
    task.waits();
    to.put(format!("{}\n{}\n{}\n", cancel(1), cancel(2), cancel(99)));
    task.waits();
    assert_eq!(tools.seen.dropped.load(SeqCst), 2);
    to.put(format!("{}\n", ping(4)));
    to.end();
    task.waits();
    assert_eq!(ids(&from.take()), [0, 4]);
}

#[test]
fn a_call_that_is_cancelled_in_the_same_chunk_never_runs_on_canc_8() {
    let output = {
        let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
        to.put(legacy([call(1, "wait", 0), cancel(1), call(1, "echo", 0)]));
        to.end();
        let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to, from.clone()));
        assert_eq!(task.finish().unwrap(), Ended::EndOfInput);
        assert_eq!(tools.seen.polled.load(SeqCst), 1, "once where it stood");
        from.take()
    };
    assert_eq!(ids(&output), [0, 1], "the id is free again");
}

#[test]
fn a_peer_that_does_not_read_blocks_itself_while_its_calls_go_on() {
    let mut policy = Policy::default();
    policy.limits.unsent = 10_000;
    let (to, from) = (Channel::new(), Channel::bounded(usize::MAX, 1000));
    let tools = Tools::with_policy(policy);
    to.put(legacy((1..=100).map(|id| call(id, "big", 1000))));
    let run = Connection::new(Arc::clone(&tools), TestClock::default()).chunk(1000).run(to.clone(), from.clone());
    let mut task = Task::new(run);
    task.waits();
    let entered = tools.seen.entered.load(SeqCst);
    assert!((8..20).contains(&entered), "{entered} calls for 10,000 bytes");
    to.put(format!("{}\n", call(101, "wait", 0)));
    to.end();
    let mut output = Vec::new();
    while task.run().is_pending() {
        let more = from.take();
        if more.is_empty() {
            tools.seen.release();
        }
        output.extend(more);
    }
    output.extend(from.take());
    assert_eq!(ids(&output), (0..=101).collect::<Vec<_>>());
}

#[test]
fn a_call_that_waits_ends_while_the_writer_is_blocked() {
    let (to, from, tools) = (Channel::new(), Channel::bounded(usize::MAX, 10), Tools::new());
    to.put(legacy([call(1, "wait", 0)]));
    let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to, from.clone()));
    task.waits();
    let polled = tools.seen.polled.load(SeqCst);
    tools.seen.release();
    task.waits();
    assert_eq!(tools.seen.polled.load(SeqCst), polled + 1);
}

#[test]
fn a_peer_that_reads_nothing_is_given_up_after_the_grace_time_stdio_4() {
    let (to, from, clock) = (Channel::new(), Channel::bounded(usize::MAX, 10), TestClock::default());
    to.put(legacy([ping(1)]));
    to.end();
    let mut task = Task::new(Connection::new(Tools::new(), clock.clone()).run(to, from.clone()));
    task.waits();
    clock.advance(1_499);
    task.waits();
    // It reads on after all: the time starts anew.
    assert_eq!(from.take().len(), 10);
    task.waits();
    clock.advance(1_499);
    task.waits();
    clock.advance(1);
    assert_eq!(task.finish().unwrap(), Ended::Gone);
}

#[test]
fn a_broken_pipe_ends_the_connection_and_its_calls() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([call(1, "never", 0)]));
    let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to.clone(), from.clone()));
    task.waits();
    from.break_off();
    to.put(format!("{}\n", ping(2)));
    assert_eq!(task.finish().unwrap(), Ended::Gone);
    assert_eq!(tools.seen.dropped.load(SeqCst), 1);
}

#[test]
fn shutdown_cancels_what_runs_and_says_so_stdio_4() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([call(1, "never", 0)]));
    let connection = Connection::new(Arc::clone(&tools), TestClock::default());
    let control = connection.control();
    let mut task = Task::new(connection.run(to, from.clone()));
    task.waits();
    control.shutdown();
    assert_eq!(task.finish().unwrap(), Ended::Shutdown);
    assert_eq!(tools.seen.dropped.load(SeqCst), 1);
    assert_eq!(ids(&from.take()), [0, 1]);
    drop(task);
    control.shutdown();
}

#[test]
fn a_changed_catalogue_is_told_once_tool_16() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([ping(1)]));
    let connection = Connection::new(tools, TestClock::default());
    let control = connection.control();
    let mut task = Task::new(connection.run(to, from.clone()));
    task.waits();
    from.take();
    let catalog = Catalog::builder().tool(Tool::new("new", Handle(9), r#"{"type":"object"}"#)).build().unwrap();
    control.changed(Arc::clone(&catalog), Change::Tools);
    control.changed(catalog, Change::Tools);
    task.waits();
    let messages = messages(&from.take());
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["method"], "notifications/tools/list_changed");
}

#[test]
fn a_call_has_no_context_of_its_transport() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([call(1, "echo", 1), modern(2, "echo", 2)]));
    to.end();
    let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to, from));
    assert_eq!(task.finish().unwrap(), Ended::EndOfInput);
    assert_eq!((tools.seen.entered.load(SeqCst), tools.seen.contexts.load(SeqCst)), (2, 0));
}

#[test]
fn progress_in_a_tight_loop_is_merged_and_comes_before_the_answer_prog_6() {
    let output = serve(legacy([call(1, "progress", 100_000)]));
    let messages = messages(&output);
    assert_eq!(messages.len(), 3, "the handshake, the last progress, the answer");
    assert_eq!(messages[1]["params"]["progress"].as_f64(), Some(100_000.0));
    assert_eq!(messages[2]["id"], 1);
}

#[test]
fn dropping_the_connection_cancels_its_calls() {
    let (to, from, tools) = (Channel::new(), Channel::new(), Tools::new());
    to.put(legacy([call(1, "never", 0)]));
    let mut task = Task::new(Connection::new(Arc::clone(&tools), TestClock::default()).run(to, from));
    task.waits();
    drop(task);
    assert_eq!(tools.seen.dropped.load(SeqCst), 1);
}

#[test]
fn a_call_over_its_time_limit_is_answered_for_and_dropped() {
    let mut policy = Policy::default();
    policy.timing.call = Some(Span::secs(10));
    let (to, from, tools, clock) = (Channel::new(), Channel::new(), Tools::with_policy(policy), TestClock::default());
    to.put(legacy([call(1, "never", 0)]));
    let events = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&events);
    let connection = Connection::new(Arc::clone(&tools), clock.clone());
    let connection = connection.on_event(move |event| log.lock().unwrap().push(event));
    let mut task = Task::new(connection.run(to, from.clone()));
    task.waits();
    from.take();
    clock.advance(9_999);
    task.waits();
    assert!(from.take().is_empty());
    clock.advance(1);
    task.waits();
    assert_eq!(messages(&from.take())[0]["error"]["code"], -32603);
    assert_eq!(tools.seen.dropped.load(SeqCst), 1);
    assert!(events.lock().unwrap().iter().any(|event| matches!(event, Event::TimedOut(_))));
}

#[test]
fn a_sleeping_connection_does_not_read_or_write() {
    let (to, from) = (Channel::new(), Channel::new());
    to.put(legacy([ping(1)]));
    let mut task = Task::new(Connection::new(Tools::new(), TestClock::default()).run(to.clone(), from.clone()));
    task.waits();
    let tries = (to.tries(), from.tries());
    for _ in 0..3 {
        task.waits();
    }
    assert_eq!((to.tries(), from.tries()), tries);
}
