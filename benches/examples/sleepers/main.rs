//! Sessions that sleep: what they hold in memory, how fast they wake, and whether anybody else notices. `benches/sleepers` runs
//! this, each measurement in a process of its own.
//!
//! ```text
//! sleepers fresh N            resident bytes of N sleepers that lived in waves
//! sleepers answered N         the same, each after an answer of 1 MiB
//! sleepers streamed N         the same, the answer in events, which are kept for a while; with such an allocator, too
//! sleepers together N         N live together, fall asleep, wake, sleep, end, and a second wave comes
//! sleepers returned N         the same, with an allocator that gives pages back: no more is to stay than sleepers take
//! sleepers wake N TIMES       a call to a sleeper beside the same to a live session
//! sleepers watch N TIMES      a round of the watch in which one of N sleepers ends
//! sleepers calls N TIMES      TIMES calls in one live session while N sleep; begins when a line comes in, for callgrind
//! sleepers listening N        N connections with an open GET, their sessions asleep, beside bare hyper
//! sleepers http N M           the time of a call over HTTP while N sleep and while M do
//! ```
#![allow(clippy::print_stderr)]

mod clock;
mod memory;
mod report;
mod rss;
mod serve;
mod sockets;
mod time;
mod world;

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<usize> = arguments.iter().skip(1).filter_map(|number| number.parse().ok()).collect();
    let command = arguments.first().map(String::as_str).unwrap_or_default();
    match run(command, &numbers) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("sleepers {}: {error}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, numbers: &[usize]) -> io::Result<ExitCode> {
    match (command, numbers) {
        ("fresh", [sessions]) => return Ok(memory::fresh(*sessions).verdict()),
        ("answered", [sessions]) => return Ok(memory::answered(*sessions).verdict()),
        ("streamed", [sessions]) => return Ok(memory::streamed(*sessions).verdict()),
        ("together", [sessions]) => return Ok(memory::together(*sessions, false).verdict()),
        ("returned", [sessions]) => return Ok(memory::together(*sessions, true).verdict()),
        ("listening", [connections]) => return Ok(sockets::listening(*connections)?.verdict()),
        ("wake", [sessions, times]) => time::wake(*sessions, *times),
        ("watch", [sessions, times]) => time::watch(*sessions, *times),
        ("calls", [sessions, times]) => time::calls(*sessions, *times)?,
        ("http", [few, many]) => sockets::http(*few, *many)?,
        // The servers of `listening` and `http`.
        ("serve", [connections]) => serve::ours(*connections)?,
        ("serve-hyper", []) => serve::hyper(false)?,
        ("serve-hyper-lean", []) => serve::hyper(true)?,
        ("serve-asleep", [sessions]) => serve::with_sleepers(*sessions)?,
        _ => {
            eprintln!("usage: sleepers COMMAND NUMBER...; see its source");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}
