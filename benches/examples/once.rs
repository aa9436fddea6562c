//! One workload, many times, and nothing else: what `benches/instructions` counts the instructions of.
//!
//! ```text
//! once WORKLOAD TIMES
//! ```
#![allow(clippy::print_stderr)]

use std::process::ExitCode;

use benches::{Framework, LEGACY, MODERN, Server, yardstick};
use bytes::Bytes;

/// One run of a workload, its answer into the buffer.
type Run<'a> = Box<dyn FnMut(&mut Vec<u8>) + 'a>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, times] = arguments.as_slice() else {
        eprintln!("usage: once WORKLOAD TIMES");
        return ExitCode::from(2);
    };
    let times: u32 = times.parse().unwrap_or(0);
    let (modern, legacy) = (Bytes::from_static(MODERN.as_bytes()), Bytes::from_static(LEGACY.as_bytes()));
    let tools = if workload.ends_with("-1000") { 1000 } else { 1 };
    let server = Server::new(tools);
    let mut pipe = server.pipe();
    let framework = Framework::new(tools);
    let mut framework_pipe = framework.pipe();
    let mut out = Vec::with_capacity(1024);
    let mut run: Run<'_> = match workload.trim_end_matches("-1000") {
        "yardstick-modern" => Box::new(|out| yardstick(&modern, out)),
        "yardstick-legacy" => Box::new(|out| yardstick(&legacy, out)),
        "exchange" => Box::new(|out| server.exchange(&modern, out)),
        "pipe-modern" => Box::new(|out| server.drive(&mut pipe, &modern, None, out)),
        "pipe-legacy" => Box::new(|out| server.drive(&mut pipe, &legacy, None, out)),
        "framework-exchange" => Box::new(|out| framework.exchange(&modern, out)),
        "framework-legacy" => Box::new(|out| framework.drive(&mut framework_pipe, &legacy, None, out)),
        other => {
            eprintln!("once: no workload {other}");
            return ExitCode::from(2);
        }
    };
    for _ in 0..times {
        out.clear();
        run(&mut out);
    }
    ExitCode::SUCCESS
}
